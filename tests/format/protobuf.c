/* protobuf.c - tests that Protocol Buffers messages are decoded, that violations of the encoding
   are refused, and that messages truncated at any length are handled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"

static const char message[] = "\x08\x96\x01"                                 /* 1: 150 */
                              "\x12\x03"                                     /* 2: "a\0b" */
                              "a\0b"                                         /* */
                              "\x1D\x00\x00\xC0\x3F"                         /* 3: 1.5f */
                              "\x21\x01\x02\x03\x04\x05\x06\x07\x08"         /* 4: fixed64 */
                              "\x28\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01" /* 5: -1 */
                              "\x32\x00"                                     /* 6: "" */
                              "\xF8\xFF\xFF\xFF\x0F\x00";                    /* 2^29 - 1: 0 */
enum { SIZE = sizeof message - 1 };

static const size_t ends[] = {0, 3, 8, 13, 22, 33, 35, SIZE}; /* ends of the fields */

static void test_fields(void **state)
{
    struct protobuf m = {message, SIZE, 0, NULL};
    struct protobuf_field f;
    (void)state;
    assert_true(rapt__protobuf_next(&m, &f));
    assert_true(f.number == 1 && f.wire == PROTOBUF_VARINT && f.value == 150 && !f.bytes);
    assert_true(rapt__protobuf_next(&m, &f));
    assert_true(f.number == 2 && f.wire == PROTOBUF_BYTES && f.size == 3);
    assert_memory_equal(f.bytes, "a\0b", 3);
    assert_true(rapt__protobuf_next(&m, &f));
    assert_true(f.number == 3 && f.wire == PROTOBUF_FIXED32 && rapt__protobuf_float(&f) == 1.5f);
    assert_true(rapt__protobuf_next(&m, &f));
    assert_true(f.number == 4 && f.wire == PROTOBUF_FIXED64 && f.value == 0x0807060504030201u);
    assert_true(rapt__protobuf_next(&m, &f));
    assert_true(f.number == 5 && (int64_t)f.value == -1);
    assert_true(rapt__protobuf_next(&m, &f));
    assert_true(f.number == 6 && f.wire == PROTOBUF_BYTES && f.size == 0 && f.bytes);
    assert_true(rapt__protobuf_next(&m, &f));
    assert_true(f.number == (1u << 29) - 1 && f.value == 0);
    assert_false(rapt__protobuf_next(&m, &f));
    assert_null(m.error);
}

/* Truncated between fields it is a shorter message, elsewhere an error. */
static void test_cuts(void **state)
{
    (void)state;
    for (size_t size = 0, whole = 0; size <= SIZE; size++) {
        char *copy = malloc(size + 1); /* exact size, for AddressSanitizer */
        struct protobuf_field f;
        copy = realloc(copy, size ? size : 1);
        assert_non_null(copy);
        memcpy(copy, message, size);
        struct protobuf m = {copy, size, 0, NULL};
        size_t fields = 0;
        while (rapt__protobuf_next(&m, &f)) fields++;
        if (whole + 1 < sizeof ends / sizeof *ends && ends[whole + 1] == size) whole++;
        assert_int_equal(fields, whole);
        assert_int_equal(m.error == NULL, ends[whole] == size);
        assert_false(rapt__protobuf_next(&m, &f));
        free(copy);
    }
}

static void test_refusals(void **state)
{
    static const struct {
        const char *bytes, *error;
        size_t size;
    } cases[] = {
        {"\x00\x01", "an invalid number", 2},                 /* field 0 */
        {"\x80\x80\x80\x80\x10\x00", "an invalid number", 6}, /* 2^29 */
        {"\x0B\x0C", "a group", 2},                           /* a group */
        {"\x0C", "a group", 1},                               /* the end of a group */
        {"\x0E\x00", "a group", 2},                           /* wire type 6 */
        {"\x0F\x00", "a group", 2},                           /* wire type 7 */
        {"\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02", "more than 64 bits", 11}, /* 2^65 - 1 */
        {"\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", "more than 64 bits", 12},
        {"\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01z", "longer than the rest", 12},
        {"\x12\x02z", "longer than the rest", 3},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct protobuf m = {cases[i].bytes, cases[i].size, 0, NULL};
        struct protobuf_field f;
        assert_false(rapt__protobuf_next(&m, &f));
        assert_non_null(m.error);
        assert_non_null(strstr(m.error, cases[i].error));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
