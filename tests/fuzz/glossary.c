/* glossary.c - any bytes as a glossary and a sentence, which is what follows the first empty line.
   The glossary is refused with the number of a line, or finds in the sentence what its definition
   says. */
#include "fuzz.h"
#include "text/plain_glossary.h"

/* Returns the offset of the sentence. */
static size_t sentence_at(const uint8_t *bytes, size_t size)
{
    size_t at = 0;
    while (at + 1 < size && !(bytes[at] == '\n' && bytes[at + 1] == '\n')) at++;
    return at + 1 < size ? at + 2 : size;
}

static void check(const rapt_glossary *g, rapt_text sentence)
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
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
        check(g, (rapt_text){sentence, size - at});
    rapt_glossary_free(g);
    require(counted.now == 0, "all memory is given back");
    free(sentence);
    return 0;
}
