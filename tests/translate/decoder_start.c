/* decoder_start.c - the tokens that begin a target and end a source: a translator uses those of the
   configuration, as rapt_decode shows; if a target begins with zeros, any token gives the same. */
#include "translate/small_text.h"

enum { POSITIONS = 24 };

static rapt_model *model_of(rapt_decoder_start start, int no_source_end)
{
    const rapt_config c = {.size = sizeof c,
                           .source_vocab = SMALL_VOCAB,
                           .target_vocab = SMALL_VOCAB,
                           .positions = POSITIONS,
                           .width = 16,
                           .heads = 2,
                           .encoder_layers = 1,
                           .decoder_layers = 1,
                           .tie = RAPT_TIE_ALL,
                           .decoder_start = start,
                           .no_source_end = no_source_end};
    return small_model(&c, 5);
}

/* Returns the log-probability of `next` after the first input `begin`. */
static double first_log(const rapt_model *model, const rapt_tokenizer *tokenizer, int32_t begin,
                        int32_t next)
{
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = 1,
                                .source_tokens = POSITIONS,
                                .target_length = POSITIONS,
                                .threads = 1};
    int32_t ids[POSITIONS];
    size_t count;
    rapt_session *session;
    const float *logits;
    const rapt_text text = {small_lines[0], strlen(small_lines[0])};
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_tokenizer_encode(tokenizer, text, ids, NULL, POSITIONS - 1, &count, NULL),
                     RAPT_OK);
    if (!rapt_model_config(model)->no_source_end) ids[count++] = RAPT_TOKEN_END;
    const int starts[] = {0, (int)count}, one[] = {0, 1};
    const rapt_tokens source = {.batch = 1, .ids = ids, .starts = starts},
                      target = {.batch = 1, .ids = &begin, .starts = one};
    assert_int_equal(rapt_encode(session, &source, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_decode(session, &target, &logits, NULL), RAPT_OK);
    double sum = 0, log_p = (double)logits[next];
    for (int i = 0; i < SMALL_VOCAB; i++) sum += exp((double)logits[i]);
    rapt_session_free(session);
    return log_p - log(sum);
}

struct first {
    int32_t token;
    float log_p;
};

static int keep(void *user, const rapt_text_score *score)
{
    struct first *first = user;
    *first = (struct first){score->target[0], score->log_probabilities[0]};
    return 0;
}

static void test_tokens(void **state)
{
    (void)state;
    static const int32_t begins[] = {[RAPT_DECODER_START_BEGIN] = RAPT_TOKEN_BEGIN,
                                     [RAPT_DECODER_START_END] = RAPT_TOKEN_END,
                                     [RAPT_DECODER_START_PAD] = RAPT_TOKEN_PAD,
                                     [RAPT_DECODER_START_ZERO] = RAPT_TOKEN_END};
    rapt_tokenizer *tokenizer = small_tokenizer();
    const rapt_text source = {small_lines[0], strlen(small_lines[0])},
                    target = {small_lines[1], strlen(small_lines[1])};
    double seen[2 * COUNT(begins)];
    for (int n = 0; n < 2 * COUNT(begins); n++) {
        int i = n / 2;
        rapt_model *model = model_of((rapt_decoder_start)i, n % 2);
        rapt_translator *t;
        struct first first = {-1, 0};
        assert_int_equal(rapt_target_begin(model, tokenizer), begins[i]);
        assert_int_equal(rapt_translator_create(&t, model, tokenizer, NULL, NULL, NULL, NULL),
                         RAPT_OK);
        assert_int_equal(rapt_translator_score(t, &source, &target, 1, keep, &first, NULL),
                         RAPT_OK);
        seen[n] = first_log(model, tokenizer, begins[i], first.token);
        assert_true(fabs(seen[n] - (double)first.log_p) < 1e-5);
        bool any = i == RAPT_DECODER_START_ZERO;
        assert_int_equal(first_log(model, tokenizer, 77, first.token) == seen[n], any);
        for (int j = 0; j < n; j++) assert_true(fabs(seen[n] - seen[j]) > 1e-4);
        rapt_translator_free(t);
        rapt_model_free(model);
    }
    rapt_tokenizer_free(tokenizer);
}

static int judge_columns(void *user, const rapt_translation *t)
{
    int columns = t->source_count + 1;
    for (int row = 0; row < t->target_count; row++) {
        float sum = 0;
        for (int i = 0; i < columns; i++) sum += t->alignment[row * columns + i];
        assert_true(fabsf(sum - 1) < 1e-5f);
        assert_int_equal(t->alignment[row * columns + t->source_count] == 0, *(int *)user);
    }
    assert_int_equal(t->source_spans[t->source_count - 1].end, strlen(small_lines[t->sentence]));
    return 0;
}

/* An alignment has a column for the end, which is 0 if sources have none. */
static void test_alignments(void **state)
{
    (void)state;
    rapt_tokenizer *tokenizer = small_tokenizer();
    rapt_text texts[COUNT(small_lines)];
    for (int i = 0; i < COUNT(texts); i++)
        texts[i] = (rapt_text){small_lines[i], strlen(small_lines[i])};
    for (int none = 0; none < 2; none++) {
        rapt_model *model = model_of(RAPT_DECODER_START_ZERO, none);
        rapt_translator *t;
        assert_int_equal(rapt_translator_create(&t, model, tokenizer, NULL, NULL, NULL, NULL),
                         RAPT_OK);
        assert_int_equal(rapt_translate_many(t, texts, COUNT(texts), 1, judge_columns, &none, NULL),
                         RAPT_OK);
        rapt_translator_free(t);
        rapt_model_free(model);
    }
    rapt_tokenizer_free(tokenizer);
}

static int keep_status(void *user, const rapt_translation *t)
{
    *(rapt_status *)user = t->status;
    return 0;
}

static int keep_score(void *user, const rapt_text_score *score)
{
    *(rapt_status *)user = score->status;
    return 0;
}

/* A source without an end may have as many tokens as the model has positions. */
static void test_longest(void **state)
{
    (void)state;
    static const char text[] = "xyzzyxyzzyxyzzyxyzzyxyzzyxyzzy"; /* a token for each byte */
    rapt_tokenizer *tokenizer = small_tokenizer();
    const rapt_text target = {small_lines[1], strlen(small_lines[1])};
    for (int none = 0; none < 2; none++) {
        rapt_model *model = model_of(RAPT_DECODER_START_BEGIN, none);
        rapt_translator *t;
        assert_int_equal(rapt_translator_create(&t, model, tokenizer, NULL, NULL, NULL, NULL),
                         RAPT_OK);
        for (size_t size = POSITIONS - 1; size <= POSITIONS + 1; size++) {
            const rapt_text source = {text, size};
            rapt_status translated = RAPT_NO_FILE, scored = RAPT_NO_FILE;
            rapt_status expected = size + !none <= POSITIONS ? RAPT_OK : RAPT_BAD_ARGUMENT;
            assert_int_equal(rapt_translate_many(t, &source, 1, 0, keep_status, &translated, NULL),
                             RAPT_OK);
            assert_int_equal(
                rapt_translator_score(t, &source, &target, 1, keep_score, &scored, NULL), RAPT_OK);
            assert_int_equal(translated, expected);
            assert_int_equal(scored, expected);
        }
        rapt_translator_free(t);
        rapt_model_free(model);
    }
    rapt_tokenizer_free(tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tokens),
                                       cmocka_unit_test(test_alignments),
                                       cmocka_unit_test(test_longest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
