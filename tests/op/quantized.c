/* quantized.c - a layer in quantize-aware training: rounded activations and weights are those of
   the definition of 8-bit products, bit for bit, and gradients are those of floats that were
   rounded before. */
#include "op/helpers.h"

#include "kernel/int8.h"
#include "oracle/int8.h"

struct shape {
    int rows, in, out;
    bool fine;
};
static const struct shape shapes[] = {
    {1, 1, 1, false},     {3, 17, 33, true},    {53, 130, 257, false},
    {107, 96, 200, true}, {5, 5000, 48, false}, {300, 5000, 16, true}, /* several parts of `pack` */
    {4, 0, 20, false},    {0, 8, 20, true},
};
static const int threads[] = {1, 2, 3, 7};

struct problem {
    struct shape s;
    float *x, *dy, *w, *panels, *scale;
    int8_t *weight;
    int x_row;
    float *rounded, *widened;        /* results */
    float *dweight, *dbias;          /* of a quantize-aware product */
    const struct products *products; /* of this one; NULL: of x as it is */
};

static struct problem make(const struct shape *s)
{
    size_t rows = (size_t)s->rows, in = (size_t)s->in, out = (size_t)s->out;
    struct problem p = {.s = *s, .x_row = s->in + 3};
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

static void drop(struct problem *p)
{
    free(p->x), free(p->dy), free(p->w), free(p->panels), free(p->scale), free(p->weight);
    free(p->rounded), free(p->widened), free(p->dweight), free(p->dbias);
}

static struct linear layer_of(const struct problem *p)
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
    struct problem *p = argument;
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
static void same(float got, float want, const struct problem *p, const char *name)
{
    if (memcmp(&got, &want, sizeof got) == 0 || (isnan(got) && isnan(want))) return;
    fail_msg("%s, %d x %d x %d: %a, should be %a", name, p->s.rows, p->s.in, p->s.out, (double)got,
             (double)want);
}

static void check_rounded(const struct problem *p)
{
    int in = p->s.in;
    float *row = floats((size_t)in);
    for (int r = 0; r < p->s.rows; r++) {
        define(in, p->x + r * p->x_row, p->s.fine, row);
        for (int i = 0; i < in; i++) same(p->rounded[(ptrdiff_t)r * in + i], row[i], p, "x");
    }
    for (int o = 0; o < p->s.out; o++) {
        define(in, p->w + (ptrdiff_t)o * in, false, row);
        for (int i = 0; i < in; i++) same(p->widened[panel_index(in, o, i)], row[i], p, "W");
    }
    free(row);
}

static void test_definition(void **state)
{
    rapt_isa used = rapt_isa_used();
    (void)state;
    for (int i = 0; i < COUNT(shapes); i++)
        for (rapt_isa isa = RAPT_ISA_SCALAR; rapt_isa_name(isa); isa++)
            for (int t = 0; t < COUNT(threads) && rapt_isa_use(isa) == RAPT_OK; t++) {
                struct problem p = make(&shapes[i]);
                run_exec(threads[t], round_all, &p);
                check_rounded(&p);
                drop(&p);
            }
    assert_int_equal(rapt_isa_use(used), RAPT_OK);
}

static void backward(const struct exec_context *exec, void *argument)
{
    struct problem *p = argument;
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
    for (int i = 0; i < 2 * COUNT(shapes); i++) {
        struct problem p = make(&shapes[i / 2]);
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
        drop(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_definition),
                                       cmocka_unit_test(test_gradients)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
