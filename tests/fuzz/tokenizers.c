/* tokenizers.c - tokenizers of merges: their text, learning and encoding. */
#include "fuzz.h"
#include "text/text.h"

/* ---- tokenizer: the text of a tokenizer: any bytes, after their correct checksum if the first
   byte says so, or numbers chosen by the input. It must be refused with a reason or be written as
   the same text, and decoding must invert encoding. ---- */

enum { TEXT = 1 << 13 };

static size_t put_number(char *text, size_t at, uint32_t number)
{
    return at + 16 < TEXT ? at + (size_t)snprintf(text + at, TEXT - at, "%u ", (unsigned)number)
                          : at;
}

/* Writes merges of tokens that already exist and, now and then, of any tokens. */
static size_t merges_tokenizer(struct feed *in, char *text, size_t at)
{
    uint32_t count = take_byte(in), claimed = take_flag(in) ? take_byte(in) : count;
    at = put_number(text, at, claimed);
    for (uint32_t m = 0; m < 2 * count; m++) {
        uint32_t token = take_byte(in), behind = 259 + m / 2;
        if (token >= 128) token = behind - 1 - (token - 128) % (m / 2 + 1);
        if (token == 127) token = take_u32(in) >> take_below(in, 32);
        at = put_number(text, at, token);
    }
    return at;
}

static size_t make_text(struct feed *in, char *text)
{
    int mode = take_below(in, 4);
    size_t at = 0;
    if (mode != 0) at = (size_t)snprintf(text, TEXT, "rapt-bpe 1 ");
    if (mode == 1) {
        at = merges_tokenizer(in, text, at);
    } else {
        size_t count = in->left < TEXT - 64 ? in->left : TEXT - 64;
        if (count) memcpy(text + at, in->at, count);
        at += count;
    }
    if (mode != 0 || take_flag(in))
        at += (size_t)snprintf(text + at, TEXT - at, "#%08lx", (unsigned long)rapt__hash(text, at));
    return at;
}

static void check_laws(const rapt_tokenizer *tokenizer, const char *text, size_t size)
{
    char *again = malloc(size + 1);
    int32_t ids[256];
    size_t needed = 0, count = 0, back = 0;
    require(again != NULL, "memory for the test itself");
    require(rapt_tokenizer_write(tokenizer, again, size, &needed, NULL) == RAPT_BAD_ARGUMENT,
            "too small by one byte");
    require(needed == size + 1, "the size it needs");
    require(rapt_tokenizer_write(tokenizer, again, needed, &needed, NULL) == RAPT_OK, "writing");
    require(memcmp(again, text, size) == 0 && again[size] == 0, "the same text again");
    size_t part = size < 256 ? size : 256;
    require(rapt_tokenizer_encode(tokenizer, (rapt_text){text, part}, ids, NULL, 256, &count,
                                  NULL) == RAPT_OK,
            "encoding");
    require(count <= part, "at most one token a byte");
    require(rapt_tokenizer_decode(tokenizer, ids, count, again, part, &back, NULL) == RAPT_OK,
            "decoding");
    require(back == part && memcmp(again, text, part) == 0, "the same bytes");
    free(again);
}

int fuzz_tokenizer(const uint8_t *bytes, size_t size)
{
    static char text[TEXT];
    struct feed in = {bytes, size};
    if (size > 1 << 12) return 0;
    struct counted counted = counted_by(input_hash(bytes, size), 6);
    const rapt_allocator allocator = counted_allocator(&counted);
    size_t length = make_text(&in, text);
    char *exact = exact_copy(text, length);
    rapt_tokenizer *tokenizer = NULL;
    rapt_message why = {""};
    rapt_status status = rapt_tokenizer_create(&tokenizer, exact, length, &allocator, &why);
    require((status == RAPT_OK) == (tokenizer != NULL), "a tokenizer, or a status");
    require(status == RAPT_OK || why.text[0], "a reason");
    require(status != RAPT_OK || why.text[0] == 0, "no reason on success");
    require(status == RAPT_OK || status == RAPT_BAD_FILE || may_lack_memory(&counted), "status");
    require(counted.max <= 64 * length + 16384, "memory in proportion to the text");
    if (tokenizer) check_laws(tokenizer, exact, length);
    rapt_tokenizer_free(tokenizer);
    require(counted.now == 0, "all memory is given back");
    free(exact);
    return 0;
}

/* ---- learn: compares merges learned from texts chosen by the input with algorithm 1 of Sennrich,
   Haddow and Birch 2016 in plain loops: in each step the most frequent pair of adjacent tokens
   becomes a token everywhere. Of equally frequent pairs the one with the lower ids is merged. ----
   */

enum { LEARN_BYTES = 240, TEXTS = 6, LEARN_MERGES = 24 };

struct corpus {
    char bytes[LEARN_BYTES];
    rapt_text texts[TEXTS];
    size_t count;
};

static void take_corpus(struct feed *in, struct corpus *c)
{
    bool any = take_byte(in) % 8 == 0; /* any bytes, or a few letters that repeat */
    size_t begin = 0, size = 0;
    c->count = 0;
    while (in->left && size < LEARN_BYTES && c->count < TEXTS) {
        uint8_t byte = take_byte(in);
        bool ends = byte % 32 == 31;
        if (!ends) c->bytes[size++] = any ? (char)byte : "abcab  1."[byte % 9];
        if (!ends && in->left && size < LEARN_BYTES) continue;
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

int fuzz_learn(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    struct corpus corpus;
    int32_t tokens[2 * LEARN_BYTES], left[LEARN_MERGES + 1] = {0}, right[LEARN_MERGES + 1] = {0};
    int wanted = take_below(&in, LEARN_MERGES + 1), found = 0;
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

/* ---- encode: encodes and decodes any bytes, or Unicode characters chosen by the input, with
   merges chosen by the input. The result is compared with the definition (Sennrich, Haddow and
   Birch 2016): in each word the earliest merge is applied, leftmost first, until none applies. ----
   */

enum { ENCODE_MERGES = 40, ENCODE_BYTES = 600 };

struct merges {
    int count;
    int32_t left[ENCODE_MERGES], right[ENCODE_MERGES];
};

/* Chooses merges of the letters of a small alphabet and of the resulting tokens. */
static struct merges take_merges(struct feed *in)
{
    struct merges m = {0};
    int wanted = take_below(in, ENCODE_MERGES + 1);
    for (int i = 0; i < wanted; i++) {
        int32_t pair[2];
        for (int k = 0; k < 2; k++) {
            int token = take_byte(in);
            unsigned char letter = (unsigned char)"abcdeaboe \xC3\xA4-1"[token % 14];
            pair[k] = token < 128 || m.count == 0 ? RAPT__TOKEN_BYTES + letter
                                                  : RAPT__TOKEN_MERGES + token % m.count;
        }
        bool known = false;
        for (int k = 0; k < m.count; k++)
            known = known || (m.left[k] == pair[0] && m.right[k] == pair[1]);
        if (known) continue;
        m.left[m.count] = pair[0], m.right[m.count++] = pair[1];
    }
    return m;
}

static size_t take_text(struct feed *in, char *text)
{
    static const uint32_t special[] = {0x20,    0x2014, 0x2019, 0xE4,   0x3B1,  0x4E00,
                                       0x1F600, 0x30,   0x300,  0x200B, 0xFFFD, 0x10FFFF};
    int mode = take_below(in, 3);
    size_t size = 0;
    while (in->left && size + 4 < ENCODE_BYTES) {
        uint8_t byte = take_byte(in);
        if (mode == 0)
            text[size++] = (char)byte;
        else if (mode == 1 || byte < 200)
            text[size++] = "abcdeaboe a1-"[byte % 13];
        else if (byte < 240)
            size += rapt__utf8_encode(special[byte % 12], text + size);
        else
            size += rapt__utf8_encode(0x80 + take_u32(in) % 0xD000, text + size);
    }
    return size;
}

/* Encodes one word by the definition. Returns the number of tokens. */
static size_t encode_word(const struct merges *m, const char *bytes, size_t size, int32_t *ids)
{
    for (size_t i = 0; i < size; i++) ids[i] = RAPT__TOKEN_BYTES + (unsigned char)bytes[i];
    for (;;) {
        int best = m->count;
        size_t where = 0;
        for (size_t i = 0; i + 1 < size; i++)
            for (int k = 0; k < best; k++)
                if (ids[i] == m->left[k] && ids[i + 1] == m->right[k]) best = k, where = i;
        if (best == m->count) return size;
        ids[where] = RAPT__TOKEN_MERGES + best;
        memmove(ids + where + 1, ids + where + 2, (size - where - 2) * sizeof *ids);
        size--;
    }
}

static void check_ends(const rapt_tokenizer *t, const int32_t *ids, const size_t *ends,
                       size_t count, size_t size)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        at += rapt_tokenizer_token(t, ids[i]).size;
        require(ends[i] == at, "where a token ends");
    }
    require(at == size, "all of the text");
}

static void check(const rapt_tokenizer *t, const struct merges *m, const char *text, size_t size)
{
    int32_t ids[ENCODE_BYTES], wanted[ENCODE_BYTES];
    size_t ends[ENCODE_BYTES], count = 0, expected = 0, back = 0;
    char decoded[ENCODE_BYTES];
    rapt_text all = {text, size};
    for (size_t at = 0, end; at < size; at = end) {
        end = rapt__word_end(text, size, at);
        require(end > at && end <= size && end - at <= RAPT__WORD_MAX, "where a word ends");
        expected += encode_word(m, text + at, end - at, wanted + expected);
    }
    require(rapt_tokenizer_encode(t, all, ids, ends, ENCODE_BYTES, &count, NULL) == RAPT_OK,
            "encoding");
    require(count == expected && (!count || memcmp(ids, wanted, count * sizeof *ids) == 0),
            "the tokens of the definition");
    check_ends(t, ids, ends, count, size);
    require(rapt_tokenizer_decode(t, ids, count, decoded, size, &back, NULL) == RAPT_OK,
            "decoding");
    require(back == size && (!size || memcmp(decoded, text, size) == 0), "the same bytes");
    if (count < 2) return;
    ids[count - 1] = -7;
    require(rapt_tokenizer_encode(t, all, ids, NULL, count - 1, &back, NULL) == RAPT_BAD_ARGUMENT,
            "too little space is refused");
    require(back == count && ids[count - 1] == -7, "and not written beyond");
}

int fuzz_encode(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    char text[ENCODE_BYTES];
    struct merges m = take_merges(&in);
    rapt_tokenizer *t = NULL;
    rapt_status status = rapt__tokenizer_build(&t, m.left, m.right, m.count, NULL, NULL);
    size_t length = take_text(&in, text);
    char *exact = exact_copy(text, length);
    if (status == RAPT_OK) check(t, &m, exact, length);
    require(status == RAPT_OK || status == RAPT_BAD_FILE, "a tokenizer, or a token too long");
    rapt_tokenizer_free(t);
    free(exact);
    return 0;
}
