/* alignment.c - the alignments of a search have the bits of a forced decode: the output is decoded
   in another session, whose cross-attention is read. */
#include "generate/small_search.h"

enum { SOURCES = 3, BEAMS = 3, LENGTH = 9, LONGEST = 12 };

static const rapt_config variants[] = {
    {.size = sizeof *variants},
    {.size = sizeof *variants, .cross_score = RAPT_SCORE_LOCATION_AWARE},
    {.size = sizeof *variants, .cross_score = RAPT_SCORE_COVERAGE},
    {.size = sizeof *variants, .cross_score = RAPT_SCORE_ADDITIVE},
    {.size = sizeof *variants, .cross_locality = RAPT_LOCALITY_LOCAL_P},
    {.size = sizeof *variants, .cross_normalizer = RAPT_NORMALIZER_ARGMAX},
    {.size = sizeof *variants, .monotonic = RAPT_CROSS_MONOTONIC_HARD},
    {.size = sizeof *variants, .monotonic = RAPT_CROSS_MONOTONIC_LOOKBACK},
    {.size = sizeof *variants, .alignment_layer = 1},
    {.size = sizeof *variants, .alignment_layer = 2, .alignment_heads = 3},
};

static rapt_config config_of(const rapt_config *variant)
{
    rapt_config c = larger;
    c.cross_score = variant->cross_score;
    c.cross_locality = variant->cross_locality;
    c.cross_normalizer = variant->cross_normalizer;
    c.monotonic = variant->monotonic;
    c.alignment_layer = variant->alignment_layer, c.alignment_heads = variant->alignment_heads;
    return c;
}

/* Computes the weights of begin and `count` tokens, [count + 1][S], without the end's row if the
   sequence has no end. c->alignment_layer 0: the mean over layers and heads; else over the first
   heads of that layer. */
static void force(rapt_session *probe, const rapt_config *c, const rapt_tokens *source,
                  const int32_t *ids, int count, bool ended, float *weights)
{
    float one[(LENGTH + 1) * LONGEST] = {0};
    int heads = c->alignment_heads ? c->alignment_heads : 1;
    int32_t inputs[LENGTH + 1] = {BEGIN};
    const int starts[] = {0, count + ended};
    int S = source->starts[1];
    memcpy(inputs + 1, ids, sizeof *ids * (size_t)count);
    memset(weights, 0, sizeof *weights * (size_t)((count + 1) * S));
    assert_int_equal(rapt_encode(probe, source, NULL, NULL), RAPT_OK);
    assert_int_equal(
        rapt_decode(probe, &(rapt_tokens){.batch = 1, .ids = inputs, .starts = starts}, NULL, NULL),
        RAPT_OK);
    for (int h = 0; h < heads; h++) {
        assert_int_equal(rapt_session_alignment(probe, c->alignment_layer - 1,
                                                c->alignment_layer ? h : -1, one, NULL),
                         RAPT_OK);
        for (int i = 0; i < (count + ended) * S; i++) weights[i] += 1 / (float)heads * one[i];
    }
}

/* Compares all outputs; returns how many had ended, so that the caller sees both kinds tested. */
static int compare(rapt_session *session, rapt_session *probe, const rapt_config *c,
                   const rapt_tokens *source, const rapt_generate_options *o)
{
    int32_t ids[SOURCES * BEAMS * LENGTH];
    int counts[SOURCES * BEAMS], ended = 0, nbest = o->nbest, S = source->starts[SOURCES];
    float alignments[BEAMS * (LENGTH + 1) * SOURCES * LONGEST], wanted[(LENGTH + 1) * LONGEST];
    const rapt_generate_outputs out = {
        .size = sizeof out, .ids = ids, .counts = counts, .alignments = alignments};
    rapt_message why = {""};
    assert_true(nbest * (LENGTH + 1) * S <= COUNT(alignments));
    if (rapt_generate(session, source, o, &out, &why)) fail_msg("%s", why.text);
    for (int i = 0; i < SOURCES * nbest; i++) {
        int b = i / nbest, starts[2];
        const rapt_tokens one = small_one(source, b, starts);
        int keys = one.starts[1], at = nbest * source->starts[b] + i % nbest * keys;
        if (counts[i] < 0) continue;
        force(probe, c, &one, ids + i * LENGTH, counts[i], counts[i] < LENGTH, wanted);
        assert_memory_equal(alignments + at * (LENGTH + 1), wanted,
                            sizeof *wanted * (size_t)((counts[i] + 1) * keys));
        ended += counts[i] < LENGTH;
    }
    return ended;
}

static rapt_session *recorder(const rapt_model *model, int threads)
{
    rapt_session *session = NULL;
    rapt_limits limits = {.size = sizeof limits,
                          .batch = SOURCES,
                          .beams = BEAMS,
                          .source_tokens = SOURCES * LONGEST,
                          .target_length = LENGTH,
                          .threads = threads,
                          .alignments = 1};
    rapt_message why = {""};
    if (rapt_session_create(&session, model, &limits, NULL, &why)) fail_msg("%s", why.text);
    return session;
}

static void test_forced(void **state)
{
    (void)state;
    int ended = 0, all = 0;
    for (int i = 0; i < COUNT(variants); i++) {
        const rapt_config c = config_of(&variants[i]);
        rapt_model *model = small_model(&c, 5);
        rapt_session *probe = probe_of(model, LENGTH + 1);
        small_shake(model, 9, 1);
        for (int threads = 1; threads <= 3; threads += 2) {
            rapt_session *session = recorder(model, threads);
            for (int seed = 0; seed < 6; seed++) {
                struct small_batch source;
                small_fill(&source, c.source_vocab, (const int[]){7, LONGEST, 1}, SOURCES,
                           (uint64_t)seed);
                rapt_generate_options o;
                rapt_generate_options_default(&o, sizeof o, BEGIN, END);
                o.beams = o.nbest = seed % 3 + 1;
                if (seed == 3) o.temperature = 1;
                o.seed = (uint64_t)seed, o.length_penalty = seed == 4 ? 1 : 0;
                struct small_batch prefix;
                small_fill(&prefix, c.target_vocab, (const int[]){2, 0, seed}, SOURCES, 3);
                if (seed > 1) o.prefix = &prefix.tokens;
                ended += compare(session, probe, &c, &source.tokens, &o);
                all += SOURCES * o.nbest;
            }
            rapt_session_free(session);
        }
        rapt_session_free(probe);
        rapt_model_free(model);
    }
    print_message("%d of %d sequences had an end\n", ended, all);
    assert_true(ended > 0 && ended < all);
}

/* Alignments need a session made for them, and do not change other results. */
static void test_asking(void **state)
{
    (void)state;
    rapt_model *model = small_model(&larger, 5);
    rapt_session *without = session_of(model, 1, 2, LENGTH, 1), *with = recorder(model, 1);
    struct small_batch b;
    const rapt_tokens *source = one_source(&b, larger.source_vocab, 5, 2);
    int32_t ids[LENGTH], same[LENGTH];
    int count, same_count;
    float score, same_score, alignments[(LENGTH + 1) * 5];
    rapt_generate_options o;
    rapt_generate_options_default(&o, sizeof o, BEGIN, END);
    rapt_generate_outputs out = {.size = sizeof out,
                                 .ids = ids,
                                 .counts = &count,
                                 .scores = &score,
                                 .alignments = alignments};
    rapt_message why = {""};
    assert_int_equal(rapt_generate(without, source, &o, &out, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "limits.alignments"));
    assert_int_equal(rapt_generate(with, source, &o, &out, &why), RAPT_OK);
    assert_int_equal(generate(without, source, &o, same, &same_count, &same_score, NULL), RAPT_OK);
    assert_true(count == same_count && score == same_score);
    assert_memory_equal(ids, same, sizeof *ids * (size_t)count);
    rapt_session_free(without);
    rapt_session_free(with);
    rapt_model_free(model);
}

/* A model without cross-attention refuses, with a reason, and leaves the caller's memory alone. */
static void test_no_cross_attention(void **state)
{
    (void)state;
    const rapt_kind kinds[] = {RAPT_KIND_ENCODER_ONLY, RAPT_KIND_DECODER_ONLY};
    for (int i = 0; i < COUNT(kinds); i++) {
        rapt_config c = larger;
        c.kind = kinds[i];
        if (c.kind == RAPT_KIND_ENCODER_ONLY) c.decoder_layers = 0;
        if (c.kind == RAPT_KIND_DECODER_ONLY) c.encoder_layers = c.source_vocab = 0;
        rapt_model *model = small_model(&c, 3);
        rapt_session *session;
        const bool decoder = c.kind == RAPT_KIND_DECODER_ONLY;
        const rapt_limits limits = {.size = sizeof limits,
                                    .batch = 1,
                                    .beams = 1,
                                    .source_tokens = decoder ? 0 : 5,
                                    .target_length = decoder ? 5 : 0,
                                    .threads = 1};
        float weight = 0.25f;
        rapt_message why = {""};
        if (rapt_session_create(&session, model, &limits, NULL, &why)) fail_msg("%s", why.text);
        assert_int_equal(rapt_session_alignment(session, -1, -1, &weight, &why), RAPT_BAD_ARGUMENT);
        assert_string_equal(why.text, "the model has no cross-attention");
        assert_true(weight == 0.25f);
        rapt_session_free(session);
        rapt_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forced),
        cmocka_unit_test(test_asking),
        cmocka_unit_test(test_no_cross_attention),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
