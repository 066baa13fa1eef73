/* frame.c - with options.frame, targets train exactly as targets that have begin and end already.
   Targets too short to learn from, batches beyond the limits and limits of 0 are refused, and
   messages give the numbers. */
#include "train/small_train.h"

enum { BEGIN = 3, END = 0 };

/* Puts begin and end around each target. */
static void frame(const struct small_batch *bare, struct small_batch *framed)
{
    int n = 0;
    for (int b = 0; b < BATCH; b++) {
        framed->starts[b] = n;
        framed->ids[n++] = BEGIN;
        for (int i = bare->starts[b]; i < bare->starts[b + 1]; i++) framed->ids[n++] = bare->ids[i];
        framed->ids[n++] = END;
    }
    framed->starts[BATCH] = n;
    framed->tokens = (rapt_tokens){.batch = BATCH, .ids = framed->ids, .starts = framed->starts};
}

static void test_same(void **state)
{
    (void)state;
    const rapt_config *const configs[] = {&wide, &small_configs[0], &small_configs[10]};
    for (int k = 0; k < COUNT(configs); k++) {
        rapt_model *models[] = {small_model(configs[k], 4), small_model(configs[k], 4)};
        rapt_train_options by_hand = dropout_and_clipping(), by_library = by_hand;
        by_library.frame = 1, by_library.begin = BEGIN, by_library.end = END;
        rapt_trainer *plain = trainer_of(models[0], &by_hand, 1),
                     *framing = trainer_of(models[1], &by_library, 2);
        for (int step = 0; step < 4; step++) {
            struct small_batch source, bare, framed;
            rapt_report a = {.size = sizeof a}, b = a;
            const int lengths[BATCH] = {6, 0, step, 4};
            batch_of(configs[k], step, &source, &framed);
            small_fill(&bare, configs[k]->target_vocab, lengths, BATCH, 50 + (uint64_t)step);
            frame(&bare, &framed);
            assert_int_equal(rapt_train_gradient(plain, &source.tokens, &framed.tokens, &a, NULL),
                             RAPT_OK);
            assert_int_equal(rapt_train_gradient(framing, &source.tokens, &bare.tokens, &b, NULL),
                             RAPT_OK);
            assert_memory_equal(&a, &b, sizeof a);
            assert_int_equal(a.tokens, bare.starts[BATCH] + BATCH);
            assert_int_equal(rapt_train_step(plain, NULL, NULL), RAPT_OK);
            assert_int_equal(rapt_train_step(framing, NULL, NULL), RAPT_OK);
        }
        float *a = small_parameters(models[0]), *b = small_parameters(models[1]);
        assert_memory_equal(a, b, sizeof *a * rapt_model_parameters(models[0]));
        free(a), free(b);
        rapt_trainer_free(plain), rapt_trainer_free(framing);
        rapt_model_free(models[0]), rapt_model_free(models[1]);
    }
}

static void refuse(rapt_trainer *trainer, const rapt_tokens *source, const int *lengths,
                   const char *wanted)
{
    struct small_batch target;
    rapt_message why = {""};
    small_fill(&target, 13, lengths, BATCH, 1);
    assert_int_equal(rapt_train_gradient(trainer, source, &target.tokens, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, wanted)) fail_msg("\"%s\" is not in \"%s\"", wanted, why.text);
}

static void test_messages(void **state)
{
    (void)state;
    rapt_model *model = small_model(&small_configs[0], 1);
    struct small_batch source;
    rapt_train_options o = dropout_and_clipping();
    rapt_trainer *plain = trainer_of(model, &o, 1);
    o.frame = 1, o.begin = 1, o.end = 2;
    rapt_trainer *framing = trainer_of(model, &o, 1);
    small_fill(&source, 11, source_lengths, BATCH, 1);
    const rapt_tokens *s = &source.tokens;
    refuse(plain, s, (const int[]){5, 5, 1, 5}, "target: sequence 2 has 1 tokens");
    refuse(plain, s, (const int[]){5, 0, 5, 5}, "set options.frame");
    refuse(
        plain, s, (const int[]){6, 6, 6, 6},
        "the batch has 24 target tokens (including begin and end), but limits.target_tokens is 23");
    refuse(
        framing, s, (const int[]){4, 4, 4, 4},
        "the batch has 24 target tokens (including begin and end), but limits.target_tokens is 23");
    refuse(plain, s, (const int[]){2, 2, 14, 2},
           "target: sequence 2 has 14 tokens (including begin and end), but the maximum is 13");
    refuse(framing, s, (const int[]){0, 12, 0, 1},
           "target: sequence 1 has 14 tokens (including begin and end), but the maximum is 13");
    small_fill(&source, 11, (const int[]){6, 6, 6, 6}, BATCH, 1);
    refuse(plain, s, (const int[]){5, 5, 5, 5},
           "the batch has 24 source tokens, but limits.source_tokens is 23");
    source.starts[2] = 1;
    refuse(plain, s, (const int[]){5, 5, 5, 5},
           "source: starts[2] is 1, less than starts[1], which is 6");
    rapt_trainer_free(plain), rapt_trainer_free(framing);
    rapt_model_free(model);
}

static void refuse_trainer(rapt_model *model, const rapt_train_options *o,
                           const rapt_train_limits *l, const char *wanted)
{
    rapt_trainer *trainer = NULL;
    rapt_message why = {""};
    assert_int_equal(rapt_trainer_create(&trainer, model, o, l, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_null(trainer);
    if (!strstr(why.text, wanted)) fail_msg("\"%s\" is not in \"%s\"", wanted, why.text);
}

static void test_trainers(void **state)
{
    (void)state;
    rapt_model *model = small_model(&small_configs[0], 1),
               *tagger = small_model(&small_configs[7], 1);
    const rapt_train_options good = dropout_and_clipping();
    rapt_train_options o = good;
    rapt_train_limits l = small_limits;
    l.target_tokens = 0;
    refuse_trainer(model, &o, &l,
                   "limits.target_tokens is 0: set it to the largest number of target tokens");
    l.target_tokens = 1;
    refuse_trainer(model, &o, &l, "limits.target_tokens is 1");
    l = small_limits, l.source_tokens = 0;
    refuse_trainer(model, &o, &l, "limits.source_tokens is 0; it must be 1 to");
    l = small_limits, l.batch = 0;
    refuse_trainer(model, &o, &l, "limits.batch is 0; it must be 1 to");
    l = small_limits, o.begin = 1;
    refuse_trainer(model, &o, &l, "frame is 0");
    o = good, o.frame = 1, o.end = 13;
    refuse_trainer(model, &o, &l, "end is 13; it must be 0 to 12");
    o = good, o.frame = 1, o.begin = -1;
    refuse_trainer(model, &o, &l, "begin is -1");
    refuse_trainer(tagger, &o, &l, "encoder-only");
    o = good, o.baseline = RAPT_BASELINE_EXPECTED;
    refuse_trainer(model, &o, &l,
                   "baseline is 1, but the model has no attention with the normalizer sample");
    o = good, o.dropout = 1.1f;
    refuse_trainer(model, &o, &l, "dropout is 1.1; it must be at least 0 and below 1");
    l.target_tokens = 0;
    o = good;
    rapt_trainer *trainer = NULL;
    assert_int_equal(rapt_trainer_create(&trainer, tagger, &o, &l, NULL, NULL), RAPT_OK);
    rapt_trainer_free(trainer);
    rapt_model_free(model), rapt_model_free(tagger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_trainers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
