/* backward.h - what the files of the general way backward tell each other. */
#ifndef RAPT_LIB_ATTENTION_ROWS_BACKWARD_H
#define RAPT_LIB_ATTENTION_ROWS_BACKWARD_H

#include "attention/general/general.h"

struct backward {
    const struct projected *c;
    const struct kernels *kernels;
    const float *v, *dout;
    const struct projected_gradients *d;
    int key_heads, group;
    struct backward_buffers buffers;
};

struct pair { /* a sequence and key head */
    const struct backward *f;
    struct sequence b;
    struct row_keys keys;
    const float *key_rows;  /* k as it was given */
    float *dkeys, *dvalues; /* rows of the caller's; NULL: not wanted */
};

struct line { /* a row, backward */
    const struct pair *p;
    struct row *r;
    int head, t;
    float *dz;    /* dw, dz, dx, one after the other */
    float *dnext; /* location-aware: gradient of its weights from the next query, then that of the
                     query before */
    float *part;  /* of the head */
};

static inline int rapt__row_length(const struct row *r)
{
    return r->end - r->first;
}

/* ---- query_backward.c ---- */
void rapt__line_back(const struct line *l); /* all gradients of a row */

/* ---- location_aware.c: location-aware ---- */
/* From g in dsums: dL, df, dF and what the query before gets. */
void rapt__line_features(const struct line *l);

#endif
