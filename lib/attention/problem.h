/* problem.h - what the files of this room ask a rapt_attention: where rows lie, how long a
   sequence is, what a query sees. */
#ifndef RAPT_LIB_ATTENTION_PROBLEM_H
#define RAPT_LIB_ATTENTION_PROBLEM_H

#include "attention/attention.h"
#include "kernel/flash.h"
#include "kernel/kernel.h"

/* ---- score.c, local.c: beside rapt__score_recurrent and rapt__locality_centered ---- */
bool rapt__score_additive(const rapt_attention *a); /* hidden_vector . tanh(...), no dot product */
bool rapt__locality_windowed(const rapt_attention *a); /* local-m: around the query's position */
float rapt__score_scale(rapt_score score, float scale, int key_width); /* scale 0: its own */

/* ---- problem.c ---- */
struct sequence { /* one of the batch */
    int index;
    int query_first, queries; /* first row among those of all sequences; rows */
    int key_first, keys;
    int existing;                     /* keys 0 .. existing - 1 exist */
    ptrdiff_t query_batch, key_batch; /* how many batch strides, and */
    ptrdiff_t query_row, key_row;     /*   row strides, to row 0 */
};
struct sequence rapt__sequence(const rapt_attention *a, int index);
int rapt__key_heads_of(const rapt_attention *a);
int rapt__query_width(const rapt_attention *a);
int rapt__query_rows(const rapt_attention *a); /* of all sequences */
int rapt__key_rows(const rapt_attention *a);

/* Offsets of row t of head h of a sequence. */
static inline ptrdiff_t rapt__query_at(const rapt_stride *s, const struct sequence *b, int h, int t)
{
    return b->query_batch * s->batch + h * s->head + (b->query_row + t) * s->row;
}
static inline ptrdiff_t rapt__key_at(const rapt_stride *s, const struct sequence *b, int h, int t)
{
    return b->key_batch * s->batch + h * s->head + (b->key_row + t) * s->row;
}

/* ---- bias.c ---- */
bool rapt__relative_wanted(const rapt_attention *a); /* slopes or a table */

/* ---- mask.c ---- */
int64_t rapt__query_position(const rapt_attention *a, const struct sequence *b,
                             int t); /* of query t */
/* Cuts low and high to keys s with |s - place| <= radius. */
void rapt__narrow(struct attend_row *row, int64_t position, double radius);
/* Sets low, high, allowed and bias of query t of head h. */
void rapt__mask_row(const rapt_attention *a, const struct sequence *b, int h, int t,
                    struct attend_row *row);

/* Key of the dropout of one head; its rows are queries, its columns keys of the sequence. */
static inline uint64_t rapt__attention_drop_key(const rapt_attention *a, const struct sequence *b,
                                                int h)
{
    return rapt__mix(rapt__mix(a->seed, (uint64_t)b->index), (uint64_t)h);
}

/* ---- workspace.c ---- */
struct bounds {              /* of a problem; of several, the greatest of each */
    const rapt_attention *a; /* widths, heads and what is learned */
    size_t heads, key_heads;
    size_t width, value_width; /* of prepared queries and keys; of values */
    size_t batch;
    size_t query_rows, key_rows;          /* of all sequences */
    size_t max_queries, max_keys;         /* of one, as the problem says */
    size_t longest_queries, longest_keys; /* as they are */
    size_t team;
};
struct workspace_sizes {      /* of scratch for tiles, in floats */
    size_t keys, values;      /* forward: of the panels of the longest sequence and one key head */
    size_t packed;            /*   of those and which of them are wild */
    size_t attend;            /*   of the kernel */
    size_t member;            /*   of one member: packed, then attend */
    int chunks;               /* backward: blocks of queries of one sequence and key head */
    size_t chunk;             /*   of each of them */
    size_t block;             /*   of a block of keys, with what is computed from it */
    size_t relative;          /*   of the gradient of a relative bias, sequence by sequence */
    size_t forward, backward; /* in all */
};
struct bounds rapt__bounds(const rapt_attention *a, int team_size);
bool rapt__workspace_of(const rapt_attention *a, int team_size,
                        struct workspace_sizes *sizes); /* false: too much */
/* *sum += a * b * c, rounded up to whole vectors; false if it does not fit. */
bool rapt__grow(size_t *sum, size_t a, size_t b, size_t c);

/* Asks the caches for rows that will be read soon; of short sequences only, as long ones would
   push out what is being read. */
static inline void rapt__fetch_rows(const float *x, ptrdiff_t row, int rows, int width)
{
    enum { SHORT = 64 };
    for (int r = 0; r < rows && rows <= SHORT; r++)
        for (int n = 0; n < width; n += LANES) __builtin_prefetch(x + r * row + n);
}

/* Work that is handed out item by item: true if the next one is mine. */
struct tickets {
    struct team *team;
    int next, at;
};
static inline struct tickets rapt__tickets(struct team *team)
{
    return (struct tickets){team, rapt__team_take(team), 0};
}
static inline bool rapt__mine(struct tickets *t)
{
    if (t->at++ != t->next) return false;
    t->next = rapt__team_take(t->team);
    return true;
}

#endif
