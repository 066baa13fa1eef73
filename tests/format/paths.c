/* paths.c - saving to full disks, to folders without permission, from several processes at once,
   and to paths that are links or not regular files. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "saving.h"
#include "skips.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

static void save_often(long index)
{
    for (int i = 0; i < 40; i++)
        if (save(path, (size_t)index, NULL) != RAPT_OK || saved(path) < 0) _exit(1);
}

/* Many at once: the last one wins, every moment shows a whole file. */
static void test_together(void **state)
{
    (void)state;
    enum { MANY = 6 };
    pid_t children[MANY];
    clear_folder();
    for (long i = 0; i < MANY; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            save_often(i);
            _exit(0);
        }
    }
    for (int i = 0; i < MANY; i++) {
        int result = -1;
        assert_int_equal(waitpid(children[i], &result, 0), children[i]);
        assert_int_equal(result, 0);
    }
    assert_in_range(saved(path), 0, MANY - 1);
    assert_int_equal(entries(folder), 3);
}

static void save_limited(long unused)
{
    (void)unused;
    const struct rlimit limit = {100000, 100000};
    rapt_message why = {""};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(77);
    if (save(path, 2, &why) != RAPT_NO_FILE || !strstr(why.text, strerror(EFBIG))) _exit(1);
}

static void test_limit(void **state)
{
    (void)state;
    clear_folder();
    assert_int_equal(save(path, 1, NULL), RAPT_OK);
    assert_int_equal(run(save_limited, 0), 0);
    assert_int_equal(saved(path), 1);
    assert_int_equal(entries(folder), 3);
}

/* A disk of 600 KB holds the first file, but not the temporary one of the second as well. */
static void save_on_small_disk(long unused)
{
    (void)unused;
    rapt_message why = {""};
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", folder, "tmpfs", 0, "size=600k") != 0)
        _exit(77);
    if (save(path, 1, NULL) != RAPT_OK) _exit(1);
    if (save(path, 2, &why) != RAPT_NO_FILE || !strstr(why.text, strerror(ENOSPC))) _exit(2);
    if (saved(path) != 1 || entries(folder) != 3) _exit(3);
}

static void test_full(void **state)
{
    (void)state;
    clear_folder();
    int result = run(save_on_small_disk, 0);
    if (result == 77) {
        skipped("format/paths, a full disk", "mounting one is not permitted");
        skip();
    }
    assert_int_equal(result, 0);
}

static void save_as_nobody(long unused)
{
    (void)unused;
    rapt_message why = {""};
    if (geteuid() == 0 && seteuid(65534) != 0) _exit(77);
    if (save(path, 2, &why) != RAPT_NO_FILE || !strstr(why.text, strerror(EACCES))) _exit(1);
}

static void test_read_only_folder(void **state)
{
    (void)state;
    clear_folder();
    assert_int_equal(save(path, 1, NULL), RAPT_OK);
    assert_int_equal(chmod(folder, 0555), 0);
    int result = run(save_as_nobody, 0);
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(result, 0);
    assert_int_equal(saved(path), 1);
    assert_int_equal(entries(folder), 3);
}

static void refuse(const char *where, bool reading, const char *reason)
{
    rapt_message why = {""};
    struct tensor_file *file = NULL;
    rapt_status status =
        reading ? rapt__tensors_open(&file, where, NULL, &why) : save(where, 1, &why);
    if (status != RAPT_NO_FILE || !strstr(why.text, reason))
        fail_msg("%s: status %d, %s", where, status, why.text);
    assert_null(file);
}

static void test_paths(void **state)
{
    (void)state;
    static char lengthy[6000], name[400];
    char inside[128], loop[128];
    struct stat about;
    clear_folder();
    for (size_t i = 0; i < sizeof lengthy - 1; i++) lengthy[i] = i % 2 ? '/' : 'a';
    snprintf(name, sizeof name, "%s/", folder);
    memset(name + strlen(name), 'n', 300);
    snprintf(loop, sizeof loop, "%s/loop", folder);
    assert_int_equal(symlink(loop, loop), 0);
    snprintf(inside, sizeof inside, "%s/pipe", folder);
    assert_int_equal(mkfifo(inside, 0600), 0);
    for (int reading = 0; reading < 2; reading++) {
        refuse(folder, reading, "is a folder");
        refuse(inside, reading, "is a pipe");
        refuse("/dev/null", reading, "is a device");
        refuse("/dev/full", reading, "is a device");
        refuse("/dev/zero", reading, "is a device");
        refuse("/", reading, reading ? "is a folder" : strerror(EISDIR));
        refuse(".", reading, reading ? "is a folder" : strerror(EISDIR));
        refuse("", reading, strerror(ENOENT));
        refuse(loop, reading, strerror(ELOOP));
        refuse(lengthy, reading, strerror(ENAMETOOLONG));
        refuse(name, reading, strerror(ENAMETOOLONG));
        refuse("/nowhere/at\nall/m", reading, "/nowhere/at?all/m: ");
    }
    refuse("/tmp/", false, strerror(EISDIR));
    refuse("/dev/null/m", false, strerror(ENOTDIR));
    assert_int_equal(entries(folder), 4);
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
}

static int permissions(const char *of)
{
    struct stat about;
    assert_int_equal(lstat(of, &about), 0);
    return S_ISREG(about.st_mode) ? (int)(about.st_mode & 07777) : -1;
}

/* Links are followed, also to what is not there yet; permissions stay. */
static void test_links(void **state)
{
    (void)state;
    char one[128], two[128], here[4096];
    clear_folder();
    snprintf(one, sizeof one, "%s/one", folder);
    snprintf(two, sizeof two, "%s/two", folder);
    assert_int_equal(symlink("m.safetensors", one), 0); /* relative to the link's folder */
    assert_int_equal(symlink(one, two), 0);
    mode_t mask = umask(027);
    assert_int_equal(save(two, 1, NULL), RAPT_OK);
    umask(mask);
    assert_int_equal(permissions(path), 0640);
    assert_true(permissions(one) == -1 && permissions(two) == -1);
    assert_int_equal(chmod(path, 0604), 0);
    assert_int_equal(save(one, 2, NULL), RAPT_OK);
    assert_int_equal(permissions(path), 0604);
    assert_true(permissions(one) == -1 && saved(path) == 2 && saved(two) == 2);
    assert_int_equal(entries(folder), 5);

    assert_non_null(getcwd(here, sizeof here)); /* a name without a folder */
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(save("m.safetensors", 3, NULL), RAPT_OK);
    assert_int_equal(save("./x", 4, NULL), RAPT_OK);
    assert_true(saved("m.safetensors") == 3 && saved("x") == 4);
    assert_int_equal(chdir(here), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_together), cmocka_unit_test(test_limit),
        cmocka_unit_test(test_full),     cmocka_unit_test(test_read_only_folder),
        cmocka_unit_test(test_paths),    cmocka_unit_test(test_links),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
