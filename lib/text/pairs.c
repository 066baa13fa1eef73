/* pairs.c - the pairs of neighboring tokens: a hash table of counts, for each pair the words it
   is in, and a heap that gives the most frequent one.

   A pair's count rises only while the younger of its tokens is being made; later merges only
   take occurrences away. So each pair enters the heap once, and an entry whose count is out of
   date is too high: when it comes to the top it gets its true count and sinks. */
#include "text/text.h"
#include <string.h>

struct candidate {
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

static size_t slot_of(const struct pair_table *pairs, uint64_t key)
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
        pairs->table[slot_of(pairs, pairs->pairs[i].key)] = (uint32_t)i + 1;
    return true;
}

ptrdiff_t rapt__pairs_at(struct pair_table *pairs, int32_t left, int32_t right)
{
    if (2 * pairs->count >= pairs->slots && !widen(pairs)) return -1;
    uint64_t key = (uint64_t)left << 32 | (uint32_t)right;
    size_t slot = slot_of(pairs, key);
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

static bool before(const struct candidate *a, const struct candidate *b)
{
    return a->count != b->count ? a->count > b->count : a->key < b->key;
}

static void sink(struct pair_table *pairs, struct candidate item)
{
    size_t hole = 0;
    for (size_t child = 1; child < pairs->heap_count; child = 2 * hole + 1) {
        if (child + 1 < pairs->heap_count && before(&pairs->heap[child + 1], &pairs->heap[child]))
            child++;
        if (!before(&pairs->heap[child], &item)) break;
        pairs->heap[hole] = pairs->heap[child];
        hole = child;
    }
    pairs->heap[hole] = item;
}

static bool push(struct pair_table *pairs, struct candidate item)
{
    if (pairs->heap_count == pairs->heap_capacity) {
        void *grown =
            rapt__grown(pairs->allocator, pairs->heap, &pairs->heap_capacity, sizeof *pairs->heap);
        if (!grown) return false;
        pairs->heap = grown;
    }
    size_t hole = pairs->heap_count++;
    for (; hole > 0 && before(&item, &pairs->heap[(hole - 1) / 2]); hole = (hole - 1) / 2)
        pairs->heap[hole] = pairs->heap[(hole - 1) / 2];
    pairs->heap[hole] = item;
    return true;
}

bool rapt__pairs_offer(struct pair_table *pairs, size_t from)
{
    for (size_t i = from; i < pairs->count; i++) {
        struct candidate item = {pairs->pairs[i].count, pairs->pairs[i].key, i};
        if (item.count >= 2 && !push(pairs, item)) return false;
    }
    return true;
}

ptrdiff_t rapt__pairs_best(struct pair_table *pairs)
{
    while (pairs->heap_count > 0) {
        struct candidate top = pairs->heap[0];
        uint64_t count = pairs->pairs[top.pair].count;
        bool current = count == top.count;
        if (current || count < 2)
            top = pairs->heap[--pairs->heap_count];
        else
            top.count = count;
        ptrdiff_t best = (ptrdiff_t)pairs->heap[0].pair;
        if (pairs->heap_count > 0) sink(pairs, top);
        if (current) return best;
    }
    return -1;
}
