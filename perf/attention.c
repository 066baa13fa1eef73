/* attention.c - benchmark of attention over arrays, of one query per sequence over a key/value
   cache, and of sparse attention.

   Operations: two products forward, 4 B H T S K; five backward, 10 B H T S K (scores and the
   gradient of the weights, then those of values, queries and keys). Causal problems count half. */
#include "attention/attention.h"
#include "bench.h"

#include <rapt/attention.h>
#include <stdlib.h>
#include <string.h>

enum pass { FORWARD, BACKWARD, CACHED, CACHED_BF16 };

struct problem {
    enum pass pass;
    int B, H, T, S, K;
    bool causal;
    int when;
};

/* SLOW: skipped by --quick. SCALING: run by perf_scaling. RAGGED: skipped by --quick; laid out as
   in a Transformer, with the heads of a row side by side and sequences given by their starts. */
enum { ALWAYS, SLOW, SCALING, RAGGED };

/* 64 sequences of 4 heads: a training step of short sentences. */
static const struct problem problems[] = {
    {FORWARD, 1, 8, 128, 128, 64, false, ALWAYS},
    {FORWARD, 1, 8, 512, 512, 64, false, SCALING},
    {FORWARD, 1, 8, 1024, 1024, 64, false, ALWAYS},
    {FORWARD, 1, 8, 4096, 4096, 64, false, ALWAYS},
    {FORWARD, 1, 8, 512, 512, 128, false, SLOW},
    {FORWARD, 1, 8, 1024, 1024, 128, false, ALWAYS},
    {FORWARD, 1, 8, 1024, 1024, 32, false, ALWAYS},
    {FORWARD, 1, 8, 512, 512, 64, true, SLOW},
    {FORWARD, 1, 8, 1024, 1024, 64, true, ALWAYS},
    {FORWARD, 1, 8, 4096, 4096, 64, true, SLOW},
    {FORWARD, 64, 4, 32, 32, 32, false, ALWAYS},
    {FORWARD, 1, 1, 4096, 4096, 64, false, SCALING},
    {FORWARD, 1, 1, 1792, 16384, 64, false, SLOW},
    {FORWARD, 1, 1, 1792, 131072, 64, false, SLOW},
    {BACKWARD, 1, 8, 128, 128, 64, false, SLOW},
    {BACKWARD, 1, 8, 512, 512, 64, false, SCALING},
    {BACKWARD, 1, 8, 1024, 1024, 64, false, ALWAYS},
    {BACKWARD, 1, 8, 1024, 1024, 128, false, SLOW},
    {BACKWARD, 1, 8, 1024, 1024, 32, false, SLOW},
    {BACKWARD, 1, 8, 1024, 1024, 64, true, ALWAYS},
    {BACKWARD, 1, 8, 4096, 4096, 64, false, SLOW},
    {BACKWARD, 1, 8, 4096, 4096, 64, true, SLOW},
    {BACKWARD, 1, 1, 4096, 4096, 64, false, SCALING},
    {BACKWARD, 64, 4, 32, 32, 32, false, ALWAYS},
    {BACKWARD, 1, 1, 32768, 32768, 64, false, SLOW},
    {FORWARD, 64, 4, 16, 16, 32, false, RAGGED},
    {FORWARD, 64, 4, 16, 16, 64, false, RAGGED},
    {FORWARD, 64, 4, 20, 20, 64, false, RAGGED},
    {FORWARD, 64, 4, 32, 32, 32, false, RAGGED},
    {FORWARD, 64, 4, 32, 32, 64, false, RAGGED},
    {FORWARD, 64, 4, 32, 32, 64, true, RAGGED},
    {FORWARD, 64, 4, 64, 64, 32, false, RAGGED},
    {FORWARD, 64, 4, 64, 64, 64, false, RAGGED},
    {BACKWARD, 64, 4, 16, 16, 32, false, RAGGED},
    {BACKWARD, 64, 4, 16, 16, 64, false, RAGGED},
    {BACKWARD, 64, 4, 20, 20, 64, false, RAGGED},
    {BACKWARD, 64, 4, 32, 32, 32, false, RAGGED},
    {BACKWARD, 64, 4, 32, 32, 64, false, RAGGED},
    {BACKWARD, 64, 4, 32, 32, 64, true, RAGGED},
    {BACKWARD, 64, 4, 64, 64, 32, false, RAGGED},
    {BACKWARD, 64, 4, 64, 64, 64, false, RAGGED},
    {FORWARD, 1, 8, 1, 512, 64, false, SLOW},
    {FORWARD, 1, 8, 1, 4096, 64, false, SLOW},
    {FORWARD, 1, 8, 8, 512, 64, false, SLOW},
    {FORWARD, 1, 8, 8, 4096, 64, false, SLOW},
    {CACHED, 1, 8, 1, 128, 64, false, SLOW},
    {CACHED, 1, 8, 1, 512, 64, false, SLOW},
    {CACHED, 1, 8, 1, 1024, 64, false, ALWAYS},
    {CACHED, 1, 8, 1, 4096, 64, false, SLOW},
    {CACHED, 1, 8, 1, 1024, 32, false, SLOW},
    {CACHED, 1, 8, 1, 1024, 128, false, SLOW},
    {CACHED, 1, 1, 1, 4096, 64, false, SLOW},
    {CACHED, 16, 8, 1, 512, 64, false, ALWAYS},
    {CACHED_BF16, 1, 8, 1, 1024, 64, false, SLOW},
    {CACHED_BF16, 1, 8, 1, 4096, 64, false, SLOW},
    {CACHED_BF16, 16, 8, 1, 512, 64, false, SLOW},
};

struct job {
    rapt_attention a;
    float *q, *k, *v, *out, *statistics, *dout, *dq, *dk, *dv;
    void *workspace;
};

static void check_attention(rapt_status status, const char *what)
{
    if (status) bench_fail(what);
}

static void run_forward(void *argument, int count)
{
    struct job *j = argument;
    const rapt_attention_saved saved = {.size = sizeof saved, .statistics = j->statistics};
    for (int i = 0; i < count; i++)
        check_attention(
            rapt_attention_forward(&j->a, j->q, j->k, j->v, j->out, &saved, j->workspace, NULL),
            "rapt_attention_forward");
}

static void run_backward(void *argument, int count)
{
    struct job *j = argument;
    const rapt_attention_saved saved = {.size = sizeof saved, .statistics = j->statistics};
    for (int i = 0; i < count; i++)
        check_attention(rapt_attention_backward(
                            &j->a, j->q, j->k, j->v, j->out, &saved, j->dout, NULL,
                            &(rapt_gradients){
                                .size = sizeof(rapt_gradients), .q = j->dq, .k = j->dk, .v = j->dv},
                            j->workspace, NULL),
                        "rapt_attention_backward");
}

static void report(struct bench *b, const struct problem *p, int threads, struct timing time)
{
    double products = p->pass == BACKWARD ? 5 : 2, cells = (double)p->T * p->S;
    json_t *shape = json_pack("{s:i, s:i, s:i, s:i, s:i, s:b}", "B", p->B, "H", p->H, "T", p->T,
                              "S", p->S, "K", p->K, "causal", p->causal);
    bench_line(b, &(struct result){
                      .name = p->pass == BACKWARD ? "attention_backward" : "attention_forward",
                      .shape = shape,
                      .threads = threads,
                      .time = time,
                      .operations = 2 * products * p->B * p->H * cells * p->K / (p->causal ? 2 : 1),
                      .more = p->pass == CACHED ? json_pack("{s:b}", "cached", 1)
                              : p->pass == CACHED_BF16
                                  ? json_pack("{s:b, s:b}", "cached", 1, "bf16", 1)
                              : p->when == RAGGED ? json_pack("{s:b}", "ragged", 1)
                                                  : NULL});
}

static void measure_arrays(struct bench *b, const struct problem *p, int threads)
{
    struct job j = {0};
    int *starts = bench_alloc(2 * ((size_t)p->B + 1) * sizeof *starts),
        *key_starts = starts + p->B + 1;
    for (int i = 0; i <= p->B; i++) starts[i] = i * p->T, key_starts[i] = i * p->S;
    if (p->when == RAGGED)
        rapt_attention_init_ragged(&j.a, sizeof j.a, p->B, p->H, starts, key_starts, p->K);
    else
        rapt_attention_init(&j.a, sizeof j.a, p->B, p->H, p->T, p->S, p->K);
    size_t rows = (size_t)p->B * (size_t)p->H * (size_t)p->T, width = (size_t)p->K;
    size_t queries = rows * width, keys = (size_t)p->B * (size_t)p->H * (size_t)p->S * width;
    float **arrays[] = {&j.q, &j.out, &j.dout, &j.dq, &j.k, &j.v, &j.dk, &j.dv};
    j.a.threads = threads;
    j.a.mask.causal = p->causal;
    if (p->causal) j.a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    for (int i = 0; i < 8; i++) *arrays[i] = bench_floats(i < 4 ? queries : keys);
    j.statistics = bench_floats(2 * rows);
    j.workspace = bench_alloc(rapt_attention_workspace(&j.a));
    run_forward(&j, 1); /* backward needs its results */
    report(b, p, threads, bench_time(b, p->pass == FORWARD ? run_forward : run_backward, &j));
    for (int i = 0; i < 8; i++) bench_free(*arrays[i]);
    bench_free(j.statistics);
    bench_free(j.workspace);
    bench_free(starts);
}

struct cached_job {
    struct cache cache;
    struct cached_queries queries;
    const float *k, *v;
    const int *key_starts;
    ptrdiff_t row;
    int threads, count;
    void *workspace;
};

static void fill(struct team *team, void *argument)
{
    struct cached_job *j = argument;
    rapt__cache_append(team, &j->cache, j->key_starts, j->k, j->row, j->v, j->row);
}

static void attend(struct team *team, void *argument)
{
    struct cached_job *j = argument;
    for (int i = 0; i < j->count; i++)
        rapt__cache_attend(team, &j->cache, &j->queries, j->workspace);
}

static void run_cached(void *argument, int count)
{
    struct cached_job *j = argument;
    j->count = count;
    rapt__team_run(j->threads, attend, j);
}

static void measure_cached(struct bench *b, const struct problem *p, int threads)
{
    int width = p->H * p->K, *capacity = bench_alloc((size_t)p->B * sizeof *capacity);
    int *starts = bench_alloc(((size_t)p->B + 1) * sizeof *starts);
    int *key_starts = bench_alloc(((size_t)p->B + 1) * sizeof *key_starts);
    size_t keys = (size_t)p->B * (size_t)p->S * (size_t)width;
    float *q = bench_floats((size_t)p->B * (size_t)p->T * (size_t)width), *k = bench_floats(keys);
    float *out = bench_floats((size_t)p->B * (size_t)p->T * (size_t)width), *v = bench_floats(keys);
    const size_t panels = (size_t)p->B * rapt__ceil_div_size((size_t)p->S, 16);
    const struct cache cache = {.sequences = p->B,
                                .key_heads = p->H,
                                .key_width = p->K,
                                .value_width = p->K,
                                .form.bf16 = p->pass == CACHED_BF16};
    struct arena arena = {0};
    struct cached_job j = {.k = k, .v = v, .row = width, .key_starts = key_starts};
    for (int i = 0; i <= p->B; i++) starts[i] = i * p->T, key_starts[i] = i * p->S;
    for (int i = 0; i < p->B; i++) capacity[i] = p->S;
    rapt__cache_layout(&j.cache, &cache, panels, &arena);
    check_attention(rapt__arena_reserve(&arena, NULL), "out of memory");
    rapt__cache_layout(&j.cache, &cache, panels, &arena);
    rapt__cache_start(&j.cache, capacity);
    j.threads = threads;
    const rapt_attention spec = {.size = sizeof spec,
                                 .heads = p->H,
                                 .key_width = p->K,
                                 .value_width = p->K,
                                 .threads = threads};
    j.workspace = bench_alloc(rapt__cache_workspace(&spec, p->S, cache.form));
    j.queries = (struct cached_queries){.spec = &spec,
                                        .count = p->B,
                                        .starts = starts,
                                        .q = q,
                                        .q_row = width,
                                        .out = out,
                                        .out_row = width};
    rapt__team_run(threads, fill, &j);
    report(b, p, threads, bench_time(b, run_cached, &j));
    rapt__arena_free(&arena, NULL);
    void *memory[] = {capacity, starts, key_starts, q, k, out, v, j.workspace};
    for (int i = 0; i < 8; i++) bench_free(memory[i]);
}

/* ---- sparse attention: windows, global positions and blocks. Each line has the share of pairs of
   a query and a key that are visible, and of_dense, the speed per visible pair relative to
   attention to all keys in the same run: 1 means that time is proportional to the number of visible
   pairs. ---- */

enum { SPARSE_HEADS = 1, SPARSE_WIDTH = 64, SPARSE_BLOCK = 128 };

struct pattern {
    const char *name;
    int rows; /* number of queries and of keys */
    float radius;
    int globals;
    int one_in; /* one in `one_in` blocks of SPARSE_BLOCK queries and keys is visible; 0: none */
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

static void sparse_forward(void *argument, int count)
{
    struct sparse_job *j = argument;
    for (int i = 0; i < count; i++)
        if (rapt_attention_forward(j->now, j->q, j->k, j->v, j->out, &j->saved, j->workspace, NULL))
            bench_fail("rapt_attention_forward");
}

static void sparse_backward(void *argument, int count)
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
    int side = (rows + SPARSE_BLOCK - 1) / SPARSE_BLOCK;
    for (int t = 0; t < rows; t++)
        for (int s = 0; s < rows; s++) {
            bool near = p->radius > 0 && abs(t - s) <= (int)p->radius;
            bool global = t < p->globals || s < p->globals;
            count +=
                near || global || (blocks && blocks[t / SPARSE_BLOCK * side + s / SPARSE_BLOCK]);
        }
    return count / rows / rows;
}

static void report_sparse(struct bench *b, const struct pattern *p, const struct sparse_job *j,
                          bool backward, double visible)
{
    struct sparse_job job = *j;
    job.now = &job.a;
    if (backward) sparse_forward(&job, 1);
    struct timing time = bench_time(b, backward ? sparse_backward : sparse_forward, &job);
    job.now = &job.dense;
    if (backward) sparse_forward(&job, 1);
    struct timing dense = bench_time(b, backward ? sparse_backward : sparse_forward, &job);
    const rapt_attention *a = &j->a;
    double pairs = (double)a->heads * a->queries * a->keys * visible;
    bench_line(b,
               &(struct result){
                   .name = backward ? "attention_backward" : "attention_forward",
                   .shape = json_pack("{s:i, s:i, s:i, s:i, s:i, s:b}", "B", 1, "H", a->heads, "T",
                                      a->queries, "S", a->keys, "K", SPARSE_WIDTH, "causal", 0),
                   .threads = a->threads,
                   .time = time,
                   .operations = 2 * pairs * SPARSE_WIDTH * (backward ? 5 : 2),
                   .more = json_pack("{s:s, s:f, s:f}", "pattern", p->name, "visible", visible,
                                     "of_dense", dense.fastest * visible / time.fastest)});
}

static void measure_pattern(struct bench *b, const struct pattern *p, int threads)
{
    int rows = b->check ? 3 * SPARSE_BLOCK : p->rows,
        side = (rows + SPARSE_BLOCK - 1) / SPARSE_BLOCK;
    size_t size = (size_t)SPARSE_HEADS * (size_t)rows * SPARSE_WIDTH;
    struct sparse_job j = {.saved = {.size = sizeof j.saved}, .d = {.size = sizeof j.d}};
    float **arrays[] = {&j.q, &j.k, &j.v, &j.out, &j.dout, &j.d.q, &j.d.k, &j.d.v};
    for (int i = 0; i < 8; i++) *arrays[i] = bench_floats(size);
    j.saved.statistics = bench_floats(2 * (size_t)SPARSE_HEADS * (size_t)rows);
    rapt_attention_init(&j.a, sizeof j.a, 1, SPARSE_HEADS, rows, rows, SPARSE_WIDTH);
    j.a.threads = threads, j.a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    j.dense = j.a;
    uint8_t *blocks = p->one_in ? draw_blocks(side, p->one_in) : NULL;
    j.a.locality = RAPT_LOCALITY_SPARSE, j.a.radius = p->radius;
    j.a.sparse = (rapt_sparse){.global_count = p->globals,
                               .block_queries = SPARSE_BLOCK,
                               .block_keys = SPARSE_BLOCK,
                               .blocks = blocks,
                               .block_stride = {0, 0, side}};
    j.workspace = bench_alloc(rapt_attention_workspace(&j.a));
    double visible = visible_share(p, rows, blocks);
    report_sparse(b, p, &j, false, visible);
    report_sparse(b, p, &j, true, visible);
    for (int i = 0; i < 8; i++) bench_free(*arrays[i]);
    bench_free(j.saved.statistics);
    bench_free(j.workspace);
    if (blocks) bench_free(blocks);
}

static void measure_sparse(struct bench *b, int threads)
{
    if (b->quick && !b->check && !b->only) return;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (bench_wants(b, "patterns", "sparse")) measure_pattern(b, patterns + i, threads);
}

/* ---- the program ---- */

static bool wanted(struct bench *b, const struct problem *p)
{
    static const char *const passes[] = {"forward", "backward", "cached", "cached"};
    const char *name = p->pass == BACKWARD ? "attention_backward" : "attention_forward";
    if (b->only && p->when == SCALING && bench_wants(b, "scaling", "scaling")) return true;
    if (b->only && p->when == RAGGED && bench_wants(b, "ragged", "ragged")) return true;
    return !(b->quick && (p->when == SLOW || p->when == RAGGED)) &&
           bench_wants(b, name, passes[p->pass]);
}

/* Returns a tiny problem for --check. */
static struct problem shrunk(const struct problem *p)
{
    struct problem small = *p;
    int *const sizes[] = {&small.B, &small.H, &small.T, &small.S};
    static const int max[] = {2, 2, 40, 40};
    for (int i = 0; i < 4; i++)
        if (*sizes[i] > max[i]) *sizes[i] = max[i];
    return small;
}

int main(int argc, char **argv)
{
    struct bench b;
    int code = bench_begin(&b, argc, argv, "Measures attention, forward and backward.",
                           "attention_forward, attention_backward, forward, backward, cached, "
                           "ragged, scaling; linear; monotonic; patterns; kinds, or the name of a "
                           "score, locality or normalizer");
    if (code != BENCH_GO_ON) return code;
    for (int i = 0; i < b.thread_counts; i++) {
        for (size_t n = 0; n < sizeof problems / sizeof *problems; n++) {
            struct problem p = b.check ? shrunk(&problems[n]) : problems[n];
            if (!wanted(&b, &problems[n])) continue;
            if (p.pass >= CACHED)
                measure_cached(&b, &p, b.threads[i]);
            else
                measure_arrays(&b, &p, b.threads[i]);
        }
        measure_kinds(&b, b.threads[i]);
        measure_linear(&b, b.threads[i]);
        measure_monotonic(&b, b.threads[i]);
        if (!b.rows) measure_sparse(&b, b.threads[i]); /* patterns ignore --rows */
    }
    return bench_end(&b);
}
