/* models.h - shared by the targets that use models: a small configuration chosen by the input,
   valid or not, ragged batches of tokens, and checks of limits that apply to every model. */
#ifndef RAPT_TESTS_FUZZ_MODELS_H
#define RAPT_TESTS_FUZZ_MODELS_H

#include "fuzz.h"
#include "model/small.h"

enum { MODEL_POSITIONS = 9, MODEL_BATCH = 3 };

static inline rapt_config take_config(struct feed *in)
{
    rapt_config c = {.size = sizeof c, .positions = MODEL_POSITIONS};
    c.kind = (rapt_kind)(take_byte(in) % 8 == 1   ? RAPT_KIND_ENCODER_ONLY
                         : take_byte(in) % 8 == 1 ? RAPT_KIND_DECODER_ONLY
                                                  : RAPT_KIND_ENCODER_DECODER);
    c.heads = 1 + take_below(in, 3);
    c.width = c.heads * (1 + take_below(in, 6));
    if (take_flag(in)) c.key_heads = 1;
    c.ffn_width = take_below(in, 12);
    c.target_vocab = 3 + take_below(in, 16), c.source_vocab = 3 + take_below(in, 16);
    c.encoder_layers = 1 + take_flag(in), c.decoder_layers = 1 + take_flag(in);
    c.norm_order = (rapt_norm_order)take_below(in, 2);
    c.activation = (rapt_activation)take_below(in, 4);
    c.position = (rapt_position)take_below(in, 5);
    c.tie = (rapt_tie)take_below(in, 3);
    if (c.tie == RAPT_TIE_ALL) c.source_vocab = c.target_vocab;
    c.output_bias = take_flag(in), c.plain_embedding = take_flag(in);
    if (take_flag(in)) c.norm_epsilon = 1e-3f;
    c.self_score = (rapt_score)take_below(in, RAPT_SCORE_COUNT);
    c.cross_score = (rapt_score)take_below(in, RAPT_SCORE_COUNT);
    c.self_locality = (rapt_locality)take_below(in, RAPT_LOCALITY_COUNT);
    c.cross_locality = (rapt_locality)take_below(in, RAPT_LOCALITY_COUNT);
    if (take_flag(in)) c.self_normalizer = (rapt_normalizer)take_below(in, RAPT_NORMALIZER_COUNT);
    if (take_flag(in)) c.cross_normalizer = (rapt_normalizer)take_below(in, RAPT_NORMALIZER_COUNT);
    if (take_flag(in)) c.self_radius = 1.5f, c.cross_radius = 2.75f;
    if (take_flag(in)) c.global_tokens = 1 + take_below(in, 3);
    if (take_flag(in)) c.self_temperature = 0.5f, c.cross_temperature = 2;
    if (take_flag(in)) c.score_hidden = 5, c.center_hidden = 3;
    if (take_flag(in)) c.location_channels = 2, c.location_filter_width = 3;
    if (c.kind == RAPT_KIND_ENCODER_ONLY) c.decoder_layers = 0;
    if (c.kind == RAPT_KIND_DECODER_ONLY) c.encoder_layers = c.source_vocab = 0;
    return c;
}

/* Makes cross-attention monotonic, and clears fields that would then be refused. */
static inline void take_monotonic(struct feed *in, rapt_config *c)
{
    c->monotonic = (rapt_cross_monotonic)take_below(in, 4);
    if (take_flag(in)) c->monotonic_chunk = take_below(in, 4);
    c->cross_score = RAPT_SCORE_SCALED_DOT, c->cross_locality = RAPT_LOCALITY_GLOBAL;
    c->cross_normalizer = RAPT_NORMALIZER_SOFTMAX;
    if (!take_flag(in)) return;
    c->score_cap = 0;
    c->query_key_norm = c->differential = c->latent_width = c->talking_heads = 0;
}

/* Creates a model. Returns NULL if its configuration was refused with a reason. */
static inline rapt_model *take_model(struct feed *in, rapt_config *c)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    *c = take_config(in);
    rapt_status status = rapt_model_create(&model, c, take_byte(in), NULL, &why);
    require(status == RAPT_OK || (status == RAPT_BAD_ARGUMENT && why.text[0]), "a reason");
    require((rapt_config_check(c, NULL) == RAPT_OK) == (status == RAPT_OK), "what the check says");
    if (model) small_shake(model, take_byte(in), take_flag(in) ? 1.5f : 0.3f);
    return model;
}

/* Chooses sequences of min to MODEL_POSITIONS - spare tokens, with ids below vocab. */
static inline void take_batch(struct feed *in, struct small_batch *b, int vocab, int batch, int min,
                              int spare)
{
    int lengths[MODEL_BATCH];
    for (int i = 0; i < batch; i++)
        lengths[i] = min + take_below(in, MODEL_POSITIONS - spare - min + 1);
    small_fill(b, vocab > 0 ? vocab : 1, lengths, batch, take_byte(in));
}

static inline bool hard_or_drawn(rapt_normalizer n)
{
    return n == RAPT_NORMALIZER_ARGMAX || n == RAPT_NORMALIZER_SAMPLE ||
           n == RAPT_NORMALIZER_STRAIGHT_THROUGH;
}

/* Creates a session for batches of MODEL_BATCH sequences of MODEL_POSITIONS. */
static inline rapt_session *model_session(const rapt_model *model, int threads, int beams)
{
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = MODEL_BATCH,
                                .beams = beams,
                                .source_tokens = MODEL_BATCH * MODEL_POSITIONS,
                                .target_length = MODEL_POSITIONS,
                                .target_tokens = MODEL_BATCH * MODEL_POSITIONS,
                                .threads = threads};
    rapt_session *session = NULL;
    rapt_message why = {""};
    require(rapt_session_create(&session, model, &limits, NULL, &why) == RAPT_OK, why.text);
    return session;
}

#endif
