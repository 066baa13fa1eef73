/* saving.h - makes a temporary folder, saves a model file that contains a number, and reads the
   number back. */
#ifndef RAPT_TESTS_FORMAT_SAVING_H
#define RAPT_TESTS_FORMAT_SAVING_H

#include "craft.h"
#include "temporary.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LENGTH = 100000, PATH = TEMPORARY + 64 }; /* two chunks; bytes of a path */
static char folder[TEMPORARY], path[PATH];

static inline int make_folder(void **state)
{
    (void)state;
    if (!temporary_folder(folder)) return -1;
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    return 0;
}

static inline void clear_folder(void)
{
    DIR *list = opendir(folder);
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list));)
        unlinkat(dirfd(list), entry->d_name, entry->d_type == DT_DIR ? AT_REMOVEDIR : 0);
    closedir(list);
}

static inline int remove_folder(void **state)
{
    (void)state;
    clear_folder();
    return rmdir(folder);
}

static inline void fill(const struct tensor_source *source, size_t first, size_t count, float *data)
{
    for (size_t i = 0; i < count; i++) data[i] = (float)(source->index + first + i);
}

static inline rapt_status save(const char *to, size_t index, rapt_message *why)
{
    const struct tensor_source source = {"t", 1, {LENGTH}, fill, NULL, index, 0, NULL};
    return rapt__tensors_write(to, &source, 1, NULL, 0, NULL, why);
}

/* Returns the number in the file at `from`; -1: the file is incomplete. */
static inline long saved(const char *from)
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

static inline int entries(const char *where)
{
    int count = 0;
    DIR *list = opendir(where);
    assert_non_null(list);
    while (readdir(list)) count++;
    closedir(list);
    return count;
}

/* Runs `work` in a process of its own. Returns its exit code, or minus the signal that ended it. */
static inline int run(void (*work)(long), long argument)
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

#endif
