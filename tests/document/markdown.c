/* markdown.c - what Markdown becomes: its blocks, what is within them, and what is kept. */
#include "markup_help.h"

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

static void test_kept(void **state)
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

static void test_broken(void **state)
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
        cmocka_unit_test(test_blocks),     cmocka_unit_test(test_tables),
        cmocka_unit_test(test_kept),       cmocka_unit_test(test_inline),
        cmocka_unit_test(test_beginnings), cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
