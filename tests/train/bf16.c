/* bf16.c - trainers whose products are in bf16: the same bits for any number of threads and on
   every instruction set, losses close to those of floats, and checkpoints that continue. */
#include "train/small_train.h"

#include "skips.h"

static rapt_train_options in_bf16(void)
{
    rapt_train_options o = dropout_and_clipping();
    o.products = RAPT_PRODUCTS_BF16;
    return o;
}

static void test_threads_and_machines(void **state)
{
    static const int threads[] = {1, 2, 3, 7};
    rapt_isa sets[EQUAL_SETS], best = rapt_isa_used();
    int count = equal_sets("train/bf16, instruction sets", sets);
    rapt_train_options o = in_bf16();
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

/* After four steps the losses differ, since the factors are rounded, but by less than 2 %. */
static void test_close_to_floats(void **state)
{
    rapt_train_options o = in_bf16();
    double bf16 = 0, floats = 0;
    (void)state;
    for (int i = 0; i < COUNT(small_configs); i += 3) {
        free(train(&small_configs[i], &o, 2, 4, &bf16));
        o.products = RAPT_PRODUCTS_BUILTIN;
        free(train(&small_configs[i], &o, 2, 4, &floats));
        o.products = RAPT_PRODUCTS_BF16;
        if (bf16 == floats || !(fabs(bf16 - floats) < 0.02 * floats))
            fail_msg("configuration %d: %.9g in bf16, %.9g in floats", i, bf16, floats);
    }
}

/* A trainer continues a checkpoint with the bits of a run that did not stop, if it computes in
   bf16, too. */
static void test_checkpoint(void **state)
{
    char path[256];
    rapt_train_options o = in_bf16();
    rapt_message why = {""};
    double loss = 0;
    (void)state;
    float *want = train(&wide, &o, 2, 4, &loss);
    rapt_model *model = small_model(&wide, 11), *other = small_model(&wide, 5);
    rapt_trainer *trainer = trainer_of(model, &o, 1), *next = trainer_of(other, &o, 2);
    for (int i = 0; i < 2; i++) one_step(trainer, &wide, i);
    if (rapt_trainer_save(trainer, small_path(path, "bf16"), NULL, 0, &why) ||
        rapt_trainer_load(next, path, &why))
        fail_msg("%s", why.text);
    for (int i = 2; i < 4; i++) one_step(next, &wide, i);
    float *is = small_parameters(other);
    assert_memory_equal(is, want, rapt_model_parameters(other) * sizeof *is);
    free(is), free(want);
    rapt_trainer_free(trainer), rapt_trainer_free(next);
    rapt_model_free(model), rapt_model_free(other);
    remove(path);
}

static void test_text(void **state)
{
    rapt_isa best = rapt_isa_used();
    rapt_train_options o = in_bf16();
    rapt_model *model = small_model(&wide, 11);
    (void)state;
    assert_int_equal(rapt_isa_use(RAPT_ISA_SCALAR), RAPT_OK);
    rapt_trainer *trainer = trainer_of(model, &o, 1);
    assert_string_equal(rapt_trainer_products(trainer), "bf16, emulated");
    rapt_trainer_free(trainer);
    assert_int_equal(rapt_isa_use(best), RAPT_OK);
    trainer = trainer_of(model, &o, 1);
    assert_memory_equal(rapt_trainer_products(trainer), "bf16", 4);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_and_machines), cmocka_unit_test(test_close_to_floats),
        cmocka_unit_test(test_checkpoint), cmocka_unit_test(test_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
