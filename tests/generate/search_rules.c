/* search_rules.c - greedy and beam search by the rules of this library, Marian, Hugging Face's
   transformers and CTranslate2, against the same rules in double (oracle/beam.c): logits come from
   random tables, with prefixes, limits, suppressed tokens and several sources. */
#include "generate/small_search.h"
#include "oracle/beam.h"

enum { SOURCES = 3, VOCAB = 9 };

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

struct one { /* one source */
    const struct table *table;
    int source;
};

static void plain_logits(const void *user, const int32_t *ids, int count, double *logits)
{
    const struct one *one = user;
    for (int i = 0; i < VOCAB; i++)
        logits[i] = (double)logit(one->table, one->source, ids, count, i);
}

static void hook(void *user, int source, const int32_t *ids, int count, float *logits, int vocab)
{
    const struct table *t = user;
    for (int i = 0; i < vocab; i++) logits[i] = logit(t, source, ids, count, i);
}

struct tried { /* one case */
    rapt_search_rules search_rules;
    int beams, nbest, length, min_length, prefix;
    double penalty, end;
    int32_t banned;
};

static struct tried draw(rapt_search_rules like, uint64_t seed)
{
    const double penalties[] = {0, 1, 0.6, -0.5}, ends[] = {0, 1, 2, -1};
    struct tried c = {.search_rules = like, .beams = 1 + (int)(seed % BEAM_MAX)};
    c.nbest = 1 + (int)(seed / 7 % (uint64_t)c.beams);
    c.length = 2 + (int)(seed / 5 % 12);
    c.penalty = penalties[seed / 3 % 4];
    c.end = ends[seed / 2 % 4];
    c.banned = seed % 4 == 0 ? 5 : -1;
    c.min_length = seed % 9 == 0 ? 2 : 0;
    c.prefix = seed % 5 == 0 && c.length > 3 ? 2 : 0;
    return c;
}

struct found { /* the library's results for SOURCES sources */
    int32_t ids[SOURCES * BEAM_MAX * BEAM_LENGTH];
    int counts[SOURCES * BEAM_MAX], ended[SOURCES * BEAM_MAX];
    float scores[SOURCES * BEAM_MAX];
};

static const int32_t given[SOURCES][2] = {{3, 4}, {6, 3}, {8, 8}};

static void generate_all(const rapt_model *model, const struct tried *c, const struct table *t,
                         int sources, struct found *f)
{
    rapt_session *session = session_of(model, SOURCES, BEAM_MAX, BEAM_LENGTH, 1);
    int lengths[SOURCES] = {2, 3, 1}, starts[SOURCES + 1] = {0};
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

static void compare(const struct tried *c, const struct table *t, int source, int at,
                    const struct found *f, uint64_t seed)
{
    const struct one one = {t, source};
    const struct beam_problem p = {.search_rules = c->search_rules,
                                   .vocab = VOCAB,
                                   .beams = c->beams,
                                   .nbest = c->nbest,
                                   .max_length = c->length,
                                   .min_length = c->min_length,
                                   .penalty = (double)(float)c->penalty,
                                   .end = END,
                                   .banned = c->banned,
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
                                 .target_vocab = VOCAB,
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
    int different = 0;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        struct found by[RAPT_SEARCH_RULES_CT2 + 1];
        for (int like = RAPT_SEARCH_RULES_RAPT; like <= RAPT_SEARCH_RULES_CT2; like++) {
            const struct tried c = draw((rapt_search_rules)like, seed);
            const struct table t = {{seed, seed + 1000, seed + 2000}, c.end};
            memset(&by[like], 0, sizeof by[like]);
            generate_all(model, &c, &t, SOURCES, &by[like]);
            for (int source = 0; source < SOURCES; source++)
                compare(&c, &t, source, source, &by[like], seed);
            if (like > RAPT_SEARCH_RULES_RAPT)
                different += memcmp(by[like].ids, by[like - 1].ids, sizeof by[like].ids) != 0;
        }
    }
    assert_true(different > 100); /* else the rules were never put to the test */
    rapt_model_free(model);
}

/* A source by itself has the bits of the batch. */
static void test_alone(void **state)
{
    (void)state;
    rapt_model *model = small_model(&nine, 1);
    for (uint64_t seed = 1; seed <= 60; seed++)
        for (int like = RAPT_SEARCH_RULES_RAPT; like <= RAPT_SEARCH_RULES_CT2; like++) {
            const struct tried c = draw((rapt_search_rules)like, seed);
            const struct table t = {{seed, seed + 1000, seed + 2000}, c.end};
            struct found all, one;
            generate_all(model, &c, &t, SOURCES, &all);
            generate_all(model, &c, &t, 1, &one);
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

static void test_refusals(void **state)
{
    (void)state;
    rapt_model *model = small_model(&nine, 1);
    rapt_session *session = session_of(model, 1, 2, 8, 1);
    struct small_batch b;
    int32_t ids[8];
    int count;
    rapt_generate_options o;
    rapt_message why = {""};
    rapt_generate_options_default(&o, sizeof o, BEGIN, END);
    o.search_rules = (rapt_search_rules)(RAPT_SEARCH_RULES_CT2 + 1);
    assert_int_equal(generate(session, one_source(&b, 7, 3, 1), &o, ids, &count, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "search_rules"));
    rapt_session_free(session);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_definitions),
                                       cmocka_unit_test(test_alone),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
