/* peak.c - benchmark of the machine's ceilings, the denominators of all other figures:

     peak          fused multiply-adds in registers
     peak_int8     products of bytes in registers
     product       the library's product on a tile that stays in the L1 cache
     memory_read   a sum over an array far larger than the caches
     memory_add    y += x over such arrays: two reads, one write */
#include "bench.h"
#include "kernel/kernel.h"

struct job {
    int threads, count; /* number of repetitions */
    const struct kernels *kernels;
    float *a, *b, *c; /* operands of the product, a part for each thread; b and c also serve as y
                         and x of y += x */
    size_t size;      /* floats in b and in c, or in a thread's part of them */
    int rows, columns, depth;
    int team; /* actual size, which may be less than threads */
};

/* Prints a line for a peak in 10^9 operations per second. */
static void report_peak(struct bench *b, const char *name, double peak, int threads)
{
    const double operations = 1e9;
    double seconds = operations / peak * 1e-9;
    json_t *shape = json_pack("{s:I}", "operations", (json_int_t)operations);
    bench_line(b, &(struct result){.name = name,
                                   .shape = shape,
                                   .threads = threads,
                                   .time = bench_summary(&seconds, 1),
                                   .operations = operations});
}

static void multiply_cached(struct team *team, void *argument)
{
    struct job *j = argument;
    size_t c_size = (size_t)j->rows * (size_t)j->columns;
    struct gemm_block g = {.rows = j->rows,
                           .columns = j->columns,
                           .depth = j->depth,
                           .a = j->a,
                           .a_row = j->depth,
                           .a_step = 1,
                           .b = j->b,
                           .b_panel = (ptrdiff_t)j->depth * LANES,
                           .b_step = LANES,
                           .c = j->c + (size_t)team->rank * c_size,
                           .c_row = j->columns,
                           .c_panel = LANES};
    if (team->rank == 0) j->team = team->size;
    for (int i = 0; i < j->count; i++) j->kernels->gemm(&g);
}

static void add(struct team *team, void *argument)
{
    struct job *j = argument;
    size_t begin, end;
    rapt__team_share(team, j->size, 1024, &begin, &end);
    for (int i = 0; i < j->count; i++) {
        j->kernels->add(j->c + begin, j->b + begin, end - begin);
        rapt__team_barrier(team);
    }
}

static void run_product(void *argument, int count)
{
    struct job *j = argument;
    j->count = count;
    rapt__team_run(j->threads, multiply_cached, j);
}

static void run_add(void *argument, int count)
{
    struct job *j = argument;
    j->count = count;
    rapt__team_run(j->threads, add, j);
}

static void report_product(struct bench *b, int threads)
{
    if (!bench_wants(b, "product", "product")) return;
    const struct kernels *k = rapt__kernels();
    struct job j = {.threads = threads, .kernels = k, .columns = 2 * LANES, .depth = 256};
    j.rows = 2 * k->tile_rows;
    j.a = bench_floats((size_t)j.rows * (size_t)j.depth);
    j.b = bench_floats((size_t)j.columns * (size_t)j.depth);
    j.c = bench_floats((size_t)threads * (size_t)j.rows * (size_t)j.columns);
    json_t *shape = json_pack("{s:i, s:i, s:i}", "M", j.rows, "N", j.columns, "K", j.depth);
    struct timing time = bench_time(b, run_product, &j);
    bench_line(b, &(struct result){.name = "product",
                                   .shape = shape,
                                   .threads = threads,
                                   .time = time,
                                   .operations = 2.0 * j.rows * j.columns * j.depth * j.team});
    bench_free(j.a);
    bench_free(j.b);
    bench_free(j.c);
}

/* Prints a line for work that takes `adds` additions and moves `bytes` bytes. */
static void report_memory(struct bench *b, const char *name, int threads, size_t size,
                          struct timing time, double adds, double bytes)
{
    json_t *shape = json_pack("{s:I}", "bytes", (json_int_t)size);
    json_t *more = json_pack("{s:f}", "gbytes_per_second", bytes / time.fastest * 1e-9);
    bench_line(b, &(struct result){.name = name,
                                   .shape = shape,
                                   .threads = threads,
                                   .time = time,
                                   .operations = adds,
                                   .more = more});
}

static void report_read(struct bench *b, int threads, size_t bytes)
{
    if (!bench_wants(b, "memory_read", "memory")) return;
    double seconds = (double)bytes / bench_bandwidth(threads, bytes) * 1e-9;
    struct timing time = bench_summary(&seconds, 1);
    report_memory(b, "memory_read", threads, bytes, time, (double)(bytes / sizeof(float)),
                  (double)bytes);
}

static void report_add(struct bench *b, int threads, size_t bytes)
{
    if (!bench_wants(b, "memory_add", "memory")) return;
    struct job j = {.threads = threads, .kernels = rapt__kernels(), .size = bytes / sizeof(float)};
    j.b = bench_floats(j.size);
    j.c = bench_floats(j.size);
    struct timing time = bench_time(b, run_add, &j);
    report_memory(b, "memory_add", threads, bytes, time, (double)j.size, 3.0 * (double)bytes);
    bench_free(j.b);
    bench_free(j.c);
}

int main(int argc, char **argv)
{
    struct bench b;
    int code = bench_begin(&b, argc, argv, "Measures the ceilings of the machine.",
                           "peak, peak_int8, product, memory_read, memory_add, memory");
    if (code != BENCH_GO_ON) return code;
    for (int i = 0; i < b.thread_counts; i++) {
        size_t bytes = (size_t)(b.check ? 1 : b.quick ? 128 : 256) << 20;
        int threads = b.threads[i];
        if (bench_wants(&b, "peak", "peak")) report_peak(&b, "peak", bench_peak(threads), threads);
        if (bench_wants(&b, "peak_int8", "peak"))
            report_peak(&b, "peak_int8", bench_int8_peak(threads), threads);
        report_product(&b, b.threads[i]);
        report_read(&b, b.threads[i], bytes);
        report_add(&b, b.threads[i], bytes);
    }
    return bench_end(&b);
}
