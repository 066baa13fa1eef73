/* paths.c - tests saving, and checking whether saving is possible, on full disks, in folders
   without permission, and at paths that are links or not regular files. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include "craft.h"
#include "skips.h"
#include "temporary.h"

#include <rapt/file.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- saving: makes a temporary folder, saves a model file that contains a number, and reads the
   number back. ---- */

enum { LENGTH = 100000, PATH = TEMPORARY + 64 }; /* two chunks; bytes of a path */
static char folder[TEMPORARY], path[PATH];

static int make_folder(void **state)
{
    (void)state;
    if (!temporary_folder(folder)) return -1;
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    return 0;
}

static void clear_folder(void)
{
    DIR *list = opendir(folder);
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list));)
        unlinkat(dirfd(list), entry->d_name, entry->d_type == DT_DIR ? AT_REMOVEDIR : 0);
    closedir(list);
}

static int remove_folder(void **state)
{
    (void)state;
    clear_folder();
    return rmdir(folder);
}

static void fill(const struct tensor_source *source, size_t first, size_t count, float *data)
{
    for (size_t i = 0; i < count; i++) data[i] = (float)(source->index + first + i);
}

static rapt_status save(const char *to, size_t index, rapt_message *why)
{
    const struct tensor_source source = {"t", 1, {LENGTH}, fill, NULL, index, 0, NULL};
    return rapt__tensors_write(to, &source, 1, NULL, 0, NULL, why);
}

/* Returns the number in the file at `from`; -1: the file is incomplete. */
static long saved(const char *from)
{
    static float data[LENGTH];
    struct tensor_file *file = NULL;
    if (rapt__tensors_open(&file, from, NULL, NULL) != RAPT_OK) return -1;
    const struct tensor_entry *e = rapt__tensors_find(file, "t");
    rapt_status status = rapt__tensors_read(file, e, 0, LENGTH, data, NULL);
    rapt__tensors_close(file);
    for (size_t i = 0; i < LENGTH; i++)
        if (status != RAPT_OK || data[i] != data[0] + (float)i) return -1;
    return (long)data[0];
}

static int entries(const char *where)
{
    int count = 0;
    DIR *list = opendir(where);
    assert_non_null(list);
    while (readdir(list)) count++;
    closedir(list);
    return count;
}

/* Runs `work` in a process of its own. Returns its exit code, or minus the signal that ended it. */
static int run(void (*work)(long), long argument)
{
    int result;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        work(argument);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    return WIFEXITED(result) ? WEXITSTATUS(result) : -WTERMSIG(result);
}

static void save_limited(long unused)
{
    (void)unused;
    const struct rlimit limit = {100000, 100000};
    rapt_message why = {""};
    signal(SIGXFSZ, SIG_DFL); /* it would end the process */
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(77);
    if (save(path, 2, &why) != RAPT_NO_FILE || !strstr(why.text, strerror(EFBIG))) _exit(1);
    why.text[0] = 0;
    if (rapt_file_check(path, 100001, 0, &why) != RAPT_NO_FILE) _exit(2);
    if (!strstr(why.text, strerror(EFBIG))) _exit(3);
    if (rapt_file_check(path, 100000, 1000000, &why) != RAPT_OK) _exit(4); /* of several files */
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

/* If a file exceeds the process's limit, the old file remains and no other file is left beside
   it. */
static void test_limited_writers(void **state)
{
    (void)state;
    const struct tensor_source source = {"t", 1, {LENGTH}, fill, NULL, 1, 0, NULL};
    const struct ct2_contents contents = {
        .spec = "TransformerSpec", .sources = &source, .source_count = 1};
    struct rlimit before, small;
    clear_folder();
    assert_int_equal(save(path, 1, NULL), RAPT_OK);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){100000, before.rlim_max};
    for (int writer = 0; writer < 3; writer++) {
        rapt_message why = {""};
        void (*handler)(int) = signal(SIGXFSZ, SIG_DFL);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        rapt_status status =
            writer == 0 ? rapt__marian_write(path, &source, 1, "a: 1\n", MARIAN_FLOAT32, NULL, &why)
            : writer == 1 ? rapt__ct2_write(path, &contents, NULL, &why)
                          : rapt_file_check(path, 100001, 0, &why);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        signal(SIGXFSZ, handler);
        assert_int_equal(status, RAPT_NO_FILE);
        assert_non_null(strstr(why.text, strerror(EFBIG)));
        assert_int_equal(saved(path), 1);
        assert_int_equal(entries(folder), 3);
    }
}

/* A disk of 600 KB can hold the first file, but not the temporary file of the second in
   addition. */
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
    why.text[0] = 0;
    if (rapt_file_check(path, 1, 250000, &why) != RAPT_NO_FILE) _exit(4);
    if (!strstr(why.text, "cannot be written: ") || !strstr(why.text, strerror(ENOSPC))) _exit(5);
    if (rapt_file_check(path, 150000, 0, &why) != RAPT_OK) _exit(6);
    if (saved(path) != 1 || entries(folder) != 3) _exit(7);
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
    if (rapt_file_check(path, 0, 0, &why) != RAPT_NO_FILE) _exit(2);
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

static void refuse_path(const char *where, bool reading, const char *reason)
{
    rapt_message why = {""};
    struct tensor_file *file = NULL;
    rapt_status status =
        reading ? rapt__tensors_open(&file, where, NULL, &why) : save(where, 1, &why);
    if (status != RAPT_NO_FILE || !strstr(why.text, reason))
        fail_msg("%s: status %d, %s", where, status, why.text);
    rapt_message again = {""};
    if (reading) return;
    assert_int_equal(rapt_file_check(where, 0, 0, &again), RAPT_NO_FILE);
    assert_string_equal(again.text, why.text);
    assert_int_equal(rapt_file_write(where, "", 0, &again), RAPT_NO_FILE);
    assert_string_equal(again.text, why.text);
    assert_null(file);
}

static void test_paths(void **state)
{
    (void)state;
    static char lengthy[6000], name[700];
    char inside[PATH], loop[PATH], broken[PATH];
    struct stat about;
    clear_folder();
    for (size_t i = 0; i < sizeof lengthy - 1; i++) lengthy[i] = i % 2 ? '/' : 'a';
    snprintf(name, sizeof name, "%s/", folder);
    memset(name + strlen(name), 'n', 300);
    snprintf(loop, sizeof loop, "%s/loop", folder);
    assert_int_equal(symlink(loop, loop), 0);
    snprintf(broken, sizeof broken, "%s/missing/at\nall/m", folder);
    snprintf(inside, sizeof inside, "%s/pipe", folder);
    assert_int_equal(mkfifo(inside, 0600), 0);
    for (int reading = 0; reading < 2; reading++) {
        refuse_path(folder, reading, "is a folder");
        refuse_path(inside, reading, "is a pipe");
        refuse_path("/dev/null", reading, "is a device");
        refuse_path("/dev/full", reading, "is a device");
        refuse_path("/dev/zero", reading, "is a device");
        refuse_path("/", reading, reading ? "is a folder" : strerror(EISDIR));
        refuse_path(".", reading, reading ? "is a folder" : strerror(EISDIR));
        refuse_path("", reading, strerror(ENOENT));
        refuse_path(loop, reading, strerror(ELOOP));
        refuse_path(lengthy, reading, strerror(ENAMETOOLONG));
        refuse_path(name, reading, strerror(ENAMETOOLONG));
        refuse_path(broken, reading,
                    reading ? "at?all/m cannot be opened: "
                            : "at?all/m is in a folder that cannot be opened: ");
    }
    snprintf(inside, sizeof inside, "%s/", folder);
    refuse_path(inside, false, strerror(EISDIR));
    refuse_path("/dev/null/m", false, strerror(ENOTDIR));
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

/* Links are followed, even if their target does not exist yet; permissions are kept. */
static void test_links(void **state)
{
    (void)state;
    char one[PATH], two[PATH], here[4096];
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

    char dangling[PATH]; /* a link into a folder that does not exist */
    snprintf(dangling, sizeof dangling, "%s/dangling", folder);
    assert_int_equal(symlink("missing/at/all", dangling), 0);
    refuse_path(dangling, false, "is in a folder that cannot be opened");
    assert_int_equal(rapt_file_check(two, 1000, 100000, NULL), RAPT_OK);
    assert_true(saved(path) == 2 && entries(folder) == 6);

    assert_non_null(getcwd(here, sizeof here)); /* a name without a folder */
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(save("m.safetensors", 3, NULL), RAPT_OK);
    assert_int_equal(save("./x", 4, NULL), RAPT_OK);
    assert_true(saved("m.safetensors") == 3 && saved("x") == 4);
    assert_int_equal(chdir(here), 0);
}

/* The bytes are read back as they were written; NULL data is refused and nothing is written. */
static void test_bytes(void **state)
{
    (void)state;
    rapt_message why = {""};
    char found[8] = "";
    clear_folder();
    assert_int_equal(rapt_file_write(path, "abc\0def", 7, &why), RAPT_OK);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(found, 1, sizeof found, file), 7);
    fclose(file);
    assert_memory_equal(found, "abc\0def", 7);
    assert_int_equal(rapt_file_write(path, NULL, 1, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_file_write(NULL, "a", 1, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_file_check(NULL, 0, 0, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_file_write(path, NULL, 0, NULL), RAPT_OK);
    assert_int_equal(rapt_file_check(path, UINT64_MAX, 0, NULL), RAPT_NO_FILE);
    assert_int_equal(rapt_file_check(path, 0, UINT64_MAX, NULL), RAPT_NO_FILE);
    assert_int_equal(entries(folder), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit), cmocka_unit_test(test_limited_writers),
        cmocka_unit_test(test_full),  cmocka_unit_test(test_read_only_folder),
        cmocka_unit_test(test_paths), cmocka_unit_test(test_links),
        cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
