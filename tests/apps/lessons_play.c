/* lessons_play.c - tests what the script of a page reads: base64, the numbers of maps and
   drawings, and a model with its weights; and which pages have a script. */
#define _POSIX_C_SOURCE 200809L
#include "kit/program.h"
#include "lessons/architecture.h"
#include "lessons/chase.h"
#include "lessons/page.h"
#include "temporary.h"
#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

const char program_name[] = "lessons";

static void test_base64(void **state)
{
    static const struct {
        const char *bytes, *text; /* RFC 4648, section 10 */
    } rows[] = {{"", ""},
                {"f", "Zg=="},
                {"fo", "Zm8="},
                {"foo", "Zm9v"},
                {"foob", "Zm9vYg=="},
                {"fooba", "Zm9vYmE="},
                {"foobar", "Zm9vYmFy"},
                {"\xFF\xEF\xBE", "/+++"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = play_base64((const unsigned char *)rows[i].bytes, strlen(rows[i].bytes));
        assert_string_equal(text, rows[i].text);
        free(text);
    }
}

/* Shows a model that was trained for a moment, as lesson 11 does. */
static int modeled(struct page *page, const struct lesson_options *options)
{
    enum { ROWS = SMALL_TOKENS + 1 };
    static const struct chase sentence = {
        .subject = 0, .verb = 0, .object = 1, .where = 0, .negated = true, .today = true};
    const rapt_config config = {.source_vocab = chase_vocabulary(),
                                .target_vocab = chase_vocabulary(),
                                .width = 32,
                                .heads = 2,
                                .ffn_width = 64,
                                .encoder_layers = 1,
                                .decoder_layers = 2,
                                .norm_order = RAPT_NORM_ORDER_PRE};
    struct learner small;
    struct chase_pair pair;
    struct ids written;
    float weights[ROWS * ROWS];
    const char *rows[ROWS], *columns[ROWS];
    chase_make(&sentence, &pair);
    small_create(&small, &config, options->seed);
    small_train(&small, 40, 5e-3F, chase_draw_training, NULL, random_from(1, 81), NULL);
    small_translate(&small, &pair.ids, 1, &written);
    pair.ids.target = written; /* so that the page can be compared with it */
    small_weights(&small, &pair.ids, RAPT_WEIGHTS_CROSS, 1, -1, weights);
    for (int i = 0; i <= written.count; i++)
        rows[i] = i < written.count ? chase_word(written.at[i]) : "(end)";
    for (int i = 0; i <= pair.ids.source.count; i++)
        columns[i] = i < pair.ids.source.count ? chase_word(pair.ids.source.at[i]) : "(end)";
    page_map(page, SHORT, "map", written.count + 1, pair.ids.source.count + 1, rows, columns,
             weights);
    small_play(&small, page, &pair.ids, chase_word, chase_is_english);
    page_claim(page, "words are written", written.count, AT_LEAST, 1);
    learner_free(&small);
    return EXIT_OK;
}

static int plain(struct page *page, const struct lesson_options *options)
{
    static const char *const names[] = {"a", "b"};
    static const float no_weights[] = {1, 1}, weights[] = {0.25F, 0.75F};
    (void)options;
    page_map(page, SHORT, "sums to 2", 1, 2, names, names, no_weights);
    if (page->lesson->number == 3) {
        page_map(page, SHORT, "sums to 1", 1, 2, names, names, weights);
        page_map_temperature(page);
    }
    page_claim(page, "two is two", 2, EQUALS, 2);
    return EXIT_OK;
}

/* Draws a step of the first map, and another that no map has. */
static int stepping(struct page *page, const struct lesson_options *options)
{
    static const char *const words[] = {"a", "b", "c"};
    static const float weights[] = {0.25F, 0.75F, 0, 1, 0.5F, 0.5F}, others[] = {1, 0, 0, 1, 1, 0};
    static const double probabilities[] = {0.5, 0.25, 0.125};
    struct step_numbers numbers = {.sources = 2,
                                   .step = 1,
                                   .rows = 3,
                                   .source = words,
                                   .target = words,
                                   .weights = others,
                                   .probabilities = probabilities};
    (void)options;
    page_map(page, SHORT, "sums to 2", 1, 2, words, words, (const float[]){1, 1});
    show_drawn_step(page, STEP_GIVEN, &numbers);
    page_map(page, SHORT, "another", 1, 2, words, words, weights);
    numbers.weights = weights;
    show_drawn_step(page, STEP_LEARNED, &numbers);
    page_map(page, SHORT, "steps", 3, 2, words, words, weights);
    page_claim(page, "two is two", 2, EQUALS, 2);
    return EXIT_OK;
}

/* Counts how often a text occurs. */
static int count_of(const char *text, const char *wanted)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, wanted)) != NULL; at++) count++;
    return count;
}

/* A drawing with a map has its numbers, and all elements that a step changes. */
static void check_stepping(const char *text)
{
    assert_int_equal(count_of(text, "class=\"steps\""), 1);
    assert_non_null(strstr(text, "class=\"steps\">{\"map\":1,\"shown\":1,"
                                 "\"probabilities\":[0.5,0.25,0.125]}</script>"));
    const char *drawing = strstr(text, "<figcaption>Learned weights");
    assert_non_null(drawing);
    assert_int_equal(count_of(drawing, "<g class=\"weight\">"), 2);
    assert_int_equal(count_of(drawing, "<g class=\"line\""), 2);
    assert_int_equal(count_of(drawing, "<g class=\"line\" visibility=\"hidden\">"), 1);
    static const char *const single[] = {"written\"><text", "before\"><text", "loss\"><text"};
    for (int i = 0; i < 3; i++) assert_int_equal(count_of(drawing, single[i]), 1);
    assert_non_null(strstr(drawing, ">d2</text>"));
    assert_non_null(strstr(drawing, ">query from d2</text>"));
}

/* Reads a page and deletes its file. */
static char *read_page(const char *folder, int number)
{
    char *path = xasprintf("%s/lesson-%d.html", folder, number), *bytes;
    size_t size;
    assert_int_equal(file_read(path, &bytes, &size), EXIT_OK);
    char *text = xasprintf("%.*s", (int)size, bytes);
    assert_int_equal(unlink(path), 0);
    free(bytes);
    free(path);
    return text;
}

static void test_pages(void **state)
{
    static const struct lesson lessons[] = {{1, "Model", "", modeled},
                                            {2, "Plain", "", plain},
                                            {3, "Sliding", "", plain},
                                            {4, "Stepping", "", stepping}};
    char folder[TEMPORARY];
    (void)state;
    assert_non_null(temporary_folder(folder));
    char *argv[] = {(char *)"lessons", (char *)"all", (char *)"--html", folder};
    optind = 0;
    assert_int_equal(lessons_main(4, argv, lessons, 4), EXIT_OK);
    char *text = read_page(folder, 1);
    assert_non_null(strstr(text, "<script class=\"play\">"));
    assert_non_null(strstr(text, "class=\"model\">{\"words\":[\"\",\"\",\"\",\"Tom\""));
    assert_non_null(strstr(text, "\"layers\":{\"encoder\":1,\"decoder\":2},\"heads\":2"));
    const char *simd = strstr(text, "class=\"rapt\">H4sIAAAAAAA");
    assert_int_equal(simd != NULL, play_simd_count > 0);
    assert_int_equal(simd && strstr(simd + 1, "class=\"rapt\">H4sIAAAAAAA"), play_plain_count > 0);
    assert_null(strstr(text, "\"slider\""));
    free(text);
    text = read_page(folder, 2);
    assert_null(strstr(text, "<script")); /* the rows are not distributions */
    free(text);
    text = read_page(folder, 3);
    assert_non_null(strstr(text, "\"weights\":[[0.25,0.75]]"));
    assert_non_null(strstr(text, "\"slider\":\"temperature\""));
    assert_null(strstr(text, "class=\"rapt\""));
    free(text);
    text = read_page(folder, 4);
    check_stepping(text);
    free(text);
    static const char *const others[] = {"index", "glossary"};
    for (int i = 0; i < 2; i++) {
        char *path = xasprintf("%s/%s.html", folder, others[i]);
        assert_int_equal(unlink(path), 0);
        free(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* The script is at most as large as a page can bear, and cannot end its element. */
static void test_script(void **state)
{
    (void)state;
    assert_in_range(play_script_count, 1, 30 << 10);
    char *text = xasprintf("%.*s", (int)play_script_count, (const char *)play_script);
    assert_int_equal(strlen(text), play_script_count);
    assert_null(strstr(text, "</script"));
    assert_null(strstr(text, "<!--"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_script),
        cmocka_unit_test(test_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
