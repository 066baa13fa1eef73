/* models.h - shared by the targets that use models: a small configuration chosen by the input,
   valid or not, ragged batches of tokens, sessions, and comparisons with the definition. */
#ifndef RAPT_TESTS_FUZZ_MODELS_H
#define RAPT_TESTS_FUZZ_MODELS_H

#include "fuzz.h"
#include "model/small.h"
#include "oracle/transformer.h"

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

/* ---- definition: compares a model's outputs and gradients with the definition
   (oracle/transformer.h). The tolerance is 1e-4 of the largest output, or 1e-3 of a slope, or 16
   times as much as rounding the parameters to float changes the definition, if that is more: layer
   norm multiplies the error of a row by up to epsilon^-1/2, steep scores by more. ---- */

/* Capacity for the states or logits of a sentence, in floats; the number of roundings that are
   tried. */
enum { DEFINITION_SIZE = 40 * 32, DEFINITION_ROUNDINGS = 8 };

/* Reads the model's parameters. If `rounding` is not 0, it is the seed of random changes of each
   parameter by at most half a unit in the last place of a float. The caller frees the result. */
static inline struct oracle_model *definition_read(const rapt_model *model, uint64_t rounding)
{
    struct oracle_model *oracle = oracle_model_read(model);
    for (int i = 0; rounding && i < oracle->count; i++)
        for (size_t j = 0; j < small_size(model, i); j++)
            oracle->tensors[i].data[j] *=
                1 + 0x1p-24 * (double)small_uniform(rounding * 1000 + (uint64_t)i, j);
    return oracle;
}

/* ---- outputs of a sentence ---- */

/* The outputs of a model for a sentence and their sizes. NULL: not checked. */
struct definition_outputs {
    const float *states, *logits;
    size_t states_n, logits_n;
};

/* Computes the outputs that the definition gives. source is NULL if the model has no encoder.
   target is NULL if the logits are those of classes. */
static inline void
definition_outputs(const rapt_model *model, uint64_t rounding, const struct oracle_sentence *source,
                   const struct oracle_sentence *target, const struct definition_outputs *got,
                   double states[DEFINITION_SIZE], double logits[DEFINITION_SIZE])
{
    struct oracle_model *oracle = definition_read(model, rounding);
    if (source) oracle_encode(oracle, NULL, source, states);
    if (got->logits && target)
        oracle_decode(oracle, NULL, source, states, target, logits, NULL);
    else if (got->logits)
        oracle_classify(oracle, NULL, source, logits);
    oracle_model_free(oracle);
}

static inline bool definition_near(const float *got, const double *wanted, size_t n, double error)
{
    double max = 0;
    for (size_t i = 0; i < n; i++) max = fmax(max, fabs(wanted[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - wanted[i]) <= 1e-4 * (1 + max) + error)) return false;
    return true;
}

/* Returns the largest difference. */
static inline double definition_moved(const double *a, const double *b, size_t n)
{
    double max = 0;
    for (size_t i = 0; i < n; i++) max = fmax(max, fabs(a[i] - b[i]));
    return max;
}

static inline void definition_check(const rapt_model *model, const struct oracle_sentence *source,
                                    const struct oracle_sentence *target,
                                    const struct definition_outputs *got)
{
    double states[DEFINITION_SIZE], moved_states[DEFINITION_SIZE], states_error = 0;
    double logits[DEFINITION_SIZE], moved_logits[DEFINITION_SIZE], logits_error = 0;
    const size_t states_n = got->states ? got->states_n : 0;
    const size_t logits_n = got->logits ? got->logits_n : 0;
    definition_outputs(model, 0, source, target, got, states, logits);
    if (definition_near(got->states, states, states_n, 0) &&
        definition_near(got->logits, logits, logits_n, 0))
        return;
    for (uint64_t rounding = 1; rounding <= DEFINITION_ROUNDINGS; rounding++) {
        definition_outputs(model, rounding, source, target, got, moved_states, moved_logits);
        states_error = fmax(states_error, definition_moved(moved_states, states, states_n));
        logits_error = fmax(logits_error, definition_moved(moved_logits, logits, logits_n));
    }
    require(definition_near(got->states, states, states_n, 16 * states_error),
            "the encoder's definition");
    require(definition_near(got->logits, logits, logits_n, 16 * logits_error),
            "the definition of logits");
}

/* ---- the gradient of a batch ---- */

/* A batch, and a seed for the signs of a direction in the space of all parameters. */
struct definition_batch {
    const rapt_tokens *source, *target;
    double smoothing; /* label smoothing */
    uint64_t signs;
};

/* Moves the parameters by h along the direction of the signs. Returns the derivative along it, or 0
   without a gradient. */
static inline double definition_along(struct oracle_model *oracle, uint64_t signs,
                                      const float *gradient, double h)
{
    double sum = 0;
    for (int i = 0; i < oracle->count; i++) {
        size_t n = (size_t)oracle->tensors[i].rows * (size_t)oracle->tensors[i].columns;
        for (size_t j = 0; j < n; j++) {
            double sign = input_random(&signs) % 2 ? 1 : -1;
            oracle->tensors[i].data[j] += sign * h;
            if (gradient) sum += sign * (double)*gradient++;
        }
    }
    return sum;
}

/* Returns the difference quotient of the definition's loss along the direction. */
static inline double definition_slope(const rapt_model *model, const struct definition_batch *b,
                                      uint64_t rounding, double h)
{
    struct oracle_model *oracle = definition_read(model, rounding);
    double side[2];
    oracle_model_hold(oracle);
    oracle_batch_loss(oracle, NULL, b->source, b->target, b->smoothing, NULL);
    for (int k = 0; k < 2; k++) {
        definition_along(oracle, b->signs, NULL, k ? -2 * h : h);
        side[k] = oracle_batch_loss(oracle, NULL, b->source, b->target, b->smoothing, NULL);
    }
    oracle_model_free(oracle);
    return (side[0] - side[1]) / (2 * h);
}

/* Compares `gradient`, of all parameters in the model's order, with the slope of the definition. If
   the slope depends on h, the loss has a kink nearby, and nothing is compared. */
static inline void definition_check_slope(const rapt_model *model, const struct definition_batch *b,
                                          const float *gradient)
{
    const double h = 1e-5, wanted = definition_slope(model, b, 0, h);
    struct oracle_model *oracle = definition_read(model, 0);
    const double error = fabs(definition_along(oracle, b->signs, gradient, 0) - wanted);
    oracle_model_free(oracle);
    double allowed = 1e-3 * (sqrt((double)rapt_model_parameters(model)) + fabs(wanted));
    if (error <= allowed) return;
    double moved = fabs(definition_slope(model, b, 0, h / 4) - wanted);
    for (uint64_t rounding = 1; rounding <= DEFINITION_ROUNDINGS; rounding++)
        moved = fmax(moved, fabs(definition_slope(model, b, rounding, h) - wanted));
    require(error <= allowed + 16 * moved, "the slope of the loss");
}

#endif
