/* utf8.c - every code point is encoded and decoded again; what RFC 3629, section 3, forbids is
   refused. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_code_point),
                                       cmocka_unit_test(forbidden),
                                       cmocka_unit_test(made_printable)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
