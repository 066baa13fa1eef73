/* gemm.c - products by OpenBLAS: right by their definition in double, with the same bits for any
   number of threads, and without changing the host's number of threads. Skipped without
   OpenBLAS. */
#include "op/helpers.h"
#include "oracle/op.h"

struct shape {
    int rows, in, out;
};
/* The first two are too small for OpenBLAS; the last two need several blocks of the pack buffer. */
static const struct shape shapes[] = {{16, 64, 64},   {40, 33, 17},     {300, 130, 257},
                                      {513, 96, 200}, {300, 1200, 700}, {70, 700, 1003}};

static bool missing(void)
{
    rapt_message why;
    bool absent = rapt__openblas_load(&why) != RAPT_OK;
    if (absent) skipped("op/gemm", why.text);
    return absent;
}

struct problem {
    int rows, in, out;
    struct linear layer;
    float *x, *w, *panels, *b, *dy;
    float *result, *y, *activated, *dx, *dweight; /* back to back in result */
    size_t size;
};

static struct problem make(const struct shape *s)
{
    size_t rows = (size_t)s->rows, in = (size_t)s->in, out = (size_t)s->out;
    struct problem p = {.rows = s->rows, .in = s->in, .out = s->out};
    p.w = random_floats(in * out, 2);
    p.x = random_floats(rows * in, 1);
    p.panels = to_panels(p.w, s->out, s->in);
    p.b = random_floats(out, 3);
    p.dy = random_floats(rows * out, 4);
    p.size = rows * (2 * out + in) + rapt__panels_size(out, in);
    p.result = floats(p.size);
    p.y = p.result;
    p.activated = p.y + rows * out;
    p.dx = p.activated + rows * out;
    p.dweight = p.dx + rows * in;
    p.layer = (struct linear){.weight = p.panels, .bias = p.b, .in = s->in, .out = s->out};
    return p;
}

static void drop(struct problem *p)
{
    free(p->x);
    free(p->w);
    free(p->panels);
    free(p->b);
    free(p->dy);
    free(p->result);
}

static void run_all(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    rapt__linear_forward(exec, &p->layer, p->x, p->in, p->rows, p->y, p->out, ACTIVATION_RELU,
                         p->activated);
    rapt__linear_backward_input(exec, &p->layer, p->dy, p->out, p->rows, p->dx, p->in, false);
    rapt__linear_backward_input(exec, &p->layer, p->dy, p->out, p->rows, p->dx, p->in, true);
    rapt__linear_backward_weight(exec, &p->layer, p->x, p->in, p->dy, p->out, p->rows, p->dweight,
                                 NULL);
    rapt__linear_backward_weight(exec, &p->layer, p->x, p->in, p->dy, p->out, p->rows, p->dweight,
                                 NULL);
}

/* Runs the product, starting from cleared results, and returns them. */
static float *results(struct problem *p, int threads, bool openblas)
{
    float *copy = floats(p->size);
    memset(p->result, 0, p->size * sizeof(float));
    run_openblas(threads, openblas, run_all, p);
    memcpy(copy, p->result, p->size * sizeof(float));
    return copy;
}

/* Returns x [rows][columns] in double, or transposed as [columns][rows]. */
static double *matrix(const float *x, int rows, int columns, bool transposed)
{
    double *y = doubles(NULL, (size_t)(rows * columns));
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < columns; c++)
            y[transposed ? c * rows + r : r * columns + c] = (double)x[r * columns + c];
    return y;
}

/* Checks that c is a [rows][depth] times b' [columns][depth], times `times`, within the rounding of
   sums of as many products between -1 and 1. Frees a and b. */
static void assert_product(const float *c, int rows, int columns, int depth, double *a, double *b,
                           const double *bias, int times, bool panels)
{
    double *wanted = doubles(NULL, (size_t)(rows * columns));
    oracle_linear(rows, depth, columns, a, b, bias, wanted);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < columns; i++) {
            size_t at = panels ? panel_index(columns, r, i) : (size_t)(r * columns + i);
            assert_near((double)c[at], times * wanted[r * columns + i], times * OF_A_SUM(depth));
        }
    free(wanted), free(a), free(b);
}

static void judge(const struct problem *p, const float *result)
{
    int rows = p->rows, in = p->in, out = p->out;
    const float *y = result, *activated = result + (p->activated - p->result);
    double *bias = doubles(p->b, (size_t)out);
    assert_product(y, rows, out, in, matrix(p->x, rows, in, false), matrix(p->w, out, in, false),
                   bias, 1, false);
    for (int i = 0; i < rows * out; i++) assert_true(activated[i] == fmaxf(y[i], 0));
    assert_product(result + (p->dx - p->result), rows, in, out, matrix(p->dy, rows, out, false),
                   matrix(p->w, out, in, true), NULL, 2, false);
    assert_product(result + (p->dweight - p->result), out, in, rows, matrix(p->dy, rows, out, true),
                   matrix(p->x, rows, in, true), NULL, 2, true);
    assert_padding(result + (p->dweight - p->result), out, in);
    free(bias);
}

static void products_are_the_definition(void **state)
{
    (void)state;
    if (missing()) skip();
    for (int i = 0; i < COUNT(shapes) * 2; i++) {
        struct problem p = make(&shapes[i / 2]);
        float *result = results(&p, 2, i % 2);
        judge(&p, result);
        free(result);
        drop(&p);
    }
}

static void openblas_does_not_count_threads(void **state)
{
    static const int threads[] = {2, 3, 7};
    (void)state;
    if (missing()) skip();
    for (int i = 0; i < COUNT(shapes); i++) {
        struct problem p = make(&shapes[i]);
        float *alone = results(&p, 1, true);
        for (int t = 0; t < COUNT(threads); t++) {
            float *together = results(&p, threads[t], true);
            assert_memory_equal(together, alone, p.size * sizeof(float));
            free(together);
        }
        free(alone);
        drop(&p);
    }
}

/* OpenBLAS is really used: its sums differ from those of the built-in product. */
static void openblas_serves_large_products(void **state)
{
    (void)state;
    if (missing()) skip();
    struct problem p = make(&(struct shape){300, 1200, 700});
    float *builtin = results(&p, 1, false), *blas = results(&p, 1, true);
    assert_memory_not_equal(builtin, blas, p.size * sizeof(float));
    free(builtin);
    free(blas);
    drop(&p);
}

/* The caller's number of threads is the same as before any product. */
static void threads_of_the_host_stay(void **state)
{
    const int *before = *state;
    if (missing()) skip();
    struct problem p = make(&(struct shape){300, 130, 257});
    free(results(&p, 1, true));
    assert_int_equal(rapt__team_size(0), *before);
    drop(&p);
}

int main(void)
{
    int threads = rapt__team_size(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_the_definition),
        cmocka_unit_test(openblas_does_not_count_threads),
        cmocka_unit_test(openblas_serves_large_products),
        cmocka_unit_test_prestate(threads_of_the_host_stay, &threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
