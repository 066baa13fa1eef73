/* distances.c - products of new keys with the distance vectors (DeBERTa's position-to-content
   term). They are computed once, when a key is appended. */
#include "attention/cache/cache.h"

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
    const struct bounds b = rapt__cached_bounds(&projected, 0, cache->joint, team->size);
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
