/* cache.c - key/value cache. It stores past keys and values in the layout of the flash kernel: keys
   in panels of 16, values as rows of whole vectors. A new token is written to one lane of a panel
   and to one row, so nothing is repacked. A joint cache instead stores each key once, as a row that
   ends with its value, and keys are packed whenever they are read. */
#include "attention/cache/cache.h"

#include <assert.h>
#include <string.h>

void rapt__cache_layout(struct cache *cache, int sequences, size_t panels, int key_heads,
                        int key_width, int value_width, int forget_heads, bool joint,
                        int distance_heads, size_t distance_panel, struct arena *arena)
{
    size_t vw = (size_t)rapt__padded(value_width), n = (size_t)sequences;
    size_t all = panels * (size_t)key_heads, separate = joint ? 0 : all;
    assert(!joint || (value_width % LANES == 0 && value_width <= key_width));
    *cache = (struct cache){.sequences = sequences,
                            .key_heads = key_heads,
                            .key_width = key_width,
                            .value_width = value_width,
                            .joint = joint,
                            .forget_heads = forget_heads,
                            .distance_heads = distance_heads,
                            .distance_panel = distance_panel};
    cache->offsets = rapt__arena_take(arena, n + 1, sizeof(int));
    cache->slot = rapt__arena_take(arena, n, sizeof(int));
    cache->after = rapt__arena_take(arena, n, sizeof(int));
    cache->counts = rapt__arena_take(arena, n, sizeof(int));
    cache->spare = rapt__arena_take(arena, n, sizeof(int));
    cache->keys = rapt__arena_floats(arena, all, (size_t)LANES * (size_t)key_width);
    cache->values = rapt__arena_floats(arena, separate, LANES * vw);
    cache->non_finite = rapt__arena_take(arena, separate, 1);
    cache->forget = rapt__arena_floats(arena, panels * (size_t)forget_heads, FORGET_PANEL);
    cache->by_key = rapt__arena_floats(arena, panels * (size_t)distance_heads, distance_panel);
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

/* Writes row `key` of one sequence and key head. The first key of a panel also clears the other
   lanes, because kernels compute the scores of whole panels and discard those of missing keys. */
static void append_row(const struct cache *c, const struct kernels *kernels, int sequence, int g,
                       int key, const float *k, const float *v)
{
    size_t panel = rapt__cache_panel(c, sequence, g) + (size_t)(key / LANES);
    int lane = key % LANES;
    float *keys = rapt__cache_keys(c, panel), *lanes = keys + lane;
    if (c->joint) {
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
