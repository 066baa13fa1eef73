/* int8_tiles.c - products of 8-bit integers in tiles: the kernel, compiled with an emulation of the
   instructions, and with AMX where this machine has it, gives the bits of plain C for all numbers
   of rows. It uses tiles as the processor allows, releases them, reads and writes nothing else, and
   cannot be had before the process has asked the system for tiles. */
#include "kernel/int8_trial.h"
#include "kernel/tiles_state.h"
#include "skips.h"
#include "tiles.h"

bool tiles_configured;
long tiles_faults;
unsigned long tiles_products;

enum { FEW_ROWS = 4 }; /* these are multiplied without tiles */

#ifdef RAPT_TESTS_TILES
extern const struct int8_kernels rapt__int8_tiles_scalar, rapt__int8_tiles_avx512;

static const struct int8_kernels *const by_isa[RAPT_ISA_AVX512 + 1] = {
    [RAPT_ISA_SCALAR] = &rapt__int8_tiles_scalar,
#ifdef RAPT_HAVE_AVX512VNNI
    [RAPT_ISA_AVX512] = &rapt__int8_tiles_avx512,
#endif
};

/* Returns the kernel with emulated tiles and the vectors of this instruction set, or NULL. */
static const struct int8_kernels *emulated_with(rapt_isa isa)
{
    return isa == RAPT_ISA_SCALAR || rapt__processor_dots(isa) ? by_isa[isa] : NULL;
}
#else
static const struct int8_kernels *emulated_with(rapt_isa isa)
{
    (void)isa;
    return NULL;
}
#endif

/* Compares one product with that of plain C. */
static void check_product(const struct int8_kernels *k, const struct matrices *m,
                          const struct shape *s)
{
    static float want[MAX_ROWS * MAX_COLUMNS];
    struct int8_block b = set_up(m, s);
    const size_t size = (size_t)s->rows * (size_t)s->columns;
    fill(b.y, size, -2, 2, 6);
    multiply_by(rapt__int8_kernels_of(INT8_SCALAR), &b);
    memcpy(want, b.y, size * sizeof *want);
    fill(b.y, size, -2, 2, 6);
    multiply_by(k, &b);
    if (memcmp(b.y, want, size * sizeof *want) != 0)
        fail_msg("%s: %d x %d x %d differs", k->name, s->rows, s->columns, s->depth);
    fenced_check(&m->y, size, true);
}

/* Compares products of 1 to 70 rows, with and without bias, with what is added, and with extreme
   numbers. */
static void check_products(const struct int8_kernels *k, const struct matrices *m, bool emulated)
{
    static const int columns[] = {1, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64, 65, 72};
    static const int depths[] = {0,  1,   4,   5,   60,  63,  64,  65,
                                 66, 124, 127, 128, 130, 192, 257, MAX_DEPTH};
    enum { COLUMNS = sizeof columns / sizeof *columns, DEPTHS = sizeof depths / sizeof *depths };
    for (int i = 0; i < MAX_ROWS * COLUMNS; i++) {
        struct shape s = {i / COLUMNS + 1, columns[i % COLUMNS], depths[(i + i / DEPTHS) % DEPTHS],
                          i % 2,           i % 3 == 0,           i % 5 < 2};
        const unsigned long before = tiles_products;
        check_product(k, m, &s);
        if (!emulated) continue;
        const bool used = tiles_products != before;
        if (used != (s.rows > FEW_ROWS && s.depth > 0))
            fail_msg("%s: %d x %d x %d: tiles used: %d", k->name, s.rows, s.columns, s.depth, used);
        if (tiles_faults || tiles_configured)
            fail_msg("%s: %d x %d x %d: %ld faults, released: %d", k->name, s.rows, s.columns,
                     s.depth, tiles_faults, !tiles_configured);
    }
}

static void emulated_tiles(void **state)
{
    int forms = 0;
    for (int isa = 0; rapt_isa_name((rapt_isa)isa); isa++) {
        const struct int8_kernels *k = emulated_with((rapt_isa)isa);
        if (k) check_products(k, *state, true), forms++;
    }
    if (!emulated_with(RAPT_ISA_AVX512))
        skipped("kernel/int8_tiles", forms ? "emulated tiles with AVX-512, which is missing"
                                           : "tiles exist on x86-64 only");
}

/* The largest sum, 127^2 * 133,144, in five rows. */
static void check_deepest(const struct int8_kernels *k)
{
    enum { DEPTH = INT8_MAX_DEPTH, ROWS = FEW_ROWS + 1 };
    const size_t panel = rapt__int8_panel(DEPTH);
    int8_t *q = malloc((size_t)ROWS * DEPTH), *w = malloc(panel);
    float w_scale[LANES], q_scale[ROWS], y[ROWS * LANES];
    int32_t sum[ROWS];
    memset(w, -127, panel);
    for (int n = 0; n < LANES; n++) w_scale[n] = 1;
    for (int r = 0; r < ROWS; r++) {
        memset(q + (ptrdiff_t)r * DEPTH, r % 2 ? 127 : -127, DEPTH);
        q_scale[r] = 1, sum[r] = (r % 2 ? 127 : -127) * DEPTH;
    }
    const struct int8_block b = {.rows = ROWS,
                                 .columns = LANES,
                                 .depth = DEPTH,
                                 .q = q,
                                 .q_row = DEPTH,
                                 .q_scale = q_scale,
                                 .q_sum = sum,
                                 .w = w,
                                 .w_scale = w_scale,
                                 .y = y,
                                 .y_row = LANES};
    multiply_by(k, &b);
    for (int i = 0; i < ROWS * LANES; i++)
        if (y[i] != (i / LANES % 2 ? -2147479576.0f : 2147479576.0f))
            fail_msg("%s: %a", k->name, (double)y[i]);
    free(q);
    free(w);
}

static void emulated_deepest(void **state)
{
    (void)state;
    for (int isa = 0; rapt_isa_name((rapt_isa)isa); isa++)
        if (emulated_with((rapt_isa)isa)) check_deepest(emulated_with((rapt_isa)isa));
}

/* A program starts without permission, even if the one that started it had it. */
static void none_without_asking(void **state)
{
    (void)state;
    assert_false(rapt__processor_tiles());
    assert_null(rapt__int8_kernels_of(INT8_AMX));
}

/* Returns true if Linux lists this flag of the first processor. */
static bool listed(const char *flag)
{
    static char line[1 << 14];
    FILE *file = fopen("/proc/cpuinfo", "r");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file))
        found = strncmp(line, "flags", 5) == 0 && strstr(line, flag);
    if (file) fclose(file);
    return found;
}

#ifdef RAPT_HAVE_AMX
static const bool compiled = true;
#else
static const bool compiled = false;
#endif

static void tiles_of_the_processor(void **state)
{
    const bool has = listed(" amx_tile") && listed(" amx_int8") && listed(" avx512_vnni");
    const bool given = ask_for_tiles(), works = has && given && compiled;
    const struct int8_kernels *k = rapt__int8_kernels_of(INT8_AMX);
    if (works != (k != NULL))
        fail_msg("the processor has tiles: %d, Linux gives them: %d, compiled: %d, used: %d", has,
                 given, compiled, k != NULL);
    if (works) {
        check_products(k, *state, false);
        check_deepest(k);
    } else {
        skipped("kernel/int8_tiles, with AMX", !has     ? "the processor has none"
                                               : !given ? "Linux does not give tiles"
                                                        : "the compiler has none");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_without_asking),
        cmocka_unit_test_setup_teardown(emulated_tiles, make_matrices, drop_matrices),
        cmocka_unit_test(emulated_deepest),
        cmocka_unit_test_setup_teardown(tiles_of_the_processor, make_matrices, drop_matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
