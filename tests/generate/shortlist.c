/* shortlist.c - generation with a shortlist. The logits of listed tokens have the bits of the whole
   output, so a list of all tokens changes nothing, and a shorter one gives what a search gives with
   all others forbidden. A source by itself has the bits of its batch. The models have each
   precision in turn. Bad arguments are refused. */
#include "../counting.h"
#include "generate/small_search.h"

#include <rapt/translator.h>

enum { SOURCES = 4, LENGTH = 9, NBEST = 3, VOCAB = 50, SOURCE_VOCAB = 40 };

static const rapt_config decoder_alone = {.size = sizeof decoder_alone,
                                          .kind = RAPT_KIND_DECODER_ONLY,
                                          .target_vocab = VOCAB,
                                          .positions = 12,
                                          .width = 8,
                                          .heads = 2,
                                          .ffn_width = 8,
                                          .decoder_layers = 1};

static rapt_tokenizer *names_of(int count)
{
    rapt_tokenizer *t = NULL;
    rapt_text texts[VOCAB];
    char names[VOCAB][16];
    for (int i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], i == END ? "</s>" : i == 0 ? "<unk>" : "t%d", i);
        texts[i] = (rapt_text){names[i], strlen(names[i])};
    }
    assert_int_equal(rapt_tokenizer_create_list(&t, texts, count, NULL, NULL, NULL), RAPT_OK);
    return t;
}

/* Makes a shortlist of a few target tokens for each source token, or of all of them. */
static rapt_shortlist *list_of(bool all, uint64_t seed)
{
    rapt_tokenizer *source = names_of(SOURCE_VOCAB), *target = names_of(VOCAB);
    rapt_lexical_pair pairs[SOURCE_VOCAB * 3];
    rapt_shortlist *l = NULL;
    for (int i = 0; i < COUNT(pairs); i++) {
        uint64_t x = (uint64_t)i * 0x9E3779B97F4A7C15u ^ seed * 0xBF58476D1CE4E5B9u;
        pairs[i] = (rapt_lexical_pair){i / 3, (int32_t)(x >> 33) % VOCAB, 0.5f};
    }
    assert_int_equal(rapt_shortlist_create(&l, pairs, COUNT(pairs), all ? VOCAB : 1, 5, source,
                                           target, NULL, NULL),
                     RAPT_OK);
    rapt_tokenizer_free(source);
    rapt_tokenizer_free(target);
    return l;
}

struct results {
    int32_t ids[SOURCES * NBEST * LENGTH];
    int counts[SOURCES * NBEST];
    float scores[SOURCES * NBEST], log_p[SOURCES * NBEST * LENGTH];
};

static void run(const rapt_model *model, const rapt_tokens *source, rapt_search_rules like,
                int threads, const rapt_shortlist *list, rapt_logits_fn *hook, void *user,
                struct results *r)
{
    rapt_session *session = session_of(model, SOURCES, NBEST, LENGTH, threads);
    rapt_generate_options o;
    rapt_message why = {""};
    rapt_generate_options_default(&o, sizeof o, BEGIN, END);
    o.beams = o.nbest = NBEST, o.length_penalty = 1, o.search_rules = like, o.shortlist = list;
    o.logits = hook, o.user = user, o.min_length = 2, o.no_repeat_ngram = 2;
    const rapt_generate_outputs out = {.size = sizeof out,
                                       .ids = r->ids,
                                       .counts = r->counts,
                                       .scores = r->scores,
                                       .log_probabilities = r->log_p};
    memset(r, 0, sizeof *r);
    if (rapt_generate(session, source, &o, &out, &why)) fail_msg("%s", why.text);
    rapt_session_free(session);
}

struct allowed { /* by source */
    bool token[SOURCES][VOCAB];
};

static void forbid_others(void *user, int source, const int32_t *ids, int count, float *logits,
                          int vocab)
{
    const struct allowed *a = user;
    (void)ids, (void)count;
    for (int i = 0; i < vocab; i++)
        if (!a->token[source][i]) logits[i] = -INFINITY;
}

static void nothing(void *user, int source, const int32_t *ids, int count, float *logits, int vocab)
{
    (void)user, (void)source, (void)ids, (void)count, (void)logits, (void)vocab;
}

static void allow(const rapt_shortlist *l, const rapt_tokens *source, struct allowed *a)
{
    memset(a, 0, sizeof *a);
    for (int b = 0; b < source->batch; b++) {
        int32_t tokens[VOCAB];
        int count;
        assert_int_equal(rapt_shortlist_tokens(l, source->ids + source->starts[b],
                                               (size_t)(source->starts[b + 1] - source->starts[b]),
                                               tokens, VOCAB, &count, NULL),
                         RAPT_OK);
        for (int i = 0; i < count; i++) a->token[b][tokens[i]] = true;
        a->token[b][END] = true;
    }
}

static void check_same(const struct results *a, const struct results *b, int from, int count,
                       double tolerance)
{
    for (int i = from * NBEST; i < (from + count) * NBEST; i++) {
        int n = i - from * NBEST;
        assert_int_equal(a->counts[i], b->counts[n]);
        if (a->counts[i] < 0) continue;
        assert_memory_equal(a->ids + i * LENGTH, b->ids + n * LENGTH,
                            sizeof(int32_t) * (size_t)a->counts[i]);
        if (tolerance == 0) {
            assert_memory_equal(&a->scores[i], &b->scores[n], sizeof(float));
            assert_memory_equal(a->log_p + i * LENGTH, b->log_p + n * LENGTH,
                                sizeof(float) * (size_t)a->counts[i]);
        } else {
            assert_true(fabs((double)a->scores[i] - (double)b->scores[n]) < tolerance);
        }
    }
}

static void test_search(void **state)
{
    (void)state;
    static const int lengths[SOURCES] = {3, 1, 5, 2};
    for (uint64_t seed = 1; seed <= 12; seed++) {
        rapt_search_rules like = (rapt_search_rules)(seed % 5);
        rapt_model *model = small_model(&larger, seed);
        rapt_precision precision = (rapt_precision)(RAPT_PRECISION_F32 + seed % 4);
        struct small_batch b;
        struct results full, all, some, forbidden, hooked, alone;
        struct allowed allowed;
        assert_int_equal(rapt_model_set_precision(model, precision, 1, NULL), RAPT_OK);
        small_fill(&b, SOURCE_VOCAB, lengths, SOURCES, seed);
        rapt_shortlist *every = list_of(true, seed), *few = list_of(false, seed);
        run(model, &b.tokens, like, 2, NULL, NULL, NULL, &full);
        run(model, &b.tokens, like, 3, every, NULL, NULL, &all);
        check_same(&full, &all, 0, SOURCES, 0);
        allow(few, &b.tokens, &allowed);
        run(model, &b.tokens, like, 2, few, NULL, NULL, &some);
        run(model, &b.tokens, like, 1, few, nothing, NULL, &hooked);
        check_same(&some, &hooked, 0, SOURCES, 0);
        run(model, &b.tokens, like, 2, NULL, forbid_others, &allowed, &forbidden);
        check_same(&some, &forbidden, 0, SOURCES, 1e-5);
        for (int i = 0; i < SOURCES; i++) {
            const int starts[] = {0, lengths[i]};
            const rapt_tokens one = {
                .batch = 1, .ids = b.tokens.ids + b.tokens.starts[i], .starts = starts};
            run(model, &one, like, 1, few, NULL, NULL, &alone);
            check_same(&some, &alone, i, 1, 0);
        }
        rapt_shortlist_free(every);
        rapt_shortlist_free(few);
        rapt_model_free(model);
    }
}

/* Each allocation of a search with a shortlist fails once. */
static void test_memory(void **state)
{
    (void)state;
    rapt_model *model = small_model(&larger, 1);
    rapt_shortlist *list = list_of(false, 1);
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = 1,
                                .source_tokens = 8,
                                .target_length = LENGTH,
                                .threads = 1};
    struct counting f = {.fails = -1};
    const rapt_allocator allocator = {counting_alloc, counting_free, &f};
    struct small_batch b;
    int32_t ids[LENGTH];
    int count, fails = 0;
    rapt_generate_options o;
    rapt_session *session = NULL;
    rapt_generate_options_default(&o, sizeof o, BEGIN, END);
    o.shortlist = list;
    assert_int_equal(rapt_session_create(&session, model, &limits, &allocator, NULL), RAPT_OK);
    long living = f.living;
    for (rapt_status status = RAPT_NO_MEMORY; status; fails++) {
        rapt_message why = {""};
        f.calls = 0, f.fails = fails;
        status = generate(session, one_source(&b, 7, 3, 1), &o, ids, &count, NULL, &why);
        assert_true(status == RAPT_OK || (status == RAPT_NO_MEMORY && why.text[0]));
        assert_int_equal(f.living, living);
    }
    assert_true(fails > 2);
    rapt_session_free(session);
    assert_int_equal(f.living, 0);
    rapt_shortlist_free(list);
    rapt_model_free(model);
}

static void test_refusals(void **state)
{
    (void)state;
    rapt_model *model = small_model(&larger, 1), *other = small_model(&five, 1);
    rapt_shortlist *list = list_of(false, 1);
    struct small_batch b;
    int32_t ids[LENGTH];
    int count;
    rapt_generate_options o;
    rapt_message why = {""};
    rapt_session *session = session_of(other, 1, 1, LENGTH, 1);
    rapt_generate_options_default(&o, sizeof o, BEGIN, END);
    o.shortlist = list;
    assert_int_equal(generate(session, one_source(&b, 7, 3, 1), &o, ids, &count, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "40 and 50"));
    rapt_session_free(session);
    session = session_of(model, 1, 1, LENGTH, 1);
    o.temperature = 1;
    assert_int_equal(generate(session, one_source(&b, 7, 3, 1), &o, ids, &count, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "sampling"));
    rapt_session_free(session);
    rapt_model *alone = small_model(&decoder_alone, 1);
    session = session_of(alone, 1, 1, LENGTH, 1);
    o.temperature = 0;
    assert_int_equal(generate(session, &(rapt_tokens){.batch = 1, .starts = (const int[]){0, 0}},
                              &o, ids, &count, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "the model has no source tokens"));
    assert_int_equal(rapt_encode(session, NULL, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "source is NULL"));
    rapt_session_free(session);
    rapt_model_free(alone);
    rapt_shortlist_free(list);
    rapt_model_free(model);
    rapt_model_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_search), cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
