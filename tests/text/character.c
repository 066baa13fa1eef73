/* character.c - decodes the next character at every code point and after every kind of invalid
   byte. */
#include "help.h"

/* The table of RFC 3629, section 4, as ranges of bytes. */
static const struct form {
    int length;
    unsigned char low[4], high[4];
} forms[] = {
    {1, {0x00}, {0x7F}},
    {2, {0xC2, 0x80}, {0xDF, 0xBF}},
    {3, {0xE0, 0xA0, 0x80}, {0xE0, 0xBF, 0xBF}},
    {3, {0xE1, 0x80, 0x80}, {0xEC, 0xBF, 0xBF}},
    {3, {0xED, 0x80, 0x80}, {0xED, 0x9F, 0xBF}},
    {3, {0xEE, 0x80, 0x80}, {0xEF, 0xBF, 0xBF}},
    {4, {0xF0, 0x90, 0x80, 0x80}, {0xF0, 0xBF, 0xBF, 0xBF}},
    {4, {0xF1, 0x80, 0x80, 0x80}, {0xF3, 0xBF, 0xBF, 0xBF}},
    {4, {0xF4, 0x80, 0x80, 0x80}, {0xF4, 0x8F, 0xBF, 0xBF}},
};

/* Returns the size of the character that begins here, or 0 if the bytes are invalid. */
static size_t form_length(const unsigned char *bytes, size_t size)
{
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        size_t length = (size_t)forms[f].length, i = 0;
        while (i < length && i < size && bytes[i] >= forms[f].low[i] &&
               bytes[i] <= forms[f].high[i])
            i++;
        if (i == length) return length;
    }
    return 0;
}

static void check(const unsigned char *bytes, size_t size)
{
    size_t valid = 0, length;
    while (valid < size && (length = form_length(bytes + valid, size - valid)) > 0) valid += length;
    assert_int_equal(rapt_utf8_valid((rapt_text){(const char *)bytes, size}), valid);
    for (size_t at = 0; at < size;) {
        size_t before = at;
        uint32_t c = rapt__utf8_next((const char *)bytes, size, &at);
        length = form_length(bytes + before, size - before);
        assert_int_equal(at - before, length ? length : 1);
        if (!length) assert_int_equal(c, 0xDC00 + bytes[before]);
    }
}

static void every_code_point(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        if (c >= 0xD800 && c < 0xE000) continue;
        unsigned char bytes[4];
        size_t size = 0, at = 0;
        if (c < 0x80) {
            bytes[size++] = (unsigned char)c;
        } else if (c < 0x800) {
            bytes[size++] = (unsigned char)(0xC0 + c / 64);
        } else if (c < 0x10000) {
            bytes[size++] = (unsigned char)(0xE0 + c / 4096);
            bytes[size++] = (unsigned char)(0x80 + c / 64 % 64);
        } else {
            bytes[size++] = (unsigned char)(0xF0 + c / 262144);
            bytes[size++] = (unsigned char)(0x80 + c / 4096 % 64);
            bytes[size++] = (unsigned char)(0x80 + c / 64 % 64);
        }
        if (c >= 0x80) bytes[size++] = (unsigned char)(0x80 + c % 64);
        assert_int_equal(rapt__utf8_next((const char *)bytes, size, &at), c);
        assert_int_equal(at, size);
        assert_int_equal(rapt_utf8_valid((rapt_text){(const char *)bytes, size}), size);
        assert_int_equal(rapt_utf8_valid((rapt_text){(const char *)bytes, size - 1}), 0);
    }
}

static void every_two_bytes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 0x10000; i++) {
        unsigned char bytes[4] = {(unsigned char)(i >> 8), (unsigned char)i, 0x80, 0xBF};
        for (size_t size = 1; size <= 4; size++) check(bytes, size);
    }
}

static void random_bytes(void **state)
{
    (void)state;
    static const unsigned char likely[] = {0x20, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0,
                                           0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xED,
                                           0xEF, 0xF0, 0xF3, 0xF4, 0xF5, 0xFF};
    uint64_t seed = 1;
    for (int round = 0; round < 100000; round++) {
        unsigned char bytes[12];
        size_t size = below(&seed, 13);
        for (size_t i = 0; i < size; i++) bytes[i] = likely[below(&seed, sizeof likely)];
        check(bytes, size);
    }
}

static void where_it_breaks(void **state)
{
    (void)state;
    assert_int_equal(rapt_utf8_valid(text_of("")), 0);
    assert_int_equal(rapt_utf8_valid((rapt_text){NULL, 0}), 0);
    assert_int_equal(rapt_utf8_valid((rapt_text){"a\0b", 3}), 3);
    assert_int_equal(rapt_utf8_valid(text_of("caf\xC3\xA9 \xC3")), 6);
    assert_int_equal(rapt_utf8_valid(text_of("ok \xED\xA0\x80")), 3);
}

static void white_space(void **state)
{
    (void)state;
    int spaces = 0;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) spaces += rapt__utf8_space(c);
    assert_int_equal(spaces, 29); /* as many as in Python */
    static const uint32_t some[] = {9, 10, 13, 0x1C, 0x20, 0x85, 0xA0, 0x2003, 0x2029, 0x3000};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) assert_true(rapt__utf8_space(some[i]));
    static const uint32_t none[] = {0, 0x1B, 0x200B, 0xFEFF, 0x180E, 'x'};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) assert_false(rapt__utf8_space(none[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point), cmocka_unit_test(every_two_bytes),
        cmocka_unit_test(random_bytes),     cmocka_unit_test(where_it_breaks),
        cmocka_unit_test(white_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
