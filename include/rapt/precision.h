/* precision.h - runs models with 8-bit integers instead of floats. */
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
/* Quantizes the matrices of a model, including its embeddings, to 8-bit integers with one scale per
   row, which take a quarter of the memory. Sessions then also quantize each row that these matrices
   multiply, and the sums of products are exact. Results therefore have the same bits on AVX2,
   AVX-512 and NEON, for any number of threads and in any batch. Biases, norms, attention and
   softmax are still computed in floats. A matrix that was imported from a file of 8-bit integers
   (rapt_model_scales) gets the same integers.

   Call this function before creating sessions. Afterwards, the model cannot be trained, written to
   or saved packed; rapt_model_read and saving give the values that the integers represent. While
   the function runs, it needs memory for both forms. Quantizing a model again has no effect.
   `threads` is the maximum number of threads, see base.h.

   Returns RAPT_BAD_ARGUMENT if threads is out of range or the rows of a matrix have more than
   133,144 elements, RAPT_NO_MEMORY if an allocation fails, and RAPT_BAD_FILE if the value of
   the metadata key "rapt.scales" is damaged. */
RAPT_API rapt_status rapt_model_quantize(rapt_model *model, int threads, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
