/* coverage.c - the coverage loss of See, Liu and Manning 2017 (section 2.3) in training: its
   option, and its losses, which the backward pass of cross-attention fills in. */
#include "train/train.h"

#include <string.h>

rapt_status rapt__coverage_check(const rapt_train_options *o, const rapt_config *c,
                                 rapt_message *why)
{
    rapt_status status = rapt__float_check("coverage_loss", o->coverage_loss, 0, 1e6, why);
    if (status || o->coverage_loss == 0) return status;
    char text[FLOAT_TEXT];
    rapt__number_write((double)o->coverage_loss, text);
    if (c->kind != RAPT_KIND_ENCODER_DECODER || !rapt__score_has_coverage(c->cross_score))
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "coverage_loss is %s, but the model has no cross-attention with the score "
            "coverage",
            text);
    if (rapt__normalizer_is_hard(c->cross_normalizer))
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "coverage_loss is %s, but cross_normalizer %s gives all weight to one key", text,
            rapt_normalizer_name(c->cross_normalizer));
    if (c->differential)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "coverage_loss is %s, but with differential the weights of a head are the "
            "difference of two attentions",
            text);
    return RAPT_OK;
}

static size_t losses_of(const rapt_trainer *t, int rows)
{
    return (size_t)t->model->config.heads * (size_t)rows;
}

void rapt__coverage_layout(rapt_trainer *t, int rows, struct arena *arena)
{
    if (t->options.coverage_loss > 0)
        t->coverage.losses =
            rapt__arena_take(arena, losses_of(t, rows), sizeof *t->coverage.losses);
}

const struct coverage_loss *rapt__coverage_begin(rapt_trainer *t, int rows)
{
    const rapt_config *c = &t->model->config;
    if (!t->coverage.losses) return NULL;
    memset(t->coverage.losses, 0, losses_of(t, rows) * sizeof *t->coverage.losses);
    t->coverage.weight = t->options.coverage_loss / ((float)c->heads * (float)c->decoder_layers);
    return &t->coverage;
}

void rapt__coverage_end(rapt_trainer *t, int rows)
{
    size_t count = t->coverage.losses ? losses_of(t, rows) : 0;
    t->coverage_sum = 0;
    for (size_t i = 0; i < count; i++) t->coverage_sum += t->coverage.losses[i];
}
