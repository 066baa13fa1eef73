/* golden.c - compares results with those of PyTorch for the same weights and inputs, stored in
   golden.txt by make_torch.py: attention with masks, whole models, gradients, ten steps of
   Adam. */
#include "model/small.h"

#include "golden/records.h"

static int read_all(void **state)
{
    (void)state;
    return read_records(RAPT_TESTS_DIR "/golden/golden.txt", NULL) ? 0 : -1;
}

/* ---- attention ---- */

enum { CAPACITY = 1024 };

static void attention_case(const char *name, int heads, int key_heads, int queries, int keys,
                           int width, const rapt_mask *mask)
{
    rapt_attention a;
    rapt_attention_init(&a, sizeof a, 2, heads, queries, keys, width);
    rapt_message why = {""};
    float q[CAPACITY], k[CAPACITY], v[CAPACITY], out[CAPACITY], dout[CAPACITY], lse[64],
        bias[CAPACITY];
    float dq[CAPACITY] = {0}, dk[CAPACITY] = {0}, dv[CAPACITY] = {0}, dbias[CAPACITY] = {0};
    size_t rows = (size_t)(2 * heads * queries * width),
           columns = (size_t)(2 * key_heads * keys * width);
    assert_true(rows <= CAPACITY && columns <= CAPACITY && queries * keys <= CAPACITY &&
                2 * heads * queries <= 64);
    a.key_heads = key_heads;
    a.k.batch = a.v.batch = (ptrdiff_t)key_heads * keys * width;
    a.mask = *mask;
    if (mask->bias) a.mask.bias = bias;
    draw(name, ".q", 4, 0, q, rows);
    draw(name, ".k", 4, 0, k, columns);
    draw(name, ".v", 4, 0, v, columns);
    draw(name, ".dout", 1, 0, dout, rows);
    draw(name, ".bias", 4, 0, bias, (size_t)(queries * keys));
    if (rapt_attention_check(&a, &why)) fail_msg("%s", why.text);
    void *workspace = aligned_alloc(64, (rapt_attention_workspace(&a) + 63) / 64 * 64);
    assert_int_equal(rapt_attention_forward(
                         &a, q, k, v, out,
                         &(rapt_attention_saved){.size = sizeof(rapt_attention_saved), .lse = lse},
                         workspace, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_attention_backward(
                         &a, q, k, v, out,
                         &(rapt_attention_saved){.size = sizeof(rapt_attention_saved), .lse = lse},
                         dout, NULL,
                         &(rapt_gradients){.size = sizeof(rapt_gradients),
                                           .q = dq,
                                           .k = dk,
                                           .v = dv,
                                           .bias = mask->bias ? dbias : NULL},
                         workspace, NULL),
                     RAPT_OK);
    compare(name, "out", out, rows);
    compare(name, "dq", dq, rows);
    compare(name, "dk", dk, columns);
    compare(name, "dv", dv, columns);
    if (mask->bias) compare(name, "dbias", dbias, (size_t)(queries * keys));
    free(workspace);
}

static void test_attention(void **state)
{
    (void)state;
    static const float some = 0;
    uint8_t allowed[5 * 7];
    for (int t = 0; t < 5; t++)
        for (int s = 0; s < 7; s++) allowed[t * 7 + s] = (s * 3 + t) % 4 != 1;
    rapt_mask none = {0},
              causal = {.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT, .causal = 1};
    rapt_mask right = {.causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT, .causal = 1};
    rapt_mask window = {
        .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT, .window = 1, .before = 2, .after = 1};
    rapt_mask bools = {.allowed = allowed, .allowed_stride = {0, 0, 7}};
    rapt_mask bias = {.bias = &some, .bias_stride = {0, 0, 19}};
    attention_case("plain", 2, 2, 5, 7, 6, &none);
    attention_case("causal", 2, 2, 6, 6, 5, &causal);
    attention_case("bottom-right", 2, 1, 4, 9, 3, &right);
    attention_case("window", 1, 1, 8, 8, 4, &window);
    attention_case("allowed", 2, 2, 5, 7, 6, &bools);
    attention_case("bias", 4, 2, 5, 19, 4, &bias);
}

/* ---- models ---- */

static int32_t source_ids[] = {3, 1, 7, 10, 5, 9, 9, 0, 2, 6, 4};
static const int source_starts[] = {0, 4, 5, 11};
static int32_t target_ids[] = {1, 4, 12, 2, 1, 2, 1, 11, 3, 3, 8, 2};
static const int target_starts[] = {0, 4, 6, 12};

static rapt_model *model_of(const rapt_config *config)
{
    rapt_model *model = NULL;
    assert_int_equal(rapt_model_create(&model, config, 1, NULL, NULL), RAPT_OK);
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        rapt_tensor t = rapt_model_tensor(model, i);
        size_t size = small_size(model, i), length = strlen(t.name);
        float data[CAPACITY];
        assert_true(size <= CAPACITY);
        bool gain = length > 11 && strcmp(t.name + length - 11, "norm.weight") == 0;
        draw("", t.name, 1, gain, data, size);
        assert_int_equal(rapt_model_write(model, i, data, NULL), RAPT_OK);
    }
    return model;
}

static void forward(const char *name, const rapt_model *model)
{
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 1,
                          .source_tokens = 6,
                          .target_length = 6,
                          .target_tokens = 6};
    rapt_session *session;
    const float *memory, *logits;
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    for (int b = 0; b < 3; b++) {
        int s = source_starts[b + 1] - source_starts[b],
            t = target_starts[b + 1] - target_starts[b] - 1;
        rapt_tokens source = {
            .batch = 1, .ids = source_ids + source_starts[b], .starts = (int[]){0, s}};
        rapt_tokens target = {
            .batch = 1, .ids = target_ids + target_starts[b], .starts = (int[]){0, t}};
        char record[32];
        assert_int_equal(rapt_encode(session, &source, &memory, NULL), RAPT_OK);
        assert_int_equal(rapt_decode(session, &target, &logits, NULL), RAPT_OK);
        snprintf(record, sizeof record, "states.%d", b);
        compare(name, record, memory, (size_t)s * 8);
        snprintf(record, sizeof record, "logits.%d", b);
        compare(name, record, logits, (size_t)t * 13);
    }
    rapt_session_free(session);
}

static void learn(const char *name, rapt_model *model)
{
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    rapt_train_limits limits = {sizeof limits, 3, 11, 12, .threads = 2};
    rapt_tokens source = {.batch = 3, .ids = source_ids, .starts = source_starts},
                target = {.batch = 3, .ids = target_ids, .starts = target_starts};
    rapt_trainer *trainer;
    o.dropout = 0, o.rate = 0.01f, o.warmup = 0, o.schedule = RAPT_SCHEDULE_CONSTANT;
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &limits, NULL, NULL), RAPT_OK);
    const struct record *losses = find(name, "losses");
    assert_int_equal(losses->count, 10);
    for (int step = 0; step < 10; step++) {
        rapt_report report = {.size = sizeof report};
        assert_int_equal(rapt_train_gradient(trainer, &source, &target, &report, NULL), RAPT_OK);
        float loss = (float)report.loss;
        if (step == 0) compare(name, "loss", &loss, 1);
        for (int i = 0; step == 0 && i < rapt_model_tensors(model); i++) {
            float data[CAPACITY];
            char record[128];
            snprintf(record, sizeof record, "gradient.%s", rapt_model_tensor(model, i).name);
            assert_int_equal(rapt_trainer_read_gradient(trainer, i, data, NULL), RAPT_OK);
            compare(name, record, data, small_size(model, i));
        }
        /* Adam divides small gradients by themselves, so the rounding error grows with the steps */
        assert_true(fabs(report.loss - losses->data[step]) <= 2e-4 * losses->data[step]);
        assert_int_equal(rapt_train_step(trainer, &report, NULL), RAPT_OK);
    }
    assert_true(losses->data[9] < 0.8 * losses->data[0]);
    rapt_trainer_free(trainer);
}

static void model_case(const char *name, int layers, rapt_norm_order norm,
                       rapt_activation activation)
{
    rapt_config c = {.size = sizeof(rapt_config),
                     .source_vocab = 11,
                     .target_vocab = 13,
                     .positions = 8,
                     .width = 8,
                     .heads = 2,
                     .ffn_width = 12,
                     .output_bias = 1};
    c.encoder_layers = c.decoder_layers = layers, c.norm_order = norm, c.activation = activation;
    rapt_model *model = model_of(&c);
    forward(name, model);
    learn(name, model);
    rapt_model_free(model);
}

static void test_after(void **state)
{
    (void)state;
    model_case("after", 2, RAPT_NORM_ORDER_POST, RAPT_ACTIVATION_RELU);
}

static void test_before(void **state)
{
    (void)state;
    model_case("before", 1, RAPT_NORM_ORDER_PRE, RAPT_ACTIVATION_GELU);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_after),
        cmocka_unit_test(test_before),
    };
    return cmocka_run_group_tests(tests, read_all, free_records);
}
