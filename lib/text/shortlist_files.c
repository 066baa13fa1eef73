/* shortlist_files.c - reads shortlists in two formats, and writes the binary one. Sources:
   marian-dev 1.12, src/data/shortlist.h, src/data/shortlist.cpp, src/common/hash.h.

   Binary:

       u64 magic, checksum, first, best, number of starts = source tokens + 1, number of tokens
       starts as u64, non-decreasing; target tokens as u32

   All numbers are little-endian. The checksum covers the complete u64 words that follow it, so if
   the number of tokens is odd, it does not cover the last token.

   Text: lines "target source probability", which are read as Marian reads them. Lines with the word
   NULL are skipped. A word that is not in the vocabulary counts as the unknown token. If several
   lines have the same tokens, only the last one is used. */
#include "text/shortlist.h"

#include <rapt/file.h>
#include <string.h>

/* ---- binary ---- */

/* Offsets, in bytes, of the starts and of the data that the checksum covers. */
enum { HEAD = 48, COVERED = 16 };
static const uint64_t magic = 0xF11A48D5013417F5;

static uint64_t number(const unsigned char *bytes, int size)
{
    uint64_t x = 0;
    for (int i = size; i-- > 0;) x = x << 8 | bytes[i];
    return x;
}

static void put_little_endian(unsigned char *bytes, uint64_t x, int size)
{
    for (int i = 0; i < size; i++) bytes[i] = (unsigned char)(x >> 8 * i);
}

static uint64_t checksum(const unsigned char *bytes, size_t size)
{
    uint64_t sum = 0;
    for (size_t at = COVERED; at + 8 <= size; at += 8)
        sum ^= number(bytes + at, 8) + 0x9e3779b9u + (sum << 6) + (sum >> 2);
    return sum;
}

bool rapt__shortlist_is_binary(const void *bytes, size_t size)
{
    return size >= 8 && number(bytes, 8) == magic;
}

static rapt_status check_head(const unsigned char *bytes, size_t size, int source_vocab,
                              rapt_message *why)
{
    if (size < HEAD)
        return rapt__fail(why, RAPT_BAD_FILE, "the shortlist ends after %zu bytes", size);
    uint64_t starts = number(bytes + 32, 8), tokens = number(bytes + 40, 8), left = size - HEAD;
    if (starts > left / 8 || tokens > left / 4 || starts * 8 + tokens * 4 != left)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "the shortlist's size does not match its %llu starts and %llu tokens",
                          (unsigned long long)starts, (unsigned long long)tokens);
    if (checksum(bytes, size) != number(bytes + 8, 8))
        return rapt__fail(why, RAPT_BAD_FILE, "the shortlist's checksum is wrong");
    if (starts != (uint64_t)source_vocab + 1)
        return rapt__fail(why, RAPT_BAD_FILE, "the shortlist is for %llu source tokens, not for %d",
                          (unsigned long long)starts - (starts > 0), source_vocab);
    return RAPT_OK;
}

static rapt_status take_starts(rapt_shortlist *s, const unsigned char *at, rapt_message *why)
{
    for (int i = 0; i <= s->source_vocab; i++, at += 8) {
        s->starts[i] = number(at, 8);
        if (s->starts[i] > s->count || (i && s->starts[i] < s->starts[i - 1]))
            return rapt__fail(why, RAPT_BAD_FILE,
                              "start %d is %llu, which is out of order or too large", i,
                              (unsigned long long)s->starts[i]);
    }
    return RAPT_OK;
}

static rapt_status take_lists(rapt_shortlist *s, const unsigned char *at, rapt_message *why)
{
    for (size_t i = 0; i < s->count; i++, at += 4) {
        uint64_t token = number(at, 4);
        if (token >= (uint64_t)s->target_vocab)
            return rapt__fail(why, RAPT_BAD_FILE, "token %zu is %llu; the vocabulary has %d tokens",
                              i, (unsigned long long)token, s->target_vocab);
        s->lists[i] = (int32_t)token;
    }
    return RAPT_OK;
}

rapt_status rapt__shortlist_read(rapt_shortlist **shortlist, const unsigned char *bytes,
                                 size_t size, const rapt_tokenizer *source,
                                 const rapt_tokenizer *target, const rapt_allocator *allocator,
                                 rapt_message *why)
{
    rapt_shortlist *s = NULL;
    rapt_status status = check_head(bytes, size, rapt_tokenizer_vocab(source), why);
    if (status) return status;
    status =
        rapt__shortlist_make(&s, source, target, (size_t)number(bytes + 40, 8), allocator, why);
    if (status) return status;
    s->first = number(bytes + 16, 8), s->best = number(bytes + 24, 8);
    status = take_starts(s, bytes + HEAD, why);
    if (!status) status = take_lists(s, bytes + HEAD + 8 * ((size_t)s->source_vocab + 1), why);
    if (status)
        rapt_shortlist_free(s);
    else
        *shortlist = s;
    return status;
}

static void write_bytes(const rapt_shortlist *s, unsigned char *bytes, size_t size)
{
    unsigned char *at = bytes + HEAD;
    put_little_endian(bytes, magic, 8);
    put_little_endian(bytes + 16, s->first, 8);
    put_little_endian(bytes + 24, s->best, 8);
    put_little_endian(bytes + 32, (uint64_t)s->source_vocab + 1, 8);
    put_little_endian(bytes + 40, s->count, 8);
    for (int i = 0; i <= s->source_vocab; i++, at += 8) put_little_endian(at, s->starts[i], 8);
    for (size_t i = 0; i < s->count; i++, at += 4) put_little_endian(at, (uint64_t)s->lists[i], 4);
    put_little_endian(bytes + 8, checksum(bytes, size), 8);
}

rapt_status rapt_shortlist_write(const rapt_shortlist *s, const char *path, rapt_message *why)
{
    if (!s || !path)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", s ? "path" : "shortlist");
    size_t size = HEAD + 8 * ((size_t)s->source_vocab + 1) + 4 * s->count;
    unsigned char *bytes = rapt__alloc(&s->allocator, size);
    if (!bytes) return rapt__fail(why, RAPT_NO_MEMORY, "not enough memory to write %.200s", path);
    write_bytes(s, bytes, size);
    rapt_status status = rapt_file_write(path, bytes, size, why);
    rapt__free(&s->allocator, bytes, size);
    return status;
}

/* ---- text ---- */

enum { FIRST = 100, BEST = 100 };           /* Marian's defaults */
static const float PROBABILITY_MAX = 1.01f; /* allows for rounding */

struct lexicon { /* the state of the reader */
    const rapt_tokenizer *source, *target;
    const char *at, *end;
    size_t line;
    bool useful;              /* some line has two known words and a probability above 0 */
    rapt_lexical_pair *pairs; /* [capacity] */
    size_t count, capacity;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Returns the next word of a line, which is empty at the end of the line. */
static rapt_text next_word(struct lexicon *l)
{
    while (l->at < l->end && is_space(*l->at)) l->at++;
    const char *begin = l->at;
    while (l->at < l->end && *l->at != '\n' && !is_space(*l->at)) l->at++;
    return (rapt_text){begin, (size_t)(l->at - begin)};
}

/* Returns true if a name is "NULL", which takes the place of a missing counterpart. */
static bool is_null(rapt_text name)
{
    return name.size == 4 && memcmp(name.bytes, "NULL", 4) == 0;
}

static bool read_probability(rapt_text text, float *x)
{
    char copy[64];
    if (text.size == 0 || text.size >= sizeof copy) return false;
    memcpy(copy, text.bytes, text.size);
    copy[text.size] = 0;
    return rapt__float_read(copy, x);
}

/* Returns the token with this name, the unknown token if no token has this name, or -1 if the
   vocabulary contains neither. */
static int32_t token_of(const rapt_tokenizer *t, rapt_text name, bool *known)
{
    int32_t token = rapt_tokenizer_find(t, name);
    *known = token >= 0;
    return *known ? token : rapt_tokenizer_special(t, RAPT_TOKEN_UNKNOWN);
}

/* Reads one line. Sets *usable to true if the line contains a pair of tokens, otherwise to
   false. */
static rapt_status read_line(struct lexicon *l, rapt_lexical_pair *pair, bool *usable,
                             rapt_message *why)
{
    rapt_text target = next_word(l), source = next_word(l), share = next_word(l),
              rest = next_word(l);
    bool known[2];
    *usable = false;
    l->line++;
    if (target.size == 0) return RAPT_OK;
    if (rest.size || !read_probability(share, &pair->probability))
        return rapt__fail(why, RAPT_BAD_FILE,
                          "line %zu is not \"target source probability\" (and the file is not "
                          "a binary shortlist)",
                          l->line);
    if (!(pair->probability >= 0 && pair->probability <= PROBABILITY_MAX))
        return rapt__fail(why, RAPT_BAD_FILE,
                          "line %zu: the probability %.*s is not between 0 and 1", l->line,
                          (int)share.size, share.bytes);
    if (is_null(source) || is_null(target)) return RAPT_OK;
    pair->source = token_of(l->source, source, &known[0]);
    pair->target = token_of(l->target, target, &known[1]);
    *usable = pair->source >= 0 && pair->target >= 0;
    l->useful |= known[0] && known[1] && pair->probability > 0;
    return RAPT_OK;
}

static rapt_status add_lexical_pair(struct lexicon *l, const rapt_lexical_pair *pair,
                                    const rapt_allocator *allocator, rapt_message *why)
{
    if (l->count == l->capacity) {
        rapt_lexical_pair *more = rapt__grown(allocator, l->pairs, &l->capacity, sizeof *l->pairs);
        if (!more) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for the pairs");
        l->pairs = more;
    }
    l->pairs[l->count++] = *pair;
    return RAPT_OK;
}

static rapt_status read_lines(struct lexicon *l, const rapt_allocator *allocator, rapt_message *why)
{
    rapt_status status = RAPT_OK;
    while (!status && l->at < l->end) {
        rapt_lexical_pair pair;
        bool usable;
        status = read_line(l, &pair, &usable, why);
        if (!status && usable) status = add_lexical_pair(l, &pair, allocator, why);
        if (l->at < l->end) l->at++; /* skips the line feed */
    }
    if (status || l->useful) return status;
    return rapt__fail(why, RAPT_BAD_FILE,
                      "no line has a token from each vocabulary and a probability above 0");
}

static int by_pair_and_line(const void *context, const void *x, const void *y)
{
    size_t i = *(const size_t *)x, j = *(const size_t *)y;
    const rapt_lexical_pair *a = (const rapt_lexical_pair *)context + i,
                            *b = (const rapt_lexical_pair *)context + j;
    if (a->source != b->source) return a->source < b->source ? -1 : 1;
    if (a->target != b->target) return a->target < b->target ? -1 : 1;
    return (i > j) - (i < j);
}

/* Sets the probability of a pair to 0 if a later line has the same tokens. */
static rapt_status keep_last(struct lexicon *l, const rapt_allocator *allocator, rapt_message *why)
{
    size_t *order = rapt__alloc(allocator, l->count * sizeof *order);
    if (!order) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for the pairs");
    for (size_t i = 0; i < l->count; i++) order[i] = i;
    rapt__sort(order, l->count, sizeof *order, by_pair_and_line, l->pairs);
    for (size_t i = 1; i < l->count; i++) {
        rapt_lexical_pair *a = &l->pairs[order[i - 1]], *b = &l->pairs[order[i]];
        if (a->source == b->source && a->target == b->target) a->probability = 0;
    }
    rapt__free(allocator, order, l->count * sizeof *order);
    return RAPT_OK;
}

rapt_status rapt__shortlist_parse(rapt_shortlist **shortlist, const char *text, size_t size,
                                  const rapt_tokenizer *source, const rapt_tokenizer *target,
                                  const rapt_allocator *allocator, rapt_message *why)
{
    struct lexicon l = {.source = source, .target = target, .at = text, .end = text + size};
    rapt_status status = read_lines(&l, allocator, why);
    if (!status) status = keep_last(&l, allocator, why);
    if (!status)
        status = rapt_shortlist_create(shortlist, l.pairs, l.count, FIRST, BEST, source, target,
                                       allocator, why);
    rapt__free(allocator, l.pairs, l.capacity * sizeof *l.pairs);
    return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
}
