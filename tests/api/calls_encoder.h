/* calls_encoder.h - calls of the functions in encoder.h. */
#ifndef RAPT_TESTS_API_CALLS_ENCODER_H
#define RAPT_TESTS_API_CALLS_ENCODER_H

#include "api/small_world.h"

/* ---- encoder.h ---- */

static rapt_status encoder_load(struct world *w, int null, rapt_message *why)
{
    const rapt_encoder_options options = {.size = sizeof options};
    rapt_encoder *made = NULL;
    rapt_status status =
        rapt_encoder_load(arg(null, 0, &made), arg(null, 1, w->path[0]), arg(null, 2, &options),
                          arg(null, 3, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_encoder_free(made);
    return status;
}

/* With the tokenizer NULL, the model has to have one in its metadata. */
static rapt_status encoder_create(struct world *w, int null, rapt_message *why)
{
    const rapt_encoder_options options = {.size = sizeof options};
    const rapt_model *model = rapt_translator_model(w->translator);
    rapt_encoder *made = NULL;
    rapt_status status = rapt_encoder_create(
        arg(null, 0, &made), arg(null, 1, (void *)(uintptr_t)model), arg(null, 2, w->tokenizer),
        arg(null, 3, &options), arg(null, 4, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_encoder_free(made);
    return status;
}

static rapt_encoder *world_encoder(const struct world *w)
{
    rapt_encoder *made = NULL;
    assert_int_equal(rapt_encoder_load(&made, w->path[0], NULL, NULL, NULL), RAPT_OK);
    return made;
}

static rapt_status encoder_free(struct world *w, int null, rapt_message *why)
{
    (void)why;
    rapt_encoder *made = world_encoder(w);
    rapt_encoder_free(arg(null, 0, made));
    if (null == 0) rapt_encoder_free(made);
    return RAPT_OK;
}

static rapt_status encoder_model(struct world *w, int null, rapt_message *why)
{
    (void)why;
    rapt_encoder *made = world_encoder(w);
    const rapt_model *model = rapt_encoder_model(arg(null, 0, made));
    rapt_encoder_free(made);
    return found(model != NULL);
}

static rapt_status encoder_tokenizer(struct world *w, int null, rapt_message *why)
{
    (void)why;
    rapt_encoder *made = world_encoder(w);
    const rapt_tokenizer *tokenizer = rapt_encoder_tokenizer(arg(null, 0, made));
    rapt_encoder_free(made);
    return found(tokenizer != NULL);
}

static rapt_status encoder_embed(struct world *w, int null, rapt_message *why)
{
    rapt_encoder *made = world_encoder(w);
    rapt_status status = rapt_encoder_embed(arg(null, 0, made), arg(null, 1, w->texts), 2,
                                            arg(null, 2, w->logits), why);
    rapt_encoder_free(made);
    return status;
}

static rapt_status encoder_classify(struct world *w, int null, rapt_message *why)
{
    rapt_config c = w->config;
    rapt_model *model;
    rapt_encoder *made;
    c.kind = RAPT_KIND_ENCODER_ONLY, c.decoder_layers = 0, c.pooling = RAPT_POOLING_FIRST;
    assert_int_equal(rapt_model_create(&model, &c, 1, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_encoder_create(&made, model, w->tokenizer, NULL, NULL, NULL), RAPT_OK);
    rapt_status status =
        rapt_encoder_classify(arg(null, 0, made), arg(null, 1, w->texts), arg(null, 2, w->targets),
                              2, arg(null, 3, w->logits), why);
    rapt_encoder_free(made);
    rapt_model_free(model);
    return status;
}

#endif
