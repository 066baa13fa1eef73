/* encode.c - many sources, which the encoder reads in several groups, give the bits that each of
   them gives by itself; the encoder's memory does not grow with them. */
#include "model/small.h"

static const rapt_config config = {.size = sizeof(rapt_config),
                                   .source_vocab = 70,
                                   .target_vocab = 50,
                                   .positions = 30,
                                   .width = 24,
                                   .heads = 2,
                                   .ffn_width = 400,
                                   .encoder_layers = 2,
                                   .decoder_layers = 2};
enum { SOURCES = 40, WIDTH = 24, VOCAB = 50 };

/* Lengths of sources that make many groups, fill a group exactly, or are mostly empty. */
static void draw_lengths(int kind, int *lengths)
{
    for (int i = 0; i < SOURCES; i++) {
        int drawn = (int)(small_random((uint64_t)kind, (uint64_t)i) % 31);
        lengths[i] = kind == 0 ? drawn : kind == 1 ? 16 : i % 7 ? 0 : 30;
    }
}

static rapt_session *session_of(const rapt_model *model, int batch, int tokens, int threads)
{
    rapt_session *session = NULL;
    rapt_limits limits = {.size = sizeof limits,
                          .batch = batch,
                          .source_tokens = tokens,
                          .target_length = 4,
                          .threads = threads};
    rapt_message why = {""};
    if (rapt_session_create(&session, model, &limits, NULL, &why)) fail_msg("%s", why.text);
    return session;
}

/* Decodes one token for every target; returns the logits. */
static const float *decode(rapt_session *session, int batch)
{
    static const int32_t ids[SOURCES] = {0};
    int starts[SOURCES + 1];
    const float *logits;
    for (int i = 0; i <= batch; i++) starts[i] = i;
    assert_int_equal(rapt_decode(session,
                                 &(rapt_tokens){.batch = batch, .ids = ids, .starts = starts},
                                 &logits, NULL),
                     RAPT_OK);
    return logits;
}

static void compare(const rapt_model *model, const rapt_tokens *all, int threads)
{
    rapt_session *many = session_of(model, SOURCES, SOURCES * 30, threads),
                 *one = session_of(model, 1, 30, 1);
    const float *states, *alone;
    assert_int_equal(rapt_encode(many, all, &states, NULL), RAPT_OK);
    float *kept = small_copy(states, sizeof *kept * (size_t)(all->starts[SOURCES] * WIDTH));
    const float *logits = decode(many, SOURCES);
    for (int i = 0; i < SOURCES; i++) {
        int starts[] = {0, all->starts[i + 1] - all->starts[i]};
        rapt_tokens source = {.batch = 1, .ids = all->ids + all->starts[i], .starts = starts};
        assert_int_equal(rapt_encode(one, &source, &alone, NULL), RAPT_OK);
        assert_memory_equal(kept + all->starts[i] * WIDTH, alone,
                            sizeof *alone * (size_t)(starts[1] * WIDTH));
        assert_memory_equal(logits + i * VOCAB, decode(one, 1), sizeof *alone * VOCAB);
    }
    free(kept);
    rapt_session_free(many);
    rapt_session_free(one);
}

static void test_groups(void **state)
{
    (void)state;
    rapt_model *model = small_model(&config, 3);
    for (int kind = 0; kind < 3; kind++)
        for (int threads = 1; threads <= 3; threads++) {
            int lengths[SOURCES], starts[SOURCES + 1] = {0};
            int32_t ids[SOURCES * 30];
            draw_lengths(kind, lengths);
            for (int i = 0; i < SOURCES; i++) starts[i + 1] = starts[i] + lengths[i];
            for (int i = 0; i < starts[SOURCES]; i++)
                ids[i] = (int32_t)(small_random(9, (uint64_t)i) % 70);
            compare(model, &(rapt_tokens){.batch = SOURCES, .ids = ids, .starts = starts}, threads);
        }
    rapt_model_free(model);
}

/* Twice as many source tokens cost only their states and the decoder's keys and values, two vectors
   per layer in panels of 16, but no activations of the feed-forward layer. */
static void test_memory(void **state)
{
    (void)state;
    rapt_model *model = small_model(&config, 3);
    rapt_limits limits = {
        .size = sizeof limits, .batch = 8, .source_tokens = 1000, .target_length = 4, .threads = 1};
    size_t few = rapt_session_bytes(model, &limits);
    limits.source_tokens = 2000;
    size_t more = rapt_session_bytes(model, &limits);
    assert_true(few > 0 && more > few);
    assert_true(more - few < 1000 * sizeof(float) * (WIDTH + 2 * 2 * (WIDTH + 16)));
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
