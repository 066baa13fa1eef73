/* files.h - applies a few edits, chosen by the input, to a good model file or checkpoint: in its
   header, whose length is kept right, in its data, or in any byte. The result has a path, in
   memory, and is valid until the next one. */
#ifndef RAPT_TESTS_FUZZ_FILES_H
#define RAPT_TESTS_FUZZ_FILES_H

#include "fuzz.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILE_SPACE = 1 << 17 };

struct file {
    uint8_t bytes[FILE_SPACE];
    size_t size, header; /* size of the whole file, size of the JSON */
};

static inline void set_prefix(struct file *f)
{
    for (int i = 0; i < 8; i++) f->bytes[i] = (uint8_t)((uint64_t)f->header >> 8 * i);
}

/* Writes the file to memory and returns its path. The file stays open for the whole run. */
static inline const char *file_path(const struct file *f)
{
    static int handle = -1;
    static char path[32];
    if (handle < 0) {
        handle = memfd_create("file", 0);
        require(handle >= 0, "a file in memory");
        snprintf(path, sizeof path, "/proc/self/fd/%d", handle);
    }
    require(ftruncate(handle, 0) == 0, "an empty file");
    require(!f || pwrite(handle, f->bytes, f->size, 0) == (ssize_t)f->size, "a written file");
    return path;
}

static inline void read_file(struct file *f, const char *path)
{
    int handle = open(path, O_RDONLY);
    ssize_t size = handle < 0 ? -1 : read(handle, f->bytes, sizeof f->bytes);
    require(size > 8 && size < FILE_SPACE / 2, "a good file to begin with");
    close(handle);
    f->size = (size_t)size;
    f->header = 0;
    for (int i = 0; i < 8; i++) f->header |= (size_t)f->bytes[i] << 8 * i;
}

/* Replaces `old` bytes of the header by a text. */
static inline void rewrite(struct file *f, size_t at, size_t old, const char *text)
{
    size_t new = strlen(text);
    if (at > f->header) at = f->header;
    if (old > f->header - at) old = f->header - at;
    if (f->size + new - old > FILE_SPACE) return;
    uint8_t *here = f->bytes + 8 + at;
    memmove(here + new, here + old, f->size - 8 - at - old);
    memcpy(here, text, new);
    f->size = f->size + new - old, f->header = f->header + new - old;
    set_prefix(f);
}

/* Finds the number-th run of digits in the header. Returns its offset and sets its length. */
static inline size_t find_digits(const struct file *f, int number, size_t *length)
{
    const uint8_t *h = f->bytes + 8;
    for (size_t at = 0; at < f->header; at += *length) {
        *length = 0;
        while (at + *length < f->header && h[at + *length] >= '0' && h[at + *length] <= '9')
            ++*length;
        if (*length && number-- == 0) return at;
        if (*length == 0) *length = 1;
    }
    return *length = 0;
}

static inline void edit(struct file *f, struct feed *in)
{
    static const char *const words[] = {"0",
                                        "1",
                                        "2",
                                        "3",
                                        "-1",
                                        "65536",
                                        "2147483648",
                                        "18446744073709551615",
                                        "null",
                                        "F16",
                                        "BF16",
                                        "F64",
                                        "I64",
                                        "\\\"",
                                        "rapt.config",
                                        "__metadata__",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        ",",
                                        ":",
                                        "\"",
                                        "1e-5",
                                        "nan",
                                        "adam.m.",
                                        "adam.v.",
                                        "softmax",
                                        "sample",
                                        "additive",
                                        "local-p",
                                        "learned",
                                        "7fc00000",
                                        "ffffffffffffffff",
                                        " "};
    static const uint32_t floats[] = {0x7FC00000, 0x7F800000, 0xFF800000, 0x7F7FFFFF,
                                      0x00000001, 0x80000000, 0xBF800000, 0x5F000000};
    const char *word = words[take_byte(in) % (sizeof words / sizeof *words)];
    size_t at = (size_t)take_byte(in) << 8 | take_byte(in), length = 0;
    switch (take_below(in, 7)) {
    case 0: /* change a byte of the header */
        f->bytes[8 + at % (f->header + 1)] = take_byte(in);
        break;
    case 1: /* delete a piece or replace it by a word */
        rewrite(f, at % (f->header + 1), (size_t)take_below(in, 24), take_flag(in) ? word : "");
        break;
    case 2: /* insert a word */
        rewrite(f, at % (f->header + 1), 0, word);
        break;
    case 3: /* change a number */
        at = find_digits(f, (int)(at % 300), &length);
        rewrite(f, at, length, word);
        break;
    case 4: /* change a float of the data */
        at = 8 + f->header + at * 4;
        if (at + 4 <= f->size) memcpy(f->bytes + at, &floats[take_below(in, 8)], 4);
        break;
    case 5: /* truncate or extend */
        f->size = take_flag(in) ? f->size - at % f->size : f->size + at % 64;
        if (f->size < 9) f->size = 9;
        if (f->header > f->size - 8) f->header = f->size - 8; /* the length in the prefix stays */
        break;
    default: /* change any byte */
        f->bytes[at % f->size] = take_byte(in);
    }
}

static inline void edit_all(struct file *f, struct feed *in)
{
    for (int edits = take_below(in, 6); edits > 0; edits--) edit(f, in);
}

#endif
