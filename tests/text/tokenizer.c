/* tokenizer.c - vocabularies of valid merges have the right bytes for their tokens, and invalid
   merges are refused. */
#include "help.h"

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

static void no_memory(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens),       cmocka_unit_test(merges_are_found),
        cmocka_unit_test(wrong_merges), cmocka_unit_test(token_length),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
