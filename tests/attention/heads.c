/* heads.c - short sequences whose value width is a whole number of vectors, which are attended to
   head by head: together they have the bits of each query alone, also at large scores; a query or a
   gradient that is not finite changes no other query, with and without dropout and masks; outputs
   of fully masked queries are 0. Causal or with a window they have the bits that tiles have. */
#include <rapt/rapt.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { QUERIES = 44, KEYS = 40, WIDTH = 16, ROW = 3 }; /* ROW: the one that is not finite */

struct problem {
    float q[QUERIES][WIDTH], k[KEYS][WIDTH], v[KEYS][WIDTH], dout[QUERIES][WIDTH];
    float scale, dropout;
    rapt_mask mask;
    int keys; /* at most KEYS */
};
struct results {
    float out[QUERIES][WIDTH], lse[QUERIES];
    float dq[QUERIES][WIDTH], dk[KEYS][WIDTH], dv[KEYS][WIDTH];
};

static void fill(float *x, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = (float)(int32_t)(seed >> 32) * 0x1p-31f;
    }
}

static struct problem make(float scale, float dropout, bool causal)
{
    struct problem p = {.scale = scale, .dropout = dropout, .keys = KEYS};
    p.mask.causal = causal, p.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    fill(p.q[0], QUERIES * WIDTH, 1);
    fill(p.k[0], KEYS * WIDTH, 2);
    fill(p.v[0], KEYS * WIDTH, 3);
    fill(p.dout[0], QUERIES * WIDTH, 4);
    return p;
}

/* Queries [first, first + count), as a call of their own. */
static void run(const struct problem *p, int first, int count, bool backward, struct results *r)
{
    _Alignas(64) static unsigned char workspace[1 << 21];
    rapt_attention a;
    rapt_attention_saved saved = {.size = sizeof saved, .lse = r->lse + first};
    const rapt_gradients d = {.size = sizeof d, .q = r->dq[first], .k = r->dk[0], .v = r->dv[0]};
    assert_int_equal(rapt_attention_init(&a, sizeof a, 1, 1, count, p->keys, WIDTH), RAPT_OK);
    a.scale = p->scale, a.dropout = p->dropout, a.threads = 1, a.mask = p->mask;
    assert_true(rapt_attention_workspace(&a) <= sizeof workspace);
    assert_int_equal(rapt_attention_forward(&a, p->q[first], p->k[0], p->v[0], r->out[first],
                                            &saved, workspace, NULL),
                     RAPT_OK);
    if (!backward) return;
    memset(r->dq, 0, sizeof r->dq), memset(r->dk, 0, sizeof r->dk), memset(r->dv, 0, sizeof r->dv);
    assert_int_equal(rapt_attention_backward(&a, p->q[first], p->k[0], p->v[0], r->out[first],
                                             &saved, p->dout[first], NULL, &d, workspace, NULL),
                     RAPT_OK);
}

/* Fewer than eight queries are attended to in tiles. */
static void test_alone(void **state)
{
    (void)state;
    static const float scales[] = {1, -1, 1e2f, 1e4f, 1e30f, 1e38f};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        static struct results together, alone;
        const struct problem p = make(scales[i], 0, false);
        run(&p, 0, QUERIES, false, &together);
        for (int t = 0; t < QUERIES; t++) run(&p, t, 1, false, &alone);
        assert_memory_equal(together.out, alone.out, sizeof alone.out);
        assert_memory_equal(together.lse, alone.lse, sizeof alone.lse);
        for (int t = 0; t < QUERIES; t++) assert_true(isfinite(alone.out[t][0]));
    }
}

static void same_others(const float x[][WIDTH], const float y[][WIDTH])
{
    for (int t = 0; t < QUERIES; t++)
        if (t != ROW) assert_memory_equal(x[t], y[t], sizeof x[t]);
}

/* Each kind of a query and a gradient that is not finite, or has infinite scores. */
static void test_one_row(void **state)
{
    (void)state;
    static const float wrong[] = {INFINITY, -INFINITY, NAN, 3e38f};
    static struct results good, bad;
    for (int dropped = 0; dropped < 2; dropped++)
        for (int causal = 0; causal < 2; causal++)
            for (size_t i = 0; i < 2 * (sizeof wrong / sizeof *wrong); i++) {
                struct problem p = make(8, dropped ? 0.25f : 0, causal);
                run(&p, 0, QUERIES, true, &good);
                float *row = i % 2 ? p.q[ROW] : p.dout[ROW];
                for (int j = 0; j < WIDTH; j++) row[j] = wrong[i / 2];
                run(&p, 0, QUERIES, true, &bad);
                same_others(good.out, bad.out);
                same_others(good.dq, bad.dq);
                if (i % 2 == 0) assert_memory_equal(good.out, bad.out, sizeof good.out);
            }
}

static void assert_nothing(const struct results *r, int t)
{
    static const float zeros[WIDTH];
    assert_memory_equal(r->out[t], zeros, sizeof zeros);
    assert_true(r->lse[t] == -INFINITY);
}

/* The first queries precede all keys; each score of a query is -infinity, and a value infinite. */
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
    p.q[ROW][0] = -INFINITY, p.v[0][1] = INFINITY;
    run(&p, 0, QUERIES, false, &r);
    assert_nothing(&r, ROW);
    assert_true(r.out[ROW + 1][1] == INFINITY);
}

/* A mask of bytes, though none is 0, makes tiles of the same problem. */
static void test_ranges(void **state)
{
    (void)state;
    static const rapt_mask masks[] = {{.causal = 1},
                                      {.window = 1},
                                      {.window = 1, .before = 3, .after = 2},
                                      {.window = 1, .before = 20, .causal = 1},
                                      {.window = 1, .before = 1, .after = 30}};
    static struct results heads, tiles;
    static uint8_t all[KEYS];
    memset(all, 1, sizeof all);
    for (size_t i = 0; i < 4 * (sizeof masks / sizeof *masks); i++) {
        struct problem p = make(1, i % 4 / 2 ? 0.25f : 0, false);
        p.mask = masks[i / 4];
        p.mask.causal_alignment =
            i % 2 ? RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT : RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
        run(&p, 0, QUERIES, true, &heads);
        p.mask.allowed = all;
        run(&p, 0, QUERIES, true, &tiles);
        assert_memory_equal(&heads, &tiles, sizeof heads);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_alone), cmocka_unit_test(test_one_row),
                                       cmocka_unit_test(test_fully_masked),
                                       cmocka_unit_test(test_ranges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
