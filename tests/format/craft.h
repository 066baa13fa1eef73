/* craft.h - builds files of tensors byte by byte, and checks what must hold for every file that
   opens. */
#ifndef RAPT_TESTS_FORMAT_CRAFT_H
#define RAPT_TESTS_FORMAT_CRAFT_H

#include "format/format.h"
#include "temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- safetensors: builds safetensors files and checks what must hold for every file that opens.
   ---- */

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

/* ---- others: builds files of tensors byte by byte, and checks what must hold for any file of any
   format, whether it opens or not. ---- */

/* A growing array of bytes. */
static inline void put_bytes(struct bytes *to, const void *data, size_t size)
{
    unsigned char *grown = malloc(to->size + size + 1);
    assert_non_null(grown);
    if (to->size) memcpy(grown, to->data, to->size);
    if (size) memcpy(grown + to->size, data, size);
    free(to->data);
    *to = (struct bytes){grown, to->size + size};
}

static inline void put_number(struct bytes *to, uint64_t value, int bytes)
{
    unsigned char little[8];
    for (int i = 0; i < 8; i++) little[i] = (unsigned char)(value >> 8 * i);
    put_bytes(to, little, (size_t)bytes);
}

static inline void put_float(struct bytes *to, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_number(to, bits, 4);
}

static inline void put_zeros(struct bytes *to, size_t count)
{
    for (size_t i = 0; i < count; i++) put_number(to, 0, 1);
}

/* Checks every promise about an open file, and reads every element. */
static inline void check_any(const struct tensor_file *file)
{
    for (int i = 0; i < rapt__tensors_count(file); i++) {
        const struct tensor_entry *e = rapt__tensors_entry(file, i);
        size_t product = 1;
        assert_true(e->name[0] != 0 && e->rank >= 0 && e->rank <= TENSOR_RANK);
        for (int d = 0; d < e->rank; d++) product *= e->shape[d];
        assert_int_equal(product, e->count);
        assert_true(e->begin <= e->end && (e->scales == 0 || e->count % e->scales == 0));
        assert_ptr_equal(rapt__tensors_find(file, e->name), e);
        if (i > 0) assert_true(strcmp(rapt__tensors_entry(file, i - 1)->name, e->name) < 0);
        size_t size = (e->count ? e->count : 1) * sizeof(int64_t);
        void *data = malloc(size);
        assert_non_null(data);
        rapt_status status = rapt__tensors_read(file, e, 0, e->count, data, NULL);
        assert_true(status == RAPT_OK || status == RAPT_BAD_FILE);
        status = rapt__tensors_integers(file, e, 0, e->count, data, NULL);
        assert_true(status == RAPT_OK || status == RAPT_BAD_FILE);
        assert_int_equal(rapt__tensors_scales(file, e, 0, e->scales, data, NULL), RAPT_OK);
        assert_int_equal(rapt__tensors_read(file, e, e->count, 1, data, NULL), RAPT_BAD_ARGUMENT);
        free(data);
    }
    for (int i = 0; i < rapt__tensors_metadata_count(file); i++) {
        const struct tensor_metadata *m = rapt__tensors_metadata_at(file, i);
        assert_ptr_equal(rapt__tensors_metadata(file, m->key), m->value);
    }
}

/* Opens data[size], checks the file if it opens, and closes it. */
static inline rapt_status try_any(const void *data, size_t size, rapt_message *why)
{
    struct tensor_file *file = NULL;
    unsigned char *exact =
        malloc(size ? size : 1); /* exact size, so that a sanitizer detects reads past the end */
    assert_non_null(exact);
    if (size) memcpy(exact, data, size);
    rapt_status status = rapt__tensors_open_any_memory(&file, exact, size, NULL, why);
    assert_int_equal(status == RAPT_OK, file != NULL);
    if (file) assert_true(rapt__container_name(rapt__tensors_container(file))[0]);
    if (file) check_any(file);
    rapt__tensors_close(file);
    free(exact);
    return status;
}

/* Checks that every proper prefix of a file is refused. */
static inline void refuse_beginnings(const struct bytes *whole)
{
    for (size_t size = 0; size < whole->size; size++) {
        rapt_message why = {""};
        if (try_any(whole->data, size, &why) != RAPT_BAD_FILE || !why.text[0])
            fail_msg("%zu of %zu bytes are not refused", size, whole->size);
    }
}

/* Sets every byte to several other values and damages the file at random. Checks that it is refused
   or, if it opens, keeps its promises. Returns how many opened. */
static inline int damage_bytes(const struct bytes *whole, int rounds)
{
    unsigned char *copy = malloc(whole->size);
    uint64_t seed = whole->size;
    int opened = 0;
    assert_non_null(copy);
    for (size_t at = 0; at < whole->size; at++) {
        memcpy(copy, whole->data, whole->size);
        for (int bit = 0; bit < 9; bit++) {
            copy[at] = (unsigned char)(bit < 8 ? whole->data[at] ^ 1 << bit : ~whole->data[at]);
            rapt_status status = try_any(copy, whole->size, NULL);
            assert_true(status == RAPT_OK || status == RAPT_BAD_FILE);
            opened += status == RAPT_OK;
        }
    }
    for (int round = 0; round < rounds; round++) {
        memcpy(copy, whole->data, whole->size);
        for (uint64_t changes = 1 + next_random(&seed) % 4; changes > 0; changes--)
            copy[next_random(&seed) % whole->size] = (unsigned char)(next_random(&seed) >> 40);
        rapt_status status = try_any(copy, whole->size, NULL);
        assert_true(status == RAPT_OK || status == RAPT_BAD_FILE);
    }
    free(copy);
    return opened;
}

/* Lets every allocation while opening fail once. Checks for RAPT_NO_MEMORY, no leak, and success on
   the next try. */
static inline void fail_allocations(const struct bytes *whole, long at_least)
{
    for (long k = 0;; k++) {
        struct stingy stingy = {.fail_at = k};
        const rapt_allocator allocator = {stingy_alloc, stingy_free, &stingy};
        struct tensor_file *file = NULL;
        rapt_message why = {""};
        rapt_status status =
            rapt__tensors_open_any_memory(&file, whole->data, whole->size, &allocator, &why);
        if (status == RAPT_OK) {
            assert_true(k == stingy.calls && k >= at_least);
            rapt__tensors_close(file);
            assert_int_equal(stingy.alive, 0);
            return;
        }
        assert_int_equal(status, RAPT_NO_MEMORY);
        assert_non_null(strstr(why.text, "out of memory"));
        assert_true(file == NULL && stingy.alive == 0);
    }
}

/* Checks that the file is refused and that the message contains this text. */
static inline void refuse(const struct bytes *bytes, const char *reason)
{
    rapt_message why = {""};
    if (try_any(bytes->data, bytes->size, &why) != RAPT_BAD_FILE || !strstr(why.text, reason))
        fail_msg("not refused for \"%s\": %s", reason, why.text);
}

/* Composes the path of a file in a new folder; and removes both. */
static inline int make_model_path(void **state)
{
    static char folder[TEMPORARY], path[TEMPORARY + 16];
    if (!temporary_folder(folder)) return -1;
    snprintf(path, sizeof path, "%s/model", folder);
    *state = path;
    return 0;
}

static inline int remove_model_path(void **state)
{
    char *path = *state;
    remove(path);
    *strrchr(path, '/') = 0;
    return rmdir(path);
}

#endif
