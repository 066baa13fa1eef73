/* general.h - the general path: one query against all its keys, for every score, locality and
   normalizer; over arrays forward and backward, and query by query for a cache. A row's bits depend
   only on its query and the keys it sees: a call with many rows gives the bits of as many calls
   with one.

       x = scale q.k | v.tanh(q + k + L f),  x = cap tanh(x / cap),  x += bias + relative,  masks
       z = normalize(x)    w = z gauss    out = sum over s of dropout(w)[s] v[s] */
#ifndef RAPT_LIB_ATTENTION_GENERAL_H
#define RAPT_LIB_ATTENTION_GENERAL_H

#include "attention/projected.h"

/* ---- forward.c, backward.c: whole problems ---- */
/* Counts the workspace of the function below that needs the most. Only recurrent scores, which go
   backward through time, keep queries x keys floats, for one head; everything else is linear in
   queries + keys. */
void rapt__general_layout(struct arena *arena, const struct bounds *b);

/* All members of a team call these; each lays out its workspace after what the arena holds.
   Backward does not read out or lse: it computes the rows again. */
void rapt__general_forward(struct team *team, const struct projected *c, const float *v, float *out,
                           float *lse, struct arena *arena);
void rapt__general_backward(struct team *team, const struct projected *c, const float *v,
                            const float *dout, const struct projected_gradients *d,
                            struct arena *arena);
/* Sets weights[rows][keys of the sequence] of query rows [first, first + rows) of one sequence and
   head, before dropout. */
void rapt__general_weights(struct team *team, const struct projected *c, int sequence, int head,
                           int first, int rows, float *weights, struct arena *arena);

/* ---- forward.c, backward.c: their workspaces, for rapt__general_layout ---- */
void rapt__general_forward_layout(struct arena *arena, const struct bounds *b);
void rapt__general_backward_layout(struct arena *arena, const struct bounds *b);

/* ---- one query ---- */

struct row_head { /* what all rows of one query head of a sequence have in common */
    const struct kernels *kernels;
    int width;                             /* of q and k */
    float scale;                           /* of the dot product */
    const float *vector;                   /* [width] for additive scores; NULL means dot product */
    float cap;                             /* 0 if none */
    int channels, filter_width;            /* of a recurrent score; channels 0: not recurrent */
    const float *filters, *feature_weight; /* [channels][filter_width], [width][channels] */
    float radius;                          /* of local-p */
    rapt_normalizer normalizer;
    float temperature;
    bool noiseless;
    struct dropout drop;
    uint64_t noise; /* key of the Gumbel noise (distribution.c) */
};

struct row_keys {        /* the keys of one key head of a sequence */
    const float *panels; /* [panels][width][16] */
    const float *values; /* that of key s at values + s * value_row */
    ptrdiff_t value_row;
    int value_width;
};

/* The workspace of one row. A row uses only [first, end) of the arrays over keys. */
struct row_space {
    int capacity;    /* in keys, whole panels */
    float *x;        /* [capacity] scores, capped and biased; -infinity: hidden */
    float *p;        /* [capacity] their softmax, if the normalizer needs it */
    float *weights;  /* [capacity] w, before dropout */
    float *dropped;  /* [capacity] w after dropout */
    float *gauss;    /* [capacity] of local-p */
    float *slope;    /* [capacity] 1 - (capped x / cap)^2; NULL if not kept */
    float *more;     /* [capacity] */
    float *before;   /* [filter_width / 2] zeros, [capacity] weights of the previous query, then
                        zeros: capacity + 2 filter_width + 16 in all */
    float *features; /* [channels][capacity] f */
    float *sums;     /* [panels][width][16] k + L f */
    float *hidden;   /* [panels][width][16] the tanh of additive scores; NULL if not kept */
};

struct row {
    const struct row_head *head;
    const struct row_keys *keys;
    const float *q;            /* [width] */
    const float *dots;         /* element s is q.k of key s; NULL if not computed yet */
    struct attend_row visible; /* low, high, allowed, bias; local-p narrows it further */
    const float *relative;     /* element s is added to the score of key s; NULL if none */
    const float *center;       /* of local-p, else NULL */
    uint64_t number;           /* index of the query in its sequence, for dropout and noise */
    const float *before;       /* recurrent: weights of the previous query */
    int before_keys;           /* length of `before`; the rest is 0 */
    bool decided;              /* hard normalizer: `chosen` is input, from an earlier call */
    int chosen;                /* otherwise output; -1 means no visible key */
    float lse;                 /* output */
    bool fully_masked;         /* output: no visible key; then no array is written */
    int first, end;            /* output: visible.low .. visible.high - 1 in whole panels */
    const float *dropped;      /* set by rapt__row_drop: weights after dropout */
    struct row_space space;
};

/* ---- query.c ---- */
struct row_head rapt__row_head(const struct projected *c, const struct sequence *b, int h);
/* Returns query t of that head against those keys, without its workspace. */
struct row rapt__row(const struct projected *c, const struct sequence *b,
                     const struct row_head *head, const struct row_keys *keys, int h, int t);
void rapt__row_weights(struct row *r); /* x, weights and intermediate results for backward */
void rapt__row_drop(struct row *r);    /* sets r->dropped */
void rapt__row_attend(struct row *r, float *out); /* both, and the sum of values */
/* Turns a sum of values that has underflowed to -0 into 0, as adding products with weights of 0
   would. */
void rapt__row_settle(float *out, int width);
/* Copies the weights to a plain array of `keys` floats. */
void rapt__row_copy_weights(const struct row *r, int keys, float *weights);
/* Sets first, end and fully_masked. */
void rapt__row_span(struct row *r);

/* ---- block.c: adjacent rows of a head, whose products are computed together ---- */
enum { BLOCK_ROWS = 12, DOT_COLUMNS = 512 }; /* whole tiles of most instruction sets */
struct row_block {
    float *dots;      /* [BLOCK_ROWS][capacity] q.k; dots, weights and dx are NULL if additive */
    float *weights;   /* [BLOCK_ROWS][capacity] after dropout */
    float *dx;        /* [BLOCK_ROWS][capacity] backward: gradients of q.k */
    float *dout_dots; /* [BLOCK_ROWS][capacity] backward: dout.v */
    float *more;      /* [BLOCK_ROWS][DOT_COLUMNS] */
    ptrdiff_t capacity;
    int rows, first, end; /* keys [first, end), in whole panels */
    int existing;         /* keys from here on are padding */
};
void rapt__block_layout(struct arena *arena, const struct bounds *b, bool backward,
                        struct row_block *block);
/* Begins a block of rows [t, t + rows) of head h, with weights and dx of 0. Returns false if the
   rows see such different keys that each must be computed by itself. */
bool rapt__block_begin(struct row_block *block, const struct projected *c, const struct sequence *b,
                       const struct row_head *head, const struct row_keys *keys, int h, int t,
                       int rows);
/* Copies x of the keys that r sees to row i of weights or dx. */
void rapt__block_keep(const struct row_block *block, float *rows, int i, const struct row *r,
                      const float *x);
/* Computes y[i] += sum over keys s of rows[i][s] x[s]; x and y are [width], in rows x_row and y_row
   apart. */
void rapt__block_sums(const struct row_block *b, const struct kernels *kernels, const float *rows,
                      const float *x, ptrdiff_t x_row, int width, float *y, ptrdiff_t y_row);
/* Computes y[s] += sum over rows i of rows[i][s] x[i]. */
void rapt__block_update(const struct row_block *b, const struct kernels *kernels, const float *rows,
                        const float *x, ptrdiff_t x_row, int width, float *y, ptrdiff_t y_row);

/* ---- dots.c ---- */
/* Returns `known` or, if it is NULL, computes to[s] = a.key s for s in [first, end) of the row and
   returns `to`. */
const float *rapt__row_dots(const struct row *r, const float *known, const float *a,
                            const float *panels, int width, float *to);
/* Computes to[i][s] = row i of a . key s. */
void rapt__block_dots(const struct row_block *block, const struct kernels *kernels, const float *a,
                      ptrdiff_t a_row, const float *panels, int width, float *to);

/* ---- distribution.c ---- */
void rapt__normalize(
    struct row *r); /* sets weights (without gauss), lse, chosen and fully_masked from x */
/* Turns dz, which must be 0 where hidden, into dx. */
struct gain {      /* gain of sampled keys */
    float reward;  /* reward less its baseline */
    float entropy; /* weight of the gradient of -H(p) */
};
void rapt__normalize_backward(struct row *r, float *dz, struct gain gain);

/* Returns the keys of the longest sequence in whole panels, at least one. */
static inline size_t rapt__row_capacity(const struct bounds *b)
{
    return (b->longest_keys / LANES + 1) * LANES;
}
/* Lays out the workspace of a row. backward: slope and hidden are kept, too. */
void rapt__row_layout(struct arena *arena, const struct bounds *b, bool backward,
                      struct row_space *s);

#endif
