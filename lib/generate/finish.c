/* finish.c - computes the scores of finished hypotheses, and decides which of them are kept and
   when a source needs no further steps. rapt_search_rules documents how this library, Marian,
   Hugging Face's transformers and CTranslate2 differ. */
#include "generate/search.h"

#include <string.h>

/* Returns sum / n^length_penalty. */
static double score_of(const struct search *s, double sum, int n)
{
    return sum / rapt__pow(n, (double)s->options->length_penalty);
}

/* Returns what coverage_penalty adds to the score of a hypothesis that finishes in slot `own`. */
static double coverage_of(const struct search *s, int own, int count, bool ended)
{
    const double weight = (double)s->options->coverage_penalty;
    return weight > 0 ? weight * rapt__record_coverage(s, own, count, ended) : 0;
}

/* Returns the length to which length_penalty applies. Except with CTranslate2's rules, the length
   excludes the prefix, apart from its first options->scored_prefix tokens. It is at least 1. */
static int scored(const struct search *s, int source, int count)
{
    int given = rapt__max(s->m->given[source] - s->options->scored_prefix, 0);
    return rapt__max(count - (s->search_rules == RAPT_SEARCH_RULES_CT2 ? 0 : given), 1);
}

bool rapt__search_better(const struct search_memory *m, int a, int b)
{
    if (m->done_terms[a] != m->done_terms[b]) return m->done_terms[a] > m->done_terms[b];
    return m->done_score[a] > m->done_score[b];
}

/* Returns the slot of the worst hypothesis kept in `done`. If several are equally good, returns the
   first. */
static int worst_of(const struct search *s, int source)
{
    const struct search_memory *m = s->m;
    int first = source * s->stride, worst = first;
    for (int i = first + 1; i < first + m->done_count[source]; i++)
        if (rapt__search_better(m, worst, i)) worst = i;
    return worst;
}

/* Copies slot `from` of `done` to slot `to`. */
static void move_done(struct search *s, int from, int to)
{
    struct search_memory *m = s->m;
    size_t length = (size_t)s->length, a = (size_t)from * length, b = (size_t)to * length;
    memcpy(m->done + b, m->done + a, sizeof *m->done * length);
    if (s->logs) memcpy(m->done_log + b, m->done_log + a, sizeof *m->done_log * length);
    m->done_length[to] = m->done_length[from];
    m->done_ended[to] = m->done_ended[from];
    m->done_slot[to] = m->done_slot[from];
    m->done_score[to] = m->done_score[from];
    m->done_terms[to] = m->done_terms[from];
}

/* Returns a free slot of `done` for a hypothesis with this score and number of terms, or -1 if it
   is not kept. Once `beams` hypotheses are kept, RAPT's rules keep no more; with other rules, or
   with terms, a better hypothesis replaces the worst one. The hypotheses after the worst one move
   forward, so all stay in the order in which they finished. */
static int slot_for(struct search *s, int source, double score, int terms)
{
    struct search_memory *m = s->m;
    int first = source * s->stride;
    if (m->done_count[source] < s->beams) return first + m->done_count[source]++;
    int worst = worst_of(s, source), end = first + s->beams;
    const bool full =
        s->search_rules == RAPT_SEARCH_RULES_RAPT && rapt__terms_count(s, source) == 0;
    const bool better =
        terms != m->done_terms[worst] ? terms > m->done_terms[worst] : score > m->done_score[worst];
    if (full || !better) return -1;
    for (int i = worst; i + 1 < end; i++) move_done(s, i + 1, i);
    return end - 1;
}

void rapt__search_finish(struct search *s, int source, int slot, const struct candidate *end)
{
    struct search_memory *m = s->m;
    int count = m->count[source], own = source * s->stride + slot;
    double score =
        score_of(s, end ? end->sum : m->sums[own], scored(s, source, count + (end != NULL))) +
        coverage_of(s, own, count, end != NULL);
    const int terms = rapt__terms_met(s, source, m->live + (size_t)own * (size_t)s->length, count);
    int at = slot_for(s, source, score, terms);
    m->ended_count[source]++;
    if (at < 0) return;
    size_t from = (size_t)own * (size_t)s->length, to = (size_t)at * (size_t)s->length;
    memcpy(m->done + to, m->live + from, sizeof *m->done * (size_t)count);
    if (s->logs) memcpy(m->done_log + to, m->live_log + from, sizeof(float) * (size_t)count);
    if (s->logs && end) m->done_log[to + (size_t)count] = end->log_p;
    m->done_length[at] = count;
    m->done_ended[at] = end != NULL;
    m->done_slot[at] = own;
    m->done_score[at] = score;
    m->done_terms[at] = terms;
}

/* Returns true if `beams` finished hypotheses are kept and the best live one, if any, scores no
   higher than the worst of them. The live one is scored without coverage_penalty. `next` is sorted,
   so its first slot is the best. */
static bool none_better(const struct search *s, int source, int live)
{
    const struct search_memory *m = s->m;
    if (m->done_count[source] < s->beams) return false;
    if (live == 0) return true;
    double best = score_of(s, m->next_sums[(ptrdiff_t)source * s->stride],
                           scored(s, source, m->count[source] + 1));
    return best <= m->done_score[worst_of(s, source)];
}

/* Returns true if no hypothesis is live, or if nbest finished hypotheses with all terms score at
   least as high as every live one whose end token was never refused. */
static bool terms_done(const struct search *s, int source, int live)
{
    const struct search_memory *m = s->m;
    const int first = source * s->stride;
    const double best =
        score_of(s, rapt__terms_hope(s, source), scored(s, source, m->count[source] + 1));
    int good = 0;
    for (int i = first; i < first + m->done_count[source]; i++)
        good += m->done_terms[i] == rapt__terms_count(s, source) && m->done_score[i] >= best;
    return live == 0 || good >= s->nbest;
}

bool rapt__search_ended(const struct search *s, int source, int live)
{
    const struct search_memory *m = s->m;
    if (rapt__terms_count(s, source) > 0) return terms_done(s, source, live);
    if (s->search_rules == RAPT_SEARCH_RULES_MARIAN) return false;
    if (s->search_rules == RAPT_SEARCH_RULES_HF) return none_better(s, source, live);
    if (s->search_rules == RAPT_SEARCH_RULES_RAPT) return m->done_count[source] == s->beams;
    if (m->count[source] + 1 >= m->limit[source]) return false; /* live ones will be truncated */
    if (s->options->length_penalty == 0 && s->options->coverage_penalty == 0)
        return m->top_ended[source] && m->ended_count[source] >= s->nbest;
    return m->ended_count[source] >= s->beams;
}
