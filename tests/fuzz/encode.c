/* encode.c - encodes and decodes any bytes, or Unicode characters chosen by the input, with merges
   chosen by the input. The result is compared with the definition (Sennrich, Haddow and Birch
   2016): in each word the earliest merge is applied, leftmost first, until none applies. */
#include "fuzz.h"
#include "text/text.h"

enum { MERGES = 40, BYTES = 600 };

struct merges {
    int count;
    int32_t left[MERGES], right[MERGES];
};

/* Chooses merges of the letters of a small alphabet and of the resulting tokens. */
static struct merges take_merges(struct feed *in)
{
    struct merges m = {0};
    int wanted = take_below(in, MERGES + 1);
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
    while (in->left && size + 4 < BYTES) {
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
    int32_t ids[BYTES], wanted[BYTES];
    size_t ends[BYTES], count = 0, expected = 0, back = 0;
    char decoded[BYTES];
    rapt_text all = {text, size};
    for (size_t at = 0, end; at < size; at = end) {
        end = rapt__word_end(text, size, at);
        require(end > at && end <= size && end - at <= RAPT__WORD_MAX, "where a word ends");
        expected += encode_word(m, text + at, end - at, wanted + expected);
    }
    require(rapt_tokenizer_encode(t, all, ids, ends, BYTES, &count, NULL) == RAPT_OK, "encoding");
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    char text[BYTES];
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
