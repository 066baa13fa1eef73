/* attending.c - what a configuration says about the attention of a sublayer: its score, how far a
   query sees, how scores become weights, and where what they learn lies in a block. */
#include "model/model.h"

enum { CHANNELS = 4, TAPS = 7 };
static const float radius = 4;

rapt_learned rapt__learned_sizes(const rapt_config *c)
{
    int K = c->width / c->heads;
    return (rapt_learned){.hidden = c->score_hidden ? c->score_hidden : K,
                          .positions = c->positions,
                          .channels = c->location_channels ? c->location_channels : CHANNELS,
                          .taps = c->location_taps ? c->location_taps : TAPS,
                          .centre_hidden = c->centre_hidden ? c->centre_hidden : K};
}

struct learns rapt__attention_learns(const rapt_config *c, bool cross)
{
    rapt_score score = cross ? c->cross_score : c->self_score;
    rapt_reach reach = cross ? c->cross_reach : c->self_reach;
    bool aware = score == RAPT_SCORE_LOCATION_AWARE;
    return (struct learns){.general = score == RAPT_SCORE_GENERAL,
                           .additive = aware || score == RAPT_SCORE_ADDITIVE,
                           .aware = aware,
                           .cosine = score == RAPT_SCORE_COSINE,
                           .location = score == RAPT_SCORE_LOCATION,
                           .centred = reach == RAPT_REACH_LOCAL_P};
}

bool rapt__attention_samples(const rapt_config *c)
{
    bool cross = c->kind == RAPT_ENCODER_DECODER && c->cross_weighing == RAPT_WEIGH_SAMPLE;
    return cross || c->self_weighing == RAPT_WEIGH_SAMPLE;
}

static const float *at(const float *block, size_t place)
{
    return place ? block + place : NULL;
}

static void point(rapt_learned *l, const struct score_place *p, const float *block)
{
    l->query_weight = at(block, p->query_weight);
    l->key_weight = at(block, p->key_weight);
    l->hidden_bias = at(block, p->hidden_bias);
    l->hidden_vector = at(block, p->hidden_vector);
    l->sharpness = at(block, p->sharpness);
    l->position = at(block, p->position);
    l->filters = at(block, p->filters);
    l->feature_weight = at(block, p->feature_weight);
    l->centre_weight = at(block, p->centre_weight);
    l->centre_vector = at(block, p->centre_vector);
}

static float *to(float *gradients, size_t place)
{
    return place ? gradients + place : NULL;
}

rapt_gradients rapt__gradients_of(const struct score_place *p, float *gradients)
{
    return (rapt_gradients){.query_weight = to(gradients, p->query_weight),
                            .key_weight = to(gradients, p->key_weight),
                            .hidden_bias = to(gradients, p->hidden_bias),
                            .hidden_vector = to(gradients, p->hidden_vector),
                            .sharpness = to(gradients, p->sharpness),
                            .position = to(gradients, p->position),
                            .filters = to(gradients, p->filters),
                            .feature_weight = to(gradients, p->feature_weight),
                            .centre_weight = to(gradients, p->centre_weight),
                            .centre_vector = to(gradients, p->centre_vector)};
}

rapt_attention rapt__attention_of(const rapt_config *c, const struct attending *which)
{
    int K = c->width / c->heads;
    bool cross = which->cross;
    float reach = cross ? c->cross_radius : c->self_radius;
    rapt_attention a = {.heads = c->heads, .key_heads = c->key_heads};
    a.key_width = a.value_width = K;
    a.out = (rapt_stride){0, K, c->width};
    a.score = cross ? c->cross_score : c->self_score;
    a.reach = cross ? c->cross_reach : c->self_reach;
    a.radius = reach > 0 ? reach : radius;
    a.weighing = cross ? c->cross_weighing : c->self_weighing;
    a.temperature = cross ? c->cross_temperature : c->self_temperature;
    a.noiseless = !which->learning;
    a.mask.corner = RAPT_CORNER_TOP_LEFT;
    a.mask.causal = which->decoder && !cross;
    a.learned = rapt__learned_sizes(c);
    if (which->place) point(&a.learned, which->place, which->block);
    return a;
}

static size_t bytes_of(const rapt_config *c, const struct attending *which, int batch, int rows,
                       int keys, int threads)
{
    rapt_attention like = rapt__attention_of(c, which);
    like.queries = like.keys = c->positions;
    like.threads = threads;
    return rapt__attention_room_like(&like, batch, rows, keys);
}

size_t rapt__attention_bytes(const rapt_config *c, bool decoder, int batch, int rows,
                             int source_rows, int threads)
{
    const struct attending self = {.decoder = decoder}, cross = {.decoder = true, .cross = true};
    size_t one = bytes_of(c, &self, batch, rows, rows, threads), two = 0;
    if (source_rows) two = bytes_of(c, &cross, batch, rows, source_rows, threads);
    if (rows && (!one || (source_rows && !two))) return SIZE_MAX; /* more than fits */
    return one > two ? one : two;
}
