/* dtype.c - tests the conversion to float of every F16 and BF16, and of special doubles and
   floats. */
#include "craft.h"

#include <math.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Reads data as count elements of a dtype. */
static float *convert(const char *dtype, const void *data, size_t size, size_t count)
{
    char header[128];
    int n = sprintf(header, "{\"a\":{\"dtype\":\"%s\",\"shape\":[%zu],\"data_offsets\":[0,%zu]}}",
                    dtype, count, size);
    struct bytes b = craft((uint64_t)n, header, (size_t)n, size);
    memcpy(b.data + 8 + n, data, size);
    struct tensor_file *file = NULL;
    assert_int_equal(rapt__tensors_open_memory(&file, b.data, b.size, NULL, NULL), RAPT_OK);
    const struct tensor_entry *e = rapt__tensors_find(file, "a");
    float *out = malloc(count * sizeof *out), part[3];
    assert_non_null(out);
    assert_int_equal(rapt__tensors_read(file, e, 0, count, out, NULL), RAPT_OK);
    for (size_t i = 0; i + 3 <= count; i += 4097) { /* a part equals that of the whole */
        assert_int_equal(rapt__tensors_read(file, e, i, 3, part, NULL), RAPT_OK);
        assert_memory_equal(part, out + i, sizeof part);
    }
    assert_int_equal(rapt__tensors_read(file, e, count, 0, NULL, NULL), RAPT_OK);
    rapt__tensors_close(file);
    free(b.data);
    return out;
}

/* Implements the definition: (-1)^s 2^(e-15) (1 + m/1024), or (-1)^s 2^-14 m/1024. */
static void test_f16(void **state)
{
    (void)state;
    unsigned char data[2 * 65536];
    for (int i = 0; i < 65536; i++)
        data[2 * i] = (unsigned char)i, data[2 * i + 1] = (unsigned char)(i >> 8);
    float *out = convert("F16", data, sizeof data, 65536);
    for (int i = 0; i < 65536; i++) {
        int e = i >> 10 & 31, m = i & 1023;
        double value = e ? ldexp(1 + m / 1024.0, e - 15) : ldexp(m / 1024.0, -14);
        if (e == 31) value = m ? (double)NAN : HUGE_VAL;
        assert_int_equal(isnan(out[i]) != 0, e == 31 && m != 0);
        assert_int_equal(signbit(out[i]) != 0, i >> 15);
        if (!isnan(out[i])) assert_true(out[i] == (float)(i >> 15 ? -value : value));
    }
    free(out);
}

static void test_bf16(void **state)
{
    (void)state;
    unsigned char data[2 * 65536];
    for (int i = 0; i < 65536; i++)
        data[2 * i] = (unsigned char)i, data[2 * i + 1] = (unsigned char)(i >> 8);
    float *out = convert("BF16", data, sizeof data, 65536);
    for (int i = 0; i < 65536; i++) assert_int_equal(bits_of(out[i]), (uint32_t)i << 16);
    assert_true(out[0x3F80] == 1 && out[0xC040] == -3 && isinf(out[0x7F80]) && isnan(out[0x7FC0]));
    free(out);
}

/* Floats are copied bit for bit, from little-endian bytes. */
static void test_f32(void **state)
{
    (void)state;
    static const uint32_t bits[] = {0,          0x80000000, 1,          0x807FFFFF, 0x00800000,
                                    0x3F800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000,
                                    0x7F800001, 0xFFFFFFFF, 0x01020304};
    enum { COUNT = sizeof bits / sizeof *bits };
    unsigned char data[4 * COUNT];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(bits[i / 4] >> 8 * (i % 4));
    float *out = convert("F32", data, sizeof data, COUNT);
    for (size_t i = 0; i < COUNT; i++) assert_int_equal(bits_of(out[i]), bits[i]);
    free(out);
}

static void test_f64(void **state)
{
    (void)state;
    static const struct {
        uint64_t from;
        uint32_t to;
    } rows[] = {
        {0, 0},
        {0x8000000000000000, 0x80000000},
        {0x3FF0000000000000, 0x3F800000},
        {0xC008000000000000, 0xC0400000},
        {0x3FB999999999999A, 0x3DCCCCCD}, /* 0.1 */
        {0x3FF0000010000000, 0x3F800000}, /* a tie: rounds to even */
        {0x3FF0000030000000, 0x3F800002},
        {0x3FF0000010000001, 0x3F800001},
        {0x36A0000000000000, 0x00000001}, /* 2^-149 */
        {0x3690000000000000, 0x00000000}, /* half of that: a tie, rounds to even */
        {0x0000000000000001, 0x00000000},
        {0x47EFFFFFE0000000, 0x7F7FFFFF}, /* the largest float */
        {0x47EFFFFFF0000000, 0x7F800000},
        {0x7FEFFFFFFFFFFFFF, 0x7F800000},
        {0xFFF0000000000000, 0xFF800000},
    };
    enum { COUNT = sizeof rows / sizeof *rows };
    unsigned char data[8 * (COUNT + 1)];
    for (size_t i = 0; i < 8 * COUNT; i++)
        data[i] = (unsigned char)(rows[i / 8].from >> 8 * (i % 8));
    for (int i = 0; i < 8; i++) data[8 * COUNT + i] = (unsigned char)(0x7FF8000000000000 >> 8 * i);
    float *out = convert("F64", data, sizeof data, COUNT + 1);
    for (size_t i = 0; i < COUNT; i++)
        if (bits_of(out[i]) != rows[i].to) fail_msg("row %zu: %08x", i, (unsigned)bits_of(out[i]));
    assert_true(isnan(out[COUNT]));
    free(out);
}

/* All other types are listed with their sizes, and refused by name when they are read. */
static void test_others(void **state)
{
    (void)state;
    static const char *const names[] = {
        "BOOL",    "U8",      "I8",      "U16",     "I16",         "U32",
        "I32",     "U64",     "I64",     "F4",      "C64",         "F6_E2M3",
        "F6_E3M2", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E5M2FNUZ", "F8_E4M3FNUZ"};
    static const int bits[] = {8, 8, 8, 16, 16, 32, 32, 64, 64, 4, 64, 6, 6, 8, 8, 8, 8, 8};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int change = -1; change <= 1; change++) {
            char header[128];
            int size = 4 * bits[i] / 8 + change;
            int n =
                sprintf(header, "{\"a\":{\"dtype\":\"%s\",\"shape\":[4],\"data_offsets\":[0,%d]}}",
                        names[i], size);
            struct bytes b = craft((uint64_t)n, header, (size_t)n, (size_t)size);
            struct tensor_file *file = NULL;
            assert_int_equal(rapt__tensors_open_memory(&file, b.data, b.size, NULL, NULL),
                             change ? RAPT_BAD_FILE : RAPT_OK);
            if (file) {
                float value;
                rapt_message why = {""};
                const struct tensor_entry *e = rapt__tensors_entry(file, 0);
                assert_string_equal(e->dtype, names[i]);
                assert_int_equal(rapt__tensors_read(file, e, 0, 1, &value, &why), RAPT_BAD_FILE);
                assert_non_null(strstr(why.text, names[i]));
                assert_non_null(strstr(why.text, "\"a\""));
            }
            rapt__tensors_close(file);
            free(b.data);
        }
}

/* Integers of every type, including the minimum and maximum. */
static void test_integers(void **state)
{
    (void)state;
    enum { COUNT = 4 };
    static const struct {
        const char *dtype;
        size_t bytes;
        int64_t values[COUNT];
    } rows[] = {
        {"BOOL", 1, {0, 1, 0, 1}},
        {"U8", 1, {0, 1, 128, UINT8_MAX}},
        {"I8", 1, {0, 1, INT8_MIN, INT8_MAX}},
        {"U16", 2, {0, 258, 32768, UINT16_MAX}},
        {"I16", 2, {-1, 258, INT16_MIN, INT16_MAX}},
        {"U32", 4, {0, 16909060, 2147483648, UINT32_MAX}},
        {"I32", 4, {-1, 16909060, INT32_MIN, INT32_MAX}},
        {"I64", 8, {-1, 72623859790382856, INT64_MIN, INT64_MAX}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char header[128];
        size_t size = COUNT * rows[i].bytes;
        int n = sprintf(header, "{\"a\":{\"dtype\":\"%s\",\"shape\":[4],\"data_offsets\":[0,%zu]}}",
                        rows[i].dtype, size);
        struct bytes b = craft((uint64_t)n, header, (size_t)n, size);
        for (size_t k = 0; k < size; k++)
            b.data[8 + (size_t)n + k] =
                (unsigned char)((uint64_t)rows[i].values[k / rows[i].bytes] >>
                                8 * (k % rows[i].bytes));
        struct tensor_file *file = NULL;
        int64_t got[COUNT];
        assert_int_equal(rapt__tensors_open_memory(&file, b.data, b.size, NULL, NULL), RAPT_OK);
        const struct tensor_entry *e = rapt__tensors_find(file, "a");
        assert_int_equal(rapt__tensors_integers(file, e, 0, COUNT, got, NULL), RAPT_OK);
        assert_memory_equal(got, rows[i].values, sizeof got);
        rapt__tensors_close(file);
        free(b.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f16), cmocka_unit_test(test_bf16),   cmocka_unit_test(test_f32),
        cmocka_unit_test(test_f64), cmocka_unit_test(test_others), cmocka_unit_test(test_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
