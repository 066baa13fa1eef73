/* trainer.c - steps agree with Adam's definition, have the same bits for any number of threads, and
   continue after a loss or gradient that is not finite. */
#include "train/small_train.h"

#include "oracle/op.h"
#include "skips.h"

/* ---- equal bits ---- */

static void same_for_threads(const rapt_config *c, rapt_products products)
{
    static const int threads[] = {1, 2, 3, 7};
    rapt_train_options o = dropout_and_clipping();
    rapt_model *model = small_model(c, 11);
    size_t size = rapt_model_parameters(model) * sizeof(float);
    double first_loss = 0, loss = 0;
    o.products = products;
    float *first = train(c, &o, threads[0], 4, &first_loss);
    for (int t = 1; t < COUNT(threads); t++) {
        float *again = train(c, &o, threads[t], 4, &loss);
        assert_true(loss == first_loss);
        assert_memory_equal(first, again, size);
        free(again);
    }
    free(first);
    rapt_model_free(model);
}

static void test_threads(void **state)
{
    (void)state;
    same_for_threads(&wide, RAPT_PRODUCTS_BUILTIN);
    for (int i = 0; i < COUNT(small_configs); i += 5)
        same_for_threads(&small_configs[i], RAPT_PRODUCTS_BUILTIN);
    for (int i = 0; i < COUNT(small_configs); i++)
        if (small_configs[i].decoder_recurrence)
            same_for_threads(&small_configs[i], RAPT_PRODUCTS_BUILTIN);
}

static void test_openblas(void **state)
{
    (void)state;
    rapt_model *model = small_model(&wide, 11);
    rapt_train_options o = dropout_and_clipping();
    rapt_trainer *trainer;
    o.products = RAPT_PRODUCTS_OPENBLAS;
    rapt_status status = rapt_trainer_create(&trainer, model, &o, &small_limits, NULL, NULL);
    if (!status) rapt_trainer_free(trainer);
    rapt_model_free(model);
    if (status) {
        skipped("train/trainer, products by OpenBLAS", "OpenBLAS is not built in");
        skip();
    }
    same_for_threads(&wide, RAPT_PRODUCTS_OPENBLAS);
    double builtin, openblas;
    float *x = train(&wide, &o, 2, 4, &openblas);
    o.products = RAPT_PRODUCTS_BUILTIN;
    float *y = train(&wide, &o, 2, 4, &builtin);
    assert_true(fabs(builtin - openblas) < 1e-4 * builtin);
    free(x);
    free(y);
}

static void test_machines(void **state)
{
    (void)state;
    rapt_isa sets[EQUAL_SETS], best = rapt_isa_used();
    int count = equal_sets("train/trainer, instruction sets", sets);
    rapt_train_options o = dropout_and_clipping();
    rapt_model *model = small_model(&wide, 11);
    size_t size = rapt_model_parameters(model) * sizeof(float);
    float *first = NULL;
    double loss;
    for (int s = 0; s < count; s++) {
        assert_int_equal(rapt_isa_use(sets[s]), RAPT_OK);
        float *now = train(&wide, &o, 2, 4, &loss);
        if (first) assert_memory_equal(first, now, size);
        free(first);
        first = now;
    }
    free(first);
    assert_int_equal(rapt_isa_use(best), RAPT_OK);
    rapt_model_free(model);
}

/* ---- the definition of Adam, schedule, decay and clipping, over several steps ---- */

static double rate_of(const rapt_train_options *o, int step)
{
    double s = step, w = o->warmup, full = (double)o->rate;
    if (s <= w) return full * s / w;
    if (o->schedule == RAPT_SCHEDULE_INVERSE_SQRT) return full * sqrt(w / s);
    if (o->schedule == RAPT_SCHEDULE_CONSTANT) return full;
    return o->steps > w ? full * fmax(0, (o->steps - s) / (o->steps - w)) : 0;
}

static void follow(const rapt_train_options *o)
{
    const rapt_config *c = &small_configs[0];
    rapt_model *model = small_model(c, 11);
    rapt_trainer *trainer = trainer_of(model, o, 1);
    size_t n = rapt_model_parameters(model);
    double *p = calloc(n, sizeof *p), *m = calloc(n, sizeof *m), *v = calloc(n, sizeof *v);
    float *g = malloc(n * sizeof *g), *now = small_parameters(model);
    for (size_t i = 0; i < n; i++) p[i] = (double)now[i];
    free(now);
    for (int step = 1; step <= 6; step++) {
        struct small_batch source, target;
        rapt_report report = {.size = sizeof report};
        double squares = 0;
        batch_of(c, step, &source, &target);
        assert_int_equal(
            rapt_train_gradient(trainer, &source.tokens, &target.tokens, &report, NULL), RAPT_OK);
        size_t at = 0;
        for (int i = 0; i < rapt_model_tensors(model); at += small_size(model, i), i++)
            assert_int_equal(rapt_trainer_read_gradient(trainer, i, g + at, NULL), RAPT_OK);
        assert_int_equal(rapt_train_step(trainer, &report, NULL), RAPT_OK);
        for (size_t i = 0; i < n; i++) squares += (double)g[i] * (double)g[i];
        double norm = sqrt(squares) / (double)report.tokens, clip = (double)o->clip_norm;
        double scale = clip > 0 && norm > clip ? clip / norm : 1;
        struct oracle_adam a = {rate_of(o, step),   (double)o->beta1,        (double)o->beta2,
                                (double)o->epsilon, (double)o->weight_decay, step};
        assert_true(fabs(report.rate - a.rate) <= 1e-6 * a.rate);
        assert_true(fabs(report.gradient_norm - norm) <= 1e-5 * norm);
        for (size_t i = 0; i < n; i++)
            oracle_adam(&a, &p[i], (double)g[i] / (double)report.tokens * scale, &m[i], &v[i]);
        now = small_parameters(model);
        for (size_t i = 0; i < n; i++) { /* a gradient near epsilon has an uncertain direction */
            assert_true(fabs((double)now[i] - p[i]) <= 1e-5 * (1 + fabs(p[i])));
            p[i] = (double)now[i];
        }
        free(now);
    }
    free(p);
    free(m);
    free(v);
    free(g);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

static void test_steps(void **state)
{
    (void)state;
    rapt_train_options o = dropout_and_clipping();
    o.epsilon = 1e-6f;
    follow(&o);
    o.schedule = RAPT_SCHEDULE_LINEAR, o.steps = 5, o.clip_norm = 0;
    follow(&o);
    o.steps = 2; /* fewer than warmup */
    follow(&o);
    o.schedule = RAPT_SCHEDULE_CONSTANT, o.warmup = 1, o.weight_decay = 0, o.beta1 = 0;
    follow(&o);
}

/* ---- infinities and NaN ---- */

static void poison(rapt_model *model, const char *name, float value)
{
    int index = rapt_model_find(model, name);
    size_t size = small_size(model, index);
    float *data = malloc(size * sizeof *data);
    assert_int_equal(rapt_model_read(model, index, data, NULL), RAPT_OK);
    data[size / 2] = value;
    assert_int_equal(rapt_model_write(model, index, data, NULL), RAPT_OK);
    free(data);
}

static void test_not_finite(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    const rapt_config *c = &small_configs[0];
    for (int i = 0; i < 2 * COUNT(bad); i++) {
        rapt_model *model = small_model(c, 11);
        rapt_train_options o = dropout_and_clipping();
        rapt_trainer *trainer = trainer_of(model, &o, 2);
        struct small_batch source, target;
        rapt_report report = {.size = sizeof report}, zero = report;
        rapt_message why = {""};
        for (int s = 0; s < 2; s++) one_step(trainer, c, s);
        float *good = small_parameters(model);
        poison(model, i % 2 ? "output.weight" : "decoder.layers.0.cross_attn.kv.bias", bad[i / 2]);
        float *before = small_parameters(model);
        batch_of(c, 2, &source, &target);
        assert_int_equal(
            rapt_train_gradient(trainer, &source.tokens, &target.tokens, &report, &why),
            RAPT_NOT_FINITE);
        assert_int_equal(
            rapt_train_evaluate(trainer, &source.tokens, &target.tokens, &report, &why),
            RAPT_NOT_FINITE);
        assert_true(why.text[0] && memcmp(&report, &zero, sizeof report) == 0);
        float *after = small_parameters(model);
        assert_memory_equal(before, after, rapt_model_parameters(model) * sizeof *after);
        assert_int_equal(rapt_train_step(trainer, &report, NULL),
                         RAPT_BAD_ARGUMENT); /* nothing was added */
        /* once the parameters are repaired, training continues from the same moments */
        float *at = good;
        for (int t = 0; t < rapt_model_tensors(model); at += small_size(model, t), t++)
            assert_int_equal(rapt_model_write(model, t, at, NULL), RAPT_OK);
        one_step(trainer, c, 2);
        free(good);
        free(before);
        free(after);
        rapt_trainer_free(trainer);
        rapt_model_free(model);
    }
}

/* A batch whose loss was not finite draws another dropout when it is tried again. */
static void test_tried_again(void **state)
{
    (void)state;
    const rapt_config *c = &small_configs[0];
    const rapt_train_options o = dropout_and_clipping();
    struct small_batch source, target;
    double losses[2];
    batch_of(c, 1, &source, &target);
    for (int fails = 0; fails < 2; fails++) {
        rapt_model *model = small_model(c, 11);
        rapt_trainer *trainer = trainer_of(model, &o, 2);
        rapt_report report = {.size = sizeof report};
        one_step(trainer, c, 0);
        float *good = small_parameters(model), *at = good;
        if (fails) poison(model, "output.weight", NAN);
        assert_int_equal(
            rapt_train_evaluate(trainer, &source.tokens, &target.tokens, &report, NULL),
            fails ? RAPT_NOT_FINITE : RAPT_OK); /* which draws nothing */
        if (fails)
            assert_int_equal(
                rapt_train_gradient(trainer, &source.tokens, &target.tokens, &report, NULL),
                RAPT_NOT_FINITE);
        for (int t = 0; t < rapt_model_tensors(model); at += small_size(model, t), t++)
            assert_int_equal(rapt_model_write(model, t, at, NULL), RAPT_OK);
        losses[fails] = one_step(trainer, c, 1);
        free(good);
        rapt_trainer_free(trainer);
        rapt_model_free(model);
    }
    assert_true(isfinite(losses[1]) && losses[0] != losses[1]);
}

/* A gradient that is not finite changes neither parameters nor moments. */
static void test_bad_gradient(void **state)
{
    (void)state;
    char here[256], there[256];
    const rapt_config *c = &small_configs[1];
    rapt_train_options o = dropout_and_clipping();
    rapt_model *model = small_model(c, 11);
    rapt_trainer *trainer = trainer_of(model, &o, 2);
    static const float bad[] = {NAN, INFINITY, -INFINITY, 1e18f};
    for (int s = 0; s < 2; s++) one_step(trainer, c, s);
    assert_int_equal(rapt_trainer_save(trainer, small_path(here, "moments-a"), NULL, 0, NULL),
                     RAPT_OK);
    for (int i = 0; i < COUNT(bad); i++) {
        struct small_batch source, target;
        rapt_report report = {.size = sizeof report};
        size_t count;
        long long *tokens;
        batch_of(c, 2, &source, &target);
        float *gradients = rapt_trainer_gradients(trainer, &count, &tokens);
        assert_int_equal(
            rapt_train_gradient(trainer, &source.tokens, &target.tokens, &report, NULL), RAPT_OK);
        gradients[count / 3] = bad[i];
        if (bad[i] == 1e18f) break; /* huge but finite: clipped */
        assert_int_equal(rapt_train_step(trainer, &report, NULL), RAPT_NOT_FINITE);
        assert_int_equal(*tokens, 0);
        for (size_t j = 0; j < count; j++) assert_true(gradients[j] == 0);
        assert_int_equal(rapt_trainer_save(trainer, small_path(there, "moments-b"), NULL, 0, NULL),
                         RAPT_OK);
        /* the same moments: a trainer from either file makes the same step */
        rapt_model *a = small_model(c, 1), *b = small_model(c, 2);
        rapt_trainer *x = trainer_of(a, &o, 1), *y = trainer_of(b, &o, 1);
        assert_int_equal(rapt_trainer_load(x, here, NULL), RAPT_OK);
        assert_int_equal(rapt_trainer_load(y, there, NULL), RAPT_OK);
        small_same_models(a, b);
        rapt_trainer_free(x);
        rapt_trainer_free(y);
        o.dropout = o.attention_dropout = o.ffn_dropout = 0; /* they saw different batches */
        x = trainer_of(a, &o, 1), y = trainer_of(b, &o, 1);
        assert_int_equal(rapt_trainer_load(x, here, NULL), RAPT_OK);
        assert_int_equal(rapt_trainer_load(y, there, NULL), RAPT_OK);
        one_step(x, c, 2);
        one_step(y, c, 2);
        small_same_models(a, b);
        rapt_trainer_free(x);
        rapt_trainer_free(y);
        rapt_model_free(a);
        rapt_model_free(b);
    }
    rapt_report report = {.size = sizeof report};
    assert_int_equal(rapt_train_step(trainer, &report, NULL), RAPT_OK);
    float *parameters = small_parameters(model);
    for (size_t i = 0; i < rapt_model_parameters(model); i++) assert_true(isfinite(parameters[i]));
    free(parameters);
    unlink(here);
    unlink(there);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

/* A model can memorize thirty-two sentences. */
static void test_overfit(void **state)
{
    (void)state;
    rapt_config c = {.size = sizeof(rapt_config),
                     .source_vocab = 12,
                     .target_vocab = 12,
                     .positions = 12,
                     .width = 32,
                     .heads = 4,
                     .ffn_width = 64,
                     .encoder_layers = 1,
                     .decoder_layers = 1,
                     .tie = RAPT_TIE_ALL};
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    rapt_train_limits l = {.size = sizeof l,
                           .batch = 32,
                           .source_tokens = 32 * 6,
                           .target_tokens = 32 * 8,
                           .threads = 1};
    rapt_model *model = NULL;
    rapt_trainer *trainer;
    struct small_batch source, target;
    int source_length[32], target_length[32];
    for (int i = 0; i < 32; i++)
        source_length[i] = 3 + i % 4, target_length[i] = source_length[i] + 2;
    small_fill(&source, 9, source_length, 32, 1);
    small_fill(&target, 12, target_length, 32, 1);
    for (int b = 0; b < 32; b++) {
        int n = source_length[b];
        target.ids[target.starts[b]] = 1, target.ids[target.starts[b + 1] - 1] = 2;
        for (int i = 0; i < n; i++) source.ids[source.starts[b] + i] += 3;
        for (int i = 0; i < n; i++)
            target.ids[target.starts[b] + 1 + i] = source.ids[source.starts[b] + n - 1 - i];
    }
    o.dropout = o.label_smoothing = 0, o.rate = 0.01f, o.warmup = 20;
    assert_int_equal(rapt_model_create(&model, &c, 1, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &l, NULL, NULL), RAPT_OK);
    rapt_report report = {.size = sizeof report};
    for (int i = 0; i < 150; i++) {
        report = (rapt_report){.size = sizeof(rapt_report)};
        assert_int_equal(
            rapt_train_gradient(trainer, &source.tokens, &target.tokens, &report, NULL), RAPT_OK);
        assert_int_equal(rapt_train_step(trainer, &report, NULL), RAPT_OK);
    }
    assert_true(report.loss / (double)report.tokens < 0.01);
    assert_int_equal(report.correct, report.tokens);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),     cmocka_unit_test(test_openblas),
        cmocka_unit_test(test_machines),    cmocka_unit_test(test_steps),
        cmocka_unit_test(test_not_finite),  cmocka_unit_test(test_bad_gradient),
        cmocka_unit_test(test_tried_again), cmocka_unit_test(test_overfit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
