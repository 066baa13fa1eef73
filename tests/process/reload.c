/* reload.c - the shared library is loaded, called with two threads and closed, again and again, as
   a host does with a plug-in. With every wait policy of OpenMP, the host must survive and keep no
   more threads than after the first time. This program links neither the library nor OpenMP. */
#define _GNU_SOURCE
#include <rapt/attention.h>

#include <dirent.h>
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { CYCLES = 100, TOKENS = 64, WIDTH = 32 };

static int entries(const char *folder)
{
    int count = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) count += e->d_name[0] != '.';
    if (d) closedir(d);
    return count;
}

/* Finds a function of the library. Uses memcpy because C does not convert object pointers to
   function pointers. */
static bool find(void *library, const char *name, void *function, size_t size)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, size);
    return address != NULL;
}

/* Loads, calls and closes the library. Returns the sum of the output of attention, or 0 on
   failure. */
static float cycle(void)
{
    static float x[TOKENS * WIDTH], out[TOKENS * WIDTH];
    static _Alignas(64) char workspace[1 << 22];
    rapt_attention a;
    float sum = 0;
    rapt_status (*init)(rapt_attention *, size_t, int, int, int, int, int);
    size_t (*size)(const rapt_attention *);
    rapt_status (*forward)(const rapt_attention *, const float *, const float *, const float *,
                           float *, const rapt_attention_saved *, void *, rapt_message *);
    void *library = dlopen(RAPT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library || !find(library, "rapt_attention_init", &init, sizeof init) ||
        !find(library, "rapt_attention_workspace", &size, sizeof size) ||
        !find(library, "rapt_attention_forward", &forward, sizeof forward))
        return 0;
    for (int i = 0; i < TOKENS * WIDTH; i++) x[i] = (float)(i % 7) / 7;
    init(&a, sizeof a, 1, 1, TOKENS, TOKENS, WIDTH);
    a.threads = 2;
    if (size(&a) > sizeof workspace || forward(&a, x, x, x, out, NULL, workspace, NULL)) return 0;
    for (int i = 0; i < TOKENS * WIDTH; i++) sum += out[i];
    return dlclose(library) == 0 ? sum : 0;
}

/* Runs the cycles in this process and returns its exit status: 0 if all is well. */
static int cycles(void)
{
    float first = cycle();
    int threads = entries("/proc/self/task"), files = entries("/proc/self/fd");
    if (first == 0) return 2;
    if (threads != 2) return 3; /* the team must have started a second thread */
    for (int i = 1; i < CYCLES; i++) {
        if (cycle() != first) return 4;
        if (entries("/proc/self/task") != threads || entries("/proc/self/fd") != files) return 5;
    }
    return 0;
}

static void under(const char *policy)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("OMP_WAIT_POLICY", policy, 1);
        setenv("OMP_NUM_THREADS", "2", 1);
        execl("/proc/self/exe", "reload", "cycles", (char *)NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) fail_msg("%s: signal %d", policy, WTERMSIG(status));
    if (WEXITSTATUS(status)) fail_msg("%s: exit status %d", policy, WEXITSTATUS(status));
}

static void test_active(void **state)
{
    (void)state;
    under("active");
}

static void test_passive(void **state)
{
    (void)state;
    under("passive");
    printf("cases: process/reload: %d cycles of dlopen, call, dlclose\n", 2 * CYCLES);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_active),
                                       cmocka_unit_test(test_passive)};
    if (count > 1 && strcmp(words[1], "cycles") == 0) return cycles();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
