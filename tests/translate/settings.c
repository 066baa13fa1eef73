/* settings.c - settings that come with a model: tokens at the ends of sequences, and defaults of
   searches. */
#include "import/folder.h"
#include "translate/small_text.h"

#include <math.h>

/* ---- decoder start: the tokens that begin a target and end a source: a translator uses those of
   the configuration, as rapt_decode shows; if a target begins with zeros, any token gives the same.
   ---- */

enum { DECODER_START_POSITIONS = 24 };

static rapt_model *model_of_decoder_start(rapt_decoder_start start, int no_source_end)
{
    const rapt_config c = {.size = sizeof c,
                           .source_vocab = SMALL_VOCAB,
                           .target_vocab = SMALL_VOCAB,
                           .positions = DECODER_START_POSITIONS,
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
                                .source_tokens = DECODER_START_POSITIONS,
                                .target_length = DECODER_START_POSITIONS,
                                .threads = 1};
    int32_t ids[DECODER_START_POSITIONS];
    size_t count;
    rapt_session *session;
    const float *logits;
    const rapt_text text = {small_lines[0], strlen(small_lines[0])};
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_tokenizer_encode(tokenizer, text, ids, NULL, DECODER_START_POSITIONS - 1,
                                           &count, NULL),
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
        rapt_model *model = model_of_decoder_start((rapt_decoder_start)i, n % 2);
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
        rapt_model *model = model_of_decoder_start(RAPT_DECODER_START_ZERO, none);
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
        rapt_model *model = model_of_decoder_start(RAPT_DECODER_START_BEGIN, none);
        rapt_translator *t;
        assert_int_equal(rapt_translator_create(&t, model, tokenizer, NULL, NULL, NULL, NULL),
                         RAPT_OK);
        for (size_t size = DECODER_START_POSITIONS - 1; size <= DECODER_START_POSITIONS + 1;
             size++) {
            const rapt_text source = {text, size};
            rapt_status translated = RAPT_NO_FILE, scored = RAPT_NO_FILE;
            rapt_status expected =
                size + !none <= DECODER_START_POSITIONS ? RAPT_OK : RAPT_BAD_ARGUMENT;
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

/* ---- settings: defaults that a translator takes from its model's metadata: beams, penalties,
   limits on lengths, and tokens that it never produces. ---- */

enum { VOCAB = 7, SETTINGS_POSITIONS = 60, BYTES = 1 << 14 };

static const rapt_config config = {.size = sizeof config,
                                   .source_vocab = VOCAB,
                                   .target_vocab = VOCAB,
                                   .positions = SETTINGS_POSITIONS,
                                   .width = 8,
                                   .heads = 2,
                                   .ffn_width = 8,
                                   .encoder_layers = 1,
                                   .decoder_layers = 1,
                                   .output_bias = 1};

static const rapt_search_rules all_rules[] = {RAPT_SEARCH_RULES_RAPT, RAPT_SEARCH_RULES_MARIAN,
                                              RAPT_SEARCH_RULES_HF, RAPT_SEARCH_RULES_CT2};

/* Makes a model whose biases decide, with metadata. */
static rapt_model *model_of_settings(const float bias[VOCAB], const rapt_metadata *metadata,
                                     int count)
{
    static char bytes[BYTES];
    size_t size;
    rapt_model *plain = small_model(&config, 1), *model = NULL;
    int index = rapt_model_find(plain, "output.bias");
    assert_int_equal(rapt_model_write(plain, index, bias, NULL), RAPT_OK);
    assert_int_equal(
        rapt_model_save_memory(plain, bytes, sizeof bytes, &size, metadata, count, NULL), RAPT_OK);
    assert_int_equal(rapt_model_load_memory(&model, bytes, size, NULL, NULL, NULL), RAPT_OK);
    rapt_model_free(plain);
    return model;
}

static rapt_tokenizer *names_of(const char *const names[VOCAB])
{
    rapt_text texts[VOCAB];
    rapt_tokenizer *t = NULL;
    for (int i = 0; i < VOCAB; i++) texts[i] = (rapt_text){names[i], strlen(names[i])};
    assert_int_equal(rapt_tokenizer_create_list(&t, texts, VOCAB, NULL, NULL, NULL), RAPT_OK);
    return t;
}

struct seen {
    int count, tokens[VOCAB];
};

static int count_tokens(void *user, const rapt_translation *t)
{
    struct seen *seen = user;
    seen->count = t->target_count;
    for (int i = 0; i < t->target_count; i++) seen->tokens[t->target[i]]++;
    return 0;
}

static struct seen translate(const rapt_model *model, const char *const names[VOCAB],
                             const rapt_translator_options *options)
{
    struct seen seen = {0};
    rapt_tokenizer *list = names_of(names);
    rapt_translator *t = NULL;
    rapt_message why = {""};
    const rapt_text text = {"a b", 3};
    if (rapt_translator_create(&t, model, list, NULL, options, NULL, &why))
        fail_msg("%s", why.text);
    assert_int_equal(rapt_translate_many(t, &text, 1, 0, count_tokens, &seen, NULL), RAPT_OK);
    rapt_translator_free(t);
    rapt_tokenizer_free(list);
    return seen;
}

static const char *const words[] = {"</s>", "<unk>", "a", "b", "c", "d", "e"};

static void test_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
        rapt_translator_options wanted;
    } all[] = {
        {"rapt.beams", "3", {.beams = 3}},
        {"rapt.beams", "1025", {.beams = 0}},
        {"rapt.beams", "0", {.beams = 0}},
        {"rapt.beams", "many", {.beams = 0}},
        {"rapt.length_penalty", "0.5", {.length_penalty = 0.5f}},
        {"rapt.length_penalty", "1e30", {.length_penalty = 0}},
        {"rapt.min_length", "4", {.min_length = 4}},
        {"rapt.min_length", "-4", {.min_length = 0}},
        {"rapt.no_repeat_ngram", "2", {.no_repeat_ngram = 2}},
        {"rapt.repetition_penalty", "1.25", {.repetition_penalty = 1.25f}},
        {"rapt.repetition_penalty", "-1", {.repetition_penalty = 0}},
        {"rapt.max_length", "2", {.beams = 0}},
    };
    const float bias[VOCAB] = {0};
    for (int i = 0; i < COUNT(all); i++) {
        const rapt_metadata pair = {all[i].key, all[i].value};
        rapt_model *model = model_of_settings(bias, &pair, 1);
        rapt_translator_options got, wanted = all[i].wanted;
        memset(&got, 1, sizeof got);
        rapt_translator_options_default(&got, sizeof got, model);
        wanted.size = sizeof wanted;
        assert_memory_equal(&got, &wanted, sizeof got);
        rapt_translator_options_default(&got, sizeof got, NULL);
        assert_int_equal(got.beams + got.min_length + got.no_repeat_ngram, 0);
        rapt_model_free(model);
    }
}

/* Without options, a translator follows the metadata; with options, only the limit on lengths. */
static void test_followed(void **state)
{
    (void)state;
    const float bias[VOCAB] = {-100, -100, 40, 20, -100, -100, -100};
    const rapt_metadata pairs[] = {{"rapt.origin", "MarianMT of Hugging Face"},
                                   {"rapt.max_length", "9"},
                                   {"rapt.beams", "1"},
                                   {"rapt.no_repeat_ngram", "1"},
                                   {"rapt.min_length", "5"}};
    const rapt_translator_options given = {.size = sizeof given, .beams = 1};
    rapt_model *model = model_of_settings(bias, pairs, COUNT(pairs));
    struct seen seen = translate(model, words, &given);
    assert_int_equal(seen.tokens[2], 8); /* and the forced end */
    seen = translate(model, words, NULL);
    assert_int_equal(seen.tokens[2], 1);
    assert_int_equal(seen.tokens[3], 1);
    assert_int_equal(seen.count, 5); /* each of the other three tokens once */
    rapt_model_free(model);
}

/* Tokens without a name, and those that the metadata list, are excluded whichever rules hold. */
static void test_never(void **state)
{
    (void)state;
    static const char *const nameless[] = {"</s>", "<unk>", "a", "b", "c", "d", ""};
    static const char *const lists[] = {"2", "2 5", "5 2 99", "2,5", "5  2"};
    const float likely[VOCAB] = {-9, -100, 20, 10, -50, 15, 30};
    for (int r = 0; r < COUNT(all_rules); r++)
        for (int beams = 1; beams <= 4; beams += 3) {
            const rapt_translator_options o = {.size = sizeof o,
                                               .beams = beams,
                                               .length_penalty = 1,
                                               .search_rules = all_rules[r]};
            for (int i = 0; i < COUNT(lists); i++) {
                const rapt_metadata pair = {"rapt.suppressed", lists[i]};
                rapt_model *model = model_of_settings(likely, &pair, 1);
                struct seen seen = translate(model, nameless, &o);
                assert_int_equal(seen.tokens[6], 0);
                assert_true(seen.count > 0 && (seen.tokens[2] == 0) == (i < 4));
                rapt_model_free(model);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),   cmocka_unit_test(test_alignments),
        cmocka_unit_test(test_longest),  cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_followed), cmocka_unit_test(test_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
