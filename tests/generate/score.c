/* score.c - forced decoding agrees with the logits of rapt_decode, the likelihood of training and
   the scores of generation; batches and limits do not change a bit; bad arguments are refused. */
#include "generate/small_search.h"

enum { BATCH = 4, MAX = 60 };

struct scored {
    float log_p[MAX];
    double sums[BATCH];
};

static rapt_session *session_with(const rapt_model *model, int batch, int beams, int tokens,
                                  int threads)
{
    rapt_session *session = NULL;
    rapt_limits limits = {.size = sizeof limits,
                          .batch = batch,
                          .beams = beams,
                          .source_tokens = 60,
                          .target_length = rapt_model_config(model)->positions,
                          .target_tokens = tokens,
                          .threads = threads};
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    return session;
}

/* Makes sources, or their number for a model without sources, and targets, one of them empty. */
static void fill(const rapt_config *c, uint64_t seed, struct small_batch *source,
                 struct small_batch *target)
{
    const int lengths[BATCH] = {3, 7, 1, 5}, targets[BATCH] = {5, 0, 11, 2};
    small_fill(source, small_source_ids(c), lengths, BATCH, seed);
    small_fill(target, c->target_vocab, targets, BATCH, seed + 1);
    if (c->kind == RAPT_KIND_DECODER_ONLY) source->tokens = (rapt_tokens){.batch = BATCH};
}

/* Computes log-probabilities in double from all logits at once. */
static void by_logits(const rapt_model *model, const rapt_tokens *source, const rapt_tokens *target,
                      int b, float *log_p, double *sum)
{
    int starts[2], vocab = rapt_model_config(model)->target_vocab;
    rapt_session *session = session_with(model, 1, 1, 12, 1);
    const rapt_tokens one = source->ids ? small_one(source, b, starts) : (rapt_tokens){.batch = 1};
    const int32_t *ids = target->ids + target->starts[b];
    int n = target->starts[b + 1] - target->starts[b], rows[] = {0, n + 1};
    int32_t fed[12] = {BEGIN};
    const float *logits;
    if (n) memcpy(fed + 1, ids, sizeof *fed * (size_t)n);
    assert_int_equal(rapt_encode(session, &one, NULL, NULL), RAPT_OK);
    assert_int_equal(
        rapt_decode(session, &(rapt_tokens){.batch = 1, .ids = fed, .starts = rows}, &logits, NULL),
        RAPT_OK);
    *sum = 0;
    for (int p = 0; p <= n; p++, logits += vocab) {
        double all = 0, own = (double)logits[p < n ? ids[p] : END];
        for (int i = 0; i < vocab; i++) all += exp((double)logits[i]);
        log_p[p] = (float)(own - log(all));
        *sum += own - log(all);
    }
    rapt_session_free(session);
}

static void test_logits(void **state)
{
    (void)state;
    static const int kinds[] = {0, 1, 2, 3, 4, 5, 6, 10, 11, 12};
    for (int k = 0; k < COUNT(kinds); k++) {
        rapt_model *model = small_model(&small_configs[kinds[k]], 7);
        struct small_batch source, target;
        struct scored got;
        fill(rapt_model_config(model), 3, &source, &target);
        rapt_session *session = session_with(model, BATCH, 1, 0, 2);
        assert_int_equal(rapt_score_targets(session, &source.tokens, &target.tokens, BEGIN, END,
                                            got.log_p, got.sums, NULL),
                         RAPT_OK);
        for (int b = 0; b < BATCH; b++) {
            float wanted[12];
            double sum;
            by_logits(model, &source.tokens, &target.tokens, b, wanted, &sum);
            for (int p = 0; p <= target.starts[b + 1] - target.starts[b]; p++) {
                double error = (double)got.log_p[target.starts[b] + b + p] - (double)wanted[p];
                assert_true(fabs(error) < 1e-6 * (1 - (double)wanted[p]));
            }
            assert_true(fabs(got.sums[b] - sum) < 2e-6 * (1 - sum));
        }
        rapt_session_free(session);
        rapt_model_free(model);
    }
}

/* Puts begin and end around each target. */
static void frame(const rapt_tokens *target, struct small_batch *framed)
{
    int n = 0;
    for (int b = 0; b < target->batch; b++) {
        framed->starts[b] = n;
        framed->ids[n++] = BEGIN;
        for (int i = target->starts[b]; i < target->starts[b + 1]; i++)
            framed->ids[n++] = target->ids[i];
        framed->ids[n++] = END;
    }
    framed->starts[target->batch] = n;
    framed->tokens =
        (rapt_tokens){.batch = target->batch, .ids = framed->ids, .starts = framed->starts};
}

static void test_training(void **state)
{
    (void)state;
    static const int kinds[] = {0, 3, 10};
    for (int k = 0; k < COUNT(kinds); k++) {
        rapt_model *model = small_model(&small_configs[kinds[k]], 9);
        struct small_batch source, target, framed;
        fill(rapt_model_config(model), 5, &source, &target);
        frame(&target.tokens, &framed);
        rapt_train_options o;
        rapt_train_options_default(&o, sizeof o);
        rapt_train_limits limits = {sizeof limits, BATCH, 60, 60, .threads = 1};
        rapt_trainer *trainer = NULL;
        rapt_report report = {.size = sizeof report};
        assert_int_equal(rapt_trainer_create(&trainer, model, &o, &limits, NULL, NULL), RAPT_OK);
        assert_int_equal(
            rapt_train_evaluate(trainer, &source.tokens, &framed.tokens, &report, NULL), RAPT_OK);
        struct scored got;
        rapt_session *session = session_with(model, BATCH, 2, 5, 1);
        assert_int_equal(rapt_score_targets(session, &source.tokens, &target.tokens, BEGIN, END,
                                            NULL, got.sums, NULL),
                         RAPT_OK);
        double all = 0;
        for (int b = 0; b < BATCH; b++) all -= got.sums[b];
        assert_int_equal(report.tokens, target.starts[BATCH] + BATCH);
        assert_true(fabs(all - report.likelihood) < 1e-6 * all);
        rapt_session_free(session);
        rapt_trainer_free(trainer);
        rapt_model_free(model);
    }
}

/* A pair has the same bits by itself and in a batch, with any limits and threads, with and without
   the end. */
static void test_bits(void **state)
{
    (void)state;
    static const int kinds[] = {1, 11}, tokens[] = {1, 3, 0, 50}, beams[] = {1, 3, 2, 1};
    for (int k = 0; k < COUNT(kinds); k++) {
        rapt_model *model = small_model(&small_configs[kinds[k]], 2);
        struct small_batch source, target;
        struct scored first = {{0}, {0}}, got, alone;
        fill(rapt_model_config(model), 8, &source, &target);
        for (int l = 0; l < COUNT(tokens); l++) {
            rapt_session *session = session_with(model, BATCH, beams[l], tokens[l], 1 + l);
            struct scored *to = l ? &got : &first;
            memset(to, 0, sizeof *to);
            assert_int_equal(rapt_score_targets(session, &source.tokens, &target.tokens, BEGIN, END,
                                                to->log_p, to->sums, NULL),
                             RAPT_OK);
            assert_memory_equal(to, &first, sizeof first);
            for (int b = 0; b < BATCH; b++) {
                int from[2], to_starts[2], n = target.starts[b + 1] - target.starts[b];
                rapt_tokens one = source.tokens.ids ? small_one(&source.tokens, b, from)
                                                    : (rapt_tokens){.batch = 1};
                rapt_tokens own = small_one(&target.tokens, b, to_starts);
                const float *wanted = first.log_p + target.starts[b] + b;
                assert_int_equal(rapt_score_targets(session, &one, &own, BEGIN, END, alone.log_p,
                                                    alone.sums, NULL),
                                 RAPT_OK);
                assert_memory_equal(alone.log_p, wanted, sizeof(float) * (size_t)(n + 1));
                assert_memory_equal(alone.sums, &first.sums[b], sizeof(double));
                assert_int_equal(
                    rapt_score_targets(session, &one, &own, BEGIN, -1, alone.log_p, NULL, NULL),
                    RAPT_OK);
                assert_memory_equal(alone.log_p, wanted, sizeof(float) * (size_t)n);
            }
            rapt_session_free(session);
        }
        rapt_model_free(model);
    }
}

/* The score of a greedy search is that of its tokens. */
static void test_generated(void **state)
{
    (void)state;
    rapt_model *model = small_model(&larger, 3);
    rapt_session *session = session_with(model, 1, 4, 0, 2);
    struct small_batch b;
    const rapt_tokens *source = one_source(&b, 40, 6, 3);
    rapt_generate_options o;
    rapt_generate_options_default(&o, sizeof o, BEGIN, END);
    o.max_length = 20;
    for (o.beams = 1; o.beams <= 4; o.beams += 3) {
        int32_t ids[20];
        int count;
        float score;
        double sum;
        assert_int_equal(generate(session, source, &o, ids, &count, &score, NULL), RAPT_OK);
        const rapt_tokens target = {.batch = 1, .ids = ids, .starts = (const int[]){0, count}};
        assert_int_equal(rapt_score_targets(session, source, &target, BEGIN, count < 20 ? END : -1,
                                            NULL, &sum, NULL),
                         RAPT_OK);
        assert_true((float)sum == score);
    }
    rapt_session_free(session);
    rapt_model_free(model);
}

static void test_refusals(void **state)
{
    (void)state;
    rapt_model *model = small_model(&five, 1), *encoder = small_model(&small_configs[7], 1);
    rapt_session *session = session_with(model, 2, 1, 0, 1),
                 *half = session_with(encoder, 2, 1, 0, 1);
    struct small_batch s, t;
    int two[] = {1, 2}, one[] = {1}, longer[] = {24, 1}, longest[] = {25, 1};
    double sums[2] = {-9, -9};
    small_fill(&s, 7, two, 2, 1);
    small_fill(&t, 5, two, 2, 1);
#define REFUSE(session, source, target, begin, end, word)                                          \
    do {                                                                                           \
        rapt_message why = {""};                                                                   \
        assert_int_equal(                                                                          \
            rapt_score_targets(session, source, target, begin, end, NULL, sums, &why),             \
            RAPT_BAD_ARGUMENT);                                                                    \
        if (!strstr(why.text, word)) fail_msg("%s", why.text);                                     \
        assert_true(sums[0] == -9 && sums[1] == -9);                                               \
    } while (0)
    REFUSE(session, &s.tokens, &t.tokens, -1, END, "begin is -1");
    REFUSE(session, &s.tokens, &t.tokens, 5, END, "begin is 5");
    REFUSE(session, &s.tokens, &t.tokens, BEGIN, 5, "end is 5");
    REFUSE(session, &s.tokens, &t.tokens, BEGIN, -2, "end is -2");
    REFUSE(session, NULL, &t.tokens, BEGIN, END, "source");
    REFUSE(session, &s.tokens, NULL, BEGIN, END, "target");
    REFUSE(half, &s.tokens, &t.tokens, BEGIN, END, "encoder-only");
    small_fill(&t, 5, longer, 2, 1);
    REFUSE(session, &s.tokens, &t.tokens, BEGIN, END, "sequence 0 has 24 tokens");
    assert_int_equal(rapt_score_targets(session, &s.tokens, &t.tokens, BEGIN, -1, NULL, NULL, NULL),
                     RAPT_OK);
    small_fill(&t, 5, longest, 2, 1);
    REFUSE(session, &s.tokens, &t.tokens, BEGIN, -1, "sequence 0 has 25 tokens");
    small_fill(&t, 5, one, 1, 1);
    REFUSE(session, &s.tokens, &t.tokens, BEGIN, END, "2 source sequences, but 1 target");
#undef REFUSE
    rapt_session_free(session);
    rapt_session_free(half);
    rapt_model_free(model);
    rapt_model_free(encoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logits),   cmocka_unit_test(test_training),
        cmocka_unit_test(test_bits),     cmocka_unit_test(test_generated),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
