/* lower.c - any bytes in lower case. Each character is compared with the mapping in utf8proc's
   table, if the library has it. The result has at most twice the bytes, bytes that are not UTF-8
   stay, and splitting a text does not change the result unless the position of a sigma matters. */
#include "fuzz.h"
#include "text/text.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    char text[BYTES];
    size_t length = take_text(&in, text);
    char *exact = exact_copy(text, length);
    check(exact, length);
    free(exact);
    return 0;
}
