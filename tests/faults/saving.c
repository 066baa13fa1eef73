/* saving.c - lets file calls fail while models, checkpoints and plain bytes are saved: one, two, or
   all from one on. Calls are also interrupted or short. A failing save must leave the old file, bit
   by bit, with nothing beside it. A successful one must leave the new file. */
#define _GNU_SOURCE
#include "kit/things.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const int errors[] = {EIO, ENOSPC, EDQUOT, EFBIG, EROFS, EACCES, ENOMEM};
enum { ERRORS = sizeof errors / sizeof *errors };

static long injections;

static long calls_of(enum thing thing)
{
    put(thing_bytes(thing, OLD));
    fault_arm(&(struct fault_plan){.mode = FAULT_ONCE, .at = -1});
    assert_int_equal(thing_save(thing, NEW, NULL), RAPT_OK);
    long calls = fault_disarm();
    assert_true(calls > 12);
    return calls;
}

/* Tells whether a file cannot be replaced safely if this call fails. */
static bool needed(const char *call)
{
    static const char *const names[] = {"create", "write", "fsync", "rename", "fchmod"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(call, names[i]) == 0) return true;
    return false;
}

static void check_failed(const struct fault_plan *plan, const rapt_message *why, enum thing thing)
{
    bool late = strstr(why->text, "was written, but") != NULL;
    assert_true(path_has(thing_bytes(thing, late ? NEW : OLD)));
    assert_non_null(strstr(why->text, "/m"));
    if (plan->mode == FAULT_ONCE) assert_non_null(strstr(why->text, strerror(plan->error)));
}

/* Saves the new version over the old one under the plan and checks the outcome. */
static rapt_status inject(const struct fault_plan *plan, enum thing thing)
{
    rapt_message why = {""};
    clear_folder();
    put(thing_bytes(thing, OLD));
    int open_files = entries("/proc/self/fd");
    fault_arm(plan);
    errno = 77;
    rapt_status status = thing_save(thing, NEW, &why);
    if (status == RAPT_OK) assert_int_equal(errno, 77);
    fault_disarm();
    const char *struck = fault_struck();
    injections++;
    assert_int_equal(fault_inherited(), 0);
    assert_int_equal(entries("/proc/self/fd"), open_files);
    assert_true(status == RAPT_OK || status == RAPT_NO_FILE);
    if (status != RAPT_OK)
        check_failed(plan, &why, thing);
    else
        assert_true(path_has(thing_bytes(thing, NEW)) && *why.text == 0);
    /* A temporary file may stay only if its removal failed, too. The next save must remove it. */
    bool removable = plan->mode != FAULT_FROM && !(struck && strcmp(struck, "unlink") == 0);
    if (removable) assert_int_equal(entries(folder), 1);
    if (entries(folder) > 1) {
        assert_int_equal(thing_save(thing, NEW, NULL), RAPT_OK);
        assert_int_equal(entries(folder), 1);
    }
    return status;
}

static void test_each_call(void **state)
{
    (void)state;
    for (enum thing t = MODEL; t < THINGS; t++) {
        long calls = calls_of(t), failed = 0, closes = 0;
        for (long at = 0; at < calls; at++)
            for (int e = 0; e < ERRORS; e++) {
                struct fault_plan plan = {.mode = FAULT_ONCE, .at = at, .error = errors[e]};
                rapt_status once = inject(&plan, t);
                const char *struck = fault_struck();
                assert_non_null(struck);
                if (at == 0 || needed(struck)) assert_int_equal(once, RAPT_NO_FILE);
                failed += once != RAPT_OK;
                closes += once != RAPT_OK && strcmp(struck, "close") == 0;
                plan.mode = FAULT_FROM;
                inject(&plan, t);
            }
        assert_true(failed > calls);      /* most calls matter */
        assert_int_equal(closes, ERRORS); /* of the file that was written */
    }
}

/* A second call fails, while the first failure is handled or later. */
static void test_two_calls(void **state)
{
    (void)state;
    for (enum thing t = MODEL; t < THINGS; t++) {
        long calls = calls_of(t);
        for (long at = 0; at < calls; at++)
            for (long second = at + 1; second < at + 12; second++)
                inject(&(struct fault_plan){.mode = FAULT_TWICE,
                                            .at = at,
                                            .second = second,
                                            .error = errors[(at + second) % ERRORS]},
                       t);
    }
}

/* Interrupted and short calls must be continued. */
static void test_interrupted_and_short(void **state)
{
    (void)state;
    for (enum thing t = MODEL; t < THINGS; t++) {
        assert_int_equal(inject(&(struct fault_plan){.mode = FAULT_INTERRUPT}, t), RAPT_OK);
        for (size_t limit = 1; limit < 5000; limit = limit * 3 + 1) {
            struct fault_plan plan = {.mode = FAULT_SHORT, .limit = limit};
            assert_int_equal(inject(&plan, t), RAPT_OK);
            plan.mode = FAULT_INTERRUPT; /* and short */
            assert_int_equal(inject(&plan, t), RAPT_OK);
        }
    }
}

/* A folder that does not support fsync is not an error. */
static void test_no_folder_sync(void **state)
{
    (void)state;
    for (enum thing t = MODEL; t < THINGS; t++) {
        struct fault_plan plan = {.mode = FAULT_ONCE, .at = calls_of(t) - 2, .error = EINVAL};
        assert_int_equal(inject(&plan, t), RAPT_OK);
        assert_string_equal(fault_struck(), "fsync");
        plan.error = EIO;
        assert_int_equal(inject(&plan, t), RAPT_NO_FILE);
    }
}

static int created; /* permissions of the file that a save created last */

static void note_created(const char *call, int file, const char *name, const char *new_name,
                         const void *data, size_t size)
{
    struct stat about;
    (void)name, (void)new_name, (void)data, (void)size;
    if (strcmp(call, "create") != 0) return;
    created = fstat(file, &about) == 0 ? (int)(about.st_mode & 0777) : -1;
}

/* While a private file is written, nobody else may be able to open it. */
static void test_permissions(void **state)
{
    (void)state;
    static const int modes[] = {0600, 0640, 0644, 0400};
    const struct fault_plan plan = {.mode = FAULT_ONCE, .at = -1, .tell = note_created};
    for (enum thing t = MODEL; t < THINGS; t++)
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
            struct stat about;
            clear_folder();
            put(thing_bytes(t, OLD));
            assert_int_equal(chmod(path, (mode_t)modes[i]), 0);
            created = -1;
            fault_arm(&plan);
            assert_int_equal(thing_save(t, NEW, NULL), RAPT_OK);
            fault_disarm();
            assert_int_equal(created, 0600);
            assert_int_equal(stat(path, &about), 0);
            assert_int_equal(about.st_mode & 0777, modes[i]);
        }
}

static void test_enough(void **state)
{
    (void)state;
    print_message("%ld injections while saving\n", injections);
    assert_true(injections > 2000);
}

/* ---- the same while the library checks whether a file could be written: the file must stay, and a
   refusal by the disk must be reported ---- */

static const int check_errors[] = {EIO, ENOSPC, EDQUOT, EROFS, EACCES, EOPNOTSUPP};
enum { CHECK_ERRORS = sizeof check_errors / sizeof *check_errors };

static rapt_status inject_check(const struct fault_plan *plan, rapt_message *why)
{
    int open_files = entries("/proc/self/fd");
    fault_arm(plan);
    errno = 77;
    rapt_status status = rapt_file_check(path, 1000, 50000, why);
    if (status == RAPT_OK) assert_true(errno == 77 && *why->text == 0);
    fault_disarm();
    assert_int_equal(fault_inherited(), 0);
    assert_int_equal(entries("/proc/self/fd"), open_files);
    assert_true(path_has(thing_bytes(BYTES, OLD)));
    return status;
}

static void test_check(void **state)
{
    (void)state;
    long calls = 1000, failed = 0, refused = 0;
    clear_folder();
    put(thing_bytes(BYTES, OLD));
    for (long at = 0; at < calls; at++)
        for (int e = 0; e < CHECK_ERRORS; e++) {
            rapt_message why = {""};
            rapt_status status = inject_check(
                &(struct fault_plan){.mode = FAULT_ONCE, .at = at, .error = check_errors[e]}, &why);
            const char *struck = fault_struck();
            if (!struck) {
                calls = at;
                break;
            }
            failed += status != RAPT_OK;
            if (status != RAPT_OK) assert_non_null(strstr(why.text, strerror(check_errors[e])));
            if (strcmp(struck, "fallocate") == 0) {
                assert_int_equal(status != RAPT_OK, check_errors[e] != EOPNOTSUPP);
                refused++;
            }
            /* The next call removes a file whose removal failed. */
            if (strcmp(struck, "unlink") != 0) assert_int_equal(entries(folder), 1);
        }
    assert_true(calls > 8 && failed > 4 * CHECK_ERRORS && refused == CHECK_ERRORS);
    rapt_message why = {""};
    assert_int_equal(inject_check(&(struct fault_plan){.mode = FAULT_INTERRUPT}, &why), RAPT_OK);
    assert_int_equal(entries(folder), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_call),
                                       cmocka_unit_test(test_two_calls),
                                       cmocka_unit_test(test_interrupted_and_short),
                                       cmocka_unit_test(test_no_folder_sync),
                                       cmocka_unit_test(test_permissions),
                                       cmocka_unit_test(test_enough),
                                       cmocka_unit_test(test_check)};
    return cmocka_run_group_tests(tests, things_create, things_free);
}
