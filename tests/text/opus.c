/* opus.c - text prepared like OPUS-MT's scripts do: cases of each rule, every character compared
   with Perl and sed where they are installed, sizes, and offsets into the original. */
#define _GNU_SOURCE
#include "temporary.h"
#include "text/help.h"

#include <rapt/text.h>
#include <stdio.h>
#include <unistd.h>

static const struct {
    const char *text, *wanted;
} cases[] = {
    {"", ""},
    {"   ", ""},
    {"\t\r\n", ""},
    {"plain text, as it is.", "plain text, as it is."},
    {"  two   spaces\tand tabs ", "two spaces and tabs"},
    {"\u201CHe\u2019s here\u201D\u2026", "\"He's here\"..."},
    {"\u5168\u89D2\uFF0C\u5168\u89D2\u3002",
     "\u5168\u89D2,\u5168\u89D2."}, /* no space at the end */
    {"\u5168\u89D2\u3002  \u5168\u89D2", "\u5168\u89D2. \u5168\u89D2"},
    {"\u5168\u3002\u5168\uFF0E\u5168", "\u5168. \u5168. \u5168"},
    {"\uFF10\uFF11\uFF12\uFF13\uFF14\uFF15\uFF16\uFF17\uFF18\uFF19", "0\"23456789"},
    {"\uFF08\uFF09\uFF01\uFF1F\uFF1A\u2236\uFF1B\uFF05\uFF5E\u2501", "()!?::;%~-"},
    {"\u3008\u3009\u300A\u300B\u300C\u300D\u3010\u3011\u3001", "<>\"\"\"\"[],"},
    {"a\u00ADb\u200Bc\u2060d\uFEFFe", "a b c d e"},
    {"\uFEFFstart", "start"},
    {"\u3000wide\u00A0stays\u3000", "\u3000wide\u00A0stays\u3000"},
    {">>deu<< \u201CHi\u201D", ">>deu<< \"Hi\""},
    {"\xFF bytes \xC3", "\xFF bytes \xC3"},
};

static size_t prepared(rapt_text text, char *bytes, size_t *ends)
{
    size_t size = 0, asked = 0;
    rapt_message why = {""};
    assert_int_equal(rapt_text_preprocess(RAPT_PREPROCESS_OPUS, text, NULL, NULL, 0, &asked, NULL),
                     RAPT_OK);
    if (rapt_text_preprocess(RAPT_PREPROCESS_OPUS, text, bytes, ends, text.size, &size, &why))
        fail_msg("%s", why.text);
    assert_int_equal(size, asked);
    return size;
}

/* Checks that offsets increase and end within the text, and that an unchanged character ends after
   its own bytes. */
static void check_ends(rapt_text text, const char *bytes, const size_t *ends, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        assert_true(ends[i] > 0 && ends[i] <= text.size && (i == 0 || ends[i] >= ends[i - 1]));
        if ((unsigned char)bytes[i] >= 0x80 && (i + 1 == size || ends[i + 1] != ends[i]))
            assert_int_equal(bytes[i], text.bytes[ends[i] - 1]);
    }
}

static void test_cases(void **state)
{
    (void)state;
    char bytes[128], again[128];
    size_t ends[128];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rapt_text text = {cases[i].text, strlen(cases[i].text)};
        size_t size = prepared(text, bytes, ends);
        if (size != strlen(cases[i].wanted) || memcmp(bytes, cases[i].wanted, size) != 0)
            fail_msg("\"%s\" became \"%.*s\"", cases[i].text, (int)size, bytes);
        check_ends(text, bytes, ends, size);
        assert_int_equal(prepared((rapt_text){bytes, size}, again, NULL), size);
        assert_memory_equal(bytes, again, size);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    const rapt_text text = {"\u201Ca\u201D b", 9};
    char bytes[9] = "12345678";
    size_t size = 7;
    rapt_message why = {""};
    assert_int_equal(rapt_text_preprocess(RAPT_PREPROCESS_OPUS, text, bytes, NULL, 4, &size, &why),
                     RAPT_BAD_ARGUMENT);
    assert_string_equal(why.text, "capacity is 4; the text needs 5 bytes");
    assert_int_equal(size, 5);
    assert_memory_equal(bytes, "\"a\" 5678", 8);
    assert_int_equal(rapt_text_preprocess((rapt_preprocess)2, text, bytes, NULL, 9, &size, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "by is 2"));
    assert_int_equal(rapt_text_preprocess(RAPT_PREPROCESS_NONE, text, bytes, NULL, 9, &size, NULL),
                     RAPT_OK);
    assert_int_equal(size, 9);
    assert_memory_equal(bytes, text.bytes, 9);
}

/* ---- every character between two letters, compared with Perl ---- */

/* The rules in Perl. "?" marks characters that Perl's version of Unicode has not assigned. */
static const char script[] =
    "if (/(?![\\x{FDD0}-\\x{FDEF}]|[\\x{FFFE}\\x{FFFF}])\\p{Cn}/) { print \"?\\n\"; next } "
    "tr/\xEF\xBC\x8C\xE3\x80\x81\xE2\x88\xB6\xEF\xBC\x9A\xEF\xBC\x9F\xEF\xBC\x89\xEF\xBC\x81"
    "\xEF\xBC\x88\xEF\xBC\x9B\xEF\xBD\x9E\xE2\x80\x99\xE2\x94\x81\xE3\x80\x88\xE3\x80\x89"
    "\xE3\x80\x90\xE3\x80\x91\xEF\xBC\x85\xEF\xBC\x90\xEF\xBC\x92-\xEF\xBC\x99/"
    ",,::?)!(;~\\x27\\-<>[]%02-9/; "
    "s/[\xE2\x80\x9D\xE2\x80\x9C\xE3\x80\x8A\xE3\x80\x8B\xEF\xBC\x91\xE3\x80\x8D\xE3\x80\x8C]/"
    "\\x22/g; "
    "s/[\xE3\x80\x82\xEF\xBC\x8E] */. /g; s/\xE2\x80\xA6/.../g; "
    "s/(?!\\n)\\p{C}/ /g; s/[\\x{2060}\\x{200B}\\x{feff}]//g; s/ +/ /g; s/^ +//; s/ +$//; print";

static size_t utf8(uint32_t c, char *to)
{
    if (c < 0x80) return to[0] = (char)c, 1;
    if (c < 0x800) return to[0] = (char)(0xC0 | c >> 6), to[1] = (char)(0x80 | (c & 63)), 2;
    size_t size = c < 0x10000 ? 3 : 4;
    to[0] = (char)(size == 3 ? 0xE0 | c >> 12 : 0xF0 | c >> 18);
    for (size_t i = 1; i < size; i++) to[i] = (char)(0x80 | (c >> 6 * (size - 1 - i) & 63));
    return size;
}

/* Steps through all of planes 0 and 1, and the first 16,384 and the last 64 characters of the
   others. */
static uint32_t next_character(uint32_t c)
{
    c++;
    if (c == '\n') c++;
    if (c == 0xD800) c = 0xE000;
    if (c >= 0x20000 && (c & 0xFFFF) == 0x4000) c = (c & ~0xFFFFu) + 0xFFC0;
    return c;
}

static void write_characters(const char *path)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (uint32_t c = 1; c < 0x110000; c = next_character(c)) {
        char line[16] = "x", *to = line + 1;
        to += utf8(c, to);
        fwrite(line, 1, (size_t)(to - line), file);
        fputs("y \n", file);
    }
    assert_int_equal(fclose(file), 0);
}

static void test_perl(void **state)
{
    (void)state;
    char folder[TEMPORARY], path[TEMPORARY + 8], command[2048], line[64], bytes[64];
    if (system("perl -e 1 2>/dev/null") != 0) {
        print_message("skipped: every character beside Perl: it is not installed\n");
        return;
    }
    assert_non_null(temporary_folder(folder));
    snprintf(path, sizeof path, "%s/text", folder);
    write_characters(path);
    snprintf(command, sizeof command, "perl -CSD -Mutf8 -ne '%s' %s", script, path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    long compared = 0, changed = 0;
    for (uint32_t c = 1; c < 0x110000; c = next_character(c)) {
        char own[16] = "x", *to = own + 1;
        to += utf8(c, to);
        memcpy(to, "y ", 2);
        size_t size = prepared((rapt_text){own, (size_t)(to + 2 - own)}, bytes, NULL);
        if (!fgets(line, sizeof line, pipe)) fail_msg("Perl stopped at U+%04X", (unsigned)c);
        if (strcmp(line, "?\n") == 0) continue;
        compared++;
        changed += size != (size_t)(to + 1 - own) || memcmp(own, bytes, size) != 0;
        if (strlen(line) != size + 1 || memcmp(line, bytes, size) != 0)
            fail_msg("U+%04X: \"%.*s\", not \"%s", (unsigned)c, (int)size, bytes, line);
    }
    assert_int_equal(pclose(pipe), 0);
    assert_true(unlink(path) == 0 && rmdir(folder) == 0);
    print_message("%ld characters as Perl has them, %ld of them changed\n", compared, changed);
    assert_true(compared > 100000 && changed > 6000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_perl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
