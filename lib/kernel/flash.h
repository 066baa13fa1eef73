/* flash.h - arguments of the attention kernels. A call computes attention, or its gradients, for a
   few queries that share keys and values.

   Unless noted otherwise, keys are stored in panels of 16, [keys / 16][key width][16], so one
   vector holds sixteen scores, and values are stored as rows padded to whole vectors, [keys][padded
   value width]. Lanes past the last key may contain anything, because they are masked in every
   row. */
#ifndef RAPT_LIB_FLASH_H
#define RAPT_LIB_FLASH_H

#include "kernel/ahead.h"
#include "kernel/half.h"
#include "kernel/kernel.h"
#include "kernel/sparse.h"

#include <float.h>
#include <math.h>

enum {
    ATTEND_BLOCK = 128, /* number of keys between updates of the running maximum */
    ATTEND_ROWS = 56,   /* maximum number of queries in one call */
    ATTEND_SLOTS = 72   /* number of rows in the slots into which queries are packed */
};

_Static_assert((int)SPARSE_KEYS == (int)ATTEND_BLOCK, "sparse_bits has a bit per key of a block");

/* Returns the width of a row padded to whole vectors. */
static inline int rapt__padded(int width)
{
    return rapt__round_up(width, LANES);
}

/* A scale is split into two factors. Queries are multiplied by a power of two with the sign of the
   scale, and their dot products with keys are multiplied by the remaining factor. The power is the
   largest that exceeds neither |scale| nor 1, so dot products overflow only if scaled scores would.
   (If the scale is denormal, the power is the smallest normal number.) The results are
   bit-identical to those of applying the whole scale afterwards, unless numbers become denormal or
   overflow. */
static inline float rapt__query_factor(float scale)
{
    float magnitude = fabsf(scale), power = 1;
    if (magnitude < 1)
        power = half_float_of(half_bits_of(magnitude) & 0x7f800000); /* no fraction */
    if (power == 0) power = FLT_MIN;                                 /* scale is denormal */
    return copysignf(power, scale);
}

static inline float rapt__score_factor(float scale)
{
    return scale / rapt__query_factor(scale);
}

/* How scores x become weights in tiles. b is a learned parameter of the head. */
enum attend_kind {
    ATTEND_NOTHING, /* the normalizer cannot be computed in tiles */
    ATTEND_SOFTMAX, /* e^x / sum of e^x */
    ATTEND_SINK,    /* e^x / (e^b + sum of e^x): for queries that are not fully masked, the sink
                       acts as a last key with score b and value 0 */
    ATTEND_SIGMOID  /* 1 / (1 + e^-(x + b)) */
};

/* Terms and sums of a query, indexed by distance: the index of a key minus the query's position,
   clamped to -before .. after. The terms in by_query and by_key are added to the scaled and capped
   scores. */
struct distances {
    const float *by_query; /* element i, where i is in -before - 15 .. after + 15, is the term for
                              distance i, clamped; NULL means 0 */
    const float *by_key;   /* [panels][before + after + 16][16]: vector e + after of a panel that
                              begins with key s holds the terms of the panel's keys for a query at
                              position s + e; NULL means 0 */
    const float *by_dout;  /* laid out like by_query: backward adds it to the gradients of the
                              weights after dropout; NULL means 0 */
    float *weights;        /* laid out like by_query, with one more element at each end: sums to
                              which forward and backward add the weights after dropout; must be 0
                              before forward, which also rescales them; NULL if not requested */
    int before, after;     /* 0 or more */
    int position;
    float *dby_query, *dby_key; /* laid out like by_query and by_key: gradients to which ds is
                                   added; NULL if not requested */
};

/* One query. Its results do not depend on the other queries in a call. */
struct attend_row {
    const float *q;            /* [key width] */
    float *out, *lse;          /* results: out is [value width], or NULL in all rows if not
                                  requested; lse is 1 float, or NULL */
    float *statistics;         /* result: the STATISTICS floats described below, or NULL */
    int low, high;             /* keys low .. high - 1 are visible, unless hidden by `allowed`,
                                  `sparse` or an added term of -infinity */
    struct sparse_keys sparse; /* among the rows of a call that use it, only `near`, `near_end` and
                                  `blocks` may differ */
    const uint8_t *allowed;    /* [key] 0 hides the key; NULL hides none */
    const float *bias,
        *relative;       /* [key] their sum is added to the scaled and capped score; NULL means
                            0 */
    const float *forget; /* [panels][2][16] C of each key, as a sum of two floats, where C is the
                            sum of the logs of the forget gates of all keys up to this one. C of the
                            query minus C of the key is added to the scaled and capped score; NULL
                            means 0 */
    float forget_high, forget_low;      /* C of the query, as a sum of two floats */
    struct distances distances;         /* also added to the scaled and capped score */
    float *dbias, *drelative, *dforget; /* [key] gradients to which ds is added; NULL if not
                                           requested */
    float *dsum; /* 1 float to which the sum of ds over the keys is added; NULL if not requested */
    uint64_t drop_key, drop_row; /* random key and row, as in dropout_row; the column is the index
                                    of the attention key */
    float number;                /* b in enum attend_kind; 0 if there is none */
};

/* Number of floats in a panel of attend_row.forget. */
enum { FORGET_PANEL = 2 * LANES };

/* The keys that are visible to a row or to several adjacent rows, unless `allowed` or a bias hides
   them. */
struct visible_keys {
    int low, high;
    struct sparse_keys sparse;
};

/* Extends [*low, *high) by [first, end). Returns false if both are nonempty and their union is not
   a range. */
static inline bool rapt__extend_range(int first, int end, int *low, int *high)
{
    if (first >= end) return true;
    if (*low < *high && (first > *high || end < *low)) return false;
    bool empty = *low >= *high;
    *low = empty ? first : rapt__min(*low, first);
    *high = empty ? end : rapt__max(*high, end);
    return true;
}

/* Adds the keys of a row to those of the rows before it. Returns false, with *to unchanged, if the
   row needs a struct of its own. */
static inline bool rapt__join_visible(const struct attend_row *row, struct visible_keys *to)
{
    struct visible_keys both = *to;
    const struct sparse_keys *k = &row->sparse;
    if (k->given != both.sparse.given || (k->given && k->blocks != both.sparse.blocks))
        return false;
    if (!rapt__extend_range(row->low, row->high, &both.low, &both.high)) return false;
    if (k->given &&
        !rapt__extend_range(k->near, k->near_end, &both.sparse.near, &both.sparse.near_end))
        return false;
    *to = both;
    return true;
}

/* Describes the keys that are visible to the rows of a call, in at most `rows` structs. Returns the
   number of structs, which is small, since adjacent rows usually have the same blocks and
   overlapping ranges. */
static inline int rapt__visible_keys(const struct attend_row *row, int rows,
                                     struct visible_keys *to)
{
    int count = 0;
    for (int r = 0; r < rows; r++) {
        if (row[r].low >= row[r].high) continue;
        if (count > 0 && rapt__join_visible(row + r, to + count - 1)) continue;
        to[count++] = (struct visible_keys){row[r].low, row[r].high, row[r].sparse};
    }
    return count;
}

/* Returns the first key in [key, end) that is visible according to any of `count` structs, or
   INT32_MAX if there is none. */
static inline int rapt__next_visible(const struct visible_keys *keys, int count, int key, int end)
{
    int next = end;
    for (int i = 0; i < count && next > key; i++) {
        const struct sparse_keys *k = &keys[i].sparse;
        int from = rapt__max(key, keys[i].low), last = rapt__min(keys[i].high, next);
        if (from >= last) continue;
        int near = k->given ? rapt__max(from, k->near) : from;
        if (near < (k->given ? rapt__min(k->near_end, last) : last)) next = last = near;
        int far = k->given ? rapt__next_far(k, from, last) : last;
        if (far < last) next = far;
    }
    return next < end ? next : INT32_MAX;
}

/* Returns true if one of the keys key .. end - 1 is visible to the row, unless `allowed` or a bias
   hides it. */
static inline bool rapt__row_sees(const struct attend_row *row, int key, int end)
{
    struct visible_keys keys;
    return rapt__next_visible(&keys, rapt__visible_keys(row, 1, &keys), key, end) < end;
}

/* The softmax statistics of a query: m, the maximum of its scores, and l, the sum of e^(x - m) over
   its keys. m is stored without the factor that rapt__statistics_scale returns; in e^(x - m), x and
   m include that factor. A sink counts as a key whose scaled score is the sink's logit. The weights
   are e^(x - m) / l. A fully masked query has l = 0, even if there is a sink. Unlike lse, m and l
   remain precise if m is so large that rounding m + log l would lose log l (Milakov and Gimelshein
   2018). If l is NaN, m may be anything. With ATTEND_SIGMOID, m is 0, and l is 1 unless the query
   is fully masked. */
enum { STATISTICS = 2 };

/* Returns the factor by which the maxima in statistics must still be multiplied. It is 1 with a
   bias or a cap, because these are applied to scaled scores. */
static inline float rapt__statistics_scale(float scale, float cap, bool biased)
{
    return biased || cap > 0 ? 1 : rapt__score_factor(scale);
}

/* Returns the score of a sink: its logit divided by `scale`, clamped to the range of finite
   floats. */
static inline float rapt__sink_score(float logit, float scale)
{
    float score = logit / scale;
    return score > FLT_MAX ? FLT_MAX : score < -FLT_MAX ? -FLT_MAX : score;
}

/* Keys and values as rows, which attend packs block by block. */
struct attend_plain {
    const float *k, *v; /* rows of key_width and value_width floats; v is NULL if not needed */
    ptrdiff_t k_row, v_row;
    int keys;
    bool far;                  /* k is probably not in a nearby cache, and has too many rows for
                                  rows_ahead, so attend prefetches it */
    float *panels, *rows;      /* workspace for one block: ATTEND_BLOCK rows of key_width floats,
                                  and ATTEND_BLOCK rows of value_width floats, padded */
    unsigned char *non_finite; /* [ATTEND_BLOCK / 16], also workspace */
};

struct attend_keys {
    const float *keys;               /* [panels][key_width][16] */
    const float *values;             /* [keys][padded value_width] */
    const unsigned char *non_finite; /* [panels] nonzero if any value in the panel is infinite or
                                        NaN */
    int first;                       /* key at which the three arrays begin */
    int key_width, value_width;
    const struct attend_plain *plain; /* if not NULL, replaces the three arrays */
};

struct attend {
    const struct attend_keys *keys;
    const struct attend_row *row; /* either all rows have a bias or none do; the same applies to
                                     relative, forget, allowed and the arrays of distances */
    int rows;                     /* 1 .. ATTEND_ROWS */
    enum attend_kind kind;
    float scale;         /* scale of scores; not 0 */
    float cap;           /* if above 0, the scaled score x becomes cap tanh(x / cap) */
    uint32_t drop_below; /* 0 means no dropout */
    float drop_scale;
    float *workspace;         /* rapt__attend_workspace floats */
    struct rows_ahead *ahead; /* prefetched during the call; may be NULL */
    /* A call may process only keys begin .. end - 1, or all keys from begin on if end is 0; begin
       and end must be multiples of ATTEND_BLOCK. An unfinished call writes no results but leaves
       its state in the workspace, from which a resumed call for the next keys continues. The
       results are bit-identical to those of a single call. */
    int begin, end;
    bool resumed, unfinished;
};

/* Offsets of the arrays in the workspace of attend, in floats. Each array is followed by a guard of
   LANES floats, which builds without NDEBUG check. */
struct attend_layout {
    size_t sums; /* [ATTEND_ROWS][16] sums of exponentials, lane by lane */
    size_t max;  /* [ATTEND_ROWS] maxima of the scores so far */
    size_t out;  /* [ATTEND_ROWS][padded value_width] weighted sums of values */
    size_t part; /* [LANES][padded value_width] the same sums for one block and tile */
    size_t q;    /* [ATTEND_SLOTS * key_width] queries in slots */
    size_t size; /* total size */
};

static inline struct attend_layout rapt__attend_layout(int key_width, int value_width)
{
    size_t kw = (size_t)key_width, vw = (size_t)rapt__padded(value_width);
    struct attend_layout l = {.max = (ATTEND_ROWS + 1) * LANES};
    l.out = l.max + rapt__round_up_size(ATTEND_ROWS, LANES) + LANES;
    l.part = l.out + ATTEND_ROWS * vw + LANES;
    l.q = l.part + LANES * vw + LANES;
    l.size = l.q + rapt__round_up_size(ATTEND_SLOTS * kw, LANES) + LANES;
    return l;
}

static inline size_t rapt__attend_workspace(int key_width, int value_width)
{
    return rapt__attend_layout(key_width, value_width).size;
}

/* A head of a short sequence. All of its queries, keys and values are stored as rows; only the
   queries are packed. The results are bit-identical to those of attend. Rows of v and out have
   rapt__padded(value_width) floats; the padding is 0 in v and meaningless in out. */
enum {
    HEAD_QUERIES = 32,   /* number of queries processed together */
    HEAD_GRADIENTS = 64, /* maximum number of queries in backward */
    HEAD_PANELS = HEAD_QUERIES / LANES
};

struct attend_head {
    const float *q, *k, *v; /* rows of key_width, key_width and value_width floats; the forward
                               pass ignores v if out is NULL */
    ptrdiff_t q_row, k_row, v_row, out_row;
    int queries, keys; /* keys is 1 .. ATTEND_BLOCK */
    int key_width, value_width;
    const float *low, *high; /* [queries], as in attend_row; NULL if every key is visible to all
                                queries */
    /* As in attend_row, for query 0. For query t, whose position is t higher, the arrays begin at
       bias + t * bias_row, relative - t and allowed + t * allowed_row. */
    const float *bias, *relative;
    const uint8_t *allowed;
    ptrdiff_t bias_row, allowed_row;
    const float *forget;           /* as in attend_row, for all queries */
    int position;                  /* the position of query 0 */
    struct distances distances;    /* as in attend_row, for query 0 */
    ptrdiff_t distance_row;        /* distance in floats between the by_query, dby_query, by_dout or
                                      weights of consecutive queries */
    float scale, cap;              /* as in attend */
    float *out, *lse, *statistics; /* one row per query; NULL if not requested */
    enum attend_kind kind;         /* ATTEND_SOFTMAX or ATTEND_SINK */
    float number;                  /* as in attend_row, the same for all queries */
    uint64_t drop_key, drop_row;   /* as in attend_row; drop_row is the row of query 0 */
    uint32_t drop_below;           /* 0 means no dropout */
    float drop_scale;
    float *workspace;         /* HEAD_QUERIES * key_width floats */
    struct rows_ahead *ahead; /* prefetched during the call; may be NULL */
};

/* The backward pass of a head, for at most HEAD_GRADIENTS queries. It reads the head's statistics,
   but not its out, lse or workspace. All rows, including those of q and k, are padded to whole
   vectors; in arrays that it reads, the padding is 0. */
struct attend_head_gradients {
    const float *dout;        /* rows out_row apart */
    float *dbias, *drelative; /* laid out like bias and relative: gradients to which ds is added;
                                 NULL if not requested */
    float *dforget, *dsums;   /* as in attend_row, [keys] and [queries]; either both or neither are
                                 NULL */
    float *dq, *dk, *dv;      /* gradients to which this call adds; NULL if not requested; rows of
                                 dq are q_row apart */
    ptrdiff_t dk_row, dv_row; /* distances between rows of dk and of dv */
    bool unfinished;          /* dk and dv hold unfinished sums over earlier queries, which this
                                 call continues */
    float *q_panels;          /* workspace: HEAD_GRADIENTS * key_width floats */
    float *dout_panels;       /* workspace: HEAD_GRADIENTS * value_width floats */
    float *weights, *dscores; /* workspace: HEAD_GRADIENTS * keys floats each */
};

/* The backward pass, one block of queries against one block of keys at a time:

       p = e^(x - m) / l    dp = dout.v    ds = p (dp - delta)    delta = dout.out
       dv += p dout       dk += scale ds q      dq += scale ds k      dbias += ds

   With a cap, scale becomes scale (1 - tanh^2). With dropout, dp is multiplied by the weight's
   dropout factor, and the p in the formula for dv is the weight after dropout. If all keys fit in
   one block, delta is computed as the sum of p dp; a sink adds nothing to it.
   attention/flash/backward.c computes the gradient of the sink's logit from delta. With
   ATTEND_SIGMOID, p is the sigmoid, and ds = p (1 - p) dp.

   p and ds of hidden keys are exactly 0. attend_pack and, unless all keys fit in one block,
   attend_delta run once for each block of queries. Then, for each block of keys, either
   attend_weights computes only p, or attend_dkv computes p, ds, dk, dv and the gradients of
   biases, and attend_dq computes dq. */
struct attend_block {
    const struct attend_row *row; /* [rows]; q, out, lse and statistics are ignored */
    int rows;                     /* 1 .. ATTEND_ROWS */
    int key, keys;                /* the first key, and the number of keys, at most ATTEND_BLOCK */
    int key_width;
    bool non_finite; /* q, dout or keys contain an infinity or NaN; attend_weights ignores this */
    struct rows_ahead *ahead; /* prefetched during the call; may be NULL */
};

struct attend_weights {
    const float *q_slots;    /* written by attend_pack */
    const float *key_panels; /* [panels][key_width][16] */
    const float *statistics; /* [rows][STATISTICS] */
    enum attend_kind kind;
    float scale, cap;
    float *weights; /* [rows][ATTEND_BLOCK] receives p or, in attend_dkv, the weights after
                       dropout */
};

struct attend_dkv {
    int value_width;
    const float *dout_slots;   /* written by attend_pack */
    const float *value_panels; /* [panels][value_width][16] */
    const float *q_rows;       /* [rows][padded key_width] */
    const float *dout_rows;    /* [rows][padded value_width] */
    const float *delta;        /* [rows]; NULL if all keys fit in this block */
    uint32_t drop_below;
    float drop_scale;
    float *dscores; /* [rows][ATTEND_BLOCK] receives scale ds */
    float *dk, *dv; /* [keys][padded key_width] and [keys][padded value_width]; gradients are added
                       to them */
};

struct attend_dq {
    const float *key_rows; /* [keys][padded key_width] */
    const float *dscores;  /* written by attend_dkv */
    float *dq;             /* [rows][padded key_width]; gradients are added to it */
};

#endif
