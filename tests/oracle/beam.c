/* beam.c - beam search of four projects, written from their definitions. Sources: CTranslate2 4.8,
   decoding.cc; transformers 4.57, generation/utils.py; marian-dev 1.12, beam_search.cpp and
   history.h. */
#include "beam.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LIST = BEAM_MAX * BEAM_VOCAB + BEAM_LENGTH * BEAM_MAX };

struct list {
    struct beam_hypothesis items[LIST];
    int count;
};

/* Sorts stably in descending order. */
static void sort(struct list *l, bool by_score)
{
    for (int i = 1; i < l->count; i++)
        for (int j = i; j > 0; j--) {
            struct beam_hypothesis *a = &l->items[j - 1], *b = &l->items[j], t = *b;
            if (by_score ? b->score <= a->score : b->sum <= a->sum) break;
            *b = *a, *a = t;
        }
}

static double log_sum(const double *x, int count)
{
    double max = x[0], sum = 0;
    for (int i = 1; i < count; i++) max = fmax(max, x[i]);
    for (int i = 0; i < count; i++) sum += exp(x[i] - max);
    return max + log(sum);
}

/* Returns true if a hypothesis contains a token or, with HF, if the token is the decoder's first
   input. */
static bool contains(const struct beam_problem *p, const struct beam_hypothesis *h, int32_t token)
{
    for (int i = 0; i < h->count; i++)
        if (h->ids[i] == token) return true;
    return p->search_rules == RAPT_SEARCH_RULES_HF && token == p->begin;
}

/* Divides positive values of tokens that a hypothesis contains, and multiplies negative ones. */
static void penalize(const struct beam_problem *p, const struct beam_hypothesis *h, double *values)
{
    for (int32_t i = 0; p->repetition > 0 && i < p->vocab; i++)
        if (contains(p, h, i))
            values[i] = values[i] < 0 ? values[i] * p->repetition : values[i] / p->repetition;
}

/* Returns true if a hypothesis followed by a token ends with a sequence. */
static bool completes(const struct beam_hypothesis *h, int32_t token, const struct beam_sequence *s)
{
    if (s->count - 1 > h->count || s->ids[s->count - 1] != token) return false;
    for (int i = 0; i < s->count - 1; i++)
        if (h->ids[h->count - (s->count - 1) + i] != s->ids[i]) return false;
    return true;
}

/* Computes the log-probabilities of the token after a hypothesis. Forbidden tokens are removed
   before or after the softmax. Repetitions are penalized before it, but in transformers' beam
   search after it. */
static void next(const struct beam_problem *p, const struct beam_hypothesis *h, double *log_p)
{
    double logits[BEAM_VOCAB], all;
    bool after =
        p->search_rules == RAPT_SEARCH_RULES_MARIAN || p->search_rules == RAPT_SEARCH_RULES_HF;
    bool late = p->search_rules == RAPT_SEARCH_RULES_HF && p->beams > 1;
    p->logits(p->user, h->ids, h->count, logits);
    if (!late) penalize(p, h, logits);
    all = log_sum(logits, p->vocab);
    for (int i = 0; late && i < p->vocab; i++) logits[i] -= all;
    if (late) penalize(p, h, logits), all = 0;
    if (p->banned >= 0) logits[p->banned] = -INFINITY;
    for (int i = 0; i < p->suppressed_count; i++)
        for (int32_t token = 0; token < p->vocab; token++)
            if (completes(h, token, &p->suppressed[i])) logits[token] = -INFINITY;
    if (h->count < p->min_length) logits[p->end] = -INFINITY;
    if (!after) all = log_sum(logits, p->vocab);
    for (int i = 0; i < p->vocab; i++) log_p[i] = logits[i] - all;
}

/* Lists all continuations of all live hypotheses, the best first. Those that end with the end token
   are `ended`. */
static void expand(const struct beam_problem *p, const struct list *live, struct list *all)
{
    all->count = 0;
    for (int i = 0; i < live->count; i++) {
        double log_p[BEAM_VOCAB];
        next(p, &live->items[i], log_p);
        for (int32_t token = 0; token < p->vocab; token++) {
            struct beam_hypothesis *h = &all->items[all->count];
            if (isinf(log_p[token])) continue;
            *h = live->items[i];
            h->sum += log_p[token];
            h->ended = token == p->end;
            if (!h->ended) h->ids[h->count++] = token;
            all->count++;
        }
    }
    sort(all, false);
}

static void score(const struct beam_problem *p, struct beam_hypothesis *h)
{
    int n = h->count + h->ended - (p->search_rules == RAPT_SEARCH_RULES_CT2 ? 0 : p->prefix_count);
    h->score = h->sum / pow(n > 1 ? n : 1, p->penalty);
}

/* Returns the sum of log min(c, 1) over the source, where c is the attention of all tokens and of
   the end. */
static double coverage(const struct beam_problem *p, const struct beam_hypothesis *h)
{
    double all[BEAM_KEYS] = {0}, weights[BEAM_KEYS], sum = 0;
    for (int i = 0; i < h->count + h->ended; i++) {
        p->attention(p->user, h->ids, i, weights);
        for (int k = 0; k < p->keys; k++) all[k] += weights[k];
    }
    for (int k = 0; k < p->keys; k++) sum += log(fmin(fmax(all[k], (double)FLT_MIN), 1));
    return sum;
}

static void add(const struct beam_problem *p, struct list *done, const struct beam_hypothesis *h)
{
    struct beam_hypothesis *own = &done->items[done->count++];
    *own = *h;
    score(p, own);
    if (p->coverage > 0) own->score += p->coverage * coverage(p, own);
}

/* The first 2 * beams continuations are candidates. Those of the first half that have ended, or in
   the last step all of the first half, are finished; each is replaced by the next candidate of the
   second half that has not ended. Directly after a prefix, all ended candidates but the first
   become hopeless. */
static void search_ct2(const struct beam_problem *p, struct list *live, struct list *done)
{
    bool top_ended = false;
    for (int step = p->prefix_count; step < p->max_length; step++) {
        struct list all, next_live = {.count = 0};
        bool last = step + 1 == p->max_length;
        expand(p, live, &all);
        if (all.count > 2 * p->beams) all.count = 2 * p->beams;
        for (int i = 1; i < all.count && p->prefix_count && step == p->prefix_count; i++)
            if (all.items[i].ended) all.items[i].sum = -1e10, all.items[i].ended = false;
        int second = p->beams;
        for (int k = 0; k < p->beams && k < all.count; k++) {
            const struct beam_hypothesis *h = &all.items[k];
            bool hopeless = h->sum <= -1e9;
            if ((h->ended || last) && !hopeless) {
                if (k == 0) top_ended = true;
                add(p, done, h);
                while (second < all.count && all.items[second].ended) second++;
                h = second < all.count ? &all.items[second++] : NULL;
            }
            if (h && !hopeless && !(h->sum <= -1e9)) next_live.items[next_live.count++] = *h;
        }
        bool enough = p->penalty == 0 && p->coverage == 0 ? top_ended && done->count >= p->nbest
                                                          : done->count >= p->beams;
        if (enough || last) return;
        sort(&next_live, false);
        *live = next_live;
    }
}

/* Ended candidates among the first `beams` join the finished ones, of which the best `beams` are
   kept; the best `beams` other candidates run on. The search is over when the worst of a full list
   of finished ones is at least as good as the best running one at its present length. The last
   token is forced to be the end. */
static void search_hf(const struct beam_problem *p, struct list *live, struct list *done)
{
    for (int step = p->prefix_count; step < p->max_length; step++) {
        struct list all = *live, running = {.count = 0};
        if (step + 1 < p->max_length) expand(p, live, &all);
        for (int i = 0; i < all.count && step + 1 == p->max_length; i++) all.items[i].ended = true;
        for (int i = 0; i < all.count; i++) {
            if (all.items[i].ended && i < p->beams) add(p, done, &all.items[i]);
            if (!all.items[i].ended && running.count < p->beams)
                running.items[running.count++] = all.items[i];
        }
        sort(done, true);
        if (done->count > p->beams) done->count = p->beams;
        if (running.count == 0) return;
        score(p, &running.items[0]);
        if (done->count == p->beams && running.items[0].score <= done->items[p->beams - 1].score)
            return;
        *live = running;
    }
}

/* The beam has a fixed number of places; a hypothesis that ends leaves it and takes its place with
   it. */
static void search_marian(const struct beam_problem *p, struct list *live, struct list *done)
{
    int width = p->beams;
    for (int step = p->prefix_count; step < p->max_length && width > 0; step++) {
        struct list all, left = {.count = 0};
        expand(p, live, &all);
        for (int i = 0; i < all.count && i < width; i++) {
            if (all.items[i].ended || step + 1 == p->max_length) add(p, done, &all.items[i]);
            if (!all.items[i].ended) left.items[left.count++] = all.items[i];
        }
        width = left.count;
        *live = left;
    }
}

static void search_rapt(const struct beam_problem *p, struct list *live, struct list *done)
{
    for (int step = p->prefix_count; step < p->max_length && live->count; step++) {
        struct list all, left = {.count = 0};
        expand(p, live, &all);
        for (int i = 0; i < all.count && left.count < p->beams; i++)
            if (!all.items[i].ended)
                left.items[left.count++] = all.items[i];
            else if (i < p->beams && done->count < p->beams)
                add(p, done, &all.items[i]);
        if (done->count == p->beams) return;
        *live = left;
    }
    for (int i = 0; i < live->count && done->count < p->beams; i++) add(p, done, &live->items[i]);
}

int oracle_beam(const struct beam_problem *p, struct beam_hypothesis best[BEAM_MAX])
{
    struct list live = {.count = 1}, done = {.count = 0};
    live.items[0] = (struct beam_hypothesis){.count = p->prefix_count};
    if (p->prefix_count)
        memcpy(live.items[0].ids, p->prefix, sizeof *p->prefix * (size_t)p->prefix_count);
    switch (p->search_rules) {
    case RAPT_SEARCH_RULES_CT2:
        search_ct2(p, &live, &done);
        break;
    case RAPT_SEARCH_RULES_HF:
        search_hf(p, &live, &done);
        break;
    case RAPT_SEARCH_RULES_MARIAN:
        search_marian(p, &live, &done);
        break;
    default:
        search_rapt(p, &live, &done);
        break;
    }
    sort(&done, true);
    int count = done.count < p->nbest ? done.count : p->nbest;
    memcpy(best, done.items, sizeof *best * (size_t)count);
    return count;
}
