/* arguments.c - invalid arguments: NULL for every required pointer, structs whose size was never
   set, calls in the wrong order. Each returns RAPT_BAD_ARGUMENT with a reason and changes
   nothing. */
#include "api/small_world.h"

static rapt_message why;

/* Checks that the last call was refused with a reason that mentions `word`. */
static void refused(rapt_status status, const char *word)
{
    assert_int_equal(status, RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, word)) fail_msg("\"%s\" does not name %s", why.text, word);
    why.text[0] = 0;
}

static void test_session(void **state)
{
    (void)state;
    rapt_model *model = small_model(&api_config, 1);
    rapt_limits limits = {
        .size = sizeof limits, .batch = 2, .source_tokens = 9, .target_length = 5, .threads = 1};
    rapt_limits none = {0};
    rapt_session *session = NULL;
    const int starts[] = {0, 2, 3}, parents[] = {0, 1};
    const int32_t ids[] = {3, 4, 5};
    const rapt_tokens two = {.batch = 2, .ids = ids, .starts = starts};
    float weights[9];
    refused(rapt_session_create(NULL, model, &limits, NULL, &why), "session");
    refused(rapt_session_create(&session, NULL, &limits, NULL, &why), "model");
    refused(rapt_session_create(&session, model, NULL, NULL, &why), "rapt_limits");
    refused(rapt_session_create(&session, model, &none, NULL, &why), "sizeof(rapt_limits)");
    assert_null(session);
    assert_int_equal(rapt_session_bytes(NULL, &limits), 0);
    assert_int_equal(rapt_session_bytes(model, NULL), 0);
    assert_int_equal(rapt_session_bytes(model, &none), 0);
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, &why), RAPT_OK);
    refused(rapt_encode(NULL, &two, NULL, &why), "session");
    refused(rapt_encode(session, NULL, NULL, &why), "source");
    refused(rapt_decode(NULL, &two, NULL, &why), "session");
    refused(rapt_decode(session, NULL, NULL, &why), "target");
    refused(rapt_decode(session, &two, NULL, &why), "rapt_encode first");
    refused(rapt_session_reorder(NULL, parents, &why), "session");
    refused(rapt_session_reorder(session, NULL, &why), "parents");
    refused(rapt_session_alignment(NULL, -1, -1, weights, &why), "session");
    refused(rapt_session_alignment(session, -1, -1, NULL, &why), "weights");
    assert_int_equal(rapt_encode(session, &two, NULL, &why), RAPT_OK);
    refused(rapt_session_reorder(session, (const int[]){1, 0}, &why), "parents[0]");
    refused(rapt_session_alignment(session, 2, 0, weights, &why), "layer 2");
    rapt_session_free(session);
    rapt_session_free(NULL);
    rapt_model_free(model);
}

static void test_generate(void **state)
{
    (void)state;
    rapt_model *model = small_model(&api_config, 1);
    rapt_limits limits = {
        .size = sizeof limits, .batch = 1, .source_tokens = 9, .target_length = 5, .threads = 1};
    rapt_session *session = NULL;
    const rapt_tokens source = {
        .batch = 1, .ids = (const int32_t[]){3, 4}, .starts = (const int[]){0, 2}};
    int32_t ids[5];
    int count;
    float alignments[12];
    const rapt_generate_outputs out = {.size = sizeof out, .ids = ids, .counts = &count};
    const rapt_generate_outputs unsized = {.ids = ids, .counts = &count},
                                no_ids = {.size = sizeof out, .counts = &count},
                                no_counts = {.size = sizeof out, .ids = ids};
    rapt_generate_outputs aligned = out;
    rapt_generate_options o, none = {0};
    rapt_generate_options_default(NULL, sizeof o, 1, 2);
    rapt_generate_options_default(&none, 1, 1, 2);
    assert_int_equal(none.size, 0);
    rapt_generate_options_default(&o, sizeof o, 1, 2);
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, &why), RAPT_OK);
    refused(rapt_generate(NULL, &source, &o, &out, &why), "session");
    refused(rapt_generate(session, NULL, &o, &out, &why), "source");
    refused(rapt_generate(session, &source, NULL, &out, &why), "rapt_generate_options");
    refused(rapt_generate(session, &source, &none, &out, &why), "rapt_generate_options");
    refused(rapt_generate(session, &source, &o, NULL, &why), "rapt_generate_outputs");
    refused(rapt_generate(session, &source, &o, &unsized, &why), "rapt_generate_outputs");
    refused(rapt_generate(session, &source, &o, &no_ids, &why), "ids");
    refused(rapt_generate(session, &source, &o, &no_counts, &why), "counts");
    aligned.alignments = alignments;
    refused(rapt_generate(session, &source, &o, &aligned, &why), "alignments");
    o.suppressed_count = 1;
    refused(rapt_generate(session, &source, &o, &out, &why), "suppressed is NULL");
    o.suppressed_count = 0, o.beams = 2;
    refused(rapt_generate(session, &source, &o, &out, &why), "beams is 2");
    rapt_session_free(session);
    rapt_model_free(model);
}

static void test_trainer(void **state)
{
    (void)state;
    rapt_model *model = small_model(&api_config, 1);
    rapt_train_limits limits = {sizeof limits, 1, 9, 9, .threads = 1}, none = {0};
    rapt_train_options o, unsized = {0};
    rapt_report report = {.size = sizeof report, .loss = 7}, no_size = {.loss = 7};
    rapt_trainer *trainer = NULL;
    const rapt_tokens tokens = {
        .batch = 1, .ids = (const int32_t[]){1, 4, 2}, .starts = (const int[]){0, 3}};
    float data[1];
    rapt_train_options_default(NULL, sizeof o);
    rapt_train_options_default(&o, sizeof o);
    refused(rapt_trainer_create(NULL, model, &o, &limits, NULL, &why), "trainer");
    refused(rapt_trainer_create(&trainer, NULL, &o, &limits, NULL, &why), "model");
    refused(rapt_trainer_create(&trainer, model, NULL, &limits, NULL, &why), "rapt_train_options");
    refused(rapt_trainer_create(&trainer, model, &unsized, &limits, NULL, &why), "sizeof");
    refused(rapt_trainer_create(&trainer, model, &o, NULL, NULL, &why), "rapt_train_limits");
    refused(rapt_trainer_create(&trainer, model, &o, &none, NULL, &why), "sizeof");
    assert_int_equal(rapt_trainer_bytes(NULL, &limits), 0);
    assert_int_equal(rapt_trainer_bytes(model, NULL), 0);
    assert_null(trainer);
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &limits, NULL, &why), RAPT_OK);
    refused(rapt_train_gradient(NULL, &tokens, &tokens, &report, &why), "trainer");
    refused(rapt_train_gradient(trainer, NULL, &tokens, &report, &why), "source");
    refused(rapt_train_gradient(trainer, &tokens, NULL, &report, &why), "target");
    refused(rapt_train_gradient(trainer, &tokens, &tokens, &no_size, &why), "sizeof(rapt_report)");
    refused(rapt_train_evaluate(NULL, &tokens, &tokens, &report, &why), "trainer");
    refused(rapt_train_step(NULL, &report, &why), "trainer");
    refused(rapt_train_step(trainer, &report, &why), "train on a batch with labels first");
    refused(rapt_trainer_read_gradient(NULL, 0, data, &why), "trainer");
    refused(rapt_trainer_read_gradient(trainer, 0, NULL, &why), "data");
    refused(rapt_trainer_read_gradient(trainer, -1, data, &why), "index is -1");
    refused(rapt_trainer_save(NULL, "x", NULL, 0, &why), "trainer");
    refused(rapt_trainer_save(trainer, NULL, NULL, 0, &why), "path");
    refused(rapt_trainer_load(NULL, "x", &why), "trainer");
    refused(rapt_trainer_load(trainer, NULL, &why), "path");
    assert_null(rapt_trainer_gradients(NULL, NULL, NULL));
    assert_non_null(rapt_trainer_gradients(trainer, NULL, NULL));
    rapt_trainer_set_rate(NULL, 1);
    rapt_trainer_set_quantized(NULL, 1);
    assert_true(report.loss == 7 && no_size.loss == 7);
    /* a report is optional, and need not be zeroed */
    assert_int_equal(rapt_train_gradient(trainer, &tokens, &tokens, NULL, &why), RAPT_OK);
    assert_int_equal(rapt_train_gradient(trainer, &tokens, &tokens, &report, &why), RAPT_OK);
    assert_true(report.tokens == 2 && report.loss != 7 && report.rate == 0 && report.step == 0);
    double loss = report.loss;
    assert_int_equal(rapt_train_step(trainer, &report, &why), RAPT_OK);
    assert_true(report.tokens == 4 && report.loss > loss && report.rate > 0 && report.step == 1);
    rapt_trainer_free(trainer);
    rapt_trainer_free(NULL);
    rapt_model_free(model);
}

static int never(void *user, const rapt_translation *translation)
{
    (void)user, (void)translation;
    fail();
    return 1;
}

static void test_translator(void **state)
{
    (void)state;
    rapt_translator *translator = NULL;
    rapt_translator_options none = {0};
    char out[8];
    size_t size = 7;
    refused(rapt_translator_load(NULL, "x", NULL, NULL, &why), "translator");
    refused(rapt_translator_load(&translator, NULL, NULL, NULL, &why), "path");
    refused(rapt_translator_load(&translator, "x", &none, NULL, &why), "rapt_translator_options");
    refused(rapt_translate(NULL, "a", out, sizeof out, &size, &why), "translator");
    refused(rapt_translate_many(NULL, NULL, 0, 0, never, NULL, &why), "translator");
    assert_null(rapt_translator_model(NULL));
    assert_null(rapt_translator_source(NULL));
    assert_null(rapt_translator_target(NULL));
    assert_int_equal(rapt_translator_frame(NULL, RAPT_FRAME_TARGET_END), -1);
    assert_true(translator == NULL && size == 7);
    rapt_translator_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session),
        cmocka_unit_test(test_generate),
        cmocka_unit_test(test_trainer),
        cmocka_unit_test(test_translator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
