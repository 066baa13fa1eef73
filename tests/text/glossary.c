/* glossary.c - reading glossaries, and what they find in sentences: known cases, and random ones
   against a search without an index. */
#include "text/help.h"
#include "text/plain_glossary.h"

static rapt_glossary *glossary_of(const char *text)
{
    rapt_glossary *g = NULL;
    rapt_message why = {""};
    if (rapt_glossary_create(&g, (rapt_text){text, strlen(text)}, NULL, &why))
        fail_msg("%s", why.text);
    return g;
}

/* Writes what a glossary finds in a sentence as "found=target ", with * after a match in capitals
   and ^ after one whose target may begin with a capital. */
static const char *found_in(const char *glossary, const char *sentence)
{
    static char out[400];
    rapt_glossary *g = glossary_of(glossary);
    const rapt_text text = {sentence, strlen(sentence)};
    struct glossary_match m;
    size_t size = 0;
    out[0] = 0;
    for (size_t at = 0; rapt__glossary_next(g, text, at, &m); at = m.end) {
        const rapt_text target = g->targets[m.entry->first];
        size += (size_t)snprintf(out + size, sizeof out - size, "%.*s=%.*s%s%s ",
                                 (int)(m.end - m.begin), sentence + m.begin, (int)target.size,
                                 target.bytes, m.capital ? "^" : "", m.capitals ? "*" : "");
    }
    rapt_glossary_free(g);
    return out;
}

static void test_matches(void **state)
{
    (void)state;
    const char *const banks = "bank\tBanco\nbank account\tconta\n";
    assert_string_equal(found_in(banks, "a bank, a bank account."),
                        "bank=Banco bank account=conta ");
    assert_string_equal(found_in(banks, "banks, a_bank, embank, bank2"), "");
    assert_string_equal(found_in(banks, "Bank BANK bAnk"), "Bank=Banco^ BANK=Banco* ");
    assert_string_equal(found_in(banks, "(bank) (bank)"), "bank=Banco^ bank=Banco ");
    assert_string_equal(found_in(banks, "bank  account"), "bank=Banco^ ");
    assert_string_equal(found_in("bank|banks\tx\texact\n", "bank Banks banks"), "bank=x^ banks=x ");
    assert_string_equal(found_in("Bank\tx\tnocase\n", "a bank BaNK"), "bank=x BaNK=x ");
    assert_string_equal(found_in("C++\tc\n.NET\td\n", "C++, C and .NET."), "C++=c^ .NET=d ");
    assert_string_equal(found_in("polish\tp\nPolish\tP\n", "a Polish polish"),
                        "Polish=p^ polish=p ");
    assert_string_equal(found_in("polish\tp\texact\nPolish\tP\texact\n", "a Polish polish"),
                        "Polish=P polish=p ");
    assert_string_equal(found_in("\xE9\x8A\x80\xE8\xA1\x8C\tbank\n",
                                 "\xE6\x88\x91\xE9\x8A\x80\xE8\xA1\x8C\xE5\xA5\xBD"),
                        "\xE9\x8A\x80\xE8\xA1\x8C=bank ");
    assert_string_equal(found_in("\xCE\xB4\xCF\x81\xCF\x8C\xCE\xBC\xCE\xBF\xCF\x82\tway\n",
                                 "a \xCE\x94\xCE\xA1\xCE\x8C\xCE\x9C\xCE\x9F\xCE\xA3"),
                        "\xCE\x94\xCE\xA1\xCE\x8C\xCE\x9C\xCE\x9F\xCE\xA3=way* ");
}

static void test_reading(void **state)
{
    (void)state;
    rapt_glossary *g = glossary_of("\xEF\xBB\xBF a | b \t c|d\\|e\\\\ \t exact \r\n\n \nx\ty\t\n");
    assert_int_equal(rapt_glossary_count(g), 2);
    assert_int_equal(g->source_count, 3);
    assert_int_equal(g->target_count, 3);
    assert_memory_equal(g->targets[1].bytes, "d|e\\", 4);
    assert_int_equal(g->targets[1].size, 4);
    assert_int_equal(g->entries[0].rule, GLOSSARY_EXACT);
    assert_int_equal(g->entries[1].line, 4);
    rapt_glossary_free(g);
    g = glossary_of("");
    assert_int_equal(rapt_glossary_count(g), 0);
    rapt_glossary_free(g);
    assert_int_equal(rapt_glossary_count(NULL), 0);
}

static void refuse(const char *text, size_t size, const char *reason)
{
    rapt_glossary *g = NULL;
    rapt_message why = {""};
    assert_int_equal(rapt_glossary_create(&g, (rapt_text){text, size}, NULL, &why), RAPT_BAD_FILE);
    assert_null(g);
    assert_string_equal(why.text, reason);
}

static void test_refusals(void **state)
{
    (void)state;
    char wide[300] = "";
    memset(wide, 'a', 256);
    memcpy(wide + 256, "\tb", 2);
    refuse("a\tb\nbank", 8, "line 2: the target is empty; a line is a source, a tab and a target");
    refuse("\tb", 2, "line 1: the source is empty; a line is a source, a tab and a target");
    refuse("a\tb| |c", 7, "line 1: the target is empty; a line is a source, a tab and a target");
    refuse("a\tb\tcase\td", 10, "line 1: the rule is \"case?d\"; it must be exact or nocase");
    refuse("a\tb\n\n\xFF\tb", 8, "line 3: byte 1 is not valid UTF-8");
    refuse(wide, 258, "line 1: a form of the source has 256 bytes; the maximum is 255");
    refuse("a|b\tx\nc|b\ty\n", 12,
           "line 2: the source \"b\" is also on line 1; separate several targets with |");
}

static void test_memory(void **state)
{
    (void)state;
    struct counting counting = {.fails = -1};
    const rapt_allocator allocator = counting_allocator(&counting);
    char text[200];
    size_t size = 0;
    rapt_status status = RAPT_NO_MEMORY;
    int n = 0;
    for (int i = 0; i < 20; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "a%d\tx|y\n", i);
    for (; status == RAPT_NO_MEMORY; n++) {
        rapt_glossary *g = NULL;
        rapt_message why = {""};
        counting.calls = 0, counting.fails = n;
        status = rapt_glossary_create(&g, (rapt_text){text, size}, &allocator, &why);
        assert_true((status == RAPT_OK) == (why.text[0] == 0) &&
                    (status == RAPT_OK) == (g != NULL));
        rapt_glossary_free(g);
        assert_int_equal(counting.living, 0);
    }
    assert_true(status == RAPT_OK && n > 6);
    rapt_message why = {""};
    rapt_glossary *g = NULL;
    assert_int_equal(rapt_glossary_create(&g, (rapt_text){text, (size_t)1 << 31}, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_string_equal(why.text, "the glossary has 2147483648 bytes; the maximum is 2147483647");
}

static uint64_t draw(uint64_t *seed, uint64_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (*seed >> 33) % n;
}

/* Short words over few letters, so that many match. */
static size_t random_words(uint64_t *seed, char *out, int words)
{
    static const char *const letters[] = {"a",        "b",        "A", "B",
                                          "\xC3\xA9", "\xC3\x89", "-", "\xE9\x8A\x80"};
    size_t size = 0;
    for (int w = 0; w < words; w++) {
        if (w > 0) out[size++] = ' ';
        for (uint64_t n = 1 + draw(seed, 3); n > 0; n--) {
            const char *letter = letters[draw(seed, 8)];
            memcpy(out + size, letter, strlen(letter));
            size += strlen(letter);
        }
    }
    return size;
}

static void test_random(void **state)
{
    (void)state;
    static const char *const rules[] = {"\tx\n", "\tx\texact\n", "\tx\tnocase\n"};
    size_t matches = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        uint64_t s = seed;
        char text[2000], sentence[600];
        size_t size = 0, begin, end, entry = 0;
        rapt_glossary *g = NULL;
        for (int i = 0; i < 12; i++) {
            const char *rule = rules[draw(&s, 3)];
            size += random_words(&s, text + size, 1 + (int)draw(&s, 2));
            memcpy(text + size, rule, strlen(rule));
            size += strlen(rule);
        }
        const rapt_text all = {sentence, random_words(&s, sentence, 30)};
        if (rapt_glossary_create(&g, (rapt_text){text, size}, NULL, NULL)) continue; /* twice */
        struct glossary_match m;
        for (size_t at = 0;; at = m.end, matches++) {
            const bool found = rapt__glossary_next(g, all, at, &m);
            assert_int_equal(found, plain_next(g, all, at, &begin, &end, &entry));
            if (!found) break;
            assert_int_equal(m.begin, begin);
            assert_int_equal(m.end, end);
            assert_ptr_equal(m.entry, &g->entries[entry]);
        }
        rapt_glossary_free(g);
    }
    assert_true(matches > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches), cmocka_unit_test(test_reading),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
