/* reorder.c - reorders a cache: the new sequence i is the old sequence parents[i].

   The first child of a sequence takes over its slot with all its panels. The other children receive
   slots that no child has taken over. Hypotheses of a beam search share prefixes, so only panels
   that differ are copied to these slots. No slot is both read and written, so the order of the
   copies does not matter. */
#include "attention/cache/cache.h"

#include <assert.h>
#include <string.h>

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

/* Copies panel p of a key head from a slot to a sequence: all of its keys, but only the filled rows
   of its values. For the first key head, also copies the arrays of query heads: the sums of log f,
   and by_key. */
static void copy_panel(const struct cache *c, int from, int sequence, int p, int g)
{
    size_t a = rapt__cache_slot(c, from, g) + (size_t)p;
    size_t b = rapt__cache_panel(c, sequence, g) + (size_t)p;
    int left = c->counts[sequence] - p * LANES, rows = rapt__min(left, LANES);
    memcpy(rapt__cache_keys(c, b), rapt__cache_keys(c, a),
           sizeof(float) * LANES * (size_t)c->key_width);
    if (!c->joint) {
        memcpy(rapt__cache_values(c, b), rapt__cache_values(c, a),
               sizeof(float) * (size_t)rows * (size_t)rapt__padded(c->value_width));
        c->non_finite[b] = c->non_finite[a];
    }
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
