/* distances.h - effects of the distance between a query and a key: slopes, tables of biases, rotary
   embeddings, and distance vectors, which are scored like keys and summed like values. attention.h
   includes this header. */
#ifndef RAPT_DISTANCES_H
#define RAPT_DISTANCES_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The pairs of elements in a head that a rotary embedding rotates. */
typedef enum rapt_rotary {
    RAPT_ROTARY_NONE,  /* no rotation */
    RAPT_ROTARY_PAIRS, /* elements 2i and 2i + 1 */
    RAPT_ROTARY_HALVES /* elements i and i + rotary_width/2 */
} rapt_rotary;
/* How rotary angles are reduced so that a model can read longer sequences than those it was trained
   on. f[i] is the unscaled angle of pair i per position; base, width and factor are rotary_base,
   rotary_width and rotary_factor or their defaults. */
typedef enum rapt_rotary_scaling {
    RAPT_ROTARY_SCALING_NONE,   /* f[i] = base^(-2i / width) */
    RAPT_ROTARY_SCALING_LINEAR, /* position interpolation: f[i] / factor (Chen et al. 2023) */
    RAPT_ROTARY_SCALING_NTK,    /* the base is multiplied by factor^(width / (width - 2)). The first
                                   pair keeps its angle, and the angle of the last pair is divided
                                   by factor (Peng et al. 2023) */
    RAPT_ROTARY_SCALING_YARN    /* g f[i] + (1 - g) f[i] / factor, where g grows linearly with the
                                   number of turns that pair i makes in rotary_positions positions,
                                   from 0 for at most one turn to 1 for 32 or more. Sines and
                                   cosines are multiplied by rotary_magnitude (Peng et al. 2023) */
} rapt_rotary_scaling;
/* Effects of the distance between a query's position and a key s. All of them require
   mask.causal_alignment. If every field is 0, distances have no effect. */
typedef struct rapt_relative {
    const float *slopes; /* [heads]: adds -slope |position - s| to scores (ALiBi: Press, Smith and
                            Lewis 2022); may be NULL */
    const float *table;  /* [heads][buckets]: adds table[bucket(s - position)] to scores (T5: Raffel
                            et al. 2020); may be NULL */
    int buckets;         /* buckets of each head in the table, 2 to 65536; even and at least 4 if
                            bidirectional. T5 uses 32 */
    int distance;      /* keys at this distance or beyond are in the last bucket of their side; must
                          exceed buckets / 2, or buckets / 4 if bidirectional. T5 uses 128 */
    int bidirectional; /* if nonzero, half of the buckets are for keys after the position; if 0, all
                          of these keys share the bucket of distance 0 */
    rapt_rotary rotary; /* rotates both vectors of the dot product, after any projection that the
                           score applies: pair i turns by the position times the pair's angle per
                           position, which rotary_scaling defines (Su et al. 2021). Not allowed for
                           scores with a tanh, nor with distance vectors */
    int rotary_width;   /* number of leading elements that are rotated, even, at least 2 (4 with
                           NTK) and at most the width of the vectors; 0 means all */
    float rotary_base;  /* base of the angles, 0 or more; 0 means 10000 */
    rapt_rotary_scaling rotary_scaling; /* how the angles are reduced for long sequences */
    float rotary_factor; /* with scaling, the ratio of the new to the original length, at least 1; 0
                            means 1 */
    int rotary_positions;   /* with YARN, the original length, at least 1 */
    float rotary_magnitude; /* with YARN, the factor applied to sines and cosines, 0 or more; 0
                               means 0.1 ln(rotary_factor) + 1 */
    uint64_t reserved[2];   /* must be 0 */
} rapt_relative;

/* Distance vectors, which represent the distances between queries and keys. Let d be s - position,
   the distance of key s from the query's position, clamped to -before .. after. The vectors u, v,
   r, r' and a of a query head change the definition in attention.h:

       score(q[t], k[s]) += scale (u . k[s] + (q[t] + v) . r[d] + k[s] . r'[d])
       out[t] += sum over s of w[t][s] a[d],    w after dropout

   Shaw, Uszkoreit and Vaswani 2018 use r and a, with before = after. Transformer-XL (Dai et al.
   2019) uses r, u and v. DeBERTa (He et al. 2021) uses r and r' and a scale of 1 / sqrt(3 K).
   Scores must be scaled dot products or dot products, without rotary embeddings or talking heads,
   and mask.causal_alignment is required. All of these score terms except the one with u are added
   after the cap, like a bias. If all fields are 0, no distance vectors are used.

   There are n = before + 1 + after distances, at most 65536. K is key_width and V is value_width.
   Row 0 of an array is for distance -before. With `buckets`, distances share vectors instead: r[d],
   r'[d] and a[d] are row buckets[before + d] of arrays with bucket_count rows. For each head, the
   workspace needs about 2 m additional floats per query row for r, 2 m for a, and 2 n per key row
   for r', where m is n or, with `buckets`, n + bucket_count. */
typedef struct rapt_distances {
    int before;           /* distances below -before count as -before; 0 or more */
    int after;            /* distances above `after` count as `after`; 0 or more */
    int shared;           /* if nonzero, all heads share r, r' and a: [n][K], [n][K] and [n][V] */
    const float *keys;    /* r [n][heads][K]; NULL means 0 */
    const float *queries; /* r' [n][heads][K]; NULL means 0 */
    const float *values;  /* a [n][heads][V]; NULL means 0 */
    const float *content_bias;  /* u [heads][K], never shared; NULL means 0 */
    const float *position_bias; /* v [heads][K], never shared; NULL means 0; requires keys */
    const int *buckets;   /* [n] the row, 0 to bucket_count - 1, for each distance from -before to
                             after; NULL means that r, r' and a have a row for each distance */
    int bucket_count;     /* with buckets, the number of rows of r, r' and a, 1 to n; else 0 */
    uint64_t reserved[2]; /* must be 0 */
} rapt_distances;

/* The arrays to which the gradients of distance vectors are added. Each has the layout of the array
   it belongs to, or is NULL if that gradient is not needed. */
typedef struct rapt_distance_gradients {
    float *keys;          /* gradient of keys */
    float *queries;       /* gradient of queries */
    float *values;        /* gradient of values */
    float *content_bias;  /* gradient of content_bias */
    float *position_bias; /* gradient of position_bias */
} rapt_distance_gradients;

/* Fills `to`, which has before + 1 + after elements, with logarithmic buckets (DeBERTa v2 and v3)
   for rapt_distances.buckets. Returns the value for bucket_count. Let m be buckets / 2:

       bucket(d) = d                                                       if 0 <= d <= m
       bucket(d) = m + ceil((m - 1) log(d / m) / log(distance / m))        if d > m
       to[before + d] = bucket(before) + bucket(d),    to[before - d] = bucket(before) - bucket(d)

   so bucket(distance) is buckets - 1, and the result is bucket(before) + 1 + bucket(after). In
   DeBERTa v2, position_buckets is `buckets` and max_relative_positions is distance + 1. before and
   after are as in rapt_distances, buckets must be even and at least 4, and distance must exceed m.
   Returns 0 and leaves `to` unchanged if an argument is out of range or NULL, or if the number of
   buckets overflows an int. */
RAPT_API int rapt_distance_buckets(int before, int after, int buckets, int distance, int *to);

#ifdef __cplusplus
}
#endif
#endif
