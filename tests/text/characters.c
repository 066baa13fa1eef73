/* characters.c - characters, their lower case, and words. */
#include "help.h"

/* ---- character: decodes the next character at every code point and after every kind of invalid
   byte. ---- */

/* The table of RFC 3629, section 4, as ranges of bytes. */
static const struct form {
    int length;
    unsigned char low[4], high[4];
} forms[] = {
    {1, {0x00}, {0x7F}},
    {2, {0xC2, 0x80}, {0xDF, 0xBF}},
    {3, {0xE0, 0xA0, 0x80}, {0xE0, 0xBF, 0xBF}},
    {3, {0xE1, 0x80, 0x80}, {0xEC, 0xBF, 0xBF}},
    {3, {0xED, 0x80, 0x80}, {0xED, 0x9F, 0xBF}},
    {3, {0xEE, 0x80, 0x80}, {0xEF, 0xBF, 0xBF}},
    {4, {0xF0, 0x90, 0x80, 0x80}, {0xF0, 0xBF, 0xBF, 0xBF}},
    {4, {0xF1, 0x80, 0x80, 0x80}, {0xF3, 0xBF, 0xBF, 0xBF}},
    {4, {0xF4, 0x80, 0x80, 0x80}, {0xF4, 0x8F, 0xBF, 0xBF}},
};

/* Returns the size of the character that begins here, or 0 if the bytes are invalid. */
static size_t form_length(const unsigned char *bytes, size_t size)
{
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        size_t length = (size_t)forms[f].length, i = 0;
        while (i < length && i < size && bytes[i] >= forms[f].low[i] &&
               bytes[i] <= forms[f].high[i])
            i++;
        if (i == length) return length;
    }
    return 0;
}

static void check_character(const unsigned char *bytes, size_t size)
{
    size_t valid = 0, length;
    while (valid < size && (length = form_length(bytes + valid, size - valid)) > 0) valid += length;
    assert_int_equal(rapt_utf8_valid((rapt_text){(const char *)bytes, size}), valid);
    for (size_t at = 0; at < size;) {
        size_t before = at;
        uint32_t c = rapt__utf8_next((const char *)bytes, size, &at);
        length = form_length(bytes + before, size - before);
        assert_int_equal(at - before, length ? length : 1);
        if (!length) assert_int_equal(c, 0xDC00 + bytes[before]);
    }
}

static void every_code_point(void **state)
{
    (void)state;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        if (c >= 0xD800 && c < 0xE000) continue;
        unsigned char bytes[4];
        size_t size = 0, at = 0;
        if (c < 0x80) {
            bytes[size++] = (unsigned char)c;
        } else if (c < 0x800) {
            bytes[size++] = (unsigned char)(0xC0 + c / 64);
        } else if (c < 0x10000) {
            bytes[size++] = (unsigned char)(0xE0 + c / 4096);
            bytes[size++] = (unsigned char)(0x80 + c / 64 % 64);
        } else {
            bytes[size++] = (unsigned char)(0xF0 + c / 262144);
            bytes[size++] = (unsigned char)(0x80 + c / 4096 % 64);
            bytes[size++] = (unsigned char)(0x80 + c / 64 % 64);
        }
        if (c >= 0x80) bytes[size++] = (unsigned char)(0x80 + c % 64);
        assert_int_equal(rapt__utf8_next((const char *)bytes, size, &at), c);
        assert_int_equal(at, size);
        assert_int_equal(rapt_utf8_valid((rapt_text){(const char *)bytes, size}), size);
        assert_int_equal(rapt_utf8_valid((rapt_text){(const char *)bytes, size - 1}), 0);
    }
}

static void every_two_bytes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 0x10000; i++) {
        unsigned char bytes[4] = {(unsigned char)(i >> 8), (unsigned char)i, 0x80, 0xBF};
        for (size_t size = 1; size <= 4; size++) check_character(bytes, size);
    }
}

static void random_bytes(void **state)
{
    (void)state;
    static const unsigned char likely[] = {0x20, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0,
                                           0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xED,
                                           0xEF, 0xF0, 0xF3, 0xF4, 0xF5, 0xFF};
    uint64_t seed = 1;
    for (int round = 0; round < 100000; round++) {
        unsigned char bytes[12];
        size_t size = below(&seed, 13);
        for (size_t i = 0; i < size; i++) bytes[i] = likely[below(&seed, sizeof likely)];
        check_character(bytes, size);
    }
}

static void where_it_breaks(void **state)
{
    (void)state;
    assert_int_equal(rapt_utf8_valid(text_of("")), 0);
    assert_int_equal(rapt_utf8_valid((rapt_text){NULL, 0}), 0);
    assert_int_equal(rapt_utf8_valid((rapt_text){"a\0b", 3}), 3);
    assert_int_equal(rapt_utf8_valid(text_of("caf\xC3\xA9 \xC3")), 6);
    assert_int_equal(rapt_utf8_valid(text_of("ok \xED\xA0\x80")), 3);
}

static void white_space(void **state)
{
    (void)state;
    int spaces = 0;
    for (uint32_t c = 0; c <= 0x10FFFF; c++) spaces += rapt__utf8_space(c);
    assert_int_equal(spaces, 29); /* as many as in Python */
    static const uint32_t some[] = {9, 10, 13, 0x1C, 0x20, 0x85, 0xA0, 0x2003, 0x2029, 0x3000};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) assert_true(rapt__utf8_space(some[i]));
    static const uint32_t none[] = {0, 0x1B, 0x200B, 0xFEFF, 0x180E, 'x'};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) assert_false(rapt__utf8_space(none[i]));
}

/* ---- lower: compares lower case with the results of Python's str.lower(). ---- */

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

static void check_lower(const struct lowered *cases, size_t count)
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
    check_lower(always, sizeof always / sizeof *always);
}

static void other_letters(void **state)
{
    (void)state;
    check_lower(beyond, sizeof beyond / sizeof *beyond);
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

/* ---- word: finds where words end, in known texts and, by the rules, in random bytes. ---- */

/* Writes the text with a | between words. */
static void cut(rapt_text text, char *out)
{
    for (size_t at = 0, end; at < text.size; at = end) {
        end = rapt__word_end(text.bytes, text.size, at);
        assert_true(end > at && end <= text.size && end - at <= RAPT__WORD_MAX);
        if (at) *out++ = '|';
        memcpy(out, text.bytes + at, end - at);
        out += end - at;
    }
    *out = 0;
}

static void known_cuts(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {" ", " "},
        {"   ", " | | "},
        {"a dog", "a| dog"},
        {"a  dog ", "a| | dog| "},
        {"The end.", "The| end|."},
        {"(so it is)", "(|so| it| is|)"},
        {"it's 5pm!?", "it|'|s| 5|pm|!?"},
        {" .  ,", " .| | ,"},
        {"Größe über", "Größe| über"},
        {"„Ja“ – nein…", "„|Ja|“| –| nein|…"},
        {"a\tb\nc", "a|\t|b|\n|c"},
        {"\xE2\x80 x\xE2\x80", "\xE2\x80| x\xE2\x80"},
        {"&apos;s", "&|apos|;|s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[64];
        cut(text_of(cases[i][0]), out);
        assert_string_equal(out, cases[i][1]);
    }
}

static void long_words(void **state)
{
    (void)state;
    enum { SIZE = 3000 };
    char text[SIZE], space[SIZE];
    memset(text, 'x', SIZE);
    assert_int_equal(rapt__word_end(text, RAPT__WORD_MAX, 0), RAPT__WORD_MAX);
    assert_int_equal(rapt__word_end(text, SIZE, 0), RAPT__WORD_MAX);
    assert_int_equal(rapt__word_end(text, SIZE, 7), 7 + RAPT__WORD_MAX);
    memcpy(space, text, SIZE);
    space[0] = ' ';
    assert_int_equal(rapt__word_end(space, SIZE, 0), RAPT__WORD_MAX);
    memset(text, 0x80, SIZE); /* no character boundary */
    assert_int_equal(rapt__word_end(text, SIZE, 0), RAPT__WORD_MAX);

    for (size_t lead = 0; lead < 4; lead++) { /* characters of 2, 3 and 4 bytes are not cut */
        static const char *const letters[] = {"ß", "中", "😀"};
        for (size_t l = 0; l < 3; l++) {
            size_t width = strlen(letters[l]);
            memset(text, 'x', lead);
            for (size_t i = lead; i + width <= SIZE; i += width)
                memcpy(text + i, letters[l], width);
            size_t end = rapt__word_end(text, SIZE, 0);
            assert_true(end > RAPT__WORD_MAX - 4 && end <= RAPT__WORD_MAX);
            assert_int_equal((end - lead) % width, 0);
        }
    }
    for (size_t i = 0; i + 3 <= SIZE; i += 3)
        memcpy(text + i, "–", 3); /* nor are punctuation marks */
    assert_int_equal(rapt__word_end(text, SIZE, 0), RAPT__WORD_MAX / 3 * 3);
}

/* Any bytes must be cut into words that obey the rules. */
static void any_bytes(void **state)
{
    (void)state;
    uint64_t seed = 7;
    for (int round = 0; round < 20000; round++) {
        static const char likely[] = "ab 1. \xE2\x80\x9C\xC3\xA4\xF0";
        char text[40], out[100];
        for (size_t i = 0; i < sizeof text; i++) text[i] = likely[below(&seed, sizeof likely)];
        cut((rapt_text){text, below(&seed, sizeof text + 1)}, out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point), cmocka_unit_test(every_two_bytes),
        cmocka_unit_test(random_bytes),     cmocka_unit_test(where_it_breaks),
        cmocka_unit_test(white_space),      cmocka_unit_test(known_letters),
        cmocka_unit_test(other_letters),    cmocka_unit_test(all_characters),
        cmocka_unit_test(many_sigmas),      cmocka_unit_test(known_cuts),
        cmocka_unit_test(long_words),       cmocka_unit_test(any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
