/* prefix.c - sequences that begin with given tokens have the ids and bits of rapt_decode called
   token by token, also in batches; and a search can be stopped from another thread. */
#include "generate/small_search.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { BATCH = 4, LENGTH = 11 };

struct outcome {
    int32_t ids[BATCH * LENGTH];
    int counts[BATCH], ended[BATCH];
    float scores[BATCH], logs[BATCH * LENGTH];
};

static const rapt_config *const configs[] = {
    &larger, &five, &small_configs[0], &small_configs[3], &small_configs[10], &small_configs[11]};

static rapt_session *session_with(const rapt_model *model, int batch, int beams, int tokens)
{
    rapt_session *session = NULL;
    rapt_limits limits = {.size = sizeof limits,
                          .batch = batch,
                          .beams = beams,
                          .source_tokens = 60,
                          .target_length = LENGTH,
                          .target_tokens = tokens,
                          .threads = batch};
    rapt_message why = {""};
    if (rapt_session_create(&session, model, &limits, NULL, &why)) fail_msg("%s", why.text);
    return session;
}

static void generate_all(rapt_session *session, const rapt_tokens *source,
                         const rapt_generate_options *o, struct outcome *to)
{
    rapt_message why = {""};
    memset(to, 0, sizeof *to);
    const rapt_generate_outputs out = {.size = sizeof out,
                                       .ids = to->ids,
                                       .counts = to->counts,
                                       .scores = to->scores,
                                       .log_probabilities = to->logs,
                                       .ended = to->ended};
    if (rapt_generate(session, source, o, &out, &why)) fail_msg("%s", why.text);
}

static rapt_tokens sources(const rapt_config *c, struct small_batch *b, uint64_t seed)
{
    const int lengths[BATCH] = {6, 3, 9, 1};
    small_fill(b, small_source_ids(c), lengths, BATCH, seed);
    return c->kind == RAPT_KIND_DECODER_ONLY ? (rapt_tokens){.batch = BATCH} : b->tokens;
}

static rapt_tokens one_of(const rapt_tokens *all, int b, int starts[2])
{
    return all->ids ? small_one(all, b, starts) : (rapt_tokens){.batch = 1};
}

/* Appends `count` tokens to the session's only target; returns the logits after the last. */
static const float *decode(rapt_session *session, const int32_t *ids, int count, int vocab)
{
    const float *logits;
    const rapt_tokens more = {.batch = 1, .ids = ids, .starts = (const int[]){0, count}};
    assert_int_equal(rapt_decode(session, &more, &logits, NULL), RAPT_OK);
    return logits + (ptrdiff_t)(count - 1) * vocab;
}

/* Greedy search: begin and prefix in one call, then one token at a time. Returns the number of
   tokens. */
static int by_hand(const rapt_model *model, const rapt_tokens *source, const rapt_tokens *prefix,
                   int32_t *ids, bool *ended)
{
    int n = prefix->starts[1], vocab = rapt_model_config(model)->target_vocab;
    rapt_session *session = session_with(model, 1, 1, LENGTH);
    int32_t fed[LENGTH + 1] = {BEGIN};
    if (n) memcpy(fed + 1, prefix->ids, sizeof *fed * (size_t)n);
    memcpy(ids, fed + 1, sizeof *fed * (size_t)n);
    assert_int_equal(rapt_encode(session, source, NULL, NULL), RAPT_OK);
    const float *logits = n < LENGTH ? decode(session, fed, n + 1, vocab) : NULL;
    *ended = false;
    while (n < LENGTH) {
        int best = 0;
        for (int i = 1; i < vocab; i++)
            if (logits[i] > logits[best]) best = i;
        *ended = best == END;
        if (*ended) break;
        ids[n++] = best;
        if (n < LENGTH) logits = decode(session, ids + n - 1, 1, vocab);
    }
    rapt_session_free(session);
    return n;
}

static void prefixes(const rapt_config *c, struct small_batch *b, uint64_t seed)
{
    const int lengths[BATCH] = {2, 0, LENGTH, (int)(seed % LENGTH)};
    small_fill(b, c->target_vocab, lengths, BATCH, seed);
}

static void test_by_hand(void **state)
{
    (void)state;
    int behind = 0;
    for (int k = 0; k < COUNT(configs); k++)
        for (uint64_t seed = 1; seed <= 6; seed++) {
            rapt_model *model = small_model(configs[k], seed);
            struct small_batch s, p;
            struct outcome got;
            const rapt_tokens source = sources(configs[k], &s, seed);
            rapt_session *session = session_with(model, BATCH, 1 + (int)(seed % 3), (int)seed + 12);
            rapt_generate_options o;
            rapt_generate_options_default(&o, sizeof o, BEGIN, END);
            prefixes(configs[k], &p, seed);
            o.prefix = &p.tokens;
            generate_all(session, &source, &o, &got);
            for (int b = 0; b < BATCH; b++) {
                int from[2], to[2];
                bool ended;
                int32_t ids[LENGTH + 1];
                float logs[LENGTH + 1];
                const rapt_tokens one = one_of(&source, b, from),
                                  begun = small_one(&p.tokens, b, to);
                int given = begun.starts[1], n = by_hand(model, &one, &begun, ids, &ended);
                assert_int_equal(got.counts[b], n);
                assert_int_equal(got.ended[b], ended);
                assert_memory_equal(got.ids + b * LENGTH, ids, sizeof *ids * (size_t)n);
                const rapt_tokens whole = {.batch = 1, .ids = ids, .starts = (const int[]){0, n}};
                assert_int_equal(rapt_score_targets(session, &one, &whole, BEGIN, ended ? END : -1,
                                                    logs, NULL, NULL),
                                 RAPT_OK);
                for (int t = 0; t < given; t++) logs[t] = 0;
                assert_memory_equal(got.logs + b * LENGTH, logs,
                                    sizeof *logs * (size_t)(n + ended));
                behind += n - given;
            }
            rapt_session_free(session);
            rapt_model_free(model);
        }
    assert_true(behind > 200);
}

/* The length by which scores are divided includes the prefix with CTranslate2's rules, and on
   request its first tokens. */
static void test_scored_prefix(void **state)
{
    (void)state;
    const int lengths[BATCH] = {2, 0, 4, 1};
    rapt_model *model = small_model(&larger, 3);
    rapt_session *session = session_with(model, BATCH, 1, 12);
    struct small_batch s, p;
    struct outcome without, with;
    const rapt_tokens source = sources(&larger, &s, 3);
    rapt_generate_options o;
    small_fill(&p, larger.target_vocab, lengths, BATCH, 3);
    for (rapt_search_rules rules = RAPT_SEARCH_RULES_RAPT; rules <= RAPT_SEARCH_RULES_CT2;
         rules++) {
        rapt_generate_options_default(&o, sizeof o, BEGIN, END);
        o.prefix = &p.tokens, o.length_penalty = 1, o.search_rules = rules;
        generate_all(session, &source, &o, &without);
        for (o.scored_prefix = 1; o.scored_prefix < 6; o.scored_prefix += 2) {
            generate_all(session, &source, &o, &with);
            for (int b = 0; b < BATCH; b++) {
                const int all = with.counts[b] + with.ended[b], given = lengths[b];
                const int more = given < o.scored_prefix ? given : o.scored_prefix;
                const bool ct2 = rules == RAPT_SEARCH_RULES_CT2;
                assert_int_equal(with.counts[b], without.counts[b]);
                const float wanted = without.scores[b] * (float)(ct2 ? all : all - given) /
                                     (float)(ct2 ? all : all - given + more);
                assert_true(fabsf(with.scores[b] - wanted) <= 1e-6f * fabsf(wanted));
            }
        }
    }
    rapt_session_free(session);
    rapt_model_free(model);
}

/* Any kind of search gives the same in a batch as for one source; and the beginning of a result,
   given as a prefix, is continued as it was. */
static void test_batches(void **state)
{
    (void)state;
    for (int k = 0; k < COUNT(configs); k++)
        for (int kind = 0; kind < 3; kind++) { /* greedy, beams, sampled */
            rapt_model *model = small_model(configs[k], 5);
            struct small_batch s, p;
            struct outcome all, alone, again;
            const rapt_tokens source = sources(configs[k], &s, 5);
            rapt_session *several = session_with(model, BATCH, 3, 0),
                         *session = session_with(model, 1, 4, 30);
            rapt_generate_options o;
            rapt_generate_options_default(&o, sizeof o, BEGIN, END);
            prefixes(configs[k], &p, 5);
            o.prefix = &p.tokens, o.beams = kind == 1 ? 3 : 1, o.temperature = kind == 2 ? 1 : 0;
            o.min_length = 6, o.no_repeat_ngram = 3, o.length_penalty = 1;
            generate_all(several, &source, &o, &all);
            for (int b = 0; b < BATCH; b++) {
                int from[2], to[2], count = all.counts[b];
                const rapt_tokens one = one_of(&source, b, from);
                rapt_tokens begun = small_one(&p.tokens, b, to);
                o.prefix = &begun, o.sequence = (uint64_t)b;
                generate_all(session, &one, &o, &alone);
                assert_int_equal(alone.counts[0], count);
                assert_int_equal(alone.ended[0], all.ended[b]);
                assert_memory_equal(alone.scores, all.scores + b, sizeof(float));
                assert_memory_equal(alone.ids, all.ids + b * LENGTH,
                                    sizeof *all.ids * (size_t)count);
                assert_memory_equal(alone.logs, all.logs + b * LENGTH,
                                    sizeof(float) * (size_t)(count + all.ended[b]));
                if (kind == 1 || count <= begun.starts[1]) continue;
                begun = (rapt_tokens){
                    .batch = 1, .ids = alone.ids, .starts = (const int[]){0, begun.starts[1] + 1}};
                generate_all(session, &one, &o, &again);
                assert_int_equal(again.counts[0], count);
                assert_memory_equal(again.ids, alone.ids, sizeof *again.ids * (size_t)count);
                assert_memory_equal(again.logs + begun.starts[1], alone.logs + begun.starts[1],
                                    sizeof(float) *
                                        (size_t)(count + alone.ended[0] - begun.starts[1]));
            }
            rapt_session_free(several);
            rapt_session_free(session);
            rapt_model_free(model);
        }
}

/* ---- stops ---- */

struct flag {
    atomic_int begun, stop;
    int asked;
};

static void *set_flag(void *argument)
{
    struct flag *f = argument;
    while (!atomic_load(&f->begun)) sched_yield();
    atomic_store(&f->stop, 1);
    return NULL;
}

/* Allows three steps, then waits for the other thread. */
static int asks_flag(void *user)
{
    struct flag *f = user;
    if (f->asked++ < 3) return atomic_load(&f->stop);
    atomic_store(&f->begun, 1);
    while (!atomic_load(&f->stop)) sched_yield();
    return atomic_load(&f->stop);
}

static int stops_at_once(void *user)
{
    (void)user;
    return 1;
}

static int stops_second(void *user, int source, int32_t id, float log_probability)
{
    (void)source, (void)id, (void)log_probability;
    return ++*(int *)user == 2;
}

static void test_stops(void **state)
{
    (void)state;
    rapt_model *model = small_model(&larger, 2);
    rapt_session *session = session_with(model, BATCH, 2, 0);
    struct small_batch s, p;
    struct outcome whole, part;
    struct flag flag = {.asked = 0};
    const rapt_tokens source = sources(&larger, &s, 2);
    pthread_t thread;
    rapt_generate_options o;
    rapt_generate_options_default(&o, sizeof o, BEGIN, END);
    o.min_length = LENGTH;
    generate_all(session, &source, &o, &whole);
    o.stop = asks_flag, o.user = &flag;
    assert_int_equal(pthread_create(&thread, NULL, set_flag, &flag), 0);
    generate_all(session, &source, &o, &part);
    pthread_join(thread, NULL);
    for (int b = 0; b < BATCH; b++) {
        assert_true(whole.counts[b] == LENGTH && part.counts[b] == 3 && !part.ended[b]);
        assert_memory_equal(part.ids + b * LENGTH, whole.ids + b * LENGTH, 3 * sizeof *part.ids);
        assert_true(part.scores[b] > whole.scores[b]);
    }
    o.stop = stops_at_once;
    prefixes(&larger, &p, 2);
    o.prefix = &p.tokens;
    generate_all(session, &source, &o, &part);
    for (int b = 0; b < BATCH; b++) {
        assert_int_equal(part.counts[b], p.starts[b + 1] - p.starts[b]);
        assert_true(part.scores[b] == 0);
    }
    int calls = 0;
    o.stop = NULL, o.prefix = NULL, o.token = stops_second, o.user = &calls;
    generate_all(session, &source, &o, &part);
    assert_int_equal(calls, 2);
    for (int b = 0; b < BATCH; b++) assert_int_equal(part.counts[b], 1);
    rapt_session_free(session);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_scored_prefix),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
