/* cache.c - whether rows of memory collide in the cache, how large it is, and how many lines of one
   set it holds: what the system says of both levels, read once. It decides what is packed, never a
   result. */
#include "base/base.h"

#include <stdatomic.h>
#include <unistd.h>

struct caches {
    uint32_t way;             /* bytes of a way of the second level, a power of two */
    uint16_t ways, near_ways; /* how many; those of the first level */
};

/* What is assumed where the system says nothing: 1 MB of 16 ways behind a first level of 8. */
static const struct caches usual = {1 << 16, 16, 8};

#ifdef _SC_LEVEL2_CACHE_ASSOC
static bool plausible(long way, long ways)
{
    return way >= 1 << 12 && way <= 1 << 24 && (way & (way - 1)) == 0 && ways <= UINT16_MAX;
}

static struct caches read_caches(void)
{
    struct caches c = usual;
    long size = sysconf(_SC_LEVEL2_CACHE_SIZE), ways = sysconf(_SC_LEVEL2_CACHE_ASSOC);
    long near = sysconf(_SC_LEVEL1_DCACHE_ASSOC), way = ways > 0 ? size / ways : 0;
    if (plausible(way, ways)) c.way = (uint32_t)way, c.ways = (uint16_t)ways;
    if (near > 0 && near <= UINT16_MAX) c.near_ways = (uint16_t)near;
    return c;
}
#else
static struct caches read_caches(void)
{
    return usual;
}
#endif

/* Zeros until first asked for. Every thread finds the same, so the order of writes does not
   matter. */
static _Atomic(struct caches) caches;

static struct caches the_caches(void)
{
    struct caches c = atomic_load_explicit(&caches, memory_order_relaxed);
    if (c.way == 0) {
        c = read_caches();
        atomic_store_explicit(&caches, c, memory_order_relaxed);
    }
    return c;
}

size_t rapt__second_level_size(void)
{
    struct caches c = the_caches();
    return (size_t)c.way * c.ways;
}

int rapt__first_level_ways(void)
{
    return the_caches().near_ways;
}

bool rapt__rows_collide(ptrdiff_t stride, int rows)
{
    enum { LINE = 64 };
    struct caches c = the_caches();
    size_t apart = (size_t)stride * sizeof(float),
           step = apart & (~apart + 1); /* its power of two */
    step = step < LINE ? LINE : step > c.way ? c.way : step;
    return (size_t)rows * step > (size_t)c.way * c.ways / 2;
}
