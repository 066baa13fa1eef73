/* kernel_tiles.c - the kernels that work on tiles, at sizes that fit into the nearest cache:
   products, packing, and a block of attention, 56 queries by 128 keys of width 32. */
#include "kernel.h"

#include "bench.h"
#include "kernel/flash.h"

enum { COLUMNS = 2 * LANES, DEPTH = 128, SQUARE = 4 * LANES, WIDTH = 32, SIDE = SQUARE * SQUARE };

struct tile_data {
    float *a, *b, *c; /* of products and of packing */
    float *keys, *values, *key_rows, *q, *out, *lse, *workspace;
    float *q_slots, *dout_slots, *weights, *dscores, *dq, *dk, *dv;
    unsigned char non_finite[ATTEND_BLOCK / LANES];
    struct attend_row row[ATTEND_ROWS];
};

struct tile_data *tile_data_make(void)
{
    struct tile_data *d = bench_alloc(sizeof *d);
    size_t keys = ATTEND_BLOCK * WIDTH, rows = ATTEND_ROWS * WIDTH, slots = ATTEND_SLOTS * WIDTH;
    size_t cells = ATTEND_ROWS * ATTEND_BLOCK;
    *d = (struct tile_data){0};
    d->a = bench_floats(SIDE), d->b = bench_floats(SIDE), d->c = bench_floats(SIDE);
    d->keys = bench_floats(keys), d->values = bench_floats(keys), d->key_rows = bench_floats(keys);
    d->dk = bench_floats(keys), d->dv = bench_floats(keys);
    d->q = bench_floats(rows), d->out = bench_floats(rows), d->dq = bench_floats(rows);
    d->lse = bench_floats(ATTEND_ROWS);
    d->workspace = bench_floats(rapt__attend_workspace(WIDTH, WIDTH));
    d->q_slots = bench_floats(slots), d->dout_slots = bench_floats(slots);
    d->weights = bench_floats(cells), d->dscores = bench_floats(cells);
    for (int r = 0; r < ATTEND_ROWS; r++)
        d->row[r] = (struct attend_row){
            .q = d->q + r * WIDTH, .out = d->out + r * WIDTH, .high = ATTEND_BLOCK};
    return d;
}

void tile_data_free(struct tile_data *d)
{
    float *all[] = {d->a,         d->b,       d->c,          d->keys,    d->values, d->key_rows,
                    d->dk,        d->dv,      d->q,          d->out,     d->dq,     d->lse,
                    d->workspace, d->q_slots, d->dout_slots, d->weights, d->dscores};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) bench_free(all[i]);
    bench_free(d);
}

/* ---- products ---- */

static void multiply(const struct kernels *k, struct tile_data *d, int rows, int columns)
{
    const struct gemm_block p = {.rows = rows,
                                 .columns = columns,
                                 .depth = DEPTH,
                                 .a = d->a,
                                 .a_row = DEPTH,
                                 .a_step = 1,
                                 .b = d->b,
                                 .b_panel = DEPTH * LANES,
                                 .b_step = LANES,
                                 .c = d->c,
                                 .c_row = columns,
                                 .c_panel = LANES};
    k->gemm(&p);
}

static void cost_product(double rows, double columns, double *reads, double *writes,
                         double *operations)
{
    *reads = (rows + columns) * DEPTH, *writes = rows * columns;
    *operations = 2 * rows * columns * DEPTH;
}

static void run_tile(const struct kernels *k, struct tile_data *d)
{
    multiply(k, d, k->tile_rows, COLUMNS);
}
static void cost_tile(const struct kernels *k, double *reads, double *writes, double *operations)
{
    cost_product(k->tile_rows, COLUMNS, reads, writes, operations);
}

static void run_row(const struct kernels *k, struct tile_data *d)
{
    multiply(k, d, 1, COLUMNS);
}
static void cost_row(const struct kernels *k, double *reads, double *writes, double *operations)
{
    (void)k;
    cost_product(1, COLUMNS, reads, writes, operations);
}

/* ---- packing: a square of 64 x 64 floats ---- */

static void run_transpose_panels(const struct kernels *k, struct tile_data *d)
{
    k->transpose_panels(d->a, SQUARE, 0, SQUARE, 0, SQUARE / LANES, d->c);
}
static void run_pack_rows(const struct kernels *k, struct tile_data *d)
{
    k->pack_rows(d->a, SQUARE, SQUARE, SQUARE, 0, SQUARE / LANES, d->c);
}
static void run_pack_columns(const struct kernels *k, struct tile_data *d)
{
    k->pack_columns(d->a, SQUARE, SQUARE, SQUARE, 0.5f, 0, SQUARE / LANES, d->c);
}
static void run_pad_rows(const struct kernels *k, struct tile_data *d)
{
    k->pad_rows(d->a, SQUARE, SQUARE, SQUARE - 1, d->c);
}
static void cost_packing(const struct kernels *k, double *reads, double *writes, double *operations)
{
    (void)k;
    *reads = *writes = SIDE, *operations = 0;
}

/* ---- attention ---- */

static void run_attend(const struct kernels *k, struct tile_data *d)
{
    const struct attend_keys keys = {.keys = d->keys,
                                     .values = d->values,
                                     .non_finite = d->non_finite,
                                     .key_width = WIDTH,
                                     .value_width = WIDTH};
    const struct attend a = {.keys = &keys,
                             .row = d->row,
                             .rows = ATTEND_ROWS,
                             .scale = 0.2f,
                             .workspace = d->workspace};
    k->attend(&a);
}
static void cost_attend(const struct kernels *k, double *reads, double *writes, double *operations)
{
    (void)k;
    *reads = (ATTEND_ROWS + 2 * ATTEND_BLOCK) * WIDTH, *writes = ATTEND_ROWS * WIDTH;
    *operations = 4.0 * ATTEND_ROWS * ATTEND_BLOCK * WIDTH;
}

/* All of a block's steps but packing. Its gradients grow, which costs no time. */
static void run_attend_backward(const struct kernels *k, struct tile_data *d)
{
    const struct attend_block block = {
        .row = d->row, .rows = ATTEND_ROWS, .keys = ATTEND_BLOCK, .key_width = WIDTH};
    const struct attend_weights weights = {.q_slots = d->q_slots,
                                           .key_panels = d->keys,
                                           .lse = d->lse,
                                           .scale = 0.2f,
                                           .weights = d->weights};
    const struct attend_dkv dkv = {.value_width = WIDTH,
                                   .dout_slots = d->dout_slots,
                                   .value_panels = d->values,
                                   .q_rows = d->q,
                                   .dout_rows = d->out,
                                   .delta = d->lse,
                                   .dscores = d->dscores,
                                   .dk = d->dk,
                                   .dv = d->dv};
    const struct attend_dq dq = {d->key_rows, d->dscores, d->dq};
    k->attend_dkv(&block, &weights, &dkv);
    k->attend_dq(&block, &dq);
}
static void cost_attend_backward(const struct kernels *k, double *reads, double *writes,
                                 double *operations)
{
    (void)k;
    *reads = (3.0 * ATTEND_ROWS + 5 * ATTEND_BLOCK) * WIDTH;
    *writes = (ATTEND_ROWS + 2 * ATTEND_BLOCK) * WIDTH;
    *operations = 10.0 * ATTEND_ROWS * ATTEND_BLOCK * WIDTH;
}

const struct tile_case tile_cases[] = {
    {"product", run_tile, cost_tile},
    {"product_row", run_row, cost_row},
    {"transpose_panels", run_transpose_panels, cost_packing},
    {"pack_rows", run_pack_rows, cost_packing},
    {"pack_columns", run_pack_columns, cost_packing},
    {"pad_rows", run_pad_rows, cost_packing},
    {"attend", run_attend, cost_attend},
    {"attend_backward", run_attend_backward, cost_attend_backward},
};
const int tile_case_count = sizeof tile_cases / sizeof *tile_cases;
