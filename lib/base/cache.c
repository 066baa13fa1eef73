/* cache.c - reads the sizes and associativity of the caches from the system once, and determines
   whether rows of an array compete for the same cache sets. Packing and prefetching depend on these
   values, but results never do. */
#include "base/base.h"

#include <stdatomic.h>
#include <unistd.h>

enum cache_level { FIRST, SECOND, LEVELS };

struct caches { /* small enough for atomic access without a lock */
    uint16_t ways[LEVELS];
    uint8_t log_way[LEVELS]; /* log2 of the bytes per way */
    bool third_is_far;       /* see rapt__third_level_far */
};

/* Assumed if the system reports nothing: an L1 data cache of 32 KB with 8 ways and an L2 cache of 1
   MB with 16 ways. */
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

/* Zero until first used. All threads compute the same values, so the order of writes does not
   matter. */
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

/* Returns how much of a cache level a column of `rows` rows occupies, in bytes. Rows whose distance
   is a multiple of a power of two, `step`, map only to sets that are `step` bytes apart, so each
   row counts as `step` bytes, including the lines that no row can use. If the result exceeds the
   size of the cache, a set would need more ways than it has. */
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
   and holds several megabytes. L2 cache and share together are assumed to be SHARE times the L2
   cache. */
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
