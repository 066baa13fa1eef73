/* recurrent.c - GRU encoder-decoders: with a fixed context vector (Cho et al. 2014) or with
   additive attention (Bahdanau, Cho and Bengio 2015). They differ only in where the context comes
   from. */
#include "recurrent.h"
#include <stdlib.h>

static void *own(struct recurrent *m, size_t count, size_t size)
{
    return m->owned[m->owned_count++] = xcalloc(count, size);
}

static float *rows(struct recurrent *m, int width)
{
    return own(m, (size_t)m->batch * (size_t)(m->words + 2) * (size_t)width, sizeof(float));
}

static struct gru_tape tape(struct recurrent *m)
{
    return (struct gru_tape){rows(m, 3 * m->hidden), rows(m, 3 * m->hidden)};
}

static void make_params(struct recurrent *m)
{
    const int h = m->hidden, e = m->setup->embed, words = m->setup->language.french.count;
    const int sources = m->setup->language.english.count;
    const size_t align = (size_t)m->setup->alignment_width;
    struct params *p = &m->params;
    struct random random = random_from(m->setup->seed, UINT64_MAX);
    params_create(p, (size_t)(sources + words) * (size_t)e +
                         3 * (size_t)h * (size_t)(3 * (e + h + 1) + 2 * h) +
                         (size_t)words * (size_t)(3 * h + 1) + 4 * align * (size_t)h);
    embed_create(&m->source, p, &random, sources, e);
    embed_create(&m->target, p, &random, words, e);
    gru_create(&m->fwd, p, &random, e, h);
    gru_create(&m->bwd, p, &random, e, h);
    gru_create(&m->decoder, p, &random, e, h);
    linear_create(&m->context, p, &random, 2 * h, 3 * h, 0);
    linear_create(&m->output, p, &random, h, words, 1);
    linear_create(&m->context_output, p, &random, 2 * h, words, 0);
    if (!m->attends) return;
    struct linear query, key, vector; /* for their sizes and initial values */
    linear_create(&query, p, &random, h, (int)align, 1);
    linear_create(&key, p, &random, 2 * h, (int)align, 0);
    linear_create(&vector, p, &random, (int)align, 1, 0);
    m->query = query.weight, m->dquery = query.dweight;
    m->bias = query.bias, m->dbias = query.dbias;
    m->key = key.weight, m->dkey = key.dweight;
    m->vector = vector.weight, m->dvector = vector.dweight;
}

struct recurrent *recurrent_create(const struct setup *setup, bool attends)
{
    struct recurrent *m = xcalloc(1, sizeof *m);
    const int h = setup->hidden[attends], e = setup->embed, words = setup->language.french.count;
    m->setup = setup;
    m->attends = attends;
    m->hidden = h;
    m->batch = setup->batch;
    m->words = 6 * setup->max_words + 16;
    make_params(m);
    size_t ids = (size_t)m->batch * (size_t)(m->words + 1);
    m->source_ids = own(m, ids, sizeof(int));
    m->target_ids = own(m, ids, sizeof(int));
    m->labels = own(m, ids, sizeof(int));
    m->fwd_tape = tape(m), m->bwd_tape = tape(m), m->tape = tape(m);
    const struct {
        float **value, **gradient;
        int width;
    } parts[] = {
        {&m->embedded, &m->dembedded, e},
        {&m->fwd_x, &m->dfwd_x, 3 * h},
        {&m->bwd_x, &m->dbwd_x, 3 * h},
        {&m->fwd_h, &m->dfwd_h, h},
        {&m->bwd_h, &m->dbwd_h, h},
        {&m->annotations, &m->dkeys, 2 * h},
        {&m->summary, &m->dsummary, 2 * h},
        {&m->inputs, &m->dinputs, e},
        {&m->x, &m->dx, 3 * h},
        {&m->states, &m->dstates, h},
        {&m->contexts, &m->dcontexts, 2 * h},
        {&m->logits, &m->dlogits, words},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *parts[i].value = rows(m, parts[i].width);
        *parts[i].gradient = rows(m, parts[i].width);
    }
    m->dvalues = rows(m, 2 * h);
    m->lse = rows(m, 1);
    return m;
}

void recurrent_free(struct recurrent *m)
{
    if (m == NULL) return;
    for (int i = 0; i < m->owned_count; i++) free(m->owned[i]);
    params_free(&m->params);
    free(m->workspace.data);
    free(m);
}

size_t recurrent_parameters(const struct recurrent *m)
{
    return m->params.count;
}

/* Source words and the end token, time-major. */
static void read_sources(struct recurrent *m, const struct sentence *sentences, int count)
{
    for (int b = 0; b < count; b++) {
        const struct words *english = &sentences[b].english;
        for (int t = 0; t <= english->count; t++)
            m->source_ids[t * count + b] = t < english->count ? english->tokens[t] : RAPT_TOKEN_END;
        m->target_ids[b] = RAPT_TOKEN_BEGIN;
    }
}

/* The same for the translations; returns the steps of the longest one. After its end token a
   sentence has no labels. */
static int read_targets(struct recurrent *m, const struct sentence *sentences, int count)
{
    int steps = 0;
    for (int b = 0; b < count; b++)
        steps = sentences[b].french.count >= steps ? sentences[b].french.count + 1 : steps;
    for (int b = 0; b < count; b++) {
        const struct words *french = &sentences[b].french;
        for (int t = 0; t < steps; t++) {
            int next = t < french->count ? french->tokens[t] : RAPT_TOKEN_END;
            m->target_ids[(t + 1) * count + b] = next;
            m->labels[t * count + b] = t <= french->count ? next : -1;
        }
    }
    return steps;
}

double recurrent_step(struct recurrent *m, const struct sentence *sentences, float rate)
{
    const int count = m->batch, length = sentences[0].english.count + 1;
    int words = count;
    read_sources(m, sentences, count);
    int steps = read_targets(m, sentences, count);
    for (int b = 0; b < count; b++) words += sentences[b].french.count;
    encoder_forward(m, count, length);
    for (int t = 0; t < steps; t++) decoder_step(m, count, length, t);
    double loss = cross_entropy(steps * count, m->setup->language.french.count, m->logits,
                                m->labels, m->dlogits, NULL);
    decoder_backward(m, count, length, steps);
    encoder_backward(m, count, length);
    params_step(&m->params, rate, 1 / (float)words, 1);
    return loss / words;
}

/* Greedy decoding until all sentences have ended. */
void recurrent_translate(struct recurrent *m, const struct sentence *sentences, int count,
                         struct words *out, float *weights)
{
    const int length = sentences[0].english.count + 1, words = m->setup->language.french.count;
    int open = count;
    bool ended[MAX_BATCH] = {false};
    read_sources(m, sentences, count);
    encoder_forward(m, count, length);
    for (int b = 0; b < count; b++) out[b].count = 0;
    for (int t = 0; t < 2 * length && open > 0; t++) {
        decoder_step(m, count, length, t);
        for (int b = 0; b < count; b++) {
            int word = argmax(words, m->logits + (size_t)(t * count + b) * (size_t)words);
            m->target_ids[(t + 1) * count + b] = word;
            if (ended[b]) continue;
            if (weights != NULL && m->attends)
                alignment_weights(m, count, length, t, b,
                                  weights + (size_t)(b * MAX_TARGET + t) * (size_t)length);
            ended[b] = word == RAPT_TOKEN_END;
            if (ended[b])
                open--;
            else
                out[b].tokens[out[b].count++] = word;
        }
    }
}
