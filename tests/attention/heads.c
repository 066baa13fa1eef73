/* heads.c - short sequences, which are computed head by head, of widths that are whole vectors or
   not. Together they have the bits of each query by itself, also at large scores. A query or a
   gradient that is not finite changes no other query and no key that the query does not see, with
   and without dropout and masks, and with several query heads that share keys. Outputs of fully
   masked queries are 0. Causal or with a window they have the bits of tiles. */
#include "heads.h"

#include <math.h>

enum { WRONG = 38 }; /* the row that is not finite, of the last head; it does not see all keys */

/* Fewer than eight queries take tiles. */
static void test_alone(void **state)
{
    (void)state;
    static const float scales[] = {1, -1, 1e2f, 1e4f, 1e30f, 1e38f};
    for (size_t i = 0; i < 2 * sizeof scales / sizeof *scales; i++) {
        static struct results together, alone;
        struct problem p = make(scales[i / 2], 0, false);
        if (i % 2) p.width = p.value_width = NARROW;
        run(&p, 0, QUERIES, false, &together);
        for (int t = 0; t < QUERIES; t++) run(&p, t, 1, false, &alone);
        assert_memory_equal(together.out, alone.out, sizeof alone.out);
        assert_memory_equal(together.lse, alone.lse, sizeof alone.lse);
        for (int t = 0; t < QUERIES; t++) assert_true(isfinite(alone.out[t][0]));
    }
}

static void same_others(const float x[][ROW], const float y[][ROW])
{
    for (int t = 0; t < QUERIES; t++)
        if (t != WRONG) assert_memory_equal(x[t], y[t], sizeof x[t]);
}

/* Compares gradients of the keys that the queries see, if each sees those up to its own. */
static void same_unseen(const struct results *x, const struct results *y, int seen)
{
    for (int s = seen; s < KEYS; s++) {
        assert_memory_equal(x->dk[s], y->dk[s], sizeof x->dk[s]);
        assert_memory_equal(x->dv[s], y->dv[s], sizeof x->dv[s]);
    }
}

/* Each kind of query or gradient that is not finite, or has infinite scores. */
static void test_one_row(void **state)
{
    (void)state;
    static const float wrong[] = {INFINITY, -INFINITY, NAN, 3e38f};
    enum { KINDS = 2 * (sizeof wrong / sizeof *wrong) };
    static struct results good, bad;
    for (int n = 0; n < 16 * KINDS; n++) {
        int i = n % KINDS, rest = n / KINDS, dropped = rest % 2, causal = rest / 2 % 2;
        struct problem p = make(8, dropped ? 0.25f : 0, causal);
        p.heads = 1 + rest / 4 % 2;
        if (rest / 8) p.width = p.value_width = NARROW;
        memset(&good, 0, sizeof good), memset(&bad, 0, sizeof bad);
        run(&p, 0, QUERIES, true, &good);
        float *row = i % 2 ? p.q[WRONG] : p.dout[WRONG];
        for (int j = 0; j < WIDTH; j++) row[j] = wrong[i / 2];
        run(&p, 0, QUERIES, true, &bad);
        same_others(good.out, bad.out);
        same_others(good.dq, bad.dq);
        if (causal) same_unseen(&good, &bad, WRONG % (QUERIES / p.heads) + 1);
        if (i % 2 == 0) assert_memory_equal(good.out, bad.out, sizeof good.out);
    }
}

static void assert_nothing(const struct results *r, int t)
{
    static const float zeros[WIDTH];
    assert_memory_equal(r->out[t], zeros, sizeof zeros);
    assert_true(r->lse[t] == -INFINITY);
}

/* The first queries precede all keys. Then each score of one query is -infinity, while a value is
   infinite. */
static void test_fully_masked(void **state)
{
    (void)state;
    static struct results r;
    struct problem p = make(1, 0, true);
    p.keys = 9, p.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
    run(&p, 0, QUERIES, false, &r);
    for (int t = 0; t < QUERIES - p.keys; t++) assert_nothing(&r, t);
    for (int t = QUERIES - p.keys; t < QUERIES; t++) assert_true(isfinite(r.lse[t]));
    p = make(1, 0, false);
    for (int s = 0; s < KEYS; s++) p.k[s][0] = 1;
    p.q[WRONG][0] = -INFINITY, p.v[0][1] = INFINITY;
    run(&p, 0, QUERIES, false, &r);
    assert_nothing(&r, WRONG);
    assert_true(r.out[WRONG + 1][1] == INFINITY);
}

/* Ranges of keys give the bits of tiles. */
static void test_ranges(void **state)
{
    (void)state;
    static const rapt_mask masks[] = {{.causal = 1},
                                      {.window = 1},
                                      {.window = 1, .before = 3, .after = 2},
                                      {.window = 1, .before = 20, .causal = 1},
                                      {.window = 1, .before = 1, .after = 30}};
    enum { LEFT, DROPPED, RIGHT, KINDS };
    static struct results heads, tiles;
    for (size_t i = 0; i < 2 * KINDS * (sizeof masks / sizeof *masks); i++) {
        size_t kind = i / 2 % KINDS;
        struct problem p = make(1, kind == DROPPED ? 0.25f : 0, false);
        if (i % 2) p.width = p.value_width = NARROW;
        p.mask = masks[i / 2 / KINDS];
        p.mask.causal_alignment =
            kind == RIGHT ? RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT : RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
        run(&p, 0, QUERIES, true, &heads);
        run_tiles(&p, &tiles);
        assert_memory_equal(&heads, &tiles, sizeof heads);
    }
}

/* Nothing is written after a narrow row, not even by adding 0, which would turn -0 into 0. */
static void test_behind_rows(void **state)
{
    (void)state;
    static struct results r;
    struct problem p = make(1, 0, false);
    p.width = p.value_width = NARROW;
    float *rows[] = {r.out[0], r.dq[0], r.dk[0], r.dv[0]};
    for (int n = 0; n < 4 * KEYS; n++)
        for (int i = NARROW; i < ROW; i++) rows[n / KEYS][n % KEYS * ROW + i] = -0.f;
    run(&p, 0, KEYS, false, &r);
    add_gradients(&p, 0, KEYS, &r);
    for (int n = 0; n < 4 * KEYS; n++)
        for (int i = NARROW; i < ROW; i++) assert_true(signbit(rows[n / KEYS][n % KEYS * ROW + i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_alone), cmocka_unit_test(test_one_row),
                                       cmocka_unit_test(test_fully_masked),
                                       cmocka_unit_test(test_ranges),
                                       cmocka_unit_test(test_behind_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
