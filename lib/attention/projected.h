/* projected.h - attention on projected queries and keys. A score projects rows of q and k to q' and
   k', after which one of these operations remains:

       x[t][s] = scale q'[t].k'[s]                    all dot-product scores
       x[t][s] = vector . tanh(q'[t] + k'[s])         additive
       x[t][s] = vector . tanh(q'[t] + k'[s] + L f)   location-aware, coverage

   The soft cap, biases, masks, normalizer and sum of values are then the same for all scores.
   Softmax (with or without a sink) and sigmoids of dot products take the flash path
   (flash/flash.h), except with local-p or talking heads, or in a backward pass with a guide.
   Everything else takes the general path (general/general.h). */
#ifndef RAPT_LIB_ATTENTION_PROJECTED_H
#define RAPT_LIB_ATTENTION_PROJECTED_H

#include "attention/problem.h"

/* The term L f of a recurrent score. f[s] has one channel per filter. The filters read the weights
   of the previous query around key s or, if `summed`, the sum of the weights of all previous
   queries. */
struct features {
    int channels, filter_width; /* 0 if the score is not recurrent */
    bool summed;
    const float *filters, *weight; /* filters is [H][channels][filter_width], or NULL for a single
                                      filter that copies its input; weight is L
                                      [H][width][channels] */
    float *dfilters, *dweight;     /* gradients to add to; NULL if not requested */
};

struct projected {
    const rapt_attention *a; /* supplies what the projection does not change, such as rows, masks
                                and the normalizer */
    const float *q, *k;      /* q' and k', which have as many heads as q and k. k' may be NULL if
                                there are no keys */
    rapt_stride q_stride, k_stride; /* as in `a`: batch strides are ignored if starts are given */
    int width;                      /* floats per row of q' and k' */
    float scale;                    /* factor of the dot product */
    bool additive;                  /* true for a tanh layer, false for a dot product */
    bool recurrent;                 /* true if the tanh layer includes L f, which reads the weights
                                       of previous queries */
    struct features features;       /* describes L f, if the score is recurrent */
    const float *vector;            /* [H][width], for additive scores */
    enum attend_kind kind;          /* how the flash path computes the normalizer */
    const float *numbers;           /* [H] learned parameters of the normalizer; NULL means 0 */
    const float *relative; /* [H][relative_row]: element s - position + relative_zero is added to
                              x[t][s]; NULL if none */
    int relative_row, relative_zero;
    const float *forget;   /* [H][rapt__key_panels][2][16]: sums of log_forget (kernel/flash.h);
                              NULL if none */
    const float *by_query; /* [H][query rows][rapt__distance_row] terms that distance vectors add to
                              scores (kernel/flash.h), starting with element 16 of a row; NULL if
                              there are none */
    const float *by_key;   /* [H][rapt__key_panels][rapt__distance_panel]: terms of keys; NULL if
                              there are none */
    const float *by_dout;  /* in backward, laid out like by_query: products of dout with the vectors
                              that are added to values; NULL if none */
    float *distance_weights; /* laid out like by_query: sums of weights by distance, computed by the
                                flash path in forward and by both paths in backward; NULL if not
                                requested */
    const float *centers;    /* [H][query rows], for local-p; otherwise NULL */
    int *chosen; /* [H][query rows], written by forward, read by backward and weights; NULL unless
                    the normalizer is hard */
    rapt_reinforce reinforce; /* for backward with sampled keys; zeros with other normalizers, which
                                 ignore the caller's arrays */
    struct weight_losses losses; /* for backward on the general path */
};

/* The arrays to which gradients are added, or NULL if they are not requested. Each has the layout
   of the array that it belongs to. */
struct projected_gradients {
    float *q, *k, *v, *bias, *vector, *relative, *centers, *filters, *feature_weight, *numbers;
    float *forget_rows, *forget_keys; /* [H][query rows] and [H][key rows] sums of the gradients of
                                         scores, over keys and over queries, for the gradient of
                                         log_forget; either both or neither are NULL */
    float *by_query, *by_key;         /* as in struct projected */
    float *talking_scores, *talking_weights;
};

/* The sizes of a problem that determine its workspace, or their maxima over several problems. */
struct bounds {
    const rapt_attention *a; /* used only for its options, such as which biases and masks exist */
    size_t heads, key_heads;
    size_t width, value_width; /* floats per row of projected queries and keys, and of values */
    bool additive;
    size_t channels, filter_width; /* for a recurrent score, else 0 */
    size_t batch;
    size_t query_rows, key_rows;          /* totals over all sequences */
    size_t max_queries, max_keys;         /* `queries` and `keys` of the problem */
    size_t longest_queries, longest_keys; /* rows of the longest sequence */
    size_t team;                          /* number of threads */
    struct cache_form form;               /* how a cache stores the keys; zeros without a cache */
};

/* Returns the normalizer's learned parameter for query head h, or 0 if there is none. */
static inline float rapt__number_of(const struct projected *c, int h)
{
    return c->numbers ? c->numbers[h] : 0;
}

/* ---- problem.c ---- */
struct bounds rapt__bounds(const struct projected *c, int team_size);

/* ---- distribution.c ---- */
enum attend_kind rapt__normalizer_kind(rapt_normalizer normalizer);

/* ---- bias.c ---- */
/* Lays out the sums for gradients of relative biases (problem.h). Returns NULL if there is no
   relative bias. */
float *rapt__relative_sums_layout(struct arena *arena, const struct bounds *b);

/* ---- mask.c ---- */
/* Returns the relative biases of query t of head h. Element s belongs to key s. */
const float *rapt__relative_row(const struct projected *c, const struct sequence *b, int h, int t);

/* ---- bias.c: all terms of a query ---- */
/* Sets the relative biases, sums of log_forget and distances in *row for query t of head h. */
void rapt__bias_row(const struct projected *c, const struct sequence *b, int h, int t,
                    struct attend_row *row);
/* Sets the arrays to which the gradients of a row's distances are added. */
void rapt__distance_gradients(const struct projected *c, const struct projected_gradients *d,
                              struct distances *x);
/* Returns true if anything is added to scores after they have been scaled. */
bool rapt__biased(const struct projected *c);

/* ---- distances.c: distance vectors ---- */
int rapt__distance_count(const rapt_attention *a);    /* n, or 0 if there are no vectors */
int rapt__distance_vectors(const rapt_attention *a);  /* the number of buckets, if given, or n */
bool rapt__distances_wanted(const rapt_attention *a); /* true if distances add to scores */
/* Returns the vectors of head h that are added to values, or NULL if there are none. Sets *row to
   the stride from one vector to the next, in floats. */
const float *rapt__distance_values(const rapt_attention *a, int h, ptrdiff_t *row);
/* Returns the part of a row of by_query, by_dout or distance_weights that has one element per
   vector: the elements of the distances or, if distances share buckets, the elements of the
   buckets, which are stored after the distances. */
float *rapt__distance_by_vector(const rapt_attention *a, float *row);
/* Multiplies `sums`, which has `rows` rows laid out like distance_weights, by the vectors of head h
   that are added to values, and adds the products to the rows of `out`, which are out_row floats
   apart. Overwrites `sums` (score/distance_values.c). */
void rapt__distance_output(const rapt_attention *a, int h, int rows, float *sums, float *out,
                           ptrdiff_t out_row);
/* Returns the index of the distance of key s from a query, 0 to before + after. Distances below
   -before have the first index, and distances above `after` have the last. */
static inline int rapt__distance_of(const struct distances *x, int s)
{
    int64_t d = (int64_t)s - x->position;
    return d < -x->before ? 0 : d > x->after ? x->before + x->after : (int)d + x->before;
}
/* Returns the index in by_key of the term of key s. */
static inline ptrdiff_t rapt__distance_of_key(const struct distances *x, int s)
{
    int64_t last = x->before + LANES - 1, e = (int64_t)x->position - s / LANES * LANES;
    e = e < -x->after ? -x->after : e > last ? last : e;
    return (ptrdiff_t)((s / LANES * (x->after + last + 1) + x->after + e) * LANES + s % LANES);
}
/* Returns the term that distances add to the score of key s, computed as in the kernels. */
static inline float rapt__distance_score(const struct distances *x, int s)
{
    float sum = x->by_query ? x->by_query[rapt__distance_of(x, s) - x->before] : 0;
    return x->by_key ? sum + x->by_key[rapt__distance_of_key(x, s)] : sum;
}

/* ---- bias.c: sums C of the logarithms of forget gates ---- */
/* Return the number of panels that suffice for all sequences, and the index of a sequence's first
   panel. */
size_t rapt__key_panels(size_t batch, size_t key_rows);
size_t rapt__key_panel(const struct sequence *b);
/* Returns a pointer to the high float of C for key l in the panels of its head and sequence. The
   low float is LANES floats after it. */
static inline const float *rapt__forget_at(const float *panels, int l)
{
    return panels + (ptrdiff_t)(l / LANES) * FORGET_PANEL + l % LANES;
}
/* Sets C for a query at `position` from the panels in row->forget, which hold `keys` keys. Leaves
   the row unchanged if there are no keys or the position is negative, because the query then sees
   no key. */
void rapt__forget_query(int64_t position, int keys, struct attend_row *row);
/* Sets C[l] from C[l - 1]; log_forget is the logarithm of key l's gate. Setting the first key of a
   panel also clears the rest of the panel, because kernels read whole panels. */
void rapt__forget_append(float *panels, int l, float log_forget);

#endif
