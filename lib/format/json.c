/* json.c - splits strict JSON into tokens: punctuation, words, numbers and strings. Strings are
   decoded in place. Source: RFC 8259, sections 6 and 7. */
#include "parsers.h"

#include "base/base.h"

#include <string.h>

enum { DEPTH = 64 }; /* maximum nesting depth of arrays and objects in a skipped value */

static bool fail_json(struct json *json, const char *error)
{
    if (!json->error) json->error = error;
    return false;
}

/* Returns the next byte, or -1 at the end. */
static int peek(const struct json *json)
{
    return json->at < json->size ? json->text[json->at] : -1;
}

static void skip_space(struct json *json)
{
    for (int c = peek(json); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = peek(json))
        json->at++;
}

int rapt__json_peek(struct json *json)
{
    skip_space(json);
    return peek(json);
}

bool rapt__json_next(struct json *json, char wanted)
{
    if (json->error) return false;
    skip_space(json);
    if (peek(json) != wanted) return false;
    json->at++;
    return true;
}

static const char *expected(char wanted)
{
    switch (wanted) {
    case '{':
        return "'{' expected";
    case '}':
        return "',' or '}' expected";
    case '[':
        return "'[' expected";
    case ']':
        return "',' or ']' expected";
    case ':':
        return "':' expected";
    default:
        return "',' expected";
    }
}

bool rapt__json_want(struct json *json, char wanted)
{
    return rapt__json_next(json, wanted) || fail_json(json, expected(wanted));
}

bool rapt__json_end(struct json *json)
{
    if (json->error) return false;
    skip_space(json);
    return json->at == json->size || fail_json(json, "there is text after the value");
}

bool rapt__json_number(struct json *json, uint64_t *value)
{
    if (json->error) return false;
    skip_space(json);
    size_t start = json->at;
    uint64_t sum = 0;
    int c = peek(json);
    if (c < '0' || c > '9') return fail_json(json, "integer expected");
    for (; c >= '0' && c <= '9'; json->at++, c = peek(json)) {
        uint64_t digit = (uint64_t)(c - '0');
        if (sum > (UINT64_MAX - digit) / 10)
            return fail_json(json, "a number does not fit into 64 bits");
        sum = sum * 10 + digit;
    }
    if (json->at - start > 1 && json->text[start] == '0')
        return fail_json(json, "a number begins with 0");
    if (c == '.' || c == 'e' || c == 'E') return fail_json(json, "a number is not an integer");
    *value = sum;
    return true;
}

/* Copies the digits at the current position to offset json->used. Returns the number of digits. */
static size_t copy_digits(struct json *json)
{
    size_t start = json->at;
    for (int c = peek(json); c >= '0' && c <= '9'; c = peek(json))
        json->text[json->used++] = json->text[json->at++];
    return json->at - start;
}

/* If the next byte is `a` or `b`, copies it to offset json->used and returns true. */
static bool copy_one(struct json *json, char a, char b)
{
    int c = peek(json);
    if (c != a && c != b) return false;
    json->text[json->used++] = json->text[json->at++];
    return true;
}

/* Copies the number to offset json->used. The comma, colon or bracket before the number leaves room
   for the terminating 0 of the copy. */
const char *rapt__json_number_text(struct json *json)
{
    if (json->error) return NULL;
    skip_space(json);
    size_t start = json->used;
    copy_one(json, '-', '-');
    bool zero = peek(json) == '0';
    size_t digits = copy_digits(json);
    bool good = digits == 1 || (digits > 1 && !zero);
    if (good && copy_one(json, '.', '.')) good = copy_digits(json) > 0;
    if (good && copy_one(json, 'e', 'E')) {
        if (!copy_one(json, '+', '+')) copy_one(json, '-', '-');
        good = copy_digits(json) > 0;
    }
    if (!good || json->used == json->at) return fail_json(json, "number expected"), NULL;
    json->text[json->used++] = 0;
    return (const char *)json->text + start;
}

/* Reads four hexadecimal digits. */
static bool take_hex(struct json *json, uint32_t *value)
{
    *value = 0;
    for (int i = 0; i < 4; i++, json->at++) {
        int c = peek(json);
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (uint32_t)(c - 'a' + 10);
        else if (c >= 'A' && c <= 'F')
            digit = (uint32_t)(c - 'A' + 10);
        else
            return fail_json(json, "\\u without four hexadecimal digits");
        *value = *value << 4 | digit;
    }
    return true;
}

/* Reads the digits after \u. If they are the first half of a surrogate pair, which represents a
   code point above 0xFFFF, also reads the second half. */
static bool take_unicode(struct json *json, uint32_t *code)
{
    uint32_t high, low;
    if (!take_hex(json, &high)) return false;
    *code = high;
    if (high == 0) return fail_json(json, "a string contains a NUL character");
    if (high < 0xD800 || high > 0xDFFF) return true;
    if (high > 0xDBFF || peek(json) != '\\') return fail_json(json, "an incomplete surrogate pair");
    json->at++;
    if (peek(json) != 'u') return fail_json(json, "an incomplete surrogate pair");
    json->at++;
    if (!take_hex(json, &low)) return false;
    if (low < 0xDC00 || low > 0xDFFF) return fail_json(json, "an incomplete surrogate pair");
    *code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    return true;
}

/* Reads the part of an escape that follows the backslash. */
static bool take_escape(struct json *json, uint32_t *code)
{
    int c = peek(json);
    json->at++;
    switch (c) {
    case '"':
    case '\\':
    case '/':
        *code = (uint32_t)c;
        return true;
    case 'b':
        *code = '\b';
        return true;
    case 'f':
        *code = '\f';
        return true;
    case 'n':
        *code = '\n';
        return true;
    case 'r':
        *code = '\r';
        return true;
    case 't':
        *code = '\t';
        return true;
    case 'u':
        return take_unicode(json, code);
    default:
        json->at--;
        return fail_json(json, "invalid escape sequence");
    }
}

static bool take_utf8(struct json *json, uint32_t *code)
{
    size_t length = rapt__utf8_decode(json->text + json->at, json->size - json->at, code);
    json->at += length;
    return length > 0 || fail_json(json, "invalid UTF-8");
}

const char *rapt__json_string(struct json *json)
{
    if (!rapt__json_next(json, '"')) return fail_json(json, "string expected"), NULL;
    size_t start = json->used;
    for (int c = peek(json); c != '"'; c = peek(json)) {
        uint32_t code = 0;
        if (c < 0x20)
            return fail_json(json, c < 0 ? "a string is not terminated"
                                         : "a control character in a string"),
                   NULL;
        if (c == '\\') json->at++;
        if (!(c == '\\' ? take_escape(json, &code) : take_utf8(json, &code))) return NULL;
        json->used += rapt__utf8_encode(code, json->text + json->used);
    }
    json->at++;
    json->text[json->used++] = 0;
    return (const char *)json->text + start;
}

const char *rapt__json_word(struct json *json)
{
    static const char *const words[] = {"true", "false", "null"};
    if (json->error) return NULL;
    skip_space(json);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i]);
        if (json->size - json->at < size || memcmp(json->text + json->at, words[i], size) != 0)
            continue;
        json->at += size;
        return words[i];
    }
    return fail_json(json, "value expected"), NULL;
}

/* ---- skipping values ---- */

static bool skip_plain(struct json *json)
{
    int c = rapt__json_peek(json);
    if (c == '"') return rapt__json_string(json);
    if (c == '-' || (c >= '0' && c <= '9')) return rapt__json_number_text(json);
    return rapt__json_word(json);
}

/* Skips the key and colon before a value if the container is an object. */
static bool skip_key(struct json *json, char close)
{
    return close == ']' || (rapt__json_string(json) && rapt__json_want(json, ':'));
}

bool rapt__json_skip(struct json *json)
{
    char close[DEPTH];
    int depth = 0;
    do {
        int c = rapt__json_peek(json);
        if (c == '{' || c == '[') {
            if (depth == DEPTH) return fail_json(json, "more than 64 nested arrays and objects");
            rapt__json_want(json, (char)c);
            close[depth++] = c == '{' ? '}' : ']';
            if (!rapt__json_next(json, close[depth - 1])) {
                if (!skip_key(json, close[depth - 1])) return false;
                continue;
            }
            depth--;
        } else if (!skip_plain(json)) {
            return false;
        }
        for (; depth > 0 && !rapt__json_next(json, ','); depth--)
            if (!rapt__json_want(json, close[depth - 1])) return false;
        if (depth > 0 && !skip_key(json, close[depth - 1])) return false;
    } while (depth > 0);
    return true;
}
