/* cache.c - key/value cache: appends keys and values, and reorders sequences. It stores past keys
   and values in the layout of the flash kernel: keys in panels of 16, values as rows of whole
   vectors. A new token is written to one lane of a panel and to one row, so nothing is repacked. A
   joint cache instead stores each key once, as a row that ends with its value, and keys are packed
   whenever they are read. The sums of log_forget, the terms of distance vectors and the history of
   recurrent scores are also stored and reordered here. */
#include "attention/cache/cache.h"

#include <assert.h>
#include <string.h>

/* Lays out the keys and values: `all` panels of keys, and `separate` panels of values. */
static void lay_out_panels(struct cache *c, size_t all, size_t separate, struct arena *arena)
{
    const size_t vw = (size_t)rapt__padded(c->value_width), kw = (size_t)c->key_width;
    if (c->form.bf16) {
        enum { HALF = LANES / 2 }; /* floats that take as much memory as a row of a panel */
        c->keys_bf16 = (uint16_t *)rapt__arena_floats(arena, all, HALF * kw);
        c->values_bf16 = (uint16_t *)rapt__arena_floats(arena, separate, HALF * vw);
    } else {
        c->keys = rapt__arena_floats(arena, all, LANES * kw);
        c->values = rapt__arena_floats(arena, separate, LANES * vw);
    }
    c->non_finite = rapt__arena_take(arena, separate, 1);
}

void rapt__cache_layout(struct cache *cache, const struct cache *shape, size_t panels,
                        struct arena *arena)
{
    size_t n = (size_t)shape->sequences, all = rapt__product(panels, (size_t)shape->key_heads);
    assert(!shape->form.joint ||
           (shape->value_width % LANES == 0 && shape->value_width <= shape->key_width));
    *cache = *shape;
    cache->offsets = rapt__arena_take(arena, n + 1, sizeof(int));
    cache->slot = rapt__arena_take(arena, n, sizeof(int));
    cache->after = rapt__arena_take(arena, n, sizeof(int));
    cache->counts = rapt__arena_take(arena, n, sizeof(int));
    cache->spare = rapt__arena_take(arena, n, sizeof(int));
    lay_out_panels(cache, all, shape->form.joint ? 0 : all, arena);
    cache->forget =
        rapt__arena_floats(arena, rapt__product(panels, (size_t)shape->forget_heads), FORGET_PANEL);
    cache->by_key = rapt__arena_floats(arena, rapt__product(panels, (size_t)shape->distance_heads),
                                       shape->distance_panel);
    cache->stamps = rapt__arena_take(arena, panels, sizeof *cache->stamps);
    cache->copies = rapt__arena_take(arena, panels, 3 * sizeof(int));
}

void rapt__cache_start(struct cache *cache, const int *capacity)
{
    cache->offsets[0] = 0;
    for (int i = 0; i < cache->sequences; i++) {
        cache->offsets[i + 1] = cache->offsets[i] + rapt__ceil_div(capacity[i], LANES);
        cache->counts[i] = 0;
        cache->slot[i] = i;
    }
    for (int p = 0; p < cache->offsets[cache->sequences]; p++) cache->stamps[p] = 0;
    cache->clock = 0;
}

/* Counts the new tokens, and gives new stamps to the panels that they change. */
static void count_tokens(struct cache *c, const int *starts)
{
    for (int i = 0; i < c->sequences; i++) {
        uint64_t *stamp = c->stamps + c->offsets[c->slot[i]];
        int first = c->counts[i], last = first + starts[i + 1] - starts[i];
        for (int p = first / LANES; p * LANES < last && first < last; p++) stamp[p] = ++c->clock;
        c->counts[i] = last;
    }
}

/* Writes row `key` of one sequence and key head. Writing the first key of a panel also clears the
   other lanes, because kernels compute the scores of whole panels and discard those of missing
   keys. */
static void append_row(const struct cache *c, const struct kernels *kernels, int sequence, int g,
                       int key, const float *k, const float *v)
{
    size_t panel = rapt__cache_panel(c, sequence, g) + (size_t)(key / LANES);
    int lane = key % LANES;
    if (c->form.bf16) {
        rapt__cache_round(c, kernels, panel, lane, k, v);
        return;
    }
    float *keys = rapt__cache_keys(c, panel), *lanes = keys + lane;
    if (c->form.joint) {
        memcpy(keys + (ptrdiff_t)lane * c->key_width, k, sizeof *k * (size_t)c->key_width);
        return;
    }
    if (lane == 0) memset(keys, 0, sizeof(float) * LANES * (size_t)c->key_width);
    for (int n = 0; n < c->key_width; n++) lanes[(ptrdiff_t)n * LANES] = k[n];
    bool non_finite = kernels->pad_rows(v, 0, 1, c->value_width,
                                        rapt__cache_values(c, panel) +
                                            (ptrdiff_t)lane * rapt__padded(c->value_width));
    c->non_finite[panel] = non_finite || (lane > 0 && c->non_finite[panel]);
}

void rapt__cache_append(struct team *team, struct cache *cache, const int *starts, const float *k,
                        ptrdiff_t k_row, const float *v, ptrdiff_t v_row)
{
    const struct kernels *kernels = rapt__kernels();
    size_t begin, end, heads = (size_t)cache->key_heads;
    if (team->rank == 0) count_tokens(cache, starts);
    rapt__team_barrier(team);
    while (rapt__team_part(team, (size_t)cache->sequences * heads, 1, &begin, &end))
        for (size_t n = begin; n < end; n++) {
            int i = (int)(n / heads), g = (int)(n % heads);
            for (int r = starts[i]; r < starts[i + 1]; r++)
                append_row(cache, kernels, i, g, cache->counts[i] + r - starts[i + 1],
                           k + r * k_row + (ptrdiff_t)g * cache->key_width,
                           v ? v + r * v_row + (ptrdiff_t)g * cache->value_width : NULL);
        }
    rapt__team_barrier(team);
}

void rapt__cache_forget(struct team *team, struct cache *cache, const int *starts,
                        const float *log_forget)
{
    size_t begin, end, heads = (size_t)cache->forget_heads;
    while (rapt__team_part(team, (size_t)cache->sequences * heads, 1, &begin, &end))
        for (size_t n = begin; n < end; n++) {
            int i = (int)(n / heads), h = (int)(n % heads);
            float *panels = rapt__cache_forget_of(cache, cache->slot[i], h);
            for (int r = starts[i]; r < starts[i + 1]; r++)
                rapt__forget_append(panels, cache->counts[i] + r - starts[i + 1],
                                    log_forget[(size_t)r * heads + (size_t)h]);
        }
    rapt__team_barrier(team);
}

/* ---- terms of distance vectors ---- */

/* The products of new keys with the distance vectors (DeBERTa's position-to-content term) are
   computed once, when the keys are appended. */

static void lay_out_distances(struct arena *part, const void *what, void *to)
{
    const struct bounds *b = what;
    float **space = to;
    *space = rapt__arena_floats(part, rapt__distance_space(b->a), 1);
}

void rapt__cached_distances_layout(struct arena *arena, const struct bounds *b)
{
    float *mine;
    rapt__arena_parts(arena, b->team, lay_out_distances, b, &mine, NULL);
}

static void append_distances(const struct cache *c, const rapt_attention *spec, const int *starts,
                             int i, int h, const float *k, ptrdiff_t k_row, float *space)
{
    float *panels = rapt__cache_by_key(c, c->slot[i], h);
    for (int r = starts[i], keys; r < starts[i + 1]; r += keys) {
        int key = c->counts[i] + r - starts[i + 1], lane = key % LANES;
        keys = rapt__min(LANES - lane, starts[i + 1] - r);
        rapt__distance_keys(spec, h, k + r * k_row, k_row, lane, keys, space,
                            panels + (size_t)(key / LANES) * c->distance_panel);
    }
}

void rapt__cache_distances(struct team *team, struct cache *cache, const rapt_attention *spec,
                           const int *starts, const float *k, ptrdiff_t k_row, void *workspace)
{
    const struct projected projected = rapt__projected(spec, NULL, NULL);
    const struct bounds b = rapt__cached_bounds(&projected, 0, cache->form, team->size);
    struct arena arena = rapt__arena_over(workspace, SIZE_MAX, team->rank);
    size_t begin, end, heads = (size_t)cache->distance_heads;
    int group = spec->heads / cache->key_heads;
    float *space;
    rapt__arena_parts(&arena, b.team, lay_out_distances, &b, &space, NULL);
    rapt__workspace_begin(team);
    while (rapt__team_part(team, (size_t)cache->sequences * heads, 1, &begin, &end))
        for (size_t n = begin; n < end; n++) {
            int h = (int)(n % heads);
            append_distances(cache, spec, starts, (int)(n / heads), h,
                             k + (ptrdiff_t)(h / group) * cache->key_width, k_row, space);
        }
    rapt__team_barrier(team);
    rapt__workspace_end(team, &arena);
}

/* ---- reordering ---- */

/* The first child of a sequence takes over its slot with all its panels. The other children receive
   slots that no child has taken over. Hypotheses in a beam search share prefixes, so only panels
   that differ are copied to these slots. No slot is both read and written, so the order of the
   copies does not matter. */

/* Assigns the new slots: the first child of a parent takes over the parent's slot, and other
   children receive free slots. */
static void find_slots(struct cache *c, const int *parents)
{
    int *taken = c->spare, next = 0;
    memset(taken, 0, (size_t)c->sequences * sizeof *taken);
    for (int i = 0; i < c->sequences; i++) {
        int from = c->slot[parents[i]];
        c->after[i] = taken[from] ? -1 : from;
        taken[from] = 1;
    }
    for (int i = 0; i < c->sequences; i++) {
        if (c->after[i] >= 0) continue;
        while (taken[next]) next++;
        c->after[i] = next++;
    }
}

/* Lists the panels that must be copied, and copies their stamps to the panels that they
   overwrite. */
static void find_copies(struct cache *c, const int *parents)
{
    c->copy_count = 0;
    for (int i = 0; i < c->sequences; i++) {
        int from = c->slot[parents[i]], to = c->after[i];
        if (from == to) continue;
        assert(c->offsets[from + 1] - c->offsets[from] == c->offsets[to + 1] - c->offsets[to]);
        uint64_t *have = c->stamps + c->offsets[to], *want = c->stamps + c->offsets[from];
        for (int p = 0; p * LANES < c->counts[parents[i]]; p++) {
            if (have[p] == want[p]) continue;
            have[p] = want[p];
            int *copy = c->copies + (ptrdiff_t)3 * c->copy_count++;
            copy[0] = from, copy[1] = i, copy[2] = p;
        }
    }
}

/* Replaces the slots and counts of the cache with the new ones. */
static void commit_slots(struct cache *c, const int *parents)
{
    int *counts = c->counts, *slot = c->slot;
    for (int i = 0; i < c->sequences; i++) c->spare[i] = counts[parents[i]];
    c->counts = c->spare, c->spare = counts;
    c->slot = c->after, c->after = slot;
}

/* Copies panel a to panel b: all of its keys, but only `rows` rows of its values. */
static void copy_keys(const struct cache *c, size_t a, size_t b, int rows)
{
    size_t keys = LANES * (size_t)c->key_width;
    size_t values = (size_t)rows * (size_t)rapt__padded(c->value_width);
    if (c->form.bf16)
        memcpy(rapt__cache_keys_bf16(c, b), rapt__cache_keys_bf16(c, a), keys * sizeof(uint16_t));
    else
        memcpy(rapt__cache_keys(c, b), rapt__cache_keys(c, a), keys * sizeof(float));
    if (c->form.joint) return;
    if (c->form.bf16)
        memcpy(rapt__cache_values_bf16(c, b), rapt__cache_values_bf16(c, a),
               values * sizeof(uint16_t));
    else
        memcpy(rapt__cache_values(c, b), rapt__cache_values(c, a), values * sizeof(float));
    c->non_finite[b] = c->non_finite[a];
}

/* Copies panel p of a key head from a slot to a sequence. For the first key head, also copies the
   arrays of all query heads: the sums of log_forget and by_key. */
static void copy_panel(const struct cache *c, int from, int sequence, int p, int g)
{
    size_t a = rapt__cache_slot(c, from, g) + (size_t)p;
    size_t b = rapt__cache_panel(c, sequence, g) + (size_t)p;
    copy_keys(c, a, b, rapt__min(c->counts[sequence] - p * LANES, LANES));
    for (int h = 0; g == 0 && h < c->forget_heads; h++)
        memcpy(rapt__cache_forget_of(c, c->slot[sequence], h) + (ptrdiff_t)p * FORGET_PANEL,
               rapt__cache_forget_of(c, from, h) + (ptrdiff_t)p * FORGET_PANEL,
               FORGET_PANEL * sizeof *c->forget);
    for (int h = 0; g == 0 && h < c->distance_heads; h++)
        memcpy(rapt__cache_by_key(c, c->slot[sequence], h) + (size_t)p * c->distance_panel,
               rapt__cache_by_key(c, from, h) + (size_t)p * c->distance_panel,
               c->distance_panel * sizeof *c->by_key);
}

void rapt__cache_reorder(struct team *team, struct cache *cache, const int *parents)
{
    size_t begin, end, heads = (size_t)cache->key_heads;
    if (team->rank == 0) {
        find_slots(cache, parents);
        find_copies(cache, parents);
        commit_slots(cache, parents);
    }
    rapt__team_barrier(team);
    while (rapt__team_part(team, (size_t)cache->copy_count * heads, 1, &begin, &end))
        for (size_t n = begin; n < end; n++) {
            const int *copy = cache->copies + n / heads * 3;
            copy_panel(cache, copy[0], copy[1], copy[2], (int)(n % heads));
        }
    rapt__team_barrier(team);
}

/* ---- history ---- */

/* For each sequence and head, the history holds what the next query reads: the weights of the last
   query for location-aware scores (Chorowski et al. 2015, section 2.2), or the sum of all weights
   for coverage scores (See, Liu and Manning 2017, section 2.3). */

void rapt__history_layout(struct attention_history *l, int sequences, int heads, size_t floats,
                          struct arena *arena)
{
    size_t n = (size_t)sequences, H = (size_t)heads;
    *l = (struct attention_history){.sequences = sequences, .heads = heads};
    l->offsets = rapt__arena_take(arena, n + 1, sizeof *l->offsets);
    l->counts = rapt__arena_take(arena, rapt__product(n, H), sizeof(int));
    l->old_counts = rapt__arena_take(arena, rapt__product(n, H), sizeof(int));
    l->weights = rapt__arena_floats(arena, floats, H);
    l->old = rapt__arena_floats(arena, floats, H);
}

void rapt__history_start(struct attention_history *l, const int *capacity)
{
    l->offsets[0] = 0;
    for (int i = 0; i < l->sequences; i++) l->offsets[i + 1] = l->offsets[i] + (size_t)capacity[i];
    memset(l->counts, 0, (size_t)l->sequences * (size_t)l->heads * sizeof(int));
}

void rapt__history_reorder(struct team *team, struct attention_history *l, const int *parents)
{
    size_t begin, end, heads = (size_t)l->heads;
    while (rapt__team_part(team, (size_t)l->sequences * heads, 1, &begin, &end))
        for (size_t n = begin; n < end; n++) {
            int i = (int)(n / heads), h = (int)(n % heads), from = parents[i];
            int count = l->counts[(size_t)from * heads + n % heads];
            l->old_counts[n] = count;
            if (count)
                memcpy(rapt__history_at(l, l->old, i, h), rapt__history_at(l, l->weights, from, h),
                       (size_t)count * sizeof *l->old);
        }
    rapt__team_barrier(team);
    if (team->rank == 0) {
        float *weights = l->old;
        int *counts = l->old_counts;
        l->old = l->weights, l->weights = weights;
        l->old_counts = l->counts, l->counts = counts;
    }
    rapt__team_barrier(team);
}
