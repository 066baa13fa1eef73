/* lower.c - compares lower case with the results of Python's str.lower(). */
#include "help.h"

struct lowered {
    const char *text, *lower;
};
static const struct lowered always[] = {
    {"", ""},
    {"Plain ASCII, [WITH] @Marks`{}", "plain ascii, [with] @marks`{}"},
    {"ÄÖÜ ÀÉÎÕØ ÞÐÆÅ ÷×ß", "äöü àéîõø þðæå ÷×ß"},
    {"ŁÓDŹ ŽIŽKA ŸŐŰĲ ĹŇ Ŀ", "łódź žižka ÿőűĳ ĺň ŀ"},
    {"İstanbul IŞIK ı", "i̇stanbul işik ı"},
    {"ẞ ẠỲ Ḕ", "ß ạỳ ḕ"},
    {"ΆΈΉΊΌΎΏ ΑΒΩΪ", "άέήίόύώ αβωϊ"},
    {"ЀЁЏ АБЯ ѢѲ ҐӁӀ ԀԮ", "ѐёџ абя ѣѳ ґӂӏ ԁԯ"},
    {"ԱԲՖ", "աբֆ"},
    /* A final sigma has a letter before it and none after it. Ignorable characters are skipped. */
    {"ΟΔΟΣ ΣΟΦΟΣ.", "οδος σοφος."},
    {"Σ ΑΣ ΣΣ ΑΣΑ", "σ ας σς ασα"},
    {"ΑΣ'Α ΑΣ' 'Σ Α'Σ", "ασ'α ας' 'σ α'ς"},
    {"1Σ ÄΣ ªΣ ΑΣ1", "1σ äς ªς ας1"},
    {"ΑΣ\xCC\x81 ΑΣ\xCC\x81Β", "ας\xCC\x81 ασ\xCC\x81β"},
    {"\xFFÄ\xC3 \xE2\x80X\x80", "\xFFä\xC3 \xE2\x80x\x80"},
};

#ifdef RAPT_HAVE_UTF8PROC
static const struct lowered beyond[] = {
    {"Ⱥ K Å Ⅷ Ⓐ", "ⱥ k å ⅷ ⓐ"}, {"ƁǅǇ ȺɄ", "ɓǆǉ ⱥʉ"},
    {"ᾈ Ὀ ῼ", "ᾀ ὀ ῳ"},         {"Ꭰ Ა Ⰰ Ꙁ", "ꭰ ა ⰰ ꙁ"},
    {"𐐀 𝐀 😀", "𐐨 𝐀 😀"},         {"ʰΣ Ⓐ\xCE\xA3", "ʰσ ⓐς"},
};
#else
static const struct lowered beyond[] = {{"😀 中", "😀 中"}};
#endif

static void check(const struct lowered *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char out[256];
        size_t size = rapt__lower(text_of(cases[i].text), out);
        assert_true(size <= 2 * strlen(cases[i].text));
        out[size] = 0;
        assert_string_equal(out, cases[i].lower);
    }
}

static void known_letters(void **state)
{
    (void)state;
    check(always, sizeof always / sizeof *always);
}

static void other_letters(void **state)
{
    (void)state;
    check(beyond, sizeof beyond / sizeof *beyond);
}

/* No text may grow to more than twice its size, and lower case must not change (except for
   sigmas). */
static void all_characters(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int round = 0; round < 200000; round++) {
        char text[8], once[16], twice[32];
        size_t size = 1 + below(&seed, sizeof text);
        for (size_t i = 0; i < size; i++) text[i] = (char)next_random(&seed);
        size_t first = rapt__lower((rapt_text){text, size}, once);
        assert_true(first <= 2 * size);
        size_t second = rapt__lower((rapt_text){once, first}, twice);
        assert_int_equal(first, second);
        assert_memory_equal(once, twice, first);
    }
}

static void many_sigmas(void **state)
{
    (void)state;
    size_t size = 200000;
    char *text = malloc(size), *out = malloc(2 * size);
    assert_non_null(text);
    assert_non_null(out);
    for (size_t i = 0; i < size; i += 2) memcpy(text + i, "Σ", 2);
    assert_int_equal(rapt__lower((rapt_text){text, size}, out), size);
    assert_memory_equal(out, "σσ", 4);
    assert_memory_equal(out + size - 4, "σς", 4);
    free(text);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_letters),
        cmocka_unit_test(other_letters),
        cmocka_unit_test(all_characters),
        cmocka_unit_test(many_sigmas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
