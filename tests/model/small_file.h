/* small_file.h - shared by the tests of model files: reads a safetensors file into memory, edits
   its header, replaces a number of a tensor, and writes it back. Saves and loads packed files. */
#ifndef RAPT_TESTS_MODEL_SMALL_FILE_H
#define RAPT_TESTS_MODEL_SMALL_FILE_H

#include "model/small.h"

#include <stdint.h>

enum { FILE_MAX = 1 << 23 }; /* size limit in bytes */

struct file {
    unsigned char *bytes;
    size_t size;
    char path[256];
};

static inline void put(const struct file *f)
{
    FILE *to = fopen(f->path, "wb");
    assert_non_null(to);
    assert_int_equal(fwrite(f->bytes, 1, f->size, to), f->size);
    assert_int_equal(fclose(to), 0);
}

/* Reads a file. */
static inline struct file file_at(const char *path)
{
    struct file f = {.bytes = malloc(FILE_MAX)};
    FILE *from = fopen(path, "rb");
    assert_true(f.bytes && from);
    snprintf(f.path, sizeof f.path, "%s", path);
    f.size = fread(f.bytes, 1, FILE_MAX, from);
    fclose(from);
    assert_in_range(f.size, 100, FILE_MAX - 1);
    return f;
}

static inline void drop(struct file *f)
{
    unlink(f->path);
    free(f->bytes);
}

static inline uint64_t header_size(const struct file *f)
{
    uint64_t n = 0;
    for (int i = 0; i < 8; i++) n |= (uint64_t)f->bytes[i] << 8 * i;
    return n;
}

/* Returns the file with the first `from` in its header replaced by `to`. */
static inline struct file edited(const struct file *f, const char *from, const char *to)
{
    struct file e = {.bytes = malloc(f->size + strlen(to) + 1)};
    size_t n = header_size(f), old = strlen(from), new = strlen(to), at = 8;
    while (at + old <= 8 + n && memcmp(f->bytes + at, from, old) != 0) at++;
    if (at + old > 8 + n) fail_msg("the header has no %s", from);
    memcpy(e.path, f->path, sizeof e.path);
    memcpy(e.bytes, f->bytes, at);
    memcpy(e.bytes + at, to, new);
    memcpy(e.bytes + at + new, f->bytes + at + old, f->size - at - old);
    e.size = f->size - old + new;
    n = n - old + new;
    for (int i = 0; i < 8; i++) e.bytes[i] = (unsigned char)(n >> 8 * i);
    return e;
}

struct edit {
    const char *from, *to;
    const char *word; /* of the message that refuses the file after the edit */
};

/* Loading the file must fail after each edit of its header, and cut off anywhere. */
static inline void edits_refused(const struct file *f, const struct edit *edits, int count)
{
    rapt_model *none = NULL;
    for (int i = 0; i < count; i++) {
        rapt_message why = {""};
        struct file e = edited(f, edits[i].from, edits[i].to);
        put(&e);
        assert_int_equal(rapt_model_load(&none, f->path, NULL, &why), RAPT_BAD_FILE);
        if (!strstr(why.text, f->path) || !strstr(why.text, edits[i].word))
            fail_msg("\"%s\" does not say \"%s\"", why.text, edits[i].word);
        free(e.bytes);
    }
    for (size_t size = 0; size < f->size; size += 41) {
        struct file e = *f;
        e.size = size;
        put(&e);
        assert_int_equal(rapt_model_load(&none, f->path, NULL, NULL), RAPT_BAD_FILE);
    }
    assert_null(none);
}

/* Returns the address of the first number of a tensor. */
static inline unsigned char *number_of(struct file *f, const char *tensor)
{
    char name[128];
    size_t n = header_size(f), begin = 0;
    snprintf(name, sizeof name, "\"%s\":{", tensor);
    char *header = calloc(1, n + 1), *at = NULL;
    assert_non_null(header);
    memcpy(header, f->bytes + 8, n);
    if ((at = strstr(header, name))) at = strstr(at, "\"data_offsets\":[");
    if (!at || sscanf(at, "\"data_offsets\":[%zu,", &begin) != 1) fail_msg("no tensor %s", tensor);
    free(header);
    return f->bytes + 8 + n + begin;
}

/* ---- packed files, and what the system reports about their mapping ---- */

static const rapt_save_options packed = {.size = sizeof packed, .packed = 1};
static const rapt_load_options unmapped = {.size = sizeof unmapped, .no_mapping = 1};

static inline rapt_model *packed_model(const rapt_config *config, const char *path)
{
    rapt_model *model = small_model(config, 3);
    const rapt_metadata metadata[] = {{"note", "kept"}};
    rapt_message why = {""};
    if (rapt_model_save_with(model, path, &packed, metadata, 1, &why)) fail_msg("%s", why.text);
    return model;
}

static inline rapt_model *loaded(const char *path, const rapt_load_options *options)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    if (rapt_model_load_with(&model, path, options, NULL, &why)) fail_msg("%s", why.text);
    return model;
}

/* ---- the mapping of a file according to /proc/self/smaps ---- */

/* Returns the sum of a field in KiB, or -1 if the file is not mapped or the system does not report
   it. */
static inline long smaps(const char *path, const char *key)
{
    char line[512];
    bool here = false;
    long value = -1, found;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))
            here = strstr(line, path) != NULL;
        size_t size = strlen(key);
        if (here && strncmp(line, key, size) == 0 && sscanf(line + size, ": %ld", &found) == 1)
            value = (value < 0 ? 0 : value) + found;
    }
    if (file) fclose(file);
    return value;
}

/* Tells whether packed files are mapped. Elsewhere they are read, since their numbers are
   little-endian. */
static inline bool maps_files(void)
{
    const int one = 1;
    return *(const unsigned char *)&one == 1;
}

static inline bool has_smaps(void)
{
    if (!maps_files()) {
        print_message("skipped: what is mapped: nothing is on a big-endian machine\n");
        return false;
    }
    if (access("/proc/self/smaps", R_OK) == 0) return true;
    print_message("skipped: what is mapped: the system has no /proc/self/smaps\n");
    return false;
}

#endif
