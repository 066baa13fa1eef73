/* gemm.c - matrix products in floats and with 16-bit weights: who computes them, and how. */
#include "op/gemm.h"
#include "helpers.h"
#include "kernel/half.h"
#include "op/helpers.h"
#include "oracle/op.h"

/* ---- plan: what the built-in product reads in place, what it copies and how tall its tiles are,
   for low and tall register tiles; and that its units cover a block once, with sizes that fit into
   the L2 cache. ---- */

enum { FAR = 1 << 20 }; /* floats: such strides collide in every cache */

/* An execution context of a team of one, whose tiles have `rows` rows. */
struct context {
    struct team team;
    struct kernels kernels;
    struct exec_context exec;
};

static const struct exec_context *context(struct context *c, int team, int tile_rows)
{
    c->team = (struct team){.size = team};
    c->kernels = *rapt__kernels();
    c->kernels.tile_rows = tile_rows;
    c->exec = (struct exec_context){.team = &c->team, .kernels = &c->kernels};
    return &c->exec;
}

/* Returns a product whose left operand has `rows` rows, adjacent or a_row apart. */
static struct gemm product(int rows, ptrdiff_t a_row, ptrdiff_t a_step)
{
    return (struct gemm){.rows = rows,
                         .columns = 512,
                         .depth = 512,
                         .a_row = a_row,
                         .a_step = a_step,
                         .form = GEMM_ROWS,
                         .b_row = 17};
}

static void left_operand(void **state)
{
    enum { LOW = 6, HIGH = 14, FEW = GEMM_FEW_ROWS - 1 };
    static const struct {
        int tile_rows, rows;
        ptrdiff_t a_row, a_step;
        bool b_packed;
        enum gemm_left left;
    } cases[] = {
        {LOW, 100, 1, 100, false, GEMM_LEFT_TILES},
        {LOW, 100, 1, FAR, true, GEMM_LEFT_TILES},
        {LOW, FEW, 1, FAR, false, GEMM_LEFT_IN_PLACE},
        {LOW, 100, 100, 1, false, GEMM_LEFT_IN_PLACE},
        {LOW, 100, FAR, 1, false, GEMM_LEFT_COPY},
        {LOW, 100, 256, 1, false, GEMM_LEFT_IN_PLACE},
        {HIGH, 100, 1, 100, false, GEMM_LEFT_IN_PLACE},
        {HIGH, 100, 1, 256, false, GEMM_LEFT_COPY},
        {HIGH, 100, 1, FAR, true, GEMM_LEFT_COPY},
        {HIGH, FEW, FAR, 1, false, GEMM_LEFT_IN_PLACE},
        {HIGH, 100, FAR, 1, false, GEMM_LEFT_COPY},
        {HIGH, 100, FAR + 1, 1, false, GEMM_LEFT_IN_PLACE},
    };
    struct context c;
    (void)state;
    for (int i = 0; i < COUNT(cases); i++) {
        struct gemm g = product(cases[i].rows, cases[i].a_row, cases[i].a_step);
        if (cases[i].b_packed) g.b_row = FAR;
        assert_int_equal(rapt__gemm_packs(&g), cases[i].b_packed);
        const struct exec_context *exec = context(&c, 1, cases[i].tile_rows);
        if (rapt__gemm_partition(exec, &g, g.columns).left != cases[i].left) fail_msg("case %d", i);
    }
}

/* Columns that do not collide are still copied if the L3 cache is far. */
static void far_columns(void **state)
{
    enum { HIGH = 14, STRIDE = 1000 };
    struct context c;
    const struct gemm g = product(100, 1, STRIDE);
    (void)state;
    assert_int_equal(rapt__gemm_partition(context(&c, 1, HIGH), &g, g.columns).left,
                     rapt__third_level_far() ? GEMM_LEFT_COPY : GEMM_LEFT_IN_PLACE);
}

/* Tiles are lower, but at least half as tall, if they read rows that fall into few sets of the L1
   cache. */
static void tile_heights(void **state)
{
    enum { LOW = 2, VERY_HIGH = 200, FEW = GEMM_FEW_ROWS - 1 };
    static const struct {
        int tile_rows, rows;
        ptrdiff_t a_row, a_step;
        int height;
    } cases[] = {
        {VERY_HIGH, 100, 256, 1, VERY_HIGH / 2},
        {VERY_HIGH, 100, 272, 1, 0},
        {VERY_HIGH, FEW, 256, 1, 0},
        {VERY_HIGH, 100, FAR, 1, 0}, /* copied */
        {VERY_HIGH, 100, 1, 272, 0},
        {LOW, 100, 256, 1, 0},
    };
    struct context c;
    (void)state;
    for (int i = 0; i < COUNT(cases); i++) {
        struct gemm g = product(cases[i].rows, cases[i].a_row, cases[i].a_step);
        const struct exec_context *exec = context(&c, 1, cases[i].tile_rows);
        assert_int_equal(rapt__gemm_partition(exec, &g, g.columns).max_tile, cases[i].height);
    }
    /* rows 4 KB apart, nearly twice as many as a set has ways */
    int ways = rapt__first_level_ways(), high = 2 * ways - 1;
    struct gemm g = product(100, 1024, 1);
    struct gemm_partition p = rapt__gemm_partition(context(&c, 1, high), &g, g.columns);
    if (p.left == GEMM_LEFT_IN_PLACE && rapt__tiles_collide(1024, high))
        assert_int_equal(p.max_tile, ways);
}

static void units_cover(void **state)
{
    struct context c;
    (void)state;
    for (int team = 1; team <= 5; team++)
        for (int rows = 1; rows < 700; rows += rows < 70 ? 1 : 61)
            for (int columns = 1; columns < 4000; columns += columns < 70 ? 1 : 397)
                for (int across = 0; across < 2; across++) {
                    struct gemm g = product(rows, across ? 1 : 512, across ? rows : 1);
                    const struct exec_context *exec = context(&c, team, 6);
                    struct gemm_partition p = rapt__gemm_partition(exec, &g, columns);
                    int panels = (columns + LANES - 1) / LANES;
                    assert_in_range(p.rows, 1, GEMM_UNIT_ROWS);
                    assert_true(p.rows * p.row_parts >= rows && p.rows * (p.row_parts - 1) < rows);
                    assert_true(p.panels * p.panel_parts >= panels);
                    assert_true(p.panels * (p.panel_parts - 1) < panels);
                    assert_true(p.panels >= 4 && p.panels <= 32 && p.panels % 2 == 0);
                }
}

/* The data that other units read again must fit into the L2 cache, unless the unit is minimal. */
static void units_fit(void **state)
{
    struct context c;
    (void)state;
    for (int depth = 0; depth < 2000; depth += 1 + depth / 2) {
        struct gemm g = product(1000, 1001, 1);
        g.depth = depth;
        struct gemm_partition p = rapt__gemm_partition(context(&c, 1, 6), &g, 4000);
        size_t read = (size_t)rapt__min(depth, GEMM_DEPTH) * sizeof(float);
        read *= (size_t)(p.panels * LANES + GEMM_UNIT_ROWS);
        assert_true(read <= rapt__second_level_size() || p.panels <= 8);
    }
}

/* ---- half: products with 16-bit weights have the same bits as products with the same weights in
   floats, for any shape, number of threads and part of a layer. ---- */

static const struct half_shape {
    int rows, in, out;
    bool bias;
} half_shapes[] = {{1, 1, 1, true},       {3, 17, 33, false},    {1, 700, 1200, true},
                   {15, 1100, 90, true},  {16, 1100, 90, false}, {53, 515, 257, true},
                   {107, 2048, 48, true}, {60, 512, 200, true},  {4, 0, 20, true},
                   {0, 8, 20, true}};
static const int half_threads[] = {1, 2, 3, 7};

struct half_problem {
    struct linear layer;
    const float *x;
    float *y;
    int rows;
};

static void multiply(const struct exec_context *exec, void *argument)
{
    const struct half_problem *p = argument;
    rapt__linear_forward(exec, &p->layer, p->x, p->layer.in, p->rows, p->y, p->layer.out,
                         ACTIVATION_RELU, p->y);
}

static void check(const struct half_shape *s, enum half_type type)
{
    size_t rows = (size_t)s->rows, in = (size_t)s->in, out = (size_t)s->out;
    size_t size = rapt__panels_size(out, in);
    float *x = random_floats(rows * in, 1), *w = random_floats(out * in, 2);
    float *bias = random_floats(out, 3), *panels = to_panels(w, s->out, s->in);
    float *want = floats(rows * out), *got = floats(rows * out);
    uint16_t *half = calloc(size + 1, sizeof *half);
    assert_non_null(half);
    for (size_t i = 0; i < size; i++) {
        half[i] = half_round(type, panels[i]);
        panels[i] = half_widen(type, half[i]);
    }
    struct half_problem p = {
        {.weight = panels, .bias = s->bias ? bias : NULL, .in = s->in, .out = s->out},
        x,
        want,
        s->rows};
    run_exec(1, multiply, &p);
    p.layer.weight = NULL, p.layer.half = half, p.layer.type = type, p.y = got;
    for (int t = 0; t < COUNT(half_threads); t++) {
        memset(got, 0, rows * out * sizeof *got);
        run_exec(half_threads[t], multiply, &p);
        if (memcmp(got, want, rows * out * sizeof *got) != 0)
            fail_msg("%d x %d x %d, %d threads: other bits", s->rows, s->in, s->out,
                     half_threads[t]);
    }
    if (s->out > 32) {
        p.layer = rapt__linear_part(&p.layer, 16, 17);
        run_exec(2, multiply, &p);
        for (size_t r = 0; r < rows; r++)
            assert_memory_equal(got + r * 17, want + r * out + 16, 17 * sizeof *got);
    }
    free(x), free(w), free(bias), free(panels), free(want), free(got), free(half);
}

static void same_as_floats(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(half_shapes); i++)
        for (int type = HALF_BF16; type <= HALF_F16; type++)
            check(&half_shapes[i], (enum half_type)type);
}

/* ---- gemm: products by OpenBLAS: right by their definition in double, with the same bits for any
   number of threads, and without changing the host's number of threads. Skipped without OpenBLAS.
   ---- */

struct gemm_shape {
    int rows, in, out;
};
/* The first two are too small for OpenBLAS; the last two need several blocks of the pack buffer. */
static const struct gemm_shape gemm_shapes[] = {{16, 64, 64},   {40, 33, 17},     {300, 130, 257},
                                                {513, 96, 200}, {300, 1200, 700}, {70, 700, 1003}};

static bool missing(void)
{
    rapt_message why;
    bool absent = rapt__openblas_load(&why) != RAPT_OK;
    if (absent) skipped("op/gemm", why.text);
    return absent;
}

struct gemm_problem {
    int rows, in, out;
    struct linear layer;
    float *x, *w, *panels, *b, *dy;
    float *result, *y, *activated, *dx, *dweight; /* back to back in result */
    size_t size;
};

static struct gemm_problem make(const struct gemm_shape *s)
{
    size_t rows = (size_t)s->rows, in = (size_t)s->in, out = (size_t)s->out;
    struct gemm_problem p = {.rows = s->rows, .in = s->in, .out = s->out};
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

static void drop(struct gemm_problem *p)
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
    const struct gemm_problem *p = argument;
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
static float *results(struct gemm_problem *p, int threads, bool openblas)
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

static void judge(const struct gemm_problem *p, const float *result)
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
    for (int i = 0; i < COUNT(gemm_shapes) * 2; i++) {
        struct gemm_problem p = make(&gemm_shapes[i / 2]);
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
    for (int i = 0; i < COUNT(gemm_shapes); i++) {
        struct gemm_problem p = make(&gemm_shapes[i]);
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
    struct gemm_problem p = make(&(struct gemm_shape){300, 1200, 700});
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
    struct gemm_problem p = make(&(struct gemm_shape){300, 130, 257});
    free(results(&p, 1, true));
    assert_int_equal(rapt__team_size(0), *before);
    drop(&p);
}

int main(void)
{
    int threads = rapt__team_size(0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left_operand),
        cmocka_unit_test(far_columns),
        cmocka_unit_test(tile_heights),
        cmocka_unit_test(units_cover),
        cmocka_unit_test(units_fit),
        cmocka_unit_test(same_as_floats),
        cmocka_unit_test(products_are_the_definition),
        cmocka_unit_test(openblas_does_not_count_threads),
        cmocka_unit_test(openblas_serves_large_products),
        cmocka_unit_test_prestate(threads_of_the_host_stay, &threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
