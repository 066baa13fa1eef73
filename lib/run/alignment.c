/* alignment.c - which source tokens the last target tokens looked at. */
#include "run/session.h"

#include <string.h>

/* The weights of row `row` of target i in one layer and head, times share, added to weights. */
static void add_head(rapt_session *s, int i, int row, int layer, int head, float share,
                     float *weights)
{
    const struct stack stack = rapt__session_stack(s, true);
    const struct stack_caches caches = rapt__session_caches(s);
    const struct rows rows = {s->targets, s->target_rows, s->target_starts, 0};
    rapt__cross_weights(&stack, &rows, &caches, layer, head, i, row, share, weights);
}

static void add_row(rapt_session *s, int i, int row, int layer, int head, float *weights)
{
    const rapt_config *c = &s->model->config;
    int first_layer = layer < 0 ? 0 : layer, last_layer = layer < 0 ? c->decoder_layers - 1 : layer;
    int first_head = head < 0 ? 0 : head, last_head = head < 0 ? c->heads - 1 : head;
    int count = (last_layer - first_layer + 1) * (last_head - first_head + 1);
    for (int l = first_layer; l <= last_layer; l++)
        for (int h = first_head; h <= last_head; h++)
            add_head(s, i, row, l, h, 1 / (float)count, weights);
}

rapt_status rapt_session_alignment(rapt_session *s, int layer, int head, float *weights,
                                   rapt_message *why)
{
    if (!s || !weights)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: NULL", s ? "weights" : "session");
    const rapt_config *c = &s->model->config;
    if (c->kind != RAPT_KIND_ENCODER_DECODER)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the model has no cross-attention");
    if (layer < -1 || layer >= c->decoder_layers || head < -1 || head >= c->heads)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "layer %d, head %d: there are %d layers of %d heads", layer, head,
                          c->decoder_layers, c->heads);
    for (int i = 0; s->target_rows && i < s->targets; i++)
        for (int r = s->target_starts[i]; r < s->target_starts[i + 1]; r++) {
            int keys = s->source_length[i];
            memset(weights, 0, sizeof(float) * (size_t)keys);
            add_row(s, i, r, layer, head, weights);
            weights += keys;
        }
    return RAPT_OK;
}
