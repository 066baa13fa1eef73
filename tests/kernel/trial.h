/* trial.h - shared by the tests of kernels: iteration over the instruction sets of this machine,
   the exact table that they must equal, random numbers, and memory with guard pages. */
#ifndef RAPT_TESTS_KERNEL_TRIAL_H
#define RAPT_TESTS_KERNEL_TRIAL_H

#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* mmap with MAP_ANONYMOUS */
#endif

#include "base/base.h"
#include "kernel/kernel.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* Plain C with true fma, which defines every bit. On x86 it is kernel/table.c compiled once more
   for the tests (RAPT_ISA=exact, simd_scalar.h, -mfma); on arm64 it is the scalar table.
   WebAssembly has no fma. */
#ifdef __x86_64__
extern const struct kernels rapt__kernels_exact;
static inline const struct kernels *exact_kernels(void)
{
    return rapt__processor_has(RAPT_ISA_AVX2) ? &rapt__kernels_exact : NULL; /* NULL without fma */
}
static inline bool is_exact(const struct kernels *k)
{
    return k->isa != RAPT_ISA_SCALAR;
}
#elif defined(__wasm__)
static inline const struct kernels *exact_kernels(void)
{
    return NULL;
}
static inline bool is_exact(const struct kernels *k)
{
    (void)k;
    return false;
}
#else
static inline const struct kernels *exact_kernels(void)
{
    return rapt__kernels_of(RAPT_ISA_SCALAR);
}
static inline bool is_exact(const struct kernels *k)
{
    return k != NULL;
}
#endif

/* Iterates over the tables of this machine: for (int i = 0; (k = kernels_at(&i)) != NULL;) */
static inline const struct kernels *kernels_at(int *isa)
{
    while (rapt_isa_name((rapt_isa)*isa) != NULL) {
        const struct kernels *k = rapt__kernels_of((rapt_isa)(*isa)++);
        if (k != NULL) return k;
    }
    return NULL;
}

/* Returns how much larger the errors of plain C without fma may be. */
static inline double slack(const struct kernels *k)
{
    return is_exact(k) ? 1 : 3;
}

/* ---- numbers ---- */

static inline double uniform(uint64_t key, size_t i)
{
    return rapt__uniform(key, i);
}

static inline void fill(float *x, size_t n, double low, double high, uint64_t key)
{
    for (size_t i = 0; i < n; i++) x[i] = (float)(low + (high - low) * uniform(key, i));
}

static inline void sprinkle(float *x, size_t n, uint64_t key) /* every eighth is special */
{
    static const float odd[] = {NAN,     INFINITY, -INFINITY, -0.0f, 1e-40f, -1e-40f,
                                3.4e38f, -3.4e38f, 0x1p-126f, 0,     88.7f,  -104};
    for (size_t i = 0; i < n; i++)
        if (uniform(key, i) < 0.125) x[i] = odd[(size_t)(uniform(key + 1, i) * 12)];
}

static inline double ulp(double x) /* the distance between floats around x */
{
    int e;

    if (!(fabs(x) >= 0x1p-126)) return 0x1p-149;
    frexp(x, &e);
    return ldexp(1, e - 24);
}

static inline void close_to(double got, double want, double error)
{
    if (isnan(want) ? isnan(got) : got == want || fabs(got - want) <= error) return;
    fail_msg("%.9g, should be %.9g, error %.3g, allowed %.3g", got, want, fabs(got - want), error);
}

static inline bool same_bits(const float *x, const float *y, size_t n) /* any NaN equals any */
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(x + i, y + i, sizeof *x) != 0 && !(isnan(x[i]) && isnan(y[i]))) return false;
    return true;
}

/* ---- memory between two pages that may not be touched ---- */

struct fenced {
    char *map;
    size_t page, bytes; /* of one fence; of the memory between */
};

static inline struct fenced fenced_make(size_t floats)
{
    struct fenced f = {NULL, (size_t)sysconf(_SC_PAGESIZE), 0};

    f.bytes = (floats * sizeof(float) + 512 + f.page - 1) / f.page * f.page;
    f.map = mmap(NULL, f.bytes + 2 * f.page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(f.map != MAP_FAILED);
    assert_int_equal(mprotect(f.map + f.page, f.bytes, PROT_READ | PROT_WRITE), 0);
    memset(f.map + f.page, 0xa5, f.bytes);
    return f;
}

static inline void fenced_free(struct fenced *f)
{
    munmap(f->map, f->bytes + 2 * f->page);
}

/* Returns n floats that begin right after the first fence or end right before the second. */
static inline float *fenced_floats(const struct fenced *f, size_t n, bool at_end)
{
    char *from = f->map + f->page;
    return (float *)(void *)(at_end ? from + f->bytes - n * sizeof(float) : from);
}

/* Checks that nothing was written next to those n floats, and restores the initial content. */
static inline void fenced_check(const struct fenced *f, size_t n, bool at_end)
{
    char *own = (char *)fenced_floats(f, n, at_end),
         *free = at_end ? own - 256 : own + n * sizeof(float);

    for (int i = 0; i < 256; i++) assert_int_equal((unsigned char)free[i], 0xa5);
    memset(own, 0xa5, n * sizeof(float));
}

#endif
