/* attention_config.c - derives the rapt_attention of a sublayer from a configuration and a block of
   parameters: its score, locality, normalizer and positions, with their learned arrays. */
#include "model/sublayer.h"

#include <math.h>

/* Returns the sizes of the learned arrays; the pointers to the arrays are NULL. */
static rapt_attention_parameters learned_of(const rapt_config *c)
{
    int K = rapt__head_width(c);
    return (rapt_attention_parameters){.hidden = c->score_hidden ? c->score_hidden : K,
                                       .positions = c->positions,
                                       .channels = rapt__config_int(c, CONFIG_location_channels),
                                       .filter_width =
                                           rapt__config_int(c, CONFIG_location_filter_width),
                                       .center_hidden = c->center_hidden ? c->center_hidden : K};
}

bool rapt__attention_normalizes(const rapt_config *c, rapt_normalizer by)
{
    bool cross = c->kind == RAPT_KIND_ENCODER_DECODER && c->cross_normalizer == by;
    return cross || c->self_normalizer == by;
}

rapt_gradients rapt__gradients_of(const struct score_offsets *offset, float *gradients)
{
    rapt_gradients d = {0};
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++)
        if (offset->array[i]) d.parameters[i] = gradients + offset->array[i];
    if (offset->talking_scores) d.talking_scores = gradients + offset->talking_scores;
    if (offset->talking_weights) d.talking_weights = gradients + offset->talking_weights;
    return d;
}

/* Placeholders for arrays that are set later, or that are never read because only sizes are
   computed. NULL would mean that the problem has no such array. */
static const float unread[1];
static const int no_buckets[1];

static rapt_relative relative_of(const rapt_config *c, const struct attention_use *which)
{
    const float *numbers = which->relative ? which->relative : unread;
    rapt_relative r = {.rotary = c->rotary,
                       .rotary_width = c->rotary_width,
                       .rotary_base = c->rotary_base,
                       .rotary_scaling = c->rotary_scaling,
                       .rotary_factor = c->rotary_factor,
                       .rotary_positions = c->rotary_positions ? c->rotary_positions : c->positions,
                       .rotary_magnitude = c->rotary_magnitude,
                       .buckets = rapt__config_int(c, CONFIG_relative_buckets),
                       .distance = rapt__config_int(c, CONFIG_relative_distance),
                       .bidirectional = !which->decoder};
    if (c->relative_bias == RAPT_RELATIVE_BIAS_T5)
        r.table = numbers;
    else if (c->relative_bias && c->relative_bias < RAPT_RELATIVE_BIAS_T5)
        r.slopes = numbers;
    return r;
}

/* Adapts a problem to latent rows: a key consists of P rotated elements and a latent row, which is
   also the value, and queries are as wide as keys. The scale is still that of the original queries
   and keys, which have P + K elements. */
static void read_latent_rows(const rapt_config *c, bool cross, rapt_attention *a)
{
    int P = rapt__latent_rotary(c, cross), R = c->latent_width;
    a->key_width = P + R, a->value_width = R;
    a->out = (rapt_stride){0, R, (ptrdiff_t)a->heads * R};
    a->scale = rapt__score_scale(a->score, 0, P + rapt__head_width(c));
    a->relative.rotary_width = P;
}

static const float *array_at(const struct attention_use *which, size_t offset)
{
    return offset ? which->block + offset : unread;
}

/* Returns the distance vectors of self-attention, or a zeroed struct if there are none. Projections
   are set later (rapt__distances_use). */
static rapt_distances distances_of(const rapt_config *c, const struct attention_use *which)
{
    static const struct attention_offsets none;
    const struct attention_offsets *at = which->all ? which->all : &none;
    rapt_distances d = {.before = rapt__distances_before(c),
                        .after = rapt__distances_after(c, which->decoder)};
    if (rapt__distances_rows(c, which->decoder) == 0) return (rapt_distances){0};
    d.keys = array_at(which, at->distance_keys);
    d.shared = c->relative_bias <= RAPT_RELATIVE_BIAS_SHAW;
    if (c->relative_bias == RAPT_RELATIVE_BIAS_SHAW)
        d.values = array_at(which, at->distance_values);
    if (c->relative_bias == RAPT_RELATIVE_BIAS_DEBERTA) d.queries = unread;
    if (rapt__distances_buckets(c)) {
        d.buckets = which->buckets ? which->buckets : no_buckets;
        d.bucket_count = rapt__distances_rows(c, which->decoder);
    }
    if (c->relative_bias != RAPT_RELATIVE_BIAS_TRANSFORMER_XL) return d;
    d.content_bias = array_at(which, at->content_bias);
    d.position_bias = array_at(which, at->position_bias);
    return d;
}

/* Returns the scale of scores, or 0 for the default. DeBERTa's scores are sums of three terms, so
   their scale is divided by sqrt(3). */
static float scale_of(const rapt_config *c, const rapt_attention *a)
{
    if (c->relative_bias != RAPT_RELATIVE_BIAS_DEBERTA) return 0;
    return (float)((double)rapt__score_scale(a->score, 0, a->key_width) / sqrt(3));
}

rapt_attention rapt__attention_of(const rapt_config *c, const struct attention_use *which)
{
    int K = rapt__head_width(c);
    bool cross = which->cross;
    rapt_attention a = {.heads = rapt__maps(c), .key_heads = rapt__key_maps(c)};
    a.key_width = rapt__map_width(c), a.value_width = K;
    a.out = (rapt_stride){0, K, (ptrdiff_t)a.heads * K};
    a.score = cross ? c->cross_score : c->self_score;
    a.locality = cross ? c->cross_locality : c->self_locality;
    a.radius = rapt__config_float(c, cross ? CONFIG_cross_radius : CONFIG_self_radius);
    a.sparse.global_count = rapt__config_int(c, CONFIG_global_tokens);
    a.normalizer = cross ? c->cross_normalizer : c->self_normalizer;
    a.temperature = cross ? c->cross_temperature : c->self_temperature;
    a.noiseless = !which->learning;
    a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    a.mask.causal = which->decoder && !cross;
    a.cap = c->score_cap;
    if (!cross) a.relative = relative_of(c, which);
    if (!cross) a.distances = distances_of(c, which), a.scale = scale_of(c, &a);
    if (!cross && rapt__forget_gates(c, which->decoder)) a.log_forget = unread;
    a.log_forget_stride = (rapt_stride){0, 1, a.heads};
    if (c->latent_width) read_latent_rows(c, cross, &a);
    a.parameters = learned_of(c);
    for (int i = 0; which->offset && i < RAPT_ATTENTION_PARAMETER_COUNT; i++)
        if (which->offset->array[i]) a.parameters.array[i] = which->block + which->offset->array[i];
    if (!c->talking_heads) return a;
    a.talking_scores = which->offset ? which->block + which->offset->talking_scores : unread;
    a.talking_weights = which->offset ? which->block + which->offset->talking_weights : unread;
    return a;
}

size_t rapt__attention_bytes_of(const rapt_config *c, const struct attention_use *which, int batch,
                                int rows, int keys, int threads)
{
    if (which->cross && c->monotonic)
        return rapt__monotonic_bytes(c, batch, rows, keys, true, threads);
    rapt_attention spec = rapt__attention_of(c, which);
    spec.queries = spec.keys = c->positions;
    spec.threads = threads;
    return rapt__bytes_or_max(rapt__attention_workspace_spec(&spec, batch, rows, keys,
                                                             which->cross && c->alignment_layer));
}

size_t rapt__attention_bytes(const rapt_config *c, bool decoder, int batch, int rows,
                             int source_rows, int threads)
{
    const struct attention_use self = {.decoder = decoder},
                               cross = {.decoder = true, .cross = true};
    int longest = c->positions ? rapt__min(rows, c->positions) : rows;
    if (!rows) return 0;
    size_t one = decoder && rapt__decoder_is_linear(c)
                     ? rapt__linear_bytes(c, longest, true, threads)
                     : rapt__attention_bytes_of(c, &self, batch, rows, rows, threads);
    if (!source_rows) return one;
    return rapt__max_size(one,
                          rapt__attention_bytes_of(c, &cross, batch, rows, source_rows, threads));
}

void rapt__attention_learning(rapt_attention *a, const struct pass *p)
{
    if (!p->learning) return;
    a->expected = p->expected;
    if (a->normalizer != RAPT_NORMALIZER_ARGMAX || p->anneal == 0) return;
    a->normalizer = RAPT_NORMALIZER_GUMBEL_SOFTMAX;
    a->noiseless = 1, a->temperature = 1 / p->anneal, a->dropout = 0;
}
