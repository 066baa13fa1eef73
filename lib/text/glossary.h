/* glossary.h - a glossary in memory, and the search for its entries in sentences (glossary.c). A
   source or target may have several forms, such as singular and plural. */
#ifndef RAPT_LIB_TEXT_GLOSSARY_H
#define RAPT_LIB_TEXT_GLOSSARY_H

#include "text/text.h"
#include <rapt/glossary.h>

enum glossary_rule { GLOSSARY_USUAL, GLOSSARY_EXACT, GLOSSARY_NOCASE };
enum { GLOSSARY_FORM = 255 }; /* maximum size of a form in bytes */

struct glossary_entry {
    enum glossary_rule rule;
    size_t line;        /* line number, counted from 1 */
    size_t first, last; /* its targets are targets[first .. last) */
};
struct glossary_source {
    rapt_text key; /* the form in lower case */
    rapt_text form;
    size_t entry;
};
struct rapt_glossary {
    rapt_allocator allocator;
    char *bytes; /* [bytes_size] the text of all forms, and the keys of sources */
    size_t bytes_size, bytes_used;
    struct glossary_entry *entries;
    size_t count, entry_capacity;
    struct glossary_source *sources; /* sorted by key, then by entry */
    size_t source_count, source_capacity;
    rapt_text *targets;
    size_t target_count, target_capacity;
};

/* Writes the key of a form. Returns the size of the key, at most twice the size of the form. */
size_t rapt__glossary_key(rapt_text form, char *key);

struct glossary_match {
    const struct glossary_entry *entry;
    rapt_text form;    /* the matched source form, as written in the glossary */
    size_t begin, end; /* offsets of the match in the sentence */
    bool capital;      /* the match is the form with its first letter capitalized, or no letter
                          precedes the match in the sentence */
    bool capitals;     /* the match is the form in capitals, and differs from the form in more than
                          the first letter */
};
/* Finds the first match that begins at or after `at`. Returns false if there is none. */
bool rapt__glossary_next(const rapt_glossary *glossary, rapt_text sentence, size_t at,
                         struct glossary_match *match);

#endif
