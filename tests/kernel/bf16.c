/* bf16.c - products of bf16 numbers with sums of the kind BF16_STEPS: equal to their definition,
   bit for bit, in every form, for numbers of every kind; nothing else is read or written.

     bf16       a million random steps of each form
     bf16 all   10^8 steps of each form: ctest -C full */
#include "kernel/bf16_trial.h"

/* Iterates over the forms of this machine: for (int i = 0; (k = form_at(&i)) != NULL;) */
static const struct bf16_kernels *form_at(int *form)
{
    while (*form <= RAPT_ISA_AVX512 + 1) {
        rapt_isa isa = (rapt_isa)(*form)++;
        const struct bf16_kernels *k =
            isa <= RAPT_ISA_AVX512   ? rapt__bf16_emulation(isa, BF16_STEPS)
            : rapt__processor_bf16() ? rapt__bf16_kernels(RAPT_ISA_AVX512, BF16_STEPS)
                                     : NULL;
        if (k) return k;
    }
    return NULL;
}

/* ---- the instruction, on single numbers ---- */

struct vector { /* c, then the odd and the even products, and the result */
    uint32_t c;
    uint16_t a1, b1, a0, b0;
    uint32_t result;
};

/* Recorded from a Zen 5 with rounding to nearest and upward, with the same results. */
static const struct vector vectors[] = {
    {0x3f800000, 0x3380, 0x3f80, 0xbf80, 0x3f80, 0x00000000}, /* the odd product first */
    {0x3f800000, 0xbf80, 0x3f80, 0x3380, 0x3f80, 0x33800000},
    {0x3f800000, 0x3380, 0x3f80, 0x3380, 0x3f80, 0x3f800000}, /* two roundings */
    {0xbf810100, 0x3f81, 0x3f81, 0x0000, 0x0000, 0x3c008000}, /* products are exact */
    {0x00000000, 0x0001, 0x7f00, 0x0000, 0x0000, 0x00000000}, /* denormals are zeros */
    {0x80000001, 0x8000, 0x3f80, 0x8000, 0x3f80, 0x80000000},
    {0x00800000, 0x9980, 0x1980, 0x0000, 0x0000, 0x00800000}, /* near 2^-126 */
    {0x00800000, 0x9980, 0x1a00, 0x0000, 0x0000, 0x00800000},
    {0x00800000, 0x9980, 0x1a40, 0x0000, 0x0000, 0x00000000},
    {0x00800000, 0x0000, 0x0000, 0x9980, 0x1a40, 0x00000000},
    {0x80800000, 0x1980, 0x1a40, 0x8000, 0x3f80, 0x80000000},
    {0x00000000, 0x7f82, 0x3f80, 0x7f81, 0x3f80, 0x7fc10000}, /* which NaN */
    {0x00000000, 0x7f82, 0x3f80, 0x3f80, 0x7f83, 0x7fc30000},
    {0x7f800005, 0x7f82, 0x7f83, 0x3f80, 0x3f80, 0x7fc20000},
    {0x7f800005, 0x3f80, 0x7f83, 0x3f80, 0x3f80, 0x7fc30000},
    {0x7f800005, 0x3f80, 0x3f80, 0x3f80, 0x3f80, 0x7fc00005},
    {0x3f800000, 0x7f80, 0x0000, 0x3f80, 0x3f80, 0xffc00000}, /* invalid operations */
    {0x3f800000, 0x7f80, 0x0001, 0x3f80, 0x3f80, 0xffc00000},
    {0xff800000, 0x7f80, 0x3f80, 0x3f80, 0x3f80, 0xffc00000},
    {0x3f800000, 0x7f80, 0x0000, 0xff81, 0x3f80, 0xffc10000},
    {0x7f7fffff, 0x7f00, 0x7f00, 0x0000, 0x0000, 0x7f800000}, /* overflow */
};

static void test_vectors(void **state)
{
    const struct bf16_kernels *k;
    (void)state;
    for (int i = 0; (k = form_at(&i)) != NULL;)
        for (size_t n = 0; n < sizeof vectors / sizeof *vectors; n++) {
            const struct vector *v = &vectors[n];
            const float a[2] = {half_float_of((uint32_t)v->a0 << 16),
                                half_float_of((uint32_t)v->a1 << 16)};
            uint32_t b[LANES] = {(uint32_t)v->b1 << 16 | v->b0}, bits;
            float c = half_float_of(v->c);
            k->gemm(&(struct bf16_block){.rows = 1,
                                         .columns = 1,
                                         .depth = 2,
                                         .a = a,
                                         .a_row = 2,
                                         .a_step = 1,
                                         .b = b,
                                         .b_panel = LANES,
                                         .c = &c,
                                         .c_row = 1,
                                         .c_panel = LANES,
                                         .add = true});
            memcpy(&bits, &c, sizeof bits);
            if (bits != v->result)
                fail_msg("%s: vector %zu gives %08x, not %08x", k->name, n, bits, v->result);
            c = oracle_bf16_step(v->a0, v->b0, oracle_bf16_step(v->a1, v->b1, half_float_of(v->c)));
            assert_memory_equal(&c, &v->result, sizeof c);
        }
}

/* Floats around halfway between bf16 numbers, and of every exponent. */
static void test_rounding(void **state)
{
    static const uint32_t low[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    (void)state;
    for (uint32_t high = 0; high < 0x10000; high++)
        for (size_t i = 0; i < sizeof low / sizeof *low; i++) {
            float x = half_float_of(high << 16 | low[i]);
            if (bf16_round(x) != oracle_bf16(x))
                fail_msg("%08x: %04x", high << 16 | low[i], bf16_round(x));
        }
}

/* ---- many steps ---- */

struct steps {
    float a[BF16_ROWS * 2], b[2 * LANES], start[BF16_ROWS * LANES], want[BF16_ROWS * LANES];
    uint32_t packed[LANES];
};

static void check_steps(const struct steps *s, const struct bf16_kernels *k)
{
    float c[BF16_ROWS * LANES];
    memcpy(c, s->start, sizeof c);
    k->gemm(&(struct bf16_block){.rows = BF16_ROWS,
                                 .columns = LANES,
                                 .depth = 2,
                                 .a = s->a,
                                 .a_row = 2,
                                 .a_step = 1,
                                 .b = s->packed,
                                 .b_panel = LANES,
                                 .c = c,
                                 .c_row = LANES,
                                 .c_panel = LANES,
                                 .add = true});
    for (int i = 0; i < BF16_ROWS * LANES; i++)
        if (memcmp(c + i, s->want + i, sizeof *c) != 0)
            fail_msg("%s: %a + %a * %a + %a * %a gives %a, not %a", k->name, (double)s->start[i],
                     (double)s->a[i / LANES * 2 + 1], (double)s->b[LANES + i % LANES],
                     (double)s->a[i / LANES * 2], (double)s->b[i % LANES], (double)c[i],
                     (double)s->want[i]);
}

static long long steps_wanted = 1000000;

static void test_steps(void **state)
{
    static struct steps s;
    const struct bf16_kernels *k;
    (void)state;
    for (uint64_t key = 1; (long long)key * BF16_ROWS * LANES * 2 < steps_wanted; key++) {
        for (size_t i = 0; i < BF16_ROWS * 2; i++) s.a[i] = any_float(4 * key, i);
        for (size_t i = 0; i < 2 * LANES; i++) s.b[i] = any_float(4 * key, 1000 + i);
        for (size_t i = 0; i < BF16_ROWS * LANES; i++) s.start[i] = any_float(4 * key, 2000 + i);
        for (int i = 0; i < BF16_ROWS * LANES; i++)
            s.want[i] =
                oracle_bf16_chain(2, s.a + i / LANES * 2, 1, s.b + i % LANES, LANES, s.start[i]);
        for (int i = 0; (k = form_at(&i)) != NULL;) {
            k->pack(s.b, LANES, LANES, 2, s.packed);
            check_steps(&s, k);
        }
    }
}

/* ---- products of every shape ---- */

static void test_shapes(void **state)
{
    static struct product p;
    const struct bf16_kernels *k;
    for (int i = 0; i < SHAPES; i++) {
        const struct shape s = shape_at(i);
        draw_product(*state, &s, BF16_STEPS, &p);
        for (int form = 0; (k = form_at(&form)) != NULL;) check_product(*state, &p, k);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors), cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_steps), cmocka_unit_test_setup_teardown(test_shapes, make, drop)};
    if (argc > 1 && strcmp(argv[1], "all") == 0) steps_wanted = 100000000;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
