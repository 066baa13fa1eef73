/* general.h - one query against all its keys, whatever the score, the reach and the weighing: what
   rows_forward.c, rows_backward.c and a cache have in common. A row's bits depend on its query
   and the keys it sees: many rows at once are as many calls with one.

       x = scale q.k | v.tanh(q + k + L f),  x = cap tanh(x / cap),  x += bias + relative,  masks
       z = weigh(x)     w = z gauss     out = sum over s of drop(w)[s] v[s] */
#ifndef RAPT_LIB_ATTENTION_ROWS_H
#define RAPT_LIB_ATTENTION_ROWS_H

#include "attention/projected.h"

struct row_head { /* what all rows of one query head of a sequence have in common */
    const struct kernels *kernels;
    int width;                             /* of q and k */
    float scale;                           /* of the dot product */
    const float *vector;                   /* [width]: additive; NULL: dot product */
    float cap;                             /* 0: none */
    int channels, filter_width;            /* location-aware; channels 0: not so */
    const float *filters, *feature_weight; /* [channels][taps], [width][channels] */
    float radius;                          /* of local-p */
    rapt_normalizer normalizer;
    float temperature;
    bool noiseless;
    struct dropout drop;
    uint64_t noise; /* key of the Gumbel noise, see weigh.c */
};

struct row_keys {        /* of one key head of a sequence */
    const float *panels; /* [panels][width][16] */
    const float *values; /* that of key s at values + s * value_row */
    ptrdiff_t value_row;
    int value_width;
};

/* Where a row is computed. Of the arrays of keys only [first, end) of a row is used. */
struct row_space {
    int capacity;   /* keys, whole panels */
    float *x;       /* [capacity] scores, capped, biased; -infinity: hidden */
    float *p;       /* [capacity] softmax of them, if the weighing has looked at it */
    float *weights; /* [capacity] w */
    float *dropped; /* [capacity] w after dropout */
    float *gauss;   /* [capacity] of local-p */
    float *slope;   /* [capacity] 1 - (capped x / cap)^2; NULL: not kept */
    float *more;    /* [capacity] */
    float *before;  /* [filter_width / 2] 0, [capacity] weights of the query before, [2 filter_width
                       + 16] 0 */
    float *features; /* [channels][capacity] f */
    float *sums;     /* [panels][width][16] k + L f */
    float *hidden;   /* [panels][width][16] the tanh of additive scores; NULL: not kept */
};

struct row {
    const struct row_head *head;
    const struct row_keys *keys;
    const float *q;        /* [width] */
    struct attend_row see; /* low, high, allowed, bias; local-p narrows it further */
    const float *relative; /* element s is added to the score of key s; NULL: nothing */
    const float *center;   /* of local-p; NULL: not so */
    uint64_t number;       /* of the query in its sequence, for dropout and noise */
    const float *before;   /* location-aware: weights of the query before, */
    int before_keys;       /*   so many; the rest is 0 */
    bool decided;          /* hard weighing: chosen says what an earlier call has chosen */
    int chosen;            /* set otherwise; -1: it sees nothing */
    float lse;             /* set */
    bool fully_masked;     /* set: it sees nothing; no array is */
    int first, end;        /* set: see.low .. see.high - 1 in whole panels */
    const float *kept;     /* set by attend: weights or dropped */
    struct row_space space;
};

/* ---- query.c ---- */
struct row_head rapt__row_head(const struct projected *c, const struct sequence *b, int h);
/* A row of that head and those keys, all but its place in memory. */
struct row rapt__row(const struct projected *c, const struct sequence *b,
                     const struct row_head *head, const struct row_keys *keys, int h, int t);
void rapt__row_weights(struct row *r); /* x, weights and what is kept of the way to them */
void rapt__row_drop(struct row *r);    /* kept */
void rapt__row_attend(struct row *r, float *out); /* both, and the sum of values */
/* Its weights as a plain array of so many keys. */
void rapt__row_rank1_update(const struct row *r, int keys, float *weights);
/* scores[s] = q.k[s] for s in [first, end), whole panels: chains of 32 fma, added up one after the
   other. more: space for as many. */
void rapt__row_dots(const struct kernels *kernels, const float *q, const float *panels, int width,
                    int first, int end, float *scores, float *more);

/* ---- distribution.c ---- */
void rapt__normalize(struct row *r); /* weights (without gauss), lse, chosen and blind from x */
/* dz, 0 where hidden, becomes dx. gain: reward - baseline. */
void rapt__normalize_backward(struct row *r, float *dz, float gain);

/* ---- rows_workspace.c: memory handed out in floats, or only counted if base is NULL ---- */
struct row_cursor {
    float *base;
    size_t used;
    bool overflow;
};

struct forward_buffers {
    float *panels;          /* of all members: keys of all sequences and key heads */
    struct row_space space; /* mine, like what follows */
    float *before;          /* [capacity] */
};
/* For rows of one head after the other, forward. */
struct row_space rapt__row_space(struct row_cursor *m, const struct bounds *b);
struct forward_buffers rapt__forward_buffers(struct row_cursor *m, const struct bounds *b,
                                             int rank);

/* What the rows of a head of a sequence add to gradients that sequences share: summed over the
   sequences afterwards. Floats and places in a part. */
struct rows_part {
    size_t size, relative, filters, feature_weight; /* that of vector is first */
};
struct backward_buffers {
    struct rows_part part;
    float *parts;                     /* of all members: [heads][batch] parts */
    struct row_space space;           /* mine, like what follows */
    float *key_panels, *value_panels; /* [panels][width][16], [panels][value width][16] */
    float *dkeys;                     /* [panels][width][16]: additive */
    float *dz, *dnext;                /* [capacity] */
    float *transposed;                /* [panels of channels][keys][16]: location-aware, as below */
    float *dfilters, *dfeature_weight; /* of a head, [channels] and [width] rows in whole panels */
    float *dsums, *dfeatures; /* [width][capacity], [channels][capacity + 2 filter_width] */
    float *weights;           /* [queries][capacity]: location-aware */
    float *dq;                /* [width]: where it is not wanted */
};
struct backward_buffers rapt__backward_buffers(struct row_cursor *m, const struct bounds *b,
                                               int rank);

#endif
