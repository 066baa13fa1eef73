/* flash.h - what kernel/flash.c is told: some queries, all of which read the same keys and values.

   Keys are kept in panels of 16, [keys / 16][key width][16], so that sixteen scores come out of
   one vector; values as rows of whole vectors, [keys][padded value width]. Lanes behind the last
   key may hold anything: no row sees them. */
#ifndef RAPT_LIB_TILE_H
#define RAPT_LIB_TILE_H

#include "kernel/kernel.h"

enum {
    ATTEND_BLOCK = 128, /* keys between two corrections of the running maximum */
    ATTEND_ROWS = 56,   /* most rows of one call, */
    ATTEND_SLOTS = 72   /*   and rows of the slots that they are packed into */
};

/* Width of a row that is filled up to whole vectors. */
static inline int rapt__padded(int width)
{
    return (width + LANES - 1) / LANES * LANES;
}

/* One query. Bits of its results depend on nothing but this and the keys it sees. */
struct attend_row {
    const float *q;              /* [key width] */
    float *out, *lse;            /* [value width]; 1 float, or NULL */
    int low, high;               /* it sees keys low .. high - 1, */
    const uint8_t *allowed;      /*   of those only where this [key] is not 0; NULL: all */
    const float *bias;           /* [key], added to the scaled score; NULL: 0 */
    float *dbias;                /* [key], its gradient is added; NULL: not wanted */
    uint64_t drop_key, drop_row; /* see struct dropout; the column is the key */
};

struct attend_keys {
    const float *keys;               /* [panels][key_width][16] */
    const float *values;             /* [keys][padded value_width] */
    const unsigned char *non_finite; /* [panels] not 0: infinity or NaN among the values there */
    int key_width, value_width;
};

struct attend {
    const struct attend_keys *keys;
    const struct attend_row *row; /* all with a bias, or none */
    int rows;                     /* 1 .. ATTEND_ROWS */
    float scale;                  /* of scores; not 0 */
    uint32_t drop_below;          /* 0: no dropout */
    float drop_scale;
    float *workspace; /* rapt__attend_workspace floats */
};

static inline size_t rapt__attend_workspace(int key_width, int value_width)
{
    return (size_t)ATTEND_SLOTS * (size_t)key_width + (size_t)ATTEND_ROWS * (LANES + 1) +
           (size_t)(ATTEND_ROWS + LANES) * (size_t)rapt__padded(value_width);
}

/* A block of queries and keys, backward:

       p = e^(x - lse)    dp = dout.v    ds = p (dp - delta)    delta = dout.out
       dv += p dout       dk += scale ds q      dq += scale ds k      dbias += ds

   in steps. p and ds of hidden keys are exactly 0. */
enum attend_step {
    ATTEND_PACK,    /* q_slots and dout_slots from q_rows and dout_rows, once for all keys */
    ATTEND_WEIGHTS, /* p to weights */
    ATTEND_KEYS,    /* the same, then scale ds to dscores, and dk, dv, dbias */
    ATTEND_QUERIES  /* dq from dscores */
};

struct attend_backward {
    enum attend_step step;
    int key, keys; /* key, key + 1, ... of the sequence; at most ATTEND_BLOCK */
    int key_width, value_width;
    const float *key_panels;      /* [panels][key_width][16] */
    const float *value_panels;    /* [panels][value_width][16] */
    const float *key_rows;        /* [keys][padded key_width] */
    const struct attend_row *row; /* [rows]; q, out, lse are not used */
    int rows;                     /* at most ATTEND_ROWS */
    float *q_slots, *dout_slots;  /* [ATTEND_SLOTS * key_width], [.. * value_width] */
    const float *q_rows;          /* [rows][padded key_width] */
    const float *dout_rows;       /* [rows][padded value_width] */
    const float *lse, *delta;     /* [rows] */
    bool non_finite;              /* infinity or NaN in q, dout or keys */
    float scale;
    uint32_t drop_below;
    float drop_scale;
    float *weights, *dscores; /* [rows][ATTEND_BLOCK] */
    float *dq;                /* [rows][padded key_width] */
    float *dk, *dv;           /* [keys][padded key_width], [keys][padded value_width] */
};

#endif
