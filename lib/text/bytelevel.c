/* bytelevel.c - converts between bytes and the characters that represent them in the names of
   GPT-2, and splits text into words as GPT-2 does. Words are the matches of this regular
   expression, with the character classes of utf8proc's version of Unicode:

       's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+

   Source: encoder.py of GPT-2. */
#include "text/list.h"

#include <string.h>

/* ---- bytes as characters ---- */

/* Bytes that are not printable in Latin-1 are represented by U+0100, U+0101, ..., in order. */
enum { FIRST_RUN = '!', DELETE = 0x7F, SECOND_RUN = 0xA1, HYPHEN = 0xAD, OTHERS = 0x100 };

static uint32_t code_of(uint32_t byte)
{
    if (byte < FIRST_RUN) return OTHERS + byte;
    if (byte >= DELETE && byte < SECOND_RUN) return OTHERS + FIRST_RUN + (byte - DELETE);
    if (byte == HYPHEN) return OTHERS + FIRST_RUN + SECOND_RUN - DELETE;
    return byte;
}

size_t rapt__bytelevel_spell(unsigned char byte, char to[2])
{
    return rapt__utf8_encode(code_of(byte), to);
}

/* Returns the byte that a character represents, or -1. */
static int byte_of(uint32_t code)
{
    const uint32_t other = code - OTHERS, deleted = other - FIRST_RUN;
    if (code < OTHERS) return code_of((unsigned char)code) == code ? (int)code : -1;
    if (other < FIRST_RUN) return (int)other;
    if (deleted < SECOND_RUN - DELETE) return (int)deleted + DELETE;
    return deleted == SECOND_RUN - DELETE ? HYPHEN : -1;
}

size_t rapt__bytelevel_bytes(rapt_text name, char *to)
{
    size_t size = 0;
    for (size_t at = 0, begin = 0; at < name.size; begin = at) {
        const int byte = byte_of(rapt__utf8_next(name.bytes, name.size, &at));
        if (byte >= 0)
            to[size++] = (char)byte;
        else
            while (begin < at) to[size++] = name.bytes[begin++];
    }
    return size;
}

/* ---- words ---- */

enum character_kind { SPACE, LETTER, NUMBER, OTHER };

bool rapt__bytelevel_space(uint32_t c)
{
    return rapt__utf8_space(c) && (c < 0x1C || c > 0x1F);
}

#ifdef RAPT_HAVE_UTF8PROC
#include <utf8proc.h>

bool rapt__bytelevel_available(void)
{
    return true;
}

static enum character_kind kind_of(uint32_t c)
{
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    if (rapt__bytelevel_space(c)) return SPACE;
    if (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) return LETTER;
    return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO ? NUMBER : OTHER;
}
#else
bool rapt__bytelevel_available(void)
{
    return false;
}

static enum character_kind kind_of(uint32_t c)
{
    return rapt__bytelevel_space(c) ? SPACE : OTHER;
}
#endif

/* Returns the kind of the character at `at`, and sets *end to the end of the character. */
static enum character_kind kind_at(rapt_text text, size_t at, size_t *end)
{
    *end = at;
    return kind_of(rapt__utf8_next(text.bytes, text.size, end));
}

/* Returns the end of the run of characters of one kind that begins at `at`. *last receives the
   beginning of its last character. */
static size_t run_end(rapt_text text, size_t at, enum character_kind kind, size_t *last)
{
    size_t end = at;
    *last = at;
    while (at < text.size && kind_at(text, at, &end) == kind) *last = at, at = end;
    return at;
}

/* Returns the size of a contraction such as 's at this offset, or 0. */
static size_t contraction_at(rapt_text text, size_t at)
{
    static const char *const all[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const size_t size = strlen(all[i]);
        if (text.size - at >= size && memcmp(text.bytes + at, all[i], size) == 0) return size;
    }
    return 0;
}

size_t rapt__bytelevel_word_end(rapt_text text, size_t at)
{
    size_t end, last;
    const size_t contraction = contraction_at(text, at);
    enum character_kind kind = kind_at(text, at, &end);
    if (contraction) return at + contraction;
    if (kind != SPACE) return run_end(text, at, kind, &last);
    if (text.bytes[at] == ' ' && end < text.size) {
        size_t next;
        kind = kind_at(text, end, &next);
        if (kind != SPACE) return run_end(text, end, kind, &last);
    }
    end = run_end(text, at, SPACE, &last);
    return end < text.size && last > at ? last : end; /* the last space belongs to the next word */
}
