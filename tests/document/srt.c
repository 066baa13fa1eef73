/* srt.c - what subtitles become: the text of each cue, with its line breaks. */
#include "markup_help.h"

static void becomes_srt(const char *document, const char *wanted)
{
    reorders(RAPT_DOCUMENT_FORMAT_SRT, (struct reordering){REVERSED, false}, document, wanted);
}

#define TIME "00:00:01,000 --> 00:00:02,500\n"

static void test_cues(void **state)
{
    (void)state;
    becomes_srt("1\n" TIME "one two\n\n2\n" TIME "three four\n",
                "1\n" TIME "TWO ONE\n\n2\n" TIME "FOUR THREE\n");
    becomes_srt("a b\n\n1\r\n00:01,5 --> 00:02,0 X1:5\r\na b\r\n",
                "a b\n\n1\r\n00:01,5 --> 00:02,0 X1:5\r\nB A\r\n");
    becomes_srt("WEBVTT\n\nNOTE a b\n\n00:01.000 --> 00:02.000 align:start\na b",
                "WEBVTT\n\nNOTE a b\n\n00:01.000 --> 00:02.000 align:start\nB A");
    becomes_srt(TIME "\na b\n\n" TIME "12\n", TIME "\na b\n\n" TIME "12\n");
    becomes_srt("a --> b\nc d\n", "a --> b\nc d\n");
}

/* A sentence on two lines becomes one on two lines of about the same shares. */
static void test_lines(void **state)
{
    (void)state;
    becomes_srt(TIME "one two three\nfour five six\n", TIME "SIX FIVE FOUR\nTHREE TWO ONE\n");
    becomes_srt(TIME "one two\r\nthree. Four\r\n", TIME "THREE.\r\nTWO ONE FOUR\r\n");
    becomes_srt(TIME "One two.\nThree four.\n", TIME "TWO. ONE\nFOUR. THREE\n");
    becomes_srt(TIME "- One two\n- three four\n", TIME "- TWO ONE\n- FOUR THREE\n");
    becomes_srt(TIME "a b\nc\nd e f\n", TIME "F E\nD\nC B A\n");
}

static void test_tags(void **state)
{
    (void)state;
    becomes_srt(TIME "<i>one two</i> three\n", TIME "THREE <i>TWO ONE</i>\n");
    becomes_srt(TIME "{\\an8}one <font color=\"#f00\">two</font>\n",
                TIME "{\\an8}<font color=\"#f00\">TWO</font> ONE\n");
    becomes_srt(TIME "a < b {c} &amp; d\n", TIME "&amp;D {c} B < A\n");
    becomes_srt(TIME "a <b\n\n" TIME "c>d\n", TIME "<B A\n\n" TIME "C>D\n");
}

/* A line without a blank is not broken, since an empty line would end the cue. */
static void test_dropped(void **state)
{
    (void)state;
    struct reordering how = {IN_ORDER, true};
    reorders(RAPT_DOCUMENT_FORMAT_SRT, how, TIME "\xE4\xBA\xBA\n\xE4\xBA\xBA\xE4\xBA\xBA\n",
             TIME "\xE4\xBA\xBA\n\xE4\xBA\xBA\xE4\xBA\xBA\n");
    becomes_srt(TIME "<b>a</b>\n<i>b</i>\n", TIME "<i>B</i>\n<b>A</b>\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cues),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
