/* quotient.h - compares a gradient in float with difference quotients of its function.

   D(h) = (f(x + h) - f(x - h)) / 2h has two errors. One is truncation, h^2/6 f''', of which |D(2h)
   - D(h)| is about three times as much. The other comes from the roundings of f, which is computed
   in float and summed in double: at most ROUNDINGS of 2^-23, relative to the sum of magnitudes of
   its terms. */
#ifndef RAPT_TESTS_QUOTIENT_H
#define RAPT_TESTS_QUOTIENT_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static const double ROUNDING = 0x1p-23;
enum { ROUNDINGS = 8 };

/* Returns the value. *magnitude: the sum of the absolute values of its terms */
typedef double objective(void *argument, double *magnitude);

static inline double difference_quotient(objective *f, void *argument, float *number, float step,
                                         double *magnitude)
{
    const float saved = *number, above = saved + step, below = saved - step;
    double size[2];
    *number = above;
    double right = f(argument, &size[0]);
    *number = below;
    double left = f(argument, &size[1]);
    *number = saved;
    *magnitude = fmax(size[0], size[1]);
    return (right - left) / ((double)above - (double)below);
}

/* Returns whether `gradient` is the slope of f in *number. *quotient: the difference quotient */
static inline bool is_slope(objective *f, void *argument, float *number, float step,
                            double gradient, double *quotient)
{
    double magnitude, waste;
    *quotient = difference_quotient(f, argument, number, step, &magnitude);
    double twice = difference_quotient(f, argument, number, 2 * step, &waste);
    double roundings = ROUNDINGS * ROUNDING * (magnitude / (double)step + fabs(gradient));
    return fabs(*quotient - gradient) <= fabs(twice - *quotient) + roundings;
}

#endif
