/* tuning.c - frozen parameters keep their bits, and neither threads, shards nor interruptions
   change those of the others. Checkpoints and options that do not fit are refused. */
#include "train/small_train.h"

#include "skips.h"

/* ---- frozen parameters, and steps without adapters ---- */

static void freezes(const rapt_config *c, enum tuning_mix mix)
{
    uint8_t mask[MOST_TENSORS];
    rapt_model *model = small_model(c, 11), *base = small_model(c, 11);
    rapt_train_options o = tuned_options(model, mix, mask);
    rapt_trainer *trainer = trainer_of(model, &o, 2);
    for (int i = 0; i < 4; i++) one_step(trainer, c, i);
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        float *was = small_read(base, i), *is = small_read(model, i);
        bool same = memcmp(was, is, small_size(model, i) * sizeof *is) == 0;
        if (same != (mask[i] == RAPT_TUNING_FROZEN))
            fail_msg("%s with tuning %d", rapt_model_tensor(model, i).name, mask[i]);
        free(was);
        free(is);
    }
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    rapt_model_free(base);
}

static void test_freezes(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(tuned_configs); i++)
        for (int mix = LORA_ONLY; mix <= HALF_FROZEN; mix++)
            freezes(tuned_configs[i], (enum tuning_mix)mix);
}

/* A mask that freezes nothing changes nothing, and the norm is that of the trained gradients. */
static void test_full(void **state)
{
    (void)state;
    uint8_t mask[MOST_TENSORS] = {0};
    double loss, again;
    rapt_train_options o = dropout_and_clipping();
    float *plain = train(&wide, &o, 2, 4, &loss);
    o.tuning = mask;
    float *masked = train(&wide, &o, 3, 4, &again);
    rapt_model *model = small_model(&wide, 11);
    assert_true(loss == again);
    assert_memory_equal(plain, masked, rapt_model_parameters(model) * sizeof *plain);
    free(plain);
    free(masked);
    o.tuning = mask_of(model, HALF_FROZEN, mask);
    rapt_trainer *trainer = trainer_of(model, &o, 1);
    struct small_batch source, target;
    rapt_report report = {.size = sizeof report};
    batch_of(&wide, 0, &source, &target);
    assert_int_equal(rapt_train_gradient(trainer, &source.tokens, &target.tokens, &report, NULL),
                     RAPT_OK);
    double squares = 0;
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        float *g = malloc(small_size(model, i) * sizeof *g);
        assert_int_equal(rapt_trainer_read_gradient(trainer, i, g, NULL), RAPT_OK);
        for (size_t j = 0; mask[i] == RAPT_TUNING_FULL && j < small_size(model, i); j++)
            squares += (double)g[j] * (double)g[j];
        free(g);
    }
    double norm = sqrt(squares) / (double)report.tokens;
    assert_int_equal(rapt_train_step(trainer, &report, NULL), RAPT_OK);
    assert_true(fabs(report.gradient_norm - norm) <= 1e-5 * norm);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

/* ---- equal bits ---- */

/* Returns the parameters after `steps` steps in `shards` parts; 0: whole batches. */
static float *tuned(enum tuning_mix mix, int threads, int shards, int steps)
{
    uint8_t mask[MOST_TENSORS];
    rapt_model *model = small_model(&wide, 11);
    rapt_train_options o = tuned_options(model, mix, mask);
    rapt_train_limits limits = small_limits;
    rapt_trainer *trainer = NULL;
    limits.threads = threads, limits.shards = shards;
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &limits, NULL, NULL), RAPT_OK);
    memset(mask, 0xFF, sizeof mask); /* the trainer has not kept it */
    for (int step = 0; step < steps; step++) {
        struct small_batch source, target;
        rapt_shard records[2] = {{.size = sizeof(rapt_shard)}, {.size = sizeof(rapt_shard)}};
        if (!shards) {
            one_step(trainer, &wide, step);
            continue;
        }
        for (int s = 0; s < shards; s++) {
            batch_of(&wide, step + s, &source, &target);
            assert_int_equal(
                rapt_train_shard(trainer, s, &source.tokens, &target.tokens, &records[s], NULL),
                RAPT_OK);
        }
        assert_int_equal(rapt_train_shards_step(trainer, records, NULL, NULL), RAPT_OK);
    }
    float *all = small_parameters(model);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    return all;
}

static void expect_bits(float *a, float *b)
{
    rapt_model *model = small_model(&wide, 11);
    assert_memory_equal(a, b, rapt_model_parameters(model) * sizeof *a);
    rapt_model_free(model);
    free(b);
}

static void test_bits(void **state)
{
    (void)state;
    rapt_isa sets[EQUAL_SETS], best = rapt_isa_used();
    int count = equal_sets("train/tuning, instruction sets", sets);
    for (int mix = LORA_ONLY; mix <= HALF_FROZEN; mix++) {
        float *whole = tuned((enum tuning_mix)mix, 1, 0, 4),
              *halves = tuned((enum tuning_mix)mix, 1, 2, 4);
        for (int threads = 2; threads < 8; threads += 2)
            expect_bits(whole, tuned((enum tuning_mix)mix, threads, 0, 4));
        expect_bits(whole, tuned((enum tuning_mix)mix, 3, 1, 4)); /* one shard is a whole batch */
        expect_bits(halves, tuned((enum tuning_mix)mix, 3, 2, 4));
        for (int s = 0; s < count; s++) {
            assert_int_equal(rapt_isa_use(sets[s]), RAPT_OK);
            expect_bits(whole, tuned((enum tuning_mix)mix, 2, 0, 4));
        }
        assert_int_equal(rapt_isa_use(best), RAPT_OK);
        free(whole);
        free(halves);
    }
}

/* A run that continues from a checkpoint, in a trainer that was made for the merged model, has the
   bits of one that was not interrupted. */
static void test_resume(void **state)
{
    (void)state;
    char path[256];
    uint8_t mask[MOST_TENSORS];
    small_path(path, "tuned");
    for (int mix = LORA_ONLY; mix <= HALF_FROZEN; mix++) {
        rapt_model *model = small_model(&wide, 11), *loaded = NULL;
        rapt_message why = {""};
        rapt_train_options o = tuned_options(model, (enum tuning_mix)mix, mask);
        rapt_trainer *trainer = trainer_of(model, &o, 2);
        for (int i = 0; i < 2; i++) one_step(trainer, &wide, i);
        assert_int_equal(rapt_trainer_save(trainer, path, NULL, 0, NULL), RAPT_OK);
        rapt_trainer_free(trainer);
        if (rapt_model_load(&loaded, path, NULL, &why)) fail_msg("%s", why.text);
        small_same_models(model, loaded);
        trainer = trainer_of(loaded, &o, 1);
        if (rapt_trainer_load(trainer, path, &why)) fail_msg("%s", why.text);
        for (int i = 2; i < 5; i++) one_step(trainer, &wide, i);
        float *whole = tuned((enum tuning_mix)mix, 1, 0, 5);
        expect_bits(whole, small_parameters(loaded));
        free(whole);
        rapt_trainer_free(trainer);
        rapt_model_free(loaded);
        rapt_model_free(model);
    }
    assert_int_equal(unlink(path), 0);
}

/* ---- errors ---- */

static void load_refused(rapt_trainer *trainer, const char *path, const char *says)
{
    rapt_message why = {""};
    assert_int_equal(rapt_trainer_load(trainer, path, &why), RAPT_BAD_FILE);
    if (!strstr(why.text, says)) fail_msg("\"%s\" does not say \"%s\"", why.text, says);
}

static void test_other_checkpoints(void **state)
{
    (void)state;
    char path[256], plain_path[256];
    uint8_t mask[MOST_TENSORS];
    rapt_model *model = small_model(&wide, 11), *other = small_model(&wide, 12);
    rapt_train_options o = tuned_options(model, LORA_ONLY, mask), plain = dropout_and_clipping();
    rapt_trainer *trainer = trainer_of(model, &o, 1), *full = trainer_of(other, &plain, 1);
    small_path(path, "lora"), small_path(plain_path, "plain");
    one_step(trainer, &wide, 0);
    assert_int_equal(rapt_trainer_save(trainer, path, NULL, 0, NULL), RAPT_OK);
    assert_int_equal(rapt_trainer_save(full, plain_path, NULL, 0, NULL), RAPT_OK);
    float *before = small_parameters(model);
    load_refused(full, path, "is 1.5, but this trainer's is 0");
    load_refused(trainer, plain_path, "lora_alpha / lora_rank, is 0, but");
    o.lora_alpha = 4;
    rapt_trainer *alpha4 = trainer_of(other, &o, 1);
    load_refused(alpha4, path, "is 1.5, but this trainer's is 2");
    rapt_trainer_free(alpha4);
    o.lora_rank = 4, o.lora_alpha = 6;
    rapt_trainer *rank4 = trainer_of(other, &o, 1);
    load_refused(rank4, path, "must be 4 x 36");
    rapt_trainer_free(rank4);
    float *after = small_parameters(model);
    assert_memory_equal(before, after, rapt_model_parameters(model) * sizeof *before);
    free(before);
    free(after);
    rapt_trainer_free(trainer);
    rapt_trainer_free(full);
    rapt_model_free(model);
    rapt_model_free(other);
    unlink(path);
    unlink(plain_path);
}

static void options_refused(rapt_model *model, const rapt_train_options *o, const char *says)
{
    rapt_trainer *none = NULL;
    rapt_message why = {""};
    assert_int_equal(rapt_trainer_create(&none, model, o, &small_limits, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, says)) fail_msg("\"%s\" does not say \"%s\"", why.text, says);
    assert_int_equal(rapt_trainer_bytes_with(model, o, &small_limits), 0);
}

static void test_options(void **state)
{
    (void)state;
    uint8_t mask[MOST_TENSORS];
    rapt_model *model = small_model(&wide, 11);
    const rapt_train_options good = tuned_options(model, LORA_ONLY, mask);
    const int bias = rapt_model_find(model, "encoder.layers.0.self_attn.out.bias");
    rapt_train_options o = good;
    o.lora_rank = 0;
    options_refused(model, &o, "lora_rank is 0; it must be from 1 to 36");
    o.lora_rank = 37;
    options_refused(model, &o, "lora_rank is 37; it must be from 1 to");
    o.lora_rank = -1;
    options_refused(model, &o, "lora_rank is -1");
    o = good, o.lora_alpha = -1;
    options_refused(model, &o, "lora_alpha is -1");
    o = good, mask[bias] = 9;
    options_refused(model, &o, "encoder.layers.0.self_attn.out.bias) is 9");
    mask[bias] = RAPT_TUNING_LORA;
    options_refused(model, &o, "encoder.layers.0.self_attn.out.bias is not a matrix");
    memset(mask, RAPT_TUNING_FROZEN, sizeof mask);
    o = good, o.lora_rank = 0, o.lora_alpha = 0;
    options_refused(model, &o, "parameters are frozen");
    o.tuning = NULL, o.lora_rank = 2;
    options_refused(model, &o, "lora_rank is set, but no parameter");
    o.lora_rank = 0, o.lora_alpha = 1;
    options_refused(model, &o, "lora_alpha is set, but no parameter");
    rapt_model_free(model);
}

/* A gradient that is not finite stops the step only if it belongs to a trained parameter. A step
   after which B A would be infinite is refused as well. */
static void test_finite(void **state)
{
    (void)state;
    uint8_t mask[MOST_TENSORS];
    size_t count;
    long long *tokens;
    rapt_model *model = small_model(&small_configs[0], 11);
    rapt_train_options o = tuned_options(model, LORA_ONLY, mask);
    o.clip_norm = 0;
    rapt_trainer *trainer = trainer_of(model, &o, 2);
    rapt_message why = {""};
    assert_int_equal(mask[0], RAPT_TUNING_FROZEN);
    rapt_trainer_gradients(trainer, NULL, &tokens)[0] = INFINITY, *tokens = 1;
    assert_int_equal(rapt_train_step(trainer, NULL, NULL), RAPT_OK);
    one_step(trainer, &small_configs[0], 1);
    float *before = small_parameters(model);
    float *g = rapt_trainer_gradients(trainer, &count, &tokens);
    for (size_t i = 0; i < count; i++) g[i] = (float)NAN;
    *tokens = 1;
    assert_int_equal(rapt_train_step(trainer, NULL, &why), RAPT_NOT_FINITE);
    rapt_trainer_set_rate(trainer, 1e25f);
    g = rapt_trainer_gradients(trainer, &count, &tokens);
    for (size_t i = 0; i < count; i++) g[i] = 1;
    *tokens = 1;
    assert_int_equal(rapt_train_step(trainer, NULL, &why), RAPT_NOT_FINITE);
    assert_non_null(strstr(why.text, "would become infinite"));
    float *after = small_parameters(model);
    assert_memory_equal(before, after, rapt_model_parameters(model) * sizeof *before);
    free(before);
    free(after);
    rapt_trainer_set_rate(trainer, 1e-3f);
    one_step(trainer, &small_configs[0], 2);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

/* ---- memory ---- */

struct largest {
    size_t bytes;
};

static void *largest_alloc(void *user, size_t bytes)
{
    struct largest *l = user;
    l->bytes += bytes;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void largest_free(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

static void test_bytes(void **state)
{
    (void)state;
    uint8_t mask[MOST_TENSORS];
    rapt_model *model = small_model(&wide, 11);
    size_t full = rapt_trainer_bytes(model, &small_limits), bytes[3];
    assert_int_equal(rapt_trainer_bytes_with(model, NULL, &small_limits), full);
    for (int mix = LORA_ONLY; mix <= HALF_FROZEN; mix++)
        for (int products = 0; products <= RAPT_PRODUCTS_AUTO; products += RAPT_PRODUCTS_AUTO) {
            struct largest all = {0};
            const rapt_allocator allocator = {largest_alloc, largest_free, &all};
            rapt_train_options o = tuned_options(model, (enum tuning_mix)mix, mask);
            rapt_trainer *trainer = NULL;
            rapt_train_limits limits = small_limits;
            o.products = (rapt_products)products;
            limits.threads = 1;
            bytes[mix] = rapt_trainer_bytes_with(model, &o, &limits);
            assert_int_equal(rapt_trainer_create(&trainer, model, &o, &limits, &allocator, NULL),
                             RAPT_OK);
            assert_int_equal(all.bytes, bytes[mix]);
            one_step(trainer, &wide, 0);
            rapt_trainer_free(trainer);
            if (!products) assert_true(bytes[mix] < full);
        }
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_freezes),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_other_checkpoints),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_finite),
        cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
