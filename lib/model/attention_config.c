/* attention_config.c - what a configuration says about the attention of a sublayer: its score, how
   far a query sees, how scores become weights, and where what they learn lies in a block. */
#include "model/model.h"

enum { CHANNELS = 4, FILTER_WIDTH = 7 };
static const float radius = 4;

rapt_learned rapt__learned_sizes(const rapt_config *c)
{
    int K = c->width / c->heads;
    return (rapt_learned){.hidden = c->score_hidden ? c->score_hidden : K,
                          .positions = c->positions,
                          .channels = c->location_channels ? c->location_channels : CHANNELS,
                          .filter_width =
                              c->location_filter_width ? c->location_filter_width : FILTER_WIDTH,
                          .center_hidden = c->center_hidden ? c->center_hidden : K};
}

struct learns rapt__attention_learns(const rapt_config *c, bool cross)
{
    rapt_score score = cross ? c->cross_score : c->self_score;
    rapt_locality locality = cross ? c->cross_locality : c->self_locality;
    bool aware = score == RAPT_SCORE_LOCATION_AWARE;
    return (struct learns){.general = score == RAPT_SCORE_GENERAL,
                           .additive = aware || score == RAPT_SCORE_ADDITIVE,
                           .aware = aware,
                           .cosine = score == RAPT_SCORE_COSINE,
                           .location = score == RAPT_SCORE_LOCATION,
                           .centerd = locality == RAPT_LOCALITY_LOCAL_P};
}

bool rapt__attention_samples(const rapt_config *c)
{
    bool cross =
        c->kind == RAPT_KIND_ENCODER_DECODER && c->cross_normalizer == RAPT_NORMALIZER_SAMPLE;
    return cross || c->self_normalizer == RAPT_NORMALIZER_SAMPLE;
}

static const float *at(const float *block, size_t offset)
{
    return offset ? block + offset : NULL;
}

static void point(rapt_learned *l, const struct score_offsets *p, const float *block)
{
    l->query_weight = at(block, p->query_weight);
    l->key_weight = at(block, p->key_weight);
    l->hidden_bias = at(block, p->hidden_bias);
    l->hidden_vector = at(block, p->hidden_vector);
    l->inverse_temperature = at(block, p->inverse_temperature);
    l->position = at(block, p->position);
    l->filters = at(block, p->filters);
    l->feature_weight = at(block, p->feature_weight);
    l->center_weight = at(block, p->center_weight);
    l->center_vector = at(block, p->center_vector);
}

static float *to(float *gradients, size_t offset)
{
    return offset ? gradients + offset : NULL;
}

rapt_gradients rapt__gradients_of(const struct score_offsets *p, float *gradients)
{
    return (rapt_gradients){.query_weight = to(gradients, p->query_weight),
                            .key_weight = to(gradients, p->key_weight),
                            .hidden_bias = to(gradients, p->hidden_bias),
                            .hidden_vector = to(gradients, p->hidden_vector),
                            .inverse_temperature = to(gradients, p->inverse_temperature),
                            .position = to(gradients, p->position),
                            .filters = to(gradients, p->filters),
                            .feature_weight = to(gradients, p->feature_weight),
                            .center_weight = to(gradients, p->center_weight),
                            .center_vector = to(gradients, p->center_vector)};
}

rapt_attention rapt__attention_of(const rapt_config *c, const struct attention_use *which)
{
    int K = c->width / c->heads;
    bool cross = which->cross;
    float locality = cross ? c->cross_radius : c->self_radius;
    rapt_attention a = {.heads = c->heads, .key_heads = c->key_heads};
    a.key_width = a.value_width = K;
    a.out = (rapt_stride){0, K, c->width};
    a.score = cross ? c->cross_score : c->self_score;
    a.locality = cross ? c->cross_locality : c->self_locality;
    a.radius = locality > 0 ? locality : radius;
    a.normalizer = cross ? c->cross_normalizer : c->self_normalizer;
    a.temperature = cross ? c->cross_temperature : c->self_temperature;
    a.noiseless = !which->learning;
    a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    a.mask.causal = which->decoder && !cross;
    a.learned = rapt__learned_sizes(c);
    if (which->offset) point(&a.learned, which->offset, which->block);
    return a;
}

static size_t bytes_of(const rapt_config *c, const struct attention_use *which, int batch, int rows,
                       int keys, int threads)
{
    rapt_attention spec = rapt__attention_of(c, which);
    spec.queries = spec.keys = c->positions;
    spec.threads = threads;
    return rapt__attention_workspace_spec(&spec, batch, rows, keys);
}

size_t rapt__attention_bytes(const rapt_config *c, bool decoder, int batch, int rows,
                             int source_rows, int threads)
{
    const struct attention_use self = {.decoder = decoder},
                               cross = {.decoder = true, .cross = true};
    size_t one = bytes_of(c, &self, batch, rows, rows, threads), two = 0;
    if (source_rows) two = bytes_of(c, &cross, batch, rows, source_rows, threads);
    if (rows && (!one || (source_rows && !two))) return SIZE_MAX; /* more than fits */
    return one > two ? one : two;
}
