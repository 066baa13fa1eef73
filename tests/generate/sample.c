/* sample.c - sampling follows the softmax, whole or truncated to the most likely tokens, in small
   and large vocabularies; at a low temperature it is greedy search. */
#include "generate/small_search.h"

enum { MANY = 1000 }; /* tokens */

/* Draws the first token of the same source n times and counts each; the end counts as token 2. */
static void draw(rapt_session *session, const rapt_tokens *batch, int n, rapt_generate_options o,
                 int *seen)
{
    int counts[SMALL_BATCH];
    int32_t ids[SMALL_BATCH];
    memset(seen, 0, MANY * sizeof *seen);
    o.max_length = 1;
    for (int i = 0; i < n; i += batch->batch) {
        o.sequence = (uint64_t)i;
        assert_int_equal(generate(session, batch, &o, ids, counts, NULL, NULL), RAPT_OK);
        for (int b = 0; b < batch->batch; b++) seen[counts[b] ? ids[b] : END]++;
    }
}

static void judge_draws(int vocab)
{
    enum { N = 12800 };
    rapt_config config = larger;
    config.target_vocab = vocab;
    rapt_model *model = small_model(&config, 2);
    rapt_session *probe = probe_of(model, 2), *session = session_of(model, SMALL_BATCH, 1, 2, 1);
    struct small_batch one, many;
    double log_p[MANY], p[MANY];
    int seen[MANY], order[MANY];
    const rapt_tokens *source = one_source(&one, 40, 2, 7);
    many.starts[0] = 0;
    for (int b = 0; b < SMALL_BATCH; b++) {
        memcpy(many.ids + 2 * b, one.ids, 2 * sizeof *one.ids);
        many.starts[b + 1] = 2 * b + 2;
    }
    many.tokens = (rapt_tokens){
        .batch = 50, .ids = many.ids, .starts = many.starts}; /* 100 tokens, the capacity */
    next(probe, source, NULL, 0, vocab, log_p);
    for (int i = 0; i < vocab; i++) order[i] = i;
    for (int i = 0; i < vocab; i++)
        for (int j = i + 1; j < vocab; j++)
            if (log_p[order[j]] > log_p[order[i]]) {
                int t = order[i];
                order[i] = order[j], order[j] = t;
            }
    static const struct {
        float temperature;
        int top_k;
        float top_p;
    } cases[] = {{1, 0, 0}, {0.5f, 0, 0}, {2, 7, 0},  {1, 0, 0.5f},     {1, 3, 0.9f},
                 {1, 0, 1}, {1, 1, 0},    {1, 20, 0}, {0.3f, 30, 0.8f}, {0.25f, 0, 0.3f}};
    for (int c = 0; c < COUNT(cases); c++) {
        double t = (double)cases[c].temperature, all = 0, kept = 0, share = (double)cases[c].top_p;
        double chi = 0;
        int cells = 0;
        for (int i = 0; i < vocab; i++) all += exp(log_p[i] / t);
        for (int i = 0; i < vocab; i++) {
            bool in = (cases[c].top_k == 0 || i < cases[c].top_k) &&
                      (share == 0 || share == 1 || kept < share * all);
            p[order[i]] = in ? exp(log_p[order[i]] / t) : 0;
            if (in) kept += p[order[i]];
        }
        rapt_generate_options o;
        rapt_generate_options_default(&o, sizeof o, BEGIN, END);
        o.temperature = cases[c].temperature, o.top_k = cases[c].top_k, o.top_p = cases[c].top_p;
        o.seed = 40 + (uint64_t)c;
        draw(session, &many.tokens, N, o, seen);
        for (int i = 0; i < vocab; i++) {
            double expected = N * p[i] / kept;
            if (p[i] == 0) assert_int_equal(seen[i], 0);
            if (expected < 5) continue;
            chi += (seen[i] - expected) * (seen[i] - expected) / expected;
            cells++;
        }
        /* chi square has mean cells - 1, deviation sqrt(2 cells): five deviations are not chance */
        if (!(chi < cells + 5 * sqrt(2.0 * cells)))
            fail_msg("case %d: chi %g of %d", c, chi, cells);
    }
    rapt_session_free(probe);
    rapt_session_free(session);
    rapt_model_free(model);
}

static void test_sampling(void **state)
{
    (void)state;
    judge_draws(larger.target_vocab);
    judge_draws(MANY);
}

static void test_cold(void **state)
{
    (void)state;
    enum { LENGTH = 12 };
    rapt_model *model = small_model(&larger, 6);
    rapt_session *session = session_of(model, 2, 1, LENGTH, 1);
    struct small_batch b;
    int lengths[] = {3, 8}, cold_counts[2], counts[2];
    int32_t cold[2 * LENGTH], ids[2 * LENGTH];
    float cold_scores[2], scores[2];
    rapt_generate_options o;
    rapt_generate_options_default(&o, sizeof o, BEGIN, END);
    small_fill(&b, 40, lengths, 2, 1);
    assert_int_equal(generate(session, &b.tokens, &o, ids, counts, scores, NULL), RAPT_OK);
    for (int i = 0; i < 2; i++) {
        o.temperature = i ? 5 : 1e-4f, o.top_k = i;
        assert_int_equal(generate(session, &b.tokens, &o, cold, cold_counts, cold_scores, NULL),
                         RAPT_OK);
        for (int s = 0; s < 2; s++) {
            assert_int_equal(counts[s], cold_counts[s]);
            assert_memory_equal(ids + s * LENGTH, cold + s * LENGTH,
                                sizeof *ids * (size_t)counts[s]);
            assert_true(fabsf(scores[s] - cold_scores[s]) < 1e-4f * (1 + fabsf(scores[s])));
        }
    }
    rapt_session_free(session);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sampling),
        cmocka_unit_test(test_cold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
