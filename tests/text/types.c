/* types.c - finds distinct words in order of appearance, with their counts. */
#include "help.h"

static void known_text(void **state)
{
    (void)state;
    const rapt_text texts[] = {text_of("a b a, b"), text_of(""), text_of("a a, c")};
    static const struct {
        const char *word;
        int count;
    } expected[] = {{"a", 2}, {" b", 2}, {" a", 2}, {",", 2}, {" c", 1}};
    struct counting counting = {.fails = -1};
    rapt_allocator allocator = counting_allocator(&counting);
    struct word_types types;
    assert_int_equal(rapt__word_types_create(&types, texts, 3, &allocator), RAPT_OK);
    assert_int_equal(types.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(types.types[i].size, strlen(expected[i].word));
        assert_memory_equal(types.types[i].bytes, expected[i].word, types.types[i].size);
        assert_int_equal(types.types[i].count, expected[i].count);
    }
    rapt__word_types_free(&types);
    assert_int_equal(counting.living, 0);
}

/* Word k of 5,000 occurs k % 7 + 1 times. */
static void many_words(void **state)
{
    (void)state;
    enum { WORDS = 5000 };
    char *text = malloc(WORDS * 7 * 8);
    assert_non_null(text);
    size_t size = 0;
    for (int time = 0; time < 7; time++)
        for (int k = 0; k < WORDS; k++)
            if (time <= k % 7) size += (size_t)sprintf(text + size, " %d", k);
    struct word_types types;
    const rapt_text all = {text, size};
    assert_int_equal(rapt__word_types_create(&types, &all, 1, NULL), RAPT_OK);
    assert_int_equal(types.count, WORDS);
    for (size_t i = 0; i < WORDS; i++)
        assert_int_equal(types.types[i].count, atoi(types.types[i].bytes) % 7 + 1);
    rapt__word_types_free(&types);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_text),
        cmocka_unit_test(many_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
