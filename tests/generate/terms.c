/* terms.c - searches for targets that contain given terms. With beams that hold every sequence, the
   results are those of an enumeration of all sequences; with narrow ones, they contain the terms
   and have the scores of rapt_score_targets. Sources without terms have the bits of a search
   without any, in every batch and with any number of threads. */
#include "generate/small_search.h"

enum { LENGTH = 4, ALL = 344, VOCAB = 5, SOURCES = 5 };

static const rapt_search_rules rules[] = {RAPT_SEARCH_RULES_RAPT, RAPT_SEARCH_RULES_MARIAN,
                                          RAPT_SEARCH_RULES_HF, RAPT_SEARCH_RULES_CT2};

/* Terms of one source: each has up to 2 phrases of up to 3 tokens. */
struct given {
    int count;
    struct phrase {
        int size;
        int32_t ids[3];
    } phrases[3][2];
    unsigned char words[VOCAB];
};

static const struct given cases[] = {
    {.count = 1, .phrases = {{{1, {3}}}}},
    {.count = 1, .phrases = {{{3, {4, 4, 1}}}}},
    {.count = 1, .phrases = {{{2, {3, 1}}, {1, {0}}}}},
    {.count = 2, .phrases = {{{1, {3}}}, {{1, {3}}}}},
    {.count = 2, .phrases = {{{1, {4}}}, {{2, {4, 3}}}}},
    {.count = 2, .phrases = {{{2, {1, 1}}, {3, {1, 1, 3}}}, {{1, {4}}}}},
    {.count = 2, .phrases = {{{2, {0, 0}}}, {{2, {0, 1}}}}},
    {.count = 3, .phrases = {{{1, {0}}}, {{1, {1}}}, {{1, {4}}}}},
    {.count = 1, .phrases = {{{2, {3, 4}}}}, .words = {[1] = 3, [3] = 3, [4] = 3}},
    {.count = 1, .phrases = {{{1, {3}}, {2, {0, 3}}}}, .words = {[1] = 1, [3] = 3, [4] = 2}},
    {.count = 0},
};

/* ---- the definition ---- */

static bool joined(const struct given *g, int32_t left, int32_t right)
{
    return (g->words[left] & RAPT_WORD_OPEN) && (g->words[right] & RAPT_WORD_INSIDE);
}

static bool occurs(const struct given *g, const struct phrase *p, const int32_t *ids, int count,
                   int at)
{
    if (p->size == 0 || at + p->size > count) return false;
    for (int i = 0; i < p->size; i++)
        if (ids[at + i] != p->ids[i]) return false;
    if (at > 0 && joined(g, ids[at - 1], ids[at])) return false;
    const int end = at + p->size;
    return end == count || !joined(g, ids[end - 1], ids[end]);
}

static int terms_in(const struct given *g, const int32_t *ids, int count)
{
    bool met[3] = {false};
    int found = 0;
    for (int at = 0; at < count;) {
        int best = -1, size = 0;
        for (int t = 0; t < g->count; t++)
            for (int p = 0; p < 2; p++)
                if (!met[t] && g->phrases[t][p].size > size &&
                    occurs(g, &g->phrases[t][p], ids, count, at))
                    best = t, size = g->phrases[t][p].size;
        if (best >= 0) met[best] = true, found++;
        at += size ? size : 1;
    }
    return found;
}

/* ---- the library ---- */

struct csr { /* struct rapt_terms and its arrays */
    int sources[SOURCES + 1], terms[3 * SOURCES + 1], starts[6 * SOURCES + 1];
    int32_t ids[18 * SOURCES];
    rapt_tokens phrases;
    rapt_terms all;
};

static const rapt_terms *terms_of(struct csr *c, const struct given *const *given, int sources)
{
    int terms = 0, phrases = 0, tokens = 0;
    memset(c, 0, sizeof *c);
    for (int b = 0; b < sources; b++) {
        for (int t = 0; t < given[b]->count; t++) {
            for (int p = 0; p < 2; p++) {
                const struct phrase *from = &given[b]->phrases[t][p];
                if (from->size == 0) continue;
                memcpy(c->ids + tokens, from->ids, sizeof *c->ids * (size_t)from->size);
                c->starts[++phrases] = tokens += from->size;
            }
            c->terms[++terms] = phrases;
        }
        c->sources[b + 1] = terms;
    }
    c->phrases = (rapt_tokens){.batch = phrases, .ids = c->ids, .starts = c->starts};
    c->all = (rapt_terms){.size = sizeof c->all,
                          .sources = c->sources,
                          .terms = c->terms,
                          .phrases = &c->phrases,
                          .words = given[0]->words};
    return &c->all;
}

struct result {
    int32_t ids[LENGTH];
    int count, ended, terms,
        zero; /* zero fills what would be padding: results are compared as bytes */
    double score;
};

static void search(rapt_session *session, const rapt_tokens *source, const rapt_generate_options *o,
                   struct result *results)
{
    const int count = source->batch * o->nbest, length = o->max_length;
    int32_t *ids = calloc((size_t)(count * length), sizeof *ids);
    int *counts = calloc((size_t)count * 3, sizeof *counts);
    float *scores = calloc((size_t)count, sizeof *scores);
    rapt_message why = {""};
    const rapt_generate_outputs out = {.size = sizeof out,
                                       .ids = ids,
                                       .counts = counts,
                                       .ended = counts + count,
                                       .terms = counts + 2 * count,
                                       .scores = scores};
    if (rapt_generate(session, source, o, &out, &why)) fail_msg("%s", why.text);
    for (int i = 0; i < count; i++) {
        results[i] = (struct result){.count = counts[i],
                                     .ended = counts[count + i],
                                     .terms = counts[2 * count + i],
                                     .score = (double)scores[i]};
        if (counts[i] > 0)
            memcpy(results[i].ids, ids + i * length, sizeof *ids * (size_t)counts[i]);
    }
    free(ids), free(counts), free(scores);
}

/* ---- every sequence ---- */

struct listing {
    rapt_session *probe;
    const rapt_tokens *source;
    const struct given *given;
    bool forced; /* the last token is an end with log-probability 0 */
    struct result *items;
    int count;
};

static void add(struct listing *l, const struct result *r, double more, int ended)
{
    if (terms_in(l->given, r->ids, r->count) < l->given->count) return;
    l->items[l->count] = *r;
    l->items[l->count].score += more;
    l->items[l->count++].ended = ended;
}

static void enumerate(struct listing *l, const struct result *r)
{
    double log_p[VOCAB];
    if (l->forced && r->count + 1 == LENGTH) {
        add(l, r, 0, 1);
        return;
    }
    if (r->count == LENGTH) {
        add(l, r, 0, 0);
        return;
    }
    next(l->probe, l->source, r->ids, r->count, VOCAB, log_p);
    add(l, r, log_p[END], 1);
    for (int32_t token = 0; token < VOCAB; token++) {
        struct result more = *r;
        if (token == END) continue;
        more.ids[more.count++] = token;
        more.score += log_p[token];
        enumerate(l, &more);
    }
}

static int by_score(const void *x, const void *y)
{
    const struct result *a = x, *b = y;
    return (a->score < b->score) - (a->score > b->score);
}

static void compare(const struct listing *l, const struct result *got)
{
    for (int i = 0; i < l->count; i++) {
        const struct result *want = &l->items[i];
        assert_int_equal(got[i].count, want->count);
        assert_int_equal(got[i].ended, want->ended);
        assert_int_equal(got[i].terms, l->given->count);
        assert_memory_equal(got[i].ids, want->ids, sizeof *want->ids * (size_t)want->count);
        assert_true(fabs(got[i].score - want->score) < 1e-4);
    }
    for (int i = l->count; i < ALL; i++) /* hypotheses that lack terms, and only if all do */
        assert_true(got[i].count < 0 || (l->count == 0 && got[i].terms < l->given->count));
}

static void test_every_sequence(void **state)
{
    (void)state;
    struct result *all = calloc(ALL, sizeof *all), *got = calloc(ALL, sizeof *got);
    int hypotheses = 0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        rapt_model *model = small_model(&five, seed);
        rapt_session *session = session_of(model, 1, ALL, LENGTH, 1), *probe = probe_of(model, 8);
        struct small_batch b;
        const rapt_tokens *source = one_source(&b, five.source_vocab, 4, seed);
        for (int k = 0; k < COUNT(cases); k++) {
            const struct given *given = &cases[k];
            struct csr csr;
            rapt_generate_options o;
            rapt_generate_options_default(&o, sizeof o, BEGIN, END);
            o.beams = o.nbest = ALL, o.max_length = LENGTH;
            o.terms = terms_of(&csr, &given, 1);
            for (int r = 0; r < COUNT(rules); r++) {
                struct listing l = {probe, source, given, rules[r] == RAPT_SEARCH_RULES_HF, all, 0};
                const struct result empty = {.count = 0};
                if (given->count == 0) continue;
                enumerate(&l, &empty);
                qsort(all, (size_t)l.count, sizeof *all, by_score);
                o.search_rules = rules[r];
                search(session, source, &o, got);
                compare(&l, got);
                hypotheses += l.count;
            }
        }
        rapt_session_free(probe);
        rapt_session_free(session);
        rapt_model_free(model);
    }
    assert_true(hypotheses > 1000);
    free(all);
    free(got);
}

/* A narrow beam contains all terms that fit, and its scores are those of its tokens. */
static void test_narrow_beams(void **state)
{
    (void)state;
    int better = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        rapt_model *model = small_model(&five, seed);
        rapt_session *session = session_of(model, 1, 8, 12, 1);
        struct small_batch b;
        const rapt_tokens *source = one_source(&b, five.source_vocab, 5, seed);
        for (int k = 0; k < COUNT(cases); k++) {
            float before = 0;
            for (int beams = 1; beams <= 8; beams++) {
                const struct given *given = &cases[k];
                struct csr csr;
                int32_t ids[12];
                int count, ended, terms;
                float score;
                double sum;
                rapt_generate_options o;
                rapt_generate_options_default(&o, sizeof o, BEGIN, END);
                o.beams = beams, o.max_length = 12;
                o.search_rules = rules[seed % 4];
                o.terms = terms_of(&csr, &given, 1);
                const rapt_generate_outputs out = {.size = sizeof out,
                                                   .ids = ids,
                                                   .counts = &count,
                                                   .ended = &ended,
                                                   .terms = &terms,
                                                   .scores = &score};
                assert_int_equal(rapt_generate(session, source, &o, &out, NULL), RAPT_OK);
                assert_int_equal(terms, given->count);
                assert_int_equal(terms_in(given, ids, count), given->count);
                const rapt_tokens target = {
                    .batch = 1, .ids = ids, .starts = (const int[]){0, count}};
                if (o.search_rules == RAPT_SEARCH_RULES_HF && count + 1 == 12) continue;
                assert_int_equal(rapt_score_targets(session, source, &target, BEGIN,
                                                    ended ? END : -1, NULL, &sum, NULL),
                                 RAPT_OK);
                assert_true(fabs(sum - (double)score) < 1e-4);
                better += beams > 1 && score > before;
                before = score;
            }
        }
        rapt_session_free(session);
        rapt_model_free(model);
    }
    assert_true(better > 0);
}

static void generate_batch(const rapt_model *model, const rapt_tokens *source,
                           const rapt_terms *terms, int threads, struct result *results)
{
    rapt_session *session = session_of(model, SOURCES, 6, LENGTH, threads);
    rapt_generate_options o;
    rapt_generate_options_default(&o, sizeof o, BEGIN, END);
    o.beams = 6, o.nbest = 3, o.max_length = LENGTH, o.terms = terms;
    search(session, source, &o, results);
    rapt_session_free(session);
}

/* The results of a source do not depend on other sources, their terms or threads. */
static void test_batches(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        rapt_model *model = small_model(&five, seed);
        const struct given *given[SOURCES] = {&cases[1], &cases[10], &cases[5], &cases[10],
                                              &cases[7]};
        const int lengths[SOURCES] = {4, 5, 2, 7, 3};
        struct small_batch b;
        struct csr csr;
        struct result all[3 * SOURCES], threads[3 * SOURCES], plain[3 * SOURCES], one[3];
        small_fill(&b, five.source_vocab, lengths, SOURCES, seed);
        generate_batch(model, &b.tokens, terms_of(&csr, given, SOURCES), 1, all);
        generate_batch(model, &b.tokens, &csr.all, 3, threads);
        assert_memory_equal(all, threads, sizeof all);
        generate_batch(model, &b.tokens, NULL, 1, plain);
        for (int i = 0; i < SOURCES; i++) {
            int starts[2];
            const rapt_tokens source = small_one(&b.tokens, i, starts);
            if (given[i]->count == 0)
                assert_memory_equal(all + 3 * i, plain + 3 * i, 3 * sizeof *all);
            generate_batch(model, &source, terms_of(&csr, &given[i], 1), 1, one);
            assert_memory_equal(all + 3 * i, one, sizeof one);
        }
        rapt_model_free(model);
    }
}

/* Tokens of terms are added to a shortlist, and may repeat n-grams. */
static void test_shortlist_and_repeats(void **state)
{
    (void)state;
    rapt_model *model = small_model(&five, 1);
    rapt_session *session = session_of(model, 1, 4, 8, 1);
    struct small_batch b;
    rapt_text names[] = {{"a", 1}, {"<s>", 3}, {"</s>", 4}, {"d", 1}, {"e", 1}, {"f", 1}, {"g", 1}};
    rapt_tokenizer *source = NULL, *target = NULL;
    rapt_shortlist *shortlist = NULL;
    const rapt_lexical_pair pair = {3, 0, 1};
    const struct given twice = {.count = 2, .phrases = {{{2, {3, 4}}}, {{2, {3, 4}}}}};
    const struct given *given = &twice;
    struct csr csr;
    int32_t ids[8];
    int count, terms;
    rapt_generate_options o;
    const rapt_generate_outputs out = {
        .size = sizeof out, .ids = ids, .counts = &count, .terms = &terms};
    assert_int_equal(rapt_tokenizer_create_list(&source, names, 7, NULL, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_tokenizer_create_list(&target, names, 5, NULL, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_shortlist_create(&shortlist, &pair, 1, 0, 1, source, target, NULL, NULL),
                     RAPT_OK);
    rapt_generate_options_default(&o, sizeof o, BEGIN, END);
    o.beams = 4, o.max_length = 8, o.no_repeat_ngram = 2;
    o.shortlist = shortlist, o.terms = terms_of(&csr, &given, 1);
    assert_int_equal(
        rapt_generate(session, one_source(&b, five.source_vocab, 3, 1), &o, &out, NULL), RAPT_OK);
    assert_int_equal(terms, 2);
    assert_int_equal(terms_in(given, ids, count), 2);
    rapt_shortlist_free(shortlist);
    rapt_tokenizer_free(source);
    rapt_tokenizer_free(target);
    rapt_session_free(session);
    rapt_model_free(model);
}

static void refuse(const rapt_terms *terms, float temperature, const char *what)
{
    rapt_model *model = small_model(&five, 1);
    rapt_session *session = session_of(model, 1, 2, 8, 1);
    struct small_batch b;
    int32_t ids[8];
    int count;
    rapt_message why = {""};
    rapt_generate_options o;
    rapt_generate_options_default(&o, sizeof o, BEGIN, END);
    o.terms = terms, o.temperature = temperature;
    assert_int_equal(generate(session, one_source(&b, 7, 3, 1), &o, ids, &count, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, what)) fail_msg("\"%s\" lacks \"%s\"", why.text, what);
    rapt_session_free(session);
    rapt_model_free(model);
}

static void test_refusals(void **state)
{
    (void)state;
    const struct given *given = &cases[1];
    struct csr csr;
    refuse(terms_of(&csr, &given, 1), 1, "temperature");
    csr.ids[1] = END;
    refuse(&csr.all, 0, "sequence 0 contains the end token, 2");
    csr.ids[1] = 5;
    refuse(&csr.all, 0, "terms.phrases: ids[1] is 5; the vocabulary has 5 tokens");
    csr.ids[1] = 3, csr.starts[1] = 0;
    refuse(&csr.all, 0, "sequence 0 is empty");
    csr.starts[1] = 3, csr.terms[1] = 0;
    refuse(&csr.all, 0, "terms.terms[0] is 0, but [1] is 0; the difference must be from 1 to");
    csr.terms[1] = 2;
    refuse(&csr.all, 0, "terms.phrases has 1 sequences, but terms.terms ends with 2");
    csr.terms[0] = 1;
    refuse(&csr.all, 0, "terms.terms[0] is 1; it must be 0");
    csr.all.terms = NULL;
    refuse(&csr.all, 0, "terms.terms is NULL");
    csr.sources[1] = RAPT_TERMS_MAX + 1;
    refuse(&csr.all, 0,
           "terms.sources[0] is 0, but [1] is 65; the difference must be from 0 to 64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_sequence), cmocka_unit_test(test_narrow_beams),
        cmocka_unit_test(test_batches), cmocka_unit_test(test_shortlist_and_repeats),
        cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
