/* faults.c - finds faults of translations: loops (which weak models often produce), too many tokens
   for a short source, empty translations, and parts of the source that were not copied. */
#include "translate/translate.h"

enum {
    PERIOD_MAX = 64,  /* maximum length of a sequence that is repeated, in tokens */
    LOOP_TIMES = 4,   /* minimum number of times that a sequence occurs in a row in a loop */
    LOOP_TOKENS = 8,  /* minimum number of tokens of a loop */
    LOOP_NGRAM = 4,   /* every loop contains an n-gram of this size twice */
    SHORT_TOKENS = 8, /* maximum number of tokens of a short source */
    SHORT_RATIO = 2,  /* maximum number of target tokens per token of a short source */
    SHORT_EXTRA = 8   /* added to this maximum */
};

/* Returns the largest number of times that a sequence of 1 to PERIOD_MAX tokens occurs in a row.
   Ignores repetitions with fewer than `least` tokens in total. */
static int repeats(const int32_t *ids, int count, int least)
{
    int most = 1;
    for (int period = 1; period <= PERIOD_MAX && 2 * period <= count; period++) {
        int run = 0; /* number of tokens in a row that equal the token `period` before them */
        for (int i = period; i < count; i++) {
            run = ids[i] == ids[i - period] ? run + 1 : 0;
            if (run + period >= least) most = rapt__max(most, run / period + 1);
        }
    }
    return most;
}

/* Returns the maximum number of tokens of a translation without its end, or 0 if there is no limit,
   because the source is not short or the caller gave prefixes. */
static int short_limit(const struct window *w, const struct sentence *s)
{
    if (w->prefixes || s->count > SHORT_TOKENS) return 0;
    return rapt__max(SHORT_RATIO * s->count + SHORT_EXTRA + s->prefix_count + s->term_tokens,
                     w->job->options.min_length);
}

rapt_status rapt__faults_find(struct window *w, const struct sentence *s, const int32_t *ids,
                              int count, int *faults)
{
    const int limit = short_limit(w, s), times = repeats(ids, count, LOOP_TOKENS);
    bool lost = false;
    *faults = 0;
    if (times >= LOOP_TIMES && times > 2 * repeats(w->ids + s->start, s->count, 0))
        *faults |= RAPT_FAULT_REPEATS;
    if (limit > 0 && count > limit) *faults |= RAPT_FAULT_LONG;
    if (!w->prefixes && count <= s->prefix_count) *faults |= RAPT_FAULT_EMPTY;
    if (!rapt__copies_wanted(w, s->number)) return RAPT_OK;
    rapt_status status = rapt__copies_find(w, s->number, ids, count, &lost);
    if (lost) *faults |= RAPT_FAULT_LOST;
    return status;
}

struct constraint rapt__fault_constraint(const struct window *w, const struct sentence *s)
{
    struct constraint c = {0, 0, 0};
    if (s->faults & RAPT_FAULT_REPEATS) c.no_repeat_ngram = LOOP_NGRAM;
    if (s->faults & RAPT_FAULT_LONG) c.max_length = short_limit(w, s) + 1;
    if (s->faults & RAPT_FAULT_EMPTY) c.min_length = s->prefix_count + 1;
    return c;
}
