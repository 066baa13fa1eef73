/* ct2.c - tests CTranslate2's model.bin: hand-made files of versions 1 to 6, refused mistakes, and
   a real model in three precisions. */
#define _XOPEN_SOURCE 700

#include "../skips.h"
#include "craft.h"

#include <math.h>

static void put_string(struct bytes *to, const char *text)
{
    put_number(to, strlen(text) + 1, 2);
    put_bytes(to, text, strlen(text) + 1);
}

/* ---- a file of any version ---- */

static void put_start(struct bytes *to, unsigned version, unsigned variables)
{
    put_number(to, version, 4);
    if (version >= 2) put_string(to, "TransformerSpec");
    if (version >= 2) put_number(to, 7, 4);
    put_number(to, variables, 4);
}

/* type: the code of version 4 and later. */
static void put_head(struct bytes *to, unsigned version, const char *name, int rank,
                     const unsigned *shape, unsigned type)
{
    static const unsigned sizes[] = {4, 1, 2, 4, 2, 2};
    unsigned count = 1;
    put_string(to, name);
    put_number(to, (unsigned)rank, 1);
    for (int i = 0; i < rank; i++) put_number(to, shape[i], 4);
    for (int i = 0; i < rank; i++) count *= shape[i];
    put_number(to, version < 4 ? sizes[type] : type, 1);
    put_number(to, version < 4 ? count : count * sizes[type], 4);
}

/* Builds a file with a/weight int8 [2][3] and one scale per row, b/weight int16 [2] with one scale,
   c/weight int16 [1] with the default scale 1000, n int8, and x F32 [2]. */
static struct bytes make(unsigned version)
{
    struct bytes b = {NULL, 0};
    put_start(&b, version, 7);
    put_head(&b, version, "n", 0, NULL, 1);
    put_number(&b, 0xFD, 1);
    put_head(&b, version, "a/weight_scale", 1, (const unsigned[]){2}, 0);
    put_float(&b, 3), put_float(&b, 127);
    put_head(&b, version, "a/weight", 2, (const unsigned[]){2, 3}, 1);
    put_bytes(&b, "\x01\xFF\x7F\x80\x02\x00", 6);
    put_head(&b, version, "b/weight", 1, (const unsigned[]){2}, 2);
    put_number(&b, 0x8000, 2), put_number(&b, 1000, 2);
    put_head(&b, version, "b/weight_scale", 0, NULL, 0);
    put_float(&b, 7);
    put_head(&b, version, "c/weight", 1, (const unsigned[]){1}, 2);
    put_number(&b, 1500, 2);
    put_head(&b, version, "x", 1, (const unsigned[]){2}, 0);
    put_float(&b, 0.5f), put_float(&b, -2);
    if (version >= 3) {
        put_number(&b, 1, 4);
        put_string(&b, "d/weight");
        put_string(&b, "a/weight");
    }
    return b;
}

static void check_values(const struct tensor_file *file, const char *name, const float *expected,
                         size_t count)
{
    float data[6];
    const struct tensor_entry *e = rapt__tensors_find(file, name);
    assert_non_null(e);
    assert_int_equal(e->count, count);
    assert_int_equal(rapt__tensors_read(file, e, 0, count, data, NULL), RAPT_OK);
    assert_memory_equal(data, expected, count * sizeof *data);
    for (size_t i = 0; i < count; i++) { /* one by one */
        assert_int_equal(rapt__tensors_read(file, e, i, 1, data, NULL), RAPT_OK);
        assert_memory_equal(data, expected + i, sizeof *data);
    }
}

static void test_versions(void **state)
{
    (void)state;
    const float third = 1.0f / 3, of_127 = 1.0f / 127, seventh = 1.0f / 7;
    const float a[] = {third, -third, 127 * third, -128 * of_127, 2 * of_127, 0};
    const float b[] = {-32768 * seventh, 1000 * seventh}, c[] = {1500 * (1.0f / 1000)};
    const float x[] = {0.5f, -2};
    for (unsigned version = 1; version <= 6; version++) {
        struct bytes made = make(version);
        struct tensor_file *file = NULL;
        rapt_message why = {""};
        rapt_status status = rapt__tensors_open_any_memory(&file, made.data, made.size, NULL, &why);
        if (status) fail_msg("version %u: %s", version, why.text);
        assert_int_equal(rapt__tensors_container(file), CONTAINER_CTRANSLATE2);
        assert_int_equal(rapt__tensors_count(file), version >= 3 ? 8 : 7);
        check_values(file, "a/weight", a, 6);
        check_values(file, "b/weight", b, 2);
        check_values(file, "c/weight", c, 1);
        check_values(file, "x", x, 2);
        if (version >= 3) check_values(file, "d/weight", a, 6);
        int64_t n;
        const struct tensor_entry *e = rapt__tensors_find(file, "n");
        assert_int_equal(rapt__tensors_integers(file, e, 0, 1, &n, NULL), RAPT_OK);
        assert_int_equal(n, -3);
        assert_int_equal(rapt__tensors_find(file, "b/weight_scale")->use, TENSOR_SCALES);
        assert_string_equal(rapt__tensors_metadata(file, "revision"), version == 1 ? "1" : "7");
        assert_string_equal(rapt__tensors_metadata(file, "spec"),
                            version == 1 ? "" : "TransformerSpec");
        rapt__tensors_close(file);
        refuse_beginnings(&made);
        assert_true(damage_bytes(&made, 5000) > 100); /* values are not checked */
        fail_allocations(&made, 4);
        put_number(&made, 0, 1);
        refuse(&made, version >= 3 ? "there are bytes after the last alias"
                                   : "there are bytes after the last variable");
        free(made.data);
    }
}

/* ---- mistakes ---- */

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name, *second; /* of two variables F32 [2], and of what follows */
        unsigned first, rank, dims, type, size;
        const char *reason;
    } rows[] = {
        {"a", "b", 6, 1, 2, 0, 8, NULL},
        {"a", "a", 6, 1, 2, 0, 8, "\"a\" occurs twice"},
        {"a", "", 6, 1, 2, 0, 8, "has no name"},
        {"a", "\xFF", 6, 1, 2, 0, 8, "not UTF-8"},
        {"a", "b", 6, 9, 2, 0, 8, "more than 8 dimensions"},
        {"a", "b", 6, 8, 0xFFFFFFFFu, 0, 8, "overflows"},
        {"a", "b", 6, 1, 3, 0, 8, "does not match its shape"},
        {"a", "b", 6, 1, 2, 1, 8, "does not match its shape"},
        {"a", "b", 6, 1, 2, 6, 8, "unknown type"},
        {"a", "b", 6, 1, 0x40000000, 0, 0, "does not match its shape"},
        {"a", "b", 6, 1, 0x3FFFFFFF, 0, 0xFFFFFFFC, "b: 4294967292 bytes are needed"},
        {"a", "b", 7, 1, 2, 0, 8,
         "version 7 of CTranslate2's model.bin is not supported; only versions 1 to 6 are"},
        {"a", "b", 65, 1, 2, 0, 8, "not a model or tensor file"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes b = {NULL, 0};
        put_start(&b, 6, 2);
        b.data[0] = (unsigned char)rows[i].first;
        put_head(&b, 6, rows[i].name, 1, (const unsigned[]){2}, 0);
        put_zeros(&b, 8);
        put_string(&b, rows[i].second);
        put_number(&b, rows[i].rank, 1);
        for (unsigned d = 0; d < rows[i].rank; d++) put_number(&b, rows[i].dims, 4);
        put_number(&b, rows[i].type, 1);
        put_number(&b, rows[i].size, 4);
        put_zeros(&b, 8);
        put_number(&b, 0, 4);
        if (rows[i].reason)
            refuse(&b, rows[i].reason);
        else
            assert_int_equal(try_any(b.data, b.size, NULL), RAPT_OK);
        free(b.data);
    }
}

/* Strings whose bytes do not end with their only 0. */
static void test_strings(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        unsigned size;
        const char *reason;
    } rows[] = {
        {"", 0, "a string is not null-terminated"},
        {"abcd", 4, "a string is not null-terminated"},
        {"a\0cd", 4, "a string is not null-terminated"},
        {"a\0c", 4, "a string contains a NUL byte before its end"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes b = {NULL, 0};
        put_number(&b, 6, 4);
        put_string(&b, "TransformerSpec");
        put_number(&b, 1, 4);
        put_number(&b, 1, 4);
        put_number(&b, rows[i].size, 2);
        put_bytes(&b, rows[i].bytes, rows[i].size);
        put_zeros(&b, 20);
        refuse(&b, rows[i].reason);
        free(b.data);
    }
}

/* Opens a file with a quantized variable, `scales` scales and an alias. reason: why it must be
   refused; NULL: it must open. */
static void check_scales(unsigned type, unsigned scales, float scale, const char *alias,
                         const char *variable, const char *reason)
{
    struct bytes b = {NULL, 0};
    put_start(&b, 6, scales ? 2 : 1);
    put_head(&b, 6, "weight", 2, (const unsigned[]){2, 1}, type);
    put_zeros(&b, type == 2 ? 4 : 2);
    if (scales) put_head(&b, 6, "weight_scale", 1, &scales, 0);
    for (unsigned i = 0; i < scales; i++) put_float(&b, scale);
    put_number(&b, 1, 4);
    put_string(&b, alias);
    put_string(&b, variable);
    if (reason)
        refuse(&b, reason);
    else
        assert_int_equal(try_any(b.data, b.size, NULL), RAPT_OK);
    free(b.data);
}

static void test_scales(void **state)
{
    (void)state;
    check_scales(1, 1, 1, "a", "weight", NULL);
    check_scales(1, 2, 1, "a", "weight", NULL);
    check_scales(1, 3, 1, "a", "weight", "\"weight_scale\" has neither one scale nor one per row");
    check_scales(1, 0, 1, "a", "weight", "\"weight\" has no scale");
    check_scales(2, 0, 1, "a", "weight", NULL);
    check_scales(2, 1, 1, "weight", "weight", "\"weight\" occurs twice");
    check_scales(2, 1, 1, "a", "b", "alias \"a\": there is no variable \"b\"");
    check_scales(2, 1, 1, "", "weight", "has no name");

    for (unsigned type = 1; type < 6; type++) { /* a scale that is not F32 */
        struct bytes b = {NULL, 0};
        put_start(&b, 6, 2);
        put_head(&b, 6, "weight", 1, (const unsigned[]){2}, 1);
        put_zeros(&b, 2);
        put_head(&b, 6, "weight_scale", 0, NULL, type);
        put_zeros(&b, type == 1 ? 1 : type == 3 ? 4 : 2);
        put_number(&b, 0, 4);
        refuse(&b, "\"weight_scale\" holds scales, but is not F32");
        free(b.data);
    }

    /* a bad scale is detected when it is used */
    static const float wrong[] = {0, -1, 1e-45f, INFINITY, NAN};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct bytes b = make(6);
        struct tensor_file *file = NULL;
        uint32_t bits;
        memcpy(&bits, &wrong[i], sizeof bits);
        assert_int_equal(rapt__tensors_open_any_memory(&file, b.data, b.size, NULL, NULL), 0);
        const struct tensor_entry *e = rapt__tensors_find(file, "a/weight");
        for (int k = 0; k < 4; k++)
            b.data[e->scale_begin + 4 + (size_t)k] = (unsigned char)(bits >> 8 * k);
        rapt_message why = {""};
        float data[6];
        assert_int_equal(rapt__tensors_read(file, e, 0, 6, data, &why), RAPT_BAD_FILE);
        assert_non_null(strstr(why.text, "\"a/weight\": scale 1 is "));
        assert_int_equal(rapt__tensors_read(file, e, 0, 3, data, &why), RAPT_OK);
        rapt__tensors_close(file);
        free(b.data);
    }
}

/* ---- a real model ---- */

static float *read_all(const struct tensor_file *file, const struct tensor_entry *e)
{
    float *data = malloc((e->count + 1) * sizeof *data);
    rapt_message why = {""};
    assert_non_null(data);
    if (rapt__tensors_read(file, e, 0, e->count, data, &why)) fail_msg("%s", why.text);
    return data;
}

static struct tensor_file *open_real(const char *suffix)
{
    char path[DATA_PATH], name[100];
    struct tensor_file *file = NULL;
    rapt_message why = {""};
    snprintf(name, sizeof name, "ct2-aren/aren-transliteration%s/model.bin", suffix);
    if (!data_path("format/ct2, a real model", name, path)) return NULL;
    if (rapt__tensors_open_any(&file, path, NULL, &why)) fail_msg("%s", why.text);
    check_any(file);
    assert_string_equal(rapt__tensors_metadata(file, "spec"), "TransformerBase");
    assert_string_equal(rapt__tensors_metadata(file, "revision"), "2");
    return file;
}

/* Compares a model with its quantized version: values differ by at most one quantization step (they
   were truncated), and each scale maps the largest value to min .. max. Returns the number of
   variables that were quantized. */
static int compare(const struct tensor_file *exact, const struct tensor_file *narrow, float min,
                   float max)
{
    int scaled = 0;
    for (int i = 0; i < rapt__tensors_count(exact); i++) {
        const struct tensor_entry *x = rapt__tensors_entry(exact, i);
        const struct tensor_entry *y = rapt__tensors_find(narrow, x->name);
        assert_non_null(y);
        assert_memory_equal(x->shape, y->shape, sizeof x->shape);
        if (strcmp(x->dtype, "F32") != 0) continue;
        float *a = read_all(exact, x), *b = read_all(narrow, y);
        if (y->scales == 0) assert_memory_equal(a, b, x->count * sizeof *a);
        size_t share = y->scales ? y->count / y->scales : 0;
        for (size_t s = 0; s < y->scales; s++) {
            float scale, largest = 0;
            assert_int_equal(rapt__tensors_scales(narrow, y, s, 1, &scale, NULL), RAPT_OK);
            for (size_t k = s * share; k < (s + 1) * share; k++) {
                if (fabsf(a[k] - b[k]) * scale > 1.001f)
                    fail_msg("%s: %g", y->name, (double)(fabsf(a[k] - b[k]) * scale));
                if (fabsf(b[k] * scale) > largest) largest = fabsf(b[k] * scale);
            }
            if (largest > max + 0.01f || largest < min)
                fail_msg("%s: %g", y->name, (double)largest);
        }
        scaled += y->scales > 0;
        free(a);
        free(b);
    }
    return scaled;
}

static void test_real(void **state)
{
    (void)state;
    struct tensor_file *exact = open_real("");
    if (!exact) return;
    struct tensor_file *i16 = open_real("-i16"), *i8 = open_real("-i8");
    assert_int_equal(rapt__tensors_count(exact), 200);
    assert_int_equal(rapt__tensors_count(i8), 269);
    assert_int_equal(rapt__tensors_count(i16), 269);
    assert_int_equal(compare(exact, i8, 125.9f, 127), 69);
    assert_int_equal(compare(exact, i16, 1, 32767), 69);
    float scale;
    const struct tensor_entry *e = rapt__tensors_find(i16, "decoder/embeddings/weight");
    assert_int_equal(rapt__tensors_scales(i16, e, 0, 1, &scale, NULL), RAPT_OK);
    assert_true(e->scales == 1 && scale == 1000);
    e = rapt__tensors_find(i8, "decoder/embeddings/weight");
    assert_true(e && e->scales == 43 && e->shape[0] == 43 && e->shape[1] == 32);
    rapt__tensors_close(exact);
    rapt__tensors_close(i16);
    rapt__tensors_close(i8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_strings),  cmocka_unit_test(test_scales),
        cmocka_unit_test(test_real),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
