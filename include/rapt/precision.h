/* precision.h - the precision in which the matrices of a model are stored and multiplied. */
#ifndef RAPT_PRECISION_H
#define RAPT_PRECISION_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the matrices of a model are stored in memory and multiplied. */
typedef enum rapt_precision {
    RAPT_PRECISION_STORED, /* for loading: the precision of a packed file; INT8 if another file
                              stores all matrices of its layers as 8-bit integers with scales;
                              otherwise F32 */
    RAPT_PRECISION_F32,    /* floats */
    RAPT_PRECISION_INT8,   /* 8-bit integers with one scale per row */
    RAPT_PRECISION_BF16,   /* the upper 16 bits of floats, rounded */
    RAPT_PRECISION_F16     /* IEEE 754 half precision: magnitudes of at most 65,504 */
} rapt_precision;

/* A configuration with its parameters, see transformer.h. A model is constant while it is used: any
   number of sessions and threads may share it. */
typedef struct rapt_model rapt_model;

/* Returns the precision of a model, or RAPT_PRECISION_STORED for NULL. */
RAPT_API rapt_precision rapt_model_precision(const rapt_model *model);
/* Returns the name of a precision, such as "int8", or NULL for RAPT_PRECISION_STORED and unknown
   values. The string is static. */
RAPT_API const char *rapt_precision_name(rapt_precision precision);
/* Converts the matrices of a model, including its embeddings. Biases, norms and the learned arrays
   of attention remain in floats. Attention and softmax are always computed in floats.

   In 8-bit arithmetic, a matrix has one scale per row and takes a quarter of the memory. Sessions
   then also quantize each row that is multiplied by such a matrix, and the sums of products are
   exact. Results therefore have the same bits on AVX2, AVX-512 and NEON, for any number of threads
   and in any batch. A matrix that was imported from a file of 8-bit integers (rapt_model_scales)
   gets the same integers. Converting to floats gives the values that the integers represent.

   With 16-bit weights, a matrix takes half the memory. In products, its elements are converted to
   floats, which is exact, so results have the same bits as those of a model in floats whose
   matrices were rounded to 16 bits.

   Call this function before creating sessions. Only a model in RAPT_PRECISION_F32 can be trained or
   written to. While the function runs, it needs memory for the model in both precisions; loading a
   model in another precision (rapt_load_options) needs memory for only one. RAPT_PRECISION_STORED,
   or the precision that the model already has, changes nothing. After an error, the model is
   unchanged. `threads` is the maximum number of threads, see base.h.

   Returns RAPT_BAD_ARGUMENT if precision or threads is out of range, if an element is too large for
   f16, or if the rows of a matrix have more than 133,144 elements, so that a sum of 8-bit products
   could overflow. Returns RAPT_NO_MEMORY if an allocation fails, and RAPT_BAD_FILE if the value of
   the metadata key "rapt.scales" is damaged. */
RAPT_API rapt_status rapt_model_set_precision(rapt_model *model, rapt_precision precision,
                                              int threads, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
