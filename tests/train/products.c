/* products.c - how trainers multiply: in bf16, and by OpenBLAS where it is faster. */
#include "model/small_file.h"
#include "train/small_train.h"

#include "skips.h"

/* ---- bf16: trainers whose products are in bf16, of both kinds: the same bits for any number of
   threads and on every instruction set, losses close to those of floats, and checkpoints that
   continue. ---- */

static rapt_train_options in_bf16(rapt_products products)
{
    rapt_train_options o = dropout_and_clipping();
    o.products = products;
    return o;
}

static void check_threads_and_machines(rapt_products products)
{
    static const int threads[] = {1, 2, 3, 7};
    rapt_isa sets[EQUAL_SETS], best = rapt_isa_used();
    int count = equal_sets("train/products, instruction sets", sets);
    rapt_train_options o = in_bf16(products);
    rapt_model *model = small_model(&wide, 11);
    size_t size = rapt_model_parameters(model) * sizeof(float);
    double first_loss = 0, loss = 0;
    float *first = NULL;
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

static void test_threads_and_machines(void **state)
{
    (void)state;
    check_threads_and_machines(RAPT_PRODUCTS_BF16);
    check_threads_and_machines(RAPT_PRODUCTS_BF16_TILES);
}

/* After four steps the losses differ, since the factors are rounded, but by less than 2 %. */
static void test_close_to_floats(void **state)
{
    const rapt_train_options floats = in_bf16(RAPT_PRODUCTS_BUILTIN);
    const rapt_train_options kinds[] = {in_bf16(RAPT_PRODUCTS_BF16),
                                        in_bf16(RAPT_PRODUCTS_BF16_TILES)};
    double near = 0, loss[2] = {0};
    (void)state;
    for (int i = 0; i < COUNT(small_configs); i += 3) {
        free(train(&small_configs[i], &floats, 2, 4, &near));
        for (int k = 0; k < 2; k++) {
            free(train(&small_configs[i], &kinds[k], 2, 4, &loss[k]));
            if (loss[k] == near || !(fabs(loss[k] - near) < 0.02 * near))
                fail_msg("configuration %d: %.9g in bf16, %.9g in floats", i, loss[k], near);
        }
    }
}

/* A trainer continues a checkpoint with the bits of a run that did not stop, if it computes in
   bf16, too. */
static void test_checkpoint(void **state)
{
    char path[256];
    rapt_train_options o = in_bf16(RAPT_PRODUCTS_BF16_TILES);
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

static void check_text(rapt_products products, const char *text)
{
    rapt_isa best = rapt_isa_used();
    rapt_train_options o = in_bf16(products);
    rapt_model *model = small_model(&wide, 11);
    char emulated[64];
    snprintf(emulated, sizeof emulated, "%s, emulated", text);
    assert_int_equal(rapt_isa_use(RAPT_ISA_SCALAR), RAPT_OK);
    rapt_trainer *trainer = trainer_of(model, &o, 1);
    assert_string_equal(rapt_trainer_products(trainer), emulated);
    rapt_trainer_free(trainer);
    assert_int_equal(rapt_isa_use(best), RAPT_OK);
    trainer = trainer_of(model, &o, 1);
    assert_memory_equal(rapt_trainer_products(trainer), text, strlen(text));
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

static void test_bf16_text(void **state)
{
    (void)state;
    check_text(RAPT_PRODUCTS_BF16, "bf16");
    check_text(RAPT_PRODUCTS_BF16_TILES, "bf16 tiles");
}

/* ---- products: trainers that measure which products OpenBLAS computes: their choice can be read,
   is stored in checkpoints, and gives the same bits for any number of threads; results differ from
   those of the built-in products only by rounding. ---- */

/* OpenBLAS computes some of its products, and adds those of depth 1024 in another order. */
static const rapt_config large = {
    .size = sizeof(rapt_config),
    .kind = RAPT_KIND_ENCODER_ONLY,
    .source_vocab = 70,
    .target_vocab = 200,
    .positions = 40,
    .width = 192,
    .heads = 3,
    .ffn_width = 1024,
    .encoder_layers = 1,
};
enum { ROWS = 192, SEQUENCES = 6, PER_SEQUENCE = ROWS / SEQUENCES };

struct tokens {
    int32_t ids[ROWS];
    int starts[SEQUENCES + 1];
    rapt_tokens tokens;
};

static void fill(struct tokens *t, int vocab, uint64_t seed)
{
    for (int i = 0; i < ROWS; i++)
        t->ids[i] = (int32_t)((small_uniform(seed, (uint64_t)i) + 1) / 2 * (float)vocab) % vocab;
    for (int b = 0; b <= SEQUENCES; b++) t->starts[b] = b * PER_SEQUENCE;
    t->tokens = (rapt_tokens){.batch = SEQUENCES, .ids = t->ids, .starts = t->starts};
}

static rapt_trainer *trainer_by(rapt_model *model, rapt_products products, int threads)
{
    const rapt_train_limits limits = {.size = sizeof limits,
                                      .batch = SEQUENCES,
                                      .source_tokens = ROWS,
                                      .target_tokens = ROWS,
                                      .threads = threads};
    rapt_train_options o = dropout_and_clipping();
    rapt_trainer *trainer = NULL;
    rapt_message why = {""};
    o.products = products;
    if (rapt_trainer_create(&trainer, model, &o, &limits, NULL, &why)) fail_msg("%s", why.text);
    return trainer;
}

static double step(rapt_trainer *trainer, uint64_t seed)
{
    struct tokens source, target;
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    fill(&source, large.source_vocab, seed);
    fill(&target, large.target_vocab, seed + 1);
    if (rapt_train_gradient(trainer, &source.tokens, &target.tokens, &report, &why) ||
        rapt_train_step(trainer, &report, &why))
        fail_msg("%s", why.text);
    return report.loss;
}

/* ---- a checkpoint with another choice ---- */

static void save(const rapt_trainer *trainer, const char *path)
{
    rapt_message why = {""};
    if (rapt_trainer_save(trainer, path, NULL, 0, &why)) fail_msg("%s", why.text);
}

static void load(rapt_trainer *trainer, const char *path)
{
    rapt_message why = {""};
    if (rapt_trainer_load(trainer, path, &why)) fail_msg("%s", why.text);
}

/* Copies the choice from a checkpoint, " products 12", or an empty text. */
static void choice_of(const struct file *f, char text[40])
{
    static const char key[] = " products ";
    size_t at = 8, end = 8 + header_size(f), n = 0, size = sizeof key - 1;
    while (at + size < end && memcmp(f->bytes + at, key, size) != 0) at++;
    bool there = at + size < end;
    while (there && n < 39 && (n < size || (f->bytes[at + n] >= '0' && f->bytes[at + n] <= '9')))
        text[n] = (char)f->bytes[at + n], n++;
    text[n] = 0;
}

/* Gives the trainer the choice of these bits, through a checkpoint. */
static void choose(rapt_trainer *trainer, long long bits)
{
    char path[256], was[40], is[40];
    save(trainer, small_path(path, "products"));
    struct file old = file_at(path);
    choice_of(&old, was);
    assert_string_not_equal(was, "");
    snprintf(is, sizeof is, " products %lld", bits);
    struct file new = edited(&old, was, is);
    put(&new);
    load(trainer, path);
    free(old.bytes);
    drop(&new);
}

/* ---- tests ---- */

/* Whether OpenBLAS cannot be loaded. */
static bool missing(const rapt_model *model)
{
    rapt_train_options o = dropout_and_clipping();
    rapt_trainer *trainer;
    o.products = RAPT_PRODUCTS_OPENBLAS;
    if (rapt_trainer_create(&trainer, (rapt_model *)(uintptr_t)model, &o, &small_limits, NULL,
                            NULL))
        return true;
    assert_string_equal(rapt_trainer_products(trainer), "OpenBLAS: all large products");
    rapt_trainer_free(trainer);
    return false;
}

static void test_products_text(void **state)
{
    (void)state;
    rapt_model *model = small_model(&large, 3);
    rapt_trainer *trainer = trainer_by(model, RAPT_PRODUCTS_BUILTIN, 1);
    assert_string_equal(rapt_trainer_products(trainer), "built-in");
    rapt_trainer_free(trainer);
    trainer = trainer_by(model, RAPT_PRODUCTS_AUTO, 1);
    const char *text = rapt_trainer_products(trainer);
    assert_true(strcmp(text, "built-in") == 0 || strncmp(text, "OpenBLAS: ", 10) == 0);
    if (!missing(model)) {
        choose(trainer, 1 << 0 | 1 << 4 | 1 << 11);
        assert_string_equal(rapt_trainer_products(trainer),
                            "OpenBLAS: y 200x192, dx 576x192, dW 1024x192");
    }
    choose(trainer, 0);
    assert_string_equal(rapt_trainer_products(trainer), "built-in");
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

/* Returns the parameters after two steps with these products. resumed: another trainer makes the
   second one, from a checkpoint. */
static float *parameters_with(long long bits, int threads, bool resumed, double *loss)
{
    char path[256];
    rapt_model *model = small_model(&large, 3);
    rapt_trainer *trainer = trainer_by(model, RAPT_PRODUCTS_AUTO, threads);
    choose(trainer, bits);
    step(trainer, 20);
    if (resumed) {
        save(trainer, small_path(path, "resumed"));
        rapt_trainer_free(trainer);
        rapt_model_free(model);
        model = small_model(&large, 4);
        trainer = trainer_by(model, RAPT_PRODUCTS_AUTO, threads);
        load(trainer, path);
        unlink(path);
    }
    *loss = step(trainer, 30);
    float *parameters = small_parameters(model);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    return parameters;
}

static void test_choices(void **state)
{
    (void)state;
    enum { ALL = (1 << 15) - 1 };
    static const int some[] = {1 << 10, 1 << 12, ALL}; /* dx 1024x192; y 192x1024 */
    rapt_model *model = small_model(&large, 3);
    size_t size = rapt_model_parameters(model) * sizeof(float);
    bool absent = missing(model);
    rapt_model_free(model);
    if (absent) {
        skipped("train/products", "OpenBLAS is not there");
        skip();
    }
    double none_loss, loss;
    float *none = parameters_with(0, 1, false, &none_loss);
    for (int i = 0; i < COUNT(some); i++) {
        float *one = parameters_with(some[i], 1, false, &loss);
        assert_memory_not_equal(one, none, size); /* it adds in another order */
        assert_true(fabs(loss - none_loss) < 1e-4 * none_loss);
        float *two = parameters_with(some[i], 2, true, &loss);
        assert_memory_equal(one, two, size);
        free(one);
        free(two);
    }
    free(none);
}

/* A run with measured products can continue with the built-in ones; its checkpoints then lack the
   field. */
static void test_without(void **state)
{
    (void)state;
    char path[256], text[40];
    rapt_model *model = small_model(&large, 3);
    rapt_trainer *trainer = trainer_by(model, RAPT_PRODUCTS_AUTO, 1);
    save(trainer, small_path(path, "without"));
    rapt_trainer_free(trainer);
    trainer = trainer_by(model, RAPT_PRODUCTS_BUILTIN, 1);
    load(trainer, path);
    assert_string_equal(rapt_trainer_products(trainer), "built-in");
    save(trainer, path);
    struct file builtin = file_at(path);
    choice_of(&builtin, text);
    assert_string_equal(text, "");
    drop(&builtin);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_and_machines),
        cmocka_unit_test(test_close_to_floats),
        cmocka_unit_test(test_checkpoint),
        cmocka_unit_test(test_bf16_text),
        cmocka_unit_test(test_products_text),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
