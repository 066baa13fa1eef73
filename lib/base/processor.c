/* processor.c - detects instruction sets, caches, and whether Intel made the processor. */
#define _GNU_SOURCE /* syscall */
#include "base/base.h"

#include <stdatomic.h>
#include <unistd.h>

/* ---- instruction sets ----

   On x86-64 the processor must support an instruction set (CPUID) and the operating system must
   save its registers (XGETBV); see Intel 64 and IA-32 Architectures Software Developer's Manual,
   volume 1, sections 14.3 and 15.2. On arm64 NEON is always present. */

#if defined(__x86_64__)
#include <cpuid.h>

#if defined(__linux__)
#include <errno.h>
#include <sys/syscall.h>

/* Returns the registers that this process may use, as bits of XCR0, or 0 if the system does not
   report them. Linux clears some bits until the process requests them with ARCH_REQ_XCOMP_PERM
   (Linux 5.16, Documentation/arch/x86/xstate.rst). */
static uint64_t permitted_state(void)
{
    enum { GET_PERMISSION = 0x1022 }; /* ARCH_GET_XCOMP_PERM */
    uint64_t state = 0;
    const int before = errno;
    const bool known = syscall(SYS_arch_prctl, GET_PERMISSION, &state) == 0;

    errno = before;
    return known ? state : 0;
}
#else
static uint64_t permitted_state(void)
{
    return 0;
}
#endif

static uint32_t saved_state(void) /* XCR0: the registers that the operating system saves */
{
    uint32_t low, high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

bool rapt__processor_has(rapt_isa isa)
{
    unsigned a, b, c, d, a7, b7, c7, d7;
    uint32_t vectors = 1u << 12 | 1u << 27 | 1u << 28 | 1u << 29; /* FMA, XGETBV, AVX, F16C */
    uint32_t foundation = 1u << 16 | 1u << 17;                    /* AVX-512 F and DQ */

    if (isa == RAPT_ISA_SCALAR) return true;
    if (isa != RAPT_ISA_AVX2 && isa != RAPT_ISA_AVX512) return false;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & vectors) != vectors) return false;
    if (!__get_cpuid_count(7, 0, &a7, &b7, &c7, &d7)) return false;
    if (isa == RAPT_ISA_AVX2) return b7 >> 5 & 1 && (saved_state() & 0x06) == 0x06;
    return b7 >> 5 & 1 && (b7 & foundation) == foundation && (saved_state() & 0xe6) == 0xe6;
}

bool rapt__processor_dots(rapt_isa isa)
{
    unsigned a, b, c, d;

    if (!rapt__processor_has(isa)) return false;
    if (isa == RAPT_ISA_AVX512) /* AVX512_VNNI */
        return __get_cpuid_count(7, 0, &a, &b, &c, &d) && c >> 11 & 1;
    return isa == RAPT_ISA_AVX2 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && a >> 4 & 1;
}

bool rapt__processor_tiles(void)
{
    unsigned a, b, c, d;
    uint32_t tiles = 1u << 24 | 1u << 25;        /* AMX-TILE, AMX-INT8 */
    uint32_t shapes = 1u << 17, data = 1u << 18; /* in XCR0 */

    return rapt__processor_has(RAPT_ISA_AVX512) && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
           (d & tiles) == tiles && (saved_state() & (shapes | data)) == (shapes | data) &&
           (permitted_state() & data) != 0;
}

bool rapt__processor_tiles_bf16(void)
{
    unsigned a, b, c, d;

    return rapt__processor_tiles() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 22 & 1;
}

bool rapt__processor_bf16(void)
{
    unsigned a, b, c, d;

    return rapt__processor_has(RAPT_ISA_AVX512) && __get_cpuid_count(7, 1, &a, &b, &c, &d) &&
           a >> 5 & 1;
}

bool rapt__processor_by_intel(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(0, &a, &b, &c, &d) && b == signature_INTEL_ebx;
}
#elif defined(__aarch64__)
#if defined(__ARM_FEATURE_DOTPROD)
static bool has_sdot(void) /* the compiler may use sdot anywhere in the library */
{
    return true;
}
#elif defined(__linux__)
#include <sys/auxv.h>

static bool has_sdot(void)
{
    return getauxval(AT_HWCAP) >> 20 & 1; /* HWCAP_ASIMDDP */
}
#else
static bool has_sdot(void)
{
    return false;
}
#endif

bool rapt__processor_dots(rapt_isa isa)
{
    return isa == RAPT_ISA_NEON && has_sdot();
}

bool rapt__processor_has(rapt_isa isa)
{
    return isa == RAPT_ISA_SCALAR || isa == RAPT_ISA_NEON;
}

bool rapt__processor_tiles(void)
{
    return false;
}

bool rapt__processor_tiles_bf16(void)
{
    return false;
}

bool rapt__processor_bf16(void)
{
    return false;
}

bool rapt__processor_by_intel(void)
{
    return false;
}
#else
bool rapt__processor_dots(rapt_isa isa)
{
    (void)isa;
    return false;
}

bool rapt__processor_has(rapt_isa isa)
{
    return isa == RAPT_ISA_SCALAR;
}

bool rapt__processor_tiles(void)
{
    return false;
}

bool rapt__processor_tiles_bf16(void)
{
    return false;
}

bool rapt__processor_bf16(void)
{
    return false;
}

bool rapt__processor_by_intel(void)
{
    return false;
}
#endif

/* ---- caches: reads the sizes and associativity of the caches from the system once, and determines
   whether rows of an array compete for the same cache sets. How products are packed, divided and
   prefetched depends on these values, but results never do. ---- */

enum cache_level { FIRST, SECOND, LEVELS };

struct caches { /* small enough for atomic access without a lock */
    uint16_t ways[LEVELS];
    uint8_t log_way[LEVELS]; /* log2 of the bytes per way */
    bool third_is_far;       /* see rapt__third_level_far */
};

/* Assumed where the system reports no plausible sizes: an L1 data cache of 32 KB with 8 ways and an
   L2 cache of 1 MB with 16 ways. */
static const struct caches usual = {{8, 16}, {12, 16}, false};

#ifdef _SC_LEVEL2_CACHE_ASSOC
static void read_level(struct caches *c, enum cache_level level, long size, long ways)
{
    long way = ways > 0 ? size / ways : 0;
    if (way < 1 << 10 || way > 1 << 24 || (way & (way - 1)) != 0 || ways > UINT16_MAX) return;
    c->ways[level] = (uint16_t)ways;
    for (c->log_way[level] = 0; way > 1; way /= 2) c->log_way[level]++;
}

/* On AMD, where only a few cores share an L3 cache, the system may report the sum of all L3 caches:
   older versions of glibc do not read CPUID leaf 8000001Dh. A large L3 cache is therefore assumed
   to be shared by the whole die only on Intel. */
static bool third_is_far(void)
{
    enum { OF_FEW_CORES = 64 << 20 }; /* maximum, in bytes */
    return rapt__processor_by_intel() && sysconf(_SC_LEVEL3_CACHE_SIZE) > OF_FEW_CORES;
}

static struct caches read_caches(void)
{
    struct caches c = usual;
    read_level(&c, FIRST, sysconf(_SC_LEVEL1_DCACHE_SIZE), sysconf(_SC_LEVEL1_DCACHE_ASSOC));
    read_level(&c, SECOND, sysconf(_SC_LEVEL2_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_ASSOC));
    c.third_is_far = third_is_far();
    return c;
}
#else
static struct caches read_caches(void)
{
    return usual;
}
#endif

/* The result of read_caches; zero until first used. All threads compute the same values, so the
   order of writes does not matter. */
static _Atomic(struct caches) caches;

static struct caches the_caches(void)
{
    struct caches c = atomic_load_explicit(&caches, memory_order_relaxed);
    if (c.ways[FIRST] == 0) {
        c = read_caches();
        atomic_store_explicit(&caches, c, memory_order_relaxed);
    }
    return c;
}

/* Returns how much of a cache level a column of `rows` rows occupies, in bytes. Let `step` be the
   largest power of two that divides the distance between rows, but at least a line and at most a
   way. The rows map only to sets that are `step` bytes apart, so each row counts as `step` bytes,
   including the lines that no row can use. If the result exceeds the size of the cache, some sets
   would need more ways than they have. */
static size_t filled(struct caches c, enum cache_level level, ptrdiff_t stride, int rows)
{
    enum { LINE = 64 };
    size_t way = (size_t)1 << c.log_way[level], apart = (size_t)stride * sizeof(float),
           step = apart & (~apart + 1); /* the largest power of two that divides the stride */
    step = step < LINE ? LINE : step > way ? way : step;
    return (size_t)rows * step;
}

static size_t size_of_level(struct caches c, enum cache_level level)
{
    return (size_t)c.ways[level] << c.log_way[level];
}

size_t rapt__second_level_size(void)
{
    return size_of_level(the_caches(), SECOND);
}

bool rapt__third_level_far(void)
{
    return the_caches().third_is_far;
}

/* Unless all cores of a die share the L3 cache, as on Intel's servers, a core's share of it is near
   and holds several megabytes. The L2 cache and this share together are assumed to hold SHARE times
   as much as the L2 cache. */
size_t rapt__near_size(void)
{
    enum { SHARE = 8 };
    struct caches c = the_caches();
    return size_of_level(c, SECOND) * (c.third_is_far ? 1 : SHARE);
}

int rapt__first_level_ways(void)
{
    return the_caches().ways[FIRST];
}

bool rapt__rows_collide(ptrdiff_t stride, int rows)
{
    struct caches c = the_caches();
    return filled(c, SECOND, stride, rows) > size_of_level(c, SECOND) / 2;
}

bool rapt__tiles_collide(ptrdiff_t stride, int rows)
{
    struct caches c = the_caches();
    return filled(c, FIRST, stride, rows) > size_of_level(c, FIRST) / 2 * 3;
}
