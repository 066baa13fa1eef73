/* attend.c - the context as attention of a decoder state over all keys, computed by rapt: forward,
   backward, weights and scores.

   With additive scores and the previous state this is Bahdanau, Cho and Bengio 2015, appendix
   A.1.2; with the new state, Luong, Pham and Manning 2015, section 3.1. Strides describe the
   time-major layout, so nothing is copied. If a query depends on its position (local-m, sparse) or
   on the weights of earlier queries (location-aware, coverage), each call contains all queries so
   far and only the result of the last one is used; its gradient then reaches the others. */
#include "model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool has_positions(const struct recurrent *m)
{
    return m->config.locality == RAPT_LOCALITY_LOCAL_M ||
           m->config.locality == RAPT_LOCALITY_SPARSE;
}

static bool needs_earlier(const struct recurrent *m)
{
    return has_positions(m) || m->config.score == RAPT_SCORE_LOCATION_AWARE ||
           m->config.score == RAPT_SCORE_COVERAGE;
}

static rapt_attention problem(const struct recurrent *m, int count, int length, int t)
{
    const int q = m->query, c = m->context, rows = needs_earlier(m) ? t + 1 : 1;
    const rapt_stride by_time = {.batch = c, .row = (ptrdiff_t)c * count};
    rapt_attention a = {
        .size = sizeof(rapt_attention),
        .batch = count,
        .heads = 1,
        .queries = rows,
        .keys = length,
        .query_width = q,
        .key_width = c,
        .value_width = c,
        .q = {.batch = q, .row = (ptrdiff_t)q * count},
        .k = by_time,
        .v = by_time,
        .out = by_time,
        .score = m->config.score,
        .normalizer = m->expected ? RAPT_NORMALIZER_SOFTMAX : m->config.normalizer,
        .locality = m->config.locality,
        .radius = m->config.radius,
        .sparse = {.global_count = has_positions(m)}, /* only if sparse */
        .temperature = m->config.temperature,
        .noiseless = m->greedy,
        .seed = m->config.seed + m->noise * 1000003 + (uint64_t)(rows > 1 ? 0 : t),
        .threads = 1,
        .parameters = m->learned_widths,
    };
    if (has_positions(m)) a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++) a.parameters.array[i] = m->learned[i];
    return a;
}

/* Initial values, as models of the library begin: biases 0, inverse temperatures 8, matrices and
   vectors normal with deviation columns^-1/2. */
static void initialize(float *x, rapt_attention_parameter which, int rows, int columns,
                       struct random *random)
{
    for (int i = 0; i < rows * columns; i++)
        x[i] = which == RAPT_ATTENTION_PARAMETER_HIDDEN_BIAS ? 0
               : which == RAPT_ATTENTION_PARAMETER_INVERSE_TEMPERATURE
                   ? 8
                   : random_normal(random) / sqrtf((float)columns);
}

void learned_create(struct recurrent *m, const rapt_attention *a, struct random *random,
                    float *learned[RAPT_ATTENTION_PARAMETER_COUNT],
                    float *dlearned[RAPT_ATTENTION_PARAMETER_COUNT])
{
    rapt_attention_parameters_layout layout = {.size = sizeof layout};
    rapt_message why = {""};
    if (rapt_attention_parameters_lay_out(a, &layout, &why) != RAPT_OK)
        exit(failed("attention: %s", why.text));
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++) {
        const int rows = layout.rows[i], columns = layout.columns[i];
        if (rows == 0) continue;
        learned[i] = params_take(&m->params, (size_t)rows * (size_t)columns, &dlearned[i]);
        initialize(learned[i], (rapt_attention_parameter)i, rows, columns, random);
    }
}

void attend_create(struct recurrent *m, struct random *random)
{
    m->learned_widths = (rapt_attention_parameters){.hidden = m->config.width,
                                                    .positions = m->config.words + 1,
                                                    .channels = 4,
                                                    .filter_width = 5,
                                                    .center_hidden = m->config.width};
    rapt_attention a = problem(m, 1, 1, 0);
    learned_create(m, &a, random, m->learned, m->dlearned);
}

/* The rows of queries in the call of step t: the first of them, and their number. */
struct asked {
    float *q, *dq, *out;
    rapt_attention_saved saved;
    int rows;
};

static struct asked asked_at(const struct recurrent *m, int count, int t)
{
    const int late = m->config.query == QUERY_PRESENT, first = needs_earlier(m) ? 0 : t;
    struct asked asked = {.q = at_step(m->queries.x, first + late, count, m->query),
                          .dq = at_step(m->queries.d, first + late, count, m->query),
                          .out = at_step(m->contexts.x, t, count, m->context),
                          .saved = {.size = sizeof asked.saved,
                                    .lse = at_step(m->lse, t, count, 1),
                                    .chosen = m->chosen + t * count},
                          .rows = t - first + 1};
    if (needs_earlier(m)) {
        asked.out = m->earlier;
        asked.saved.lse = m->earlier_lse;
        asked.saved.chosen = m->earlier_chosen;
    }
    return asked;
}

static void attend_rows(struct recurrent *m, int count, int length, int t)
{
    rapt_attention a = problem(m, count, length, t);
    struct asked asked = asked_at(m, count, t);
    must(rapt_attention_forward(&a, asked.q, m->keys.x, m->values.x, asked.out, &asked.saved,
                                workspace_for(&m->workspace, &a), NULL));
}

void attend_forward(struct recurrent *m, int count, int length, int t)
{
    const int late = m->config.query == QUERY_PRESENT, c = m->context;
    if (m->config.projected) {
        float *query = at_step(m->queries.x, t + late, count, m->query);
        clear_rows(query, count, m->query);
        linear_forward(&m->projection[0], count,
                       at_step(m->states.x.h, t + late, count, m->config.hidden), query);
    }
    attend_rows(m, count, length, t);
    if (needs_earlier(m))
        memcpy(at_step(m->contexts.x, t, count, c), at_step(m->earlier, t, count, c),
               (size_t)count * (size_t)c * sizeof(float));
}

/* Sets the reward of step t and its gradient in a call with all queries so far; those of the others
   are 0. */
static void spread(struct recurrent *m, int count, int t)
{
    const int c = m->context;
    clear_rows(m->dearlier, t * count, c);
    memcpy(at_step(m->dearlier, t, count, c), at_step(m->contexts.d, t, count, c),
           (size_t)count * (size_t)c * sizeof(float));
    clear_rows(m->earlier_reward, count, t + 1);
    for (int b = 0; b < count; b++)
        m->earlier_reward[b * (t + 1) + t] = at_step(m->reward, t, count, 1)[b];
}

void attend_backward(struct recurrent *m, int count, int length, int t)
{
    const int late = m->config.query == QUERY_PRESENT, h = m->config.hidden;
    rapt_attention a = problem(m, count, length, t);
    struct asked asked = asked_at(m, count, t);
    const bool several = needs_earlier(m);
    if (several) {
        attend_rows(m, count, length, t); /* later steps have overwritten what it saved */
        spread(m, count, t);
    }
    const rapt_reinforce reinforce = {.size = sizeof reinforce,
                                      .reward = several ? m->earlier_reward
                                                        : at_step(m->reward, t, count, 1)};
    rapt_gradients d = {.size = sizeof d, .q = asked.dq, .k = m->keys.d, .v = m->values.d};
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++) d.parameters[i] = m->dlearned[i];
    must(rapt_attention_backward(&a, asked.q, m->keys.x, m->values.x, asked.out, &asked.saved,
                                 several ? m->dearlier
                                         : at_step(m->contexts.d, t, count, m->context),
                                 &reinforce, &d, workspace_for(&m->workspace, &a), NULL));
    if (m->config.projected)
        linear_backward(&m->projection[0], count, at_step(m->states.x.h, t + late, count, h),
                        at_step(m->queries.d, t + late, count, m->query),
                        at_step(m->states.d.h, t + late, count, h));
}

void attend_weights(struct recurrent *m, int count, int length, int t, int sentence, float *weights,
                    float *scores)
{
    rapt_attention a = problem(m, count, length, t);
    struct asked asked = asked_at(m, count, t);
    must(rapt_attention_weights(&a, asked.q, m->keys.x, &asked.saved, sentence, 0, asked.rows - 1,
                                1, weights, workspace_for(&m->workspace, &a), NULL));
    float lse = asked.saved.lse[sentence * asked.rows + asked.rows - 1];
    for (int s = 0; scores && s < length; s++) scores[s] = logf(weights[s]) + lse;
}
