/* gemm.c - matrix products in floats and with 16-bit weights. */
#include "kernel/trial.h"

#include "kernel/half.h"

/* ---- half: 16-bit weights: every instruction set widens each of the 65,536 to its value; floats
   are rounded to the nearest, halves to even. ---- */

enum { ALL = 1 << 16 };

/* Returns the value of a type with e bits of exponent and f bits of fraction, by definition. */
static double value_of(uint16_t h, int e, int f)
{
    int exponent = h >> f & ((1 << e) - 1), bias = (1 << (e - 1)) - 1;
    double fraction = ldexp(h & ((1 << f) - 1), -f), sign = h & 0x8000 ? -1 : 1;
    if (exponent == (1 << e) - 1) return fraction > 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1 + fraction, exponent - bias) : ldexp(fraction, 1 - bias));
}

static double wanted_half(enum half_type type, int h)
{
    return type == HALF_BF16 ? value_of((uint16_t)h, 8, 7) : value_of((uint16_t)h, 5, 10);
}

/* Adds 1 times each element to -0, which leaves its sign, and makes a NaN quiet. */
static void widen_all(const struct kernels *k, enum half_type type, const uint16_t *halves,
                      float *x)
{
    static const float one = 1;
    for (int h = 0; h < ALL; h++) x[h] = -0.0f;
    k->gemm(&(struct gemm_block){.rows = 1,
                                 .columns = ALL,
                                 .depth = 1,
                                 .a = &one,
                                 .a_row = 1,
                                 .a_step = 1,
                                 .half = halves,
                                 .type = type,
                                 .b_panel = LANES,
                                 .b_step = LANES,
                                 .c = x,
                                 .c_row = ALL,
                                 .c_panel = LANES,
                                 .add = true});
}

static void all_are_widened(void **state)
{
    static uint16_t halves[ALL];
    static float x[ALL];
    const struct kernels *k;
    (void)state;
    for (int h = 0; h < ALL; h++) halves[h] = (uint16_t)h;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int type = HALF_BF16; type <= HALF_F16; type++) {
            widen_all(k, (enum half_type)type, halves, x);
            for (int h = 0; h < ALL; h++) {
                double want = wanted_half((enum half_type)type, h), got = (double)x[h];
                if (isnan(want) ? !isnan(got) : !(got == want) || signbit(got) != signbit(want))
                    fail_msg("%s: %04x is %g, not %g", k->name, (unsigned)h, got, want);
                float one = half_widen((enum half_type)type, halves[h]);
                assert_memory_equal(&one, &x[h], sizeof one);
            }
        }
}

/* Between two neighbors, everything below the middle goes to the lower one, everything above it to
   the upper one, and the middle to the even one. */
static void neighbors(enum half_type type, int h)
{
    double low = wanted_half(type, h), high = wanted_half(type, h + 1);
    if (isinf(high)) high = 2 * low - wanted_half(type, h - 1);
    float middle = (float)((low + high) / 2);
    int even = h % 2 ? h + 1 : h;
    assert_true((double)middle == (low + high) / 2);
    for (int sign = 0; sign < 2; sign++) {
        float s = sign ? -1 : 1;
        int bit = sign ? 0x8000 : 0;
        assert_int_equal(half_round(type, s * (float)low), h | bit);
        assert_int_equal(half_round(type, s * middle), even | bit);
        assert_int_equal(half_round(type, s * nextafterf(middle, 0)), h | bit);
        assert_int_equal(half_round(type, s * nextafterf(middle, INFINITY)), (h + 1) | bit);
    }
}

static void floats_are_rounded(void **state)
{
    (void)state;
    for (int h = 1; h < 0x7c00; h++) neighbors(HALF_F16, h);
    for (int h = 1; h < 0x7f80; h++)
        if (h < 0x7f7f) neighbors(HALF_BF16, h); /* the last middle overflows a float */
    for (int type = HALF_BF16; type <= HALF_F16; type++) {
        int infinity = type == HALF_BF16 ? 0x7f80 : 0x7c00;
        assert_int_equal(half_round((enum half_type)type, 0), 0);
        assert_int_equal(half_round((enum half_type)type, -0.0f), 0x8000);
        assert_int_equal(half_round((enum half_type)type, 0x1p-149f), 0);
        assert_int_equal(half_round((enum half_type)type, INFINITY), infinity);
        assert_int_equal(half_round((enum half_type)type, -0x1.fffffep127f), infinity | 0x8000);
        assert_true((half_round((enum half_type)type, NAN) & 0x7fff) > infinity);
    }
}

/* ---- gemm: matrix products and packing of panels: right by their definitions in double; equal
   bits for every position of an element and every instruction set; nothing else is read or written.
   ---- */

static const double EPSILON = 0x1p-23;

enum { MAX_ROWS = 30, MAX_COLUMNS = 72, MAX_DEPTH = 70 };

struct matrices { /* operands of a product, between fences */
    struct fenced a, b, c, bias, tiles;
};

static int make(void **state)
{
    struct matrices *m = calloc(1, sizeof *m);

    m->a = fenced_make(MAX_ROWS * MAX_DEPTH);
    m->b = fenced_make(MAX_COLUMNS * MAX_DEPTH);
    m->c = fenced_make(MAX_ROWS * MAX_COLUMNS);
    m->bias = fenced_make(MAX_COLUMNS);
    m->tiles = fenced_make(MAX_ROWS * MAX_DEPTH);
    *state = m;
    return 0;
}

static int drop(void **state)
{
    struct matrices *m = *state;

    fenced_free(&m->a);
    fenced_free(&m->b);
    fenced_free(&m->c);
    fenced_free(&m->bias);
    fenced_free(&m->tiles);
    free(m);
    return 0;
}

enum start { FROM_ZERO, FROM_BIAS, FROM_C };

struct shape {
    int rows, columns, depth;
    bool a_transposed; /* a[k][r] instead of a[r][k] */
    bool c_panels;     /* c in panels of [rows][16] instead of rows; columns a multiple of 16 */
    enum start start;
};

static size_t c_at(const struct shape *s, int r, int n)
{
    return s->c_panels ? (size_t)(n / LANES * s->rows * LANES + r * LANES + n % LANES)
                       : (size_t)(r * s->columns + n);
}

/* Describes the product. b is in plain rows, so that its last panel ends where the columns end. */
static struct gemm_block set_up(const struct matrices *m, const struct shape *s)
{
    size_t rows = (size_t)s->rows, columns = (size_t)s->columns, depth = (size_t)s->depth;
    float *a = fenced_floats(&m->a, rows * depth, true);
    float *b = fenced_floats(&m->b, columns * depth, true);
    float *c = fenced_floats(&m->c, rows * columns, true);
    float *bias = fenced_floats(&m->bias, columns, true);

    fill(a, rows * depth, -1, 1, 1);
    fill(b, columns * depth, -1, 1, 2);
    fill(c, rows * columns, -1, 1, 3);
    fill(bias, columns, -1, 1, 4);
    return (struct gemm_block){.rows = s->rows,
                               .columns = s->columns,
                               .depth = s->depth,
                               .a = a,
                               .a_row = s->a_transposed ? 1 : s->depth,
                               .a_step = s->a_transposed ? s->rows : 1,
                               .b = b,
                               .b_panel = LANES,
                               .b_step = s->columns,
                               .c = c,
                               .c_row = s->c_panels ? LANES : s->columns,
                               .c_panel = s->c_panels ? s->rows * LANES : LANES,
                               .bias = s->start == FROM_BIAS ? bias : NULL,
                               .add = s->start == FROM_C};
}

/* Checks element [r][n]: bit for bit, as a chain of fma in the order of k if there is fma, and
   against double. */
static void check_element(const struct kernels *k, const struct gemm_block *p,
                          const struct shape *s, const float *before, int r, int n)
{
    float chain = p->add ? before[c_at(s, r, n)] : p->bias ? p->bias[n] : 0;
    double sum = (double)chain, size = fabs(sum), got = (double)p->c[c_at(s, r, n)];

    for (int d = 0; d < p->depth; d++) {
        float x = p->a[r * p->a_row + d * p->a_step], y = p->b[d * p->b_step + n];
        chain = fmaf(x, y, chain);
        sum += (double)x * (double)y;
        size += fabs((double)x * (double)y);
    }
    if (is_exact(k) && (float)got != chain)
        fail_msg("%s: %d x %d x %d [%d][%d]: %a, not %a", k->name, p->rows, p->columns, p->depth, r,
                 n, got, (double)chain);
    close_to(got, sum, slack(k) * 2 * sqrt(p->depth + 1) * EPSILON * size);
}

static void check(const struct kernels *k, const struct matrices *m, const struct shape *s,
                  int max_tile)
{
    static float before[MAX_ROWS * MAX_COLUMNS];
    size_t rows = (size_t)s->rows, columns = (size_t)s->columns, depth = (size_t)s->depth;
    struct gemm_block p = set_up(m, s);

    p.max_tile = max_tile;
    memcpy(before, p.c, rows * columns * sizeof *before);
    k->gemm(&p);
    for (int r = 0; r < s->rows; r++)
        for (int n = 0; n < s->columns; n++) check_element(k, &p, s, before, r, n);
    fenced_check(&m->a, rows * depth, true);
    fenced_check(&m->b, columns * depth, true);
    fenced_check(&m->c, rows * columns, true);
    fenced_check(&m->bias, columns, true);
}

static void all_small_products(void **state)
{
    static const int depths[] = {0, 1, 2, 17, MAX_DEPTH};
    const struct kernels *k;

    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int rows = 1; rows <= MAX_ROWS; rows++)
            for (int columns = 1; columns <= 40; columns++) {
                int transpose = rows * 41 + columns;
                struct shape s = {rows,
                                  columns,
                                  depths[transpose % 4],
                                  transpose % 3 == 0,
                                  false,
                                  (enum start)(transpose / 5 % 3)};
                check(k, *state, &s, 0);
            }
}

static void more_products(void **state)
{
    const struct kernels *k;

    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int rows = 1; rows <= MAX_ROWS; rows++)
            for (int start = FROM_ZERO; start <= FROM_C; start++) {
                struct shape wide = {rows, MAX_COLUMNS, MAX_DEPTH, false, false, (enum start)start};
                struct shape panels = {rows, 64, 19, true, true, (enum start)start};
                check(k, *state, &wide, rows % LANES); /* tiles of any height */
                check(k, *state, &panels, rows % LANES);
            }
}

/* A product of adjacent rows (a transposed) has the same bits when its rows are packed in tiles. */
static void check_tiles(const struct kernels *k, struct matrices *m, const struct shape *s)
{
    static float want[MAX_ROWS * MAX_COLUMNS], before[MAX_ROWS * MAX_COLUMNS];
    size_t size = (size_t)(s->rows * s->columns), in_a = (size_t)(s->rows * s->depth);
    struct gemm_block p = set_up(m, s);
    float *tiles = fenced_floats(&m->tiles, in_a, true);

    memcpy(before, p.c, size * sizeof *before);
    k->gemm(&p);
    memcpy(want, p.c, size * sizeof *want);
    memcpy(p.c, before, size * sizeof *before);
    k->pack_tiles(&p, tiles);
    p.a = tiles, p.a_tiles = true, p.a_step = INT32_MAX;
    k->gemm(&p);
    if (memcmp(want, p.c, size * sizeof *want) != 0)
        fail_msg("%s: %d x %d x %d in tiles: other bits", k->name, p.rows, p.columns, p.depth);
    fenced_check(&m->tiles, in_a, true);
    fenced_check(&m->a, in_a, true);
    fenced_check(&m->b, (size_t)(s->columns * s->depth), true);
    fenced_check(&m->c, size, true);
}

static void products_of_tiles(void **state)
{
    const struct kernels *k;

    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int rows = 1; rows <= MAX_ROWS; rows++)
            for (int columns = 5; columns <= MAX_COLUMNS; columns += 11)
                for (int start = FROM_ZERO; start <= FROM_C; start++) {
                    const int depths[] = {1, 3, 16, MAX_DEPTH};
                    struct shape s = {rows, columns, depths[(rows + columns) % 4],
                                      true, false,   (enum start)start};
                    check_tiles(k, *state, &s);
                }
}

static void packing(void **state)
{
    struct matrices *m = *state;
    const struct kernels *k;

    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int columns = 1; columns <= MAX_COLUMNS; columns += columns < 36 ? 1 : 9)
            for (int depth = 1; depth <= 21; depth += 4) {
                size_t size = (size_t)(columns * depth),
                       whole = rapt__panels_size((size_t)columns, (size_t)depth);
                int panels = (columns + LANES - 1) / LANES, first = panels > 1,
                    count = panels - first;
                size_t wanted = (size_t)count * LANES * (size_t)depth;
                float *x = fenced_floats(&m->b, size, true);
                float *out = fenced_floats(&m->c, wanted, true);
                assert_true(whole <= MAX_ROWS * MAX_COLUMNS);
                fill(x, size, -1, 1, 5);
                k->pack_rows(x, columns, columns, depth, first, count, out);
                for (size_t i = 0; i < wanted; i++) {
                    int n = (int)(i / (size_t)(LANES * depth) + (size_t)first) * LANES +
                            (int)(i % LANES);
                    int d = (int)(i / LANES) % depth;
                    assert_true(out[i] == (n < columns ? x[d * columns + n] : 0));
                }
                k->pack_columns(x, depth, columns, depth, 0.5f, first, count, out);
                for (size_t i = 0; i < wanted; i++) {
                    int n = (int)(i / (size_t)(LANES * depth) + (size_t)first) * LANES +
                            (int)(i % LANES);
                    int d = (int)(i / LANES) % depth;
                    assert_true(out[i] == (n < columns ? x[n * depth + d] * 0.5f : 0));
                }
                fenced_check(&m->b, size, true);
                fenced_check(&m->c, wanted, true);
            }
}

/* round_bf16 rounds floats next to every bf16 number, and next to the middle between two, as half.h
   does; widen_bf16 gives every bf16 number back. */
static void sixteen_bits(void **state)
{
    enum { PIECE = 48 };
    static const uint32_t below[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    static uint16_t halves[ALL], rounded[ALL];
    static float x[ALL], widened[ALL];
    const struct kernels *k;
    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int b = 0; b < (int)(sizeof below / sizeof *below); b++) {
            for (uint32_t i = 0; i < ALL; i++) x[i] = half_float_of(i << 16 | below[b]);
            for (int i = 0, n = 0; i < ALL; i += n) {
                n = ALL - i < PIECE ? ALL - i : 1 + i % PIECE;
                k->round_bf16(x + i, n, rounded + i);
            }
            for (uint32_t i = 0; i < ALL; i++) {
                bool nan = isnan(x[i]), up = below[b] > 0x8000 || (below[b] == 0x8000 && i % 2);
                halves[i] = (uint16_t)(nan ? i | 0x40 : i + up);
            }
            assert_memory_equal(rounded, halves, sizeof halves);
            k->widen_bf16(rounded, ALL, widened);
            for (uint32_t i = 0; i < ALL; i++)
                assert_true(half_bits_of(widened[i]) == (uint32_t)rounded[i] << 16);
        }
}

/* transpose_panels(pack_columns(W)) = pack_rows(W), and any part of it. */
static void transposing(void **state)
{
    enum { MAX = 53 };
    static float w[MAX * MAX], packed[64 * 64];
    struct matrices *m = *state;
    const struct kernels *k;

    fill(w, MAX * MAX, -1, 1, 6);
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int outputs = 1; outputs <= MAX; outputs += 4)
            for (int inputs = 1; inputs <= MAX; inputs += 4)
                for (int k0 = 0; k0 < outputs; k0 += LANES) {
                    /* w [outputs][inputs] is in panels of outputs; out[k][n] = w[k][n] */
                    int panels = (inputs + LANES - 1) / LANES, first = panels / 2;
                    int count = panels - first, ks = outputs - k0 > 20 ? 20 : outputs - k0;
                    size_t wanted = (size_t)(count * ks * LANES);
                    float *out = fenced_floats(&m->c, wanted, true);
                    k->pack_columns(w, inputs, outputs, inputs, 1, 0, (outputs + LANES - 1) / LANES,
                                    packed);
                    k->transpose_panels(packed, inputs, k0, ks, first, count, out);
                    for (size_t i = 0; i < wanted; i++) {
                        int n = ((int)i / (ks * LANES) + first) * LANES + (int)i % LANES;
                        int o = k0 + (int)i / LANES % ks;
                        assert_true(out[i] == (n < inputs ? w[o * inputs + n] : 0));
                    }
                    fenced_check(&m->c, wanted, true);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_widened),    cmocka_unit_test(floats_are_rounded),
        cmocka_unit_test(all_small_products), cmocka_unit_test(more_products),
        cmocka_unit_test(products_of_tiles),  cmocka_unit_test(packing),
        cmocka_unit_test(transposing),        cmocka_unit_test(sixteen_bits),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
