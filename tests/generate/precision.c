/* precision.c - models in 16 and 8 bits. */
#define _GNU_SOURCE /* syscall, in tiles.h */
#include "generate/small_session.h"

#include "oracle/op.h"
#include "oracle/transformer.h"
#include "skips.h"
#include "tiles.h"

#include <rapt/precision.h>
#include <rapt/train.h>

/* ---- halves: a model in 16 bits gives the same bits as a model in floats whose matrices were
   rounded to 16 bits, for all configurations, numbers of threads and instruction sets. ---- */

enum { BATCH = 5 };
static const int source_lengths[] = {5, 1, 12, 0, 3}, target_lengths[] = {7, 12, 1, 4, 0};
static const rapt_precision precisions[] = {RAPT_PRECISION_BF16, RAPT_PRECISION_F16};

static void convert(rapt_model *model, rapt_precision precision)
{
    rapt_message why = {""};
    if (rapt_model_set_precision(model, precision, 2, &why)) fail_msg("%s", why.text);
}

/* Writes the logits of all rows, from `threads` threads. */
static void compute(const rapt_model *model, int threads, const rapt_tokens *source,
                    const rapt_tokens *target, float *logits)
{
    const rapt_config *c = rapt_model_config(model);
    rapt_session *session = session_of(model, &roomy, threads);
    const float *got = NULL;
    if (c->kind == RAPT_KIND_ENCODER_DECODER)
        assert_int_equal(rapt_encode(session, source, NULL, NULL), RAPT_OK);
    else
        assert_int_equal(rapt_encode(session, &(rapt_tokens){.batch = target->batch}, NULL, NULL),
                         RAPT_OK);
    assert_int_equal(rapt_decode(session, target, &got, NULL), RAPT_OK);
    memcpy(logits, got,
           (size_t)target->starts[target->batch] * (size_t)c->target_vocab * sizeof *got);
    rapt_session_free(session);
}

static void check_config(const rapt_config *c, rapt_precision precision, uint64_t seed)
{
    rapt_model *halves = small_model(c, seed), *floats = small_model(c, seed);
    rapt_isa used = rapt_isa_used();
    struct small_batch from, to;
    convert(halves, precision);
    convert(floats, precision);
    convert(floats, RAPT_PRECISION_F32);
    small_fill(&from, c->source_vocab ? c->source_vocab : 1, source_lengths, BATCH, seed);
    small_fill(&to, c->target_vocab, target_lengths, BATCH, seed + 9);
    const rapt_tokens source = small_source(c, &from.tokens);
    size_t size = (size_t)to.tokens.starts[BATCH] * (size_t)c->target_vocab;
    float *want = calloc(size, sizeof *want), *got = calloc(size, sizeof *got);
    for (int isa = 0; rapt_isa_name((rapt_isa)isa); isa++) {
        if (rapt_isa_use((rapt_isa)isa)) continue;
        compute(floats, 1, &source, &to.tokens, want);
        for (int threads = 1; threads <= 3; threads++) {
            compute(halves, threads, &source, &to.tokens, got);
            if (memcmp(got, want, size * sizeof *want) != 0)
                fail_msg("%s, %s, %d threads: other bits", rapt_precision_name(precision),
                         rapt_isa_name((rapt_isa)isa), threads);
        }
    }
    assert_int_equal(rapt_isa_use(used), RAPT_OK);
    free(want), free(got);
    rapt_model_free(halves);
    rapt_model_free(floats);
}

static void test_equal(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(small_configs); i++)
        for (int p = 0; p < COUNT(precisions); p++)
            if (small_configs[i].kind != RAPT_KIND_ENCODER_ONLY)
                check_config(&small_configs[i], precisions[p], (uint64_t)i + 40);
}

/* ---- quantized: a model in 8 bits agrees with the definition, in which every matrix is quantized
   and multiplies quantized rows; no bit depends on threads, instruction set, batch, or the number
   of tokens per call; and what needs floats is refused. ---- */

static void quantize(rapt_model *model)
{
    rapt_message why = {""};
    if (rapt_model_set_precision(model, RAPT_PRECISION_INT8, 2, &why)) fail_msg("%s", why.text);
}

static rapt_model *quantized_model(const rapt_config *c, uint64_t seed)
{
    rapt_model *model = small_model(c, seed);
    quantize(model);
    return model;
}

/* ---- parameters ---- */

/* Whether a parameter is a matrix that multiplies rows, or a table of embeddings. */
static bool is_matrix(const char *name)
{
    static const char *const suffixes[] = {"qkv.weight",
                                           "out.weight",
                                           "q.weight",
                                           "kv.weight",
                                           "in.weight",
                                           "input.weight",
                                           "forget.weight",
                                           "source.weight",
                                           "embedding.weight",
                                           "output.weight",
                                           "pooler.weight",
                                           "gate.weight",
                                           "key_up.weight",
                                           "value_up.weight",
                                           "query_up.weight",
                                           "rate.weight",
                                           "distances.key.weight",
                                           "distances.query.weight"};
    size_t length = strlen(name);
    for (int i = 0; i < COUNT(suffixes); i++) {
        size_t n = strlen(suffixes[i]);
        if (length >= n && strcmp(name + length - n, suffixes[i]) == 0 && !strstr(name, "score."))
            return true;
    }
    return false;
}

/* Checks that rows of a matrix are what they are quantized to, and that others are unchanged. */
static void check_tensor(const rapt_model *before, const rapt_model *after, int i)
{
    rapt_tensor t = rapt_model_tensor(after, i);
    float *old = small_read(before, i), *new = small_read(after, i), scale;
    int *q = malloc(sizeof *q * (size_t)t.columns);
    for (int r = 0; r < t.rows; r++) {
        const float *from = old + r * t.columns, *to = new + r *t.columns;
        oracle_quantize(t.columns, from, q, &scale);
        for (int k = 0; k < t.columns; k++)
            if (to[k] != (is_matrix(t.name) ? (float)q[k] * scale : from[k]))
                fail_msg("%s[%d][%d] is %g, was %g", t.name, r, k, (double)to[k], (double)from[k]);
    }
    free(old), free(new), free(q);
}

static void test_parameters(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(small_configs); i++) {
        rapt_model *before = small_model(&small_configs[i], 7);
        rapt_model *after = quantized_model(&small_configs[i], 7);
        for (int t = 0; t < rapt_model_tensors(before); t++) check_tensor(before, after, t);
        assert_int_equal(rapt_model_parameters(before), rapt_model_parameters(after));
        assert_int_equal(rapt_model_check(after, NULL), RAPT_OK);
        quantize(after); /* does nothing */
        for (int t = 0; t < rapt_model_tensors(before); t++) check_tensor(before, after, t);
        rapt_model_free(before);
        rapt_model_free(after);
    }
}

static void test_memory(void **state)
{
    (void)state;
    rapt_config c = larger;
    c.width = 192, c.ffn_width = 384;
    rapt_model *model = small_model(&c, 9);
    size_t before = rapt_model_bytes(model);
    quantize(model);
    assert_true(rapt_model_bytes(model) < before * 3 / 10);
    rapt_model_free(model);
}

/* rapt_model_check names a parameter of which a row holds a NaN. */
static void test_not_finite(void **state)
{
    (void)state;
    rapt_model *model = small_model(&larger, 10);
    int index = rapt_model_find(model, "encoder.layers.1.self_attn.qkv.weight");
    float *data = small_read(model, index);
    rapt_message why = {""};
    data[5] = NAN;
    assert_int_equal(rapt_model_write(model, index, data, NULL), RAPT_OK);
    quantize(model);
    assert_int_equal(rapt_model_check(model, &why), RAPT_NOT_FINITE);
    assert_non_null(strstr(why.text, "encoder.layers.1.self_attn.qkv.weight"));
    free(data);
    rapt_model_free(model);
}

static void test_refusals(void **state)
{
    (void)state;
    const rapt_train_limits limits = {.size = sizeof limits};
    rapt_model *model = quantized_model(&larger, 11);
    rapt_trainer *trainer = NULL;
    rapt_train_options options;
    rapt_message why = {""};
    float *data = small_read(model, 0);
    assert_int_equal(rapt_model_write(model, 0, data, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "int8; it can be written to only in f32"));
    rapt_train_options_default(&options, sizeof options);
    assert_int_equal(rapt_trainer_create(&trainer, model, &options, &limits, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "it can be trained only in f32"));
    assert_int_equal(rapt_model_set_precision(model, RAPT_PRECISION_F32, -1, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "threads"));
    free(data);
    rapt_model_free(model);
}

/* A sum of this many products of two bytes may exceed 32 bits. */
static void test_deep_rows(void **state)
{
    (void)state;
    const rapt_config deep = {.size = sizeof deep,
                              .source_vocab = 3,
                              .target_vocab = 3,
                              .positions = 2,
                              .width = 2,
                              .heads = 1,
                              .ffn_width = 133145,
                              .encoder_layers = 1,
                              .decoder_layers = 1};
    rapt_model *model = NULL;
    rapt_message why = {""};
    assert_int_equal(rapt_model_create(&model, &deep, 1, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_model_set_precision(model, RAPT_PRECISION_INT8, 1, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "feedforward.out.weight has rows of 133145"));
    rapt_model_free(model);
}

/* ---- the definition ---- */

static struct oracle_sentence sentence(const rapt_tokens *t, int b)
{
    return (struct oracle_sentence){.number = b,
                                    .first = t->starts[b],
                                    .count = t->starts[b + 1] - t->starts[b],
                                    .ids = t->ids + t->starts[b]};
}

struct tally {
    int rows, near, far; /* rows of logits; those that agree, and that differ by more than 5 % */
};

static void compare_row(const float *got, const double *wanted, int n, struct tally *to)
{
    double size = 0, error = 0;
    for (int i = 0; i < n; i++) {
        size = fmax(size, fabs(wanted[i]));
        error = fmax(error, fabs((double)got[i] - wanted[i]));
    }
    to->rows++;
    to->near += error <= 2e-5 * (1 + size);
    to->far += !(error <= 0.05 * (1 + size));
}

/* Compares the logits of every sentence with the oracle's. */
static struct tally compare(struct oracle_model *oracle, const rapt_config *c, const float *logits,
                            const rapt_tokens *source, const rapt_tokens *target)
{
    struct tally tally = {0};
    for (int b = 0; b < BATCH; b++) {
        struct oracle_sentence s = sentence(source, b), t = sentence(target, b);
        bool both = c->kind == RAPT_KIND_ENCODER_DECODER;
        double *states = calloc((size_t)(s.count * c->width) + 1, sizeof *states);
        double *wanted = calloc((size_t)(t.count * c->target_vocab) + 1, sizeof *wanted);
        if (both) oracle_encode(oracle, NULL, &s, states);
        oracle_decode(oracle, NULL, both ? &s : NULL, states, &t, wanted, NULL);
        for (int r = 0; r < t.count; r++)
            compare_row(logits + (t.first + r) * c->target_vocab, wanted + r * c->target_vocab,
                        c->target_vocab, &tally);
        free(states), free(wanted);
    }
    return tally;
}

/* A float next to the middle of two integers may become the other one than the oracle's double, so
   that a few rows differ. Most rows of floats differ from those of bytes. */
static void test_definition(void **state)
{
    struct tally bytes = {0}, floats = {0};
    (void)state;
    for (int i = 0; i < COUNT(small_configs); i++) {
        const rapt_config *c = &small_configs[i];
        if (c->kind == RAPT_KIND_ENCODER_ONLY) continue;
        rapt_model *model = quantized_model(c, (uint64_t)i + 20);
        struct oracle_model *oracle = oracle_model_read(model);
        rapt_session *session = session_of(model, &roomy, 2);
        struct small_batch from, to;
        const float *logits = NULL;
        small_fill(&from, c->source_vocab ? c->source_vocab : 1, source_lengths, BATCH,
                   (uint64_t)i);
        small_fill(&to, c->target_vocab, target_lengths, BATCH, (uint64_t)i + 9);
        const rapt_tokens source = small_source(c, &from.tokens);
        assert_int_equal(rapt_encode(session, &source, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_decode(session, &to.tokens, &logits, NULL), RAPT_OK);
        for (int int8 = 0; int8 < 2; int8++) {
            oracle->int8 = int8;
            struct tally t = compare(oracle, c, logits, &from.tokens, &to.tokens);
            struct tally *sum = int8 ? &bytes : &floats;
            sum->rows += t.rows, sum->near += t.near, sum->far += t.far;
        }
        oracle_model_free(oracle);
        rapt_session_free(session);
        rapt_model_free(model);
    }
    print_message("%d of %d rows agree, %d with floats\n", bytes.near, bytes.rows, floats.near);
    assert_true(bytes.rows > 100 && bytes.near >= bytes.rows * 9 / 10 && bytes.far == 0);
    assert_true(floats.near < floats.rows / 4);
}

/* A classifier with types of tokens and a pooler, which is quantized too. */
static void test_pooler(void **state)
{
    struct tally tally = {0};
    rapt_config c = larger;
    (void)state;
    c.kind = RAPT_KIND_ENCODER_ONLY, c.decoder_layers = 0, c.tie = RAPT_TIE_NONE;
    c.pooling = RAPT_POOLING_FIRST, c.pooler = 1, c.token_types = 2;
    rapt_model *before = small_model(&c, 12), *model = quantized_model(&c, 12);
    struct oracle_model *oracle = oracle_model_read(model);
    rapt_session *session = session_of(model, &roomy, 2);
    struct small_batch from;
    const float *logits;
    for (int t = 0; t < rapt_model_tensors(before); t++) check_tensor(before, model, t);
    small_fill(&from, 2 * c.source_vocab, source_lengths, BATCH, 5);
    assert_int_equal(rapt_classify(session, &from.tokens, &logits, NULL), RAPT_OK);
    oracle->int8 = 1;
    for (int b = 0; b < BATCH; b++) {
        struct oracle_sentence s = sentence(&from.tokens, b);
        double *wanted = calloc((size_t)c.target_vocab, sizeof *wanted);
        oracle_classify(oracle, NULL, &s, wanted);
        if (s.count) compare_row(logits + b * c.target_vocab, wanted, c.target_vocab, &tally);
        free(wanted);
    }
    assert_true(tally.rows == 4 && tally.near >= 3 && tally.far == 0);
    oracle_model_free(oracle);
    rapt_session_free(session);
    rapt_model_free(before);
    rapt_model_free(model);
}

/* ---- equal bits ---- */

static const int larger_source[] = {70, 3, 33, 17, 1, 16}, larger_target[] = {60, 80, 1, 20, 33, 2};

/* Returns the logits of the batch. */
static float *logits_of(const rapt_model *model, int threads, const struct small_batch *source,
                        const struct small_batch *target)
{
    rapt_session *session = session_of(model, &larger_limits, threads);
    const float *logits;
    size_t size = (size_t)target->tokens.starts[target->tokens.batch] * 90 * sizeof(float);
    assert_int_equal(rapt_encode(session, &source->tokens, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_decode(session, &target->tokens, &logits, NULL), RAPT_OK);
    float *copy = small_copy(logits, size);
    rapt_session_free(session);
    return copy;
}

static void test_threads_and_machines(void **state)
{
    static const int threads[] = {1, 2, 3, 7};
    rapt_isa sets[EQUAL_SETS], best = rapt_isa_used();
    int count = equal_sets("generate/precision, instruction sets", sets);
    rapt_model *model = quantized_model(&larger, 3);
    struct small_batch source, target;
    float *first = NULL;
    (void)state;
    small_fill(&source, 70, larger_source, LARGER_BATCH, 1);
    small_fill(&target, 90, larger_target, LARGER_BATCH, 2);
    size_t size = (size_t)target.tokens.starts[LARGER_BATCH] * 90 * sizeof(float);
    for (int s = 0; s < count; s++)
        for (int t = 0; t < COUNT(threads); t++) {
            assert_int_equal(rapt_isa_use(sets[s]), RAPT_OK);
            float *logits = logits_of(model, threads[t], &source, &target);
            if (first) assert_memory_equal(logits, first, size);
            free(first);
            first = logits;
        }
    free(first);
    assert_int_equal(rapt_isa_use(best), RAPT_OK);
    rapt_model_free(model);
}

/* A sentence alone, token by token, has the bits that it has in a batch at once. */
static void test_alone(void **state)
{
    rapt_model *model = quantized_model(&larger, 4);
    struct small_batch source, target;
    (void)state;
    small_fill(&source, 70, larger_source, LARGER_BATCH, 1);
    small_fill(&target, 90, larger_target, LARGER_BATCH, 2);
    float *all = logits_of(model, 2, &source, &target);
    rapt_session *session = session_of(model, &larger_limits, 1);
    for (int b = 0; b < LARGER_BATCH; b++) {
        int first = source.tokens.starts[b], at = target.tokens.starts[b];
        const int starts[] = {0, source.tokens.starts[b + 1] - first}, one[] = {0, 1};
        const rapt_tokens alone = {1, source.tokens.ids + first, starts, NULL};
        assert_int_equal(rapt_encode(session, &alone, NULL, NULL), RAPT_OK);
        for (; at < target.tokens.starts[b + 1]; at++) {
            const rapt_tokens token = {1, target.tokens.ids + at, one, NULL};
            const float *logits;
            assert_int_equal(rapt_decode(session, &token, &logits, NULL), RAPT_OK);
            assert_memory_equal(logits, all + at * 90, 90 * sizeof *all);
        }
    }
    free(all);
    rapt_session_free(session);
    rapt_model_free(model);
}

int main(void)
{
    ask_for_tiles();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal),    cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_definition),
        cmocka_unit_test(test_pooler),   cmocka_unit_test(test_threads_and_machines),
        cmocka_unit_test(test_alone),    cmocka_unit_test(test_deep_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
