/* run.c - uses of a recurrent encoder-decoder: loss and gradients of a batch, a training step,
   influences of source words, greedy translation. */
#include "model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reads source words and the end token, time-major. */
static void read_sources(struct recurrent *m, const struct sentence *sentences, int count)
{
    for (int b = 0; b < count; b++) {
        const struct words *source = &sentences[b].source;
        for (int t = 0; t <= source->count; t++) {
            m->source_ids[t * count + b] = t < source->count ? source->tokens[t] : RAPT_TOKEN_END;
            m->positions[t * count + b] = t;
        }
        m->target_ids[b] = RAPT_TOKEN_BEGIN;
    }
}

/* Reads the translations likewise and returns the number of steps of the longest one. A sentence
   has no labels after its end token. */
static int read_targets(struct recurrent *m, const struct sentence *sentences, int count)
{
    int steps = 0;
    for (int b = 0; b < count; b++)
        steps = sentences[b].target.count >= steps ? sentences[b].target.count + 1 : steps;
    for (int b = 0; b < count; b++) {
        const struct words *target = &sentences[b].target;
        for (int t = 0; t < steps; t++) {
            int next = t < target->count ? target->tokens[t] : RAPT_TOKEN_END;
            m->target_ids[(t + 1) * count + b] = next;
            m->labels[t * count + b] = t <= target->count ? next : -1;
        }
    }
    return steps;
}

/* Returns the log-probability of a label, or 0 for a position without one (label < 0). */
static float reward_of(int words, const float *logits, int label)
{
    if (label < 0) return 0;
    float max = logits[argmax(words, logits)];
    double sum = 0;
    for (int w = 0; w < words; w++) sum += exp((double)(logits[w] - max));
    /* cppcheck-suppress invalidFunctionArg ; the largest adds 1 */
    return logits[label] - max - (float)log(sum);
}

/* Sets the rewards of sampling at step t: the log-probability of the words that follow, or of the
   one word only if the context enters nothing but the output. */
static void read_rewards(struct recurrent *m, int count, int steps, float *reward)
{
    const int words = m->language->target.count;
    const bool later = m->config.query == QUERY_BEFORE;
    for (int row = steps * count - 1; row >= 0; row--) {
        reward[row] = reward_of(words, m->logits.x + (size_t)row * (size_t)words, m->labels[row]);
        if (later && row / count + 1 < steps) reward[row] += reward[row + count];
    }
}

/* Runs all steps of the given translations; returns their number. */
static int forward_steps(struct recurrent *m, const struct sentence *sentences, int count)
{
    const int length = sentences[0].source.count + 1;
    read_sources(m, sentences, count);
    int steps = read_targets(m, sentences, count);
    encoder_forward(m, count, length);
    for (int t = 0; t < steps; t++) decoder_step(m, count, length, t);
    return steps;
}

double recurrent_loss(struct recurrent *m, const struct sentence *sentences, int count)
{
    int steps = forward_steps(m, sentences, count);
    return cross_entropy(steps * count, m->language->target.count, m->logits.x, m->labels,
                         m->logits.d, NULL);
}

/* The baseline is the reward of the same step with expected values instead of samples, because how
   hard a word is hides the effect of a sample. */
static int forward_sampled(struct recurrent *m, const struct sentence *sentences, int count)
{
    m->expected = true;
    int steps = forward_steps(m, sentences, count);
    m->expected = false;
    read_rewards(m, count, steps, m->baseline);
    forward_steps(m, sentences, count);
    read_rewards(m, count, steps, m->reward);
    for (int row = 0; row < steps * count; row++) m->reward[row] -= m->baseline[row];
    return steps;
}

double recurrent_gradient(struct recurrent *m, const struct sentence *sentences, int count,
                          int *words)
{
    const bool sampled = m->config.normalizer == RAPT_NORMALIZER_SAMPLE;
    const int length = sentences[0].source.count + 1;
    const int steps =
        sampled ? forward_sampled(m, sentences, count) : forward_steps(m, sentences, count);
    *words = count;
    for (int b = 0; b < count; b++) *words += sentences[b].target.count;
    double loss = cross_entropy(steps * count, m->language->target.count, m->logits.x, m->labels,
                                m->logits.d, NULL);
    decoder_backward(m, count, length, steps);
    encoder_backward(m, count, length);
    return loss;
}

double recurrent_step(struct recurrent *m, const struct sentence *sentences, float rate)
{
    int words;
    m->noise++;
    double loss = recurrent_gradient(m, sentences, m->config.batch, &words);
    params_step(&m->params, rate, 1 / (float)words, 1);
    return loss / words;
}

static float row_norm(const float *x, int width)
{
    float sum = 0;
    for (int i = 0; i < width; i++) sum += x[i] * x[i];
    return sqrtf(sum);
}

void recurrent_influence(struct recurrent *m, const struct sentence *sentences, int count, int step,
                         float *norms)
{
    const int length = sentences[0].source.count + 1, words = m->language->target.count;
    int steps = forward_steps(m, sentences, count);
    const float *gradient = NULL;
    for (int row = 0; row < steps * count; row++)
        if (row / count != step) m->labels[row] = -1;
    memset(norms, 0, (size_t)count * (size_t)length * sizeof *norms);
    if (step >= steps) return;
    cross_entropy(steps * count, words, m->logits.x, m->labels, m->logits.d, NULL);
    float loss[MAX_BATCH];
    for (int b = 0; b < count; b++)
        loss[b] = row_norm(m->logits.d + (size_t)(step * count + b) * (size_t)words, words);
    decoder_backward(m, count, length, step + 1);
    encoder_backward(m, count, length);
    memset(m->params.gradient, 0, m->params.count * sizeof(float));
    gradient = m->embedded.d;
    for (int t = 0; t < length; t++)
        for (int b = 0; b < count; b++, gradient += m->config.embed)
            if (loss[b] > 0) norms[b * length + t] = row_norm(gradient, m->config.embed) / loss[b];
}

/* Decodes greedily until all sentences have ended. */
void recurrent_translate(struct recurrent *m, const struct sentence *sentences, int count,
                         struct words *out, const struct seen *seen)
{
    const int length = sentences[0].source.count + 1, words = m->language->target.count;
    int open = count;
    bool ended[MAX_BATCH] = {false};
    m->greedy = true;
    read_sources(m, sentences, count);
    encoder_forward(m, count, length);
    for (int b = 0; b < count; b++) out[b].count = 0;
    for (int t = 0; t < 2 * length && t < m->config.words && open > 0; t++) {
        decoder_step(m, count, length, t);
        for (int b = 0; b < count; b++) {
            int word = argmax(words, m->logits.x + (size_t)(t * count + b) * (size_t)words);
            m->target_ids[(t + 1) * count + b] = word;
            if (ended[b]) continue;
            size_t row = (size_t)(b * MAX_TARGET + t) * (size_t)length;
            if (seen != NULL && m->config.attends)
                attend_weights(m, count, length, t, b, seen->weights + row,
                               seen->scores ? seen->scores + row : NULL);
            ended[b] = word == RAPT_TOKEN_END;
            if (ended[b])
                open--;
            else
                out[b].tokens[out[b].count++] = word;
        }
    }
    m->greedy = false;
}
