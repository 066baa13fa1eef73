/* int8.c - products of 8-bit integers: equal to their definition, bit for bit, in every form;
   nothing else is read or written. */
#include "kernel/int8_trial.h"
#include "skips.h"
#include "tiles.h"

enum { ROWS = 30, COLUMNS = 72, DEPTH = 150 };

static void check_product(const struct int8_kernels *k, const struct matrices *m,
                          const struct shape *s, const float *want)
{
    struct int8_block b = set_up(m, s);
    size_t size = (size_t)s->rows * (size_t)s->columns;
    fill(b.y, size, -2, 2, 6);
    multiply_by(k, &b);
    if (memcmp(b.y, want, size * sizeof *want) != 0)
        fail_msg("%s: %d x %d x %d differs", k->name, s->rows, s->columns, s->depth);
    fenced_check(&m->y, size, true);
}

static void check_products(const struct matrices *m, const struct shape *s)
{
    static float want[ROWS * COLUMNS];
    static int q[DEPTH], w[DEPTH];
    const struct int8_kernels *k;
    static float held[ROWS * COLUMNS];
    struct int8_block b = set_up(m, s);
    fill(held, (size_t)s->rows * (size_t)s->columns, -2, 2, 6); /* as y before */
    for (int r = 0; r < s->rows; r++)
        for (int n = 0; n < s->columns; n++) {
            for (int i = 0; i < s->depth; i++) q[i] = q_at(s, r, i), w[i] = w_at(s, n, i);
            int at = r * s->columns + n;
            float start = s->add ? held[at] : b.bias ? b.bias[n] : 0;
            want[at] = oracle_int8(s->depth, q, b.q_scale[r], w, b.w_scale[n], start);
        }
    for (int i = 0; (k = form_at(&i)) != NULL;) check_product(k, m, s, want);
}

static void all_small_products(void **state)
{
    static const int depths[] = {0, 1, 2, 3, 4, 5, 17, 64, DEPTH};
    for (int rows = 1; rows <= ROWS; rows++)
        for (int columns = 1; columns <= COLUMNS; columns += rows % 2 ? 1 : 5) {
            int i = rows * 41 + columns;
            struct shape s = {rows, columns, depths[i % 9], i % 2, i % 3 == 0, i % 5 < 2};
            check_products(*state, &s);
        }
}

/* Every product and sum of two, four, ... products at its limit. */
static void extreme_products(void **state)
{
    for (int rows = 1; rows <= ROWS; rows++) {
        struct shape s = {rows, COLUMNS - rows % 8, DEPTH - rows % 4, false, true, false};
        check_products(*state, &s);
    }
}

/* The deepest product: its sum is 127^2 * 133,144 = 2,147,479,576, just below 2^31. */
static void deepest_product(void **state)
{
    enum { DEEPEST = INT8_MAX_DEPTH };
    size_t panel = rapt__int8_panel(DEEPEST);
    int8_t *q = malloc(DEEPEST), *w = malloc(panel);
    float scale[LANES], y[LANES], one = 1;
    const struct int8_kernels *k;
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        int32_t sum = 127 * sign * DEEPEST;
        memset(q, 127 * sign, DEEPEST);
        memset(w, 127, panel);
        for (int n = 0; n < LANES; n++) scale[n] = 1;
        struct int8_block b = {.rows = 1,
                               .columns = LANES,
                               .depth = DEEPEST,
                               .q = q,
                               .q_scale = &one,
                               .q_sum = &sum,
                               .w = w,
                               .w_scale = scale,
                               .y = y};
        for (int i = 0; (k = form_at(&i)) != NULL;) {
            multiply_by(k, &b);
            for (int n = 0; n < LANES; n++)
                if (y[n] != (float)sign * 2147479576.0f) fail_msg("%s: %a", k->name, (double)y[n]);
        }
    }
    free(q);
    free(w);
}

/* ---- worked examples ---- */

/* Two rows and their products with two rows of weights, computed by hand. In the first all scales
   are powers of two, and two elements of x are halves; in the second all are rounded. */
static const struct example {
    float x[4], w[2][4], bias[2];
    int q[4], wq[2][4], sum[2];
    uint32_t y[2]; /* the bits of the products */
} examples[] = {
    {{1.984375f, -0.9765625f, 0.0234375f, -0.5f},
     {{0.49609375f, 0.25f, -0.125f, 0.001953125f}, {-1, 1, 1, -1}},
     {0.5f, -0.25f},
     {127, -62, 2, -32},
     {{127, 64, -32, 0}, {-127, 127, 127, -127}},
     {12097, -19685},
     {0x3f9e8200, 0xc02b0000}},
    {{0.1f, -0.7f, 0.33f, 0.9f},
     {{0.2f, -0.3f, 0.05f, 0.4f}, {0.9f, 0.9f, -0.9f, -0.9f}},
     {0.01f, -0.02f},
     {14, -99, 47, 127},
     {{64, -95, 16, 127}, {127, 127, -127, -127}},
     {27182, -32893},
     {0x3f1de047, 0xbfd6007c}},
};

static void multiply_example(const struct int8_kernels *k, const struct example *e)
{
    int8_t q[LANES], w[64] = {0}, row[LANES];
    float q_scale, w_scale[2], y[2];
    int32_t q_sum, w_sum;
    k->quantize_row(e->x, 4, q, &q_scale, &q_sum);
    for (int n = 0; n < 2; n++) {
        k->quantize_row(e->w[n], 4, row, &w_scale[n], &w_sum);
        for (int i = 0; i < 4; i++) assert_int_equal(row[i], e->wq[n][i]);
        memcpy(w + 4 * n, row, 4);
    }
    for (int i = 0; i < 4; i++) assert_int_equal(q[i], e->q[i]);
    multiply_by(k, &(struct int8_block){.rows = 1,
                                        .columns = 2,
                                        .depth = 4,
                                        .q = q,
                                        .q_row = LANES,
                                        .q_scale = &q_scale,
                                        .q_sum = &q_sum,
                                        .w = w,
                                        .w_scale = w_scale,
                                        .bias = e->bias,
                                        .y = y,
                                        .y_row = 2});
    assert_memory_equal(y, e->y, sizeof y);
}

static void worked_examples(void **state)
{
    const struct int8_kernels *k;
    (void)state;
    for (int i = 0; (k = form_at(&i)) != NULL;)
        for (size_t e = 0; e < sizeof examples / sizeof *examples; e++)
            multiply_example(k, &examples[e]);
}

/* ---- choice ---- */

static void choice(void **state)
{
    (void)state;
    assert_int_equal(rapt__int8_kernels(RAPT_ISA_SCALAR)->form, INT8_SCALAR);
    for (int isa = 0; rapt_isa_name((rapt_isa)isa); isa++) {
        bool dots = rapt__processor_dots((rapt_isa)isa);
        if (!rapt__processor_has((rapt_isa)isa)) continue;
        enum int8_form form = rapt__int8_kernels((rapt_isa)isa)->form;
        if (isa == RAPT_ISA_AVX2) assert_int_equal(form, dots ? INT8_AVXVNNI : INT8_AVX2);
        if (isa == RAPT_ISA_NEON) assert_int_equal(form, dots ? INT8_NEONDOT : INT8_NEON);
        if (isa == RAPT_ISA_AVX512 && dots)
            assert_int_equal(form, rapt__processor_tiles() ? INT8_AMX : INT8_AVX512);
        if (isa == RAPT_ISA_AVX512 && !dots)
            assert_ptr_equal(rapt__int8_kernels((rapt_isa)isa), rapt__int8_kernels(RAPT_ISA_AVX2));
    }
    assert_string_equal(rapt_isa_int8(), rapt__int8_kernels(rapt_isa_used())->name);
    for (int isa = RAPT_ISA_NEON; rapt_isa_name((rapt_isa)isa); isa++)
        if (rapt__processor_has((rapt_isa)isa) && !rapt__processor_dots((rapt_isa)isa) &&
            !(isa == RAPT_ISA_AVX2 && vnni256()))
            skipped("kernel/int8", "this processor has no sums of products of bytes");
}

int main(void)
{
    ask_for_tiles();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_small_products, make_matrices, drop_matrices),
        cmocka_unit_test_setup_teardown(extreme_products, make_matrices, drop_matrices),
        cmocka_unit_test(deepest_product),
        cmocka_unit_test(worked_examples),
        cmocka_unit_test(choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
