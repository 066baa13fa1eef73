/* alignment.c - which source tokens the last target tokens looked at. */
#include "run/run.h"

#include <string.h>

/* The weights of one target row in one layer and head, times share, added to weights. */
static void add_head(const rapt_session *s, int row, int source, int layer, int head, float share,
                     float *weights)
{
    const rapt_config *c = &s->model->config;
    int K = c->width / c->heads, parts = c->hidden ? 3 : 2;
    const struct sublayer *u = &s->decoder.sublayers[layer * parts + PART_CROSS];
    const float *q = u->q + (size_t)row * (size_t)c->width + (size_t)(head * K);
    float lse = u->lse[(size_t)head * (size_t)s->target_rows + (size_t)row];
    rapt__cache_weights(&s->cross[layer], source, head / (c->heads / rapt__key_heads(c)), q,
                        c->cross_score, lse, share, weights);
}

static void add_row(const rapt_session *s, int row, int source, int layer, int head, float *weights)
{
    const rapt_config *c = &s->model->config;
    int first_layer = layer < 0 ? 0 : layer, last_layer = layer < 0 ? c->decoder_layers - 1 : layer;
    int first_head = head < 0 ? 0 : head, last_head = head < 0 ? c->heads - 1 : head;
    int count = (last_layer - first_layer + 1) * (last_head - first_head + 1);
    for (int l = first_layer; l <= last_layer; l++)
        for (int h = first_head; h <= last_head; h++)
            add_head(s, row, source, l, h, 1 / (float)count, weights);
}

rapt_status rapt_session_alignment(rapt_session *s, int layer, int head, float *weights,
                                   rapt_message *why)
{
    const rapt_config *c = &s->model->config;
    if (c->kind != RAPT_ENCODER_DECODER)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the model has no cross-attention");
    if (layer < -1 || layer >= c->decoder_layers || head < -1 || head >= c->heads)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "layer %d, head %d: there are %d layers of %d heads", layer, head,
                          c->decoder_layers, c->heads);
    for (int i = 0; s->target_rows && i < s->targets; i++)
        for (int r = s->target_starts[i]; r < s->target_starts[i + 1]; r++) {
            int source = s->source_of[i];
            int keys = s->source_starts[source + 1] - s->source_starts[source];
            memset(weights, 0, sizeof(float) * (size_t)keys);
            add_row(s, r, source, layer, head, weights);
            weights += keys;
        }
    return RAPT_OK;
}
