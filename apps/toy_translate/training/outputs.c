/* outputs.c - the files of a run beside OUT: OUT.checkpoint, OUT.checkpoint.best and, for the last
   epochs, OUT.checkpoint.N. An existing model is replaced only with --force or --resume. What a run
   leaves behind is removed when it has ended, or when --force begins another one, but only files
   whose metadata show that this program wrote them. If a file of another kind has one of these
   names, no run begins. */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "kit/random.h"
#include "learner.h"
#include "training.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true for "", ".best" and ".N", which can follow OUT.checkpoint. */
static bool is_suffix(const char *text)
{
    if (*text == 0 || strcmp(text, ".best") == 0) return true;
    return *text == '.' && text[1] != 0 && text[1 + strspn(text + 1, "0123456789")] == 0;
}

int outputs_each(const char *out, int (*visit)(const char *path, const void *user),
                 const void *user)
{
    const char *slash = strrchr(out, '/');
    char *folder = slash ? xasprintf("%.*s", (int)(slash + 1 - out), out) : xasprintf("./");
    char *prefix = xasprintf("%s.checkpoint", slash ? slash + 1 : out);
    DIR *list = opendir(folder);
    struct dirent *entry;
    int code = EXIT_OK;
    while (code == EXIT_OK && list != NULL && (entry = readdir(list)) != NULL) {
        bool named = strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
        if (!named || !is_suffix(entry->d_name + strlen(prefix))) continue;
        char *path = xasprintf("%s%s", slash ? folder : "", entry->d_name);
        code = visit(path, user);
        free(path);
    }
    if (list != NULL) closedir(list);
    free(prefix);
    free(folder);
    return code;
}

/* Returns true if this program wrote the file: its models and checkpoints have metadata with this
   prefix. `unsure` is the answer if memory is insufficient to tell. */
static bool is_ours(const char *path, bool unsure)
{
    static const char prefix[] = "toy_translate.";
    rapt_model *model = NULL;
    struct stat about;
    bool ours = false;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    rapt_status status = rapt_model_load(&model, path, NULL, NULL);
    if (status != RAPT_OK) return status == RAPT_NO_MEMORY && unsure;
    for (int i = 0; i < rapt_model_metadata_count(model); i++)
        ours = ours || strncmp(rapt_model_metadata_at(model, i).key, prefix, strlen(prefix)) == 0;
    rapt_model_free(model);
    return ours;
}

static int remove_ours(const char *path, const void *user)
{
    struct stat about;
    (void)user;
    if (lstat(path, &about) == 0 && S_ISREG(about.st_mode) && is_ours(path, false)) unlink(path);
    return EXIT_OK;
}

/* Refuses a file that a run would replace or remove. A dangling link is accepted, since a file will
   be written through it. */
static int refuse_others(const char *path, const void *user)
{
    struct stat about;
    (void)user;
    if (stat(path, &about) != 0 || is_ours(path, true)) return EXIT_OK;
    return failed("%s is not a checkpoint of toy_translate, or is damaged; remove it, or choose "
                  "another --out",
                  path);
}

void outputs_remove(const char *out)
{
    outputs_each(out, remove_ours, NULL);
}

int outputs_check(const struct recipe *recipe)
{
    const char *out = recipe->out;
    const bool resumable = recipe->checkpoint;
    struct stat about;
    int code = recipe->checkpoint ? outputs_each(out, refuse_others, NULL) : EXIT_OK;
    if (code != EXIT_OK || recipe->force || recipe->resume) return code;
    char *checkpoint = xasprintf("%s.checkpoint", out);
    if (stat(out, &about) == 0 && S_ISREG(about.st_mode))
        code = failed("%s exists; --force replaces it%s", out,
                      resumable && is_ours(checkpoint, false) ? ", --resume continues its training"
                                                              : "");
    else if (is_ours(checkpoint, true))
        code = failed("%s belongs to an unfinished run; %s", checkpoint,
                      resumable ? "--resume continues it, --force starts again"
                                : "--force does not touch it");
    free(checkpoint);
    return code;
}

/* The lock: allows only one run at a time to write OUT, by a lock that the system releases when the
   process ends.

   The files of a run are replaced while it goes on, so the lock is on the folder that OUT leads to
   through symbolic links, at an offset that is a hash of the name there. Hard links need no lock: a
   run that replaces one leaves the others as they were.

   A folder can only be opened for reading, which allows only a shared lock: a process takes one and
   gives up if another process has one too. The lock belongs to the open file description (OFD),
   since a lock of the process would be released as soon as the folder is closed anywhere. On
   systems without such locks, nothing is detected. */

#ifdef F_OFD_SETLK
enum { SET = F_OFD_SETLK, GET = F_OFD_GETLK };
#else
enum { SET = -1, GET = -1 }; /* not a command of fcntl */
#endif
enum { LINKS = 40 }; /* maximum number of symbolic links to follow */

/* Returns the length of the folder in a path, with its last slash. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (int)(slash + 1 - path) : 0;
}

/* Returns the path that OUT leads to, which need not exist. The caller frees it. */
static char *follow_links(const char *out)
{
    char *path = xasprintf("%s", out), link[PATH_MAX];
    ssize_t size;
    for (int i = 0; i < LINKS && (size = readlink(path, link, sizeof link - 1)) >= 0; i++) {
        link[size] = 0;
        char *next = xasprintf("%.*s%s", *link == '/' ? 0 : folder_length(path), path, link);
        free(path);
        path = next;
    }
    return path;
}

int lock_open(int *lock, const char *out)
{
    char *path = follow_links(out);
    const char *name = path + folder_length(path);
    char *folder = xasprintf("%.*s.", folder_length(path), path);
    off_t byte = (off_t)(hash_bytes(HASH_EMPTY, name, strlen(name)) % INT32_MAX);
    struct flock own = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    struct flock other = own;
    other.l_type = F_WRLCK;
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    free(path);
    bool locked = *lock >= 0 && fcntl(*lock, SET, &own) == 0 && fcntl(*lock, GET, &other) == 0;
    if (!locked || other.l_type == F_UNLCK) return EXIT_OK;
    return failed("another run is writing %s; wait until it ends, or choose another --out", out);
}

void lock_close(int lock)
{
    if (lock >= 0) close(lock);
}
