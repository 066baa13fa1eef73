/* killed.c - kills processes (SIGKILL) before each file call of a save and in the middle of each
   write, and while several processes save. Afterwards the file must be the old or the new one, bit
   by bit, and the next save must remove what was left, but no file that is not the library's. */
#define _GNU_SOURCE
#include "kit/things.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long points, left; /* crash points; how many of them left a temporary file */

/* Saves the new version in another process, which is killed before or in its call number `at`.
   Returns false if it made fewer calls. */
static bool kill_at(enum thing thing, long at, size_t limit)
{
    int result;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fault_arm(&(struct fault_plan){.mode = FAULT_KILL, .at = at, .limit = limit});
        _exit(thing_save(thing, NEW, NULL) == RAPT_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFSIGNALED(result) ? WTERMSIG(result) == SIGKILL : WEXITSTATUS(result) == 0);
    return WIFSIGNALED(result);
}

static void kill_everywhere(enum thing thing, size_t limit)
{
    int old = 0, new = 0;
    bool killed = true;
    for (long at = 0; killed; at++) {
        put(thing_bytes(thing, OLD));
        killed = kill_at(thing, at, limit);
        bool is_old = path_has(thing_bytes(thing, OLD));
        assert_true(is_old || path_has(thing_bytes(thing, NEW)));
        old += is_old;
        new += !is_old;
        points += killed;
        int found = entries(folder);
        left += found - 1;
        assert_in_range(found, 1, 2);
        if (found > 1) assert_int_equal(rapt_file_check(path, 0, 0, NULL), RAPT_OK);
        assert_int_equal(entries(folder), 1);
    }
    assert_true(old > 8 && new >= 2);
}

static void test_everywhere(void **state)
{
    (void)state;
    for (enum thing t = MODEL; t < THINGS; t++)
        for (size_t limit = 1 << 20; limit >= 256; limit /= 8) kill_everywhere(t, limit);
    print_message("%ld crash points, %ld of them left a file\n", points, left);
    assert_true(points > 1000 && left > 500);
}

/* ---- which temporary files are removed ---- */

enum { NAME = 600 };

/* Leaves a temporary file of the library in the folder and returns its path in `found`. */
static void leave(char found[NAME])
{
    clear_folder();
    put(thing_bytes(BYTES, OLD));
    assert_true(kill_at(BYTES, 12, 4096));
    DIR *list = opendir(folder);
    assert_non_null(list);
    *found = 0;
    for (struct dirent *entry; (entry = readdir(list));)
        if (strncmp(entry->d_name, ".rapt-", 6) == 0)
            snprintf(found, NAME, "%s/%s", folder, entry->d_name);
    closedir(list);
    assert_int_equal(entries(folder), 2);
    assert_true(*found);
}

static void make_file(const char *file)
{
    FILE *opened = fopen(file, "wx");
    assert_non_null(opened);
    assert_true(fputs("mine", opened) >= 0);
    assert_int_equal(fclose(opened), 0);
}

static void save_once(void)
{
    rapt_message why = {""};
    if (thing_save(BYTES, NEW, &why) != RAPT_OK) fail_msg("%s", why.text);
}

/* Names that only resemble those of temporary files must stay. */
static void test_other_names(void **state)
{
    (void)state;
    static const char *const names[] = {".rapt-.tmp", ".rapt-0123456789abcdef.tmp",
                                        ".rapt-0123456789abcdef0123456789abcdef.tmp",
                                        ".rapt-0123456789abcdeF0123456789abcdef.tmp", "m.probe"};
    char ours[NAME], other[NAME + 8];
    leave(ours);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(other, sizeof other, "%s/%s", folder, names[i]);
        make_file(other);
    }
    snprintf(other, sizeof other, "%s.bak", ours);
    make_file(other);
    assert_int_equal(entries(folder), 8);
    save_once();
    assert_int_equal(entries(folder), 7);
    assert_int_equal(access(ours, F_OK), -1);
}

/* A temporary file that was moved to another folder must stay there. */
static void test_other_folder(void **state)
{
    (void)state;
    char ours[NAME], sub[NAME], moved[NAME + 80], target[NAME + 8];
    leave(ours);
    snprintf(sub, sizeof sub, "%s/sub", folder);
    snprintf(moved, sizeof moved, "%s/%s", sub, strrchr(ours, '/') + 1);
    snprintf(target, sizeof target, "%s/m", sub);
    assert_int_equal(mkdir(sub, 0700), 0);
    assert_int_equal(rename(ours, moved), 0);
    assert_int_equal(rapt_file_write(target, "x", 1, NULL), RAPT_OK);
    assert_int_equal(entries(sub), 2);
    assert_int_equal(unlink(moved), 0);
    assert_int_equal(unlink(target), 0);
    assert_int_equal(rmdir(sub), 0);
}

/* A symbolic link, a folder or a file with two names must stay, even if it is named like a
   temporary file. */
static void test_other_kinds(void **state)
{
    (void)state;
    char ours[NAME], other[NAME];
    leave(ours);
    assert_int_equal(unlink(ours), 0);
    assert_int_equal(symlink("m", ours), 0);
    save_once();
    assert_int_equal(entries(folder), 2);
    assert_int_equal(unlink(ours), 0);
    assert_int_equal(mkdir(ours, 0700), 0);
    save_once();
    assert_int_equal(entries(folder), 2);
    assert_int_equal(rmdir(ours), 0);
    snprintf(other, sizeof other, "%s/kept", folder);
    make_file(other);
    assert_int_equal(link(other, ours), 0);
    save_once();
    assert_int_equal(entries(folder), 3);
}

enum { SKIPPED = 77, STRANGER = 65534 };

static bool on_other_host(void)
{
    return unshare(CLONE_NEWUTS) == 0 && sethostname("another", 7) == 0;
}

static bool as_other_user(void)
{
    return seteuid(STRANGER) == 0;
}

/* Calls become(), then saves, in another process. Returns false if become() is not permitted. */
static bool save_after(bool (*become)(void))
{
    int result;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!become() || eaccess(folder, W_OK) != 0) _exit(SKIPPED);
        _exit(thing_save(BYTES, NEW, NULL) == RAPT_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    if (WEXITSTATUS(result) == SKIPPED) return false;
    assert_int_equal(WEXITSTATUS(result), 0);
    return true;
}

/* In a folder shared between hosts, one cannot see whether the writer on another is alive, so the
   file must stay. */
static void test_other_host(void **state)
{
    (void)state;
    char ours[NAME];
    leave(ours);
    if (!save_after(on_other_host)) {
        printf("skipped: faults/killed, another host: no permission to be one\n");
        return;
    }
    assert_int_equal(access(ours, F_OK), 0);
    save_once();
    assert_int_equal(access(ours, F_OK), -1);
}

/* Another user must not remove the file, even if it has come to belong to that user. */
static void test_other_user(void **state)
{
    (void)state;
    char ours[NAME];
    leave(ours);
    assert_int_equal(chmod(folder, 0777), 0);
    bool saved = chown(ours, STRANGER, (gid_t)-1) == 0 && save_after(as_other_user);
    assert_int_equal(chmod(folder, 0700), 0);
    if (saved)
        assert_int_equal(access(ours, F_OK), 0);
    else
        printf("skipped: faults/killed, another user: no permission to be one\n");
}

/* While another process writes in the folder, nothing may be removed: a file may be about to get
   its final name. */
static void test_other_writer(void **state)
{
    (void)state;
    char ours[NAME];
    leave(ours);
    int writer = open(folder, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(writer, LOCK_SH), 0);
    save_once();
    assert_int_equal(entries(folder), 2);
    assert_int_equal(close(writer), 0);
    save_once();
    assert_int_equal(entries(folder), 1);
}

/* ---- several processes save and load the same path at once, while some are killed: readers must
   always see a whole file, the save of a living process must never fail, and what the killed ones
   leave must be removed ---- */

enum { PROCESSES = 8, DOOMED = 4 }; /* the first DOOMED are killed and restarted */

static int saves = 150; /* per process */

static void save_often(int index)
{
    for (int i = 0; i < saves; i++) {
        enum version version = (index + i) % 2 ? NEW : OLD;
        rapt_message why = {""};
        if (thing_save(BYTES, version, &why) != RAPT_OK) {
            fprintf(stderr, "%s\n", why.text);
            _exit(1);
        }
        struct bytes found = bytes_of(path);
        bool old = found.size == thing_bytes(BYTES, OLD)->size;
        const struct bytes *whole = thing_bytes(BYTES, old ? OLD : NEW);
        if (found.size != whole->size || memcmp(found.data, whole->data, whole->size) != 0)
            _exit(2);
        free(found.data);
    }
    _exit(0);
}

static pid_t start(int index)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) save_often(index);
    return child;
}

/* Kills the doomed processes again and again until the others have finished. */
static void test_together(void **state)
{
    (void)state;
    pid_t children[PROCESSES];
    int living = PROCESSES - DOOMED;
    long killed = 0;
    const struct timespec moment = {.tv_nsec = 100000};
    clear_folder();
    put(thing_bytes(BYTES, OLD));
    for (int i = 0; i < PROCESSES; i++) children[i] = start(i);
    while (living > 0) {
        for (int i = 0; i < PROCESSES; i++) {
            int result = 0;
            nanosleep(&moment, NULL);
            if (i < DOOMED) kill(children[i], SIGKILL);
            if (children[i] == 0 || waitpid(children[i], &result, i < DOOMED ? 0 : WNOHANG) == 0)
                continue;
            if (i >= DOOMED || WIFEXITED(result)) assert_int_equal(result, 0);
            killed += WIFSIGNALED(result);
            children[i] = i < DOOMED ? start(i) : 0;
            living -= i >= DOOMED;
        }
    }
    for (int i = 0; i < DOOMED; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    print_message("%d saves by living processes, %ld processes killed\n",
                  (PROCESSES - DOOMED) * saves, killed);
    assert_true(killed > 0);
    assert_int_equal(thing_save(BYTES, NEW, NULL), RAPT_OK);
    assert_true(path_has(thing_bytes(BYTES, NEW)));
    assert_int_equal(entries(folder), 1);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "all") == 0) saves = 1000;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everywhere),   cmocka_unit_test(test_other_names),
        cmocka_unit_test(test_other_folder), cmocka_unit_test(test_other_kinds),
        cmocka_unit_test(test_other_writer), cmocka_unit_test(test_other_host),
        cmocka_unit_test(test_other_user),   cmocka_unit_test(test_together)};
    return cmocka_run_group_tests(tests, things_create, things_free);
}
