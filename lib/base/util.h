/* util.h - arithmetic on sizes and indices that every layer needs: minimum, maximum, division that
   rounds up. */
#ifndef RAPT_LIB_UTIL_H
#define RAPT_LIB_UTIL_H

#include <stddef.h>

static inline int rapt__min(int a, int b)
{
    return a < b ? a : b;
}
static inline int rapt__max(int a, int b)
{
    return a > b ? a : b;
}
static inline size_t rapt__min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}
static inline size_t rapt__max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* How many parts of `part` it takes to hold n; n >= 0, part > 0, no overflow for any n. */
static inline int rapt__ceil_div(int n, int part)
{
    return n / part + (n % part != 0);
}
static inline size_t rapt__ceil_div_size(size_t n, size_t part)
{
    return n / part + (n % part != 0);
}

/* n rounded up to a multiple of `part`; the caller knows that it fits. */
static inline int rapt__round_up(int n, int part)
{
    return rapt__ceil_div(n, part) * part;
}
static inline size_t rapt__round_up_size(size_t n, size_t part)
{
    return rapt__ceil_div_size(n, part) * part;
}

#endif
