/* characters.c - the characters that matter for finding sentences. The tables are subsets of
   Unicode's Sentence_Terminal, Quotation_Mark, Close_Punctuation and Open_Punctuation. */
#include "document/document.h"

struct characters {
    uint32_t first, last;
};
#define HOLDS(table, c) holds(table, sizeof(table) / sizeof *(table), c)

static bool holds(const struct characters *ranges, size_t count, uint32_t c)
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
    static const struct characters others[] = {
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

bool rapt__is_full_terminator(uint32_t c)
{
    static const struct characters full[] = {
        {0x589, 0x589},   {0x61D, 0x61F},   {0x6D4, 0x6D4},   {0x964, 0x965},   {0x104A, 0x104B},
        {0x1362, 0x1362}, {0x1367, 0x1368}, {0x17D4, 0x17D5}, {0x1803, 0x1803}, {0x1809, 0x1809},
        {0x3002, 0x3002}, {0xFF01, 0xFF01}, {0xFF0E, 0xFF0E}, {0xFF1F, 0xFF1F}, {0xFF61, 0xFF61},
    };
    return c >= 0x80 && HOLDS(full, c);
}

bool rapt__is_terminator(uint32_t c)
{
    if (c == '.' || c == '!' || c == '?' || c == 0x2026) return true;
    return c == 0x203C || c == 0x203D || (c >= 0x2047 && c <= 0x2049) ||
           rapt__is_full_terminator(c);
}

bool rapt__is_closer(uint32_t c)
{
    static const struct characters closers[] = {
        {'"', '"'},       {'\'', '\''},     {')', ')'},       {']', ']'},       {'}', '}'},
        {0xAB, 0xAB},     {0xBB, 0xBB},     {0x2018, 0x2019}, {0x201C, 0x201D}, {0x2039, 0x203A},
        {0x3009, 0x3009}, {0x300B, 0x300B}, {0x300D, 0x300D}, {0x300F, 0x300F}, {0x3011, 0x3011},
        {0x3015, 0x3015}, {0x3017, 0x3017}, {0x301E, 0x301F}, {0xFF02, 0xFF02}, {0xFF07, 0xFF07},
        {0xFF09, 0xFF09}, {0xFF3D, 0xFF3D}, {0xFF5D, 0xFF5D}, {0xFF63, 0xFF63},
    };
    return HOLDS(closers, c);
}

bool rapt__is_opener(uint32_t c)
{
    static const struct characters openers[] = {
        {'"', '"'},       {'\'', '('},      {'[', '['},       {'{', '{'},       {0xA1, 0xA1},
        {0xAB, 0xAB},     {0xBB, 0xBB},     {0xBF, 0xBF},     {0x2018, 0x201F}, {0x2039, 0x203A},
        {0x3008, 0x3008}, {0x300A, 0x300A}, {0x300C, 0x300C}, {0x300E, 0x300E}, {0x3010, 0x3010},
        {0x3014, 0x3014}, {0x3016, 0x3016}, {0x301D, 0x301D}, {0xFF02, 0xFF02}, {0xFF07, 0xFF08},
        {0xFF3B, 0xFF3B}, {0xFF5B, 0xFF5B}, {0xFF62, 0xFF62},
    };
    return HOLDS(openers, c);
}

bool rapt__is_unspaced(uint32_t c)
{
    static const struct characters scripts[] = {
        {0xE00, 0xEFF},     {0xF00, 0xFFF},     {0x1000, 0x109F}, {0x1780, 0x17FF},
        {0x2E80, 0x2FDF},   {0x3000, 0x312F},   {0x31A0, 0x31FF}, {0x3400, 0x4DBF},
        {0x4E00, 0xA4CF},   {0xF900, 0xFAFF},   {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF},
        {0x1B000, 0x1B2FF}, {0x20000, 0x3FFFD},
    };
    return c >= 0xE00 && HOLDS(scripts, c);
}

static bool is_trimmed(uint32_t c)
{
    return rapt__utf8_space(c) || c == 0xFEFF;
}

size_t rapt__trimmed_end(rapt_text text, rapt_span span)
{
    for (size_t next; span.begin < span.end; span.end = next) {
        uint32_t c = rapt__character_before(text, span.end, &next);
        if (next < span.begin || !is_trimmed(c)) break;
    }
    return span.end;
}

rapt_span rapt__trimmed(rapt_text text, rapt_span span)
{
    size_t next;
    for (; span.begin < span.end; span.begin = next) {
        next = span.begin;
        uint32_t c = rapt__utf8_next(text.bytes, span.end, &next);
        if (!is_trimmed(c)) break;
    }
    return (rapt_span){span.begin, rapt__trimmed_end(text, span)};
}

bool rapt__has_letters(rapt_text text)
{
    for (size_t at = 0; at < text.size;)
        if (rapt__is_letter(rapt__utf8_next(text.bytes, text.size, &at))) return true;
    return false;
}

bool rapt__is_break(char c)
{
    return c == '\n' || c == '\r';
}

size_t rapt__line_end(rapt_text text, size_t at)
{
    while (at < text.size && !rapt__is_break(text.bytes[at])) at++;
    return at;
}

size_t rapt__line_next(rapt_text text, size_t end)
{
    if (end + 1 < text.size && text.bytes[end] == '\r' && text.bytes[end + 1] == '\n') end++;
    return end < text.size ? end + 1 : end;
}
