/* sample.c - logits in, the next token of each source out, drawn from softmax(logits /
   temperature), truncated to the top_k likeliest and to the likeliest that hold top_p of the
   probability (Holtzman et al. 2020). Draw t of sequence b is a function of (seed, b, t): the batch
   does not matter.

   The inverse of the cumulative distribution is taken over tokens from likely to unlikely, which a
   heap sorts as far as needed: mostly to the drawn token. Sources are shared out to the team. */
#include "run/search.h"

#include <float.h>
#include <math.h>
#include <string.h>

struct urn { /* the tokens of one draw */
    const float *logits;
    double max, temperature; /* of the logits */
    int *tokens; /* [vocab] a heap of `left`, the likeliest first; behind it the others from the end
                  */
    int left;    /*   on, as they were taken */
};

/* The likeliest token comes last: greater logit, then lower number. */
static int by_logit(const void *context, const void *x, const void *y)
{
    const float *logits = context;
    int a = *(const int *)x, b = *(const int *)y;
    if (logits[a] != logits[b]) return logits[a] < logits[b] ? -1 : 1;
    return (b > a) - (b < a);
}

static void settle(struct urn *urn, int at)
{
    rapt__heap_down(urn->tokens, (size_t)at, (size_t)urn->left, sizeof *urn->tokens, by_logit,
                    urn->logits);
}

static int take_likeliest(struct urn *urn)
{
    int token = urn->tokens[0];
    urn->tokens[0] = urn->tokens[--urn->left];
    urn->tokens[urn->left] = token;
    settle(urn, 0);
    return token;
}

/* Probability relative to that of the likeliest token. */
static double share(const struct urn *urn, int token)
{
    return rapt__exp(((double)urn->logits[token] - urn->max) / urn->temperature);
}

/* -1: no token has any probability, since all are suppressed or logits are not finite. */
static int32_t draw(const rapt_generate_options *o, struct urn *urn, int vocab, double u)
{
    urn->left = vocab;
    for (int i = 0; i < vocab; i++) urn->tokens[i] = i;
    for (int i = vocab / 2; i-- > 0;) settle(urn, i);
    urn->max = (double)urn->logits[urn->tokens[0]];
    double all = 0, kept = 0;
    for (int i = 0; i < vocab; i++) all += share(urn, i);
    if (!(all > 0 && isfinite(all))) return -1;
    int limit = o->top_k ? rapt__min(o->top_k, vocab) : vocab;
    double wanted = o->top_p > 0 && o->top_p < 1 ? (double)o->top_p * all : all;
    /* Where nothing is truncated, what will be kept is `all` but for rounding. */
    bool whole = limit == vocab && wanted >= all;
    double slack = 8.0 * vocab * DBL_EPSILON, low = u * all * (1 - slack),
           high = u * all * (1 + slack);
    while (vocab - urn->left < limit && kept < wanted && urn->left > 0) {
        int token = take_likeliest(urn);
        double before = kept;
        kept += share(urn, token);
        if (whole && before <= low && kept > high) return (int32_t)token;
    }
    double point = u * kept, passed = 0;
    for (int i = vocab - 1; i >= urn->left; i--) {
        passed += share(urn, urn->tokens[i]);
        if (passed > point) return (int32_t)urn->tokens[i];
    }
    return (int32_t)urn->tokens[urn->left];
}

/* The next token of a source, from its row of logits. */
static void sample(struct search *s, int source, int member)
{
    struct search_memory *m = s->m;
    const rapt_generate_options *o = s->options;
    int at = source * s->stride, vocab = s->session->model->config.target_vocab;
    int row = m->starts[at];
    const float *logits = s->session->logits + (size_t)row * (size_t)vocab;
    uint64_t key = rapt__mix(o->seed, o->sequence + (uint64_t)source);
    struct urn urn = {.logits = logits,
                      .temperature = (double)o->temperature,
                      .tokens = m->order + (size_t)member * (size_t)vocab};
    int32_t token = draw(o, &urn, vocab, rapt__uniform(key, (uint64_t)m->count[source]));
    if (token < 0) {
        m->live_count[source] = 0;
        return;
    }
    double logit = (double)logits[token], log_sum = (double)m->log_sums[row];
    const struct candidate drawn = {m->sums[at] + logit - log_sum, 0, token,
                                    (float)(logit - log_sum)};
    rapt__search_take(s, source, &drawn);
}

static void work_on_samples(struct team *team, void *argument)
{
    struct search *s = argument;
    for (int b; (b = rapt__team_take(team)) < s->session->sources;)
        if (s->m->live_count[b]) sample(s, b, team->rank);
}

void rapt__search_sample(struct search *s)
{
    rapt__team_run(rapt__min(s->session->limits.threads, s->session->sources), work_on_samples, s);
}
