/* roundings.h - the unit of every tolerance. Errors are bounded by a number of roundings of what is
   added up, not by a constant that was tuned until a test passed. */
#ifndef RAPT_TESTS_ROUNDINGS_H
#define RAPT_TESTS_ROUNDINGS_H

#include <fenv.h>
#include <math.h>
#include <stdbool.h>

static const double ROUNDING = 0x1p-23; /* the distance from 1 to the next float */

/* Tells whether two numbers are equal (infinities, too) or at most `roundings` roundings of `size`
   apart, where `size` is the greatest magnitude that was rounded. NaN equals nothing. */
static inline bool within_roundings(double got, double wanted, double roundings, double size)
{
    return got == wanted || fabs(got - wanted) <= ROUNDING * roundings * size;
}

/* The modes that a host program may have set. */
static const int rounding_modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
enum { ROUNDING_MODES = sizeof rounding_modes / sizeof *rounding_modes };

#endif
