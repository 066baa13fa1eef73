/* attend.c - attention to a cache, in tiles if the flash path supports the problem. Rows that read
   the same keys are computed together: the rows of all query heads that share a key head, of all
   new tokens, and of neighboring query sequences that read the same cached sequence, such as the
   hypotheses in a beam. */
#include "attention/cache/cache.h"

#include <string.h>

/* Number of keys of a bf16 cache that are widened and read at a time. */
enum { WIDENED_KEYS = 2 * ATTEND_BLOCK };

struct cache_reader {
    const struct cache *cache;
    const struct cached_queries *q;
    const struct kernels *kernels;
    const struct projected *projected;
    struct kernel_space {          /* workspace of this thread */
        float *workspace;          /* workspace of the kernel */
        float *panels;             /* for a joint float cache: a packed block of keys; else NULL */
        struct widened widened;    /* for a bf16 cache: WIDENED_KEYS keys */
        unsigned char *non_finite; /* [panels of this block] 1 if a value is not finite; NULL
                                      if `panels` is NULL */
        float *by_distance; /* [ATTEND_ROWS][rapt__distance_row] sums of weights; NULL if distances
                               add nothing to values */
    } space;
    int group, rows; /* query heads per key head, and rows per item */
};

int64_t rapt__cached_position(const struct cache *c, const struct cached_queries *q, int i, int r)
{
    int keys = c->counts[rapt__cached_sequence(q, i)];
    int t = r - q->starts[i], queries = q->starts[i + 1] - q->starts[i];
    return q->positions ? q->positions[i] + t : rapt__lower_right(t, queries, keys);
}

struct attend_row rapt__cached_visible(const struct cache *c, const struct cached_queries *q, int i,
                                       int r)
{
    int keys = c->counts[rapt__cached_sequence(q, i)];
    int64_t position = rapt__cached_position(c, q, i, r);
    struct attend_row row = {.high = rapt__causal_end(q->spec->mask.causal, position, keys)};
    rapt__apply_locality(q->spec, position, position, NULL, &row);
    return row;
}

static const float *cached_by_query(const struct cached_queries *q, int h, int r)
{
    size_t row = (size_t)h * (size_t)q->starts[q->count] + (size_t)r;
    return q->by_query + row * rapt__distance_row(q->spec) + LANES + q->spec->distances.before;
}

void rapt__cached_biases(const struct cache *c, const struct cached_queries *q, int i, int h, int r,
                         struct attend_row *row)
{
    int64_t position = rapt__cached_position(c, q, i, r);
    int sequence = rapt__cached_sequence(q, i);
    if (q->relative)
        row->relative =
            q->relative + (ptrdiff_t)h * q->relative_row + (q->relative_zero - (ptrdiff_t)position);
    row->distances = (struct distances){.before = q->spec->distances.before,
                                        .after = q->spec->distances.after,
                                        .position = (int)position};
    if (q->by_query) row->distances.by_query = cached_by_query(q, h, r);
    if (c->distance_heads) row->distances.by_key = rapt__cache_by_key(c, c->slot[sequence], h);
    if (!c->forget_heads) return;
    row->forget = rapt__cache_forget_of(c, c->slot[sequence], h);
    rapt__forget_query(position, c->counts[sequence], row);
}

/* Returns the index of the first query sequence after i that reads a different cached sequence, or
   q->count after the last one. */
static int group_end(const struct cached_queries *q, int i)
{
    int end = i + 1;
    while (end < q->count && rapt__cached_sequence(q, end) == rapt__cached_sequence(q, i)) end++;
    return end;
}

/* Describes row r of query sequence i in query head h. */
static struct attend_row cached_row_of(const struct cache_reader *x, int i, int h, int r)
{
    const struct cached_queries *q = x->q;
    struct attend_row row = rapt__cached_visible(x->cache, q, i, r);
    row.q = q->q + r * q->q_row + (ptrdiff_t)h * x->cache->key_width;
    rapt__cached_biases(x->cache, q, i, h, r, &row);
    row.number = rapt__number_of(x->projected, h);
    row.out = q->out + r * q->out_row + (ptrdiff_t)h * x->cache->value_width;
    ptrdiff_t at = (ptrdiff_t)h * q->starts[q->count] + r;
    if (q->lse) row.lse = q->lse + at;
    if (q->statistics) row.statistics = q->statistics + at * STATISTICS;
    return row;
}

/* Returns the keys and values of a key head in a float cache. If the cache is joint, also describes
   its rows in *plain. */
static struct attend_keys keys_of(const struct cache_reader *x, int sequence, int g,
                                  struct attend_plain *plain)
{
    const struct cache *c = x->cache;
    size_t panel = rapt__cache_panel(c, sequence, g);
    struct attend_keys keys = {.keys = rapt__cache_keys(c, panel),
                               .key_width = c->key_width,
                               .value_width = c->value_width};
    if (!c->form.joint) {
        keys.values = rapt__cache_values(c, panel);
        keys.non_finite = c->non_finite + panel;
        return keys;
    }
    *plain = (struct attend_plain){.k = keys.keys,
                                   .v = rapt__cache_joint_values(c, keys.keys),
                                   .k_row = c->key_width,
                                   .v_row = c->key_width,
                                   .keys = c->counts[sequence],
                                   .panels = x->space.panels,
                                   .non_finite = x->space.non_finite};
    keys.plain = plain;
    return keys;
}

/* Computes attention to a bf16 cache: widens WIDENED_KEYS keys at a time and calls the kernel for
   them. Calls the kernel at least once, because it also writes the outputs of rows without keys. */
static void attend_widened(const struct cache_reader *x, int sequence, int g, struct attend attend)
{
    const struct cache *c = x->cache;
    const struct widened *w = &x->space.widened;
    const size_t panel = rapt__cache_panel(c, sequence, g);
    struct attend_keys keys = {.keys = w->keys,
                               .values = w->values,
                               .non_finite = w->non_finite,
                               .key_width = c->key_width,
                               .value_width = c->value_width};
    int low = c->counts[sequence], high = 0;
    for (int n = 0; n < attend.rows; n++) {
        const struct attend_row *row = attend.row + n;
        if (row->low < row->high) low = rapt__min(low, row->low), high = rapt__max(high, row->high);
    }
    attend.keys = &keys;
    for (int key = low / WIDENED_KEYS * WIDENED_KEYS, end; !attend.resumed || key < high;
         key = end) {
        end = rapt__min(key + WIDENED_KEYS, rapt__max(high, key));
        rapt__cache_widen(c, panel + (size_t)(key / LANES), end - key, w);
        keys.first = attend.begin = key;
        attend.unfinished = end < high;
        attend.end = attend.unfinished ? end : 0;
        x->kernels->attend(&attend);
        attend.resumed = true;
    }
}

/* Zeroes and returns the sums of weights by distance (struct distances) for row n of a call.
   Returns NULL if distances add nothing to values. */
static float *sums_of(const struct cache_reader *x, int n)
{
    const rapt_attention *a = x->q->spec;
    size_t size = rapt__distance_row(a);
    if (!x->space.by_distance) return NULL;
    float *sums = x->space.by_distance + (size_t)n * size;
    memset(sums, 0, size * sizeof *sums);
    return sums + LANES + a->distances.before;
}

/* Computes the outputs of rows [first, first + rows) of query sequences [i, end), which all read
   the same keys, in the query heads that share key head g. Rows are ordered by query row, then by
   head. */
static void attend_cached_tiles(const struct cache_reader *x, int i, int end, int g, int first,
                                int rows)
{
    struct attend_plain plain;
    struct attend_row row[ATTEND_ROWS];
    const int start = x->q->starts[i], sequence = rapt__cached_sequence(x->q, i);
    for (int n = 0; n < rows; n++) {
        int r = start + (first + n) / x->group;
        while (i + 1 < end && r >= x->q->starts[i + 1]) i++;
        row[n] = cached_row_of(x, i, g * x->group + (first + n) % x->group, r);
        row[n].distances.weights = sums_of(x, n);
    }
    struct attend attend = {.row = row,
                            .rows = rows,
                            .kind = x->projected->kind,
                            .scale = x->projected->scale,
                            .cap = x->q->spec->cap,
                            .workspace = x->space.workspace};
    if (x->cache->form.bf16) {
        attend_widened(x, sequence, g, attend);
    } else {
        const struct attend_keys keys = keys_of(x, sequence, g, &plain);
        attend.keys = &keys;
        x->kernels->attend(&attend);
    }
    for (int n = 0; n < rows && x->space.by_distance; n++)
        rapt__distance_output(x->q->spec, g * x->group + (first + n) % x->group, 1,
                              x->space.by_distance + (size_t)n * rapt__distance_row(x->q->spec),
                              row[n].out, x->cache->value_width);
}

static void lay_out_kernel(struct arena *part, const void *what, void *to)
{
    const struct bounds *b = what;
    struct kernel_space *m = to;
    *m = (struct kernel_space){
        .workspace = rapt__arena_floats(
            part, rapt__attend_workspace((int)b->width, (int)b->value_width), 1)};
    if (b->a->distances.values)
        m->by_distance = rapt__arena_floats(part, ATTEND_ROWS, rapt__distance_row(b->a));
    rapt__widened_layout(part, b, WIDENED_KEYS, &m->widened);
    if (!rapt__cache_packs(b->form)) return;
    m->panels = rapt__arena_floats(part, ATTEND_BLOCK, b->width);
    m->non_finite = rapt__arena_take(part, ATTEND_BLOCK / LANES, 1);
}

size_t rapt__cache_workspace(const rapt_attention *spec, int longest, struct cache_form form)
{
    const struct projected c = rapt__projected(spec, NULL, NULL);
    const struct bounds b = rapt__cached_bounds(&c, longest, form, rapt__team_size(spec->threads));
    struct arena arena = {0}, weights = {0}, distances = {0};
    struct cached_space row;
    struct kernel_space kernel;
    if (rapt__flash_supports(&c)) {
        rapt__arena_parts(&arena, b.team, lay_out_kernel, &b, &kernel, NULL);
        rapt__cached_weights_layout(&weights, &b);
        rapt__arena_either(&arena, &weights);
    } else {
        rapt__arena_parts(&arena, b.team, rapt__cached_row_layout, &b, &row, NULL);
    }
    rapt__cached_distances_layout(&distances, &b);
    rapt__arena_either(&arena, &distances);
    return arena.overflow ? SIZE_MAX : arena.used;
}

static void attend_flash(struct team *team, const struct projected *c, const struct cache *cache,
                         const struct cached_queries *q, struct arena *arena)
{
    const rapt_attention *a = q->spec;
    const struct bounds b = rapt__cached_bounds(c, 0, cache->form, team->size);
    struct cache_reader x = {.cache = cache, .q = q, .kernels = rapt__kernels(), .projected = c};
    rapt__arena_parts(arena, b.team, lay_out_kernel, &b, &x.space, NULL);
    rapt__workspace_begin(team);
    x.group = a->heads / cache->key_heads;
    x.rows = ATTEND_ROWS / x.kernels->tile_rows * x.kernels->tile_rows;
    struct tickets tickets = rapt__tickets(team, 1);
    for (int i = 0, end; i < q->count; i = end) {
        end = group_end(q, i);
        int all = (q->starts[end] - q->starts[i]) * x.group;
        for (int g = 0; g < cache->key_heads; g++)
            for (int first = 0; first < all; first += x.rows) {
                if (!rapt__mine(&tickets)) continue;
                attend_cached_tiles(&x, i, end, g, first, rapt__min(all - first, x.rows));
            }
    }
    rapt__team_barrier(team);
}

void rapt__cache_attend(struct team *team, const struct cache *cache,
                        const struct cached_queries *queries, void *workspace)
{
    const struct projected c = rapt__projected(queries->spec, NULL, NULL);
    struct arena arena = rapt__arena_over(workspace, SIZE_MAX, team->rank);
    if (rapt__flash_supports(&c))
        attend_flash(team, &c, cache, queries, &arena);
    else
        rapt__cache_attend_general(team, &c, cache, queries, &arena);
    rapt__workspace_end(team, &arena);
}
