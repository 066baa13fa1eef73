/* bf16.c - sessions that cache keys and values in bf16 or multiply in bf16: the same bits for any
   number of threads, any instruction set, any batch and any number of tokens per call, and results
   near those in floats; less memory for caches; weights in bf16 and floats that were rounded. */
#include "generate/small_session.h"

#include <rapt/generate.h>

enum { BATCH = 5 };
static const int source_lengths[BATCH] = {5, 1, 12, 0, 3}, target_lengths[BATCH] = {7, 12, 1, 4, 0};

static rapt_limits limits_of(bool cache, rapt_products products)
{
    rapt_limits l = roomy;
    l.bf16_cache = cache, l.products = products;
    return l;
}

static bool decodes(const rapt_config *c)
{
    return c->kind != RAPT_KIND_ENCODER_ONLY;
}

static void begin(rapt_session *session, const rapt_config *c, const rapt_tokens *source)
{
    const rapt_tokens none = {.batch = source->batch};
    bool both = c->kind == RAPT_KIND_ENCODER_DECODER;
    assert_int_equal(rapt_encode(session, both ? source : &none, NULL, NULL), RAPT_OK);
}

/* Decodes tokens [from, end) of every target, if there are so many, and writes their logits to rows
   target->starts[b] + from and so on. */
static void decode_part(rapt_session *session, const rapt_tokens *target, int from, int end,
                        int vocab, float *logits)
{
    int32_t ids[64];
    int starts[BATCH + 1] = {0};
    for (int b = 0; b < BATCH; b++) {
        int count = target->starts[b + 1] - target->starts[b];
        starts[b + 1] = starts[b];
        for (int i = from; i < end && i < count; i++)
            ids[starts[b + 1]++] = target->ids[target->starts[b] + i];
    }
    const rapt_tokens part = {.batch = BATCH, .ids = ids, .starts = starts};
    const float *got = NULL;
    if (starts[BATCH] == 0) return;
    assert_int_equal(rapt_decode(session, &part, &got, NULL), RAPT_OK);
    for (int b = 0; b < BATCH; b++)
        if (starts[b + 1] > starts[b])
            memcpy(logits + (target->starts[b] + from) * vocab, got + starts[b] * vocab,
                   (size_t)((starts[b + 1] - starts[b]) * vocab) * sizeof *got);
}

/* Computes the logits of all rows, `step` tokens of each target at a time. */
static void compute(const rapt_model *model, const rapt_limits *limits, int threads, int step,
                    const rapt_tokens *source, const rapt_tokens *target, float *logits)
{
    const rapt_config *c = rapt_model_config(model);
    rapt_session *session = session_of(model, limits, threads);
    begin(session, c, source);
    for (int i = 0; i < limits->target_length; i += step)
        decode_part(session, target, i, i + step, c->target_vocab, logits);
    rapt_session_free(session);
}

/* Returns true if the logits differ from those in floats; they must not differ much. */
static bool compare(const rapt_config *c, const rapt_limits *limits, uint64_t seed)
{
    rapt_model *model = small_model(c, seed);
    rapt_isa used = rapt_isa_used();
    struct small_batch from, to;
    small_fill(&from, c->source_vocab ? c->source_vocab : 1, source_lengths, BATCH, seed);
    small_fill(&to, c->target_vocab, target_lengths, BATCH, seed + 9);
    const rapt_tokens source = small_source(c, &from.tokens);
    size_t size = (size_t)to.tokens.starts[BATCH] * (size_t)c->target_vocab;
    float *floats = calloc(size, sizeof *floats), *want = calloc(size, sizeof *want);
    float *got = calloc(size, sizeof *got), most = 0, far = 0;
    compute(model, &roomy, 1, 12, &source, &to.tokens, floats);
    for (int isa = 0; rapt_isa_name((rapt_isa)isa); isa++) {
        if (rapt_isa_use((rapt_isa)isa)) continue;
        compute(model, limits, 1, 12, &source, &to.tokens, want);
        for (int threads = 1; threads <= 3; threads++)
            for (int step = 1; step <= 12; step += 4) {
                compute(model, limits, threads, step, &source, &to.tokens, got);
                if (memcmp(got, want, size * sizeof *want) != 0)
                    fail_msg("%s, %d threads, %d at a time: other bits",
                             rapt_isa_name((rapt_isa)isa), threads, step);
            }
    }
    assert_int_equal(rapt_isa_use(used), RAPT_OK);
    for (size_t i = 0; i < size; i++) {
        most = fmaxf(most, fabsf(floats[i]));
        far = fmaxf(far, fabsf(floats[i] - want[i]));
    }
    assert_true(far <= 0.05f * most);
    free(floats), free(want), free(got);
    rapt_model_free(model);
    return far > 0;
}

static void test_bits(void **state)
{
    (void)state;
    static const struct {
        bool cache;
        rapt_products products;
    } kinds[] = {{true, RAPT_PRODUCTS_BUILTIN},
                 {false, RAPT_PRODUCTS_BF16},
                 {true, RAPT_PRODUCTS_BF16},
                 {false, RAPT_PRODUCTS_BF16_TILES}};
    for (int n = 0; n < COUNT(kinds); n++) {
        const rapt_limits limits = limits_of(kinds[n].cache, kinds[n].products);
        int differ = 0, decoders = 0;
        for (int i = 0; i < COUNT(small_configs); i++)
            if (decodes(&small_configs[i])) {
                decoders++;
                differ += compare(&small_configs[i], &limits, (uint64_t)i + 70);
            }
        assert_true(differ >= decoders * 9 / 10);
    }
}

/* Weights that are stored in bf16 give the same bits as floats that were rounded to bf16. */
static void test_weights(void **state)
{
    const rapt_limits limits = limits_of(false, RAPT_PRODUCTS_BF16);
    (void)state;
    for (int i = 0; i < COUNT(small_configs); i++) {
        const rapt_config *c = &small_configs[i];
        if (!decodes(c)) continue;
        rapt_model *floats = small_model(c, 8), *halves = small_model(c, 8);
        struct small_batch from, to;
        small_fill(&from, c->source_vocab ? c->source_vocab : 1, source_lengths, BATCH, 1);
        small_fill(&to, c->target_vocab, target_lengths, BATCH, 2);
        const rapt_tokens source = small_source(c, &from.tokens);
        size_t size = (size_t)to.tokens.starts[BATCH] * (size_t)c->target_vocab;
        float *want = calloc(size, sizeof *want), *got = calloc(size, sizeof *got);
        assert_int_equal(rapt_model_set_precision(halves, RAPT_PRECISION_BF16, 1, NULL), RAPT_OK);
        assert_int_equal(rapt_model_set_precision(floats, RAPT_PRECISION_BF16, 1, NULL), RAPT_OK);
        assert_int_equal(rapt_model_set_precision(floats, RAPT_PRECISION_F32, 1, NULL), RAPT_OK);
        compute(floats, &limits, 2, 12, &source, &to.tokens, want);
        compute(halves, &limits, 2, 12, &source, &to.tokens, got);
        assert_memory_equal(got, want, size * sizeof *want);
        free(want), free(got);
        rapt_model_free(floats);
        rapt_model_free(halves);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    rapt_model *model = small_model(&larger, 2);
    rapt_session *session = NULL;
    rapt_limits limits = roomy;
    rapt_message why = {""};
    static const rapt_products refused[] = {RAPT_PRODUCTS_OPENBLAS, RAPT_PRODUCTS_AUTO,
                                            (rapt_products)-1};
    for (int i = 0; i < COUNT(refused); i++) {
        limits.products = refused[i];
        assert_int_equal(rapt_session_create(&session, model, &limits, NULL, &why),
                         RAPT_BAD_ARGUMENT);
        assert_non_null(strstr(why.text, "limits.products"));
    }
    rapt_model_free(model);
}

/* A target alone has the bits that it has in a batch. */
static void test_batch(void **state)
{
    (void)state;
    rapt_model *model = small_model(&larger, 3);
    const rapt_limits limits = limits_of(true, RAPT_PRODUCTS_BF16);
    struct small_batch from, to;
    small_fill(&from, larger.source_vocab, source_lengths, BATCH, 5);
    small_fill(&to, larger.target_vocab, target_lengths, BATCH, 6);
    size_t row = (size_t)larger.target_vocab;
    float *all = calloc((size_t)to.tokens.starts[BATCH] * row, sizeof *all);
    compute(model, &limits, 2, 12, &from.tokens, &to.tokens, all);
    for (int b = 0; b < BATCH; b++) {
        rapt_session *session = session_of(model, &limits, 1);
        int s = from.tokens.starts[b], t = to.tokens.starts[b], rows = to.tokens.starts[b + 1] - t;
        const int sources[] = {0, from.tokens.starts[b + 1] - s}, targets[] = {0, rows};
        const float *got = NULL;
        begin(session, &larger,
              &(rapt_tokens){.batch = 1, .ids = from.tokens.ids + s, .starts = sources});
        const rapt_tokens one = {.batch = 1, .ids = to.tokens.ids + t, .starts = targets};
        if (rows > 0) {
            assert_int_equal(rapt_decode(session, &one, &got, NULL), RAPT_OK);
            assert_memory_equal(got, all + (size_t)t * row, (size_t)rows * row * sizeof *got);
        }
        rapt_session_free(session);
    }
    free(all);
    rapt_model_free(model);
}

/* The caches of a beam search with long targets take half the memory. */
static void test_memory(void **state)
{
    (void)state;
    rapt_config c = larger;
    c.positions = 2000, c.width = 192;
    rapt_model *model = small_model(&c, 4);
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 16,
                          .beams = 8,
                          .source_tokens = 2000,
                          .target_length = 2000,
                          .threads = 1};
    size_t floats = rapt_session_bytes(model, &limits);
    limits.bf16_cache = 1;
    size_t bf16 = rapt_session_bytes(model, &limits);
    assert_true(bf16 > 0 && bf16 < floats / 10 * 6);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits), cmocka_unit_test(test_weights),
                                       cmocka_unit_test(test_refusals),
                                       cmocka_unit_test(test_batch), cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
