/* host_state.c - a program that loads the shared library (dlopen) and asks for its instruction sets
   must find its process state unchanged: floating-point control, locale, signal handlers, the
   number of threads and of open files, and which registers Linux saves for it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fenv.h>
#include <locale.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

struct state {
    uint32_t control; /* MXCSR, or FPCR */
    int rounding, threads, files;
    uint64_t saved; /* registers, as ARCH_GET_XCOMP_PERM returns them; 0 on other machines */
    char locale[64];
    void (*handlers[32])(int);
};

#if defined(__x86_64__)
static uint32_t control_word(void)
{
    return __builtin_ia32_stmxcsr();
}
#elif defined(__aarch64__)
static uint32_t control_word(void)
{
    uint64_t word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return (uint32_t)word;
}
#else
static uint32_t control_word(void)
{
    return 0;
}
#endif

#if defined(__x86_64__) && defined(SYS_arch_prctl)
static uint64_t saved_registers(void)
{
    uint64_t saved = 0;
    return syscall(SYS_arch_prctl, 0x1022, &saved) == 0 ? saved : 0;
}
#else
static uint64_t saved_registers(void)
{
    return 0;
}
#endif

static int entries(const char *folder)
{
    DIR *all = opendir(folder);
    int count = 0;

    assert_non_null(all);
    while (readdir(all) != NULL) count++;
    closedir(all);
    return count;
}

static struct state state_now(void)
{
    struct state s = {.control = control_word(), .rounding = fegetround()};
    struct sigaction action;

    s.threads = entries("/proc/self/task");
    s.files = entries("/proc/self/fd");
    s.saved = saved_registers();
    strncpy(s.locale, setlocale(LC_ALL, NULL), sizeof s.locale - 1);
    for (int i = 1; i < 32; i++)
        if (sigaction(i, NULL, &action) == 0) s.handlers[i] = action.sa_handler;
    return s;
}

static void loading_changes_nothing(void **unused)
{
    struct state before = state_now(), after;
    void *library;
    int (*used)(void);
    const char *(*int8)(void);

    (void)unused;
    library = dlopen(RAPT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) fail_msg("%s", dlerror());
    *(void **)&used = dlsym(library, "rapt_isa_used");
    assert_non_null(used);
    *(void **)&int8 = dlsym(library, "rapt_isa_int8");
    assert_non_null(int8);
    assert_true(used() >= 0);
    assert_true(*int8() != 0);

    after = state_now();
    assert_int_equal(before.control, after.control);
    assert_int_equal(before.rounding, after.rounding);
    assert_int_equal(before.threads, after.threads);
    assert_int_equal(before.files, after.files);
    assert_int_equal(before.saved, after.saved);
    assert_string_equal(before.locale, after.locale);
    assert_memory_equal(before.handlers, after.handlers, sizeof before.handlers);
}

/* The comparison must detect a change. */
static void a_change_would_be_seen(void **unused)
{
    uint32_t before = control_word();

    (void)unused;
    fesetround(FE_UPWARD);
    assert_int_not_equal(state_now().control, before);
    fesetround(FE_TONEAREST);
    assert_int_equal(state_now().control, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_would_be_seen),
        cmocka_unit_test(loading_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
