/* quantized.c - quantize-aware training: losses are those of the model in 8 bits, the bits are the
   same for any threads, instruction sets and shards and after a checkpoint, and training in this
   way lowers the loss in 8 bits. tests/model/gradient.c compares gradients with the definition. */
#include "train/small_train.h"

#include "counting.h"
#include "skips.h"
#include <rapt/generate.h>
#include <rapt/precision.h>

static rapt_train_options aware(void)
{
    rapt_train_options o = dropout_and_clipping();
    o.quantize_aware = 1;
    return o;
}

/* Returns -log p of all targets, which begin and end with tokens of their own. */
static double score(const rapt_model *model, const struct small_batch *source,
                    const struct small_batch *target)
{
    const rapt_limits limits = {
        .size = sizeof limits, .batch = BATCH, .source_tokens = 23, .target_length = 12};
    rapt_session *session = NULL;
    rapt_message why = {""};
    double sum = 0;
    if (rapt_session_create(&session, model, &limits, NULL, &why)) fail_msg("%s", why.text);
    for (int b = 0; b < BATCH; b++) {
        int s[2], starts[2] = {0, 0};
        const rapt_tokens one = small_one(&source->tokens, b, s);
        const int32_t *ids = target->ids + target->starts[b];
        int count = target->starts[b + 1] - target->starts[b];
        double own = 0;
        if (count < 2) continue;
        starts[1] = count - 2;
        const rapt_tokens inner = {.batch = 1, .ids = ids + 1, .starts = starts};
        if (rapt_score_targets(session, &one, &inner, ids[0], ids[count - 1], NULL, &own, &why))
            fail_msg("%s", why.text);
        sum -= own;
    }
    rapt_session_free(session);
    return sum;
}

static double evaluate(rapt_trainer *trainer, const struct small_batch *source,
                       const struct small_batch *target)
{
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    if (rapt_train_evaluate(trainer, &source->tokens, &target->tokens, &report, &why))
        fail_msg("%s", why.text);
    return report.likelihood;
}

/* Sums of the same terms in other orders differ by their rounding only: one integer that was
   rounded otherwise would show. */
static void same_loss(double got, double want)
{
    if (!(fabs(got - want) <= 1e-6 * want)) fail_msg("loss %.9g, should be %.9g", got, want);
}

static void test_loss(void **state)
{
    int tried = 0, differ = 0;
    (void)state;
    for (int i = 0; i <= COUNT(small_configs); i++) {
        const rapt_config *c = i < COUNT(small_configs) ? &small_configs[i] : &wide;
        if (c->kind != RAPT_KIND_ENCODER_DECODER) continue;
        if (c->monotonic) continue; /* scores are those of hard stops */
        rapt_model *model = small_model(c, 4), *bytes = small_model(c, 4);
        assert_int_equal(rapt_model_set_precision(bytes, RAPT_PRECISION_INT8, 1, NULL), RAPT_OK);
        rapt_train_options o = aware();
        rapt_trainer *trainer = trainer_of(model, &o, 2);
        struct small_batch source, target;
        batch_of(c, 1, &source, &target);
        double want = score(bytes, &source, &target), floats = score(model, &source, &target);
        same_loss(evaluate(trainer, &source, &target), want);
        tried++, differ += fabs(want - floats) > 1e-5 * want;
        rapt_trainer_set_quantized(trainer, 0);
        same_loss(evaluate(trainer, &source, &target), want);
        rapt_trainer_free(trainer);
        rapt_model_free(model), rapt_model_free(bytes);
    }
    assert_true(tried > 3 && differ >= tried - 1);
}

/* The forward pass of a gradient is that of an evaluation, also after a step. */
static void test_forward(void **state)
{
    rapt_train_options o = aware();
    rapt_report report = {.size = sizeof report}, other = {.size = sizeof other};
    struct small_batch source, target;
    (void)state;
    o.dropout = o.attention_dropout = o.ffn_dropout = 0;
    rapt_model *model = small_model(&wide, 11);
    rapt_trainer *trainer = trainer_of(model, &o, 2);
    for (int step = 0; step < 3; step++) {
        batch_of(&wide, step, &source, &target);
        assert_int_equal(rapt_train_evaluate(trainer, &source.tokens, &target.tokens, &other, NULL),
                         RAPT_OK);
        assert_int_equal(
            rapt_train_gradient(trainer, &source.tokens, &target.tokens, &report, NULL), RAPT_OK);
        assert_memory_equal(&report, &other, sizeof report);
        assert_int_equal(rapt_train_step(trainer, NULL, NULL), RAPT_OK);
    }
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

/* Products in bf16 are those of the backward pass: gradients differ, the first loss does not. */
static void test_bf16(void **state)
{
    rapt_train_options o = aware();
    double losses[2] = {0}, after[2] = {0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        o.products = i ? RAPT_PRODUCTS_BF16 : RAPT_PRODUCTS_BUILTIN;
        rapt_model *model = small_model(&wide, 11);
        rapt_trainer *trainer = trainer_of(model, &o, 2);
        losses[i] = one_step(trainer, &wide, 0);
        one_step(trainer, &wide, 1);
        after[i] = one_step(trainer, &wide, 2);
        rapt_trainer_free(trainer);
        rapt_model_free(model);
    }
    assert_true(losses[0] == losses[1]);
    assert_true(after[0] != after[1] && fabs(after[0] - after[1]) < 0.02 * after[0]);
}

static void test_threads_and_machines(void **state)
{
    static const int threads[] = {1, 2, 3, 7};
    rapt_isa sets[EQUAL_SETS], best = rapt_isa_used();
    int count = equal_sets("train/quantized, instruction sets", sets);
    rapt_train_options o = aware();
    rapt_model *model = small_model(&wide, 11);
    size_t size = rapt_model_parameters(model) * sizeof(float);
    double first_loss = 0, loss = 0;
    float *first = NULL;
    (void)state;
    for (int s = 0; s < count; s++)
        for (int t = 0; t < COUNT(threads); t++) {
            assert_int_equal(rapt_isa_use(sets[s]), RAPT_OK);
            float *now = train(&wide, &o, threads[t], 4, &loss);
            if (!first) first = now, first_loss = loss;
            assert_true(loss == first_loss);
            assert_memory_equal(first, now, size);
            if (now != first) free(now);
        }
    assert_int_equal(rapt_isa_use(best), RAPT_OK);
    free(first);
    rapt_model_free(model);
}

/* Steps in two shards have the same bits for any number of threads. */
static float *in_shards(int threads)
{
    rapt_train_limits l = small_limits;
    rapt_train_options o = aware();
    rapt_message why = {""};
    rapt_model *model = small_model(&sampling_config, 11);
    rapt_trainer *trainer = NULL;
    l.threads = threads, l.shards = 2;
    if (rapt_trainer_create(&trainer, model, &o, &l, NULL, &why)) fail_msg("%s", why.text);
    for (int step = 0; step < 3; step++) {
        rapt_shard records[2];
        for (int k = 0; k < 2; k++) {
            struct small_batch source, target;
            batch_of(&sampling_config, 2 * step + k, &source, &target);
            records[k] = (rapt_shard){.size = sizeof *records};
            assert_int_equal(
                rapt_train_shard(trainer, k, &source.tokens, &target.tokens, &records[k], NULL),
                RAPT_OK);
        }
        assert_int_equal(rapt_train_shards_step(trainer, records, NULL, NULL), RAPT_OK);
    }
    float *parameters = small_parameters(model);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    return parameters;
}

static void test_shards(void **state)
{
    (void)state;
    rapt_model *model = small_model(&sampling_config, 11);
    float *one = in_shards(1), *three = in_shards(3);
    assert_memory_equal(one, three, rapt_model_parameters(model) * sizeof *one);
    free(one), free(three);
    rapt_model_free(model);
}

/* Takes steps first .. end - 1 as a run does whose last two of six are in 8 bits. */
static void late_steps(rapt_trainer *trainer, int first, int end)
{
    for (int i = first; i < end; i++) {
        if (i == 0 || i == 4) rapt_trainer_set_quantized(trainer, i == 4);
        one_step(trainer, &wide, i);
    }
}

/* A checkpoint contains whether gradients are in 8 bits: without another call, a trainer goes on as
   the one that saved it, before and after the change. */
static void test_checkpoint(void **state)
{
    char path[256];
    rapt_train_options o = aware();
    rapt_message why = {""};
    (void)state;
    for (int stop = 1; stop < 6; stop += 2) {
        rapt_model *models[3];
        rapt_trainer *trainers[3];
        for (int i = 0; i < 3; i++) {
            models[i] = small_model(&wide, 11 + (uint64_t)(i == 2));
            trainers[i] = trainer_of(models[i], &o, 1 + i % 2);
        }
        late_steps(trainers[0], 0, 6);
        late_steps(trainers[1], 0, stop);
        if (rapt_trainer_save(trainers[1], small_path(path, "quantized"), NULL, 0, &why) ||
            rapt_trainer_load(trainers[2], path, &why))
            fail_msg("%s", why.text);
        late_steps(trainers[2], stop, 6);
        float *want = small_parameters(models[0]), *is = small_parameters(models[2]);
        assert_memory_equal(is, want, rapt_model_parameters(models[0]) * sizeof *is);
        free(is), free(want);
        for (int i = 0; i < 3; i++) rapt_trainer_free(trainers[i]), rapt_model_free(models[i]);
        remove(path);
    }
}

/* While it is off, steps have the bits of a trainer of floats. */
static void test_off(void **state)
{
    rapt_train_options o = aware(), plain = dropout_and_clipping();
    rapt_model *model = small_model(&wide, 11);
    double loss;
    (void)state;
    float *want = train(&wide, &plain, 1, 3, &loss);
    rapt_trainer *trainer = trainer_of(model, &o, 2);
    rapt_trainer_set_quantized(trainer, 0);
    for (int i = 0; i < 3; i++) one_step(trainer, &wide, i);
    float *is = small_parameters(model);
    assert_memory_equal(is, want, rapt_model_parameters(model) * sizeof *is);
    rapt_trainer_set_quantized(trainer, 1);
    one_step(trainer, &wide, 3);
    free(is), free(want);
    want = train(&wide, &plain, 1, 4, &loss), is = small_parameters(model);
    assert_memory_not_equal(is, want, rapt_model_parameters(model) * sizeof *is);
    free(is), free(want);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

/* Sets one weight in each row of the feed-forward layers to a number so large that the others round
   to few different integers. */
static void make_coarse(rapt_model *model)
{
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        const rapt_tensor t = rapt_model_tensor(model, i);
        float *data = small_read(model, i);
        for (int r = 0; r < t.rows && strstr(t.name, "feedforward") && t.rows > 1; r++)
            data[(size_t)r * (size_t)t.columns + (size_t)(r % t.columns)] = r % 2 ? -100 : 100;
        assert_int_equal(rapt_model_write(model, i, data, NULL), RAPT_OK);
        free(data);
    }
}

static double evaluate_all(rapt_trainer *trainer)
{
    double sum = 0;
    for (int i = 0; i < BATCHES; i++) {
        struct small_batch source, target;
        batch_of(&wide, i, &source, &target);
        sum += evaluate(trainer, &source, &target);
    }
    return sum;
}

static void learn(rapt_trainer *trainer, int quantized, int steps)
{
    rapt_trainer_set_quantized(trainer, quantized);
    for (int i = 0; i < steps; i++) {
        struct small_batch source, target;
        batch_of(&wide, i, &source, &target);
        assert_int_equal(rapt_train_gradient(trainer, &source.tokens, &target.tokens, NULL, NULL),
                         RAPT_OK);
        assert_int_equal(rapt_train_step(trainer, NULL, NULL), RAPT_OK);
    }
}

/* Where rounding does harm, steps in 8 bits lower the loss in 8 bits by more than as many steps in
   floats, starting from the same model. */
static void test_learns(void **state)
{
    enum { FIRST = 500, MORE = 200 };
    double losses[2], before = 0;
    (void)state;
    for (int quantized = 0; quantized < 2; quantized++) {
        rapt_train_options o = aware();
        rapt_model *model = small_model(&wide, 11);
        o.dropout = o.attention_dropout = o.ffn_dropout = o.weight_decay = o.label_smoothing = 0;
        o.warmup = 0, o.schedule = RAPT_SCHEDULE_CONSTANT, o.rate = 2e-3f;
        make_coarse(model);
        rapt_trainer *trainer = trainer_of(model, &o, 2);
        learn(trainer, 0, FIRST);
        before = evaluate_all(trainer);
        learn(trainer, quantized, MORE);
        losses[quantized] = evaluate_all(trainer);
        rapt_trainer_free(trainer);
        rapt_model_free(model);
    }
    print_message("loss in 8 bits %.4g; %.4g after steps in floats, %.4g in 8 bits\n", before,
                  losses[0], losses[1]);
    assert_true(losses[1] < 0.9 * losses[0] && losses[1] < before / 2);
}

/* A model that was imported from integers is quantized as one of floats, since training changes it:
   the trainer removes their scales, and changes nothing if memory is lacking. */
static void test_scales(void **state)
{
    char path[256];
    rapt_message why = {""};
    rapt_train_options o = aware();
    struct small_batch source, target;
    struct counting counting = {.fails = -1};
    const rapt_allocator allocator = counting_allocator(&counting);
    rapt_trainer *trainer = NULL;
    (void)state;
    rapt_model *model = small_model(&wide, 9), *bytes = NULL;
    const rapt_metadata scales = {"rapt.scales", "encoder.embedding.weight 0 70 20 0\n"};
    if (rapt_model_save(model, small_path(path, "scales"), &scales, 1, &why))
        fail_msg("%s", why.text);
    rapt_model_free(model);
    if (rapt_model_load(&model, path, &allocator, &why)) fail_msg("%s", why.text);
    for (int call = 0; call < 2; call++) {
        counting.fails = counting.calls + call;
        assert_int_equal(rapt_trainer_create(&trainer, model, &o, &small_limits, NULL, &why),
                         RAPT_NO_MEMORY);
        assert_null(trainer);
        assert_non_null(rapt_model_metadata(model, "rapt.scales"));
    }
    trainer = trainer_of(model, &o, 2);
    assert_null(rapt_model_metadata(model, "rapt.scales"));
    if (rapt_model_save(model, path, NULL, 0, &why)) fail_msg("%s", why.text);
    const rapt_load_options in_bytes = {.size = sizeof in_bytes, .precision = RAPT_PRECISION_INT8};
    if (rapt_model_load_with(&bytes, path, &in_bytes, NULL, &why)) fail_msg("%s", why.text);
    batch_of(&wide, 2, &source, &target);
    same_loss(evaluate(trainer, &source, &target), score(bytes, &source, &target));
    rapt_trainer_free(trainer);
    rapt_model_free(model), rapt_model_free(bytes);
    assert_int_equal(counting.living, 0);
    remove(path);
}

/* Rows that 32 bits cannot sum are refused. */
static void test_depth(void **state)
{
    rapt_config deep = wide;
    rapt_trainer *trainer = NULL;
    rapt_message why = {""};
    rapt_train_options o = aware();
    (void)state;
    deep.ffn_width = 133145, deep.width = 6, deep.encoder_layers = deep.decoder_layers = 1;
    rapt_model *model = small_model(&deep, 1);
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &small_limits, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "at most 133144"));
    assert_int_equal(rapt_trainer_bytes_with(model, &o, &small_limits), 0);
    o.quantize_aware = 0;
    assert_true(rapt_trainer_bytes_with(model, &o, &small_limits) > 0);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loss),
                                       cmocka_unit_test(test_forward),
                                       cmocka_unit_test(test_bf16),
                                       cmocka_unit_test(test_shards),
                                       cmocka_unit_test(test_threads_and_machines),
                                       cmocka_unit_test(test_off),
                                       cmocka_unit_test(test_checkpoint),
                                       cmocka_unit_test(test_learns),
                                       cmocka_unit_test(test_scales),
                                       cmocka_unit_test(test_depth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
