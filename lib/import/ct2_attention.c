/* ct2_attention.c - reads from a CTranslate2 file how T5's attention differs from standard
   attention: scores may lack the factor 1 / sqrt(head width), biases may depend on the distance
   between query and key, and the heads together may be narrower or wider than the model. Source:
   CTranslate2 4.8, src/layers/attention.cc, attention_spec.py, T5Loader in
   converters/transformers.py. */
#include "import/ct2.h"

#include <math.h>
#include <stdio.h>

/* ---- scores ---- */

/* Reads the score function of one attention layer from the factor that scales its queries. */
static rapt_status read_score(struct import *i, const char *pattern, int layer, int head_width,
                              rapt_score *score)
{
    char name[IMPORT_NAME];
    float factor;
    const float usual = 1 / sqrtf((float)head_width);
    const struct tensor_entry *e = rapt__import_find(i, pattern, layer);
    *score = RAPT_SCORE_SCALED_DOT;
    if (!e) return RAPT_OK;
    rapt__import_name(name, pattern, layer);
    rapt__import_use(i, e);
    if (e->count != 1) return rapt__import_bad(i, "tensor %s is not a single number", name);
    rapt_status status = rapt__tensors_read(i->file, e, 0, 1, &factor, i->why);
    if (status) return status;
    if (factor == 1) *score = RAPT_SCORE_DOT;
    if (factor == 1 || fabsf(factor - usual) <= 1e-6f * usual) return RAPT_OK;
    return rapt__import_bad(i, "tensor %s is %g, neither 1 nor 1 / sqrt(%d)", name, (double)factor,
                            head_width);
}

/* Reads the score function of self- or cross-attention, which must be the same in all layers. */
static rapt_status read_scores(struct import *i, const char *pattern, int layers, int head_width,
                               rapt_score *score)
{
    rapt_status status = read_score(i, pattern, 0, head_width, score);
    for (int n = 1; n < layers && !status; n++) {
        rapt_score other;
        status = read_score(i, pattern, n, head_width, &other);
        if (!status && other != *score)
            return rapt__import_bad(i, "%s differs between layers", pattern);
    }
    return status;
}

/* Returns the width of a head, computed from the number of rows of the encoder's first
   query-key-value matrix. If that matrix is unusable, returns the model's width divided by the
   number of heads. The result is at least 1. */
static int head_width_of(const struct import *i)
{
    const rapt_config *c = &i->config;
    const struct tensor_entry *e =
        rapt__import_find(i, "encoder/layer_0/self_attention/linear_0/weight", 0);
    if (c->heads < 1) return 1;
    const size_t all = e && e->rank == 2 ? e->shape[0] / 3 : 0;
    const size_t width = all / (size_t)c->heads;
    return width < 1 || width > 1 << 16 ? rapt__max(c->width / c->heads, 1) : (int)width;
}

/* ---- biases ---- */

struct biases {
    int buckets, distance;
};

/* Reads the number of buckets and the maximum distance of the encoder's or the decoder's biases.
   CTranslate2 stores the biases for every layer; all layers must share the first layer's table. */
static rapt_status read_side(struct import *i, const char *side, int layers, struct biases *b)
{
    char table[IMPORT_NAME], distance[IMPORT_NAME], name[IMPORT_NAME];
    snprintf(table, sizeof table, "%s/layer_#" CT2_BIASES, side);
    snprintf(distance, sizeof distance, "%s/layer_#/self_attention/relative_attention_max_distance",
             side);
    const struct tensor_entry *first = rapt__import_find(i, table, 0);
    if (!first || first->rank != 2 || first->shape[0] > 1 << 10)
        return rapt__import_bad(i,
                                "the biases of the first layer of the %s are missing or not a "
                                "matrix of at most 1024 rows",
                                side);
    b->buckets = (int)first->shape[0];
    for (int n = 0; n < layers; n++) {
        int limit;
        const struct tensor_entry *e = rapt__import_find(i, table, n);
        rapt__import_name(name, distance, n);
        rapt_status status = rapt__import_number(i, name, 0, &limit);
        if (status) return status;
        if (n == 0) b->distance = limit;
        if (!e || e->begin != first->begin || e->end != first->end || limit != b->distance)
            return rapt__import_bad(
                i, "layers 0 and %d of the %s have different biases or maximum distances", n, side);
        rapt__import_use(i, e);
    }
    return RAPT_OK;
}

static rapt_status read_biases(struct import *i)
{
    rapt_config *c = &i->config;
    struct biases encoder, decoder;
    if (!rapt__import_find(i, "encoder/layer_0" CT2_BIASES, 0)) return RAPT_OK;
    rapt_status status = read_side(i, "encoder", c->encoder_layers, &encoder);
    if (!status) status = read_side(i, "decoder", c->decoder_layers, &decoder);
    if (status) return status;
    if (encoder.buckets != decoder.buckets || encoder.distance != decoder.distance)
        return rapt__import_bad(
            i, "the biases of encoder and decoder have different shapes or maximum distances");
    c->relative_bias = RAPT_RELATIVE_BIAS_T5;
    c->relative_buckets = encoder.buckets, c->relative_distance = encoder.distance;
    c->position = RAPT_POSITION_NONE, c->first_position = 0;
    return RAPT_OK;
}

rapt_status rapt__ct2_attention(struct import *i)
{
    rapt_config *c = &i->config;
    const int width = head_width_of(i);
    rapt_score decoder = RAPT_SCORE_SCALED_DOT;
    rapt_status status = read_scores(i, "encoder/layer_#/self_attention/queries_scale",
                                     c->encoder_layers, width, &c->self_score);
    if (!status)
        status = read_scores(i, "decoder/layer_#/self_attention/queries_scale", c->decoder_layers,
                             width, &decoder);
    if (!status)
        status = read_scores(i, "decoder/layer_#/attention/queries_scale", c->decoder_layers, width,
                             &c->cross_score);
    if (status) return status;
    if (decoder != c->self_score)
        return rapt__import_bad(i, "queries_scale differs between encoder and decoder");
    if ((long long)width * c->heads != c->width) c->head_width = width;
    return read_biases(i);
}
