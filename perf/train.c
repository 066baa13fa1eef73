/* train.c - benchmark of a training step: gradient of a batch of sentence pairs, and Adam.

   Operations: a weight of a product costs 2 forward and 4 backward for each of its rows;
   attention 4 and 10 for each query, key and column, causal attention half of it. Dropout, norms,
   softmax and Adam are not counted, so of_peak cannot reach 1. */
#include "bench.h"
#include "op/op.h"

#include <rapt/train.h>

struct shape {
    const char *label;
    int encoder_layers, decoder_layers, width, heads, hidden, vocab, pairs, length;
};

/* The third is for --check. */
enum { SHAPES = 2 };
static const struct shape shapes[SHAPES + 1] = {
    {"tiny", 4, 4, 128, 4, 256, 10000, 64, 32},
    {"base", 6, 6, 512, 8, 2048, 8000, 32, 32},
    {"check", 1, 1, 16, 2, 32, 100, 2, 4},
};

struct job {
    rapt_trainer *trainer;
    rapt_tokens source, target;
};

static void check(rapt_status status, const rapt_message *why)
{
    if (status) bench_fail(why->text[0] ? why->text : rapt_status_text(status));
}

static void step(void *argument, int count)
{
    struct job *j = argument;
    rapt_message why = {""};
    for (int i = 0; i < count; i++) {
        rapt_report report = {.size = sizeof report};
        check(rapt_train_gradient(j->trainer, &j->source, &j->target, &report, &why), &why);
        check(rapt_train_step(j->trainer, &report, &why), &why);
    }
}

/* Sequences of one length, of random tokens. */
static rapt_tokens make_tokens(int pairs, int length, int vocab, uint64_t key)
{
    int *starts = bench_alloc(((size_t)pairs + 1) * sizeof *starts);
    int32_t *ids = bench_alloc((size_t)pairs * (size_t)length * sizeof *ids);
    for (int i = 0; i <= pairs; i++) starts[i] = i * length;
    for (int i = 0; i < pairs * length; i++)
        ids[i] = (int32_t)(rapt__uniform(key, (uint64_t)i) * vocab);
    return (rapt_tokens){pairs, ids, starts};
}

static void free_tokens(const rapt_tokens *t)
{
    bench_free((void *)t->ids);
    bench_free((void *)t->starts);
}

static rapt_config config_of(const struct shape *s)
{
    return (rapt_config){.size = sizeof(rapt_config),
                         .kind = RAPT_KIND_ENCODER_DECODER,
                         .source_vocab = s->vocab,
                         .target_vocab = s->vocab,
                         .positions = s->length,
                         .width = s->width,
                         .heads = s->heads,
                         .ffn_width = s->hidden,
                         .encoder_layers = s->encoder_layers,
                         .decoder_layers = s->decoder_layers,
                         .tie = RAPT_TIE_ALL};
}

static double operations(const struct shape *s)
{
    double w = s->width, feed = 2 * w * s->hidden, tokens = (double)s->pairs * s->length;
    double weights = s->encoder_layers * (4 * w * w + feed) +
                     s->decoder_layers * (8 * w * w + feed) + w * s->vocab;
    double attentions = s->encoder_layers + 1.5 * s->decoder_layers;
    return tokens * (6 * weights + 14 * attentions * s->length * w);
}

static void measure(struct bench *b, const struct shape *s, int threads, rapt_products products)
{
    rapt_config config = config_of(s);
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    rapt_train_limits limits = {sizeof limits, s->pairs, s->pairs * s->length,
                                s->pairs * (s->length + 1), .threads = threads};
    rapt_message why = {""};
    rapt_model *model;
    struct job j;
    options.products = products;
    check(rapt_model_create(&model, &config, 1, NULL, &why), &why);
    check(rapt_trainer_create(&j.trainer, model, &options, &limits, NULL, &why), &why);
    j.source = make_tokens(s->pairs, s->length, s->vocab, 1);
    j.target =
        make_tokens(s->pairs, s->length + 1, s->vocab, 2); /* the last token is not an input */
    struct timing time = bench_time(b, step, &j);
    json_t *shape =
        json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "encoder_layers", s->encoder_layers,
                  "decoder_layers", s->decoder_layers, "width", s->width, "heads", s->heads,
                  "hidden", s->hidden, "vocab", s->vocab, "pairs", s->pairs, "length", s->length);
    json_t *more = json_pack("{s:s, s:f}", "backend",
                             products == RAPT_PRODUCTS_OPENBLAS ? "openblas" : "builtin",
                             "tokens_per_second", s->pairs * s->length / time.fastest);
    bench_line(b, &(struct result){.name = "train_step",
                                   .shape = shape,
                                   .threads = threads,
                                   .time = time,
                                   .operations = operations(s),
                                   .more = more});
    free_tokens(&j.source);
    free_tokens(&j.target);
    rapt_trainer_free(j.trainer);
    rapt_model_free(model);
}

int main(int argc, char **argv)
{
    struct bench b;
    int code = bench_begin(&b, argc, argv, "Measures training steps.", "train_step, tiny, base");
    if (code != BENCH_GO_ON) return code;
    for (int i = 0; i < b.thread_counts; i++)
        for (size_t n = 0; n < SHAPES; n++) {
            const struct shape *s = &shapes[b.check ? SHAPES : n];
            if (!bench_wants(&b, "train_step", shapes[n].label)) continue;
            measure(&b, s, b.threads[i], RAPT_PRODUCTS_BUILTIN);
            if (!b.quick && rapt__openblas_load(NULL) == RAPT_OK)
                measure(&b, s, b.threads[i], RAPT_PRODUCTS_OPENBLAS);
        }
    return bench_end(&b);
}
