/* general.h - the general path: attention of one query to all its keys, for every score, locality
   and normalizer. It works on whole arrays, forward and backward, and query by query for a cache.
   The results for a row are bit-identical for any number of rows per call.

       x = scale q.k  or  vector . tanh(q + k + L f)
       x = cap tanh(x / cap) if there is a cap,  x += biases,  x = -infinity at masked keys
       z = normalize(x),  w = z gauss,  out = sum over s of dropout(w)[s] (v[s] + a[s])

   q and k are projected (projected.h). L f is 0 unless the score is recurrent, gauss is 1 except
   with local-p, and a[s] is the distance vector that is added to the value of key s, or 0. */
#ifndef RAPT_LIB_ATTENTION_GENERAL_H
#define RAPT_LIB_ATTENTION_GENERAL_H

#include "attention/projected.h"

/* ---- forward.c, backward.c: whole problems ---- */
/* Lays out enough workspace for rapt__general_forward, _backward and _weights. Recurrent scores,
   whose gradients flow backward through time, need queries x keys floats for each thread. Talking
   heads need heads x keys floats for each thread and each row of a block. All other memory is
   linear in queries + keys. */
void rapt__general_layout(struct arena *arena, const struct bounds *b);

/* All threads of a team call these functions. Each function lays out its workspace after the
   current contents of the arena. Backward recomputes the rows and needs neither out nor lse. */
void rapt__general_forward(struct team *team, const struct projected *c, const float *v, float *out,
                           float *lse, struct arena *arena);
void rapt__general_backward(struct team *team, const struct projected *c, const float *v,
                            const float *dout, const struct projected_gradients *d,
                            struct arena *arena);
/* Computes the weights before dropout, weights[rows][keys of the sequence], for query rows [first,
   first + rows) of one sequence and head. */
void rapt__general_weights(struct team *team, const struct projected *c, int sequence, int head,
                           int first, int rows, float *weights, struct arena *arena);

/* ---- forward.c, backward.c: workspaces, used by rapt__general_layout ---- */
void rapt__general_forward_layout(struct arena *arena, const struct bounds *b);
void rapt__general_backward_layout(struct arena *arena, const struct bounds *b);

/* ---- one query ---- */

struct row_head { /* data shared by all rows of one query head of a sequence */
    const struct kernels *kernels;
    int width;                             /* width of q and k */
    float scale;                           /* factor of the dot product */
    const float *vector;                   /* [width] for additive scores; NULL for a dot product */
    float cap;                             /* soft cap; 0 if none */
    int channels, filter_width;            /* for a recurrent score; otherwise channels is 0 */
    bool summed;                           /* see struct features */
    const float *filters, *feature_weight; /* [channels][filter_width] and [width][channels] */
    float radius;                          /* radius of local-p */
    rapt_normalizer normalizer;
    float temperature;
    bool noiseless;
    bool keeps_lse; /* rows must compute lse */
    float number;   /* learned parameter of the normalizer for this head */
    const float
        *distance_values; /* [vectors][value width], rows distance_row apart; NULL if none */
    ptrdiff_t distance_row;
    int distance_vectors;
    const int *distance_buckets; /* row of distance_values for each distance; NULL means that each
                                    distance has its own */
    struct dropout drop;
    uint64_t noise; /* random key of the Gumbel noise (distribution.c) */
};

struct row_keys {        /* the keys of one key head of a sequence */
    const float *panels; /* [panels][width][16] */
    const float *values; /* the value of key s is at values + s * value_row */
    ptrdiff_t value_row;
    int value_width;
};

/* The workspace of one row. In arrays over keys, the results are in elements [first, end), where
   first and end are fields of struct row. */
struct row_space {
    int capacity;            /* rapt__row_capacity of the problem */
    float *x;                /* [capacity] scores after cap and biases; -infinity for masked keys */
    float *p;                /* [capacity] z, or scratch space for hard normalizers */
    float *weights;          /* [capacity] w, before dropout */
    float *dropped;          /* [capacity] w after dropout */
    float *gauss;            /* [capacity] weights of local-p's Gaussian */
    float *slope;            /* [capacity] 1 - (capped x / cap)^2; NULL if not needed */
    float *more;             /* [capacity] scratch space */
    float *sums_by_distance; /* [vectors] sums of weights after dropout, in forward; NULL if
                                distance_values is NULL */
    float *before;   /* filter_width / 2 zeros, the row's `before`, and zeros up to a length of
                        capacity + 2 filter_width + 16 */
    float *features; /* [channels][capacity] f */
    float *sums;     /* [panels][width][16] k + L f */
    float *hidden;   /* [panels][width][16] the tanh layer; NULL if not needed */
};

struct row {
    const struct row_head *head;
    const struct row_keys *keys;
    const float *q;            /* [width] */
    const float *dots;         /* element s is q.k of key s, times rapt__query_factor(scale); NULL
                                  if not computed yet */
    struct attend_row visible; /* low, high, allowed and biases; local-p narrows the range
                                  further */
    const float *center;       /* center of local-p, else NULL */
    uint64_t number;           /* index of the query in its sequence, and also of its row of random
                                  numbers */
    const float *before;       /* for recurrent scores: the weights of the previous query, or the
                                  sum of all previous weights; may be NULL if all are 0 */
    int before_keys;           /* length of `before`; weights beyond it are 0 */
    bool decided;              /* for hard normalizers: if true, `chosen` is an input, from an
                                  earlier call */
    int chosen;                /* output unless `decided`; -1 if there is no visible key */
    float lse;                 /* output, if head->keeps_lse */
    float sink_weight;         /* output, with a sink: the sink's weight */
    float dnumber;             /* output of backward: gradient of head->number, if it is learned */
    bool fully_masked;         /* output: there is no visible key; arrays over keys may be unset */
    int first, end;            /* output: the range from visible.low to visible.high, extended to
                                  whole panels */
    const float *dropped;      /* weights after dropout, set by rapt__row_drop */
    struct row_space space;
};

/* ---- query.c ---- */
struct row_head rapt__row_head(const struct projected *c, const struct sequence *b, int h);
/* Returns the row of query t of head h, which reads `keys`. Does not set `before` or `space`. */
struct row rapt__row(const struct projected *c, const struct sequence *b,
                     const struct row_head *head, const struct row_keys *keys, int h, int t);
void rapt__row_weights(struct row *r); /* computes x, weights and the intermediate results that
                                          backward needs */
/* The two steps of rapt__row_weights. The first computes the capped scores x of keys [first, end).
   The second applies biases and masks to x, and computes the weights. */
void rapt__row_scores(struct row *r);
void rapt__row_normalize(struct row *r);
/* Recomputes space.hidden for additive scores. */
void rapt__row_hidden(const struct row *r);
/* Sets to[vectors] to the sums of r->dropped by distance or bucket. */
void rapt__row_by_distance(const struct row *r, float *to);
void rapt__row_drop(struct row *r); /* applies dropout and sets r->dropped */
/* Returns the weights w of keys [first, end) after dropout: w itself or, with dropout, `to`.
   `number` is as in struct row. With dropout, also zeroes the elements of w before `first`. */
const float *rapt__drop_weights(const struct row_head *h, uint64_t number, int first, int end,
                                float *w, float *to);
void rapt__row_attend(struct row *r, float *out); /* computes weights, applies dropout and sums the
                                                     values */
/* Replaces sums that are -0 with 0, as adding products with weights of 0 would. */
void rapt__row_settle(float *out, int width);
/* Copies the weights to a plain array of `keys` floats, with 0 for keys that are not visible. */
void rapt__row_copy_weights(const struct row *r, int keys, float *weights);
/* For recurrent scores, sets to[keys] to what the next query reads as `before`. `to` may be
   r->before. */
void rapt__row_remember(const struct row *r, int keys, float *to);
/* Restricts r->visible to the window of local-p, unless its center is NaN, and sets first, end and
   fully_masked. */
void rapt__row_span(struct row *r);

/* ---- block.c: adjacent rows of a head, whose products are computed together ---- */
enum { BLOCK_ROWS = 12, DOT_COLUMNS = 512 };
struct row_block {
    float *dots;      /* [BLOCK_ROWS][capacity] q.k, times rapt__query_factor(scale); dots, weights
                         and dx are NULL if the score is additive, except with talking heads */
    float *weights;   /* [BLOCK_ROWS][capacity] weights after dropout */
    float *dx;        /* [BLOCK_ROWS][capacity] in backward: gradients of q.k */
    float *dout_dots; /* [BLOCK_ROWS][capacity] in backward: dout.v */
    float *more;      /* [BLOCK_ROWS][DOT_COLUMNS] scratch space */
    ptrdiff_t capacity;
    int rows, first, end; /* keys [first, end) fill whole panels */
    int existing;         /* number of valid keys; all others are padding */
};
void rapt__block_layout(struct arena *arena, const struct bounds *b, bool backward,
                        struct row_block *block);
/* Initializes a block for rows [t, t + rows) of head h, and zeroes its weights and dx. Returns
   false if the rows have too few visible keys in common and must be computed one by one. */
bool rapt__block_begin(struct row_block *block, const struct projected *c, const struct sequence *b,
                       const struct row_head *head, const struct row_keys *keys, int h, int t,
                       int rows);
/* Returns true if `rows` rows see enough keys in common to be computed together. [first, end)
   contains every key that a row sees, and `seen` is the sum of the lengths of the rows' own ranges,
   each extended to whole panels. */
static inline bool rapt__block_fits(int rows, int first, int end, int64_t seen)
{
    return seen > 0 && (int64_t)rows * (end - first) <= 2 * seen;
}
/* Works like rapt__block_begin for rows whose range of keys is known. */
void rapt__block_set(struct row_block *block, const struct sequence *b, int rows, int first,
                     int end);
/* Copies the elements of x for the keys that r sees to row i of `rows`, which is the block's
   weights or dx. */
void rapt__block_keep(const struct row_block *block, float *rows, int i, const struct row *r,
                      const float *x);
/* Computes y[i] += sum over keys s of rows[i][s] x[s]. The rows of x and y have `width` floats and
   are x_row and y_row floats apart. */
void rapt__block_sums(const struct row_block *b, const struct kernels *kernels, const float *rows,
                      const float *x, ptrdiff_t x_row, int width, float *y, ptrdiff_t y_row);
/* Computes y[s] += sum over rows i of rows[i][s] x[i]. */
void rapt__block_update(const struct row_block *b, const struct kernels *kernels, const float *rows,
                        const float *x, ptrdiff_t x_row, int width, float *y, ptrdiff_t y_row);

/* ---- block.c: dot products ---- */
/* Returns `known` if it is not NULL. Otherwise sets to[s] to the dot product of factor * a with key
   s, for keys [first, end) of the row, and returns `to`. */
const float *rapt__row_dots(const struct row *r, const float *known, const float *a, float factor,
                            const float *panels, int width, float *to);
/* Sets to[i][s] to the dot product of factor * (row i of a) with key s. */
void rapt__block_dots(const struct row_block *block, const struct kernels *kernels, const float *a,
                      ptrdiff_t a_row, float factor, const float *panels, int width, float *to);

/* ---- distribution.c ---- */
/* Computes weights (without gauss), lse, sink_weight, chosen and fully_masked from x. */
void rapt__normalize(struct row *r);
struct gain {      /* for sampled keys: factors of the gradient */
    float reward;  /* reward minus baseline */
    float entropy; /* weight of the gradient of -H(p) */
};
/* Turns dz, which must be 0 at masked keys, into dx. Sets dnumber if the normalizer has a learned
   parameter. */
void rapt__normalize_backward(struct row *r, float *dz, struct gain gain);

/* Returns the capacity of arrays over keys: the smallest multiple of LANES that exceeds the number
   of keys of the longest sequence. */
static inline size_t rapt__row_capacity(const struct bounds *b)
{
    return (b->longest_keys / LANES + 1) * LANES;
}
/* Lays out the workspace of a row. For backward, this includes `slope` and, if the score is
   additive, `hidden`. */
void rapt__row_layout(struct arena *arena, const struct bounds *b, bool backward,
                      struct row_space *s);

/* ---- talking.c: talking heads, all heads of a query together (Shazeer et al. 2020) ----

       x[h] = capped scores of head h                    y[h] = sum over g of P[h][g] x[g]
       w[h] = normalize(y[h] + biases, with masks)       u[h] = sum over g of W[h][g] w[g]
       out[h] = sum over s of dropout(u[h])[s] v[h][s]

   P and W are talking_scores and talking_weights of rapt_attention. A key is ignored only if it is
   masked in all heads. Such a key and its value may contain NaN. */

/* A query in all heads. No head sees a key outside [low, high). [first, end) is this range extended
   to whole panels; results are in these elements of arrays over keys. */
struct talking {
    int heads;
    ptrdiff_t capacity; /* rapt__row_capacity of the problem */
    const struct kernels *kernels;
    const float *scores, *weights; /* [heads][heads] P and W; NULL means the identity */
    struct row_head *head;         /* [heads] set by the caller for each sequence */
    struct row_keys *keys;         /* [heads] the keys that each head reads, set by the caller */
    struct row *block;             /* [BLOCK_ROWS][heads] the rows of queries of a block */
    struct row *rows;              /* [heads] the rows of the current query */
    struct row_space space;        /* x, p, weights, gauss and slope have [heads][capacity] */
    float *raw;                    /* [heads][capacity] x */
    float *mixed;                  /* [heads][capacity] u */
    float *seen;                   /* [capacity] see rapt__talking_seen */
    int low, high, first, end;
};

void rapt__talking_layout(struct arena *arena, const struct bounds *b, bool backward,
                          struct talking *t);
/* Computes u and, for each of t->rows, its own weights, lse and chosen key. Returns false, without
   writing u, if the range of visible keys is empty in every head. */
bool rapt__talking_weights(struct talking *t);
/* Adds the sum of head h's values, weighted by u after dropout, to `out`. */
void rapt__talking_sum(const struct talking *t, int h, float *out);

/* ---- talking.c: blocks of queries, for talking_backward.c ---- */

struct talking_range { /* keys [first, end), which fill whole panels */
    int first, end;
    bool together; /* the rows see enough keys in common to be computed together */
};

/* Lays out one block for each head and returns the blocks. They have dots, weights and dx even if
   the score is additive. */
struct row_block *rapt__talking_blocks(struct arena *part, const struct bounds *b, bool backward);
/* Sets t->rows to the rows of query `query` in all heads. If `decided` is true, the keys that a
   hard normalizer has chosen are read from c->chosen. */
void rapt__talking_rows(struct talking *t, const struct projected *c, const struct sequence *b,
                        int query, bool decided);
/* Begins a block of *rows queries: sets their rows in t->block, and returns a range that contains
   every key that at least one of these queries sees in at least one head. Sets *rows to 1 if the
   queries see too few keys in common to be computed together. */
struct talking_range rapt__talking_block(struct talking *t, const struct projected *c,
                                         const struct sequence *b, int query, int *rows,
                                         bool decided);
/* Computes to[h][s] = sum over g of matrix[h][g] from[g][s], or the same with the transposed
   matrix, for keys [first, end) of the query. If `matrix` is NULL, copies `from`. */
void rapt__talking_mix(const struct talking *t, const float *matrix, bool transposed,
                       const float *from, float *to);
/* Copies the weights u of head h, after dropout, to row i of a block's weights. */
void rapt__talking_keep(const struct talking *t, int h, const struct row_block *block, int i);
/* Sets t->seen[s] to -infinity if key s is masked in all heads, else to 0. */
void rapt__talking_seen(const struct talking *t);

/* ---- forward.c: whole problems, for talking.c ---- */

struct forward_rows { /* workspace of one thread */
    struct row_space space;
    struct row_block block;
    float *before;            /* [capacity] `before` of the next row, for recurrent scores */
    struct talking talking;   /* with talking heads, which do not use the fields above */
    struct row_block *blocks; /* [heads] with talking heads */
};

struct general_forward {
    const struct projected *c;
    const struct kernels *kernels;
    const float *v;
    float *out, *lse;
    int key_heads, group; /* group: number of query heads per key head */
    float *panels;        /* keys of all sequences and key heads, shared by all threads */
    struct forward_rows mine;
};

/* Returns the keys of key head g of a sequence. */
struct row_keys rapt__forward_keys(const struct general_forward *f, const struct sequence *b,
                                   int g);
/* Computes the outputs of all rows of a block from the weights stored in it. */
void rapt__forward_sum(const struct general_forward *f, const struct row_block *block,
                       const struct row_keys *keys, float *out);

/* ---- talking.c ---- */
void rapt__talking_forward_layout(struct arena *part, const struct bounds *b,
                                  struct forward_rows *r);
/* Computes the outputs of query rows [first, first + rows) in all heads of a sequence. */
void rapt__talking_attend(const struct general_forward *f, const struct sequence *b, int first,
                          int rows);
/* Copies the weights u of a query row in head h to a plain array [keys of the sequence]. */
void rapt__talking_copy(const struct general_forward *f, const struct sequence *b, int h, int query,
                        float *weights);

#endif
