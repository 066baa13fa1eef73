/* helpers.h - shared by the tests of lib/op: an execution context, arrays, panels, and two judges:
   difference quotients of a definition, and equality of bits for any number of threads and every
   instruction set. */
#ifndef RAPT_TESTS_OP_HELPERS_H
#define RAPT_TESTS_OP_HELPERS_H

#include "op/op.h"
#include "roundings.h"
#include "skips.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

/* Maps an oracle's activation (oracle/op.h) to that of the kernels; negative: none. */
static inline enum activation activation_of(int oracle)
{
    return (enum activation)(ACTIVATION_RELU + (oracle < 0 ? -1 : oracle));
}

/* ---- an execution context ---- */

typedef void work(const struct exec_context *exec, void *argument);

struct call {
    work *run;
    void *argument;
    float *pack;
    bool openblas;
};

static inline void enter_call(struct team *team, void *argument)
{
    const struct call *call = argument;
    struct exec_context exec = {team, rapt__kernels(), call->pack,
                                call->openblas ? &rapt__products_all : NULL, NULL};
    call->run(&exec, call->argument);
}

static inline void run_openblas(int threads, bool openblas, work *run, void *argument)
{
    struct call call = {run, argument, malloc(PACK_FLOATS * sizeof(float)), openblas};
    assert_non_null(call.pack);
    rapt__team_run(threads, enter_call, &call);
    free(call.pack);
}

static inline void run_exec(int threads, work *run, void *argument)
{
    run_openblas(threads, false, run, argument);
}

/* ---- arrays: of exactly the requested size, so that a sanitizer detects one element too many
   ---- */

static inline float *floats(size_t n)
{
    float *x = calloc(n ? n : 1, sizeof *x);
    assert_non_null(x);
    return x;
}

static inline float random_float(uint64_t seed, size_t i) /* in [-1, 1) */
{
    return (float)(2 * rapt__uniform(seed, i) - 1);
}

static inline float *random_floats(size_t n, uint64_t seed)
{
    float *x = floats(n);
    for (size_t i = 0; i < n; i++) x[i] = random_float(seed, i);
    return x;
}

static inline double *doubles(const float *x, size_t n) /* x NULL: zeros */
{
    double *y = calloc(n ? n : 1, sizeof *y);
    assert_non_null(y);
    for (size_t i = 0; x && i < n; i++) y[i] = (double)x[i];
    return y;
}

/* ---- panels ---- */

static inline size_t panel_index(int in, int o, int i) /* of W[o][i], W [out][in] */
{
    return (size_t)(o / LANES) * (size_t)in * LANES + (size_t)i * LANES + (size_t)(o % LANES);
}

static inline float *to_panels(const float *w, int out, int in)
{
    float *panels = floats(rapt__panels_size((size_t)out, (size_t)in));
    for (int o = 0; o < out; o++)
        for (int i = 0; i < in; i++)
            panels[panel_index(in, o, i)] = w[(size_t)o * (size_t)in + (size_t)i];
    return panels;
}

/* Fails if a lane of padding, after the outputs, is not 0. */
static inline void assert_padding(const float *panels, int out, int in)
{
    for (int o = out; o % LANES; o++)
        for (int i = 0; i < in; i++) assert_true(panels[panel_index(in, o, i)] == 0);
}

/* ---- judges ---- */

static inline void assert_near(double got, double wanted, double roundings)
{
    if (within_roundings(got, wanted, roundings, 1 + fabs(wanted))) return;
    fail_msg("got %.9g, wanted %.9g +- %g roundings", got, wanted, roundings);
}

static inline void assert_all_near(const float *got, const double *wanted, size_t n,
                                   double roundings)
{
    for (size_t i = 0; i < n; i++) assert_near((double)got[i], wanted[i], roundings);
}

/* The rounding error of a sum of `terms` products between -1 and 1, in any order. */
#define OF_A_SUM(terms) (4 + 0.25 * (terms))

/* Defines one number as a function of the argument. */
typedef double definition(const void *argument);

/* Returns the derivative of f by *x, as a central difference quotient. */
static inline double slope(definition *f, const void *argument, double *x)
{
    double kept = *x, h = 1e-4, above, below;
    *x = kept + h;
    above = f(argument);
    *x = kept - h;
    below = f(argument);
    *x = kept;
    return (above - below) / (2 * h);
}

/* Compares up to `max` of n gradients, spread over all of them, with the slopes of f by x. */
static inline void assert_slopes(definition *f, const void *argument, double *x,
                                 const float *gradient, size_t n, size_t max, double roundings)
{
    size_t step = n > max ? n / max : 1;
    for (size_t i = 0; i < n; i += step)
        assert_near((double)gradient[i], slope(f, argument, &x[i]), roundings);
}

/* Runs the work with 1, 2, 3 and 7 threads on every instruction set of this machine, each time
   starting from out [n] as given. The bits must be the same; those of the scalar set, which may
   lack a fused multiply-add, only among themselves. Leaves the result of the fastest set in out. */
static inline void assert_same_bits(work *run, void *argument, float *out, size_t n)
{
    static const int threads[] = {1, 2, 3, 7};
    rapt_isa sets[1 + EQUAL_SETS] = {RAPT_ISA_SCALAR}, best = rapt_isa_used();
    int count = 1 + equal_sets("op, instruction sets", sets + 1);
    float *start = floats(n), *first = floats(n);
    memcpy(start, out, n * sizeof *out);
    for (int s = 0; s < count; s++) {
        assert_int_equal(rapt_isa_use(sets[s]), RAPT_OK);
        for (int t = 0; t < COUNT(threads); t++) {
            memcpy(out, start, n * sizeof *out);
            run_exec(threads[t], run, argument);
            if (t == 0 && s < 2) memcpy(first, out, n * sizeof *out);
            assert_memory_equal(out, first, n * sizeof *out);
        }
    }
    assert_int_equal(rapt_isa_use(best), RAPT_OK);
    free(start);
    free(first);
}

#endif
