/* large_scores.c - models with extremely large attention scores, as after a training run that
   diverged: alignments are still weights, with the same bits on every instruction set, and training
   continues. */
#include "generate/small_session.h"
#include "train/small_train.h"

#include "roundings.h"
#include "skips.h"

static const float factors[] = {1e2f, 1e4f, 1e8f, 1e12f, 1e16f};

/* Multiplies the first rows of a matrix. */
static void multiply(rapt_model *model, const char *name, int rows, float factor)
{
    int index = rapt_model_find(model, name);
    size_t columns = (size_t)rapt_model_tensor(model, index).columns;
    float *data = malloc(small_size(model, index) * sizeof *data);
    assert_int_equal(rapt_model_read(model, index, data, NULL), RAPT_OK);
    for (size_t i = 0; i < (size_t)rows * columns; i++) data[i] *= factor;
    assert_int_equal(rapt_model_write(model, index, data, NULL), RAPT_OK);
    free(data);
}

/* Makes a model whose queries are multiplied by `factor`. */
static rapt_model *model_of(const rapt_config *c, float factor)
{
    rapt_model *model = small_model(c, 11);
    multiply(model, "encoder.layers.0.self_attn.qkv.weight", c->width, factor);
    multiply(model, "decoder.layers.0.self_attn.qkv.weight", c->width, factor);
    multiply(model, "decoder.layers.0.cross_attn.q.weight", c->width, factor);
    return model;
}

enum { SOURCE = 70, TARGET = 20 };

/* Reads and checks the weights of one sentence in every layer and head. */
static void check_alignments(const rapt_config *c, rapt_session *session, float *weights)
{
    for (int i = 0; i < c->decoder_layers * c->heads; i++) {
        float *w = weights + i * SOURCE * TARGET;
        assert_int_equal(rapt_session_alignment(session, i / c->heads, i % c->heads, w, NULL),
                         RAPT_OK);
        for (int t = 0; t < TARGET; t++) {
            double sum = 0;
            for (int s = 0; s < SOURCE; s++) sum += (double)w[t * SOURCE + s];
            if (!within_roundings(sum, 1, 4, 1)) fail_msg("a row sums to %.9g", sum);
        }
    }
}

static void test_alignments(void **state)
{
    (void)state;
    static const int source_length[] = {SOURCE}, target_length[] = {TARGET};
    rapt_isa sets[EQUAL_SETS + 1], used = rapt_isa_used();
    int count = equal_sets("generate/large_scores, instruction sets", sets);
    size_t floats = (size_t)(larger.decoder_layers * larger.heads) * SOURCE * TARGET;
    float *weights[2] = {malloc(floats * sizeof(float)), malloc(floats * sizeof(float))};
    sets[count] = RAPT_ISA_SCALAR; /* may lack fma: only its sums are checked */
    for (int n = 0; n < COUNT(factors); n++) {
        rapt_model *model = model_of(&larger, factors[n]);
        struct small_batch source, target;
        small_fill(&source, larger.source_vocab, source_length, 1, 5);
        small_fill(&target, larger.target_vocab, target_length, 1, 6);
        for (int e = 0; e <= count; e++) {
            const float *memory, *logits;
            assert_int_equal(rapt_isa_use(sets[e]), RAPT_OK);
            rapt_session *session = session_of(model, &larger_limits, 2);
            assert_int_equal(rapt_encode(session, &source.tokens, &memory, NULL), RAPT_OK);
            assert_int_equal(rapt_decode(session, &target.tokens, &logits, NULL), RAPT_OK);
            check_alignments(&larger, session, weights[e > 0]);
            if (e > 0 && e < count)
                assert_memory_equal(weights[0], weights[1], floats * sizeof(float));
            rapt_session_free(session);
        }
        rapt_model_free(model);
    }
    free(weights[0]), free(weights[1]);
    rapt_isa_use(used);
}

static void test_training(void **state)
{
    (void)state;
    for (int n = 0; n < COUNT(factors) && factors[n] <= 1e12f; n++) { /* gradients are finite */
        const rapt_config *c = &small_configs[0];
        rapt_model *model = model_of(c, factors[n]);
        rapt_train_options o = dropout_and_clipping();
        rapt_trainer *trainer = trainer_of(model, &o, 2);
        double first = 0, last = 0;
        for (int step = 0; step < 12 * BATCHES; step++) { /* each is RAPT_OK */
            double loss = one_step(trainer, c, step);
            if (step < BATCHES) first += loss;
            if (step >= 11 * BATCHES) last += loss;
        }
        /* with larger factors clipping leaves little of the other gradients */
        if (factors[n] <= 1e8f && !(last < first))
            fail_msg("times %g: loss from %g to %g", (double)factors[n], first, last);
        rapt_trainer_free(trainer);
        rapt_model_free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignments),
        cmocka_unit_test(test_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
