/* attend.c - queries against a cache. Rows that read the same keys are computed together:
   all query heads of a key head, all new tokens, and neighboring query sequences that read the
   same sequence of the cache, as the beams of one sentence do. */
#include "attention/cache/cache.h"

struct reader {
    const struct cache *cache;
    const struct cached_queries *q;
    const struct kernels *kernels;
    float scale, *workspace;
    int group, rows; /* query heads per key head; rows of an item */
};

struct attend_row rapt__cached_visible(const struct cache *c, const struct cached_queries *q, int i,
                                       int r)
{
    int keys = c->counts[rapt__cached_sequence(q, i)];
    int slot = q->positions ? q->positions[i] + r - q->starts[i] : keys - (q->starts[i + 1] - r);
    struct attend_row see = {.high = keys};
    if (q->spec->mask.causal && slot + 1 < keys) see.high = slot + 1;
    if (rapt__locality_windowed(q->spec)) rapt__narrow(&see, slot, (double)q->spec->radius);
    if (see.low >= see.high) see.low = see.high = 0;
    return see;
}

/* The first query sequence behind i that reads another sequence of the cache. */
static int behind(const struct cached_queries *q, int i)
{
    int end = i + 1;
    while (end < q->count && rapt__cached_sequence(q, end) == rapt__cached_sequence(q, i)) end++;
    return end;
}

/* The row of query head h for query row r, of query sequence i. */
static struct attend_row row_of(const struct reader *x, int i, int h, int r)
{
    const struct cached_queries *q = x->q;
    struct attend_row row = rapt__cached_visible(x->cache, q, i, r);
    row.q = q->q + r * q->q_row + h * x->cache->key_width;
    row.out = q->out + r * q->out_row + h * x->cache->value_width;
    if (q->lse) row.lse = q->lse + (ptrdiff_t)h * q->starts[q->count] + r;
    return row;
}

/* Rows [first, first + rows) of query sequences [i, end), which read the same keys; they are
   counted query row by query row, in each the heads of the group. */
static void attend_rows(const struct reader *x, int i, int end, int g, int first, int rows)
{
    const struct cache *c = x->cache;
    size_t panel = rapt__cache_panel(c, rapt__cached_sequence(x->q, i), g);
    struct attend_keys keys = {rapt__cache_keys(c, panel), rapt__cache_values(c, panel),
                               c->non_finite + panel, c->key_width, c->value_width};
    struct attend_row row[ATTEND_ROWS];
    int start = x->q->starts[i];
    for (int n = 0; n < rows; n++) {
        int r = start + (first + n) / x->group;
        while (i + 1 < end && r >= x->q->starts[i + 1]) i++;
        row[n] = row_of(x, i, g * x->group + (first + n) % x->group, r);
    }
    const struct attend attend = {
        .keys = &keys, .row = row, .rows = rows, .scale = x->scale, .workspace = x->workspace};
    x->kernels->attend(&attend);
}

size_t rapt__cache_workspace(const rapt_attention *spec, int longest)
{
    size_t one = rapt__flash_supports_problem(spec)
                     ? rapt__attend_workspace(rapt__score_width(spec), spec->value_width)
                     : rapt__cached_rows_floats(spec, longest);
    size_t all, bytes;
    bool fits = rapt__times(one, (size_t)rapt__team_size(spec->threads), &all) &&
                rapt__times(all, sizeof(float), &bytes);
    return fits ? bytes : SIZE_MAX;
}

static void attend_tiles(struct team *team, const struct cache *cache,
                         const struct cached_queries *q, void *workspace)
{
    const rapt_attention *a = q->spec;
    struct reader x = {.cache = cache,
                       .q = q,
                       .kernels = rapt__kernels(),
                       .scale = rapt__score_scale(a->score, a->scale, a->key_width)};
    size_t mine = rapt__attend_workspace(cache->key_width, cache->value_width);
    x.workspace = (float *)workspace + (size_t)team->rank * mine;
    x.group = a->heads / cache->key_heads;
    x.rows = ATTEND_ROWS / x.kernels->tile_rows * x.kernels->tile_rows;
    struct tickets tickets = rapt__tickets(team);
    for (int i = 0, end; i < q->count; i = end) {
        end = behind(q, i);
        int all = (q->starts[end] - q->starts[i]) * x.group;
        for (int g = 0; g < cache->key_heads; g++)
            for (int first = 0; first < all; first += x.rows) {
                if (!rapt__mine(&tickets)) continue;
                attend_rows(&x, i, end, g, first, all - first < x.rows ? all - first : x.rows);
            }
    }
    rapt__team_barrier(team);
}

void rapt__cache_attend(struct team *team, const struct cache *cache,
                        const struct cached_queries *queries, void *workspace)
{
    if (rapt__flash_supports_problem(queries->spec))
        attend_tiles(team, cache, queries, workspace);
    else
        rapt__cache_attend_rows(team, cache, queries, workspace);
}
