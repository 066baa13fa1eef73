/* cache.c - whether rows of memory collide in the cache, how large it is, and how many lines of one
   set it holds: what the system says of both levels, read once. It decides what is packed, never a
   result. */
#include "base/base.h"

#include <stdatomic.h>
#include <unistd.h>

struct cache_level {
    uint32_t way, ways; /* bytes of a way, a power of two; how many */
};

/* What is assumed where the system says nothing: 1 MB of 16 ways. */
static const struct cache_level usual = {1 << 16, 16};

enum { USUAL_WAYS = 8, MAX_WAYS = 1024 }; /* of the first level; where the system says nothing */

#ifdef _SC_LEVEL2_CACHE_ASSOC
static int read_first_level_ways(void)
{
    long ways = sysconf(_SC_LEVEL1_DCACHE_ASSOC);
    return ways > 0 && ways <= MAX_WAYS ? (int)ways : USUAL_WAYS;
}

static struct cache_level read_second_level(void)
{
    long size = sysconf(_SC_LEVEL2_CACHE_SIZE), ways = sysconf(_SC_LEVEL2_CACHE_ASSOC);
    long way = ways > 0 ? size / ways : 0;
    bool plausible = way >= 1 << 12 && way <= 1 << 24 && (way & (way - 1)) == 0;
    return plausible ? (struct cache_level){(uint32_t)way, (uint32_t)ways} : usual;
}
#else
static int read_first_level_ways(void)
{
    return USUAL_WAYS;
}

static struct cache_level read_second_level(void)
{
    return usual;
}
#endif

/* Zeros until first asked for. Every thread finds the same, so the order of writes does not
   matter. */
static _Atomic(struct cache_level) second_level;
static _Atomic(int) first_level_ways;

static struct cache_level the_second_level(void)
{
    struct cache_level c = atomic_load_explicit(&second_level, memory_order_relaxed);
    if (c.way == 0) {
        c = read_second_level();
        atomic_store_explicit(&second_level, c, memory_order_relaxed);
    }
    return c;
}

size_t rapt__second_level_size(void)
{
    struct cache_level c = the_second_level();
    return (size_t)c.way * c.ways;
}

int rapt__first_level_ways(void)
{
    int ways = atomic_load_explicit(&first_level_ways, memory_order_relaxed);
    if (ways == 0) {
        ways = read_first_level_ways();
        atomic_store_explicit(&first_level_ways, ways, memory_order_relaxed);
    }
    return ways;
}

bool rapt__rows_collide(ptrdiff_t stride, int rows)
{
    enum { LINE = 64 };
    struct cache_level c = the_second_level();
    size_t apart = (size_t)stride * sizeof(float),
           step = apart & (~apart + 1); /* its power of two */
    step = step < LINE ? LINE : step > c.way ? c.way : step;
    return (size_t)rows * step > (size_t)c.way * c.ways / 2;
}
