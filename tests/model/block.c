/* block.c - layers on plain arrays have the bits of a model's layers and the gradients of its
   trainer, which other tests compare with the definition. The bits do not depend on threads or on
   the batch, and backward drops what forward dropped. */
#include "model/small_block.h"

static rapt_tokens source_of(const struct trial *t)
{
    return t->encoder.block
               ? (rapt_tokens){.batch = BATCH, .vectors = t->encoder.x, .starts = source_starts}
               : (rapt_tokens){.batch = BATCH};
}

/* With post-norm, compares the rows of the layers with those of the model, bit by bit. */
static void compare_values(struct trial *t)
{
    rapt_limits limits = {.size = sizeof limits,
                          .batch = BATCH,
                          .source_tokens = SOURCES,
                          .target_tokens = TARGETS,
                          .target_length = 8,
                          .threads = 2};
    double limit = t->config.norm_order == RAPT_NORM_ORDER_POST ? 0 : 1e-6;
    rapt_session *session = NULL;
    rapt_message why = {""};
    if (!t->encoder.block) limits.source_tokens = 0;
    if (!t->decoder.block) limits.target_tokens = limits.target_length = 0;
    if (rapt_session_create(&session, t->model, &limits, NULL, &why)) fail_msg("%s", why.text);
    const rapt_tokens source = source_of(t);
    const float *states = NULL, *logits = NULL;
    forward(t, 0);
    if (rapt_encode(session, &source, t->encoder.block ? &states : NULL, &why))
        fail_msg("%s", why.text);
    if (states) same("states", t->encoder.out, states, (size_t)(SOURCES * t->config.width), limit);
    if (t->decoder.block) {
        int32_t inputs[TARGETS];
        for (int b = 0, r = 0; b < BATCH; b++)
            for (int i = t->starts[b]; i + 1 < t->starts[b + 1]; i++) inputs[r++] = t->ids[i];
        const rapt_tokens target = {.batch = BATCH, .ids = inputs, .starts = target_starts};
        if (rapt_decode(session, &target, &logits, &why)) fail_msg("%s", why.text);
        if (t->config.decoder_recurrence > RAPT_RECURRENCE_SSRU)
            limit = 2e-6; /* a block computes chunks, a session steps */
        same("logits", t->decoder.out, logits, (size_t)(TARGETS * t->config.width), limit);
    }
    rapt_session_free(session);
}

static void compare_side(const struct trial *t, const struct side *s)
{
    float got[4096], wanted[4096];
    for (int i = 0; i < rapt_block_tensors(s->block); i++) {
        const char *name = rapt_block_tensor(s->block, i).name;
        int index = index_in_model(t, s, name);
        assert_int_equal(rapt_block_read(s->block, s->gradients, i, got, NULL), RAPT_OK);
        assert_int_equal(rapt_trainer_read_gradient(t->trainer, index, wanted, NULL), RAPT_OK);
        same(name, got, wanted, small_size(t->model, index), 2e-6);
    }
}

/* Compares the trainer's gradient of the projection of source vectors with the gradient of the rows
   times the vectors. */
static void compare_inputs(const struct trial *t)
{
    int width = t->config.width, index = rapt_model_find(t->model, "encoder.source.weight");
    float wanted[MAX_WIDTH * MAX_WIDTH], got[MAX_WIDTH * MAX_WIDTH] = {0};
    if (index < 0) return;
    assert_int_equal(rapt_trainer_read_gradient(t->trainer, index, wanted, NULL), RAPT_OK);
    for (int r = 0; r < SOURCES; r++)
        for (int i = 0; i < width * width; i++)
            got[i] += t->encoder.dx[r * width + i / width] * t->encoder.x[r * width + i % width];
    same("dx", got, wanted, (size_t)(width * width), 2e-6);
}

static void compare_gradients(struct trial *t)
{
    const rapt_train_limits limits = {.size = sizeof limits,
                                      .batch = BATCH,
                                      .source_tokens = SOURCES,
                                      .target_tokens = TOKENS,
                                      .threads = 2};
    rapt_train_options options;
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    rapt_train_options_default(&options, sizeof options);
    options.label_smoothing = options.dropout = options.monotonic_noise = 0;
    if (rapt_trainer_create(&t->trainer, t->model, &options, &limits, NULL, &why))
        fail_msg("%s", why.text);
    const rapt_tokens source = source_of(t);
    const rapt_tokens target = {
        .batch = BATCH, .ids = t->ids, .starts = t->decoder.block ? t->starts : source_starts};
    if (rapt_train_gradient(t->trainer, &source, &target, &report, &why)) fail_msg("%s", why.text);
    forward(t, 1);
    backward(t);
    if (t->encoder.block) compare_side(t, &t->encoder);
    if (t->decoder.block) compare_side(t, &t->decoder);
    compare_inputs(t);
}

static void test_layers_of_models(void **state)
{
    (void)state;
    int gradients = 0;
    for (int i = 0; i < COUNT(small_configs); i++) {
        const rapt_config *c = &small_configs[i];
        struct trial t;
        begin(&t, c, 2);
        if (!c->monotonic) compare_values(&t); /* sessions make hard stops */
        bool drawn = c->self_normalizer != RAPT_NORMALIZER_SOFTMAX ||
                     c->cross_normalizer != RAPT_NORMALIZER_SOFTMAX;
        if (!drawn)
            compare_gradients(&t), gradients++; /* the trainer derives other keys for its draws */
        end(&t);
    }
    assert_true(gradients > 15);
}

/* ---- threads, batches, dropout ---- */

static void test_any_threads_and_batch(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(small_configs); i++) {
        struct trial one, more;
        begin(&one, &small_configs[i], 1);
        begin(&more, &small_configs[i], 3);
        forward(&one, 1), backward(&one);
        forward(&more, 1), backward(&more);
        struct side *a[] = {&one.encoder, &one.decoder}, *b[] = {&more.encoder, &more.decoder};
        for (int k = 0; k < 2; k++) {
            if (!a[k]->block) continue;
            size_t bytes = rapt_block_floats(a[k]->block) * sizeof(float);
            assert_memory_equal(a[k]->y, b[k]->y, sizeof a[k]->y);
            assert_memory_equal(a[k]->dx, b[k]->dx, sizeof a[k]->dx);
            assert_memory_equal(a[k]->gradients, b[k]->gradients, bytes);
        }
        forward(&more, 0);
        struct side *s = more.decoder.block ? &more.decoder : &more.encoder;
        for (int k = 0; k < BATCH; k++) { /* sequence k by itself */
            rapt_block_rows alone = s->rows;
            int starts[] = {0, s->rows.starts[k + 1] - s->rows.starts[k]};
            int sources[] = {0, source_starts[k + 1] - source_starts[k]}, width = more.config.width;
            float y[CAPACITY];
            alone.batch = 1, alone.starts = starts;
            if (alone.source) {
                alone.source += source_starts[k] * width;
                alone.source_starts = sources;
            }
            assert_int_equal(rapt_block_forward(s->block, s->parameters, &alone,
                                                s->x + s->rows.starts[k] * width, y, NULL),
                             RAPT_OK);
            assert_memory_equal(y, s->y + s->rows.starts[k] * width,
                                (size_t)(starts[1] * width) * sizeof *y);
        }
        end(&one), end(&more);
    }
}

/* Backward must drop what forward dropped: it must give the slope of the sum of y along a
   direction. */
static void test_dropout(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, &small_configs[0], 2);
    t.encoder.rows.dropout = t.encoder.rows.attention_dropout = t.encoder.rows.ffn_dropout = 0.3f;
    t.encoder.rows.seed = 5;
    int size = SOURCES * t.config.width;
    float first[CAPACITY], above[CAPACITY], below[CAPACITY], x[CAPACITY];
    forward(&t, 1);
    memcpy(first, t.encoder.y, sizeof first), memcpy(x, t.encoder.x, sizeof x);
    forward(&t, 0);
    assert_memory_not_equal(first, t.encoder.y, (size_t)size * sizeof *first);
    for (int i = 0; i < size; i++) t.encoder.dout[i] = small_uniform(8, (uint64_t)i);
    forward(&t, 1);
    assert_memory_equal(first, t.encoder.y, (size_t)size * sizeof *first);
    side_backward(&t, &t.encoder);
    double wanted = 0, slope = 0, h = 1e-3;
    for (int i = 0; i < size; i++) wanted += (double)t.encoder.dx[i] * (i % 3 ? 1 : -1);
    for (int i = 0; i < size; i++) t.encoder.x[i] = (float)((double)x[i] + h * (i % 3 ? 1 : -1));
    side_forward(&t, &t.encoder);
    memcpy(above, t.encoder.y, sizeof above);
    for (int i = 0; i < size; i++) t.encoder.x[i] = (float)((double)x[i] - h * (i % 3 ? 1 : -1));
    side_forward(&t, &t.encoder);
    memcpy(below, t.encoder.y, sizeof below);
    for (int i = 0; i < size; i++)
        slope += ((double)above[i] - (double)below[i]) / (2 * h) * (double)t.encoder.dout[i];
    assert_true(fabs(slope - wanted) <= 1e-2 * (1 + fabs(wanted)));
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_of_models),
        cmocka_unit_test(test_any_threads_and_batch),
        cmocka_unit_test(test_dropout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
