/* catalogs.c - what files of translators become: messages of gettext, subtitles and XLIFF. */
#include "document_help.h"

/* ---- po: what messages of gettext become, and which have a translation already. ---- */

static void becomes_po(const char *document, const char *wanted)
{
    reorders(RAPT_DOCUMENT_FORMAT_PO, (struct reordering){REVERSED, false}, document, wanted);
}

static void test_entries(void **state)
{
    (void)state;
    becomes_po("# one two\nmsgid \"one two\"\nmsgstr \"\"\n",
               "# one two\nmsgid \"one two\"\nmsgstr \"TWO ONE\"\n");
    becomes_po("msgid \"\"\nmsgstr \"\"\n\"Language: de\\n\"\n",
               "msgid \"\"\nmsgstr \"\"\n\"Language: de\\n\"\n");
    becomes_po("msgctxt \"c d\"\nmsgid \"a b\"\nmsgstr \"x\"\nmsgid \"e f\"\nmsgstr\t\"\"",
               "msgctxt \"c d\"\nmsgid \"a b\"\nmsgstr \"x\"\nmsgid \"e f\"\nmsgstr\t\"F E\"");
    becomes_po("#~ msgid \"a b\"\n#~ msgstr \"\"\n", "#~ msgid \"a b\"\n#~ msgstr \"\"\n");
    becomes_po("msgid \"12 %s\"\nmsgstr \"\"\n", "msgid \"12 %s\"\nmsgstr \"\"\n");
    becomes_po("msgid \"a b\"\nmsgstr \" \"\n", "msgid \"a b\"\nmsgstr \" \"\n");
}

/* A fuzzy translation is replaced; its mark remains, and does not affect the next entry. */
static void test_fuzzy(void **state)
{
    (void)state;
    becomes_po("#, c-format, fuzzy\n#| msgid \"old\"\nmsgid \"a b\"\nmsgstr \"\"\n\"x\"\n\"y\"\n"
               "msgid \"c d\"\nmsgstr \"z\"\n",
               "#, c-format, fuzzy\n#| msgid \"old\"\nmsgid \"a b\"\nmsgstr \"B A\"\n"
               "msgid \"c d\"\nmsgstr \"z\"\n");
    becomes_po("#,fuzzy\nmsgid \"a b\"\nmsgstr \"x\"\n",
               "#,fuzzy\nmsgid \"a b\"\nmsgstr \"B A\"\n");
    becomes_po("#, no-fuzzy, fuzzy-format\nmsgid \"a b\"\nmsgstr \"x\"\n",
               "#, no-fuzzy, fuzzy-format\nmsgid \"a b\"\nmsgstr \"x\"\n");
}

static void test_plurals(void **state)
{
    (void)state;
    becomes_po("msgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"\"\nmsgstr[1] \"\"\n"
               "msgstr[2] \"\"\n",
               "msgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"FILE %d\"\n"
               "msgstr[1] \"FILES %d\"\nmsgstr[2] \"FILES %d\"\n");
    becomes_po("msgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"\"\n",
               "msgid \"%d file\"\nmsgid_plural \"%d files\"\nmsgstr[0] \"FILES %d\"\n");
    becomes_po("msgid \"a b\"\nmsgid_plural \"c d\"\nmsgstr[0] \"x\"\nmsgstr[1] \"\"\n",
               "msgid \"a b\"\nmsgid_plural \"c d\"\nmsgstr[0] \"x\"\nmsgstr[1] \"D C\"\n");
}

/* Lines of a message, and strings that are only broken in the file. */
static void test_strings(void **state)
{
    (void)state;
    becomes_po("msgid \"\"\n\"Use: x \"\n\"y\\n\"\n\"\\t a \\\"b\\\" c\\\\d\\n\"\nmsgstr \"\"\n",
               "msgid \"\"\n\"Use: x \"\n\"y\\n\"\n\"\\t a \\\"b\\\" c\\\\d\\n\"\nmsgstr \"\"\n"
               "\"Y X USE:\\n\"\n\"\\t C\\\\D \\\"B\\\" A\\n\"\n");
    becomes_po("msgid \"One two. Three four.\"\nmsgstr \"\"\n",
               "msgid \"One two. Three four.\"\nmsgstr \"TWO. ONE FOUR. THREE\"\n");
    becomes_po("msgid \"a\\x41 b\"\nmsgstr \"\"\n", "msgid \"a\\x41 b\"\nmsgstr \"B A\\x41\"\n");
}

static void test_placeholders(void **state)
{
    (void)state;
    becomes_po("msgid \"a %<PRIu64> <file> b %.\"\n\"*s %1 %(a %<b %{\"\nmsgstr \"\"\n",
               "msgid \"a %<PRIu64> <file> b %.\"\n\"*s %1 %(a %<b %{\"\nmsgstr \"%{ %<b %(a %1 "
               "%<PRIu64> <file> B %.\"\n\"*s A\"\n");
    becomes_po("msgid \"at %1$s and %2$-5.2lf\"\nmsgstr \"\"\n",
               "msgid \"at %1$s and %2$-5.2lf\"\nmsgstr \"%2$-5.2lf AND %1$s AT\"\n");
    becomes_po("msgid \"at %s and %d\"\nmsgstr \"\"\n", /* in their order */
               "msgid \"at %s and %d\"\nmsgstr \"%s AND %d AT\"\n");
    becomes_po("msgid \"see %(name)s, {x.y} %{z} 100%% b\"\nmsgstr \"\"\n",
               "msgid \"see %(name)s, {x.y} %{z} 100%% b\"\nmsgstr \"B 100%% %{z} {x.y} %(name)s, "
               "SEE\"\n");
    becomes_po("msgid \"<b>a</b> b &lt; <file> 5 % of {\"\nmsgstr \"\"\n",
               "msgid \"<b>a</b> b &lt; <file> 5 % of {\"\nmsgstr \"{ OF 5 % &lt; <file> 5 B "
               "<b>A</b>\"\n");
}

/* The mark of an access key goes before the word that it was in, or stays at the beginning of a
   message. Other words keep theirs. */
static void test_keys(void **state)
{
    (void)state;
    becomes_po("msgid \"_Open File\"\nmsgstr \"\"\n",
               "msgid \"_Open File\"\nmsgstr \"_FILE OPEN\"\n");
    becomes_po("msgid \"Save &As\"\nmsgstr \"\"\n", "msgid \"Save &As\"\nmsgstr \"&AS SAVE\"\n");
    becomes_po("msgid \"Then E_xit\"\nmsgstr \"\"\n",
               "msgid \"Then E_xit\"\nmsgstr \"_EXIT THEN\"\n");
    becomes_po("msgid \"\"\n\"a \"\n\"_b\"\nmsgstr \"\"\n",
               "msgid \"\"\n\"a \"\n\"_b\"\nmsgstr \"\"\n\"_B A\"\n");
    becomes_po("msgid \"Use AT&T &lt; Max_Size\"\nmsgstr \"\"\n",
               "msgid \"Use AT&T &lt; Max_Size\"\nmsgstr \"&lt; Max_Size AT&T USE\"\n");
    becomes_po("msgid \"a_b or _c d\"\nmsgstr \"\"\n",
               "msgid \"a_b or _c d\"\nmsgstr \"D _C OR a_b\"\n");
    becomes_po("msgid \"see (_a) &amp; b _\"\nmsgstr \"\"\n",
               "msgid \"see (_a) &amp; b _\"\nmsgstr \"_ &amp; B (_A) SEE\"\n");
}

/* Entries that cannot be read are kept, and so are those after them that can. */
static void test_po_broken(void **state)
{
    (void)state;
    becomes_po("msgid \"a b\nmsgstr \"\"\nnonsense\nmsgid \"c d\"\nmsgstr \"\"\n",
               "msgid \"a b\nmsgstr \"\"\nnonsense\nmsgid \"c d\"\nmsgstr \"D C\"\n");
    becomes_po("msgid \"a b\"\nmsgstr \"\nmsgid \"c d\"\nmsgstr\nmsgstr[",
               "msgid \"a b\"\nmsgstr \"\nmsgid \"c d\"\nmsgstr\nmsgstr[");
    becomes_po("msgid \"a \xFF b\"\nmsgstr \"\"\n", "msgid \"a \xFF b\"\nmsgstr \"a \xFF b\"\n");
    becomes_po("msgid", "msgid");
    becomes_po("msgid \"a <b\" \nmsgstr \"\"\n>", "msgid \"a <b\" \nmsgstr \"<B A\"\n>");
}

/* The pieces say where a sentence is and where its translation goes. */
static int check_places(void *user, const rapt_document_piece *p)
{
    /* msgid "a\nb"   msgstr ""
       0123456789012345678901234 */
    static const rapt_span sources[] = {{0, 21},  {21, 21}, {21, 21}, {21, 21},
                                        {21, 21}, {21, 23}, {23, 24}};
    static const rapt_span originals[] = {{0, 21},  {6, 7},   {7, 8},  {8, 10},
                                          {10, 11}, {11, 12}, {23, 24}};
    const int i = (*(int *)user)++;
    assert_in_range(i, 0, COUNT(sources) - 1);
    assert_memory_equal(&p->source, &sources[i], sizeof p->source);
    assert_memory_equal(&p->original, &originals[i], sizeof p->original);
    assert_int_equal(p->kind, i == 2 || i == 4 ? RAPT_PIECE_SENTENCE : RAPT_PIECE_KEPT);
    return 0;
}

static void test_places(void **state)
{
    (void)state;
    const rapt_text text = {"msgid \"a\\nb\"\n\nmsgstr \"\"\n", 24};
    const rapt_document_options options = {.size = sizeof options,
                                           .format = RAPT_DOCUMENT_FORMAT_PO};
    const rapt_document_engine engine = {.size = sizeof engine, .translate = keep_sentences};
    int count = 0;
    assert_int_equal(
        rapt_document_translate_with(&engine, text, &options, check_places, &count, NULL, NULL),
        RAPT_OK);
    assert_int_equal(count, 7);
}

/* ---- srt: what subtitles become: the text of each cue, with its line breaks. ---- */

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

static void test_srt_tags(void **state)
{
    (void)state;
    becomes_srt(TIME "<i>one two</i> three\n", TIME "THREE <i>TWO ONE</i>\n");
    becomes_srt(TIME "{\\an8}one <font color=\"#f00\">two</font>\n",
                TIME "{\\an8}<font color=\"#f00\">TWO</font> ONE\n");
    becomes_srt(TIME "a < b {c} &amp; d\n", TIME "&amp; D {c} B < A\n");
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

/* ---- xliff: what units of XLIFF become, and what is said about broken documents. ---- */

#define BEGIN "<?xml version=\"1.0\"?>\n<xliff><file><body>"
#define END   "</body></file></xliff>\n"

static void becomes_xliff(const char *document, const char *wanted)
{
    char whole[2000], all[2000];
    snprintf(whole, sizeof whole, "%s%s%s", BEGIN, document, END);
    snprintf(all, sizeof all, "%s%s%s", BEGIN, wanted, END);
    reorders(RAPT_DOCUMENT_FORMAT_XLIFF, (struct reordering){REVERSED, false}, whole, all);
}

/* Where a translation goes, and which sources have one. */
static void test_targets(void **state)
{
    (void)state;
    becomes_xliff("<trans-unit id='1'>\n  <source>one two</source>\n</trans-unit>",
                  "<trans-unit id='1'>\n  <source>one two</source>\n  <target>TWO "
                  "ONE</target>\n</trans-unit>");
    becomes_xliff("<source>a b</source><target>x</target>",
                  "<source>a b</source><target>x</target>");
    becomes_xliff("<source>a b</source> <target> \n</target>",
                  "<source>a b</source> <target>B A</target>");
    becomes_xliff("<source>a b</source><!-- <target/> --><target state=\"new\" />",
                  "<source>a b</source><!-- <target/> --><target state=\"new\" >B A</target>");
    becomes_xliff("<source>a b</source><tarGet/>",
                  "<source>a b</source><target>B A</target><tarGet/>");
    becomes_xliff("<source>a b</source><target state='needs-translation'>old</target>",
                  "<source>a b</source><target state='needs-translation'>B A</target>");
    becomes_xliff("<source>a b</source><seg-source>a b</seg-source>",
                  "<source>a b</source><seg-source>a b</seg-source><target>B A</target>");
    becomes_xliff("<source/><source></source><source>12</source>",
                  "<source/><source></source><source>12</source>");
    becomes_xliff("<source>One two. Three four.</source>",
                  "<source>One two. Three four.</source><target>TWO. ONE FOUR. THREE</target>");
}

static void test_segments(void **state)
{
    (void)state;
    becomes_xliff(
        "<unit><segment state=\"initial\"><source>a b</source><target>a b</target></segment>"
        "<segment><source>c d</source><target>x</target></segment></unit>",
        "<unit><segment state=\"initial\"><source>a b</source><target>B A</target></segment>"
        "<segment><source>c d</source><target>x</target></segment></unit>");
}

static void test_kept(void **state)
{
    (void)state;
    static const char *const kept[] = {
        "<trans-unit translate='no'><source>a b</source></trans-unit>",
        "<group translate=\"no\"><group><source>a b</source></group></group>",
        "<alt-trans><source>a b</source><target/></alt-trans>",
        "<mtc:matches><mtc:match><source>a b</source></mtc:match></mtc:matches>",
        "<note>a b</note><!-- <source>a b</source> --><![CDATA[<source>a b</source>]]>",
        "<source><![CDATA[a b]]></source>",
    };
    for (int i = 0; i < COUNT(kept); i++) becomes_xliff(kept[i], kept[i]);
}

/* Returns the translation of the contents of a source, by its target. */
static void becomes_target(const char *source, const char *wanted)
{
    char document[500], all[1000];
    snprintf(document, sizeof document, "<source>%s</source>", source);
    snprintf(all, sizeof all, "%s<target>%s</target>", document, wanted);
    becomes_xliff(document, all);
}

static void test_xliff_tags(void **state)
{
    (void)state;
    becomes_target("a <g id='1'>b <x id='2'/>c</g>", "<g id='1'><x id='2'/>C B</g> A");
    becomes_target("a <bpt id='1'>&lt;b></bpt>b c<ept id='1'>&lt;/b></ept> d",
                   "D <bpt id='1'>&lt;b></bpt>C B<ept id='1'>&lt;/b></ept> A");
    becomes_target("<sc id='1'/>a<ec startRef='1'/> b <bx id='5' rid='2'/>c<ex id='6' rid='2'/>",
                   "<bx id='5' rid='2'/>C<ex id='6' rid='2'/> B <sc id='1'/>A<ec startRef='1'/>");
    becomes_target("a <ph id='1'>%s</ph> b <it pos='open' id='2'>x</it>c",
                   "<it pos='open' id='2'>x</it>C <ph id='1'>%s</ph> B A");
    becomes_target("use <mrk mtype='protected'>Foo</mrk>, b",
                   "B <mrk mtype='protected'>Foo</mrk>, USE");
    becomes_target("a <mrk translate='no'>x<y/></mrk> &amp; b",
                   "B <mrk translate='no'>x<y/></mrk> &amp; A");
    becomes_target("a <pc id='1'>b</pc><!-- c --> &lt;&apos;&quot;&#65;",
                   "&lt;'\"A <pc id='1'>B</pc><!-- c --> A");
}

static void is_refused(const char *document, const char *reason)
{
    const rapt_document_options options = {.size = sizeof options,
                                           .format = RAPT_DOCUMENT_FORMAT_XLIFF};
    const rapt_document_engine engine = {.size = sizeof engine, .translate = keep_sentences};
    struct record r = {.document = {document, strlen(document)}};
    rapt_message why = {""};
    assert_int_equal(
        rapt_document_translate_with(&engine, r.document, &options, record_piece, &r, NULL, &why),
        RAPT_BAD_FILE);
    assert_string_equal(why.text, reason);
    assert_int_equal(r.pieces, 0);
}

static void test_xliff_broken(void **state)
{
    (void)state;
    char deep[2000] = "<xliff>";
    is_refused("", "the file has no XML element");
    is_refused("a b", "the file has no XML element");
    is_refused("<!DOCTYPE x [ <!ENTITY a '>'> ]><html></html>",
               "the first element is <html>; XLIFF begins with <xliff>, without a prefix");
    is_refused("<xliff>\n<file>\n</xliff>",
               "line 3: </xliff> does not close the last open element");
    is_refused("<xliff><A></a></xliff>", "line 1: </a> does not close the last open element");
    is_refused("<xliff></xliff></xliff>", "line 1: </xliff> does not close the last open element");
    is_refused("<xliff><source>a b", "<source> is not closed");
    is_refused("<xliff>\n<!-- a", "line 2: the file ends within a tag or comment");
    is_refused("<xliff a='", "line 1: the file ends within a tag or comment");
    for (int i = 0; i < 200; i++) strcat(deep, "<a>");
    is_refused(deep, "line 1: elements are nested more than 200 levels deep");
    is_refused("<xliff>\n<source>a < b</source></xliff>",
               "line 2: < does not start a tag; in text it must be written as &lt;");
    is_refused("<xliff><target//></xliff>", "line 1: <target//> has one / too many");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),      cmocka_unit_test(test_fuzzy),
        cmocka_unit_test(test_plurals),      cmocka_unit_test(test_strings),
        cmocka_unit_test(test_placeholders), cmocka_unit_test(test_keys),
        cmocka_unit_test(test_po_broken),    cmocka_unit_test(test_places),
        cmocka_unit_test(test_cues),         cmocka_unit_test(test_lines),
        cmocka_unit_test(test_srt_tags),     cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_targets),      cmocka_unit_test(test_segments),
        cmocka_unit_test(test_kept),         cmocka_unit_test(test_xliff_tags),
        cmocka_unit_test(test_xliff_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
