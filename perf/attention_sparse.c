/* attention_sparse.c - benchmark of sparse attention: windows, global positions and blocks. Each
   line has the share of pairs of a query and a key that are visible, and of_dense, the speed per
   visible pair relative to attention to all keys in the same run: 1 means that time is proportional
   to the number of visible pairs. */
#include "bench.h"

#include <rapt/attention.h>
#include <stdlib.h>

enum { HEADS = 1, WIDTH = 64, BLOCK = 128 };

struct pattern {
    const char *name;
    int rows; /* number of queries and of keys */
    float radius;
    int globals, one_in; /* one in `one_in` blocks of BLOCK queries and keys is visible; 0: none */
};
static const struct pattern patterns[] = {
    {"window of 513", 4096, .radius = 256},
    {"window of 513", 16384, .radius = 256},
    {"window of 513 and 16 global", 4096, .radius = 256, .globals = 16},
    {"window of 513 and 16 global", 16384, .radius = 256, .globals = 16},
    {"half of the blocks", 4096, .one_in = 2},
    {"1/8 of the blocks", 4096, .one_in = 8},
    {"1/32 of the blocks", 16384, .one_in = 32},
};

struct sparse_job {
    rapt_attention a, dense;
    const rapt_attention *now;
    float *q, *k, *v, *out, *dout;
    rapt_attention_saved saved;
    rapt_gradients d;
    void *workspace;
};

static void run_forward(void *argument, int count)
{
    struct sparse_job *j = argument;
    for (int i = 0; i < count; i++)
        if (rapt_attention_forward(j->now, j->q, j->k, j->v, j->out, &j->saved, j->workspace, NULL))
            bench_fail("rapt_attention_forward");
}

static void run_backward(void *argument, int count)
{
    struct sparse_job *j = argument;
    for (int i = 0; i < count; i++)
        if (rapt_attention_backward(j->now, j->q, j->k, j->v, j->out, &j->saved, j->dout, NULL,
                                    &j->d, j->workspace, NULL))
            bench_fail("rapt_attention_backward");
}

/* Draws a map [side][side] of blocks. One in `one_in` is visible in each row. */
static uint8_t *draw_blocks(int side, int one_in)
{
    uint8_t *blocks = bench_alloc((size_t)side * (size_t)side);
    uint64_t random = 1;
    for (int i = 0; i < side * side; i++) blocks[i] = 0;
    for (int i = 0; i < side; i++)
        for (int n = 0; n * one_in < side;) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            uint8_t *block = blocks + i * side + (int)((random >> 33) % (unsigned)side);
            n += !*block;
            *block = 1;
        }
    return blocks;
}

/* Returns the share of visible pairs, counted by the definition of the pattern. */
static double visible_share(const struct pattern *p, int rows, const uint8_t *blocks)
{
    double count = 0;
    int side = (rows + BLOCK - 1) / BLOCK;
    for (int t = 0; t < rows; t++)
        for (int s = 0; s < rows; s++) {
            bool near = p->radius > 0 && abs(t - s) <= (int)p->radius;
            bool global = t < p->globals || s < p->globals;
            count += near || global || (blocks && blocks[t / BLOCK * side + s / BLOCK]);
        }
    return count / rows / rows;
}

static void report(struct bench *b, const struct pattern *p, const struct sparse_job *j,
                   bool backward, double visible)
{
    struct sparse_job job = *j;
    job.now = &job.a;
    if (backward) run_forward(&job, 1);
    struct timing time = bench_time(b, backward ? run_backward : run_forward, &job);
    job.now = &job.dense;
    if (backward) run_forward(&job, 1);
    struct timing dense = bench_time(b, backward ? run_backward : run_forward, &job);
    const rapt_attention *a = &j->a;
    double pairs = (double)a->heads * a->queries * a->keys * visible;
    bench_line(b, &(struct result){
                      .name = backward ? "attention_backward" : "attention_forward",
                      .shape = json_pack("{s:i, s:i, s:i, s:i, s:i, s:b}", "B", 1, "H", a->heads,
                                         "T", a->queries, "S", a->keys, "K", WIDTH, "causal", 0),
                      .threads = a->threads,
                      .time = time,
                      .operations = 2 * pairs * WIDTH * (backward ? 5 : 2),
                      .more = json_pack("{s:s, s:f, s:f}", "pattern", p->name, "visible", visible,
                                        "of_dense", dense.fastest * visible / time.fastest)});
}

static void measure_pattern(struct bench *b, const struct pattern *p, int threads)
{
    int rows = b->check ? 3 * BLOCK : p->rows, side = (rows + BLOCK - 1) / BLOCK;
    size_t size = (size_t)HEADS * (size_t)rows * WIDTH;
    struct sparse_job j = {.saved = {.size = sizeof j.saved}, .d = {.size = sizeof j.d}};
    float **arrays[] = {&j.q, &j.k, &j.v, &j.out, &j.dout, &j.d.q, &j.d.k, &j.d.v};
    for (int i = 0; i < 8; i++) *arrays[i] = bench_floats(size);
    j.saved.statistics = bench_floats(2 * (size_t)HEADS * (size_t)rows);
    rapt_attention_init(&j.a, sizeof j.a, 1, HEADS, rows, rows, WIDTH);
    j.a.threads = threads, j.a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    j.dense = j.a;
    uint8_t *blocks = p->one_in ? draw_blocks(side, p->one_in) : NULL;
    j.a.locality = RAPT_LOCALITY_SPARSE, j.a.radius = p->radius;
    j.a.sparse = (rapt_sparse){.global_count = p->globals,
                               .block_queries = BLOCK,
                               .block_keys = BLOCK,
                               .blocks = blocks,
                               .block_stride = {0, 0, side}};
    j.workspace = bench_alloc(rapt_attention_workspace(&j.a));
    double visible = visible_share(p, rows, blocks);
    report(b, p, &j, false, visible);
    report(b, p, &j, true, visible);
    for (int i = 0; i < 8; i++) bench_free(*arrays[i]);
    bench_free(j.saved.statistics);
    bench_free(j.workspace);
    if (blocks) bench_free(blocks);
}

void measure_sparse(struct bench *b, int threads)
{
    if (b->quick && !b->check && !b->only) return;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (bench_wants(b, "patterns", "sparse")) measure_pattern(b, patterns + i, threads);
}
