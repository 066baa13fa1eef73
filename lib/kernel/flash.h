/* flash.h - arguments of the attention kernels: some queries that read the same keys and values.

   Keys are kept in panels of 16, [keys / 16][key width][16], so that sixteen scores come out of
   one vector; values as rows of whole vectors, [keys][padded value width]. Lanes behind the last
   key may hold anything: they are visible to no row. */
#ifndef RAPT_LIB_FLASH_H
#define RAPT_LIB_FLASH_H

#include "kernel/ahead.h"
#include "kernel/kernel.h"

enum {
    ATTEND_BLOCK = 128, /* keys between two updates of the running maximum */
    ATTEND_ROWS = 56,   /* queries of one call, at most, */
    ATTEND_SLOTS = 72   /*   and rows of the slots that they are packed into */
};

/* Width of a row that is filled up to whole vectors. */
static inline int rapt__padded(int width)
{
    return rapt__round_up(width, LANES);
}

/* One query. The bits of its results depend on this and its visible keys alone. */
struct attend_row {
    const float *q;         /* [key width] */
    float *out, *lse;       /* [value width], NULL, in all rows: not wanted; 1 float, or NULL */
    float *statistics;      /* 2 floats: the softmax statistics (below), or NULL */
    int low, high;          /* keys low .. high - 1 are visible, */
    const uint8_t *allowed; /*   of those only where this [key] is not 0; NULL: all */
    const float *bias,
        *relative;            /* [key] their sum is added to the scaled and capped score; NULL: 0 */
    float *dbias, *drelative; /* [key] the gradient is added; NULL: not wanted */
    uint64_t drop_key, drop_row; /* see struct dropout; the column is the key */
};

/* The softmax statistics of a query: m, the maximum of its scores q.k (of capped or biased scores,
   where there is a cap or a bias), and l, the sum of e^(x - m) over its keys with x and m scaled;
   l = 0: fully masked. Its weights are e^(x - m) / l, which are exact where lse = m + log l is too
   large to hold the fraction of its parts (Milakov and Gimelshein 2018). Where l is NaN, m may be
   anything. */
enum { STATISTICS = 2 };

/* Keys and values as plain rows, which attend packs block by block. */
struct attend_plain {
    const float *k, *v; /* rows of key_width and value_width floats; v NULL: not wanted */
    ptrdiff_t k_row, v_row;
    int keys;             /* how many exist */
    bool far;             /* k is prefetched here: far from a core, and too long for rows_ahead */
    float *panels, *rows; /* workspace of a block: ATTEND_BLOCK * key_width floats, and */
    unsigned char *non_finite; /*   ATTEND_BLOCK * padded value_width; ATTEND_BLOCK / 16 */
};

struct attend_keys {
    const float *keys;               /* [panels][key_width][16] */
    const float *values;             /* [keys][padded value_width] */
    const unsigned char *non_finite; /* [panels] not 0: infinity or NaN among the values there */
    int key_width, value_width;
    const struct attend_plain *plain; /* instead of the three arrays; NULL: they are there */
};

struct attend {
    const struct attend_keys *keys;
    const struct attend_row *row; /* with bias: all or none; relative: all or none */
    int rows;                     /* 1 .. ATTEND_ROWS */
    float scale;                  /* of scores; not 0 */
    float cap;                    /* above 0: the scaled score x becomes cap tanh(x / cap) */
    uint32_t drop_below;          /* 0: no dropout */
    float drop_scale;
    float *workspace;         /* rapt__attend_workspace floats */
    struct rows_ahead *ahead; /* prefetched meanwhile; NULL: none */
};

/* The workspace of attend, in floats: where its arrays begin. Between them lie guards of LANES
   floats, which builds without NDEBUG check. */
struct attend_layout {
    size_t sums; /* [ATTEND_ROWS][16] sums of exponentials, lane by lane */
    size_t max;  /* [ATTEND_ROWS] maxima of the scores so far */
    size_t out;  /* [ATTEND_ROWS][padded value_width] weighted sums of values */
    size_t part; /* [LANES][padded value_width] the same, of one block and tile */
    size_t q;    /* [ATTEND_SLOTS * key_width] queries in slots */
    size_t size; /* of all */
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

/* One head of a short sequence, all queries and keys of it, as plain rows: nothing but queries is
   packed. The results have the bits of attend. Rows of v and out have rapt__padded(value_width)
   floats, of which those behind value_width are 0 in v, and of no meaning in out. */
enum {
    HEAD_QUERIES = 32,   /* computed together */
    HEAD_GRADIENTS = 64, /* the same, backward */
    HEAD_PANELS = HEAD_QUERIES / LANES
};

struct attend_head {
    const float *q, *k, *v; /* rows of key_width, key_width and value_width floats; v is not read
                               where out is NULL */
    ptrdiff_t q_row, k_row, v_row, out_row;
    int queries, keys; /* keys: 1 .. ATTEND_BLOCK */
    int key_width, value_width;
    const float *low, *high; /* [queries], as in attend_row; NULL: every key is visible to all */
    /* As in attend_row, the rows of query 0. That of query t, whose position is t higher, begins at
       bias + t * bias_row, relative - t and allowed + t * allowed_row. */
    const float *bias, *relative;
    const uint8_t *allowed;
    ptrdiff_t bias_row, allowed_row;
    float scale, cap;              /* as in attend */
    float *out, *lse, *statistics; /* rows of queries; NULL: not wanted */
    uint64_t drop_key, drop_row;   /* the row of query 0; columns are keys */
    uint32_t drop_below;           /* 0: no dropout */
    float drop_scale;
    float *workspace;         /* HEAD_QUERIES * key_width floats */
    struct rows_ahead *ahead; /* prefetched meanwhile; NULL: none */
};

/* Backward of the same: at most HEAD_GRADIENTS queries, whose statistics are read; out, lse and
   workspace are not. All rows are as long as those of v and out above, and padded with 0 where they
   are read. */
struct attend_head_gradients {
    const float *dout;        /* rows out_row apart */
    float *dbias, *drelative; /* rows as those of bias and relative; added to; NULL: not wanted */
    float *dq, *dk, *dv;      /* added to; NULL: not wanted; rows of dq as those of q, */
    ptrdiff_t dk_row, dv_row; /*   others so far apart */
    bool unfinished;          /* dk and dv are sums over other queries so far */
    float *q_panels;          /* HEAD_GRADIENTS * key_width floats of workspace, */
    float *dout_panels;       /* HEAD_GRADIENTS * value_width, */
    float *weights, *dscores; /* HEAD_GRADIENTS * keys each */
};

/* Backward, a block of queries against a block of keys at a time:

       p = e^(x - m) / l    dp = dout.v    ds = p (dp - delta)    delta = dout.out
       dv += p dout       dk += scale ds q      dq += scale ds k      dbias += ds

   With a cap, scale becomes scale (1 - tanh^2). Where a block has all keys, delta = sum of p dp.

   p and ds of hidden keys are exactly 0. Five kernels: attend_pack and, unless a block has all
   keys, attend_delta once for each block of queries, then for each block of keys attend_weights (p
   alone) or attend_dkv (p, ds, dk, dv and dbias), and attend_dq. */
struct attend_block {
    const struct attend_row *row; /* [rows]; q, out, lse, statistics are not read */
    int rows;                     /* 1 .. ATTEND_ROWS */
    int key, keys;                /* key, key + 1, ... of the sequence; at most ATTEND_BLOCK */
    int key_width;
    bool non_finite; /* infinity or NaN in q, dout or keys; attend_weights does not read it */
    struct rows_ahead *ahead; /* prefetched meanwhile; NULL: none */
};

struct attend_weights {
    const float *q_slots;    /* of attend_pack */
    const float *key_panels; /* [panels][key_width][16] */
    const float *statistics; /* [rows][STATISTICS] */
    float scale, cap;
    float *weights; /* [rows][ATTEND_BLOCK] p; after attend_dkv with dropout, as values got it */
};

struct attend_dkv {
    int value_width;
    const float *dout_slots;   /* of attend_pack */
    const float *value_panels; /* [panels][value_width][16] */
    const float *q_rows;       /* [rows][padded key_width] */
    const float *dout_rows;    /* [rows][padded value_width] */
    const float *delta;        /* [rows]; NULL: the block has all keys */
    uint32_t drop_below;
    float drop_scale;
    float *dscores; /* [rows][ATTEND_BLOCK] scale ds */
    float *dk, *dv; /* [keys][padded key_width], [keys][padded value_width]; added to */
};

struct attend_dq {
    const float *key_rows; /* [keys][padded key_width] */
    const float *dscores;  /* of attend_dkv */
    float *dq;             /* [rows][padded key_width]; added to */
};

#endif
