/* distances.h - vectors for the distances between queries and keys, which attention scores like
   keys and sums like values. attention.h includes it. */
#ifndef RAPT_DISTANCES_H
#define RAPT_DISTANCES_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Vectors for distances. Let d be s - position, the distance of key s from the query's position, or
   the nearest number from -before to after. The arrays u, v, r, r' and a change the definition of
   attention.h:

       score(q[t], k[s]) += scale (u . k[s] + (q[t] + v) . r[d] + k[s] . r'[d])
       out[t] += sum over s of w[t][s] a[d]

   Shaw, Uszkoreit and Vaswani 2018 use r and a, with before = after. Transformer-XL (Dai et al.
   2019) uses r, u and v. DeBERTa (He et al. 2021) uses r and r' and a scale of 1 / sqrt(3 K).
   Scores must be scaled dot products or dot products, without rotary positions; all but u . k[s] is
   added after the cap, like a bias. The weights that multiply a are those after dropout. All fields
   may be 0. Workspaces grow by about n floats for each head and row. Values a
   take the general path, which is slower than tiles. */
typedef struct rapt_distances {
    int before; /* largest distance of a key before the position, 0 or more */
    int after;  /* largest distance of a key after it, 0 or more. There are n = before + 1 + after
                   distances, at most 65536; row 0 of an array is for -before */
    int shared; /* if nonzero, all heads share the vectors: r and r' are [n][K], and a is [n][V] */
    const float *keys;          /* r [n][heads][K]; NULL means 0 */
    const float *queries;       /* r' [n][heads][K]; NULL means 0. heads are query heads */
    const float *values;        /* a [n][heads][V]; NULL means 0 */
    const float *content_bias;  /* u [heads][K]; NULL means 0 */
    const float *position_bias; /* v [heads][K]; NULL means 0; requires keys */
    uint64_t reserved[4];
} rapt_distances;

/* The arrays to which gradients of a rapt_distances are added, with the layouts of the arrays that
   they belong to, or NULL if they are not wanted. */
typedef struct rapt_distance_gradients {
    float *keys;          /* gradient of keys */
    float *queries;       /* gradient of queries */
    float *values;        /* gradient of values */
    float *content_bias;  /* gradient of content_bias */
    float *position_bias; /* gradient of position_bias */
} rapt_distance_gradients;

#ifdef __cplusplus
}
#endif
#endif
