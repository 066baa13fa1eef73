/* text.c - what is written and read as text: statuses, versions, floats and characters. */
#include "base/base.h"

#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- status: every status has its own text; messages are truncated to their capacity; the version
   is right. ---- */

static void status_texts(void **state)
{
    (void)state;
    for (int status = RAPT_NOT_FINITE; status <= RAPT_OK; status++)
        for (int other = RAPT_NOT_FINITE; other <= RAPT_OK; other++) {
            const char *a = rapt_status_text((rapt_status)status);
            assert_true(strlen(a) > 3);
            assert_int_equal(strcmp(a, rapt_status_text((rapt_status)other)) == 0, status == other);
        }
    assert_string_equal(rapt_status_text((rapt_status)-99), "unknown status");
}

static void reasons(void **state)
{
    (void)state;
    rapt_message why;
    char longer[2000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    assert_int_equal(rapt__fail(&why, RAPT_BAD_FILE, "%s %d", "seven", 7), RAPT_BAD_FILE);
    assert_string_equal(why.text, "seven 7");
    assert_int_equal(rapt__fail(&why, RAPT_NO_FILE, "%s", longer), RAPT_NO_FILE);
    assert_int_equal(strlen(why.text), sizeof why.text - 1);
    assert_int_equal(rapt__fail(NULL, RAPT_NO_MEMORY, "%s", longer), RAPT_NO_MEMORY);
    memcpy(longer + sizeof why.text - 2, "\xC3\xA9", 2); /* cut within a character */
    rapt__fail(&why, RAPT_BAD_FILE, "%s", longer);
    assert_string_equal(why.text + sizeof why.text - 3, "x?");
    rapt__fail(&why, RAPT_BAD_FILE, "model_type is %s", "mar\x1B]0;x\x07\xFF");
    assert_string_equal(why.text, "model_type is mar?]0;x??");
}

static void version(void **state)
{
    (void)state;
    char text[40];
    snprintf(text, sizeof text, "%d.%d.%d", RAPT_VERSION_MAJOR, RAPT_VERSION_MINOR,
             RAPT_VERSION_PATCH);
    assert_string_equal(rapt_version(), text);
}

/* ---- decimal: floats as text and back: the same bits for every kind of float, in at most 9
   digits, never more than the shortest text that strtof reads back, in every rounding mode. Texts
   are read as the nearest float, as strtof does in the C locale, or refused. ---- */

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Counts the significant digits of a text. */
static int digits_of(const char *text)
{
    int count = 0, zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (count == 0 && *text == '0')) continue;
        zeros = *text == '0' ? zeros + 1 : 0;
        count++;
    }
    return count - zeros;
}

static int shortest(float x)
{
    char text[64];
    for (int n = 1; n < 9; n++) {
        snprintf(text, sizeof text, "%.*e", n - 1, (double)x);
        if (strtof(text, NULL) == x) return n;
    }
    return 9;
}

static void there_and_back(uint32_t bits)
{
    char text[FLOAT_TEXT];
    float x = float_of(bits), back = 1;
    rapt__float_write(x, text);
    if (!rapt__float_read(text, &back) || bits_of(back) != bits)
        fail_msg("%08x: \"%s\" is read as %08x", bits, text, bits_of(back));
    if (bits_of(strtof(text, NULL)) != bits) fail_msg("%08x: strtof disagrees: %s", bits, text);
    if (x != 0 && digits_of(text) > shortest(x)) fail_msg("%08x: %s is too long", bits, text);
}

/* Every power of two with its neighbors, and some thousands in between. */
static void test_there_and_back(void **state)
{
    (void)state;
    for (uint32_t exponent = 0; exponent < 255; exponent++)
        for (int i = -2; i <= 2; i++) {
            uint32_t bits = (exponent << 23) + (uint32_t)i;
            if (bits <= 0x7f7fffff) there_and_back(bits);
        }
    for (uint32_t bits = 0; bits < 64; bits++) there_and_back(bits); /* the smallest */
    for (uint32_t bits = 7919; bits <= 0x7f7fffff; bits += 433494) {
        there_and_back(bits);
        there_and_back(bits | 1u << 31);
    }
    there_and_back(0x80000000);
    there_and_back(0x7f7fffff);
    there_and_back(0xff7fffff);
}

static void test_modes(void **state)
{
    (void)state;
    static const int modes[] = {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    for (int i = 0; i < COUNT(modes); i++)
        for (uint32_t bits = 3; bits <= 0x7f7fffff; bits += 43349477) {
            char text[FLOAT_TEXT], other[FLOAT_TEXT];
            float back;
            rapt__float_write(float_of(bits), text);
            assert_int_equal(fesetround(modes[i]), 0);
            rapt__float_write(float_of(bits), other);
            bool read = rapt__float_read(text, &back);
            fesetround(FE_TONEAREST);
            assert_true(read && bits_of(back) == bits);
            assert_string_equal(text, other);
        }
}

static void test_written(void **state)
{
    (void)state;
    static const struct {
        float x;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0f, "-0"},
        {1, "1"},
        {0.1f, "0.1"},
        {2.75f, "2.75"},
        {1e-5f, "1e-5"},
        {100, "100"},
        {0.0025f, "0.0025"},
        {1e9f, "1e9"},
        {1e-45f, "1e-45"},
        {3.4028235e38f, "3.4028235e38"},
        {16777216, "16777216"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        char text[FLOAT_TEXT];
        rapt__float_write(cases[i].x, text);
        assert_string_equal(text, cases[i].text);
    }
}

/* Reads the nearest float, ties to even, for any number of digits. */
static void test_read(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",
        "0.0",
        "0e99999",
        "-0",
        "1",
        "1.0",
        "1E+2",
        "100e-2",
        "0.000001e6",
        "16777217", /* a tie: down to 2^24 */
        "16777219", /* a tie: up */
        "16777217.000000000000001" /* and a little more */,
        "3.402823466385288598e38",
        "3.4028235677973366e38", /* just below the middle to 2^128 */
        "1e-46",
        "7.006492321624085e-46", /* just below half of the smallest */
        "7.006492321624086e-46", /* just above */
        "1.17549435e-38",
        "0.00000000000000000000000000000000000000000000000000000000001e60",
        "123456789012345678901234567890",
        "1e-99999999999999999999",
    };
    for (int i = 0; i < COUNT(texts); i++) {
        float x = 7;
        if (!rapt__float_read(texts[i], &x)) fail_msg("%s is refused", texts[i]);
        if (bits_of(x) != bits_of(strtof(texts[i], NULL)))
            fail_msg("%s is read as %.9g", texts[i], (double)x);
    }
}

/* Texts of 1 to 20 digits around the decimal point, in which ties are frequent. */
static void test_many_texts(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 200000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        int digits = 1 + (int)(random >> 33) % 20, exponent = (int)(random >> 40) % 60 - 40;
        char text[64];
        float x = 7;
        snprintf(text, sizeof text, "%.*e", digits - 1, ldexp((double)(random >> 39), exponent));
        if (i % 2) snprintf(text, sizeof text, "%.*f", digits, ldexp((double)(random >> 39), -23));
        if (!rapt__float_read(text, &x)) fail_msg("%s is refused", text);
        if (bits_of(x) != bits_of(strtof(text, NULL)))
            fail_msg("%s is read as %.9g", text, (double)x);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "-",
        ".",
        "1.",
        ".5",
        "+1",
        " 1",
        "1 ",
        "1e",
        "1e+",
        "1,5",
        "0x1",
        "nan",
        "infinity",
        "1.5f",
        "--1",
        "1e5.0",
        "1e39",
        "3.4028235677973367e38",
        "1e99999999999999999999",
    };
    for (int i = 0; i < COUNT(texts); i++) {
        float x = 7;
        if (rapt__float_read(texts[i], &x)) fail_msg("%s is read", texts[i]);
        assert_true(x == 7);
    }
    char many[200];
    memset(many, '1', sizeof many);
    many[199] = 0;
    float x = 7;
    assert_false(rapt__float_read(many, &x));
}

/* Numbers in messages look as the user would have typed them. */
static void test_numbers(void **state)
{
    (void)state;
    const struct {
        double x;
        const char *text;
    } known[] = {{0, "0"},
                 {-0.0, "-0"},
                 {(double)0.1f, "0.1"},
                 {(double)1e-5f, "1e-05"},
                 {1 << 20, "1048576"},
                 {-2147483648.0, "-2147483648"},
                 {0.5, "0.5"},
                 {(double)NAN, "nan"},
                 {(double)INFINITY, "inf"},
                 {-(double)INFINITY, "-inf"}};
    for (int i = 0; i < COUNT(known); i++) {
        char text[FLOAT_TEXT];
        const char *got = rapt__number_write(known[i].x, text);
        assert_true(got == text);
        if (strtod(got, NULL) != strtod(known[i].text, NULL) && known[i].x == known[i].x)
            fail_msg("%s for %s", got, known[i].text);
        if (strcmp(known[i].text, "1e-05") != 0) assert_string_equal(got, known[i].text);
        assert_true(strlen(got) <= strlen(known[i].text));
    }
}

/* ---- utf8: every code point is encoded and decoded again; what RFC 3629, section 3, forbids is
   refused. ---- */

static void every_code_point(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        unsigned char bytes[8] = {0};
        uint32_t back = 0;
        size_t length = rapt__utf8_encode(c, bytes);
        assert_int_equal(length, c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
        assert_int_equal(bytes[length], 0);
        bool surrogate = c >= 0xD800 && c < 0xE000;
        assert_int_equal(rapt__utf8_decode(bytes, 8, &back), surrogate ? 0 : length);
        if (surrogate) continue;
        assert_int_equal(back, c);
        for (size_t size = 0; size < length; size++)
            assert_int_equal(rapt__utf8_decode(bytes, size, &back), 0);
        for (size_t i = 0; i < length; i++) assert_int_equal(rapt__utf8_continues(bytes[i]), i > 0);
    }
}

static void forbidden(void **state)
{
    (void)state;
    static const char bytes[][5] = {
        "\x80",
        "\xC0\x80",
        "\xC1\xBF",
        "\xE0\x9F\xBF",
        "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xFF",
        "\xC3(",
        "\xE2\x82(",
    };
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        uint32_t code = 7;
        assert_int_equal(rapt__utf8_decode(bytes[i], 4, &code), 0);
        assert_int_equal(code, 7);
    }
}

static void made_printable(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", ""},
        {"a b~", "a b~"},
        {"K\xC3\xA4tzchen \xE2\x96\x81 \xF0\x9F\x90\x88",
         "K\xC3\xA4tzchen \xE2\x96\x81 \xF0\x9F\x90\x88"},
        {"\x1B[1m\t\n\x7F", "?[1m???"},
        {"\xC2\x9B"
         "1m",
         "??1m"}, /* the same as ESC [ for a terminal */
        {"\xC2\xA0", "\xC2\xA0"},
        {"a\xFF\xC3", "a??"},
        {"\xE2\x96", "??"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[64];
        strcpy(text, rows[i][0]);
        rapt__make_printable(text);
        assert_string_equal(text, rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_texts),
        cmocka_unit_test(reasons),
        cmocka_unit_test(version),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_many_texts),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(every_code_point),
        cmocka_unit_test(forbidden),
        cmocka_unit_test(made_printable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
