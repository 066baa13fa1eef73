/* host.c - the caller's state is its own: the locale changes no file and no result, the floating
   point modes stay as they are, environment and working directory are not asked. */
#define _DEFAULT_SOURCE
#include "api/small_api.h"
#include "skips.h"

#include <fenv.h>
#include <locale.h>
#if defined(__SSE__)
#include <xmmintrin.h>
static unsigned modes(void)
{
    return _mm_getcsr() & ~0x3Fu; /* less the flags of what has happened */
}
#else
static unsigned modes(void)
{
    return (unsigned)fegetround();
}
#endif

/* A locale that writes 1,5: compiled here, so that none need be installed. */
static bool comma_locale(void)
{
    static const char source[] = "comment_char %\nescape_char /\nLC_NUMERIC\n"
                                 "decimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\n"
                                 "END LC_NUMERIC\n";
    char folder[] = "/tmp/rapt-locale-XXXXXX", path[64], command[300];
    if (!mkdtemp(folder)) return false;
    snprintf(path, sizeof path, "%s/source", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(source, f) >= 0 && fclose(f) == 0);
    /* its status says that other categories are missing, too */
    snprintf(command, sizeof command, "localedef -c -i %s %s/comma >%s/log 2>&1", path, folder,
             folder);
    bool done = system(command) != -1;
    setenv("LOCPATH", folder, 1);
    done = done && setlocale(LC_ALL, "comma") != NULL;
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 && done;
}

static uint64_t file_hash(const char *path)
{
    static unsigned char bytes[1 << 21];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    return api_hash(0xCBF29CE484222325u, bytes, size);
}

/* Saves, loads, computes; everything in one number. */
static uint64_t all_of_it(void)
{
    char path[256];
    rapt_config c = api_config;
    c.norm_epsilon = 1.5e-6f;
    rapt_model *model = small_model(&c, 1), *loaded = NULL;
    rapt_message why = {""};
    small_path(path, "host");
    assert_int_equal(rapt_model_save(model, path, NULL, 0, NULL), RAPT_OK);
    uint64_t h = file_hash(path);
    if (rapt_model_load(&loaded, path, NULL, &why)) fail_msg("%s", why.text);
    small_same_models(model, loaded);
    assert_true(rapt_model_config(loaded)->norm_epsilon == c.norm_epsilon);
    h = h * 31 + api_generate(loaded, 1, 2);
    h = h * 31 + api_train(1, 2);
    unlink(path);
    rapt_model_free(model);
    rapt_model_free(loaded);
    return h;
}

static void test_locale(void **state)
{
    (void)state;
    uint64_t plain = all_of_it();
    if (!comma_locale()) {
        skipped("api/host, a locale with decimal commas", "localedef does not make one");
        skip();
    }
    assert_string_equal(localeconv()->decimal_point, ",");
    uint64_t comma = all_of_it();
    assert_string_equal(localeconv()->decimal_point, ",");
    setlocale(LC_ALL, "C");
    assert_true(plain == comma);
}

static void test_modes(void **state)
{
    (void)state;
    static const int rounding[] = {FE_TONEAREST, FE_UPWARD, FE_TOWARDZERO};
    for (int i = 0; i < COUNT(rounding); i++) {
        assert_int_equal(fesetround(rounding[i]), 0);
        unsigned before = modes();
        assert_true(api_train(1, 2) != 0);
        rapt_model *model = small_model(&api_config, 1);
        assert_true(api_generate(model, 1, 2) != 0);
        rapt_model_free(model);
        assert_int_equal(modes(), before);
        assert_int_equal(fegetround(), rounding[i]);
    }
    fesetround(FE_TONEAREST);
}

/* With threads 0 and with 8, also of two teams at once. */
static uint64_t bits(void)
{
    rapt_model *model = small_model(&api_config, 1);
    uint64_t h = api_generate(model, 5, 0) ^ api_train(5, 8), two[2];
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < 2; i++) two[i] = api_generate(model, 6, 2);
    rapt_model_free(model);
    return h && two[0] == two[1] ? h ^ two[0] * 31 : 0;
}

static uint64_t bits_under(const char *program, const char *settings)
{
    char command[700], line[64] = "";
    snprintf(command, sizeof command, "%s '%s' bits", settings, program);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    assert_int_equal(pclose(pipe), 0);
    return strtoull(line, NULL, 16);
}

/* OpenMP may be set to more threads than there are processors, to give fewer than it is asked for,
   to spin or to sleep, to bind its threads: the same bits still. It reads its environment at
   start, so this program starts itself again. */
static void test_environment(void **state)
{
    (void)state;
    static const char *const settings[] = {
        "OMP_NUM_THREADS=64",
        "OMP_NUM_THREADS=64 OMP_DYNAMIC=true",
        "OMP_NUM_THREADS=4,2 OMP_MAX_ACTIVE_LEVELS=2",
        "OMP_THREAD_LIMIT=1",
        "OMP_NUM_THREADS=8 OMP_THREAD_LIMIT=3",
        "OMP_WAIT_POLICY=active",
        "OMP_WAIT_POLICY=passive",
        "OMP_PROC_BIND=true",
        "OMP_PROC_BIND=close OMP_PLACES=cores",
    };
    char self[500];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) {
        skipped("api/host, settings of OpenMP", "there is no /proc/self/exe");
        skip();
    }
    self[n] = 0;
    uint64_t here = bits();
    assert_true(here != 0);
    for (int i = 0; i < COUNT(settings); i++)
        if (bits_under(self, settings[i]) != here) fail_msg("other bits: %s", settings[i]);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "bits") == 0) {
        printf("%llx\n", (unsigned long long)bits());
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_locale),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
