/* translate.c - benchmark of translation: encoding, then decoding to a fixed length.

   The weights are random, so the end token is suppressed: each translation has the maximum length;
   the tokens of the best hypothesis are counted. Operations: a weight of a product costs
   2 for each of its rows, attention 4 for each query, key and column; norms, softmax and the
   search are not counted.

   A step reads all weights of the decoder and of the output matrix, however few its rows, and
   together they are larger than any cache: memory_bound is the tokens per second if nothing but
   that, at gbytes_per_second, and one reading of the other weights took time. peak_rss_mb is the
   memory of the whole process while it translates, weights_mb that of the model in it. */
#include "bench.h"

#include <rapt/generate.h>

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

struct shape {
    const char *label;
    int beam, batch;
    float temperature; /* 0: greedy, or by beams */
};

static const struct shape shapes[] = {
    {"greedy", 1, 1, 0}, {"sampling", 1, 1, 1}, {"beam", 4, 16, 0}};

enum { LAYERS = 6, WIDTH = 512, HEADS = 8, HIDDEN = 2048, VOCAB = 32000 };
enum { SOURCE = 24, LENGTH = 32, END = 0, BEGIN = 1, READ_BYTES = 256 << 20 };

struct job {
    const struct shape *shape;
    rapt_session *session;
    rapt_tokens source;
    rapt_generate_options options;
    int32_t *ids;
    int *counts;
};

static void check(rapt_status status, const rapt_message *why)
{
    if (status) bench_fail(why->text[0] ? why->text : rapt_status_text(status));
}

static void translate(void *argument, int count)
{
    struct job *j = argument;
    rapt_message why = {""};
    for (int i = 0; i < count; i++) {
        const rapt_generate_outputs out = {.size = sizeof out, .ids = j->ids, .counts = j->counts};
        check(rapt_generate(j->session, &j->source, &j->options, &out, &why), &why);
        for (int b = 0; b < j->shape->batch; b++)
            if (j->counts[b] != LENGTH) bench_fail("a translation lacks tokens");
    }
}

/* ---- operations and bytes ---- */

/* Weights that are read once per translation, and in every step. */
static double weights_once(void)
{
    double square = (double)WIDTH * WIDTH, feed = 2.0 * WIDTH * HIDDEN;
    return LAYERS * (4 * square + feed) + LAYERS * 2 * square;
}

static double weights_stepwise(void)
{
    double square = (double)WIDTH * WIDTH, feed = 2.0 * WIDTH * HIDDEN;
    return LAYERS * (6 * square + feed) + (double)WIDTH * VOCAB;
}

/* The first step has one row for each source, the others have one for each hypothesis. */
static double operations(const struct shape *s)
{
    double rows = 1 + (double)s->beam * (LENGTH - 1), keys = 1;
    for (int step = 1; step < LENGTH; step++) keys += (double)s->beam * (step + 1);
    double products = 2 * (SOURCE * weights_once() + rows * weights_stepwise());
    double attention = 4.0 * WIDTH * LAYERS * (SOURCE * SOURCE + SOURCE * rows + keys);
    return s->batch * (products + attention);
}

/* ---- memory ---- */

/* Resets the peak memory of the process, where the system supports it. */
static void reset_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file) return;
    fputs("5", file);
    fclose(file);
}

/* In 10^6 bytes; since reset_peak, or of the whole run where the system cannot tell. */
static double peak_memory(void)
{
    char line[128];
    double kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "VmHWM:", 6)) sscanf(line + 6, "%lf", &kib);
    if (file) fclose(file);
    struct rusage usage;
    if (kib <= 0 && getrusage(RUSAGE_SELF, &usage) == 0) kib = (double)usage.ru_maxrss;
    return kib * 1024e-6;
}

/* Cached per number of threads. */
static double bandwidth(int threads)
{
    static double known[1025];
    if (!(known[threads] > 0)) known[threads] = bench_bandwidth(threads, READ_BYTES);
    return known[threads];
}

/* ---- a measurement ---- */

static rapt_model *make_model(void)
{
    rapt_config config = {.size = sizeof(rapt_config),
                          .kind = RAPT_KIND_ENCODER_DECODER,
                          .source_vocab = VOCAB,
                          .target_vocab = VOCAB,
                          .positions = 64,
                          .width = WIDTH,
                          .heads = HEADS,
                          .ffn_width = HIDDEN,
                          .encoder_layers = LAYERS,
                          .decoder_layers = LAYERS,
                          .tie = RAPT_TIE_ALL};
    rapt_message why = {""};
    rapt_model *model;
    check(rapt_model_create(&model, &config, 1, NULL, &why), &why);
    return model;
}

static void begin_job(struct job *j, const rapt_model *model, const struct shape *s, int threads)
{
    static const int32_t suppressed[] = {END};
    int *starts = bench_alloc(((size_t)s->batch + 1) * sizeof *starts);
    int32_t *ids = bench_alloc((size_t)(s->batch * SOURCE) * sizeof *ids);
    for (int i = 0; i <= s->batch; i++) starts[i] = i * SOURCE;
    for (int i = 0; i < s->batch * SOURCE; i++)
        ids[i] = (int32_t)(2 + rapt__uniform(1, (uint64_t)i) * (VOCAB - 2));
    *j = (struct job){.shape = s, .source = {s->batch, ids, starts}};
    rapt_generate_options_default(&j->options, sizeof j->options, BEGIN, END);
    j->options.beams = s->beam, j->options.max_length = LENGTH;
    j->options.temperature = s->temperature;
    j->options.suppressed = suppressed, j->options.suppressed_count = 1;
    j->ids = bench_alloc((size_t)(s->batch * LENGTH) * sizeof *j->ids);
    j->counts = bench_alloc((size_t)s->batch * sizeof *j->counts);
    rapt_limits limits = {.size = sizeof limits,
                          .batch = s->batch,
                          .beams = s->beam,
                          .source_tokens = s->batch * SOURCE,
                          .target_length = LENGTH,
                          .threads = threads};
    rapt_message why = {""};
    check(rapt_session_create(&j->session, model, &limits, NULL, &why), &why);
}

static void end_job(struct job *j)
{
    rapt_session_free(j->session);
    bench_free((void *)j->source.ids);
    bench_free((void *)j->source.starts);
    bench_free(j->ids);
    bench_free(j->counts);
}

static json_t *shape_of(const struct shape *s)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}",
                     "encoder_layers", LAYERS, "decoder_layers", LAYERS, "width", WIDTH, "heads",
                     HEADS, "hidden", HIDDEN, "vocab", VOCAB, "pairs", s->batch, "length", LENGTH,
                     "source_length", SOURCE, "beam", s->beam, "batch", s->batch, "sampled",
                     s->temperature > 0);
}

static void measure(struct bench *b, const rapt_model *model, const struct shape *s, int threads)
{
    struct job j;
    double speed = bandwidth(threads), tokens = (double)s->batch * LENGTH;
    double bytes = sizeof(float) * (weights_once() + LENGTH * weights_stepwise());
    reset_peak();
    begin_job(&j, model, s, threads);
    struct timing time = bench_time(b, translate, &j);
    double peak = peak_memory();
    end_job(&j);
    json_t *more =
        json_pack("{s:f, s:f, s:f, s:f, s:f}", "tokens_per_second", tokens / time.fastest,
                  "memory_bound", tokens * speed * 1e9 / bytes, "gbytes_per_second", speed,
                  "peak_rss_mb", peak, "weights_mb", (double)rapt_model_bytes(model) * 1e-6);
    bench_line(b, &(struct result){.name = "translate",
                                   .shape = shape_of(s),
                                   .threads = threads,
                                   .time = time,
                                   .operations = operations(s),
                                   .more = more});
}

int main(int argc, char **argv)
{
    struct bench b;
    int code =
        bench_begin(&b, argc, argv, "Measures translation.", "translate, greedy, sampling, beam");
    if (code != BENCH_GO_ON) return code;
    rapt_model *model = make_model();
    for (int i = 0; i < b.thread_counts; i++)
        for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
            if (bench_wants(&b, "translate", shapes[n].label))
                measure(&b, model, &shapes[n], b.threads[i]);
    rapt_model_free(model);
    return bench_end(&b);
}
