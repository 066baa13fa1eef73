/* tokenizer.c - builds a byte-pair vocabulary from its merges, and encodes and decodes text with it
   (Sennrich, Haddow and Birch 2016, section 3.2). */
#include "text/text.h"

#include <string.h>

/* ---- the vocabulary: the bytes of each token, and a sorted table in which the merge of two tokens
   is found by binary search ---- */

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

/* Computes where each token's bytes begin. Returns RAPT_BAD_FILE unless each merge joins two
   earlier tokens into one of at most RAPT__WORD_MAX bytes. */
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

/* ---- encoding and decoding ----

   At first, the tokens of a word are its bytes. While two adjacent tokens have a merge, the merge
   that was learned first is applied, at its leftmost position first. A heap of (merge, position)
   holds the candidates. Each merge adds at most two of them, so a word of n bytes takes O(n log n)
   steps. Words have at most RAPT__WORD_MAX bytes, so the state of a word fits on the stack. */

enum { MAX = RAPT__WORD_MAX, HEAP_MAX = 3 * MAX, POSITION_BITS = 8 };

struct word {
    int size;
    int32_t id[MAX];         /* the token that begins at this byte, or -1 */
    int16_t next[MAX];       /* end of the token */
    int16_t previous[MAX];   /* beginning of the previous token, or -1 for the first */
    uint32_t heap[HEAP_MAX]; /* merge << POSITION_BITS | position of its left token; the smallest is
                                the root */
    int candidates;          /* number of items in heap */
};

_Static_assert(MAX <= 1 << POSITION_BITS, "a position fits into POSITION_BITS");
_Static_assert(RAPT__VOCAB_MAX <= 1 << (32 - POSITION_BITS), "a merge fits into the other bits");

static int by_falling_number(const void *context, const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    (void)context;
    return (a < b) - (a > b);
}

static void push_merge(struct word *word, uint32_t item)
{
    size_t at = (size_t)word->candidates++;
    word->heap[at] = item;
    rapt__heap_up(word->heap, at, sizeof item, by_falling_number, NULL);
}

static uint32_t pop(struct word *word)
{
    uint32_t top = word->heap[0];
    word->heap[0] = word->heap[--word->candidates];
    rapt__heap_down(word->heap, 0, (size_t)word->candidates, sizeof top, by_falling_number, NULL);
    return top;
}

/* Adds the merge of the token at this position with the next token as a candidate, if that merge
   exists. */
static void offer(struct word *word, const rapt_tokenizer *tokenizer, int position)
{
    int behind = word->next[position];
    if (behind == word->size) return;
    int32_t merge = rapt__tokenizer_merge(tokenizer, word->id[position], word->id[behind]);
    if (merge >= 0) push_merge(word, (uint32_t)merge << POSITION_BITS | (uint32_t)position);
}

/* Applies a candidate, unless an earlier merge has consumed one of its tokens. */
static void join_tokens(struct word *word, const rapt_tokenizer *tokenizer, uint32_t item)
{
    int position = (int)(item & ((1u << POSITION_BITS) - 1)), behind = word->next[position];
    int32_t merge = (int32_t)(item >> POSITION_BITS);
    if (word->id[position] != tokenizer->left[merge] || behind == word->size ||
        word->id[behind] != tokenizer->right[merge])
        return;
    word->id[position] = RAPT__TOKEN_MERGES + merge;
    word->id[behind] = -1;
    word->next[position] = word->next[behind];
    if (word->next[position] < word->size) word->previous[word->next[position]] = (int16_t)position;
    if (word->previous[position] >= 0) offer(word, tokenizer, word->previous[position]);
    offer(word, tokenizer, position);
}

static void encode_word(struct word *word, const rapt_tokenizer *tokenizer, const char *bytes,
                        size_t size)
{
    word->size = (int)size;
    word->candidates = 0;
    for (int i = 0; i < word->size; i++) {
        word->id[i] = RAPT__TOKEN_BYTES + (unsigned char)bytes[i];
        word->next[i] = (int16_t)(i + 1);
        word->previous[i] = (int16_t)(i - 1);
    }
    for (int i = 0; i < word->size; i++) offer(word, tokenizer, i);
    while (word->candidates > 0) join_tokens(word, tokenizer, pop(word));
}

rapt_status rapt__pairs_encode(const rapt_tokenizer *tokenizer, rapt_text text, int32_t *ids,
                               size_t *ends, size_t capacity, size_t *count, rapt_message *why)
{
    struct word word;
    size_t tokens = 0;
    for (size_t at = 0, end; at < text.size; at = end) {
        end = rapt__word_end(text.bytes, text.size, at);
        encode_word(&word, tokenizer, text.bytes + at, end - at);
        for (int position = 0; position < word.size; position = word.next[position], tokens++) {
            if (tokens >= capacity) continue;
            ids[tokens] = word.id[position];
            if (ends) ends[tokens] = at + (size_t)word.next[position];
        }
    }
    *count = tokens;
    if (tokens <= capacity) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "capacity is %zu, but the text has %zu tokens",
                      capacity, tokens);
}

rapt_status rapt__pairs_decode(const rapt_tokenizer *tokenizer, const int32_t *ids, size_t count,
                               char *bytes, size_t capacity, size_t *size, rapt_message *why)
{
    size_t needed = 0;
    for (size_t i = 0; i < count; i++) {
        rapt_text token = rapt_tokenizer_token(tokenizer, ids[i]);
        size_t part = rapt__min_size(token.size, needed < capacity ? capacity - needed : 0);
        if (part) memcpy(bytes + needed, token.bytes, part);
        needed += token.size;
    }
    *size = needed;
    if (needed <= capacity) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "capacity is %zu, but the tokens have %zu bytes",
                      capacity, needed);
}
