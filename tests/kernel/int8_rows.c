/* int8_rows.c - quantized rows: equal to their definition, bit for bit, in every form; the same in
   every form with every floating-point mode; nothing else is read or written. */
#include "kernel/int8_trial.h"
#include "tiles.h"

#include <fenv.h>

enum { LONGEST = 4099 };

struct row { /* a row between fences, and its quantized form */
    struct fenced x, q;
};

static int make_row(void **state)
{
    struct row *row = calloc(1, sizeof *row);
    row->x = fenced_make(LONGEST);
    row->q = fenced_make(2 * (LONGEST / 4 + LANES));
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

/* Quantizes x[n] in two terms and compares both with q[n] and their scales. */
static void check_twice(const struct int8_kernels *k, const struct row *row, const float *x, int n,
                        int *const q[2], const float scale[2])
{
    size_t bytes = rapt__round_up_size((size_t)n, LANES), floats = 2 * bytes / sizeof(float);
    float *from = fenced_floats(&row->x, (size_t)n, true), got_scale[2];
    int8_t *first = (int8_t *)fenced_floats(&row->q, floats, true), *const got[2] = {first,
                                                                                     first + bytes};
    int32_t got_sum[2];
    memcpy(from, x, (size_t)n * sizeof *x);
    k->quantize_twice(from, n, got, got_scale, got_sum);
    for (int t = 0; t < 2; t++) {
        int32_t sum = 0;
        for (int i = 0; i < (int)bytes; i++) {
            int want = i < n ? q[t][i] : 0;
            if (got[t][i] != want)
                fail_msg("%s, %d: term %d, q[%d] = %d, not %d", k->name, n, t, i, got[t][i], want);
            sum += want;
        }
        if (!same_bits(&got_scale[t], &scale[t], 1) || got_sum[t] != sum)
            fail_msg("%s, %d: term %d: scale %a, not %a; sum %d, not %d", k->name, n, t,
                     (double)got_scale[t], (double)scale[t], got_sum[t], sum);
    }
    fenced_check(&row->q, floats, true);
}

static void check_all(const struct row *row, const float *x, int n)
{
    static int q[2][LONGEST];
    int *const terms[] = {q[0], q[1]};
    const struct int8_kernels *k;
    float scale[2];
    oracle_quantize(n, x, q[0], &scale[0]);
    oracle_quantize_rest(n, x, q[0], q[1], &scale[1]);
    for (int i = 0; (k = form_at(&i)) != NULL;) {
        check_row(k, row, x, n, q[0], scale[0]);
        check_twice(k, row, x, n, terms, scale);
    }
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
    static const float max[] = {
        0,           0x1p-149f,       0x1p-126f,        0x1.fffffep-119f, 0x1p-118f,
        0x1.8p-118f, 127 * 0x1p-117f, 0x1.fbfffep-111f, 3.4028234e38f,    INFINITY};
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
            k->quantize_panel(from, depth, NULL, got, scale);
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

/* Rows made from integers give these again with their factor, also if none of them is 127. A
   factor that is too large, 0, negative, infinite or NaN is ignored. */
static void factors_of_files(void **state)
{
    enum { DEPTH = 33 };
    static const float factors[LANES] = {0x1p6f,  100,      3.7f,     12345.678f, 1e-20f, 1e20f,
                                         0.0127f, 127,      1.0f / 3, 128,        0,      -3,
                                         1000,    INFINITY, NAN,      1e30f};
    float w[DEPTH * LANES], scale[LANES], own;
    int whole[LANES][DEPTH], q[DEPTH];
    int8_t got[(DEPTH + 3) * LANES];
    const struct int8_kernels *k;
    (void)state;
    for (int n = 0; n < LANES; n++)
        for (int d = 0; d < DEPTH; d++) {
            bool taken = n < 10 || n == 12;
            whole[n][d] = (int)(uniform(9, (size_t)(n * DEPTH + d)) * (n % 2 ? 255 : 61));
            whole[n][d] -= n % 2 ? 127 : 30;
            w[d * LANES + n] = (float)whole[n][d] * (1 / (taken ? factors[n] : 50));
        }
    w[12] = 0.1276f; /* times 1,000: 127.6 */
    for (int i = 0; (k = form_at(&i)) != NULL;) {
        k->quantize_panel(w, DEPTH, factors, got, scale);
        for (int n = 0; n < LANES; n++) {
            float x[DEPTH];
            for (int d = 0; d < DEPTH; d++) x[d] = w[d * LANES + n];
            oracle_quantize(DEPTH, x, q, &own);
            assert_true(scale[n] == (n < 10 ? 1 / factors[n] : own));
            for (int d = 0; d < DEPTH; d++)
                assert_int_equal(got[d / 4 * 64 + n * 4 + d % 4], n < 10 ? whole[n][d] : q[d]);
        }
    }
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
    static const float exact[] = {1.984375f, -0.9765625f, 0.0234375f, -0.5f}; /* times 64: */
    static const int exact_q[] = {127, -62, 2, -32}; /* 127, -62.5, 1.5, -32 */
    static float x[N];
    static int8_t want[N], got[N];
    float want_scale, got_scale;
    int32_t want_sum, got_sum, want_sums[2], got_sums[2];
    static int8_t want_rest[N], got_rest[N];
    int8_t *const want_terms[] = {want, want_rest}, *const got_terms[] = {got, got_rest};
    float want_scales[2], got_scales[2];
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
            plain->quantize_twice(x, N, want_terms, want_scales, want_sums);
            k->quantize_twice(x, N, got_terms, got_scales, got_sums);
            assert_memory_equal(got, want, N);
            assert_memory_equal(got_rest, want_rest, N);
            assert_memory_equal(got_scales, want_scales, sizeof got_scales);
            assert_memory_equal(got_sums, want_sums, sizeof got_sums);
            k->quantize_row(exact, 4, got, &got_scale, &got_sum);
            for (int j = 0; j < 4; j++) assert_int_equal(got[j], exact_q[j]);
            assert_true(got_scale == 1 / 64.0f);
        }
        fesetround(FE_TONEAREST);
    }
}

/* Rows with denormal elements, and with maxima on both sides of 2^-118 and 127 2^-117, do not
   depend on whether the host flushes denormals. */
static void flushed_denormals(void **state)
{
    float x[64], scale[2][2];
    int8_t q[2][2][64];
    int32_t sum[2];
    const struct int8_kernels *k;
    (void)state;
    for (int i = 0; (k = form_at(&i)) != NULL;)
        for (int power = -149; power <= -100; power++) {
            fill(x, 64, -0x1.fffffcp-126, 0x1.fffffcp-126, (uint64_t)(power + 200));
            x[5] = ldexpf(1, power);
            for (int flush = 0; flush < 2; flush++) {
                int8_t *const terms[] = {q[flush][0], q[flush][1]};
                flush_denormals(flush);
                k->quantize_twice(x, 64, terms, scale[flush], sum);
                flush_denormals(false);
            }
            assert_memory_equal(q[0], q[1], sizeof q[0]);
            assert_memory_equal(scale[0], scale[1], sizeof scale[0]);
        }
}

int main(void)
{
    ask_for_tiles();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_of_all_lengths, make_row, drop_row),
        cmocka_unit_test_setup_teardown(halves, make_row, drop_row),
        cmocka_unit_test_setup_teardown(special_rows, make_row, drop_row),
        cmocka_unit_test_setup_teardown(panels_of_rows, make_row, drop_row),
        cmocka_unit_test(factors_of_files),
        cmocka_unit_test(rounding_modes),
        cmocka_unit_test(flushed_denormals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
