/* xliff.c - what units of XLIFF become, and what is said about broken documents. */
#include "markup_help.h"

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

static void test_tags(void **state)
{
    (void)state;
    becomes_target("a <g id='1'>b <x id='2'/>c</g>", "<g id='1'><x id='2'/>C B</g> A");
    becomes_target("a <bpt id='1'>&lt;b></bpt>b c<ept id='1'>&lt;/b></ept> d",
                   "D <bpt id='1'>&lt;b></bpt>C B<ept id='1'>&lt;/b></ept> A");
    becomes_target("<sc id='1'/>a<ec startRef='1'/> b <bx id='5' rid='2'/>c<ex id='6' rid='2'/>",
                   "<bx id='5' rid='2'/>C<ex id='6' rid='2'/> B <sc id='1'/>A<ec startRef='1'/>");
    becomes_target("a <ph id='1'>%s</ph> b <it pos='open' id='2'>x</it>c",
                   "<it pos='open' id='2'>x</it>C <ph id='1'>%s</ph>B A");
    becomes_target("use <mrk mtype='protected'>Foo</mrk>, b",
                   "B <mrk mtype='protected'>Foo</mrk>, USE");
    becomes_target("a <mrk translate='no'>x<y/></mrk> &amp; b",
                   "B <mrk translate='no'>x<y/></mrk>&amp; A");
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

static void test_broken(void **state)
{
    (void)state;
    char deep[2000] = "<xliff>";
    is_refused("", "the file has no XML element");
    is_refused("a b", "the file has no XML element");
    is_refused("<!DOCTYPE x [ <!ENTITY a '>'> ]><html></html>",
               "the first element is <html>; XLIFF begins with <xliff>, without a prefix");
    is_refused("<xliff>\n<file>\n</xliff>", "line 3: </xliff> closes no open element");
    is_refused("<xliff><A></a></xliff>", "line 1: </a> closes no open element");
    is_refused("<xliff></xliff></xliff>", "line 1: </xliff> closes no open element");
    is_refused("<xliff><source>a b", "<source> is not closed");
    is_refused("<xliff>\n<!-- a", "line 2: the file ends within a tag or comment");
    is_refused("<xliff a='", "line 1: the file ends within a tag or comment");
    for (int i = 0; i < 200; i++) strcat(deep, "<a>");
    is_refused(deep, "line 1: elements are nested more than 200 deep");
    is_refused("<xliff>\n<source>a < b</source></xliff>",
               "line 2: < does not start a tag; in text it must be &lt;");
    is_refused("<xliff><target//></xliff>", "line 1: <target//> has one / too many");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets), cmocka_unit_test(test_segments),
        cmocka_unit_test(test_kept),    cmocka_unit_test(test_tags),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
