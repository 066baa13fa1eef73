/* pairs.c - stores the pairs of adjacent tokens: their counts in a hash table, the words that
   contain them in lists, and the most frequent pair at the root of a heap.

   The count of a pair grows only while the texts are first counted (pairs of bytes) or during the
   merge that makes the later of its two tokens. After that, merges can only reduce it. Each pair
   therefore enters the heap only once, and an outdated count can only be too high. When such a pair
   reaches the root, its count is updated and the pair moves down (lazy update). */
#include "text/text.h"
#include <string.h>

struct merge_candidate {
    uint64_t count, key;
    size_t pair;
};

void rapt__pairs_free(struct pair_table *pairs)
{
    rapt__free(pairs->allocator, pairs->pairs, pairs->capacity * sizeof *pairs->pairs);
    rapt__free(pairs->allocator, pairs->table, pairs->slots * sizeof *pairs->table);
    rapt__free(pairs->allocator, pairs->uses, pairs->use_capacity * sizeof *pairs->uses);
    rapt__free(pairs->allocator, pairs->heap, pairs->heap_capacity * sizeof *pairs->heap);
    *pairs = (struct pair_table){.allocator = pairs->allocator};
}

static size_t slot_of_pair(const struct pair_table *pairs, uint64_t key)
{
    uint64_t hash = key * 0x9E3779B97F4A7C15u; /* 2^64 / golden ratio: Knuth, section 6.4 */
    size_t slot = (size_t)(hash >> 32) & (pairs->slots - 1);
    while (pairs->table[slot] && pairs->pairs[pairs->table[slot] - 1].key != key)
        slot = (slot + 1) & (pairs->slots - 1);
    return slot;
}

static bool widen(struct pair_table *pairs)
{
    size_t slots = pairs->slots ? 2 * pairs->slots : 1024;
    uint32_t *table = rapt__alloc(pairs->allocator, slots * sizeof *table);
    if (!table) return false;
    memset(table, 0, slots * sizeof *table);
    rapt__free(pairs->allocator, pairs->table, pairs->slots * sizeof *table);
    pairs->table = table;
    pairs->slots = slots;
    for (size_t i = 0; i < pairs->count; i++)
        pairs->table[slot_of_pair(pairs, pairs->pairs[i].key)] = (uint32_t)i + 1;
    return true;
}

ptrdiff_t rapt__pairs_at(struct pair_table *pairs, int32_t left, int32_t right)
{
    if (2 * pairs->count >= pairs->slots && !widen(pairs)) return -1;
    uint64_t key = (uint64_t)left << 32 | (uint32_t)right;
    size_t slot = slot_of_pair(pairs, key);
    if (pairs->table[slot]) return (ptrdiff_t)pairs->table[slot] - 1;
    if (pairs->count == UINT32_MAX - 1) return -1;
    if (pairs->count == pairs->capacity) {
        void *grown =
            rapt__grown(pairs->allocator, pairs->pairs, &pairs->capacity, sizeof *pairs->pairs);
        if (!grown) return -1;
        pairs->pairs = grown;
    }
    pairs->pairs[pairs->count] = (struct pair){.key = key};
    pairs->table[slot] = (uint32_t)++pairs->count;
    return (ptrdiff_t)pairs->count - 1;
}

bool rapt__pairs_use(struct pair_table *pairs, size_t pair, uint32_t word)
{
    uint32_t *uses = &pairs->pairs[pair].uses;
    if (*uses && pairs->uses[*uses - 1].word == word) return true;
    if (pairs->use_count == UINT32_MAX - 1) return false;
    if (pairs->use_count == pairs->use_capacity) {
        void *grown =
            rapt__grown(pairs->allocator, pairs->uses, &pairs->use_capacity, sizeof *pairs->uses);
        if (!grown) return false;
        pairs->uses = grown;
    }
    pairs->uses[pairs->use_count] = (struct pair_use){word, *uses};
    *uses = (uint32_t)++pairs->use_count;
    return true;
}

/* Orders candidates by increasing count; among equal counts, the pair with the lower ids comes
   last. */
static int by_count(const void *context, const void *x, const void *y)
{
    const struct merge_candidate *a = x, *b = y;
    (void)context;
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    return (a->key < b->key) - (a->key > b->key);
}

static bool push_candidate(struct pair_table *pairs, struct merge_candidate item)
{
    if (pairs->heap_count == pairs->heap_capacity) {
        void *grown =
            rapt__grown(pairs->allocator, pairs->heap, &pairs->heap_capacity, sizeof *pairs->heap);
        if (!grown) return false;
        pairs->heap = grown;
    }
    size_t at = pairs->heap_count++;
    pairs->heap[at] = item;
    rapt__heap_up(pairs->heap, at, sizeof item, by_count, NULL);
    return true;
}

bool rapt__pairs_offer(struct pair_table *pairs, size_t from)
{
    for (size_t i = from; i < pairs->count; i++) {
        struct merge_candidate item = {pairs->pairs[i].count, pairs->pairs[i].key, i};
        if (item.count >= 2 && !push_candidate(pairs, item)) return false;
    }
    return true;
}

ptrdiff_t rapt__pairs_best(struct pair_table *pairs)
{
    while (pairs->heap_count > 0) {
        struct merge_candidate *top = &pairs->heap[0];
        ptrdiff_t best = (ptrdiff_t)top->pair;
        uint64_t count = pairs->pairs[best].count;
        bool current = count == top->count;
        if (current || count < 2)
            *top = pairs->heap[--pairs->heap_count];
        else
            top->count = count;
        rapt__heap_down(pairs->heap, 0, pairs->heap_count, sizeof *top, by_count, NULL);
        if (current) return best;
    }
    return -1;
}
