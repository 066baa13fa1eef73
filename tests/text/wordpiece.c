/* wordpiece.c - WordPiece: words, accents, Chinese, punctuation, control characters, special tokens
   in a text, words that cannot be divided, decoding, writing and reading. The known results are
   those of Hugging Face's tokenizers 0.23.3 with the same vocabulary; exchange/wordpiece compares
   many more. */
#include "help.h"

enum { MAX = 512 };

static const char *const names[] = {"[PAD]",
                                    "[UNK]",
                                    "[CLS]",
                                    "[SEP]",
                                    "[MASK]",
                                    "un",
                                    "##aff",
                                    "##able",
                                    "a",
                                    "e",
                                    "##b",
                                    ".",
                                    "\344\270\255",
                                    "A",
                                    "\303\251",
                                    "i",
                                    "##\314\207",
                                    "##a",
                                    "\346\226\207",
                                    "##\346\226\207",
                                    "##e",
                                    "\345\213\207",
                                    "-",
                                    "i\314\207",
                                    "x"};
enum { NAMES = sizeof names / sizeof *names, KEEP_CASE = 1, KEEP_ACCENTS = 2, KEEP_HAN = 4 };

static const struct {
    int keep;
    const char *text;
    size_t size;
    const char *ids; /* id:end */
} known[] = {
    /* clang-format off */
    {0, "", 0, ""},
    {0, "  ", 2, ""},
    {0, "unaffable", 9, "5:2 6:5 7:9"},
    {0, " unable\011a\012", 10, "5:3 7:7 8:9"},
    {0, "aab e", 5, "8:1 17:2 10:3 9:5"},
    {0, "aaq a", 5, "1:3 8:5"},
    {0, "a.e..a", 6, "8:1 11:2 9:3 11:4 11:5 8:6"},
    {0, "A\303\211 \303\251", 6, "8:1 20:3 9:6"},
    {0, "e\314\201a\314\201.", 7, "9:1 17:4 11:7"},
    {0, "\344\270\255\346\226\207a", 7, "12:3 18:6 8:7"},
    {0, "a\346\226\207", 4, "8:1 18:4"},
    {0, "\304\260", 2, "15:2"},
    {0, "\304\260x", 3, "1:3"},
    {0, "a\000b\342\200\213b\357\277\275a", 11, "8:1 10:3 10:7 17:11"},
    {0, "\357\244\257", 3, "1:3"},
    {0, "a[SEP]b [MASK][mask]", 20, "8:1 3:6 1:7 4:14 1:15 1:19 1:20"},
    {0, "\302\240a\342\200\250e\302\205e", 10, "8:3 9:7 20:10"},
    {0, "a\342\271\223a", 5, "1:5"},
    {0, "a-\342\200\224a", 6, "8:1 22:2 1:5 8:6"},
    {0, "x\340\242\230x", 5, "1:5"},
    {0, "x\341\231\255x", 5, "24:1 1:4 24:5"},
    {0, "a~e5 e:`", 8, "8:1 1:2 1:4 9:6 1:7 1:8"},
    {0, "x\341\234\264", 4, "24:1"},
    {3, "A\303\211 \303\251", 6, "1:3 14:6"},
    {3, "e\314\201a\314\201.", 7, "1:6 11:7"},
    {3, "\304\260", 2, "1:2"},
    {3, "x\341\234\264", 4, "1:4"},
    {2, "A\303\211 \303\251", 6, "1:3 14:6"},
    {2, "e\314\201a\314\201.", 7, "1:6 11:7"},
    {2, "\304\260", 2, "23:2"},
    {2, "x\341\234\264", 4, "1:4"},
    {1, "A\303\211 \303\251", 6, "1:3 9:6"},
    {1, "\304\260", 2, "1:2"},
    {4, "\344\270\255\346\226\207a", 7, "12:3 19:6 17:7"},
    {4, "a\346\226\207", 4, "8:1 19:4"},
    /* clang-format on */
};

static rapt_tokenizer *made(int keep)
{
    const rapt_wordpiece_options options = {.size = sizeof options,
                                            .keep_case = keep & KEEP_CASE ? 1 : 0,
                                            .keep_accents = keep & KEEP_ACCENTS ? 1 : 0,
                                            .keep_han = keep & KEEP_HAN ? 1 : 0};
    rapt_text texts[NAMES];
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    for (int i = 0; i < NAMES; i++) texts[i] = text_of(names[i]);
    if (rapt_tokenizer_create_wordpiece(&t, texts, NAMES, keep ? &options : NULL, NULL, &why))
        fail_msg("%s", why.text);
    return t;
}

/* Writes the tokens of a text as id:end, and checks the count with every smaller capacity. */
static void tokens_of(const rapt_tokenizer *t, rapt_text text, char *to)
{
    int32_t ids[MAX];
    size_t ends[MAX], count, again;
    rapt_message why = {""};
    if (rapt_tokenizer_encode(t, text, ids, ends, MAX, &count, &why)) fail_msg("%s", why.text);
    assert_true(count <= rapt_tokenizer_bound(t, text.size));
    *to = 0;
    for (size_t i = 0; i < count; i++)
        to += sprintf(to, "%s%d:%zu", i ? " " : "", (int)ids[i], ends[i]);
    for (size_t capacity = 0; capacity < count; capacity++) {
        refused(rapt_tokenizer_encode(t, text, ids, NULL, capacity, &again, &why), &why,
                "capacity");
        assert_int_equal(again, count);
    }
}

static void test_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char got[16 * MAX];
        rapt_tokenizer *t = made(known[i].keep);
        tokens_of(t, (rapt_text){known[i].text, known[i].size}, got);
        if (strcmp(got, known[i].ids) != 0)
            fail_msg("%d, \"%s\": %s, not %s", known[i].keep, known[i].text, got, known[i].ids);
        rapt_tokenizer_free(t);
    }
}

/* A word of 100 characters is divided; a longer one is unknown as a whole. */
static void test_long_words(void **state)
{
    (void)state;
    char text[2 * MAX], got[16 * MAX];
    rapt_tokenizer *t = made(0);
    memset(text, 'a', sizeof text);
    tokens_of(t, (rapt_text){text, 100}, got);
    assert_non_null(strstr(got, "8:1 17:2 "));
    assert_non_null(strstr(got, " 17:100"));
    tokens_of(t, (rapt_text){text, 101}, got);
    assert_string_equal(got, "1:101");
    text[600] = '.';
    tokens_of(t, (rapt_text){text, 602}, got);
    assert_string_equal(got, "1:600 11:601 8:602");
    rapt_tokenizer_free(t);
}

/* Bytes that are not UTF-8 are removed, as U+FFFD is. */
static void test_invalid(void **state)
{
    (void)state;
    char got[16 * MAX];
    rapt_tokenizer *t = made(0);
    tokens_of(t, text_of("a\377b\300 \355\240\200e"), got);
    assert_string_equal(got, "8:1 10:3 9:9");
    rapt_tokenizer_free(t);
}

static void test_specials(void **state)
{
    (void)state;
    const int32_t ids[] = {2, 5, 6, 7, 8, 10, 1, 11, 3};
    char bytes[MAX];
    size_t size;
    rapt_tokenizer *t = made(0);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_PAD), 0);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_UNKNOWN), 1);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_BEGIN), 2);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_END), 3);
    assert_int_equal(rapt_tokenizer_decode(t, ids, 9, bytes, MAX, &size, NULL), RAPT_OK);
    assert_int_equal(size, strlen("unaffable ab [UNK] ."));
    assert_memory_equal(bytes, "unaffable ab [UNK] .", size);
    rapt_tokenizer_free(t);
}

static void test_written(void **state)
{
    (void)state;
    for (int keep = 0; keep < 8; keep++) {
        char text[2048], got[16 * MAX], same[16 * MAX];
        size_t size, again;
        rapt_message why = {""};
        rapt_tokenizer *t = made(keep), *back = NULL;
        assert_int_equal(rapt_tokenizer_write(t, text, sizeof text, &size, NULL), RAPT_OK);
        assert_int_equal(strncmp(text, "rapt-wordpiece 1 25 ", 20), 0);
        if (rapt_tokenizer_create(&back, text, size - 1, NULL, &why)) fail_msg("%s", why.text);
        tokens_of(t, text_of("Unaffable \303\211 a\346\226\207 [MASK]"), got);
        tokens_of(back, text_of("Unaffable \303\211 a\346\226\207 [MASK]"), same);
        assert_string_equal(got, same);
        for (size_t i = 0; i + 1 < size; i++) { /* every damage is noticed */
            rapt_tokenizer *none = NULL;
            text[i] ^= 1;
            assert_int_equal(rapt_tokenizer_create(&none, text, size - 1, NULL, NULL),
                             RAPT_BAD_FILE);
            text[i] ^= 1;
        }
        assert_int_equal(rapt_tokenizer_write(back, text, sizeof text, &again, NULL), RAPT_OK);
        assert_int_equal(size, again);
        rapt_tokenizer_free(t);
        rapt_tokenizer_free(back);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    const rapt_text two[] = {{"a", 1}, {"a", 1}}, none[] = {{"a", 1}, {"<unk>", 5}};
    rapt_wordpiece_options options = {.size = sizeof options, .keep_han = 2};
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    refused(rapt_tokenizer_create_wordpiece(&t, two, 2, NULL, NULL, &why), &why, "both \"a\"");
    refused(rapt_tokenizer_create_wordpiece(&t, none, 2, NULL, NULL, &why), &why, "[UNK]");
    refused(rapt_tokenizer_create_wordpiece(&t, none, 2, &options, NULL, &why), &why, "keep_han");
    options.keep_han = 0, options.reserved = 1;
    refused(rapt_tokenizer_create_wordpiece(&t, none, 2, &options, NULL, &why), &why, "reserved");
    refused(rapt_tokenizer_create_wordpiece(&t, none, 0, NULL, NULL, &why), &why, "count");
    assert_null(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),   cmocka_unit_test(test_long_words),
        cmocka_unit_test(test_invalid), cmocka_unit_test(test_specials),
        cmocka_unit_test(test_written), cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
