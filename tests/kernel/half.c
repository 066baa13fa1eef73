/* half.c - 16-bit weights: every instruction set widens each of the 65,536 to its value; floats are
   rounded to the nearest, halves to even. */
#include "kernel/trial.h"

#include "kernel/half.h"

enum { ALL = 1 << 16 };

/* Returns the value of a type with e bits of exponent and f bits of fraction, by definition. */
static double value_of(uint16_t h, int e, int f)
{
    int exponent = h >> f & ((1 << e) - 1), bias = (1 << (e - 1)) - 1;
    double fraction = ldexp(h & ((1 << f) - 1), -f), sign = h & 0x8000 ? -1 : 1;
    if (exponent == (1 << e) - 1) return fraction > 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1 + fraction, exponent - bias) : ldexp(fraction, 1 - bias));
}

static double wanted(enum half_type type, int h)
{
    return type == HALF_BF16 ? value_of((uint16_t)h, 8, 7) : value_of((uint16_t)h, 5, 10);
}

/* Adds 1 times each element to -0, which leaves its sign, and makes a NaN quiet. */
static void widen_all(const struct kernels *k, enum half_type type, const uint16_t *halves,
                      float *x)
{
    static const float one = 1;
    for (int h = 0; h < ALL; h++) x[h] = -0.0f;
    k->gemm(&(struct gemm_block){.rows = 1,
                                 .columns = ALL,
                                 .depth = 1,
                                 .a = &one,
                                 .a_row = 1,
                                 .a_step = 1,
                                 .half = halves,
                                 .type = type,
                                 .b_panel = LANES,
                                 .b_step = LANES,
                                 .c = x,
                                 .c_row = ALL,
                                 .c_panel = LANES,
                                 .add = true});
}

static void all_are_widened(void **state)
{
    static uint16_t halves[ALL];
    static float x[ALL];
    const struct kernels *k;
    (void)state;
    for (int h = 0; h < ALL; h++) halves[h] = (uint16_t)h;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int type = HALF_BF16; type <= HALF_F16; type++) {
            widen_all(k, (enum half_type)type, halves, x);
            for (int h = 0; h < ALL; h++) {
                double want = wanted((enum half_type)type, h), got = (double)x[h];
                if (isnan(want) ? !isnan(got) : !(got == want) || signbit(got) != signbit(want))
                    fail_msg("%s: %04x is %g, not %g", k->name, (unsigned)h, got, want);
                float one = half_widen((enum half_type)type, halves[h]);
                assert_memory_equal(&one, &x[h], sizeof one);
            }
        }
}

/* Between two neighbors, everything below the middle goes to the lower one, everything above it to
   the upper one, and the middle to the even one. */
static void neighbors(enum half_type type, int h)
{
    double low = wanted(type, h), high = wanted(type, h + 1);
    if (isinf(high)) high = 2 * low - wanted(type, h - 1);
    float middle = (float)((low + high) / 2);
    int even = h % 2 ? h + 1 : h;
    assert_true((double)middle == (low + high) / 2);
    for (int sign = 0; sign < 2; sign++) {
        float s = sign ? -1 : 1;
        int bit = sign ? 0x8000 : 0;
        assert_int_equal(half_round(type, s * (float)low), h | bit);
        assert_int_equal(half_round(type, s * middle), even | bit);
        assert_int_equal(half_round(type, s * nextafterf(middle, 0)), h | bit);
        assert_int_equal(half_round(type, s * nextafterf(middle, INFINITY)), (h + 1) | bit);
    }
}

static void floats_are_rounded(void **state)
{
    (void)state;
    for (int h = 1; h < 0x7c00; h++) neighbors(HALF_F16, h);
    for (int h = 1; h < 0x7f80; h++)
        if (h < 0x7f7f) neighbors(HALF_BF16, h); /* the last middle overflows a float */
    for (int type = HALF_BF16; type <= HALF_F16; type++) {
        int infinity = type == HALF_BF16 ? 0x7f80 : 0x7c00;
        assert_int_equal(half_round((enum half_type)type, 0), 0);
        assert_int_equal(half_round((enum half_type)type, -0.0f), 0x8000);
        assert_int_equal(half_round((enum half_type)type, 0x1p-149f), 0);
        assert_int_equal(half_round((enum half_type)type, INFINITY), infinity);
        assert_int_equal(half_round((enum half_type)type, -0x1.fffffep127f), infinity | 0x8000);
        assert_true((half_round((enum half_type)type, NAN) & 0x7fff) > infinity);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_are_widened),
                                       cmocka_unit_test(floats_are_rounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
