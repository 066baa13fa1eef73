/* constrain.c - sets the logits of forbidden tokens to -infinity: the end token before min_length,
   and tokens that would repeat an n-gram of the hypothesis. */
#include "generate/terms.h"

#include <string.h>

/* Forbids every token that, together with the last n - 1 tokens, would form an n-gram that
   ids[count] already contains. The end token is exempt, and so are tokens of missing terms. */
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

static void forbid(const void *rules, int row, const struct section *section)
{
    const struct search *s = rules;
    const struct search_memory *m = s->m;
    int slot = m->row_slot[row], count = m->count[slot / s->stride];
    if (count < s->options->min_length) rapt__section_forbid(section, s->options->end);
    forbid_repeats(s, row, m->live + (size_t)slot * (size_t)s->length, count, section);
}

void rapt__constrain(struct search *s)
{
    if (s->options->min_length == 0 && s->options->no_repeat_ngram == 0) return;
    s->picks.forbid = forbid;
    s->picks.rules = s;
}
