/* alignment_losses.c - losses on the weights of attention: guided alignment and coverage. */
#include "train/small_train.h"

/* ---- guided: guided alignment: its loss agrees with the weights that a session reads, bits do not
   depend on threads, bad alignments are refused, and attention learns to follow them.
   tests/model/gradient.c judges the gradient. ---- */

enum { ROWS = 5 + 10 + 2 + 1, LAYER = 2 };

/* Links every label row to none, one or two tokens of its source. */
struct links {
    int starts[ROWS + 1], sources[2 * ROWS];
    rapt_alignment alignment;
};

static void link_all(struct links *l)
{
    int row = 0, n = 0;
    l->starts[0] = 0;
    for (int b = 0; b < BATCH; b++)
        for (int t = 0; t + 1 < target_lengths[b]; t++) {
            for (int i = 0; i < (row + b) % 3; i++)
                l->sources[n++] = (3 * t + i) % source_lengths[b];
            l->starts[++row] = n;
        }
    assert_int_equal(row, ROWS);
    l->alignment = (rapt_alignment){l->starts, l->sources};
}

static rapt_config aligned(void)
{
    rapt_config c = wide;
    c.alignment_layer = LAYER;
    return c;
}

static rapt_train_options guided(void)
{
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    o.dropout = 0, o.warmup = 0, o.rate = 0.01f, o.schedule = RAPT_SCHEDULE_CONSTANT;
    o.guided_alignment = 0.5f;
    return o;
}

/* Computes the loss from the weights of a forced decode. */
static double wanted_loss_guided(const rapt_model *model, const struct small_batch *source,
                                 const struct small_batch *target, const struct links *l)
{
    rapt_session *session = NULL;
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = 1,
                                .source_tokens = 23,
                                .target_length = 12,
                                .target_tokens = 12};
    double loss = 0;
    int row = 0;
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    for (int b = 0; b < BATCH; b++) {
        int s[2], u[2], keys = source_lengths[b];
        float weights[12 * 9];
        rapt_tokens x = small_one(&source->tokens, b, s), y = small_one(&target->tokens, b, u);
        u[1]--;
        assert_int_equal(rapt_encode(session, &x, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_decode(session, &y, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_session_alignment(session, LAYER - 1, 0, weights, NULL), RAPT_OK);
        for (int t = 0; t < u[1]; t++, row++)
            for (int i = l->starts[row]; i < l->starts[row + 1]; i++)
                loss -= log((double)weights[t * keys + l->sources[i]] + 1e-6) /
                        (l->starts[row + 1] - l->starts[row]);
    }
    rapt_session_free(session);
    return loss;
}

static rapt_report gradient_guided(rapt_trainer *trainer, const rapt_alignment *alignment,
                                   const struct small_batch *source,
                                   const struct small_batch *target)
{
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    if (alignment && rapt_train_align(trainer, alignment, &why)) fail_msg("%s", why.text);
    if (rapt_train_gradient(trainer, &source->tokens, &target->tokens, &report, &why))
        fail_msg("%s", why.text);
    return report;
}

/* An alignment applies to one call, and its loss is separate from the loss of labels. */
static void test_guided_loss(void **state)
{
    (void)state;
    const rapt_config c = aligned();
    const rapt_train_options o = guided();
    rapt_model *model = small_model(&c, 3);
    rapt_trainer *trainer = trainer_of(model, &o, 2);
    struct small_batch source, target;
    struct links l;
    rapt_report evaluated = {.size = sizeof evaluated}, report;
    batch_of(&c, 0, &source, &target);
    link_all(&l);
    double wanted = 0.5 * wanted_loss_guided(model, &source, &target, &l);
    report = gradient_guided(trainer, &l.alignment, &source, &target);
    assert_true(wanted > 1 && fabs(report.alignment - wanted) <= 1e-5 * wanted);
    assert_int_equal(rapt_train_evaluate(trainer, &source.tokens, &target.tokens, &evaluated, NULL),
                     RAPT_OK);
    assert_true(evaluated.alignment == 0);
    rapt_report without = gradient_guided(trainer, NULL, &source, &target);
    assert_true(without.alignment == 0 && without.loss == report.loss);
    assert_int_equal(rapt_train_align(trainer, &l.alignment, NULL), RAPT_OK);
    assert_int_equal(rapt_train_evaluate(trainer, &source.tokens, &target.tokens, &evaluated, NULL),
                     RAPT_OK);
    assert_true(evaluated.alignment == 0);
    assert_int_equal(rapt_train_align(trainer, NULL, NULL), RAPT_OK);
    assert_true(gradient_guided(trainer, NULL, &source, &target).alignment == 0);
    assert_int_equal(rapt_train_step(trainer, &evaluated, NULL), RAPT_OK);
    assert_true(evaluated.alignment == report.alignment);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

/* Steps on one thread and on three have the same bits, with dropout; the loss of the alignment
   falls. */
static void test_bits(void **state)
{
    (void)state;
    enum { GUIDED_STEPS = 60 };
    const rapt_config c = aligned();
    rapt_train_options o = guided();
    struct small_batch source, target;
    struct links l;
    float *parameters[2];
    o.attention_dropout = o.dropout = 0.1f;
    batch_of(&c, 0, &source, &target);
    link_all(&l);
    for (int i = 0; i < 2; i++) {
        rapt_model *model = small_model(&c, 3);
        rapt_trainer *trainer = trainer_of(model, &o, 1 + 2 * i);
        double first = wanted_loss_guided(model, &source, &target, &l);
        for (int step = 0; step < GUIDED_STEPS; step++) {
            gradient_guided(trainer, &l.alignment, &source, &target);
            assert_int_equal(rapt_train_step(trainer, NULL, NULL), RAPT_OK);
        }
        double last = wanted_loss_guided(model, &source, &target, &l);
        if (!(last < 0.8 * first)) fail_msg("%g, in the beginning %g", last, first);
        parameters[i] = small_parameters(model);
        if (i)
            assert_memory_equal(parameters[0], parameters[1],
                                rapt_model_parameters(model) * sizeof(float));
        rapt_trainer_free(trainer);
        rapt_model_free(model);
    }
    free(parameters[0]);
    free(parameters[1]);
}

static void refuse_guided(rapt_trainer *trainer, const struct links *l, const char *says)
{
    struct small_batch source, target;
    rapt_message why = {""};
    const rapt_config c = aligned();
    batch_of(&c, 0, &source, &target);
    assert_int_equal(rapt_train_align(trainer, &l->alignment, NULL), RAPT_OK);
    assert_int_equal(rapt_train_gradient(trainer, &source.tokens, &target.tokens, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, says)) fail_msg("%s", why.text);
}

/* An alignment applies to the next shard even if that is empty, and not to the one after it. */
static void test_empty_shard(void **state)
{
    (void)state;
    const rapt_config c = aligned();
    const rapt_train_options o = guided();
    rapt_model *model = small_model(&c, 3);
    rapt_train_limits limits = small_limits;
    struct small_batch source, target;
    struct links l;
    float *sums[2];
    rapt_trainer *trainers[2];
    size_t count = 0;
    limits.shards = 2;
    batch_of(&c, 0, &source, &target);
    link_all(&l);
    for (int i = 0; i < 2; i++) {
        rapt_trainer *t = NULL;
        rapt_shard shard = {.size = sizeof shard};
        assert_int_equal(rapt_trainer_create(&t, model, &o, &limits, NULL, NULL), RAPT_OK);
        if (i) assert_int_equal(rapt_train_align(t, &l.alignment, NULL), RAPT_OK);
        assert_int_equal(rapt_train_shard(t, 0, NULL, NULL, &shard, NULL), RAPT_OK);
        assert_int_equal(rapt_train_shard(t, 1, &source.tokens, &target.tokens, &shard, NULL),
                         RAPT_OK);
        sums[i] = rapt_trainer_gradients(t, &count, NULL);
        trainers[i] = t;
    }
    assert_memory_equal(sums[0], sums[1], count * sizeof *sums[0]);
    for (int i = 0; i < 2; i++) rapt_trainer_free(trainers[i]);
    rapt_model_free(model);
}

static void test_guided_refused(void **state)
{
    (void)state;
    rapt_config c = aligned();
    rapt_train_options o = guided();
    rapt_model *model = small_model(&c, 3);
    rapt_trainer *trainer = trainer_of(model, &o, 1);
    struct links l;
    rapt_message why = {""};
    link_all(&l);
    l.starts[0] = 1, refuse_guided(trainer, &l, "starts[0] is 1");
    link_all(&l);
    l.starts[4] = 0, refuse_guided(trainer, &l, "starts[4] is 0");
    link_all(&l); /* starts are checked before any source is read */
    int last = l.starts[ROWS], *exact = malloc((size_t)last * sizeof *exact);
    memcpy(exact, l.sources, (size_t)last * sizeof *exact);
    l.starts[ROWS - 1] = INT32_MAX;
    l.alignment.sources = exact, refuse_guided(trainer, &l, "less than starts[");
    free(exact);
    link_all(&l);
    l.sources[0] = 9, refuse_guided(trainer, &l, "sources[0] is 9; the source has 9 tokens");
    l.sources[0] = -1, refuse_guided(trainer, &l, "sources[0] is -1");
    link_all(&l);
    l.alignment.sources = NULL, refuse_guided(trainer, &l, "alignment.sources is NULL");
    l.alignment.starts = NULL;
    assert_int_equal(rapt_train_align(trainer, &l.alignment, &why), RAPT_BAD_ARGUMENT);
    rapt_trainer_free(trainer);
    o.guided_alignment = 0;
    trainer = trainer_of(model, &o, 1);
    link_all(&l);
    assert_int_equal(rapt_train_align(trainer, &l.alignment, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "guided_alignment is 0"));
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    c.cross_normalizer = RAPT_NORMALIZER_ARGMAX, o.guided_alignment = 1, trainer = NULL;
    model = small_model(&c, 3);
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &small_limits, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "cross_normalizer"));
    rapt_model_free(model);
    c = aligned(), c.alignment_heads = 2;
    model = small_model(&c, 3);
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &small_limits, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "alignment_heads is 2"));
    rapt_model_free(model);
    c = aligned(), c.differential = 1;
    model = small_model(&c, 3);
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &small_limits, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "differential"));
    rapt_model_free(model);
    c = aligned(), c.talking_heads = 1;
    model = small_model(&c, 3);
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &small_limits, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "talking_heads"));
    rapt_model_free(model);
    c = aligned(), c.monotonic = RAPT_CROSS_MONOTONIC_LOOKBACK;
    model = small_model(&c, 3);
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &small_limits, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "monotonic is lookback"));
    rapt_model_free(model);
}

/* ---- coverage: the coverage loss: it agrees with the weights that a session reads, bits do not
   depend on threads, shards add up, training lowers it, and options that do not suit it are
   refused. tests/model/gradient.c judges the gradient. ---- */

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
static double wanted_loss_coverage(const rapt_model *model, const struct small_batch *source,
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

static rapt_report gradient_coverage(rapt_trainer *trainer, const struct small_batch *source,
                                     const struct small_batch *target)
{
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    if (rapt_train_gradient(trainer, &source->tokens, &target->tokens, &report, &why))
        fail_msg("%s", why.text);
    return report;
}

static void test_coverage_loss(void **state)
{
    (void)state;
    const rapt_config c = covered();
    const rapt_train_options o = options_of(WEIGHT), none = options_of(0);
    rapt_model *model = small_model(&c, 3);
    rapt_trainer *trainer = trainer_of(model, &o, 2), *plain = trainer_of(model, &none, 2);
    struct small_batch source, target;
    rapt_report report, without, sums = {.size = sizeof sums};
    batch_of(&c, 0, &source, &target);
    double wanted = (double)WEIGHT * wanted_loss_coverage(model, &source, &target);
    report = gradient_coverage(trainer, &source, &target);
    assert_true(wanted > 1 && fabs(report.coverage - wanted) <= 1e-5 * wanted);
    without = gradient_coverage(plain, &source, &target);
    assert_true(without.coverage == 0 && without.loss == report.loss);
    assert_int_equal(rapt_train_evaluate(trainer, &source.tokens, &target.tokens, &sums, NULL),
                     RAPT_OK);
    assert_true(sums.coverage == 0);
    gradient_coverage(trainer, &source, &target);
    assert_int_equal(rapt_train_step(trainer, &sums, NULL), RAPT_OK);
    assert_true(sums.coverage == 2 * report.coverage);
    rapt_trainer_free(plain);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

/* Returns the coverage loss after training with a weight. */
static double trained(float weight, int threads, float **parameters)
{
    enum { COVERAGE_STEPS = 200 };
    const rapt_config c = covered();
    rapt_train_options o = options_of(weight);
    struct small_batch source, target;
    o.attention_dropout = o.dropout = 0.1f;
    batch_of(&c, 0, &source, &target);
    rapt_model *model = small_model(&c, 3);
    rapt_trainer *trainer = trainer_of(model, &o, threads);
    for (int step = 0; step < COVERAGE_STEPS; step++) {
        gradient_coverage(trainer, &source, &target);
        assert_int_equal(rapt_train_step(trainer, NULL, NULL), RAPT_OK);
    }
    double loss = wanted_loss_coverage(model, &source, &target);
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
        double wanted = empty ? 0 : (double)WEIGHT * wanted_loss_coverage(model, &source, &target);
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

static void refuse_coverage(rapt_config c, float weight, const char *says)
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

static void test_coverage_refused(void **state)
{
    (void)state;
    rapt_config c = covered();
    refuse_coverage(c, -1, "coverage_loss");
    refuse_coverage(c, NAN, "coverage_loss");
    refuse_coverage(c, 2e6f, "coverage_loss");
    refuse_coverage(wide, 1, "score coverage");
    c.cross_normalizer = RAPT_NORMALIZER_ARGMAX, refuse_coverage(c, 1, "argmax");
    c = covered(), c.differential = 1, refuse_coverage(c, 1, "differential");
    c = covered(), c.cross_score = 0, c.self_score = RAPT_SCORE_COVERAGE;
    refuse_coverage(c, 1, "score coverage");
    c.kind = RAPT_KIND_DECODER_ONLY, c.encoder_layers = c.source_vocab = 0;
    refuse_coverage(c, 1, "score coverage");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guided_loss),   cmocka_unit_test(test_bits),
        cmocka_unit_test(test_empty_shard),   cmocka_unit_test(test_guided_refused),
        cmocka_unit_test(test_coverage_loss), cmocka_unit_test(test_training),
        cmocka_unit_test(test_shards),        cmocka_unit_test(test_coverage_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
