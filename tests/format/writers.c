/* writers.c - tests threads that replace files in one folder at the same time: each finds the
   temporary files of the others and leaves them alone, and none remains. */
#define _POSIX_C_SOURCE 200809L

#include "temporary.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rapt/file.h>

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
