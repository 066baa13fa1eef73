/* disk.c - folders: their contents, and threads that replace files in them. */
#define _GNU_SOURCE
#define _POSIX_C_SOURCE 200809L

#include "format/disk.h"
#include "temporary.h"

#include <rapt/file.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- list: tests rapt__disk_list: every file and folder is visited once, a visitor can stop, a
   path that is not a folder fails, and "" is the current folder. ---- */

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

/* ---- writers: tests threads that replace files in one folder at the same time: each finds the
   temporary files of the others and leaves them alone, and none remains. ---- */

enum { WRITERS = 4, WRITES = 100 };

struct writer {
    char path[TEMPORARY + 16];
    int failures;
    rapt_message why;
};

static void *run(void *user)
{
    struct writer *w = user;
    static const char bytes[200] = {1};
    for (int i = 0; i < WRITES; i++)
        w->failures += rapt_file_write(w->path, bytes, sizeof bytes, &w->why) != RAPT_OK;
    return NULL;
}

static void together(void **state)
{
    char folder[TEMPORARY];
    struct writer writers[WRITERS] = {0};
    pthread_t threads[WRITERS];
    (void)state;
    assert_non_null(temporary_folder(folder));
    for (int i = 0; i < WRITERS; i++) {
        snprintf(writers[i].path, sizeof writers[i].path, "%s/%d", folder, i);
        assert_int_equal(pthread_create(&threads[i], NULL, run, &writers[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
        if (writers[i].failures > 0) print_error("%s\n", writers[i].why.text);
    }
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(writers[i].failures, 0);
        assert_int_equal(unlink(writers[i].path), 0);
    }
    assert_int_equal(rmdir(folder), 0); /* the folder is empty */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list),
        cmocka_unit_test(together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
