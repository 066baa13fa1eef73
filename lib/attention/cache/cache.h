/* cache.h - declarations shared by the files in this folder: offsets of panels in a cache, and
   functions that compute attention for a query. The interface to other layers is in attention.h. */
#ifndef RAPT_LIB_ATTENTION_CACHE_H
#define RAPT_LIB_ATTENTION_CACHE_H

#include "attention/flash/flash.h"
#include "attention/general/general.h"
#include "attention/score/score.h"

/* Returns the first panel of a key head in a slot. */
static inline size_t rapt__cache_slot(const struct cache *c, int slot, int g)
{
    size_t first = (size_t)c->offsets[slot];
    size_t own = (size_t)c->offsets[slot + 1] - first;
    return first * (size_t)c->key_heads + (size_t)g * own;
}

/* Returns the sums of log_forget for query head h in a slot. */
static inline float *rapt__cache_forget_of(const struct cache *c, int slot, int h)
{
    size_t first = (size_t)c->offsets[slot], own = (size_t)c->offsets[slot + 1] - first;
    return c->forget + (first * (size_t)c->forget_heads + (size_t)h * own) * FORGET_PANEL;
}

/* Returns the by_key panels for query head h in a slot. */
static inline float *rapt__cache_by_key(const struct cache *c, int slot, int h)
{
    size_t first = (size_t)c->offsets[slot], own = (size_t)c->offsets[slot + 1] - first;
    return c->by_key + (first * (size_t)c->distance_heads + (size_t)h * own) * c->distance_panel;
}

/* Returns the first panel of a key head in a sequence. */
static inline size_t rapt__cache_panel(const struct cache *c, int sequence, int g)
{
    return rapt__cache_slot(c, c->slot[sequence], g);
}

/* Returns a panel of keys or, in a joint cache, 16 rows of keys. */
static inline float *rapt__cache_keys(const struct cache *c, size_t panel)
{
    return c->keys + panel * LANES * (size_t)c->key_width;
}

static inline float *rapt__cache_values(const struct cache *c, size_t panel)
{
    return c->values + panel * LANES * (size_t)rapt__padded(c->value_width);
}

static inline uint16_t *rapt__cache_keys_bf16(const struct cache *c, size_t panel)
{
    return c->keys_bf16 + panel * LANES * (size_t)c->key_width;
}

static inline uint16_t *rapt__cache_values_bf16(const struct cache *c, size_t panel)
{
    return c->values_bf16 + panel * LANES * (size_t)rapt__padded(c->value_width);
}

/* Returns true for a joint float cache, whose keys are packed into panels before they are read. The
   keys of a joint bf16 cache are packed by rapt__cache_widen. */
static inline bool rapt__cache_packs(struct cache_form form)
{
    return form.joint && !form.bf16;
}

/* ---- bf16.c ---- */
/* Rounds a key and a value to bf16 and writes them to a lane of a panel. A joint cache ignores
   v. */
void rapt__cache_round(const struct cache *c, const struct kernels *kernels, size_t panel, int lane,
                       const float *k, const float *v);
struct widened {               /* a copy of some keys and values of a bf16 cache, as floats */
    float *keys;               /* [panels][key width][16] */
    float *values;             /* [keys][padded value width] */
    float *rows;               /* [keys][key width], for a joint cache */
    unsigned char *non_finite; /* [panels] as in struct cache */
};
/* Lays out memory for `keys` keys. All pointers are NULL if b->form.bf16 is false. */
void rapt__widened_layout(struct arena *arena, const struct bounds *b, size_t keys,
                          struct widened *to);
/* Widens `keys` keys and values, beginning with panel `panel`. */
void rapt__cache_widen(const struct cache *c, size_t panel, int keys, const struct widened *to);

/* ---- attend.c ---- */
static inline int rapt__cached_sequence(const struct cached_queries *q, int i)
{
    return q->sequence ? q->sequence[i] : i;
}
/* Returns the visible keys of row r of query sequence i, before local-p narrows them to its
   window. */
struct attend_row rapt__cached_visible(const struct cache *c, const struct cached_queries *q, int i,
                                       int r);

/* Returns the position of row r of query sequence i among the keys. */
int64_t rapt__cached_position(const struct cache *c, const struct cached_queries *q, int i, int r);
/* Sets the relative biases, sums of log_forget and distances in *row, for row r of query sequence i
   in head h. */
void rapt__cached_biases(const struct cache *c, const struct cached_queries *q, int i, int h, int r,
                         struct attend_row *row);

/* Returns the values of a joint cache that belong to the keys at `keys`. Their rows are
   c->key_width apart. */
static inline const float *rapt__cache_joint_values(const struct cache *c, const float *keys)
{
    return keys + (c->key_width - c->value_width);
}

/* ---- cache.c ---- */
/* Lays out the workspace of rapt__cache_distances. */
void rapt__cached_distances_layout(struct arena *arena, const struct bounds *b);

/* ---- rows.c: the weights of a row ---- */
/* Lays out the workspace that rapt__cache_weights needs for rows on the flash path. */
void rapt__cached_weights_layout(struct arena *part, const struct bounds *b);

/* ---- rows.c: attention row by row, for every score, locality and normalizer ---- */
struct cached_rows {
    const struct cache *cache;
    const struct cached_queries *q;
    struct projected projected; /* the problem q->spec after projection */
    struct cached_space {
        struct row_space row;
        struct talking talking; /* replaces `row` if there are talking heads */
        float *panels; /* [longest / 16][width][16] keys of a joint float cache, else NULL */
        struct widened widened; /* has room for `capacity` keys or, with talking heads, for
                                   `capacity` keys of each head */
        size_t capacity;
    } space;
};
/* Returns the bounds of the problem c for a cache whose sequences have at most `longest` keys.
   Ignores the numbers of rows in c->a. */
struct bounds rapt__cached_bounds(const struct projected *c, int longest, struct cache_form form,
                                  int team_size);
/* Lays out a struct cached_space. */
void rapt__cached_row_layout(struct arena *part, const void *bounds, void *to);
struct cached_rows rapt__cached_rows(const struct projected *projected, const struct cache *c,
                                     const struct cached_queries *q, int team_size,
                                     struct arena *arena);
struct row_head rapt__cached_head(const struct cached_rows *x, int h);
/* Returns the keys of a head. The keys of a joint or bf16 cache are copied into the workspace of x,
   where they remain until the next call. With talking heads, which joint caches do not support,
   they remain until the next call for the same head. */
struct row_keys rapt__cached_keys(const struct cached_rows *x, int i, int h);
/* Returns row r of query sequence i. Does not set `before`. */
struct row rapt__cached_row(const struct cached_rows *x, const struct row_head *head,
                            const struct row_keys *keys, int i, int h, int r);
/* With talking heads, computes t->mixed, the weights of row r of query sequence i in all heads.
   Returns false, without writing t->mixed, if the range of visible keys is empty in every head. */
bool rapt__cached_talking(const struct cached_rows *x, struct talking *t, int i, int r);
void rapt__cache_attend_general(struct team *team, const struct projected *projected,
                                const struct cache *c, const struct cached_queries *q,
                                struct arena *arena);

/* ---- cache.c: history ---- */
/* Returns the weights of sequence i and head h in `weights`, which must be l->weights or l->old. */
static inline float *rapt__history_at(const struct attention_history *l, float *weights, int i,
                                      int h)
{
    size_t capacity = l->offsets[i + 1] - l->offsets[i];
    return weights + l->offsets[i] * (size_t)l->heads + (size_t)h * capacity;
}

#endif
