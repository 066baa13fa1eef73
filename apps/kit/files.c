/* files.c - reads and writes whole files, and keeps output in spools until it is complete. A file
   is replaced atomically, as models are. An output that would overwrite an input is refused. */
#define _POSIX_C_SOURCE 200809L
#include "kit/program.h"
#include "kit/text.h"
#include <errno.h>
#include <fcntl.h>
#include <rapt/file.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns true if both are the same regular file, by device and inode. */
static bool same_file(const struct stat *a, const struct stat *b)
{
    return S_ISREG(a->st_mode) && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool file_same(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && same_file(&one, &other);
}

bool output_is_input(void)
{
    struct stat in, out;
    return fstat(STDIN_FILENO, &in) == 0 && fstat(STDOUT_FILENO, &out) == 0 && same_file(&in, &out);
}

bool is_output(const char *path)
{
    struct stat about, out;
    return stat(path, &about) == 0 && fstat(STDOUT_FILENO, &out) == 0 && same_file(&about, &out);
}

bool is_input(const char *path)
{
    struct stat about, in;
    return stat(path, &about) == 0 && fstat(STDIN_FILENO, &in) == 0 && same_file(&about, &in);
}

/* Returns true if output is written into the file at this path instead of replacing it: if it is a
   pipe, a device, or the file that standard output goes to. */
static bool is_stream(const char *path)
{
    struct stat about;
    if (strcmp(path, STANDARD_OUTPUT) == 0) return true;
    if (stat(path, &about) != 0 || S_ISDIR(about.st_mode)) return false;
    return !S_ISREG(about.st_mode) || is_output(path);
}

int file_new(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) || is_stream(path)) return EXIT_OK;
    return failed("%s exists; --force replaces it", path);
}

/* Returns 0 or an errno value. */
static int write_whole(FILE *file, const char *bytes, size_t size)
{
    errno = 0;
    if (fwrite(bytes, 1, size, file) == size && fflush(file) == 0) return 0;
    return errno != 0 ? errno : EIO;
}

static int write_stream(const char *path, const char *bytes, size_t size)
{
    int wrong;
    if (strcmp(path, STANDARD_OUTPUT) == 0 || is_output(path)) {
        wrong = write_whole(stdout, bytes, size);
    } else {
        FILE *file = fopen(path, "wb");
        if (file == NULL) return failed("%s: %s", path, strerror(errno));
        wrong = write_whole(file, bytes, size);
        if (fclose(file) != 0 && wrong == 0) wrong = errno;
    }
    return wrong == 0 ? EXIT_OK : failed("%s: %s", path, strerror(wrong));
}

static int write_plain(const char *path, const char *bytes, size_t size)
{
    rapt_message why = {""};
    if (is_stream(path)) return write_stream(path, bytes, size);
    return rapt_file_write(path, bytes, size, &why) == RAPT_OK ? EXIT_OK : failed("%s", why.text);
}

int file_write(const char *path, const char *bytes, size_t size)
{
    const struct packing *packing = packing_of(path);
    size_t packed_size = 0;
    if (packing == NULL) return write_plain(path, bytes, size);
    if (packing->pack == NULL)
        return failed("%s: this program was built without %s; choose a name without %s", path,
                      packing->name, packing->suffix);
    char *packed = packing->pack(bytes, size, &packed_size);
    if (packed == NULL) return failed("%s: out of memory", path);
    int code = write_plain(path, packed, packed_size);
    free(packed);
    return code;
}

int file_open(const char *path)
{
    int file;
    do file = open(path, O_RDONLY | O_CLOEXEC);
    while (file < 0 && errno == EINTR);
    return file;
}

int file_read(const char *path, char **bytes, size_t *size)
{
    size_t capacity = 0;
    ssize_t got = 1;
    int file = file_open(path), wrong = 0;
    struct unpack source;
    *bytes = NULL;
    *size = 0;
    if (file < 0) return failed("%s: %s", path, strerror(errno));
    unpack_open(&source, file);
    while (got > 0 || (got < 0 && errno == EINTR)) {
        if (*size == capacity) *bytes = xreallocarray(*bytes, capacity = capacity * 2 + 65536, 1);
        got = unpack_read(&source, *bytes + *size, capacity - *size);
        if (got > 0) *size += (size_t)got;
    }
    if (got < 0) wrong = errno;
    unpack_close(&source);
    close(file);
    if (wrong == EISDIR) return failed("%s: this is a folder, not a file", path);
    return wrong ? failed("%s: %s", path, unpack_error(&source, wrong)) : EXIT_OK;
}

static const char *input_path(const struct option_row *row)
{
    return row->kind == OPTION_INPUT && row->given ? *(const char *const *)row->value : NULL;
}

static const char *output_path(const struct option_row *row)
{
    bool output = row->kind == OPTION_OUTPUT || row->kind == OPTION_MADE;
    return output && row->given ? *(const char *const *)row->value : NULL;
}

static int check_input(const struct command *command, const struct option_row *input)
{
    const char *path = input_path(input);
    if (path == NULL) return GO_ON;
    if (is_output(path))
        return usage_error("--%s %s: standard output is the same file", input->name, path);
    for (int i = 0; i < command->count; i++) {
        const char *out = output_path(&command->rows[i]);
        if (out != NULL && file_same(path, out))
            return usage_error("--%s %s is the same file as --%s %s", command->rows[i].name, out,
                               input->name, path);
    }
    return GO_ON;
}

static int check_output(const struct option_row *output)
{
    const char *path = output_path(output);
    rapt_message why = {""};
    if (path == NULL || (output->kind == OPTION_OUTPUT && is_stream(path)) ||
        rapt_file_check(path, 0, 0, &why) == RAPT_OK)
        return GO_ON;
    return failed("--%s: %s", output->name, why.text);
}

/* Fails if two options read standard input. */
static int check_standard_input(const struct command *command)
{
    const struct option_row *first = NULL;
    for (int i = 0; i < command->count; i++) {
        const char *path = input_path(&command->rows[i]);
        if (path == NULL || strcmp(path, STANDARD_INPUT) != 0) continue;
        if (first != NULL)
            return usage_error("--%s and --%s cannot both read standard input", first->name,
                               command->rows[i].name);
        first = &command->rows[i];
    }
    return GO_ON;
}

int files_check(const struct command *command)
{
    int code = check_standard_input(command);
    for (int i = 0; i < command->count && code == GO_ON; i++)
        code = check_input(command, &command->rows[i]);
    for (int i = 0; i < command->count && code == GO_ON; i++)
        code = check_output(&command->rows[i]);
    return code;
}

/* ---- spools: standard output kept in a temporary file until it is complete ---- */

int spool_begin(struct spool *spool)
{
    *spool = (struct spool){.file = tmpfile(), .output = dup(STDOUT_FILENO)};
    if (spool->file != NULL && spool->output >= 0 && fflush(stdout) == 0 &&
        dup2(fileno(spool->file), STDOUT_FILENO) >= 0)
        return EXIT_OK;
    int code = failed("a temporary file: %s", strerror(errno));
    if (spool->file != NULL) fclose(spool->file);
    if (spool->output >= 0) close(spool->output);
    return code;
}

int spool_save(FILE *file, const char *path)
{
    const bool whole = fflush(file) == 0 && !ferror(file);
    off_t size = lseek(fileno(file), 0, SEEK_END);
    char *bytes = NULL;
    if (whole && size > 0)
        bytes = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    if (!whole || size < 0 || bytes == MAP_FAILED)
        return failed("the temporary file for %s: %s", path, strerror(errno));
    int code = file_write(path, bytes, (size_t)size);
    if (bytes != NULL) munmap(bytes, (size_t)size);
    return code;
}

int spool_end(struct spool *spool, const char *path)
{
    int code = finish_output();
    if (dup2(spool->output, STDOUT_FILENO) < 0)
        code = failed("standard output: %s", strerror(errno));
    if (code == EXIT_OK && path != NULL) code = spool_save(spool->file, path);
    fclose(spool->file);
    close(spool->output);
    return code;
}
