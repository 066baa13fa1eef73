/* recurrent_gradients.c - tests the gradients of whole recurrent encoder-decoders, for every cell,
   pass, encoder, score and locality, against difference quotients of their loss. */
#include "quotient.h"
#include "recurrent/recurrent.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char program_name[] = "recurrent_gradients";

enum { COUNT = 2, EVERY = 7 }; /* sentences; one in EVERY parameters is checked */

static const struct language language = {.source_name = "source",
                                         .target_name = "target",
                                         .source = {.count = 9},
                                         .target = {.count = 8}};

/* Each has four different source words; one has three target words, the other one. */
static const struct sentence sentences[COUNT] = {
    {.source = {4, {3, 5, 4, 7}}, .target = {3, {4, 3, 5}}},
    {.source = {4, {8, 6, 3, 5}}, .target = {1, {7}}},
};

static const struct recurrent_config plain = {.embed = 4,
                                              .hidden = 4,
                                              .encoder_hidden = 2,
                                              .directions = 2,
                                              .words = 6,
                                              .batch = COUNT,
                                              .width = 3,
                                              .cell = CELL_GRU,
                                              .encoder = ENCODER_ONCE,
                                              .radius = 1.5F,
                                              .seed = 3};

static double loss_of(void *model, double *magnitude)
{
    int words;
    return *magnitude = recurrent_gradient(model, sentences, COUNT, &words);
}

static const char *describe(const struct recurrent_config *c)
{
    static char text[200];
    snprintf(text, sizeof text,
             "%s, pass %s, encoder %s, reads %d, one cell %d, query %s, attends %d, projected %d, "
             "%s %s %s",
             cell_names[c->cell], pass_names[c->pass], encoder_names[c->encoder], c->reads,
             c->one_cell, query_names[c->query], c->attends, c->projected,
             rapt_score_name(c->score), rapt_locality_name(c->locality),
             rapt_normalizer_name(c->normalizer));
    return text;
}

/* Compares gradients with quotients. Returns how many parameters had a gradient. */
static int judge(const struct recurrent_config *config)
{
    struct recurrent *model = recurrent_create(config, &language);
    struct params *params = recurrent_block(model);
    float *gradient = malloc(params->count * sizeof *gradient);
    double magnitude, quotient;
    int some = 0;
    assert_non_null(gradient);
    loss_of(model, &magnitude);
    memcpy(gradient, params->gradient, params->count * sizeof *gradient);
    for (size_t i = 0; i < params->count; i += EVERY) {
        some += gradient[i] != 0;
        if (!is_slope(loss_of, model, &params->value[i], 0x1p-7F, (double)gradient[i], &quotient))
            fail_msg("%s: parameter %zu of %zu: gradient %g, quotient %g", describe(config), i,
                     params->count, (double)gradient[i], quotient);
    }
    free(gradient);
    recurrent_free(model);
    return some;
}

static void test_passes(void **state)
{
    (void)state;
    for (int cell = 0; cell < CELLS; cell++)
        for (int pass = 0; pass < PASSES; pass++)
            for (int directions = 1; directions <= 2; directions++) {
                struct recurrent_config c = plain;
                c.cell = (enum cell_kind)cell;
                c.pass = (enum pass_kind)pass;
                c.directions = directions;
                c.encoder_hidden = 4 / directions;
                assert_true(judge(&c) > 20);
            }
}

static void test_encoders(void **state)
{
    (void)state;
    for (int cell = 0; cell < CELLS; cell++)
        for (int encoder = 0; encoder < ENCODERS; encoder++)
            for (int mode = 0; mode < 8; mode++) {
                struct recurrent_config c = plain;
                c.cell = (enum cell_kind)cell;
                c.encoder = (enum encoder_kind)encoder;
                c.query = mode & 1 ? QUERY_PRESENT : QUERY_BEFORE;
                c.projected = mode & 2;
                c.attends = mode & 4;
                c.score = RAPT_SCORE_GENERAL;
                if (recurrent_refusal(&c) == NULL) assert_true(judge(&c) > 20);
            }
}

/* An encoder that reads its own past, and one cell for both encoder and decoder. */
static void test_past(void **state)
{
    (void)state;
    for (int cell = 0; cell < CELLS; cell++)
        for (int mode = 1; mode < 8; mode++) {
            struct recurrent_config c = plain;
            c.cell = (enum cell_kind)cell;
            c.directions = 1;
            c.encoder_hidden = c.hidden;
            c.reads = mode & 1 ? READS_PAST : READS_STATE;
            c.one_cell = mode & 2;
            c.attends = mode & 4;
            c.pass = PASS_INITIAL;
            assert_true(judge(&c) > 10);
        }
}

/* A word attends to the states that exist: the initial one, and those before it. */
static void test_past_weights(void **state)
{
    (void)state;
    struct recurrent_config c = plain;
    float weights[5 * 5];
    c.cell = CELL_LSTM;
    c.directions = 1;
    c.reads = READS_PAST;
    struct recurrent *model = recurrent_create(&c, &language);
    recurrent_past(model, &sentences[0], weights);
    for (int t = 0; t < 5; t++) {
        double sum = 0;
        for (int s = 0; s < 5; s++) {
            assert_true(s <= t ? weights[t * 5 + s] > 0 : weights[t * 5 + s] == 0);
            sum += (double)weights[t * 5 + s];
        }
        assert_true(fabs(sum - 1) < 4 * ROUNDING);
    }
    recurrent_free(model);
}

static void test_scores(void **state)
{
    (void)state;
    for (int score = 0; score < RAPT_SCORE_COUNT; score++)
        for (int locality = 0; locality < RAPT_LOCALITY_COUNT; locality++)
            for (int mode = 0; mode < 4; mode++) {
                struct recurrent_config c = plain;
                c.attends = true;
                c.score = (rapt_score)score;
                c.locality = (rapt_locality)locality;
                c.query = mode & 1 ? QUERY_PRESENT : QUERY_BEFORE;
                c.projected = mode & 2;
                /* with seed 3, a window of local-p ends near a key, where the loss would jump */
                if (c.score == RAPT_SCORE_COVERAGE) c.seed = 4;
                assert_true(judge(&c) > 20);
            }
}

/* Scores have a gradient only if the noise is smooth. With arg-max their gradients are 0, as is its
   slope. Also tests attention beside an initial state. */
static void test_others(void **state)
{
    (void)state;
    static const rapt_normalizer normalizers[] = {RAPT_NORMALIZER_ARGMAX,
                                                  RAPT_NORMALIZER_GUMBEL_SOFTMAX};
    for (int i = 0; i < 2; i++) {
        struct recurrent_config c = plain;
        c.attends = true;
        c.encoder = ENCODER_NONE;
        c.normalizer = normalizers[i];
        assert_true(judge(&c) > 20);
        c.encoder = ENCODER_ONCE;
        c.pass = PASS_NETWORK;
        assert_true(judge(&c) > 20);
    }
}

/* With an empty translation the loss is that of the single step, and each source word has its own
   row of the embedding table, so this tests how norms are divided among words. */
static void test_influence(void **state)
{
    (void)state;
    struct sentence sentence = sentences[0];
    struct recurrent_config c = plain;
    float norms[5];
    int words;
    sentence.target.count = 0;
    c.attends = true;
    struct recurrent *model = recurrent_create(&c, &language);
    recurrent_influence(model, &sentence, 1, 0, norms);
    struct params *params = recurrent_block(model);
    for (size_t i = 0; i < params->count; i++) assert_true(params->gradient[i] == 0);
    recurrent_gradient(model, &sentence, 1, &words);
    double expected[5];
    for (int s = 0; s < 5; s++) {
        int token = s < 4 ? sentence.source.tokens[s] : RAPT_TOKEN_END;
        double sum = 0;
        for (int i = 0; i < c.embed; i++) /* source words come first in the table */
            sum += pow((double)params->gradient[token * c.embed + i], 2);
        expected[s] = sqrt(sum);
    }
    for (int s = 1; s < 5; s++) {
        double ratio = (double)norms[s] / (double)norms[0], wanted = expected[s] / expected[0];
        assert_true(norms[s] > 0);
        assert_true(fabs(ratio - wanted) <= 32 * ROUNDING * wanted);
    }
    recurrent_influence(model, &sentence, 1, 1, norms); /* there is no second step */
    for (int s = 0; s < 5; s++) assert_true(norms[s] == 0);
    recurrent_free(model);
}

/* In the Transformer, words after the step have no influence, and the tokens of the measurement are
   not parameters. */
static void test_transformer(void **state)
{
    (void)state;
    struct sentence sentence = sentences[0];
    struct transformer_config c = {.width = 8, .layers = 1, .words = 8, .batch = 1, .seed = 1};
    float norms[5], others[5];
    struct transformer *without = transformer_create(&c, &language);
    c.probed = true;
    struct transformer *model = transformer_create(&c, &language);
    assert_true(transformer_parameters(model) == transformer_parameters(without));
    transformer_influence(model, &sentence, 1, norms);
    for (int s = 0; s < 5; s++) assert_true(norms[s] > 0);
    sentence.target.tokens[2]++;
    transformer_influence(model, &sentence, 1, others);
    assert_memory_equal(norms, others, sizeof norms);
    sentence.target.tokens[0]++;
    transformer_influence(model, &sentence, 1, others);
    assert_memory_not_equal(norms, others, sizeof norms);
    transformer_influence(model, &sentence, 4, norms);
    for (int s = 0; s < 5; s++) assert_true(norms[s] == 0);
    transformer_free(model);
    transformer_free(without);
}

/* Options that cannot be combined are refused with a reason. */
static void test_refusals(void **state)
{
    (void)state;
    assert_null(recurrent_refusal(&plain));
    struct recurrent_config c = plain;
    c.encoder = ENCODER_NONE;
    assert_non_null(recurrent_refusal(&c));
    c = plain, c.pass = PASS_INITIAL, c.hidden = 5;
    assert_non_null(recurrent_refusal(&c));
    c = plain, c.pass = PASS_NETWORK, c.encoder = ENCODER_AGAIN;
    assert_non_null(recurrent_refusal(&c));
    c = plain, c.attends = true, c.pass = PASS_FIRST;
    assert_non_null(recurrent_refusal(&c));
    c = plain, c.attends = true, c.score = RAPT_SCORE_COSINE, c.hidden = 5;
    assert_non_null(recurrent_refusal(&c));
    c.projected = true;
    assert_null(recurrent_refusal(&c));
    c = plain, c.reads = READS_PAST;
    assert_non_null(recurrent_refusal(&c));
    c = plain, c.directions = 1, c.one_cell = true, c.hidden = 5;
    assert_non_null(recurrent_refusal(&c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passes),      cmocka_unit_test(test_encoders),
        cmocka_unit_test(test_past),        cmocka_unit_test(test_past_weights),
        cmocka_unit_test(test_scores),      cmocka_unit_test(test_others),
        cmocka_unit_test(test_influence),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_transformer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
