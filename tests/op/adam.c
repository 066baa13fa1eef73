/* adam.c - the optimizer's step and the sums around it, against their definitions. */
#include "op/helpers.h"
#include "oracle/op.h"

static const size_t sizes[] = {0, 1, 7, 17, 130, 4096, 10001};

struct problem {
    size_t n;
    struct adam a;
    float *g, *result, *p, *m, *v; /* p, m, v back to back in result */
    double *partial, sum;
    struct adam_range range;
    float value;
};

static struct problem make(size_t n)
{
    struct problem p = {.n = n, .g = random_floats(n, 1), .result = random_floats(3 * n, 2)};
    p.p = p.result;
    p.m = p.p + n;
    p.v = p.m + n;
    for (size_t i = 0; i < n; i++) p.v[i] = p.v[i] * p.v[i];
    p.partial = doubles(NULL, 2 * rapt__square_partial(n));
    return p;
}

static void drop(struct problem *p)
{
    free(p->g);
    free(p->result);
    free(p->partial);
}

static void run_adam(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    rapt__adam(exec, &p->a, p->p, p->g, p->m, p->v, p->n);
}

static void step_is_the_definition(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(sizes); i++) {
        struct problem p = make(sizes[i]);
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
        drop(&p);
    }
}

static void run_range(const struct exec_context *exec, void *argument)
{
    struct problem *p = argument;
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
        struct problem p = make(sizes[i]);
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
        drop(&p);
    }
}

static void run_square_sum(const struct exec_context *exec, void *argument)
{
    struct problem *p = argument;
    rapt__square_sum(exec, p->g, p->n, p->partial, &p->sum);
    if (exec->team->rank == 0) p->value = (float)p->sum;
}

static void square_sum_is_the_definition(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(sizes); i++) {
        struct problem p = make(sizes[i]);
        double wanted = 0;
        for (size_t j = 0; j < p.n; j++) wanted += (double)p.g[j] * (double)p.g[j];
        assert_same_bits(run_square_sum, &p, &p.value, 1);
        assert_near(p.sum, wanted, 2);
        drop(&p);
    }
}

static void square_sum_shows_what_is_not_finite(void **state)
{
    (void)state;
    struct problem p = make(10001);
    p.g[9000] = INFINITY;
    run_exec(2, run_square_sum, &p);
    assert_true(isinf(p.sum));
    p.g[9000] = NAN;
    run_exec(2, run_square_sum, &p);
    assert_true(isnan(p.sum));
    drop(&p);
}

static void run_fill(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    rapt__fill(exec, p->m, p->n, 2.5f);
}

static void fill(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(sizes); i++) {
        struct problem p = make(sizes[i]);
        double *before = doubles(p.result, 3 * p.n);
        assert_same_bits(run_fill, &p, p.result, 3 * p.n);
        for (size_t j = 0; j < p.n; j++) {
            assert_true(p.m[j] == 2.5f);
            assert_true((double)p.p[j] == before[j]);
            assert_true((double)p.v[j] == before[2 * p.n + j]);
        }
        free(before);
        drop(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_is_the_definition),
        cmocka_unit_test(range_is_that_of_the_step),
        cmocka_unit_test(square_sum_is_the_definition),
        cmocka_unit_test(square_sum_shows_what_is_not_finite),
        cmocka_unit_test(fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
