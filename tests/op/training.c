/* training.c - what only training computes: losses, sums of gradients and the optimizer's step. */
#include "op/helpers.h"
#include "oracle/op.h"

/* ---- loss: the last layer and the smoothed loss by chunks, against their definition. ---- */

struct loss_problem {
    int rows, in, vocab;
    float smoothing;
    bool bias, gradients;
    struct linear layer;
    int32_t *labels;
    float *x, *w, *panels, *b, *workspace;
    float *result, *dx, *dweight, *dbias; /* back to back in result, then the sums as floats */
    float *sums_out, *losses;             /* losses: [rows] */
    struct loss sums;
    size_t size;
};

static struct loss_problem make_loss(int rows, int in, int vocab, float smoothing)
{
    struct loss_problem p = {.rows = rows, .in = in, .vocab = vocab, .smoothing = smoothing};
    size_t xs = (size_t)(rows * in), ws = rapt__panels_size((size_t)vocab, (size_t)in);
    p.gradients = true;
    p.x = random_floats(xs, 1);
    p.w = random_floats((size_t)(vocab * in), 2);
    p.panels = to_panels(p.w, vocab, in);
    p.b = random_floats((size_t)vocab, 3);
    p.layer = (struct linear){.weight = p.panels, .bias = p.b, .in = in, .out = vocab};
    p.labels = calloc((size_t)rows + 1, sizeof *p.labels);
    assert_non_null(p.labels);
    for (int r = 0; r < rows; r++) /* one in eight has no label */
        p.labels[r] = r % 8 == 5 ? -1 : (int32_t)(rapt__uniform(4, (uint64_t)r) * vocab);
    p.workspace = random_floats(rapt__loss_workspace(rows, in, vocab), 5);
    p.size = xs + ws + (size_t)vocab + 4 + (size_t)rows;
    p.result = floats(p.size);
    p.dx = p.result;
    p.dweight = p.dx + xs;
    p.dbias = p.dweight + ws;
    p.sums_out = p.dbias + vocab;
    p.losses = p.sums_out + 4;
    return p;
}

static void drop_loss(struct loss_problem *p)
{
    free(p->x);
    free(p->w);
    free(p->panels);
    free(p->b);
    free(p->labels);
    free(p->workspace);
    free(p->result);
}

static void run(const struct exec_context *exec, void *argument)
{
    struct loss_problem *p = argument;
    if (exec->team->rank == 0) p->sums = (struct loss){.rows = p->losses};
    rapt__team_barrier(exec->team);
    rapt__loss(exec, &p->layer, p->x, p->rows, p->labels, p->smoothing, &p->sums,
               p->gradients ? p->dx : NULL, p->dweight, p->dbias, p->workspace);
    if (exec->team->rank != 0) return;
    p->sums_out[0] = (float)p->sums.loss;
    p->sums_out[1] = (float)p->sums.likelihood;
    p->sums_out[2] = (float)p->sums.tokens;
    p->sums_out[3] = (float)p->sums.correct;
}

struct judged { /* the summed loss */
    const struct loss_problem *p;
    double *x, *w, *b, *logits, likelihood;
    int tokens, correct;
};

static int best_of(const double *x, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++) best = x[i] > x[best] ? i : best;
    return best;
}

static double summed(const void *argument)
{
    struct judged *j = (struct judged *)argument;
    const struct loss_problem *p = j->p;
    double sum = 0, likelihood;
    j->likelihood = 0;
    j->tokens = j->correct = 0;
    oracle_linear(p->rows, p->in, p->vocab, j->x, j->w, j->b, j->logits);
    for (int r = 0; r < p->rows; r++) {
        const double *logits = j->logits + r * p->vocab;
        if (p->labels[r] < 0) continue;
        sum += oracle_loss(p->vocab, logits, p->labels[r], (double)p->smoothing, &likelihood);
        j->likelihood += likelihood;
        j->tokens++;
        j->correct += best_of(logits, p->vocab) == p->labels[r];
    }
    return sum;
}

static struct judged judge(const struct loss_problem *p)
{
    size_t rows = (size_t)p->rows, in = (size_t)p->in, vocab = (size_t)p->vocab;
    return (struct judged){.p = p,
                           .x = doubles(p->x, rows * in),
                           .w = doubles(p->w, vocab * in),
                           .b = doubles(p->b, vocab),
                           .logits = doubles(NULL, rows * vocab)};
}

static void drop_judge(struct judged *j)
{
    free(j->x);
    free(j->w);
    free(j->b);
    free(j->logits);
}

static void check_sums(const struct loss_problem *p, struct judged *j)
{
    double loss = summed(j), rows = 0;
    assert_near(p->sums.loss, loss, 1);
    assert_near(p->sums.likelihood, j->likelihood, 1);
    assert_int_equal(p->sums.tokens, j->tokens);
    assert_int_equal(p->sums.correct, j->correct);
    for (int r = 0; r < p->rows; r++) {
        assert_true((p->losses[r] != 0) == (p->labels[r] >= 0 && p->vocab > 1));
        rows += (double)p->losses[r];
    }
    assert_near(rows, loss, 1);
}

static void check_gradients(const struct loss_problem *p, struct judged *j)
{
    size_t xs = (size_t)(p->rows * p->in), ws = (size_t)(p->vocab * p->in), some = 12;
    assert_slopes(summed, j, j->x, p->dx, xs, some, 16);
    assert_slopes(summed, j, j->b, p->dbias, (size_t)p->vocab, some, 16);
    for (size_t i = 0; i<ws; i += ws> some ? ws / some : 1)
        assert_near((double)p->dweight[panel_index(p->in, (int)i / p->in, (int)i % p->in)],
                    slope(summed, j, &j->w[i]), 16);
    assert_padding(p->dweight, p->vocab, p->in);
}

static void loss_and_gradients_are_the_definition(void **state)
{
    static const int shapes[][3] = {{0, 7, 5},   {1, 1, 1},   {15, 7, 1},
                                    {15, 17, 5}, {113, 7, 5}, {16, 33, 1003}};
    (void)state;
    for (int i = 0; i < COUNT(shapes) * 2; i++) {
        const int *s = shapes[i / 2];
        struct loss_problem p = make_loss(s[0], s[1], s[2], i % 2 ? 0.1f : 0);
        assert_same_bits(run, &p, p.result, p.size);
        struct judged j = judge(&p);
        check_sums(&p, &j);
        check_gradients(&p, &j);
        for (int r = 0; r < p.rows; r++)
            for (int k = 0; p.labels[r] < 0 && k < p.in; k++) assert_true(p.dx[r * p.in + k] == 0);
        drop_judge(&j);
        drop_loss(&p);
    }
}

/* Computes more rows than fit into a chunk of logits. */
static void chunks_make_no_difference(void **state)
{
    (void)state;
    struct loss_problem p = make_loss(1100, 7, 5, 0.1f), wide = make_loss(150, 3, 17000, 0.1f);
    assert_true(rapt__loss_workspace(1100, 7, 5) < 1100 * 5);
    assert_true(rapt__loss_workspace(150, 3, 17000) < 150 * 17000);
    struct judged j = judge(&p), k = judge(&wide);
    run_exec(2, run, &p);
    check_sums(&p, &j);
    check_gradients(&p, &j);
    run_exec(2, run, &wide);
    check_sums(&wide, &k);
    drop_judge(&j);
    drop_judge(&k);
    drop_loss(&p);
    drop_loss(&wide);
}

static void loss_alone_writes_no_gradient(void **state)
{
    (void)state;
    struct loss_problem p = make_loss(113, 7, 5, 0.1f);
    run_exec(2, run, &p);
    double loss = p.sums.loss;
    memset(p.result, 0, p.size * sizeof(float));
    p.gradients = false;
    run_exec(2, run, &p);
    assert_true(p.sums.loss == loss);
    for (size_t i = 0; i < p.size - 4 - (size_t)p.rows; i++) assert_true(p.result[i] == 0);
    drop_loss(&p);
}

static void sums_add_up(void **state)
{
    (void)state;
    struct loss_problem p = make_loss(15, 17, 5, 0.1f);
    run_exec(1, run, &p);
    double *once = doubles(p.result, p.size);
    run_exec(1, run, &p);
    for (float *x = p.dweight; x < p.sums_out; x++)
        assert_near((double)*x, 2 * once[x - p.result], 4);
    for (float *x = p.dx; x < p.dweight; x++) assert_true((double)*x == once[x - p.result]);
    free(once);
    drop_loss(&p);
}

/* A loss that is not finite is visible in the sums, where the trainer finds it. */
static void what_is_not_finite_shows(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    (void)state;
    for (int i = 0; i < COUNT(bad); i++)
        for (int j = 0; j < 2; j++) {
            struct loss_problem p = make_loss(113, 7, 17, 0.1f);
            if (j)
                p.x[30 * 7 + 3] = bad[i];
            else
                p.b[11] = bad[i];
            run_exec(2, run, &p);
            assert_true(!isfinite(p.sums.loss));
            drop_loss(&p);
        }
}

/* ---- adam: the optimizer's step and the sums around it, against their definitions. ---- */

static const size_t sizes[] = {0, 1, 7, 17, 130, 4096, 10001};

struct adam_problem {
    size_t n;
    struct adam a;
    float *g, *result, *p, *m, *v; /* p, m, v back to back in result */
    double *partial, sum;
    struct adam_range range;
    float value;
};

static struct adam_problem make_adam(size_t n)
{
    struct adam_problem p = {.n = n, .g = random_floats(n, 1), .result = random_floats(3 * n, 2)};
    p.p = p.result;
    p.m = p.p + n;
    p.v = p.m + n;
    for (size_t i = 0; i < n; i++) p.v[i] = p.v[i] * p.v[i];
    p.partial = doubles(NULL, 2 * rapt__square_partial(n));
    return p;
}

static void drop_adam(struct adam_problem *p)
{
    free(p->g);
    free(p->result);
    free(p->partial);
}

static void run_adam(const struct exec_context *exec, void *argument)
{
    const struct adam_problem *p = argument;
    rapt__adam(exec, &p->a, p->p, p->g, p->m, p->v, p->n);
}

static void step_is_the_definition(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(sizes); i++) {
        struct adam_problem p = make_adam(sizes[i]);
        struct oracle_adam o = {0.01, 0.9, 0.98, 1e-4, 0.1, 3};
        size_t n = sizes[i];
        p.a = (struct adam){.rate = 0.01f, .beta1 = 0.9f, .beta2 = 0.98f, .epsilon = 1e-4f};
        p.a.correct1 = (float)(1 / (1 - pow(0.9, 3)));
        p.a.correct2 = (float)(1 / (1 - pow(0.98, 3)));
        p.a.decay = 0.01f * 0.1f;
        p.a.gradient_scale = 0.5f;
        double *wanted = doubles(p.result, 3 * n);
        for (size_t j = 0; j < n; j++)
            oracle_adam(&o, &wanted[j], 0.5 * (double)p.g[j], &wanted[n + j], &wanted[2 * n + j]);
        assert_same_bits(run_adam, &p, p.result, 3 * n);
        assert_all_near(p.result, wanted, 3 * n, 4);
        free(wanted);
        drop_adam(&p);
    }
}

static void run_range(const struct exec_context *exec, void *argument)
{
    struct adam_problem *p = argument;
    rapt__adam_range(exec, &p->a, p->p, p->g, p->m, p->v, p->n, p->partial, &p->range);
}

static double largest(const float *x, size_t n)
{
    double max = 0;
    for (size_t i = 0; i < n; i++) max = fmax(max, fabs((double)x[i]));
    return max;
}

/* The range of a step predicts the step made afterwards, and changes nothing; also of a step that
   must not be made. */
static void range_is_that_of_the_step(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(sizes); i++) {
        struct adam_problem p = make_adam(sizes[i]);
        size_t n = p.n, bytes = 3 * n * sizeof(float);
        p.a = (struct adam){1e-2f, 0.9f, 0.98f, 1e-4f, 2, 3, 1e-3f, 0.5f};
        float *before = malloc(bytes + 1);
        memcpy(before, p.result, bytes);
        run_exec(3, run_range, &p);
        assert_memory_equal(before, p.result, bytes);
        run_exec(2, run_adam, &p);
        assert_true(p.range.parameter == largest(p.p, n) && p.range.moment == largest(p.m, n));
        for (int part = 0; n && part < 3; part++) {
            memcpy(p.result, before, bytes);
            p.result[(size_t)part * n + n / 2] = part == 1 ? -INFINITY : NAN;
            run_exec(3, run_range, &p);
            assert_true(isinf(p.range.parameter) || isinf(p.range.moment));
        }
        free(before);
        drop_adam(&p);
    }
}

static void run_square_sum(const struct exec_context *exec, void *argument)
{
    struct adam_problem *p = argument;
    rapt__square_sum(exec, p->g, p->n, p->partial, &p->sum);
    if (exec->team->rank == 0) p->value = (float)p->sum;
}

static void square_sum_is_the_definition(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(sizes); i++) {
        struct adam_problem p = make_adam(sizes[i]);
        double wanted = 0;
        for (size_t j = 0; j < p.n; j++) wanted += (double)p.g[j] * (double)p.g[j];
        assert_same_bits(run_square_sum, &p, &p.value, 1);
        assert_near(p.sum, wanted, 2);
        drop_adam(&p);
    }
}

static void square_sum_shows_what_is_not_finite(void **state)
{
    (void)state;
    struct adam_problem p = make_adam(10001);
    p.g[9000] = INFINITY;
    run_exec(2, run_square_sum, &p);
    assert_true(isinf(p.sum));
    p.g[9000] = NAN;
    run_exec(2, run_square_sum, &p);
    assert_true(isnan(p.sum));
    drop_adam(&p);
}

static void run_fill(const struct exec_context *exec, void *argument)
{
    const struct adam_problem *p = argument;
    rapt__fill(exec, p->m, p->n, 2.5f);
}

static void fill(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(sizes); i++) {
        struct adam_problem p = make_adam(sizes[i]);
        double *before = doubles(p.result, 3 * p.n);
        assert_same_bits(run_fill, &p, p.result, 3 * p.n);
        for (size_t j = 0; j < p.n; j++) {
            assert_true(p.m[j] == 2.5f);
            assert_true((double)p.p[j] == before[j]);
            assert_true((double)p.v[j] == before[2 * p.n + j]);
        }
        free(before);
        drop_adam(&p);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_and_gradients_are_the_definition),
        cmocka_unit_test(chunks_make_no_difference),
        cmocka_unit_test(loss_alone_writes_no_gradient),
        cmocka_unit_test(sums_add_up),
        cmocka_unit_test(what_is_not_finite_shows),
        cmocka_unit_test(step_is_the_definition),
        cmocka_unit_test(range_is_that_of_the_step),
        cmocka_unit_test(square_sum_is_the_definition),
        cmocka_unit_test(square_sum_shows_what_is_not_finite),
        cmocka_unit_test(fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
