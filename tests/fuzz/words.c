/* words.c - lists of words: shortlists and glossaries. */
#include "fuzz.h"
#include "text/plain_glossary.h"

#include <rapt/shortlist.h>

/* ---- shortlist: any bytes as a lexical shortlist. The first byte of the input says whether the
   rest is a text or the body of a binary file, to which a header with the right checksum is added.
   The file must be refused with a reason or give ascending tokens of the vocabulary for every
   source token. ---- */

static uint64_t number(const uint8_t *bytes)
{
    uint64_t x = 0;
    for (int i = 8; i-- > 0;) x = x << 8 | bytes[i];
    return x;
}

static void put(uint8_t *bytes, uint64_t x)
{
    for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(x >> 8 * i);
}

/* Fills in the magic number and checksum of bytes[16 + size]. */
static void seal(uint8_t *bytes, size_t size)
{
    uint64_t sum = 0;
    for (size_t at = 16; at + 8 <= 16 + size; at += 8)
        sum ^= number(bytes + at) + 0x9e3779b9u + (sum << 6) + (sum >> 2);
    put(bytes, 0xF11A48D5013417F5u);
    put(bytes + 8, sum);
}

static void check_shortlist(const rapt_shortlist *l)
{
    for (int32_t source = 0; source < rapt_shortlist_source_vocab(l); source++) {
        int32_t tokens[16];
        int count = -1;
        rapt_status status = rapt_shortlist_tokens(l, &source, 1, tokens, 16, &count, NULL);
        require(status == RAPT_OK || status == RAPT_NO_MEMORY, "tokens");
        for (int i = 0; status == RAPT_OK && i < count; i++)
            require(tokens[i] >= (i ? tokens[i - 1] + 1 : 0) &&
                        tokens[i] < rapt_shortlist_target_vocab(l),
                    "ascending tokens");
    }
}

int fuzz_shortlist(const uint8_t *bytes, size_t size)
{
    static const rapt_text names[] = {{"</s>", 4}, {"<unk>", 5}, {"a", 1}, {"b", 1},
                                      {"c", 1},    {"d", 1},     {"e", 1}, {"f", 1},
                                      {"g", 1},    {"h", 1},     {"i", 1}};
    if (size < 1 || size > 1 << 12) return 0;
    size_t extra = bytes[0] & 1 ? 16 : 0;
    uint8_t *exact = malloc(size - 1 + extra + 1);
    rapt_tokenizer *source = NULL, *target = NULL;
    rapt_shortlist *l = NULL;
    rapt_message why = {""};
    require(exact != NULL, "memory for the test itself");
    memcpy(exact + extra, bytes + 1, size - 1);
    if (extra) seal(exact, size - 1);
    require(rapt_tokenizer_create_list(&source, names, 5, NULL, NULL, NULL) == RAPT_OK, "names");
    require(rapt_tokenizer_create_list(&target, names, 11, NULL, NULL, NULL) == RAPT_OK, "names");
    struct counted counted = counted_by(input_hash(bytes, size), 8);
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_status status = rapt_shortlist_load_memory(
        &l, exact, size - 1 + extra, bytes[0] & 2 ? target : source, target, &allocator, &why);
    free(exact); /* the shortlist has its own copy */
    require((status == RAPT_OK) == (l != NULL), "a shortlist, or a status");
    require(status != RAPT_NO_MEMORY || may_lack_memory(&counted), "there was memory");
    require(status == RAPT_OK || status == RAPT_NO_MEMORY ||
                (status == RAPT_BAD_FILE && why.text[0]),
            "status, and a reason");
    require(counted.max <= 64 * size + 4096, "memory in proportion to the file");
    if (l) check_shortlist(l);
    rapt_shortlist_free(l);
    require(counted.now == 0, "all memory is given back");
    rapt_tokenizer_free(source);
    rapt_tokenizer_free(target);
    return 0;
}

/* ---- glossary: any bytes as a glossary and a sentence, which is what follows the first empty
   line. The glossary is refused with the number of a line, or finds in the sentence what its
   definition says. ---- */

/* Returns the offset of the sentence. */
static size_t sentence_at(const uint8_t *bytes, size_t size)
{
    size_t at = 0;
    while (at + 1 < size && !(bytes[at] == '\n' && bytes[at + 1] == '\n')) at++;
    return at + 1 < size ? at + 2 : size;
}

static void check_glossary(const rapt_glossary *g, rapt_text sentence)
{
    struct glossary_match match;
    size_t begin, end, entry;
    for (size_t at = 0;; at = match.end) {
        const bool found = rapt__glossary_next(g, sentence, at, &match);
        require(found == plain_next(g, sentence, at, &begin, &end, &entry), "a match");
        if (!found) return;
        require(match.begin == begin && match.end == end && match.end > at, "its place");
        require(match.entry == &g->entries[entry], "its entry");
    }
}

int fuzz_glossary(const uint8_t *bytes, size_t size)
{
    if (size > 1 << 12) return 0;
    const size_t at = sentence_at(bytes, size);
    char *glossary = malloc(at + 1), *sentence = malloc(size - at + 1);
    rapt_glossary *g = NULL;
    rapt_message why = {""};
    require(glossary && sentence, "memory for the test itself");
    memcpy(glossary, bytes, at);
    memcpy(sentence, bytes + at, size - at);
    struct counted counted = counted_by(input_hash(bytes, size), 8);
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_status status = rapt_glossary_create(&g, (rapt_text){glossary, at}, &allocator, &why);
    free(glossary); /* the glossary has its own copy */
    require((status == RAPT_OK) == (g != NULL), "a glossary, or a status");
    require(status != RAPT_NO_MEMORY || may_lack_memory(&counted), "there was memory");
    require(status == RAPT_OK || status == RAPT_NO_MEMORY ||
                (status == RAPT_BAD_FILE && strncmp(why.text, "line ", 5) == 0),
            "a status, and a line");
    require(counted.max <= 256 * size + 8192, "memory in proportion to the text");
    if (g && rapt_utf8_valid((rapt_text){sentence, size - at}) == size - at)
        check_glossary(g, (rapt_text){sentence, size - at});
    rapt_glossary_free(g);
    require(counted.now == 0, "all memory is given back");
    free(sentence);
    return 0;
}
