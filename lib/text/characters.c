/* characters.c - decodes and classifies characters, and converts them to lower and upper case. */
#include "text/text.h"

#include <string.h>

/* ---- decoding and white space ---- */

uint32_t rapt__utf8_next(const char *bytes, size_t size, size_t *at)
{
    uint32_t character = 0;
    size_t length = rapt__utf8_decode(bytes + *at, size - *at, &character);
    if (length == 0) {
        character = 0xDC00u + (unsigned char)bytes[*at];
        length = 1;
    }
    *at += length;
    return character;
}

bool rapt__utf8_space(uint32_t c)
{
    if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

size_t rapt_utf8_valid(rapt_text text)
{
    size_t at = 0;
    while (text.bytes && at < text.size) {
        uint32_t character;
        size_t length = rapt__utf8_decode(text.bytes + at, text.size - at, &character);
        if (length == 0) return at;
        at += length;
    }
    return at;
}

/* ---- letters and words; the tables approximate Unicode's properties ---- */

#define HOLDS(table, c) rapt__in_ranges(table, sizeof(table) / sizeof *(table), c)

bool rapt__in_ranges(const struct character_range *ranges, size_t count, uint32_t c)
{
    for (size_t i = 0; i < count && c >= ranges[i].first; i++)
        if (c <= ranges[i].last) return true;
    return false;
}

uint32_t rapt__character_before(rapt_text text, size_t at, size_t *start)
{
    size_t first = at - 1, next;
    while (first > 0 && at - first < 4 && rapt__utf8_continues(text.bytes[first])) first--;
    next = first;
    uint32_t c = rapt__utf8_next(text.bytes, at, &next);
    if (next != at) { /* not UTF-8 */
        first = next = at - 1;
        c = rapt__utf8_next(text.bytes, at, &next);
    }
    *start = first;
    return c;
}

bool rapt__is_letter(uint32_t c)
{
    static const struct character_range others[] = {
        {0x80, 0xA9},     {0xAB, 0xB4},     {0xB6, 0xB9},       {0xBB, 0xBF},
        {0xD7, 0xD7},     {0xF7, 0xF7},     {0x300, 0x36F},     {0x2000, 0x20FF},
        {0x2150, 0x2BFF}, {0x2E00, 0x2E7F}, {0x3000, 0x3004},   {0x3008, 0x3020},
        {0x3030, 0x3030}, {0x303D, 0x303F}, {0x30FB, 0x30FB},   {0xD800, 0xF8FF},
        {0xFE00, 0xFE6F}, {0xFEFF, 0xFEFF}, {0xFF00, 0xFF20},   {0xFF3B, 0xFF40},
        {0xFF5B, 0xFF65}, {0xFFE0, 0xFFFF}, {0x1F000, 0x1FAFF}, {0xE0000, 0x10FFFF},
    };
    if (c < 0x80) return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    return !HOLDS(others, c);
}

bool rapt__is_unspaced(uint32_t c)
{
    static const struct character_range scripts[] = {
        {0xE00, 0xEFF},     {0xF00, 0xFFF},     {0x1000, 0x109F}, {0x1780, 0x17FF},
        {0x2E80, 0x2FDF},   {0x3000, 0x312F},   {0x31A0, 0x31FF}, {0x3400, 0x4DBF},
        {0x4E00, 0xA4CF},   {0xF900, 0xFAFF},   {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF},
        {0x1B000, 0x1B2FF}, {0x20000, 0x3FFFD},
    };
    return c >= 0xE00 && HOLDS(scripts, c);
}

bool rapt__in_word(uint32_t c)
{
    if (c >= '0' && c <= '9') return true;
    return c == '_' || (rapt__is_letter(c) && !rapt__is_unspaced(c));
}

bool rapt__is_boundary(rapt_text text, size_t at)
{
    size_t start, next = at;
    if (at == 0 || at >= text.size) return true;
    return !rapt__in_word(rapt__character_before(text, at, &start)) ||
           !rapt__in_word(rapt__utf8_next(text.bytes, text.size, &next));
}

/* ---- lower case ----

   rapt__lower converts text as Python's str.lower() does: each character by its simple mapping,
   except that U+0130 becomes two characters and a capital sigma at the end of a word becomes a
   final sigma. Source: the Unicode Standard, sections 3.13 and 5.18, and SpecialCasing.txt. The
   mappings come from utf8proc. Without it (RAPT_HAVE_UTF8PROC undefined), only the Latin, Greek,
   Cyrillic and Armenian scripts are converted. Bytes that are not valid UTF-8 are left
   unchanged. */

#ifdef RAPT_HAVE_UTF8PROC
#include <utf8proc.h>

static uint32_t lowered(uint32_t c)
{
    return (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
}

uint32_t rapt__upper_character(uint32_t c)
{
    return (uint32_t)utf8proc_toupper((utf8proc_int32_t)c);
}

static bool letter_with_case(uint32_t c)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
           category == UTF8PROC_CATEGORY_LT;
}

static bool modifier(uint32_t c)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME ||
           category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_LM ||
           category == UTF8PROC_CATEGORY_SK;
}
#else
static const struct run {
    uint16_t first, last;
    uint8_t step; /* the upper-case letters are first, first + step, ... */
    int16_t add;
} runs[] = {
    {0x41, 0x5A, 1, 32},        {0xC0, 0xD6, 1, 32},     {0xD8, 0xDE, 1, 32},
    {0x100, 0x12E, 2, 1},       {0x132, 0x136, 2, 1},    {0x139, 0x147, 2, 1},
    {0x14A, 0x176, 2, 1},       {0x178, 0x178, 1, -121}, {0x179, 0x17D, 2, 1},
    {0x386, 0x386, 1, 38},      {0x388, 0x38A, 1, 37},   {0x38C, 0x38C, 1, 64},
    {0x38E, 0x38F, 1, 63},      {0x391, 0x3A1, 1, 32},   {0x3A3, 0x3AB, 1, 32},
    {0x400, 0x40F, 1, 80},      {0x410, 0x42F, 1, 32},   {0x460, 0x480, 2, 1},
    {0x48A, 0x4BE, 2, 1},       {0x4C0, 0x4C0, 1, 15},   {0x4C1, 0x4CD, 2, 1},
    {0x4D0, 0x52E, 2, 1},       {0x531, 0x556, 1, 48},   {0x1E00, 0x1E94, 2, 1},
    {0x1E9E, 0x1E9E, 1, -7615}, {0x1EA0, 0x1EFE, 2, 1},
};

static uint32_t lowered(uint32_t c)
{
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        if (c >= runs[i].first && c <= runs[i].last && (c - runs[i].first) % runs[i].step == 0)
            return (uint32_t)((int32_t)c + runs[i].add);
    return c;
}

uint32_t rapt__upper_character(uint32_t c)
{
    if (c == 0x3C2) return 0x3A3; /* a final sigma has the same capital as an ordinary sigma */
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const uint32_t upper = (uint32_t)((int32_t)c - runs[i].add);
        if (upper >= runs[i].first && upper <= runs[i].last &&
            (upper - runs[i].first) % runs[i].step == 0)
            return upper;
    }
    return c;
}

static bool letter_with_case(uint32_t c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c >= 0xC0 && c < 0x2B0 && c != 0xD7 && c != 0xF7) ||
           (c >= 0x386 && c < 0x588 && c != 0x387 && !(c >= 0x482 && c <= 0x489)) ||
           (c >= 0x1E00 && c < 0x2000);
}

static bool modifier(uint32_t c)
{
    return c == '^' || c == '`' || c == 0xA8 || c == 0xAD || c == 0xAF || c == 0xB4 || c == 0xB8 ||
           (c >= 0x2B0 && c <= 0x36F) || (c >= 0x483 && c <= 0x489) ||
           (c >= 0x200B && c <= 0x200F) || c == 0xFEFF;
}
#endif

enum { DOTTED_I = 0x130, DOT_ABOVE = 0x307, SIGMA = 0x3A3, SMALL_FINAL_SIGMA = 0x3C2 };

/* Returns true if a character has the Unicode property Cased. The character must not be
   case-ignorable. */
static bool cased(uint32_t c)
{
    return letter_with_case(c) || c == 0xAA || c == 0xBA || (c >= 0x2160 && c <= 0x217F) ||
           (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
           (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

/* Returns true if a character has the Unicode property Case_Ignorable: modifiers, and punctuation
   that may occur within a word. */
static bool ignorable(uint32_t c)
{
    static const uint16_t within[] = {'\'',   '.',    ':',    0xB7,   0x387,  0x55F,
                                      0x5F4,  0x2018, 0x2019, 0x2024, 0x2027, 0xFE13,
                                      0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
    for (size_t i = 0; i < sizeof within / sizeof *within; i++)
        if (c == within[i]) return true;
    return modifier(c);
}

bool rapt__is_lower(uint32_t c)
{
    return letter_with_case(c) && lowered(c) == c;
}

static bool cased_follows(rapt_text text, size_t at)
{
    while (at < text.size) {
        uint32_t c = rapt__utf8_next(text.bytes, text.size, &at);
        if (!ignorable(c)) return cased(c);
    }
    return false;
}

size_t rapt__lower_character(uint32_t character, uint32_t to[2])
{
    const bool two = character == DOTTED_I;
    to[0] = two ? 'i' : lowered(character);
    to[1] = DOT_ABOVE;
    return two ? 2 : 1;
}

size_t rapt__lower(rapt_text text, char *out)
{
    size_t size = 0;
    bool after_cased = false; /* true if the last character that was not ignorable is cased */
    for (size_t at = 0, next = 0; at < text.size; at = next) {
        uint32_t c = rapt__utf8_next(text.bytes, text.size, &next), low[2];
        size_t count = rapt__lower_character(c, low);
        if (c == SIGMA && after_cased && !cased_follows(text, next)) low[0] = SMALL_FINAL_SIGMA;
        if (low[0] == c) {
            memcpy(out + size, text.bytes + at, next - at);
            size += next - at;
        } else {
            for (size_t i = 0; i < count; i++) size += rapt__utf8_encode(low[i], out + size);
        }
        if (!ignorable(c)) after_cased = cased(c);
    }
    return size;
}
