/* transformer_layers.c - the parameters of a model by name, in double, layer by layer. */
#include "transformer_layers.h"

#include "op.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double *oracle_zeros(int rows, int columns)
{
    return calloc((size_t)rows * (size_t)columns + 1, sizeof(double));
}

int oracle_head_width(const rapt_config *c)
{
    return c->head_width > 0 ? c->head_width : c->width / c->heads;
}

rapt_attention_parameters oracle_learned_of(const rapt_config *c)
{
    int K = oracle_head_width(c);
    return (rapt_attention_parameters){
        .hidden = c->score_hidden > 0 ? c->score_hidden : K,
        .positions = c->positions,
        .channels = c->location_channels > 0 ? c->location_channels : 4,
        .filter_width = c->location_filter_width > 0 ? c->location_filter_width : 7,
        .center_hidden = c->center_hidden > 0 ? c->center_hidden : K};
}

/* Adds what is held fixed to x[size]. The first pass sets it to the differences between
   rounded[size] and x. */
static void hold_rounding(struct oracle_past *past, size_t size, const double *x, double *rounded)
{
    bool first = past->next == past->rounded;
    if (first) {
        past->rounded += size;
        past->rounding = realloc(past->rounding, past->rounded * sizeof(double) + 1);
    }
    for (size_t i = 0; i < size; i++) {
        double *held = past->rounding + past->next++;
        if (first) *held = rounded[i] - x[i];
        rounded[i] = x[i] + *held;
    }
}

void oracle_affine(const struct oracle_model *m, enum oracle_terms terms, int rows, int in, int out,
                   const double *x, const double *w, const double *b, double *y)
{
    double *rounded = oracle_zeros(rows, in);
    float *row = malloc(sizeof *row * (size_t)in), scale, rest_scale;
    int *q = malloc(sizeof *q * (size_t)in), *rest = malloc(sizeof *rest * (size_t)in);
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < in; i++) row[i] = (float)x[r * in + i];
        oracle_quantize(in, row, q, &scale);
        oracle_quantize_rest(in, row, q, rest, &rest_scale);
        if (terms == ONE_TERM) rest_scale = 0;
        for (int i = 0; i < in; i++)
            rounded[r * in + i] = q[i] * (double)scale + rest[i] * (double)rest_scale;
    }
    if (m->past && m->int8) hold_rounding(m->past, (size_t)rows * (size_t)in, x, rounded);
    oracle_linear(rows, in, out, m->int8 ? rounded : x, w, b, y);
    free(rounded);
    free(row);
    free(q);
    free(rest);
}

double *oracle_find(const struct oracle_model *m, const char *name)
{
    for (int i = 0; i < m->count; i++)
        if (strcmp(m->tensors[i].name, name) == 0) return m->tensors[i].data;
    return NULL;
}

void oracle_find_pair(const struct oracle_model *m, const char *scope, const char *name,
                      double *pair[2])
{
    char full[128];
    snprintf(full, sizeof full, "%s%s.weight", scope, name);
    pair[0] = oracle_find(m, full);
    snprintf(full, sizeof full, "%s%s.bias", scope, name);
    pair[1] = oracle_find(m, full);
}

double oracle_sinusoid(const struct oracle_model *m, int decoder, int row, int column)
{
    const rapt_config *c = &m->config;
    int p = row + c->first_position;
    int half = c->width / 2, sine, i;
    if (c->position == RAPT_POSITION_NONE) return 0;
    if (c->position == RAPT_POSITION_LEARNED)
        return oracle_find(m, decoder ? "decoder.positions.weight"
                                      : "encoder.positions.weight")[row * c->width + column];
    if (c->position == RAPT_POSITION_INTERLEAVED)
        i = column / 2, sine = column % 2 == 0;
    else
        i = column % half, sine = column < half;
    double exponent = (double)i / half;
    if (c->position == RAPT_POSITION_CONCATENATED_N1)
        exponent = half > 1 ? (double)i / (half - 1) : 0;
    double angle = p / pow(10000, exponent);
    return sine ? sin(angle) : cos(angle);
}

static struct oracle_inputs find_scores(const struct oracle_model *m, const char *layer,
                                        const char *part)
{
    struct oracle_inputs in = {0};
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++) {
        char full[128];
        snprintf(full, sizeof full, "%s%s.score.%s", layer, part,
                 rapt_attention_parameter_name((rapt_attention_parameter)i));
        in.learned[i] = oracle_find(m, full);
    }
    char scores[128], weights[128];
    snprintf(scores, sizeof scores, "%s%s.talking.scores", layer, part);
    snprintf(weights, sizeof weights, "%s%s.talking.weights", layer, part);
    in.talking_scores = oracle_find(m, scores), in.talking_weights = oracle_find(m, weights);
    return in;
}

static double *find_weight(const struct oracle_model *m, const char *scope, const char *name)
{
    double *pair[2];
    oracle_find_pair(m, scope, name, pair);
    return pair[0];
}

static double *find_in(const struct oracle_model *m, const char *scope, const char *name)
{
    char full[128];
    snprintf(full, sizeof full, "%s%s", scope, name);
    return oracle_find(m, full);
}

static void find_distances(const struct oracle_model *m, const char *scope, const char *side,
                           struct oracle_layer *l)
{
    l->distances = find_in(m, side, ".distances.weight");
    l->distance_keys = find_in(m, scope, "self_attn.distances.keys");
    l->distance_values = find_in(m, scope, "self_attn.distances.values");
    l->distance_key = find_in(m, scope, "self_attn.distances.key.weight");
    l->distance_query = find_in(m, scope, "self_attn.distances.query.weight");
    l->content_bias = find_in(m, scope, "self_attn.distances.content_bias");
    l->position_bias = find_in(m, scope, "self_attn.distances.position_bias");
}

static struct oracle_layer *find_layers(const struct oracle_model *m, const char *side, int count)
{
    struct oracle_layer *layers = calloc((size_t)count + 1, sizeof *layers);
    for (int i = 0; i < count; i++) {
        struct oracle_layer *l = &layers[i];
        char scope[64];
        snprintf(scope, sizeof scope, "%s.layers.%d.", side, i);
        oracle_find_pair(m, scope, "self_attn.qkv", l->self_qkv);
        oracle_find_pair(m, scope, "self_attn.out", l->self_out);
        oracle_find_pair(m, scope, "self_attn.norm", l->self_norm);
        oracle_find_pair(m, scope, "cross_attn.q", l->cross_q);
        oracle_find_pair(m, scope, "cross_attn.kv", l->cross_kv);
        oracle_find_pair(m, scope, "cross_attn.out", l->cross_out);
        oracle_find_pair(m, scope, "cross_attn.norm", l->cross_norm);
        l->self_query = find_weight(m, scope, "self_attn.query_norm");
        l->self_key = find_weight(m, scope, "self_attn.key_norm");
        l->number = i + 1;
        l->self_lambda = find_weight(m, scope, "self_attn.differential");
        l->self_difference = find_weight(m, scope, "self_attn.differential_norm");
        l->cross_lambda = find_weight(m, scope, "cross_attn.differential");
        l->cross_difference = find_weight(m, scope, "cross_attn.differential_norm");
        l->self_gate = find_weight(m, scope, "self_attn.gate");
        oracle_find_pair(m, scope, "self_attn.forget", l->self_forget);
        l->self_up[0] = find_weight(m, scope, "self_attn.key_up");
        l->self_up[1] = find_weight(m, scope, "self_attn.value_up");
        l->self_latent = find_weight(m, scope, "self_attn.latent_norm");
        l->cross_up[0] = find_weight(m, scope, "cross_attn.key_up");
        l->cross_up[1] = find_weight(m, scope, "cross_attn.value_up");
        l->cross_latent = find_weight(m, scope, "cross_attn.latent_norm");
        l->self_query_up[0] = find_weight(m, scope, "self_attn.latent_query_norm");
        l->self_query_up[1] = find_weight(m, scope, "self_attn.query_up");
        l->cross_query_up[0] = find_weight(m, scope, "cross_attn.latent_query_norm");
        l->cross_query_up[1] = find_weight(m, scope, "cross_attn.query_up");
        find_distances(m, scope, side, l);
        l->cross_query = find_weight(m, scope, "cross_attn.query_norm");
        l->cross_key = find_weight(m, scope, "cross_attn.key_norm");
        l->cross_gate = find_weight(m, scope, "cross_attn.gate");
        l->self_score = find_scores(m, scope, "self_attn");
        l->cross_score = find_scores(m, scope, "cross_attn");
        oracle_find_pair(m, scope, "recurrent.input", l->input);
        oracle_find_pair(m, scope, "recurrent.forget", l->forget);
        oracle_find_pair(m, scope, "recurrent.norm", l->recurrent_norm);
        if (!l->recurrent_norm[0])
            oracle_find_pair(m, scope, "linear_attn.norm", l->recurrent_norm);
        oracle_find_pair(m, scope, "linear_attn.qkv", l->linear_qkv);
        oracle_find_pair(m, scope, "linear_attn.forget", l->linear_forget);
        oracle_find_pair(m, scope, "linear_attn.out", l->linear_out);
        l->monotonic = find_in(m, scope, "cross_attn.monotonic.offset");
        l->linear_rate = find_weight(m, scope, "linear_attn.rate");
        l->linear_output = find_weight(m, scope, "linear_attn.output_norm");
        l->linear_gate = find_weight(m, scope, "linear_attn.gate");
        oracle_find_pair(m, scope, "feedforward.in", l->in);
        oracle_find_pair(m, scope, "feedforward.out", l->out);
        oracle_find_pair(m, scope, "feedforward.norm", l->norm);
    }
    return layers;
}

struct oracle_model *oracle_model_read(const rapt_model *model)
{
    struct oracle_model *m = calloc(1, sizeof *m);
    m->config = *rapt_model_config(model);
    m->scale = 1;
    m->count = rapt_model_tensors(model);
    m->tensors = calloc((size_t)m->count, sizeof *m->tensors);
    for (int i = 0; i < m->count; i++) {
        rapt_tensor t = rapt_model_tensor(model, i);
        size_t size = (size_t)t.rows * (size_t)t.columns;
        float *data = calloc(size, sizeof *data);
        rapt_model_read(model, i, data, NULL);
        m->tensors[i] =
            (struct oracle_tensor){t.name, t.rows, t.columns, oracle_zeros(t.rows, t.columns)};
        for (size_t j = 0; j < size; j++) m->tensors[i].data[j] = (double)data[j];
        free(data);
    }
    m->encoder = find_layers(m, "encoder", m->config.encoder_layers);
    m->decoder = find_layers(m, "decoder", m->config.decoder_layers);
    return m;
}

static void forget(struct oracle_model *m)
{
    for (int i = 0; m->past && i < SENTENCES; i++) {
        struct oracle_fixed *fixed = &m->past->fixed[i][0][0];
        for (int j = 0; j < 2 * SUBLAYERS; j++) oracle_fixed_free(fixed + j);
        free(m->past->losses[i]);
    }
    if (m->past) free(m->past->rounding);
    free(m->past);
}

void oracle_model_hold(struct oracle_model *m)
{
    forget(m);
    m->past = calloc(1, sizeof *m->past);
}

void oracle_model_free(struct oracle_model *m)
{
    forget(m);
    for (int i = 0; i < m->count; i++) free(m->tensors[i].data);
    free(m->tensors);
    free(m->encoder);
    free(m->decoder);
    free(m);
}
