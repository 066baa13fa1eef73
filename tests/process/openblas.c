/* openblas.c - OpenBLAS is loaded only when a trainer asks for it, so that other programs keep its
   address space. If it cannot be loaded, the trainer is refused with a reason, and a later one may
   succeed. */
#define _GNU_SOURCE
#include "api/small_world.h"
#include "model/small_file.h"
#include "skips.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Tells whether a file with this name is mapped into the process. */
static bool mapped(const char *name)
{
    char line[4096];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (!found && fgets(line, sizeof line, maps)) found = strstr(line, name) != NULL;
    fclose(maps);
    return found;
}

static rapt_status create(rapt_trainer **trainer, rapt_model *model, rapt_products products,
                          rapt_message *why)
{
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    options.products = products;
    rapt_train_limits limits = {sizeof limits, 3, 40, 40, .threads = 2};
    *trainer = NULL;
    rapt_status status = rapt_trainer_create(trainer, model, &options, &limits, NULL, why);
    assert_true((status == RAPT_OK) == (*trainer != NULL));
    return status;
}

static rapt_status ask(rapt_model *model, rapt_message *why)
{
    rapt_trainer *trainer;
    rapt_status status = create(&trainer, model, RAPT_PRODUCTS_OPENBLAS, why);
    rapt_trainer_free(trainer);
    return status;
}

/* Runs a function in a child and returns its exit status. The child has not loaded OpenBLAS if this
   process has not. */
static int in_child(int (*run)(rapt_model *model), rapt_model *model)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        _exit(run(model));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* With 200 MB more address space than is in use, everything must work, and OpenBLAS must be
   refused: it would wait for memory forever. */
static int with_little_space(rapt_model *model)
{
    char line[256];
    unsigned long long kilobytes = 0;
    rapt_message why = {""};
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmSize: %llu", &kilobytes) == 1) break;
    if (f) fclose(f);
    struct rlimit limit = {(kilobytes << 10) + (200 << 20), (kilobytes << 10) + (200 << 20)};
    if (!kilobytes || setrlimit(RLIMIT_AS, &limit)) return 2;
    if (!api_train(1, 1) || !api_generate(model, 1, 1)) return 3;
    if (ask(model, &why) == RAPT_OK) return 4;
    return why.text[0] ? 0 : 5;
}

#ifndef RAPT_OPENBLAS_PATH
#define RAPT_OPENBLAS_PATH "libopenblas.so.0"
#endif

/* While no file can be opened, OpenBLAS must be refused with RAPT_BAD_ARGUMENT and a reason that
   gives each of its names. Once files can be opened again, it must load. */
static int without_files(rapt_model *model)
{
    struct rlimit before, none;
    rapt_message why = {""};
    int number = open("/dev/null", O_RDONLY);
    if (number < 0 || close(number) || getrlimit(RLIMIT_NOFILE, &before)) return 2;
    none = before, none.rlim_cur = (rlim_t)number;
    if (setrlimit(RLIMIT_NOFILE, &none)) return 3;
    if (ask(model, &why) != RAPT_BAD_ARGUMENT) return 4;
    if (!strstr(why.text, "OpenBLAS cannot be loaded: " RAPT_OPENBLAS_PATH ": ")) return 8;
    if (!strstr(why.text, " libopenblas.so.0: ")) return 9;
    if (setrlimit(RLIMIT_NOFILE, &before)) return 5;
    why.text[0] = 0;
    if (mapped("libopenblas")) return 6;
    return ask(model, &why) == RAPT_OK && why.text[0] == 0 && mapped("libopenblas") ? 0 : 7;
}

static int is_there(rapt_model *model)
{
    return ask(model, NULL) != RAPT_OK;
}

static void test_on_demand(void **state)
{
    (void)state;
    rapt_model *model = small_model(&api_config, 1);
    assert_true(api_train(1, 2) != 0 && api_generate(model, 1, 2) != 0);
    assert_false(mapped("libopenblas"));
    assert_false(mapped("libblas"));
    if (in_child(is_there, model)) {
        rapt_message why;
        assert_int_not_equal(ask(model, &why), RAPT_OK);
        assert_true(why.text[0]);
        skipped("process/openblas", why.text);
    } else {
        assert_int_equal(in_child(without_files, model), 0);
    }
    assert_false(mapped("libopenblas"));
    rapt_model_free(model);
}

/* Sanitizers need terabytes of address space. */
#if defined(RAPT_INSTRUMENTED)
static const bool can_be_limited = false;
#else
static const bool can_be_limited = true;
#endif

static void test_little_space(void **state)
{
    (void)state;
    rapt_model *model = small_model(&api_config, 1);
    if (can_be_limited) assert_int_equal(in_child(with_little_space, model), 0);
    rapt_model_free(model);
}

/* Limits the number of further files that can be opened to `more`. */
static void limit_files(rlim_t more)
{
    struct rlimit limit;
    int number = open("/dev/null", O_RDONLY);
    assert_true(number >= 0 && close(number) == 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = (rlim_t)number + more;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* A checkpoint of a run in which OpenBLAS computed products must be refused if OpenBLAS cannot be
   loaded, because the run would not continue with the same bits. A trainer that asks for the
   built-in products must accept it, and checkpoints that used only built-in products are always
   accepted. */
static void test_checkpoints(void **state)
{
    (void)state;
    char path[256];
    rapt_message why = {""};
    struct rlimit before;
    rapt_model *model = small_model(&api_config, 1);
    rapt_trainer *measures, *builtin;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit_files(0);
    assert_int_equal(create(&measures, model, RAPT_PRODUCTS_AUTO, NULL), RAPT_OK);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(create(&builtin, model, RAPT_PRODUCTS_BUILTIN, NULL), RAPT_OK);
    assert_int_equal(rapt_trainer_save(measures, small_path(path, "openblas"), NULL, 0, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_trainer_load(measures, path, NULL), RAPT_OK);
    struct file own = file_at(path), by_openblas = edited(&own, " products 0", " products 7");
    put(&by_openblas);
    limit_files(1); /* only the checkpoint */
    assert_int_equal(rapt_trainer_load(measures, path, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_non_null(strstr(why.text, "trained with OpenBLAS, which cannot be loaded"));
    assert_string_equal(rapt_trainer_products(measures), "built-in");
    assert_false(mapped("libopenblas"));
    assert_int_equal(rapt_trainer_load(builtin, path, NULL), RAPT_OK);
    free(own.bytes);
    drop(&by_openblas);
    rapt_trainer_free(measures);
    rapt_trainer_free(builtin);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_little_space),
                                       cmocka_unit_test(test_on_demand),
                                       cmocka_unit_test(test_checkpoints)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
