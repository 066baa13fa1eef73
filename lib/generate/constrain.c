/* constrain.c - changes the logits of the token that follows a hypothesis. Logits of forbidden
   tokens become -infinity: the end token before min_length, tokens that would repeat an n-gram of
   the hypothesis, and tokens that would complete a suppressed sequence. repetition_penalty changes
   the logits of tokens that the hypothesis already contains. */
#include "generate/search.h"

#include <string.h>

/* Forbids every token that, together with the last n - 1 tokens, would form an n-gram that
   ids[count] already contains. The end token is exempt, and so are tokens that lead to missing
   terms. */
static void forbid_repeats(const struct search *s, int row, const int32_t *ids, int count,
                           const struct section *section)
{
    int n = s->options->no_repeat_ngram;
    for (int i = 0; n > 0 && i <= count - n; i++) {
        int32_t token = ids[i + n - 1];
        if (token != s->options->end && !(s->options->terms && rapt__terms_want(s, row, token)) &&
            memcmp(ids + i, ids + count - (n - 1), sizeof *ids * (size_t)(n - 1)) == 0)
            rapt__section_forbid(section, token);
    }
}

/* Forbids the last token of each suppressed sequence if ids[count] ends with its other tokens. */
static void forbid_sequences(const struct search *s, const int32_t *ids, int count,
                             const struct section *section)
{
    const rapt_tokens *all = s->options->suppressed_sequences;
    for (int i = 0; all && i < all->batch; i++) {
        const int32_t *sequence = all->ids + all->starts[i];
        const int before = all->starts[i + 1] - all->starts[i] - 1;
        if (before <= count &&
            memcmp(sequence, ids + count - before, sizeof *ids * (size_t)before) == 0)
            rapt__section_forbid(section, sequence[before]);
    }
}

static void forbid(const void *rules, int row, const struct section *section)
{
    const struct search *s = rules;
    const struct search_memory *m = s->m;
    int slot = m->row_slot[row], count = m->count[slot / s->stride];
    const int32_t *ids = m->live + (size_t)slot * (size_t)s->length;
    if (count < s->options->min_length) rapt__section_forbid(section, s->options->end);
    forbid_repeats(s, row, ids, count, section);
    forbid_sequences(s, ids, count, section);
}

/* ---- repetition penalty ---- */

static bool is_in(const int32_t *ids, int count, int32_t token)
{
    for (int i = 0; i < count; i++)
        if (ids[i] == token) return true;
    return false;
}

/* Penalizes a token if it is in the section. `base` is the log sum of the row if the penalty
   applies to log-probabilities, else 0. */
static void penalize_token(const struct section *section, int32_t token, float base, float penalty)
{
    float *logit = rapt__section_logit(section, token);
    if (!logit) return;
    const float x = *logit - base;
    *logit = base + (x > 0 ? x / penalty : x * penalty);
}

static void penalize(const void *rules, int row, const struct section *section)
{
    const struct search *s = rules;
    const struct search_memory *m = s->m;
    const rapt_generate_options *o = s->options;
    const int slot = m->row_slot[row], count = m->count[slot / s->stride];
    const int32_t *ids = m->live + (size_t)slot * (size_t)s->length;
    const float base = s->picks.sum_first ? m->log_sums[row] : 0;
    for (int i = 0; i < count; i++)
        if (!is_in(ids, i, ids[i])) penalize_token(section, ids[i], base, o->repetition_penalty);
    if (s->search_rules == RAPT_SEARCH_RULES_HF && !is_in(ids, count, o->begin))
        penalize_token(section, o->begin, base, o->repetition_penalty);
}

void rapt__constrain(struct search *s)
{
    const rapt_generate_options *o = s->options;
    s->picks.rules = s;
    if (o->min_length || o->no_repeat_ngram || o->suppressed_sequences) s->picks.forbid = forbid;
    if (o->repetition_penalty <= 0 || o->repetition_penalty == 1) return;
    s->picks.penalize = penalize;
    s->picks.sum_first = s->search_rules == RAPT_SEARCH_RULES_HF && s->beams > 1;
}
