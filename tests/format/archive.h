/* archive.h - helpers to read the seeds of the fuzz targets and to build zip archives with
   mistakes. */
#ifndef RAPT_TESTS_FORMAT_ARCHIVE_H
#define RAPT_TESTS_FORMAT_ARCHIVE_H

#include "craft.h"

/* Reads a seed of a fuzz target, named "target/seed". */
static inline struct bytes seed(const char *name)
{
    static unsigned char data[1 << 14];
    char path[4096];
    struct bytes b = {NULL, 0};
    snprintf(path, sizeof path, RAPT_UNPACKED_DIR "/fuzz/seeds/%s", name);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s", path);
    put_bytes(&b, data, fread(data, 1, sizeof data, file));
    fclose(file);
    return b;
}

static inline bool without_zlib(const struct bytes *b)
{
    rapt_message why = {""};
    if (try_any(b->data, b->size, &why) != RAPT_BAD_FILE) return false;
    return strstr(why.text, "built without zlib");
}

/* ---- hand-made archives ---- */

struct member {
    const char *name, *local_name;
    struct bytes data;
    unsigned flags, method;
    int size, stored; /* added to the true sizes in the directory */
    long at;          /* added to the true offset */
};

static inline void put_record(struct bytes *b, const struct member *m, unsigned offset,
                              bool directory)
{
    const char *name = directory ? m->name : m->local_name;
    put_bytes(b, directory ? "PK\1\2\x14\0" : "PK\3\4", directory ? 6 : 4);
    put_number(b, 20, 2);
    put_number(b, m->flags, 2);
    put_number(b, m->method, 2);
    put_zeros(b, 8); /* time and checksum */
    put_number(b, m->data.size + (unsigned)m->stored, 4);
    put_number(b, m->data.size + (unsigned)m->size, 4);
    put_number(b, strlen(name), 2);
    put_zeros(b, 2);
    if (directory) put_zeros(b, 10);
    if (directory) put_number(b, offset + (unsigned)m->at, 4);
    put_bytes(b, name, strlen(name));
}

/* Writes a directory record whose numbers are in a zip64 extra field, which follows another extra
   field. */
static inline void put_wide_record(struct bytes *b, const struct member *m, unsigned offset)
{
    put_bytes(b, "PK\1\2\x2D\0\x2D\0\0\0\0\0", 12); /* stored */
    put_zeros(b, 8);
    put_number(b, UINT64_MAX, 8);
    put_number(b, strlen(m->name), 2);
    put_number(b, 6 + 28, 2);
    put_zeros(b, 10);
    put_number(b, UINT32_MAX, 4);
    put_bytes(b, m->name, strlen(m->name));
    put_bytes(b, "XX\2\0ab\1\0\x18\0", 10);
    put_number(b, m->data.size, 8);
    put_number(b, m->data.size, 8);
    put_number(b, offset + (unsigned)m->at, 8);
}

/* Writes the end of a directory in zip64 form, which PyTorch always uses. */
static inline void put_wide_end(struct bytes *b, size_t count, size_t begin)
{
    size_t end = b->size;
    put_bytes(b, "PK\6\6\x2C\0\0\0\0\0\0\0\x2D\0\x2D\0", 16);
    put_zeros(b, 8);
    put_number(b, count, 8);
    put_number(b, count, 8);
    put_number(b, end - begin, 8);
    put_number(b, begin, 8);
    put_bytes(b, "PK\6\7\0\0\0", 8);
    put_number(b, end, 8);
    put_number(b, 1, 4);
    put_bytes(b, "PK\5\6\0\0\0", 8);
    put_number(b, UINT64_MAX, 8);
    put_number(b, UINT32_MAX, 4);
    put_zeros(b, 2);
}

static inline struct bytes wide_archive(const struct member *members, size_t count)
{
    struct bytes b = {NULL, 0};
    unsigned offsets[4];
    for (size_t i = 0; i < count; i++) {
        offsets[i] = (unsigned)b.size;
        put_record(&b, &members[i], 0, false);
        put_bytes(&b, members[i].data.data, members[i].data.size);
    }
    size_t begin = b.size;
    for (size_t i = 0; i < count; i++) put_wide_record(&b, &members[i], offsets[i]);
    put_wide_end(&b, count, begin);
    return b;
}

static inline struct bytes archive(const struct member *members, size_t count)
{
    struct bytes b = {NULL, 0};
    unsigned offsets[4];
    for (size_t i = 0; i < count; i++) {
        offsets[i] = (unsigned)b.size;
        put_record(&b, &members[i], 0, false);
        put_bytes(&b, members[i].data.data, members[i].data.size);
    }
    size_t begin = b.size;
    for (size_t i = 0; i < count; i++) put_record(&b, &members[i], offsets[i], true);
    size_t size = b.size - begin;
    put_bytes(&b, "PK\5\6\0\0\0", 8);
    put_number(&b, count, 2);
    put_number(&b, count, 2);
    put_number(&b, size, 4);
    put_number(&b, begin, 4);
    put_zeros(&b, 2);
    return b;
}

#endif
