/* bytes.h - shared by the files of lib/model: models whose matrices are bytes with scales. */
#ifndef RAPT_LIB_MODEL_BYTES_H
#define RAPT_LIB_MODEL_BYTES_H

#include "model/model.h"

/* ---- model.c ---- */
/* Makes a model whose matrices are bytes. */
rapt_status rapt__model_make_bytes(rapt_model **model, const rapt_config *config,
                                   const rapt_allocator *allocator, rapt_message *why);

/* ---- parameters.c ---- */
/* Returns the scales of the rows of bytes [rows][columns] in a block at `bytes`. */
const float *rapt__scales_at(const float *bytes, int rows, int columns);

#endif
