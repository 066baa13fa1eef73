/* attention_losses.c - losses of the weights of cross-attention, which its backward pass computes:
   guided alignment and coverage. */
#include "train/train.h"

#include <string.h>

/* ---- guided alignment (Chen et al. 2016, as in Marian) ----

   Takes the word alignment of the next batch, gives it to the backward pass as a target for
   cross-attention, and sums the loss of the attention weights. */

rapt_status rapt_train_align(rapt_trainer *t, const rapt_alignment *alignment, rapt_message *why)
{
    if (!t) return rapt__fail(why, RAPT_BAD_ARGUMENT, "trainer is NULL");
    if (alignment && !(t->options.guided_alignment > 0))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "alignment: it has no effect while options.guided_alignment is 0");
    if (alignment && !alignment->starts)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "alignment.starts is NULL");
    t->alignment = alignment ? *alignment : (rapt_alignment){NULL, NULL};
    return RAPT_OK;
}

static rapt_status check_alignment_starts(const rapt_alignment *a, int rows, rapt_message *why)
{
    if (a->starts[0] != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "alignment: starts[0] is %d, not 0",
                          a->starts[0]);
    for (int r = 0; r < rows; r++)
        if (a->starts[r + 1] < a->starts[r])
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "alignment: starts[%d] is %d, less than starts[%d], which is %d",
                              r + 1, a->starts[r + 1], r, a->starts[r]);
    return RAPT_OK;
}

/* Checks the alignment of label rows first .. end - 1 to a source of `tokens` tokens. All starts
   have already been checked. */
static rapt_status check_alignment_rows(const rapt_alignment *a, int first, int end, int tokens,
                                        rapt_message *why)
{
    for (int r = first; r < end; r++) {
        if (a->starts[r + 1] > a->starts[r] && !a->sources)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "alignment.sources is NULL");
        for (int i = a->starts[r]; i < a->starts[r + 1]; i++)
            if (a->sources[i] < 0 || a->sources[i] >= tokens)
                return rapt__fail(why, RAPT_BAD_ARGUMENT,
                                  "alignment: sources[%d] is %d; the source has %d tokens", i,
                                  a->sources[i], tokens);
    }
    return RAPT_OK;
}

rapt_status rapt__alignment_check(const rapt_trainer *t, const rapt_tokens *source,
                                  const rapt_tokens *target, rapt_message *why)
{
    const rapt_alignment *a = &t->alignment;
    int row = 0, more = t->options.frame ? 1 : -1; /* number of label rows of a target minus its
                                                      number of tokens */
    if (!a->starts) return RAPT_OK;
    rapt_status status =
        check_alignment_starts(a, target->starts[target->batch] + more * target->batch, why);
    for (int b = 0; !status && b < target->batch; b++) {
        int tokens = target->starts[b + 1] - target->starts[b];
        int end = row + tokens + more;
        status = check_alignment_rows(a, row, end, source->starts[b + 1] - source->starts[b], why);
        row = end;
    }
    return status;
}

const struct guide *rapt__guide_of(rapt_trainer *t, int rows)
{
    if (!t->alignment.starts) return NULL;
    memset(t->guided, 0, (size_t)rows * sizeof *t->guided);
    t->guide = (struct guide){t->options.guided_alignment, t->alignment.starts,
                              t->alignment.sources, t->guided};
    return &t->guide;
}

void rapt__guide_end(rapt_trainer *t, int rows)
{
    t->alignment_loss = 0;
    for (int r = 0; t->alignment.starts && r < rows; r++) t->alignment_loss += t->guided[r];
    t->alignment = (rapt_alignment){NULL, NULL};
}

/* ---- the coverage loss of See, Liu and Manning 2017, section 2.3 ---- */

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

static size_t coverage_losses(const rapt_trainer *t, int rows)
{
    return (size_t)t->model->config.heads * (size_t)rows;
}

void rapt__coverage_layout(rapt_trainer *t, int rows, struct arena *arena)
{
    if (t->options.coverage_loss > 0)
        t->coverage.losses =
            rapt__arena_take(arena, coverage_losses(t, rows), sizeof *t->coverage.losses);
}

const struct coverage_loss *rapt__coverage_begin(rapt_trainer *t, int rows)
{
    const rapt_config *c = &t->model->config;
    if (!t->coverage.losses) return NULL;
    memset(t->coverage.losses, 0, coverage_losses(t, rows) * sizeof *t->coverage.losses);
    t->coverage.weight = t->options.coverage_loss / ((float)c->heads * (float)c->decoder_layers);
    return &t->coverage;
}

void rapt__coverage_end(rapt_trainer *t, int rows)
{
    size_t count = t->coverage.losses ? coverage_losses(t, rows) : 0;
    t->coverage_sum = 0;
    for (size_t i = 0; i < count; i++) t->coverage_sum += t->coverage.losses[i];
}
