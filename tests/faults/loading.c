/* loading.c - lets file calls fail, be interrupted or be short, and changes the file under the
   reader, while models, translators and checkpoints are loaded. The load must fail and change
   nothing, or succeed completely. */
#define _GNU_SOURCE

#include "kit/things.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int errors[] = {EIO, ENOMEM, EACCES, ENFILE, EBADF, EINVAL};
enum { ERRORS = sizeof errors / sizeof *errors };

static long injections;

/* Checks that the trainer that thing_load loads into is still that of the new version. */
static void check_trainer(void)
{
    rapt_message why = {""};
    if (thing_save(CHECKPOINT, NEW, &why) != RAPT_OK) fail_msg("%s", why.text);
    assert_true(path_has(thing_bytes(CHECKPOINT, NEW)));
}

static void restore_trainer(void)
{
    put(thing_bytes(CHECKPOINT, NEW));
    assert_int_equal(thing_load(CHECKPOINT, NULL), RAPT_OK);
}

/* Loads the old version under the plan. */
static rapt_status inject(const struct fault_plan *plan, enum thing thing)
{
    rapt_message why = {""};
    put(thing_bytes(thing, OLD));
    int open_files = entries("/proc/self/fd");
    fault_arm(plan);
    rapt_status status = thing_load(thing, &why);
    fault_disarm();
    injections++;
    assert_int_equal(fault_inherited(), 0);
    assert_int_equal(entries("/proc/self/fd"), open_files);
    if (status == RAPT_OK)
        assert_int_equal(*why.text, 0);
    else
        assert_non_null(strstr(why.text, "/m"));
    if (thing == CHECKPOINT && status == RAPT_OK) restore_trainer();
    if (thing == CHECKPOINT) check_trainer();
    return status;
}

static void test_each_call(void **state)
{
    (void)state;
    for (enum thing t = MODEL; t < BYTES; t++) {
        put(thing_bytes(t, OLD));
        fault_arm(&(struct fault_plan){.mode = FAULT_ONCE, .at = -1});
        assert_int_equal(thing_load(t, NULL), RAPT_OK);
        long calls = fault_disarm();
        assert_true(calls > 20);
        if (t == CHECKPOINT) restore_trainer();
        for (long at = 0; at < calls; at++)
            for (int e = 0; e < ERRORS; e++)
                for (int from = 0; from < 2; from++) {
                    rapt_status status = inject(
                        &(struct fault_plan){
                            .mode = from ? FAULT_FROM : FAULT_ONCE, .at = at, .error = errors[e]},
                        t);
                    bool harmless = strcmp(fault_struck(), "close") == 0;
                    if (from == 0 || !harmless)
                        assert_int_equal(status, harmless ? RAPT_OK : RAPT_NO_FILE);
                }
    }
}

/* Loads a packed model. If its file cannot be mapped, it is read. */
static rapt_status load_packed(const struct fault_plan *plan)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    int open_files = entries("/proc/self/fd");
    fault_arm(plan);
    rapt_status status = rapt_model_load(&model, path, NULL, &why);
    fault_disarm();
    injections++;
    assert_int_equal(fault_inherited(), 0);
    assert_int_equal(entries("/proc/self/fd"), open_files);
    assert_true((status == RAPT_OK) == (model != NULL));
    if (status) assert_non_null(strstr(why.text, "/m"));
    if (!status) assert_int_equal(rapt_model_check(model, NULL), RAPT_OK);
    rapt_model_free(model);
    return status;
}

static void test_packed(void **state)
{
    (void)state;
    const rapt_save_options packed = {.size = sizeof packed, .packed = 1};
    rapt_model *model = NULL;
    bool mapped = false;
    put(thing_bytes(MODEL, OLD));
    assert_int_equal(rapt_model_load(&model, path, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_model_save_with(model, path, &packed, NULL, 0, NULL), RAPT_OK);
    rapt_model_free(model);
    fault_arm(&(struct fault_plan){.mode = FAULT_ONCE, .at = -1});
    assert_int_equal(rapt_model_load(&model, path, NULL, NULL), RAPT_OK);
    long calls = fault_disarm();
    rapt_model_free(model);
    assert_true(calls >= 4);
    for (long at = 0; at < calls; at++)
        for (int e = 0; e < ERRORS; e++) {
            const struct fault_plan plan = {.mode = FAULT_ONCE, .at = at, .error = errors[e]};
            rapt_status status = load_packed(&plan);
            bool maps = strcmp(fault_struck(), "mmap") == 0;
            bool harmless = maps || strcmp(fault_struck(), "close") == 0;
            assert_int_equal(status, harmless ? RAPT_OK : RAPT_NO_FILE);
            mapped |= maps;
        }
    assert_true(mapped);
    assert_int_equal(load_packed(&(struct fault_plan){.mode = FAULT_INTERRUPT}), RAPT_OK);
}

static void test_interrupted_and_short(void **state)
{
    (void)state;
    for (enum thing t = MODEL; t < BYTES; t++) {
        assert_int_equal(inject(&(struct fault_plan){.mode = FAULT_INTERRUPT}, t), RAPT_OK);
        for (size_t limit = 1; limit < 5000; limit = limit * 3 + 1) {
            struct fault_plan plan = {.mode = FAULT_SHORT, .limit = limit};
            assert_int_equal(inject(&plan, t), RAPT_OK);
            plan.mode = FAULT_INTERRUPT;
            assert_int_equal(inject(&plan, t), RAPT_OK);
        }
    }
}

/* ---- the file changes after a read ---- */

static long reads, change_at;
static int change;

static void change_file(const char *call, int file, const char *name, const char *new_name,
                        const void *data, size_t size)
{
    static const char noise[300] = "\x01noise";
    (void)file, (void)name, (void)new_name, (void)data, (void)size;
    if (strcmp(call, "read") != 0 || reads++ != change_at) return;
    FILE *opened = fopen(path, change == 3 ? "ab" : "r+b");
    assert_non_null(opened);
    assert_int_equal(setvbuf(opened, NULL, _IONBF, 0), 0);
    if (change < 2) assert_int_equal(ftruncate(fileno(opened), change ? 5000 : 0), 0);
    if (change >= 2) assert_int_equal(fwrite(noise, 1, sizeof noise, opened), sizeof noise);
    fclose(opened);
}

/* The file is emptied, shortened, overwritten or extended: the load must fail or give all of it. (A
   checkpoint is opened twice.) */
static void test_changes(void **state)
{
    (void)state;
    long failed = 0, loaded = 0;
    for (enum thing t = MODEL; t < BYTES; t++)
        for (change = 0; change < 4; change++)
            for (change_at = 0; change_at < 30; change_at++) {
                struct fault_plan plan = {.mode = FAULT_ONCE, .at = -1, .tell = change_file};
                reads = 0;
                rapt_status status = inject(&plan, t);
                assert_true(status == RAPT_OK || status == RAPT_BAD_FILE);
                if (change == 3 && t == MODEL) assert_int_equal(status, RAPT_OK);
                failed += status != RAPT_OK;
                loaded += status == RAPT_OK;
            }
    assert_true(failed > 60 && loaded > 30);
}

static void test_enough(void **state)
{
    (void)state;
    print_message("%ld injections while loading\n", injections);
    assert_true(injections > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_call),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_interrupted_and_short),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_enough),
    };
    return cmocka_run_group_tests(tests, things_create, things_free);
}
