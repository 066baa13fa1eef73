/* together.c - several processes save and load the same path at once, while some are killed.
   Readers must always see a whole file, the save of a living process must never fail, and what the
   killed ones leave must be removed. */
#define _GNU_SOURCE

#include "kit/things.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 8, DOOMED = 4 }; /* the first DOOMED are killed and restarted */

static int saves = 150; /* per process */

static void save_often(int index)
{
    for (int i = 0; i < saves; i++) {
        enum version version = (index + i) % 2 ? NEW : OLD;
        rapt_message why = {""};
        if (thing_save(BYTES, version, &why) != RAPT_OK) {
            fprintf(stderr, "%s\n", why.text);
            _exit(1);
        }
        struct bytes found = bytes_of(path);
        bool old = found.size == thing_bytes(BYTES, OLD)->size;
        const struct bytes *whole = thing_bytes(BYTES, old ? OLD : NEW);
        if (found.size != whole->size || memcmp(found.data, whole->data, whole->size) != 0)
            _exit(2);
        free(found.data);
    }
    _exit(0);
}

static pid_t start(int index)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) save_often(index);
    return child;
}

/* Kills the doomed processes again and again until the others have finished. */
static void test_together(void **state)
{
    (void)state;
    pid_t children[PROCESSES];
    int living = PROCESSES - DOOMED;
    long killed = 0;
    const struct timespec moment = {.tv_nsec = 100000};
    put(thing_bytes(BYTES, OLD));
    for (int i = 0; i < PROCESSES; i++) children[i] = start(i);
    while (living > 0) {
        for (int i = 0; i < PROCESSES; i++) {
            int result = 0;
            nanosleep(&moment, NULL);
            if (i < DOOMED) kill(children[i], SIGKILL);
            if (children[i] == 0 || waitpid(children[i], &result, i < DOOMED ? 0 : WNOHANG) == 0)
                continue;
            if (i >= DOOMED || WIFEXITED(result)) assert_int_equal(result, 0);
            killed += WIFSIGNALED(result);
            children[i] = i < DOOMED ? start(i) : 0;
            living -= i >= DOOMED;
        }
    }
    for (int i = 0; i < DOOMED; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    print_message("%d saves by living processes, %ld processes killed\n",
                  (PROCESSES - DOOMED) * saves, killed);
    assert_true(killed > 0);
    assert_int_equal(thing_save(BYTES, NEW, NULL), RAPT_OK);
    assert_true(path_has(thing_bytes(BYTES, NEW)));
    assert_int_equal(entries(folder), 1);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "all") == 0) saves = 1000;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_together)};
    return cmocka_run_group_tests(tests, things_create, things_free);
}
