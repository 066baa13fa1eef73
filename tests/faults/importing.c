/* importing.c - lets file calls fail, be interrupted or be short while folders of other projects
   are imported, one at a time or all from one on. The import must give a reason and no model, or
   the whole model with its tokenizers, and leave no file open. A failing export must leave only
   whole files. */
#define _GNU_SOURCE

#include "format/disk.h"
#include "kit/calls.h"
#include "model/small.h"

#include <dirent.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { FOLDERS = 3 };
static const struct {
    rapt_export format;
    const char *name;
} projects[FOLDERS] = {
    {RAPT_EXPORT_MARIAN, "marian"}, {RAPT_EXPORT_BERGAMOT, "bergamot"}, {RAPT_EXPORT_CT2, "ct2"}};
static const char *const files[] = {"model.bin", "vocab.yml", "config.json",
                                    "shared_vocabulary.json"};
static const int errors[] = {EIO, ENOMEM, EACCES, EBADF};

static long injections;

/* Creates a model that all the formats can represent, with a vocabulary of names. */
static rapt_model *make(void)
{
    static const char *const names[] = {"</s>", "<unk>", "a", "b", "c", "d", "e", "f"};
    static char bytes[1 << 16], text[512];
    rapt_text texts[COUNT(names)];
    rapt_tokenizer *tokenizer = NULL;
    rapt_model *model = NULL;
    size_t size;
    const rapt_config c = foreign_config(COUNT(names), 16);
    for (int i = 0; i < COUNT(names); i++) texts[i] = (rapt_text){names[i], strlen(names[i])};
    assert_int_equal(rapt_tokenizer_create_list(&tokenizer, texts, COUNT(names), NULL, NULL, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_tokenizer_write(tokenizer, text, sizeof text, &size, NULL), RAPT_OK);
    rapt_tokenizer_free(tokenizer);
    rapt_model *plain = small_model(&c, 3);
    const rapt_metadata pair = {"rapt.tokenizer", text};
    assert_int_equal(rapt_model_save_memory(plain, bytes, sizeof bytes, &size, &pair, 1, NULL),
                     RAPT_OK);
    rapt_model_free(plain);
    assert_int_equal(rapt_model_load_memory(&model, bytes, size, NULL, NULL, NULL), RAPT_OK);
    return model;
}

static int entries(const char *of)
{
    int count = 0;
    DIR *list = opendir(of);
    assert_non_null(list);
    while (readdir(list)) count++;
    closedir(list);
    return count;
}

static void remove_folder(const char *folder)
{
    char path[300];
    for (int i = 0; i < COUNT(files); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* Checks that two models have the same parameters and metadata. */
static void same(const rapt_model *a, const rapt_model *b)
{
    float x[1024], y[1024];
    assert_int_equal(rapt_model_tensors(a), rapt_model_tensors(b));
    for (int i = 0; i < rapt_model_tensors(a); i++) {
        size_t size = small_size(a, i);
        assert_true(size <= COUNT(x));
        assert_int_equal(rapt_model_read(a, i, x, NULL), RAPT_OK);
        assert_int_equal(rapt_model_read(b, i, y, NULL), RAPT_OK);
        assert_memory_equal(x, y, size * sizeof *x);
    }
    assert_int_equal(rapt_model_metadata_count(a), rapt_model_metadata_count(b));
    for (int i = 0; i < rapt_model_metadata_count(a); i++) {
        const rapt_metadata m = rapt_model_metadata_at(a, i), n = rapt_model_metadata_at(b, i);
        assert_string_equal(m.key, n.key);
        assert_string_equal(m.value, n.value);
    }
}

/* Imports under the plan. A successful import must give `right`. */
static rapt_status import(const char *folder, const struct fault_plan *plan,
                          const rapt_model *right)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    int open_files = entries("/proc/self/fd");
    fault_arm(plan);
    rapt_status status = rapt_model_import(&model, folder, NULL, &why);
    fault_disarm();
    injections++;
    assert_int_equal(entries("/proc/self/fd"), open_files);
    assert_int_equal(status == RAPT_OK, model != NULL);
    assert_int_equal(status == RAPT_OK, !why.text[0]);
    if (model) same(model, right);
    rapt_model_free(model);
    return status;
}

static long calls_of(const char *folder, rapt_model **right)
{
    rapt_message why = {""};
    fault_arm(&(struct fault_plan){.mode = FAULT_ONCE, .at = -1});
    if (rapt_model_import(right, folder, NULL, &why)) fail_msg("%s", why.text);
    return fault_disarm();
}

static void test_import(void **state)
{
    (void)state;
    rapt_model *model = make(), *right;
    for (int f = 0; f < FOLDERS; f++) {
        char folder[256];
        mkdir(small_path(folder, projects[f].name), 0700);
        assert_int_equal(rapt_model_export(model, projects[f].format, folder, NULL), RAPT_OK);
        long calls = calls_of(folder, &right), failed = 0;
        assert_true(calls > 10);
        for (long at = 0; at < calls; at++)
            for (int e = 0; e < 2 * COUNT(errors); e++)
                failed += import(folder,
                                 &(struct fault_plan){.mode = e % 2 ? FAULT_FROM : FAULT_ONCE,
                                                      .at = at,
                                                      .error = errors[e / 2]},
                                 right) != RAPT_OK;
        assert_true(failed > calls * COUNT(errors));
        struct fault_plan plan = {.mode = FAULT_INTERRUPT};
        assert_int_equal(import(folder, &plan, right), RAPT_OK);
        for (plan.limit = 1; plan.limit < 3000; plan.limit = plan.limit * 3 + 1) {
            plan.mode = FAULT_SHORT;
            assert_int_equal(import(folder, &plan, right), RAPT_OK);
        }
        rapt_model_free(right);
        remove_folder(folder);
    }
    rapt_model_free(model);
}

static bool count_name(void *user, const char *name)
{
    (void)name;
    ++*(int *)user;
    return true;
}

/* A folder that cannot be read to its end is not taken for a smaller one. */
static void test_listing(void **state)
{
    (void)state;
    char folder[256];
    int count = 0;
    rapt_model *model = make();
    mkdir(small_path(folder, "list"), 0700);
    assert_int_equal(rapt_model_export(model, projects[0].format, folder, NULL), RAPT_OK);
    fault_arm(&(struct fault_plan){.mode = FAULT_ONCE, .at = -1});
    assert_true(rapt__disk_list(folder, count_name, &count));
    const long calls = fault_disarm();
    assert_int_equal(count, entries(folder) - 2);
    assert_true(calls > count);
    for (long at = 0; at < calls; at++) {
        fault_arm(&(struct fault_plan){.mode = FAULT_ONCE, .at = at, .error = EIO});
        assert_false(rapt__disk_list(folder, count_name, &count));
        assert_int_equal(errno, EIO);
        fault_disarm();
    }
    remove_folder(folder);
    rapt_model_free(model);
}

/* The model's file can be opened, but then nothing else in its folder. */
static void test_descriptors(void **state)
{
    (void)state;
    char folder[256];
    rapt_model *model = make(), *none = NULL;
    rapt_message why = {""};
    struct rlimit before, few;
    mkdir(small_path(folder, projects[0].name), 0700);
    assert_int_equal(rapt_model_export(model, projects[0].format, folder, NULL), RAPT_OK);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = dup(0);
    assert_true(next > 0 && close(next) == 0);
    few = (struct rlimit){(rlim_t)next + 1, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    rapt_status status = rapt_model_import(&none, folder, NULL, &why);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(status, RAPT_BAD_FILE);
    assert_non_null(strstr(why.text, "its folder cannot be listed"));
    assert_null(none);
    remove_folder(folder);
    rapt_model_free(model);
}

/* Exports over an existing export, so that every file can be imported at any time. */
static void test_export(void **state)
{
    (void)state;
    rapt_model *model = make(), *right;
    for (int f = 0; f < FOLDERS; f++) {
        char folder[256];
        mkdir(small_path(folder, projects[f].name), 0700);
        fault_arm(&(struct fault_plan){.mode = FAULT_ONCE, .at = -1});
        assert_int_equal(rapt_model_export(model, projects[f].format, folder, NULL), RAPT_OK);
        long calls = fault_disarm();
        int there = entries(folder);
        calls_of(folder, &right);
        for (long at = 0; at < calls; at++) {
            rapt_message why = {""};
            fault_arm(&(struct fault_plan){
                .mode = FAULT_ONCE, .at = at, .error = errors[at % COUNT(errors)]});
            rapt_status status = rapt_model_export(model, projects[f].format, folder, &why);
            fault_disarm();
            injections++;
            assert_int_equal(status == RAPT_OK, !why.text[0]);
            bool removable = strcmp(fault_struck(), "unlink") != 0;
            if (removable) assert_int_equal(entries(folder), there);
            assert_int_equal(import(folder, &(struct fault_plan){.mode = FAULT_NONE}, right),
                             RAPT_OK);
        }
        rapt_model_free(right);
        remove_folder(folder);
    }
    rapt_model_free(model);
    printf("cases: faults/importing: %ld injections\n", injections);
    assert_true(injections > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import), cmocka_unit_test(test_listing),
        cmocka_unit_test(test_descriptors), cmocka_unit_test(test_export)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
