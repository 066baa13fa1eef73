/* transformer_loss.c - the loss of a batch (rapt_train_gradient), in double. */
#include "transformer_layers.h"

#include "op.h"

#include <math.h>
#include <stdlib.h>

static struct oracle_sentence sentence(const rapt_tokens *t, int b)
{
    int first = t->starts[b], count = t->starts[b + 1] - first;
    return (struct oracle_sentence){b, first, count, t->ids ? t->ids + first : NULL, t->vectors};
}

/* Returns the summed loss, and stores the loss of each row in `losses`. */
static double rows_loss(const struct oracle_model *m, const double *logits, int rows,
                        const int32_t *labels, double smoothing, double *likelihood, double *losses)
{
    double loss = 0, one;
    for (int r = 0; r < rows; r++) {
        losses[r] = 0;
        if (labels[r] < 0) continue;
        losses[r] = oracle_loss(m->config.target_vocab, logits + r * m->config.target_vocab,
                                labels[r], smoothing, &one);
        loss += losses[r];
        if (likelihood) *likelihood += one;
    }
    return loss;
}

/* Returns the loss of guided alignment, of the first head in the layer that the configuration
   names, for target rows that begin at `first`: cross [layers][heads][rows][keys]. */
static double guided_loss(const struct oracle_model *m, const double *cross, int first, int rows,
                          int keys)
{
    const rapt_config *c = &m->config;
    const double *weights = cross + (size_t)((c->alignment_layer - 1) * c->heads * rows * keys);
    double loss = 0;
    for (int r = 0; r < rows; r++) {
        int from = m->alignment->starts[first + r], end = m->alignment->starts[first + r + 1];
        for (int i = from; i < end; i++)
            loss -= log(weights[r * keys + m->alignment->sources[i]] + 1e-6) / (end - from);
    }
    return m->guided * loss;
}

/* Returns the coverage loss (See, Liu and Manning 2017, equation 12), a mean over layers and heads:
   cross [layers][heads][rows][keys]. */
static double coverage_loss(const struct oracle_model *m, const double *cross, int rows, int keys)
{
    int attentions = m->config.decoder_layers * m->config.heads;
    double loss = 0;
    for (int i = 0; i < attentions; i++)
        for (int s = 0; s < keys; s++) {
            double covered = 0;
            for (int t = 0; t < rows; t++) {
                double weight = cross[((ptrdiff_t)i * rows + t) * keys + s];
                loss += fmin(weight, covered);
                covered += weight;
            }
        }
    return m->coverage * loss / attentions;
}

/* The decoder reads all tokens of a target but the last. */
double oracle_batch_loss(struct oracle_model *m, const struct oracle_drop *drop,
                         const rapt_tokens *source, const rapt_tokens *target, double smoothing,
                         double *likelihood)
{
    const rapt_config *c = &m->config;
    double loss = 0;
    if (likelihood) *likelihood = 0;
    if (m->past) m->past->next = 0;
    m->expects_stops = 1;
    for (int b = 0, fed = 0; b < target->batch; b++) {
        struct oracle_sentence s = {0}, t = sentence(target, b);
        double *states = NULL;
        if (c->kind != RAPT_KIND_DECODER_ONLY) s = sentence(source, b);
        if (c->kind == RAPT_KIND_ENCODER_DECODER) {
            states = oracle_zeros(s.count, c->width);
            oracle_encode(m, drop, &s, states);
        }
        double *logits = oracle_zeros(t.count, c->target_vocab);
        const int32_t *labels = t.ids;
        if (c->kind == RAPT_KIND_ENCODER_ONLY) {
            oracle_classify(m, drop, &s, logits);
        } else {
            labels++, t.first = fed, t.count = t.count > 0 ? t.count - 1 : 0;
            double *cross = oracle_zeros(c->decoder_layers * c->heads * t.count, s.count + 1);
            oracle_decode(m, drop, states ? &s : NULL, states, &t, logits, cross);
            if (m->alignment) m->terms += guided_loss(m, cross, fed, t.count, s.count);
            if (m->coverage > 0) m->terms += coverage_loss(m, cross, t.count, s.count);
            fed += t.count;
            free(cross);
        }
        double *losses = oracle_zeros(t.count, 1);
        loss += rows_loss(m, logits, t.count, labels, smoothing, likelihood, losses);
        if (m->past && !m->past->losses[b])
            m->past->losses[b] = losses, m->past->rows[b] = t.count, m->past->first[b] = t.first;
        else
            free(losses);
        free(states);
        free(logits);
    }
    m->expects_stops = 0;
    return loss;
}

double *oracle_expected_losses(struct oracle_model *m, const struct oracle_drop *drop,
                               const rapt_tokens *source, const rapt_tokens *target,
                               double smoothing)
{
    struct oracle_model all = *m;
    struct oracle_past past = {0};
    double *losses = oracle_zeros(target->starts[target->batch] + 1, 1);
    all.share = 2, all.past = &past;
    oracle_batch_loss(&all, drop, source, target, smoothing, NULL);
    for (int b = 0; b < target->batch; b++) {
        for (int r = 0; r < past.rows[b]; r++) losses[past.first[b] + r] = past.losses[b][r];
        free(past.losses[b]);
        for (int i = 0; i < 2 * SUBLAYERS; i++)
            oracle_fixed_free(&past.fixed[b][i / SUBLAYERS][i % SUBLAYERS]);
    }
    free(past.rounding);
    return losses;
}
