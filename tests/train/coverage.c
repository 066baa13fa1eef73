/* coverage.c - the coverage loss: it agrees with the weights that a session reads, bits do not
   depend on threads, shards add up, training lowers it, and options that do not suit it are
   refused. tests/model/gradient.c judges the gradient. */
#include "train/small_train.h"

static const float WEIGHT = 0.8f;

static rapt_config covered(void)
{
    rapt_config c = wide;
    c.cross_score = RAPT_SCORE_COVERAGE;
    return c;
}

static rapt_train_options options_of(float weight)
{
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    o.dropout = 0, o.warmup = 0, o.rate = 0.005f, o.schedule = RAPT_SCHEDULE_CONSTANT;
    o.coverage_loss = weight;
    return o;
}

/* Returns the sum of min(weight, coverage) over all keys and rows. */
static double loss_of(const float *weights, int rows, int keys)
{
    double loss = 0;
    for (int s = 0; s < keys; s++) {
        double coverage = 0;
        for (int t = 0; t < rows; t++) {
            double w = (double)weights[t * keys + s];
            loss += w < coverage ? w : coverage;
            coverage += w;
        }
    }
    return loss;
}

/* Computes the loss, with a weight of 1, from the weights of forced decodes. */
static double wanted_loss(const rapt_model *model, const struct small_batch *source,
                          const struct small_batch *target)
{
    rapt_session *session = NULL;
    const rapt_config *c = rapt_model_config(model);
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = 1,
                                .source_tokens = 23,
                                .target_length = 12,
                                .target_tokens = 12};
    double loss = 0;
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    for (int b = 0; b < BATCH; b++) {
        int s[2], u[2];
        float weights[12 * 9];
        rapt_tokens x = small_one(&source->tokens, b, s), y = small_one(&target->tokens, b, u);
        u[1]--;
        assert_int_equal(rapt_encode(session, &x, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_decode(session, &y, NULL, NULL), RAPT_OK);
        for (int i = 0; i < c->decoder_layers * c->heads; i++) {
            assert_int_equal(
                rapt_session_alignment(session, i / c->heads, i % c->heads, weights, NULL),
                RAPT_OK);
            loss += loss_of(weights, u[1], source_lengths[b]) / (c->decoder_layers * c->heads);
        }
    }
    rapt_session_free(session);
    return loss;
}

static rapt_report gradient(rapt_trainer *trainer, const struct small_batch *source,
                            const struct small_batch *target)
{
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    if (rapt_train_gradient(trainer, &source->tokens, &target->tokens, &report, &why))
        fail_msg("%s", why.text);
    return report;
}

static void test_loss(void **state)
{
    (void)state;
    const rapt_config c = covered();
    const rapt_train_options o = options_of(WEIGHT), none = options_of(0);
    rapt_model *model = small_model(&c, 3);
    rapt_trainer *trainer = trainer_of(model, &o, 2), *plain = trainer_of(model, &none, 2);
    struct small_batch source, target;
    rapt_report report, without, sums = {.size = sizeof sums};
    batch_of(&c, 0, &source, &target);
    double wanted = (double)WEIGHT * wanted_loss(model, &source, &target);
    report = gradient(trainer, &source, &target);
    assert_true(wanted > 1 && fabs(report.coverage - wanted) <= 1e-5 * wanted);
    without = gradient(plain, &source, &target);
    assert_true(without.coverage == 0 && without.loss == report.loss);
    assert_int_equal(rapt_train_evaluate(trainer, &source.tokens, &target.tokens, &sums, NULL),
                     RAPT_OK);
    assert_true(sums.coverage == 0);
    gradient(trainer, &source, &target);
    assert_int_equal(rapt_train_step(trainer, &sums, NULL), RAPT_OK);
    assert_true(sums.coverage == 2 * report.coverage);
    rapt_trainer_free(plain);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

/* Returns the coverage loss after training with a weight. */
static double trained(float weight, int threads, float **parameters)
{
    enum { STEPS = 200 };
    const rapt_config c = covered();
    rapt_train_options o = options_of(weight);
    struct small_batch source, target;
    o.attention_dropout = o.dropout = 0.1f;
    batch_of(&c, 0, &source, &target);
    rapt_model *model = small_model(&c, 3);
    rapt_trainer *trainer = trainer_of(model, &o, threads);
    for (int step = 0; step < STEPS; step++) {
        gradient(trainer, &source, &target);
        assert_int_equal(rapt_train_step(trainer, NULL, NULL), RAPT_OK);
    }
    double loss = wanted_loss(model, &source, &target);
    *parameters = small_parameters(model);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    return loss;
}

static void test_training(void **state)
{
    (void)state;
    const rapt_config c = covered();
    rapt_model *model = small_model(&c, 3);
    float *one, *three, *plain;
    double with = trained(3, 1, &one), same = trained(3, 3, &three),
           without = trained(0, 2, &plain);
    assert_true(with == same);
    assert_memory_equal(one, three, rapt_model_parameters(model) * sizeof *one);
    if (!(with < 0.8 * without)) fail_msg("%g with the loss, %g without it", with, without);
    free(one), free(three), free(plain);
    rapt_model_free(model);
}

/* The loss of a step is the sum of those of its shards; an empty shard has none. */
static void test_shards(void **state)
{
    (void)state;
    const rapt_config c = covered();
    const rapt_train_options o = options_of(WEIGHT);
    rapt_train_limits limits = small_limits;
    rapt_model *model = small_model(&c, 3);
    rapt_trainer *trainer = NULL;
    struct small_batch source, target;
    rapt_shard records[4];
    rapt_report report = {.size = sizeof report};
    double sum = 0;
    limits.shards = 4;
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &limits, NULL, NULL), RAPT_OK);
    for (int k = 0; k < 4; k++) {
        bool empty = k % 2;
        batch_of(&c, k, &source, &target);
        double wanted = empty ? 0 : (double)WEIGHT * wanted_loss(model, &source, &target);
        records[k] = (rapt_shard){.size = sizeof *records};
        assert_int_equal(rapt_train_shard(trainer, k, empty ? NULL : &source.tokens,
                                          empty ? NULL : &target.tokens, &records[k], NULL),
                         RAPT_OK);
        assert_true(fabs(records[k].coverage - wanted) <= 1e-5 * wanted);
        sum += records[k].coverage;
    }
    assert_int_equal(rapt_train_shards_step(trainer, records, &report, NULL), RAPT_OK);
    assert_true(report.coverage == sum);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

static void refuse(rapt_config c, float weight, const char *says)
{
    rapt_model *model = small_model(&c, 3);
    rapt_trainer *trainer = NULL;
    rapt_message why = {""};
    const rapt_train_options o = options_of(weight);
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &small_limits, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, says)) fail_msg("%s", why.text);
    rapt_model_free(model);
}

static void test_refused(void **state)
{
    (void)state;
    rapt_config c = covered();
    refuse(c, -1, "coverage_loss");
    refuse(c, NAN, "coverage_loss");
    refuse(c, 2e6f, "coverage_loss");
    refuse(wide, 1, "score coverage");
    c.cross_normalizer = RAPT_NORMALIZER_ARGMAX, refuse(c, 1, "argmax");
    c = covered(), c.differential = 1, refuse(c, 1, "differential");
    c = covered(), c.cross_score = 0, c.self_score = RAPT_SCORE_COVERAGE;
    refuse(c, 1, "score coverage");
    c.kind = RAPT_KIND_DECODER_ONLY, c.encoder_layers = c.source_vocab = 0;
    refuse(c, 1, "score coverage");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_shards),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
