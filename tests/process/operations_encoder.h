/* operations_encoder.h - the operations on encoders of texts. */
#ifndef RAPT_TESTS_PROCESS_OPERATIONS_ENCODER_H
#define RAPT_TESTS_PROCESS_OPERATIONS_ENCODER_H

#include "process/operations_text.h"

static rapt_status do_encoder_load(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_encoder *encoder = scene_untouched;
    const rapt_encoder_options options = {
        .size = sizeof options, .batch = 2, .batch_tokens = 20, .threads = s->threads};
    rapt_status status =
        rapt_encoder_load(&encoder, s->translator_path, &options, s->allocator, why);
    if (status) {
        s->changed |= encoder != scene_untouched;
        return status;
    }
    int vocab = rapt_tokenizer_vocab(rapt_encoder_tokenizer(encoder));
    add(h, &vocab, sizeof vocab);
    rapt_encoder_free(encoder);
    return status;
}

/* Creates an encoder and embeds two texts. */
static rapt_status do_encoder_embed(struct scene *s, uint64_t *h, rapt_message *why)
{
    static const rapt_text texts[] = {{"the birds", 9}, {"sing", 4}};
    const rapt_model *model = rapt_translator_model(s->translator);
    const rapt_encoder_options options = {
        .size = sizeof options, .batch = 2, .batch_tokens = 20, .threads = s->threads};
    rapt_encoder *encoder = scene_untouched;
    rapt_status status = rapt_encoder_create(&encoder, model, NULL, &options, s->allocator, why);
    if (status) {
        s->changed |= encoder != scene_untouched;
        return status;
    }
    status = rapt_encoder_embed(encoder, texts, 2, s->floats, why);
    size_t count = 2 * (size_t)rapt_model_config(rapt_encoder_model(encoder))->width;
    if (!status) add(h, s->floats, count * sizeof *s->floats);
    rapt_encoder_free(encoder);
    return status;
}

/* Classifies a pair of texts with a small model. */
static rapt_status do_encoder_classify(struct scene *s, uint64_t *h, rapt_message *why)
{
    static const rapt_text texts[] = {{"the birds", 9}, {"sing", 4}};
    rapt_config c = *rapt_model_config(rapt_translator_model(s->translator));
    rapt_model *model = NULL;
    rapt_encoder *encoder = NULL;
    const rapt_encoder_options options = {.size = sizeof options, .threads = s->threads};
    c.kind = RAPT_KIND_ENCODER_ONLY, c.decoder_layers = 0, c.pooling = RAPT_POOLING_FIRST;
    rapt_status status = rapt_model_create(&model, &c, 1, s->allocator, why);
    if (!status)
        status = rapt_encoder_create(&encoder, model, s->tokenizer, &options, s->allocator, why);
    if (!status) status = rapt_encoder_classify(encoder, &texts[0], &texts[1], 1, s->floats, why);
    if (!status) add(h, s->floats, sizeof *s->floats);
    rapt_encoder_free(encoder);
    rapt_model_free(model);
    return status;
}

#endif
