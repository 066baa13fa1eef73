/* bytelevel.h - byte-level byte-pair encoding as in GPT-2 (Radford et al. 2019), RoBERTa and BART.
   Names of a list (list.h) spell each byte as a printable character, and text is split into words
   by GPT-2's regular expression. */
#ifndef RAPT_LIB_TEXT_BYTELEVEL_H
#define RAPT_LIB_TEXT_BYTELEVEL_H

#include "text/text.h"

struct bytelevel {
    bool used;
    bool space_first;      /* a space precedes text that does not begin with one */
    int merges;            /* number of merges */
    int32_t byte[256];     /* ids of the names of bytes */
    int32_t *pairs;        /* [2 * merges] the ids that each merge joins, earliest merge first */
    int32_t *made;         /* [merges] the id that each merge makes */
    struct ranked *sorted; /* [merges] key: left id << 32 | right id; position: the merge */
};

/* Returns true if the library was built with utf8proc, which provides the classes of characters. */
bool rapt__bytelevel_available(void);
/* Writes the character that represents a byte in names, and returns its size in bytes. */
size_t rapt__bytelevel_spell(unsigned char byte, char to[2]);
/* Writes the bytes that a name represents, at most name.size, and returns their number. A character
   that represents no byte is copied. */
size_t rapt__bytelevel_bytes(rapt_text name, char *to);
/* Returns the end of the word that begins at `at`, which must be below text.size. */
size_t rapt__bytelevel_word_end(rapt_text text, size_t at);
/* Returns true for Unicode's white space. */
bool rapt__bytelevel_space(uint32_t c);

#endif
