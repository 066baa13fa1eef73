/* checking.c - lets each file call fail while the library checks whether a file could be written.
   The file must stay, nothing may be left beside it, and a refusal by the disk must be reported. */
#define _GNU_SOURCE

#include "kit/things.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int errors[] = {EIO, ENOSPC, EDQUOT, EROFS, EACCES, EOPNOTSUPP};
enum { ERRORS = sizeof errors / sizeof *errors };

static rapt_status inject(const struct fault_plan *plan, rapt_message *why)
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

static void test_each_call(void **state)
{
    (void)state;
    long calls = 1000, failed = 0, refused = 0;
    put(thing_bytes(BYTES, OLD));
    for (long at = 0; at < calls; at++)
        for (int e = 0; e < ERRORS; e++) {
            rapt_message why = {""};
            rapt_status status = inject(
                &(struct fault_plan){.mode = FAULT_ONCE, .at = at, .error = errors[e]}, &why);
            const char *struck = fault_struck();
            if (!struck) {
                calls = at;
                break;
            }
            failed += status != RAPT_OK;
            if (status != RAPT_OK) assert_non_null(strstr(why.text, strerror(errors[e])));
            if (strcmp(struck, "fallocate") == 0) {
                assert_int_equal(status != RAPT_OK, errors[e] != EOPNOTSUPP);
                refused++;
            }
            /* The next call removes a file whose removal failed. */
            if (strcmp(struck, "unlink") != 0) assert_int_equal(entries(folder), 1);
        }
    assert_true(calls > 8 && failed > 4 * ERRORS && refused == ERRORS);
    rapt_message why = {""};
    assert_int_equal(inject(&(struct fault_plan){.mode = FAULT_INTERRUPT}, &why), RAPT_OK);
    assert_int_equal(entries(folder), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_call)};
    return cmocka_run_group_tests(tests, things_create, things_free);
}
