/* halves.c - a model in 16 bits gives the same bits as a model in floats whose matrices were
   rounded to 16 bits, for all configurations, numbers of threads and instruction sets. */
#include "generate/small_session.h"

#include <rapt/precision.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_equal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
