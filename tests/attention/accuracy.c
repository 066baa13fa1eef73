/* accuracy.c - errors compared with those of plain loops in float, forward and backward: for no
   array much larger, and on average smaller. Also the algebra of attention: linear in v, invariant
   under the order of keys and under a constant added to all scores. */
#include "contest.h"

/* Whether the error of an array is too large: above 12 roundings, 48 for gradients; or, beyond what
   the last operations leave (4 roundings, 8 for gradients), above that of the plain loops. The
   weights of the backward pass are rebuilt from a log-sum-exp that is itself rounded. If weights
   are near 0 and 1 this may cost half as much again, and in an array with few elements chance may,
   too. */
static bool too_far(const struct errors *e, int array, size_t n, bool query_size)
{
    bool out = array == NET_OUT, few = n < 200;
    double enough = (out ? 4 : few ? 16 : query_size ? 12 : 8) * 0x1p-23;
    double limit = (query_size ? 16 : 8) * 0x1p-23, share = !out && (query_size || few) ? 1.5 : 1;
    if (out && e->max[0] > fmax(e->max[1], limit)) return true;
    if (e->mean[0] > (out ? 12 : 48) * 0x1p-23) return true;
    return e->mean[0] > fmax(e->mean[1] * share, enough);
}

struct score_errors {
    double out, all; /* logarithms of the quotients of errors, ours to naive */
    int outs, cases, far;
};

static void contest(const struct choice *c, uint64_t seed, struct score_errors *board)
{
    struct contest n = make_contest(c, seed);
    char line[512];
    int length =
        snprintf(line, sizeof line, "%s %dx%dx%d query_size %g:", rapt_score_name(c->score),
                 c->queries, c->keys, c->key_width, (double)c->query_size);
    for (int i = 0; i < NET_ARRAYS; i++) {
        struct errors e = errors_of(&n, i);
        if (e.mean[1] == 0) continue; /* the score does not read it */
        length += snprintf(line + length, sizeof line - (size_t)length, " %s %.1f/%.1f%s",
                           net_names[i], e.mean[0] * 0x1p23, e.mean[1] * 0x1p23,
                           too_far(&e, i, n.array[i].n, c->query_size > 1) ? " (too far)" : "");
        double quotient = log(e.mean[0] / e.mean[1]);
        board->all += quotient, board->cases++;
        if (i == NET_OUT) board->out += quotient, board->outs++;
        board->far += too_far(&e, i, n.array[i].n, c->query_size > 1);
    }
    print_message("%s\n", line);
    drop_contest(&n);
}

/* Compares scaled dot products up to many keys, and every score at the sizes that its hidden layer
   allows. */
static void against_naive(void **state)
{
    (void)state;
    const int shapes[][3] = {{33, 129, 16},  {64, 64, 64},    {64, 512, 64},  {64, 267, 8},
                             {16, 2048, 32}, {64, 1024, 128}, {64, 2048, 64}, {16, 8192, 64}};
    struct score_errors total = {0};
    int far = 0;
    print_message("root of mean square, in roundings: ours/naive\n");
    for (int score = 0; rapt_score_name((rapt_score)score); score++) {
        struct score_errors board = {0};
        for (int i = 0; i < (score == RAPT_SCORE_SCALED_DOT ? 8 : 4); i++)
            for (int query_size = 1; query_size <= 8; query_size += 7) {
                const struct choice c = {.batch = 1,
                                         .heads = 1,
                                         .queries = shapes[i][0],
                                         .keys = shapes[i][1],
                                         .key_width = shapes[i][2],
                                         .value_width = shapes[i][2],
                                         .score = (rapt_score)score,
                                         .learned = true,
                                         .hidden = shapes[i][2],
                                         .query_size = (float)query_size};
                contest(&c, (uint64_t)(10 * score + i), &board);
            }
        double out = exp(board.out / board.outs), all = exp(board.all / board.cases);
        print_message("%s: mean quotient %.2f of out, %.2f of all, too far %d of %d\n",
                      rapt_score_name((rapt_score)score), out, all, board.far, board.cases);
        if (score == RAPT_SCORE_SCALED_DOT) assert_true(out <= 0.6);
        far += board.far;
        total.out += board.out, total.outs += board.outs;
        total.all += board.all, total.cases += board.cases;
    }
    print_message("all scores: mean quotient %.2f of out, %.2f of all\n",
                  exp(total.out / total.outs), exp(total.all / total.cases));
    assert_int_equal(far, 0);
    assert_true(exp(total.out / total.outs) <= 0.75);
    assert_true(exp(total.all / total.cases) <= 0.75);
}

static struct trial plain(uint64_t seed)
{
    const struct choice c = {
        .batch = 1, .heads = 1, .queries = 40, .keys = 200, .key_width = 16, .value_width = 24};
    return make_trial(&c, seed);
}

static void assert_near(const float *x, const float *y, size_t n, double allowed)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)x[i] - (double)y[i]) <= allowed))
            fail_msg("[%zu]: %.9g and %.9g", i, (double)x[i], (double)y[i]);
}

static void linear_in_v(void **state)
{
    (void)state;
    struct trial x = plain(1), y = plain(1);
    for (size_t i = 0; i < y.nv; i++) y.v[i] = 4 * x.v[i];
    run_forward(&x);
    run_forward(&y);
    for (size_t i = 0; i < x.no; i++) assert_true(y.out[i] == 4 * x.out[i]);
    for (size_t i = 0; i < y.nv; i++) y.v[i] = 1;
    run_forward(&y);
    for (int t = 0; t < 40; t++)
        for (int i = 0; i < 24; i++)
            assert_true(fabsf(y.out[t * y.a.out.row + i] - 1) <= 4 * 0x1p-23f);
    drop_trial(&x);
    drop_trial(&y);
}

static void order_of_keys(void **state)
{
    (void)state;
    struct trial x = plain(2), y = plain(2);
    for (int s = 0; s < 200; s++) {
        int to = s * 77 % 200;
        memcpy(y.k + to * y.a.k.row, x.k + s * x.a.k.row, 16 * sizeof(float));
        memcpy(y.v + to * y.a.v.row, x.v + s * x.a.v.row, 24 * sizeof(float));
    }
    run_forward(&x);
    run_forward(&y);
    assert_near(x.out, y.out, x.no, 16 * 0x1p-23);
    assert_near(x.lse, y.lse, x.nlse, 16 * 0x1p-23);
    drop_trial(&x);
    drop_trial(&y);
}

static void shifted_scores(void **state)
{
    (void)state;
    const struct choice c = {.batch = 1,
                             .heads = 2,
                             .queries = 40,
                             .keys = 200,
                             .key_width = 16,
                             .value_width = 24,
                             .bias = SHARED | PER_ROW};
    struct trial x = make_trial(&c, 3), y = make_trial(&c, 3);
    for (size_t i = 0; i < y.nbias; i++) y.bias[i] += 16;
    run_forward(&x);
    run_forward(&y);
    assert_near(x.out, y.out, x.no, 64 * 0x1p-23);
    for (size_t i = 0; i < x.nlse; i++)
        assert_true(fabsf(y.lse[i] - 16 - x.lse[i]) <= 64 * 0x1p-23f);
    drop_trial(&x);
    drop_trial(&y);
}

/* About the requested share of weights is dropped, and the others are scaled so that the mean
   stays. */
static void share_of_dropped(void **state)
{
    (void)state;
    const struct choice c = {.batch = 4,
                             .heads = 4,
                             .queries = 64,
                             .keys = 256,
                             .key_width = 1,
                             .value_width = 1,
                             .dropout = 0.25f,
                             .query_size = 1e-20f};
    struct trial x = make_trial(&c, 4);
    double mean = 0;
    for (size_t i = 0; i < x.nv; i++) x.v[i] = 1;
    run_forward(&x);
    for (int b = 0; b < 4; b++)
        for (int h = 0; h < 4; h++)
            for (int t = 0; t < 64; t++)
                mean +=
                    (double)x.out[b * x.a.out.batch + h * x.a.out.head + t * x.a.out.row] / 1024;
    assert_true(fabs(mean - 1) < 0.006); /* five standard deviations of 262,144 draws */
    assert_true(mean != 1);
    drop_trial(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_naive),    cmocka_unit_test(linear_in_v),
        cmocka_unit_test(order_of_keys),    cmocka_unit_test(shifted_scores),
        cmocka_unit_test(share_of_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
