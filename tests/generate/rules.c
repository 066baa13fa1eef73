/* rules.c - generation with every option that changes or observes it (prefix, minimum length,
   n-grams, a callback for logits, announced tokens, log-probabilities, stops) against a plain
   search with the same options over the model's own next-token probabilities. */
#include "generate/small_search.h"

struct rules {
    int beams, max, min, ngram, given;
    double penalty;
    bool hook;
    int stop_after; /* steps */
    int32_t prefix[4];
};

static void end(struct plain_list *done, const struct hypothesis *h, const struct rules *r)
{
    int length = h->count - r->given + h->ended;
    if (done->count == r->beams) return;
    struct hypothesis *to = &done->items[done->count++];
    *to = *h;
    to->score = h->sum / pow(length > 1 ? length : 1, r->penalty);
}

/* Returns what the callback, and the plain search, add to a logit. */
static double nudge(int32_t token, int count)
{
    return token == 3 && count % 3 == 1 ? -INFINITY : (double)((token * 7 + count * 3) % 5) / 4;
}

/* Whether `token` after h would repeat an n-gram of h. */
static bool repeats(const struct hypothesis *h, int32_t token, int n)
{
    int32_t all[PLAIN_MAX + 1];
    memcpy(all, h->ids, sizeof *all * (size_t)h->count);
    all[h->count] = token;
    for (int i = 0; n > 0 && i + n <= h->count; i++)
        if (memcmp(all + i, all + h->count + 1 - n, sizeof *all * (size_t)n) == 0) return true;
    return false;
}

static void next_by_rules(rapt_session *probe, const rapt_tokens *source,
                          const struct hypothesis *h, const struct rules *r, double *log_p)
{
    double all = 0;
    next(probe, source, h->ids, h->count, PLAIN_VOCAB, log_p);
    for (int32_t token = 0; token < PLAIN_VOCAB; token++) {
        if (r->hook) log_p[token] += nudge(token, h->count);
        if (token == END ? h->count < r->min : repeats(h, token, r->ngram))
            log_p[token] = -INFINITY;
        all += exp(log_p[token]);
    }
    for (int32_t token = 0; token < PLAIN_VOCAB; token++) log_p[token] -= log(all);
}

/* Returns the length of the common prefix of all hypotheses that may still win. */
static int common(const struct plain_list *live, const struct plain_list *done)
{
    const struct hypothesis *first = &live->items[0];
    int count = first->count;
    for (int i = 0; i < live->count + done->count; i++) {
        const struct hypothesis *h =
            i < live->count ? &live->items[i] : &done->items[i - live->count];
        int t = 0;
        while (t < count && t < h->count && h->ids[t] == first->ids[t]) t++;
        count = t;
    }
    return count;
}

/* known: [step] tokens known after each step, prefix included, while hypotheses are live. */
static void search(rapt_session *probe, const rapt_tokens *source, const struct rules *r,
                   struct plain_list *done, int *known)
{
    struct plain_list live = {.count = 1};
    live.items[0].count = r->given;
    memcpy(live.items[0].ids, r->prefix, sizeof r->prefix);
    done->count = 0;
    for (int step = 0; live.count && done->count < r->beams; step++) {
        struct plain_list all = {.count = 0}, next_live = {.count = 0};
        int count = r->given + step;
        if (count >= r->max || step == r->stop_after) {
            for (int i = 0; i < live.count; i++) end(done, &live.items[i], r);
            break;
        }
        for (int i = 0; i < live.count; i++) {
            double log_p[PLAIN_VOCAB];
            next_by_rules(probe, source, &live.items[i], r, log_p);
            for (int32_t token = 0; token < PLAIN_VOCAB; token++) {
                if (!(log_p[token] > -INFINITY)) continue;
                struct hypothesis *h = &all.items[all.count++];
                *h = live.items[i];
                h->log[count] = (float)log_p[token];
                h->ids[count] = token;
                h->sum += log_p[token];
                h->ended = token == END;
                h->count = token == END ? count : count + 1;
            }
        }
        plain_sort(&all, false);
        for (int i = 0; i < all.count && next_live.count < r->beams; i++) {
            if (!all.items[i].ended)
                next_live.items[next_live.count++] = all.items[i];
            else if (i < r->beams)
                end(done, &all.items[i], r);
        }
        live = next_live;
        if (live.count && done->count < r->beams && count + 1 < r->max)
            known[step] = common(&live, done);
    }
    plain_sort(done, true);
}

/* ---- the library's callbacks ---- */

struct heard {
    int steps, stop_after;
    int known[PLAIN_MAX + 1]; /* tokens announced by the end of each step */
    int count;
    int32_t ids[PLAIN_MAX + 1];
    float log[PLAIN_MAX + 1];
};

static int hear(void *user, int source, int32_t id, float log_probability)
{
    struct heard *heard = user;
    assert_int_equal(source, 0);
    assert_true(heard->count <= PLAIN_MAX);
    heard->ids[heard->count] = id, heard->log[heard->count++] = log_probability;
    return 0;
}

static int poll(void *user)
{
    struct heard *heard = user;
    if (heard->steps > 0) heard->known[heard->steps - 1] = heard->count;
    return heard->steps++ == heard->stop_after;
}

static void push(void *user, int source, const int32_t *ids, int count, float *logits, int vocab)
{
    (void)user;
    assert_true(source == 0 && vocab == PLAIN_VOCAB && ids && count < PLAIN_MAX);
    for (int32_t token = 0; token < vocab; token++) logits[token] += (float)nudge(token, count);
}

static struct rules rules_of(uint64_t seed)
{
    struct rules r = {.beams = 1 + (int)(seed % PLAIN_BEAMS),
                      .max = 4 + (int)(seed % (PLAIN_MAX - 3)),
                      .min = seed % 3 == 0 ? (int)(seed % 5) : 0,
                      .ngram = seed % 4 == 1 ? 1 + (int)(seed / 4 % 3) : 0,
                      .given = (int)(seed / 2 % 4),
                      .penalty = seed % 2 ? 0.7 : 0,
                      .hook = seed / 5 % 2 == 0,
                      .stop_after = seed % 7 == 6 ? (int)(seed % 4) : 1000};
    for (int i = 0; i < r.given; i++)
        r.prefix[i] = (int32_t)(small_random(seed, (uint64_t)i) % PLAIN_VOCAB);
    return r;
}

static void compare(const struct plain_list *wanted, const struct rules *r, const int32_t *ids,
                    const int *counts, const float *scores, const float *logs, const int *ended)
{
    for (int i = 0; i < r->beams; i++) {
        if (i >= wanted->count) {
            assert_int_equal(counts[i], -1);
            continue;
        }
        const struct hypothesis *h = &wanted->items[i];
        assert_int_equal(counts[i], h->count);
        assert_int_equal(ended[i], h->ended);
        assert_memory_equal(ids + i * r->max, h->ids, sizeof *ids * (size_t)h->count);
        assert_true(fabs((double)scores[i] - h->score) < 1e-5 * (1 + fabs(h->score)));
        for (int t = 0; t < h->count + h->ended; t++) {
            double log_p = (double)logs[i * r->max + t];
            if (t < r->given)
                assert_true(log_p == 0);
            else
                assert_true(fabs(log_p - (double)h->log[t]) < 1e-5 * (1 - (double)h->log[t]));
        }
    }
}

/* All tokens of the best sequence are announced once, and after every step those that are known. */
static void compare_heard(const struct heard *heard, const struct rules *r, const int *known,
                          const int32_t *ids, int count, const float *logs, bool ended)
{
    int n = count > r->given ? count - r->given : 0;
    for (int step = 0; step + 1 < heard->steps; step++)
        if (heard->known[step] != known[step] - r->given)
            fail_msg("step %d: %d announced, %d known", step, heard->known[step],
                     known[step] - r->given);
    assert_int_equal(heard->count, count < 0 ? 0 : n + ended);
    for (int i = 0; i < heard->count; i++) {
        assert_int_equal(heard->ids[i], i < n ? ids[r->given + i] : END);
        assert_memory_equal(&heard->log[i], &logs[r->given + i], sizeof(float));
    }
}

static void test_plain_search(void **state)
{
    (void)state;
    int stopped = 0, early = 0, nothing = 0;
    for (uint64_t seed = 1; seed <= 140; seed++) {
        const struct rules r = rules_of(seed);
        rapt_model *model = small_model(&five, seed);
        rapt_session *probe = probe_of(model, PLAIN_MAX + 1),
                     *session = session_of(model, 1, PLAIN_BEAMS, PLAIN_MAX, 1);
        struct small_batch b;
        struct plain_list wanted;
        struct heard heard = {.stop_after = r.stop_after};
        const rapt_tokens *source = one_source(&b, 7, 1 + (int)(seed % 5), seed);
        const rapt_tokens prefix = {
            .batch = 1, .ids = r.prefix, .starts = (const int[]){0, r.given}};
        int known[PLAIN_MAX + 1] = {0}, counts[PLAIN_BEAMS], ended[PLAIN_BEAMS];
        int32_t ids[PLAIN_BEAMS * PLAIN_MAX];
        float scores[PLAIN_BEAMS], logs[PLAIN_BEAMS * PLAIN_MAX];
        rapt_generate_options o;
        rapt_generate_options_default(&o, sizeof o, BEGIN, END);
        o.beams = o.nbest = r.beams, o.max_length = r.max, o.length_penalty = (float)r.penalty;
        o.min_length = r.min, o.no_repeat_ngram = r.ngram;
        o.prefix = r.given || seed % 2 ? &prefix : NULL;
        o.token = hear, o.stop = poll, o.user = &heard;
        if (r.hook) o.logits = push;
        const rapt_generate_outputs out = {.size = sizeof out,
                                           .ids = ids,
                                           .counts = counts,
                                           .scores = scores,
                                           .log_probabilities = logs,
                                           .ended = ended};
        search(probe, source, &r, &wanted, known);
        assert_int_equal(rapt_generate(session, source, &o, &out, NULL), RAPT_OK);
        compare(&wanted, &r, ids, counts, scores, logs, ended);
        compare_heard(&heard, &r, known, ids, counts[0], logs, ended[0]);
        stopped += heard.steps > r.stop_after;
        early += r.beams > 1 && heard.steps > 2 && heard.known[1] > 0;
        nothing += counts[0] < 0;
        rapt_session_free(probe);
        rapt_session_free(session);
        rapt_model_free(model);
    }
    assert_true(stopped > 5 && early > 5 && nothing < 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain_search)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
