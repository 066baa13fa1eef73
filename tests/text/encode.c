/* encode.c - encodes any bytes and decodes them again, compared with merging by the definition. */
#include "help.h"

static rapt_tokenizer *tokenizer; /* learned from `tale`, used by all tests */

static int make(void **state)
{
    (void)state;
    tokenizer = learned(tale, 310);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    rapt_tokenizer_free(tokenizer);
    return 0;
}

/* The definition: applies merge after merge in the order learned, each from left to right, word by
   word. */
static size_t naive(const rapt_tokenizer *t, rapt_text text, int32_t *ids)
{
    size_t count = 0;
    for (size_t at = 0, end; at < text.size; at = end) {
        end = rapt__word_end(text.bytes, text.size, at);
        size_t n = end - at;
        int32_t *word = ids + count;
        for (size_t i = 0; i < n; i++) word[i] = 3 + (unsigned char)text.bytes[at + i];
        for (int32_t m = 0; m < t->merges; m++) {
            size_t put = 0;
            for (size_t i = 0; i < n; put++) {
                bool here = i + 1 < n && word[i] == t->left[m] && word[i + 1] == t->right[m];
                word[put] = here ? 259 + m : word[i];
                i += here ? 2 : 1;
            }
            n = put;
        }
        count += n;
    }
    return count;
}

/* Checks all laws for one text: the round trip, ends, capacities. */
static void check(const rapt_tokenizer *t, rapt_text text)
{
    size_t capacity = text.size + 1, count = 99, again = 99, size = 99;
    int32_t *ids = malloc(capacity * sizeof *ids), *back = malloc(capacity * sizeof *back);
    size_t *ends = malloc(capacity * sizeof *ends);
    char *bytes = malloc(capacity);
    assert_true(ids && back && ends && bytes);

    assert_int_equal(rapt_tokenizer_encode(t, text, ids, ends, text.size, &count, NULL), RAPT_OK);
    assert_true(count <= text.size && (count > 0 || text.size == 0));
    for (size_t i = 0, at = 0; i < count; at = ends[i++]) {
        rapt_text token = rapt_tokenizer_token(t, ids[i]);
        assert_int_equal(ends[i], at + token.size);
        assert_memory_equal(text.bytes + at, token.bytes, token.size);
    }
    if (count) assert_int_equal(ends[count - 1], text.size);

    assert_int_equal(rapt_tokenizer_decode(t, ids, count, bytes, text.size, &size, NULL), RAPT_OK);
    assert_int_equal(size, text.size);
    if (size) assert_memory_equal(bytes, text.bytes, size);

    rapt_text same = {bytes, size}; /* encode(decode(ids)) = ids if ids came from encode */
    assert_int_equal(rapt_tokenizer_encode(t, same, back, NULL, capacity, &again, NULL), RAPT_OK);
    assert_int_equal(again, count);
    if (count) assert_memory_equal(ids, back, count * sizeof *ids);
    free(ids);
    free(back);
    free(ends);
    free(bytes);
}

static void every_byte(void **state)
{
    (void)state;
    check(tokenizer, (rapt_text){NULL, 0});
    check(tokenizer, text_of(""));
    for (int a = 0; a < 256; a++) {
        for (int b = 0; b < 256; b++) {
            char text[2] = {(char)a, (char)b};
            check(tokenizer, (rapt_text){text, 1});
            check(tokenizer, (rapt_text){text, 2});
        }
    }
}

static void odd_texts(void **state)
{
    (void)state;
    static const char *const texts[] = {
        tale,
        "     ",
        " \t\r\n\v\f ",
        "\xEF\xBB\xBFmark first",
        "e\xCC\x81 \xE2\x80\xA8 \xC2\x85 \xE2\x96\x81mill",
        "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7 \xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D",
        "\xFF\xFE\xC0\x80\xED\xA0\x80\xF5\x80 M\xC3",
        "<pad> <s> </s> 0 1 2",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check(tokenizer, text_of(texts[i]));
    check(tokenizer, (rapt_text){"a\0b\0\0 mill\0", 11});
}

static void random_texts(void **state)
{
    (void)state;
    uint64_t seed = 8;
    size_t length = strlen(tale);
    for (int round = 0; round < 3000; round++) {
        char text[300];
        size_t size = below(&seed, sizeof text + 1), from = below(&seed, length - 300);
        memcpy(text, tale + from, sizeof text);
        for (size_t i = 0; i < size; i++)
            if (below(&seed, 30) < (size_t)round % 31) text[i] = (char)next_random(&seed);
        check(tokenizer, (rapt_text){text, size});
    }
}

static void compare(const rapt_tokenizer *t, rapt_text text)
{
    int32_t ids[300], expected[300];
    size_t count;
    assert_int_equal(rapt_tokenizer_encode(t, text, ids, NULL, 300, &count, NULL), RAPT_OK);
    assert_int_equal(count, naive(t, text, expected));
    if (count) assert_memory_equal(ids, expected, count * sizeof *ids);
}

static void by_definition(void **state)
{
    (void)state;
    uint64_t seed = 9;
    for (int round = 0; round < 2000; round++) {
        size_t size = below(&seed, round % 10 ? 30 : 300);
        compare(tokenizer, (rapt_text){tale + below(&seed, strlen(tale) - size), size});
    }
    for (int kinds = 1; kinds < 6; kinds++) { /* few letters give many, deep merges */
        char text[1025];
        for (size_t i = 0; i < 1024; i++) text[i] = (char)('a' + below(&seed, (size_t)kinds));
        text[1024] = 0;
        rapt_tokenizer *deep = learned(text, kinds == 1 ? 265 : 300);
        for (int round = 0; round < 400; round++) {
            size_t size = below(&seed, 257);
            for (size_t i = 0; i < size; i++) text[i] = (char)('a' + below(&seed, (size_t)kinds));
            compare(deep, (rapt_text){text, size});
        }
        rapt_tokenizer_free(deep);
    }
}

static void long_word(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    memset(text, 'm', SIZE);
    check(tokenizer, (rapt_text){text, SIZE});
    uint64_t seed = 10;
    for (size_t i = 0; i < SIZE; i++) text[i] = "milerthdansü"[below(&seed, 13)];
    check(tokenizer, (rapt_text){text, SIZE});
    free(text);
}

static void small_capacity(void **state)
{
    (void)state;
    rapt_text text = text_of("the mill had white hens");
    int32_t all[32], ids[32];
    size_t ends[32], count, full, size;
    char bytes[32];
    assert_int_equal(rapt_tokenizer_encode(tokenizer, text, all, NULL, 32, &full, NULL), RAPT_OK);
    for (size_t capacity = 0; capacity < full; capacity++) {
        memset(ids, 0x7F, sizeof ids);
        memset(ends, 0x7F, sizeof ends);
        assert_int_equal(rapt_tokenizer_encode(tokenizer, text, ids, ends, capacity, &count, NULL),
                         RAPT_BAD_ARGUMENT);
        assert_int_equal(count, full);
        if (capacity) assert_memory_equal(ids, all, capacity * sizeof *ids);
        assert_int_equal(ids[capacity], 0x7F7F7F7F);
        assert_int_equal(ends[capacity], (size_t)0x7F7F7F7F7F7F7F7F);
    }
    assert_int_equal(rapt_tokenizer_encode(tokenizer, text, NULL, NULL, 0, &count, NULL),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(count, full);
    for (size_t capacity = 0; capacity < text.size; capacity++) {
        memset(bytes, '~', sizeof bytes);
        assert_int_equal(rapt_tokenizer_decode(tokenizer, all, full, bytes, capacity, &size, NULL),
                         RAPT_BAD_ARGUMENT);
        assert_int_equal(size, text.size);
        if (capacity) assert_memory_equal(bytes, text.bytes, capacity);
        assert_int_equal(bytes[capacity], '~');
    }
}

static void special_and_wrong_ids(void **state)
{
    (void)state;
    const int32_t ids[] = {RAPT_TOKEN_BEGIN, 3 + 'h', RAPT_TOKEN_PAD, 3 + 'i', RAPT_TOKEN_END};
    char bytes[8];
    size_t size = 77;
    assert_int_equal(rapt_tokenizer_decode(tokenizer, ids, 5, bytes, 8, &size, NULL), RAPT_OK);
    assert_int_equal(size, 2);
    assert_memory_equal(bytes, "hi", 2);
    static const int32_t wrong[] = {-1, 310, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < 4; i++) {
        const int32_t some[] = {3 + 'o', wrong[i]};
        size = 77;
        assert_int_equal(rapt_tokenizer_decode(tokenizer, some, 2, bytes, 8, &size, NULL),
                         RAPT_BAD_ARGUMENT);
        assert_int_equal(size, 77);
        assert_memory_equal(bytes, "hi", 2);
    }
    assert_int_equal(rapt_tokenizer_decode(tokenizer, NULL, 0, NULL, 0, &size, NULL), RAPT_OK);
    assert_int_equal(size, 0);
}

static void null_arguments(void **state)
{
    (void)state;
    rapt_text text = text_of("x"), null = {NULL, 1};
    int32_t ids[2] = {5, 5};
    size_t count = 7;
    char bytes[2];
    const rapt_tokenizer *t = tokenizer;
    assert_int_equal(rapt_tokenizer_encode(NULL, text, ids, NULL, 2, &count, NULL),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_tokenizer_encode(t, null, ids, NULL, 2, &count, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_tokenizer_encode(t, text, NULL, NULL, 2, &count, NULL),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_tokenizer_encode(t, text, ids, NULL, 2, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_tokenizer_decode(NULL, ids, 2, bytes, 2, &count, NULL),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_tokenizer_decode(t, NULL, 2, bytes, 2, &count, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_tokenizer_decode(t, ids, 2, NULL, 2, &count, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_tokenizer_decode(t, ids, 2, bytes, 2, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(count, 7);
}

static void reasons(void **state)
{
    (void)state;
    const rapt_tokenizer *t = tokenizer;
    rapt_text text = text_of("xyz"), null = {NULL, 1};
    int32_t ids[2] = {5, 310};
    size_t n;
    char bytes[8];
    rapt_message why = {""};
    refused(rapt_tokenizer_encode(NULL, text, ids, NULL, 2, &n, &why), &why, "tokenizer is NULL");
    refused(rapt_tokenizer_encode(t, null, ids, NULL, 2, &n, &why), &why, "text.bytes is NULL");
    refused(rapt_tokenizer_encode(t, text, NULL, NULL, 2, &n, &why), &why, "ids is NULL");
    refused(rapt_tokenizer_encode(t, text, ids, NULL, 2, NULL, &why), &why, "count is NULL");
    refused(rapt_tokenizer_encode(t, text, ids, NULL, 2, &n, &why), &why,
            "capacity is 2, but the text has 3 tokens");
    ids[0] = 5, ids[1] = 310;
    refused(rapt_tokenizer_decode(t, ids, 2, bytes, 8, &n, &why), &why,
            "token 1 is 310, not in 0..");
    refused(rapt_tokenizer_decode(t, ids, 1, bytes, 0, &n, &why), &why, "capacity is 0");
    refused(rapt_tokenizer_decode(t, NULL, 1, bytes, 8, &n, &why), &why, "ids is NULL");
    refused(rapt_tokenizer_decode(t, ids, 1, NULL, 8, &n, &why), &why, "bytes is NULL");
    refused(rapt_tokenizer_decode(t, ids, 1, bytes, 8, NULL, &why), &why, "size is NULL");
    refused(rapt_tokenizer_write(t, bytes, 8, &n, &why), &why, "capacity is 8, but ");
    refused(rapt_tokenizer_write(NULL, bytes, 8, &n, &why), &why, "tokenizer is NULL");
    assert_int_equal(rapt_tokenizer_vocab(NULL), 0);
    assert_int_equal(rapt_tokenizer_token(NULL, 5).size, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte),
        cmocka_unit_test(odd_texts),
        cmocka_unit_test(random_texts),
        cmocka_unit_test(by_definition),
        cmocka_unit_test(long_word),
        cmocka_unit_test(small_capacity),
        cmocka_unit_test(null_arguments),
        cmocka_unit_test(reasons),
        cmocka_unit_test(special_and_wrong_ids),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
