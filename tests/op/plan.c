/* plan.c - what the built-in product reads in place, what it copies and how tall its tiles are, for
   low and tall register tiles; and that its units cover a block once, with sizes that fit into the
   L2 cache. */
#include "helpers.h"
#include "op/gemm.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left_operand), cmocka_unit_test(far_columns),
        cmocka_unit_test(tile_heights), cmocka_unit_test(units_cover),
        cmocka_unit_test(units_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
