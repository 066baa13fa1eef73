/* kernel.c - benchmark of every kernel of the table, for every instruction set of this machine, on
   one thread with rows and tiles that stay in the L1 and L2 caches. The row kernels come from the
   list that the tests use.

   Three ceilings are measured in the same process for the same instruction set: fused multiply-adds
   in registers, bytes read and bytes written per second. of_ceiling is the time that the slowest of
   them allows divided by the measured time, and `bound` names that ceiling. Divisions, shuffles and
   integer operations are not counted, so of_ceiling is a lower bound if they dominate. If SLEEF has
   the same function, of_sleef is its time divided by that of the kernel. */
#include "kernel.h"

#include "bench.h"
#include "kernel/cases.h"

#include <string.h>

/* Outputs that are also read get their initial values again after FRESH calls, before they become
   denormal, 0 or infinite. */
enum { FRESH = 32, LONG_ROW = 1024, SHORT_ROW = 512, MAX_FLOATS = CASE_ROWS * SHORT_ROW };

struct job {
    const struct kernels *kernels;
    const struct kernel_case *rows; /* NULL for a tile kernel */
    const struct tile_case *tile;
    const struct sleef_row *sleef; /* in addition to rows, or NULL */
    int n;                         /* length of rows */
    struct case_data data;
    struct tile_data *tiles;
    float *fresh;
};

struct cost {
    double reads, writes, operations; /* of one call; reads and writes in bytes */
};

/* The functions of SLEEF per instruction set, if the build has them. */
#ifdef PERF_SLEEF
static const struct sleef_row *const sleef_sets[] = {
    [RAPT_ISA_AVX2] = sleef_rows_avx2, [RAPT_ISA_AVX512] = sleef_rows_avx512};
#else
static const struct sleef_row *const sleef_sets[RAPT_ISA_AVX512 + 1] = {NULL};
#endif

/* Returns SLEEF's counterpart of a row kernel, or NULL. */
static const struct sleef_row *find_sleef(rapt_isa isa, const char *name)
{
    const struct sleef_row *rows = sleef_sets[isa];
    for (int i = 0; rows && i < SLEEF_ROWS; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

static void refresh(struct job *j)
{
    for (int i = 0; i < j->rows->outs; i++)
        memcpy(j->data.out[i], j->fresh, (size_t)j->n * sizeof(float));
}

static void run_rows(void *argument, int count)
{
    struct job *j = argument;
    for (int i = 0; i < count; i++) {
        if (j->rows->reads > (float)j->rows->ins && i % FRESH == 0) refresh(j);
        j->rows->run(j->kernels, j->n, &j->data);
    }
    refresh(j);
}

static void run_sleef(void *argument, int count)
{
    struct job *j = argument;
    for (int i = 0; i < count; i++) {
        if (i % FRESH == 0) refresh(j);
        j->sleef->run(j->data.out[0], j->n);
    }
    refresh(j);
}

static void run_tile(void *argument, int count)
{
    struct job *j = argument;
    for (int i = 0; i < count; i++) j->tile->run(j->kernels, j->tiles);
}

static struct cost cost_of(const struct job *j)
{
    struct cost c;
    if (j->tile)
        j->tile->cost(j->kernels, &c.reads, &c.writes, &c.operations);
    else
        c = (struct cost){(double)j->rows->reads * j->n, (double)j->rows->writes * j->n,
                          (double)j->rows->operations * j->n};
    c.reads *= sizeof(float), c.writes *= sizeof(float);
    return c;
}

/* Returns the minimum time in 10^-9 seconds that the ceilings allow, and the limiting one. */
static double min_time(const struct cost *c, const struct near *near, const char **bound)
{
    const double times[] = {c->operations / near->peak, c->reads / near->read,
                            c->writes / near->write};
    static const char *const names[] = {"compute", "read", "write"};
    int worst = 0;
    for (int i = 1; i < 3; i++)
        if (times[i] > times[worst]) worst = i;
    *bound = names[worst];
    return times[worst];
}

static void report(struct bench *b, const struct job *j, const struct near *near,
                   struct timing time, struct timing sleef)
{
    struct cost c = cost_of(j);
    const char *bound;
    double min = min_time(&c, near, &bound);
    json_t *shape = j->rows ? json_pack("{s:i}", "n", j->n) : json_object();
    json_t *more = json_pack("{s:s, s:f, s:s, s:f, s:f}", "isa", j->kernels->name, "of_ceiling",
                             min * 1e-9 / time.fastest, "bound", bound, "cycles",
                             time.fastest * near->clock * 1e9, "gbytes_per_second",
                             (c.reads + c.writes) / time.fastest * 1e-9);
    if (j->rows)
        json_object_set_new(more, "cycles_per_16",
                            json_real(time.fastest * near->clock * 1e9 / j->n * LANES));
    if (j->sleef) json_object_set_new(more, "of_sleef", json_real(sleef.fastest / time.fastest));
    bench_line(b, &(struct result){.name = j->rows ? j->rows->name : j->tile->name,
                                   .shape = shape,
                                   .threads = 1,
                                   .time = time,
                                   .operations = c.operations,
                                   .peak = near->peak,
                                   .more = more});
}

static void measure_isa(struct bench *b, struct job *j)
{
    struct near near = {0};
    for (int i = 0; i < KERNEL_CASES + tile_case_count; i++) {
        j->rows = i < KERNEL_CASES ? &kernel_cases[i] : NULL;
        j->tile = i < KERNEL_CASES ? NULL : &tile_cases[i - KERNEL_CASES];
        if (!bench_wants(b, j->rows ? j->rows->name : j->tile->name, j->kernels->name)) continue;
        if (!(near.peak > 0)) near = bench_near(j->kernels->isa);
        if (j->rows) j->n = j->rows->rows > 1 ? SHORT_ROW : LONG_ROW;
        if (j->rows) refresh(j);
        struct timing time = bench_time(b, j->rows ? run_rows : run_tile, j), sleef = time;
        j->sleef = j->rows ? find_sleef(j->kernels->isa, j->rows->name) : NULL;
        if (j->sleef) sleef = bench_time(b, run_sleef, j);
        report(b, j, &near, time, sleef);
    }
}

int main(int argc, char **argv)
{
    struct bench b;
    struct job j = {0};
    int code =
        bench_begin(&b, argc, argv,
                    "Measures every kernel of every instruction set (--quick: the one in use),\n"
                    "single-threaded, with rows and tiles that stay in the L1 and L2 caches.",
                    "a kernel, or an instruction set such as avx2");
    if (code != BENCH_GO_ON) return code;
    b.enough = 0.3; /* because there are many kernels */
    for (int i = 0; i < CASE_INS; i++) j.data.in[i] = bench_floats(MAX_FLOATS);
    for (int i = 0; i < CASE_OUTS; i++) j.data.out[i] = bench_floats(MAX_FLOATS);
    j.fresh = bench_floats(MAX_FLOATS);
    for (int i = 0; i < MAX_FLOATS; i++) j.fresh[i] = (j.fresh[i] + 1) / 2;
    j.tiles = tile_data_make();
    for (int isa = 0; rapt_isa_name((rapt_isa)isa); isa++) {
        bool wanted = !b.quick || b.check || b.only || (rapt_isa)isa == rapt_isa_used();
        j.kernels = rapt__kernels_of((rapt_isa)isa);
        if (wanted && j.kernels) measure_isa(&b, &j);
    }
    for (int i = 0; i < CASE_INS; i++) bench_free((void *)j.data.in[i]);
    for (int i = 0; i < CASE_OUTS; i++) bench_free(j.data.out[i]);
    bench_free(j.fresh);
    tile_data_free(j.tiles);
    return bench_end(&b);
}
