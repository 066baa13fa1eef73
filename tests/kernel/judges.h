/* judges.h - the elementary functions of doubles that judge those of the library's vectors: of the
   C library and, where the library was built with it, of SLEEF, whose code has nothing in common
   with it. */
#ifndef RAPT_TESTS_JUDGES_H
#define RAPT_TESTS_JUDGES_H

#include <math.h>

struct elementary {
    double (*exp)(double), (*exp2)(double), (*log)(double), (*tanh)(double), (*erfc)(double);
};

static const struct elementary of_libc = {exp, exp2, log, tanh, erfc};

#ifdef RAPT_HAVE_SLEEF
#include <sleef.h>
static const struct elementary of_sleef = {Sleef_cinz_expd1_u10purec, Sleef_cinz_exp2d1_u10purec,
                                           Sleef_cinz_logd1_u10purec, Sleef_cinz_tanhd1_u10purec,
                                           Sleef_cinz_erfcd1_u15purec};
static const struct elementary *const second_judge = &of_sleef;
#else
static const struct elementary *const second_judge = &of_libc;
#endif

#endif
