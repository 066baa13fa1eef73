/* pages.c - what HTML and Markdown become. */
#include "document_help.h"

/* ---- html: what HTML becomes: which text is translated, and where tags go if the order of words
   changes. ---- */

static void becomes_html(const char *document, const char *wanted)
{
    reorders(RAPT_DOCUMENT_FORMAT_HTML, (struct reordering){REVERSED, false}, document, wanted);
}

/* Tags surround the translations of the words that they surrounded. */
static void test_tags(void **state)
{
    (void)state;
    becomes_html("<p>I am <b>tired</b>.</p>", "<p><b>TIRED</b>. AM I</p>");
    becomes_html("one <b>two <i>three</i> four</b> five", "FIVE <b>FOUR <i>THREE</i> TWO</b> ONE");
    becomes_html("<a href='x>y'>One</a> two", "TWO <a href='x>y'>ONE</a>");
    becomes_html("<b>one two</b>", "<b>TWO ONE</b>");
    becomes_html("<b><i>one</i></b> two", "TWO <b><i>ONE</i></b>");
    becomes_html("w<b>or</b>d <i>x</i>", "<i>X</i> <b>WORD</b>");
    becomes_html("one <b></b>two", "<b></b>TWO ONE");
    becomes_html("one<!-- b --> two <img src=x>three", "<img src=x>THREE TWO ONE<!-- b -->");
    becomes_html("<b> one two</b> three", "THREE <b>TWO ONE</b>");
    becomes_html("<b>one</b><i>two</i> x", "X <b>ONETWO</b><i></i>");
}

/* Words of an element that are apart in the translation: the tags are around the
   most of them, and around all of them if few others are between them. */
static void test_apart(void **state)
{
    (void)state;
    const struct reordering how = {SHUFFLED, false}; /* of five words: 1 3 5 2 4 */
    reorders(RAPT_DOCUMENT_FORMAT_HTML, how, "one <b>two three</b> four five",
             "ONE <b>THREE FIVE TWO</b> FOUR");
    reorders(RAPT_DOCUMENT_FORMAT_HTML, how, "<b>one two three</b> four five",
             "<b>ONE THREE FIVE TWO</b> FOUR");
    reorders(RAPT_DOCUMENT_FORMAT_HTML, how, "one <b>two <i>three</b> four</i> five",
             "ONE <b>THREE FIVE TWO</b> <i>FOUR</i>");
}

/* Elements that several sentences share. */
static void test_sentences(void **state)
{
    (void)state;
    becomes_html("<b>One two. Three four.</b>", "<b>TWO. ONE FOUR. THREE</b>");
    becomes_html("One <b>two. Three</b> four.", "<b>TWO. ONE </b>FOUR. THREE");
    becomes_html("<p><b>One <i>two</i></b></p> <p>Three</b> four", "<p><b><i>TWO</i> ONE</b></p> "
                                                                   "<p></b>FOUR THREE");
    becomes_html("a <i>b <b>c. D</b> e</i> f", "<i>C. B A<b> </b>F E D</i>");
}

/* Block elements end sentences, and what is not text is kept. */
static void test_html_kept(void **state)
{
    (void)state;
    becomes_html("<title>a &amp; <b</title><h1>a b<p>c d<br>e f<ul><li>g h<li>i j</ul>",
                 "<title>&lt;B &amp; A</title><h1>B A<p>D C<br>F E<ul><li>H G<li>J I</ul>");
    becomes_html("<script>a b</b> <p></script>a <script>x y</script>b<style>c d</style>",
                 "<script>a b</b> <p></script><script>x y</script>B A<style>c d</style>");
    becomes_html("<!DOCTYPE html>\n<?php echo 1 ?>\n<pre>a b\n  c</pre>\n<textarea>a b</textarea>",
                 "<!DOCTYPE html>\n<?php echo 1 ?>\n<pre>a b\n  c</pre>\n<textarea>a b</textarea>");
    becomes_html("<p translate=no>a b<p>c d<div translate='NO'>e <div>f</div> g</div>h i",
                 "<p translate=no>a b<p>D C<div translate='NO'>e <div>f</div> g</div>I H");
    becomes_html("<ul><li class='x notranslate'>a b<li>c d</ul>e f",
                 "<ul><li class='x notranslate'>a b<li>D C</ul>F E");
    becomes_html("a b<!--x--!> c<!--> d<!---> e</ f> g</> h",
                 "H G</> E</ f> D<!---> C<!--> B<!--x--!> A");
    becomes_html("<div translate=no>a<script></div></script>b c</div>d e",
                 "<div translate=no>a<script></div></script>b c</div>E D");
    becomes_html("<p> 12 <b>34</b> </p>", "<p> 12 <b>34</b> </p>");
    becomes_html("a < b <3 c", "C &lt;3 B &lt; A");
}

/* The model sees code, but cannot change it. */
static void test_guards(void **state)
{
    (void)state;
    becomes_html("run <code>ls -l</code> now", "NOW <code>ls -l</code> -L LS RUN");
    becomes_html("use <b translate=no>it &amp;\n <i>me</i></b>, or <kbd>Q</kbd>",
                 "<kbd>Q</kbd> OR <b translate=no>it &amp;\n <i>me</i></b> ME, &amp; IT USE");
    becomes_html("<p><code>only code</code></p>", "<p><code>only code</code></p>");
    becomes_html("a <svg><path d='M'/></svg> b", "<svg><path d='M'/></svg> B A");
    becomes_html("a <code>b. C d</code> e", "E <code>b. C d</code> D C B. A");
    becomes_html("the <code>N</code>th use", "USE <code>N</code>TH THE");
    becomes_html("the <code>n</code>th use", "USE NTH THE <code>n</code>");
}

/* A guard of more than 124 bytes is not shown to the model, so it stays with its neighbor. */
static void test_long_guards(void **state)
{
    (void)state;
    char code[126], document[200], wanted[200];
    for (int size = 124; size <= 125; size++) {
        memset(code, 'x', sizeof code);
        code[size] = 0;
        snprintf(document, sizeof document, "a <code>%s</code> b", code);
        snprintf(wanted, sizeof wanted, size == 124 ? "B <code>%s</code> A" : "<code>%s</code> B A",
                 code);
        becomes_html(document, wanted);
    }
}

static void test_references(void **state)
{
    (void)state;
    becomes_html("caf&eacute; &lt;a&gt; &#65;&#x42;", "AB &lt;a&gt; CAF\xC3\xA9");
    becomes_html("it&apos;s &APOS; a", "&APOS; A IT'S");
    becomes_html("a &bogus; b &copy c", "C &amp;COPY &bogus; B A");
    becomes_html("a &#55296;&#xFFFFFFFFF;b &#x1F600; &#; c",
                 "C &amp;#; &#x1F600; &#55296;&#xFFFFFFFFF;B A");
    becomes_html("so&shy;on a&#0;b", "AB&#0; SOON&shy;");
}

/* Broken documents: what cannot be read is kept. */
static void test_html_broken(void **state)
{
    (void)state;
    becomes_html("a b <b title='c d", "B A <b title='c d");
    becomes_html("a b <!-- c d", "B A <!-- c d");
    becomes_html("a b <script>c d", "B A <script>c d");
    becomes_html("a b <code>c d</p>e f", "B A <code>c d</p>F E");
    becomes_html("<p>a </i>b</b></p></div>", "<p></i>B A</b></p></div>");
    becomes_html("a <b>c\xFF d</b>. E f.", "a <b>c\xFF d</b>. F. E");
}

/* In scripts without spaces, words end where tokens end. */
static void test_unspaced(void **state)
{
    (void)state;
    becomes_html("<b>\xE4\xBA\xBA</b> x", "X <b>\xE4\xBA\xBA</b>");
    reorders(RAPT_DOCUMENT_FORMAT_HTML, (struct reordering){IN_ORDER, true},
             "<b>\xE4\xBA\xBA</b>\xE5\xA4\xA7x", "<b>\xE4\xBA\xBA</b>\xE5\xA4\xA7X");
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(rapt_document_format_name(RAPT_DOCUMENT_FORMAT_TEXT), "text");
    assert_string_equal(rapt_document_format_name(RAPT_DOCUMENT_FORMAT_LAST), "markdown");
    assert_null(rapt_document_format_name(-1));
    assert_null(rapt_document_format_name(RAPT_DOCUMENT_FORMAT_LAST + 1));
}

/* Without alignments, words are paired by their places. */
static void test_unaligned(void **state)
{
    (void)state;
    reorders(RAPT_DOCUMENT_FORMAT_HTML, (struct reordering){REVERSED, true},
             "one <b>two</b> <code>three</code>, four",
             "FOUR <b>THREE</b> <code>three</code>, TWO ONE");
    reorders(RAPT_DOCUMENT_FORMAT_HTML, (struct reordering){IN_ORDER, true}, "one <b>two</b> three",
             "ONE <b>TWO</b> THREE");
}

/* ---- markdown: what Markdown becomes: its blocks, what is within them, and what is kept. ---- */

static void becomes_markdown(const char *document, const char *wanted)
{
    reorders(RAPT_DOCUMENT_FORMAT_MARKDOWN, (struct reordering){REVERSED, false}, document, wanted);
}

static void test_blocks(void **state)
{
    (void)state;
    becomes_markdown("# a b\n## c d ##\n#e f\n", "# B A\n## D C ##\nF #E\n");
    becomes_markdown("a b\nc d\n\ne f", "D C B A\n\nF E");
    becomes_markdown("a b\n===\nc d\n---\n", "B A\n===\nD C\n---\n");
    becomes_markdown("- a b\n  c\n* d e\n  1. f g\n- [x] h i\n",
                     "- C B A\n* E D\n  1. G F\n- [x] I H\n");
    becomes_markdown("> a b\n> c\n\n> > d e\nf\n> g h\n>> i j", "> C B A\n\n> > J I H G F E D");
    becomes_markdown("a b  \nc d\\\ne f\n", "B A  \nD C\\\nF E\n");
    becomes_markdown("One two.\nThree four.\n", "TWO. ONE\nFOUR. THREE\n");
    becomes_markdown("a\r\nb\r\n\r\nc d\r\n", "B A\r\n\r\nD C\r\n");
}

static void test_tables(void **state)
{
    (void)state;
    becomes_markdown("| a b | c d |\n|--|:-:|\n| **e** f | g \\| h `i` |\n\nk l\n",
                     "| B A | D C |\n|--|:-:|\n| F **E** | `i` H \\| G |\n\nL K\n");
    becomes_markdown("a b | c d\n--- | ---\ne f | g h\n", "B A | D C\n--- | ---\nF E | H G\n");
}

static void test_markdown_kept(void **state)
{
    (void)state;
    static const char *const kept[] = {
        "---\ntitle: a b\n---\n",
        "+++\ntitle = a b\n+++\n",
        "```c\na b\n\nc d\n```\n",
        "> ~~~~\n> a b\n> ~~~\n> ~~~~\n",
        "    a b\n    c d\n\n    e f\n",
        "\ta b\n",
        "- \n\n      a b\n",
        "[a b]: http://x.y \"c d\"\n*[HTML]: a b\n",
        "***\n- - -\n12 > 34\n",
        "<!-- a b\n\nc d -->\n<pre>\na b\n\nc d</pre>\n<script>\na b\n</script>\n",
        "`a b`\n{{ a b }}{% c d %}\n<http://a.b>\n",
        "```\na b\n",
    };
    for (int i = 0; i < COUNT(kept); i++) becomes_markdown(kept[i], kept[i]);
    becomes_markdown("---\na b\n", "---\nB A\n");
    becomes_markdown("```\na b\n```\nc d\n", "```\na b\n```\nD C\n");
}

static void test_inline(void **state)
{
    (void)state;
    becomes_markdown("a **b** *c* __d__ _e_ ~~f~~ ~g~", "\\~G\\~ ~~F~~ _E_ __D__ *C* **B** A");
    becomes_markdown("**a *b*** c ***d***", "***D*** C ***B* A**");
    becomes_markdown("a_b_c 2 * 3 a* b_ *c", "*C B\\_ A\\* 3 \\* 2 a_b_c");
    becomes_markdown("[a b](http://c.d/e_f \"g (h)\") i", "I [B A](http://c.d/e_f \"g (h)\")");
    becomes_markdown("![a b](c.png) [![d](e)](f) g", "G [![D](e)](f) ![B A](c.png)");
    becomes_markdown("[a b][c] d [e] [f] (g)", "(G) \\[F\\] \\[E\\] D [B A][c]");
    becomes_markdown("a [b] [c][] d[^1]\n\n[b]: x\n[^1]: e f\n",
                     "D [c][] [b] A[^1]\n\n[b]: x\n[^1]: F E\n");
    becomes_markdown("use `a b` and ``c`d`` x ` y", "Y \\` X ``c`d`` AND `a b` B A USE");
    becomes_markdown("a <b>b c</b> <http://d.e?f=g> <x@y.z> <1>",
                     "\\<1> <x@y.z> <http://d.e?f=g> <b>C B</b> A");
    becomes_markdown("<div class='x'>\na b\n</div>\nc &amp; &copy; d",
                     "<div class='x'>\nB A\n</div>\nD &copy; & C");
    becomes_markdown("a \\* \\_ b \\\\ c\\d", "C\\\\D \\\\ B \\_ \\* A");
    becomes_markdown("`a` x `b`", "`b` X `a`");
    becomes_markdown("[a](b\\)c) d", "D [A](b\\)c)");
    becomes_markdown("a [b \\] c](d)", "[C \\] B](d) A");
    reorders(RAPT_DOCUMENT_FORMAT_MARKDOWN, (struct reordering){IN_ORDER, false}, /* not an image */
             "a&#33;[b](c) d", "A! [](c)B D");
}

/* What must be escaped where a line begins. */
static void test_beginnings(void **state)
{
    (void)state;
    becomes_markdown("a # x", "X # A");
    becomes_markdown("a #", "\\# A");
    becomes_markdown("a 1.", "1\\. A");
    becomes_markdown("a +b", "\\+B A");
}

static void test_markdown_broken(void **state)
{
    (void)state;
    becomes_markdown("a **b [c](d `e <f", "\\<F \\`E \\[C\\](D **B A");
    becomes_markdown("a \xFF b\n\nc d", "a \xFF b\n\nD C");
    becomes_markdown("", "");
    becomes_markdown("a\\", "A\\\\");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_apart),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_html_kept),
        cmocka_unit_test(test_guards),
        cmocka_unit_test(test_long_guards),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_html_broken),
        cmocka_unit_test(test_unaligned),
        cmocka_unit_test(test_unspaced),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_markdown_kept),
        cmocka_unit_test(test_inline),
        cmocka_unit_test(test_beginnings),
        cmocka_unit_test(test_markdown_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
