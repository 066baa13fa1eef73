/* roundings.h - the unit of every tolerance: an error is allowed as so many roundings of what is
   added up, not as a constant that was tuned until a test passed. */
#ifndef RAPT_TESTS_ROUNDINGS_H
#define RAPT_TESTS_ROUNDINGS_H

#include <fenv.h>
#include <math.h>
#include <stdbool.h>

static const double ROUNDING = 0x1p-23; /* of 1: the distance of floats from there on */

/* Equal (infinities too), or so many roundings of `size` apart: size is the greatest magnitude that
   was rounded on the way. NaN equals nothing. */
static inline bool within_roundings(double got, double wanted, double roundings, double size)
{
    return got == wanted || fabs(got - wanted) <= ROUNDING * roundings * size;
}

/* The modes a host may have set. */
static const int rounding_modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
enum { ROUNDING_MODES = sizeof rounding_modes / sizeof *rounding_modes };

#endif
