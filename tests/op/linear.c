/* linear.c - layers that are matrix products, in every layout. */
#include "op/helpers.h"
#include "oracle/op.h"

/* ---- linear: y = x W' + b, its activation and its gradients, against their definition. ---- */

struct shape {
    int rows, in, out;
};
static const struct shape linear_shapes[] = {
    {0, 7, 17},   {1, 1, 1},    {1, 130, 17},  {1, 600, 350}, {15, 7, 130},   {15, 17, 1},
    {16, 64, 32}, {113, 17, 7}, {113, 1, 130}, {31, 600, 48}, {100, 130, 100}};

enum { GAP = 5 }; /* floats between rows of x and y */

struct linear_problem {
    int rows, in, out, activation; /* activation < 0: none */
    bool bias, in_place, add;
    ptrdiff_t x_row, y_row;
    float *x, *w, *panels, *b, *dy; /* x and dy have gaps, w does not */
    float *result;                  /* y, activated, dx, dweight, dbias, back to back */
    float *y, *activated, *dx, *dweight, *dbias;
    size_t size;
};

static struct linear_problem make(const struct shape *s, bool bias)
{
    struct linear_problem p = {
        .rows = s->rows, .in = s->in, .out = s->out, .activation = -1, .bias = bias};
    p.x_row = s->in + GAP;
    p.y_row = s->out + GAP;
    size_t xs = (size_t)(p.rows * p.x_row), ys = (size_t)(p.rows * p.y_row);
    size_t ws = rapt__panels_size((size_t)s->out, (size_t)s->in);
    p.x = random_floats(xs, 1);
    p.w = random_floats((size_t)s->in * (size_t)s->out, 2);
    p.panels = to_panels(p.w, s->out, s->in);
    p.b = random_floats((size_t)s->out, 3);
    p.dy = random_floats(ys, 4);
    p.size = 2 * ys + xs + ws + (size_t)s->out;
    p.result = random_floats(p.size, 5);
    p.y = p.result;
    p.activated = p.y + ys;
    p.dx = p.activated + ys;
    p.dweight = p.dx + xs;
    p.dbias = p.dweight + ws;
    memset(p.dweight, 0, ws * sizeof(float));
    return p;
}

static void drop(struct linear_problem *p)
{
    free(p->x);
    free(p->w);
    free(p->panels);
    free(p->b);
    free(p->dy);
    free(p->result);
}

static struct linear layer(const struct linear_problem *p)
{
    return (struct linear){
        .weight = p->panels, .bias = p->bias ? p->b : NULL, .in = p->in, .out = p->out};
}

static void run_forward_linear(const struct exec_context *exec, void *argument)
{
    const struct linear_problem *p = argument;
    struct linear l = layer(p);
    float *activated = p->activation < 0 ? NULL : p->in_place ? p->y : p->activated;
    rapt__linear_forward(exec, &l, p->x, p->x_row, p->rows, p->y, p->y_row,
                         activation_of(p->activation), activated);
}

static void run_backward(const struct exec_context *exec, void *argument)
{
    const struct linear_problem *p = argument;
    struct linear l = layer(p);
    rapt__linear_backward_input(exec, &l, p->dy, p->y_row, p->rows, p->dx, p->x_row, p->add);
    rapt__linear_backward_weight(exec, &l, p->x, p->x_row, p->dy, p->y_row, p->rows, p->dweight,
                                 p->bias ? p->dbias : NULL);
}

static void run_all(const struct exec_context *exec, void *argument)
{
    run_forward_linear(exec, argument);
    run_backward(exec, argument);
}

/* Copies rows without gaps, in double. */
static double *dense(const float *x, int rows, int width, ptrdiff_t row)
{
    double *y = doubles(NULL, (size_t)(rows * width));
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < width; i++) y[r * width + i] = (double)x[r * row + i];
    return y;
}

/* Returns the y of the definition; the caller frees it. */
static double *wanted_forward(const struct linear_problem *p)
{
    double *x = dense(p->x, p->rows, p->in, p->x_row), *w = doubles(p->w, (size_t)(p->in * p->out));
    double *b = doubles(p->b, (size_t)p->out), *y = doubles(NULL, (size_t)(p->rows * p->out));
    oracle_linear(p->rows, p->in, p->out, x, w, p->bias ? b : NULL, y);
    free(x);
    free(w);
    free(b);
    return y;
}

/* Fails if the gaps between the rows no longer hold what random_floats(., 5) wrote. */
static void assert_gaps(const struct linear_problem *p, const float *x, int width)
{
    for (int r = 0; r < p->rows; r++)
        for (ptrdiff_t i = width; i < width + GAP; i++) {
            const float *at = x + r * (width + GAP) + i;
            assert_true(*at == random_float(5, (size_t)(at - p->result)));
        }
}

static void forward_is_the_definition(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(linear_shapes); i++)
        for (int bias = 0; bias < 2; bias++) {
            struct linear_problem p = make(&linear_shapes[i], bias);
            double *y = wanted_forward(&p);
            run_exec(2, run_forward_linear, &p);
            for (int j = 0; j < p.rows * p.out; j++)
                assert_near((double)p.y[j / p.out * p.y_row + j % p.out], y[j], OF_A_SUM(p.in));
            assert_gaps(&p, p.y, p.out);
            free(y);
            drop(&p);
        }
}

static void activation_is_the_definition(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++)
        for (int in_place = 0; in_place < 2; in_place++) {
            struct linear_problem p = make(&(struct shape){113, 300, 130}, true);
            p.activation = kind;
            p.in_place = in_place;
            double *y = wanted_forward(&p);
            run_exec(2, run_forward_linear, &p);
            for (int j = 0; j < p.rows * p.out; j++) {
                ptrdiff_t at = j / p.out * p.y_row + j % p.out;
                double out = (double)(in_place ? p.y[at] : p.activated[at]);
                assert_near(out, oracle_activation(kind, y[j]), OF_A_SUM(p.in));
                if (!in_place) assert_near((double)p.y[at], y[j], OF_A_SUM(p.in));
            }
            assert_gaps(&p, in_place ? p.y : p.activated, p.out);
            free(y);
            drop(&p);
        }
}

struct reference { /* the sum of dy * y, as a function of x, w and b */
    int rows, in, out;
    double *x, *w, *b, *dy, *y;
};

static double weighted_sum(const void *argument)
{
    const struct reference *j = argument;
    double sum = 0;
    oracle_linear(j->rows, j->in, j->out, j->x, j->w, j->b, j->y);
    for (int i = 0; i < j->rows * j->out; i++) sum += j->dy[i] * j->y[i];
    return sum;
}

static void judge_input(const struct reference *j, const struct linear_problem *p,
                        const float *dx_before)
{
    for (int r = 0; r<p->rows; r += p->rows> 20 ? 9 : 1)
        for (int i = 0; i<p->in; i += p->in> 20 ? 11 : 1) {
            double wanted = slope(weighted_sum, j, &j->x[r * p->in + i]);
            if (p->add) wanted += (double)dx_before[r * p->x_row + i];
            assert_near((double)p->dx[r * p->x_row + i], wanted, OF_A_SUM(p->out));
        }
}

static void judge_weight(const struct reference *j, const struct linear_problem *p)
{
    for (int o = 0; o<p->out; o += p->out> 20 ? 9 : 1)
        for (int i = 0; i<p->in; i += p->in> 20 ? 11 : 1)
            assert_near((double)p->dweight[panel_index(p->in, o, i)],
                        slope(weighted_sum, j, &j->w[o * p->in + i]), OF_A_SUM(p->rows));
    assert_padding(p->dweight, p->out, p->in);
}

static void gradients_are_slopes(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * COUNT(linear_shapes); i++) {
        struct linear_problem p = make(&linear_shapes[i / 2], true);
        p.add = i % 2;
        memset(p.dbias, 0, (size_t)p.out * sizeof(float));
        struct reference j = {p.rows,
                              p.in,
                              p.out,
                              dense(p.x, p.rows, p.in, p.x_row),
                              doubles(p.w, (size_t)(p.in * p.out)),
                              doubles(p.b, (size_t)p.out),
                              dense(p.dy, p.rows, p.out, p.y_row),
                              doubles(NULL, (size_t)(p.rows * p.out))};
        float *before = floats(p.size);
        memcpy(before, p.result, p.size * sizeof(float));
        run_exec(2, run_backward, &p);
        judge_input(&j, &p, before + (p.dx - p.result));
        judge_weight(&j, &p);
        assert_slopes(weighted_sum, &j, j.b, p.dbias, (size_t)p.out, 20, OF_A_SUM(p.rows));
        assert_gaps(&p, p.dx, p.in);
        free(before);
        free(j.x);
        free(j.w);
        free(j.b);
        free(j.dy);
        free(j.y);
        drop(&p);
    }
}

/* A second call adds the same to the weights and biases as the first one. */
static void weight_gradients_add_up(void **state)
{
    (void)state;
    struct linear_problem p = make(&(struct shape){15, 17, 33}, true);
    size_t n = rapt__panels_size(33, 17) + 33;
    memset(p.dbias, 0, 33 * sizeof(float));
    run_exec(1, run_backward, &p);
    double *once = doubles(p.dweight, n);
    run_exec(1, run_backward, &p);
    for (size_t i = 0; i < n; i++) assert_near((double)p.dweight[i], 2 * once[i], 4);
    free(once);
    drop(&p);
}

static void bits_are_the_same(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(linear_shapes); i++) {
        struct linear_problem p = make(&linear_shapes[i], true);
        p.activation = i % 3;
        assert_same_bits(run_all, &p, p.result, p.size);
        drop(&p);
    }
}

/* Row r of many has the bits of row r alone, and so has any run of rows. */
static void rows_do_not_know_each_other(void **state)
{
    static const int runs[] = {1, 2, 3, 4, 6, 8, 13, 15, 16, 40};
    (void)state;
    struct linear_problem p = make(&(struct shape){113, 600, 350}, true);
    p.activation = ORACLE_GELU;
    run_exec(2, run_forward_linear, &p);
    float *together = floats(p.size);
    memcpy(together, p.result, p.size * sizeof(float));
    for (int i = 0; i < COUNT(runs); i++)
        for (int r = 0; r + runs[i] <= 113; r += 37) {
            struct linear_problem part = p;
            part.rows = runs[i];
            part.x += r * p.x_row;
            part.y += r * p.y_row;
            part.activated += r * p.y_row;
            memset(part.y, 0, (size_t)(part.rows * p.y_row - GAP) * sizeof(float));
            for (int k = 0; k < part.rows; k++)
                memcpy(part.y + k * p.y_row + p.out,
                       together + (part.y - p.y) + k * p.y_row + p.out,
                       (k + 1 < part.rows ? GAP : 0) * sizeof(float));
            run_exec(1 + i % 2, run_forward_linear, &part);
            assert_memory_equal(p.result, together, p.size * sizeof(float));
        }
    free(together);
    drop(&p);
}

struct turning {
    struct linear layer;
    float *transposed;
};

static void run_transpose(const struct exec_context *exec, void *argument)
{
    struct turning *t = argument;
    rapt__linear_transpose(exec, &t->layer, t->transposed);
}

static void transposed_weights_are_the_transpose(void **state)
{
    static const int sizes[][2] = {{1, 1}, {5, 40}, {33, 16}, {600, 20}};
    (void)state;
    for (int s = 0; s < COUNT(sizes); s++) {
        int out = sizes[s][0], in = sizes[s][1];
        float *w = random_floats((size_t)(out * in), 7), *panels = to_panels(w, out, in);
        size_t size = rapt__panels_size((size_t)in, (size_t)out);
        struct turning t = {{.weight = panels, .in = in, .out = out}, floats(size)};
        run_exec(2, run_transpose, &t);
        for (int o = 0; o < out; o++)
            for (int i = 0; i < in; i++)
                assert_true(t.transposed[panel_index(out, i, o)] == w[o * in + i]);
        assert_padding(t.transposed, in, out);
        assert_same_bits(run_transpose, &t, t.transposed, size);
        free(t.transposed);
        free(panels);
        free(w);
    }
}

/* ---- strides: the gradient of weights if rows of x and dy are powers of two apart, so that both
   are copied or packed, and the forward product if the rows of x are so far apart that x is copied.
   Each element is the chain of fma that gemm.h promises, bit for bit, for any number of threads.
   ---- */

/* Few rows; x copied; dy packed; both, in several blocks of depth and columns. */
static const struct shape strides_shapes[] = {
    {40, 16, 4096}, {300, 512, 48}, {513, 40, 2048}, {1100, 256, 2048}};

struct strides_problem {
    struct shape s;
    struct linear layer;
    float *x, *dy, *start, *dweight;
    size_t size; /* of dweight */
};

static void run(const struct exec_context *exec, void *argument)
{
    const struct strides_problem *p = argument;
    rapt__linear_backward_weight(exec, &p->layer, p->x, p->s.in, p->dy, p->s.out, p->s.rows,
                                 p->dweight, NULL);
}

/* Checks every 1009th element: a prime, so that rows and columns vary. */
static void check_chains(const struct strides_problem *p)
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
    struct strides_problem p = {.s = *s, .layer = {.in = s->in, .out = s->out}};
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
        skipped("op/linear, strides", "plain C kernels have no fused multiply-add");
        return;
    }
    for (int i = 0; i < COUNT(strides_shapes); i++) check_shape(strides_shapes + i);
}

/* ---- forward: rows of x so far apart that those of a unit span more than any L2 cache ---- */

enum { FAR = 1 << 17, FORWARD_ROWS = 67, INPUTS = 300, OUTPUTS = 24 };

struct forward {
    struct linear layer;
    float *x, *weight, *y;
};

static void run_forward_strides(const struct exec_context *exec, void *argument)
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
        skipped("op/linear, strides, forward", "plain C kernels have no fused multiply-add");
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
        run_exec(threads, run_forward_strides, &p);
        check_forward(&p);
    }
    free(rows);
    free(p.x);
    free(p.weight);
    free(p.y);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_is_the_definition),
        cmocka_unit_test(activation_is_the_definition),
        cmocka_unit_test(gradients_are_slopes),
        cmocka_unit_test(weight_gradients_add_up),
        cmocka_unit_test(bits_are_the_same),
        cmocka_unit_test(rows_do_not_know_each_other),
        cmocka_unit_test(transposed_weights_are_the_transpose),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
