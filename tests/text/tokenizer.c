/* tokenizer.c - tokenizers made from merges, written and read again. */
#include "help.h"

/* ---- tokenizer: vocabularies of valid merges have the right bytes for their tokens, and invalid
   merges are refused. ---- */

static rapt_status build(rapt_tokenizer **t, const int32_t *merges, int count, rapt_message *why)
{
    int32_t left[16], right[16];
    for (int i = 0; i < count; i++) {
        left[i] = merges[2 * i];
        right[i] = merges[2 * i + 1];
    }
    return rapt__tokenizer_build(t, left, right, count, NULL, why);
}

static void tokens(void **state)
{
    (void)state;
    const int32_t merges[] = {100, 101, 259, 102, 100, 259, 260, 261};
    rapt_tokenizer *t = NULL;
    assert_int_equal(build(&t, merges, 4, NULL), RAPT_OK);
    assert_int_equal(rapt_tokenizer_vocab(t), 263);
    static const char *const spelled[] = {"ab", "abc", "aab", "abcaab"};
    for (int i = 0; i < 4; i++) {
        rapt_text token = rapt_tokenizer_token(t, 259 + i);
        assert_int_equal(token.size, strlen(spelled[i]));
        assert_memory_equal(token.bytes, spelled[i], token.size);
        assert_int_equal(rapt_tokenizer_find(t, text_of(spelled[i])), 259 + i);
    }
    assert_int_equal(rapt_tokenizer_find(t, text_of("a")), RAPT_TOKEN_SPECIALS + 'a');
    assert_int_equal(rapt_tokenizer_find(t, text_of("ba")), -1);
    assert_int_equal(rapt_tokenizer_find(t, text_of("")), -1);
    assert_int_equal(rapt_tokenizer_find(NULL, text_of("a")), -1);
    for (int byte = 0; byte < 256; byte++) {
        rapt_text token = rapt_tokenizer_token(t, RAPT_TOKEN_SPECIALS + byte);
        assert_int_equal(token.size, 1);
        assert_int_equal((unsigned char)token.bytes[0], byte);
    }
    static const int32_t none[] = {0, 1, 2, -1, 263, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(rapt_tokenizer_token(t, none[i]).size, 0);
    rapt_tokenizer_free(t);
    rapt_tokenizer_free(NULL);
}

static void merges_are_found(void **state)
{
    (void)state;
    rapt_tokenizer *t = learned(tale, 310);
    for (int32_t left = 0; left < 310; left++) {
        for (int32_t right = 0; right < 310; right++) {
            int32_t expected = -1;
            for (int32_t m = 0; m < t->merges; m++)
                if (t->left[m] == left && t->right[m] == right) expected = m;
            assert_int_equal(rapt__tokenizer_merge(t, left, right), expected);
        }
    }
    rapt_tokenizer_free(t);
}

static void wrong_merges(void **state)
{
    (void)state;
    static const struct {
        int32_t merges[6];
        int count;
        const char *names;
    } cases[] = {
        {{0, 100}, 1, "merge 0"},
        {{100, 2}, 1, "merge 0"},
        {{-1, 100}, 1, "merge 0"},
        {{100, INT32_MIN}, 1, "merge 0"},
        {{259, 100}, 1, "merge 0"},
        {{100, 259}, 1, "merge 0"},
        {{INT32_MAX, 5}, 1, "merge 0"},
        {{100, 101, 100, 260}, 2, "merge 1"},
        {{100, 101, 9, 9, 100, 101}, 3, "merges"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rapt_tokenizer *untouched = (rapt_tokenizer *)&cases, *t = untouched;
        rapt_message why = {""};
        assert_int_equal(build(&t, cases[i].merges, cases[i].count, &why), RAPT_BAD_FILE);
        assert_non_null(strstr(why.text, cases[i].names));
        assert_ptr_equal(t, untouched);
    }
}

/* Tokens that double in each step are limited by the length of a word. */
static void token_length(void **state)
{
    (void)state;
    int32_t merges[2 * 9] = {100, 100};
    for (int32_t m = 1; m < 9; m++) merges[2 * m] = merges[2 * m + 1] = 258 + m;
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    assert_int_equal(build(&t, merges, 8, NULL), RAPT_OK);
    assert_int_equal(rapt_tokenizer_token(t, 266).size, 256);
    rapt_tokenizer_free(t);
    t = NULL;
    assert_int_equal(build(&t, merges, 9, &why), RAPT_BAD_FILE);
    assert_non_null(strstr(why.text, "merge 8"));
    assert_null(t);
}

static void tokenizer_no_memory(void **state)
{
    (void)state;
    const int32_t left[] = {100, 259}, right[] = {101, 259};
    rapt_status status = RAPT_NO_MEMORY;
    long fails = 0;
    for (; status; fails++) {
        struct counting counting = {.fails = fails};
        rapt_allocator allocator = counting_allocator(&counting);
        rapt_tokenizer *t = NULL;
        status = rapt__tokenizer_build(&t, left, right, 2, &allocator, NULL);
        if (status) assert_int_equal(status, RAPT_NO_MEMORY);
        if (status) assert_null(t);
        rapt_tokenizer_free(t);
        assert_int_equal(counting.living, 0);
    }
    assert_true(fails > 2);
}

/* ---- written: writes a tokenizer to a string and reads it again, and damages the string in every
   way. ---- */

static char *written(const rapt_tokenizer *t, size_t *size)
{
    assert_int_equal(rapt_tokenizer_write(t, NULL, 0, size, NULL), RAPT_OK);
    char *text = malloc(*size);
    assert_non_null(text);
    assert_int_equal(rapt_tokenizer_write(t, text, *size, size, NULL), RAPT_OK);
    assert_int_equal(strlen(text) + 1, *size);
    return text;
}

static void there_and_back(void **state)
{
    (void)state;
    for (int vocab = 259; vocab < 315; vocab += 9) {
        rapt_tokenizer *t = learned(tale, vocab), *back = NULL;
        size_t size, again;
        char *text = written(t, &size);
        for (size_t i = 0; i + 1 < size; i++) {
            assert_in_range(text[i], ' ', '~');
            assert_true(text[i] != '"' && text[i] != '\'' && text[i] != '\\');
        }
        assert_int_equal(rapt_tokenizer_create(&back, text, size - 1, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_tokenizer_vocab(back), vocab);
        for (int32_t id = 0; id < vocab; id++) {
            rapt_text a = rapt_tokenizer_token(t, id), b = rapt_tokenizer_token(back, id);
            assert_int_equal(a.size, b.size);
            if (a.size) assert_memory_equal(a.bytes, b.bytes, a.size);
        }
        char *same = written(back, &again);
        assert_string_equal(text, same);
        free(text);
        free(same);
        rapt_tokenizer_free(t);
        rapt_tokenizer_free(back);
    }
}

static void known_form(void **state)
{
    (void)state;
    rapt_tokenizer *t = learned(" ab ab", 261);
    size_t size;
    char *text = written(t, &size);
    assert_int_equal(strncmp(text, "rapt-bpe 1 2 35 100 259 101 #", 29), 0);
    assert_int_equal(size, 29 + 8 + 1);
    free(text);
    rapt_tokenizer_free(t);
}

static void small_capacity(void **state)
{
    (void)state;
    rapt_tokenizer *t = learned(tale, 270);
    size_t size, told;
    char *text = written(t, &size);
    for (size_t capacity = 0; capacity < size; capacity++) {
        memset(text, '~', size);
        assert_int_equal(rapt_tokenizer_write(t, text, capacity, &told, NULL), RAPT_BAD_ARGUMENT);
        assert_int_equal(told, size);
        for (size_t i = 0; i < size; i++) assert_int_equal(text[i], '~');
    }
    assert_int_equal(rapt_tokenizer_write(NULL, text, size, &told, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_tokenizer_write(t, text, size, NULL, NULL), RAPT_BAD_ARGUMENT);
    free(text);
    rapt_tokenizer_free(t);
}

/* Checks that `size` bytes, in memory of exactly that size, are refused. */
static void refuse(const char *bytes, size_t size)
{
    char *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    struct counting counting = {.fails = -1};
    rapt_allocator allocator = counting_allocator(&counting);
    rapt_tokenizer *untouched = (rapt_tokenizer *)&counting, *t = untouched;
    rapt_message why = {""};
    assert_int_equal(rapt_tokenizer_create(&t, exact, size, &allocator, &why), RAPT_BAD_FILE);
    assert_ptr_equal(t, untouched);
    assert_true(why.text[0]);
    assert_int_equal(counting.living, 0);
    free(exact);
}

static void truncated_and_changed(void **state)
{
    (void)state;
    rapt_tokenizer *t = learned(tale, 290);
    size_t size;
    char *text = written(t, &size);
    for (size_t length = 0; length < size - 1; length++) refuse(text, length);
    refuse(text, size); /* the final 0 is included */
    for (size_t i = 0; i < size - 1; i++) {
        char right = text[i];
        for (int byte = 0; byte < 256; byte++) {
            if ((char)byte == right) continue;
            text[i] = (char)byte;
            refuse(text, size - 1);
        }
        text[i] = right;
    }
    free(text);
    rapt_tokenizer_free(t);
}

/* Appends the correct checksum, so that what precedes it is read. */
static size_t summed(const char *body, char *out)
{
    uint32_t sum = 2166136261u;
    for (const char *c = body; *c; c++) sum = (sum ^ (unsigned char)*c) * 16777619u;
    return (size_t)sprintf(out, "%s#%08x", body, (unsigned)sum);
}

static void wrong_content(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "",
        "rapt-bpe 1 ",
        "rapt-bpe 2 0 ",
        "rapt-bpe 1 1",
        "rapt-bpe 1 1 ",
        "rapt-bpe 1 -1 ",
        "rapt-bpe 1 00 ",
        "rapt-bpe 1 +0 ",
        "rapt-bpe 1  0 ",
        "rapt-bpe 1 0  ",
        "rapt-bpe 1 0 5 5 ",
        "rapt-bpe 1 1 100 101 102 ",
        "rapt-bpe 1 1 100 101  ",
        "rapt-bpe 1 1 100\t101 ",
        "rapt-bpe 1 1 0100 101 ",
        "rapt-bpe 1 1 100 ",
        "rapt-bpe 1 1 100 101",
        "rapt-bpe 1 1 0 101 ",
        "rapt-bpe 1 1 100 2 ",
        "rapt-bpe 1 1 100 -5 ",
        "rapt-bpe 1 1 259 100 ",
        "rapt-bpe 1 1 100 260 ",
        "rapt-bpe 1 2 100 101 100 101 ",
        "rapt-bpe 1 2 100 101 261 101 ",
        "rapt-bpe 1 1 100 2147483648 ",
        "rapt-bpe 1 1 100 4294967396 ",
        "rapt-bpe 1 1 18446744073709551716 101 ",
        "rapt-bpe 1 1048575 100 101 ",
        "rapt-bpe 1 4294967297 100 101 ",
        "rapt-bpe 1 99999999999999999999999999 100 101 ",
        "rapt-bpe 1 9 100 100 259 259 260 260 261 261 262 262 263 263 264 264 265 265 266 266 ",
    };
    char text[160];
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        refuse(text, summed(bodies[i], text));

    rapt_tokenizer *t = NULL; /* the same numbers without an error */
    size_t size = summed("rapt-bpe 1 2 100 101 259 101 ", text);
    assert_int_equal(rapt_tokenizer_create(&t, text, size, NULL, NULL), RAPT_OK);
    rapt_tokenizer_free(t);
}

/* A SentencePiece model in text form with more bytes than it declares. */
static void more_than_a_model(void **state)
{
    (void)state;
    static const char pieces[] = "\x0A\x09\x0A\x05<unk>\x18\x02"
                                 "\x0A\x08\x0A\x01"
                                 "a\x15\x00\x00\x80\xBF";
    rapt_tokenizer *t = NULL;
    size_t size;
    assert_int_equal(rapt_tokenizer_load_memory(&t, pieces, sizeof pieces - 1, NULL, NULL),
                     RAPT_OK);
    char *text = written(t, &size), *more = malloc(size + 8);
    *strrchr(text, '#') = 0;
    rapt_tokenizer_free(t);
    size = summed(text, more);
    assert_int_equal(rapt_tokenizer_create(&t, more, size, NULL, NULL), RAPT_OK);
    rapt_tokenizer_free(t);
    text[strlen(text) + 1] = 0;
    text[strlen(text)] = 'A';
    refuse(more, summed(text, more));
    free(text);
    free(more);
}

/* A declared number of merges must not cost more memory than the bytes that hold them. */
static void honest_memory(void **state)
{
    (void)state;
    char text[80];
    size_t size = summed("rapt-bpe 1 1000000 100 101 ", text);
    struct counting counting = {.fails = -1};
    rapt_allocator allocator = counting_allocator(&counting);
    rapt_tokenizer *t = NULL;
    assert_int_equal(rapt_tokenizer_create(&t, text, size, &allocator, NULL), RAPT_BAD_FILE);
    assert_int_equal(counting.calls, 0);
}

static void null_arguments(void **state)
{
    (void)state;
    rapt_tokenizer *t = NULL;
    assert_int_equal(rapt_tokenizer_create(NULL, "x", 1, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_tokenizer_create(&t, NULL, 1, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_null(t);
}

static void written_no_memory(void **state)
{
    (void)state;
    char text[80];
    size_t size = summed("rapt-bpe 1 2 100 101 259 101 ", text);
    rapt_status status = RAPT_NO_MEMORY;
    long fails = 0;
    for (; status; fails++) {
        struct counting counting = {.fails = fails};
        rapt_allocator allocator = counting_allocator(&counting);
        rapt_tokenizer *t = NULL;
        rapt_message why = {""};
        status = rapt_tokenizer_create(&t, text, size, &allocator, &why);
        if (status) {
            assert_int_equal(status, RAPT_NO_MEMORY);
            assert_null(t);
            assert_true(why.text[0]);
        }
        rapt_tokenizer_free(t);
        assert_int_equal(counting.living, 0);
    }
    assert_true(fails > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens),
        cmocka_unit_test(merges_are_found),
        cmocka_unit_test(wrong_merges),
        cmocka_unit_test(token_length),
        cmocka_unit_test(tokenizer_no_memory),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(known_form),
        cmocka_unit_test(small_capacity),
        cmocka_unit_test(honest_memory),
        cmocka_unit_test(more_than_a_model),
        cmocka_unit_test(truncated_and_changed),
        cmocka_unit_test(wrong_content),
        cmocka_unit_test(null_arguments),
        cmocka_unit_test(written_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
