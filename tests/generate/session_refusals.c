/* session_refusals.c - limits, tokens and calls that a session must refuse, with a status and a
   reason, and without any effect. */
#include "generate/small_session.h"

static void refuse_limits(const rapt_model *model, rapt_limits limits)
{
    rapt_session *session = (rapt_session *)(uintptr_t)1;
    rapt_message why = {""};
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_true(why.text[0] && (uintptr_t)session == 1);
    assert_int_equal(rapt_session_bytes(model, &limits), 0);
}

static void test_limits(void **state)
{
    (void)state;
    rapt_model *model = small_model(&larger, 1);
    rapt_limits good = larger_limits;
    assert_true(rapt_session_bytes(model, &good) > 0);
#define REFUSE(field, value)                                                                       \
    do {                                                                                           \
        rapt_limits l = good;                                                                      \
        l.field = value;                                                                           \
        refuse_limits(model, l);                                                                   \
    } while (0)
    REFUSE(batch, 0);
    REFUSE(batch, -1);
    REFUSE(batch, INT32_MAX);
    REFUSE(beams, -1);
    REFUSE(beams, INT32_MAX);
    REFUSE(source_tokens, 0);
    REFUSE(source_tokens, INT32_MIN);
    REFUSE(source_tokens, INT32_MAX);
    REFUSE(target_length, 0);
    REFUSE(target_length, 81);
    REFUSE(target_tokens, -1);
    REFUSE(target_tokens, INT32_MAX);
    REFUSE(threads, -1);
#undef REFUSE
    rapt_model_free(model);
}

static void refuse_source(rapt_session *session, int batch, const int32_t *ids, const int *starts)
{
    rapt_tokens t = {.batch = batch, .ids = ids, .starts = starts};
    const float *memory = (const float *)(uintptr_t)8;
    rapt_message why = {""};
    assert_int_equal(rapt_encode(session, &t, &memory, &why), RAPT_BAD_ARGUMENT);
    assert_true(why.text[0] && (uintptr_t)memory == 8);
}

static void refuse_target(rapt_session *session, int batch, const int32_t *ids, const int *starts)
{
    rapt_tokens t = {.batch = batch, .ids = ids, .starts = starts};
    const float *logits = (const float *)(uintptr_t)8;
    rapt_message why = {""};
    assert_int_equal(rapt_decode(session, &t, &logits, &why), RAPT_BAD_ARGUMENT);
    assert_true(why.text[0] && (uintptr_t)logits == 8);
}

static void test_wrong_tokens(void **state)
{
    (void)state;
    rapt_model *model = small_model(&small_configs[0], 1);
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 2,
                          .source_tokens = 14,
                          .target_length = 6,
                          .target_tokens = 9};
    rapt_session *session = session_of(model, &limits, 1);
    int32_t ids[32] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, high[] = {1, 13}, low[] = {1, -1},
            source_high[] = {1, 11}, min[] = {INT32_MIN, 0};
    const int two[] = {0, 2, 4}, shifted[] = {1, 2, 4}, falling[] = {0, 3, 2}, huge[] = {0, 2, 15},
              longest[] = {0, 13}, three[] = {0, 1, 2, 3}, minus[] = {0, -1, 2},
              seven[] = {0, 7, 7}, ten[] = {0, 5, 10}, one[] = {0, 2}, empty[] = {0, 0, 0};
    refuse_source(session, 2, ids, shifted);
    refuse_source(session, 2, ids, falling);
    refuse_source(session, 2, ids, huge);
    refuse_source(session, 2, ids, minus);
    refuse_source(session, 1, ids, longest);
    refuse_source(session, 3, ids, three);
    refuse_source(session, -1, ids, two);
    refuse_source(session, 2, NULL, two);
    refuse_source(session, 2, ids, NULL);
    refuse_source(session, 1, source_high, one);
    refuse_source(session, 1, low, one);
    refuse_source(session, 1, min, one);
    assert_int_equal(rapt_encode(session, NULL, NULL, NULL), RAPT_BAD_ARGUMENT);
    refuse_target(session, 2, ids, two); /* nothing has been encoded */
    rapt_tokens good = {.batch = 2, .ids = ids, .starts = two};
    const float *logits;
    assert_int_equal(rapt_encode(session, &good, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_decode(session, &good, &logits, NULL), RAPT_OK);
    refuse_target(session, 2, ids, shifted);
    refuse_target(session, 2, ids, falling);
    refuse_target(session, 1, ids, one);
    refuse_target(session, 3, ids, three);
    refuse_target(session, 2, ids, seven);
    refuse_target(session, 2, ids, ten); /* more rows than target_tokens, and than the capacity */
    refuse_target(session, 2, high, (const int[]){0, 2, 2});
    refuse_target(session, 2, low, (const int[]){0, 1, 2});
    refuse_target(session, 2, NULL, two);
    refuse_target(session, 2, ids, (const int[]){0, 5, 5}); /* 2 + 5 > 6 */
    float weights[64] = {7};
    assert_int_equal(rapt_session_alignment(session, 1, 0, weights, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_session_alignment(session, 0, 2, weights, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_session_alignment(session, -2, 0, weights, NULL), RAPT_BAD_ARGUMENT);
    assert_true(weights[0] == 7);
    /* refused calls had no effect */
    rapt_tokens rest = {.batch = 2, .ids = ids + 4, .starts = two};
    assert_int_equal(rapt_decode(session, &rest, &logits, NULL), RAPT_OK);
    float *kept = small_copy(logits, sizeof(float) * 13 * 4);
    rapt_tokens all = {
        .batch = 2, .ids = (int32_t[]){1, 2, 5, 6, 3, 4, 7, 8}, .starts = (const int[]){0, 4, 8}};
    assert_int_equal(rapt_encode(session, &good, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_decode(session, &all, &logits, NULL), RAPT_OK);
    assert_memory_equal(kept, logits + 13 * 2, sizeof(float) * 13 * 2);
    assert_memory_equal(kept + 13 * 2, logits + 13 * 6, sizeof(float) * 13 * 2);
    rapt_tokens nothing = {.batch = 2, .starts = empty}, nobody = {.batch = 0, .starts = empty};
    assert_int_equal(rapt_decode(session, &nothing, &logits, NULL), RAPT_OK);
    assert_int_equal(rapt_encode(session, &nothing, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_encode(session, &nobody, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_decode(session, &nobody, &logits, NULL), RAPT_OK);
    free(kept);
    rapt_session_free(session);
    rapt_model_free(model);
}

/* An encoder-only model ignores target limits and has no target. */
static void test_halves(void **state)
{
    (void)state;
    rapt_model *encoder = small_model(&small_configs[7], 1),
               *decoder = small_model(&small_configs[10], 1);
    static const int strange[] = {0, 5, 5000, INT32_MAX, -3};
    const int starts[] = {0, 3, 4};
    int32_t ids[] = {1, 2, 3, 4};
    rapt_tokens two = {.batch = 2, .ids = ids, .starts = starts};
    const float *memory, *logits;
    for (int i = 0; i < COUNT(strange); i++) {
        rapt_limits limits = {
            .size = sizeof limits, .batch = 2, .source_tokens = 4, .target_length = strange[i]};
        rapt_session *session = session_of(encoder, &limits, 1);
        assert_int_equal(rapt_encode(session, &two, &memory, NULL), RAPT_OK);
        assert_int_equal(rapt_decode(session, &two, &logits, NULL), RAPT_BAD_ARGUMENT);
        assert_int_equal(rapt_session_alignment(session, 0, 0, NULL, NULL), RAPT_BAD_ARGUMENT);
        rapt_session_free(session);
    }
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 2,
                          .target_length = 4,
                          .target_tokens = 4,
                          .source_tokens = -7};
    rapt_session *session = session_of(decoder, &limits, 1);
    rapt_tokens begin = {.batch = 2}, many = {.batch = 3};
    assert_int_equal(rapt_encode(session, &many, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_encode(session, &begin, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_decode(session, &two, &logits, NULL), RAPT_OK);
    assert_int_equal(rapt_session_alignment(session, 0, 0, NULL, NULL), RAPT_BAD_ARGUMENT);
    rapt_session_free(session);
    rapt_model_free(encoder);
    rapt_model_free(decoder);
}

/* The caller cannot extend the targets of a search. */
static int stop_second(void *user)
{
    return ++*(int *)user == 2;
}

static void test_after_a_search(void **state)
{
    (void)state;
    rapt_model *model = small_model(&small_configs[0], 1);
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 2,
                          .source_tokens = 14,
                          .target_length = 6,
                          .target_tokens = 12};
    rapt_session *session = session_of(model, &limits, 1);
    int32_t ids[] = {1, 2, 3, 4}, out[12];
    const int starts[] = {0, 2, 4};
    int counts[2], steps = 0;
    const rapt_tokens two = {.batch = 2, .ids = ids, .starts = starts};
    const float *logits;
    double sums[2];
    float weights[8]; /* 4 tokens, whose sources have 2 each */
    rapt_generate_options o;
    rapt_generate_options_default(&o, sizeof o, 1, 2);
    o.stop = stop_second, o.user = &steps;
    const rapt_generate_outputs outputs = {.size = sizeof outputs, .ids = out, .counts = counts};
    for (int searches = 0; searches < 2; searches++) {
        rapt_message why = {""};
        rapt_status status = searches
                                 ? rapt_generate(session, &two, &o, &outputs, NULL)
                                 : rapt_score_targets(session, &two, &two, 1, 2, NULL, sums, NULL);
        assert_int_equal(status, RAPT_OK);
        assert_int_equal(rapt_decode(session, &two, &logits, &why), RAPT_BAD_ARGUMENT);
        assert_non_null(strstr(why.text, "call rapt_encode first"));
        assert_int_equal(rapt_session_reorder(session, (const int[]){0, 1}, &why),
                         RAPT_BAD_ARGUMENT);
        assert_non_null(strstr(why.text, "call rapt_encode first"));
        assert_int_equal(rapt_session_alignment(session, -1, -1, weights, &why), RAPT_BAD_ARGUMENT);
        assert_non_null(
            strstr(why.text, "before rapt_generate or rapt_score_targets, which replaces"));
        assert_int_equal(rapt_encode(session, &two, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_decode(session, &two, &logits, NULL), RAPT_OK);
        assert_int_equal(rapt_session_alignment(session, -1, -1, weights, NULL), RAPT_OK);
    }
    rapt_session_free(session);
    rapt_model_free(model);
}

/* A decoder-only model refuses a prompt given as source, which it would ignore. */
static void test_prompt(void **state)
{
    (void)state;
    rapt_config c = small_configs[0];
    c.kind = RAPT_KIND_DECODER_ONLY, c.source_vocab = c.encoder_layers = 0;
    rapt_model *model = small_model(&c, 1);
    const rapt_limits limits = {.size = sizeof limits, .batch = 2, .target_length = 6};
    rapt_session *session = session_of(model, &limits, 1);
    int32_t ids[] = {1, 2, 3};
    const int two[] = {0, 1, 3};
    const rapt_tokens none = {.batch = 2};
    refuse_source(session, 2, ids, two);
    refuse_source(session, 2, NULL, two);
    assert_int_equal(rapt_encode(session, &none, NULL, NULL), RAPT_OK);
    rapt_session_free(session);
    rapt_model_free(model);
}

/* ---- sizes that overflow 32 bits ---- */

/* An allocator that refuses more than 64 MB. */
static void *take_little(void *user, size_t bytes)
{
    (void)user;
    return bytes > 64 << 20 ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void give_back(void *user, void *memory, size_t bytes)
{
    (void)user, (void)bytes;
    free(memory);
}

static const rapt_allocator little = {take_little, give_back, NULL};

/* Checks that a session is refused, and that its size is 0 or at least `bytes`. */
static void refuse_size(const rapt_config *config, const rapt_limits *limits, double bytes)
{
    rapt_session *session = (rapt_session *)(uintptr_t)1;
    rapt_message why = {""};
    rapt_model *model = small_model(config, 1);
    const double size = (double)rapt_session_bytes(model, limits);
    if (size != 0 && size < bytes) fail_msg("%g bytes, but %g are needed", size, bytes);
    assert_int_equal(rapt_session_create(&session, model, limits, &little, &why), RAPT_NO_MEMORY);
    assert_true(why.text[0] && (uintptr_t)session == 1);
    rapt_model_free(model);
}

static void test_large(void **state)
{
    (void)state;
    enum { WIDE = 1 << 16, BATCH = 1 << 20, BEAMS = 4, LENGTH = 1 << 14 };
    const rapt_config decoder = {.size = sizeof decoder,
                                 .kind = RAPT_KIND_DECODER_ONLY,
                                 .target_vocab = 3,
                                 .positions = LENGTH,
                                 .width = 1,
                                 .heads = 1,
                                 .decoder_layers = 1,
                                 .position = RAPT_POSITION_NONE};
    rapt_config c = decoder;
    /* the state of a head, of which there is a spare */
    c.head_width = WIDE, c.decoder_recurrence = RAPT_RECURRENCE_LINEAR;
    const rapt_limits one = {
        .size = sizeof one, .batch = 1, .beams = 1, .target_length = 1, .threads = 1};
    refuse_size(&c, &one, 2.0 * WIDE * WIDE * sizeof(float));
    /* a token of each hypothesis and position */
    const rapt_limits many = {
        .size = sizeof many, .batch = BATCH, .beams = BEAMS, .target_length = LENGTH, .threads = 1};
    refuse_size(&decoder, &many, (double)BATCH * BEAMS * LENGTH * sizeof(int32_t));
    /* parameters */
    c = decoder;
    c.target_vocab = 1 << 24, c.width = 1 << 8;
    rapt_model *model = (rapt_model *)(uintptr_t)1;
    rapt_message why = {""};
    assert_int_equal(rapt_model_create(&model, &c, 1, &little, &why), RAPT_NO_MEMORY);
    assert_true(why.text[0] && (uintptr_t)model == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),         cmocka_unit_test(test_wrong_tokens),
        cmocka_unit_test(test_prompt),         cmocka_unit_test(test_halves),
        cmocka_unit_test(test_after_a_search), cmocka_unit_test(test_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
