/* bytes.h - declarations for models whose matrices are stored as 8-bit integers with scales, shared
   by the files of lib/model. */
#ifndef RAPT_LIB_MODEL_BYTES_H
#define RAPT_LIB_MODEL_BYTES_H

#include "model/model.h"

/* ---- model.c ---- */
/* Makes a model whose matrices are stored as 8-bit integers with scales. */
rapt_status rapt__model_make_bytes(rapt_model **model, const rapt_config *config,
                                   const rapt_allocator *allocator, rapt_message *why);

/* ---- parameters.c ---- */
/* Returns the scales, one per row, of a matrix of bytes [rows][columns]. `bytes` points to the
   matrix within a model's block of parameters. */
const float *rapt__scales_at(const float *bytes, int rows, int columns);

#endif
