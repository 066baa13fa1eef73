/* bf16.c - the three products of a layer in bf16 by a team: equal to their definition, bit for bit,
   in every form and for any number of threads. */
#include "op/helpers.h"

#include "kernel/bf16.h"
#include "oracle/bf16.h"

struct shape {
    int rows, in, out;
    bool bias;
    enum activation activation;
};
/* Depths are odd and even, above and below the depth of a block (512); columns fill one block or
   more than one (1,024). */
static const struct shape shapes[] = {
    {1, 1, 1, true, ACTIVATION_NONE},       {3, 17, 33, false, ACTIVATION_RELU},
    {53, 130, 257, true, ACTIVATION_SILU},  {107, 96, 200, false, ACTIVATION_GELU},
    {5, 1027, 48, true, ACTIVATION_NONE},   {2, 515, 1100, true, ACTIVATION_NONE},
    {60, 20, 1040, false, ACTIVATION_NONE}, {4, 0, 20, true, ACTIVATION_NONE},
    {0, 8, 20, true, ACTIVATION_NONE},
};

struct problem {
    struct shape s;
    float *x, *y, *w, *panels, *bias; /* y is also dy */
    float *forward, *activated, *dx, *dweight;
    int x_row, y_row;
};

static struct problem make(const struct shape *s)
{
    size_t rows = (size_t)s->rows, in = (size_t)s->in, out = (size_t)s->out;
    struct problem p = {.s = *s, .x_row = s->in + 3, .y_row = s->out + 5};
    p.x = random_floats(rows * (size_t)p.x_row, 1);
    p.y = random_floats(rows * (size_t)p.y_row, 2);
    p.w = random_floats(in * out, 3);
    p.panels = to_panels(p.w, s->out, s->in);
    p.bias = random_floats(out, 4);
    return p;
}

static void drop(struct problem *p)
{
    free(p->x), free(p->y), free(p->w), free(p->panels), free(p->bias);
}

/* Sets the results to numbers that are read where a product is added, and to be overwritten
   otherwise. */
static void start(struct problem *p)
{
    size_t rows = (size_t)p->s.rows;
    p->forward = floats(rows * (size_t)p->y_row);
    p->activated = floats(rows * (size_t)p->y_row);
    p->dx = random_floats(rows * (size_t)p->x_row, 5);
    float *dw = random_floats((size_t)p->s.in * (size_t)p->s.out, 6);
    p->dweight = to_panels(dw, p->s.out, p->s.in);
    free(dw);
}

static void finish(struct problem *p)
{
    free(p->forward), free(p->activated), free(p->dx), free(p->dweight);
}

static void run(struct team *team, void *argument)
{
    struct problem *p = argument;
    const struct shape *s = &p->s;
    static float pack[PACK_FLOATS];
    const struct exec_context exec = {team, rapt__kernels(), pack, &rapt__products_bf16, NULL};
    const struct linear linear = {
        .weight = p->panels, .bias = s->bias ? p->bias : NULL, .in = s->in, .out = s->out};
    rapt__linear_forward(&exec, &linear, p->x, p->x_row, s->rows, p->forward, p->y_row,
                         s->activation, p->activated);
    rapt__linear_backward_input(&exec, &linear, p->y, p->y_row, s->rows, p->dx, p->x_row, true);
    rapt__linear_backward_weight(&exec, &linear, p->x, p->x_row, p->y, p->y_row, s->rows,
                                 p->dweight, NULL);
}

static float at(const float *x, int row, int r, int n)
{
    return x[(size_t)r * (size_t)row + (size_t)n];
}

static void same(float got, float want, const struct problem *p, const char *name)
{
    if (memcmp(&got, &want, sizeof got) == 0) return;
    fail_msg("%s, %d x %d x %d: %a, should be %a", name, p->s.rows, p->s.in, p->s.out, (double)got,
             (double)want);
}

/* Compares what run() computed with the definition. *s holds the results before. */
static void check(const struct problem *p, const struct problem *before)
{
    const struct shape *s = &p->s;
    for (int r = 0; r < s->rows; r++)
        for (int o = 0; o < s->out; o++)
            same(at(p->forward, p->y_row, r, o),
                 oracle_bf16_chain(s->in, p->x + r * p->x_row, 1, p->w + (ptrdiff_t)o * s->in, 1,
                                   s->bias ? p->bias[o] : 0),
                 p, "y");
    for (int r = 0; r < s->rows; r++)
        for (int i = 0; i < s->in; i++)
            same(at(p->dx, p->x_row, r, i),
                 oracle_bf16_chain(s->out, p->y + r * p->y_row, 1, p->w + i, s->in,
                                   at(before->dx, p->x_row, r, i)),
                 p, "dx");
    for (int o = 0; o < s->out; o++)
        for (int i = 0; i < s->in; i++)
            same(p->dweight[panel_index(s->in, o, i)],
                 oracle_bf16_chain(s->rows, p->y + o, p->y_row, p->x + i, p->x_row,
                                   before->dweight[panel_index(s->in, o, i)]),
                 p, "dW");
}

/* The activation is that of the kernels in use, of the same y. */
static void check_activation(const struct problem *p)
{
    const struct shape *s = &p->s;
    float *want = floats((size_t)s->out);
    for (int r = 0; r < s->rows && s->activation != ACTIVATION_NONE; r++) {
        rapt__kernels()->activate(s->activation, p->forward + r * p->y_row, want, (size_t)s->out);
        assert_memory_equal(p->activated + r * p->y_row, want, (size_t)s->out * sizeof *want);
    }
    free(want);
}

static void test_definition(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(shapes); i++) {
        struct problem p = make(&shapes[i]), before = p;
        start(&before), start(&p);
        rapt__team_run(2, run, &p);
        check(&p, &before);
        check_activation(&p);
        finish(&p), finish(&before);
        drop(&p);
    }
}

static void compare(const struct problem *p, const struct problem *want)
{
    size_t rows = (size_t)p->s.rows, y = rows * (size_t)p->y_row, x = rows * (size_t)p->x_row;
    assert_memory_equal(p->forward, want->forward, y * sizeof(float));
    assert_memory_equal(p->dx, want->dx, x * sizeof(float));
    assert_memory_equal(p->dweight, want->dweight,
                        rapt__panels_size((size_t)p->s.out, (size_t)p->s.in) * sizeof(float));
}

static void test_forms_and_threads(void **state)
{
    static const int threads[] = {1, 2, 3, 7};
    rapt_isa best = rapt_isa_used();
    (void)state;
    for (int i = 0; i < COUNT(shapes); i++) {
        struct problem first = make(&shapes[i]);
        start(&first);
        rapt__team_run(1, run, &first);
        for (rapt_isa isa = RAPT_ISA_SCALAR; isa <= RAPT_ISA_AVX512; isa++)
            for (int t = 0; t < COUNT(threads) && rapt_isa_use(isa) == RAPT_OK; t++) {
                struct problem p = first;
                start(&p);
                rapt__team_run(threads[t], run, &p);
                compare(&p, &first);
                finish(&p);
            }
        assert_int_equal(rapt_isa_use(best), RAPT_OK);
        finish(&first);
        drop(&first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_definition),
                                       cmocka_unit_test(test_forms_and_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
