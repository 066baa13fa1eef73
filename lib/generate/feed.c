/* feed.c - divides known target sequences into calls of rapt__decode: a prefix before a search, or
   a whole target to be scored. The input of row p is token p - 1, or the begin token for p = 0. It
   is followed by token p, or by the end. */
#include "generate/generate.h"

/* Returns the number of rows of a sequence: one for each token, and one for the end if there is
   one. The token that the last row predicts is never an input. */
static int feed_rows(const struct feed *f, int source)
{
    return f->tokens->starts[source + 1] - f->tokens->starts[source] + (f->end >= 0);
}

rapt_tokens rapt__feed_next(rapt_session *s, const struct feed *f)
{
    struct search_memory *m = &s->search;
    int rows = 0, beams = s->limits.beams;
    m->starts[0] = 0;
    for (int i = 0; i < s->targets; i++) {
        int source = i / beams, first = f->tokens->starts[source];
        int end = i % beams == 0 ? feed_rows(f, source) : 0;
        for (int p = s->length[i]; p < end && rows < s->limits.target_tokens; p++, rows++) {
            bool last = first + p == f->tokens->starts[source + 1];
            m->inputs[rows] = p ? f->tokens->ids[first + p - 1] : f->begin;
            m->wanted[rows] = last ? f->end : f->tokens->ids[first + p];
        }
        m->starts[i + 1] = rows;
    }
    return (rapt_tokens){.batch = s->targets, .ids = m->inputs, .starts = m->starts};
}
