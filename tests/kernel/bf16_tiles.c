/* bf16_tiles.c - products of bf16 numbers with sums of the kind BF16_TILES: equal to their
   definition, bit for bit, in every form, for numbers of every kind. The forms are emulations with
   vectors, the kernel for tiles compiled with an emulation of the instructions, and the same kernel
   with AMX where this machine has it. It uses tiles as the processor allows, releases them, and
   cannot be had before the process has asked the system for tiles.

     bf16_tiles       a million random products of each form
     bf16_tiles all   10^8 products of each form: ctest -C full */
#include "kernel/bf16_trial.h"
#include "kernel/tiles_state.h"
#include "skips.h"
#include "tiles.h"

bool tiles_configured;
long tiles_faults;
unsigned long tiles_products;

#ifdef RAPT_TESTS_TILES
extern const struct bf16_kernels rapt__bf16_tiles_scalar, rapt__bf16_tiles_avx512;

static const struct bf16_kernels *const emulated_tiles[RAPT_ISA_AVX512 + 1] = {
    [RAPT_ISA_SCALAR] = &rapt__bf16_tiles_scalar,
    [RAPT_ISA_AVX512] = &rapt__bf16_tiles_avx512,
};
#else
static const struct bf16_kernels *const emulated_tiles[RAPT_ISA_AVX512 + 1];
#endif

/* The kernel that uses AMX, after the test has asked for tiles and if this machine has them. */
static const struct bf16_kernels *by_processor;

/* Iterates over the forms of this machine: for (int i = 0; (k = form_at(&i)) != NULL;) */
static const struct bf16_kernels *form_at(int *form)
{
    enum { ISAS = RAPT_ISA_AVX512 + 1 };
    while (*form <= 2 * ISAS) {
        const int i = (*form)++;
        const struct bf16_kernels *k = i < ISAS ? rapt__bf16_emulation((rapt_isa)i, BF16_TILES)
                                       : i == 2 * ISAS ? by_processor
                                       : rapt__processor_has((rapt_isa)(i - ISAS))
                                           ? emulated_tiles[i - ISAS]
                                           : NULL;
        if (k) return k;
    }
    return NULL;
}

/* Checks that the products since `before` used tiles if the form emulates them, and as the
   processor allows. */
static void check_tiles(const struct bf16_kernels *k, unsigned long before)
{
    bool expected = k->form == BF16_AMX && k != by_processor;
    if ((tiles_products != before) != expected) fail_msg("%s: tiles used: %d", k->name, !expected);
    if (tiles_faults || tiles_configured)
        fail_msg("%s: %ld faults, released: %d", k->name, tiles_faults, !tiles_configured);
    assert_int_equal(k->sums, BF16_TILES);
}

/* ---- single sums, computed by hand ---- */

enum { TERMS = 3, SUM_DEPTH = 34 };

struct vector {
    const char *what;
    uint32_t start, result;
    int depth;
    struct {
        int k;
        uint16_t a, b;
    } terms[TERMS]; /* the others are zero */
};

/* 3f80 is 1, 3380 is 2^-24, 2000 is 2^-63, 2060 and 2020 are 1.75 and 1.25 times as much, 1f80 is
   2^-64, 1980 is 2^-76, 1a00 and 1a40 are 2 and 3 times as much, and 0080 is 2^-126. */
static const struct vector vectors[] = {
    {"one slice", 0x3f800000, 0x3f800001, 34, {{0, 0x3380, 0x3f80}, {30, 0x3380, 0x3f80}}},
    {"two slices", 0x3f800000, 0x3f800000, 34, {{0, 0x3380, 0x3f80}, {32, 0x3380, 0x3f80}}},
    {"even first", 0, 0, 32, {{0, 0x3f80, 0x3f80}, {2, 0x3380, 0x3f80}, {30, 0xbf80, 0x3f80}}},
    {"odd", 0, 0x33800000, 32, {{1, 0x3f80, 0x3f80}, {3, 0xbf80, 0x3f80}, {31, 0x3380, 0x3f80}}},
    {"apart", 0, 0x33800000, 4, {{0, 0x3f80, 0x3f80}, {1, 0x3380, 0x3f80}, {2, 0xbf80, 0x3f80}}},
    {"rounded slice", 0xbf800000, 0, 32, {{0, 0x3f80, 0x3f80}, {1, 0x3380, 0x3f80}}},
    {"tiny terms", 0x00800000, 0x00800000, 32, {{0, 0x1f80, 0x2000}, {2, 0x1f80, 0x2000}}},
    {"tiny slice", 0x01000000, 0x01000000, 32, {{0, 0x2060, 0x2000}, {1, 0xa020, 0x2000}}},
    {"nearly tiny", 0, 0x00800000, 32, {{0, 0x2000, 0x2000}, {2, 0x9980, 0x1a00}}},
    {"just tiny", 0, 0, 32, {{0, 0x2000, 0x2000}, {2, 0x9980, 0x1a40}}},
    {"tiny result", 0x00c00000, 0, 32, {{0, 0xa000, 0x2000}}},
    {"-0", 0x80000000, 0x80000000, 32, {{30, 0x9f80, 0x2000}, {31, 0x9f80, 0x2000}}},
    {"-0, padded", 0x80000000, 0, 30, {{28, 0x9f80, 0x2000}, {29, 0x9f80, 0x2000}}},
    {"tiny -0", 0x80000000, 0x80000000, 32, {{30, 0x8080, 0x0080}, {31, 0x8080, 0x0080}}},
    {"tiny -0, padded", 0x80000000, 0, 30, {{28, 0x8080, 0x0080}, {29, 0x8080, 0x0080}}},
    {"-0, odd padded", 0x80000000, 0, 31, {{30, 0x9f80, 0x2000}, {29, 0x9f80, 0x2000}}},
    {"denormal start", 0x80000001, 0, 32, {{0, 0x0000, 0x3f80}}},
    {"NaN start", 0x7fc00001, 0xffc00000, 32, {{0, 0x3f80, 0x3f80}}},
    {"NaN factor", 0, 0xffc00000, 32, {{5, 0x7fc5, 0x3f80}}},
    {"infinity times zero", 0, 0xffc00000, 1, {{0, 0x7f80, 0x0000}}},
    {"two infinities", 0, 0xffc00000, 2, {{0, 0x7f80, 0x3f80}, {1, 0xff80, 0x3f80}}},
    {"infinity", 0xff7fffff, 0x7f800000, 2, {{0, 0x7f80, 0x3f80}, {1, 0xff7f, 0x3f80}}},
    {"overflow", 0xff7fffff, 0x7f800000, 32, {{0, 0x7f00, 0x3f80}, {1, 0x7f00, 0x3f80}}},
};

static void check_vector(const struct vector *v, const struct bf16_kernels *k)
{
    float a[SUM_DEPTH] = {0}, x[SUM_DEPTH] = {0}, c = half_float_of(v->start), by_oracle;
    uint32_t b[SUM_DEPTH / 2 * LANES], bits;
    for (int i = 0; i < TERMS; i++) {
        const int at = v->terms[i].k;
        if (!v->terms[i].b && !v->terms[i].a) continue; /* the others are not set */
        a[at] = half_float_of((uint32_t)v->terms[i].a << 16);
        x[at] = half_float_of((uint32_t)v->terms[i].b << 16);
    }
    by_oracle = oracle_bf16_tiles(v->depth, a, 1, x, 1, c);
    if (half_bits_of(by_oracle) != v->result)
        fail_msg("oracle: %s: %08x, not %08x", v->what, half_bits_of(by_oracle), v->result);
    k->pack(x, 1, 1, v->depth, b);
    k->gemm(&(struct bf16_block){.rows = 1,
                                 .columns = 1,
                                 .depth = v->depth,
                                 .a = a,
                                 .a_row = v->depth,
                                 .a_step = 1,
                                 .b = b,
                                 .b_panel = (ptrdiff_t)rapt__ceil_div(v->depth, 2) * LANES,
                                 .c = &c,
                                 .c_row = 1,
                                 .c_panel = LANES,
                                 .add = true});
    memcpy(&bits, &c, sizeof bits);
    if (bits != v->result) fail_msg("%s: %s: %08x, not %08x", k->name, v->what, bits, v->result);
}

static void test_vectors(void **state)
{
    const struct bf16_kernels *k;
    (void)state;
    for (int i = 0; (k = form_at(&i)) != NULL;)
        for (size_t n = 0; n < sizeof vectors / sizeof *vectors; n++) check_vector(&vectors[n], k);
}

/* ---- many sums ---- */

struct sums {
    int depth;
    float a[BF16_ROWS * MAX_DEPTH], b[MAX_DEPTH * LANES];
    float start[BF16_ROWS * LANES], want[BF16_ROWS * LANES];
    uint32_t packed[(MAX_DEPTH + 1) / 2 * LANES];
};

/* Draws numbers of each kind. Sums of numbers of any kind are short, since long ones are NaN. */
static void draw_sums(struct sums *s, uint64_t key)
{
    const enum numbers numbers = (enum numbers)(key % NUMBERS);
    const bool wild = numbers == SPECIAL || numbers == ANY;
    s->depth = 1 + (int)(uniform(key, 0) * (wild ? 4 : MAX_DEPTH));
    fill_with(numbers, s->a, (size_t)(BF16_ROWS * s->depth), 100 * key);
    fill_with(numbers, s->b, (size_t)(s->depth * LANES), 100 * key + 1);
    fill_starts(numbers, s->start, BF16_ROWS * LANES, 100 * key + 2);
    for (int i = 0; i < BF16_ROWS * LANES; i++)
        s->want[i] = oracle_bf16_tiles(s->depth, s->a + i / LANES * s->depth, 1, s->b + i % LANES,
                                       LANES, s->start[i]);
}

static void check_sums(struct sums *s, const struct bf16_kernels *k)
{
    float c[BF16_ROWS * LANES];
    k->pack(s->b, LANES, LANES, s->depth, s->packed);
    memcpy(c, s->start, sizeof c);
    k->gemm(&(struct bf16_block){.rows = BF16_ROWS,
                                 .columns = LANES,
                                 .depth = s->depth,
                                 .a = s->a,
                                 .a_row = s->depth,
                                 .a_step = 1,
                                 .b = s->packed,
                                 .b_panel = (ptrdiff_t)rapt__ceil_div(s->depth, 2) * LANES,
                                 .c = c,
                                 .c_row = LANES,
                                 .c_panel = LANES,
                                 .add = true});
    for (int i = 0; i < BF16_ROWS * LANES; i++)
        if (memcmp(c + i, s->want + i, sizeof *c) != 0)
            fail_msg("%s: depth %d, element %d: %a, not %a", k->name, s->depth, i, (double)c[i],
                     (double)s->want[i]);
}

static long long products_wanted = 1000000;

static void test_sums(void **state)
{
    static struct sums s;
    const struct bf16_kernels *k;
    long long products = 0;
    (void)state;
    for (uint64_t key = 1; products < products_wanted; key++) {
        draw_sums(&s, key);
        products += (long long)BF16_ROWS * LANES * s.depth;
        for (int i = 0; (k = form_at(&i)) != NULL;) check_sums(&s, k);
    }
}

/* ---- shapes ---- */

static void check_shape(const struct matrices *m, const struct shape *s)
{
    static struct product p;
    const struct bf16_kernels *k;
    draw_product(m, s, BF16_TILES, &p);
    for (int i = 0; (k = form_at(&i)) != NULL;) {
        const unsigned long before = tiles_products;
        check_product(m, &p, k);
        check_tiles(k, before);
    }
}

static void test_shapes(void **state)
{
    for (int i = 0; i < SHAPES; i++) {
        const struct shape s = shape_at(i);
        check_shape(*state, &s);
    }
}

/* The largest products, for both strides of a. */
static void test_largest(void **state)
{
    for (int i = 0; i < 4; i++)
        check_shape(*state, &(struct shape){.rows = BF16_ROWS,
                                            .columns = MAX_COLUMNS,
                                            .depth = BF16_DEPTH - i % 2,
                                            .across = i / 2 == 1,
                                            .bias = true});
}

/* ---- the processor ---- */

/* A program starts without permission, even if the one that started it had it. */
static void none_without_asking(void **state)
{
    (void)state;
    assert_false(rapt__processor_tiles_bf16());
    if (!emulated_tiles[RAPT_ISA_AVX512] || !rapt__processor_has(RAPT_ISA_AVX512))
        skipped("kernel/bf16_tiles", emulated_tiles[RAPT_ISA_SCALAR]
                                         ? "emulated tiles with AVX-512, which is missing"
                                         : "tiles exist on x86-64 only");
}

#ifdef RAPT_HAVE_AMXBF16
static const bool compiled = true;
#else
static const bool compiled = false;
#endif

/* Asks for tiles. The choice is made, and cached, only afterwards. */
static void tiles_of_the_processor(void **state)
{
    const bool given = ask_for_tiles(), has = given && rapt__processor_tiles_bf16();
    const rapt_isa isa = rapt_isa_used();
    const bool works = has && compiled && isa == RAPT_ISA_AVX512;
    const struct bf16_kernels *k = rapt__bf16_kernels(isa, BF16_TILES);
    (void)state;
    assert_int_equal(k->form, works ? BF16_AMX : BF16_EMULATED);
    assert_int_equal(k->sums, BF16_TILES);
    assert_ptr_equal(rapt__bf16_kernels(isa, BF16_TILES), k);
    if (works)
        by_processor = k;
    else
        skipped("kernel/bf16_tiles, with AMX", !has     ? "the processor has none for bf16"
                                               : !given ? "Linux does not give tiles"
                                                        : "the compiler has none");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            none_without_asking), /* the first, and tiles_of_the_processor the second */
        cmocka_unit_test(tiles_of_the_processor),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_sums),
        cmocka_unit_test_setup_teardown(test_shapes, make, drop),
        cmocka_unit_test_setup_teardown(test_largest, make, drop),
    };
    if (argc > 1 && strcmp(argv[1], "all") == 0) products_wanted = 100000000;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
