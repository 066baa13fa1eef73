/* head_biases.c - caps, biases and masks of short sequences, which are computed head by head. Every
   combination has the bits of tiles, at widths that are whole vectors or not, forward and backward,
   also at large scores, if a bias or a sum of biases hides keys, and if scores are not finite. */
#include "heads.h"
#include "roundings.h"

#include <math.h>

/* The meaning of the digits of a combination, each below its `counts`. */
enum { BIASES, MASKS, RELATIVES, CAPS, DROPOUTS, SCALES, GROUPS, CHOICES };
static const int counts[CHOICES] = {4, 3, 4, 2, 2, 4, HEADS};

static void add_biases(struct problem *p, int kind)
{
    p->mask.bias = kind ? p->bias[0] : NULL;
    p->mask.bias_stride.row = kind == 2 ? 0 : KEYS; /* 2: all queries share one row */
    for (int t = 0; t < QUERIES; t++)
        for (int s = 0; s < KEYS; s++)
            if (kind == 3 && (t * 7 + s * 3) % 5 == 0) p->bias[t][s] = -INFINITY;
    for (int s = 0; s < KEYS && kind == 3; s++) p->bias[9][s] = -INFINITY;
}

static void add_masks(struct problem *p, int kind)
{
    p->mask.causal = kind == 2;
    p->mask.allowed = kind ? p->allowed[0] : NULL;
    p->mask.allowed_stride.row = KEYS;
    for (int t = 0; t < QUERIES; t++)
        for (int s = 0; s < KEYS; s++)
            p->allowed[t][s] = (uint8_t)(t == 20 ? 0 : (t * 5 + s) % 7 != 3);
}

static struct problem combination(const int choice[CHOICES])
{
    static const float scales[] = {1, -1, 1e4f, 1e30f};
    struct problem p = make(scales[choice[SCALES]], choice[DROPOUTS] ? 0.25f : 0, false);
    fill(p.bias[0], QUERIES, KEYS, KEYS, 5);
    fill(p.table[0], HEADS, BUCKETS, BUCKETS, 6);
    add_biases(&p, choice[BIASES]);
    add_masks(&p, choice[MASKS]);
    p.sloped = choice[RELATIVES] % 2, p.bucketed = choice[RELATIVES] / 2;
    p.slope[0] = 0.3f, p.slope[1] = 0.2f;
    p.cap = choice[CAPS] ? 2 : 0;
    p.heads = 1 + choice[GROUPS];
    int sum = 0;
    for (int i = 0; i < CHOICES; i++) sum += choice[i];
    fill(p.log_forget[0], HEADS, KEYS, KEYS, 7);
    p.forgetful = p.mask.causal && sum / 3 % 2;
    fill(p.vectors[0], 2, VECTORS, VECTORS, 8);
    if (sum % 5 < 2) p.near = 1 + sum % 11;
    if (sum % 2) p.width = NARROW;
    if (sum / 2 % 2) p.value_width = NARROW;
    return p;
}

static void assert_tiles(const struct problem *p, struct results *heads)
{
    static struct results tiles;
    run(p, 0, QUERIES, true, heads);
    run_tiles(p, &tiles);
    assert_memory_equal(heads, &tiles, sizeof tiles);
}

static void test_combinations(void **state)
{
    (void)state;
    int all = 1, hidden = 0;
    for (int i = 0; i < CHOICES; i++) all *= counts[i];
    for (int n = 0; n < all; n++) {
        static struct results r;
        int choice[CHOICES], rest = n;
        for (int i = 0; i < CHOICES; i++) choice[i] = rest % counts[i], rest /= counts[i];
        struct problem p = combination(choice);
        assert_tiles(&p, &r);
        hidden += r.lse[9] == -INFINITY && r.lse[20] == -INFINITY;
        for (int t = 0; t < QUERIES; t++) assert_true(isfinite(r.out[t][0]));
    }
    assert_int_equal(hidden, all / counts[BIASES] / counts[MASKS] * 2);
}

/* Two finite biases whose sum is -infinity hide a key, even one whose score is infinite or, as the
   sum of two chains, NaN. */
static void test_sums(void **state)
{
    (void)state;
    static const float wrong[] = {1, INFINITY, -INFINITY, NAN, 3e38f};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (int capped = 0; capped < 2; capped++) {
            static struct results r;
            struct problem p = make(1, 0, false);
            add_biases(&p, 1);
            p.bucketed = true, p.cap = (float)capped;
            for (int t = 0; t < QUERIES; t++) p.bias[t][5] = p.bias[t][17] = -3e38f;
            for (int b = 0; b < BUCKETS; b++) p.table[0][b] = -2e38f;
            for (int t = 0; t < QUERIES; t++) p.q[t][0] = 4, p.q[t][40] = -4;
            p.k[5][0] = p.k[17][0] = p.k[17][40] = wrong[i];
            run(&p, 0, QUERIES, false, &r);
            for (int t = 0; t < QUERIES; t++) assert_true(isfinite(r.out[t][0]));
            assert_tiles(&p, &r);
        }
}

/* A key that a mask hides from a query changes neither its output nor its gradient. */
static void test_hidden(void **state)
{
    (void)state;
    static struct results good, bad;
    struct problem p = make(1, 0, false);
    add_masks(&p, 1);
    for (int t = 0; t < QUERIES; t++) p.allowed[t][7] = t == 3;
    run(&p, 0, QUERIES, true, &good);
    for (int i = 0; i < WIDTH; i++) p.k[7][i] = NAN, p.v[7][i] = INFINITY;
    run(&p, 0, QUERIES, true, &bad);
    for (int t = 0; t < QUERIES; t++) {
        if (t == 3) continue;
        assert_memory_equal(good.out[t], bad.out[t], sizeof good.out[t]);
        assert_memory_equal(good.dq[t], bad.dq[t], sizeof good.dq[t]);
    }
    assert_true(isnan(bad.out[3][0]));
}

/* Computes single queries, which take tiles. */
static void test_alone(void **state)
{
    (void)state;
    static const int choice[CHOICES] = {3, 2, 3, 1, 1, 0};
    static struct results together, alone;
    struct problem p = combination(choice);
    p.mask.causal = 0, p.dropout = 0, p.sloped = p.bucketed = p.forgetful = false, p.near = 0;
    run(&p, 0, QUERIES, false, &together);
    for (int t = 0; t < QUERIES; t++) run(&p, t, 1, false, &alone);
    assert_memory_equal(together.out, alone.out, sizeof alone.out);
    assert_memory_equal(together.lse, alone.lse, sizeof alone.lse);
}

/* Tests every rounding mode that a host may have set, with the processor's instructions and in
   plain C. When rounding downward, a sum to which products with 0 are added may become -0. */
static void test_rounding_modes(void **state)
{
    (void)state;
    static const int choices[][CHOICES] = {{0}, {3, 2, 3, 0, 1, 0}, {1, 1, 1, 1, 0, 1}};
    const rapt_isa used = rapt_isa_used(), sets[] = {used, RAPT_ISA_SCALAR};
    for (int i = 0; i < 2 * 3 * ROUNDING_MODES; i++) {
        static struct results heads, tiles;
        struct problem p = combination(choices[i / 2 % 3]);
        assert_int_equal(rapt_isa_use(sets[i % 2]), RAPT_OK);
        assert_int_equal(fesetround(rounding_modes[i / 6]), 0);
        run(&p, 0, QUERIES, true, &heads);
        run_tiles(&p, &tiles);
        fesetround(FE_TONEAREST);
        const float *x = heads.out[0], *y = tiles.out[0];
        for (size_t n = 0; n < sizeof heads / sizeof *x; n++) assert_true(x[n] == y[n]);
    }
    rapt_isa_use(used);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_combinations),
                                       cmocka_unit_test(test_sums), cmocka_unit_test(test_hidden),
                                       cmocka_unit_test(test_alone),
                                       cmocka_unit_test(test_rounding_modes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
