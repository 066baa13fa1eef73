/* search_rules.c - greedy and beam search against the rules of four projects, and narrow beams. */
#include "generate/small_search.h"
#include "oracle/beam.h"

/* ---- search rules: greedy and beam search by the rules of this library, Marian, Hugging Face's
   transformers and CTranslate2, against the same rules in double (oracle/beam.c): logits come from
   random tables, with prefixes, limits, suppressed tokens and sequences, penalties and several
   sources. Attention is the model's own. ---- */

enum { SOURCES = 3, RULES_VOCAB = 9 };

struct table { /* the logits after any sequence, by source */
    uint64_t seed[SOURCES];
    double end; /* added to the logit of the end */
};

/* Hashes a sequence and a token to [0, 1). */
static double uniform(uint64_t seed, const int32_t *ids, int count, int token)
{
    uint64_t h = seed * 0x9E3779B97F4A7C15u + (uint64_t)token + 1;
    for (int i = -1; i < count; i++) {
        h ^= i < 0 ? (uint64_t)token << 32 : (uint64_t)ids[i] + 77;
        h *= 0xBF58476D1CE4E5B9u;
        h ^= h >> 29;
    }
    h *= 0x94D049BB133111EBu;
    return (double)((h ^ h >> 32) & 0xFFFFFF) / 0x1000000;
}

static float logit(const struct table *t, int source, const int32_t *ids, int count, int token)
{
    double x = 4 * uniform(t->seed[source], ids, count, token) + (token == END ? t->end : 0);
    return (float)x;
}

enum { KEYS_MAX = 3 };
static const int lengths[SOURCES] = {2, 3, 1};

struct one { /* one source */
    const struct table *table;
    int source;
    rapt_session *probe; /* decodes sequences by themselves */
};

static void plain_logits(const void *user, const int32_t *ids, int count, double *logits)
{
    const struct one *one = user;
    for (int i = 0; i < RULES_VOCAB; i++)
        logits[i] = (double)logit(one->table, one->source, ids, count, i);
}

/* Reads the attention of the model after it has decoded begin and ids[count]. */
static void plain_attention(const void *user, const int32_t *ids, int count, double *weights)
{
    const struct one *one = user;
    int32_t fed[BEAM_LENGTH + 1] = {BEGIN};
    const int starts[] = {0, count + 1}, keys = lengths[one->source];
    float rows[(BEAM_LENGTH + 1) * KEYS_MAX];
    struct small_batch b;
    int source_starts[2];
    if (count) memcpy(fed + 1, ids, sizeof *ids * (size_t)count);
    small_fill(&b, 7, lengths, SOURCES, 5);
    const rapt_tokens source = small_one(&b.tokens, one->source, source_starts),
                      target = {.batch = 1, .ids = fed, .starts = starts};
    assert_int_equal(rapt_encode(one->probe, &source, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_decode(one->probe, &target, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_session_alignment(one->probe, -1, -1, rows, NULL), RAPT_OK);
    for (int k = 0; k < keys; k++) weights[k] = (double)rows[count * keys + k];
}

static void hook(void *user, int source, const int32_t *ids, int count, float *logits, int vocab)
{
    const struct table *t = user;
    for (int i = 0; i < vocab; i++) logits[i] = logit(t, source, ids, count, i);
}

struct tried { /* one case */
    rapt_search_rules search_rules;
    int beams, nbest, length, min_length, prefix;
    double penalty, end, repetition, coverage;
    int32_t banned;
    int suppressed;
};
static const struct beam_sequence suppressed[] = {{{3, 4}, 2}, {{6}, 1}, {{7, 7, 8}, 3}};

static struct tried draw(rapt_search_rules like, uint64_t seed)
{
    const double penalties[] = {0, 1, 0.6, -0.5}, ends[] = {0, 1, 2, -1},
                 repetitions[] = {1.5, 3, 0.7};
    struct tried c = {.search_rules = like, .beams = 1 + (int)(seed % BEAM_MAX)};
    c.nbest = 1 + (int)(seed / 7 % (uint64_t)c.beams);
    c.length = 2 + (int)(seed / 5 % 12);
    c.penalty = penalties[seed / 3 % 4];
    c.end = ends[seed / 2 % 4];
    c.banned = seed % 4 == 0 ? 5 : -1;
    c.min_length = seed % 9 == 0 ? 2 : 0;
    c.prefix = seed % 5 == 0 && c.length > 3 ? 2 : 0;
    c.repetition = seed % 3 == 0 ? repetitions[seed / 3 % 3] : 0;
    c.coverage = seed % 7 < 3 ? 0.3 * (double)(1 + seed % 2) : 0;
    c.suppressed = seed % 8 < 4 ? (int)(seed % 4) : 0;
    return c;
}

struct found { /* the library's results for SOURCES sources */
    int32_t ids[SOURCES * BEAM_MAX * BEAM_LENGTH];
    int counts[SOURCES * BEAM_MAX], ended[SOURCES * BEAM_MAX];
    float scores[SOURCES * BEAM_MAX];
};

static const int32_t given[SOURCES][2] = {{3, 4}, {6, 3}, {8, 8}};

static rapt_session *aligning_session(const rapt_model *model, int threads)
{
    rapt_session *session = NULL;
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = SOURCES,
                                .beams = BEAM_MAX,
                                .source_tokens = 100,
                                .target_length = BEAM_LENGTH,
                                .threads = threads,
                                .alignments = 1};
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    return session;
}

static void sequences_of(const struct tried *c, struct small_batch *b)
{
    b->starts[0] = 0;
    for (int i = 0; i < c->suppressed; i++) {
        b->starts[i + 1] = b->starts[i] + suppressed[i].count;
        memcpy(b->ids + b->starts[i], suppressed[i].ids,
               sizeof *b->ids * (size_t)suppressed[i].count);
    }
    b->tokens = (rapt_tokens){.batch = c->suppressed, .ids = b->ids, .starts = b->starts};
}

static void generate_all(const rapt_model *model, const struct tried *c, const struct table *t,
                         int sources, int threads, struct found *f)
{
    rapt_session *session = aligning_session(model, threads);
    int starts[SOURCES + 1] = {0};
    struct small_batch sequences;
    sequences_of(c, &sequences);
    struct small_batch b;
    small_fill(&b, 7, lengths, sources, 5);
    for (int i = 0; i < sources; i++) starts[i + 1] = starts[i] + c->prefix;
    const rapt_tokens prefix = {.batch = sources, .ids = given[0], .starts = starts};
    rapt_generate_options o;
    rapt_generate_options_default(&o, sizeof o, BEGIN, END);
    o.search_rules = c->search_rules, o.beams = c->beams, o.nbest = c->nbest,
    o.max_length = c->length;
    o.min_length = c->min_length, o.length_penalty = (float)c->penalty;
    o.suppressed = &c->banned, o.suppressed_count = c->banned >= 0;
    o.prefix = c->prefix ? &prefix : NULL;
    o.repetition_penalty = (float)c->repetition, o.coverage_penalty = (float)c->coverage;
    if (c->suppressed) o.suppressed_sequences = &sequences.tokens;
    o.logits = hook, o.user = (void *)t;
    const rapt_generate_outputs out = {.size = sizeof out,
                                       .ids = f->ids,
                                       .counts = f->counts,
                                       .scores = f->scores,
                                       .ended = f->ended};
    rapt_message why = {""};
    if (rapt_generate(session, &b.tokens, &o, &out, &why)) fail_msg("%s", why.text);
    rapt_session_free(session);
}

static void compare(rapt_session *probe, const struct tried *c, const struct table *t, int source,
                    int at, const struct found *f, uint64_t seed)
{
    const struct one one = {t, source, probe};
    const struct beam_problem p = {.search_rules = c->search_rules,
                                   .vocab = RULES_VOCAB,
                                   .beams = c->beams,
                                   .nbest = c->nbest,
                                   .max_length = c->length,
                                   .min_length = c->min_length,
                                   .penalty = (double)(float)c->penalty,
                                   .end = END,
                                   .banned = c->banned,
                                   .suppressed = suppressed,
                                   .suppressed_count = c->suppressed,
                                   .begin = BEGIN,
                                   .repetition = (double)(float)c->repetition,
                                   .coverage = (double)(float)c->coverage,
                                   .keys = lengths[source],
                                   .attention = plain_attention,
                                   .prefix = given[source],
                                   .prefix_count = c->prefix,
                                   .logits = plain_logits,
                                   .user = &one};
    struct beam_hypothesis best[BEAM_MAX];
    int count = oracle_beam(&p, best);
    for (int rank = 0; rank < c->nbest; rank++) {
        int i = at * c->nbest + rank;
        if (rank >= count) {
            assert_int_equal(f->counts[i], -1);
            continue;
        }
        const struct beam_hypothesis *h = &best[rank];
        if (f->counts[i] != h->count || f->ended[i] != h->ended ||
            memcmp(f->ids + i * c->length, h->ids, sizeof *h->ids * (size_t)h->count) != 0 ||
            fabs((double)f->scores[i] - h->score) > 1e-5 * (1 + fabs(h->score)))
            fail_msg("like %d, seed %d, source %d, rank %d: %d tokens with score %g, not %d with "
                     "%g",
                     (int)c->search_rules, (int)seed, source, rank, f->counts[i],
                     (double)f->scores[i], h->count, h->score);
    }
}

static const rapt_config nine = {.size = sizeof(rapt_config),
                                 .source_vocab = 7,
                                 .target_vocab = RULES_VOCAB,
                                 .positions = 24,
                                 .width = 8,
                                 .heads = 2,
                                 .ffn_width = 8,
                                 .encoder_layers = 1,
                                 .decoder_layers = 1};

static void test_definitions(void **state)
{
    (void)state;
    rapt_model *model = small_model(&nine, 1);
    rapt_session *probe = probe_of(model, BEAM_LENGTH + 1);
    int different = 0;
    for (uint64_t seed = 1; seed <= 240; seed++) {
        struct found by[RAPT_SEARCH_RULES_CT2 + 1];
        for (int like = RAPT_SEARCH_RULES_RAPT; like <= RAPT_SEARCH_RULES_CT2; like++) {
            const struct tried c = draw((rapt_search_rules)like, seed);
            const struct table t = {{seed, seed + 1000, seed + 2000}, c.end};
            memset(&by[like], 0, sizeof by[like]);
            generate_all(model, &c, &t, SOURCES, 1, &by[like]);
            for (int source = 0; source < SOURCES; source++)
                compare(probe, &c, &t, source, source, &by[like], seed);
            if (like > RAPT_SEARCH_RULES_RAPT)
                different += memcmp(by[like].ids, by[like - 1].ids, sizeof by[like].ids) != 0;
        }
    }
    assert_true(different > 100); /* else the rules were never put to the test */
    rapt_session_free(probe);
    rapt_model_free(model);
}

/* A source by itself, and one thread, have the bits of a batch and several threads. */
static void test_alone(void **state)
{
    (void)state;
    rapt_model *model = small_model(&nine, 1);
    for (uint64_t seed = 1; seed <= 60; seed++)
        for (int like = RAPT_SEARCH_RULES_RAPT; like <= RAPT_SEARCH_RULES_CT2; like++) {
            const struct tried c = draw((rapt_search_rules)like, seed);
            const struct table t = {{seed, seed + 1000, seed + 2000}, c.end};
            struct found all, one;
            generate_all(model, &c, &t, SOURCES, 3, &all);
            generate_all(model, &c, &t, 1, 1, &one);
            for (int i = 0; i < c.nbest; i++) {
                assert_int_equal(one.counts[i], all.counts[i]);
                assert_memory_equal(&one.scores[i], &all.scores[i], sizeof(float));
                if (one.counts[i] > 0)
                    assert_memory_equal(one.ids + i * c.length, all.ids + i * c.length,
                                        sizeof(int32_t) * (size_t)one.counts[i]);
            }
        }
    rapt_model_free(model);
}

/* Each option by itself changes the results of some case. */
static void test_effects(void **state)
{
    (void)state;
    rapt_model *model = small_model(&nine, 1);
    int changed[3] = {0};
    for (uint64_t seed = 1; seed <= 40; seed++)
        for (int option = 0; option < 3; option++) {
            struct tried c = draw(RAPT_SEARCH_RULES_CT2, seed);
            const struct table t = {{seed, seed + 1000, seed + 2000}, c.end};
            struct found with = {.counts = {0}}, without = {.counts = {0}};
            c.repetition = c.coverage = 0, c.suppressed = 0;
            generate_all(model, &c, &t, SOURCES, 1, &without);
            if (option == 0) c.repetition = 2;
            if (option == 1) c.coverage = 1;
            if (option == 2) c.suppressed = 2;
            generate_all(model, &c, &t, SOURCES, 1, &with);
            changed[option] += memcmp(with.ids, without.ids, sizeof with.ids) != 0;
        }
    assert_true(changed[0] > 5 && changed[1] > 5 && changed[2] > 5);
    rapt_model_free(model);
}

static void keep_all(void *user, int source, const int32_t *ids, int count, float *logits,
                     int vocab)
{
    (void)user, (void)source, (void)ids, (void)count, (void)logits, (void)vocab;
}

/* With a vocabulary of several sections, which are picked from one by one, penalties give the bits
   of whole rows, which a callback asks for. */
static void test_sections(void **state)
{
    (void)state;
    rapt_config c = nine;
    c.target_vocab = 9000;
    rapt_model *model = small_model(&c, 1);
    rapt_session *session = session_of(model, 6, 4, 12, 2);
    struct small_batch b;
    small_fill(&b, 7, (const int[]){2, 3, 1, 4, 2, 5}, 6, 5);
    for (int like = RAPT_SEARCH_RULES_RAPT; like <= RAPT_SEARCH_RULES_CT2; like++) {
        int32_t ids[3][6 * 12] = {{0}};
        int counts[3][6];
        float scores[3][6];
        rapt_generate_options o;
        rapt_generate_options_default(&o, sizeof o, BEGIN, END);
        o.search_rules = (rapt_search_rules)like, o.beams = 4, o.max_length = 12;
        for (int i = 0; i < 3; i++) {
            o.repetition_penalty = i < 2 ? 1.7f : 0;
            o.logits = i == 0 ? keep_all : NULL;
            assert_int_equal(generate(session, &b.tokens, &o, ids[i], counts[i], scores[i], NULL),
                             RAPT_OK);
        }
        assert_memory_equal(ids[0], ids[1], sizeof ids[0]);
        assert_memory_equal(scores[0], scores[1], sizeof scores[0]);
        assert_memory_not_equal(scores[1], scores[2], sizeof scores[1]);
    }
    rapt_session_free(session);
    rapt_model_free(model);
}

static void refuse(rapt_session *session, const rapt_generate_options *o, const char *what)
{
    struct small_batch b;
    int32_t ids[8];
    int count;
    rapt_message why = {""};
    assert_int_equal(generate(session, one_source(&b, 7, 3, 1), o, ids, &count, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, what));
}

static void test_refusals(void **state)
{
    (void)state;
    rapt_model *model = small_model(&nine, 1);
    rapt_session *session = session_of(model, 1, 2, 8, 1);
    const int32_t outside = RULES_VOCAB;
    const int starts[] = {0, 1}, empty[] = {0, 0};
    const rapt_tokens wrong = {.batch = 1, .ids = &outside, .starts = starts},
                      none = {.batch = 1, .ids = &outside, .starts = empty};
    rapt_generate_options usual, o;
    rapt_generate_options_default(&usual, sizeof usual, BEGIN, END);
    o = usual, o.search_rules = (rapt_search_rules)(RAPT_SEARCH_RULES_CT2 + 1);
    refuse(session, &o, "search_rules");
    o = usual, o.repetition_penalty = -1;
    refuse(session, &o, "repetition_penalty");
    o = usual, o.coverage_penalty = NAN;
    refuse(session, &o, "coverage_penalty");
    o = usual, o.coverage_penalty = 1;
    refuse(session, &o, "limits.alignments");
    o = usual, o.suppressed_sequences = &wrong;
    refuse(session, &o, "suppressed_sequences");
    o = usual, o.suppressed_sequences = &none;
    refuse(session, &o, "sequence 0 is empty");
    rapt_session_free(session);
    rapt_model_free(model);
}

/* ---- beam: narrow beams, where pruning matters, against a plain reimplementation: all
   continuations of all hypotheses are ranked in one list; an end among the first `beams` finishes
   its hypothesis, and the first `beams` others live on. ---- */

static void end(struct plain_list *done, const struct hypothesis *h, int beams, int length,
                double penalty)
{
    if (done->count == beams) return;
    struct hypothesis *to = &done->items[done->count++];
    *to = *h;
    to->score = h->sum / pow(length, penalty);
}

static void search(rapt_session *probe, const rapt_tokens *source, int beams, int max,
                   double penalty, struct plain_list *done)
{
    struct plain_list live = {.count = 1};
    done->count = 0;
    for (int step = 0; step < max && live.count && done->count < beams; step++) {
        struct plain_list all = {.count = 0}, next_live = {.count = 0};
        for (int i = 0; i < live.count; i++) {
            double log_p[PLAIN_VOCAB];
            next(probe, source, live.items[i].ids, step, PLAIN_VOCAB, log_p);
            for (int32_t token = 0; token < PLAIN_VOCAB; token++) {
                struct hypothesis *h = &all.items[all.count++];
                *h = live.items[i];
                h->ids[step] = token;
                h->sum += log_p[token];
                h->count = token == END ? step : step + 1;
            }
        }
        plain_sort(&all, false);
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
    plain_sort(done, true);
}

static void judge_plain_search(const rapt_config *config, uint64_t seeds)
{
    static const double penalties[] = {0, 1, 0.6};
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        int beams = 2 + (int)(seed % (PLAIN_BEAMS - 1)), max = 3 + (int)(seed % (PLAIN_MAX - 2));
        rapt_model *model = small_model(config, seed);
        rapt_session *probe = probe_of(model, PLAIN_MAX),
                     *session = session_of(model, 1, PLAIN_BEAMS, PLAIN_MAX, 1);
        struct small_batch b;
        struct plain_list wanted;
        const rapt_tokens *source = one_source(&b, 7, 1 + (int)(seed % 5), seed);
        rapt_generate_options o;
        rapt_generate_options_default(&o, sizeof o, BEGIN, END);
        int32_t ids[PLAIN_BEAMS * PLAIN_MAX];
        int counts[PLAIN_BEAMS];
        float scores[PLAIN_BEAMS];
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definitions), cmocka_unit_test(test_alone),
        cmocka_unit_test(test_effects),     cmocka_unit_test(test_sections),
        cmocka_unit_test(test_refusals),    cmocka_unit_test(test_plain_search),
        cmocka_unit_test(test_recurrent),   cmocka_unit_test(test_monotonic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
