/* files.h - a model file or checkpoint with a few edits that the bytes of an input choose: in its
   header, whose length stays right, in its data, or in any byte. In: a good file. Out: the path of
   an edited one, in memory, valid until the next. */
#ifndef RAPT_TESTS_FUZZ_FILES_H
#define RAPT_TESTS_FUZZ_FILES_H

#include "fuzz.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILE_SPACE = 1 << 17 };

struct file {
    uint8_t bytes[FILE_SPACE];
    size_t size, header; /* of all, prefix included; of the JSON */
};

static inline void set_prefix(struct file *f)
{
    for (int i = 0; i < 8; i++) f->bytes[i] = (uint8_t)((uint64_t)f->header >> 8 * i);
}

/* Writes to the path of a file in memory, which stays open for the whole run. */
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

/* Replaces `old` bytes of the header by others. */
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

/* Where the number-th run of digits of the header begins, and its length. */
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
    case 0: /* another byte of the header */
        f->bytes[8 + at % (f->header + 1)] = take_byte(in);
        break;
    case 1: /* a piece less, or a word instead */
        rewrite(f, at % (f->header + 1), (size_t)take_below(in, 24), take_flag(in) ? word : "");
        break;
    case 2: /* a word more */
        rewrite(f, at % (f->header + 1), 0, word);
        break;
    case 3: /* another number */
        at = find_digits(f, (int)(at % 300), &length);
        rewrite(f, at, length, word);
        break;
    case 4: /* another float of the data */
        at = 8 + f->header + at * 4;
        if (at + 4 <= f->size) memcpy(f->bytes + at, &floats[take_below(in, 8)], 4);
        break;
    case 5: /* cut short, or longer */
        f->size = take_flag(in) ? f->size - at % f->size : f->size + at % 64;
        if (f->size < 9) f->size = 9;
        if (f->header > f->size - 8) f->header = f->size - 8; /* the prefix stays */
        break;
    default: /* any byte */
        f->bytes[at % f->size] = take_byte(in);
    }
}

static inline void edit_all(struct file *f, struct feed *in)
{
    for (int edits = take_below(in, 6); edits > 0; edits--) edit(f, in);
}

#endif
