/* products.c - trainers that measure which products OpenBLAS computes: their choice can be read, is
   stored in checkpoints, and gives the same bits for any number of threads; results differ from
   those of the built-in products only by rounding. */
#include "model/small_file.h"
#include "train/small_train.h"

#include "skips.h"

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

static void test_text(void **state)
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
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
