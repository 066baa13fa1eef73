/* learn.c - learns the merges of byte-pair encoding from text (Sennrich, Haddow and Birch 2016,
   algorithm 1).

   Each step replaces the most frequent pair of adjacent tokens with a new token everywhere. Each
   distinct word is stored once with its number of occurrences, and the counts of pairs are updated
   incrementally: a merge visits only the words that contain, or once contained, its pair. */
#include "text/text.h"
#include <string.h>

/* ---- pairs of tokens ----

   A hash table holds the counts of the pairs of adjacent tokens, a list for each pair holds the
   words that contain it, and the most frequent pair is at the root of a heap.

   The count of a pair grows only while the texts are first counted (pairs of bytes) or during the
   merge that makes the later of its two tokens. After that, merges can only reduce it. Each pair
   therefore enters the heap only once, and an outdated count can only be too high. When a pair with
   an outdated count reaches the root, its count is updated and the pair moves down (lazy
   update). */

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

/* ---- learning ---- */

struct learner {
    struct word_types types;
    struct pair_table pairs;
    size_t bytes;          /* total size of all word types in bytes */
    int32_t *tokens;       /* [bytes] the tokens of word w begin at index begin[w] */
    size_t *begin;         /* [types] */
    uint32_t *length;      /* [types] current number of tokens of word w */
    int32_t *left, *right; /* [wanted] the merges */
    int merges, wanted;
    struct arena arena; /* holds the arrays above */
    const rapt_allocator *allocator;
};

static void take_arrays(struct learner *l, struct arena *arena)
{
    l->tokens = rapt__arena_take(arena, l->bytes, sizeof *l->tokens);
    l->begin = rapt__arena_take(arena, l->types.count, sizeof *l->begin);
    l->length = rapt__arena_take(arena, l->types.count, sizeof *l->length);
    l->left = rapt__arena_take(arena, (size_t)l->wanted, sizeof *l->left);
    l->right = rapt__arena_take(arena, (size_t)l->wanted, sizeof *l->right);
}

static void release(struct learner *l)
{
    rapt__word_types_free(&l->types);
    rapt__pairs_free(&l->pairs);
    rapt__arena_free(&l->arena, l->allocator);
}

static void spell_types(struct learner *l)
{
    size_t at = 0;
    for (size_t w = 0; w < l->types.count; w++) {
        const struct word_type *type = &l->types.types[w];
        l->begin[w] = at;
        l->length[w] = type->size;
        for (uint32_t i = 0; i < type->size; i++)
            l->tokens[at++] = RAPT__TOKEN_BYTES + (unsigned char)type->bytes[i];
    }
}

/* Counts the pairs in a word, and records the word for each pair that contains token `with`, or for
   every pair if `with` is -1. */
static bool count_pairs(struct learner *l, size_t w, int32_t with)
{
    const int32_t *tokens = l->tokens + l->begin[w];
    for (uint32_t i = 0; i + 1 < l->length[w]; i++) {
        ptrdiff_t pair = rapt__pairs_at(&l->pairs, tokens[i], tokens[i + 1]);
        if (pair < 0) return false;
        l->pairs.pairs[pair].count += l->types.types[w].count;
        bool recorded = with < 0 || tokens[i] == with || tokens[i + 1] == with;
        if (recorded && !rapt__pairs_use(&l->pairs, (size_t)pair, (uint32_t)w)) return false;
    }
    return true;
}

static bool discount_pairs(struct learner *l, size_t w)
{
    const int32_t *tokens = l->tokens + l->begin[w];
    for (uint32_t i = 0; i + 1 < l->length[w]; i++) {
        ptrdiff_t pair = rapt__pairs_at(&l->pairs, tokens[i], tokens[i + 1]);
        if (pair < 0) return false;
        l->pairs.pairs[pair].count -= l->types.types[w].count;
    }
    return true;
}

static bool holds(const struct learner *l, size_t w, int32_t left, int32_t right)
{
    const int32_t *tokens = l->tokens + l->begin[w];
    for (uint32_t i = 0; i + 1 < l->length[w]; i++)
        if (tokens[i] == left && tokens[i + 1] == right) return true;
    return false;
}

static void join_in_word(struct learner *l, size_t w, int32_t left, int32_t right, int32_t made)
{
    int32_t *tokens = l->tokens + l->begin[w];
    uint32_t put = 0, length = l->length[w];
    for (uint32_t i = 0; i < length;) {
        bool here = i + 1 < length && tokens[i] == left && tokens[i + 1] == right;
        tokens[put++] = here ? made : tokens[i];
        i += here ? 2 : 1;
    }
    l->length[w] = put;
}

static bool merge_everywhere(struct learner *l, size_t pair)
{
    int32_t made = RAPT__TOKEN_MERGES + l->merges;
    int32_t left = (int32_t)(l->pairs.pairs[pair].key >> 32);
    int32_t right = (int32_t)(uint32_t)l->pairs.pairs[pair].key;
    size_t before = l->pairs.count;
    uint32_t next;
    for (uint32_t use = l->pairs.pairs[pair].uses; use; use = next) {
        uint32_t w = l->pairs.uses[use - 1].word;
        next = l->pairs.uses[use - 1].next;
        if (!holds(l, w, left, right)) continue;
        if (!discount_pairs(l, w)) return false;
        join_in_word(l, w, left, right, made);
        if (!count_pairs(l, w, made)) return false;
    }
    l->left[l->merges] = left;
    l->right[l->merges++] = right;
    return rapt__pairs_offer(&l->pairs, before);
}

/* Finds the requested number of merges, or fewer if no pair occurs twice any more. */
static rapt_status find_merges(struct learner *l)
{
    for (size_t w = 0; w < l->types.count; w++) l->bytes += l->types.types[w].size;
    struct arena arena = {0};
    take_arrays(l, &arena);
    rapt_status status = rapt__arena_reserve(&arena, l->allocator);
    if (status) return status;
    take_arrays(l, &arena);
    l->arena = arena;
    spell_types(l);
    for (size_t w = 0; w < l->types.count; w++)
        if (!count_pairs(l, w, -1)) return RAPT_NO_MEMORY;
    if (!rapt__pairs_offer(&l->pairs, 0)) return RAPT_NO_MEMORY;
    while (l->merges < l->wanted) {
        ptrdiff_t pair = rapt__pairs_best(&l->pairs);
        if (pair < 0) break;
        if (!merge_everywhere(l, (size_t)pair)) return RAPT_NO_MEMORY;
    }
    return RAPT_OK;
}

static rapt_status check_learn(rapt_tokenizer **tokenizer, const rapt_text *texts, size_t count,
                               int vocab, rapt_message *why)
{
    if (!tokenizer) return rapt__fail(why, RAPT_BAD_ARGUMENT, "tokenizer is NULL");
    if (vocab < RAPT__TOKEN_MERGES || vocab > RAPT__VOCAB_MAX)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "vocab is %d, not in %d..%d", vocab,
                          RAPT__TOKEN_MERGES, RAPT__VOCAB_MAX);
    if (!texts && count) return rapt__fail(why, RAPT_BAD_ARGUMENT, "texts is NULL");
    return rapt__texts_check("texts", texts, count, why);
}

rapt_status rapt_tokenizer_learn(rapt_tokenizer **tokenizer, const rapt_text *texts, size_t count,
                                 int vocab, const rapt_allocator *allocator, rapt_message *why)
{
    rapt_status status = check_learn(tokenizer, texts, count, vocab, why);
    if (status) return status;
    rapt_allocator memory = rapt__allocator(allocator);
    struct learner l = {
        .wanted = vocab - RAPT__TOKEN_MERGES, .allocator = &memory, .pairs.allocator = &memory};
    status = rapt__word_types_create(&l.types, texts, count, &memory);
    if (!status) status = find_merges(&l);
    if (status)
        rapt__fail(why, status, "not enough memory to learn a vocabulary of %d tokens", vocab);
    else if (l.merges < l.wanted)
        status =
            rapt__fail(why, RAPT_BAD_ARGUMENT, "vocab is %d, but the texts support only %d tokens",
                       vocab, RAPT__TOKEN_MERGES + l.merges);
    else
        status = rapt__tokenizer_build(tokenizer, l.left, l.right, l.merges, &memory, why);
    release(&l);
    return status;
}
