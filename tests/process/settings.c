/* settings.c - runs under every setting of OpenMP, including invalid ones and small stacks, and on
   one processor. The bits must be the same, and there may be no more threads than processors unless
   both the caller and OpenMP are asked for more. OpenMP reads its environment at start, so this
   program starts itself again. */
#define _GNU_SOURCE
#include "api/small_world.h"
#include "skips.h"

#include <dirent.h>
#include <sched.h>

struct setting {
    const char *variables; /* set before the command */
    int max;               /* most threads that the process may have; 0: not checked */
};

/* A stack that is large enough for a member of a team. AddressSanitizer puts red zones between
   arrays. */
#ifdef __SANITIZE_ADDRESS__
#define ENOUGH "512k"
#else
#define ENOUGH "96k"
#endif

enum { ALL = -1 }; /* as many threads as processors, or the 8 that are asked for */

/* clang-format off */
static const struct setting settings[] = {
    {"OMP_NUM_THREADS=1", 0},
    {"OMP_NUM_THREADS=0", 0},
    {"OMP_NUM_THREADS=garbage", 0},
    {"OMP_NUM_THREADS=-5", 0},
    {"OMP_NUM_THREADS=99999999999999999999", 0},
    {"OMP_NUM_THREADS=64", 0},
    {"OMP_NUM_THREADS=1000000", ALL},
    {"OMP_NUM_THREADS=64 OMP_DYNAMIC=true", 0},
    {"OMP_DYNAMIC=true", 0},
    {"OMP_NUM_THREADS=4,2 OMP_MAX_ACTIVE_LEVELS=2", 0},
    {"OMP_NESTED=true OMP_NUM_THREADS=3", 0},
    {"OMP_MAX_ACTIVE_LEVELS=0", 1},
    {"OMP_THREAD_LIMIT=1", 1},
    {"OMP_NUM_THREADS=8 OMP_THREAD_LIMIT=3", 3},
    {"OMP_WAIT_POLICY=active", 0},
    {"OMP_WAIT_POLICY=passive", 0},
    {"OMP_PROC_BIND=true", 0},
    {"OMP_PROC_BIND=spread OMP_NUM_THREADS=5", 0},
    {"OMP_PROC_BIND=close OMP_PLACES=cores", 0},
    {"OMP_PLACES='{0}'", 0},
    {"OMP_CANCELLATION=true", 0},
    {"OMP_SCHEDULE=dynamic,1", 0},
    {"OMP_SCHEDULE=nonsense", 0},
    {"OMP_STACKSIZE=nonsense", 0},
    {"OMP_NUM_THREADS=8 OMP_STACKSIZE=16k", 0},
    {"OMP_NUM_THREADS=8 OMP_STACKSIZE=24k", 0},
    {"OMP_NUM_THREADS=8 OMP_STACKSIZE=48k", 0},
    {"OMP_NUM_THREADS=8 OMP_STACKSIZE=64k", 0},
    {"OMP_NUM_THREADS=8 OMP_STACKSIZE=72k", 0},
    {"OMP_NUM_THREADS=8 OMP_STACKSIZE=" ENOUGH, 0},
    {"OMP_NUM_THREADS=8 OMP_STACKSIZE=1g", 0},
    {"GOMP_SPINCOUNT=infinity GOMP_CPU_AFFINITY=0", 0},
    {"KMP_BLOCKTIME=infinite KMP_LIBRARY=turnaround", 0},
    {"KMP_AFFINITY=compact KMP_STACKSIZE=64k", 0},
};
/* clang-format on */

static int tasks(void)
{
    int count = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && (e = readdir(d));) count += e->d_name[0] != '.';
    if (d) closedir(d);
    return count;
}

/* Generates with 0 threads and trains with 8, also in bf16, whose products need the most stack.
   Returns a hash of the results. */
static uint64_t bits(void)
{
    rapt_model *model = small_model(&api_config, 1);
    rapt_train_options bf16;
    rapt_train_options_default(&bf16, sizeof bf16);
    bf16.products = RAPT_PRODUCTS_BF16;
    uint64_t h = api_generate(model, 5, 0) * 31 ^ api_train(5, 8);
    h = h * 31 ^ api_train_with(5, 8, &bf16);
    rapt_model_free(model);
    return h;
}

/* Runs this program under some settings. Returns the hash of its results and the number of its
   threads. */
static uint64_t bits_under(const char *program, const char *variables, int *threads)
{
    char command[700];
    unsigned long long h = 0;
    snprintf(command, sizeof command, "%s '%s' bits 2>/dev/null", variables, program);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    int read = fscanf(pipe, "%llx %d", &h, threads);
    int status = pclose(pipe);
    if (read != 2 || status) fail_msg("%s: exit status %d", variables, status);
    return h;
}

static bool own_path(char *self, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", self, size - 1);
    if (n <= 0) return false;
    self[n] = 0;
    return true;
}

static void test_settings(void **state)
{
    char self[500];
    (void)state;
    if (!own_path(self, sizeof self)) {
        skipped("process/settings", "there is no /proc/self/exe");
        skip();
    }
    uint64_t here = bits();
    for (int i = 0; i < COUNT(settings); i++) {
        int threads = 0;
        if (bits_under(self, settings[i].variables, &threads) != here)
            fail_msg("other bits: %s", settings[i].variables);
        int max = settings[i].max, processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
        if (max == ALL) max = processors > 8 ? processors : 8;
        if (max && threads > max) fail_msg("%s: %d threads", settings[i].variables, threads);
    }
    printf("cases: process/settings: %d settings of OpenMP\n", COUNT(settings));
}

/* Without OMP_NUM_THREADS a call that asks for eight threads gets at most one per processor. */
static void test_one_processor(void **state)
{
    char self[500];
    cpu_set_t all, one;
    int threads;
    size_t cpu = 0;
    (void)state;
    if (!own_path(self, sizeof self)) skip();
    uint64_t here = bits();
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(cpu, &all)) cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_true(bits_under(self, "env -u OMP_NUM_THREADS", &threads) == here);
    assert_int_equal(threads, 1);
    assert_true(bits_under(self, "OMP_NUM_THREADS=8", &threads) == here);
    assert_true(bits_under(self, "OMP_NUM_THREADS=8 OMP_WAIT_POLICY=passive", &threads) == here);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_settings),
                                       cmocka_unit_test(test_one_processor)};
    if (count > 1 && strcmp(words[1], "bits") == 0) {
        unsigned long long h = bits();
        printf("%llx %d\n", h, tasks());
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
