/* characters.c - any bytes as characters and numbers. */
#include "base/base.h"
#include "fuzz.h"
#include "text/text.h"

#include <math.h>

/* ---- utf8: any bytes as UTF-8. Decoding, encoding and validation are compared with table 3-7 of
   the Unicode Standard, "Well-Formed UTF-8 Byte Sequences", copied row by row. ---- */

/* Ranges of the first two bytes. Later bytes are 80..BF. */
static const struct row {
    uint8_t first[2], second[2];
    size_t length;
} table[] = {
    {{0x00, 0x7F}, {0, 0}, 1},       {{0xC2, 0xDF}, {0x80, 0xBF}, 2},
    {{0xE0, 0xE0}, {0xA0, 0xBF}, 3}, {{0xE1, 0xEC}, {0x80, 0xBF}, 3},
    {{0xED, 0xED}, {0x80, 0x9F}, 3}, {{0xEE, 0xEF}, {0x80, 0xBF}, 3},
    {{0xF0, 0xF0}, {0x90, 0xBF}, 4}, {{0xF1, 0xF3}, {0x80, 0xBF}, 4},
    {{0xF4, 0xF4}, {0x80, 0x8F}, 4},
};

static bool within(uint8_t byte, const uint8_t range[2])
{
    return byte >= range[0] && byte <= range[1];
}

/* Returns the length of the well-formed sequence at the start, or 0, and its code point in code. */
static size_t well_formed(const uint8_t *b, size_t size, uint32_t *code)
{
    static const uint8_t others[2] = {0x80, 0xBF};
    static const uint32_t lead_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t n = table[i].length;
        if (size < n || !within(b[0], table[i].first)) continue;
        if (n > 1 && !within(b[1], table[i].second)) continue;
        if ((n > 2 && !within(b[2], others)) || (n > 3 && !within(b[3], others))) continue;
        *code = b[0] & lead_bits[n];
        for (size_t k = 1; k < n; k++) *code = *code * 64 + (b[k] - 0x80u);
        return n;
    }
    return 0;
}

static void check_at(const uint8_t *b, size_t size)
{
    uint32_t wanted = 0, got = 0x12345678;
    size_t length = well_formed(b, size, &wanted), at = 0;
    require(rapt__utf8_decode(b, size, &got) == length, "length of a character");
    require(got == (length ? wanted : 0x12345678u), "code point, unchanged if there is none");
    uint32_t next = rapt__utf8_next((const char *)b, size, &at);
    require(at == (length ? length : 1), "the next character's end");
    require(next == (length ? wanted : 0xDC00u + b[0]), "the next character");
    if (length == 0) return;
    uint8_t written[4] = {0};
    require(rapt__utf8_encode(wanted, written) == length, "length written");
    require(memcmp(written, b, length) == 0, "bytes written");
}

int fuzz_utf8(const uint8_t *bytes, size_t size)
{
    if (size == 0 || size > 1 << 12) return 0;
    uint8_t *text = exact_copy(bytes, size);
    size_t valid = 0;
    uint32_t code;
    for (size_t n; valid < size && (n = well_formed(text + valid, size - valid, &code)) > 0;)
        valid += n;
    require(rapt_utf8_valid((rapt_text){(char *)text, size}) == valid, "the first bad byte");
    for (size_t at = 0; at < size; at++) check_at(text + at, size - at);
    free(text);
    return 0;
}

/* ---- lower: any bytes in lower case. Each character is compared with the mapping in utf8proc's
   table, if the library has it. The result has at most twice the bytes, bytes that are not UTF-8
   stay, and splitting a text does not change the result unless the position of a sigma matters.
   ---- */

enum { BYTES = 300, DOTTED_I = 0x130, SIGMA = 0x3A3, SMALL_SIGMA = 0x3C3, FINAL_SIGMA = 0x3C2 };

/* Characters that are special cases or part of one. */
static const uint32_t special[] = {
    SIGMA,  DOTTED_I, 0x307,   0x27, 0x2E,   0xDF,   0x1E9E, 0x212A, 0x2126, 0x1C4,  0x1C5, 0x13A0,
    0xAB70, 0x10400,  0x1E900, 0xAD, 0x2160, 0x24B6, 0x391,  0x410,  0x531,  0x10A0, 0x23A, 0x2C62};

static size_t take_text(struct feed *in, char *text)
{
    int mode = take_below(in, 3);
    size_t size = 0;
    while (in->left && size + 4 < BYTES) {
        uint8_t byte = take_byte(in);
        if (mode == 0 || byte < 128)
            text[size++] = (char)byte;
        else if (byte < 220)
            size +=
                rapt__utf8_encode(special[byte % (sizeof special / sizeof *special)], text + size);
        else
            size += rapt__utf8_encode(take_u32(in) % 0x1F000, text + size);
    }
    return size;
}

/* Checks that a character by itself becomes what it became in the text. Not used for a sigma. */
static void check_alone(const char *bytes, size_t size, uint32_t c, const char *out, size_t length)
{
    char alone[16];
    size_t wanted = rapt__lower((rapt_text){bytes, size}, alone);
    require(wanted == length, "length of a character's lower case");
    if (c == SIGMA) return;
    require(memcmp(alone, out, length) == 0, "a character's lower case");
    if (c >= 0xDC00 && c < 0xE000) require(memcmp(bytes, out, length) == 0, "bad bytes stay");
    if (c < 0x80) require(out[0] == (c >= 'A' && c <= 'Z' ? (char)(c + 32) : (char)c), "ASCII");
}

static void check(const char *text, size_t size)
{
    char *out = malloc(2 * size + 1);
    require(out != NULL, "memory for the test itself");
    size_t length = rapt__lower((rapt_text){text, size}, out), from = 0, to = 0;
    require(length <= 2 * size, "at most twice the bytes");
    while (from < size) {
        size_t begin = from, at = to;
        uint32_t c = rapt__utf8_next(text, size, &from);
        require(to < length, "no character is missing");
        uint32_t low = rapt__utf8_next(out, length, &to);
        if (c == DOTTED_I)
            require(low == 'i' && rapt__utf8_next(out, length, &to) == 0x307, "dotted capital i");
        if (c == SIGMA) require(low == SMALL_SIGMA || low == FINAL_SIGMA, "sigma");
        check_alone(text + begin, from - begin, c, out + at, to - at);
    }
    require(to == length, "and none too many");
    free(out);
}

int fuzz_lower(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    char text[BYTES];
    size_t length = take_text(&in, text);
    char *exact = exact_copy(text, length);
    check(exact, length);
    free(exact);
    return 0;
}

/* ---- decimal: floats to decimal text and back, compared with printf and strtof in the C locale.
   The first byte chooses what follows: the bits of a float, or text made of characters that occur
   in numbers. ---- */

static bool same(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* Counts the digits of a number from the first to the last that is not 0. */
static int significant(const char *text)
{
    int count = 0, all = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (all == 0 && *text == '0')) continue;
        all++;
        if (*text != '0') count = all;
    }
    return count;
}

/* Returns the smallest number of digits with which printf writes x so that it reads back. */
static int fewest(float x)
{
    for (int n = 0; n < 9; n++) {
        char text[32];
        snprintf(text, sizeof text, "%.*e", n, (double)x);
        if (same(strtof(text, NULL), x)) return significant(text);
    }
    return 9;
}

static void check_float(float x)
{
    char text[FLOAT_TEXT];
    float back = 0;
    if (!isfinite(x)) return;
    memset(text, '?', sizeof text);
    rapt__float_write(x, text);
    require(memchr(text, 0, sizeof text) != NULL, "the text fits");
    require(same(strtof(text, NULL), x), "strtof reads back what was written");
    require(rapt__float_read(text, &back) && same(back, x), "it is read back");
    require(significant(text) <= fewest(x), "no more digits than needed");
}

static const char *digits_end(const char *at)
{
    while (*at >= '0' && *at <= '9') at++;
    return at;
}

/* Tells whether the text is -? digits [. digits] [(e | E) [+ | -] digits]. */
static bool is_number(const char *text)
{
    const char *at = text + (*text == '-'), *end = digits_end(at);
    if (end == at) return false;
    if (*end == '.') {
        at = end + 1, end = digits_end(at);
        if (end == at) return false;
    }
    if (*end == 'e' || *end == 'E') {
        at = end + 1;
        at += *at == '-' || *at == '+';
        end = digits_end(at);
        if (end == at) return false;
    }
    return *end == 0;
}

static int digits_of(const char *text) /* like significant(), but E also ends the digits */
{
    char copy[512];
    snprintf(copy, sizeof copy, "%s", text);
    copy[strcspn(copy, "eE")] = 0;
    return significant(copy);
}

static void check_text(const char *text)
{
    float got = -77, wanted = strtof(text, NULL);
    bool good = is_number(text) && isfinite(wanted) && digits_of(text) <= 128;
    require(rapt__float_read(text, &got) == good, "which texts are numbers");
    require(same(got, good ? wanted : -77), "the nearest float, or no change");
}

int fuzz_decimal(const uint8_t *bytes, size_t size)
{
    static const char letters[] = "0123456789012345678900000.--+eE";
    char text[401];
    struct feed in = {bytes, size};
    int mode = take_below(&in, 4);
    if (mode == 0) {
        for (int i = 0; i < 4 && in.left >= 4; i++) check_float(take_bits(&in));
        return 0;
    }
    size_t count = in.left < 400 ? in.left : 400;
    for (size_t i = 0; i < count; i++) {
        uint8_t byte = take_byte(&in);
        text[i] = mode == 1 ? (char)byte : letters[byte % (sizeof letters - 1)];
    }
    text[count] = 0;
    check_text(text);
    return 0;
}
