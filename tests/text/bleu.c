/* bleu.c - BLEU equals sacreBLEU's on the stored corpora, in any order of the additions. Also tests
   arguments and lack of memory. */
#include "help.h"
#include "scores.h"

static double score(const struct scored *s, rapt_bleu_tokens tokens, int lowercase)
{
    rapt_bleu bleu = {0};
    for (size_t i = 0; i < 6 && s->pairs[i].hypothesis; i++)
        assert_int_equal(rapt_bleu_add(&bleu, tokens, lowercase, text_of(s->pairs[i].hypothesis),
                                       text_of(s->pairs[i].reference), NULL, NULL),
                         RAPT_OK);
    return rapt_bleu_score(&bleu);
}

static void expect(const struct scored *s, const char *what, double got, double expected)
{
    if (fabs(got - expected) > 1e-7)
        fail_msg("%s, %s: %.8f instead of %.8f", s->name, what, got, expected);
}

static void stored_scores(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scored / sizeof *scored; i++) {
        const struct scored *s = &scored[i];
        expect(s, "13a", score(s, RAPT_BLEU_TOKENS_13A, 0), s->bleu);
        expect(s, "13a, lower case", score(s, RAPT_BLEU_TOKENS_13A, 1), s->bleu_lower);
        expect(s, "none", score(s, RAPT_BLEU_TOKENS_NONE, 0), s->bleu_none);
    }
}

static void counts(void **state)
{
    (void)state;
    rapt_bleu bleu = {0};
    rapt_bleu_add(&bleu, RAPT_BLEU_TOKENS_13A, 0, text_of("a b c, d"), text_of("a b d c d, e"),
                  NULL, NULL);
    const rapt_bleu expected = {{5, 1, 0, 0}, {5, 4, 3, 2}, 5, 7};
    assert_memory_equal(&bleu, &expected, sizeof bleu);
    rapt_bleu_add(&bleu, RAPT_BLEU_TOKENS_13A, 0, text_of("x"), text_of(""), NULL, NULL);
    const rapt_bleu more = {{5, 1, 0, 0}, {6, 4, 3, 2}, 6, 7};
    assert_memory_equal(&bleu, &more, sizeof bleu);
}

static void bad_arguments(void **state)
{
    (void)state;
    rapt_bleu bleu = {{1, 2, 3, 4}, {5, 6, 7, 8}, 9, 10}, before = bleu;
    rapt_text ok = text_of("x"), null = {NULL, 1}, huge = {"", (size_t)1 << 40};
    assert_int_equal(rapt_bleu_add(NULL, RAPT_BLEU_TOKENS_13A, 0, ok, ok, NULL, NULL),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_bleu_add(&bleu, (rapt_bleu_tokens)7, 0, ok, ok, NULL, NULL),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_bleu_add(&bleu, RAPT_BLEU_TOKENS_13A, 0, null, ok, NULL, NULL),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_bleu_add(&bleu, RAPT_BLEU_TOKENS_13A, 0, ok, null, NULL, NULL),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_bleu_add(&bleu, RAPT_BLEU_TOKENS_13A, 0, huge, ok, NULL, NULL),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_bleu_add(&bleu, RAPT_BLEU_TOKENS_13A, 0, ok, huge, NULL, NULL),
                     RAPT_BAD_ARGUMENT);
    assert_memory_equal(&bleu, &before, sizeof bleu);
}

static void no_memory(void **state)
{
    (void)state;
    rapt_status status = RAPT_NO_MEMORY;
    long fails = 0;
    for (; status; fails++) {
        struct counting counting = {.fails = fails};
        rapt_allocator allocator = counting_allocator(&counting);
        rapt_bleu bleu = {{1, 2, 3, 4}, {5, 6, 7, 8}, 9, 10}, before = bleu;
        status = rapt_bleu_add(&bleu, RAPT_BLEU_TOKENS_13A, 1, text_of("Two. words"),
                               text_of("Three"), &allocator, NULL);
        assert_int_equal(counting.living, 0);
        if (status) assert_int_equal(status, RAPT_NO_MEMORY);
        if (status) assert_memory_equal(&bleu, &before, sizeof bleu);
    }
    assert_true(fails > 1);
}

static void any_bytes(void **state)
{
    (void)state;
    uint64_t seed = 6;
    for (int round = 0; round < 5000; round++) {
        rapt_bleu bleu = {0};
        char text[2][40];
        size_t size[2] = {below(&seed, 40), below(&seed, 40)};
        for (size_t i = 0; i < 80; i++) text[i / 40][i % 40] = (char)next_random(&seed);
        assert_int_equal(rapt_bleu_add(&bleu,
                                       round % 2 ? RAPT_BLEU_TOKENS_13A : RAPT_BLEU_TOKENS_NONE,
                                       round % 3 == 0, (rapt_text){text[0], size[0]},
                                       (rapt_text){text[1], size[1]}, NULL, NULL),
                         RAPT_OK);
        double s = rapt_bleu_score(&bleu);
        assert_true(s >= 0 && s <= 100);
    }
}

static void a_long_line(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    char *line = malloc(SIZE);
    assert_non_null(line);
    for (size_t i = 0; i < SIZE; i++) line[i] = i % 5 == 4 ? ' ' : (char)('a' + i / 5 % 26);
    rapt_bleu bleu = {0};
    rapt_text text = {line, SIZE};
    assert_int_equal(rapt_bleu_add(&bleu, RAPT_BLEU_TOKENS_13A, 0, text, text, NULL, NULL),
                     RAPT_OK);
    assert_true(fabs(rapt_bleu_score(&bleu) - 100) < 1e-9);
    assert_int_equal(bleu.matches[3], (SIZE + 4) / 5 - 3);
    free(line);
}

static void reasons(void **state)
{
    (void)state;
    rapt_bleu bleu = {0};
    rapt_chrf chrf = {0};
    rapt_text ok = text_of("x"), null = {NULL, 1}, huge = {"", (size_t)1 << 40};
    rapt_message why = {""};
    refused(rapt_bleu_add(NULL, RAPT_BLEU_TOKENS_13A, 0, ok, ok, NULL, &why), &why, "bleu is NULL");
    refused(rapt_bleu_add(&bleu, (rapt_bleu_tokens)7, 0, ok, ok, NULL, &why), &why, "tokens is 7");
    refused(rapt_bleu_add(&bleu, RAPT_BLEU_TOKENS_13A, 0, ok, huge, NULL, &why), &why, "268435456");
    refused(rapt_chrf_add(NULL, ok, ok, NULL, &why), &why, "chrf is NULL");
    refused(rapt_chrf_add(&chrf, null, ok, NULL, &why), &why, "hypothesis are NULL");
    refused(rapt_chrf_add(&chrf, ok, null, NULL, &why), &why, "reference are NULL");
    assert_true(rapt_bleu_score(NULL) == 0 && rapt_chrf_score(NULL) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_scores), cmocka_unit_test(counts),
        cmocka_unit_test(bad_arguments), cmocka_unit_test(reasons),
        cmocka_unit_test(no_memory),     cmocka_unit_test(any_bytes),
        cmocka_unit_test(a_long_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
