/* encode.c - byte-pair encoding and decoding (Sennrich, Haddow and Birch 2016, section 3.2).

   At first, the tokens of a word are its bytes. While two adjacent tokens have a merge, the merge
   that was learned first is applied, at its leftmost position first. A heap of (merge, position)
   holds the candidates. Each merge adds at most two of them, so a word of n bytes takes O(n log n)
   steps, and its state fits on the stack. */
#include "text/text.h"
#include <string.h>

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

/* Adds the merge of the token at this position with the next token, if such a merge exists. */
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
