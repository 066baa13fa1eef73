/* cache.h - where things lie in a cache, for the files of this room. */
#ifndef RAPT_LIB_ATTENTION_CACHE_H
#define RAPT_LIB_ATTENTION_CACHE_H

#include "attention/general/general.h"
#include "attention/score/score.h"

/* First panel of a key head of a place. */
static inline size_t rapt__cache_slot(const struct cache *c, int slot, int g)
{
    size_t first = (size_t)c->offsets[slot];
    size_t own = (size_t)c->offsets[slot + 1] - first;
    return first * (size_t)c->key_heads + (size_t)g * own;
}

/* First panel of a key head of a sequence. */
static inline size_t rapt__cache_panel(const struct cache *c, int sequence, int g)
{
    return rapt__cache_slot(c, c->slot[sequence], g);
}

static inline float *rapt__cache_keys(const struct cache *c, size_t panel)
{
    return c->keys + panel * LANES * (size_t)c->key_width;
}

static inline float *rapt__cache_values(const struct cache *c, size_t panel)
{
    return c->values + panel * LANES * (size_t)rapt__padded(c->value_width);
}

/* ---- attend.c ---- */
static inline int rapt__cached_sequence(const struct cached_queries *q, int i)
{
    return q->sequence ? q->sequence[i] : i;
}
/* What row r of query sequence i sees; the reach of local-p is not asked. */
struct attend_row rapt__cached_visible(const struct cache *c, const struct cached_queries *q, int i,
                                       int r);

/* ---- attend_general.c: row by row, whatever score, reach and weighing ---- */
struct cached_rows { /* of one member */
    const struct cache *cache;
    const struct cached_queries *q;
    struct projected projected; /* the score's own */
    struct row_space space;
};
struct cached_rows rapt__cached_rows(const struct cache *c, const struct cached_queries *q,
                                     int rank, void *workspace);
size_t rapt__cached_rows_floats(const rapt_attention *spec, int longest); /* of one member */
struct row_head rapt__cached_head(const struct cached_rows *x, int h);
struct row_keys rapt__cached_keys(const struct cached_rows *x, int i, int h);
/* Row r of query sequence i, all but what was looked at before. */
struct row rapt__cached_row(const struct cached_rows *x, const struct row_head *head,
                            const struct row_keys *keys, int i, int h, int r);
void rapt__cache_attend_rows(struct team *team, const struct cache *c,
                             const struct cached_queries *q, void *workspace);

/* ---- history.c ---- */
/* Where the last weights of a head are, or those before the last call. */
static inline float *rapt__history_at(const struct attention_history *l, float *weights, int i,
                                      int h)
{
    size_t capacity = l->offsets[i + 1] - l->offsets[i];
    return weights + l->offsets[i] * (size_t)l->heads + (size_t)h * capacity;
}

#endif
