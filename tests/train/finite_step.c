/* finite_step.c - a step that would make a parameter infinite or NaN returns RAPT_NOT_FINITE and
   leaves parameters, moments and the number of steps as they were, for any options and any
   parameter. Steps that come close to it are made. */
#include "model/small_file.h"
#include "train/small_train.h"

static rapt_train_options bare(void)
{
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    o.schedule = RAPT_SCHEDULE_CONSTANT, o.warmup = 1;
    return o;
}

/* Returns parameters and moments as *size bytes of a checkpoint. */
static unsigned char *numbers_of(const rapt_trainer *trainer, size_t *size)
{
    char path[256];
    assert_int_equal(rapt_trainer_save(trainer, small_path(path, "numbers"), NULL, 0, NULL),
                     RAPT_OK);
    struct file f = file_at(path);
    size_t begin = 8 + header_size(&f);
    *size = f.size - begin;
    unsigned char *copy = small_copy(f.bytes + begin, *size);
    drop(&f);
    return copy;
}

/* Compares them with those from before, which it frees. */
static void same_numbers(const rapt_trainer *trainer, unsigned char *before, size_t size)
{
    size_t again;
    unsigned char *after = numbers_of(trainer, &again);
    assert_int_equal(size, again);
    assert_memory_equal(before, after, size);
    free(before);
    free(after);
}

/* Makes one step with a gradient of `value` at element `at` of the block and 0 elsewhere. */
static rapt_status step(rapt_trainer *trainer, size_t at, float value, rapt_message *why)
{
    size_t count;
    long long *tokens;
    rapt_report report = {.size = sizeof report};
    float *gradients = rapt_trainer_gradients(trainer, &count, &tokens);
    gradients[at % count] = value, *tokens = 1;
    rapt_status status = rapt_train_step(trainer, &report, why);
    for (size_t i = 0; i < count; i++) assert_true(gradients[i] == 0);
    assert_int_equal(*tokens, 0);
    return status;
}

/* Such a step is refused without any effect, and the next good step gets the next number. */
static void refused(rapt_trainer *trainer, size_t at, float value, const char *says)
{
    size_t size;
    rapt_message why = {""};
    unsigned char *before = numbers_of(trainer, &size);
    assert_int_equal(step(trainer, at, value, &why), RAPT_NOT_FINITE);
    if (!strstr(why.text, says)) fail_msg("\"%s\" does not say \"%s\"", why.text, says);
    same_numbers(trainer, before, size);
}

static void good_step(rapt_trainer *trainer, float gradient, long long number)
{
    long long *tokens;
    size_t size;
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    rapt_trainer_gradients(trainer, NULL, &tokens)[0] = gradient, *tokens = 1;
    if (rapt_train_step(trainer, &report, &why)) fail_msg("%s", why.text);
    assert_int_equal(report.step, number);
    float *all = (float *)numbers_of(trainer, &size);
    for (size_t i = 0; i < size / sizeof *all; i++) assert_true(isfinite(all[i]));
    free(all);
}

enum { THREADS = 3 };

/* If the second moment underflows, the step divides by epsilon. */
static void test_tiny_epsilon(void **state)
{
    (void)state;
    static const size_t where[] = {0, 1, 17, 300, 511, 512, 700};
    for (int threads = 1; threads <= THREADS; threads++)
        for (int i = 0; i < COUNT(where); i++) {
            rapt_model *model = small_model(&small_configs[0], 1);
            rapt_train_options o = bare();
            o.rate = 1e30f, o.epsilon = 1e-45f;
            rapt_trainer *trainer = trainer_of(model, &o, threads);
            rapt_trainer_set_rate(trainer, 1e-3f);
            good_step(trainer, 1, 1);
            rapt_trainer_set_rate(trainer, 1e30f);
            refused(trainer, where[i] + 1, 1e-23f, "epsilon 1.4013e-45");
            refused(trainer, where[i] + 1, -1e-23f, "rate 1e+30");
            rapt_trainer_set_rate(trainer, 1e-3f);
            good_step(trainer, 1, 2);
            rapt_trainer_free(trainer);
            rapt_model_free(model);
        }
}

/* Weight decay that multiplies the parameters by -1e36 at every step. */
static void test_decay(void **state)
{
    (void)state;
    rapt_model *model = small_model(&small_configs[1], 1);
    rapt_train_options o = bare();
    o.rate = 1e30f, o.weight_decay = 1e6f;
    rapt_trainer *trainer = trainer_of(model, &o, 2);
    good_step(trainer, 1, 1);
    refused(trainer, 0, 1, "weight_decay 1e+06");
    refused(trainer, 5, 1, "weight_decay 1e+06");
    rapt_trainer_set_rate(trainer, 0);
    good_step(trainer, 1, 2);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

/* A first moment whose product with the rate exceeds a float. */
static void test_large_moment(void **state)
{
    (void)state;
    rapt_model *model = small_model(&small_configs[1], 1);
    rapt_train_options o = bare();
    o.rate = 1e30f;
    rapt_trainer *trainer = trainer_of(model, &o, 2);
    refused(trainer, 40, 1e18f, "norm of the gradient 1e+18");
    rapt_trainer_set_rate(trainer, 1e-3f);
    assert_int_equal(step(trainer, 40, 1e18f, NULL), RAPT_OK);
    good_step(trainer, 1, 2);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

/* The next step notices a parameter that the caller has made infinite, even without a gradient. */
static void test_spoiled(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    rapt_model *model = small_model(&small_configs[1], 1);
    rapt_train_options o = bare();
    rapt_trainer *trainer = trainer_of(model, &o, 2);
    int last = rapt_model_tensors(model) - 1;
    size_t size = small_size(model, last);
    float *data = malloc(size * sizeof *data);
    assert_int_equal(rapt_model_read(model, last, data, NULL), RAPT_OK);
    for (int i = 0; i < COUNT(bad); i++) {
        good_step(trainer, 1, i + 1);
        float kept = data[size - 1];
        size_t bytes;
        rapt_message why = {""};
        unsigned char *before = numbers_of(trainer, &bytes);
        data[size - 1] = bad[i];
        assert_int_equal(rapt_model_write(model, last, data, NULL), RAPT_OK);
        assert_int_equal(step(trainer, 0, 1, &why), RAPT_NOT_FINITE);
        assert_non_null(strstr(why.text, "would become"));
        data[size - 1] = kept;
        assert_int_equal(rapt_model_write(model, last, data, NULL), RAPT_OK);
        same_numbers(trainer, before, bytes);
    }
    good_step(trainer, 1, COUNT(bad) + 1);
    free(data);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

/* The trainer's bound of its parameters does not apply to those of a loaded checkpoint. */
static void test_loaded(void **state)
{
    (void)state;
    char path[256];
    rapt_model *large = small_model(&small_configs[1], 1),
               *small = small_model(&small_configs[1], 1);
    rapt_train_options o = bare();
    o.rate = 1, o.weight_decay = 3; /* parameters times -2 */
    rapt_trainer *trainer = trainer_of(large, &o, 2);
    int last = rapt_model_tensors(large) - 1;
    float *data = malloc(small_size(large, last) * sizeof *data);
    for (size_t i = 0; i < small_size(large, last); i++) data[i] = 2e38f;
    assert_int_equal(rapt_model_write(large, last, data, NULL), RAPT_OK);
    assert_int_equal(rapt_trainer_save(trainer, small_path(path, "large"), NULL, 0, NULL), RAPT_OK);
    rapt_trainer_free(trainer);
    trainer = trainer_of(small, &o, 2);
    for (int i = 1; i < 4; i++) good_step(trainer, 1, i);
    assert_int_equal(rapt_trainer_load(trainer, path, NULL), RAPT_OK);
    refused(trainer, 0, 1, "weight_decay 3");
    rapt_trainer_set_rate(trainer, 1e-3f);
    good_step(trainer, 1, 1);
    free(data);
    rapt_trainer_free(trainer);
    rapt_model_free(small);
    rapt_model_free(large);
    assert_int_equal(unlink(path), 0);
}

/* With the largest values of everything, near the bounds that save a step its trial, 64 steps are
   either refused or leave finite numbers. */
static void test_extremes(void **state)
{
    (void)state;
    static const float rates[] = {0, 1e-38f, 1e-3f, 1e6f, 1e22f, 1e30f},
                       epsilons[] = {1e-45f, 1e-38f, 1e-9f, 1, 3e38f}, decays[] = {0, 1e-2f, 1e6f},
                       gradients[] = {1e-45f, 1e-23f, 1e-3f, 1e9f, 1e17f, 1e19f};
    int refusals = 0, steps = 0;
    for (int i = 0; i < COUNT(rates) * COUNT(epsilons) * COUNT(decays) * COUNT(gradients); i++) {
        rapt_train_options o = bare();
        int k = i / COUNT(rates), l = k / COUNT(epsilons);
        o.rate = rates[i % COUNT(rates)], o.epsilon = epsilons[k % COUNT(epsilons)];
        o.weight_decay = decays[l % COUNT(decays)];
        if (i % 2) o.beta1 = 0.99999994f, o.beta2 = 0.99999994f;
        rapt_model *model = small_model(&small_configs[12], 1);
        rapt_trainer *trainer = trainer_of(model, &o, 1);
        for (int s = 0; s < 8; s++) {
            float *before = small_parameters(model);
            float g = gradients[l / COUNT(decays)] * (s % 3 ? 1.0f : -1.0f);
            rapt_status status = step(trainer, (size_t)s / 4, g, NULL);
            float *after = small_parameters(model);
            size_t n = rapt_model_parameters(model);
            for (size_t j = 0; j < n; j++) assert_true(isfinite(after[j]));
            if (status) assert_memory_equal(before, after, n * sizeof *after);
            if (status) assert_int_equal(status, RAPT_NOT_FINITE);
            refusals += status != RAPT_OK, steps += status == RAPT_OK;
            free(before);
            free(after);
        }
        rapt_trainer_free(trainer);
        rapt_model_free(model);
    }
    assert_true(refusals > 100 && steps > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_epsilon), cmocka_unit_test(test_decay),
        cmocka_unit_test(test_large_moment), cmocka_unit_test(test_spoiled),
        cmocka_unit_test(test_loaded),       cmocka_unit_test(test_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
