/* beam.c - beam search: decides which continuations of a source's hypotheses survive, and writes
   the results. The sources of a batch do not affect each other.

   A step takes the beams + 1 most likely next tokens of every live hypothesis, so that at least
   `beams` of them are not the end token. It ranks all of them by the log-probability of the whole
   sequence. Ties go to the earlier hypothesis, then to the lower token number. An end token among
   the first `beams` finishes its hypothesis; the first `beams` other candidates survive.
   rapt_search_rules documents where other projects differ, term_beam.c chooses the survivors of
   sources with terms, and finish.c handles the hypotheses that end. Greedy search is beam search
   with beams = 1. */
#include "generate/search.h"

#include <math.h>
#include <string.h>

void rapt__search_layout(struct search_memory *m, const rapt_limits *l, int vocab,
                         struct arena *arena)
{
    size_t batch = (size_t)l->batch, beams = (size_t)l->beams, slots = batch * beams;
    size_t length = rapt__round_up_size((size_t)l->target_length, LANES),
           tokens = rapt__product(slots, length), picks = rapt__product(slots, beams + 1),
           rows = rapt__max_size(slots, (size_t)l->target_tokens);
    m->live = rapt__arena_take(arena, tokens, sizeof *m->live);
    m->next = rapt__arena_take(arena, tokens, sizeof *m->next);
    m->done = rapt__arena_take(arena, tokens, sizeof *m->done);
    m->live_log = rapt__arena_floats(arena, tokens, 1);
    m->next_log = rapt__arena_floats(arena, tokens, 1);
    m->done_log = rapt__arena_floats(arena, tokens, 1);
    m->count = rapt__arena_take(arena, batch, sizeof *m->count);
    m->given = rapt__arena_take(arena, batch, sizeof *m->given);
    m->announced = rapt__arena_take(arena, batch, sizeof *m->announced);
    m->sums = rapt__arena_take(arena, slots, sizeof *m->sums);
    m->next_sums = rapt__arena_take(arena, slots, sizeof *m->next_sums);
    m->live_count = rapt__arena_take(arena, batch, sizeof *m->live_count);
    m->done_count = rapt__arena_take(arena, batch, sizeof *m->done_count);
    m->ended_count = rapt__arena_take(arena, batch, sizeof *m->ended_count);
    m->top_ended = rapt__arena_take(arena, batch, sizeof *m->top_ended);
    m->limit = rapt__arena_take(arena, batch, sizeof *m->limit);
    m->done_length = rapt__arena_take(arena, slots, sizeof *m->done_length);
    m->done_ended = rapt__arena_take(arena, slots, sizeof *m->done_ended);
    m->done_slot = rapt__arena_take(arena, slots, sizeof *m->done_slot);
    m->done_score = rapt__arena_take(arena, slots, sizeof *m->done_score);
    m->done_terms = rapt__arena_take(arena, slots, sizeof *m->done_terms);
    m->parents = rapt__arena_take(arena, slots, sizeof *m->parents);
    m->starts = rapt__arena_take(arena, slots + 1, sizeof *m->starts);
    m->row_slot = rapt__arena_take(arena, slots, sizeof *m->row_slot);
    m->inputs = rapt__arena_take(arena, rows, sizeof *m->inputs);
    m->wanted = rapt__arena_take(arena, rows, sizeof *m->wanted);
    m->wanted_logits = rapt__arena_floats(arena, rows, 1);
    size_t members = (size_t)rapt__min(l->threads, l->batch);
    size_t blocks = members * (size_t)rapt__sample_blocks(vocab);
    m->order = rapt__arena_take(arena, members * (size_t)vocab, sizeof *m->order);
    m->shares = rapt__arena_floats(arena, members, (size_t)vocab);
    m->block_sums = rapt__arena_take(arena, blocks, sizeof *m->block_sums);
    m->block_greatest = rapt__arena_floats(arena, blocks, 1);
    m->candidates = rapt__arena_take(arena, beams * (beams + 1), sizeof *m->candidates);
    m->counts = rapt__arena_take(arena, slots, sizeof *m->counts);
    m->tokens = rapt__arena_take(arena, picks, sizeof *m->tokens);
    m->logits = rapt__arena_take(arena, picks, sizeof *m->logits);
    m->log_sums = rapt__arena_take(arena, rows, sizeof *m->log_sums);
    m->section_sums = rapt__arena_floats(arena, rows, (size_t)rapt__pick_sections(vocab));
}

static int by_rank(const void *context, const void *x, const void *y)
{
    (void)context;
    const struct candidate *a = x, *b = y;
    if (a->sum != b->sum) return a->sum > b->sum ? -1 : 1;
    if (a->slot != b->slot) return a->slot - b->slot;
    return (a->token > b->token) - (a->token < b->token);
}

/* Returns where the tokens of a hypothesis begin in live, next and done, and in the corresponding
   arrays of log-probabilities. */
static size_t hypothesis_at(const struct search *s, int source, int slot)
{
    return (size_t)(source * s->stride + slot) * (size_t)s->length;
}

/* Returns the candidate that appends a token to a live hypothesis. `row` is the row of the
   hypothesis in this step. */
static struct candidate candidate_of(const struct search *s, int source, int slot, int row,
                                     int32_t token, float logit)
{
    const struct search_memory *m = s->m;
    const double log_p = (double)logit - (double)m->log_sums[row];
    return (struct candidate){m->sums[source * s->stride + slot] + log_p, slot, token,
                              (float)log_p};
}

/* Ranks the picks of all live hypotheses of a source, best first. Returns the number of picks. */
static int collect(struct search *s, int source, int row)
{
    struct search_memory *m = s->m;
    int n = 0;
    for (int slot = 0; slot < m->live_count[source]; slot++, row++)
        for (int i = 0; i < m->counts[row]; i++) {
            size_t at = (size_t)row * (size_t)s->picks.max + (size_t)i;
            m->candidates[n++] =
                candidate_of(s, source, slot, row, (int32_t)m->tokens[at], m->logits[at]);
        }
    rapt__sort(m->candidates, (size_t)n, sizeof *m->candidates, by_rank, NULL);
    return n;
}

/* Like `collect`, but for a source with terms. Fills term_memory.candidates, adds the tokens that
   lead to terms, and excludes end tokens for hypotheses that lack terms. */
static int collect_terms(struct search *s, int source, int row)
{
    const struct search_memory *m = s->m;
    struct term_memory *t = &s->session->terms;
    int n = 0;
    for (int slot = 0; slot < m->live_count[source]; slot++, row++) {
        const size_t first = (size_t)row * (size_t)s->picks.max;
        for (int i = 0; i < m->counts[row]; i++) {
            const int32_t token = (int32_t)m->tokens[first + (size_t)i];
            if (rapt__terms_want(s, row, token)) continue;
            if (rapt__terms_open(s, row) && token == s->options->end) continue;
            t->candidates[n++] =
                candidate_of(s, source, slot, row, token, m->logits[first + (size_t)i]);
        }
        for (int i = t->starts[row]; i < t->starts[row + 1]; i++)
            if (t->logits[i] > -INFINITY)
                t->candidates[n++] = candidate_of(s, source, slot, row, t->tokens[i], t->logits[i]);
    }
    rapt__sort(t->candidates, (size_t)n, sizeof *t->candidates, by_rank, NULL);
    return n;
}

/* Writes a candidate, including the tokens before it, to slot `to` of `next`. */
static void continue_hypothesis(struct search *s, int source, const struct candidate *c, int to)
{
    struct search_memory *m = s->m;
    size_t count = (size_t)m->count[source], old = hypothesis_at(s, source, c->slot),
           own = hypothesis_at(s, source, to);
    memcpy(m->next + own, m->live + old, sizeof *m->next * count);
    m->next[own + count] = c->token;
    if (s->logs) {
        memcpy(m->next_log + own, m->live_log + old, sizeof(float) * count);
        m->next_log[own + count] = c->log_p;
    }
    m->next_sums[source * s->stride + to] = c->sum;
    m->parents[source * s->stride + to] = source * s->stride + c->slot;
}

void rapt__search_take(struct search *s, int source, const struct candidate *c)
{
    bool end = c->token == s->options->end;
    if (end)
        rapt__search_finish(s, source, c->slot, c);
    else
        continue_hypothesis(s, source, c, 0);
    s->m->live_count[source] = !end;
}

/* Returns true if hypotheses that reach their limit are dropped because others have finished. */
static bool drops_unended(const struct search *s, int source)
{
    return s->session->ended_only && s->m->done_count[source] > 0;
}

/* Finishes every live hypothesis with an end token of log-probability 0, regardless of the logits,
   as HF does at the limit. If drops_unended returns true, drops the hypotheses instead. */
static void force_end(struct search *s, int source)
{
    struct search_memory *m = s->m;
    if (drops_unended(s, source)) m->live_count[source] = 0;
    for (int slot = 0; slot < m->live_count[source]; slot++) {
        const struct candidate end = {m->sums[source * s->stride + slot], slot, s->options->end, 0};
        rapt__search_finish(s, source, slot, &end);
    }
    m->live_count[source] = 0;
}

/* Returns how many of the best candidates may finish a hypothesis; end tokens among the others are
   ignored. With Marian's rules this is the number of live hypotheses, except that it is `beams` in
   the first step, when only one hypothesis is live. */
static int width_of(const struct search *s, int source)
{
    const struct search_memory *m = s->m;
    bool first = m->count[source] == m->given[source];
    return s->search_rules == RAPT_SEARCH_RULES_MARIAN && !first ? m->live_count[source] : s->beams;
}

void rapt__search_choose(struct search *s, int source, int row)
{
    struct search_memory *m = s->m;
    const bool terms = rapt__terms_count(s, source) > 0;
    const struct candidate *ranked = terms ? s->session->terms.candidates : m->candidates;
    bool ct2 = s->search_rules == RAPT_SEARCH_RULES_CT2 && !terms,
         last = m->count[source] + 1 >= m->limit[source];
    bool after_prefix = ct2 && m->given[source] > 0 && m->count[source] == m->given[source];
    if (last && s->search_rules == RAPT_SEARCH_RULES_HF) {
        force_end(s, source);
        return;
    }
    int candidates = terms ? collect_terms(s, source, row) : collect(s, source, row), live = 0;
    if (terms) candidates = rapt__terms_allocate(s, source, row, candidates);
    int width = terms ? candidates : width_of(s, source), open = width;
    if (candidates == 0) { /* all tokens are suppressed or forbidden, or the logits are not
                              finite */
        rapt__search_truncate(s, source);
        return;
    }
    if (s->search_rules == RAPT_SEARCH_RULES_MARIAN || (ct2 && last))
        candidates = rapt__min(candidates, width);
    for (int i = 0; i < candidates && live < open; i++) {
        const struct candidate *c = &ranked[i];
        if (c->token != s->options->end) {
            continue_hypothesis(s, source, c, live++);
        } else if (i < width && after_prefix && i > 0) {
            open--; /* CTranslate2 drops this end token without replacing it */
        } else if (i < width) {
            rapt__search_finish(s, source, c->slot, c);
            m->top_ended[source] |= i == 0;
        }
    }
    m->live_count[source] = rapt__search_ended(s, source, live) ? 0 : live;
}

void rapt__search_truncate(struct search *s, int source)
{
    struct search_memory *m = s->m;
    if (drops_unended(s, source)) m->live_count[source] = 0;
    for (int slot = 0; slot < m->live_count[source]; slot++)
        rapt__search_finish(s, source, slot, NULL);
    m->live_count[source] = 0;
}

int rapt__search_best(const struct search *s, int source)
{
    const struct search_memory *m = s->m;
    int first = source * s->stride, best = -1;
    for (int i = first; i < first + m->done_count[source]; i++)
        if (m->done_length[i] >= 0 && (best < 0 || rapt__search_better(m, i, best))) best = i;
    return best;
}

/* Copies finished hypothesis `from` to the caller's hypothesis `to`. */
static void output_one(const struct search *s, int source, int from, size_t to,
                       const rapt_generate_outputs *out)
{
    const struct search_memory *m = s->m;
    int count = m->done_length[from];
    size_t row = to * (size_t)s->max_length, own = (size_t)from * (size_t)s->length;
    memcpy(out->ids + row, m->done + own, sizeof(int32_t) * (size_t)count);
    if (out->log_probabilities)
        memcpy(out->log_probabilities + row, m->done_log + own,
               sizeof(float) * (size_t)(count + m->done_ended[from]));
    if (!out->alignments || (s->record->wanted && !s->record->wanted[source])) return;
    const int *starts = s->session->source_starts;
    size_t keys = (size_t)(starts[source + 1] - starts[source]), first = (size_t)starts[source];
    size_t rank = to % (size_t)s->nbest, tokens = (size_t)s->nbest * first + rank * keys;
    rapt__record_trace(s, m->done_slot[from], count, m->done_ended[from],
                       out->alignments + tokens * ((size_t)s->max_length + 1));
}

void rapt__search_output(const struct search *s, int source, const rapt_generate_outputs *out)
{
    const struct search_memory *m = s->m;
    for (int rank = 0; rank < s->nbest; rank++) {
        size_t to = (size_t)source * (size_t)s->nbest + (size_t)rank;
        int best = rapt__search_best(s, source);
        out->counts[to] = best < 0 ? -1 : m->done_length[best];
        if (out->ended) out->ended[to] = best >= 0 && m->done_ended[best];
        if (out->terms) out->terms[to] = best < 0 ? 0 : m->done_terms[best];
        if (out->scores) out->scores[to] = best < 0 ? -INFINITY : (float)m->done_score[best];
        if (best < 0) continue;
        output_one(s, source, best, to, out);
        m->done_length[best] = -1;
    }
}
