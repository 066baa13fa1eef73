/* block_functions.c - the functions of a layer on plain arrays, combined with sums and norms in
   double, give the layer's results forward and backward. Also tests what all blocks refuse. */
#include "model/small_block.h"

/* Computes to += a. */
static void add(float *to, const float *a, int count)
{
    for (int i = 0; i < count; i++) to[i] += a[i];
}

/* A function of a layer with the layer's parameters. */
struct function {
    rapt_block *block;
    float *parameters, *gradients;
};

static void function_make(struct function *f, rapt_block_kind kind, const rapt_config *config,
                          const struct side *layer)
{
    const rapt_block_limits limits = {.size = sizeof limits,
                                      .batch = BATCH,
                                      .rows = MAX_ROWS,
                                      .source_rows =
                                          kind == RAPT_BLOCK_KIND_CROSS_ATTENTION ? MAX_ROWS : 0,
                                      .threads = 1};
    rapt_message why = {""};
    float data[4096];
    if (rapt_block_create(&f->block, kind, config, &limits, NULL, &why)) fail_msg("%s", why.text);
    size_t bytes = (rapt_block_floats(f->block) * sizeof(float) + 63) / 64 * 64;
    f->parameters = aligned_alloc(64, bytes), f->gradients = aligned_alloc(64, bytes);
    memset(f->gradients, 0, bytes);
    assert_int_equal(rapt_block_init(f->block, 1, f->parameters, NULL), RAPT_OK);
    assert_true(rapt_block_tensors(f->block) > 0);
    for (int i = 0; i < rapt_block_tensors(f->block); i++) {
        const char *name = rapt_block_tensor(f->block, i).name;
        assert_null(strstr(name, ".norm."));
        int index = rapt_block_find(layer->block, name);
        assert_int_equal(rapt_block_read(layer->block, layer->parameters, index, data, NULL),
                         RAPT_OK);
        assert_int_equal(rapt_block_write(f->block, f->parameters, i, data, NULL), RAPT_OK);
    }
}

static void function_end(struct function *f, const struct side *layer)
{
    float got[4096], wanted[4096];
    for (int i = 0; layer && i < rapt_block_tensors(f->block); i++) {
        const rapt_tensor tensor = rapt_block_tensor(f->block, i);
        int index = rapt_block_find(layer->block, tensor.name);
        assert_int_equal(rapt_block_read(f->block, f->gradients, i, got, NULL), RAPT_OK);
        assert_int_equal(rapt_block_read(layer->block, layer->gradients, index, wanted, NULL),
                         RAPT_OK);
        same(tensor.name, got, wanted, (size_t)tensor.rows * (size_t)tensor.columns, 5e-6);
    }
    rapt_block_free(f->block);
    free(f->parameters);
    free(f->gradients);
}

/* Returns the layer's norm after one function, in double. */
static struct norm norm_of(const struct trial *t, const struct side *layer, const char *function)
{
    struct norm n = {.centered = true, .epsilon = (double)1e-5f};
    const char *const names[] = {"weight", "bias"};
    double *to[] = {n.gain, n.bias};
    for (int i = 0; i < 2; i++) {
        char name[64];
        float data[MAX_WIDTH];
        snprintf(name, sizeof name, "%s.norm.%s", function, names[i]);
        assert_int_equal(rapt_block_read(layer->block, layer->parameters,
                                         rapt_block_find(layer->block, name), data, NULL),
                         RAPT_OK);
        for (int j = 0; j < t->config.width; j++) to[i][j] = (double)data[j];
    }
    return n;
}

/* Computes x = norm(x + f(x)) for each function in turn, and the way back. */
static void functions_of(struct trial *t, struct side *s, const rapt_block_kind *kinds,
                         const char *const *names, int count)
{
    struct function f[3];
    static float in[4][CAPACITY], sum[3][CAPACITY];
    float d[CAPACITY], df[CAPACITY], dsource[CAPACITY] = {0};
    int width = t->config.width, rows = s->rows.starts[BATCH], size = rows * width;
    rapt_block_rows own[3];
    memcpy(in[0], s->x, sizeof in[0]);
    for (int i = 0; i < count; i++) {
        bool cross = kinds[i] == RAPT_BLOCK_KIND_CROSS_ATTENTION;
        function_make(&f[i], kinds[i], &t->config, s);
        own[i] = s->rows;
        if (!cross) own[i].source = NULL, own[i].source_starts = NULL;
        assert_int_equal(
            rapt_block_forward(f[i].block, f[i].parameters, &own[i], in[i], sum[i], NULL), RAPT_OK);
        add(sum[i], in[i], size);
        struct norm n = norm_of(t, s, names[i]);
        norm_forward(&n, rows, width, sum[i], in[i + 1]);
    }
    same("y", in[count], s->y, (size_t)size, 2e-6);
    memcpy(d, s->dout, sizeof d);
    for (int i = count - 1; i >= 0; i--) {
        struct norm n = norm_of(t, s, names[i]);
        norm_backward(&n, rows, width, sum[i], d);
        memset(df, 0, sizeof df);
        assert_int_equal(rapt_block_backward(f[i].block, f[i].parameters, &own[i], d, df,
                                             own[i].source ? dsource : NULL, f[i].gradients, NULL),
                         RAPT_OK);
        add(d, df, size);
        function_end(&f[i], s);
    }
    same("dx", d, s->dx, (size_t)size, 5e-6);
    if (s->rows.source) same("dsource", dsource, s->dsource, (size_t)(SOURCES * width), 5e-6);
}

static void test_functions_alone(void **state)
{
    (void)state;
    static const rapt_block_kind encoder[] = {RAPT_BLOCK_KIND_SELF_ATTENTION,
                                              RAPT_BLOCK_KIND_FEEDFORWARD},
                                 decoder[] = {RAPT_BLOCK_KIND_CAUSAL_ATTENTION,
                                              RAPT_BLOCK_KIND_CROSS_ATTENTION,
                                              RAPT_BLOCK_KIND_FEEDFORWARD};
    static const char *const encoder_names[] = {"self_attn", "feedforward"},
                             *const decoder_names[] = {"self_attn", "cross_attn", "feedforward"},
                             *const linear_names[] = {"linear_attn", "cross_attn", "feedforward"};
    const rapt_config configs[] = {small_configs[0],
                                   {.size = sizeof(rapt_config),
                                    .width = 12,
                                    .heads = 6,
                                    .key_heads = 3,
                                    .ffn_width = 5,
                                    .ffn_gated = 1,
                                    .rotary = RAPT_ROTARY_HALVES,
                                    .relative_bias = RAPT_RELATIVE_BIAS_T5},
                                   {.size = sizeof(rapt_config),
                                    .width = 12,
                                    .heads = 4,
                                    .key_heads = 2,
                                    .ffn_width = 5,
                                    .output_gate = RAPT_OUTPUT_GATE_ELEMENT,
                                    .decoder_recurrence = RAPT_RECURRENCE_GATED_DELTA}};
    for (int i = 0; i < COUNT(configs); i++) {
        rapt_config c = configs[i];
        struct trial t;
        c.target_vocab = c.positions = 1;
        begin(&t, &c, 3);
        forward(&t, 1);
        backward(&t);
        functions_of(&t, &t.decoder, decoder, c.decoder_recurrence ? linear_names : decoder_names,
                     3);
        functions_of(&t, &t.encoder, encoder, encoder_names, 2);
        end(&t);
    }
}

/* ---- refusals ---- */

static void refused(rapt_status status, const rapt_message *why, const char *says)
{
    assert_int_equal(status, RAPT_BAD_ARGUMENT);
    if (!strstr(why->text, says)) fail_msg("'%s' does not say '%s'", why->text, says);
}

static void test_refusals(void **state)
{
    (void)state;
    rapt_config c = {.size = sizeof c, .width = 8, .heads = 2};
    rapt_block_limits l = {.size = sizeof l, .batch = 1, .rows = 4, .threads = 1};
    rapt_block *b = NULL;
    rapt_message why = {""};
    const rapt_block_kind feedforward = RAPT_BLOCK_KIND_FEEDFORWARD,
                          encoder = RAPT_BLOCK_KIND_ENCODER, decoder = RAPT_BLOCK_KIND_DECODER;
    refused(rapt_block_create(&b, feedforward, &c, &l, NULL, &why), &why, "ffn_width is 0");
    refused(rapt_block_create(&b, decoder, &c, &l, NULL, &why), &why, "limits.source_rows is 0");
    refused(rapt_block_create(&b, (rapt_block_kind)9, &c, &l, NULL, &why), &why, "kind is 9");
    l.source_rows = 3;
    refused(rapt_block_create(&b, encoder, &c, &l, NULL, &why), &why, "limits.source_rows is 3");
    l.source_rows = 0, c.heads = 3;
    refused(rapt_block_create(&b, encoder, &c, &l, NULL, &why), &why, "heads is 3");
    c.heads = 2, c.rotary = RAPT_ROTARY_PAIRS, c.rotary_scaling = RAPT_ROTARY_SCALING_YARN;
    refused(rapt_block_create(&b, encoder, &c, &l, NULL, &why), &why, "rotary_positions is 0");
    c.rotary = RAPT_ROTARY_NONE;
    c.heads = 2;
    assert_null(b);
    assert_int_equal(rapt_block_create(&b, encoder, &c, &l, NULL, &why), RAPT_OK);
    float *parameters = aligned_alloc(64, (rapt_block_floats(b) * sizeof(float) + 63) / 64 * 64);
    assert_int_equal(rapt_block_init(b, 1, parameters, &why), RAPT_OK);
    refused(rapt_block_init(b, 1, parameters + 1, &why), &why, "not aligned to 64 bytes");
    float x[40] = {0}, y[40];
    int starts[] = {0, 4}, more[] = {0, 5}, less[] = {0, -1}, late[] = {1, 4};
    rapt_block_rows r = {.size = sizeof r, .starts = more, .batch = 1};
    refused(rapt_block_forward(b, parameters, &r, x, y, &why), &why, "starts[1] is 5");
    r.starts = less;
    refused(rapt_block_forward(b, parameters, &r, x, y, &why), &why, "starts[1] is -1, less");
    r.starts = starts, r.batch = 2;
    refused(rapt_block_forward(b, parameters, &r, x, y, &why), &why, "batch is 2");
    r.batch = 1, r.starts = late;
    refused(rapt_block_forward(b, parameters, &r, x, y, &why), &why, "starts[0] is 1, not 0");
    r.starts = starts, r.source = x;
    refused(rapt_block_forward(b, parameters, &r, x, y, &why), &why, "no cross-attention");
    r.source = NULL, r.dropout = 1;
    refused(rapt_block_forward(b, parameters, &r, x, y, &why), &why, "dropout is 1");
    r.dropout = 0;
    refused(rapt_block_forward(b, parameters + 1, &r, x, y, &why), &why, "not aligned to 64 bytes");
    refused(rapt_block_backward(b, parameters, &r, y, x, NULL, parameters, &why), &why,
            "call rapt_block_forward");
    assert_int_equal(rapt_block_forward(b, parameters, &r, x, y, &why), RAPT_OK);
    refused(rapt_block_backward(b, parameters, &r, y, x, NULL, parameters, &why), &why,
            "learning = 1");
    r.learning = 1, r.seed = 1, r.dropout = 0.5f;
    assert_int_equal(rapt_block_forward(b, parameters, &r, x, y, &why), RAPT_OK);
    refused(rapt_block_read(b, parameters, rapt_block_tensors(b), x, &why), &why, "tensors");
    assert_int_equal(rapt_block_find(b, "no such"), -1);
    rapt_block_free(b);
    free(parameters);
    b = NULL, l.source_rows = 3;
    assert_int_equal(rapt_block_create(&b, RAPT_BLOCK_KIND_CROSS_ATTENTION, &c, &l, NULL, &why),
                     RAPT_OK);
    parameters = aligned_alloc(64, (rapt_block_floats(b) * sizeof(float) + 63) / 64 * 64);
    assert_int_equal(rapt_block_init(b, 1, parameters, &why), RAPT_OK);
    refused(rapt_block_forward(b, parameters, &r, x, y, &why), &why, "source_starts is NULL");
    r.source_starts = (const int[]){0, 3};
    refused(rapt_block_forward(b, parameters, &r, x, y, &why), &why, "source is NULL");
    rapt_block_free(b);
    free(parameters);
}

/* Backward must get the dropout and seed that forward got: each number is compared. */
static void test_other_drop(void **state)
{
    (void)state;
    enum { WIDTH = 8, ROWS = 3 };
    const rapt_config c = {.size = sizeof c, .width = WIDTH, .heads = 2, .ffn_width = WIDTH};
    const rapt_block_limits l = {.size = sizeof l, .batch = 1, .rows = ROWS, .threads = 1};
    const rapt_block_rows rows = {.size = sizeof rows,
                                  .batch = 1,
                                  .starts = (const int[]){0, ROWS},
                                  .learning = 1,
                                  .dropout = 0.3f,
                                  .attention_dropout = 0.2f,
                                  .ffn_dropout = 0.1f,
                                  .seed = 7};
    rapt_block_rows others[4] = {rows, rows, rows, rows};
    others[0].dropout = 0.2f, others[1].attention_dropout = 0.1f;
    others[2].ffn_dropout = 0.2f, others[3].seed = 8;
    float x[ROWS * WIDTH] = {1, -1, 2}, y[ROWS * WIDTH];
    rapt_block *b = NULL;
    rapt_message why = {""};
    assert_int_equal(rapt_block_create(&b, RAPT_BLOCK_KIND_ENCODER, &c, &l, NULL, NULL), RAPT_OK);
    size_t bytes = (rapt_block_floats(b) * sizeof(float) + 63) / 64 * 64;
    float *parameters = aligned_alloc(64, bytes), *gradients = aligned_alloc(64, bytes);
    memset(gradients, 0, bytes);
    assert_int_equal(rapt_block_init(b, 1, parameters, NULL), RAPT_OK);
    assert_int_equal(rapt_block_forward(b, parameters, &rows, x, y, NULL), RAPT_OK);
    for (int i = 0; i < 4; i++)
        refused(rapt_block_backward(b, parameters, &others[i], y, x, NULL, gradients, &why), &why,
                "dropout and seed");
    assert_int_equal(rapt_block_backward(b, parameters, &rows, y, x, NULL, gradients, NULL),
                     RAPT_OK);
    rapt_block_free(b);
    free(parameters);
    free(gradients);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_alone),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_other_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
