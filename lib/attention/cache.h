/* cache.h - where things lie in a cache, for the files of this room. */
#ifndef RAPT_LIB_ATTENTION_CACHE_H
#define RAPT_LIB_ATTENTION_CACHE_H

#include "attention/problem.h"

/* First panel of a key head of a place. */
static inline size_t rapt__cache_place(const struct cache *c, int place, int g)
{
    size_t first = (size_t)c->offsets[place];
    size_t own = (size_t)c->offsets[place + 1] - first;
    return first * (size_t)c->key_heads + (size_t)g * own;
}

/* First panel of a key head of a sequence. */
static inline size_t rapt__cache_panel(const struct cache *c, int sequence, int g)
{
    return rapt__cache_place(c, c->place[sequence], g);
}

static inline float *rapt__cache_keys(const struct cache *c, size_t panel)
{
    return c->keys + panel * LANES * (size_t)c->key_width;
}

static inline float *rapt__cache_values(const struct cache *c, size_t panel)
{
    return c->values + panel * LANES * (size_t)rapt__padded(c->value_width);
}

#endif
