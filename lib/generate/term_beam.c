/* term_beam.c - divides a beam among hypotheses that lack different numbers of term tokens: dynamic
   beam allocation (M. Post and D. Vilar, Fast Lexically Constrained Decoding with Dynamic Beam
   Allocation for Neural Machine Translation, 2018, arXiv 1804.06609), which makes the cost of grid
   beam search (C. Hokamp and Q. Liu, 2017, arXiv 1704.07138) independent of the number of terms.

   Candidates are the most likely tokens of every hypothesis and the tokens that lead to its missing
   terms, or the end token if no terms are missing. All candidates that still lack the same number
   of term tokens form a bank. The beam is divided equally among the banks; the bank of complete
   hypotheses also receives the remainder. Places that a bank cannot fill go to the other banks,
   beginning with the banks that lack the fewest tokens. Candidates that cannot be completed within
   the length limit are dropped, unless that would drop all of them. The end token is a candidate
   only for complete hypotheses. */
#include "generate/search.h"

#include <math.h>
#include <string.h>

/* Lays out memory for `sources` sources, `rows` hypotheses, `wanted` wanted tokens, `candidates`
   candidates of one source, and `banks` banks. */
static void lay_out(struct term_memory *m, size_t sources, size_t rows, size_t wanted,
                    size_t candidates, size_t banks, struct arena *arena)
{
    m->starts = rapt__arena_take(arena, rows + 1, sizeof *m->starts);
    m->tokens = rapt__arena_take(arena, wanted, sizeof *m->tokens);
    m->logits = rapt__arena_floats(arena, wanted, 1);
    m->scans = rapt__arena_take(arena, rows, sizeof *m->scans);
    m->open = rapt__arena_take(arena, rows, sizeof *m->open);
    m->refused = rapt__arena_take(arena, rows, sizeof *m->refused);
    m->next_refused = rapt__arena_take(arena, rows, sizeof *m->next_refused);
    m->hope = rapt__arena_take(arena, sources, sizeof *m->hope);
    m->candidates = rapt__arena_take(arena, candidates, sizeof *m->candidates);
    m->left = rapt__arena_take(arena, candidates, sizeof *m->left);
    m->places = rapt__arena_take(arena, banks, sizeof *m->places);
    m->taken = rapt__arena_take(arena, banks, sizeof *m->taken);
    m->seen = rapt__arena_take(arena, banks, sizeof *m->seen);
}

rapt_status rapt__terms_begin(rapt_session *s, const rapt_generate_options *o, rapt_message *why)
{
    const rapt_terms *t = o->terms;
    struct term_memory *m = &s->terms;
    const size_t sources = (size_t)s->sources, beams = (size_t)(o->beams ? o->beams : 1);
    size_t wanted = 0, most = 0, banks = 0;
    for (int b = 0; b < s->sources; b++) {
        const struct term_list l = rapt__terms_of(t, b);
        wanted += l.count > 0 ? beams * (size_t)(l.phrases + 1) : 0;
        most = rapt__max_size(most, (size_t)l.phrases + 1);
        banks = rapt__max_size(banks, (size_t)l.tokens + 1);
    }
    const size_t rows = sources * (size_t)s->limits.beams, each = beams * (beams + 1 + most);
    lay_out(m, sources, rows, wanted, each, banks, &m->arena);
    rapt_status status = rapt__arena_reserve(&m->arena, &s->allocator);
    if (status) return rapt__fail(why, status, "no memory for a search with terms");
    lay_out(m, sources, rows, wanted, each, banks, &m->arena);
    for (size_t i = 0; i < rows; i++) m->refused[i] = false;
    return RAPT_OK;
}

void rapt__terms_end(rapt_session *s)
{
    rapt__arena_free(&s->terms.arena, &s->allocator);
    s->terms = (struct term_memory){.starts = NULL};
}

int rapt__terms_count(const struct search *s, int source)
{
    const rapt_terms *t = s->options->terms;
    return t ? t->sources[source + 1] - t->sources[source] : 0;
}

void rapt__terms_prepare(struct search *s)
{
    const struct search_memory *m = s->m;
    struct term_memory *t = &s->session->terms;
    int row = 0;
    t->starts[0] = 0;
    for (int b = 0; b < s->session->sources; b++) {
        const struct term_list l = rapt__terms_of(s->options->terms, b);
        for (int i = 0; i < m->live_count[b]; i++, row++) {
            t->starts[row + 1] = t->starts[row];
            t->open[row] = false;
            if (l.count == 0) continue;
            const int count = m->count[b];
            const int32_t *ids = m->live + (size_t)(b * s->stride + i) * (size_t)s->length;
            int32_t *tokens = t->tokens + t->starts[row];
            t->scans[row] = rapt__terms_settle(&l, ids, count);
            const struct term_scan all = rapt__terms_scan(&l, t->scans[row], ids, count);
            int wanted = rapt__terms_next(&l, &all, ids, count, tokens);
            if (all.count == l.count) tokens[wanted++] = s->options->end;
            for (int k = 0; k < wanted; k++) t->logits[t->starts[row] + k] = -INFINITY;
            t->starts[row + 1] += wanted;
            t->open[row] = all.count < l.count;
        }
    }
}

bool rapt__terms_open(const struct search *s, int row)
{
    return s->session->terms.open[row];
}

bool rapt__terms_want(const struct search *s, int row, int32_t token)
{
    const struct term_memory *t = &s->session->terms;
    for (int i = t->starts[row]; i < t->starts[row + 1]; i++)
        if (t->tokens[i] == token) return true;
    return false;
}

int rapt__terms_met(const struct search *s, int source, const int32_t *ids, int count)
{
    const struct term_scan none = {0};
    if (rapt__terms_count(s, source) == 0) return 0;
    const struct term_list l = rapt__terms_of(s->options->terms, source);
    return rapt__terms_scan(&l, none, ids, count).count;
}

double rapt__terms_hope(const struct search *s, int source)
{
    return s->session->terms.hope[source];
}

/* ---- allocation ---- */

/* Computes how many term tokens each candidate lacks, and removes the candidates that cannot be
   completed within the limit, unless that would remove all of them. Returns the number of
   candidates left. */
static int measure(struct search *s, const struct term_list *l, int source, int row, int count)
{
    struct search_memory *m = s->m;
    struct term_memory *t = &s->session->terms;
    const int length = m->count[source];
    const bool forced = s->search_rules == RAPT_SEARCH_RULES_HF; /* the last token is the end
                                                                    token */
    const int room = m->limit[source] - forced - (length + 1);
    int fit = 0;
    for (int i = 0; i < count; i++) {
        const struct candidate *c = &t->candidates[i];
        int32_t *ids = m->live + (size_t)(source * s->stride + c->slot) * (size_t)s->length;
        t->left[i] = 0;
        if (c->token != s->options->end) {
            ids[length] = c->token;
            const struct term_scan all =
                rapt__terms_scan(l, t->scans[row + c->slot], ids, length + 1);
            t->left[i] = rapt__terms_left(l, &all, ids, length + 1);
        }
        fit += t->left[i] <= room;
    }
    if (fit == 0) return count;
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (t->left[i] > room) continue;
        t->candidates[kept] = t->candidates[i];
        t->left[kept++] = t->left[i];
    }
    return kept;
}

/* Divides the beam among banks 0 to l->tokens. The candidates of bank b lack b term tokens. */
static void divide(const struct search *s, const struct term_list *l, int count)
{
    const struct term_memory *t = &s->session->terms;
    const int banks = l->tokens + 1, each = s->beams / banks;
    int left = s->beams;
    for (int b = 0; b < banks; b++) t->places[b] = t->taken[b] = t->seen[b] = 0;
    for (int i = 0; i < count; i++) t->seen[t->left[i]]++;
    for (int b = 0; b < banks; b++) {
        const int share = each + (b == 0 ? s->beams % banks : 0);
        t->places[b] = rapt__min(share, t->seen[b]);
        left -= t->places[b];
    }
    for (int b = 0; b < banks; b++) {
        const int more = rapt__min(left, t->seen[b] - t->places[b]);
        t->places[b] += more;
        left -= more;
        t->seen[b] = 0;
    }
}

/* Keeps the best candidates of each bank. As in a search without terms, an end token survives if it
   is among the first N candidates of its bank, where N is the number of places that the bank has,
   but it does not use one of these places. */
static int keep_best(const struct search *s, int count)
{
    const struct term_memory *t = &s->session->terms;
    int kept = 0;
    for (int i = 0; i < count; i++) {
        const int bank = t->left[i], end = t->candidates[i].token == s->options->end;
        const int before = end ? t->seen[bank] : t->taken[bank];
        t->seen[bank]++;
        if (before >= t->places[bank]) continue;
        t->taken[bank] += !end;
        t->candidates[kept++] = t->candidates[i];
    }
    return kept;
}

/* Updates term_memory.refused and term_memory.hope for the survivors of a step. */
static void note_refusals(struct search *s, int source, int row, int count)
{
    const struct search_memory *m = s->m;
    struct term_memory *t = &s->session->terms;
    bool *old = t->refused + (ptrdiff_t)source * s->stride, *next = t->next_refused;
    int live = 0;
    t->hope[source] = -INFINITY;
    for (int i = 0; i < count; i++) {
        const struct candidate *c = &t->candidates[i];
        const int own = row + c->slot;
        if (c->token == s->options->end) continue;
        const size_t first = (size_t)own * (size_t)s->picks.max;
        next[live] = old[c->slot] ||
                     (t->open[own] && m->counts[own] > 0 && m->tokens[first] == s->options->end);
        if (!next[live]) t->hope[source] = fmax(t->hope[source], c->sum);
        live++;
    }
    memcpy(old, next, sizeof *old * (size_t)live);
}

int rapt__terms_allocate(struct search *s, int source, int row, int count)
{
    const struct term_list l = rapt__terms_of(s->options->terms, source);
    count = measure(s, &l, source, row, count);
    divide(s, &l, count);
    count = keep_best(s, count);
    note_refusals(s, source, row, count);
    return count;
}
