/* word.c - finds where words end, in known texts and, by the rules, in random bytes. */
#include "help.h"

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
        cmocka_unit_test(known_cuts),
        cmocka_unit_test(long_words),
        cmocka_unit_test(any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
