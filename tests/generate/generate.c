/* generate.c - greedy and beam search against plain searches over the model's own logits; results
   do not depend on the batch; bad options are refused. */
#include "generate/small_search.h"
#include <float.h>

/* ---- greedy ---- */

static int greedy(rapt_session *probe, const rapt_tokens *source, int vocab, int max, int32_t *ids,
                  double *score)
{
    double log_p[64];
    int n = 0;
    *score = 0;
    while (n < max) {
        int best = 0;
        next(probe, source, ids, n, vocab, log_p);
        for (int i = 1; i < vocab; i++)
            if (log_p[i] > log_p[best]) best = i;
        *score += log_p[best];
        if (best == END) break;
        ids[n++] = best;
    }
    return n;
}

static void test_greedy(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        const rapt_config *c = seed % 2 ? &larger : &five;
        rapt_model *model = small_model(c, seed);
        rapt_session *probe = probe_of(model, 20), *session = session_of(model, 1, 3, 19, 2);
        struct small_batch b;
        const rapt_tokens *source = one_source(&b, c->source_vocab, 1 + (int)seed, seed);
        rapt_generate_options o;
        rapt_generate_options_default(&o, sizeof o, BEGIN, END);
        int32_t ids[19], wanted[20];
        int count;
        float score;
        double wanted_score;
        int n = greedy(probe, source, c->target_vocab, 19, wanted, &wanted_score);
        for (o.beams = 0; o.beams <= 1; o.beams++) {
            assert_int_equal(generate(session, source, &o, ids, &count, &score, NULL), RAPT_OK);
            assert_int_equal(count, n);
            assert_memory_equal(ids, wanted, sizeof *ids * (size_t)n);
            assert_true(fabs((double)score - wanted_score) < 1e-4 * (1 + fabs(wanted_score)));
        }
        rapt_session_free(probe);
        rapt_session_free(session);
        rapt_model_free(model);
    }
}

/* ---- exhaustive search: beams that are wide enough prune nothing ---- */

enum { MAX = 6 };

struct best {
    int32_t ids[MAX];
    int count;
    double score;
};

/* Finds the best of all sequences of at most `max` tokens, the end included; a truncated one counts
   as ended. */
static void exhaust(rapt_session *probe, const rapt_tokens *source, int max, double penalty,
                    int32_t *ids, int n, double sum, struct best *best)
{
    double log_p[5];
    next(probe, source, ids, n, 5, log_p);
    for (int32_t token = 0; token < 5; token++) {
        int length = n + 1, count = token == END ? n : n + 1;
        ids[n] = token;
        if (token != END && length < max) {
            exhaust(probe, source, max, penalty, ids, length, sum + log_p[token], best);
            continue;
        }
        double score = (sum + log_p[token]) / pow(length, penalty);
        if (score <= best->score) continue;
        best->score = score, best->count = count;
        memcpy(best->ids, ids, sizeof *ids * (size_t)count);
    }
}

static void test_exhaustive(void **state)
{
    (void)state;
    static const float penalties[] = {0, 1, 0.6f, 2};
    for (uint64_t seed = 1; seed <= 4; seed++) {
        int max = seed == 4 ? 5 : 4, beams = seed == 4 ? 1024 : 256;
        rapt_model *model = small_model(&five, seed + 40);
        rapt_session *probe = probe_of(model, MAX), *session = session_of(model, 1, beams, max, 2);
        struct small_batch b;
        const rapt_tokens *source = one_source(&b, 7, 3, seed);
        rapt_generate_options o;
        rapt_generate_options_default(&o, sizeof o, BEGIN, END);
        int32_t ids[MAX], path[MAX];
        int count;
        float score;
        struct best best = {.score = -INFINITY};
        o.beams = beams, o.length_penalty = penalties[seed - 1];
        exhaust(probe, source, max, (double)o.length_penalty, path, 0, 0, &best);
        assert_int_equal(generate(session, source, &o, ids, &count, &score, NULL), RAPT_OK);
        assert_true(fabs((double)score - best.score) < 1e-5 * (1 + fabs(best.score)));
        assert_int_equal(count, best.count);
        assert_memory_equal(ids, best.ids, sizeof *ids * (size_t)count);
        rapt_session_free(probe);
        rapt_session_free(session);
        rapt_model_free(model);
    }
}

/* All sequences differ, are sorted, follow the rules, and have the scores of their tokens. */
static void test_nbest(void **state)
{
    (void)state;
    enum { N = 7, LENGTH = 12, BATCH = 3 };
    static const float penalties[] = {0, 1, -0.5f};
    static const int32_t suppressed[] = {0, 3};
    for (uint64_t seed = 1; seed <= 6; seed++) {
        rapt_model *model = small_model(&larger, seed);
        rapt_session *probe = probe_of(model, LENGTH + 1),
                     *session = session_of(model, BATCH, N + 1, LENGTH, 3);
        struct small_batch b;
        int lengths[] = {4, 9, 1}, counts[BATCH * N];
        int32_t ids[BATCH * N * LENGTH];
        float scores[BATCH * N];
        rapt_generate_options o;
        rapt_generate_options_default(&o, sizeof o, BEGIN, END);
        small_fill(&b, 40, lengths, BATCH, seed);
        o.beams = N + (int)(seed % 2), o.nbest = N, o.length_penalty = penalties[seed % 3];
        o.max_ratio = 1.5f, o.max_extra = 3;
        if (seed > 3) o.suppressed = suppressed, o.suppressed_count = 2;
        assert_int_equal(generate(session, &b.tokens, &o, ids, counts, scores, NULL), RAPT_OK);
        for (int i = 0; i < BATCH * N; i++) {
            int n = counts[i], max = (int)fmin(LENGTH, 1.5 * lengths[i / N] + 3), starts[2];
            const int32_t *row = ids + i * LENGTH;
            double sum = 0, log_p[50];
            rapt_tokens source = small_one(&b.tokens, i / N, starts);
            assert_in_range(n, 0, max);
            if (i % N) assert_true(scores[i - 1] >= scores[i]);
            for (int j = i - i % N; j < i; j++)
                assert_true(counts[j] != n ||
                            memcmp(ids + j * LENGTH, row, sizeof *ids * (size_t)n));
            for (int t = 0; t <= n && t < max; t++) {
                int32_t token = t < n ? row[t] : END;
                double kept = 0;
                next(probe, &source, row, t, 50, log_p);
                for (int k = 0; k < 50; k++)
                    if (!o.suppressed || (k != 0 && k != 3)) kept += exp(log_p[k]);
                assert_true(token != END || t == n);
                assert_true(!o.suppressed || (token != 0 && token != 3));
                sum += log_p[token] - log(kept);
            }
            int scored = n < max ? n + 1 : n;
            double wanted = sum / pow(scored, (double)o.length_penalty);
            assert_true(fabs((double)scores[i] - wanted) < 1e-4 * (1 + fabs(wanted)));
        }
        rapt_session_free(probe);
        rapt_session_free(session);
        rapt_model_free(model);
    }
}

/* A sequence has the same tokens and bits by itself, anywhere in a batch, and with other threads
   and limits. */
static void test_batches(void **state)
{
    (void)state;
    enum { BATCH = 7, BEAMS = 4, LENGTH = 20 };
    rapt_model *model = small_model(&larger, 3);
    int lengths[BATCH] = {4, 17, 1, 16, 9, 2, 30};
    struct small_batch b;
    small_fill(&b, 40, lengths, BATCH, 1);
    for (int kind = 0; kind < 4; kind++) { /* greedy, beam, n-best, sampled */
        int nbest = kind == 2 ? BEAMS : 1;
        int32_t ids[BATCH * BEAMS * LENGTH], id[BEAMS * LENGTH];
        int counts[BATCH * BEAMS], count[BEAMS];
        float scores[BATCH * BEAMS], score[BEAMS];
        rapt_session *all = session_of(model, BATCH, BEAMS, LENGTH, 3);
        rapt_session *alone = session_of(model, 1, BEAMS + 1, LENGTH + 7, 1);
        rapt_generate_options o;
        rapt_generate_options_default(&o, sizeof o, BEGIN, END);
        o.max_length = LENGTH, o.nbest = nbest, o.length_penalty = 0.7f;
        o.beams = kind == 1 || kind == 2 ? BEAMS : 1;
        o.temperature = kind == 3 ? 1.3f : 0, o.seed = 5;
        assert_int_equal(generate(all, &b.tokens, &o, ids, counts, scores, NULL), RAPT_OK);
        for (int i = BATCH; i-- > 0;) {
            int starts[2];
            rapt_tokens source = small_one(&b.tokens, i, starts);
            o.sequence = (uint64_t)i;
            assert_int_equal(generate(alone, &source, &o, id, count, score, NULL), RAPT_OK);
            assert_memory_equal(score, scores + i * nbest, sizeof *score * (size_t)nbest);
            for (int n = 0; n < nbest; n++) {
                assert_int_equal(count[n], counts[i * nbest + n]);
                assert_memory_equal(id + n * LENGTH, ids + (i * nbest + n) * LENGTH,
                                    sizeof *id * (size_t)(count[n] > 0 ? count[n] : 0));
            }
        }
        rapt_session_free(all);
        rapt_session_free(alone);
        rapt_model_free(model);
        model = small_model(&larger, 3);
    }
    rapt_model_free(model);
}

/* ---- ties ---- */

/* If all logits are equal, the lower token wins, and the earlier hypothesis. */
static void test_ties(void **state)
{
    (void)state;
    rapt_config c = five;
    c.output_bias = 0;
    rapt_model *model = small_model(&c, 1);
    rapt_session *session = session_of(model, 1, 3, 3, 1);
    struct small_batch b;
    float zeros[40] = {0};
    int32_t ids[9];
    int counts[3];
    float scores[3];
    rapt_generate_options o;
    rapt_generate_options_default(&o, sizeof o, BEGIN, END);
    assert_int_equal(rapt_model_write(model, rapt_model_find(model, "output.weight"), zeros, NULL),
                     RAPT_OK);
    o.beams = o.nbest = 3;
    const rapt_tokens *source = one_source(&b, 7, 3, 1);
    assert_int_equal(generate(session, source, &o, ids, counts, scores, NULL), RAPT_OK);
    /* The first step finishes one hypothesis, with token 2, and continues with 0, 1 and 3. Then the
       continuations of the first one take all places. */
    assert_true(counts[0] == 0 && scores[0] > scores[1]);
    assert_true(fabs((double)scores[0] + log(5)) < 1e-6);
    assert_true(counts[1] == 1 && ids[3] == 0);
    assert_true(fabs((double)scores[1] + 2 * log(5)) < 1e-6);
    o.beams = o.nbest = 1;
    assert_int_equal(generate(session, source, &o, ids, counts, scores, NULL), RAPT_OK);
    assert_true(counts[0] == 3 && ids[0] == 0 && ids[1] == 0 && ids[2] == 0);
    rapt_session_free(session);
    rapt_model_free(model);
}

/* ---- nothing to choose from ---- */

static void test_nothing(void **state)
{
    (void)state;
    rapt_model *model = small_model(&five, 1);
    rapt_session *session = session_of(model, 2, 3, 4, 2);
    struct small_batch b;
    int lengths[] = {2, 0}, counts[6];
    int32_t ids[24], all[] = {0, 1, 2, 3, 4};
    float scores[6], bias[5];
    small_fill(&b, 7, lengths, 2, 1);
    for (int sampled = 0; sampled < 2; sampled++)
        for (int nan = 0; nan < 2; nan++) {
            rapt_generate_options o;
            rapt_generate_options_default(&o, sizeof o, BEGIN, END);
            o.beams = o.nbest = sampled ? 1 : 3, o.temperature = (float)sampled;
            if (!nan) o.suppressed = all, o.suppressed_count = 5;
            for (int i = 0; i < 5; i++) bias[i] = nan ? NAN : 1;
            assert_int_equal(
                rapt_model_write(model, rapt_model_find(model, "output.bias"), bias, NULL),
                RAPT_OK);
            assert_int_equal(generate(session, &b.tokens, &o, ids, counts, scores, NULL), RAPT_OK);
            for (int i = 0; i < 2 * o.nbest; i++) { /* one empty sequence, no others */
                bool first = i % o.nbest == 0;
                assert_int_equal(counts[i], first ? 0 : -1);
                assert_true(scores[i] == (first ? 0 : -INFINITY));
            }
        }
    /* With one NaN among finite logits the result is unspecified, but all tokens are valid. */
    bias[3] = NAN, bias[0] = bias[1] = bias[2] = bias[4] = 0;
    assert_int_equal(rapt_model_write(model, rapt_model_find(model, "output.bias"), bias, NULL),
                     RAPT_OK);
    for (int sampled = 0; sampled < 2; sampled++) {
        rapt_generate_options o;
        rapt_generate_options_default(&o, sizeof o, BEGIN, END);
        o.beams = sampled ? 1 : 3, o.temperature = (float)sampled;
        assert_int_equal(generate(session, &b.tokens, &o, ids, counts, scores, NULL), RAPT_OK);
        for (int s = 0; s < 2; s++)
            for (int i = 0; i < counts[s]; i++) assert_in_range(ids[s * 4 + i], 0, 4);
    }
    rapt_session_free(session);
    rapt_model_free(model);
}

static int count_tokens(void *user, int source, int32_t id, float log_probability)
{
    (void)source, (void)id, (void)log_probability;
    ++*(int *)user;
    return 0;
}

/* With no repeated token and no end before ten tokens, a sequence is over once it has all tokens.
   The tokens announced are those that it has. */
static void test_exhausted(void **state)
{
    (void)state;
    rapt_model *model = small_model(&five, 1);
    rapt_session *session = session_of(model, 1, 3, 12, 2);
    struct small_batch b;
    const rapt_tokens *source = one_source(&b, 7, 3, 1);
    for (int way = 0; way < 9; way++) { /* likes, each with 1 and 3 beams; sampling */
        rapt_generate_options o;
        int32_t ids[3 * 12];
        int counts[3], told = 0;
        float scores[3];
        rapt_generate_options_default(&o, sizeof o, BEGIN, END);
        o.min_length = 10, o.no_repeat_ngram = 1, o.beams = o.nbest = way % 2 ? 3 : 1;
        o.search_rules = (rapt_search_rules)(way < 8 ? RAPT_SEARCH_RULES_RAPT + way / 2
                                                     : RAPT_SEARCH_RULES_RAPT);
        o.temperature = way == 8 ? 1 : 0, o.token = count_tokens, o.user = &told;
        assert_int_equal(generate(session, source, &o, ids, counts, scores, NULL), RAPT_OK);
        for (int i = 0; i < o.nbest; i++) assert_int_equal(counts[i], 4);
        assert_int_equal(told, 4);
    }
    rapt_session_free(session);
    rapt_model_free(model);
}

/* ---- refusals ---- */

static void refuse(rapt_session *session, const rapt_tokens *source, rapt_generate_options o)
{
    int32_t ids[64] = {-9};
    int counts[8] = {-9};
    float scores[8] = {-9};
    rapt_message why = {""};
    assert_int_equal(generate(session, source, &o, ids, counts, scores, &why), RAPT_BAD_ARGUMENT);
    assert_true(why.text[0] && ids[0] == -9 && counts[0] == -9 && scores[0] == -9);
}

static void test_options(void **state)
{
    (void)state;
    rapt_model *model = small_model(&five, 1), *encoder = small_model(&small_configs[7], 1);
    rapt_session *session = session_of(model, 2, 3, 8, 1), *half = session_of(encoder, 2, 1, 8, 1);
    struct small_batch b;
    int32_t high[] = {5}, low[] = {-1};
    const rapt_tokens *source = one_source(&b, 7, 3, 1);
    rapt_generate_options good;
    rapt_generate_options_default(&good, sizeof good, BEGIN, END);
#define REFUSE(field, value)                                                                       \
    do {                                                                                           \
        rapt_generate_options o = good;                                                            \
        o.field = value;                                                                           \
        refuse(session, source, o);                                                                \
    } while (0)
    REFUSE(begin, -1);
    REFUSE(begin, 5);
    REFUSE(end, -1);
    REFUSE(end, 5);
    REFUSE(end, INT32_MIN);
    REFUSE(max_length, -1);
    REFUSE(max_length, 25); /* positions: 24 */
    REFUSE(max_length, INT32_MAX);
    REFUSE(max_ratio, -1);
    REFUSE(max_ratio, NAN);
    REFUSE(max_extra, -1);
    REFUSE(beams, -1);
    REFUSE(beams, 4);
    REFUSE(beams, INT32_MAX);
    REFUSE(nbest, 2);
    REFUSE(nbest, -1);
    REFUSE(length_penalty, NAN);
    REFUSE(length_penalty, INFINITY);
    REFUSE(temperature, -1);
    REFUSE(temperature, NAN);
    REFUSE(temperature, INFINITY);
    REFUSE(top_k, -1);
    REFUSE(top_p, -0.1f);
    REFUSE(top_p, 1.1f);
    REFUSE(top_p, NAN);
    REFUSE(suppressed_count, 1);
    REFUSE(scored_prefix, -1);
    REFUSE(suppressed_count, -1);
    REFUSE(min_length, -1);
    REFUSE(no_repeat_ngram, -1);
    const int two[] = {0, 1, 2}, long_one[] = {0, 9}, back[] = {1, 1};
    const rapt_tokens prefixes[] = {{.batch = 2, .ids = high, .starts = two},
                                    {.batch = 1, .ids = high, .starts = two},
                                    {.batch = 1, .ids = low, .starts = two},
                                    {.batch = 1, .starts = two},
                                    {.batch = 1, .ids = high},
                                    {.batch = -1, .starts = two},
                                    {.batch = 1, .ids = b.ids, .starts = long_one},
                                    {.batch = 1, .ids = b.ids, .starts = back},
                                    {.batch = 2, .ids = b.ids, .starts = two}};
    for (int i = 0; i < COUNT(prefixes); i++) REFUSE(prefix, &prefixes[i]);
#undef REFUSE
    rapt_generate_options o = good;
    o.suppressed = high, o.suppressed_count = 1;
    refuse(session, source, o);
    o.suppressed = low;
    refuse(session, source, o);
    o = good, o.temperature = 1, o.beams = 2;
    refuse(session, source, o);
    refuse(session, NULL, good);
    refuse(session, &(rapt_tokens){.batch = 3, .ids = b.ids, .starts = (const int[]){0, 1, 1, 1}},
           good);
    refuse(session, &(rapt_tokens){.batch = -1, .ids = b.ids, .starts = (const int[]){0, 1}}, good);
    refuse(half, source, good);
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = 2,
                                .beams = 3,
                                .source_tokens = 16,
                                .target_length = 8,
                                .target_tokens = 5,
                                .threads = 1};
    rapt_session *narrow = NULL;
    assert_int_equal(rapt_session_create(&narrow, model, &limits, NULL, NULL), RAPT_OK);
    o = good, o.beams = 3;
    refuse(narrow, source, o); /* 6 target tokens in each step */
    rapt_session_free(narrow);
    /* values at the edges are accepted */
    int32_t ids[16];
    int counts[2];
    o = good, o.max_length = 1, o.max_ratio = INFINITY, o.temperature = FLT_MAX, o.top_p = 1;
    assert_int_equal(generate(session, source, &o, ids, counts, NULL, NULL), RAPT_OK);
    rapt_tokens nobody = {.batch = 0, .starts = (const int[]){0}};
    assert_int_equal(generate(session, &nobody, &good, ids, counts, NULL, NULL), RAPT_OK);
    rapt_session_free(session);
    rapt_session_free(half);
    rapt_model_free(model);
    rapt_model_free(encoder);
}

/* A decoder-only model gets the number of sequences instead of sources. */
static void test_decoder_only(void **state)
{
    (void)state;
    rapt_model *model = small_model(&small_configs[10], 3);
    rapt_session *session = session_of(model, 3, 2, 8, 2), *alone = session_of(model, 1, 2, 8, 1);
    int32_t ids[24], id[8];
    int counts[3], count;
    rapt_generate_options o;
    rapt_generate_options_default(&o, sizeof o, BEGIN, END);
    rapt_tokens three = {.batch = 3}, one = {.batch = 1};
    o.temperature = 1, o.seed = 3;
    assert_int_equal(generate(session, &three, &o, ids, counts, NULL, NULL), RAPT_OK);
    o.sequence = 2;
    assert_int_equal(generate(alone, &one, &o, id, &count, NULL, NULL), RAPT_OK);
    assert_int_equal(count, counts[2]);
    assert_memory_equal(id, ids + 16, sizeof *id * (size_t)count);
    rapt_session_free(session);
    rapt_session_free(alone);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy),       cmocka_unit_test(test_exhaustive),
        cmocka_unit_test(test_nbest),        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_ties),         cmocka_unit_test(test_exhausted),
        cmocka_unit_test(test_nothing),      cmocka_unit_test(test_options),
        cmocka_unit_test(test_decoder_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
