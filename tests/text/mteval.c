/* mteval.c - 13a tokenization. The expected results were printed by sacreBLEU's Tokenizer13a. */
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

/* Returns the size of `out` without trailing spaces. */
static size_t trimmed(const char *out, size_t size)
{
    while (size && out[size - 1] == ' ') size--;
    return size;
}

static void known_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[64], out[130];
        size_t size = strlen(cases[i].text);
        memcpy(text, cases[i].text, size);
        size_t made = rapt__mteval(text, size, out);
        assert_true(made <= 2 * size + 2);
        out[trimmed(out, made)] = 0;
        assert_string_equal(out, cases[i].tokens);
    }
}

/* The promised capacity must suffice for any bytes (sanitizers check it), and no byte may be
   lost. */
static void any_bytes(void **state)
{
    (void)state;
    static const char bytes[] = "..,,--09a \n\t&;<>\xC3\xA4\xFF\0";
    uint64_t seed = 5;
    for (int round = 0; round < 20000; round++) {
        size_t size = below(&seed, 30), expected = 0, found = 0;
        char *text = malloc(size + 1), *out = malloc(2 * size + 2);
        assert_non_null(text);
        assert_non_null(out);
        for (size_t i = 0; i < size; i++) text[i] = bytes[below(&seed, sizeof bytes)];
        for (size_t i = 0; i < size; i++) expected += (text[i] == '.' || text[i] == '0');
        size_t made = rapt__mteval(text, size, out);
        assert_true(made <= 2 * size + 2);
        for (size_t i = 0; i < made; i++) found += (out[i] == '.' || out[i] == '0');
        assert_int_equal(expected, found);
        free(text);
        free(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_lines), cmocka_unit_test(any_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
