/* characters.c - classifies the characters that matter for finding sentences, finds the ends of
   lines, and trims white space. Most characters in the tables have the Unicode property
   Sentence_Terminal or Quotation_Mark, or the general category Close_Punctuation or
   Open_Punctuation. */
#include "document/document.h"

#define HOLDS(table, c) rapt__in_ranges(table, sizeof(table) / sizeof *(table), c)

bool rapt__is_full_terminator(uint32_t c)
{
    static const struct character_range full[] = {
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
    static const struct character_range closers[] = {
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
    static const struct character_range openers[] = {
        {'"', '"'},       {'\'', '('},      {'[', '['},       {'{', '{'},       {0xA1, 0xA1},
        {0xAB, 0xAB},     {0xBB, 0xBB},     {0xBF, 0xBF},     {0x2018, 0x201F}, {0x2039, 0x203A},
        {0x3008, 0x3008}, {0x300A, 0x300A}, {0x300C, 0x300C}, {0x300E, 0x300E}, {0x3010, 0x3010},
        {0x3014, 0x3014}, {0x3016, 0x3016}, {0x301D, 0x301D}, {0xFF02, 0xFF02}, {0xFF07, 0xFF08},
        {0xFF3B, 0xFF3B}, {0xFF5B, 0xFF5B}, {0xFF62, 0xFF62},
    };
    return HOLDS(openers, c);
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
