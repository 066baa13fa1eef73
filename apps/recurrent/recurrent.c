/* recurrent.c - a recurrent encoder-decoder: its parameters and arrays, and the names of its
   choices. The models differ in their cells and in where the context comes from. */
#include "recurrent.h"
#include "model.h"
#include <stdlib.h>
#include <string.h>

static void *own(struct recurrent *m, size_t count, size_t size)
{
    return m->owned[m->owned_count++] = xcalloc(count, size);
}

/* Takes the rows of all steps of a batch, and one step more. */
static float *take_rows(struct recurrent *m, int width)
{
    return own(m, (size_t)m->config.batch * (size_t)(m->config.words + 2) * (size_t)width,
               sizeof(float));
}

static struct series series(struct recurrent *m, int width)
{
    return (struct series){take_rows(m, width), take_rows(m, width)};
}

static struct states states(struct recurrent *m, int width)
{
    const bool memory = m->config.cell == CELL_LSTM;
    return (struct states){{take_rows(m, width), memory ? take_rows(m, width) : NULL},
                           {take_rows(m, width), memory ? take_rows(m, width) : NULL}};
}

static struct cell_tape tape(struct recurrent *m, const struct cell *cell)
{
    const int wide = cell->gates * cell->hidden;
    return (struct cell_tape){take_rows(m, wide), take_rows(m, wide)};
}

/* Returns an upper bound. */
static size_t params_capacity(const struct recurrent *m)
{
    const struct recurrent_config *c = &m->config;
    const int widths[] = {c->hidden, m->annotation, m->context, c->width, c->embed};
    int wide = 0;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        wide = widths[i] > wide ? widths[i] : wide;
    const int words = m->language->source.count + 3 * m->language->target.count + 2 * c->words;
    return (size_t)(words + 52 * (wide + 1) + 64) * (size_t)wide;
}

static void make_params(struct recurrent *m)
{
    const struct recurrent_config *c = &m->config;
    const int h = c->hidden, e = c->embed, words = m->language->target.count;
    struct params *p = &m->params;
    struct random random = random_from(c->seed, UINT64_MAX);
    params_create(p, params_capacity(m));
    embed_create(&m->source, p, &random, m->language->source.count, e);
    embed_create(&m->target, p, &random, words, e);
    for (int d = 0; c->encoder != ENCODER_NONE && d < c->directions; d++)
        cell_create(&m->sides[d].cell, c->cell, p, &random, e, c->encoder_hidden);
    if (c->one_cell)
        m->decoder = m->sides[0].cell;
    else
        cell_create(&m->decoder, c->cell, p, &random, e, h);
    if (m->has_context && c->query == QUERY_BEFORE)
        linear_create(&m->into_cell, p, &random, m->context, m->decoder.gates * h, 0);
    linear_create(&m->output, p, &random, h, words, 1);
    if (m->has_context) linear_create(&m->context_output, p, &random, m->context, words, 0);
    if (c->attends) attend_create(m, &random);
    if (c->reads == READS_PAST) past_create(m, &random);
    for (int i = 0; c->projected && i < 3; i++)
        linear_create(&m->projection[i], p, &random, i == 0 ? h : m->annotation, c->width, 0);
    if (c->encoder == ENCODER_NONE) embed_create(&m->position, p, &random, c->words + 1, e);
    for (int d = 0; c->encoder == ENCODER_AGAIN && d < c->directions; d++)
        linear_create(&m->sides[d].asked, p, &random, h, m->decoder.gates * c->encoder_hidden, 0);
    if (c->pass != PASS_NETWORK) return;
    linear_create(&m->hidden, p, &random, m->annotation, h, 1);
    for (int i = 0; i < (c->cell == CELL_LSTM ? 2 : 1); i++)
        linear_create(&m->initial[i], p, &random, h, h, 1);
}

static void make_encoder(struct recurrent *m)
{
    const struct recurrent_config *c = &m->config;
    m->embedded = series(m, c->embed);
    m->annotations = series(m, m->annotation);
    m->summary = states(m, m->annotation);
    m->inside = series(m, c->hidden);
    m->start = series(m, c->hidden);
    for (int d = 0; c->encoder != ENCODER_NONE && d < c->directions; d++) {
        struct side *side = &m->sides[d];
        const int wide = side->cell.gates * c->encoder_hidden;
        side->base = series(m, wide);
        side->in = c->encoder == ENCODER_AGAIN ? series(m, wide) : side->base;
        side->states = states(m, c->encoder_hidden);
        side->tape = tape(m, &side->cell);
    }
    if (c->reads == READS_PAST) past_arrays(m, series, states);
}

static void make_attention(struct recurrent *m)
{
    const struct recurrent_config *c = &m->config;
    m->keys = m->values = series(m, m->context);
    m->values.d = take_rows(m, m->context);
    m->values.x = take_rows(m, m->context);
    if (!c->projected) {
        m->keys.x = m->annotations.x;
        m->values.x = c->encoder == ENCODER_NONE ? m->embedded.x : m->annotations.x;
    }
    m->queries = c->projected ? series(m, m->query) : (struct series){m->states.x.h, m->states.d.h};
    m->lse = take_rows(m, 1);
    m->reward = take_rows(m, 1);
    m->earlier_lse = take_rows(m, 1);
    m->earlier_reward = take_rows(m, 1);
    m->baseline = take_rows(m, 1);
    m->earlier = take_rows(m, m->context);
    m->dearlier = take_rows(m, m->context);
}

static void make_arrays(struct recurrent *m)
{
    const struct recurrent_config *c = &m->config;
    size_t ids = (size_t)c->batch * (size_t)(c->words + 2);
    int **integers[] = {&m->source_ids, &m->positions, &m->target_ids,
                        &m->labels,     &m->chosen,    &m->earlier_chosen};
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        *integers[i] = own(m, ids, sizeof(int));
    make_encoder(m);
    m->inputs = series(m, c->embed);
    m->x = series(m, m->decoder.gates * c->hidden);
    m->states = states(m, c->hidden);
    m->tape = tape(m, &m->decoder);
    m->contexts = series(m, m->context);
    m->logits = series(m, m->language->target.count);
    make_attention(m);
}

struct recurrent *recurrent_create(const struct recurrent_config *config,
                                   const struct language *language)
{
    const char *refusal = recurrent_refusal(config);
    if (refusal) exit(failed("%s", refusal));
    struct recurrent *m = xcalloc(1, sizeof *m);
    struct recurrent_config *c = &m->config;
    *c = *config;
    if (c->radius <= 0) c->radius = 2;
    m->language = language;
    m->annotation = c->encoder == ENCODER_NONE ? c->embed : c->directions * c->encoder_hidden;
    m->context = c->projected ? c->width : m->annotation;
    m->query = c->projected ? c->width : c->hidden;
    m->has_context = c->attends || c->pass == PASS_EACH || c->pass == PASS_FIRST;
    make_params(m);
    make_arrays(m);
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

bool recurrent_attends(const struct recurrent *m)
{
    return m->config.attends;
}

struct params *recurrent_block(struct recurrent *m)
{
    return &m->params;
}

size_t recurrent_cell_steps(const struct recurrent *m)
{
    return m->cell_steps;
}

/* ---- rows of one step of a time-major array ---- */

float *at_step(float *rows, int step, int count, int width)
{
    return rows + (size_t)step * (size_t)count * (size_t)width;
}

struct cell_state state_at(struct cell_state states, int step, int count, int width)
{
    return (struct cell_state){at_step(states.h, step, count, width),
                               states.c ? at_step(states.c, step, count, width) : NULL};
}

struct cell_tape tape_at(struct cell_tape tape, int step, int count, int width)
{
    return (struct cell_tape){at_step(tape.gates, step, count, width),
                              at_step(tape.inner, step, count, width)};
}

void clear_rows(float *x, int rows, int width)
{
    memset(x, 0, (size_t)rows * (size_t)width * sizeof *x);
}

void clear_state(struct cell_state x, int rows, int width)
{
    clear_rows(x.h, rows, width);
    if (x.c) clear_rows(x.c, rows, width);
}

/* ---- names of the choices, and which of them can be combined ---- */

const char *const pass_names[PASSES] = {"each", "first", "init", "mlp"};
const char *const encoder_names[ENCODERS] = {"none", "once", "again"};
const char *const reads_names[READINGS] = {"state", "past"};
const char *const query_names[QUERIES] = {"before", "present"};

/* Returns true for scores that multiply query and key without a projection. */
static bool needs_equal_widths(rapt_score score)
{
    return score == RAPT_SCORE_DOT || score == RAPT_SCORE_SCALED_DOT || score == RAPT_SCORE_COSINE;
}

const char *recurrent_refusal(const struct recurrent_config *c)
{
    const bool initial = c->pass == PASS_INITIAL || c->pass == PASS_NETWORK;
    const int keys = c->encoder == ENCODER_NONE ? c->embed : c->directions * c->encoder_hidden;
    if (c->batch > MAX_BATCH) return "a batch has at most 64 sentences";
    if (c->directions != 1 && c->directions != 2) return "an encoder has one or two directions";
    if (c->encoder == ENCODER_NONE && !c->attends)
        return "without an encoder the decoder needs attention";
    if (c->encoder != ENCODER_ONCE && initial)
        return "an initial state needs an encoding before the first step: encoder once";
    if (c->reads == READS_PAST && (c->encoder != ENCODER_ONCE || c->directions != 1))
        return "what reads its past is an encoder in one direction, once";
    if (c->one_cell &&
        (c->encoder == ENCODER_NONE || c->directions != 1 || c->encoder_hidden != c->hidden))
        return "one cell for both needs an encoder in one direction, as wide as the decoder";
    if (c->attends && c->pass == PASS_FIRST)
        return "attention has a context at each step, not the first";
    if (c->pass == PASS_INITIAL && keys != c->hidden)
        return "the encoding is the initial state, so both must have the same width";
    if (c->attends && !c->projected && needs_equal_widths(c->score) && keys != c->hidden)
        return "a dot product needs queries and keys of the same width";
    return NULL;
}
