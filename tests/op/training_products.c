/* training_products.c - products that are rounded only in training: in bf16, and as in 8 bits. */
#include "kernel/bf16.h"
#include "kernel/int8.h"
#include "op/helpers.h"
#include "oracle/op.h"

/* ---- bf16: the three products of a layer in bf16 by a team: equal to their definition, bit for
   bit, in every form and for any number of threads. ---- */

struct bf16_shape {
    int rows, in, out;
    bool bias;
    enum activation activation;
};
/* Depths are odd and even, above and below the depth of a block (512); columns fill one block or
   more than one (1,024). */
static const struct bf16_shape bf16_shapes[] = {
    {1, 1, 1, true, ACTIVATION_NONE},       {3, 17, 33, false, ACTIVATION_RELU},
    {53, 130, 257, true, ACTIVATION_SILU},  {107, 96, 200, false, ACTIVATION_GELU},
    {5, 1027, 48, true, ACTIVATION_NONE},   {2, 515, 1100, true, ACTIVATION_NONE},
    {60, 20, 1040, false, ACTIVATION_NONE}, {4, 0, 20, true, ACTIVATION_NONE},
    {0, 8, 20, true, ACTIVATION_NONE},
};

struct bf16_problem {
    struct bf16_shape s;
    float *x, *y, *w, *panels, *bias; /* y is also dy */
    float *forward, *activated, *dx, *dweight;
    int x_row, y_row;
};

static struct bf16_problem make_bf16(const struct bf16_shape *s)
{
    size_t rows = (size_t)s->rows, in = (size_t)s->in, out = (size_t)s->out;
    struct bf16_problem p = {.s = *s, .x_row = s->in + 3, .y_row = s->out + 5};
    p.x = random_floats(rows * (size_t)p.x_row, 1);
    p.y = random_floats(rows * (size_t)p.y_row, 2);
    p.w = random_floats(in * out, 3);
    p.panels = to_panels(p.w, s->out, s->in);
    p.bias = random_floats(out, 4);
    return p;
}

static void drop_bf16(struct bf16_problem *p)
{
    free(p->x), free(p->y), free(p->w), free(p->panels), free(p->bias);
}

/* Sets the results to numbers that are read where a product is added, and to be overwritten
   otherwise. */
static void start(struct bf16_problem *p)
{
    size_t rows = (size_t)p->s.rows;
    p->forward = floats(rows * (size_t)p->y_row);
    p->activated = floats(rows * (size_t)p->y_row);
    p->dx = random_floats(rows * (size_t)p->x_row, 5);
    float *dw = random_floats((size_t)p->s.in * (size_t)p->s.out, 6);
    p->dweight = to_panels(dw, p->s.out, p->s.in);
    free(dw);
}

static void finish(struct bf16_problem *p)
{
    free(p->forward), free(p->activated), free(p->dx), free(p->dweight);
}

static void run(struct team *team, void *argument)
{
    struct bf16_problem *p = argument;
    const struct bf16_shape *s = &p->s;
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

static void same_bf16(float got, float want, const struct bf16_problem *p, const char *name)
{
    if (memcmp(&got, &want, sizeof got) == 0) return;
    fail_msg("%s, %d x %d x %d: %a, should be %a", name, p->s.rows, p->s.in, p->s.out, (double)got,
             (double)want);
}

/* Compares what run() computed with the definition. *s holds the results before. */
static void check(const struct bf16_problem *p, const struct bf16_problem *before)
{
    const struct bf16_shape *s = &p->s;
    for (int r = 0; r < s->rows; r++)
        for (int o = 0; o < s->out; o++)
            same_bf16(at(p->forward, p->y_row, r, o),
                      oracle_bf16_chain(s->in, p->x + r * p->x_row, 1, p->w + (ptrdiff_t)o * s->in,
                                        1, s->bias ? p->bias[o] : 0),
                      p, "y");
    for (int r = 0; r < s->rows; r++)
        for (int i = 0; i < s->in; i++)
            same_bf16(at(p->dx, p->x_row, r, i),
                      oracle_bf16_chain(s->out, p->y + r * p->y_row, 1, p->w + i, s->in,
                                        at(before->dx, p->x_row, r, i)),
                      p, "dx");
    for (int o = 0; o < s->out; o++)
        for (int i = 0; i < s->in; i++)
            same_bf16(p->dweight[panel_index(s->in, o, i)],
                      oracle_bf16_chain(s->rows, p->y + o, p->y_row, p->x + i, p->x_row,
                                        before->dweight[panel_index(s->in, o, i)]),
                      p, "dW");
}

/* The activation is that of the kernels in use, of the same y. */
static void check_activation(const struct bf16_problem *p)
{
    const struct bf16_shape *s = &p->s;
    float *want = floats((size_t)s->out);
    for (int r = 0; r < s->rows && s->activation != ACTIVATION_NONE; r++) {
        rapt__kernels()->activate(s->activation, p->forward + r * p->y_row, want, (size_t)s->out);
        assert_memory_equal(p->activated + r * p->y_row, want, (size_t)s->out * sizeof *want);
    }
    free(want);
}

static void test_bf16_definition(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(bf16_shapes); i++) {
        struct bf16_problem p = make_bf16(&bf16_shapes[i]), before = p;
        start(&before), start(&p);
        rapt__team_run(2, run, &p);
        check(&p, &before);
        check_activation(&p);
        finish(&p), finish(&before);
        drop_bf16(&p);
    }
}

static void compare(const struct bf16_problem *p, const struct bf16_problem *want)
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
    for (int i = 0; i < COUNT(bf16_shapes); i++) {
        struct bf16_problem first = make_bf16(&bf16_shapes[i]);
        start(&first);
        rapt__team_run(1, run, &first);
        for (rapt_isa isa = RAPT_ISA_SCALAR; isa <= RAPT_ISA_AVX512; isa++)
            for (int t = 0; t < COUNT(threads) && rapt_isa_use(isa) == RAPT_OK; t++) {
                struct bf16_problem p = first;
                start(&p);
                rapt__team_run(threads[t], run, &p);
                compare(&p, &first);
                finish(&p);
            }
        assert_int_equal(rapt_isa_use(best), RAPT_OK);
        finish(&first);
        drop_bf16(&first);
    }
}

/* ---- quantized: a layer in quantize-aware training: rounded activations and weights are those of
   the definition of 8-bit products, bit for bit, and gradients are those of floats that were
   rounded before. ---- */

struct quantized_shape {
    int rows, in, out;
    bool fine;
};
static const struct quantized_shape quantized_shapes[] = {
    {1, 1, 1, false},     {3, 17, 33, true},    {53, 130, 257, false},
    {107, 96, 200, true}, {5, 5000, 48, false}, {300, 5000, 16, true}, /* several parts of `pack` */
    {4, 0, 20, false},    {0, 8, 20, true},
};
static const int threads[] = {1, 2, 3, 7};

struct quantized_problem {
    struct quantized_shape s;
    float *x, *dy, *w, *panels, *scale;
    int8_t *weight;
    int x_row;
    float *rounded, *widened;        /* results */
    float *dweight, *dbias;          /* of a quantize-aware product */
    const struct products *products; /* of this one; NULL: of x as it is */
};

static struct quantized_problem make_quantized(const struct quantized_shape *s)
{
    size_t rows = (size_t)s->rows, in = (size_t)s->in, out = (size_t)s->out;
    struct quantized_problem p = {.s = *s, .x_row = s->in + 3};
    p.x = random_floats(rows * (size_t)p.x_row, 1);
    p.dy = random_floats(rows * out, 2);
    p.w = random_floats(in * out, 3);
    p.panels = to_panels(p.w, s->out, s->in);
    p.scale = floats(out);
    p.weight = calloc(1, rapt__int8_weight_bytes(s->out, s->in) + 1);
    p.rounded = floats(rows * in);
    p.widened = floats(rapt__panels_size(out, in));
    p.dweight = floats(rapt__panels_size(out, in));
    p.dbias = floats(out);
    assert_non_null(p.weight);
    if (s->rows > 2) memset(p.x + p.x_row, 0, in * sizeof *p.x); /* a row of zeros */
    if (s->rows > 2 && s->in) p.x[2 * p.x_row] = NAN;
    return p;
}

static void drop_quantized(struct quantized_problem *p)
{
    free(p->x), free(p->dy), free(p->w), free(p->panels), free(p->scale), free(p->weight);
    free(p->rounded), free(p->widened), free(p->dweight), free(p->dbias);
}

static struct linear layer_of(const struct quantized_problem *p)
{
    return (struct linear){.weight = p->panels,
                           .in = p->s.in,
                           .out = p->s.out,
                           .bytes = p->weight,
                           .scale = p->scale,
                           .fine = p->s.fine};
}

static void round_all(const struct exec_context *exec, void *argument)
{
    struct quantized_problem *p = argument;
    const struct linear l = layer_of(p);
    rapt__int8_pack(exec, p->panels, l.out, l.in, NULL, p->weight, p->scale);
    rapt__int8_widen(exec, &l, p->widened);
    rapt__int8_round(exec, &l, p->x, p->x_row, p->s.rows, p->rounded);
}

/* Sets rounded[n] to the floats that x[n] is quantized to. */
static void define(int n, const float *x, bool fine, float *rounded)
{
    int *q = calloc((size_t)n + 1, sizeof *q), *rest = calloc((size_t)n + 1, sizeof *rest);
    float s, u;
    oracle_quantize(n, x, q, &s);
    oracle_quantize_rest(n, x, q, rest, &u);
    for (int i = 0; i < n; i++) {
        rounded[i] = (float)((double)q[i] * (double)s);
        if (fine)
            rounded[i] = (float)((double)rounded[i] + (double)(float)((double)rest[i] * (double)u));
    }
    free(q), free(rest);
}

/* All NaNs count as equal. */
static void same_quantized(float got, float want, const struct quantized_problem *p,
                           const char *name)
{
    if (memcmp(&got, &want, sizeof got) == 0 || (isnan(got) && isnan(want))) return;
    fail_msg("%s, %d x %d x %d: %a, should be %a", name, p->s.rows, p->s.in, p->s.out, (double)got,
             (double)want);
}

static void check_rounded(const struct quantized_problem *p)
{
    int in = p->s.in;
    float *row = floats((size_t)in);
    for (int r = 0; r < p->s.rows; r++) {
        define(in, p->x + r * p->x_row, p->s.fine, row);
        for (int i = 0; i < in; i++)
            same_quantized(p->rounded[(ptrdiff_t)r * in + i], row[i], p, "x");
    }
    for (int o = 0; o < p->s.out; o++) {
        define(in, p->w + (ptrdiff_t)o * in, false, row);
        for (int i = 0; i < in; i++)
            same_quantized(p->widened[panel_index(in, o, i)], row[i], p, "W");
    }
    free(row);
}

static void test_quantized_definition(void **state)
{
    rapt_isa used = rapt_isa_used();
    (void)state;
    for (int i = 0; i < COUNT(quantized_shapes); i++)
        for (rapt_isa isa = RAPT_ISA_SCALAR; rapt_isa_name(isa); isa++)
            for (int t = 0; t < COUNT(threads) && rapt_isa_use(isa) == RAPT_OK; t++) {
                struct quantized_problem p = make_quantized(&quantized_shapes[i]);
                run_exec(threads[t], round_all, &p);
                check_rounded(&p);
                drop_quantized(&p);
            }
    assert_int_equal(rapt_isa_use(used), RAPT_OK);
}

static void backward(const struct exec_context *exec, void *argument)
{
    struct quantized_problem *p = argument;
    const struct linear l = layer_of(p);
    struct exec_context own = *exec;
    own.products = p->products;
    if (p->products && p->products->rounded)
        rapt__linear_backward_weight(&own, &l, p->x, p->x_row, p->dy, l.out, p->s.rows, p->dweight,
                                     p->dbias);
    else
        rapt__linear_backward_weight(&own, &l, p->rounded, l.in, p->dy, l.out, p->s.rows,
                                     p->dweight, p->dbias);
}

/* dW = dy' x^ has the bits of that product of floats, built-in and in bf16, and db does not depend
   on x. */
static void test_gradients(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * COUNT(quantized_shapes); i++) {
        struct quantized_problem p = make_quantized(&quantized_shapes[i / 2]);
        size_t size = rapt__panels_size((size_t)p.s.out, (size_t)p.s.in) * sizeof(float);
        struct products products = {.bf16 = i % 2};
        float *workspace = floats((size_t)p.s.rows * (size_t)p.s.in);
        if (p.s.rows > 2 && p.s.in) p.x[2 * p.x_row] = 3;
        run_exec(2, round_all, &p);
        p.products = &products;
        run_exec(3, backward, &p);
        float *want = p.dweight, *bias = p.dbias;
        p.dweight = floats(size / sizeof(float)), p.dbias = floats((size_t)p.s.out);
        products.rounded = workspace;
        run_exec(2, backward, &p);
        assert_memory_equal(p.dweight, want, size);
        assert_memory_equal(p.dbias, bias, (size_t)p.s.out * sizeof *bias);
        free(want), free(bias), free(workspace);
        drop_quantized(&p);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bf16_definition),
        cmocka_unit_test(test_forms_and_threads),
        cmocka_unit_test(test_quantized_definition),
        cmocka_unit_test(test_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
