/* util.h - arithmetic for every layer: minimum, maximum, quotients rounded up, multiples, and
   elementary functions of doubles. */
#ifndef RAPT_LIB_UTIL_H
#define RAPT_LIB_UTIL_H

#include <float.h>
#include <stddef.h>

/* Each operation on floats must round to float, or results would depend on the compiler. */
_Static_assert(
    FLT_EVAL_METHOD == 0,
    "float arithmetic has excess precision: with gcc, use -fexcess-precision=fast for s390 "
    "or -msse2 -mfpmath=sse for 32-bit x86");

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

/* Returns n / part rounded up, for n >= 0 and part > 0. Cannot overflow. */
static inline int rapt__ceil_div(int n, int part)
{
    return n / part + (n % part != 0);
}
static inline size_t rapt__ceil_div_size(size_t n, size_t part)
{
    return n / part + (n % part != 0);
}

/* Rounds n up to a multiple of `part`. The caller ensures that the result does not overflow. */
static inline int rapt__round_up(int n, int part)
{
    return rapt__ceil_div(n, part) * part;
}
static inline size_t rapt__round_up_size(size_t n, size_t part)
{
    return rapt__ceil_div_size(n, part) * part;
}

/* ---- numbers.c: elementary functions of doubles. With SLEEF, their results are bit-identical on
   every machine. Any thread may call them. ---- */
void rapt__sincos(double x, double *sine, double *cosine);
double rapt__exp(double x);
double rapt__log(double x);
double rapt__pow(double x, double y);

#endif
