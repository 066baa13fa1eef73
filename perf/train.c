/* train.c - benchmark of a training step: the gradient of a batch of sentence pairs, and Adam.

   Operations: each weight of a product costs 2 forward and 4 backward per row; attention costs 4
   and 10 per query, key and column, half of that if causal. Dropout, norms, softmax and Adam are
   not counted, so of_peak cannot reach 1. */
#include "bench.h"
#include "op/op.h"

struct job {
    rapt_trainer *trainer;
    rapt_tokens source, target;
};

static void step(void *argument, int count)
{
    struct job *j = argument;
    training_steps(j->trainer, &j->source, &j->target, count);
}

static void measure_train(struct bench *b, const struct training *s, int threads,
                          rapt_products products)
{
    rapt_config config = training_config(s);
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    rapt_train_limits limits = {sizeof limits, s->pairs, s->pairs * s->length,
                                s->pairs * (s->length + 1), .threads = threads};
    rapt_message why = {""};
    rapt_model *model;
    struct job j;
    options.products = products;
    training_check(rapt_model_create(&model, &config, 1, NULL, &why), &why);
    training_check(rapt_trainer_create(&j.trainer, model, &options, &limits, NULL, &why), &why);
    j.source = training_tokens(s->pairs, s->length, s->vocab, 1);
    j.target =
        training_tokens(s->pairs, s->length + 1, s->vocab, 2); /* the last token is not an input */
    struct timing time = bench_time(b, step, &j);
    const char *backend = products == RAPT_PRODUCTS_OPENBLAS     ? "openblas"
                          : products == RAPT_PRODUCTS_BF16       ? "bf16"
                          : products == RAPT_PRODUCTS_BF16_TILES ? "bf16-tiles"
                                                                 : "builtin";
    json_t *more = json_pack("{s:s, s:f}", "backend", backend, "tokens_per_second",
                             s->pairs * s->length / time.fastest);
    bench_line(b, &(struct result){.name = "train_step",
                                   .shape = training_shape(s),
                                   .threads = threads,
                                   .time = time,
                                   .operations = training_operations(s),
                                   .more = more});
    training_tokens_free(&j.source);
    training_tokens_free(&j.target);
    rapt_trainer_free(j.trainer);
    rapt_model_free(model);
}

int main(int argc, char **argv)
{
    struct bench b;
    int code = bench_begin(&b, argc, argv, "Measures training steps.", "train_step, tiny, base");
    if (code != BENCH_GO_ON) return code;
    for (int i = 0; i < b.thread_counts; i++)
        for (size_t n = 0; n < TRAININGS; n++) {
            const struct training *s = &trainings[b.check ? TRAININGS : n];
            if (!bench_wants(&b, "train_step", trainings[n].label)) continue;
            measure_train(&b, s, b.threads[i], RAPT_PRODUCTS_BUILTIN);
            measure_train(&b, s, b.threads[i], RAPT_PRODUCTS_BF16);
            if (rapt__processor_tiles_bf16())
                measure_train(&b, s, b.threads[i], RAPT_PRODUCTS_BF16_TILES);
            if (!b.quick && rapt__openblas_load(NULL) == RAPT_OK)
                measure_train(&b, s, b.threads[i], RAPT_PRODUCTS_OPENBLAS);
        }
    return bench_end(&b);
}
