/* list.c - tests rapt__disk_list: every file and folder is visited once, a visitor can stop, a path
   that is not a folder fails, and "" is the current folder. */
#define _GNU_SOURCE
#include "format/disk.h"
#include "temporary.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { NAMES = 3 };
static const char *const names[NAMES] = {"a", "b model.bin", "in"}; /* the last one is a folder */

struct visits {
    int seen[NAMES], others, limit;
};

static bool visit(void *user, const char *name)
{
    struct visits *v = user;
    int n = 0;
    while (n < NAMES && strcmp(names[n], name) != 0) n++;
    if (n < NAMES) v->seen[n]++;
    v->others += n == NAMES;
    return --v->limit > 0;
}

static void test_list(void **state)
{
    (void)state;
    char folder[TEMPORARY], before[4096], path[TEMPORARY + 64];
    assert_non_null(temporary_folder(folder));
    struct visits v = {.limit = 100};
    assert_true(rapt__disk_list(folder, visit, &v));
    assert_true(v.limit == 100);
    for (int n = 0; n < NAMES; n++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[n]);
        FILE *file = n < 2 ? fopen(path, "wb") : NULL;
        assert_int_equal(n < 2 ? fclose(file) : mkdir(path, 0700), 0);
    }
    errno = EDOM;
    assert_true(rapt__disk_list(folder, visit, &v) && errno == EDOM);
    snprintf(path, sizeof path, "%s/", folder);
    assert_true(rapt__disk_list(path, visit, &v));
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder), 0);
    assert_true(rapt__disk_list("", visit, &v));
    for (int n = 0; n < NAMES; n++) assert_int_equal(v.seen[n], 3);
    assert_int_equal(v.others, 0);
    v = (struct visits){.limit = 2};
    assert_true(rapt__disk_list("", visit, &v));
    assert_int_equal(v.seen[0] + v.seen[1] + v.seen[2], 2);
    assert_int_equal(chdir(before), 0);
    for (int n = 0; n < NAMES; n++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[n]);
        assert_false(n < 2 && rapt__disk_list(path, visit, &v)); /* a file */
        assert_int_equal(n < 2 ? remove(path) : rmdir(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
    assert_false(rapt__disk_list(folder, visit, &v));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
