/* opus.c - normalizes text as OPUS-MT's scripts (preprocess-spm.sh, derived from Moses) do before
   they run SentencePiece. The characters in `replacements` become ASCII. Noncharacters, and
   control, format and private-use characters, become spaces. Runs of spaces become one space, and
   spaces at both ends are removed.

   The results match those of the scripts even where the scripts do something odd: full-width U+FF11
   becomes a quotation mark, and U+3002 becomes a full stop and a space. The characters that the
   scripts delete last (U+200B, U+2060, U+FEFF) have already become spaces by then. Bytes that are
   not UTF-8 are left unchanged. Unassigned characters, for which the scripts' results depend on the
   version of Perl, are also left unchanged. */
#include "text/text.h"

#include <string.h>

static const struct replacement {
    uint32_t code;
    const char *by; /* at most as long as the character itself */
} replacements[] = {
    /* clang-format off */
    {0x2019, "'"}, {0x201C, "\""}, {0x201D, "\""}, {0x2026, "..."}, {0x2236, ":"}, {0x2501, "-"},
    {0x3001, ","}, {0x3002, ". "}, {0x3008, "<"}, {0x3009, ">"}, {0x300A, "\""}, {0x300B, "\""},
    {0x300C, "\""}, {0x300D, "\""}, {0x3010, "["}, {0x3011, "]"}, {0xFF01, "!"}, {0xFF05, "%"},
    {0xFF08, "("}, {0xFF09, ")"}, {0xFF0C, ","}, {0xFF0E, ". "}, {0xFF10, "0"}, {0xFF11, "\""},
    {0xFF12, "2"}, {0xFF13, "3"}, {0xFF14, "4"}, {0xFF15, "5"}, {0xFF16, "6"}, {0xFF17, "7"},
    {0xFF18, "8"}, {0xFF19, "9"}, {0xFF1A, ":"}, {0xFF1B, ";"}, {0xFF1F, "?"}, {0xFF5E, "~"},
    /* clang-format on */
};

static const struct code_range {
    uint32_t first, last;
} others[] = {
    {0x0, 0x1F},        {0x7F, 0x9F},       {0xAD, 0xAD},        {0x600, 0x605},
    {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},      {0x890, 0x891},
    {0x8E2, 0x8E2},     {0x180E, 0x180E},   {0x200B, 0x200F},    {0x202A, 0x202E},
    {0x2060, 0x2064},   {0x2066, 0x206F},   {0xE000, 0xF8FF},    {0xFDD0, 0xFDEF},
    {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},   {0xFFFE, 0xFFFF},    {0x110BD, 0x110BD},
    {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3},  {0x1D173, 0x1D17A},
    {0xE0001, 0xE0001}, {0xE0020, 0xE007F}, {0xF0000, 0x10FFFF},
};

static const char *replacement_of(uint32_t code)
{
    for (size_t i = 0; i < sizeof replacements / sizeof *replacements; i++)
        if (replacements[i].code == code) return replacements[i].by;
    return NULL;
}

/* Returns true for noncharacters and for the characters in categories Cc, Cf and Co of Unicode 15.
   Surrogates (Cs) cannot occur in UTF-8. */
static bool is_other(uint32_t code)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (code >= others[i].first && code <= others[i].last) return true;
    return (code & 0xFFFE) == 0xFFFE;
}

/* The output, with a pending space that is written only if a word follows. */
struct opus_text {
    char *bytes;
    size_t *ends, capacity, size;
    size_t space; /* offset in the text just after the pending space; 0 if no space is pending */
};

static void put_byte(struct opus_text *to, char byte, size_t end)
{
    if (to->size < to->capacity && to->bytes) to->bytes[to->size] = byte;
    if (to->size < to->capacity && to->ends) to->ends[to->size] = end;
    to->size++;
}

static void put_bytes(struct opus_text *to, const char *bytes, size_t count, size_t end)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == ' ') {
            to->space = end;
            continue;
        }
        if (to->space && to->size > 0) put_byte(to, ' ', to->space);
        to->space = 0;
        put_byte(to, bytes[i], end);
    }
}

rapt_status rapt_text_preprocess(rapt_preprocess by, rapt_text text, char *bytes, size_t *ends,
                                 size_t capacity, size_t *size, rapt_message *why)
{
    struct opus_text to = {bytes, ends, capacity, 0, 0};
    if (!size || (text.size && !text.bytes))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", size ? "text" : "size");
    if ((unsigned)by > RAPT_PREPROCESS_OPUS)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "by is %d, not a rapt_preprocess", (int)by);
    for (size_t at = 0, length; at < text.size; at += length) {
        uint32_t code = 0;
        const char *from = text.bytes + at;
        length = rapt__utf8_decode(from, text.size - at, &code);
        const char *other = length == 0 ? NULL : is_other(code) ? " " : replacement_of(code);
        if (length == 0) length = 1;
        if (by == RAPT_PREPROCESS_NONE)
            for (size_t i = 0; i < length; i++) put_byte(&to, from[i], at + i + 1);
        else if (other)
            put_bytes(&to, other, strlen(other), at + length);
        else
            put_bytes(&to, from, length, at + length);
    }
    *size = to.size;
    if (to.size <= capacity || (!bytes && !ends)) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "capacity is %zu; the text needs %zu bytes", capacity,
                      to.size);
}
