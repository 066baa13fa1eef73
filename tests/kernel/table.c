/* table.c - the tables of kernels: which is used, and that all give the same bits. */
#include "kernel/trial.h"

#include "kernel/cases.h"

/* ---- choose: which instruction set is used, and switching to another one. ---- */

static void names_and_limits(void **state)
{
    (void)state;
    assert_string_equal(rapt_isa_name(RAPT_ISA_SCALAR), "scalar");
    assert_string_equal(rapt_isa_name(RAPT_ISA_AVX512), "avx512");
    assert_null(rapt_isa_name((rapt_isa)(RAPT_ISA_AVX512 + 1)));
    assert_null(rapt_isa_name((rapt_isa)-1));
    assert_null(rapt__kernels_of((rapt_isa)99));
    assert_int_equal(rapt_isa_use((rapt_isa)99), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_isa_use((rapt_isa)-1), RAPT_BAD_ARGUMENT);
}

static void the_best_is_used(void **state)
{
    const struct kernels *k, *last = NULL;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) last = k;
    assert_non_null(last); /* plain C is always available */
    assert_int_equal(rapt_isa_used(), last->isa);
    assert_ptr_equal(rapt__kernels(), last);
}

static void any_may_be_used(void **state)
{
    rapt_isa first = rapt_isa_used();

    (void)state;
    for (int isa = 0; rapt_isa_name((rapt_isa)isa) != NULL; isa++) {
        rapt_isa before = rapt_isa_used();
        const struct kernels *k = rapt__kernels_of((rapt_isa)isa);
        assert_int_equal(rapt_isa_use((rapt_isa)isa), k ? RAPT_OK : RAPT_BAD_ARGUMENT);
        assert_int_equal(rapt_isa_used(), k ? (rapt_isa)isa : before);
    }
    assert_int_equal(rapt_isa_use(first), RAPT_OK);
}

static void only_what_the_processor_has(void **state)
{
    (void)state;
    assert_true(rapt__processor_has(RAPT_ISA_SCALAR));
    assert_false(rapt__processor_has((rapt_isa)99));
    assert_false(rapt__processor_has(RAPT_ISA_NEON) && rapt__processor_has(RAPT_ISA_AVX2));
    assert_true(rapt__processor_has(RAPT_ISA_AVX2) || !rapt__processor_has(RAPT_ISA_AVX512));
}

/* ---- table: every kernel of every instruction set gives the bits of the exact table, reads and
   writes only its own floats, and does not change its input, at every length and for numbers that
   are finite or not. ---- */

enum { LONGEST = 4099, BUFFERS = CASE_INS + CASE_OUTS };

static const int lengths[] = {63,  64,  65,  66,  79,   80,   127,  128,  129,    130,
                              255, 500, 511, 512, 2047, 2048, 2049, 2112, LONGEST};

struct bench {
    struct fenced buffer[BUFFERS];
    float *start[BUFFERS]; /* initial content of the buffers */
    float *want[BUFFERS];  /* expected content afterwards */
};

static size_t buffer_floats(const struct kernel_case *c, int i, int n)
{
    return i < CASE_INS ? (size_t)c->rows * (size_t)n : (size_t)n;
}

static bool buffer_used(const struct kernel_case *c, int i)
{
    return i < CASE_INS ? i < c->ins : i - CASE_INS < c->outs;
}

static int make(void **state)
{
    struct bench *b = calloc(1, sizeof *b);
    size_t max = (size_t)CASE_ROWS * LONGEST;

    for (int i = 0; i < BUFFERS; i++) {
        b->buffer[i] = fenced_make(max);
        b->start[i] = calloc(max, sizeof(float));
        b->want[i] = calloc(max, sizeof(float));
    }
    *state = b;
    return 0;
}

static int drop(void **state)
{
    struct bench *b = *state;

    for (int i = 0; i < BUFFERS; i++) {
        fenced_free(&b->buffer[i]);
        free(b->start[i]);
        free(b->want[i]);
    }
    free(b);
    return 0;
}

static void prepare(struct bench *b, const struct kernel_case *c, int n, bool non_finite)
{
    for (int i = 0; i < BUFFERS; i++) {
        size_t floats = buffer_floats(c, i, n);
        fill(b->start[i], floats, i < CASE_INS ? -4 : 0, i < CASE_INS ? 4 : 1,
             (uint64_t)(i + 100 * n));
        if (non_finite) sprinkle(b->start[i], floats, (uint64_t)(i + 77 * n));
    }
}

/* Runs the kernel on the initial content, between fences or, without them, in `want`. */
static void run(struct bench *b, const struct kernel_case *c, const struct kernels *k, int n,
                const bool *at_end, struct case_data *d)
{
    memset(d, 0, sizeof *d);
    for (int i = 0; i < BUFFERS; i++) {
        size_t floats = buffer_floats(c, i, n);
        if (!buffer_used(c, i)) continue;
        float *x = at_end ? fenced_floats(&b->buffer[i], floats, *at_end) : b->want[i];
        memcpy(x, b->start[i], floats * sizeof *x);
        if (i < CASE_INS)
            d->in[i] = x;
        else
            d->out[i - CASE_INS] = x;
    }
    c->run(k, n, d);
}

/* Checks that only the outputs have changed and, if equal, that they are as expected. */
static void check(struct bench *b, const struct kernel_case *c, const struct kernels *k, int n,
                  bool at_end, bool equal)
{
    for (int i = 0; i < BUFFERS; i++) {
        size_t floats = buffer_floats(c, i, n);
        if (!buffer_used(c, i)) continue;
        const float *x = fenced_floats(&b->buffer[i], floats, at_end);
        const float *y = i < CASE_INS ? b->start[i] : b->want[i];
        if ((equal || i < CASE_INS) && !same_bits(x, y, floats))
            fail_msg("%s %s, n = %d: buffer %d differs", k->name, c->name, n, i);
        fenced_check(&b->buffer[i], floats, at_end);
    }
}

static void compare(struct bench *b, const struct kernel_case *c, int n, bool non_finite)
{
    const struct kernels *exact = exact_kernels(), *k;
    struct case_data want, got;

    if (n < c->min) return;
    prepare(b, c, n, non_finite);
    if (exact != NULL) run(b, c, exact, n, NULL, &want);
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        bool equal = exact != NULL && is_exact(k);
        for (int at_end = 0; at_end < 2; at_end++) {
            run(b, c, k, n, &(bool){at_end != 0}, &got);
            check(b, c, k, n, at_end != 0, equal);
            if (equal && (!same_bits(got.number, want.number, 4) ||
                          memcmp(got.index, want.index, sizeof got.index) != 0))
                fail_msg("%s %s, n = %d: the result differs", k->name, c->name, n);
        }
    }
}

static void compare_all(struct bench *b, bool non_finite)
{
    for (int i = 0; i < KERNEL_CASES; i++) {
        for (int n = 0; n <= 3 * LANES + 1; n++) compare(b, kernel_cases + i, n, non_finite);
        for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++)
            compare(b, kernel_cases + i, lengths[j], non_finite);
    }
}

static void ordinary_numbers(void **state)
{
    compare_all(*state, false);
}
static void odd_numbers(void **state)
{
    compare_all(*state, true);
}

static void names(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        assert_int_equal(k->isa, isa - 1);
        assert_string_equal(k->name, rapt_isa_name(k->isa));
        assert_in_range(k->tile_rows, 1, LANES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_is_used),
        cmocka_unit_test(names_and_limits),
        cmocka_unit_test(any_may_be_used),
        cmocka_unit_test(only_what_the_processor_has),
        cmocka_unit_test(names),
        cmocka_unit_test_setup_teardown(ordinary_numbers, make, drop),
        cmocka_unit_test_setup_teardown(odd_numbers, make, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
