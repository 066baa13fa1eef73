/* config.c - presets; the check that a configuration is valid, which applies the ranges in
   config.def and constraints between fields; and numbers derived from a configuration. */
#include "model/model.h"

#include <math.h>
#include <string.h>

struct preset {
    const char *name;
    int layers, width, heads, ffn_width;
};
/* clang-format off */
static const struct preset presets[] = {
    {"tiny",  4, 128, 4,  256}, /* Wu et al. 2021, Transformer-Tiny */
    {"small", 6, 256, 4, 1024},
    {"base",  6, 512, 8, 2048}, /* Vaswani et al. 2017, table 3 */
};
/* clang-format on */

static rapt_status no_preset(const char *name, rapt_message *why)
{
    char names[100] = "";
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        strncat(names, i ? ", " : "", sizeof names - strlen(names) - 1);
        strncat(names, presets[i].name, sizeof names - strlen(names) - 1);
    }
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "there is no preset %.60s; choose one of %s", name,
                      names);
}

rapt_status rapt_config_preset(rapt_config *config, const char *name, int vocab, rapt_message *why)
{
    if (!name) return rapt__fail(why, RAPT_BAD_ARGUMENT, "rapt_config_preset: name is NULL");
    const struct preset *p = presets, *end = presets + sizeof presets / sizeof *presets;
    while (p < end && strcmp(name, p->name) != 0) p++;
    if (p == end) return no_preset(name, why);
    const rapt_config own = {.source_vocab = vocab,
                             .target_vocab = vocab,
                             .positions = 512,
                             .width = p->width,
                             .heads = p->heads,
                             .ffn_width = p->ffn_width,
                             .encoder_layers = p->layers,
                             .decoder_layers = p->layers,
                             .tie = RAPT_TIE_ALL};
    return rapt__struct_write(config, &own, sizeof own, "rapt_config", why);
}

/* ---- ranges ---- */

enum {
    MAX_POSITIONS = 1 << 26,
    MAX_ROWS = 1 << 20,
    MAX_WIDTH = 1 << 16,
    MAX_DISTANCE = (1 << 15) - 1
};

static rapt_status check_field(const rapt_config *c, int i, rapt_message *why)
{
    const rapt_config_field *f = rapt_config_field_at(i);
    bool is_float = f->type == RAPT_FIELD_TYPE_FLOAT;
    double value = is_float ? (double)rapt__config_get_float(c, i) : rapt__config_get(c, i);
    bool negative = signbit(value) && !signbit(f->min); /* rejects -0 where min is 0 */
    if (value >= f->min && value <= f->max && !negative) return RAPT_OK;
    char text[FLOAT_TEXT], min[FLOAT_TEXT], max[FLOAT_TEXT];
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is %s; it must be %s to %s", f->name,
                      rapt__number_write(value, text), rapt__number_write(f->min + 0.0, min),
                      rapt__number_write(f->max, max));
}

/* Checks that a field of the encoder or decoder is set if and only if the model has that half. */
static rapt_status check_half(const char *half, bool there, const char *field, int value,
                              rapt_message *why)
{
    if (there == (value > 0)) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is %d in a model with%s %s", field, value,
                      there ? "" : "out", half);
}

static rapt_status check_ranges(const rapt_config *c, rapt_message *why)
{
    bool encoder = c->kind != RAPT_KIND_DECODER_ONLY, decoder = c->kind != RAPT_KIND_ENCODER_ONLY;
    rapt_status status = RAPT_OK;
    for (int i = 0; !status && i < RAPT_CONFIG_FIELDS; i++) status = check_field(c, i, why);
    if (!status && c->source_width && c->source_vocab)
        status = rapt__fail(why, RAPT_BAD_ARGUMENT,
                            "source_width is %d and source_vocab is %d; one of them must be 0, "
                            "since the source is either vectors or tokens",
                            c->source_width, c->source_vocab);
    if (!status && c->source_width)
        status = check_half("an encoder", encoder, "source_width", c->source_width, why);
    else if (!status)
        status = check_half("an encoder", encoder, "source_vocab", c->source_vocab, why);
    if (!status)
        status = check_half("an encoder", encoder, "encoder_layers", c->encoder_layers, why);
    if (!status)
        status = check_half("a decoder", decoder, "decoder_layers", c->decoder_layers, why);
    if (!status && !c->target_vocab && (decoder || c->output_bias))
        status = rapt__fail(why, RAPT_BAD_ARGUMENT, "target_vocab is 0, but the model has %s",
                            decoder ? "a decoder" : "an output bias");
    for (size_t i = 0; !status && i < sizeof c->reserved / sizeof *c->reserved; i++)
        if (c->reserved[i])
            status = rapt__fail(why, RAPT_BAD_ARGUMENT, "rapt_config.reserved must be 0");
    return status;
}

/* Limits products of sizes, and checks that location_filter_width is odd. */
static rapt_status check_attention(const rapt_config *c, rapt_message *why)
{
    long long heads = c->heads, maps = rapt__maps(c);
    if (c->location_filter_width > 0 && c->location_filter_width % 2 == 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "location_filter_width is %d; it must be odd",
                          c->location_filter_width);
    if (maps * c->score_hidden > MAX_ROWS)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "score_hidden %d times the number of attention maps %d is more than %d",
                          c->score_hidden, rapt__maps(c), MAX_ROWS);
    if (heads * c->head_width > MAX_ROWS)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "head_width %d times heads %d is more than %d",
                          c->head_width, c->heads, MAX_ROWS);
    if (maps * c->center_hidden > MAX_ROWS)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "center_hidden %d times the number of attention maps %d is more than %d",
                          c->center_hidden, rapt__maps(c), MAX_ROWS);
    return RAPT_OK;
}

static rapt_status check_differential(const rapt_config *c, rapt_message *why)
{
    int K = rapt__head_width(c);
    bool cross = c->kind == RAPT_KIND_ENCODER_DECODER;
    if (!c->differential) return RAPT_OK;
    if (K % 2 != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "differential needs heads of an even width, but their width is %d", K);
    const bool self = rapt__normalizer_is_hard(c->self_normalizer);
    if (self || (cross && rapt__normalizer_is_hard(c->cross_normalizer)))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "differential subtracts weights, but %s is %s, which chooses one key",
                          self ? "self_normalizer" : "cross_normalizer",
                          rapt_normalizer_name(self ? c->self_normalizer : c->cross_normalizer));
    return RAPT_OK;
}

/* Returns the name of a field whose value cannot be combined with latent rows, and sets *needed to
   what the field must be. Returns NULL if there is no such field; other checks reject further
   combinations. */
static const char *not_latent(const rapt_config *c, const char **needed)
{
    bool both = c->kind == RAPT_KIND_ENCODER_DECODER;
    const rapt_attention self = {.locality = c->self_locality},
                         cross = {.locality = c->cross_locality};
    *needed = "a dot product of queries and keys";
    if (!rapt__score_is_plain(c->self_score)) return "self_score";
    if (both && !rapt__score_is_plain(c->cross_score)) return "cross_score";
    *needed = "one that does not read the queries of heads";
    if (rapt__locality_centered(&self)) return "self_locality";
    if (both && rapt__locality_centered(&cross)) return "cross_locality";
    *needed = "0";
    return c->key_heads        ? "key_heads"
           : c->query_key_norm ? "query_key_norm"
           : c->differential   ? "differential"
                               : NULL;
}

static rapt_status check_latent(const rapt_config *c, rapt_message *why)
{
    int R = c->latent_width, K = rapt__head_width(c), P = rapt__latent_rotary(c, false);
    int width = c->latent_query_width;
    if (!R && width)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "latent_query_width is %d; without latent_width it must be 0", width);
    if (!R) return RAPT_OK;
    const char *needed, *field = not_latent(c, &needed);
    if (field)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "latent_width is %d, so %s must be %s", R, field,
                          needed);
    if (R % LANES != 0 || K % LANES != 0)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "latent_width is %d and the width of a head is %d; both must be multiples "
            "of %d",
            R, K, LANES);
    if (P + R > MAX_WIDTH || ((long long)P + R + K) * c->heads + width > MAX_ROWS)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "latent_width is %d, which is too large with %d rotated elements and %d heads of "
            "width %d",
            R, P, c->heads, K);
    return RAPT_OK;
}

static rapt_status check_talking(const rapt_config *c, rapt_message *why)
{
    bool cross = c->kind == RAPT_KIND_ENCODER_DECODER;
    if (!c->talking_heads) return RAPT_OK;
    if (c->differential)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "talking_heads mixes the weights of all heads, but differential subtracts the "
            "two maps of each head; set one of them to 0");
    if ((long long)c->heads * c->heads > MAX_ROWS)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "talking_heads is 1, but heads is %d; the maximum is 1024", c->heads);
    if (c->latent_width)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "talking_heads is 1, but latent_width is %d; set one of them to 0",
                          c->latent_width);
    if (c->relative_bias >= RAPT_RELATIVE_BIAS_SHAW_KEYS)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "talking_heads is 1, but relative_bias is %s, whose vectors cannot be "
                          "combined with it",
                          rapt_config_field_at(CONFIG_relative_bias)->word((int)c->relative_bias));
    const rapt_attention scores[] = {{.score = c->self_score}, {.score = c->cross_score}};
    for (int i = 0; i < (cross ? 2 : 1); i++)
        if (rapt__score_recurrent(&scores[i]))
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "talking_heads is 1, but %s is %s, which reads the weights of the "
                              "previous query",
                              i ? "cross_score" : "self_score", rapt_score_name(scores[i].score));
    return RAPT_OK;
}

static rapt_status check_rotary(const rapt_config *c, rapt_message *why)
{
    int K = c->latent_width ? MAX_WIDTH : rapt__map_width(c);
    int rotated = c->rotary_width ? c->rotary_width : rapt__map_width(c);
    if (!c->rotary) return RAPT_OK;
    if (rapt__score_is_additive(c->self_score))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "rotary needs a score that is a dot product; self_score is %s",
                          rapt_score_name(c->self_score));
    if (rotated < 2 || rotated > K || rotated % 2 != 0)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "rotary_width is %d; it must be even, at least 2 and at most the width of queries and "
            "keys, %d",
            rotated, K);
    if (c->rotary_scaling && rapt__config_float(c, CONFIG_rotary_factor) < 1)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "rotary_factor is %g; with rotary_scaling it must be 0 or at least 1",
                          (double)c->rotary_factor);
    if (c->rotary_scaling == RAPT_ROTARY_SCALING_NTK && rotated < 4)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "rotary_width is %d; with rotary_scaling ntk it must be at least 4",
                          rotated);
    return RAPT_OK;
}

static rapt_status check_distances(const rapt_config *c, rapt_message *why)
{
    int distance = rapt__config_int(c, CONFIG_relative_distance);
    const char *name = rapt_config_field_at(CONFIG_relative_bias)->word((int)c->relative_bias);
    if (!rapt__score_is_plain(c->self_score))
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "relative_bias %s needs dot products of queries and keys; self_score is %s", name,
            rapt_score_name(c->self_score));
    if (c->rotary)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "rotary and relative_bias %s are mutually exclusive", name);
    if (c->latent_width)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "latent_width and relative_bias %s are mutually exclusive", name);
    int buckets = c->relative_buckets;
    bool bucketed = c->relative_bias == RAPT_RELATIVE_BIAS_DEBERTA && buckets;
    if (bucketed && (buckets < 4 || buckets % 2 != 0))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "relative_buckets is %d; with relative_bias %s it must be 0, or even and "
                          "at least 4",
                          buckets, name);
    if (bucketed && distance < buckets - 1)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "relative_distance is %d; it must be at least relative_buckets - 1, %d",
                          distance, buckets - 1);
    if (distance > MAX_DISTANCE)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "relative_distance is %d; with relative_bias %s it must be at most %d",
                          distance, name, MAX_DISTANCE);
    if (c->relative_bias == RAPT_RELATIVE_BIAS_TRANSFORMER_XL && c->width % 2 != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "width is %d, but relative_bias %s needs an even width", c->width, name);
    if ((2 * (long long)distance + 1) * c->width > MAX_POSITIONS)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "relative_distance %d times width %d is more than %d", distance, c->width,
                          MAX_POSITIONS / 2);
    return RAPT_OK;
}

static rapt_status check_relative(const rapt_config *c, rapt_message *why)
{
    if (c->relative_bias >= RAPT_RELATIVE_BIAS_SHAW_KEYS) return check_distances(c, why);
    int buckets = rapt__config_int(c, CONFIG_relative_buckets);
    int distance = rapt__config_int(c, CONFIG_relative_distance);
    if (buckets < 4 || buckets % 2 != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "relative_buckets is %d; it must be even and at least 4", buckets);
    if (distance <= buckets / 2)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "relative_distance is %d; it must be more than half of "
                          "relative_buckets, %d",
                          distance, buckets);
    return RAPT_OK;
}

/* Rejects latent rows combined with linear attention and, in a model whose only attention is
   linear, any field of ordinary self-attention that is not 0. */
static rapt_status check_linear_decoder(const rapt_config *c, rapt_message *why)
{
    static const enum config_field meaningless[] = {
        CONFIG_self_score,     CONFIG_self_locality, CONFIG_self_normalizer, CONFIG_rotary,
        CONFIG_query_key_norm, CONFIG_relative_bias, CONFIG_score_cap,       CONFIG_differential};
    if (!rapt__decoder_is_linear(c)) return RAPT_OK;
    if (c->latent_width)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "latent_width is %d; it must be 0 with linear attention in the decoder",
                          c->latent_width);
    if (c->kind != RAPT_KIND_DECODER_ONLY) return RAPT_OK;
    for (size_t i = 0; i < sizeof meaningless / sizeof *meaningless; i++)
        if (rapt__config_get(c, (int)meaningless[i]))
            return rapt__fail(
                why, RAPT_BAD_ARGUMENT,
                "%s must be 0: with decoder_recurrence %s, the model has no attention "
                "with scores",
                rapt_config_field_at((int)meaningless[i])->name,
                rapt_config_field_at(CONFIG_decoder_recurrence)->word((int)c->decoder_recurrence));
    return RAPT_OK;
}

rapt_status rapt__config_check(const rapt_config *c, rapt_message *why)
{
    rapt_status status = check_ranges(c, why);
    if (!status) status = check_attention(c, why);
    if (!status) status = check_rotary(c, why);
    if (!status) status = check_relative(c, why);
    if (status) return status;
    if (!c->head_width && c->width % c->heads != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "heads is %d, which does not divide width %d",
                          c->heads, c->width);
    status = check_differential(c, why);
    if (!status) status = check_latent(c, why);
    if (!status) status = check_linear_decoder(c, why);
    if (!status) status = check_talking(c, why);
    if (!status) status = rapt__monotonic_check(c, why);
    if (status) return status;
    if (c->forget_gate && (c->kind == RAPT_KIND_ENCODER_ONLY || c->decoder_recurrence))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "forget_gate is 1, but the model has no decoder with self-attention");
    if (c->heads % rapt__key_heads(c) != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "key_heads is %d, which does not divide heads %d",
                          c->key_heads, c->heads);
    if (c->pooling && c->kind != RAPT_KIND_ENCODER_ONLY)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "pooling is %s, but the model has a decoder",
                          rapt_config_field_at(CONFIG_pooling)->word((int)c->pooling));
    if (c->pooler && !(c->pooling && c->target_vocab))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "pooler is 1, but the model does not pool or has no output");
    if (c->token_types && !c->source_vocab)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "token_types is %d, but the model reads no source tokens",
                          c->token_types);
    if (c->position <= RAPT_POSITION_CONCATENATED_N1 && c->width % 2 != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "width is %d, but sinusoids need an even width",
                          c->width);
    if (c->first_position && c->position > RAPT_POSITION_CONCATENATED_N1)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "first_position is %d, but position is %s",
                          c->first_position,
                          rapt_config_field_at(CONFIG_position)->word((int)c->position));
    if (c->alignment_layer && c->kind != RAPT_KIND_ENCODER_DECODER)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "alignment_layer is %d, but the model has no cross-attention",
                          c->alignment_layer);
    if (c->alignment_layer > c->decoder_layers)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "alignment_layer is %d, but decoder_layers is %d",
                          c->alignment_layer, c->decoder_layers);
    if (c->alignment_heads && !c->alignment_layer)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "alignment_heads is %d, but alignment_layer is 0",
                          c->alignment_heads);
    if (c->alignment_heads > c->heads)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "alignment_heads is %d, but heads is %d",
                          c->alignment_heads, c->heads);
    for (int i = CONFIG_decoder_start; i <= CONFIG_decoder_recurrence; i++)
        if (rapt__config_get(c, i) && c->kind == RAPT_KIND_ENCODER_ONLY)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is %s, but the model has no decoder",
                              rapt_config_field_at(i)->name,
                              rapt_config_field_at(i)->word(rapt__config_get(c, i)));
    if (c->tie == RAPT_TIE_ALL && c->source_vocab && c->source_vocab != c->target_vocab)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "tie is all, but source_vocab %d and target_vocab %d differ",
                          c->source_vocab, c->target_vocab);
    if ((long long)c->positions * c->width > MAX_POSITIONS)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "positions %d times width %d is more than %d",
                          c->positions, c->width, MAX_POSITIONS);
    return RAPT_OK;
}

rapt_status rapt_config_check(const rapt_config *config, rapt_message *why)
{
    rapt_config own;
    rapt_status status = rapt__struct_read(&own, sizeof own, config, "rapt_config", why);
    return status ? status : rapt__config_check(&own, why);
}

float rapt__epsilon(const rapt_config *config)
{
    return rapt__config_float(config, CONFIG_norm_epsilon);
}

int rapt__key_heads(const rapt_config *config)
{
    if (config->latent_width) return 1;
    return config->key_heads ? config->key_heads : config->heads;
}

int rapt__head_width(const rapt_config *config)
{
    return config->head_width ? config->head_width : config->width / config->heads;
}

int rapt__latent_rotary(const rapt_config *c, bool cross)
{
    if (!c->latent_width || !c->rotary || cross) return 0;
    return c->rotary_width ? c->rotary_width : rapt__head_width(c);
}

struct head_rows rapt__head_rows(const rapt_config *c, bool cross)
{
    int K = rapt__head_width(c), P = rapt__latent_rotary(c, cross), G = rapt__key_heads(c) * K;
    int queries = c->latent_query_width ? c->latent_query_width : c->heads * (P + K);
    if (c->latent_width) return (struct head_rows){queries, P + c->latent_width, 0};
    const int kinds = cross && rapt__monotonic_is_soft(c) ? 2 : 1;
    return (struct head_rows){kinds * c->heads * K, G, kinds * G};
}

int rapt__latent_queries_row(const rapt_config *c, bool cross)
{
    return c->heads * (rapt__latent_rotary(c, cross) + rapt__head_width(c));
}

int rapt__gates(const rapt_config *config)
{
    if (config->output_gate == RAPT_OUTPUT_GATE_NONE) return 0;
    bool whole = config->output_gate == RAPT_OUTPUT_GATE_HEAD;
    return config->heads * (whole ? 1 : rapt__head_width(config));
}

int rapt__forget_gates(const rapt_config *config, bool decoder)
{
    return decoder && config->forget_gate ? rapt__maps(config) : 0;
}

bool rapt__decoder_is_linear(const rapt_config *config)
{
    return config->decoder_recurrence >= RAPT_RECURRENCE_LINEAR;
}

bool rapt__linear_normed(const rapt_config *config)
{
    return config->decoder_recurrence > RAPT_RECURRENCE_LINEAR;
}

int rapt__linear_decays(const rapt_config *config)
{
    const rapt_recurrence kind = config->decoder_recurrence;
    bool decays = kind == RAPT_RECURRENCE_GATED || kind == RAPT_RECURRENCE_GATED_DELTA;
    return decays ? rapt__key_heads(config) : 0;
}

int rapt__linear_rates(const rapt_config *config)
{
    return config->decoder_recurrence >= RAPT_RECURRENCE_DELTA ? rapt__key_heads(config) : 0;
}

int rapt__maps(const rapt_config *config)
{
    return config->heads * (config->differential ? 2 : 1);
}

int rapt__key_maps(const rapt_config *config)
{
    return rapt__key_heads(config) * (config->differential ? 2 : 1);
}

int rapt__map_width(const rapt_config *config)
{
    return rapt__head_width(config) / (config->differential ? 2 : 1);
}
