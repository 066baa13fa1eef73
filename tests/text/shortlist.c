/* shortlist.c - lexical shortlists made from pairs, from text and from the binary form, compared
   with plain loops. They are written and read again, and damaged in every byte. Also reads those of
   Firefox's models. */
#include "../skips.h"
#include "text/help.h"

#include <rapt/shortlist.h>
#include <unistd.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static rapt_tokenizer *names_of(const char *const *names, int count)
{
    rapt_tokenizer *t = NULL;
    rapt_text texts[64];
    for (int i = 0; i < count; i++) texts[i] = text_of(names[i]);
    assert_int_equal(rapt_tokenizer_create_list(&t, texts, count, NULL, NULL, NULL), RAPT_OK);
    return t;
}

static const char *const english[] = {"</s>", "<unk>", "the", "dog", "a", "cat", "sees"};
static const char *const german[] = {"</s>",   "<unk>", "der",  "Hund", "die", "Katze",
                                     "sieht",  "ein",   "eine", "das",  "den", "dem",
                                     "Hundes", "Hunde", "x",    "y",    "z",   "q"};

struct sides {
    rapt_tokenizer *source, *target;
};

static struct sides make_sides(void)
{
    return (struct sides){names_of(english, COUNT(english)), names_of(german, COUNT(german))};
}

static void free_sides(struct sides *s)
{
    rapt_tokenizer_free(s->source);
    rapt_tokenizer_free(s->target);
}

/* Finds the tokens for a source. */
static int tokens_of(const rapt_shortlist *l, const int32_t *source, int count, int32_t *tokens)
{
    int found = 0;
    assert_int_equal(rapt_shortlist_tokens(l, source, (size_t)count, tokens, 64, &found, NULL),
                     RAPT_OK);
    return found;
}

static void check_tokens(const rapt_shortlist *l, const int32_t *source, int count,
                         const int32_t *wanted, int wanted_count)
{
    int32_t tokens[64];
    int found = tokens_of(l, source, count, tokens);
    assert_int_equal(found, wanted_count);
    assert_memory_equal(tokens, wanted, sizeof *wanted * (size_t)wanted_count);
}

/* A shortlist has the first tokens, the best of each source token, and then unused ones up to a
   multiple of 8. */
static void test_pairs(void **state)
{
    (void)state;
    struct sides s = make_sides();
    static const rapt_lexical_pair pairs[] = {
        {3, 3, 0.7f}, {3, 12, 0.1f}, {3, 13, 0.2f}, {3, 12, 0.3f},               /* dog: 3, 12 */
        {5, 5, 1},    {5, 9, 0},     {2, 2, 0.3f},  {2, 4, 0.3f},  {2, 9, 0.3f}, /* the: 9, 4 */
    };
    rapt_shortlist *l = NULL;
    assert_int_equal(
        rapt_shortlist_create(&l, pairs, COUNT(pairs), 2, 2, s.source, s.target, NULL, NULL),
        RAPT_OK);
    assert_int_equal(rapt_shortlist_source_vocab(l), COUNT(english));
    assert_int_equal(rapt_shortlist_target_vocab(l), COUNT(german));
    check_tokens(l, (int32_t[]){3}, 1, (int32_t[]){0, 1, 2, 3, 4, 5, 6, 12}, 8);
    check_tokens(l, (int32_t[]){3, 2, 3}, 3, (int32_t[]){0, 1, 2, 3, 4, 5, 9, 12}, 8);
    check_tokens(l, (int32_t[]){2, 3}, 2, (int32_t[]){0, 1, 2, 3, 4, 5, 9, 12}, 8);
    check_tokens(l, NULL, 0, (int32_t[]){0, 1, 2, 3, 4, 5, 6, 7}, 8);
    rapt_shortlist_free(l);
    /* with one vocabulary, the source's tokens are added; if there are too few tokens for a
       multiple, all are used */
    assert_int_equal(rapt_shortlist_create(&l, pairs, 0, 0, 1, s.target, s.target, NULL, NULL),
                     RAPT_OK);
    check_tokens(l, (int32_t[]){17, 9}, 2, (int32_t[]){0, 1, 2, 3, 4, 5, 9, 17}, 8);
    rapt_shortlist_free(l);
    assert_int_equal(rapt_shortlist_create(&l, NULL, 0, 17, 1, s.source, s.target, NULL, NULL),
                     RAPT_OK);
    assert_int_equal(tokens_of(l, NULL, 0, (int32_t[64]){0}), 18);
    rapt_shortlist_free(l);
    free_sides(&s);
}

static void test_text(void **state)
{
    (void)state;
    struct sides s = make_sides();
    static const char text[] = "Hund dog 0.5\n\nHunde\tdog 0.25\r\nNULL dog 0.9\nden NULL 1\n"
                               "wau dog 0.5\nsieht dog 0.7\nsieht dog 0\nsieht sees 1e-3";
    rapt_shortlist *l = NULL, *same = NULL;
    rapt_message why = {""};
    assert_int_equal(
        rapt_shortlist_load_memory(&l, text, sizeof text - 1, s.source, s.target, NULL, &why),
        RAPT_OK);
    const int32_t unknown = rapt_tokenizer_special(s.target, RAPT_TOKEN_UNKNOWN);
    const rapt_lexical_pair pairs[] = {
        {6, 6, 1e-3f}, {3, 13, 0.25f}, {3, unknown, 0.5f}, {3, 3, 0.5f}};
    assert_int_equal(
        rapt_shortlist_create(&same, pairs, 4, 100, 100, s.source, s.target, NULL, NULL), RAPT_OK);
    char paths[2][64];
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "shortlist-%d-%ld", i, (long)getpid());
        assert_int_equal(rapt_shortlist_write(i ? same : l, paths[i], NULL), RAPT_OK);
    }
    char bytes[2][400];
    size_t sizes[2];
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(paths[i], "rb");
        assert_non_null(file);
        sizes[i] = fread(bytes[i], 1, sizeof bytes[i], file);
        fclose(file);
        unlink(paths[i]);
    }
    assert_int_equal(sizes[0], 48 + 8 * (COUNT(english) + 1) + 4 * 4);
    assert_int_equal(sizes[1], sizes[0]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    rapt_shortlist_free(l);
    rapt_shortlist_free(same);
    static const char *const bad[] = {"Hund dog", "Hund dog x", "Hund dog 0.5 0.5", "Hund"};
    for (int i = 0; i < COUNT(bad); i++) {
        assert_int_equal(
            rapt_shortlist_load_memory(&l, bad[i], strlen(bad[i]), s.source, s.target, NULL, &why),
            RAPT_BAD_FILE);
        assert_non_null(strstr(why.text, "line 1"));
    }
    free_sides(&s);
}

static rapt_status text_status(const struct sides *s, const char *text, rapt_message *why)
{
    rapt_shortlist *l = NULL;
    rapt_status status =
        rapt_shortlist_load_memory(&l, text, strlen(text), s->source, s->target, NULL, why);
    rapt_shortlist_free(l);
    return status;
}

/* Tests texts without a pair in the vocabularies, and invalid probabilities. */
static void test_useless(void **state)
{
    (void)state;
    struct sides s = make_sides();
    static const char *const bad[][2] = {
        {"", "no line has"},
        {"\n", "no line has"},
        {"wau dog 0.5\nHund woof 0.5\nNULL dog 1", "no line has"},
        {"Hund dog 0\n", "no line has"},
        {"Hund dog 0.5\nHund dog -0.5", "line 2: the probability -0.5 is not between 0 and 1"},
        {"wau woof -1e-9", "line 1: the probability -1e-9"},
        {"Hund dog 0.5\nHund dog 2\n", "line 2: the probability 2 is"},
        {"Hund dog inf", "line 1"},
        {"Hund dog nan", "line 1"}};
    for (int i = 0; i < COUNT(bad); i++) {
        rapt_message why = {""};
        assert_int_equal(text_status(&s, bad[i][0], &why), RAPT_BAD_FILE);
        if (!strstr(why.text, bad[i][1])) fail_msg("%d: \"%s\"", i, why.text);
    }
    static const char *const good[] = {"Hund dog 1.0000001", "Hund dog 0\nHund cat 1e-30",
                                       "wau dog 0.5\nHund dog 1"};
    for (int i = 0; i < COUNT(good); i++) assert_int_equal(text_status(&s, good[i], NULL), RAPT_OK);
    free_sides(&s);
}

static void test_refusals(void **state)
{
    (void)state;
    struct sides s = make_sides();
    rapt_shortlist *l = NULL;
    rapt_message why = {""};
    int found;
    int32_t tokens[4];
    const rapt_lexical_pair bad[] = {{7, 0, 1}, {0, 18, 1}, {0, 0, INFINITY}, {-1, 0, 1}};
    static const char *const phrases[] = {"source is 7", "target is 18", "probability",
                                          "source is -1"};
    for (int i = 0; i < COUNT(bad); i++)
        refused(rapt_shortlist_create(&l, bad + i, 1, 0, 1, s.source, s.target, NULL, &why), &why,
                phrases[i]);
    refused(rapt_shortlist_create(&l, bad, 0, -1, 1, s.source, s.target, NULL, &why), &why,
            "first");
    refused(rapt_shortlist_create(&l, bad, 0, 0, 0, s.source, s.target, NULL, &why), &why, "best");
    assert_int_equal(rapt_shortlist_create(&l, bad, 0, 3, 1, s.source, s.target, NULL, &why),
                     RAPT_OK);
    refused(rapt_shortlist_tokens(l, (int32_t[]){1, 7}, 2, tokens, 4, &found, &why), &why,
            "source[1] is 7");
    refused(rapt_shortlist_tokens(l, NULL, 0, tokens, 4, &found, &why), &why, "there are 8");
    rapt_shortlist_free(l);
    free_sides(&s);
}

/* ---- the binary form ---- */

static size_t written(const rapt_shortlist *l, unsigned char *bytes, size_t capacity)
{
    char path[64];
    snprintf(path, sizeof path, "shortlist-b-%ld", (long)getpid());
    assert_int_equal(rapt_shortlist_write(l, path, NULL), RAPT_OK);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, capacity, file);
    fclose(file);
    unlink(path);
    return size;
}

/* Any changed byte must be found, except in the last token if their number is odd, which no
   checksum covers. Any missing or additional byte must be found, too. */
static void test_damage(void **state)
{
    (void)state;
    struct sides s = make_sides();
    const rapt_lexical_pair pairs[] = {{6, 6, 1}, {3, 13, 0.25f}, {3, 3, 0.5f}};
    unsigned char bytes[400];
    rapt_shortlist *l = NULL, *other = NULL;
    rapt_message why = {""};
    assert_int_equal(rapt_shortlist_create(&l, pairs, 3, 2, 5, s.source, s.target, NULL, NULL),
                     RAPT_OK);
    size_t size = written(l, bytes, sizeof bytes);
    rapt_shortlist_free(l);
    for (size_t at = 8; at < size - 4; at++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[at] ^= (unsigned char)(1 << bit);
            assert_int_equal(
                rapt_shortlist_load_memory(&l, bytes, size, s.source, s.target, NULL, &why),
                RAPT_BAD_FILE);
            bytes[at] ^= (unsigned char)(1 << bit);
        }
    bytes[size - 4] = COUNT(german);
    assert_int_equal(rapt_shortlist_load_memory(&l, bytes, size, s.source, s.target, NULL, &why),
                     RAPT_BAD_FILE);
    assert_non_null(strstr(why.text, "token 2 is 18"));
    bytes[size - 4] = 1;
    assert_int_equal(rapt_shortlist_load_memory(&l, bytes, size, s.source, s.target, NULL, &why),
                     RAPT_OK);
    for (size_t n = 8; n < size; n++)
        assert_int_equal(
            rapt_shortlist_load_memory(&other, bytes, n, s.source, s.target, NULL, &why),
            RAPT_BAD_FILE);
    assert_int_equal(
        rapt_shortlist_load_memory(&other, bytes, size, s.target, s.target, NULL, &why),
        RAPT_BAD_FILE);
    assert_non_null(strstr(why.text, "7 source tokens"));
    rapt_shortlist_free(l);
    free_sides(&s);
}

/* Reads shortlists of real models and writes them byte by byte. */
static void test_real(void **state)
{
    (void)state;
    static const char *const all[][2] = {
        {"bergamot/ende/lex.50.50.ende.s2t.bin", "bergamot/ende/vocab.deen.spm"},
        {"bergamot/encs/lex.50.50.encs.s2t.bin", "bergamot/encs/vocab.csen.spm"},
        {"firefox-tiny-enpt/lex.50.50.enpt.s2t.bin", "firefox-tiny-enpt/vocab.enpt.spm"},
    };
    for (int i = 0; i < COUNT(all); i++) {
        char paths[2][DATA_PATH];
        for (int n = 0; n < 2; n++)
            if (!data_path("text/shortlist", all[i][n], paths[n])) return;
        rapt_tokenizer *t = NULL;
        rapt_shortlist *l = NULL;
        rapt_message why = {""};
        assert_int_equal(rapt_tokenizer_load(&t, paths[1], NULL, NULL), RAPT_OK);
        if (rapt_shortlist_load(&l, paths[0], t, t, NULL, &why)) fail_msg("%s", why.text);
        enum { MAX = 1 << 23 };
        unsigned char *bytes = malloc(MAX), *again = malloc(MAX);
        FILE *file = fopen(paths[0], "rb");
        assert_non_null(file);
        size_t size = fread(bytes, 1, MAX, file);
        fclose(file);
        assert_int_equal(written(l, again, MAX), size);
        assert_memory_equal(bytes, again, size);
        int32_t dog[8], *tokens = malloc(sizeof *tokens * 32000);
        size_t count;
        int found;
        assert_int_equal(
            rapt_tokenizer_encode(t, text_of("the dog sleeps"), dog, NULL, 8, &count, NULL),
            RAPT_OK);
        assert_int_equal(rapt_shortlist_tokens(l, dog, count, tokens, 32000, &found, NULL),
                         RAPT_OK);
        assert_true(found % 8 == 0 && found >= 56 && found < 50 + 8 + 51 * (int)count);
        free(tokens);
        free(bytes);
        free(again);
        rapt_shortlist_free(l);
        rapt_tokenizer_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_useless),  cmocka_unit_test(test_pairs),  cmocka_unit_test(test_text),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_damage), cmocka_unit_test(test_real),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
