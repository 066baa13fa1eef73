/* modes.c - four rounding modes, each with and without flush-to-zero and denormals-are-zero. Every
   operation must work in all of them. Its results may depend on the mode of the calling thread but
   not on the number of threads, and an operation that computes nothing must give the same in all
   modes. The modes of the caller and of OpenMP's other threads must not change. */
#include "process/operations.h"
#include "skips.h"

#include <fenv.h>

#if defined(__x86_64__)
enum { ROUNDING = 3 << 13, FLUSH = 1 << 15, DENORMALS = 1 << 6, FLAGS = 0x3f };

/* Sets the modes in MXCSR, and the rounding of the x87 unit. */
static void set_modes(int number)
{
    static const int roundings[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    fesetround(roundings[number % 4]);
    unsigned control = __builtin_ia32_stmxcsr() & ~(unsigned)(FLUSH | DENORMALS);
    if (number & 4) control |= FLUSH;
    if (number & 8) control |= DENORMALS;
    __builtin_ia32_ldmxcsr(control);
}

static uint64_t modes(void)
{
    unsigned short control;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    return (uint64_t)control << 32 | (__builtin_ia32_stmxcsr() & ~(unsigned)FLAGS);
}
enum { MODES = 16 };
#else
static void set_modes(int number)
{
    static const int roundings[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    fesetround(roundings[number]);
}

static uint64_t modes(void)
{
    return (uint64_t)fegetround();
}
enum { MODES = 4 };
#endif

/* Runs every operation in one mode and stores the results. */
static void run_all(int variant, int mode, int threads, uint64_t results[OPERATIONS])
{
    struct scene *s = scene_new(variant, threads, 0, NULL);
    for (int i = 0; i < OPERATIONS; i++) {
        set_modes(mode);
        uint64_t before = modes();
        results[i] = scene_run(s, &operations[i]);
        uint64_t after = modes();
        set_modes(0);
        if (!results[i]) fail_msg("%s fails in mode %d: %s", operations[i].name, mode, s->reason);
        if (after != before) fail_msg("%s changes mode %d", operations[i].name, mode);
    }
    scene_free(s, NULL);
}

static void compare(int variant)
{
    uint64_t plain[OPERATIONS], alone[OPERATIONS], team[OPERATIONS];
    run_all(variant, 0, 3, plain); /* OpenMP's threads inherit the modes of this one */
    for (int mode = 0; mode < MODES; mode++) {
        run_all(variant, mode, 1, alone);
        run_all(variant, mode, 3, team);
        for (int i = 0; i < OPERATIONS; i++) {
            if (alone[i] != team[i])
                fail_msg("%s: other bits with 3 threads in mode %d", operations[i].name, mode);
            if (operations[i].exact && team[i] != plain[i])
                fail_msg("%s: other bits in mode %d", operations[i].name, mode);
        }
    }
}

enum { THREADS = 3 };

static void modes_of_threads(uint64_t of[THREADS])
{
#pragma omp parallel for num_threads(THREADS) schedule(static, 1)
    for (int i = 0; i < THREADS; i++) of[i] = modes();
}

/* OpenMP's threads also serve the caller's own regions, so their modes must not change. */
static void test_threads(void **state)
{
    (void)state;
    struct scene *s = scene_new(0, THREADS, 0, NULL);
    for (int i = 0; i < OPERATIONS; i++) {
        if (operations[i].exact) continue;
        assert_true(
            scene_run(s, &operations[i])); /* so that all threads that it needs are started */
        for (int mode = 1; mode < MODES; mode++) {
            uint64_t before[THREADS], after[THREADS];
            modes_of_threads(before);
            set_modes(mode);
            uint64_t done = scene_run(s, &operations[i]);
            set_modes(0);
            modes_of_threads(after);
            assert_true(done);
            if (memcmp(before, after, sizeof after) != 0)
                fail_msg("%s in mode %d changes other threads", operations[i].name, mode);
        }
    }
    scene_free(s, NULL);
}

static int variants = 1;

static void test_modes(void **state)
{
    (void)state;
    for (int i = 0; i < variants; i++) compare(i);
    printf("cases: process/modes: %d operations in %d modes\n", variants * 2 * OPERATIONS, MODES);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_modes),
                                       cmocka_unit_test(test_threads)};
    if (count > 1) variants = atoi(words[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
