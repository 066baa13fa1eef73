/* judges.h - elementary functions of doubles that judge the library's vector functions: those of
   the C library and, if the library was built with it, of SLEEF, whose code has nothing in common
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
/* Wrappers, because the functions of the header return a const double, which is another type. */
static double sleef_exp(double x)
{
    return Sleef_cinz_expd1_u10purec(x);
}
static double sleef_exp2(double x)
{
    return Sleef_cinz_exp2d1_u10purec(x);
}
static double sleef_log(double x)
{
    return Sleef_cinz_logd1_u10purec(x);
}
static double sleef_tanh(double x)
{
    return Sleef_cinz_tanhd1_u10purec(x);
}
static double sleef_erfc(double x)
{
    return Sleef_cinz_erfcd1_u15purec(x);
}
static const struct elementary of_sleef = {sleef_exp, sleef_exp2, sleef_log, sleef_tanh,
                                           sleef_erfc};
static const struct elementary *const second_judge = &of_sleef;
#else
static const struct elementary *const second_judge = &of_libc;
#endif

#endif
