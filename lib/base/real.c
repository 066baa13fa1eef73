/* real.c - elementary functions in double precision for positions, schedules, sampling and
   penalties, where the last bit affects the results of the library. With SLEEF (RAPT_HAVE_SLEEF)
   values are within 1 ulp and depend only on the arguments: the variants used here (cinz ... purec)
   need no fused multiply-add and run the same code on every processor. Without SLEEF, they come
   from the C library, and the last bit differs between libraries and processors. */
#include "base/util.h"

#ifdef RAPT_HAVE_SLEEF
#include <sleef.h>
#define OF_DOUBLE(name) Sleef_cinz_##name##d1_u10purec

void rapt__sincos(double x, double *sine, double *cosine)
{
    Sleef_double_2 both = OF_DOUBLE(sincos)(x);
    *sine = both.x;
    *cosine = both.y;
}
#else
#include <math.h>
#define OF_DOUBLE(name) name

void rapt__sincos(double x, double *sine, double *cosine)
{
    *sine = sin(x);
    *cosine = cos(x);
}
#endif

double rapt__exp(double x)
{
    return OF_DOUBLE(exp)(x);
}

double rapt__log(double x)
{
    return OF_DOUBLE(log)(x);
}

double rapt__pow(double x, double y)
{
    return OF_DOUBLE(pow)(x, y);
}
