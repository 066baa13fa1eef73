/* kernel_tiles.c - the tile kernels of perf_kernel, at sizes that stay in the L1 and L2 caches:
   products, packing, and a block of attention, 56 queries by 128 keys of width 32. */
#include "kernel.h"

#include "bench.h"
#include "kernel/flash.h"

enum { COLUMNS = 2 * LANES, DEPTH = 128, SQUARE = 4 * LANES, WIDTH = 32, SIDE = SQUARE * SQUARE };

struct tile_data {
    float *a, *b, *c; /* for products and packing */
    uint16_t *halves; /* a in 16 bits */
    float *keys, *values, *key_rows, *q, *out, *statistics, *workspace;
    float *head_workspace, *q_slots, *dout_slots, *weights, *dscores, *dq, *dk, *dv;
    unsigned char non_finite[ATTEND_BLOCK / LANES];
    struct attend_row row[ATTEND_ROWS];
};

struct tile_data *tile_data_make(void)
{
    struct tile_data *d = bench_alloc(sizeof *d);
    size_t keys = ATTEND_BLOCK * WIDTH, rows = ATTEND_ROWS * WIDTH, slots = ATTEND_SLOTS * WIDTH;
    size_t cells = HEAD_GRADIENTS * ATTEND_BLOCK;
    *d = (struct tile_data){0};
    d->a = bench_floats(SIDE), d->b = bench_floats(SIDE), d->c = bench_floats(SIDE);
    d->halves = bench_alloc(SIDE * sizeof *d->halves);
    for (int i = 0; i < SIDE; i++) d->halves[i] = half_round(HALF_F16, d->a[i]);
    d->keys = bench_floats(keys), d->values = bench_floats(keys), d->key_rows = bench_floats(keys);
    d->dk = bench_floats(keys), d->dv = bench_floats(keys);
    d->q = bench_floats(rows), d->out = bench_floats(rows), d->dq = bench_floats(rows);
    d->statistics = bench_floats(STATISTICS * ATTEND_ROWS);
    d->workspace = bench_floats(rapt__attend_workspace(WIDTH, WIDTH));
    d->head_workspace = bench_floats(HEAD_QUERIES * WIDTH);
    d->q_slots = bench_floats(slots), d->dout_slots = bench_floats(slots);
    d->weights = bench_floats(cells), d->dscores = bench_floats(cells);
    for (int r = 0; r < ATTEND_ROWS; r++)
        d->row[r] = (struct attend_row){
            .q = d->q + r * WIDTH, .out = d->out + r * WIDTH, .high = ATTEND_BLOCK};
    return d;
}

void tile_data_free(struct tile_data *d)
{
    float *all[] = {d->a,         d->b,
                    d->c,         d->keys,
                    d->values,    d->key_rows,
                    d->dk,        d->dv,
                    d->q,         d->out,
                    d->dq,        d->statistics,
                    d->workspace, d->head_workspace,
                    d->q_slots,   d->dout_slots,
                    d->weights,   d->dscores};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) bench_free(all[i]);
    bench_free(d->halves);
    bench_free(d);
}

/* ---- products ---- */

/* Multiplies with 16-bit weights from `half`, or with floats if it is NULL. */
static void multiply_tiles(const struct kernels *k, struct tile_data *d, const uint16_t *half,
                           int rows, int columns)
{
    const struct gemm_block p = {.rows = rows,
                                 .columns = columns,
                                 .depth = DEPTH,
                                 .a = d->a,
                                 .a_row = DEPTH,
                                 .a_step = 1,
                                 .b = d->b,
                                 .half = half,
                                 .type = HALF_F16,
                                 .b_panel = DEPTH * LANES,
                                 .b_step = LANES,
                                 .c = d->c,
                                 .c_row = columns,
                                 .c_panel = LANES};
    k->gemm(&p);
}

static void cost_gemm(double rows, double columns, double *reads, double *writes,
                      double *operations)
{
    *reads = (rows + columns) * DEPTH, *writes = rows * columns;
    *operations = 2 * rows * columns * DEPTH;
}

static void run_tile(const struct kernels *k, struct tile_data *d)
{
    multiply_tiles(k, d, NULL, k->tile_rows, COLUMNS);
}
static void cost_tile(const struct kernels *k, double *reads, double *writes, double *operations)
{
    cost_gemm(k->tile_rows, COLUMNS, reads, writes, operations);
}

static void run_half(const struct kernels *k, struct tile_data *d)
{
    multiply_tiles(k, d, d->halves, k->tile_rows, COLUMNS);
}
static void cost_half(const struct kernels *k, double *reads, double *writes, double *operations)
{
    cost_tile(k, reads, writes, operations);
    *reads -= COLUMNS * DEPTH / 2.0;
}

static void run_row(const struct kernels *k, struct tile_data *d)
{
    multiply_tiles(k, d, NULL, 1, COLUMNS);
}
static void cost_row(const struct kernels *k, double *reads, double *writes, double *operations)
{
    (void)k;
    cost_gemm(1, COLUMNS, reads, writes, operations);
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
static void run_pack_tiles(const struct kernels *k, struct tile_data *d)
{
    const struct gemm_block p = {
        .rows = SQUARE, .depth = SQUARE, .a = d->a, .a_row = 1, .a_step = SQUARE};
    k->pack_tiles(&p, d->c);
}
static void run_pad_rows(const struct kernels *k, struct tile_data *d)
{
    k->pad_rows(d->a, SQUARE, SQUARE, SQUARE - 1, d->c);
}
static void run_round_bf16(const struct kernels *k, struct tile_data *d)
{
    k->round_bf16(d->a, SIDE, (uint16_t *)d->c);
}
static void run_widen_bf16(const struct kernels *k, struct tile_data *d)
{
    k->widen_bf16((const uint16_t *)d->a, SIDE, d->c);
}
static void cost_round_bf16(const struct kernels *k, double *reads, double *writes,
                            double *operations)
{
    (void)k;
    *reads = SIDE, *writes = SIDE / 2.0, *operations = 0;
}
static void cost_widen_bf16(const struct kernels *k, double *reads, double *writes,
                            double *operations)
{
    (void)k;
    *reads = SIDE / 2.0, *writes = SIDE, *operations = 0;
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

/* Describes a forward pass of one head that reads its keys in place. */
static struct attend_head head_of(const struct tile_data *d)
{
    return (struct attend_head){.q = d->q,
                                .k = d->key_rows,
                                .v = d->values,
                                .q_row = WIDTH,
                                .k_row = WIDTH,
                                .v_row = WIDTH,
                                .out_row = WIDTH,
                                .queries = ATTEND_ROWS,
                                .keys = ATTEND_BLOCK,
                                .key_width = WIDTH,
                                .value_width = WIDTH,
                                .scale = 0.2f,
                                .out = d->out,
                                .workspace = d->head_workspace};
}
static void run_attend_head(const struct kernels *k, struct tile_data *d)
{
    const struct attend_head head = head_of(d);
    k->attend_head(&head);
}
static void run_attend_head_backward(const struct kernels *k, struct tile_data *d)
{
    struct attend_head head = head_of(d);
    const struct attend_head_gradients gradients = {.dout = d->out,
                                                    .dq = d->dq,
                                                    .dk = d->dk,
                                                    .dv = d->dv,
                                                    .dk_row = WIDTH,
                                                    .dv_row = WIDTH,
                                                    .q_panels = d->q_slots,
                                                    .dout_panels = d->dout_slots,
                                                    .weights = d->weights,
                                                    .dscores = d->dscores};
    head.statistics = d->statistics;
    k->attend_head_backward(&head, &gradients);
}
static void cost_attend_head_backward(const struct kernels *k, double *reads, double *writes,
                                      double *operations)
{
    (void)k;
    *reads = (3.0 * ATTEND_ROWS + 4 * ATTEND_BLOCK) * WIDTH;
    *writes = (ATTEND_ROWS + 2.0 * ATTEND_BLOCK) * WIDTH;
    *operations = 10.0 * ATTEND_ROWS * ATTEND_BLOCK * WIDTH;
}

/* Describes a block of the backward pass. Gradients grow from call to call, which costs no time. */
static struct attend_block block_of(const struct tile_data *d)
{
    return (struct attend_block){
        .row = d->row, .rows = ATTEND_ROWS, .keys = ATTEND_BLOCK, .key_width = WIDTH};
}
static struct attend_weights weights_of(const struct tile_data *d)
{
    return (struct attend_weights){.q_slots = d->q_slots,
                                   .key_panels = d->keys,
                                   .statistics = d->statistics,
                                   .scale = 0.2f,
                                   .weights = d->weights};
}

static void run_attend_pack(const struct kernels *k, struct tile_data *d)
{
    k->attend_pack(d->q, ATTEND_ROWS, WIDTH, 1, d->q_slots);
}
static void cost_attend_pack(const struct kernels *k, double *reads, double *writes,
                             double *operations)
{
    (void)k;
    *reads = *writes = ATTEND_ROWS * WIDTH, *operations = 0;
}

static void run_attend_delta(const struct kernels *k, struct tile_data *d)
{
    k->attend_delta(d->dout_slots, d->out, WIDTH, ATTEND_ROWS, WIDTH, d->statistics);
}
static void cost_attend_delta(const struct kernels *k, double *reads, double *writes,
                              double *operations)
{
    (void)k;
    *reads = 2 * ATTEND_ROWS * WIDTH, *writes = ATTEND_ROWS;
    *operations = 2.0 * ATTEND_ROWS * WIDTH;
}

static void run_attend_weights(const struct kernels *k, struct tile_data *d)
{
    const struct attend_block block = block_of(d);
    const struct attend_weights weights = weights_of(d);
    k->attend_weights(&block, &weights);
}
static void cost_attend_weights(const struct kernels *k, double *reads, double *writes,
                                double *operations)
{
    (void)k;
    *reads = (ATTEND_ROWS + ATTEND_BLOCK) * WIDTH, *writes = ATTEND_ROWS * ATTEND_BLOCK;
    *operations = 2.0 * ATTEND_ROWS * ATTEND_BLOCK * WIDTH;
}

static void run_attend_dkv(const struct kernels *k, struct tile_data *d)
{
    const struct attend_block block = block_of(d);
    const struct attend_weights weights = weights_of(d);
    const struct attend_dkv dkv = {.value_width = WIDTH,
                                   .dout_slots = d->dout_slots,
                                   .value_panels = d->values,
                                   .q_rows = d->q,
                                   .dout_rows = d->out,
                                   .delta = d->statistics,
                                   .dscores = d->dscores,
                                   .dk = d->dk,
                                   .dv = d->dv};
    k->attend_dkv(&block, &weights, &dkv);
}
static void cost_attend_dkv(const struct kernels *k, double *reads, double *writes,
                            double *operations)
{
    (void)k;
    *reads = (4.0 * ATTEND_ROWS + 4 * ATTEND_BLOCK) * WIDTH;
    *writes = 2.0 * ATTEND_BLOCK * WIDTH + 2 * ATTEND_ROWS * ATTEND_BLOCK;
    *operations = 8.0 * ATTEND_ROWS * ATTEND_BLOCK * WIDTH;
}

static void run_attend_dq(const struct kernels *k, struct tile_data *d)
{
    const struct attend_block block = block_of(d);
    const struct attend_dq dq = {d->key_rows, d->dscores, d->dq};
    k->attend_dq(&block, &dq);
}
static void cost_attend_dq(const struct kernels *k, double *reads, double *writes,
                           double *operations)
{
    (void)k;
    *reads = (ATTEND_ROWS + ATTEND_BLOCK) * WIDTH + ATTEND_ROWS * ATTEND_BLOCK;
    *writes = ATTEND_ROWS * WIDTH;
    *operations = 2.0 * ATTEND_ROWS * ATTEND_BLOCK * WIDTH;
}

const struct tile_case tile_cases[] = {
    {"gemm", run_tile, cost_tile},
    {"gemm_row", run_row, cost_row},
    {"gemm_half", run_half, cost_half},
    {"transpose_panels", run_transpose_panels, cost_packing},
    {"pack_rows", run_pack_rows, cost_packing},
    {"pack_columns", run_pack_columns, cost_packing},
    {"pack_tiles", run_pack_tiles, cost_packing},
    {"pad_rows", run_pad_rows, cost_packing},
    {"round_bf16", run_round_bf16, cost_round_bf16},
    {"widen_bf16", run_widen_bf16, cost_widen_bf16},
    {"attend", run_attend, cost_attend},
    {"attend_head", run_attend_head, cost_attend},
    {"attend_head_backward", run_attend_head_backward, cost_attend_head_backward},
    {"attend_pack", run_attend_pack, cost_attend_pack},
    {"attend_delta", run_attend_delta, cost_attend_delta},
    {"attend_weights", run_attend_weights, cost_attend_weights},
    {"attend_dkv", run_attend_dkv, cost_attend_dkv},
    {"attend_dq", run_attend_dq, cost_attend_dq},
};
const int tile_case_count = sizeof tile_cases / sizeof *tile_cases;
