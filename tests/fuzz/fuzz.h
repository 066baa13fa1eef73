/* fuzz.h - shared by the targets: reading an input as numbers, checking laws, counting memory that
   may fail, arrays between guard bytes, and giving bytes a path. A target accepts any bytes. It
   returns 0, or aborts if a law does not hold, and keeps no state from one input to the next. */
#ifndef RAPT_TESTS_FUZZ_H
#define RAPT_TESTS_FUZZ_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rapt/base.h>

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, size)   ((void)(memory), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(memory, size) ((void)(memory), (void)(size))
#endif

/* Each target is a function fuzz_<target>, to which the build gives this name. A file with several
   targets is compiled once for each. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
extern long messages; /* quiet.c: number of messages that a program would have printed so far */

/* Aborts unless the law holds. */
static inline void require(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

/* ---- reading an input from the front; after its end all bytes are 0 ---- */
struct feed {
    const uint8_t *at;
    size_t left;
};

static inline uint8_t take_byte(struct feed *in)
{
    if (in->left == 0) return 0;
    in->left--;
    return *in->at++;
}

static inline int take_below(struct feed *in, int n) /* 0 .. n - 1; n <= 256 */
{
    return take_byte(in) % n;
}

static inline bool take_flag(struct feed *in) /* true one time in four */
{
    return take_byte(in) % 4 == 1;
}

static inline uint32_t take_u32(struct feed *in)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) value = value << 8 | take_byte(in);
    return value;
}

static inline uint64_t take_u64(struct feed *in)
{
    uint64_t high = take_u32(in);
    return high << 32 | take_u32(in);
}

static inline float take_bits(struct feed *in) /* any bit pattern of a float */
{
    uint32_t bits = take_u32(in);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* FNV-1a (Fowler, Noll and Vo), 64 bits. Makes choices that the input does not encode. */
static inline uint64_t input_hash(const uint8_t *bytes, size_t size)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 0x100000001B3u;
    return hash ^ hash >> 29;
}

static inline uint64_t input_random(uint64_t *state) /* splitmix64 (Steele et al. 2014) */
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Copies exactly `size` bytes, so that a sanitizer sees their end. */
static inline void *exact_copy(const void *bytes, size_t size)
{
    void *copy = malloc(size ? size : 1);
    require(copy != NULL, "memory for the test itself");
    return size ? memcpy(copy, bytes, size) : copy;
}

static inline char *text_copy(const void *bytes, size_t size) /* ends in 0 */
{
    char *copy = malloc(size + 1);
    require(copy != NULL, "memory for the test itself");
    if (size) memcpy(copy, bytes, size);
    copy[size] = 0;
    return copy;
}

/* ---- counted memory; allocation number fail_at, from 0, fails unless it is negative ---- */
struct counted {
    size_t now, max;
    long calls, fail_at;
};

static inline void *counted_alloc(void *user, size_t bytes)
{
    struct counted *c = user;
    if (c->calls++ == c->fail_at) return NULL;
    c->now += bytes;
    if (c->now > c->max) c->max = c->now;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static inline void counted_free(void *user, void *memory, size_t bytes)
{
    struct counted *c = user;
    require(bytes <= c->now, "memory is freed once, with its size");
    c->now -= bytes;
    free(memory);
}

static inline rapt_allocator counted_allocator(struct counted *c)
{
    return (rapt_allocator){counted_alloc, counted_free, c};
}

/* Lets one allocation fail for one input in four, among the first `calls`. */
static inline struct counted counted_by(uint64_t hash, long calls)
{
    return (struct counted){.fail_at = hash % 4 == 0 ? (long)((hash >> 8) % (uint64_t)calls) : -1};
}

/* Tells whether an allocation failed, so that a call may have run out of memory. */
static inline bool may_lack_memory(const struct counted *c)
{
    return c->fail_at >= 0 && c->calls > c->fail_at;
}

/* Returns how much memory may be used to read files of `size` bytes together, before it is known
   that their names, shapes and configuration agree. Every reader keeps to this limit. For small
   inputs many targets check a stricter law of their reader. */
static inline size_t memory_limit(size_t size)
{
    return 8 * size + (32 << 20);
}

/* ---- arrays of floats between guard bytes: a write to the guards is found when the array is
   freed; AddressSanitizer reports a read at once ---- */

enum { ARRAY_GUARD = 256, ARRAY_FILL = 0x7F };

/* Allocates an array whose bytes are all ARRAY_FILL, which makes floats of 3.4e38. It begins
   `shift` floats after a 64-byte boundary. */
static inline float *array_shifted(size_t count, size_t shift)
{
    size_t before = ARRAY_GUARD + shift * sizeof(float), bytes = count * sizeof(float);
    char *base = aligned_alloc(64, (before + bytes + ARRAY_GUARD + 63) / 64 * 64);
    require(base != NULL, "memory for the test itself");
    memset(base, ARRAY_FILL, before + bytes + ARRAY_GUARD);
    ASAN_POISON_MEMORY_REGION(base, before);
    ASAN_POISON_MEMORY_REGION(base + before + bytes, ARRAY_GUARD);
    return (float *)(void *)(base + before);
}

static inline float *array_of(size_t count)
{
    return array_shifted(count, 0);
}

/* Allocates an array of pseudorandom numbers in [-1, 1). */
static inline float *array_uniform(size_t count, size_t shift, uint64_t seed)
{
    float *x = array_shifted(count, shift);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)((double)(input_random(&seed) >> 40) * 0x1p-23 - 1);
    return x;
}

static inline void array_zero(float *x, size_t count)
{
    if (count) memset(x, 0, count * sizeof *x);
}

static inline void array_free_shifted(float *x, size_t count, size_t shift)
{
    if (!x) return;
    size_t before = ARRAY_GUARD + shift * sizeof *x, bytes = count * sizeof *x;
    unsigned char *base = (unsigned char *)x - before;
    ASAN_UNPOISON_MEMORY_REGION(base, before);
    ASAN_UNPOISON_MEMORY_REGION(base + before + bytes, ARRAY_GUARD);
    for (size_t i = 0; i < before; i++)
        require(base[i] == ARRAY_FILL, "nothing is written before an array");
    for (size_t i = 0; i < ARRAY_GUARD; i++)
        require(base[before + bytes + i] == ARRAY_FILL, "nothing is written after an array");
    free(base);
}

static inline void array_free(float *x, size_t count)
{
    array_free_shifted(x, count, 0);
}

static inline bool array_finite(const float *x, size_t count)
{
    bool finite = true;
    for (size_t i = 0; i < count; i++) finite = finite && isfinite(x[i]);
    return finite;
}

static inline bool array_same(const float *a, const float *b, size_t count)
{
    return count == 0 || memcmp(a, b, count * sizeof *a) == 0;
}

/* ---- bytes with a path; only if _GNU_SOURCE is defined ---- */

#ifdef _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

/* Writes the bytes to a file in memory and returns its path. Both are valid until the next call;
   the file stays open for the whole run. */
static inline const char *memory_path(const void *bytes, size_t size)
{
    static int handle = -1;
    static char path[32];
    if (handle < 0) {
        handle = memfd_create("file", 0);
        require(handle >= 0, "a file in memory");
        snprintf(path, sizeof path, "/proc/self/fd/%d", handle);
    }
    require(ftruncate(handle, 0) == 0, "an empty file");
    require(pwrite(handle, bytes, size, 0) == (ssize_t)size, "a written file");
    return path;
}
#endif

#endif
