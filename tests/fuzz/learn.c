/* learn.c - compares merges learned from texts chosen by the input with algorithm 1 of Sennrich,
   Haddow and Birch 2016 in plain loops: in each step the most frequent pair of adjacent tokens
   becomes a token everywhere. Of equally frequent pairs the one with the lower ids is merged. */
#include "fuzz.h"
#include "text/text.h"

enum { BYTES = 240, TEXTS = 6, MERGES = 24 };

struct corpus {
    char bytes[BYTES];
    rapt_text texts[TEXTS];
    size_t count;
};

static void take_corpus(struct feed *in, struct corpus *c)
{
    bool any = take_byte(in) % 8 == 0; /* any bytes, or a few letters that repeat */
    size_t begin = 0, size = 0;
    c->count = 0;
    while (in->left && size < BYTES && c->count < TEXTS) {
        uint8_t byte = take_byte(in);
        bool ends = byte % 32 == 31;
        if (!ends) c->bytes[size++] = any ? (char)byte : "abcab  1."[byte % 9];
        if (!ends && in->left && size < BYTES) continue;
        c->texts[c->count++] = (rapt_text){c->bytes + begin, size - begin};
        begin = size;
    }
}

/* Writes the words as tokens, each followed by -1. */
static size_t spell(const struct corpus *c, int32_t *tokens)
{
    size_t n = 0;
    for (size_t i = 0; i < c->count; i++) {
        rapt_text t = c->texts[i];
        for (size_t at = 0; at < t.size;) {
            size_t end = rapt__word_end(t.bytes, t.size, at);
            for (; at < end; at++) tokens[n++] = RAPT__TOKEN_BYTES + (unsigned char)t.bytes[at];
            tokens[n++] = -1;
        }
    }
    return n;
}

static int occurrences(const int32_t *tokens, size_t n, int32_t left, int32_t right)
{
    int count = 0;
    for (size_t i = 0; i + 1 < n; i++) count += tokens[i] == left && tokens[i + 1] == right;
    return count;
}

/* Finds the pair to merge. Returns false if no pair occurs twice. */
static bool best_pair(const int32_t *tokens, size_t n, int32_t *left, int32_t *right)
{
    int best = 1;
    for (size_t i = 0; i + 1 < n; i++) {
        if (tokens[i] < 0 || tokens[i + 1] < 0) continue;
        int count = occurrences(tokens, n, tokens[i], tokens[i + 1]);
        bool lower = tokens[i] < *left || (tokens[i] == *left && tokens[i + 1] < *right);
        if (count < best || (count == best && (best < 2 || !lower))) continue;
        best = count, *left = tokens[i], *right = tokens[i + 1];
    }
    return best > 1;
}

static size_t merge(int32_t *tokens, size_t n, int32_t left, int32_t right, int32_t made)
{
    size_t put = 0;
    for (size_t i = 0; i < n; i++) {
        bool here = i + 1 < n && tokens[i] == left && tokens[i + 1] == right;
        tokens[put++] = here ? made : tokens[i];
        i += here;
    }
    return put;
}

static void check_order(const struct corpus *c, const rapt_tokenizer *t, int vocab)
{
    rapt_text turned[TEXTS];
    rapt_tokenizer *other = NULL;
    for (size_t i = 0; i < c->count; i++) turned[i] = c->texts[c->count - 1 - i];
    require(rapt_tokenizer_learn(&other, turned, c->count, vocab, NULL, NULL) == RAPT_OK,
            "texts in another order");
    size_t merges = (size_t)t->merges * sizeof *t->left;
    require(!merges || memcmp(t->left, other->left, merges) == 0, "left tokens in another order");
    require(!merges || memcmp(t->right, other->right, merges) == 0, "right tokens likewise");
    rapt_tokenizer_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    struct corpus corpus;
    int32_t tokens[2 * BYTES], left[MERGES + 1] = {0}, right[MERGES + 1] = {0};
    int wanted = take_below(&in, MERGES + 1), found = 0;
    take_corpus(&in, &corpus);
    size_t n = spell(&corpus, tokens);
    for (; found < wanted && best_pair(tokens, n, &left[found], &right[found]); found++)
        n = merge(tokens, n, left[found], right[found], RAPT__TOKEN_MERGES + found);

    struct counted counted = counted_by(input_hash(bytes, size), 16);
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    int vocab = RAPT__TOKEN_MERGES + wanted;
    rapt_status status =
        rapt_tokenizer_learn(&t, corpus.texts, corpus.count, vocab, &allocator, &why);
    require((status == RAPT_OK) == (t != NULL), "a tokenizer, or a status");
    require(status != RAPT_OK || found == wanted, "not more merges than there are");
    require(status != RAPT_BAD_ARGUMENT || found < wanted, "as many merges as there are");
    require(status != RAPT_NO_MEMORY || may_lack_memory(&counted), "there was memory");
    for (int m = 0; t && m < found; m++)
        require(t->left[m] == left[m] && t->right[m] == right[m], "the merges of the definition");
    if (t) check_order(&corpus, t, vocab);
    rapt_tokenizer_free(t);
    require(counted.now == 0, "all memory is given back");
    return 0;
}
