/* disk.c - each system call of reading and writing in turn fails, is interrupted, is short, or is
   the last one before the process is killed.

   The calls below stand in for the C library's: the linker finds the program's own first. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "saving.h"

#include <errno.h>
#include <sys/syscall.h>

/* ---- faults ---- */

enum mode { NONE, ONCE, FROM, INTERRUPT, SHORT, DIE };
static struct {
    enum mode mode;
    long at, calls; /* the call that fails; calls so far */
    int error;
    bool interrupted;
} fault;

static void arm(enum mode mode, long at, int error)
{
    fault.mode = mode;
    fault.at = at;
    fault.calls = 0;
    fault.error = error;
    fault.interrupted = false;
}

static long disarm(void)
{
    fault.mode = NONE;
    return fault.calls;
}

/* Is this call to fail? */
static bool struck(void)
{
    if (fault.mode == NONE) return false;
    long call = fault.calls++;
    if (fault.mode == DIE && call == fault.at) _exit(99);
    if (fault.mode == INTERRUPT) {
        fault.interrupted = !fault.interrupted;
        errno = EINTR;
        return fault.interrupted;
    }
    errno = fault.error;
    return (fault.mode == ONCE && call == fault.at) || (fault.mode == FROM && call >= fault.at);
}

static size_t shortened(size_t count)
{
    return fault.mode == SHORT && count > 1 ? 1 + count / 3 : count;
}

int open(const char *name, int flags, ...)
{
    return struck() ? -1 : (int)syscall(SYS_openat, AT_FDCWD, name, flags, 0);
}

int openat(int base, const char *name, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    unsigned permissions = flags & O_CREAT ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    return struck() ? -1 : (int)syscall(SYS_openat, base, name, flags, permissions);
}

ssize_t pread(int file, void *data, size_t count, off_t at)
{
    return struck() ? -1 : syscall(SYS_pread64, file, data, shortened(count), at);
}

ssize_t write(int file, const void *data, size_t count)
{
    return struck() ? -1 : syscall(SYS_write, file, data, shortened(count));
}

int fsync(int file)
{
    return struck() ? -1 : (int)syscall(SYS_fsync, file);
}

int fchmod(int file, mode_t permissions)
{
    if (fault.mode == INTERRUPT) return (int)syscall(SYS_fchmod, file, permissions);
    return struck() ? -1 : (int)syscall(SYS_fchmod, file, permissions);
}

int renameat(int from, const char *old, int to, const char *new)
{
    if (fault.mode == INTERRUPT) return (int)syscall(SYS_renameat, from, old, to, new);
    return struck() ? -1 : (int)syscall(SYS_renameat, from, old, to, new);
}

int close(int file) /* whatever it says, the file is closed */
{
    bool fails = struck();
    int error = errno, result = (int)syscall(SYS_close, file);
    if (!fails) return result;
    errno = error;
    return -1;
}

/* ---- reading ---- */

static void test_read_faults(void **state)
{
    (void)state;
    static const int errors[] = {EIO, ENOMEM, EACCES, ENFILE};
    clear_folder();
    assert_int_equal(save(path, 5, NULL), RAPT_OK);
    arm(ONCE, -1, 0);
    assert_int_equal(saved(path), 5);
    long calls = disarm();
    assert_true(calls > 20);
    int open_files = entries("/proc/self/fd");
    for (long at = 0; at < calls - 1; at++) /* the last one is close */
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
            arm(i % 2 ? FROM : ONCE, at, errors[i]);
            assert_int_equal(saved(path), -1);
            disarm();
            assert_int_equal(entries("/proc/self/fd"), open_files);
        }
    arm(INTERRUPT, 0, 0);
    assert_int_equal(saved(path), 5);
    arm(SHORT, 0, 0);
    assert_int_equal(saved(path), 5);
    disarm();
    arm(ONCE, 0, EACCES);
    rapt_message why = {""};
    struct tensor_file *file = NULL;
    assert_int_equal(rapt__tensors_open(&file, path, NULL, &why), RAPT_NO_FILE);
    disarm();
    assert_non_null(strstr(why.text, path));
    assert_non_null(strstr(why.text, strerror(EACCES)));
}

/* ---- writing ---- */

/* After a failed save: the old file, nothing beside it, no file open. */
static void check_untouched(const rapt_message *why, int open_files)
{
    assert_non_null(strstr(why->text, "m.safetensors: "));
    if (strstr(why->text, "is written, but"))
        assert_int_equal(saved(path), 2);
    else
        assert_int_equal(saved(path), 1);
    assert_int_equal(entries(folder), 3);
    assert_int_equal(entries("/proc/self/fd"), open_files);
}

static void test_write_faults(void **state)
{
    (void)state;
    static const int errors[] = {EIO, ENOSPC, EFBIG, EDQUOT, EROFS};
    clear_folder();
    assert_int_equal(save(path, 1, NULL), RAPT_OK);
    arm(ONCE, -1, 0);
    assert_int_equal(save(path, 1, NULL), RAPT_OK);
    long calls = disarm();
    assert_true(calls > 8);
    int open_files = entries("/proc/self/fd"), after = 0;
    for (long at = 0; at < calls - 1; at++) /* the last one closes the folder */
        for (size_t i = 0; i < 2 * sizeof errors / sizeof *errors; i++) {
            rapt_message why = {""};
            assert_int_equal(save(path, 1, NULL), RAPT_OK);
            arm(i % 2 ? FROM : ONCE, at, errors[i / 2]);
            assert_int_equal(save(path, 2, &why), RAPT_NO_FILE);
            disarm();
            assert_non_null(strstr(why.text, strerror(errors[i / 2])));
            check_untouched(&why, open_files);
            after += strstr(why.text, "is written, but") != NULL;
        }
    assert_int_equal(after, 10); /* one call: the last fsync */
    arm(INTERRUPT, 0, 0);
    assert_int_equal(save(path, 3, NULL), RAPT_OK);
    disarm();
    assert_int_equal(saved(path), 3);
    arm(SHORT, 0, 0);
    assert_int_equal(save(path, 4, NULL), RAPT_OK);
    disarm();
    assert_int_equal(saved(path), 4);
    assert_int_equal(entries(folder), 3);
}

/* A folder that cannot be synced at all is no failure. */
static void test_no_folder_sync(void **state)
{
    (void)state;
    clear_folder();
    assert_int_equal(save(path, 0, NULL), RAPT_OK);
    arm(ONCE, -1, 0);
    assert_int_equal(save(path, 1, NULL), RAPT_OK);
    long calls = disarm();
    arm(ONCE, calls - 2, EINVAL);
    assert_int_equal(save(path, 2, NULL), RAPT_OK);
    disarm();
    assert_int_equal(saved(path), 2);
}

static void save_and_die(long at)
{
    arm(DIE, at, 0);
    if (save(path, 2, NULL) != RAPT_OK) _exit(1);
}

/* Killed before any of its calls: the old file or the new one, whole. */
static void test_killed(void **state)
{
    (void)state;
    int old = 0, new = 0, result = 99;
    for (long at = 0; result == 99; at++) {
        clear_folder();
        assert_int_equal(save(path, 1, NULL), RAPT_OK);
        result = run(save_and_die, at);
        long found = saved(path);
        assert_true(found == 1 || found == 2);
        old += found == 1;
        new += found == 2;
    }
    assert_int_equal(result, 0);
    assert_true(old > 8 && new >= 2);
    assert_int_equal(save(path, 3, NULL), RAPT_OK); /* what the dead left is in nobody's way */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_faults),
        cmocka_unit_test(test_write_faults),
        cmocka_unit_test(test_no_folder_sync),
        cmocka_unit_test(test_killed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
