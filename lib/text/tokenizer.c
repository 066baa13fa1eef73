/* tokenizer.c - builds a byte-pair vocabulary from its merges: the bytes of each token, and a
   sorted table in which the merge of two tokens is found by binary search. */
#include "text/text.h"
#include <string.h>

static void take_arrays(struct rapt_tokenizer *t, struct arena *arena)
{
    size_t merges = (size_t)t->merges, vocab = (size_t)t->vocab;
    t->left = rapt__arena_take(arena, merges, sizeof *t->left);
    t->right = rapt__arena_take(arena, merges, sizeof *t->right);
    t->pairs = rapt__arena_take(arena, merges, sizeof *t->pairs);
    t->first = rapt__arena_take(arena, vocab + 1, sizeof *t->first);
    t->start = rapt__arena_take(arena, vocab + 1, sizeof *t->start);
}

static uint32_t token_size(const struct rapt_tokenizer *t, int32_t id)
{
    return t->start[id + 1] - t->start[id];
}

/* Computes where each token's bytes begin. A merge must join two earlier tokens into one of at most
   RAPT__WORD_MAX bytes. */
static rapt_status measure_tokens(struct rapt_tokenizer *t, rapt_message *why)
{
    for (int32_t id = 0; id < RAPT__TOKEN_MERGES; id++)
        t->start[id + 1] = t->start[id] + (id >= RAPT__TOKEN_BYTES);
    for (int32_t m = 0; m < t->merges; m++) {
        int32_t id = RAPT__TOKEN_MERGES + m, left = t->left[m], right = t->right[m];
        if (left < RAPT__TOKEN_BYTES || right < RAPT__TOKEN_BYTES || left >= id || right >= id)
            return rapt__fail(
                why, RAPT_BAD_FILE,
                "merge %d of the tokenizer joins tokens %d and %d; both must be in %d..%d", (int)m,
                (int)left, (int)right, RAPT__TOKEN_BYTES, (int)(id - 1));
        uint32_t size = token_size(t, left) + token_size(t, right);
        if (size > RAPT__WORD_MAX)
            return rapt__fail(why, RAPT_BAD_FILE,
                              "merge %d of the tokenizer makes a token of %u bytes, more than %d",
                              (int)m, (unsigned)size, RAPT__WORD_MAX);
        t->start[id + 1] = t->start[id] + size;
    }
    return RAPT_OK;
}

static rapt_status sort_pairs(struct rapt_tokenizer *t, rapt_message *why)
{
    size_t merges = (size_t)t->merges;
    for (size_t m = 0; m < merges; m++)
        t->pairs[m] =
            (struct ranked){(uint64_t)t->left[m] << 32 | (uint32_t)t->right[m], (uint32_t)m};
    rapt__sort(t->pairs, merges, sizeof *t->pairs, rapt__by_number, NULL);
    for (size_t i = 1; i < merges; i++)
        if (t->pairs[i].key == t->pairs[i - 1].key)
            return rapt__fail(why, RAPT_BAD_FILE, "merges %u and %u of the tokenizer are the same",
                              (unsigned)t->pairs[i - 1].position, (unsigned)t->pairs[i].position);
    for (size_t id = 0, i = 0; id <= (size_t)t->vocab; id++) {
        while (i < merges && t->pairs[i].key >> 32 < id) i++;
        t->first[id] = (uint32_t)i;
    }
    return RAPT_OK;
}

static void spell(struct rapt_tokenizer *t)
{
    for (int byte = 0; byte < 256; byte++) t->pool[byte] = (char)byte;
    for (int32_t m = 0; m < t->merges; m++) {
        char *to = t->pool + t->start[RAPT__TOKEN_MERGES + m];
        uint32_t size = token_size(t, t->left[m]);
        memcpy(to, t->pool + t->start[t->left[m]], size);
        memcpy(to + size, t->pool + t->start[t->right[m]], token_size(t, t->right[m]));
    }
}

static rapt_status fill_tokenizer(struct rapt_tokenizer *t, const int32_t *left,
                                  const int32_t *right, rapt_message *why)
{
    struct arena arena = {0};
    take_arrays(t, &arena);
    rapt_status status = rapt__arena_reserve(&arena, &t->allocator);
    if (status) return rapt__fail(why, status, "no memory for a tokenizer of %d tokens", t->vocab);
    take_arrays(t, &arena);
    t->arena = arena;
    if (t->merges) {
        memcpy(t->left, left, (size_t)t->merges * sizeof *left);
        memcpy(t->right, right, (size_t)t->merges * sizeof *right);
    }
    if ((status = measure_tokens(t, why))) return status;
    if ((status = sort_pairs(t, why))) return status;
    t->pool = rapt__alloc(&t->allocator, t->start[t->vocab]);
    if (!t->pool)
        return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a tokenizer of %d tokens", t->vocab);
    spell(t);
    return RAPT_OK;
}

rapt_status rapt__tokenizer_build(rapt_tokenizer **tokenizer, const int32_t *left,
                                  const int32_t *right, int merges, const rapt_allocator *allocator,
                                  rapt_message *why)
{
    rapt_allocator memory = rapt__allocator(allocator);
    struct rapt_tokenizer *t = rapt__alloc(&memory, sizeof *t);
    if (!t) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a tokenizer");
    *t = (struct rapt_tokenizer){
        .allocator = memory, .vocab = RAPT__TOKEN_MERGES + merges, .merges = merges};
    rapt_status status = fill_tokenizer(t, left, right, why);
    if (status)
        rapt_tokenizer_free(t);
    else
        *tokenizer = t;
    return status;
}

int32_t rapt__tokenizer_merge(const rapt_tokenizer *tokenizer, int32_t left, int32_t right)
{
    uint64_t key = (uint64_t)left << 32 | (uint32_t)right;
    uint32_t low = tokenizer->first[left], high = tokenizer->first[left + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (tokenizer->pairs[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < tokenizer->first[left + 1] && tokenizer->pairs[low].key == key;
    return found ? (int32_t)tokenizer->pairs[low].position : -1;
}
