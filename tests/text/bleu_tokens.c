/* bleu_tokens.c - the tokenizers of BLEU. The expected results were printed by sacreBLEU's. */
#include "help.h"

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
static void any_bytes(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_lines),
                                       cmocka_unit_test(other_tokenizers),
                                       cmocka_unit_test(any_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
