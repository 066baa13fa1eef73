/* precision.h - the precision in which the matrices of a model are stored and multiplied. */
#ifndef RAPT_PRECISION_H
#define RAPT_PRECISION_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the matrices of a model are stored in memory and multiplied. */
typedef enum rapt_precision {
    RAPT_PRECISION_STORED, /* when a model is loaded, the precision of its file if the file is
                              packed; else INT8 if the file stores all layer matrices as 8-bit
                              integers with scales; else F32 */
    RAPT_PRECISION_F32,    /* floats */
    RAPT_PRECISION_INT8,   /* 8-bit integers with one scale per row */
    RAPT_PRECISION_BF16,   /* the upper 16 bits of floats, rounded */
    RAPT_PRECISION_F16     /* IEEE 754 half precision: magnitudes of at most 65,504 */
} rapt_precision;

/* How trainers and sessions compute products with matrices of floats. Sessions support neither
   OPENBLAS nor AUTO. */
typedef enum rapt_products {
    RAPT_PRODUCTS_BUILTIN,  /* this library. Results are bit-identical for any number of threads and
                               on every instruction set with fused multiply-add, see rapt_isa */
    RAPT_PRODUCTS_OPENBLAS, /* OpenBLAS. Results are bit-identical for any number of threads.
                               rapt_trainer_create loads OpenBLAS into the process, where it stays,
                               or returns RAPT_BAD_ARGUMENT if it is not installed */
    RAPT_PRODUCTS_AUTO,     /* the faster of these two, chosen for each weight shape, separately for
                               outputs, input gradients and weight gradients. rapt_trainer_create
                               measures both for a few tenths of a second. If OpenBLAS is not
                               installed, the built-in products are used. A checkpoint stores the
                               choices, so the results of a resumed run are bit-identical to those
                               of an uninterrupted one; another run may choose differently */
    RAPT_PRODUCTS_BF16,     /* this library, with both factors rounded to bf16 and their products
                               summed in single precision, in the order and with the rounding of the
                               instruction vdpbf16ps. Parameters and moments remain floats; norms,
                               attention and softmax are computed in single precision. On processors
                               with AVX512_BF16, large products are up to twice as fast as with
                               BUILTIN. On all others the instruction is emulated, which is slower
                               than BUILTIN. Results are bit-identical with and without the
                               instruction, and for any number of threads */
    RAPT_PRODUCTS_BF16_TILES /* like BF16, but summed in the order of the AMX instruction tdpbf16ps,
                                which sums 32 products before adding the result to the accumulator.
                                The instruction is used if the processor has AMX for bf16 and this
                                process may use it (see base.h), and emulated otherwise. Results
                                differ slightly from those of BF16; a NaN always has the bits
                                0xffc00000 */
} rapt_products;

/* A model: a configuration, parameters and metadata, see transformer.h. Sessions only read a model,
   so any number of sessions and threads may share it. */
typedef struct rapt_model rapt_model;

/* Returns the precision of a model, or RAPT_PRECISION_STORED for NULL. */
RAPT_API rapt_precision rapt_model_precision(const rapt_model *model);
/* Returns the name of a precision, such as "int8", or NULL for RAPT_PRECISION_STORED and unknown
   values. The string is static. */
RAPT_API const char *rapt_precision_name(rapt_precision precision);
/* Converts the matrices of a model, including its embeddings. Everything else is kept as 32-bit
   floats: biases, gains, the tables of positions, token types and distances, and the learned arrays
   of attention. Attention itself is always computed in single precision.

   In 8-bit precision, a matrix has one scale per row and takes about a quarter of the memory.
   Sessions also quantize each row that they multiply by such a matrix, and sum the products
   exactly. Results are therefore bit-identical on AVX2, AVX-512 and NEON, for any number of threads
   and in any batch. A matrix that was imported from 8-bit integers (rapt_model_scales) and has not
   been changed is converted back to the same integers. In the other direction, integers become the
   floats that they represent.

   In a 16-bit precision, a matrix takes half the memory. By default, its elements are converted to
   floats when they are multiplied. This is exact, so results are bit-identical to those of a
   single-precision model whose matrices were rounded to 16 bits.

   Call this function before creating sessions. Only a model in RAPT_PRECISION_F32 can be trained or
   changed by rapt_model_write. A conversion needs memory for the model in both precisions;
   converting while loading a file that is not packed (rapt_load_options) needs memory for only one.
   RAPT_PRECISION_STORED, or the precision that the model already has, changes nothing. After an
   error, the model is unchanged. `threads` is the maximum number of threads, see base.h.

   Returns RAPT_BAD_ARGUMENT in these cases:

       - precision or threads is out of range;
       - the precision is F16, and an element of a matrix is too large, or a parameter is infinite
         or NaN;
       - the precision is INT8, and the rows of a matrix have more than 133,144 elements, so that a
         sum of products could overflow.

   Returns RAPT_NO_MEMORY if an allocation fails, and RAPT_BAD_FILE if the value of the metadata key
   "rapt.scales" is damaged. */
RAPT_API rapt_status rapt_model_set_precision(rapt_model *model, rapt_precision precision,
                                              int threads, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
