/* scalar.c - decodes a YAML scalar of one line in place. A decoded escape is never longer than its
   source, except \L and \P (3 bytes): the opening quote leaves room for one of them. Source: YAML
   1.2.2, sections 5.7, 7.3 and 7.3.3. */
#include "yaml.h"

#include "base/base.h"
#include <string.h>

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads `digits` hexadecimal digits as a code point. Returns false if there are fewer, or if the
   number is a surrogate or exceeds 0x10FFFF. */
static bool take_hex(char **at, const char *end, int digits, uint32_t *code)
{
    uint32_t value = 0;
    if (end - *at < digits) return false;
    for (int i = 0; i < digits; i++) {
        int digit = hex((*at)[i]);
        if (digit < 0) return false;
        value = value << 4 | (uint32_t)digit;
    }
    *at += digits;
    *code = value;
    return value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
}

/* Reads the part of an escape that follows the backslash. */
static bool take_escape(char **at, const char *end, uint32_t *code)
{
    static const char letters[] = "0abtnvfre\"\\/ N_LP\t";
    static const uint16_t codes[] = {0,   7,    8,   9,   10,   11,   12,     13,     27,
                                     '"', '\\', '/', ' ', 0x85, 0xA0, 0x2028, 0x2029, '\t'};
    if (*at == end) return false;
    const char letter = *(*at)++;
    if (letter == 'x') return take_hex(at, end, 2, code);
    if (letter == 'u') return take_hex(at, end, 4, code);
    if (letter == 'U') return take_hex(at, end, 8, code);
    const char *found = letter ? strchr(letters, letter) : NULL;
    if (!found) return false;
    *code = codes[found - letters];
    return true;
}

static char *take_double(char **at, char *end, const char **error)
{
    char *start = *at, *to = start, *from = start + 1;
    while (from < end && *from != '"') {
        if (*from != '\\') {
            *to++ = *from++;
            continue;
        }
        uint32_t code = 0;
        from++;
        if (!take_escape(&from, end, &code)) return *error = "an unknown escape", NULL;
        if (code == 0) return *error = "a string contains a 0 character", NULL;
        char bytes[4];
        size_t size = rapt__utf8_encode(code, bytes);
        if (size > (size_t)(from - to))
            return *error = "more than one \\L or \\P in a string", NULL;
        memcpy(to, bytes, size);
        to += size;
    }
    if (from == end) return *error = "a quoted string does not end on its line", NULL;
    *to = 0;
    *at = from + 1;
    return start;
}

static char *take_single(char **at, char *end, const char **error)
{
    char *start = *at, *to = start, *from = start + 1;
    for (; from < end; from++) {
        if (*from == '\'' && (from + 1 == end || *++from != '\'')) {
            *at = from + (from + 1 == end && *from == '\'');
            *to = 0;
            return start;
        }
        *to++ = *from;
    }
    return *error = "a quoted string does not end on its line", NULL;
}

char *rapt__yaml_quoted(char **at, char *end, const char **error)
{
    return **at == '"' ? take_double(at, end, error) : take_single(at, end, error);
}

char *rapt__yaml_plain(char *at, char *end, const char **error)
{
    while (at < end && *at == ' ') at++;
    while (at < end && (end[-1] == ' ' || end[-1] == '\t')) end--;
    if (at < end && (*at == '&' || *at == '*'))
        return *error = "anchors and aliases are not supported", NULL;
    if (at < end && *at == '!') return *error = "tags are not supported", NULL;
    if (at < end && (*at == '|' || *at == '>') && end - at <= 2)
        return *error = "multi-line strings are not supported", NULL;
    *end = 0;
    return at;
}
