/* attention.h - attention on plain arrays, forward and backward.

       out[t] = sum over s of w[t][s] v[s],    w[t] = normalizer of score(q[t], k[s]) + bias[t][s]
                                                      over the visible keys s of query t

   for every sequence and head, along three axes that combine freely: the score, which keys a query
   sees (locality), and how scores become weights (normalizer). No array of queries x keys is
   stored, except in the backward pass of location-aware scores. A query without visible keys (fully
   masked) gets output 0, weights 0, log-sum-exp -infinity, and gives and takes no gradient. Keys
   and values hidden by causality, window, locality, counts, the boolean mask or a bias of -infinity
   never touch a result: they may hold NaN. One polarity everywhere: true = attend.

   Structs that begin with `size` may grow: set it to sizeof, zero the rest, and a program runs with
   later versions of the library. All functions are thread-safe: they read their arguments, write
   the arrays they name and the workspace, and keep nothing; calls at the same time need workspaces
   and outputs of their own. The caller owns all memory; nothing is allocated. NULL where an array
   or struct is needed is RAPT_BAD_ARGUMENT, and `why` (may be NULL) names it. */
#ifndef RAPT_ATTENTION_H
#define RAPT_ATTENTION_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Scores. What they learn (W, U, b, v, beta, P, F, L): rapt_attention_parameter. */
typedef enum rapt_score {
    RAPT_SCORE_SCALED_DOT, /* q.k / sqrt(K)                  Vaswani et al. 2017, section 3.2.1 */
    RAPT_SCORE_DOT,        /* q.k                            Luong et al. 2015, section 3.1 */
    RAPT_SCORE_GENERAL,    /* W q . k   (multiplicative)     Luong et al. 2015, section 3.1 */
    RAPT_SCORE_COSINE,     /* beta q.k / (|q| |k|)           Graves et al. 2014, section 3.3.1 */
    RAPT_SCORE_LOCATION,   /* P[s].q    (k is not read)      Luong et al. 2015, section 3.1 */
    RAPT_SCORE_ADDITIVE,   /* v . tanh(W q + U k + b)        Bahdanau et al. 2015, appendix A.1.2 */
    RAPT_SCORE_LOCATION_AWARE, /* v . tanh(W q + U k + L f + b), f = F * weights of the query before
                                                             Chorowski et al. 2015, section 2.2 */
    RAPT_SCORE_COUNT           /* how many there are */
} rapt_score;
/* "scaled-dot", ..; static. NULL: no such score. */
RAPT_API const char *rapt_score_name(rapt_score score);

/* Which keys a query sees, beside masks. Positions and keys count from 0. */
typedef enum rapt_locality {
    RAPT_LOCALITY_GLOBAL,  /* all */
    RAPT_LOCALITY_LOCAL_M, /* those within `radius` of the query's own position
                              (mask.causal_alignment) */
    RAPT_LOCALITY_LOCAL_P, /* those within `radius` of c = keys * sigmoid(z . tanh(C q)), where keys
                           is how many exist, if mask.causal up to the query's position; weights
                           are multiplied, after the softmax and without renormalizing, with
                           exp(-(s - c)^2 / (2 (radius/2)^2))
                           Luong et al. 2015, section 3.2, equations 9 and 10 */
    RAPT_LOCALITY_COUNT    /* how many there are */
} rapt_locality;
/* "local-p", ..; static. NULL: no such locality. */
RAPT_API const char *rapt_locality_name(rapt_locality locality);

/* How scores x become weights; p = softmax(x). Ties go to the lowest key. */
typedef enum rapt_normalizer {
    RAPT_NORMALIZER_SOFTMAX, /* p; below 2^-100 of the greatest p of its query it may be 0 */
    RAPT_NORMALIZER_ARGMAX,  /* 1 for the maximum x, else 0; no gradient to the scores */
    RAPT_NORMALIZER_SAMPLE,  /* 1 for one key drawn from p; gradient of the scores by REINFORCE
                           (Williams 1992): (baseline - reward) d log p[chosen] */
    RAPT_NORMALIZER_STRAIGHT_THROUGH, /* forward as ARGMAX, backward to the scores as SOFTMAX
                                    (Bengio, Leonard and Courville 2013) */
    RAPT_NORMALIZER_GUMBEL_SOFTMAX,   /* softmax((x + g) / temperature), g Gumbel noise
                            (Jang, Gu and Poole 2017) */
    RAPT_NORMALIZER_COUNT             /* how many there are */
} rapt_normalizer;
/* "straight-through", ..; static. NULL: no such normalizer. */
RAPT_API const char *rapt_normalizer_name(rapt_normalizer normalizer);

/* Row r of sequence b and head h starts at data + b*batch + h*head + r*row. Strides count
   floats (bytes in a boolean mask); within a row elements are adjacent. A stride of 0 repeats,
   except in what is written: out, and q, k and v where their gradients are asked for. Rows that
   are written must not overlap. */
typedef struct rapt_stride {
    ptrdiff_t batch, head, row; /* to the next sequence; to the next head; to the next row */
} rapt_stride;

/* The positions of queries among the keys, for causality and windows. There is no default:
   with as many queries as keys both are the same, with a cache they are not. Local-m, slopes,
   tables and rotary embeddings need positions too. */
typedef enum rapt_causal_alignment {
    RAPT_CAUSAL_ALIGNMENT_NONE,       /* queries have no positions */
    RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT, /* query t has position t */
    RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT /* query t has position t + existing keys - queries, both of
                                its own sequence: the last query has the position of the last key
                                that exists (key_counts, key_starts), as in decoding with a cache */
} rapt_causal_alignment;

/* Which keys a query sees, and what is added to its scores. All zero: all keys, nothing. */
typedef struct rapt_mask {
    rapt_causal_alignment causal_alignment; /* the positions of queries */
    int causal;                             /* not 0: no key after the query's own position */
    int window;             /* not 0: only keys from position - before to position + after */
    int before, after;      /* keys of the window before position, 0 or more; after it, 0 or more */
    const int *key_counts;  /* [batch] keys 0..count-1 exist; NULL: all of them */
    const uint8_t *allowed; /* row t holds one byte per key, 0: hidden; NULL: none is */
    rapt_stride allowed_stride; /* of allowed, in bytes; 0 repeats */
    const float *bias;          /* row t holds one float per key, added after scaling; -infinity
                                   hides the key as the other masks do; NULL: none */
    rapt_stride bias_stride;    /* of bias and of its gradient; head stride counts query heads */
    uint64_t reserved[4];       /* 0 */
} rapt_mask;

/* The arrays that scores and localities learn. Each is a matrix of floats [rows][columns], row
   after row without gaps, the rows of head 0 first. In the shapes, H is the number of query heads
   and G of key heads, Q the floats per row of q and K per row of k; W is K for general scores and
   `hidden` for additive ones; the other names are fields of rapt_attention_parameters. */
typedef enum rapt_attention_parameter {
    RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT,  /* W [H][W][Q]: general, additive, location-aware */
    RAPT_ATTENTION_PARAMETER_KEY_WEIGHT,    /* U [G][hidden][K]: additive, location-aware */
    RAPT_ATTENTION_PARAMETER_HIDDEN_BIAS,   /* b [H][hidden]: additive, location-aware; NULL: 0 */
    RAPT_ATTENTION_PARAMETER_HIDDEN_VECTOR, /* v [H][hidden]: additive, location-aware */
    RAPT_ATTENTION_PARAMETER_INVERSE_TEMPERATURE, /* beta [1][H]: cosine; NULL: 1 */
    RAPT_ATTENTION_PARAMETER_POSITION,            /* P [G][positions][Q]: location */
    RAPT_ATTENTION_PARAMETER_FILTERS,        /* F [H][channels][filter_width]: location-aware */
    RAPT_ATTENTION_PARAMETER_FEATURE_WEIGHT, /* L [H][hidden][channels]: location-aware */
    RAPT_ATTENTION_PARAMETER_CENTER_WEIGHT,  /* C [H][center_hidden][Q]: local-p */
    RAPT_ATTENTION_PARAMETER_CENTER_VECTOR,  /* z [H][center_hidden]: local-p */
    RAPT_ATTENTION_PARAMETER_COUNT
} rapt_attention_parameter;
/* Length of arrays by rapt_attention_parameter, with space for later versions: NULL until then. */
enum { RAPT_ATTENTION_PARAMETER_CAPACITY = 32 };
/* "query_weight", ..; static. NULL: no such array. */
RAPT_API const char *rapt_attention_parameter_name(rapt_attention_parameter array);

/* What the chosen score and locality have learned; other arrays may be NULL and are not read.
   Widths and the number of filters are 1 to 65536 where they are read. */
typedef struct rapt_attention_parameters {
    int hidden;                 /* width of the hidden layer: additive, location-aware */
    int positions;              /* location: most keys of a sequence */
    int channels, filter_width; /* location-aware: how many filters; their width (odd): f[s][c] =
                           sum over j of F[c][j] weight[s + j - filter_width/2], 0 outside */
    int center_hidden;          /* local-p: width of the hidden layer that predicts centers */
    const float *array[RAPT_ATTENTION_PARAMETER_CAPACITY]; /* by rapt_attention_parameter */
    uint64_t reserved[4];                                  /* 0 */
} rapt_attention_parameters;

/* What depends on the distance of a key s from the position of a query; all of it needs
   mask.causal_alignment. All zero: nothing. */
typedef enum rapt_rotary {
    RAPT_ROTARY_NONE,  /* nothing is rotated */
    RAPT_ROTARY_PAIRS, /* elements 2i and 2i + 1 together */
    RAPT_ROTARY_HALVES /* elements i and i + rotary_width/2 together */
} rapt_rotary;
/* All zero: nothing. */
typedef struct rapt_relative {
    const float *slopes; /* [H]: adds -slope |position - s|   Press, Smith and Lewis 2022 (ALiBi) */
    const float *table; /* [H][buckets]: adds table[bucket(s - position)]  Raffel et al. 2020, T5 */
    int buckets;        /* of the table, for each head (T5: 32): 2 to 65536; bidirectional: 4 or
                           more, even */
    int distance;       /* from which on all keys of a side share one bucket (T5: 128): more than
                           buckets / 2; bidirectional: more than buckets / 4 */
    int bidirectional;  /* not 0: half of the buckets are for keys after the position */
    rapt_rotary rotary; /* not for additive scores: the two vectors of the dot product, projected
                           by the score, are rotated by position and s: elements 2i and 2i+1, or
                           i and i + rotary_width/2, by the angle
                           position * rotary_base^(-2i/rotary_width)            Su et al. 2021 */
    int rotary_width;   /* leading elements that are rotated; 0: all; an even number either way */
    float rotary_base;  /* 0: 10000 */
    uint64_t reserved[4]; /* 0 */
} rapt_relative;

/* The whole problem, for every function below: it is read, never written. All zero but size is a
   default wherever one is sensible. */
typedef struct rapt_attention {
    size_t size;       /* sizeof(rapt_attention) */
    int batch;         /* sequences */
    int heads;         /* query heads */
    int key_heads;     /* heads of k and v; 0: as many as heads. It divides heads, and query head h
                          reads key head h / (heads / key_heads) */
    int queries, keys; /* query rows of the longest sequence; key rows of the longest */
    int key_width, value_width; /* floats per row of k; of v and out, both 1 to 65536 */
    int query_width;            /* floats per row of q; 0: key_width */
    rapt_stride q, k, v, out;   /* of rows of q; of rows of k; of rows of v; of rows of out. Batch
                                   strides are not read where starts are given */
    const int *query_starts;    /* ragged batch: [batch + 1] row offsets of sequences stored */
    const int *key_starts;      /*   back to back; NULL: all sequences are full */
    rapt_score score;           /* 0: scaled dot product */
    float scale;  /* multiplies the score of a dot product (not cosine), at most 2.35e38; 0: the
                     score's own */
    float cap;    /* above 0: the scaled score x becomes cap tanh(x / cap), before any bias */
    float radius; /* of local-m and local-p, above 0 */
    rapt_locality locality;     /* 0: global */
    rapt_normalizer normalizer; /* 0: softmax */
    float temperature; /* of GUMBEL_SOFTMAX; 0: 1. Where scores over it are infinite, all weight
                          goes to the maximum */
    int noiseless;     /* not 0, for inference: GUMBEL_SOFTMAX adds no noise and SAMPLE takes the
                          maximum x */
    float dropout;     /* share of weights set to 0, the others / (1 - dropout); not for hard
                          normalizers */
    int threads;       /* see base.h */
    uint64_t seed;  /* equal seeds drop equal weights and draw equal keys, whatever the threads */
    rapt_mask mask; /* which keys a query sees, and biases */
    rapt_relative relative;               /* what depends on distances */
    rapt_attention_parameters parameters; /* what score and locality have learned */
    const float *previous_weights; /* location-aware: weights, before the first query, of the keys
                                      that exist [batch][heads][keys]; NULL: 0. No gradient */
    const uint8_t *expected; /* [batch] of SAMPLE, not 0: this sequence has the weights p and the
                                gradient of SOFTMAX, the expected value of a draw (Xu et al. 2015,
                                section 4.1); chosen is -1. NULL: none has */
} rapt_attention;

/* Problems of scaled dot product, softmax and no mask, in four layouts. size: sizeof *a.
   RAPT_BAD_ARGUMENT: a, or query_starts where they are given, is NULL, or size is none; numbers,
   however large, are checked by rapt_attention_check. Change any field afterwards, and the strides
   with it: another value_width needs others of v and out; key_heads others of k and v, in init a
   batch of key_heads rows width, in init_rows a row of key_heads width and a batch of rows
   key_heads width.

   Where rows of 2 sequences, 2 heads (h) and 3 rows (r) lie, in units of `width` floats from the
   beginning of the array:

                 sequence 0    sequence 1      strides of
                 r0  r1  r2    r0  r1  r2      batch             head          row
     init                [batch][heads][rows][width]
       h0         0   1   2     6   7   8      heads rows width  rows width    width
       h1         3   4   5     9  10  11
     init_rows           [batch][rows][heads][width]
       h0         0   2   4     6   8  10      rows heads width  width         heads width
       h1         1   3   5     7   9  11
     init_packed         [batch][rows][query heads, key heads, value heads][width]
       q, h0      0   6  12    18  24  30      q, k, v: batch    width         row: as wide as all
       q, h1      1   7  13    19  25  31        rows row                      heads + 2 key_heads
       k, h0      2   8  14    20  26  32
       k, h1      3   9  15    21  27  33      out: as init_rows
       v, h0      4  10  16    22  28  34
       v, h1      5  11  17    23  29  35
     init_ragged         [rows of all sequences][heads][width], here of 3 rows and 1
       h0         0   2   4     6              not read          width         heads width
       h1         1   3   5     7 */
RAPT_API rapt_status rapt_attention_init(rapt_attention *a, size_t size, int batch, int heads,
                                         int queries, int keys, int width);
/* The same for arrays [batch][rows][heads][width]: a row of all heads is contiguous. */
RAPT_API rapt_status rapt_attention_init_rows(rapt_attention *a, size_t size, int batch, int heads,
                                              int queries, int keys, int width);
/* Self-attention of what one product made: where that is x, q is x, k is x + heads * width and v is
   x + (heads + key_heads) * width; gradients likewise. key_heads 0: as many as heads.
   RAPT_BAD_ARGUMENT: as rapt_attention_init. */
RAPT_API rapt_status rapt_attention_init_packed(rapt_attention *a, size_t size, int batch,
                                                int heads, int key_heads, int rows, int width);
/* Starts: [batch + 1], not copied; key_starts NULL: query_starts, self-attention.
   RAPT_BAD_ARGUMENT: as rapt_attention_init. */
RAPT_API rapt_status rapt_attention_init_ragged(rapt_attention *a, size_t size, int batch,
                                                int heads, const int *query_starts,
                                                const int *key_starts, int width);

/* What the score and locality of a problem learn: the shapes of the arrays, and offsets at which
   they fit into one block, of parameters, gradients or moments alike. An array that the problem
   does not read has 0 rows.
       rapt_attention_parameters_layout l = {.size = sizeof l};
       rapt_attention_parameters_lay_out(&a, &l, &why);
       float *x = calloc(l.floats, sizeof *x), *dx = calloc(l.floats, sizeof *dx);
       for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++)
           if (l.rows[i]) a.parameters.array[i] = x + l.offset[i], d.parameters[i] = dx +
   l.offset[i];
 */
typedef struct rapt_attention_parameters_layout {     /* size-first, see base.h; overwritten but for
                                                         size */
    size_t size;                                      /* sizeof(rapt_attention_parameters_layout) */
    size_t floats;                                    /* of all, a multiple of 16 */
    size_t offset[RAPT_ATTENTION_PARAMETER_CAPACITY]; /* floats before an array, a multiple of 16 */
    int rows[RAPT_ATTENTION_PARAMETER_CAPACITY];      /* of an array; 0: it is not read */
    int columns[RAPT_ATTENTION_PARAMETER_CAPACITY];   /* of an array; 0: it is not read */
} rapt_attention_parameters_layout;
/* The arrays of a->parameters may be NULL. RAPT_BAD_ARGUMENT, and the field in *why: the shapes of
   the problem, its score, its locality or the widths in a->parameters are out of range, as
   rapt_attention_check would find. */
RAPT_API rapt_status rapt_attention_parameters_lay_out(const rapt_attention *a,
                                                       rapt_attention_parameters_layout *layout,
                                                       rapt_message *why);

/* RAPT_OK, or RAPT_BAD_ARGUMENT and a message that names the field. */
RAPT_API rapt_status rapt_attention_check(const rapt_attention *a, rapt_message *why);

/* Bytes of 64-byte aligned workspace the functions below need for this problem and its threads,
   which refuse another alignment; 0 if the problem is wrong. With threads 0 they are asked of
   OpenMP anew in each call: its number must not grow between this one and those that get the
   workspace. Linear in queries + keys (location-aware: one head's queries x keys for each thread).
 */
RAPT_API size_t rapt_attention_workspace(const rapt_attention *a);

/* What forward leaves for backward and for rapt_attention_weights, beside out: for each query,
   [heads][query rows of all sequences back to back]. Both need lse or statistics; they give the
   same bits with either, but with lse alone they compute all scores once more. */
typedef struct rapt_attention_saved {
    size_t size;       /* sizeof(rapt_attention_saved) */
    float *lse;        /* log of the softmax denominator; NULL: not wanted */
    int *chosen;       /* hard normalizers: the key, -1: fully masked; else not used, may be NULL */
    float *statistics; /* two floats for each query, for the two functions alone: the maximum of its
                          scores and the sum of exponentials that refer to it; a log of their sum
                          could not hold both exactly. NULL: not wanted */
} rapt_attention_saved;

/* Reads q, k and v [batch][heads][rows][width], at the strides of a->q, a->k and a->v; writes out
   likewise, and what saved names. out must not overlap the inputs; saved may be NULL if the
   normalizer is not hard. k and v may be NULL if there are no keys, k if the score is location.
   RAPT_BAD_ARGUMENT: what rapt_attention_check refuses; an array that is needed is NULL; workspace
   is NULL or not aligned. */
RAPT_API rapt_status rapt_attention_forward(const rapt_attention *a, const float *q, const float *k,
                                            const float *v, float *out,
                                            const rapt_attention_saved *saved, void *workspace,
                                            rapt_message *why);

/* How good each sampled key turned out to be, laid out as the arrays of rapt_attention_saved;
   backward adds the gradient of -reward. */
typedef struct rapt_reinforce {
    size_t size;           /* sizeof(rapt_reinforce) */
    const float *reward;   /* needed by SAMPLE */
    const float *baseline; /* subtracted from it; NULL: 0 */
    float entropy; /* of SAMPLE: the gradient of -entropy H(p) of each query that drew a key is
                      added, where H is the entropy of p in nats (Xu et al. 2015, section 4.1) */
} rapt_reinforce;

/* Where gradients are added, in the layout of what they belong to; NULL: not wanted. What the
   problem has no array of has no gradient; what the score does not read has a gradient of 0. */
typedef struct rapt_gradients {
    size_t size;             /* sizeof(rapt_gradients) */
    float *q, *k, *v, *bias; /* of argument q; of k; of v; of mask.bias */
    float *slopes, *table;   /* of relative.slopes; of relative.table */
    float *parameters[RAPT_ATTENTION_PARAMETER_CAPACITY]; /* by rapt_attention_parameter */
} rapt_gradients;

/* Adds to what d names. q, k and v are those of forward, out and saved what it has written, dout
   [batch][heads][rows][width] has the layout of out. reinforce may be NULL unless the normalizer is
   SAMPLE. Errors as rapt_attention_forward; RAPT_BAD_ARGUMENT also: saved has neither lse nor
   statistics, or no chosen where the normalizer is hard. */
RAPT_API rapt_status rapt_attention_backward(const rapt_attention *a, const float *q,
                                             const float *k, const float *v, const float *out,
                                             const rapt_attention_saved *saved, const float *dout,
                                             const rapt_reinforce *reinforce,
                                             const rapt_gradients *d, void *workspace,
                                             rapt_message *why);

/* The weights w (before dropout) of query rows [first, first + rows) of one sequence and head,
   rebuilt from what forward saved: weights[rows][K], K: rows of k of that sequence, a->keys or
   key_starts[s + 1] - key_starts[s]. mask.key_counts make them no shorter: what is hidden has
   weight 0. Errors as
   rapt_attention_backward; RAPT_BAD_ARGUMENT also: there is no such sequence, head or row. */
RAPT_API rapt_status rapt_attention_weights(const rapt_attention *a, const float *q, const float *k,
                                            const rapt_attention_saved *saved, int sequence,
                                            int head, int first, int rows, float *weights,
                                            void *workspace, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
