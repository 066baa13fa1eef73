/* spool.c - collects standard output in a temporary file. At the end, all of it is written to a
   file, or that file is not touched. */
#define _POSIX_C_SOURCE 200809L
#include "kit/program.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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
