/* craft.h - builds safetensors files and checks what must hold for every file that opens. */
#ifndef RAPT_TESTS_FORMAT_CRAFT_H
#define RAPT_TESTS_FORMAT_CRAFT_H

#include "format/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct bytes {
    unsigned char *data; /* exact size, so that a sanitizer detects reads past the end */
    size_t size;
};

/* Builds a file whose prefix is n, with this header and data 0, 1, 2, .. */
static inline struct bytes craft(uint64_t n, const char *header, size_t size, size_t data)
{
    struct bytes made = {malloc(8 + size + data), 8 + size + data};
    assert_non_null(made.data);
    for (int i = 0; i < 8; i++) made.data[i] = (unsigned char)(n >> 8 * i);
    memcpy(made.data + 8, header, size);
    for (size_t i = 0; i < data; i++) made.data[8 + size + i] = (unsigned char)i;
    return made;
}

static inline bool readable(const char *dtype)
{
    return strcmp(dtype, "F32") == 0 || strcmp(dtype, "F16") == 0 || strcmp(dtype, "BF16") == 0 ||
           strcmp(dtype, "F64") == 0;
}

/* Checks every promise about an open file and reads every element. size: bytes of the data. */
static inline void check_promises(const struct tensor_file *file, size_t size)
{
    size_t sum = 0;
    for (int i = 0; i < rapt__tensors_count(file); i++) {
        const struct tensor_entry *e = rapt__tensors_entry(file, i);
        size_t product = 1;
        assert_true(e->name[0] != 0 && e->rank >= 0 && e->rank <= TENSOR_RANK);
        for (int d = 0; d < e->rank; d++) product *= e->shape[d];
        assert_true(product == e->count && e->begin <= e->end && e->end <= size);
        assert_ptr_equal(rapt__tensors_find(file, e->name), e);
        if (i > 0) assert_true(strcmp(rapt__tensors_entry(file, i - 1)->name, e->name) < 0);
        sum += e->end - e->begin;
        float *data = malloc(e->count ? e->count * sizeof *data : 1);
        assert_non_null(data);
        assert_int_equal(rapt__tensors_read(file, e, 0, e->count, data, NULL),
                         readable(e->dtype) ? RAPT_OK : RAPT_BAD_FILE);
        assert_int_equal(rapt__tensors_read(file, e, e->count, 1, data, NULL), RAPT_BAD_ARGUMENT);
        free(data);
    }
    assert_int_equal(sum, size); /* together with distinct, ordered ranges: no gap and no overlap */
    for (int i = 0; i < rapt__tensors_metadata_count(file); i++) {
        const struct tensor_metadata *entry = rapt__tensors_metadata_at(file, i);
        assert_ptr_equal(rapt__tensors_metadata(file, entry->key), entry->value);
    }
    assert_null(rapt__tensors_entry(file, -1));
    assert_null(rapt__tensors_entry(file, rapt__tensors_count(file)));
    assert_null(rapt__tensors_metadata_at(file, -1));
    assert_null(rapt__tensors_metadata_at(file, rapt__tensors_metadata_count(file)));
}

/* Opens a file, checks it if it opens, and closes it. */
static inline rapt_status try_bytes(const struct bytes *bytes, rapt_message *why)
{
    struct tensor_file *file = NULL;
    rapt_status status = rapt__tensors_open_memory(&file, bytes->data, bytes->size, NULL, why);
    if (status != RAPT_OK) {
        assert_null(file);
        return status;
    }
    uint64_t n = 0;
    for (int i = 0; i < 8; i++) n |= (uint64_t)bytes->data[i] << 8 * i;
    check_promises(file, bytes->size - 8 - (size_t)n);
    rapt__tensors_close(file);
    return status;
}

/* An allocator that counts what is allocated and fails once, at call number fail_at. */
struct stingy {
    long calls, fail_at, alive;
    size_t bytes, max;
};

static inline void *stingy_alloc(void *user, size_t bytes)
{
    struct stingy *s = user;
    if (s->calls++ == s->fail_at) return NULL;
    s->alive++;
    s->bytes += bytes;
    if (s->bytes > s->max) s->max = s->bytes;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static inline void stingy_free(void *user, void *memory, size_t bytes)
{
    struct stingy *s = user;
    s->alive--;
    s->bytes -= bytes;
    free(memory);
}

/* xorshift64* (Vigna 2016) */
static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1Dull;
}

#endif
