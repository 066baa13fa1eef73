/* plain.c - finds the prose of plain text. A line consists of indentation, then any quote, heading
   or list markers, then prose. A tab within a line separates two runs of prose. */
#include "document/document.h"

#include <string.h>

/* Returns true for a tab, line feed, vertical tab, form feed or carriage return. */
static bool is_layout(char c)
{
    return c >= '\t' && c <= '\r';
}

static bool is_break(char c)
{
    return is_layout(c) && c != '\t';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static size_t skip_blanks(rapt_text text, size_t at)
{
    while (at < text.size && is_blank(text.bytes[at])) at++;
    return at;
}

/* Returns the end of the number or letter of a list item, such as "12.", "a)" or "(b)", or `at` if
   there is none. */
static size_t number_end(rapt_text text, size_t at)
{
    size_t from = at, digits = 0, letters = 0;
    bool open = at < text.size && text.bytes[at] == '(';
    if (open) at++;
    for (; at < text.size && digits + letters < 4; at++) {
        char c = text.bytes[at];
        if (c >= '0' && c <= '9')
            digits++;
        else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
            letters++;
        else
            break;
    }
    bool number = digits > 0 && digits < 4 && letters == 0;
    bool letter = letters == 1 && digits == 0;
    if (at == text.size || (!number && !letter)) return from;
    if (text.bytes[at] == ')' || (text.bytes[at] == '.' && number && !open)) return at + 1;
    return from;
}

/* Returns the end of a quote, heading or list marker, without the space that must follow it, or
   `at` if there is none. */
static size_t mark_end(rapt_text text, size_t at)
{
    static const uint32_t bullets[] = {'-',    '*',    '+',    0xB7,   0x2013, 0x2014,
                                       0x2022, 0x2023, 0x2043, 0x25AA, 0x25CF, 0x25E6};
    size_t end = at, next = at;
    if (at == text.size) return at;
    while (end < text.size && (text.bytes[end] == '>' || text.bytes[end] == '#')) end++;
    uint32_t c = rapt__utf8_next(text.bytes, text.size, &next);
    for (size_t i = 0; end == at && i < sizeof bullets / sizeof *bullets; i++)
        if (c == bullets[i]) end = next;
    if (end == at) end = number_end(text, at);
    return end < text.size && is_blank(text.bytes[end]) ? end : at;
}

size_t rapt__plain_marks(rapt_text text, size_t at)
{
    for (size_t end = at = skip_blanks(text, at);; at = skip_blanks(text, end))
        if ((end = mark_end(text, at)) == at) return at;
}

static size_t line_end(rapt_text text, size_t at)
{
    while (at < text.size && !is_break(text.bytes[at])) at++;
    return at;
}

/* Returns the beginning of the text in the next line if that line continues the prose that ends at
   `end`, otherwise `end`. A line that has a marker or no letters never continues prose. */
static size_t continued_at(rapt_text text, size_t end)
{
    size_t next = end;
    if (next < text.size && text.bytes[next] == '\r') next++;
    if (next < text.size && text.bytes[next] == '\n') next++;
    size_t begin = skip_blanks(text, next), after = line_end(text, begin);
    if (next == end || rapt__plain_marks(text, next) != begin) return end;
    return rapt__has_letters((rapt_text){text.bytes + begin, after - begin}) ? begin : end;
}

/* Returns the end of the run of prose that begins at `at`. */
static size_t prose_end(rapt_text text, size_t at, bool unwrap)
{
    for (size_t begin = at;;) {
        while (at < text.size && !is_layout(text.bytes[at])) at++;
        bool ends = !unwrap || at == text.size || text.bytes[at] == '\t' ||
                    !rapt__has_letters((rapt_text){text.bytes + begin, at - begin});
        size_t next = ends ? at : continued_at(text, at);
        if (next == at) return at;
        begin = at = next;
    }
}

bool rapt__plain_next(rapt_text document, bool unwrap, size_t *at, rapt_span *prose)
{
    while (*at < document.size) {
        size_t begin = *at;
        if (begin == 0 && document.size >= 3 && memcmp(document.bytes, "\xEF\xBB\xBF", 3) == 0)
            begin = 3;
        if (*at == 0 || is_break(document.bytes[*at - 1]))
            begin = rapt__plain_marks(document, begin);
        if (begin < document.size && is_layout(document.bytes[begin])) {
            *at = begin + 1;
            continue;
        }
        *at = prose_end(document, begin, unwrap);
        *prose = rapt__trimmed(document, (rapt_span){begin, *at});
        if (prose->begin < prose->end) return true;
    }
    return false;
}

/* Returns the end of the ASCII white space at `at`. Sets *breaks to true if it contains a line
   break, otherwise to false. */
static size_t space_end(rapt_text text, size_t at, bool *breaks)
{
    *breaks = false;
    for (; at < text.size && (text.bytes[at] == ' ' || is_layout(text.bytes[at])); at++)
        *breaks = *breaks || is_break(text.bytes[at]);
    return at;
}

void rapt__plain_flatten(rapt_text text, char *flat)
{
    for (size_t i = 0; i < text.size; i++) flat[i] = is_layout(text.bytes[i]) ? ' ' : text.bytes[i];
}

/* Returns true if the line break between `at` and `end` is dropped rather than replaced with a
   space: between characters of scripts without spaces, after a hyphen within a word, and at both
   ends of the text. */
static bool joins_bare(rapt_text text, size_t at, size_t end)
{
    size_t start, next = end;
    if (at == 0 || end == text.size) return true;
    uint32_t before = rapt__character_before(text, at, &start);
    uint32_t after = rapt__utf8_next(text.bytes, text.size, &next);
    if (rapt__is_unspaced(before) && rapt__is_unspaced(after)) return true;
    return before == '-' && start > 0 && rapt__is_letter(after) &&
           rapt__is_letter(rapt__character_before(text, start, &next));
}

size_t rapt__plain_join(rapt_text text, char *out)
{
    size_t size = 0;
    for (size_t at = 0, end; at < text.size; at = end) {
        bool breaks;
        end = space_end(text, at, &breaks);
        if (!breaks) {
            if (end == at) end++;
            memcpy(out + size, text.bytes + at, end - at);
            size += end - at;
        } else if (!joins_bare(text, at, end)) {
            out[size++] = ' ';
        }
    }
    return size;
}
