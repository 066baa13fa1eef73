/* logs.c - log-probabilities of translations: those that forced decoding gives, and their mean. */
#include "translate/small_text.h"

#include <math.h>

enum { POSITIONS = 40, TEXTS = 6, NBEST = 3 };

struct seen {
    rapt_session *session; /* for forced decoding */
    const rapt_translator *translator;
    int translations, truncated, faults;
    int prefix; /* number of tokens that were given */
    int forced; /* number of tokens, with the end, after which the end is forced; 0: none */
};

static rapt_session *scoring_session(const rapt_translator *t)
{
    rapt_session *session = NULL;
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = 1,
                                .source_tokens = POSITIONS,
                                .target_length = POSITIONS,
                                .threads = 1};
    assert_int_equal(rapt_session_create(&session, rapt_translator_model(t), &limits, NULL, NULL),
                     RAPT_OK);
    return session;
}

/* Compares the log-probabilities of a translation with those of its tokens. */
static int compare(void *user, const rapt_translation *t)
{
    struct seen *s = user;
    const rapt_tokenizer *from = rapt_translator_source(s->translator);
    const rapt_tokenizer *to = rapt_translator_target(s->translator);
    const int32_t end = rapt_tokenizer_special(to, RAPT_TOKEN_END);
    int32_t source[POSITIONS];
    float logs[POSITIONS + 1];
    double sum = 0;
    const int count = t->target_count + t->ended, free_count = count - s->prefix;
    memcpy(source, t->source, (size_t)t->source_count * sizeof *source);
    source[t->source_count] = rapt_tokenizer_special(from, RAPT_TOKEN_END);
    const rapt_tokens sources = {
        .batch = 1, .ids = source, .starts = (const int[]){0, t->source_count + 1}};
    const rapt_tokens targets = {
        .batch = 1, .ids = t->target, .starts = (const int[]){0, t->target_count}};
    assert_int_equal(rapt_score_targets(s->session, &sources, &targets,
                                        rapt_tokenizer_special(to, RAPT_TOKEN_BEGIN),
                                        t->ended ? end : -1, logs, NULL, NULL),
                     RAPT_OK);
    for (int i = 0; i < count; i++) {
        const bool given = i < s->prefix || (s->forced > 0 && i + 1 == s->forced);
        const float wanted = given ? 0 : logs[i];
        assert_true(fabsf(t->log_probabilities[i] - wanted) < 2e-5f);
        sum += (double)wanted;
    }
    assert_true(free_count > 0);
    assert_true(fabs((double)t->mean_log_probability - sum / free_count) < 2e-5);
    s->translations++;
    s->truncated += !t->ended;
    s->faults += t->faults != 0;
    return 0;
}

static void translate(const rapt_translator_options *options, const rapt_translate_call *call,
                      struct seen *s)
{
    rapt_text texts[TEXTS];
    rapt_message why = {""};
    rapt_translator *t = small_translator_make("logs", POSITIONS, options);
    small_texts(texts, TEXTS);
    s->translator = t;
    s->session = scoring_session(t);
    if (rapt_translate_many_with(t, texts, TEXTS, call, compare, s, &why)) fail_msg("%s", why.text);
    rapt_session_free(s->session);
    rapt_translator_free(t);
}

/* Both rules normalize over all tokens, as forced decoding does. With those of Hugging Face, the
   end is certain at the limit. */
static void test_forced(void **state)
{
    (void)state;
    const rapt_translate_call call = {.size = sizeof call, .log_probabilities = 1};
    for (int hf = 0; hf < 2; hf++) {
        rapt_translator_options o = {.size = sizeof o,
                                     .search_rules =
                                         hf ? RAPT_SEARCH_RULES_HF : RAPT_SEARCH_RULES_MARIAN,
                                     .nbest = NBEST,
                                     .batch = 4};
        struct seen s = {.forced = hf ? POSITIONS : 0};
        translate(&o, &call, &s);
        assert_true(s.translations > TEXTS);
        o.max_length = 3;
        s.forced = hf ? 3 : 0;
        translate(&o, &call, &s);
        assert_true((s.truncated > 0) == !hf);
    }
}

/* The tokens of a prefix count in no mean. */
static void test_prefix(void **state)
{
    (void)state;
    const rapt_text prefixes[TEXTS] = {{"a", 1}, {"a", 1}, {"a", 1}, {"a", 1}, {"a", 1}, {"a", 1}};
    const rapt_translate_call call = {
        .size = sizeof call, .log_probabilities = 1, .prefixes = prefixes};
    const rapt_translator_options o = {.size = sizeof o, .search_rules = RAPT_SEARCH_RULES_MARIAN};
    struct seen s = {.prefix = 1};
    translate(&o, &call, &s);
    assert_int_equal(s.translations, TEXTS);
}

/* A second search replaces the log-probabilities, too. */
static void test_mended(void **state)
{
    (void)state;
    const rapt_translate_call call = {.size = sizeof call, .log_probabilities = 1, .mend = 1};
    const rapt_translator_options o = {
        .size = sizeof o, .search_rules = RAPT_SEARCH_RULES_MARIAN, .beams = 1};
    struct seen s = {.prefix = 0};
    translate(&o, &call, &s);
    assert_true(s.translations == TEXTS && s.faults > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forced),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_mended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
