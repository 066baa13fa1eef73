/* numbers.c - random numbers and elementary functions of doubles. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- random: Philox against the vectors that its authors published, and mean, variance and range
   of the numbers made from it. ---- */

/* Known answers of Random123 (kat_vectors, philox4x32, 10 rounds). */
static void known_answers(void **state)
{
    (void)state;
    const struct {
        uint64_t low, high, key;
        uint32_t out[4];
    } cases[] = {
        {0, 0, 0, {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}},
        {0x85a308d3243f6a88u,
         0x0370734413198a2eu,
         0x299f31d0a4093822u,
         {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t out[4];
        rapt__philox(cases[i].key, cases[i].low, cases[i].high, out);
        assert_memory_equal(out, cases[i].out, sizeof out);
    }
}

static void uniform_is_uniform(void **state)
{
    (void)state;
    enum { BINS = 64, DRAWS = 64000 };
    int counts[BINS] = {0};
    double square = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        double u = rapt__uniform(7, i);
        assert_true(u >= 0 && u < 1);
        counts[(int)(u * BINS)]++;
    }
    for (int b = 0; b < BINS; b++) square += pow(counts[b] - DRAWS / BINS, 2) / (DRAWS / BINS);
    assert_true(square < 130); /* chi-square, 63 degrees of freedom: p = 1e-6 */
}

static void normal_has_its_moments(void **state)
{
    (void)state;
    enum { DRAWS = 40000 };
    double sum = 0, square = 0, fourth = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        double x = rapt__normal(3, i);
        sum += x, square += x * x, fourth += x * x * x * x;
    }
    assert_true(fabs(sum / DRAWS) < 0.02);
    assert_true(fabs(square / DRAWS - 1) < 0.03);
    assert_true(fabs(fourth / DRAWS - 2.9) < 0.15); /* twelve uniforms: 3 - 6/(5*12) */
}

static void keys_differ(void **state)
{
    (void)state;
    for (uint64_t a = 0; a < 40; a++)
        for (uint64_t b = 0; b < 40; b++)
            if (a != b) {
                assert_true(rapt__mix(1, a) != rapt__mix(1, b));
                assert_true(rapt__mix(a, 1) != rapt__mix(b, 1));
                assert_true(rapt__mix(a, b) != rapt__mix(b, a));
            }
}

/* ---- real: elementary functions of doubles: within 1 ulp of the C library in long double, exact
   at special values and, with SLEEF, the same bits as on every other machine. ---- */

enum { N = 20000 };

#ifdef RAPT_HAVE_SLEEF
static const bool with_sleef = true;
#else
static const bool with_sleef = false;
#endif

static double sine(double x)
{
    double s, c;
    rapt__sincos(x, &s, &c);
    return s;
}
static double cosine(double x)
{
    double s, c;
    rapt__sincos(x, &s, &c);
    return c;
}

/* Arguments low .. high, or powers of ten with these exponents. hash: FNV-1a of the bits of the
   results with SLEEF. */
static const struct {
    const char *name;
    double (*f)(double);
    long double (*precise)(long double);
    double low, high;
    bool ten;
    uint32_t hash;
} functions[] = {
    {"sin", sine, sinl, -100, 100, false, 0xa8a1bfb9},
    {"sin of large angles", sine, sinl, 0, 9, true, 0xdc02983c},
    {"cos", cosine, cosl, -100, 100, false, 0x57efbf5d},
    {"cos of large angles", cosine, cosl, 0, 9, true, 0xd4c3f0bb},
    {"exp", rapt__exp, expl, -700, 700, false, 0xa8ee1e88},
    {"log", rapt__log, logl, -300, 300, true, 0xa3580565},
};

static double argument(int function, int i)
{
    double at = rapt__uniform((uint64_t)function + 1, (uint64_t)i);
    double x = functions[function].low + (functions[function].high - functions[function].low) * at;
    if (!functions[function].ten) return x;
    int power = (int)floor(x); /* does not depend on the pow of a library */
    double y = 1 + 9 * (x - power);
    for (; power > 0; power--) y *= 10;
    for (; power < 0; power++) y /= 10;
    return y;
}

static double ulps(double got, long double want)
{
    int e;
    frexp((double)want, &e);
    return (double)(fabsl((long double)got - want) / ldexpl(1, e - 53));
}

static void within_one_ulp(void **state)
{
    (void)state;
    for (int f = 0; f < (int)(sizeof functions / sizeof *functions); f++) {
        double worst = 0, at = 0;
        for (int i = 0; i < N; i++) {
            double x = argument(f, i);
            double error = ulps(functions[f].f(x), functions[f].precise((long double)x));
            if (!(error <= worst)) worst = error, at = x;
        }
        printf("%s: %.3f ulp at %a\n", functions[f].name, worst, at);
        if (!(worst <= 1)) fail_msg("%s: more than 1 ulp", functions[f].name);
    }
}

static void powers(void **state)
{
    double worst = 0;

    (void)state;
    for (uint64_t i = 0; i < N; i++) {
        double x = 1000 * rapt__uniform(20, i), y = 40 * rapt__uniform(21, i) - 20;
        double error = ulps(rapt__pow(x, y), powl((long double)x, (long double)y));
        if (!(error <= worst)) worst = error;
    }
    printf("pow: %.3f ulp\n", worst);
    assert_true(worst <= 1);
    assert_true(rapt__pow(0.9, 0) == 1 && rapt__pow(0, 3) == 0 && rapt__pow(1, -7) == 1);
    assert_true(rapt__pow(2, 10) == 1024 && rapt__pow(4, 0.5) == 2);
}

static void at_the_ends(void **state)
{
    (void)state;
    assert_true(sine(0) == 0 && cosine(0) == 1 && isnan(sine(INFINITY)) && isnan(cosine(NAN)));
    assert_true(rapt__exp(0) == 1 && rapt__exp(-INFINITY) == 0 && rapt__exp(INFINITY) == INFINITY);
    assert_true(rapt__exp(-2000) == 0 && rapt__exp(2000) == INFINITY && isnan(rapt__exp(NAN)));
    assert_true(rapt__log(1) == 0 && rapt__log(0) == -INFINITY && isnan(rapt__log(-1)));
    assert_true(rapt__log(INFINITY) == INFINITY);
}

/* Returns the FNV-1a hash of the bytes of the results, lowest byte first. */
static uint32_t hash_of(int f)
{
    uint32_t hash = 2166136261u;
    for (int i = 0; i < N; i++) {
        double y = functions[f].f(argument(f, i));
        uint64_t bits;
        memcpy(&bits, &y, sizeof bits);
        for (int byte = 0; byte < 8; byte++, bits >>= 8)
            hash = (hash ^ (uint32_t)(bits & 255)) * 16777619u;
    }
    return hash;
}

static void same_bits_everywhere(void **state)
{
    (void)state;
    for (int f = 0; f < (int)(sizeof functions / sizeof *functions); f++) {
        printf("%s: %08x\n", functions[f].name, (unsigned)hash_of(f));
        if (with_sleef) assert_int_equal(hash_of(f), functions[f].hash);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(uniform_is_uniform),
        cmocka_unit_test(normal_has_its_moments),
        cmocka_unit_test(keys_differ),
        cmocka_unit_test(within_one_ulp),
        cmocka_unit_test(powers),
        cmocka_unit_test(at_the_ends),
        cmocka_unit_test(same_bits_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
