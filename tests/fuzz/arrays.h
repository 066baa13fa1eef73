/* arrays.h - arrays of floats between guard bytes. A write to the guards is found when the array is
   freed; AddressSanitizer reports a read at once. */
#ifndef RAPT_TESTS_FUZZ_ARRAYS_H
#define RAPT_TESTS_FUZZ_ARRAYS_H

#include "fuzz.h"

#include <math.h>

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, size)   ((void)(memory), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(memory, size) ((void)(memory), (void)(size))
#endif

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

#endif
