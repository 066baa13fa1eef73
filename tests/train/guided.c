/* guided.c - guided alignment: its loss agrees with the weights that a session reads, bits do not
   depend on threads, bad alignments are refused, and attention learns to follow them.
   tests/model/gradient.c judges the gradient. */
#include "train/small_train.h"

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
static double wanted_loss(const rapt_model *model, const struct small_batch *source,
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

static rapt_report gradient(rapt_trainer *trainer, const rapt_alignment *alignment,
                            const struct small_batch *source, const struct small_batch *target)
{
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    if (alignment && rapt_train_align(trainer, alignment, &why)) fail_msg("%s", why.text);
    if (rapt_train_gradient(trainer, &source->tokens, &target->tokens, &report, &why))
        fail_msg("%s", why.text);
    return report;
}

/* An alignment applies to one call, and its loss is separate from the loss of labels. */
static void test_loss(void **state)
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
    double wanted = 0.5 * wanted_loss(model, &source, &target, &l);
    report = gradient(trainer, &l.alignment, &source, &target);
    assert_true(wanted > 1 && fabs(report.alignment - wanted) <= 1e-5 * wanted);
    assert_int_equal(rapt_train_evaluate(trainer, &source.tokens, &target.tokens, &evaluated, NULL),
                     RAPT_OK);
    assert_true(evaluated.alignment == 0);
    rapt_report without = gradient(trainer, NULL, &source, &target);
    assert_true(without.alignment == 0 && without.loss == report.loss);
    assert_int_equal(rapt_train_align(trainer, &l.alignment, NULL), RAPT_OK);
    assert_int_equal(rapt_train_evaluate(trainer, &source.tokens, &target.tokens, &evaluated, NULL),
                     RAPT_OK);
    assert_true(evaluated.alignment == 0);
    assert_int_equal(rapt_train_align(trainer, NULL, NULL), RAPT_OK);
    assert_true(gradient(trainer, NULL, &source, &target).alignment == 0);
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
    enum { STEPS = 60 };
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
        double first = wanted_loss(model, &source, &target, &l);
        for (int step = 0; step < STEPS; step++) {
            gradient(trainer, &l.alignment, &source, &target);
            assert_int_equal(rapt_train_step(trainer, NULL, NULL), RAPT_OK);
        }
        double last = wanted_loss(model, &source, &target, &l);
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

static void refuse(rapt_trainer *trainer, const struct links *l, const char *says)
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

static void test_refused(void **state)
{
    (void)state;
    rapt_config c = aligned();
    rapt_train_options o = guided();
    rapt_model *model = small_model(&c, 3);
    rapt_trainer *trainer = trainer_of(model, &o, 1);
    struct links l;
    rapt_message why = {""};
    link_all(&l);
    l.starts[0] = 1, refuse(trainer, &l, "starts[0] is 1");
    link_all(&l);
    l.starts[4] = 0, refuse(trainer, &l, "starts[4] is 0");
    link_all(&l); /* starts are checked before any source is read */
    int last = l.starts[ROWS], *exact = malloc((size_t)last * sizeof *exact);
    memcpy(exact, l.sources, (size_t)last * sizeof *exact);
    l.starts[ROWS - 1] = INT32_MAX;
    l.alignment.sources = exact, refuse(trainer, &l, "less than starts[");
    free(exact);
    link_all(&l);
    l.sources[0] = 9, refuse(trainer, &l, "sources[0] is 9; the source has 9 tokens");
    l.sources[0] = -1, refuse(trainer, &l, "sources[0] is -1");
    link_all(&l);
    l.alignment.sources = NULL, refuse(trainer, &l, "alignment.sources is NULL");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_empty_shard),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
