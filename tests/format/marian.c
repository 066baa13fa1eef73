/* marian.c - tests Marian's model.bin: hand-made files with both families of type codes, refused
   mistakes, and reading back what was written. */
#define _XOPEN_SOURCE 700

#include "craft.h"

#include <math.h>

struct item {
    const char *name;
    uint64_t type;
    int rank;
    unsigned shape[3];
    const void *data;
    uint64_t size, padded; /* bytes at data; bytes of the item */
};

static struct bytes make(const struct item *items, size_t count, uint64_t padding)
{
    struct bytes b = {NULL, 0};
    put_number(&b, 1, 8);
    put_number(&b, count, 8);
    for (size_t i = 0; i < count; i++) {
        put_number(&b, strlen(items[i].name) + 1, 8);
        put_number(&b, items[i].type, 8);
        put_number(&b, (unsigned)items[i].rank, 8);
        put_number(&b, items[i].padded, 8);
    }
    for (size_t i = 0; i < count; i++) put_bytes(&b, items[i].name, strlen(items[i].name) + 1);
    for (size_t i = 0; i < count; i++)
        for (int d = 0; d < items[i].rank; d++) put_number(&b, items[i].shape[d], 4);
    put_number(&b, padding, 8);
    put_zeros(&b, padding);
    for (size_t i = 0; i < count; i++) {
        put_bytes(&b, items[i].data, items[i].size);
        put_zeros(&b, items[i].padded - items[i].size);
    }
    return b;
}

/* A 2 x 3 matrix with the scale 2: row r, column c has the value 10 r + c. */
static const char by_columns[] = "\0\x14\x02\x16\x04\x18\0\0\0\x40"; /* 0 20 2 22 4 24, 2.0f */
static const char by_rows[] = "\0\x02\x04\x14\x16\x18\0\0\0\x40";
static const float matrix[] = {0, 1, 2, 10, 11, 12};
static const char half_float[] = "\0\0\0\x3F", half_narrow[] = "\x7F\0\0\x7E\x43"; /* 127, 254 */
static const char text[] = "dim-emb: 4\n";

static struct bytes make_usual(uint64_t narrow, uint64_t wide)
{
    const char wide_columns[] = "\0\0\x14\0\x02\0\x16\0\x04\0\x18\0\0\0\0\x40";
    const struct item items[] = {
        {"F0::decoder_Wq", narrow, 2, {2, 3}, by_columns, 10, 256},
        {"encoder_Wemb", narrow, 2, {2, 3}, by_rows, 10, 10},
        {"Wide_W", wide, 2, {2, 3}, wide_columns, 16, 16},
        {"decoder_Wq_QuantMultA", 0x404, 1, {1}, half_float, 4, 256},
        {"encoder_Wemb_QuantMultA", narrow, 2, {1, 1}, half_narrow, 5, 256},
        {"none_QuantMultA", 0x404, 1, {1}, half_float, 4, 4},
        {"b", 0x404, 2, {1, 1}, half_float, 4, 8},
        {"special:model.yml", 0x101, 1, {12}, text, 12, 256},
    };
    return make(items, sizeof items / sizeof *items, 13);
}

static void check_matrix(const struct tensor_file *file, const char *name, bool transposed)
{
    float data[6];
    const struct tensor_entry *e = rapt__tensors_find(file, name);
    assert_non_null(e);
    assert_true(e->rank == 2 && e->shape[0] == 2 && e->shape[1] == 3);
    assert_true(e->transposed == transposed && e->scales == 1 && e->scale == 2);
    assert_int_equal(rapt__tensors_read(file, e, 0, 6, data, NULL), RAPT_OK);
    assert_memory_equal(data, matrix, sizeof data);
    for (size_t first = 0; first < 6; first++)
        for (size_t count = 0; first + count <= 6; count++) {
            int64_t whole[6];
            assert_int_equal(rapt__tensors_read(file, e, first, count, data, NULL), RAPT_OK);
            if (count) assert_memory_equal(data, matrix + first, count * sizeof *data);
            assert_int_equal(rapt__tensors_integers(file, e, first, count, whole, NULL), RAPT_OK);
            for (size_t i = 0; i < count; i++)
                assert_int_equal(whole[i], (int64_t)(2 * matrix[first + i]));
        }
}

static void test_types(void **state)
{
    (void)state;
    for (int upstream = 0; upstream < 2; upstream++) {
        struct bytes b = upstream ? make_usual(0x10001, 0x10002) : make_usual(0x4101, 0x4102);
        struct tensor_file *file = NULL;
        rapt_message why = {""};
        if (rapt__tensors_open_any_memory(&file, b.data, b.size, NULL, &why))
            fail_msg("%s", why.text);
        assert_int_equal(rapt__tensors_container(file), CONTAINER_MARIAN);
        assert_int_equal(rapt__tensors_count(file), 7);
        check_matrix(file, "decoder_Wq", true);
        check_matrix(file, "encoder_Wemb", false);
        check_matrix(file, "Wide_W", true);
        const struct tensor_entry *e = rapt__tensors_find(file, "decoder_Wq");
        assert_true(e->alpha == 0.5f);
        assert_int_equal(rapt__tensors_find(file, "none_QuantMultA")->use, TENSOR_ALPHA);
        assert_int_equal(rapt__tensors_find(file, "decoder_Wq_QuantMultA")->use, TENSOR_ALPHA);
        assert_int_equal(rapt__tensors_find(file, "encoder_Wemb_QuantMultA")->use, TENSOR_ALPHA);
        assert_true(rapt__tensors_find(file, "encoder_Wemb")->alpha == 0.5f);
        assert_true(rapt__tensors_find(file, "Wide_W")->alpha == 0);
        assert_string_equal(rapt__tensors_metadata(file, "special:model.yml"), text);
        rapt__tensors_close(file);
        refuse_beginnings(&b);
        assert_true(damage_bytes(&b, 5000) > 100);
        fail_allocations(&b, 4);
        put_number(&b, 0, 1);
        refuse(&b, "there are bytes after");
        free(b.data);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        struct item item;
        const char *reason;
    } rows[] = {
        {{"a", 0x404, 2, {1, 1}, half_float, 4, 4}, NULL},
        {{"x", 0x404, 2, {1, 1}, half_float, 4, 4}, "\"x\" occurs twice"},
        {{"F0::x", 0x404, 2, {1, 1}, half_float, 4, 4}, "\"x\" occurs twice"},
        {{"F0::", 0x404, 2, {1, 1}, half_float, 4, 4}, "has no name"},
        {{"\xC0", 0x404, 2, {1, 1}, half_float, 4, 4}, "not UTF-8"},
        {{"a", 0x404, 2, {1, 2}, half_float, 4, 4}, "\"a\" has too few bytes"},
        {{"a", 0x404, 3, {0x7FFFFFFF, 0x7FFFFFFF, 4}, half_float, 4, 4}, "overflows"},
        {{"a", 0x404, 2, {0x80000000u, 0}, half_float, 4, 4},
         "a dimension that is negative or too large"},
        {{"a", 0x403, 2, {1, 1}, half_float, 4, 4}, "the unknown type 0x403"},
        {{"a", 0x1801, 2, {1, 1}, half_float, 4, 4},
         "packed8avx2, a processor-specific memory layout"},
        {{"a", 0x11001, 2, {1, 1}, half_float, 4, 4},
         "intgemm8avx2, a processor-specific memory layout"},
        {{"a", 0x14002, 2, {1, 1}, half_float, 4, 4},
         "intgemm16sse2, a processor-specific memory layout"},
        {{"a", 0x11002, 2, {1, 1}, half_float, 4, 4},
         "intgemm16avx2, a processor-specific memory layout"},
        {{"a", 0x12002, 2, {1, 1}, half_float, 4, 4},
         "intgemm16avx512, a processor-specific memory layout"},
        {{"a_W", 0x4101, 2, {1, 1}, half_float, 4, 4}, "\"a_W\" has too few bytes"},
        {{"a_W", 0x4101, 1, {2}, by_rows, 10, 10}, "\"a_W\" is quantized, but not a matrix"},
        {{"special:a", 0x101, 1, {2}, "\xFF", 2, 2}, "\"special:a\" is not UTF-8"},
        {{"a_QuantMultA", 0x404, 1, {2}, by_rows, 8, 8},
         "is not a single F32, intgemm8 or intgemm16 number"},
        {{"a_QuantMultA", 0x101, 1, {1}, by_rows, 1, 1},
         "is not a single F32, intgemm8 or intgemm16 number"},
        {{"a_QuantMultA", 0x4101, 2, {2, 1}, by_rows, 6, 6},
         "is not a single F32, intgemm8 or intgemm16 number"},
        {{"a_QuantMultA", 0x404, 1, {1}, "\0\0\x80\xFF", 4, 4}, "is not positive and finite"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct item items[] = {{"x", 0x404, 1, {1}, half_float, 4, 4}, rows[i].item};
        struct bytes b = make(items, 2, 0);
        if (rows[i].reason)
            refuse(&b, rows[i].reason);
        else
            assert_int_equal(try_any(b.data, b.size, NULL), RAPT_OK);
        free(b.data);
    }
}

/* Checks the message after one number in the header of an item was replaced. */
static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint64_t value;
        const char *reason;
    } rows[] = {
        {0, 2, "version 2 of Marian's model.bin is not supported; only version 1 is"},
        {8, UINT64_MAX, "the file is too short for its number of tensors"},
        {8, 2, ""},
        {16, 0, "a name is not null-terminated"},
        {16, 1, "a name is not null-terminated"},
        {16, UINT64_MAX, "names or shapes are longer"},
        {32, 9, ""},
        {32, UINT64_MAX, "names or shapes are longer"},
        {40, UINT64_MAX, "x: 18446744073709551615 bytes are needed"},
        {54, UINT64_MAX, "the padding: 18446744073709551615 bytes"},
        {54, 1, "x: 4 bytes are needed; 3 are left"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct item item = {"x", 0x404, 1, {1}, half_float, 4, 4};
        struct bytes b = make(&item, 1, 0);
        assert_int_equal(try_any(b.data, b.size, NULL), RAPT_OK);
        for (int k = 0; k < 8; k++)
            b.data[rows[i].at + (size_t)k] = (unsigned char)(rows[i].value >> 8 * k);
        refuse(&b, rows[i].reason);
        free(b.data);
    }
}

/* ---- writing ---- */

static float value(size_t tensor, size_t i)
{
    return (float)sin((double)(tensor * 1000 + i)) * (float)(1 + tensor);
}

static void fill(const struct tensor_source *source, size_t first, size_t count, float *data)
{
    for (size_t i = 0; i < count; i++) data[i] = value(source->index, first + i);
}

static const struct tensor_source sources[] = {
    {"encoder_l1_self_Wq", 2, {48, 33}, fill, NULL, 0, 0, NULL},
    {"encoder_l1_self_bq", 2, {1, 33}, fill, NULL, 1, 0, NULL},
    {"decoder_Wemb", 2, {35, 48}, fill, NULL, 2, 0, NULL},
    {"encoder_l1_ffn_W1", 2, {300, 400}, fill, NULL, 3, 0, NULL}, /* more than one chunk */
    {"x_Wxyz", 2, {5, 5}, fill, NULL, 4, 0, NULL},                /* not one of them */
    {"zeros_W", 2, {0, 4}, fill, NULL, 5, 0, NULL},
};
enum { SOURCES = sizeof sources / sizeof *sources };

static struct tensor_file *written(const char *path, enum marian_precision precision)
{
    struct tensor_file *file = NULL;
    rapt_message why = {""};
    if (rapt__marian_write(path, sources, SOURCES, text, precision, NULL, &why))
        fail_msg("%s", why.text);
    if (rapt__tensors_open_any(&file, path, NULL, &why)) fail_msg("%s", why.text);
    assert_int_equal(rapt__tensors_count(file), SOURCES);
    assert_string_equal(rapt__tensors_metadata(file, "special:model.yml"), text);
    return file;
}

static void check_written(const struct tensor_file *file, const struct tensor_source *s,
                          bool narrow)
{
    const struct tensor_entry *e = rapt__tensors_find(file, s->name);
    assert_non_null(e);
    assert_memory_equal(e->shape, s->shape, sizeof e->shape);
    assert_int_equal(e->begin % 256, 0);
    float *data = malloc((e->count + 1) * sizeof *data), max = 0;
    assert_non_null(data);
    assert_int_equal(rapt__tensors_read(file, e, 0, e->count, data, NULL), RAPT_OK);
    assert_int_equal(e->scales, narrow);
    for (size_t i = 0; i < e->count; i++)
        if (fabsf(value(s->index, i)) > max) max = fabsf(value(s->index, i));
    if (narrow) assert_true(e->scale == 127.0f / max);
    for (size_t i = 0; i < e->count; i++) {
        float x = value(s->index, i);
        if (narrow) x = (float)nearbyint((double)(x * e->scale)) * (1 / e->scale);
        if (data[i] != x) fail_msg("%s: %zu: %g, not %g", s->name, i, (double)data[i], (double)x);
    }
    free(data);
}

static void test_written(void **state)
{
    static const bool narrow[SOURCES] = {true, false, true, true, false, false};
    static const enum marian_precision precisions[] = {MARIAN_FLOAT32, MARIAN_INTGEMM8,
                                                       MARIAN_INTGEMM8_BERGAMOT};
    for (int p = 0; p < 3; p++) {
        struct tensor_file *file = written(*state, precisions[p]);
        for (int i = 0; i < SOURCES; i++) check_written(file, &sources[i], p > 0 && narrow[i]);
        rapt__tensors_close(file);
    }
}

/* Ties are rounded to even; a matrix of zeros stays zero. */
static void fill_ties(const struct tensor_source *source, size_t first, size_t count, float *data)
{
    static const float ties[] = {127, 0.5f, 1.5f, -2.5f, -126.5f, 125.5f};
    for (size_t i = 0; i < count; i++) data[i] = source->index ? 0 : ties[first + i];
}

static void test_ties(void **state)
{
    static const int64_t expected[] = {127, 0, 2, -2, -126, 126};
    const struct tensor_source two[] = {{"a_W", 2, {1, 6}, fill_ties, NULL, 0, 0, NULL},
                                        {"b_W", 2, {1, 6}, fill_ties, NULL, 1, 0, NULL}};
    struct tensor_file *file = NULL;
    int64_t whole[6];
    float data[6];
    assert_int_equal(rapt__marian_write(*state, two, 2, NULL, MARIAN_INTGEMM8, NULL, NULL),
                     RAPT_OK);
    assert_int_equal(rapt__tensors_open_any(&file, *state, NULL, NULL), RAPT_OK);
    const struct tensor_entry *a = rapt__tensors_find(file, "a_W");
    assert_int_equal(rapt__tensors_integers(file, a, 0, 6, whole, NULL), RAPT_OK);
    assert_memory_equal(whole, expected, sizeof whole);
    const struct tensor_entry *b = rapt__tensors_find(file, "b_W");
    assert_int_equal(rapt__tensors_read(file, b, 0, 6, data, NULL), RAPT_OK);
    for (int i = 0; i < 6; i++) assert_true(data[i] == 0);
    assert_int_equal(rapt__tensors_metadata_count(file), 0);
    rapt__tensors_close(file);
}

static void test_arguments(void **state)
{
    static const struct tensor_source wrong[][2] = {
        {{NULL, 1, {1}, fill, NULL, 0, 0, NULL}, {"b", 1, {1}, fill, NULL, 0, 0, NULL}},
        {{"a", 1, {1}, NULL, NULL, 0, 0, NULL}, {"b", 1, {1}, fill, NULL, 0, 0, NULL}},
        {{"", 1, {1}, fill, NULL, 0, 0, NULL}, {"b", 1, {1}, fill, NULL, 0, 0, NULL}},
        {{"\xFF", 1, {1}, fill, NULL, 0, 0, NULL}, {"b", 1, {1}, fill, NULL, 0, 0, NULL}},
        {{"a", 9, {1}, fill, NULL, 0, 0, NULL}, {"b", 1, {1}, fill, NULL, 0, 0, NULL}},
        {{"a", 1, {1}, fill, NULL, 0, 0, NULL}, {"a", 1, {1}, fill, NULL, 0, 0, NULL}},
        {{"special:a", 1, {1}, fill, NULL, 0, 0, NULL}, {"b", 1, {1}, fill, NULL, 0, 0, NULL}},
        {{"a", 1, {0x80000000u}, fill, NULL, 0, 0, NULL}, {"b", 1, {1}, fill, NULL, 0, 0, NULL}},
        {{"a", 2, {SIZE_MAX, 3}, fill, NULL, 0, 0, NULL}, {"b", 1, {1}, fill, NULL, 0, 0, NULL}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rapt_message why = {""};
        assert_int_equal(rapt__marian_write(*state, wrong[i], 2, NULL, MARIAN_FLOAT32, NULL, &why),
                         RAPT_BAD_ARGUMENT);
        assert_true(why.text[0]);
    }
    assert_int_equal(rapt__marian_write(NULL, NULL, 0, NULL, MARIAN_FLOAT32, NULL, NULL),
                     RAPT_BAD_ARGUMENT);
    struct stingy stingy = {.fail_at = 0};
    const rapt_allocator allocator = {stingy_alloc, stingy_free, &stingy};
    assert_int_equal(
        rapt__marian_write(*state, sources, SOURCES, NULL, MARIAN_FLOAT32, &allocator, NULL),
        RAPT_NO_MEMORY);
    assert_int_equal(rapt__marian_write(temporary_missing((char[TEMPORARY]){""}), sources, SOURCES,
                                        NULL, MARIAN_FLOAT32, NULL, NULL),
                     RAPT_NO_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_written),
        cmocka_unit_test(test_ties),    cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, make_model_path, remove_model_path);
}
