/* random.c - Philox against the vectors that its authors published, and mean, variance and range of
   the numbers made from it. */
#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers), cmocka_unit_test(uniform_is_uniform),
        cmocka_unit_test(normal_has_its_moments), cmocka_unit_test(keys_differ)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
