/* lessons_play.c - tests what the script of a page reads, the numbers of maps, and which pages have
 * a script. */
#define _POSIX_C_SOURCE 200809L
#include "kit/program.h"
#include "lessons/play.h"
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
    static const struct lesson lessons[] = {{2, "Plain", "", plain}, {3, "Sliding", "", plain}};
    char folder[TEMPORARY];
    (void)state;
    assert_non_null(temporary_folder(folder));
    char *argv[] = {(char *)"lessons", (char *)"all", (char *)"--html", folder};
    optind = 0;
    assert_int_equal(lessons_main(4, argv, lessons, 2), EXIT_OK);
    char *text = read_page(folder, 2);
    assert_null(strstr(text, "<script")); /* the rows are not distributions */
    free(text);
    text = read_page(folder, 3);
    assert_non_null(strstr(text, "\"weights\":[[0.25,0.75]]"));
    assert_non_null(strstr(text, "\"slider\":\"temperature\""));
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
        cmocka_unit_test(test_script),
        cmocka_unit_test(test_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
