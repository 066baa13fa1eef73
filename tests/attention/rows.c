/* rows.c - the general way through attention against its definition: outputs, log-sum-exps, what
   is chosen, weights, every gradient by difference quotients; and its bits: threads, instruction
   sets, rows alone. */
#include "rows_trial.h"
#include "skips.h"

/* ---- the library ---- */

struct job {
    struct trial *t;
    void *workspace;
    bool backward;
};

static void work(struct team *team, void *argument)
{
    const struct job *j = argument;
    struct trial *t = j->t;
    if (!j->backward) {
        rapt__general_forward(team, &t->c, t->x[V], t->out, t->lse, j->workspace);
        return;
    }
    const struct projected_gradients d = {
        t->dx[Q],       t->dx[K],        t->dx[V],       t->n[BIAS] ? t->dx[BIAS] : NULL,
        t->dx[VECTOR],  t->dx[RELATIVE], t->dx[CENTERS], t->dx[FILTERS],
        t->dx[FEATURES]};
    rapt__general_backward(team, &t->c, t->x[V], t->out, t->lse, t->dout, &d, j->workspace);
}

static void *make_workspace(const struct trial *t, int threads)
{
    const struct bounds b = rapt__bounds(&t->a, threads);
    size_t floats = 0;
    assert_true(rapt__general_workspace(&b, &floats));
    void *workspace = aligned_alloc(64, (floats * sizeof(float) + 64) / 64 * 64);
    memset(workspace, 0xff, floats * sizeof(float)); /* NaN: nothing may be read before it is set */
    return workspace;
}

static void run(struct trial *t, int threads)
{
    struct job j = {t, make_workspace(t, threads), false};
    for (int i = 0; i < INPUTS; i++) memset(t->dx[i], 0, t->n[i] * sizeof(float));
    rapt__team_run(threads, work, &j);
    j.backward = true;
    rapt__team_run(threads, work, &j);
    free(j.workspace);
}

/* ---- values ---- */

static void close_to(const struct shape *s, const char *what, size_t i, double got, double want,
                     double error)
{
    if (got == want || fabs(got - want) <= error) return;
    fail_msg("%s %zu is %.9g, should be %.9g (score %d reach %d weighing %d cap %g)", what, i, got,
             want, (int)s->score, (int)s->locality, (int)s->normalizer, (double)s->cap);
}

static void check_values(const struct trial *t, const struct truth *d)
{
    for (size_t i = 0; i < t->rows; i++) {
        close_to(&t->s, "lse", i, (double)t->lse[i], d->lse[i], 1e-5);
        if (is_hard(t)) assert_int_equal(t->chosen[i], d->chosen[i]);
    }
    for (size_t i = 0; i < t->outs; i++)
        close_to(&t->s, "out", i, (double)t->out[i], d->out[i], 1e-5);
}

static void check_weights(const struct trial *t, const struct truth *d)
{
    const struct shape *s = &t->s;
    void *workspace = make_workspace(t, 1);
    float *w = malloc((size_t)(s->queries * s->keys) * sizeof *w);
    for (int b = 0; b < s->batch; b++)
        for (int h = 0; h < s->heads; h++) {
            int keys = rows_in(t, 1, b), first = 1, rows = rows_in(t, 0, b) - first;
            size_t at = (size_t)(h * rows_before(t, 0, s->batch) + rows_before(t, 0, b) + first);
            if (keys == 0 || rows <= 0) continue;
            rapt__general_weights(&t->c, t->lse, b, h, first, rows, w, workspace);
            for (int i = 0; i < rows * keys; i++) {
                size_t row = at + (size_t)(i / keys);
                close_to(s, "weight", (size_t)i, (double)w[i],
                         i % keys < t->counts[b]
                             ? d->weights[row * (size_t)s->keys + (size_t)(i % keys)]
                             : 0,
                         1e-5);
            }
        }
    free(w), free(workspace);
}

static void check_gradients(const struct trial *t, struct truth *d)
{
    static const char *const names[INPUTS] = {
        "dq", "dk", "dv", "dbias", "dvector", "drelative", "dcentres", "dfilters", "dfeatures"};
    const double step = 1e-5;
    for (int i = 0; i < INPUTS; i++)
        for (size_t j = 0; j < t->n[i]; j += 1 + t->n[i] / 40) {
            double x = d->x[i][j], quotient = 0;
            if (isfinite(x)) {
                d->x[i][j] = x + step;
                quotient = true_loss(t, d);
                d->x[i][j] = x - step;
                quotient = (quotient - true_loss(t, d)) / (2 * step);
                d->x[i][j] = x;
            }
            close_to(&t->s, names[i], j, (double)t->dx[i][j], quotient,
                     2e-5 + 2e-5 * fabs(quotient));
        }
}

static void check(const struct shape *s)
{
    struct trial *t = make_trial(s);
    struct truth d = make_truth(t);
    d.first = true;
    true_loss(t, &d);
    run(t, 2);
    check_values(t, &d);
    check_weights(t, &d);
    d.first = false;
    check_gradients(t, &d);
    drop_truth(&d);
    drop_trial(t);
}

static const rapt_score scores[] = {RAPT_SCORE_DOT, RAPT_SCORE_ADDITIVE, RAPT_SCORE_LOCATION_AWARE};

/* Every score, reach and weighing; what else there is in turns. */
static void by_definition(void **state)
{
    (void)state;
    int turn = 0;
    for (int score = 0; score < 3; score++)
        for (int locality = 0; locality < RAPT_LOCALITY_COUNT; locality++)
            for (int normalizer = 0; normalizer < RAPT_NORMALIZER_COUNT; normalizer++, turn++) {
                const struct shape s = {.batch = 3,
                                        .heads = 2,
                                        .key_heads = turn % 2 ? 2 : 1,
                                        .queries = 9,
                                        .keys = turn % 3 ? 21 : 37,
                                        .width = turn % 5 ? 5 : 34,
                                        .value_width = turn % 4 ? 3 : 70,
                                        .score = scores[score],
                                        .locality = (rapt_locality)locality,
                                        .normalizer = (rapt_normalizer)normalizer,
                                        .radius = 4.5f,
                                        .cap = turn % 2 ? 1.5f : 0,
                                        .bias = turn % 3 == 0,
                                        .relative = turn % 3 != 1,
                                        .dropout = turn % 2 ? 0.3f : 0,
                                        .causal = turn % 4 == 3,
                                        .ragged = turn % 2 == 1,
                                        .previous = turn % 3 == 2};
                check(&s);
            }
}

/* ---- bits ---- */

static bool same_bits(const float *x, const float *y, size_t n)
{
    return n == 0 || memcmp(x, y, n * sizeof *x) == 0;
}

static void same_results(const struct trial *t, const struct trial *want)
{
    assert_true(same_bits(t->out, want->out, t->outs));
    assert_true(same_bits(t->lse, want->lse, t->rows));
    assert_memory_equal(t->chosen, want->chosen, t->rows * sizeof(int));
    for (int i = 0; i < INPUTS; i++) assert_true(same_bits(t->dx[i], want->dx[i], t->n[i]));
}

static void threads_and_instruction_sets(void **state)
{
    (void)state;
    const int threads[] = {1, 2, 3, 7};
    rapt_isa sets[EQUAL_SETS], used = rapt_isa_used();
    int count = equal_sets("attention/rows, instruction sets", sets);
    for (int turn = 0; turn < 15; turn++) {
        const struct shape s = {.batch = 4,
                                .heads = 4,
                                .key_heads = turn % 2 ? 4 : 2,
                                .queries = 20,
                                .keys = 90,
                                .width = 37,
                                .value_width = 21,
                                .score = scores[turn % 3],
                                .locality = turn % 2 ? RAPT_LOCALITY_LOCAL_P : RAPT_LOCALITY_GLOBAL,
                                .normalizer = (rapt_normalizer)(turn % 5),
                                .radius = 31,
                                .cap = turn % 4 == 1 ? 2 : 0,
                                .bias = turn % 4 == 2,
                                .relative = turn % 4 == 3,
                                .dropout = turn % 5 == 0 ? 0.2f : 0,
                                .previous = true};
        struct trial *want = NULL;
        for (int i = 0; i < count; i++) {
            assert_int_equal(rapt_isa_use(sets[i]), RAPT_OK);
            for (int n = 0; n < 4; n++) {
                struct trial *t = make_trial(&s);
                run(t, threads[n]);
                if (want) {
                    same_results(t, want);
                    drop_trial(t);
                } else {
                    want = t;
                }
            }
        }
        if (want) drop_trial(want);
    }
    rapt_isa_use(used);
}

/* A row alone has the bits that it has among others. */
static void rows_alone(void **state)
{
    (void)state;
    for (int normalizer = 0; normalizer < 2; normalizer++)
        for (int score = 0; score < 2; score++) {
            const struct shape s = {.batch = 1,
                                    .heads = 2,
                                    .key_heads = 2,
                                    .queries = 12,
                                    .keys = 300,
                                    .width = 40,
                                    .value_width = 19,
                                    .score = scores[score],
                                    .normalizer = (rapt_normalizer)normalizer};
            struct trial *all = make_trial(&s), *one = make_trial(&s);
            run(all, 2);
            one->a.queries = 1, one->a.mask.allowed_stride.row = 0;
            for (int row = 0; row < s.queries; row++) {
                if (row == 2) continue; /* it sees nothing */
                struct job j = {one, make_workspace(one, 1), false};
                one->c.q = all->x[Q] + row * one->c.q_stride.row;
                rapt__team_run(1, work, &j);
                free(j.workspace);
                size_t width = (size_t)(s.heads * s.value_width);
                assert_true(same_bits(one->out, all->out + (size_t)row * width, width));
                assert_true(one->lse[1] == all->lse[s.queries + row]);
            }
            drop_trial(all), drop_trial(one);
        }
}

/* ---- draws ---- */

/* 4000 queries that are all the same choose each key as often as its probability says. */
static void draws_follow_the_softmax(void **state)
{
    (void)state;
    const struct shape s = {.batch = 1,
                            .heads = 1,
                            .key_heads = 1,
                            .queries = 4000,
                            .keys = 20,
                            .width = 3,
                            .value_width = 1,
                            .normalizer = RAPT_NORMALIZER_SAMPLE,
                            .score = RAPT_SCORE_DOT};
    struct trial *t = make_trial(&s);
    t->c.q_stride.row = 0;
    t->a.mask.allowed_stride.row = 0;
    struct job j = {t, make_workspace(t, 1), false};
    rapt__team_run(1, work, &j);
    free(j.workspace);
    int often[20] = {0};
    double chi = 0;
    for (int row = 0; row < s.queries; row++) often[t->chosen[row]]++;
    for (int k = 0; k < s.keys; k++) {
        double x = 0;
        if (k == 1) continue;
        for (int i = 0; i < 3; i++)
            x += (double)t->c.scale * (double)t->x[Q][i] * (double)t->x[K][k * 3 + i];
        double want = s.queries * exp(x - (double)t->lse[0]);
        chi += (often[k] - want) * (often[k] - want) / want;
    }
    assert_int_equal(often[1], 0);
    assert_true(chi < 18 + 4 * sqrt(2 * 18.0)); /* 18 degrees of freedom, four deviations */
    assert_true(chi > 3);
    drop_trial(t);
}

static void ties_go_to_the_lowest(void **state)
{
    (void)state;
    const struct shape s = {.batch = 1,
                            .heads = 1,
                            .key_heads = 1,
                            .queries = 2,
                            .keys = 70,
                            .width = 3,
                            .value_width = 1,
                            .normalizer = RAPT_NORMALIZER_ARGMAX,
                            .score = RAPT_SCORE_DOT};
    struct trial *t = make_trial(&s);
    memset(t->x[Q], 0, t->n[Q] * sizeof(float));
    t->allowed[0] = t->allowed[s.keys] = t->allowed[s.keys + 2] = 0;
    struct job j = {t, make_workspace(t, 1), false};
    rapt__team_run(1, work, &j);
    free(j.workspace);
    assert_int_equal(t->chosen[0], 2);
    assert_int_equal(t->chosen[1], 3);
    drop_trial(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_definition),
        cmocka_unit_test(threads_and_instruction_sets),
        cmocka_unit_test(rows_alone),
        cmocka_unit_test(draws_follow_the_softmax),
        cmocka_unit_test(ties_go_to_the_lowest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
