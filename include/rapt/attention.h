/* attention.h - attention on plain arrays, forward and backward.

       out[t] = sum over s of p[t][s] v[s],    p[t] = softmax over the keys that query t sees
                                                      of score(q[t], k[s]) + bias[t][s]

   for every sequence and head. No array of queries x keys is ever made. A query that sees no
   key gets output 0, weights 0, log-sum-exp -infinity, and gives and takes no gradient. Keys
   and values hidden by causality, window, counts, the boolean mask or a bias of -infinity never
   touch a result: they may hold NaN. One polarity everywhere: true = attend. */
#ifndef RAPT_ATTENTION_H
#define RAPT_ATTENTION_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rapt_score {
    RAPT_SCORE_SCALED_DOT, /* q.k / sqrt(key width)   Vaswani et al. 2017, section 3.2.1 */
    RAPT_SCORE_DOT,        /* q.k                     Luong et al. 2015, section 3.1 */
    RAPT_SCORES            /* how many there are */
} rapt_score;
RAPT_API const char *rapt_score_name(rapt_score score); /* "scaled-dot"; NULL: no such score */

/* Row r of sequence b and head h starts at data + b*batch + h*head + r*row. Strides count
   floats (bytes in a boolean mask); within a row elements are adjacent. A stride of 0 repeats,
   except in what is written: out, and q, k and v where their gradients are asked for. Rows that
   are written must not overlap. */
typedef struct rapt_stride {
    ptrdiff_t batch, head, row;
} rapt_stride;

/* Where the queries stand among the keys, for causality and windows. There is no default:
   with as many queries as keys both are the same, with a cache they are not. */
typedef enum rapt_corner {
    RAPT_CORNER_NONE,
    RAPT_CORNER_TOP_LEFT,    /* query t stands at key t */
    RAPT_CORNER_BOTTOM_RIGHT /* query t stands at key t + keys - queries: the last query at the
                                last key that exists, as in decoding with a cache */
} rapt_corner;

/* Which keys a query sees, and what is added to its scores. All zero: all keys, nothing. */
typedef struct rapt_mask {
    rapt_corner corner;
    int causal; /* not 0: no key behind the query's own place */
    int window; /* not 0: only keys from place - before to place + after */
    int before, after;
    const int *key_counts;  /* [batch] keys 0..count-1 exist; NULL: all of them */
    const uint8_t *allowed; /* row t holds one byte per key, 0: hidden; NULL: none is */
    rapt_stride allowed_stride;
    const float *bias;       /* row t holds one float per key, added after scaling; -infinity
                                hides the key as the other masks do; NULL: none */
    rapt_stride bias_stride; /* of bias and of its gradient; head stride counts query heads */
} rapt_mask;

/* The whole problem, for every function below. All zero is a default wherever one is sensible. */
typedef struct rapt_attention {
    int batch, heads, key_heads; /* key_heads 0: as many as heads; else it divides heads, and
                                    query head h reads key head h / (heads / key_heads) */
    int queries, keys;           /* rows per sequence; of the longest one if ragged */
    int key_width, value_width;  /* floats per row of q and k; of v and out */
    rapt_stride q, k, v, out;    /* batch strides are not used where starts are given */
    const int *query_starts;     /* ragged batch: [batch + 1] row offsets of sequences stored */
    const int *key_starts;       /*   back to back; NULL: all sequences are full */
    rapt_score score;
    float scale; /* multiplies the score; 0: the score's own */
    rapt_mask mask;
    float dropout; /* share of weights set to 0, the others / (1 - dropout) */
    uint64_t seed; /* equal seeds drop equal weights, whatever the threads */
    int threads;   /* 0: as many as OpenMP would use */
} rapt_attention;

/* Contiguous [batch][heads][rows][width] arrays, scaled dot, no mask. */
RAPT_API rapt_attention rapt_attention_make(int batch, int heads, int queries, int keys, int width);

/* RAPT_OK, or RAPT_BAD_ARGUMENT and a message that names the field. */
RAPT_API rapt_status rapt_attention_check(const rapt_attention *a, rapt_message *why);

/* Bytes of 64-byte aligned scratch the functions below need for this problem and its threads;
   0 if the problem is wrong. Linear in queries + keys. */
RAPT_API size_t rapt_attention_scratch(const rapt_attention *a);

/* lse: log of each softmax denominator, [heads][query rows of all sequences back to back];
   NULL if not wanted. out must not overlap the inputs. */
RAPT_API rapt_status rapt_attention_forward(const rapt_attention *a, const float *q, const float *k,
                                            const float *v, float *out, float *lse, void *scratch);

/* Adds to dq, dk, dv and dbias, which have the layout of q, k, v and bias; any may be NULL.
   out and lse are those of forward, dout has the layout of out. */
RAPT_API rapt_status rapt_attention_backward(const rapt_attention *a, const float *q,
                                             const float *k, const float *v, const float *out,
                                             const float *lse, const float *dout, float *dq,
                                             float *dk, float *dv, float *dbias, void *scratch);

/* The weights p (before dropout) of query rows [first, first + rows) of one sequence and head,
   rebuilt from lse: weights[rows][keys of that sequence]. */
RAPT_API rapt_status rapt_attention_weights(const rapt_attention *a, const float *q, const float *k,
                                            const float *lse, int sequence, int head, int first,
                                            int rows, float *weights, void *scratch);

#ifdef __cplusplus
}
#endif
#endif
