/* heads.c - short sequences, which are computed head by head, of widths that are whole vectors or
   not. Together they have the bits of each query by itself, also at large scores. A query or a
   gradient that is not finite changes no other query and no key that the query does not see, with
   and without dropout and masks, and with several query heads that share keys. Outputs of fully
   masked queries are 0. Caps, biases, masks and windows have the bits of tiles, forward and
   backward, also if a bias or a sum of biases hides keys. */
#include "roundings.h"

#include <math.h>
#include <rapt/rapt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ---- the problem, of one key head, and the same problem in tiles ---- */

/* WIDTH is a whole number of vectors, NARROW is not. Rows are a float longer than the width. */
enum { QUERIES = 76, KEYS = 40, WIDTH = 48, NARROW = 43, ROW = WIDTH + 1, BUCKETS = 8, HEADS = 2 };
/* A head of more than 128 queries takes tiles. Adding this many changes no lane in which gradients
   of distances are summed. */
enum { MORE = 96, ROWS = QUERIES + HEADS * MORE };
enum { NEAR = 11, VECTORS = (NEAR + 1 + NEAR / 2) * HEADS * WIDTH }; /* at most */
enum { SMALL = 0x3c }; /* each byte of a gradient before it is added to: 0.0115 */

struct problem {
    float q[ROWS][ROW], k[KEYS][ROW], v[KEYS][ROW], dout[ROWS][ROW];
    float bias[ROWS][KEYS], slope[HEADS], table[HEADS][BUCKETS];
    float scale, cap, dropout;
    uint8_t allowed[ROWS][KEYS];
    rapt_mask mask; /* bias and allowed are those above unless NULL */
    float log_forget[HEADS][KEYS];
    bool sloped, bucketed, forgetful;
    float vectors[2][VECTORS]; /* keys and queries of distances */
    int near;                  /* largest distance of a key before the position; 0: no vectors */
    int width, value_width;    /* at most WIDTH */
    int keys;                  /* at most KEYS */
    int heads; /* query heads, at most HEADS: each has its part of q, dout, bias and allowed */
};
struct results {
    float out[ROWS][ROW], lse[ROWS], statistics[ROWS][2];
    float dq[ROWS][ROW], dk[KEYS][ROW], dv[KEYS][ROW];
    float dbias[ROWS][KEYS], dslope[HEADS], dtable[HEADS][BUCKETS], dlog_forget[HEADS][KEYS];
    float dvectors[2][VECTORS];
};

static void fill(float *x, int rows, int width, int row, uint64_t seed)
{
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < width; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            x[r * row + i] = (float)(int32_t)(seed >> 32) * 0x1p-31f;
        }
}

static struct problem make(float scale, float dropout, bool causal)
{
    struct problem p = {.scale = scale,
                        .dropout = dropout,
                        .width = WIDTH,
                        .value_width = WIDTH,
                        .keys = KEYS,
                        .heads = 1};
    p.mask.causal = causal, p.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    fill(p.q[0], QUERIES, WIDTH, ROW, 1);
    fill(p.k[0], KEYS, WIDTH, ROW, 2);
    fill(p.v[0], KEYS, WIDTH, ROW, 3);
    fill(p.dout[0], QUERIES, WIDTH, ROW, 4);
    return p;
}

static rapt_attention attention_of(const struct problem *p, int first, int count)
{
    rapt_attention a;
    int queries = count / p->heads;
    assert_int_equal(rapt_attention_init(&a, sizeof a, 1, p->heads, queries, p->keys, p->width),
                     RAPT_OK);
    a.key_heads = 1;
    a.scale = p->scale, a.dropout = p->dropout, a.cap = p->cap, a.threads = 1, a.mask = p->mask;
    a.q.row = a.k.row = a.v.row = a.out.row = ROW;
    a.q.head = a.out.head = (ptrdiff_t)queries * ROW;
    a.mask.bias_stride.head = queries * a.mask.bias_stride.row;
    a.mask.allowed_stride.head = queries * a.mask.allowed_stride.row;
    a.value_width = p->value_width;
    if (a.mask.bias) a.mask.bias = p->bias[first];
    if (a.mask.allowed) a.mask.allowed = p->allowed[first];
    if (p->sloped) a.relative.slopes = p->slope;
    if (p->bucketed) a.relative.table = p->table[0];
    if (p->forgetful) a.log_forget = p->log_forget[0];
    if (p->near > 0) {
        a.distances.before = p->near, a.distances.after = p->near / 2;
        a.distances.keys = p->vectors[0], a.distances.queries = p->vectors[1];
    }
    a.log_forget_stride = (rapt_stride){0, KEYS, 1};
    a.relative.buckets = BUCKETS, a.relative.distance = KEYS / 2, a.relative.bidirectional = 1;
    return a;
}

_Alignas(64) static unsigned char workspace[1 << 21];

static rapt_attention_saved saved_of(struct results *r, int first)
{
    return (rapt_attention_saved){.size = sizeof(rapt_attention_saved),
                                  .lse = r->lse + first,
                                  .statistics = r->statistics[first]};
}

/* Adds the gradients of queries [first, first + count), whose forward results are in *r. */
static void add_gradients(const struct problem *p, int first, int count, struct results *r)
{
    const rapt_attention a = attention_of(p, first, count);
    const rapt_attention_saved saved = saved_of(r, first);
    const rapt_gradients d = {.size = sizeof d,
                              .q = r->dq[first],
                              .k = r->dk[0],
                              .v = r->dv[0],
                              .bias = a.mask.bias ? r->dbias[first] : NULL,
                              .slopes = p->sloped ? r->dslope : NULL,
                              .table = p->bucketed ? r->dtable[0] : NULL,
                              .log_forget = p->forgetful ? r->dlog_forget[0] : NULL,
                              .distances.keys = p->near ? r->dvectors[0] : NULL,
                              .distances.queries = p->near ? r->dvectors[1] : NULL};
    assert_int_equal(rapt_attention_backward(&a, p->q[first], p->k[0], p->v[0], r->out[first],
                                             &saved, p->dout[first], NULL, &d, workspace, NULL),
                     RAPT_OK);
}

/* Computes queries [first, first + count) in a separate call. */
static void run(const struct problem *p, int first, int count, bool backward, struct results *r)
{
    const rapt_attention a = attention_of(p, first, count);
    const rapt_attention_saved saved = saved_of(r, first);
    rapt_message why = {.text = ""};
    assert_true(rapt_attention_workspace(&a) <= sizeof workspace);
    if (rapt_attention_forward(&a, p->q[first], p->k[0], p->v[0], r->out[first], &saved, workspace,
                               &why))
        fail_msg("%s", why.text);
    if (!backward) return;
    memset(r->dq, SMALL, sizeof *r - offsetof(struct results, dq));
    add_gradients(p, first, count, r);
}

/* Makes row t of each head row first + t of a head with MORE more queries: copies of the head's
   first one whose outputs have no gradient. */
static void add_queries(const struct problem *p, int first, struct problem *more)
{
    int queries = QUERIES / p->heads, all = queries + MORE;
    *more = *p;
    for (int i = 0; i < p->heads * all; i++) {
        int t = i % all - first, head = i / all * queries;
        bool there = t >= 0 && t < queries;
        int from = head + (there ? t : 0);
        memcpy(more->q[i], p->q[from], sizeof p->q[0]);
        memcpy(more->dout[i], p->dout[from], sizeof p->dout[0]);
        memcpy(more->bias[i], p->bias[from], sizeof p->bias[0]);
        memcpy(more->allowed[i], p->allowed[from], sizeof p->allowed[0]);
        if (!there) memset(more->dout[i], 0, sizeof more->dout[i]);
    }
}

/* Computes all queries, forward and backward, in tiles. If positions do not count from the last
   key, which would renumber the queries, dropout is the same. */
static void run_tiles(const struct problem *p, struct results *r)
{
    static struct problem more;
    static struct results wide;
    bool right = p->mask.causal_alignment == RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
    int queries = QUERIES / p->heads, all = queries + MORE, first = right ? MORE : 0;
    assert_false(right && p->dropout > 0);
    add_queries(p, first, &more);
    run(&more, 0, p->heads * all, true, &wide);
    *r = wide;
    memset(r->out[QUERIES], 0, (ROWS - QUERIES) * sizeof r->out[0]);
    memset(r->lse + QUERIES, 0, (ROWS - QUERIES) * sizeof r->lse[0]);
    memset(r->statistics[QUERIES], 0, (ROWS - QUERIES) * sizeof r->statistics[0]);
    memset(r->dq[QUERIES], SMALL, (ROWS - QUERIES) * sizeof r->dq[0]);
    memset(r->dbias[QUERIES], SMALL, (ROWS - QUERIES) * sizeof r->dbias[0]);
    for (int i = 0; i < QUERIES; i++) {
        int from = i / queries * all + first + i % queries;
        memcpy(r->out[i], wide.out[from], sizeof r->out[i]);
        r->lse[i] = wide.lse[from];
        memcpy(r->statistics[i], wide.statistics[from], sizeof r->statistics[i]);
        memcpy(r->dq[i], wide.dq[from], sizeof r->dq[i]);
        if (p->mask.bias_stride.row) memcpy(r->dbias[i], wide.dbias[from], sizeof r->dbias[i]);
    }
}

/* ---- queries alone, not finite, masked or in a window ---- */

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

/* ---- caps, biases and masks ---- */

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
static void test_hidden_keys(void **state)
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
static void test_biases_alone(void **state)
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),        cmocka_unit_test(test_one_row),
        cmocka_unit_test(test_fully_masked), cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_behind_rows),  cmocka_unit_test(test_combinations),
        cmocka_unit_test(test_sums),         cmocka_unit_test(test_hidden_keys),
        cmocka_unit_test(test_biases_alone), cmocka_unit_test(test_rounding_modes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
