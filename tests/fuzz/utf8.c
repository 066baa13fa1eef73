/* utf8.c - any bytes as UTF-8. Decoding, encoding and validation are compared with table 3-7 of the
   Unicode Standard, "Well-Formed UTF-8 Byte Sequences", copied row by row. */
#include "fuzz.h"
#include "text/text.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
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
