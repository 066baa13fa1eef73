/* beam.c - narrow beams, where pruning matters, against a plain reimplementation: all continuations
   of all hypotheses are ranked in one list; an end among the first `beams` finishes its hypothesis,
   and the first `beams` others live on. */
#include "generate/plain_search.h"

static void end(struct list *done, const struct hypothesis *h, int beams, int length,
                double penalty)
{
    if (done->count == beams) return;
    struct hypothesis *to = &done->items[done->count++];
    *to = *h;
    to->score = h->sum / pow(length, penalty);
}

static void search(rapt_session *probe, const rapt_tokens *source, int beams, int max,
                   double penalty, struct list *done)
{
    struct list live = {.count = 1};
    done->count = 0;
    for (int step = 0; step < max && live.count && done->count < beams; step++) {
        struct list all = {.count = 0}, next_live = {.count = 0};
        for (int i = 0; i < live.count; i++) {
            double log_p[VOCAB];
            next(probe, source, live.items[i].ids, step, VOCAB, log_p);
            for (int32_t token = 0; token < VOCAB; token++) {
                struct hypothesis *h = &all.items[all.count++];
                *h = live.items[i];
                h->ids[step] = token;
                h->sum += log_p[token];
                h->count = token == END ? step : step + 1;
            }
        }
        sort(&all, false);
        for (int i = 0; i < all.count && next_live.count < beams; i++) {
            if (all.items[i].count > step)
                next_live.items[next_live.count++] = all.items[i];
            else if (i < beams)
                end(done, &all.items[i], beams, step + 1, penalty);
        }
        live = next_live;
        if (step + 1 == max)
            for (int i = 0; i < live.count; i++) end(done, &live.items[i], beams, max, penalty);
    }
    sort(done, true);
}

static void judge_plain_search(const rapt_config *config, uint64_t seeds)
{
    static const double penalties[] = {0, 1, 0.6};
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        int beams = 2 + (int)(seed % (BEAMS - 1)), max = 3 + (int)(seed % (MAX - 2));
        rapt_model *model = small_model(config, seed);
        rapt_session *probe = probe_of(model, MAX), *session = session_of(model, 1, BEAMS, MAX, 1);
        struct small_batch b;
        struct list wanted;
        const rapt_tokens *source = one_source(&b, 7, 1 + (int)(seed % 5), seed);
        rapt_generate_options o;
        rapt_generate_options_default(&o, sizeof o, BEGIN, END);
        int32_t ids[BEAMS * MAX];
        int counts[BEAMS];
        float scores[BEAMS];
        o.beams = o.nbest = beams, o.max_length = max;
        o.length_penalty = (float)penalties[seed % 3];
        search(probe, source, beams, max, (double)o.length_penalty, &wanted);
        assert_int_equal(generate(session, source, &o, ids, counts, scores, NULL), RAPT_OK);
        for (int i = 0; i < beams; i++) {
            if (i >= wanted.count) {
                assert_int_equal(counts[i], -1);
                continue;
            }
            const struct hypothesis *h = &wanted.items[i];
            assert_int_equal(counts[i], h->count);
            assert_memory_equal(ids + i * max, h->ids, sizeof *ids * (size_t)h->count);
            assert_true(fabs((double)scores[i] - h->score) < 1e-5 * (1 + fabs(h->score)));
        }
        rapt_session_free(probe);
        rapt_session_free(session);
        rapt_model_free(model);
    }
}

static void test_plain_search(void **state)
{
    (void)state;
    judge_plain_search(&five, 40);
}

/* Hypotheses with a common past have copies of its states. */
static void test_recurrent(void **state)
{
    (void)state;
    for (int kind = RAPT_RECURRENCE_SSRU; kind <= RAPT_RECURRENCE_GATED_DELTA; kind++) {
        rapt_config config = five;
        config.decoder_recurrence = (rapt_recurrence)kind;
        judge_plain_search(&config, 12);
    }
}

/* Each hypothesis keeps the positions of its heads. */
static void test_monotonic(void **state)
{
    (void)state;
    for (int kind = RAPT_CROSS_MONOTONIC_HARD; kind <= RAPT_CROSS_MONOTONIC_LOOKBACK; kind++) {
        rapt_config config = five;
        config.monotonic = (rapt_cross_monotonic)kind;
        judge_plain_search(&config, 12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain_search),
                                       cmocka_unit_test(test_recurrent),
                                       cmocka_unit_test(test_monotonic)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
