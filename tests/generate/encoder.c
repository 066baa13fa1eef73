/* encoder.c - what encoders give: logits and embeddings, and the same bits for sources in groups.
 */
#include "generate/small_session.h"
#include "model/small.h"

#include "oracle/transformer.h"

/* ---- classify: logits of encoder-only models and embeddings of sequences: they agree with the
   definition and have the same bits for any threads and batch; a tagger and classifiers of
   sequences learn. ---- */

enum { BATCH = 5, MAX = 12, TOKENS = 32 };
static const int classify_lengths[BATCH] = {5, 1, 12, 0, 3};

static rapt_session *asked_session(const rapt_model *model, int threads)
{
    const rapt_limits limits = {
        .size = sizeof limits, .batch = 64, .source_tokens = 64 * MAX, .target_length = MAX};
    return session_of(model, &limits, threads);
}

static struct oracle_sentence sentence(const rapt_tokens *t, int b)
{
    return (struct oracle_sentence){.number = b,
                                    .first = t->starts[b],
                                    .count = t->starts[b + 1] - t->starts[b],
                                    .ids = t->ids + t->starts[b]};
}

static void near(const float *got, const double *wanted, int n)
{
    for (int i = 0; i < n; i++)
        if (!(fabs((double)got[i] - wanted[i]) <= 1e-5 * (1 + fabs(wanted[i]))))
            fail_msg("element %d of %d: got %.9g, wanted %.9g", i, n, (double)got[i], wanted[i]);
}

/* ---- against the definition ---- */

static void judge_logits(const rapt_config *c)
{
    rapt_model *model = small_model(c, 31);
    struct oracle_model *oracle = oracle_model_read(model);
    rapt_session *session = asked_session(model, 2);
    struct small_batch source;
    const float *logits;
    double wanted[MAX * 16];
    small_fill(&source, small_source_ids(c), classify_lengths, BATCH, 5);
    assert_int_equal(rapt_classify(session, &source.tokens, &logits, NULL), RAPT_OK);
    for (int b = 0; b < BATCH; b++) {
        struct oracle_sentence s = sentence(&source.tokens, b);
        int N = c->target_vocab, at = c->pooling ? b : s.first;
        oracle_classify(oracle, NULL, &s, wanted);
        near(logits + at * N, wanted, (c->pooling ? 1 : s.count) * N);
    }
    rapt_session_free(session);
    oracle_model_free(oracle);
    rapt_model_free(model);
}

static void test_logits(void **state)
{
    (void)state;
    for (int i = 7; i < 10; i++)
        for (int pooling = 0; pooling <= RAPT_POOLING_MEAN; pooling++) {
            rapt_config c = small_configs[i];
            assert_int_equal(c.kind, RAPT_KIND_ENCODER_ONLY);
            c.pooling = (rapt_pooling)pooling;
            judge_logits(&c);
            c.pooler = pooling != RAPT_POOLING_NONE, c.token_types = 2, c.tie = RAPT_TIE_NONE;
            judge_logits(&c);
        }
}

static void test_embeddings(void **state)
{
    (void)state;
    for (int i = 0; i < 11; i++) {
        rapt_config bare = small_configs[7];
        bare.target_vocab = bare.output_bias = 0, bare.embedding_norm = 1, bare.token_types = 2;
        const rapt_config *c = i < 10 ? &small_configs[i] : &bare;
        rapt_model *model = small_model(c, 31);
        struct oracle_model *oracle = oracle_model_read(model);
        rapt_session *session = asked_session(model, 2);
        struct small_batch source;
        small_fill(&source, small_source_ids(c), classify_lengths, BATCH, 5);
        for (int mean = 0; mean < 2; mean++) {
            const float *rows;
            rapt_pooling pooling = mean ? RAPT_POOLING_MEAN : RAPT_POOLING_FIRST;
            assert_int_equal(rapt_embed(session, &source.tokens, pooling, &rows, NULL), RAPT_OK);
            for (int b = 0; b < BATCH; b++) {
                struct oracle_sentence s = sentence(&source.tokens, b);
                double states[MAX * 32], wanted[32] = {0};
                int D = c->width, n = mean ? s.count : s.count > 0;
                oracle_encode(oracle, NULL, &s, states);
                for (int r = 0; r < n; r++)
                    for (int j = 0; j < D; j++) wanted[j] += states[r * D + j] / n;
                near(rows + b * D, wanted, D);
            }
        }
        rapt_session_free(session);
        oracle_model_free(oracle);
        rapt_model_free(model);
    }
}

/* ---- the same bits ---- */

static rapt_config larger_classifier(rapt_pooling pooling)
{
    rapt_config c = larger;
    c.kind = RAPT_KIND_ENCODER_ONLY, c.decoder_layers = 0, c.pooling = pooling;
    return c;
}

/* Groups of a few sequences and single sequences give the bits of the whole batch, with any number
   of threads. */
static void test_bits(void **state)
{
    (void)state;
    static const int source_lengths[LARGER_BATCH] = {70, 3, 33, 17, 1, 16};
    for (int pooling = 0; pooling <= RAPT_POOLING_MEAN; pooling++) {
        const rapt_config c = larger_classifier((rapt_pooling)pooling);
        rapt_model *model = small_model(&c, 31);
        rapt_session *one = session_of(model, &larger_limits, 1);
        rapt_session *three = session_of(model, &larger_limits, 3);
        struct small_batch source;
        const float *logits, *alone;
        size_t N = (size_t)c.target_vocab, row = N * sizeof *logits;
        small_fill(&source, c.source_vocab, source_lengths, LARGER_BATCH, 5);
        assert_int_equal(rapt_classify(one, &source.tokens, &logits, NULL), RAPT_OK);
        for (int b = 0; b < LARGER_BATCH; b++) {
            int starts[2];
            const rapt_tokens single = small_one(&source.tokens, b, starts);
            size_t at = (size_t)(pooling ? b : source.starts[b]);
            size_t rows = (size_t)(pooling ? 1 : source_lengths[b]);
            assert_int_equal(rapt_classify(three, &single, &alone, NULL), RAPT_OK);
            assert_memory_equal(alone, logits + at * N, rows * row);
        }
        assert_int_equal(rapt_classify(three, &source.tokens, &alone, NULL), RAPT_OK);
        assert_memory_equal(alone, logits,
                            row * (size_t)(pooling ? LARGER_BATCH : source.starts[LARGER_BATCH]));
        rapt_session_free(one);
        rapt_session_free(three);
        rapt_model_free(model);
    }
}

/* ---- learning ---- */

enum { CLASSIFY_VOCAB = 12, CLASSES = 4, LEARNED = 24, STEPS = 300 };

/* Each sentence has one of the first CLASSES tokens, at any position. A tagger must label all
   tokens after it with its number and those before with 0; a classifier must return its number. */
static void draw_task(const rapt_config *c, uint64_t seed, struct small_batch *source,
                      struct small_batch *target)
{
    int counts[LEARNED], starts = 0;
    for (int b = 0; b < LEARNED; b++) counts[b] = 2 + (int)(small_random(seed, (uint64_t)b) % 9);
    small_fill(source, CLASSIFY_VOCAB - CLASSES, counts, LEARNED, seed + 1);
    *target = *source;
    target->tokens.ids = target->ids, target->tokens.starts = target->starts;
    for (int b = 0; b < LEARNED; b++) {
        uint64_t draw = small_random(seed + 2, (uint64_t)b);
        int32_t *ids = source->ids + source->starts[b], answer = (int32_t)(draw % CLASSES);
        int at = (int)(draw / CLASSES % (uint64_t)counts[b]);
        for (int i = 0; i < counts[b]; i++) ids[i] += CLASSES;
        ids[at] = answer;
        for (int i = 0; i < counts[b]; i++)
            target->ids[source->starts[b] + i] = i < at ? 0 : answer;
        if (c->pooling) target->ids[b] = answer, target->starts[b] = starts++;
    }
    if (c->pooling) target->starts[LEARNED] = starts;
}

static void learn(rapt_model *model, const rapt_config *c)
{
    rapt_trainer *trainer;
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    o.rate = 0.01f, o.warmup = 30, o.dropout = 0;
    const rapt_train_limits limits = {
        .size = sizeof limits, .batch = LEARNED, .source_tokens = LEARNED * MAX, .threads = 2};
    struct small_batch source, target;
    rapt_message why = {""};
    if (rapt_trainer_create(&trainer, model, &o, &limits, NULL, &why)) fail_msg("%s", why.text);
    for (int step = 0; step < STEPS; step++) {
        draw_task(c, 1000 + 3 * (uint64_t)step, &source, &target);
        if (rapt_train_gradient(trainer, &source.tokens, &target.tokens, NULL, &why))
            fail_msg("%s", why.text);
        assert_int_equal(rapt_train_step(trainer, NULL, NULL), RAPT_OK);
    }
    rapt_trainer_free(trainer);
}

static int best(const float *row, int n)
{
    int max = 0;
    for (int i = 1; i < n; i++)
        if (row[i] > row[max]) max = i;
    return max;
}

static void test_learning(void **state)
{
    (void)state;
    for (int pooling = 0; pooling <= RAPT_POOLING_MEAN; pooling++) {
        const rapt_config c = {.size = sizeof c,
                               .kind = RAPT_KIND_ENCODER_ONLY,
                               .source_vocab = CLASSIFY_VOCAB,
                               .target_vocab = CLASSES,
                               .positions = MAX,
                               .width = 16,
                               .heads = 2,
                               .ffn_width = 32,
                               .encoder_layers = 2,
                               .norm_order = RAPT_NORM_ORDER_PRE,
                               .pooling = (rapt_pooling)pooling};
        rapt_model *model;
        int right = 0, all = 0;
        assert_int_equal(rapt_model_create(&model, &c, 3, NULL, NULL), RAPT_OK);
        learn(model, &c);
        rapt_session *session = asked_session(model, 1);
        for (uint64_t unseen = 1; unseen <= 20; unseen++) {
            struct small_batch source, target;
            const float *logits;
            draw_task(&c, unseen, &source, &target);
            assert_int_equal(rapt_classify(session, &source.tokens, &logits, NULL), RAPT_OK);
            for (int i = 0; i < target.starts[LEARNED]; i++, all++)
                right += best(logits + i * CLASSES, CLASSES) == target.ids[i];
        }
        print_message("%s: %d of %d right\n",
                      pooling ? "a class for each sequence" : "a tag for each token", right, all);
        assert_true(right >= 0.99 * all);
        rapt_session_free(session);
        rapt_model_free(model);
    }
}

/* ---- refusals ---- */

static void test_refusals(void **state)
{
    (void)state;
    rapt_config pooled = larger;
    pooled.pooling = RAPT_POOLING_MEAN;
    rapt_message why = {""};
    assert_int_equal(rapt_config_check(&pooled, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "pooling is mean"));
    const float *rows = NULL;
    struct small_batch source;
    small_fill(&source, 5, classify_lengths, BATCH, 5);
    for (int i = 0; i < 2; i++) {
        rapt_model *model = small_model(&small_configs[i ? 10 : 0], 1);
        rapt_session *session = asked_session(model, 1);
        assert_int_equal(rapt_classify(session, &source.tokens, &rows, &why), RAPT_BAD_ARGUMENT);
        assert_non_null(strstr(why.text, "has a decoder"));
        assert_int_equal(
            rapt_embed(session, &source.tokens, i ? RAPT_POOLING_MEAN : 0, &rows, &why),
            RAPT_BAD_ARGUMENT);
        assert_non_null(strstr(why.text, i ? "no source" : "pooling is 0"));
        assert_null(rows);
        rapt_session_free(session);
        rapt_model_free(model);
    }
    const rapt_config c = larger_classifier(RAPT_POOLING_FIRST);
    rapt_model *model = small_model(&c, 1);
    rapt_trainer *trainer;
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    const rapt_train_limits limits = {.size = sizeof limits, .batch = 9, .source_tokens = 99};
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &limits, NULL, NULL), RAPT_OK);
    const int starts[] = {0, 2, 5};
    const rapt_tokens two = {.batch = 2, .ids = source.ids, .starts = starts};
    assert_int_equal(rapt_train_gradient(trainer, &two, &two, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "starts[1] is 2; it must be 1: one label for each source "
                                     "sequence"));
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

/* An encoder without an output embeds, but it neither classifies nor learns from labels. */
static void test_no_output(void **state)
{
    (void)state;
    rapt_config c = small_configs[7];
    c.target_vocab = c.output_bias = 0;
    rapt_model *model = small_model(&c, 1);
    rapt_session *session = asked_session(model, 1);
    struct small_batch source;
    const float *rows = NULL;
    rapt_message why = {""};
    small_fill(&source, 5, classify_lengths, BATCH, 5);
    assert_int_equal(rapt_model_find(model, "output.weight"), -1);
    assert_int_equal(rapt_classify(session, &source.tokens, &rows, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "no output matrix"));
    assert_null(rows);
    rapt_trainer *trainer = NULL;
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    const rapt_train_limits limits = {.size = sizeof limits, .batch = 9, .source_tokens = 99};
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &limits, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "target_vocab is 0"));
    rapt_session_free(session);
    rapt_model_free(model);
}

/* ---- encode: many sources, which the encoder reads in several groups, give the bits that each of
   them gives by itself; the encoder's memory does not grow with them. ---- */

static const rapt_config config = {.size = sizeof(rapt_config),
                                   .source_vocab = 70,
                                   .target_vocab = 50,
                                   .positions = 30,
                                   .width = 24,
                                   .heads = 2,
                                   .ffn_width = 400,
                                   .encoder_layers = 2,
                                   .decoder_layers = 2};
enum { SOURCES = 40, WIDTH = 24, ENCODE_VOCAB = 50 };

/* Lengths of sources that make many groups, fill a group exactly, or are mostly empty. */
static void draw_lengths(int kind, int *lengths)
{
    for (int i = 0; i < SOURCES; i++) {
        int drawn = (int)(small_random((uint64_t)kind, (uint64_t)i) % 31);
        lengths[i] = kind == 0 ? drawn : kind == 1 ? 16 : i % 7 ? 0 : 30;
    }
}

static rapt_session *session_of_many(const rapt_model *model, int batch, int tokens, int threads)
{
    rapt_session *session = NULL;
    rapt_limits limits = {.size = sizeof limits,
                          .batch = batch,
                          .source_tokens = tokens,
                          .target_length = 4,
                          .threads = threads};
    rapt_message why = {""};
    if (rapt_session_create(&session, model, &limits, NULL, &why)) fail_msg("%s", why.text);
    return session;
}

/* Decodes one token for every target; returns the logits. */
static const float *decode(rapt_session *session, int batch)
{
    static const int32_t ids[SOURCES] = {0};
    int starts[SOURCES + 1];
    const float *logits;
    for (int i = 0; i <= batch; i++) starts[i] = i;
    assert_int_equal(rapt_decode(session,
                                 &(rapt_tokens){.batch = batch, .ids = ids, .starts = starts},
                                 &logits, NULL),
                     RAPT_OK);
    return logits;
}

static void compare(const rapt_model *model, const rapt_tokens *all, int threads)
{
    rapt_session *many = session_of_many(model, SOURCES, SOURCES * 30, threads),
                 *one = session_of_many(model, 1, 30, 1);
    const float *states, *alone;
    assert_int_equal(rapt_encode(many, all, &states, NULL), RAPT_OK);
    float *kept = small_copy(states, sizeof *kept * (size_t)(all->starts[SOURCES] * WIDTH));
    const float *logits = decode(many, SOURCES);
    for (int i = 0; i < SOURCES; i++) {
        int starts[] = {0, all->starts[i + 1] - all->starts[i]};
        rapt_tokens source = {.batch = 1, .ids = all->ids + all->starts[i], .starts = starts};
        assert_int_equal(rapt_encode(one, &source, &alone, NULL), RAPT_OK);
        assert_memory_equal(kept + all->starts[i] * WIDTH, alone,
                            sizeof *alone * (size_t)(starts[1] * WIDTH));
        assert_memory_equal(logits + i * ENCODE_VOCAB, decode(one, 1),
                            sizeof *alone * ENCODE_VOCAB);
    }
    free(kept);
    rapt_session_free(many);
    rapt_session_free(one);
}

static void test_groups(void **state)
{
    (void)state;
    rapt_model *model = small_model(&config, 3);
    for (int kind = 0; kind < 3; kind++)
        for (int threads = 1; threads <= 3; threads++) {
            int lengths[SOURCES], starts[SOURCES + 1] = {0};
            int32_t ids[SOURCES * 30];
            draw_lengths(kind, lengths);
            for (int i = 0; i < SOURCES; i++) starts[i + 1] = starts[i] + lengths[i];
            for (int i = 0; i < starts[SOURCES]; i++)
                ids[i] = (int32_t)(small_random(9, (uint64_t)i) % 70);
            compare(model, &(rapt_tokens){.batch = SOURCES, .ids = ids, .starts = starts}, threads);
        }
    rapt_model_free(model);
}

/* Twice as many source tokens cost only their states and the decoder's keys and values, two vectors
   per layer in panels of 16, but no activations of the feed-forward layer. */
static void test_memory(void **state)
{
    (void)state;
    rapt_model *model = small_model(&config, 3);
    rapt_limits limits = {
        .size = sizeof limits, .batch = 8, .source_tokens = 1000, .target_length = 4, .threads = 1};
    size_t few = rapt_session_bytes(model, &limits);
    limits.source_tokens = 2000;
    size_t more = rapt_session_bytes(model, &limits);
    assert_true(few > 0 && more > few);
    assert_true(more - few < 1000 * sizeof(float) * (WIDTH + 2 * 2 * (WIDTH + 16)));
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logits),   cmocka_unit_test(test_embeddings),
        cmocka_unit_test(test_bits),     cmocka_unit_test(test_learning),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_no_output),
        cmocka_unit_test(test_groups),   cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
