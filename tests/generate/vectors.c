/* vectors.c - models that read vectors: values and gradients agree with the definition, with the
   same bits for any threads, batch and pieces; they are saved and loaded; every function with a
   source takes vectors; a model learns to read them. */
#include "generate/small_session.h"

#include "oracle/transformer.h"

enum { BATCH = 3, MAX = 12, CAPACITY = 512 };
static const int source_lengths[] = {3, 1, 4}, target_lengths[] = {4, 5, 2}, ones[] = {1, 1, 1};

/* clang-format off */
static const rapt_config configs[] = {
    {.size = sizeof(rapt_config), .source_width = 5, .target_vocab = 9, .positions = 12, .width = 8, .heads = 2, .ffn_width = 6,
     .encoder_layers = 1, .decoder_layers = 1},
    {.size = sizeof(rapt_config), .source_width = 17, .target_vocab = 7, .positions = 12, .width = 12, .heads = 3, .ffn_width = 0,
     .encoder_layers = 1, .decoder_layers = 1, .tie = RAPT_TIE_ALL, .norm_order = RAPT_NORM_ORDER_PRE,
     .position = RAPT_POSITION_LEARNED, .output_bias = 1},
    {.size = sizeof(rapt_config), .kind = RAPT_KIND_ENCODER_ONLY, .source_width = 1, .target_vocab = 5, .positions = 12, .width = 9,
     .heads = 3, .ffn_width = 4, .encoder_layers = 2, .position = RAPT_POSITION_NONE, .tie = RAPT_TIE_ALL},
    {.size = sizeof(rapt_config), .kind = RAPT_KIND_ENCODER_ONLY, .source_width = 6, .target_vocab = 5, .positions = 12, .width = 6,
     .heads = 2, .ffn_width = 4, .encoder_layers = 1, .pooling = RAPT_POOLING_MEAN, .position = RAPT_POSITION_LEARNED,
     .rotary = RAPT_ROTARY_NONE, .norm_type = RAPT_NORM_TYPE_RMS},
};
/* clang-format on */

struct vectors {
    float x[CAPACITY];
    int starts[LARGER_BATCH + 1];
    rapt_tokens tokens;
};

static void vectors_fill(struct vectors *v, int width, const int *lengths, int batch, uint64_t seed)
{
    v->starts[0] = 0;
    for (int b = 0; b < batch; b++) v->starts[b + 1] = v->starts[b] + lengths[b];
    assert_true(v->starts[batch] * width <= CAPACITY);
    for (int i = 0; i < v->starts[batch] * width; i++) v->x[i] = small_uniform(seed, (uint64_t)i);
    v->tokens = (rapt_tokens){.batch = batch, .vectors = v->x, .starts = v->starts};
}

/* Returns sequence b by itself. */
static rapt_tokens vectors_one(const struct vectors *v, int width, int b, int starts[2])
{
    starts[0] = 0, starts[1] = v->starts[b + 1] - v->starts[b];
    return (rapt_tokens){.batch = 1, .vectors = v->x + v->starts[b] * width, .starts = starts};
}

static const int *target_lengths_of(const rapt_config *c)
{
    if (c->pooling) return ones;
    return c->kind == RAPT_KIND_ENCODER_ONLY ? source_lengths : target_lengths;
}

/* ---- gradients and loss ---- */

struct trial {
    const rapt_config *config;
    rapt_train_options options;
    struct oracle_drop drop;
    rapt_model *model;
    rapt_trainer *trainer;
    struct oracle_model *oracle;
    struct vectors source;
    struct small_batch target;
};

static double loss(const struct trial *t)
{
    return oracle_batch_loss(t->oracle, &t->drop, &t->source.tokens, &t->target.tokens,
                             (double)t->options.label_smoothing, NULL);
}

static void compare_tensor(const struct trial *t, int index)
{
    const struct oracle_tensor *x = &t->oracle->tensors[index];
    size_t size = (size_t)x->rows * (size_t)x->columns;
    float *got = malloc(size * sizeof *got);
    const double h = 1e-5;
    double max = 0;
    assert_int_equal(rapt_trainer_read_gradient(t->trainer, index, got, NULL), RAPT_OK);
    for (size_t i = 0; i < size; i++) max = fmax(max, fabs((double)got[i]));
    for (size_t i = (size_t)index % 3; i < size; i += 3) {
        double before = x->data[i], above, below;
        x->data[i] = before + h, above = loss(t);
        x->data[i] = before - h, below = loss(t);
        x->data[i] = before;
        double wanted = (above - below) / (2 * h);
        if (!(fabs((double)got[i] - wanted) <= 5e-6 * (1 + max)))
            fail_msg("%s[%zu]: got %.9g, wanted %.9g", x->name, i, (double)got[i], wanted);
    }
    free(got);
}

static void test_gradients(void **state)
{
    (void)state;
    const rapt_train_limits limits = {.size = sizeof limits,
                                      .batch = BATCH,
                                      .source_tokens = 8,
                                      .target_tokens = 11,
                                      .threads = 2};
    for (int i = 0; i < 2 * COUNT(configs); i++) {
        struct trial t = {.config = &configs[i / 2]};
        rapt_report report = {.size = sizeof report};
        rapt_message why = {""};
        rapt_train_options_default(&t.options, sizeof t.options);
        t.options.dropout = i % 2 ? 0.3f : 0;
        t.drop = (struct oracle_drop){t.options.dropout, 0, 0, t.options.seed, 0};
        t.model = small_model(t.config, (uint64_t)i + 3);
        t.oracle = oracle_model_read(t.model);
        vectors_fill(&t.source, t.config->source_width, source_lengths, BATCH, 7);
        small_fill(&t.target, t.config->target_vocab, target_lengths_of(t.config), BATCH, 8);
        if (rapt_trainer_create(&t.trainer, t.model, &t.options, &limits, NULL, &why) ||
            rapt_train_gradient(t.trainer, &t.source.tokens, &t.target.tokens, &report, &why))
            fail_msg("%s", why.text);
        assert_true(fabs(report.loss - loss(&t)) <= 1e-5 * loss(&t));
        for (int j = 0; j < t.oracle->count; j++) compare_tensor(&t, j);
        rapt_trainer_free(t.trainer);
        oracle_model_free(t.oracle);
        rapt_model_free(t.model);
    }
}

/* ---- inference ---- */

static void near(const float *got, const double *wanted, int n)
{
    for (int i = 0; i < n; i++)
        if (!(fabs((double)got[i] - wanted[i]) <= 1e-5 * (1 + fabs(wanted[i]))))
            fail_msg("element %d of %d: got %.9g, wanted %.9g", i, n, (double)got[i], wanted[i]);
}

static rapt_session *any_session(const rapt_model *model, int threads)
{
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = LARGER_BATCH,
                                .source_tokens = 64,
                                .target_length = MAX,
                                .target_tokens = 64};
    return session_of(model, &limits, threads);
}

static void test_definition(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(configs); i++) {
        const rapt_config *c = &configs[i];
        rapt_model *model = small_model(c, (uint64_t)i + 40);
        struct oracle_model *oracle = oracle_model_read(model);
        rapt_session *session = any_session(model, 2);
        struct vectors source;
        struct small_batch target;
        const float *states, *logits;
        bool decodes = c->kind == RAPT_KIND_ENCODER_DECODER;
        vectors_fill(&source, c->source_width, source_lengths, BATCH, 5);
        small_fill(&target, c->target_vocab, target_lengths, BATCH, 6);
        assert_int_equal(rapt_encode(session, &source.tokens, &states, NULL), RAPT_OK);
        if (decodes) assert_int_equal(rapt_decode(session, &target.tokens, &logits, NULL), RAPT_OK);
        for (int b = 0; b < BATCH; b++) {
            struct oracle_sentence s = {.number = b,
                                        .first = source.starts[b],
                                        .count = source_lengths[b],
                                        .vectors = source.x};
            struct oracle_sentence t = {.number = b,
                                        .first = target.starts[b],
                                        .count = target_lengths[b],
                                        .ids = target.ids + target.starts[b]};
            double wanted[MAX * 16], out[MAX * 16];
            oracle_encode(oracle, NULL, &s, wanted);
            near(states + s.first * c->width, wanted, s.count * c->width);
            if (!decodes) continue;
            oracle_decode(oracle, NULL, &s, wanted, &t, out, NULL);
            near(logits + t.first * c->target_vocab, out, t.count * c->target_vocab);
        }
        rapt_session_free(session);
        oracle_model_free(oracle);
        rapt_model_free(model);
    }
}

/* The encoder output is the same for single sequences, in groups, with other threads, and after
   loading. */
static void test_bits(void **state)
{
    (void)state;
    static const int lengths[LARGER_BATCH] = {30, 3, 12, 17, 1, 9};
    rapt_config c = larger;
    c.source_vocab = 0, c.source_width = 7, c.position = RAPT_POSITION_LEARNED;
    char path[256];
    rapt_model *model = small_model(&c, 31), *loaded = NULL;
    assert_int_equal(rapt_model_save(model, small_path(path, "vectors"), NULL, 0, NULL), RAPT_OK);
    assert_int_equal(rapt_model_load(&loaded, path, NULL, NULL), RAPT_OK);
    unlink(path);
    small_same_models(model, loaded);
    rapt_session *one = session_of(model, &larger_limits, 1);
    rapt_session *three = session_of(loaded, &larger_limits, 3);
    struct vectors source;
    const float *all, *alone;
    size_t row = (size_t)c.width * sizeof *all;
    vectors_fill(&source, c.source_width, lengths, LARGER_BATCH, 5);
    assert_int_equal(rapt_encode(one, &source.tokens, &all, NULL), RAPT_OK);
    assert_int_equal(rapt_encode(three, &source.tokens, &alone, NULL), RAPT_OK);
    assert_memory_equal(all, alone, row * (size_t)source.starts[LARGER_BATCH]);
    for (int b = 0; b < LARGER_BATCH; b++) {
        int starts[2];
        const rapt_tokens single = vectors_one(&source, c.source_width, b, starts);
        assert_int_equal(rapt_encode(three, &single, &alone, NULL), RAPT_OK);
        assert_memory_equal(alone, all + source.starts[b] * c.width, row * (size_t)lengths[b]);
    }
    rapt_session_free(one);
    rapt_session_free(three);
    rapt_model_free(model);
    rapt_model_free(loaded);
}

/* Vectors may have any bits, also those of invalid tokens; NULL is refused. */
static void test_refusals(void **state)
{
    (void)state;
    rapt_model *model = small_model(&configs[0], 1);
    rapt_session *session = any_session(model, 1);
    const int starts[] = {0, 2};
    const rapt_tokens none = (rapt_tokens){.batch = 1, .starts = starts};
    rapt_message why = {""};
    assert_int_equal(rapt_encode(session, &none, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, ".vectors is NULL"));
    const float negative[10] = {-1, -2, -3, INFINITY};
    const rapt_tokens any = (rapt_tokens){.batch = 1, .vectors = negative, .starts = starts};
    assert_int_equal(rapt_encode(session, &any, NULL, &why), RAPT_OK);
    const int32_t ids[] = {1, 2};
    const rapt_tokens tokens = {.batch = 1, .ids = ids, .starts = starts};
    assert_int_equal(rapt_encode(session, &tokens, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "source has ids, but must have vectors"));
    assert_int_equal(rapt_decode(session, &any, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "target has vectors, but must have ids"));
    rapt_session_free(session);
    rapt_model_free(model);
}

/* ---- learning ---- */

/* The task: each target token is the position of the largest element of a source vector. */
enum { WIDE = 6, ROWS = 4, BEGIN = 6, END = 7, LEARNED = 16, STEPS = 400 };

static void draw_task(uint64_t seed, struct vectors *source, struct small_batch *target)
{
    int lengths[LEARNED], framed[LEARNED];
    static int starts[LEARNED + 1];
    for (int b = 0; b < LEARNED; b++) {
        lengths[b] = 1 + (int)(small_random(seed, (uint64_t)b) % ROWS), framed[b] = lengths[b] + 2;
        starts[b + 1] = starts[b] + lengths[b];
    }
    for (int i = 0; i < starts[LEARNED] * WIDE; i++)
        source->x[i] = small_uniform(seed + 1, (uint64_t)i);
    source->tokens = (rapt_tokens){.batch = LEARNED, .vectors = source->x, .starts = starts};
    small_fill(target, END, framed, LEARNED, seed);
    for (int b = 0; b < LEARNED; b++) {
        int32_t *ids = target->ids + target->starts[b];
        ids[0] = BEGIN, ids[lengths[b] + 1] = END;
        for (int r = 0; r < lengths[b]; r++) {
            float *x = source->x + (starts[b] + r) * WIDE;
            ids[r + 1] = (int32_t)(small_random(seed + 2, (uint64_t)(starts[b] + r)) % WIDE);
            x[ids[r + 1]] += 2;
        }
    }
}

static void test_learning(void **state)
{
    (void)state;
    const rapt_config c = {.size = sizeof c,
                           .source_width = WIDE,
                           .target_vocab = END + 1,
                           .positions = MAX,
                           .width = 32,
                           .heads = 4,
                           .ffn_width = 32,
                           .encoder_layers = 1,
                           .decoder_layers = 1,
                           .norm_order = RAPT_NORM_ORDER_PRE};
    rapt_model *model;
    rapt_trainer *trainer;
    rapt_train_options o;
    struct vectors source;
    struct small_batch target;
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    rapt_train_options_default(&o, sizeof o);
    o.rate = 0.01f, o.warmup = 40, o.dropout = 0;
    const rapt_train_limits limits = {.size = sizeof limits,
                                      .batch = LEARNED,
                                      .source_tokens = LEARNED * ROWS,
                                      .target_tokens = LEARNED * (ROWS + 2),
                                      .threads = 2};
    assert_int_equal(rapt_model_create(&model, &c, 3, NULL, NULL), RAPT_OK);
    if (rapt_trainer_create(&trainer, model, &o, &limits, NULL, &why)) fail_msg("%s", why.text);
    for (int step = 0; step < STEPS; step++) {
        draw_task(1000 + 3 * (uint64_t)step, &source, &target);
        if (rapt_train_gradient(trainer, &source.tokens, &target.tokens, NULL, &why))
            fail_msg("%s", why.text);
        assert_int_equal(rapt_train_step(trainer, NULL, NULL), RAPT_OK);
    }
    draw_task(1, &source, &target);
    assert_int_equal(rapt_train_evaluate(trainer, &source.tokens, &target.tokens, &report, NULL),
                     RAPT_OK);
    print_message("%lld of %lld tokens of unseen vectors right\n", report.correct, report.tokens);
    assert_true((double)report.correct >= 0.95 * (double)report.tokens);
    rapt_session *session = any_session(model, 1);
    rapt_generate_options g;
    int32_t ids[MAX];
    int count, starts[] = {0, source.tokens.starts[1]};
    const rapt_generate_outputs out = {.size = sizeof out, .ids = ids, .counts = &count};
    const rapt_tokens first = (rapt_tokens){.batch = 1, .vectors = source.x, .starts = starts};
    rapt_generate_options_default(&g, sizeof g, BEGIN, END);
    assert_int_equal(rapt_generate(session, &first, &g, &out, NULL), RAPT_OK);
    assert_int_equal(count, starts[1]);
    assert_memory_equal(ids, target.ids + 1, sizeof *ids * (size_t)count);
    rapt_session_free(session);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients), cmocka_unit_test(test_definition),
        cmocka_unit_test(test_bits),      cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_learning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
