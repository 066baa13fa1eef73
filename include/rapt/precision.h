/* precision.h - computes models with 8-bit integers instead of floats. */
#ifndef RAPT_PRECISION_H
#define RAPT_PRECISION_H

#include "transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the matrices of a model are stored and multiplied. */
typedef enum rapt_precision {
    RAPT_PRECISION_F32, /* floats */
    RAPT_PRECISION_INT8 /* 8-bit integers, see rapt_model_quantize */
} rapt_precision;
/* Quantizes the matrices of a model, its embeddings among them, to 8-bit integers with a scale per
   row, in a quarter of the memory. Sessions then also quantize the rows that these matrices
   multiply, each by itself, and sum exactly, so that results have the same bits on AVX2, AVX-512
   and NEON, for any number of threads and any batch. Biases, norms, attention and softmax stay
   floats. A matrix that was imported from a file of 8-bit integers (rapt_model_scales) gets the
   same integers.

   To be called before sessions are created. The model cannot be trained, written to or saved packed
   afterwards; rapt_model_read and saving give the values that the integers stand for. Needs memory
   for both forms while it runs. Quantizing again does nothing. threads: see base.h.
   RAPT_BAD_ARGUMENT: threads is out of range, or a matrix has rows of more than 133,144.
   RAPT_NO_MEMORY. RAPT_BAD_FILE: metadata "rapt.scales" are damaged. */
RAPT_API rapt_status rapt_model_quantize(rapt_model *model, int threads, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
