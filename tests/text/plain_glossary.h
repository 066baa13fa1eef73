/* plain_glossary.h - the definition of what a glossary finds in a sentence, without an index: tries
   every place, every end and every source. */
#ifndef RAPT_TESTS_TEXT_PLAIN_GLOSSARY_H
#define RAPT_TESTS_TEXT_PLAIN_GLOSSARY_H

#include "text/glossary.h"

#include <string.h>

/* Writes a text in capitals, or only its first letter. */
static inline size_t plain_raise(rapt_text text, bool all, char *out)
{
    size_t size = 0;
    for (size_t at = 0; at < text.size;) {
        const bool raised = at == 0 || all;
        const uint32_t c = rapt__utf8_next(text.bytes, text.size, &at);
        size += rapt__utf8_encode(raised ? rapt__upper_character(c) : c, out + size);
    }
    return size;
}

static inline bool plain_same(rapt_text a, const char *bytes, size_t size)
{
    return a.size == size && memcmp(a.bytes, bytes, size) == 0;
}

/* Returns true if the rule of a source allows it to be found as `text`. */
static inline bool plain_allows(enum glossary_rule rule, rapt_text form, rapt_text text)
{
    char own[4 * GLOSSARY_FORM], other[8 * GLOSSARY_FORM];
    if (plain_same(text, form.bytes, form.size)) return true;
    if (rule == GLOSSARY_EXACT || text.size > 2 * GLOSSARY_FORM) return false;
    const size_t size = rapt__glossary_key(form, own);
    if (!plain_same((rapt_text){other, rapt__glossary_key(text, other)}, own, size)) return false;
    return rule == GLOSSARY_NOCASE || plain_same(text, own, plain_raise(form, false, own)) ||
           plain_same(text, own, plain_raise(form, true, own));
}

/* Finds the first match at or after `at`. Of several, the longest counts, and of equally long ones
   that of the first entry. Returns false if there is none. */
static inline bool plain_next(const rapt_glossary *g, rapt_text text, size_t at, size_t *begin,
                              size_t *end, size_t *entry)
{
    for (*begin = at; *begin < text.size; rapt__utf8_next(text.bytes, text.size, begin)) {
        bool found = false;
        if (!rapt__is_boundary(text, *begin)) continue;
        for (size_t next = *begin; next < text.size;) {
            rapt__utf8_next(text.bytes, text.size, &next);
            const rapt_text part = {text.bytes + *begin, next - *begin};
            if (!rapt__is_boundary(text, next)) continue;
            for (size_t i = 0; i < g->source_count; i++) {
                const struct glossary_source *s = &g->sources[i];
                if (!plain_allows(g->entries[s->entry].rule, s->form, part)) continue;
                if (!found || next > *end || s->entry < *entry) *end = next, *entry = s->entry;
                found = true;
            }
        }
        if (found) return true;
    }
    return false;
}

#endif
