/* attention.h - attention on plain arrays, forward and backward.

       out[t] = sum over s of w[t][s] v[s],    w[t] = normalizer of score(q[t], k[s]) + bias[t][s]
                                                      over the visible keys s of query t

   for every sequence and head. Three choices combine freely: the score, the locality (which keys a
   query sees) and the normalizer (how scores become weights). No array of queries x keys is stored,
   except in the backward pass of location-aware scores.

   Masks have one polarity everywhere: true = attend. A query without visible keys (fully masked)
   has output 0, weights 0 and log-sum-exp -infinity, and neither receives nor passes on a gradient.
   Keys and values that are hidden by causality, a window, the locality, key counts, the boolean
   mask or a bias of -infinity never affect a result: they may hold NaN.

   All functions are thread-safe. They read their arguments, write the arrays that they name and the
   workspace, and keep nothing, so calls that run at the same time need their own workspaces and
   outputs. The caller owns all memory; nothing is allocated. If an array or struct that is needed
   is NULL, the call fails with RAPT_BAD_ARGUMENT and names it in `why`, which may itself be NULL.
 */
#ifndef RAPT_ATTENTION_H
#define RAPT_ATTENTION_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Score functions of a query q and a key k. The parameters W, U, b, v, beta, P, F and L are
   learned; see rapt_attention_parameter. */
typedef enum rapt_score {
    RAPT_SCORE_SCALED_DOT, /* q.k / sqrt(K)                  Vaswani et al. 2017, section 3.2.1 */
    RAPT_SCORE_DOT,        /* q.k                            Luong et al. 2015, section 3.1 */
    RAPT_SCORE_GENERAL,    /* W q . k   (multiplicative)     Luong et al. 2015, section 3.1 */
    RAPT_SCORE_COSINE,     /* beta q.k / (|q| |k|)           Graves et al. 2014, section 3.3.1 */
    RAPT_SCORE_LOCATION,   /* P[s].q    (k is not read)      Luong et al. 2015, section 3.1 */
    RAPT_SCORE_ADDITIVE,   /* v . tanh(W q + U k + b)        Bahdanau et al. 2015, appendix A.1.2 */
    RAPT_SCORE_LOCATION_AWARE, /* v . tanh(W q + U k + L f + b), where f = F * the weights of the
                                  previous query. Chorowski et al. 2015, section 2.2 */
    RAPT_SCORE_COUNT
} rapt_score;
/* Returns the name of a score, such as "scaled-dot", or NULL for an unknown value. The string is
   static. */
RAPT_API const char *rapt_score_name(rapt_score score);

/* Which keys a query sees. Masks can hide more of them. Positions and keys count from 0. */
typedef enum rapt_locality {
    RAPT_LOCALITY_GLOBAL,  /* all keys */
    RAPT_LOCALITY_LOCAL_M, /* keys within `radius` of the query's own position, which
                              mask.causal_alignment defines */
    RAPT_LOCALITY_LOCAL_P, /* keys within `radius` of c = n sigmoid(z . tanh(C q)), where n is the
                              number of keys that exist or, with mask.causal, of those up to the
                              query's position. After the softmax, weights are multiplied by exp(-(s
                              - c)^2 / (2 (radius/2)^2)) and not renormalized. Luong et al. 2015,
                              section 3.2, equations 9 and 10 */
    RAPT_LOCALITY_COUNT
} rapt_locality;
/* Returns the name of a locality, such as "local-p", or NULL for an unknown value. The string is
   static. */
RAPT_API const char *rapt_locality_name(rapt_locality locality);

/* How scores x become weights, with p = softmax(x). Ties go to the lowest key. */
typedef enum rapt_normalizer {
    RAPT_NORMALIZER_SOFTMAX, /* p; a weight below 2^-100 of the query's largest may become 0 */
    RAPT_NORMALIZER_ARGMAX,  /* 1 for the largest x, else 0; no gradient to the scores */
    RAPT_NORMALIZER_SAMPLE,  /* 1 for one key drawn from p, else 0. The scores learn by REINFORCE
                                (Williams 1992): (baseline - reward) d log p[chosen] */
    RAPT_NORMALIZER_STRAIGHT_THROUGH, /* forward as ARGMAX, backward as SOFTMAX
                                         (Bengio, Leonard and Courville 2013) */
    RAPT_NORMALIZER_GUMBEL_SOFTMAX,   /* softmax((x + g) / temperature), where g is Gumbel noise
                                         (Jang, Gu and Poole 2017) */
    RAPT_NORMALIZER_COUNT
} rapt_normalizer;
/* Returns the name of a normalizer, such as "straight-through", or NULL for an unknown value. The
   string is static. */
RAPT_API const char *rapt_normalizer_name(rapt_normalizer normalizer);

/* The layout of an array: row r of sequence b and head h starts at data + b*batch + h*head + r*row,
   and the elements of a row are adjacent. Strides count floats, or bytes in a boolean mask. A
   stride of 0 repeats rows; it is not allowed for out, nor for q, k or v if their gradients, which
   have the same layout, are requested. Rows that are written must not overlap. */
typedef struct rapt_stride {
    ptrdiff_t batch; /* from one sequence to the next */
    ptrdiff_t head;  /* from one head to the next */
    ptrdiff_t row;   /* from one row to the next */
} rapt_stride;

/* The positions of queries among the keys. Causality, windows, local-m, slopes, tables and rotary
   embeddings need them. There is no default: with as many queries as keys the two alignments agree,
   with a cache they differ. */
typedef enum rapt_causal_alignment {
    RAPT_CAUSAL_ALIGNMENT_NONE,       /* queries have no positions */
    RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT, /* query t has position t */
    RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT /* the last query of a sequence has the position of its last
                                         existing key (key_counts, key_starts), as in decoding with
                                         a cache. With m queries and n keys, query t has the
                                         position t + n - m */
} rapt_causal_alignment;

/* Masks and biases. All zero: every key is visible and nothing is added to scores. */
typedef struct rapt_mask {
    rapt_causal_alignment causal_alignment; /* the positions of queries */
    int causal; /* not 0: keys after the query's own position are hidden */
    int window; /* not 0: only keys from position - before to position + after are visible */
    int before; /* keys of the window before the position, 0 or more */
    int after;  /* keys of the window after the position, 0 or more */
    const int *key_counts;      /* [batch] keys 0 .. count-1 of a sequence exist; NULL: all */
    const uint8_t *allowed;     /* row t has one byte per key, 0: hidden; NULL: no boolean mask */
    rapt_stride allowed_stride; /* of allowed, in bytes; 0 repeats */
    const float *bias;          /* row t has one float per key, which is added to the scaled score;
                                   -infinity hides the key like any other mask; NULL: none */
    rapt_stride bias_stride; /* of bias and of its gradient; the head stride counts query heads */
    uint64_t reserved[4];
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
/* Length of arrays indexed by rapt_attention_parameter. Later versions may use more of it; until
   then the rest must be NULL. */
enum { RAPT_ATTENTION_PARAMETER_CAPACITY = 32 };
/* Returns the name of an array, such as "query_weight", or NULL for an unknown value. The string is
   static. */
RAPT_API const char *rapt_attention_parameter_name(rapt_attention_parameter array);

/* What the chosen score and locality have learned. Arrays and sizes that they do not use are not
   read. Sizes that are read are from 1 to 65536. */
typedef struct rapt_attention_parameters {
    int hidden;        /* additive, location-aware: hidden units */
    int positions;     /* location: keys of the longest sequence */
    int channels;      /* location-aware: filters */
    int filter_width;  /* location-aware: width of each filter, odd: f[s][c] = sum over j of
                          F[c][j] weight[s + j - filter_width/2], where weights outside are 0 */
    int center_hidden; /* local-p: hidden units of the network that predicts centers */
    const float *array[RAPT_ATTENTION_PARAMETER_CAPACITY]; /* by rapt_attention_parameter */
    uint64_t reserved[4];
} rapt_attention_parameters;

/* Which elements of a head a rotary embedding turns together. */
typedef enum rapt_rotary {
    RAPT_ROTARY_NONE,  /* no rotation */
    RAPT_ROTARY_PAIRS, /* elements 2i and 2i + 1 */
    RAPT_ROTARY_HALVES /* elements i and i + rotary_width/2 */
} rapt_rotary;
/* Effects of the distance between the position of a query and a key s. All of them need
   mask.causal_alignment. All zero: no effect. */
typedef struct rapt_relative {
    const float *slopes; /* [H]: adds -slope |position - s| to scores (ALiBi: Press, Smith and Lewis
                            2022); NULL: none */
    const float *table;  /* [H][buckets]: adds table[bucket(s - position)] to scores (T5: Raffel et
                            al. 2020); NULL: none */
    int buckets;         /* per head of the table, 2 to 65536; if bidirectional, even and 4 or more.
                            T5: 32 */
    int distance;      /* all keys at this distance or beyond share one bucket per side; must exceed
                          buckets / 2, or buckets / 4 if bidirectional. T5: 128 */
    int bidirectional; /* not 0: half of the buckets are for keys after the position */
    rapt_rotary rotary; /* rotates the two vectors of the dot product, after the score has projected
                           them, by the angles position * rotary_base^(-2i / rotary_width) (Su et
                           al. 2021); not for additive scores */
    int rotary_width;   /* leading elements that are rotated, even; 0: all of them */
    float rotary_base;  /* 0: 10000 */
    uint64_t reserved[4];
} rapt_relative;

/* An attention problem. rapt_attention_init and its variants fill it in; all other functions only
   read it. Most fields default to 0. */
typedef struct rapt_attention { /* size-first, see base.h */
    size_t size;
    int batch;       /* sequences */
    int heads;       /* query heads */
    int key_heads;   /* heads of k and v; 0: one per query head. It divides heads, and query head h
                        reads key head h / (heads / key_heads) */
    int queries;     /* rows of q of the longest sequence */
    int keys;        /* rows of k and v of the longest sequence */
    int key_width;   /* floats per row of k, 1 to 65536 */
    int value_width; /* floats per row of v and out, 1 to 65536 */
    int query_width; /* floats per row of q; 0: key_width */
    rapt_stride q;   /* layout of q; batch strides are ignored where starts are given */
    rapt_stride k;   /* layout of k */
    rapt_stride v;   /* layout of v */
    rapt_stride out; /* layout of out */
    const int *query_starts; /* ragged batch: [batch + 1] offsets of sequences whose rows of q are
                                stored back to back; NULL: all sequences have `queries` rows */
    const int *key_starts;   /* likewise for k and v, with `keys` rows */
    rapt_score score;        /* 0: scaled dot product */
    float scale;  /* factor of dot-product scores other than cosine, at most 2.35e38; 0: the default
                     of the score */
    float cap;    /* above 0: the scaled score x becomes cap tanh(x / cap), before any bias */
    float radius; /* of local-m and local-p, above 0 */
    rapt_locality locality;     /* 0: global */
    rapt_normalizer normalizer; /* 0: softmax */
    float temperature; /* of GUMBEL_SOFTMAX; 0: 1. If scores divided by it are infinite, the largest
                          takes all the weight */
    int noiseless;     /* not 0, for inference: GUMBEL_SOFTMAX adds no noise and SAMPLE takes the
                          largest x */
    float dropout;  /* share of weights set to 0, at least 0 and below 1. The others are divided by
                       (1 - dropout). Not for hard normalizers */
    int threads;    /* see base.h */
    uint64_t seed;  /* equal seeds drop the same weights and draw the same keys for any number of
                       threads */
    rapt_mask mask; /* which keys are visible, and biases */
    rapt_relative relative;               /* effects of distance */
    rapt_attention_parameters parameters; /* what score and locality have learned */
    const float *previous_weights; /* location-aware: [batch][heads][keys], the weights that the
                                      first query sees as those of its predecessor, read for
                                      existing keys only; NULL: 0. They get no gradient */
    const uint8_t *expected; /* [batch], with SAMPLE: where not 0, the sequence uses the weights p
                                and the gradient of SOFTMAX, which is the expected value of a draw
                                (Xu et al. 2015, section 4.1), and chosen is -1. NULL: nowhere */
} rapt_attention;

/* The four functions below fill in *a for scaled dot products, softmax and no mask, with arrays in
   one of four layouts. size is sizeof *a. Any field may be changed afterwards, together with the
   strides that depend on it: another value_width changes those of v and out, and key_heads those of
   k and v (in init, the batch is key_heads * rows * width; in init_rows, a row is key_heads * width
   and a batch rows * key_heads * width).

   The functions return RAPT_BAD_ARGUMENT only if a (or query_starts, where it is a parameter) is
   NULL or size is not that of the struct; rapt_attention_check judges the numbers.

   This is where the rows of 2 sequences, 2 heads (h) and 3 rows (r) lie, in units of `width` floats
   from the beginning of the array:

                 sequence 0    sequence 1      strides of
                 r0  r1  r2    r0  r1  r2      batch             head          row
     init                [batch][heads][rows][width]
       h0         0   1   2     6   7   8      heads rows width  rows width    width
       h1         3   4   5     9  10  11
     init_rows           [batch][rows][heads][width]
       h0         0   2   4     6   8  10      rows heads width  width         heads width
       h1         1   3   5     7   9  11
     init_packed         [batch][rows][query heads, key heads, value heads][width]
       q, h0      0   6  12    18  24  30      q, k, v:          width         row = (heads +
       q, h1      1   7  13    19  25  31        rows row                        2 key_heads) width
       k, h0      2   8  14    20  26  32
       k, h1      3   9  15    21  27  33      out: as init_rows
       v, h0      4  10  16    22  28  34
       v, h1      5  11  17    23  29  35
     init_ragged         [rows of all sequences][heads][width], here of 3 rows and 1
       h0         0   2   4     6              not read          width         heads width
       h1         1   3   5     7 */
RAPT_API rapt_status rapt_attention_init(rapt_attention *a, size_t size, int batch, int heads,
                                         int queries, int keys, int width);
/* The same for arrays [batch][rows][heads][width], in which a row of all heads is contiguous. */
RAPT_API rapt_status rapt_attention_init_rows(rapt_attention *a, size_t size, int batch, int heads,
                                              int queries, int keys, int width);
/* Self-attention on the result x of a single product: q is x, k is x + heads * width, and v is
   x + (heads + key_heads) * width. Gradients are laid out the same way. key_heads 0: one per query
   head. RAPT_BAD_ARGUMENT: as rapt_attention_init. */
RAPT_API rapt_status rapt_attention_init_packed(rapt_attention *a, size_t size, int batch,
                                                int heads, int key_heads, int rows, int width);
/* A ragged batch. Both starts are [batch + 1] and not copied; key_starts NULL: query_starts, for
   self-attention. RAPT_BAD_ARGUMENT: as rapt_attention_init. */
RAPT_API rapt_status rapt_attention_init_ragged(rapt_attention *a, size_t size, int batch,
                                                int heads, const int *query_starts,
                                                const int *key_starts, int width);

/* The shapes of the arrays that a problem's score and locality learn, and offsets at which all of
   them fit into one block, which may hold parameters, gradients or moments:

       rapt_attention_parameters_layout l = {.size = sizeof l};
       rapt_attention_parameters_lay_out(&a, &l, &why);
       float *x = calloc(l.floats, sizeof *x), *dx = calloc(l.floats, sizeof *dx);
       for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++)
           if (l.rows[i]) {
               a.parameters.array[i] = x + l.offset[i];
               d.parameters[i] = dx + l.offset[i];
           } */
typedef struct rapt_attention_parameters_layout { /* size-first, see base.h */
    size_t size;
    size_t floats;                                    /* of the block, a multiple of 16 */
    size_t offset[RAPT_ATTENTION_PARAMETER_CAPACITY]; /* of an array in the block, in floats, a
                                                         multiple of 16 */
    int rows[RAPT_ATTENTION_PARAMETER_CAPACITY]; /* of an array; 0: the problem does not read it */
    int columns[RAPT_ATTENTION_PARAMETER_CAPACITY]; /* of an array; 0: the problem does not read it
                                                     */
} rapt_attention_parameters_layout;
/* Fills in *layout, whose size is set. The arrays of a->parameters may still be NULL.
   RAPT_BAD_ARGUMENT: the shapes of the problem, its score, its locality or the sizes in
   a->parameters are out of range, as rapt_attention_check would find; *why names the field. */
RAPT_API rapt_status rapt_attention_parameters_lay_out(const rapt_attention *a,
                                                       rapt_attention_parameters_layout *layout,
                                                       rapt_message *why);

/* Checks a problem. RAPT_BAD_ARGUMENT: *why names the field that is wrong. */
RAPT_API rapt_status rapt_attention_check(const rapt_attention *a, rapt_message *why);

/* Returns the bytes of workspace that the functions below need for this problem and its number of
   threads, or 0 if the problem is not valid. The workspace must be aligned to 64 bytes. Its size is
   linear in queries + keys; location-aware scores need one head's queries x keys for each thread.
   If threads is 0, every call asks OpenMP for its number of threads, which must not grow between
   this call and those that use the workspace. */
RAPT_API size_t rapt_attention_workspace(const rapt_attention *a);

/* What forward leaves for backward and rapt_attention_weights, besides out. Each array is
   [heads][query rows of all sequences, back to back]. The two functions need lse or statistics and
   give the same bits with either; with lse only, they compute all scores once more. */
typedef struct rapt_attention_saved { /* size-first, see base.h */
    size_t size;
    float *lse;        /* log of the softmax denominator; NULL: not wanted */
    int *chosen;       /* hard normalizers: the key of each query, -1 if it is fully masked; unused
                          and possibly NULL otherwise */
    float *statistics; /* two floats per query: the largest score, and the sum of exponentials
                          relative to it. A single float, such as lse, could not hold both exactly.
                          NULL: not wanted */
} rapt_attention_saved;

/* Computes out from q, k and v, all [batch][heads][rows][width] with the strides of `a`, and fills
   in the arrays of saved. out must not overlap the inputs. saved may be NULL unless the normalizer
   is hard; k and v may be NULL if there are no keys, and k if the score is location.
   RAPT_BAD_ARGUMENT: rapt_attention_check refuses the problem, an array that is needed is NULL, or
   workspace is NULL or not aligned. */
RAPT_API rapt_status rapt_attention_forward(const rapt_attention *a, const float *q, const float *k,
                                            const float *v, float *out,
                                            const rapt_attention_saved *saved, void *workspace,
                                            rapt_message *why);

/* How good each sampled key turned out to be, in arrays like those of rapt_attention_saved.
   Backward adds the gradient of -reward. */
typedef struct rapt_reinforce { /* size-first, see base.h */
    size_t size;
    const float *reward;   /* required with SAMPLE */
    const float *baseline; /* subtracted from reward; NULL: 0 */
    float entropy; /* with SAMPLE: adds the gradient of -entropy H(p) for each query that drew a
                      key, where H(p) is the entropy of p in nats (Xu et al. 2015, section 4.1) */
} rapt_reinforce;

/* The arrays to which backward adds gradients, each with the layout of what it belongs to; NULL:
   not wanted. A gradient may only be requested for an array that the problem has. */
typedef struct rapt_gradients { /* size-first, see base.h */
    size_t size;
    float *q;      /* of argument q */
    float *k;      /* of argument k; 0 if the score does not read it */
    float *v;      /* of argument v */
    float *bias;   /* of mask.bias */
    float *slopes; /* of relative.slopes */
    float *table;  /* of relative.table */
    float *parameters[RAPT_ATTENTION_PARAMETER_CAPACITY]; /* by rapt_attention_parameter; 0 if the
                                                             score does not read it */
} rapt_gradients;

/* Adds gradients to the arrays in d. q, k and v are those of forward, out and saved what it wrote,
   and dout [batch][heads][rows][width], the gradient of out, has the layout of out. reinforce may
   be NULL unless the normalizer is SAMPLE. Errors as rapt_attention_forward; RAPT_BAD_ARGUMENT also
   if saved has neither lse nor statistics, or lacks chosen where the normalizer is hard. */
RAPT_API rapt_status rapt_attention_backward(const rapt_attention *a, const float *q,
                                             const float *k, const float *v, const float *out,
                                             const rapt_attention_saved *saved, const float *dout,
                                             const rapt_reinforce *reinforce,
                                             const rapt_gradients *d, void *workspace,
                                             rapt_message *why);

/* Computes the weights w, before dropout, of query rows [first, first + rows) of one sequence and
   head, from what forward saved: weights [rows][K], where K is the number of rows of k of that
   sequence (a->keys, or key_starts[s + 1] - key_starts[s]). mask.key_counts does not shorten the
   rows; hidden keys have weight 0. Errors as rapt_attention_backward; RAPT_BAD_ARGUMENT also if
   there is no such sequence, head or row. */
RAPT_API rapt_status rapt_attention_weights(const rapt_attention *a, const float *q, const float *k,
                                            const rapt_attention_saved *saved, int sequence,
                                            int head, int first, int rows, float *weights,
                                            void *workspace, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
