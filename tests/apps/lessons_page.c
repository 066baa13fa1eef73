/* lessons_page.c - tests pages of lessons: a claim that fails, formulas as text and MathML, the
   contents of files, which blocks are side by side, and that free text cannot become markup. */
#define _POSIX_C_SOURCE 200809L
#include "kit/program.h"
#include "lessons/page.h"
#include "temporary.h"
#include <getopt.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const char program_name[] = "lessons";

static int good(struct page *page, const struct lesson_options *options)
{
    (void)options;
    page_claim(page, "two is two", 2, EQUALS, 2);
    return EXIT_OK;
}

static int bad(struct page *page, const struct lesson_options *options)
{
    good(page, options);
    page_claim(page, "two is at least three", 2, AT_LEAST, 3);
    return EXIT_OK;
}

static int silent(struct page *page, const struct lesson_options *options)
{
    (void)options;
    page_paragraph(page, SHORT, "no claim");
    return EXIT_OK;
}

static int broken(struct page *page, const struct lesson_options *options)
{
    good(page, options);
    return failed("this lesson cannot go on");
}

static int unlearned(struct page *page, const struct lesson_options *options)
{
    (void)options;
    page_claim_learned(page, "an untrained network does it as well", 2, 2, AT_LEAST, 1);
    return EXIT_OK;
}

static const struct lesson table[] = {{1, "Good", "holds", good},
                                      {2, "Bad", "fails", bad},
                                      {3, "Silent", "claims nothing", silent},
                                      {4, "Broken", "fails to run", broken},
                                      {5, "Unlearned", "a control holds", unlearned}};

static int run_table(const char *a, const char *b)
{
    char *argv[] = {(char *)"lessons", (char *)a, (char *)b, NULL};
    optind = 0; /* restarts getopt */
    return lessons_main(b != NULL ? 3 : 2, argv, table, sizeof table / sizeof *table);
}

static void test_exit_status(void **state)
{
    (void)state;
    assert_int_equal(run_table("1", NULL), EXIT_OK);
    assert_int_equal(run_table("2", NULL), EXIT_FAILED);
    assert_int_equal(run_table("1", "2"), EXIT_FAILED);
    assert_int_equal(run_table("2", "--json"), EXIT_FAILED);
    assert_int_equal(run_table("3", NULL), EXIT_FAILED);
    assert_int_equal(run_table("4", NULL), EXIT_FAILED);
    assert_int_equal(run_table("5", NULL), EXIT_FAILED);
    assert_int_equal(run_table("6", NULL), EXIT_USAGE);
    assert_int_equal(run_table("01", NULL), EXIT_USAGE);
}

/* Words are left-aligned, numbers right-aligned. */
static void test_columns(void **state)
{
    struct page page = {.lesson = &table[0]};
    (void)state;
    page_table(&page, SHORT, "", "name\tnumber\twords\tempty");
    page_row(&page, "a\t1.5 %%\tx y\t");
    page_row(&page, "b\t-\t\t");
    page_row(&page, "c\tnan\t2\t");
    static const bool words[] = {true, false, true, false};
    for (int c = 0; c < 4; c++)
        assert_int_equal(table_column_is_text(&page.blocks[0], c), words[c]);
    page_free(&page);
}

/* Every lesson quotes lines that exist once; the indentation of the first is removed. */
static void test_code(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    (void)state;
    assert_non_null(file);
    html_code(file, "        if (rapt_attention_backward(&problem", 2);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text,
                        "<pre class=\"scroll\"><code>if (rapt_attention_backward(&amp;problem, h, "
                        "e[0], e[0], c, &amp;saved, dc, NULL, &amp;d, workspace, &amp;why))\n"
                        "    return fprintf(stderr, &quot;%s\\n&quot;, why.text), 1;\n"
                        "</code></pre>\n");
    free(text);
    for (int lesson = 1; lesson <= 15; lesson++) {
        file = open_memstream(&text, &size);
        html_sources(file, lesson);
        assert_int_equal(fclose(file), 0);
        assert_non_null(strstr(text, "</code></pre>"));
        assert_non_null(strstr(text, lesson < 15 ? "Lectures that this lesson follows"
                                                 : "Papers: ")); /* after them */
        free(text);
    }
}

static void test_relations(void **state)
{
    static const struct {
        double measured;
        bool holds[5]; /* >= <= > < = of a bound of 1 */
    } rows[] = {{0.5, {false, true, false, true, false}},
                {1, {true, true, false, false, true}},
                {2, {true, false, true, false, false}},
                {NAN, {false}},
                {INFINITY, {false}}};
    struct page page = {.lesson = &table[0]};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int r = AT_LEAST; r <= EQUALS; r++)
            assert_int_equal(page_claim(&page, "", rows[i].measured, (enum page_relation)r, 1),
                             rows[i].holds[r]);
    assert_int_equal(page.claims, 25);
    assert_int_equal(page.failures, 18);
    page_free(&page);
}

/* A claim about something learned needs a control that does not satisfy it. */
static void test_controls(void **state)
{
    static const struct {
        double trained, untrained;
        bool holds; /* trained >= 1 and not untrained >= 1 */
    } rows[] = {{2, 0, true},  {2, 1, false},   {2, 2, false},
                {0, 0, false}, {2, NAN, false}, {2, -INFINITY, false}};
    struct page page = {.lesson = &table[0]};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(
            page_claim_learned(&page, "", rows[i].trained, rows[i].untrained, AT_LEAST, 1),
            rows[i].holds);
    assert_int_equal(page.claims, 6);
    assert_int_equal(page.failures, 5);
    char *text = claim_text(&page.claim[1]);
    assert_string_equal(text, "2 (>= 1; untrained: 1)");
    free(text);
    page_free(&page);
}

static void check_formula(const char *formula, const char *text, const char *mathml)
{
    char *bytes, *found = formula_text(formula);
    size_t size;
    FILE *file = open_memstream(&bytes, &size);
    formula_mathml(file, formula);
    fclose(file);
    assert_string_equal(found, text);
    char *wanted = xasprintf("<math display=\"block\"><mrow>%s</mrow></math>", mathml);
    assert_string_equal(bytes, wanted);
    free(wanted);
    free(bytes);
    free(found);
}

static void test_formulas(void **state)
{
    (void)state;
    check_formula("a < 2", "a < 2", "<mi>a</mi><mo>&lt;</mo><mn>2</mn>");
    check_formula(
        "h_{t+1}", "h\u209C\u208A\u2081",
        "<msub><mi>h</mi><mrow><mrow><mi>t</mi><mo>+</mo><mn>1</mn></mrow></mrow></msub>");
    check_formula("W_q^2", "W_q\u00B2",
                  "<msubsup><mi>W</mi><mrow><mi>q</mi></mrow><mrow><mn>2</mn></mrow></msubsup>");
    check_formula("\u03B1_{tb}", "\u03B1_(tb)",
                  "<msub><mi>\u03B1</mi><mrow><mrow><mi>t</mi><mi>b</mi></mrow></mrow></msub>");
    check_formula("f_{out}", "f_(out)",
                  "<msub><mi>f</mi><mrow><mrow><mi>out</mi></mrow></mrow></msub>");
    check_formula("1 - log p", "1 - log p",
                  "<mn>1</mn><mo>\u2212</mo><mi>log</mi><mspace width=\"0.17em\"/><mi>p</mi>");
    check_formula("\\{0\\}", "{0}", "<mo>{</mo><mn>0</mn><mo>}</mo>");
    check_formula("frac{x y}{sqrt{d}}", "(x y) / \u221Ad",
                  "<mfrac><mrow><mi>x</mi><mi>y</mi></mrow><mrow><msqrt><mrow><mi>d</mi></mrow>"
                  "</msqrt></mrow></mfrac>");
    check_formula("\u2211_j x", "\u2211\u2C7C x",
                  "<munder><mo>\u2211</mo><mrow><mi>j</mi></mrow></munder><mi>x</mi>");
    check_formula("col{a}{b}", "[a; b]",
                  "<mrow><mo>(</mo><mtable><mtr><mtd><mi>a</mi></mtd></mtr><mtr><mtd><mi>b</mi>"
                  "</mtd></mtr></mtable><mo>)</mo></mrow>");
    check_formula("f(x)", "f(x)",
                  "<mi>f</mi><mo stretchy=\"false\">(</mo><mi>x</mi><mo stretchy=\"false\">)</mo>");
    check_formula("text{if a}", "if a", "<mtext>if a</mtext>");
    check_formula("a ,  b", "a ,  b", "<mi>a</mi><mo>,</mo><mspace width=\"1em\"/><mi>b</mi>");
    /* A malformed formula is shown, and parsing ends. */
    check_formula("a}b{c", "abc", "<mi>a</mi><mi>b</mi><mrow><mi>c</mi></mrow>");
    check_formula("frac{a", "a / ", "<mfrac><mrow><mi>a</mi></mrow><mrow></mrow></mfrac>");
    check_formula("x_", "x_", "<mi>x</mi><mo>_</mo>");
    check_formula("text{a", "a", "<mtext>a</mtext>");
}

static void draw_text(struct svg *svg, const void *user)
{
    svg_text(svg, 5, 15, 12, SVG_LEFT, "#222222", "%s", (const char *)user);
}

/* Makes a page with this text wherever text is allowed. */
static int hostile(struct page *page, const struct lesson_options *options)
{
    static const char *const text = "<script>\x01&\"\xFF", *const names[] = {"<script>", "\""};
    static const float weights[] = {0.25F, 0.75F};
    static const double xs[] = {1, 2}, ys[] = {3, NAN};
    (void)options;
    page_step(page, "%s", text);
    page_paragraph(page, SHORT, "%s", text);
    page_formula(page, SHORT, text);
    page_map(page, SHORT, text, 1, 2, names, names, weights);
    page_table(page, SHORT, text, "<script>\t\"");
    page_row(page, "%s\t%s", text, text);
    page_chart(page, SHORT, text, text, text);
    page_curve(page, text, 2, xs, ys);
    page_chart(page, SHORT, "no curve", "x", "y");
    page_drawing(page, MORE, text, text, 100, 20, draw_text, text);
    page_claim(page, text, 1, EQUALS, 1);
    return EXIT_OK;
}

static char *read_text(const char *path)
{
    char *bytes;
    size_t size;
    assert_int_equal(file_read(path, &bytes, &size), EXIT_OK);
    char *text = xasprintf("%.*s", (int)size, bytes);
    free(bytes);
    return text;
}

static void check_file(const char *path, const char *has)
{
    char *text = read_text(path);
    assert_non_null(strstr(text, has));
    assert_null(strstr(text, "<script>"));
    assert_null(strstr(text, "\x01"));
    assert_null(strstr(text, "\xFF"));
    assert_int_equal(unlink(path), 0);
    free(text);
}

static void test_escaping(void **state)
{
    static const struct lesson lessons[] = {{1, "<script>", "<script>", hostile},
                                            {12, "\"", "<script>", hostile}};
    char folder[TEMPORARY];
    (void)state;
    assert_non_null(temporary_folder(folder));
    char *html = xasprintf("%s/pages", folder), *svg = xasprintf("%s/all.svg", folder);
    char *argv[] = {(char *)"lessons", (char *)"all", (char *)"--svg", svg,
                    (char *)"--html",  html,          (char *)"--more"};
    for (int again = 0; again < 2; again++) { /* the second time, the folder exists */
        optind = 0;
        assert_int_equal(lessons_main(7, argv, lessons, 2), EXIT_OK);
    }
    check_file(svg, "&lt;script&gt;");
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"index", "lesson-1", "lesson-12", "glossary"};
        char *path = xasprintf("%s/%s.html", html, names[i]);
        check_file(path, i == 0 ? "href=\"lesson-12.html\"" : "href=\"index.html\"");
        free(path);
    }
    assert_int_equal(rmdir(html), 0); /* nothing else was written */
    assert_int_equal(rmdir(folder), 0);
    free(html);
    free(svg);
}

/* Appends a formula with a picture, and two formulas with another. */
static int paired(struct page *page, const struct lesson_options *options)
{
    static const char *const names[] = {"a"};
    static const float weight = 1;
    (void)options;
    page_formula(page, SHORT, "x = 1");
    page_map(page, SHORT, "first", 1, 1, names, names, &weight);
    page_formula(page, SHORT, "y = 2");
    page_formula(page, SHORT, "z = 3");
    page_map(page, SHORT, "second", 1, 1, names, names, &weight);
    page_formula(page, SHORT, "one + two + three + four + five + six + seven");
    page_map(page, SHORT, "third", 1, 1, names, names, &weight);
    page_map_row(page, 0);
    page_drawing(page, SHORT, "fourth", "colors", 10, 10, draw_text, "x");
    page_keep_colors(page);
    page_paragraph(page, SHORT, "x_T and W^h, but not norm_order, x_12 or x__y; 2^3");
    page_claim(page, "two is two", 2, EQUALS, 2);
    return EXIT_OK;
}

/* A single short formula is beside its picture, others are above theirs. */
static void test_beside(void **state)
{
    static const struct lesson lesson = {1, "Pairs", "formulas and pictures", paired};
    char folder[TEMPORARY];
    (void)state;
    assert_non_null(temporary_folder(folder));
    char *argv[] = {(char *)"lessons", (char *)"all", (char *)"--html", folder};
    optind = 0;
    assert_int_equal(lessons_main(4, argv, &lesson, 1), EXIT_OK);
    char *path = xasprintf("%s/lesson-1.html", folder), *index = xasprintf("%s/index.html", folder);
    char *glossary = xasprintf("%s/glossary.html", folder);
    char *text = read_text(path), *beside = strstr(text, "<div class=\"beside\">");
    assert_non_null(beside);
    assert_true(beside < strstr(text, "<mi>x</mi>"));
    assert_null(strstr(beside + 1, "<div class=\"beside\">")); /* the third formula is too wide */
    assert_non_null(strstr(text,
                           "<i>x</i><sub>T</sub> and <i>W</i><sup>h</sup>, but not norm_order, "
                           "x_12 or x__y; 2^3"));
    assert_non_null(strstr(text, "How to read a map"));
    assert_non_null(strstr(text, "<figure class=\"colors\"><figcaption>fourth"));
    assert_null(strstr(strstr(text, "<figure class=\"colors\">") + 1, "<figure class=\"colors\">"));
    assert_non_null(strstr(text, "fill=\"#FFFFFFB0\"")); /* a veil over the other rows */
    for (const char *at = text; (at = strstr(at, "href=\"")) != NULL; at++) {
        const char *to = at + strlen("href=\""), *end = strchr(to, '"');
        assert_true(strncmp(to, "https://", 8) == 0 || strncmp(end - 5, ".html", 5) == 0);
    }
    assert_non_null(strstr(text, "<h2>Exercises</h2>"));
    assert_non_null(strstr(text, "<h2>Sources</h2>"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(index), 0);
    assert_int_equal(unlink(glossary), 0);
    assert_int_equal(rmdir(folder), 0);
    free(text);
    free(path);
    free(index);
    free(glossary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_status), cmocka_unit_test(test_code),
        cmocka_unit_test(test_relations),   cmocka_unit_test(test_controls),
        cmocka_unit_test(test_columns),     cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_beside),      cmocka_unit_test(test_escaping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
