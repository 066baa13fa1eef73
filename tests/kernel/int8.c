/* int8.c - quantized rows and products of 8-bit integers: equal to their definition, bit for bit,
   in every form; the same in every form with every floating-point mode; nothing else is read or
   written. */
#include "kernel/trial.h"

#include "kernel/int8.h"
#include "oracle/int8.h"
#include "skips.h"

#include <fenv.h>

enum { MAX_ROWS = 30, MAX_COLUMNS = 72, MAX_DEPTH = 150, LONGEST = 4099 };

#ifdef RAPT_TESTS_VNNI256
extern const struct int8_kernels rapt__int8_vnni256;

/* The AVX-VNNI form, with the instructions of AVX-512. */
static const struct int8_kernels *vnni256(void)
{
    bool can = rapt__processor_dots(RAPT_ISA_AVX512) && __builtin_cpu_supports("avx512vl");
    return can ? &rapt__int8_vnni256 : NULL;
}
#else
static const struct int8_kernels *vnni256(void)
{
    return NULL;
}
#endif

/* Iterates over the forms of this machine: for (int i = 0; (k = form_at(&i)) != NULL;) */
static const struct int8_kernels *form_at(int *form)
{
    while (*form <= INT8_FORMS) {
        int i = (*form)++;
        const struct int8_kernels *k =
            i < INT8_FORMS ? rapt__int8_kernels_of((enum int8_form)i) : vnni256();
        if (k) return k;
    }
    return NULL;
}

/* ---- rows ---- */

struct row { /* a row between fences, and its quantized form */
    struct fenced x, q;
};

static int make_row(void **state)
{
    struct row *row = calloc(1, sizeof *row);
    row->x = fenced_make(LONGEST);
    row->q = fenced_make(LONGEST / 4 + LANES);
    *state = row;
    return 0;
}

static int drop_row(void **state)
{
    struct row *row = *state;
    fenced_free(&row->x);
    fenced_free(&row->q);
    free(row);
    return 0;
}

/* Quantizes x[n] by one form and compares with q[n] and the scale. */
static void check_row(const struct int8_kernels *k, const struct row *row, const float *x, int n,
                      const int *q, float scale)
{
    size_t bytes = rapt__round_up_size((size_t)n, LANES), floats = bytes / sizeof(float);
    float *from = fenced_floats(&row->x, (size_t)n, true), got_scale;
    int8_t *got = (int8_t *)fenced_floats(&row->q, floats, true);
    int32_t got_sum, sum = 0;
    memcpy(from, x, (size_t)n * sizeof *x);
    k->quantize_row(from, n, got, &got_scale, &got_sum);
    for (int i = 0; i < (int)bytes; i++) {
        int want = i < n ? q[i] : 0;
        if (got[i] != want) fail_msg("%s, %d: q[%d] = %d, not %d", k->name, n, i, got[i], want);
        sum += want;
    }
    if (!same_bits(&got_scale, &scale, 1) || got_sum != sum)
        fail_msg("%s, %d: scale %a, not %a; sum %d, not %d", k->name, n, (double)got_scale,
                 (double)scale, got_sum, sum);
    assert_memory_equal(from, x, (size_t)n * sizeof *x);
    fenced_check(&row->x, (size_t)n, true);
    fenced_check(&row->q, floats, true);
}

static void check_all(const struct row *row, const float *x, int n)
{
    static int q[LONGEST];
    const struct int8_kernels *k;
    float scale;
    oracle_quantize(n, x, q, &scale);
    for (int i = 0; (k = form_at(&i)) != NULL;) check_row(k, row, x, n, q, scale);
}

static void rows_of_all_lengths(void **state)
{
    static const int lengths[] = {127, 128, 129, 256, 511, 512, 513, 2048, LONGEST};
    static float x[LONGEST];
    for (int n = 0; n <= 70; n++) {
        fill(x, (size_t)n, -3, 3, (uint64_t)n);
        check_all(*state, x, n);
    }
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int power = -130; power <= 127; power += 7) {
            double size = ldexp(1, power);
            fill(x, (size_t)lengths[i], -size, size, i);
            check_all(*state, x, lengths[i]);
        }
}

/* Rows whose scaled elements are halves or next to them. */
static void halves(void **state)
{
    static float x[512];
    for (int power = -100; power <= 120; power += 20)
        for (int step = -1; step <= 1; step++) {
            float unit = ldexpf(1, power);
            x[0] = 127 * unit;
            for (int i = 1; i < 512; i++) {
                float half = (float)(i - 256) / 2 * unit;
                x[i] = step ? nextafterf(half, (float)step * INFINITY) : half;
                if (fabsf(x[i]) > x[0]) x[i] = 0;
            }
            check_all(*state, x, 512);
        }
}

static void special_rows(void **state)
{
    static const float max[] = {0,         0x1p-149f,   0x1p-126f,     0x1.fffffep-119f,
                                0x1p-118f, 0x1.8p-118f, 3.4028234e38f, INFINITY};
    float x[40];
    for (size_t m = 0; m < sizeof max / sizeof *max; m++)
        for (int at = 0; at < 40; at++) {
            fill(x, 40, -0x1.fffffcp-126, 0x1.fffffcp-126, m); /* denormal, or a little above */
            for (int i = 0; i < 40; i++)
                if (fabsf(x[i]) > max[m]) x[i] = 0;
            x[at] = at % 2 ? -max[m] : max[m];
            check_all(*state, x, 40);
            x[at] = at % 2 ? -NAN : NAN;
            check_all(*state, x, 40);
        }
}

/* Every form packs the same panel of quantized rows, of which each lane is one. */
static void panels_of_rows(void **state)
{
    enum { DEPTH = 70 };
    static float w[DEPTH * LANES];
    const struct row *row = *state;
    const struct int8_kernels *k;
    for (int depth = 0; depth <= DEPTH; depth++) {
        size_t floats = (size_t)(depth * LANES), bytes = rapt__int8_panel(depth);
        float *from = fenced_floats(&row->x, floats, true), scale[LANES], want_scale;
        int8_t *got = (int8_t *)fenced_floats(&row->q, bytes / 4, true);
        int q[DEPTH];
        float x[DEPTH];
        fill(w, floats, -2, 2, (uint64_t)depth);
        if (depth % 3 == 0) sprinkle(w, floats, (uint64_t)depth);
        for (int i = 0; (k = form_at(&i)) != NULL;) {
            memcpy(from, w, floats * sizeof *w);
            k->quantize_panel(from, depth, got, scale);
            for (int n = 0; n < LANES; n++) {
                for (int d = 0; d < depth; d++) x[d] = w[d * LANES + n];
                oracle_quantize(depth, x, q, &want_scale);
                assert_true(same_bits(scale + n, &want_scale, 1));
                for (int d = 0; d < (int)bytes / LANES; d++)
                    assert_int_equal(got[d / 4 * 64 + n * 4 + d % 4], d < depth ? q[d] : 0);
            }
            fenced_check(&row->x, floats, true);
            fenced_check(&row->q, bytes / 4, true);
        }
    }
}

/* ---- products ---- */

struct matrices { /* operands of a product, between fences */
    struct fenced q, q_scale, q_sum, w, w_scale, bias, y;
};

static int make(void **state)
{
    struct matrices *m = calloc(1, sizeof *m);
    m->q = fenced_make(MAX_ROWS * (MAX_DEPTH + 3 * INT8_LINE) / 4);
    m->q_scale = fenced_make(MAX_ROWS);
    m->q_sum = fenced_make(MAX_ROWS);
    m->w = fenced_make((MAX_COLUMNS + LANES) * (MAX_DEPTH + INT8_GROUP) / 4);
    m->w_scale = fenced_make(MAX_COLUMNS);
    m->bias = fenced_make(MAX_COLUMNS);
    m->y = fenced_make(MAX_ROWS * MAX_COLUMNS);
    *state = m;
    return 0;
}

static int drop(void **state)
{
    struct matrices *m = *state;
    fenced_free(&m->q), fenced_free(&m->q_scale), fenced_free(&m->q_sum);
    fenced_free(&m->w), fenced_free(&m->w_scale), fenced_free(&m->bias), fenced_free(&m->y);
    free(m);
    return 0;
}

struct shape {
    int rows, columns, depth;
    bool bias;
    bool extreme; /* every number is 127 or -127 */
};

static int number(const struct shape *s, uint64_t key, size_t i)
{
    double u = uniform(key, i);
    return s->extreme ? (u < 0.5 ? -127 : 127) : (int)(u * 255) - 127;
}

static int q_at(const struct shape *s, int r, int k)
{
    return number(s, 1, (size_t)(r * MAX_DEPTH + k));
}
static int w_at(const struct shape *s, int n, int k)
{
    return number(s, 2, (size_t)(n * MAX_DEPTH + k));
}

/* Describes the product. The rows of q are as close as they may be. */
static struct int8_block set_up(const struct matrices *m, const struct shape *s)
{
    size_t rows = (size_t)s->rows, columns = (size_t)s->columns;
    size_t padded = rapt__round_up_size((size_t)s->depth, INT8_GROUP);
    size_t panels = rapt__ceil_div_size(columns, LANES), panel = rapt__int8_panel(s->depth);
    int8_t *q = (int8_t *)fenced_floats(&m->q, rows * padded / 4, true);
    int8_t *w = (int8_t *)fenced_floats(&m->w, panels * panel / 4, true);
    float *q_scale = fenced_floats(&m->q_scale, rows, true);
    int32_t *q_sum = (int32_t *)fenced_floats(&m->q_sum, rows, true);
    float *w_scale = fenced_floats(&m->w_scale, columns, true);
    float *bias = fenced_floats(&m->bias, columns, true);

    fill(q_scale, rows, 0, 1, 3);
    fill(w_scale, columns, 0, 0.1, 4);
    fill(bias, columns, -1, 1, 5);
    memset(q, 0, rows * padded);
    memset(w, 0, panels * panel);
    for (int r = 0; r < s->rows; r++) {
        q_sum[r] = 0;
        for (int k = 0; k < s->depth; k++) {
            q[(size_t)r * padded + (size_t)k] = (int8_t)q_at(s, r, k);
            q_sum[r] += q_at(s, r, k);
        }
    }
    for (int n = 0; n < s->columns; n++)
        for (int k = 0; k < s->depth; k++)
            w[(size_t)(n / LANES) * panel + (size_t)(k / 4 * 64 + n % LANES * 4 + k % 4)] =
                (int8_t)w_at(s, n, k);
    return (struct int8_block){.rows = s->rows,
                               .columns = s->columns,
                               .depth = s->depth,
                               .q = q,
                               .q_row = (ptrdiff_t)padded,
                               .q_scale = q_scale,
                               .q_sum = q_sum,
                               .w = w,
                               .w_scale = w_scale,
                               .bias = s->bias ? bias : NULL,
                               .y = fenced_floats(&m->y, rows * columns, true),
                               .y_row = s->columns};
}

static void check_product(const struct int8_kernels *k, const struct matrices *m,
                          const struct shape *s, const float *want)
{
    struct int8_block b = set_up(m, s);
    size_t size = (size_t)s->rows * (size_t)s->columns;
    k->gemm(&b);
    if (memcmp(b.y, want, size * sizeof *want) != 0)
        fail_msg("%s: %d x %d x %d differs", k->name, s->rows, s->columns, s->depth);
    fenced_check(&m->y, size, true);
}

static void check_products(const struct matrices *m, const struct shape *s)
{
    static float want[MAX_ROWS * MAX_COLUMNS];
    static int q[MAX_DEPTH], w[MAX_DEPTH];
    const struct int8_kernels *k;
    struct int8_block b = set_up(m, s);
    for (int r = 0; r < s->rows; r++)
        for (int n = 0; n < s->columns; n++) {
            for (int i = 0; i < s->depth; i++) q[i] = q_at(s, r, i), w[i] = w_at(s, n, i);
            want[r * s->columns + n] =
                oracle_int8(s->depth, q, b.q_scale[r], w, b.w_scale[n], b.bias ? b.bias[n] : 0);
        }
    for (int i = 0; (k = form_at(&i)) != NULL;) check_product(k, m, s, want);
}

static void all_small_products(void **state)
{
    static const int depths[] = {0, 1, 2, 3, 4, 5, 17, 64, MAX_DEPTH};
    for (int rows = 1; rows <= MAX_ROWS; rows++)
        for (int columns = 1; columns <= MAX_COLUMNS; columns += rows % 2 ? 1 : 5) {
            int i = rows * 41 + columns;
            struct shape s = {rows, columns, depths[i % 9], i % 2, i % 3 == 0};
            check_products(*state, &s);
        }
}

/* Every product and sum of two, four, ... products at its limit. */
static void extreme_products(void **state)
{
    for (int rows = 1; rows <= MAX_ROWS; rows++) {
        struct shape s = {rows, MAX_COLUMNS - rows % 8, MAX_DEPTH - rows % 4, false, true};
        check_products(*state, &s);
    }
}

/* The deepest product: its sum is 127^2 * 133,144 = 2,147,479,576, just below 2^31. */
static void deepest_product(void **state)
{
    enum { DEPTH = INT8_MAX_DEPTH };
    size_t panel = rapt__int8_panel(DEPTH);
    int8_t *q = malloc(DEPTH), *w = malloc(panel);
    float scale[LANES], y[LANES], one = 1;
    const struct int8_kernels *k;
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        int32_t sum = 127 * sign * DEPTH;
        memset(q, 127 * sign, DEPTH);
        memset(w, 127, panel);
        for (int n = 0; n < LANES; n++) scale[n] = 1;
        struct int8_block b = {.rows = 1,
                               .columns = LANES,
                               .depth = DEPTH,
                               .q = q,
                               .q_scale = &one,
                               .q_sum = &sum,
                               .w = w,
                               .w_scale = scale,
                               .y = y};
        for (int i = 0; (k = form_at(&i)) != NULL;) {
            k->gemm(&b);
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
    float factor_exact; /* not 0: the factor of x, in every rounding mode */
    int q[4], wq[2][4], sum[2];
    uint32_t y[2]; /* the bits of the products */
} examples[] = {
    {{1.984375f, -0.9765625f, 0.0234375f, -0.5f},
     {{0.49609375f, 0.25f, -0.125f, 0.001953125f}, {-1, 1, 1, -1}},
     {0.5f, -0.25f},
     64,
     {127, -62, 2, -32},
     {{127, 64, -32, 0}, {-127, 127, 127, -127}},
     {12097, -19685},
     {0x3f9e8200, 0xc02b0000}},
    {{0.1f, -0.7f, 0.33f, 0.9f},
     {{0.2f, -0.3f, 0.05f, 0.4f}, {0.9f, 0.9f, -0.9f, -0.9f}},
     {0.01f, -0.02f},
     0,
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
    k->gemm(&(struct int8_block){.rows = 1,
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

/* ---- floating-point modes ---- */

#ifdef __x86_64__
#include <immintrin.h>

static void flush_denormals(bool flush)
{
    _mm_setcsr(flush ? _mm_getcsr() | 0x8040 : _mm_getcsr() & ~0x8040u);
}
#else
static void flush_denormals(bool flush)
{
    (void)flush;
}
#endif

static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

/* In each mode all forms give the same row; exact scales give the same row in every mode. */
static void rounding_modes(void **state)
{
    enum { N = 512 };
    static float x[N];
    static int8_t want[N], got[N];
    float want_scale, got_scale;
    int32_t want_sum, got_sum;
    const struct int8_kernels *plain = rapt__int8_kernels_of(INT8_SCALAR), *k;
    (void)state;
    fill(x, N, -1, 1, 8);
    for (int mode = 0; mode < 4; mode++) {
        assert_int_equal(fesetround(modes[mode]), 0);
        plain->quantize_row(x, N, want, &want_scale, &want_sum);
        for (int i = 0; (k = form_at(&i)) != NULL;) {
            k->quantize_row(x, N, got, &got_scale, &got_sum);
            assert_memory_equal(got, want, N);
            assert_memory_equal(&got_scale, &want_scale, sizeof got_scale);
            assert_int_equal(got_sum, want_sum);
            k->quantize_row(examples[0].x, 4, got, &got_scale, &got_sum);
            for (int j = 0; j < 4; j++) assert_int_equal(got[j], examples[0].q[j]);
            assert_true(got_scale == 1 / examples[0].factor_exact);
        }
        fesetround(FE_TONEAREST);
    }
}

/* Rows with denormal elements, and with maxima on both sides of 2^-118, do not depend on whether
   the host flushes denormals. */
static void flushed_denormals(void **state)
{
    float x[64], scale[2];
    int8_t q[2][64];
    int32_t sum;
    const struct int8_kernels *k;
    (void)state;
    for (int i = 0; (k = form_at(&i)) != NULL;)
        for (int power = -149; power <= -110; power++) {
            fill(x, 64, -0x1.fffffcp-126, 0x1.fffffcp-126, (uint64_t)(power + 200));
            x[5] = ldexpf(1, power);
            for (int flush = 0; flush < 2; flush++) {
                flush_denormals(flush);
                k->quantize_row(x, 64, q[flush], &scale[flush], &sum);
                flush_denormals(false);
            }
            assert_memory_equal(q[0], q[1], 64);
            assert_memory_equal(&scale[0], &scale[1], sizeof(float));
        }
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
        if (isa == RAPT_ISA_AVX512 && dots) assert_int_equal(form, INT8_AVX512);
        if (isa == RAPT_ISA_AVX512 && !dots)
            assert_ptr_equal(rapt__int8_kernels((rapt_isa)isa), rapt__int8_kernels(RAPT_ISA_AVX2));
    }
    for (int isa = RAPT_ISA_NEON; rapt_isa_name((rapt_isa)isa); isa++)
        if (rapt__processor_has((rapt_isa)isa) && !rapt__processor_dots((rapt_isa)isa) &&
            !(isa == RAPT_ISA_AVX2 && vnni256()))
            skipped("kernel/int8", "this processor has no sums of products of bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_of_all_lengths, make_row, drop_row),
        cmocka_unit_test_setup_teardown(halves, make_row, drop_row),
        cmocka_unit_test_setup_teardown(special_rows, make_row, drop_row),
        cmocka_unit_test_setup_teardown(panels_of_rows, make_row, drop_row),
        cmocka_unit_test_setup_teardown(all_small_products, make, drop),
        cmocka_unit_test_setup_teardown(extreme_products, make, drop),
        cmocka_unit_test(deepest_product),
        cmocka_unit_test(worked_examples),
        cmocka_unit_test(rounding_modes),
        cmocka_unit_test(flushed_denormals),
        cmocka_unit_test(choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
