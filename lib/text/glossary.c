/* glossary.c - finds the entries of a glossary in a sentence. The forms of all sources are sorted
   in lower case. At every word boundary, a search narrows down, byte by byte, the range of forms
   that match the sentence so far. */
#include "text/glossary.h"

#include <string.h>

enum { KEY_CHARACTER = 8 }; /* maximum size of a character in lower case, in bytes */

/* Writes a character in lower case, and returns the number of bytes. A final sigma becomes an
   ordinary sigma, because both have the same capital. */
static size_t lower(uint32_t c, rapt_text bytes, char out[KEY_CHARACTER])
{
    enum { SIGMA = 0x3C3, FINAL_SIGMA = 0x3C2 };
    uint32_t low[2];
    size_t size = 0;
    const size_t count = rapt__lower_character(c == FINAL_SIGMA ? SIGMA : c, low);
    if (c != FINAL_SIGMA && low[0] == c) {
        memcpy(out, bytes.bytes, bytes.size);
        return bytes.size;
    }
    for (size_t i = 0; i < count; i++) size += rapt__utf8_encode(low[i], out + size);
    return size;
}

size_t rapt__glossary_key(rapt_text form, char *key)
{
    size_t size = 0;
    for (size_t at = 0, next = 0; at < form.size; at = next) {
        const uint32_t c = rapt__utf8_next(form.bytes, form.size, &next);
        size += lower(c, (rapt_text){form.bytes + at, next - at}, key + size);
    }
    return size;
}

int rapt__glossary_order(const void *context, const void *x, const void *y)
{
    (void)context;
    const struct glossary_source *a = x, *b = y;
    const size_t size = rapt__min_size(a->key.size, b->key.size);
    const int order = memcmp(a->key.bytes, b->key.bytes, size);
    if (order != 0) return order;
    if (a->key.size != b->key.size) return a->key.size < b->key.size ? -1 : 1;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

/* Sources [first, last), all of whose keys begin with the same bytes. */
struct source_range {
    size_t first, last;
};

/* Returns the index of the first source in a range that has a byte of at least `byte` at index
   `depth` of its key, or r.last if there is none. Keys that end before that index come first. */
static size_t bound(const rapt_glossary *g, struct source_range r, size_t depth, int byte)
{
    while (r.first < r.last) {
        const size_t middle = r.first + (r.last - r.first) / 2;
        const rapt_text key = g->sources[middle].key;
        if (key.size <= depth || (unsigned char)key.bytes[depth] < byte)
            r.first = middle + 1;
        else
            r.last = middle;
    }
    return r.first;
}

/* Returns true if converting the form's first character to upper case gives the text. */
static bool is_capitalized(rapt_text form, rapt_text text)
{
    size_t at = 0, own = 0;
    const uint32_t c = rapt__utf8_next(form.bytes, form.size, &at);
    const uint32_t first = rapt__utf8_next(text.bytes, text.size, &own);
    return first == rapt__upper_character(c) && form.size - at == text.size - own &&
           memcmp(form.bytes + at, text.bytes + own, text.size - own) == 0;
}

/* Returns true if converting the form to upper case gives the text. */
static bool is_in_capitals(rapt_text form, rapt_text text)
{
    size_t at = 0, own = 0;
    while (at < form.size && own < text.size) {
        const uint32_t c = rapt__utf8_next(form.bytes, form.size, &at);
        if (rapt__utf8_next(text.bytes, text.size, &own) != rapt__upper_character(c)) return false;
    }
    return at == form.size && own == text.size;
}

static bool is_same(rapt_text a, rapt_text b)
{
    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

/* Returns true if the rule of a source's entry allows its form to match this text. Sets *capital
   and *capitals as in struct glossary_match. */
static bool is_allowed(const rapt_glossary *g, const struct glossary_source *s, rapt_text text,
                       bool *capital, bool *capitals)
{
    const enum glossary_rule rule = g->entries[s->entry].rule;
    const bool same = is_same(s->form, text), first = is_capitalized(s->form, text);
    *capital = !same && first;
    *capitals = !same && !first && is_in_capitals(s->form, text);
    if (rule == GLOSSARY_EXACT) return same;
    return rule == GLOSSARY_NOCASE || same || first || *capitals;
}

/* Returns true if there is no letter before `at`. */
static bool is_first_word(rapt_text sentence, size_t at)
{
    for (size_t i = 0; i < at;)
        if (rapt__is_letter(rapt__utf8_next(sentence.bytes, at, &i))) return false;
    return true;
}

/* Finds the longest match that begins at match->begin. Returns false if there is none. */
static bool match_at(const rapt_glossary *g, rapt_text sentence, struct glossary_match *match)
{
    struct source_range r = {0, g->source_count};
    size_t depth = 0, at = match->begin;
    bool found = false;
    while (at < sentence.size && r.first < r.last) {
        char low[KEY_CHARACTER];
        const size_t from = at;
        const uint32_t c = rapt__utf8_next(sentence.bytes, sentence.size, &at);
        const size_t size = lower(c, (rapt_text){sentence.bytes + from, at - from}, low);
        for (size_t i = 0; i < size && r.first < r.last; i++, depth++) {
            const int byte = (unsigned char)low[i];
            r = (struct source_range){bound(g, r, depth, byte), bound(g, r, depth, byte + 1)};
        }
        if (r.first == r.last || !rapt__is_boundary(sentence, at)) continue;
        const rapt_text text = {sentence.bytes + match->begin, at - match->begin};
        for (size_t i = r.first; i < r.last && g->sources[i].key.size == depth; i++) {
            bool capital, capitals;
            if (!is_allowed(g, &g->sources[i], text, &capital, &capitals)) continue;
            match->entry = &g->entries[g->sources[i].entry];
            match->form = g->sources[i].form;
            match->end = at;
            match->capital = capital || is_first_word(sentence, match->begin);
            match->capitals = capitals;
            found = true;
            break;
        }
    }
    return found;
}

bool rapt__glossary_next(const rapt_glossary *g, rapt_text sentence, size_t at,
                         struct glossary_match *match)
{
    while (at < sentence.size) {
        match->begin = at;
        if (rapt__is_boundary(sentence, at) && match_at(g, sentence, match)) return true;
        rapt__utf8_next(sentence.bytes, sentence.size, &at);
    }
    return false;
}

size_t rapt_glossary_count(const rapt_glossary *g)
{
    return g ? g->count : 0;
}
