/* linear_attention.h - linear attention and the delta rule on plain arrays, forward and backward.

   Instead of comparing each query with every key, a key head maintains a state, the key_width x
   value_width matrix S, so time is linear in the number of rows. For row t of a sequence, it
   computes

       S = exp(log_decay[t]) S                        if log_decay is given
       u = v[t]                                       if beta is NULL
       u = beta[t] (v[t] - S' k[t])                   if beta is given (the delta rule)
       S = S + k[t] u',    out[t] = scale S' q[t]     for every query head of the key head

   where ' denotes the transpose, and the feature map has been applied to q and k.

   Without decays or beta, this is linear attention (Katharopoulos et al. 2020, arXiv 2006.16236);
   with decays, it is retention (Sun et al. 2023). With the delta rule, it is DeltaNet (Schlag et
   al. 2021) or, if there are decays too, Gated DeltaNet (Yang et al. 2024, arXiv 2412.06464). The
   last two papers write the state as the transpose of S. ONNX's LinearAttention calls these four
   update rules "linear", "gated", "delta" and "gated_delta".

   Attention is always causal: row t sees only the initial state and rows 0 to t of its sequence.
   forward and backward process chunks of 64 rows with matrix products, as in Yang et al. 2024,
   "Parallelizing Linear Transformers with the Delta Rule over Sequence Length" (arXiv 2406.06484).
   Nothing is divided by a decay, so decays may be arbitrarily small. step is for decoding and
   computes one row at a time; its results agree with those of forward up to rounding errors.

   If an element is infinite or NaN (other than -infinity in log_decay), the results of its sequence
   and key head may be meaningless; other results are not affected. With the delta rule, a row does
   not amplify the earlier state if beta |k|^2 is between 0 and 2; most models normalize keys to
   length 1.

   In models, linear attention can replace the decoder's self-attention; see decoder_recurrence in
   config.h.

   The functions are thread-safe and allocate nothing, like those of attention.h. Results are
   bit-identical for any number of threads and on every instruction set with fused multiply-add, and
   the results for a sequence do not depend on the other sequences in the batch. */
#ifndef RAPT_LINEAR_ATTENTION_H
#define RAPT_LINEAR_ATTENTION_H

#include "attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Functions that can be applied to each element of q and k. */
typedef enum rapt_feature_map {
    RAPT_FEATURE_MAP_NONE, /* x */
    RAPT_FEATURE_MAP_ELU,  /* elu(x) + 1, that is, x + 1 if x > 0, else exp x; never negative
                              (Katharopoulos et al. 2020, equation 7) */
    RAPT_FEATURE_MAP_COUNT
} rapt_feature_map;
/* Returns the name of a feature map, such as "elu", or NULL for an unknown value. The string is
   static. */
RAPT_API const char *rapt_feature_map_name(rapt_feature_map map);

/* A linear attention problem. rapt_linear_attention_init fills it in; all other functions only read
   it. Fields that init does not set default to 0. */
typedef struct rapt_linear_attention { /* size-first, see base.h */
    size_t size;
    int batch;         /* number of sequences, 0 or more */
    int heads;         /* number of heads of q and out (query heads), 1 or more; batch * heads is at
                          most 2147483647 */
    int key_heads;     /* number of heads of k, v, gates and states; must divide heads. Query head h
                          reads the state of key head h / (heads / key_heads). 0 means
                          `heads` */
    int rows;          /* rows per sequence, 0 to 2147483519; with `starts`, the maximum for any
                          sequence */
    int key_width;     /* floats per row of q and k, 1 to 65536 */
    int value_width;   /* floats per row of v and out, 1 to 65535 */
    rapt_stride q;     /* layout of q; with `starts`, the batch strides of all arrays are ignored */
    rapt_stride k;     /* layout of k */
    rapt_stride v;     /* layout of v */
    rapt_stride out;   /* layout of out */
    rapt_stride gates; /* layout of log_decay and beta, with one float per row and key head */
    const int *starts; /* offsets [batch + 1], nondecreasing from 0, for a ragged batch, in which
                          the rows of all sequences are stored back to back; NULL if every sequence
                          has `rows` rows */
    const float *log_decay;       /* logarithm of the decay, at most 0; each row first multiplies
                                     the state by the decay. -infinity sets the state to 0. NULL
                                     means no decay */
    const float *beta;            /* rate of the delta rule, usually 0 to 1; NULL means no delta
                                     rule */
    const float *initial_state;   /* S before the first row, in the layout below; NULL means 0.
                                     Ignored by step */
    float scale;                  /* factor applied to out, finite; 0 means 1 / sqrt(key_width) */
    rapt_feature_map feature_map; /* function applied to q and k; default: none */
    int normalized; /* if nonzero, out[t] is S' q[t] / (z . q[t]), where the vector z is the state
                       that would result if every value were the single number 1; `scale` has no
                       effect. Requires a feature map, and beta must be NULL. If z . q[t] is 0,
                       out[t] is 0 and no gradient flows through the row */
    int threads;    /* maximum number of threads, see base.h */
} rapt_linear_attention;

/* States are [batch][key_heads][key_width][value_width], contiguous. If `normalized` is set, each
   row of S is followed by its element of z, as if a 1 were appended to every value. */

/* Fills in *a for arrays [batch][heads][rows][width] and gates [batch][heads][rows]. size is sizeof
   *a. Any field may be changed afterwards, together with the strides that depend on it. Returns
   RAPT_BAD_ARGUMENT only if a is NULL, or if size is less than sizeof(size_t) or more than 65536.
   It does not check the other arguments; rapt_linear_attention_check and the functions that compute
   attention do. */
RAPT_API rapt_status rapt_linear_attention_init(rapt_linear_attention *a, size_t size, int batch,
                                                int heads, int rows, int key_width,
                                                int value_width);

/* Checks whether a problem is valid. Returns RAPT_BAD_ARGUMENT if it is not; *why names the
   offending field. */
RAPT_API rapt_status rapt_linear_attention_check(const rapt_linear_attention *a, rapt_message *why);

/* Returns the number of bytes of workspace that the functions below need for this problem and its
   number of threads, or 0 if the problem is invalid. The workspace must be aligned to 64 bytes. If
   `backward` is 0, it suffices for forward and step, and its size does not depend on `rows`.
   Otherwise it also suffices for backward, and its size is linear in `rows`. If threads is 0,
   OpenMP's number of threads must not grow before the workspace is used. */
RAPT_API size_t rapt_linear_attention_workspace(const rapt_linear_attention *a, int backward);

/* Computes out [batch][heads][rows][value_width] from q [batch][heads][rows][key_width], k
   [batch][key_heads][rows][key_width] and v [batch][key_heads][rows][value_width], with the strides
   in `a`. out must not overlap the inputs. final_state receives the state after the last row of
   each sequence; it may be NULL, or the same array as a->initial_state. In the latter case,
   backward needs a copy of the initial state.

   Returns RAPT_BAD_ARGUMENT if rapt_linear_attention_check rejects the problem, a required array is
   NULL, or workspace is NULL or misaligned. Arrays without rows may be NULL. */
RAPT_API rapt_status rapt_linear_attention_forward(const rapt_linear_attention *a, const float *q,
                                                   const float *k, const float *v, float *out,
                                                   float *final_state, void *workspace,
                                                   rapt_message *why);

/* The arrays to which rapt_linear_attention_backward adds gradients. Each has the layout of the
   array it belongs to, or is NULL if that gradient is not needed. A gradient can be requested only
   for an array that the problem has. */
typedef struct rapt_linear_attention_gradients { /* size-first, see base.h */
    size_t size;
    float *q;             /* gradient of q */
    float *k;             /* gradient of k */
    float *v;             /* gradient of v */
    float *log_decay;     /* gradient of log_decay */
    float *beta;          /* gradient of beta */
    float *initial_state; /* gradient of initial_state */
} rapt_linear_attention_gradients;

/* Adds gradients to the arrays in d. q, k and v are the inputs of rapt_linear_attention_forward,
   whose results are recomputed. dout is the gradient of out and has its layout. dfinal_state is the
   gradient of final_state; NULL means 0. Errors are the same as for rapt_linear_attention_forward.
   Also returns RAPT_BAD_ARGUMENT if d is NULL, or if a gradient is requested for an array that the
   problem does not have, or for one whose rows share memory because a stride is 0. */
RAPT_API rapt_status rapt_linear_attention_backward(const rapt_linear_attention *a, const float *q,
                                                    const float *k, const float *v,
                                                    const float *dout, const float *dfinal_state,
                                                    const rapt_linear_attention_gradients *d,
                                                    void *workspace, rapt_message *why);

/* Appends rows, usually one, to sequences: computes out from q, k and v, which have the same shapes
   as in rapt_linear_attention_forward, and updates the states in `state`, which must be set before
   the first rows, usually to 0. The results of one call with n rows are bit-identical to those of n
   calls with one row. Errors are the same as for rapt_linear_attention_forward. */
RAPT_API rapt_status rapt_linear_attention_step(const rapt_linear_attention *a, const float *q,
                                                const float *k, const float *v, float *state,
                                                float *out, void *workspace, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
