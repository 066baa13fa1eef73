/* ulp.c - the errors that lib/kernel/simd_math.h and lib/kernel/activation.c state, in units in the
   last place (ulp) of the exact result, measured on the library's own object code, per instruction
   set, against the C library in double. SLEEF must agree with it, and the worst argument is judged
   once more in long double.

     ulp            a sample of all floats (one in 5003), special values, and the worst arguments
                    that a run over all floats has found
     ulp all NAME   all 2^32 floats for one function, with SLEEF for one in 17: ctest -C full,
                    several minutes each */
#include "kernel/trial.h"

#include "kernel/exp2_row.h"

#include <math.h>
#include <stdio.h>

/* ---- judges: elementary functions of doubles that judge the library's vector functions: those of
   the C library and, if the library was built with it, of SLEEF, whose code has nothing in common
   with it. ---- */

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

/* The steps are primes, so that they meet all mantissas. */
enum { BLOCK = 4096, SAMPLE = 5003, SECOND_JUDGE = 17 };

/* Definitions, with their limits at an infinity. */
static const double ROOT_HALF = 0x1.6a09e667f3bcdp-1, PEAK = 0x1.9884533d43651p-2; /* phi(0) */
static const long double ROOT_HALF_LONG = 0.70710678118654752440084436210484903928L,
                         PEAK_LONG = 0.39894228040143267793994605993438186848L;

static double gelu(const struct elementary *e, double x)
{
    return isinf(x) ? fmax(x, 0) : x * (0.5 * e->erfc(-x * ROOT_HALF));
}
static long double gelu_long(long double x)
{
    return isinf(x) ? fmaxl(x, 0) : x * (0.5L * erfcl(-x * ROOT_HALF_LONG));
}
static double silu(const struct elementary *e, double x)
{
    return isinf(x) ? fmax(x, 0) : x / (1 + e->exp(-x));
}
static long double silu_long(long double x)
{
    return isinf(x) ? fmaxl(x, 0) : x / (1 + expl(-x));
}
static double gelu_slope(const struct elementary *e, double x)
{
    return isinf(x) ? x > 0 : 0.5 * e->erfc(-x * ROOT_HALF) + x * PEAK * e->exp(-x * x / 2);
}
static long double gelu_slope_long(long double x)
{
    return isinf(x) ? x > 0 : 0.5L * erfcl(-x * ROOT_HALF_LONG) + x * PEAK_LONG * expl(-x * x / 2);
}
static double silu_slope(const struct elementary *e, double x)
{
    return isinf(x) ? x > 0 : (1 + x / (1 + e->exp(x))) / (1 + e->exp(-x));
}
static long double silu_slope_long(long double x)
{
    return isinf(x) ? x > 0 : (1 + x / (1 + expl(x))) / (1 + expl(-x));
}

static void run_exp(const struct kernels *k, const float *x, float *y, size_t n)
{
    memcpy(y, x, n * sizeof *y);
    k->exp_row(y, n);
}
static void run_log(const struct kernels *k, const float *x, float *y, size_t n)
{
    memcpy(y, x, n * sizeof *y);
    k->log_row(y, n);
}
static void run_tanh(const struct kernels *k, const float *x, float *y, size_t n)
{
    memcpy(y, x, n * sizeof *y);
    k->tanh_row(y, n);
}
static void run_exp2(const struct kernels *k, const float *x, float *y, size_t n)
{
    for (size_t i = 0; i < n; i++) y[i] = x[i] > 128 ? 128 : x[i]; /* its domain */
    for (size_t i = 0; i < sizeof exp2_rows / sizeof *exp2_rows; i++)
        if (exp2_rows[i].isa == k->isa) exp2_rows[i].row(y, n);
}
static void run_gelu(const struct kernels *k, const float *x, float *y, size_t n)
{
    k->activate(ACTIVATION_GELU, x, y, n);
}
static void run_silu(const struct kernels *k, const float *x, float *y, size_t n)
{
    k->activate(ACTIVATION_SILU, x, y, n);
}
static void run_slope(const struct kernels *k, enum activation kind, const float *x, float *y,
                      size_t n)
{
    static float ones[BLOCK];
    for (int i = 0; i < BLOCK; i++) ones[i] = 1;
    k->activate_backward(kind, x, ones, y, n);
}
static void run_gelu_slope(const struct kernels *k, const float *x, float *y, size_t n)
{
    run_slope(k, ACTIVATION_GELU, x, y, n);
}
static void run_silu_slope(const struct kernels *k, const float *x, float *y, size_t n)
{
    run_slope(k, ACTIVATION_SILU, x, y, n);
}

static double exp_of(const struct elementary *e, double x)
{
    return e->exp(x);
}
static double log_of(const struct elementary *e, double x)
{
    return e->log(x);
}
static double tanh_of(const struct elementary *e, double x)
{
    return e->tanh(x);
}
static double exp2_to_128(const struct elementary *e, double x)
{
    return x < -100 ? 0 : e->exp2(x > 128 ? 128 : x);
}
static long double exp2_to_128_long(long double x)
{
    return x < -100 ? 0 : exp2l(x > 128 ? 128 : x);
}

/* bound: the error that the source states; without_fma: the bound for plain C if the compiler has
   no fused multiply-add. unit: an error is measured in ulp of the result or of this, whichever is
   greater, since slopes cross 0. worst: where a run over all floats found the greatest errors, with
   fma and without. */
struct function {
    const char *name;
    void (*run)(const struct kernels *k, const float *x, float *y, size_t n);
    double (*value)(const struct elementary *e, double x);
    long double (*precise)(long double);
    double bound, without_fma, unit;
    float worst[2];
};

static const struct function functions[] = {
    {"exp", run_exp, exp_of, expl, 0.90, 1.2, 0, {-0x1.765026p+2f, -0x1.337ad4p+5f}},
    {"exp2",
     run_exp2,
     exp2_to_128,
     exp2_to_128_long,
     0.88,
     1.1,
     0,
     {-0x1.fd536ap-2f, -0x1.f9fc6ap+6f}},
    {"log", run_log, log_of, logl, 0.88, 0.93, 0, {0x1.463a72p+0f, 0x1.69b14cp-1f}},
    {"tanh", run_tanh, tanh_of, tanhl, 0.96, 1.1, 0, {0x1.022fd6p+0f, 0x1.d33cfap-1f}},
    {"gelu", run_gelu, gelu, gelu_long, 6.7, 67, 0, {-0x1.3fb09ap+1f, -0x1.9a6fa4p+3f}},
    {"silu", run_silu, silu, silu_long, 3.6, 3.7, 0, {-0x1.9c9abep+1f, -0x1.b3b11ap+2f}},
    {"gelu_slope",
     run_gelu_slope,
     gelu_slope,
     gelu_slope_long,
     7.6,
     8.4,
     0.125,
     {-0x1.5323fap-2f, -0x1.5d6678p-2f}},
    {"silu_slope",
     run_silu_slope,
     silu_slope,
     silu_slope_long,
     3.2,
     3.3,
     0.125,
     {-0x1.0d5f5p-1f, -0x1.0ce77p-1f}},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions, SETS = RAPT_ISA_AVX512 + 1 };

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Returns 1 / ulp(x) from the bits of the exponent, because ulp() of trial.h is slow. */
static double per_ulp(double x)
{
    uint64_t bits;
    int64_t exponent;

    memcpy(&bits, &x, sizeof bits);
    exponent = (int64_t)(bits >> 52 & 2047) - 1023;
    if (exponent < -126) exponent = -126;
    bits = (uint64_t)(1023 + 23 - exponent) << 52;
    memcpy(&x, &bits, sizeof x);
    return x;
}

struct worst {
    double error; /* in ulp */
    float x, y;
};

/* Adds one value. If the exact result is not a float, the value must be the same infinity or
   NaN. */
static void judge(const struct function *f, const struct kernels *k, float x, float y, double want,
                  struct worst *w)
{
    double error = fabs((double)y - want) * per_ulp(fmax(fabs(want), f->unit));

    if (error <= w->error) return;
    if (isfinite(y) && isfinite((float)want)) {
        *w = (struct worst){error, x, y};
        return;
    }
    if (isnan(want) ? !isnan(y) : (float)want != y)
        fail_msg("%s %s(%a) is %a, should be %a", k->name, f->name, (double)x, (double)y, want);
}

/* Returns the result of both judges, which must agree to more than float precision. */
static double agreed(const struct function *f, double x)
{
    double first = f->value(&of_libc, x), second = f->value(second_judge, x);

    if (first == second || (isnan(first) && isnan(second))) return first;
    if (!(fabs(first - second) * per_ulp(fmax(fabs(first), f->unit)) <= 1e-6))
        fail_msg("%s(%a): %a by the C library, %a by SLEEF", f->name, x, first, second);
    return first;
}

/* Judges the results for n arguments on every instruction set. The second judge is called only if
   the bits of the argument are a multiple of `second`, since it costs as much as everything
   else. */
static void judge_block(const struct function *f, const float *x, size_t n, uint32_t second,
                        struct worst *worst)
{
    static double want[BLOCK];
    static float results[SETS][BLOCK];
    struct worst had[SETS];
    const struct kernels *k, *before = NULL;

    memcpy(had, worst, sizeof had);
    for (size_t i = 0; i < n; i++)
        want[i] = bits_of(x[i]) % second == 0 ? agreed(f, (double)x[i])
                                              : f->value(&of_libc, (double)x[i]);
    for (int isa = 0; (k = kernels_at(&isa)) != NULL; before = k) {
        float *y = results[k->isa];
        f->run(k, x, y, n);
        if (before && memcmp(y, results[before->isa], n * sizeof *y) == 0 &&
            memcmp(had + k->isa, had + before->isa, sizeof *had) == 0) {
            worst[k->isa] = worst[before->isa]; /* the same bits have the same errors */
            continue;
        }
        for (size_t i = 0; i < n; i++) judge(f, k, x[i], y[i], want[i], worst + k->isa);
    }
}

/* Recomputes the worst argument in long double, to rule out an error of the judge itself. */
static void report(const struct function *f, const struct worst *worst)
{
    const struct kernels *k;

    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        const struct worst *w = worst + k->isa;
        double bound = is_exact(k) ? f->bound : f->without_fma;
        long double want = f->precise((long double)w->x);
        double error =
            (double)fabsl((long double)w->y - want) * per_ulp(fmax(fabs((double)want), f->unit));
        printf("%s %s: %.4f ulp at %a\n", k->name, f->name, error, (double)w->x);
        if (!(error <= bound)) fail_msg("%s %s: more than %g ulp", k->name, f->name, bound);
        if (!(fabs(error - w->error) < 1e-3)) fail_msg("%s: double is not precise enough", f->name);
    }
}

static void over_floats(const struct function *f, uint64_t step, uint32_t second,
                        struct worst *worst)
{
    static float x[BLOCK];
    size_t n = 0;

    for (uint64_t u = 0; u < (uint64_t)1 << 32; u += step) {
        x[n++] = float_of((uint32_t)u);
        if (n == BLOCK || u + step >= (uint64_t)1 << 32) judge_block(f, x, n, second, worst), n = 0;
    }
}

static void sample(void **state)
{
    const struct function *f = *state;
    static const float special[] = {
        0,         -0.0f,      1,        -1,        0x1p-149f, -0x1p-149f,
        0x1p-126f, -0x1p-126f, INFINITY, -INFINITY, NAN,       0x1.fffffep127f,
        88.73f,    -103.98f,   128,      -149,      -150,      -0x1.fffffep127f};
    struct worst worst[SETS] = {{0, 0, 0}};

    over_floats(f, SAMPLE, 1, worst);
    judge_block(f, special, sizeof special / sizeof *special, 1, worst);
    judge_block(f, f->worst, 2, 1, worst);
    report(f, worst);
}

/* The judge detects an error of one more unit in the last place than allowed, and a wrong
   infinity. */
static void judge_is_strict(void **state)
{
    struct worst w = {0, 0, 0};

    (void)state;
    judge(functions, rapt__kernels(), 0, 1 + 0x1p-23f, 1, &w);
    assert_true(w.error == 1);
    judge(functions, rapt__kernels(), 0, 0, 0x1.8p-149, &w);
    assert_true(w.error == 1.5);
    for (uint32_t u = 0; u < 0x7f800000; u += 0x12345)
        assert_true(per_ulp((double)float_of(u)) * ulp((double)float_of(u)) == 1);
}

static void all_floats(void **state)
{
    const struct function *f = *state;
    struct worst worst[SETS] = {{0, 0, 0}};

    over_floats(f, 1, SECOND_JUDGE, worst);
    report(f, worst);
}

static int all(const char *name)
{
    for (int i = 0; i < FUNCTIONS; i++)
        if (strcmp(name, functions[i].name) == 0) {
            const struct CMUnitTest tests[] = {
                cmocka_unit_test_prestate(all_floats, (void *)(functions + i))};
            return cmocka_run_group_tests(tests, NULL, NULL);
        }
    fprintf(stderr, "ulp: %s: not a function of this test\n", name);
    return 2;
}

#define SAMPLE_OF(i) cmocka_unit_test_prestate(sample, (void *)(functions + (i)))

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judge_is_strict),
        SAMPLE_OF(0),
        SAMPLE_OF(1),
        SAMPLE_OF(2),
        SAMPLE_OF(3),
        SAMPLE_OF(4),
        SAMPLE_OF(5),
        SAMPLE_OF(6),
        SAMPLE_OF(7),
    };
    if (argc == 3 && strcmp(argv[1], "all") == 0) return all(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
