/* metrics.c - BLEU and chrF: counts of n-grams, the tokenizers of BLEU, and scores equal to
   sacreBLEU's. */
#include "help.h"
#include "scores.h"

/* ---- ngram: compares clipped counts of common n-grams with counting them one by one. ---- */

enum { MAX = 24, ORDERS = 6 };

static bool same(const uint32_t *a, const uint32_t *b, int order)
{
    return memcmp(a, b, (size_t)order * sizeof *a) == 0;
}

static int times(const uint32_t *ids, size_t length, const uint32_t *gram, int order)
{
    int count = 0;
    for (size_t i = 0; i + (size_t)order <= length; i++) count += same(ids + i, gram, order);
    return count;
}

/* Sums, for each distinct n-gram of the hypothesis, the smaller of its two counts. */
static long long naive(const uint32_t *h, size_t nh, const uint32_t *r, size_t nr, int order)
{
    long long matches = 0;
    for (size_t i = 0; i + (size_t)order <= nh; i++) {
        size_t first = 0;
        while (!same(h + first, h + i, order)) first++;
        if (first < i) continue;
        int in_h = times(h, nh, h + i, order), in_r = times(r, nr, h + i, order);
        matches += in_h < in_r ? in_h : in_r;
    }
    return matches;
}

static void against_definition(void **state)
{
    (void)state;
    uint64_t seed = 4;
    for (int round = 0; round < 3000; round++) {
        struct counting counting = {.fails = -1};
        rapt_allocator allocator = counting_allocator(&counting);
        struct ngrams grams;
        uint32_t ids[2 * MAX];
        long long matches[ORDERS];
        size_t h = below(&seed, MAX + 1), r = below(&seed, MAX + 1), kinds = 1 + below(&seed, 5);
        for (size_t i = 0; i < h + r; i++) ids[i] = (uint32_t)below(&seed, kinds) * 0x3FFFFFFFu;
        assert_int_equal(rapt__ngrams_create(&grams, h, r, &allocator), RAPT_OK);
        if (h + r) memcpy(grams.ids, ids, (h + r) * sizeof *ids);
        rapt__ngrams_match(&grams, ORDERS, matches);
        for (int n = 1; n <= ORDERS; n++)
            assert_int_equal(matches[n - 1], naive(ids, h, ids + h, r, n));
        rapt__ngrams_free(&grams, &allocator);
        assert_int_equal(counting.living, 0);
    }
}

static void totals(void **state)
{
    (void)state;
    assert_int_equal(rapt__ngrams_total(0, 1), 0);
    assert_int_equal(rapt__ngrams_total(3, 4), 0);
    assert_int_equal(rapt__ngrams_total(4, 4), 1);
    assert_int_equal(rapt__ngrams_total(9, 2), 8);
}

static void ngram_no_memory(void **state)
{
    (void)state;
    struct counting counting = {.fails = 0};
    rapt_allocator allocator = counting_allocator(&counting);
    struct ngrams grams;
    assert_int_equal(rapt__ngrams_create(&grams, 2, 3, &allocator), RAPT_NO_MEMORY);
    assert_int_equal(counting.living, 0);
}

/* ---- bleu tokens: the tokenizers of BLEU. The expected results were printed by sacreBLEU's. ----
 */

static const struct {
    const char *text, *tokens;
} cases[] = {
    {"", ""},
    {"   ", ""},
    {"plain words", "plain words"},
    {"end.", "end ."},
    {"1.5 and 1,5", "1.5 and 1,5"},
    {"a.b,c", "a . b , c"},
    {"a..b", "a . . b"},
    {"...", ". . ."},
    {"1...2", "1 . . .2"},
    {"x1.", "x1 ."},
    {"1.x", "1 . x"},
    {".5", ". 5"},
    {"5.", "5 ."},
    {"no.7", "no . 7"},
    {",,,", ", , ,"},
    {"a,b", "a , b"},
    {"1-2", "1 - 2"},
    {"a-b", "a-b"},
    {"1-a", "1 - a"},
    {"3--4", "3 - -4"},
    {"-", "-"},
    {"1.-", "1 . -"},
    {"it's", "it's"},
    {"(a)[b]{c}", "( a ) [ b ] { c }"},
    {"a_b^c`d~e|f", "a _ b ^ c ` d ~ e | f"},
    {"!\"#$%&*+/:;<=>?@\\", "! \" # $ % & * + / : ; < = > ? @ \\"},
    {"&quot;&amp;&lt;&gt;", "\" & < >"},
    {"&amp;lt;", "<"},
    {"&amp;quot;", "& quot ;"},
    {"<skipped>x", "x"},
    {"<skip<skipped>ped>", "< skipped >"},
    {"a-\nb", "ab"},
    {"a\nb", "a b"},
    {"a-\n", "a-"},
    {"ä.ö", "ä . ö"},
    {"„quoted“, yes", "„quoted“ , yes"},
    {"1.ä", "1 . ä"},
    {"½.5", "½ . 5"},
    {"\177\001", "\177\001"},
    {"....1....", ". . . .1 . . . ."},
    {"1.,2", "1 . , 2"},
    {"1,.a", "1 , . a"},
    {"9-.", "9 - ."},
    {"a&b;c", "a & b ; c"},
};

/* Returns whether the library can tokenize as intl: only with utf8proc. */
static bool intl(void)
{
    return rapt__bleu_tokens_check(RAPT_BLEU_TOKENS_INTL, NULL) == RAPT_OK;
}

/* Returns the size of `out` without trailing spaces. */
static size_t trimmed(const char *out, size_t size)
{
    while (size && out[size - 1] == ' ') size--;
    return size;
}

static const struct {
    rapt_bleu_tokens tokens;
    const char *text, *expected;
} others[] = {
    {RAPT_BLEU_TOKENS_ZH, "小猫睡在窗台上。", "小 猫 睡 在 窗 台 上 。"},
    {RAPT_BLEU_TOKENS_ZH, "我在2019年买了iPhone,花了1,500.5元。",
     "我 在 2019 年 买 了 iPhone , 花 了 1,500.5 元 。"},
    {RAPT_BLEU_TOKENS_ZH, " .5 和 5.", ".5 和 5."},
    {RAPT_BLEU_TOKENS_ZH, "“你好”—她说:走吧!", "“ 你 好 ” — 她 说 : 走 吧 !"},
    {RAPT_BLEU_TOKENS_ZH, "𠀀 与 𝄞", "𠀀 与 𝄞"},
    {RAPT_BLEU_TOKENS_ZH, "カタカナとひらがな、ｱｲｳ１２３。",
     "カタカナとひらがな 、 ｱ ｲ ｳ １ ２ ３ 。"},
    {RAPT_BLEU_TOKENS_ZH, "한국어 문장.", "한국어 문장 ."},
    {RAPT_BLEU_TOKENS_ZH, "don't 1-2 a-b &amp; c.d", "don't 1 - 2 a-b & amp ; c . d"},
    {RAPT_BLEU_TOKENS_ZH, "→ ① ★ ㍻ ⼀ ⩭⩮", "→ ① ★ ㍻ ⼀ ⩭ ⩮"},
    {RAPT_BLEU_TOKENS_INTL, "„Komm“, sagte sie – und lachte…",
     "„ Komm “ , sagte sie – und lachte …"},
    {RAPT_BLEU_TOKENS_INTL, "1,250.75 Kronen, 1999.", "1,250.75 Kronen , 1999."},
    {RAPT_BLEU_TOKENS_INTL, "L'été, où l'on s'ennuie : « hélas ! »",
     "L ' été , où l ' on s ' ennuie : « hélas ! »"},
    {RAPT_BLEU_TOKENS_INTL, "Цена — 5€ (или 3½$).", "Цена — 5 € ( или 3½ $ ) ."},
    {RAPT_BLEU_TOKENS_INTL, "مرحبا، كيف حالك؟ ٣٫٥", "مرحبا ، كيف حالك ؟ ٣٫٥"},
    {RAPT_BLEU_TOKENS_INTL, "a_b x@y.z 50% +1 ~ ^`", "a _ b x @ y . z 50 % + 1 ~ ^ `"},
    {RAPT_BLEU_TOKENS_INTL, "。、「猫」，1．5", "。 、 「 猫 」 ，1．5"},
    {RAPT_BLEU_TOKENS_INTL, "..a..1..2,,", ". . a . .1 . . 2 , ,"},
    {RAPT_BLEU_TOKENS_INTL, "  , leading", ", leading"},
    {RAPT_BLEU_TOKENS_INTL, "12.  ", "12."},
    {RAPT_BLEU_TOKENS_INTL, "٣.٣ Ⅷ.Ⅷ ½,½", "٣.٣ Ⅷ.Ⅷ ½,½"},
    {RAPT_BLEU_TOKENS_CHAR, "ab c。", "a b c 。"},
    {RAPT_BLEU_TOKENS_CHAR, " É  小猫", "É 小 猫"},
    {RAPT_BLEU_TOKENS_CHAR, "𝄞x", "𝄞 x"},
    {RAPT_BLEU_TOKENS_CHAR, "é", "e ́"},
    {RAPT_BLEU_TOKENS_CHAR, "", ""},
};

static void other_tokenizers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[128], out[258];
        size_t size = strlen(others[i].text);
        if (others[i].tokens == RAPT_BLEU_TOKENS_INTL && !intl()) continue;
        memcpy(text, others[i].text, size);
        size_t made = rapt__bleu_tokens(others[i].tokens, text, size, out);
        assert_true(made <= 2 * size + 2);
        out[trimmed(out, made)] = 0;
        assert_string_equal(out, others[i].expected);
    }
}

static void known_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64], out[130];
        size_t size = strlen(cases[i].text);
        memcpy(text, cases[i].text, size);
        size_t made = rapt__bleu_tokens(RAPT_BLEU_TOKENS_13A, text, size, out);
        assert_true(made <= 2 * size + 2);
        out[trimmed(out, made)] = 0;
        assert_string_equal(out, cases[i].tokens);
    }
}

/* With each tokenizer the promised capacity must suffice for any bytes (sanitizers check it), and
   no byte may be lost. */
static void bleu_tokens_any_bytes(void **state)
{
    (void)state;
    static const char bytes[] = "..,,--09a \n\t&;<>\xC3\xA4\xFF\0\xE3\x80\x82\xC2\xAB";
    uint64_t seed = 5;
    for (int round = 0; round < 50000; round++) {
        static const rapt_bleu_tokens all[] = {RAPT_BLEU_TOKENS_13A, RAPT_BLEU_TOKENS_ZH,
                                               RAPT_BLEU_TOKENS_INTL, RAPT_BLEU_TOKENS_CHAR};
        rapt_bleu_tokens tokens = all[round % 4];
        size_t size = below(&seed, 30), expected = 0, found = 0;
        char *text = malloc(size + 1), *out = malloc(2 * size + 2);
        assert_non_null(text);
        assert_non_null(out);
        for (size_t i = 0; i < size; i++) text[i] = bytes[below(&seed, sizeof bytes)];
        for (size_t i = 0; i < size; i++) expected += (text[i] == '.' || text[i] == '0');
        size_t made = rapt__bleu_tokens(tokens, text, size, out);
        assert_true(made <= 2 * size + 2);
        for (size_t i = 0; i < made; i++) found += (out[i] == '.' || out[i] == '0');
        assert_int_equal(expected, found);
        free(text);
        free(out);
    }
}

/* ---- bleu: BLEU equals sacreBLEU's on the stored corpora, in any order of the additions. Also
   tests arguments and lack of memory. ---- */

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

static void bleu_stored_scores(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scored / sizeof *scored; i++) {
        const struct scored *s = &scored[i];
        expect(s, "13a", score(s, RAPT_BLEU_TOKENS_13A, 0), s->bleu);
        expect(s, "13a, lower case", score(s, RAPT_BLEU_TOKENS_13A, 1), s->bleu_lower);
        expect(s, "none", score(s, RAPT_BLEU_TOKENS_NONE, 0), s->bleu_none);
    }
}

static void bleu_counts(void **state)
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

static void bleu_bad_arguments(void **state)
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

static void bleu_no_memory(void **state)
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

static void bleu_any_bytes(void **state)
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

/* ---- chrf: chrF2 equals sacreBLEU's on the stored corpora, also on invalid bytes. Also tests
   arguments and lack of memory. ---- */

static void chrf_stored_scores(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scored / sizeof *scored; i++) {
        const struct scored *s = &scored[i];
        rapt_chrf chrf = {0};
        for (size_t k = 0; k < 6 && s->pairs[k].hypothesis; k++)
            assert_int_equal(rapt_chrf_add(&chrf, text_of(s->pairs[k].hypothesis),
                                           text_of(s->pairs[k].reference), NULL, NULL),
                             RAPT_OK);
        double got = rapt_chrf_score(&chrf);
        if (fabs(got - s->chrf) > 1e-7) fail_msg("%s: %.8f instead of %.8f", s->name, got, s->chrf);
    }
}

static void chrf_counts(void **state)
{
    (void)state;
    rapt_chrf chrf = {0};
    rapt_chrf_add(&chrf, text_of("a ä\u00a0a\xFF"), text_of("aäb"), NULL, NULL);
    const rapt_chrf expected = {{2, 1, 0, 0, 0, 0}, {4, 3, 2, 0, 0, 0}, {3, 2, 1, 0, 0, 0}};
    assert_memory_equal(&chrf, &expected, sizeof chrf);
}

static void chrf_bad_arguments(void **state)
{
    (void)state;
    rapt_chrf chrf = {{1}, {2}, {3}}, before = chrf;
    rapt_text ok = text_of("x"), null = {NULL, 1}, huge = {"", (size_t)1 << 40};
    assert_int_equal(rapt_chrf_add(NULL, ok, ok, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_chrf_add(&chrf, null, ok, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_chrf_add(&chrf, ok, null, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_chrf_add(&chrf, huge, ok, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_chrf_add(&chrf, ok, huge, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_memory_equal(&chrf, &before, sizeof chrf);
}

static void chrf_no_memory(void **state)
{
    (void)state;
    struct counting counting = {.fails = 0};
    rapt_allocator allocator = counting_allocator(&counting);
    rapt_chrf chrf = {{1}, {2}, {3}}, before = chrf;
    assert_int_equal(rapt_chrf_add(&chrf, text_of("x"), text_of("y"), &allocator, NULL),
                     RAPT_NO_MEMORY);
    assert_memory_equal(&chrf, &before, sizeof chrf);
    counting = (struct counting){.fails = -1};
    assert_int_equal(rapt_chrf_add(&chrf, text_of("x"), text_of("y"), &allocator, NULL), RAPT_OK);
    assert_int_equal(counting.calls, 1);
    assert_int_equal(counting.living, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_definition), cmocka_unit_test(totals),
        cmocka_unit_test(ngram_no_memory),    cmocka_unit_test(known_lines),
        cmocka_unit_test(other_tokenizers),   cmocka_unit_test(bleu_tokens_any_bytes),
        cmocka_unit_test(bleu_stored_scores), cmocka_unit_test(bleu_counts),
        cmocka_unit_test(bleu_bad_arguments), cmocka_unit_test(reasons),
        cmocka_unit_test(bleu_no_memory),     cmocka_unit_test(bleu_any_bytes),
        cmocka_unit_test(a_long_line),        cmocka_unit_test(chrf_stored_scores),
        cmocka_unit_test(chrf_counts),        cmocka_unit_test(chrf_bad_arguments),
        cmocka_unit_test(chrf_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
