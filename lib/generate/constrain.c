/* constrain.c - constraints on the tokens of targets: forbidden and penalized tokens, and terms
   that targets must contain. */
#include "generate/search.h"

#include <string.h>

/* ---- forbidden tokens ----

   The logits of these tokens become -infinity: the end token before min_length, tokens that would
   repeat an n-gram of the hypothesis, and tokens that would complete a suppressed sequence. */

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

/* ---- repetition_penalty ----

   Changes the logits of tokens that the hypothesis already contains and, with HF's rules, of the
   begin token. */

static bool is_in(const int32_t *ids, int count, int32_t token)
{
    for (int i = 0; i < count; i++)
        if (ids[i] == token) return true;
    return false;
}

/* Penalizes a token if it is in the section. `base` is the log-sum-exp of the row's logits if the
   penalty applies to log-probabilities, otherwise 0. */
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

/* ---- terms ----

   Finds the terms that a sequence contains (as defined at rapt_terms) and the tokens that could
   begin or continue a missing term. A scan goes from left to right and takes the longest phrase at
   each place. The decision at a place is final once the sequence extends at least one token beyond
   the longest phrase that could begin there. */

static int phrase_size(const rapt_terms *t, int phrase)
{
    return t->phrases->starts[phrase + 1] - t->phrases->starts[phrase];
}

static const int32_t *phrase_ids(const rapt_terms *t, int phrase)
{
    return t->phrases->ids + t->phrases->starts[phrase];
}

struct term_list rapt__terms_of(const rapt_terms *t, int source)
{
    struct term_list l = {.all = t, .first = t->sources[source]};
    l.count = t->sources[source + 1] - l.first;
    for (int i = l.first; i < l.first + l.count; i++) {
        int shortest = phrase_size(t, t->terms[i]);
        for (int p = t->terms[i]; p < t->terms[i + 1]; p++) {
            shortest = rapt__min(shortest, phrase_size(t, p));
            l.longest = rapt__max(l.longest, phrase_size(t, p));
        }
        l.phrases += t->terms[i + 1] - t->terms[i];
        l.tokens += shortest;
    }
    return l;
}

/* Returns true if token `right`, after token `left`, would continue the same word. */
static bool joins_word(const rapt_terms *t, int32_t left, int32_t right)
{
    return t->words && t->words[left] & RAPT_WORD_OPEN && t->words[right] & RAPT_WORD_INSIDE;
}

/* Finds the longest phrase that occurs at ids[at], ignoring the terms in `met`. Returns its size
   and sets *term to its term, or returns 0. */
static int phrase_at(const struct term_list *l, uint64_t met, const int32_t *ids, int count, int at,
                     int *term)
{
    const rapt_terms *t = l->all;
    int longest = 0;
    for (int i = 0; i < l->count; i++)
        for (int p = t->terms[l->first + i]; p < t->terms[l->first + i + 1]; p++) {
            const int size = phrase_size(t, p), end = at + size;
            if ((met >> i & 1) || size <= longest || end > count) continue;
            if (memcmp(ids + at, phrase_ids(t, p), sizeof *ids * (size_t)size) != 0) continue;
            if (at > 0 && joins_word(t, ids[at - 1], ids[at])) continue;
            if (end < count && joins_word(t, ids[end - 1], ids[end])) continue;
            longest = size;
            *term = i;
        }
    return longest;
}

/* Continues a scan: counts the phrases that begin before position `limit`. */
static void scan_terms(const struct term_list *l, struct term_scan *scan, const int32_t *ids,
                       int count, int limit)
{
    while (scan->at < limit) {
        int term = 0;
        const int size = phrase_at(l, scan->met, ids, count, scan->at, &term);
        scan->at += size > 0 ? size : 1;
        if (size == 0) continue;
        scan->met |= (uint64_t)1 << term;
        scan->count++;
        scan->end = scan->at;
    }
}

struct term_scan rapt__terms_settle(const struct term_list *l, const int32_t *ids, int count)
{
    struct term_scan settled = {0};
    scan_terms(l, &settled, ids, count, count - l->longest);
    return settled;
}

struct term_scan rapt__terms_scan(const struct term_list *l, struct term_scan settled,
                                  const int32_t *ids, int count)
{
    scan_terms(l, &settled, ids, count, count);
    return settled;
}

/* Returns the largest number of tokens at the end of ids[count] that begin the phrase without
   completing it. Tokens of phrases that have already been counted are not considered. */
static int begun_tokens(const struct term_list *l, const struct term_scan *s, int phrase,
                        const int32_t *ids, int count)
{
    const rapt_terms *t = l->all;
    const int32_t *own = phrase_ids(t, phrase);
    for (int n = rapt__min(phrase_size(t, phrase) - 1, count - s->end); n > 0; n--) {
        const int at = count - n;
        if (memcmp(ids + at, own, sizeof *ids * (size_t)n) == 0 &&
            !(at > 0 && joins_word(t, ids[at - 1], ids[at])))
            return n;
    }
    return 0;
}

int rapt__terms_left(const struct term_list *l, const struct term_scan *s, const int32_t *ids,
                     int count)
{
    const rapt_terms *t = l->all;
    int left = 0, gain = 0;
    for (int i = 0; i < l->count; i++) {
        const int first = t->terms[l->first + i], last = t->terms[l->first + i + 1];
        int shortest = phrase_size(t, first);
        if (s->met >> i & 1) continue;
        for (int p = first; p < last; p++) shortest = rapt__min(shortest, phrase_size(t, p));
        left += shortest;
        for (int p = first; p < last; p++) {
            const int n = begun_tokens(l, s, p, ids, count);
            if (n > 0) gain = rapt__max(gain, shortest - (phrase_size(t, p) - n));
        }
    }
    return left - gain;
}

int rapt__terms_next(const struct term_list *l, const struct term_scan *s, const int32_t *ids,
                     int count, int32_t *tokens)
{
    const rapt_terms *t = l->all;
    int found = 0;
    for (int i = 0; i < l->count; i++)
        for (int p = t->terms[l->first + i]; p < t->terms[l->first + i + 1]; p++) {
            if (s->met >> i & 1) continue;
            const int n = begun_tokens(l, s, p, ids, count);
            const int32_t token = phrase_ids(t, p)[n];
            int at = 0;
            if (n == 0 && count > 0 && joins_word(t, ids[count - 1], token)) continue;
            while (at < found && tokens[at] != token) at++;
            if (at == found) tokens[found++] = token;
        }
    return found;
}

/* ---- checks of terms ---- */

static rapt_status check_starts(const char *name, const int *starts, int count, int least, int most,
                                rapt_message *why)
{
    if (!starts) return rapt__fail(why, RAPT_BAD_ARGUMENT, "terms.%s is NULL", name);
    if (starts[0] != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "terms.%s[0] is %d; it must be 0", name,
                          starts[0]);
    for (int i = 0; i < count; i++) {
        const int64_t size = (int64_t)starts[i + 1] - starts[i];
        if (size < least || size > most)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "terms.%s[%d] is %d, but [%d] is %d; the difference must be "
                              "from %d to %d",
                              name, i, starts[i], i + 1, starts[i + 1], least, most);
    }
    return RAPT_OK;
}

rapt_status rapt__terms_check(const rapt_terms *t, const rapt_config *config, int32_t end,
                              int sources, rapt_message *why)
{
    const struct token_limits limits = {.what = "terms.phrases",
                                        .vocab = config->target_vocab,
                                        .batch = INT32_MAX,
                                        .tokens = INT32_MAX,
                                        .length = config->positions};
    rapt_status status = check_starts("sources", t->sources, sources, 0, RAPT_TERMS_MAX, why);
    if (!status) status = check_starts("terms", t->terms, t->sources[sources], 1, INT32_MAX, why);
    if (!status) status = rapt__tokens_check(t->phrases, &limits, why);
    if (status) return status;
    const rapt_tokens *p = t->phrases;
    if (p->batch != t->terms[t->sources[sources]])
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "terms.phrases has %d sequences, but terms.terms ends with %d", p->batch,
                          t->terms[t->sources[sources]]);
    for (int i = 0; i < p->batch; i++) {
        if (p->starts[i] == p->starts[i + 1])
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "terms.phrases: sequence %d is empty", i);
        for (int k = p->starts[i]; k < p->starts[i + 1]; k++)
            if (p->ids[k] == end)
                return rapt__fail(why, RAPT_BAD_ARGUMENT,
                                  "terms.phrases: sequence %d contains the end token, %d", i,
                                  (int)end);
    }
    return RAPT_OK;
}
