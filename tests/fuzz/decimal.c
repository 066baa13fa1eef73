/* decimal.c - floats to decimal text and back, compared with printf and strtof in the C locale. The
   first byte chooses what follows: the bits of a float, or text made of characters that occur in
   numbers. */
#include "base/base.h"
#include "fuzz.h"
#include <math.h>

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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
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
