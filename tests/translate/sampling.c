/* sampling.c - translations that are sampled. They do not depend on batch, threads, alignments or
   how a text is divided into calls; with top_k 1 they are those of greedy search. Limits of length,
   stops, and refusals. */
#include "translate/small_text.h"

enum { POSITIONS = 24, TEXTS = 30, NBEST = 4, SIZE = 400 };

struct sample {
    rapt_status status;
    int ended, count;
    float score, attention; /* attention: sum of the alignment */
    char text[SIZE];
};
struct samples {
    struct sample all[TEXTS][NBEST];
    int calls, tokens, polls, stop_at;
};

static int keep(void *user, const rapt_translation *t)
{
    struct samples *s = user;
    struct sample *own = &s->all[t->sentence][t->rank];
    s->calls++;
    *own = (struct sample){t->status, t->ended, t->target_count, t->score, 0, ""};
    for (int i = 0; t->alignment && i < (t->target_count + 1) * (t->source_count + 1); i++)
        own->attention += t->alignment[i];
    snprintf(own->text, sizeof own->text, "%s", t->text);
    return 0;
}

static int count_token(void *user, int source, int32_t id, float log_probability)
{
    struct samples *s = user;
    (void)source, (void)id, (void)log_probability;
    s->tokens++;
    return 0;
}

static int poll(void *user)
{
    struct samples *s = user;
    return ++s->polls == s->stop_at;
}

static rapt_translator *make(const rapt_translator_options *options)
{
    return small_translator_make("sampling", POSITIONS, options);
}

/* Translates with a translator made for these options. */
static void translate(const rapt_translator_options *options, const rapt_translate_call *call,
                      struct samples *s)
{
    rapt_translator *t = make(options);
    rapt_text texts[TEXTS];
    rapt_message why = {""};
    int stop_at = s->stop_at;
    small_texts(texts, TEXTS);
    memset(s, 0, sizeof *s), s->stop_at = stop_at;
    if (rapt_translate_many_with(t, texts, TEXTS, call, keep, s, &why)) fail_msg("%s", why.text);
    rapt_translator_free(t);
}

static const rapt_translator_options usual = {
    .size = sizeof usual, .nbest = NBEST, .temperature = 1.5f, .top_p = 0.95f, .seed = 7};
static struct samples got, want;

static void test_batches(void **state)
{
    (void)state;
    static const rapt_translate_call aligned = {.size = sizeof aligned, .alignments = 1};
    translate(&usual, &aligned, &want);
    int different = 0;
    for (int i = 0; i < TEXTS; i++)
        for (int n = 0; n < NBEST; n++) {
            const struct sample *s = &want.all[i][n];
            assert_true(n == 0 || s->score <= s[-1].score);
            different += n > 0 && strcmp(s->text, s[-1].text) != 0;
            /* a row for each token, and one for the end; each sums to 1 */
            assert_float_equal(s->attention, (float)(s->count + s->ended), 1e-3f);
        }
    assert_int_equal(want.calls, TEXTS * NBEST);
    assert_true(different > TEXTS);
    for (int way = 0; way < 4; way++) {
        rapt_translator_options own = usual;
        own.batch = way == 0 ? 1 : way == 1 ? 7 : 0, own.threads = way == 2 ? 3 : 1;
        own.beams = way == 3 ? 2 : 0;
        translate(&own, &aligned, &got);
        assert_memory_equal(got.all, want.all, sizeof got.all);
    }
}

/* The first sample is among the four. */
static void test_fewer(void **state)
{
    (void)state;
    rapt_translator_options one = usual;
    one.nbest = 1;
    translate(&usual, NULL, &want), translate(&one, NULL, &got);
    for (int i = 0; i < TEXTS; i++) {
        int n = 0;
        while (n < NBEST && strcmp(want.all[i][n].text, got.all[i][0].text) != 0) n++;
        assert_true(n < NBEST && want.all[i][n].score == got.all[i][0].score);
    }
}

/* Texts from the eleventh on, in a call of their own. */
static void test_first(void **state)
{
    (void)state;
    enum { FIRST = 11 };
    const rapt_translate_call call = {.size = sizeof call, .first = FIRST};
    rapt_translator *t = make(&usual);
    rapt_text texts[TEXTS];
    small_texts(texts, TEXTS);
    translate(&usual, NULL, &want);
    memset(&got, 0, sizeof got);
    assert_int_equal(
        rapt_translate_many_with(t, texts + FIRST, TEXTS - FIRST, &call, keep, &got, NULL),
        RAPT_OK);
    assert_memory_equal(got.all, want.all + FIRST, sizeof got.all[0] * (TEXTS - FIRST));
    assert_int_equal(
        rapt_translate_many_with(t, texts + FIRST, TEXTS - FIRST, NULL, keep, &got, NULL), RAPT_OK);
    assert_memory_not_equal(got.all, want.all + FIRST, sizeof got.all[0] * (TEXTS - FIRST));
    rapt_translator_free(t);
}

static void test_greedy(void **state)
{
    (void)state;
    const rapt_translator_options search = {.size = sizeof search, .beams = 1},
                                  sampling = {
                                      .size = sizeof sampling, .temperature = 3, .top_k = 1};
    translate(&search, NULL, &want), translate(&sampling, NULL, &got);
    assert_memory_equal(got.all, want.all, sizeof got.all);
}

/* Translations of a search that are short enough stay the same. */
static void test_max_length(void **state)
{
    (void)state;
    for (int sampled = 0; sampled < 2; sampled++) {
        rapt_translator_options own = {.size = sizeof own, .beams = 1, .seed = 3};
        own.temperature = (float)sampled;
        translate(&own, NULL, &want);
        int longer = 0;
        for (own.max_length = 1; own.max_length < POSITIONS; own.max_length += 5) {
            translate(&own, NULL, &got);
            for (int i = 0; i < TEXTS; i++) {
                const struct sample *a = &got.all[i][0], *b = &want.all[i][0];
                assert_true(a->count + a->ended <= own.max_length);
                longer += b->count + b->ended > own.max_length;
                if (b->count + b->ended <= own.max_length)
                    assert_string_equal(a->text, b->text);
                else
                    assert_true(a->count == own.max_length && !a->ended);
            }
        }
        assert_true(longer > 0);
    }
}

/* A stop within the second of four searches leaves the samples of the first. */
static void test_stop(void **state)
{
    (void)state;
    const rapt_translate_call counted = {.size = sizeof counted, .stop = poll};
    rapt_translator_options one = usual;
    one.nbest = 1, one.batch = TEXTS, one.batch_tokens = 1 << 20;
    translate(&one, &counted, &want);
    one.nbest = NBEST, got.stop_at = want.polls + 1;
    translate(&one, &counted, &got);
    assert_true(got.calls >= TEXTS && got.calls < TEXTS * NBEST);
    for (int i = 0; i < TEXTS; i++) {
        int n = 0;
        while (n < NBEST && strcmp(got.all[i][n].text, want.all[i][0].text) != 0) n++;
        assert_true(n < NBEST);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        rapt_translator_options options;
        const char *word;
    } wrong[] = {{{.size = sizeof usual, .temperature = -1}, "temperature"},
                 {{.size = sizeof usual, .temperature = INFINITY}, "temperature"},
                 {{.size = sizeof usual, .top_p = 1.5f}, "top_p"},
                 {{.size = sizeof usual, .top_k = -1}, "top_k"},
                 {{.size = sizeof usual, .max_length = -1}, "max_length"},
                 {{.size = sizeof usual, .temperature = 1, .nbest = 2}, "nbest must be 1"}};
    const rapt_text text = {small_lines[0], strlen(small_lines[0])};
    rapt_translator *t = make(NULL);
    for (int i = 0; i < COUNT(wrong); i++) {
        const rapt_translate_call call = {
            .size = sizeof call, .options = &wrong[i].options, .token = count_token};
        rapt_message why = {""};
        assert_int_equal(rapt_translate_many_with(t, &text, 1, &call, keep, &got, &why),
                         RAPT_BAD_ARGUMENT);
        if (!strstr(why.text, wrong[i].word)) fail_msg("%s", why.text);
    }
    const rapt_translator_options one = {.size = sizeof one, .temperature = 1};
    const rapt_translate_call call = {.size = sizeof call, .options = &one, .token = count_token};
    got.tokens = 0;
    assert_int_equal(rapt_translate_many_with(t, &text, 1, &call, keep, &got, NULL), RAPT_OK);
    assert_int_equal(got.tokens, got.all[0][0].count + got.all[0][0].ended);
    rapt_translator_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),    cmocka_unit_test(test_fewer),
        cmocka_unit_test(test_first),      cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_max_length), cmocka_unit_test(test_stop),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
