/* strides.c - the gradient of weights if rows of x and dy are powers of two apart, so that both are
   copied or packed, and the forward product if the rows of x are so far apart that x is copied.
   Each element is the chain of fma that gemm.h promises, bit for bit, for any number of threads. */
#include "op/helpers.h"

struct shape {
    int rows, in, out;
};
/* Few rows; x copied; dy packed; both, in several blocks of depth and columns. */
static const struct shape shapes[] = {
    {40, 16, 4096}, {300, 512, 48}, {513, 40, 2048}, {1100, 256, 2048}};

struct problem {
    struct shape s;
    struct linear layer;
    float *x, *dy, *start, *dweight;
    size_t size; /* of dweight */
};

static void run(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    rapt__linear_backward_weight(exec, &p->layer, p->x, p->s.in, p->dy, p->s.out, p->s.rows,
                                 p->dweight, NULL);
}

/* Checks every 1009th element: a prime, so that rows and columns vary. */
static void check_chains(const struct problem *p)
{
    const struct shape *s = &p->s;
    for (int e = 0; e < s->in * s->out; e += 1009) {
        int i = e % s->in, o = e / s->in;
        size_t at = (size_t)(o / LANES) * (size_t)s->in * LANES + (size_t)(i * LANES + o % LANES);
        float sum = p->start[at];
        for (int r = 0; r < s->rows; r++)
            sum = fmaf(p->x[r * s->in + i], p->dy[r * s->out + o], sum);
        assert_memory_equal(p->dweight + at, &sum, sizeof sum);
    }
}

static void check_shape(const struct shape *s)
{
    struct problem p = {.s = *s, .layer = {.in = s->in, .out = s->out}};
    p.x = random_floats((size_t)s->rows * (size_t)s->in, 1);
    p.dy = random_floats((size_t)s->rows * (size_t)s->out, 2);
    p.size = rapt__panels_size((size_t)s->out, (size_t)s->in);
    p.start = random_floats(p.size, 3);
    p.dweight = floats(p.size);
    for (int threads = 1; threads <= 3; threads++) {
        memcpy(p.dweight, p.start, p.size * sizeof(float));
        run_exec(threads, run, &p);
        check_chains(&p);
    }
    free(p.x);
    free(p.dy);
    free(p.start);
    free(p.dweight);
}

static void test_strides(void **state)
{
    (void)state;
    if (rapt_isa_used() == RAPT_ISA_SCALAR) {
        skipped("op/strides", "plain C kernels have no fused multiply-add");
        return;
    }
    for (int i = 0; i < COUNT(shapes); i++) check_shape(shapes + i);
}

/* ---- forward: rows of x so far apart that those of a unit span more than any L2 cache ---- */

enum { FAR = 1 << 17, FORWARD_ROWS = 67, INPUTS = 300, OUTPUTS = 24 };

struct forward {
    struct linear layer;
    float *x, *weight, *y;
};

static void run_forward(const struct exec_context *exec, void *argument)
{
    const struct forward *p = argument;
    rapt__linear_forward(exec, &p->layer, p->x, FAR, FORWARD_ROWS, p->y, OUTPUTS, ACTIVATION_NONE,
                         NULL);
}

static void check_forward(const struct forward *p)
{
    for (int r = 0; r < FORWARD_ROWS; r++)
        for (int o = 0; o < OUTPUTS; o++) {
            float sum = 0;
            for (int i = 0; i < INPUTS; i++)
                sum = fmaf(p->x[(size_t)r * FAR + (size_t)i],
                           p->weight[o / LANES * INPUTS * LANES + i * LANES + o % LANES], sum);
            assert_memory_equal(p->y + r * OUTPUTS + o, &sum, sizeof sum);
        }
}

static void test_forward(void **state)
{
    struct forward p;
    (void)state;
    if (rapt_isa_used() == RAPT_ISA_SCALAR) {
        skipped("op/strides, forward", "plain C kernels have no fused multiply-add");
        return;
    }
    p.x = calloc((size_t)FORWARD_ROWS * FAR, sizeof *p.x); /* most of it is never touched */
    assert_non_null(p.x);
    float *rows = random_floats((size_t)FORWARD_ROWS * INPUTS, 4);
    for (size_t r = 0; r < FORWARD_ROWS; r++)
        memcpy(p.x + r * FAR, rows + r * INPUTS, INPUTS * sizeof *rows);
    p.weight = random_floats(rapt__panels_size(OUTPUTS, INPUTS), 5);
    p.layer = (struct linear){.weight = p.weight, .in = INPUTS, .out = OUTPUTS};
    p.y = floats(FORWARD_ROWS * OUTPUTS);
    for (int threads = 1; threads <= 3; threads++) {
        memset(p.y, 0, FORWARD_ROWS * OUTPUTS * sizeof *p.y);
        run_exec(threads, run_forward, &p);
        check_forward(&p);
    }
    free(rows);
    free(p.x);
    free(p.weight);
    free(p.y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_strides),
                                       cmocka_unit_test(test_forward)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
