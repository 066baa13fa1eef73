/* letter.c - classes of characters that determine where words begin and end. The tables are subsets
   of Unicode's properties. */
#include "text/text.h"

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
