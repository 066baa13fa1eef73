/* precision.h - the precision in which the matrices of a model are stored and multiplied. */
#ifndef RAPT_PRECISION_H
#define RAPT_PRECISION_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the matrices of a model are stored in memory and multiplied. */
typedef enum rapt_precision {
    RAPT_PRECISION_STORED, /* as the file stores those of its layers: int8 if all of them are 8-bit
                              integers with scales, else floats */
    RAPT_PRECISION_F32,    /* floats */
    RAPT_PRECISION_INT8,   /* 8-bit integers with a scale per row */
    RAPT_PRECISION_BF16,   /* the upper halves of floats, rounded */
    RAPT_PRECISION_F16     /* floats of 16 bits, up to 65,504 */
} rapt_precision;

/* A configuration with its parameters, see transformer.h. A model is constant while it is used: any
   number of sessions and threads may share it. */
typedef struct rapt_model rapt_model;

/* Returns the precision of a model, which is never RAPT_PRECISION_STORED; that is returned for
   NULL. */
RAPT_API rapt_precision rapt_model_precision(const rapt_model *model);
/* Returns the name of a precision, such as "int8", or NULL for RAPT_PRECISION_STORED and for values
   that are not in the list. The string is constant. */
RAPT_API const char *rapt_precision_name(rapt_precision precision);
/* Converts the matrices of a model, its embeddings among them. Biases, norms and what attention
   learns remain floats, and so do attention and softmax.

   In 8 bits a matrix has one scale per row and takes a quarter of the memory. Sessions also
   quantize the rows that a matrix multiplies, each by itself, and sum exactly, so that results have
   the same bits on all processors, for any number of threads and any batch. A matrix that was
   imported from a file of 8-bit integers (rapt_model_scales) gets the same integers. Converting to
   floats gives the numbers that the integers stand for.

   In 16 bits a matrix takes half the memory. Products widen it exactly and sum in floats, so
   results are, bit for bit, those of a model of floats whose matrices were rounded to 16 bits.

   To be called before sessions are created. A model that is not in RAPT_PRECISION_F32 cannot be
   trained or written to. Memory for both forms is needed while the function runs; loading in
   another precision (rapt_load_options) needs memory for one. threads: see base.h. If the model has
   this precision already, or for RAPT_PRECISION_STORED, nothing happens. After an error the model
   is unchanged. RAPT_BAD_ARGUMENT: precision or threads is out of range, a matrix has rows of
   more than 133,144, too many for sums of 8-bit products, or an element is too large for f16.
   RAPT_NO_MEMORY. RAPT_BAD_FILE: metadata
   "rapt.scales" are damaged. */
RAPT_API rapt_status rapt_model_set_precision(rapt_model *model, rapt_precision precision,
                                              int threads, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
