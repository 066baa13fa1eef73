/* learn.c - learns the merges of byte-pair encoding from text (Sennrich, Haddow and Birch 2016,
   algorithm 1).

   Each step replaces the most frequent pair of adjacent tokens with a new token everywhere.
   Distinct words are stored once with their number of occurrences, and the counts of pairs are
   updated incrementally: a merge visits only the words that contain its pair. */
#include "text/text.h"
#include <string.h>

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

/* Counts the pairs of a word, and records the word with each pair that contains token `with`, or
   with all pairs if `with` is -1. */
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

/* Finds the requested number of merges, or fewer if the words do not support that many. */
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
        rapt__fail(why, status, "no memory to learn a vocabulary of %d tokens", vocab);
    else if (l.merges < l.wanted)
        status =
            rapt__fail(why, RAPT_BAD_ARGUMENT, "vocab is %d, but the texts support only %d tokens",
                       vocab, RAPT__TOKEN_MERGES + l.merges);
    else
        status = rapt__tokenizer_build(tokenizer, l.left, l.right, l.merges, &memory, why);
    release(&l);
    return status;
}
