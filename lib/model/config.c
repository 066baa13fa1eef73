/* config.c - presets, and what makes a configuration impossible. */
#include "model/model.h"

#include <limits.h>
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

rapt_status rapt_config_preset(rapt_config *config, const char *name, int vocab)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        const struct preset *p = &presets[i];
        if (!name || strcmp(name, p->name) != 0) continue;
        *config = (rapt_config){.source_vocab = vocab,
                                .target_vocab = vocab,
                                .positions = 512,
                                .width = p->width,
                                .heads = p->heads,
                                .ffn_width = p->ffn_width,
                                .encoder_layers = p->layers,
                                .decoder_layers = p->layers,
                                .tie = RAPT_TIE_ALL};
        return RAPT_OK;
    }
    return RAPT_BAD_ARGUMENT;
}

static rapt_status between(const char *field, long long value, long long min, long long max,
                           rapt_message *why)
{
    if (value >= min && value <= max) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is %lld, it must be %lld to %lld", field, value,
                      min, max);
}

enum {
    MAX_TOKENS = 1 << 24,
    MAX_WIDTH = 1 << 16,
    MAX_LAYERS = 1 << 10,
    MAX_POSITIONS = 1 << 26,
    MAX_FILTER_WIDTH = 1 << 10,
    MAX_ROWS = 1 << 20
};

static rapt_status check_ranges(const rapt_config *c, rapt_message *why)
{
    bool encoder = c->kind != RAPT_KIND_DECODER_ONLY, decoder = c->kind != RAPT_KIND_ENCODER_ONLY;
    const struct {
        const char *field;
        long long value, min, max;
    } ranges[] = {
        {"kind", c->kind, RAPT_KIND_ENCODER_DECODER, RAPT_KIND_DECODER_ONLY},
        {"source_vocab", c->source_vocab, encoder, encoder ? MAX_TOKENS : 0},
        {"target_vocab", c->target_vocab, 1, MAX_TOKENS},
        {"positions", c->positions, 1, MAX_TOKENS},
        {"width", c->width, 1, MAX_WIDTH},
        {"heads", c->heads, 1, MAX_WIDTH},
        {"key_heads", c->key_heads, 0, MAX_WIDTH},
        {"ffn_width", c->ffn_width, 0, 1 << 20},
        {"encoder_layers", c->encoder_layers, encoder, encoder ? MAX_LAYERS : 0},
        {"decoder_layers", c->decoder_layers, decoder, decoder ? MAX_LAYERS : 0},
        {"self_score", c->self_score, 0, RAPT_SCORE_COUNT - 1},
        {"cross_score", c->cross_score, 0, RAPT_SCORE_COUNT - 1},
        {"norm_order", c->norm_order, RAPT_NORM_ORDER_POST, RAPT_NORM_ORDER_PRE},
        {"activation", c->activation, RAPT_ACTIVATION_RELU, RAPT_ACTIVATION_SILU},
        {"position", c->position, RAPT_POSITION_INTERLEAVED, RAPT_POSITION_NONE},
        {"tie", c->tie, RAPT_TIE_NONE, RAPT_TIE_ALL},
        {"self_locality", c->self_locality, 0, RAPT_LOCALITY_COUNT - 1},
        {"cross_locality", c->cross_locality, 0, RAPT_LOCALITY_COUNT - 1},
        {"self_normalizer", c->self_normalizer, 0, RAPT_NORMALIZER_COUNT - 1},
        {"cross_normalizer", c->cross_normalizer, 0, RAPT_NORMALIZER_COUNT - 1},
        {"score_hidden", c->score_hidden, 0, MAX_WIDTH},
        {"center_hidden", c->center_hidden, 0, MAX_WIDTH},
        {"location_channels", c->location_channels, 0, MAX_FILTER_WIDTH},
        {"location_filter_width", c->location_filter_width, 0, MAX_FILTER_WIDTH},
        {"output_bias", c->output_bias, 0, 1},
        {"plain_embedding", c->plain_embedding, 0, 1},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        rapt_status status =
            between(ranges[i].field, ranges[i].value, ranges[i].min, ranges[i].max, why);
        if (status) return status;
    }
    return RAPT_OK;
}

static rapt_status check_size(const char *field, float value, rapt_message *why)
{
    if (!signbit(value) && isfinite(value)) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is %g, it must not be negative", field,
                      (double)value);
}

/* What no range says about scores, reach and weighing. */
static rapt_status check_attention(const rapt_config *c, rapt_message *why)
{
    long long heads = c->heads;
    rapt_status status = check_size("self_radius", c->self_radius, why);
    if (!status) status = check_size("cross_radius", c->cross_radius, why);
    if (!status) status = check_size("self_temperature", c->self_temperature, why);
    if (!status) status = check_size("cross_temperature", c->cross_temperature, why);
    if (status) return status;
    if (c->location_filter_width > 0 && c->location_filter_width % 2 == 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "location_filter_width is %d, it must be odd",
                          c->location_filter_width);
    if (heads * c->score_hidden > MAX_ROWS)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "score_hidden %d times heads %d is more than %d",
                          c->score_hidden, c->heads, MAX_ROWS);
    if (heads * c->center_hidden > MAX_ROWS)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "center_hidden %d times heads %d is more than %d",
                          c->center_hidden, c->heads, MAX_ROWS);
    return RAPT_OK;
}

rapt_status rapt_config_check(const rapt_config *c, rapt_message *why)
{
    rapt_status status = check_ranges(c, why);
    if (!status) status = check_attention(c, why);
    if (status) return status;
    if (c->width % c->heads != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "heads is %d, which does not divide width %d",
                          c->heads, c->width);
    if (c->heads % rapt__key_heads(c) != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "key_heads is %d, which does not divide heads %d",
                          c->key_heads, c->heads);
    if (c->position <= RAPT_POSITION_CONCATENATED_N1 && c->width % 2 != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "width is %d, sinusoids need an even one",
                          c->width);
    if (c->tie == RAPT_TIE_ALL && c->source_vocab && c->source_vocab != c->target_vocab)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "tie is all, but source_vocab %d and target_vocab %d differ",
                          c->source_vocab, c->target_vocab);
    if ((long long)c->positions * c->width > MAX_POSITIONS)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "positions %d times width %d is more than %d",
                          c->positions, c->width, MAX_POSITIONS);
    if (!(c->norm_epsilon >= 0 && c->norm_epsilon < 1))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "norm_epsilon is %g, it must be 0 to 1",
                          (double)c->norm_epsilon);
    return RAPT_OK;
}

float rapt__epsilon(const rapt_config *config)
{
    return config->norm_epsilon > 0 ? config->norm_epsilon : 1e-5f;
}

int rapt__key_heads(const rapt_config *config)
{
    return config->key_heads ? config->key_heads : config->heads;
}
