/* bytelevel.c - byte pairs over bytes as in GPT-2: words, merges, special tokens in a text,
   decoding, writing and reading, and lists that are refused. The known results are those of Hugging
   Face's tokenizers 0.23.3 with the same vocabulary; exchange/bart compares many more. */
#include "help.h"

#include "text/list.h"

enum { MAX = 512, BYTES = 4, NAMES = 273 };

/* Names after those of the bytes, and the merges that make them. "abc" is made in two ways. */
static const char *const others[] = {"\u0120t", "he",  "\u0120the",    "'s",           "ab",
                                     "bc",      "abc", "\u0120\u0120", "\u00C3\u00A9", "abcabc",
                                     "\u0120a", "12",  "<mask>"};
static const int32_t merges[][2] = {{36, 120},  {108, 105}, {260, 261}, {43, 119}, {101, 102},
                                    {102, 103}, {264, 103}, {101, 265}, {36, 36},  {199, 173},
                                    {266, 266}, {36, 101},  {53, 54}};
enum { MERGES = sizeof merges / sizeof *merges };

static const struct {
    int space_first;
    const char *text;
    size_t size;
    const char *ids;
} known[] = {
    /* clang-format off */
    {0, "", 0, ""},
    {0, "a", 1, "101"},
    {0, " ", 1, "36"},
    {0, "the the  the", 12, "120 261 262 36 262"},
    {0, "'s 'the's's", 11, "263 36 43 120 261 263 263"},
    {0, "abcabc abc ab bc", 16, "269 36 266 36 264 36 265"},
    {0, "a<s>b </s> x<mask>", 18, "101 0 102 36 2 36 124 272"},
    {0, " \011 <mask>a<mask> ", 17, "272 101 272 36"},
    {0, "\303\251 \303\211e\314\201", 8, "268 36 199 141 105 208 133"},
    {0, "12 1212a1 \331\243\302\275", 14, "271 36 271 271 101 53 36 221 167 198 193"},
    {0, "\343\200\200 a\302\240\342\200\250 a", 12, "231 132 132 270 198 164 230 132 172 270"},
    {0, "tab\011\011x", 6, "120 264 13 13 124"},
    {0, "  ", 2, "267"},
    {0, "x   ", 4, "124 267 36"},
    {0, "'S 're'", 7, "43 87 36 43 118 105 43"},
    {0, "\342\200\213the\342\200\213", 9, "230 132 143 120 261 230 132 143"},
    {0, "a\034b\035 c", 6, "101 32 102 33 36 103"},
    {0, "\360\237\230\200 \360\240\200\200the", 12, "244 163 156 132 36 244 164 132 132 120 261"},
    {0, "...the\077!  the", 13, "50 50 50 120 261 67 37 36 262"},
    {0, "<mask", 5, "64 113 101 119 111"},
    {0, " <unk><pad>  the", 16, "36 3 1 36 262"},
    {1, "a", 1, "270"},
    {1, " ", 1, "36"},
    {1, "the the  the", 12, "262 262 36 262"},
    {1, "'s 'the's's", 11, "36 43 119 36 43 120 261 263 263"},
    {1, "abcabc abc ab bc", 16, "36 269 36 266 36 264 36 265"},
    {1, "a<s>b </s> x<mask>", 18, "270 0 36 102 36 2 36 124 272"},
    {1, " \011 <mask>a<mask> ", 17, "272 270 272 36"},
    {1, "tab\011\011x", 6, "260 264 13 13 124"},
    {1, "  ", 2, "267"},
    {1, "a\034b\035 c", 6, "270 32 102 33 36 103"},
    {1, " <unk><pad>  the", 16, "36 3 1 36 262"},
    /* clang-format on */
};

/* Joins the names of the vocabulary, without that of byte `without`. Returns their size. */
static size_t join(char *to, int without)
{
    static const char specials[] = "<s>\0<pad>\0</s>\0<unk>";
    size_t at = sizeof specials;
    memcpy(to, specials, at);
    for (int byte = 0; byte < 256; byte++) {
        if (byte != without) at += rapt__bytelevel_spell((unsigned char)byte, to + at);
        to[at++] = 0;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        memcpy(to + at, others[i], strlen(others[i]) + 1);
        at += strlen(others[i]) + 1;
    }
    return at;
}

static rapt_status create(rapt_tokenizer **t, bool space_first, const int32_t *pairs, int count,
                          int without, const rapt_allocator *allocator, rapt_message *why)
{
    char names[2048];
    const struct list_source source = {.names = names,
                                       .size = join(names, without),
                                       .count = NAMES,
                                       .merges = {true, space_first, pairs, count}};
    return rapt__tokenizer_list(t, &source, allocator, why);
}

static rapt_tokenizer *made(bool space_first)
{
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    if (create(&t, space_first, merges[0], MERGES, -1, NULL, &why)) fail_msg("%s", why.text);
    return t;
}

/* Writes the ids of a text, and checks the ends of tokens and every smaller capacity. */
static void ids_of(const rapt_tokenizer *t, rapt_text text, char *to)
{
    int32_t ids[MAX];
    size_t ends[MAX], count, again;
    rapt_message why = {""};
    if (rapt_tokenizer_encode(t, text, ids, ends, MAX, &count, &why)) fail_msg("%s", why.text);
    assert_true(count <= rapt_tokenizer_bound(t, text.size));
    *to = 0;
    for (size_t i = 0; i < count; i++) {
        to += sprintf(to, "%s%d", i ? " " : "", (int)ids[i]);
        assert_true(ends[i] <= text.size && (i == 0 || ends[i] >= ends[i - 1]));
    }
    assert_true(count == 0 || ends[count - 1] == text.size);
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
        rapt_tokenizer *t = made(known[i].space_first);
        ids_of(t, (rapt_text){known[i].text, known[i].size}, got);
        if (strcmp(got, known[i].ids) != 0)
            fail_msg("%d, \"%s\": %s, not %s", known[i].space_first, known[i].text, got,
                     known[i].ids);
        rapt_tokenizer_free(t);
    }
}

/* Other characters in names stand for themselves. */
static void test_bytes(void **state)
{
    (void)state;
    static const char name[] = "a\u4E2D\u0120\u0143\u0101";
    char bytes[sizeof name];
    const size_t size = rapt__bytelevel_bytes(text_of(name), bytes);
    assert_int_equal(size, 7);
    assert_memory_equal(bytes, "a\u4E2D \xAD\x01", 7);
}

/* Any bytes come back, unless they spell out special tokens. Words may be long. */
static void test_decode(void **state)
{
    (void)state;
    static char text[5000], back[5000];
    static int32_t ids[5001];
    static const char letters[] = "abc ' s\t12the\xC3\xA9\xF0\x9F\x98\x80\xFF\x80";
    rapt_tokenizer *t = made(false);
    uint64_t random = 1;
    for (size_t size = 0; size < sizeof text; size = 2 * size + 1) {
        size_t count, got;
        for (size_t i = 0; i < size; i++)
            text[i] = size % 3 ? letters[below(&random, sizeof letters - 1)] : 'a';
        assert_int_equal(
            rapt_tokenizer_encode(t, (rapt_text){text, size}, ids, NULL, 5001, &count, NULL),
            RAPT_OK);
        assert_int_equal(rapt_tokenizer_decode(t, ids, count, back, sizeof back, &got, NULL),
                         RAPT_OK);
        assert_int_equal(got, size);
        assert_memory_equal(back, text, size);
    }
    rapt_tokenizer_free(t);
}

static void test_written(void **state)
{
    (void)state;
    for (int space = 0; space < 2; space++) {
        rapt_tokenizer *t = made(space), *back = NULL;
        static char text[1 << 14], again[1 << 14];
        char got[16 * MAX], wanted[16 * MAX];
        size_t size, same;
        rapt_message why = {""};
        assert_int_equal(rapt_tokenizer_write(t, text, sizeof text, &size, NULL), RAPT_OK);
        assert_int_equal(strncmp(text, "rapt-bytelevel 1 273 ", 21), 0);
        if (rapt_tokenizer_create(&back, text, size - 1, NULL, &why)) fail_msg("%s", why.text);
        assert_int_equal(rapt_tokenizer_write(back, again, sizeof again, &same, NULL), RAPT_OK);
        assert_string_equal(text, again);
        ids_of(t, text_of("the abc"), wanted);
        ids_of(back, text_of("the abc"), got);
        assert_string_equal(got, wanted);
        rapt_tokenizer_free(back);
        rapt_tokenizer_free(t);
    }
}

/* Replaces the end of a written tokenizer, from its options on, and gives it the right sum. */
static void check_damaged(const char *rest, const char *phrase)
{
    static char text[1 << 14];
    rapt_tokenizer *t = made(false), *none = NULL;
    size_t size;
    rapt_message why = {""};
    assert_int_equal(rapt_tokenizer_write(t, text, sizeof text, &size, NULL), RAPT_OK);
    char *at = strstr(text, "0 13 36 120 ");
    assert_non_null(at);
    strcpy(at, rest);
    size = strlen(text);
    snprintf(text + size, 16, "#%08lx", (unsigned long)rapt__hash(text, size));
    assert_int_equal(rapt_tokenizer_create(&none, text, strlen(text), NULL, &why), RAPT_BAD_FILE);
    if (!strstr(why.text, phrase)) fail_msg("\"%s\", not \"%s\"", why.text, phrase);
    assert_null(none);
    rapt_tokenizer_free(t);
}

static void test_damaged(void **state)
{
    (void)state;
    check_damaged("2 0 ", "number of merges is wrong");
    check_damaged("0 2 36 120 ", "number of merges is wrong");
    check_damaged("0 1 36 x20 ", "merge 0 of the tokenizer cannot be read");
    check_damaged("0 1 36 273 ", "merge 0 joins 36 and 273; both must be in 0..272");
    check_damaged("0 1 36 120 120 ", "the tokenizer ends at byte ");
}

static void test_refused(void **state)
{
    (void)state;
    const int32_t twice[] = {36, 120, 36, 120}, unknown[] = {36, 120, 120, 120}, low[] = {-1, 4};
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    refused(create(&t, false, twice, 2, -1, NULL, &why), &why, "merge 1 is listed twice");
    refused(create(&t, false, unknown, 2, -1, NULL, &why), &why,
            "merge 1 makes \"tt\", which is not in the vocabulary");
    refused(create(&t, false, low, 1, -1, NULL, &why), &why, "merge 0 joins -1 and 4");
    rapt_tokenizer *good = made(false);
    size_t count;
    refused(
        rapt_tokenizer_encode(good, (rapt_text){"", (size_t)1 << 30}, NULL, NULL, 0, &count, &why),
        &why, "the text has 2^30 bytes or more");
    rapt_tokenizer_free(good);
    refused(create(&t, false, NULL, 0, 65, NULL, &why), &why,
            "the vocabulary lacks \"A\", which stands for byte 65");
    assert_null(t);
}

/* A merge whose name would be too long is refused. */
static void test_long(void **state)
{
    (void)state;
    static char names[8192];
    size_t size = join(names, -1);
    const int32_t pair[] = {NAMES, NAMES};
    rapt_tokenizer *t = NULL;
    rapt_message why = {""};
    memset(names + size, 'x', 600);
    const struct list_source source = {
        .names = names, .size = size + 601, .count = NAMES + 1, .merges = {true, false, pair, 1}};
    refused(rapt__tokenizer_list(&t, &source, NULL, &why), &why,
            "merge 0 makes a name of more than 1024 bytes");
}

static void test_memory(void **state)
{
    (void)state;
    rapt_tokenizer *t = NULL;
    int32_t ids[16];
    size_t count;
    for (long fails = 0; !t; fails++) {
        struct counting c = {.fails = fails};
        const rapt_allocator allocator = {counting_alloc, counting_free, &c};
        const rapt_status status = create(&t, false, merges[0], MERGES, -1, &allocator, NULL);
        assert_int_equal(status, t ? RAPT_OK : RAPT_NO_MEMORY);
        if (!t) assert_int_equal(c.living, 0);
        if (!t) continue;
        c.fails = c.calls;
        assert_int_equal(rapt_tokenizer_encode(t, text_of("the"), ids, NULL, 16, &count, NULL),
                         RAPT_NO_MEMORY);
        c.fails = -1;
        rapt_tokenizer_free(t);
        assert_int_equal(c.living, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),   cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_decode),  cmocka_unit_test(test_written),
        cmocka_unit_test(test_damaged), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_long),    cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
