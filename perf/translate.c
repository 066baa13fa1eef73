/* translate.c - benchmark of translation: encoding, then decoding to a fixed length, with a base
   model of random weights or with any model that a translator opens (--model). With --model,
   opening is measured, too: "load" with the tokenizers, "load_model" without. Because weights or
   sources are random, the end token is suppressed: each translation has the maximum length. Only
   tokens of the best hypothesis are counted. Operations: each weight of a product costs 2 per row,
   attention 4 per query, key and column; norms, softmax and the search are not counted. However few
   its rows, a step reads all weights of the decoder and of the output matrix, which exceed any
   cache. memory_bound is the number of tokens per second if nothing took time but these reads and
   one read of the other weights, at gbytes_per_second. peak_rss_mb is the peak memory of the whole
   process while it translates; weights_mb is the model's part of it. */
#include "bench.h"

#include <rapt/translator.h>

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

struct shape {
    const char *label;
    int beam, batch;
    float temperature; /* 0 means greedy, or beam search */
};

static const struct shape shapes[] = {
    {"greedy", 1, 1, 0}, {"sampling", 1, 1, 1}, {"beam", 4, 16, 0}};

enum { SOURCE = 24, LENGTH = 32, READ_BYTES = 256 << 20, LOADS = 5 };

/* The measured model, and the tokens that begin and end its sources and targets. */
struct subject {
    rapt_model *own; /* NULL if it is the translator's */
    rapt_translator *translator;
    const rapt_model *model;
    rapt_config c;
    int32_t begin, end, source_end; /* source_end -1 means none */
};

struct job {
    const struct shape *shape;
    int length; /* of a translation */
    rapt_session *session;
    rapt_tokens source;
    rapt_generate_options options;
    int32_t *ids;
    int *counts;
};

static void check_translate(rapt_status status, const rapt_message *why)
{
    if (status) bench_fail(why->text[0] ? why->text : rapt_status_text(status));
}

static void translate(void *argument, int count)
{
    struct job *j = argument;
    rapt_message why = {""};
    for (int i = 0; i < count; i++) {
        const rapt_generate_outputs out = {.size = sizeof out, .ids = j->ids, .counts = j->counts};
        check_translate(rapt_generate(j->session, &j->source, &j->options, &out, &why), &why);
        for (int b = 0; b < j->shape->batch; b++)
            if (j->counts[b] != j->length) bench_fail("a translation lacks tokens");
    }
}

/* ---- operations and bytes ---- */

static double square(const rapt_config *c)
{
    return (double)c->width * c->width;
}

/* Returns the number of weights that compute the keys, or the values, of one layer; query heads may
   share them. */
static double key_weights(const rapt_config *c)
{
    int heads = c->key_heads ? c->key_heads : c->heads;
    return square(c) * heads / c->heads;
}

static double feed_weights(const rapt_config *c)
{
    return (c->ffn_gated ? 3.0 : 2.0) * c->width * c->ffn_width;
}

/* Return the number of weights that are read once per translation, and in every step. */
static double weights_once(const rapt_config *c)
{
    double layer = 2 * square(c) + 2 * key_weights(c) + feed_weights(c);
    return c->encoder_layers * layer + c->decoder_layers * 2 * key_weights(c);
}

static double weights_stepwise(const rapt_config *c)
{
    int keys = c->decoder_recurrence != RAPT_RECURRENCE_SSRU;
    double self = 2 * square(c) + (keys ? 2 * key_weights(c) : 0);
    return c->decoder_layers * (self + 2 * square(c) + feed_weights(c)) +
           (double)c->width * c->target_vocab;
}

/* Return the number of tokens of a source and of a translation, limited by the model's
   positions. */
static int source_length(const rapt_config *c)
{
    return c->positions < SOURCE ? c->positions : SOURCE;
}
static int target_length(const rapt_config *c)
{
    return c->positions < LENGTH ? c->positions : LENGTH;
}

/* Returns the operations of a translation. Its first step has one row per source, the others have
   one per hypothesis. */
static double operations(const struct shape *s, const rapt_config *c)
{
    int source = source_length(c), length = target_length(c);
    double rows = 1 + (double)s->beam * (length - 1), keys = 1;
    for (int step = 1; step < length; step++) keys += (double)s->beam * (step + 1);
    if (c->decoder_recurrence == RAPT_RECURRENCE_SSRU)
        keys = 0;
    else if (c->decoder_recurrence) /* per row, a state costs as much as a key */
        keys = rows * (c->head_width ? c->head_width : c->width / c->heads);
    double products = 2 * (source * weights_once(c) + rows * weights_stepwise(c));
    double attention =
        4.0 * c->width *
        (c->encoder_layers * source * source + c->decoder_layers * (source * rows + keys));
    return s->batch * (products + attention);
}

/* ---- memory ---- */

/* Resets the peak memory of the process, if the system supports it. */
static void reset_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file) return;
    fputs("5", file);
    fclose(file);
}

/* Returns the peak memory in 10^6 bytes since reset_peak, or of the whole run if the system does
   not support that. */
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

/* Returns bench_bandwidth, measured once per number of threads. */
static double bandwidth(int threads)
{
    static double known[1025];
    if (!(known[threads] > 0)) known[threads] = bench_bandwidth(threads, READ_BYTES);
    return known[threads];
}

/* ---- a measurement ---- */

static void make_model(struct subject *m, rapt_precision precision)
{
    rapt_config config = {.size = sizeof(rapt_config),
                          .kind = RAPT_KIND_ENCODER_DECODER,
                          .source_vocab = 32000,
                          .target_vocab = 32000,
                          .positions = 64,
                          .width = 512,
                          .heads = 8,
                          .ffn_width = 2048,
                          .encoder_layers = 6,
                          .decoder_layers = 6,
                          .tie = RAPT_TIE_ALL};
    rapt_message why = {""};
    *m = (struct subject){.begin = 1, .end = 0, .source_end = -1};
    check_translate(rapt_model_create(&m->own, &config, 1, NULL, &why), &why);
    check_translate(rapt_model_set_precision(m->own, precision, 0, &why), &why);
    m->model = m->own, m->c = config;
}

static void open_model(struct subject *m, const char *path, rapt_precision precision)
{
    const rapt_translator_options options = {
        .size = sizeof options, .beams = 1, .precision = precision};
    rapt_message why = {""};
    *m = (struct subject){.source_end = -1};
    check_translate(rapt_translator_load(&m->translator, path, &options, NULL, &why), &why);
    const rapt_tokenizer *target = rapt_translator_target(m->translator);
    m->model = rapt_translator_model(m->translator);
    m->c = *rapt_model_config(m->model);
    m->begin = rapt_target_begin(m->model, target);
    m->end = rapt_tokenizer_special(target, RAPT_TOKEN_END);
    if (!m->c.no_source_end)
        m->source_end =
            rapt_tokenizer_special(rapt_translator_source(m->translator), RAPT_TOKEN_END);
}

static void close_model(struct subject *m)
{
    rapt_translator_free(m->translator);
    rapt_model_free(m->own);
}

/* Draws tokens other than the end, and ends each source with it if the model expects that. */
static rapt_tokens draw_sources(const struct subject *m, int batch, int length)
{
    int *starts = bench_alloc(((size_t)batch + 1) * sizeof *starts);
    int32_t *ids = bench_alloc((size_t)(batch * length) * sizeof *ids);
    for (int i = 0; i <= batch; i++) starts[i] = i * length;
    for (int i = 0; i < batch * length; i++) {
        ids[i] = (int32_t)(2 + rapt__uniform(1, (uint64_t)i) * (m->c.source_vocab - 2));
        if (m->source_end >= 0 && (i + 1) % length == 0) ids[i] = m->source_end;
    }
    return (rapt_tokens){.batch = batch, .ids = ids, .starts = starts};
}

static void begin_job(struct job *j, const struct subject *m, const struct shape *s, int threads)
{
    int source = source_length(&m->c), length = target_length(&m->c);
    *j = (struct job){.shape = s, .length = length, .source = draw_sources(m, s->batch, source)};
    rapt_generate_options_default(&j->options, sizeof j->options, m->begin, m->end);
    j->options.beams = s->beam, j->options.max_length = length;
    j->options.temperature = s->temperature;
    j->options.suppressed = &m->end, j->options.suppressed_count = 1;
    j->ids = bench_alloc((size_t)(s->batch * length) * sizeof *j->ids);
    j->counts = bench_alloc((size_t)s->batch * sizeof *j->counts);
    rapt_limits limits = {.size = sizeof limits,
                          .batch = s->batch,
                          .beams = s->beam,
                          .source_tokens = s->batch * source,
                          .target_length = length,
                          .threads = threads};
    rapt_message why = {""};
    check_translate(rapt_session_create(&j->session, m->model, &limits, NULL, &why), &why);
}

static void end_job(struct job *j)
{
    rapt_session_free(j->session);
    bench_free((void *)j->source.ids);
    bench_free((void *)j->source.starts);
    bench_free(j->ids);
    bench_free(j->counts);
}

static json_t *shape_of(const struct shape *s, const rapt_config *c)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}",
                     "encoder_layers", c->encoder_layers, "decoder_layers", c->decoder_layers,
                     "width", c->width, "heads", c->heads, "hidden", c->ffn_width, "vocab",
                     c->target_vocab, "pairs", s->batch, "length", target_length(c),
                     "source_length", source_length(c), "beam", s->beam, "batch", s->batch,
                     "sampled", s->temperature > 0);
}

/* Returns the size of a weight in bytes, without scales. */
static double weight_bytes(const rapt_model *model)
{
    rapt_precision precision = rapt_model_precision(model);
    return precision == RAPT_PRECISION_INT8  ? 1
           : precision == RAPT_PRECISION_F32 ? sizeof(float)
                                             : 2;
}

static void measure_translate(struct bench *b, const struct subject *m, const struct shape *s,
                              int threads)
{
    struct job j;
    int length = target_length(&m->c);
    double speed = bandwidth(threads), tokens = (double)s->batch * length;
    double bytes =
        weight_bytes(m->model) * (weights_once(&m->c) + length * weights_stepwise(&m->c));
    reset_peak();
    begin_job(&j, m, s, threads);
    struct timing time = bench_time(b, translate, &j);
    double peak = peak_memory();
    end_job(&j);
    json_t *more = json_pack(
        "{s:s, s:f, s:f, s:f, s:f, s:f}", "precision",
        rapt_precision_name(rapt_model_precision(m->model)), "tokens_per_second",
        tokens / time.fastest, "memory_bound", tokens * speed * 1e9 / bytes, "gbytes_per_second",
        speed, "peak_rss_mb", peak, "weights_mb", (double)rapt_model_bytes(m->model) * 1e-6);
    bench_line(b, &(struct result){.name = "translate",
                                   .shape = shape_of(s, &m->c),
                                   .threads = threads,
                                   .time = time,
                                   .operations = operations(s, &m->c),
                                   .more = more});
}

/* ---- opening ---- */

static double load_once(const struct bench *b, bool whole)
{
    const rapt_translator_options options = {
        .size = sizeof options, .beams = 1, .precision = b->precision};
    const rapt_load_options load = {.size = sizeof load, .precision = b->precision};
    rapt_message why = {""};
    rapt_translator *translator = NULL;
    rapt_model *model = NULL;
    double start = bench_now();
    if (whole)
        check_translate(rapt_translator_load(&translator, b->model, &options, NULL, &why), &why);
    else
        check_translate(rapt_model_import_with(&model, b->model, &load, NULL, NULL, NULL, &why),
                        &why);
    double seconds = bench_now() - start;
    rapt_translator_free(translator);
    rapt_model_free(model);
    return seconds;
}

/* Measures opening with the file in the page cache, as after a first opening. */
static void measure_load(struct bench *b, const struct subject *m, bool whole)
{
    double seconds[LOADS];
    int count = b->check ? 1 : LOADS;
    for (int i = 0; i < count; i++) seconds[i] = load_once(b, whole);
    double megabytes = (double)rapt_model_bytes(m->model) * 1e-6;
    struct timing time = bench_summary(seconds, count);
    bench_line(b, &(struct result){.name = whole ? "load" : "load_model",
                                   .shape = json_pack("{s:i}", "weights_mb", (int)megabytes),
                                   .threads = 1,
                                   .time = time,
                                   .more = json_pack("{s:f}", "gbytes_per_second",
                                                     1e-3 * megabytes / time.fastest)});
}

int main(int argc, char **argv)
{
    struct bench b;
    struct subject m;
    int code = bench_begin(
        &b, argc, argv, "Measures translation.",
        "translate, greedy, sampling, beam; of --model: load, load_model, opening (both)");
    if (code != BENCH_GO_ON) return code;
    if (b.model)
        open_model(&m, b.model, b.precision);
    else
        make_model(&m, b.precision);
    for (int whole = 1; b.model && whole >= 0; whole--)
        if (bench_wants(&b, whole ? "load" : "load_model", "opening")) measure_load(&b, &m, whole);
    for (int i = 0; i < b.thread_counts; i++)
        for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
            if (bench_wants(&b, "translate", shapes[n].label))
                measure_translate(&b, &m, &shapes[n], b.threads[i]);
    close_model(&m);
    return bench_end(&b);
}
