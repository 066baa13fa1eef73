/* announce.c - passes tokens to the caller's callback as soon as they are certain to be in the best
   sequence of a source. The best sequence will be either a finished hypothesis or the continuation
   of a live hypothesis. Therefore the common prefix of all live and finished hypotheses is
   certain. */
#include "generate/search.h"

struct known { /* a certain prefix of a source's best sequence */
    const int32_t *ids;
    const float *log;
    int count;
    bool ended; /* the end token follows */
};

/* Truncates *k to the common prefix of *k and ids[count]. Their first `from` tokens are known to be
   equal. If k->ids is NULL, sets *k to ids[count]. */
static void agree(struct known *k, const int32_t *ids, const float *log, int count, int from)
{
    if (!k->ids) {
        *k = (struct known){ids, log, count, false};
        return;
    }
    if (count < k->count) k->count = count;
    for (int t = from; t < k->count; t++)
        if (k->ids[t] != ids[t]) k->count = t;
}

/* Returns the certain prefix of a source's best sequence. Once no hypothesis is live, this is the
   whole best hypothesis. */
static struct known known_of(const struct search *s, int source)
{
    const struct search_memory *m = s->m;
    int first = source * s->stride;
    struct known k = {0};
    if (m->live_count[source] == 0) {
        int best = rapt__search_best(s, source);
        size_t at = (size_t)best * (size_t)s->length;
        if (best >= 0)
            k = (struct known){m->done + at, m->done_log + at, m->done_length[best],
                               m->done_ended[best]};
        return k;
    }
    for (int i = 0; i < m->live_count[source]; i++) {
        size_t at = (size_t)(first + i) * (size_t)s->length;
        agree(&k, m->live + at, m->live_log + at, m->count[source], m->announced[source]);
    }
    for (int i = 0; i < m->done_count[source]; i++) {
        size_t at = (size_t)(first + i) * (size_t)s->length;
        agree(&k, m->done + at, m->done_log + at, m->done_length[first + i], m->announced[source]);
    }
    return k;
}

bool rapt__search_announce(struct search *s, int source)
{
    struct search_memory *m = s->m;
    const rapt_generate_options *o = s->options;
    if (m->announced[source] < 0) return true;
    const struct known k = known_of(s, source);
    while (k.ids && m->announced[source] < k.count) {
        int t = m->announced[source]++;
        if (o->token(o->user, source, k.ids[t], k.log[t])) return false;
    }
    if (m->live_count[source]) return true;
    m->announced[source] = -1;
    return !k.ended || o->token(o->user, source, o->end, k.log[k.count]) == 0;
}
