/* training.c - models and batches for measuring training: shapes, tokens, operations. */
#include "bench.h"

const struct training trainings[TRAININGS + 1] = {
    {"tiny", 4, 4, 128, 4, 256, 10000, 64, 32},
    {"base", 6, 6, 512, 8, 2048, 8000, 32, 32},
    {"check", 1, 1, 16, 2, 32, 100, 2, 4},
};

void training_check(rapt_status status, const rapt_message *why)
{
    if (status) bench_fail(why->text[0] ? why->text : rapt_status_text(status));
}

rapt_tokens training_tokens(int pairs, int length, int vocab, uint64_t key)
{
    int *starts = bench_alloc(((size_t)pairs + 1) * sizeof *starts);
    int32_t *ids = bench_alloc((size_t)pairs * (size_t)length * sizeof *ids);
    for (int i = 0; i <= pairs; i++) starts[i] = i * length;
    for (int i = 0; i < pairs * length; i++)
        ids[i] = (int32_t)(rapt__uniform(key, (uint64_t)i) * vocab);
    return (rapt_tokens){.batch = pairs, .ids = ids, .starts = starts};
}

void training_tokens_free(const rapt_tokens *t)
{
    bench_free((void *)t->ids);
    bench_free((void *)t->starts);
}

rapt_config training_config(const struct training *s)
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

double training_operations(const struct training *s)
{
    double w = s->width, feed = 2 * w * s->hidden, tokens = (double)s->pairs * s->length;
    double weights = s->encoder_layers * (4 * w * w + feed) +
                     s->decoder_layers * (8 * w * w + feed) + w * s->vocab;
    double attentions = s->encoder_layers + 1.5 * s->decoder_layers;
    return tokens * (6 * weights + 14 * attentions * s->length * w);
}

json_t *training_shape(const struct training *s)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "encoder_layers",
                     s->encoder_layers, "decoder_layers", s->decoder_layers, "width", s->width,
                     "heads", s->heads, "hidden", s->hidden, "vocab", s->vocab, "pairs", s->pairs,
                     "length", s->length);
}

void training_steps(rapt_trainer *trainer, const rapt_tokens *source, const rapt_tokens *target,
                    int count)
{
    rapt_message why = {""};
    for (int i = 0; i < count; i++) {
        rapt_report report = {.size = sizeof report};
        training_check(rapt_train_gradient(trainer, source, target, &report, &why), &why);
        training_check(rapt_train_step(trainer, &report, &why), &why);
    }
}
