/* attend_general.c - queries against a cache, row by row: every score, reach and weighing (rows.h).
   The rows of a location-aware score wait for each other; what the last one looked at is kept. */
#include "attention/cache/cache.h"

#include <string.h>

enum { ITEM_ROWS = 16 };

static struct bounds bounds_of(const rapt_attention *spec, int longest)
{
    return (struct bounds){.a = spec,
                           .width = (size_t)rapt__score_width(spec),
                           .value_width = (size_t)spec->value_width,
                           .longest_keys = (size_t)longest};
}

size_t rapt__cached_rows_floats(const rapt_attention *spec, int longest)
{
    struct row_cursor buffers = {0};
    struct bounds bounds = bounds_of(spec, longest);
    rapt__row_space(&buffers, &bounds);
    return buffers.overflow ? SIZE_MAX : buffers.used;
}

static int longest_of(const struct cache *c)
{
    int max = 0;
    for (int i = 0; i < c->sequences; i++)
        if (c->counts[i] > max) max = c->counts[i];
    return max;
}

struct cached_rows rapt__cached_rows(const struct cache *c, const struct cached_queries *q,
                                     int rank, void *workspace)
{
    const rapt_attention *a = q->spec;
    int longest = longest_of(c);
    struct bounds bounds = bounds_of(a, longest);
    struct row_cursor buffers = {.base = workspace};
    struct cached_rows x = {.cache = c, .q = q, .projected = {.a = a, .width = c->key_width}};
    x.projected.scale = rapt__score_scale(a->score, a->scale, a->key_width);
    if (rapt__score_additive(a)) x.projected.vector = a->learned.array[RAPT_LEARNED_HIDDEN_VECTOR];
    buffers.base += (size_t)rank * rapt__cached_rows_floats(a, longest);
    x.space = rapt__row_space(&buffers, &bounds);
    return x;
}

struct row_head rapt__cached_head(const struct cached_rows *x, int h)
{
    const struct sequence any = {.index = 0};
    return rapt__row_head(&x->projected, &any, h);
}

struct row_keys rapt__cached_keys(const struct cached_rows *x, int i, int h)
{
    const struct cache *c = x->cache;
    int g = h / (x->q->spec->heads / c->key_heads);
    size_t panel = rapt__cache_panel(c, rapt__cached_sequence(x->q, i), g);
    return (struct row_keys){.panels = rapt__cache_keys(c, panel),
                             .values = rapt__cache_values(c, panel),
                             .value_row = rapt__padded(c->value_width),
                             .value_width = c->value_width};
}

struct row rapt__cached_row(const struct cached_rows *x, const struct row_head *head,
                            const struct row_keys *keys, int i, int h, int r)
{
    const struct cached_queries *q = x->q;
    struct row row = {.head = head,
                      .keys = keys,
                      .q = q->q + r * q->q_row + h * x->cache->key_width,
                      .see = rapt__cached_visible(x->cache, q, i, r),
                      .space = x->space};
    if (q->centers) row.center = q->centers + (ptrdiff_t)h * q->starts[q->count] + r;
    return row;
}

/* Keeps what was looked at before this call. */
static void step_back(struct attention_history *l, int i, int h)
{
    size_t n = (size_t)i * (size_t)l->heads + (size_t)h;
    l->old_counts[n] = l->counts[n];
    if (l->counts[n])
        memcpy(rapt__history_at(l, l->old, i, h), rapt__history_at(l, l->weights, i, h),
               (size_t)l->counts[n] * sizeof *l->old);
}

/* One more row of a sequence and head, and what it looked at. */
static void attend_next(struct attention_history *l, int keys, struct row *row, int i, int h,
                        float *out)
{
    size_t n = (size_t)i * (size_t)l->heads + (size_t)h;
    float *weights = rapt__history_at(l, l->weights, i, h);
    row->before = weights, row->before_keys = l->counts[n];
    rapt__row_attend(row, out);
    rapt__row_rank1_update(row, keys, weights);
    l->counts[n] = keys;
}

/* Rows [first, first + rows) of a query sequence and head. */
static void attend_rows(const struct cached_rows *x, int i, int h, int first, int rows)
{
    const struct cached_queries *q = x->q;
    struct row_head head = rapt__cached_head(x, h);
    struct row_keys keys = rapt__cached_keys(x, i, h);
    int count = x->cache->counts[rapt__cached_sequence(q, i)];
    if (head.channels) step_back(q->history, i, h);
    for (int r = first; r < first + rows; r++) {
        struct row row = rapt__cached_row(x, &head, &keys, i, h, r);
        float *out = q->out + r * q->out_row + h * x->cache->value_width;
        if (head.channels)
            attend_next(q->history, count, &row, i, h, out);
        else
            rapt__row_attend(&row, out);
        if (q->lse) q->lse[(ptrdiff_t)h * q->starts[q->count] + r] = row.lse;
    }
}

void rapt__cache_attend_rows(struct team *team, const struct cache *c,
                             const struct cached_queries *q, void *workspace)
{
    struct cached_rows x = rapt__cached_rows(c, q, team->rank, workspace);
    struct tickets tickets = rapt__tickets(team);
    bool recurrent = rapt__score_recurrent(q->spec);
    for (int i = 0; i < q->count; i++) {
        int all = q->starts[i + 1] - q->starts[i], step = recurrent ? all : ITEM_ROWS;
        for (int h = 0; h < q->spec->heads; h++)
            for (int n = 0; n < all; n += step)
                if (rapt__mine(&tickets))
                    attend_rows(&x, i, h, q->starts[i] + n, all - n < step ? all - n : step);
    }
    rapt__team_barrier(team);
}
