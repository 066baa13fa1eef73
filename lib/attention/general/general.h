/* general.h - the general path: one query against all its keys, for every score, locality and
   normalizer; over arrays forward and backward, and query by query for a cache. A row's bits depend
   on its query and the keys it sees: many rows at once are as many calls with one.

       x = scale q.k | v.tanh(q + k + L f),  x = cap tanh(x / cap),  x += bias + relative,  masks
       z = normalize(x)    w = z gauss    out = sum over s of dropout(w)[s] v[s] */
#ifndef RAPT_LIB_ATTENTION_GENERAL_H
#define RAPT_LIB_ATTENTION_GENERAL_H

#include "attention/projected.h"

/* ---- forward.c, backward.c: whole problems ---- */
/* Counts the workspace of whichever function below needs most. Only recurrent scores, which go
   backward through time, keep one head's queries x keys; all else is linear in queries + keys. */
void rapt__general_layout(struct arena *arena, const struct bounds *b);

/* Called by all members of a team; each lays out its workspace behind what the arena holds.
   Nothing is taken from out or lse: rows are computed again. */
void rapt__general_forward(struct team *team, const struct projected *c, const float *v, float *out,
                           float *lse, struct arena *arena);
void rapt__general_backward(struct team *team, const struct projected *c, const float *v,
                            const float *dout, const struct projected_gradients *d,
                            struct arena *arena);
/* weights[rows][keys of the sequence] of query rows [first, first + rows) of one sequence and
   head, before dropout. */
void rapt__general_weights(struct team *team, const struct projected *c, int sequence, int head,
                           int first, int rows, float *weights, struct arena *arena);

/* ---- forward.c, backward.c: what each of them lays out, for rapt__general_layout ---- */
void rapt__general_forward_layout(struct arena *arena, const struct bounds *b);
void rapt__general_backward_layout(struct arena *arena, const struct bounds *b);

/* ---- one query ---- */

struct row_head { /* what all rows of one query head of a sequence have in common */
    const struct kernels *kernels;
    int width;                             /* of q and k */
    float scale;                           /* of the dot product */
    const float *vector;                   /* [width]: additive; NULL: dot product */
    float cap;                             /* 0: none */
    int channels, filter_width;            /* recurrent; channels 0: it is not */
    const float *filters, *feature_weight; /* [channels][filter_width], [width][channels] */
    float radius;                          /* of local-p */
    rapt_normalizer normalizer;
    float temperature;
    bool noiseless;
    struct dropout drop;
    uint64_t noise; /* key of the Gumbel noise, see distribution.c */
};

struct row_keys {        /* of one key head of a sequence */
    const float *panels; /* [panels][width][16] */
    const float *values; /* that of key s at values + s * value_row */
    ptrdiff_t value_row;
    int value_width;
};

/* The workspace of one row. Of the arrays of keys only [first, end) of a row is used. */
struct row_space {
    int capacity;    /* keys, whole panels */
    float *x;        /* [capacity] scores, capped, biased; -infinity: hidden */
    float *p;        /* [capacity] softmax of them, if the normalizer needs it */
    float *weights;  /* [capacity] w */
    float *dropped;  /* [capacity] w after dropout */
    float *gauss;    /* [capacity] of local-p */
    float *slope;    /* [capacity] 1 - (capped x / cap)^2; NULL: not kept */
    float *more;     /* [capacity] */
    float *before;   /* [filter_width / 2] 0, [capacity] weights of the query before, the rest 0: in
                        all capacity + 2 filter_width + 16 */
    float *features; /* [channels][capacity] f */
    float *sums;     /* [panels][width][16] k + L f */
    float *hidden;   /* [panels][width][16] the tanh of additive scores; NULL: not kept */
};

struct row {
    const struct row_head *head;
    const struct row_keys *keys;
    const float *q;            /* [width] */
    const float *dots;         /* element s is q.k of key s; NULL: not known yet */
    struct attend_row visible; /* low, high, allowed, bias; local-p narrows it further */
    const float *relative;     /* element s is added to the score of key s; NULL: none */
    const float *center;       /* of local-p; NULL: it is not */
    uint64_t number;           /* of the query in its sequence, for dropout and noise */
    const float *before;       /* recurrent: weights of the query before, */
    int before_keys;           /*   so many; the rest is 0 */
    bool decided;         /* hard normalizer: chosen is input, what an earlier call has chosen */
    int chosen;           /* else output; -1: no visible key */
    float lse;            /* output */
    bool fully_masked;    /* output: no visible key; then no array is written */
    int first, end;       /* output: visible.low .. visible.high - 1 in whole panels */
    const float *dropped; /* output of attend: weights after dropout */
    struct row_space space;
};

/* ---- query.c ---- */
struct row_head rapt__row_head(const struct projected *c, const struct sequence *b, int h);
/* Query t of that head against those keys, but for its workspace. */
struct row rapt__row(const struct projected *c, const struct sequence *b,
                     const struct row_head *head, const struct row_keys *keys, int h, int t);
void rapt__row_weights(struct row *r); /* x, weights and what backward needs of the steps between */
void rapt__row_drop(struct row *r);    /* kept */
void rapt__row_attend(struct row *r, float *out); /* both, and the sum of values */
/* A sum of values that has underflowed to -0 becomes 0: products by weights of 0 would do so. */
void rapt__row_settle(float *out, int width);
/* Its weights as a plain array of `keys` floats. */
void rapt__row_copy_weights(const struct row *r, int keys, float *weights);
/* Finds its first, end and fully_masked. */
void rapt__row_span(struct row *r);

/* ---- block.c: rows of a head next to each other, their arrays and products of all of them ---- */
enum { BLOCK_ROWS = 12, DOT_COLUMNS = 512 }; /* whole tiles of most instruction sets */
struct row_block {
    float *dots;      /* [BLOCK_ROWS][capacity] q.k; this and the next two NULL if additive */
    float *weights;   /* [BLOCK_ROWS][capacity] after dropout */
    float *dx;        /* [BLOCK_ROWS][capacity] backward: gradients of q.k */
    float *dout_dots; /* [BLOCK_ROWS][capacity] backward: dout.v */
    float *more;      /* [BLOCK_ROWS][DOT_COLUMNS] */
    ptrdiff_t capacity;
    int rows, first, end; /* keys [first, end), whole panels, */
    int existing;         /*   of which those below this exist */
};
void rapt__block_layout(struct arena *arena, const struct bounds *b, bool backward,
                        struct row_block *block);
/* Rows [t, t + rows) of head h, with weights and dx of 0; false: they see so different keys that
   each works by itself. */
bool rapt__block_begin(struct row_block *block, const struct projected *c, const struct sequence *b,
                       const struct row_head *head, const struct row_keys *keys, int h, int t,
                       int rows);
/* Row i of weights or dx: x of the keys that r sees. */
void rapt__block_keep(const struct row_block *block, float *rows, int i, const struct row *r,
                      const float *x);
/* y[i] += sum over keys s of rows[i][s] x[s]; x and y [width], rows x_row and y_row apart. */
void rapt__block_sums(const struct row_block *b, const struct kernels *kernels, const float *rows,
                      const float *x, ptrdiff_t x_row, int width, float *y, ptrdiff_t y_row);
/* y[s] += sum over rows i of rows[i][s] x[i] */
void rapt__block_update(const struct row_block *b, const struct kernels *kernels, const float *rows,
                        const float *x, ptrdiff_t x_row, int width, float *y, ptrdiff_t y_row);

/* ---- dots.c ---- */
/* known, or if it is NULL to: to[s] = a.key s for s in [first, end) of the row. */
const float *rapt__row_dots(const struct row *r, const float *known, const float *a,
                            const float *panels, int width, float *to);
/* to[i][s] = row i of a . key s. */
void rapt__block_dots(const struct row_block *block, const struct kernels *kernels, const float *a,
                      ptrdiff_t a_row, const float *panels, int width, float *to);

/* ---- distribution.c ---- */
void rapt__normalize(
    struct row *r); /* weights (without gauss), lse, chosen and fully_masked from x */
/* dz, 0 where hidden, becomes dx. */
struct gain {      /* of sampled keys */
    float reward;  /* less its baseline */
    float entropy; /* gradient of -entropy H(p) */
};
void rapt__normalize_backward(struct row *r, float *dz, struct gain gain);

/* Keys of the longest sequence in whole panels, at least one. */
static inline size_t rapt__row_capacity(const struct bounds *b)
{
    return (b->longest_keys / LANES + 1) * LANES;
}
/* backward: slope and hidden are kept, too. */
void rapt__row_layout(struct arena *arena, const struct bounds *b, bool backward,
                      struct row_space *s);

#endif
