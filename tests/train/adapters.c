/* adapters.c - adapters of low rank have the gradients of their definition, W = W0 + s B A, and the
   model always holds W. */
#include "train/small_train.h"

#include "oracle/transformer.h"

/* Without a step, and after steps of rate 0, the model with adapters is the base model. */
static void test_no_change(void **state)
{
    (void)state;
    uint8_t mask[MOST_TENSORS];
    for (int i = 0; i < COUNT(tuned_configs); i++) {
        rapt_model *model = small_model(tuned_configs[i], 11),
                   *base = small_model(tuned_configs[i], 11);
        rapt_train_options o = tuned_options(model, LORA_ONLY, mask);
        o.rate = 0;
        rapt_trainer *trainer = trainer_of(model, &o, 2);
        small_same_models(model, base);
        for (int step = 0; step < 2; step++) one_step(trainer, tuned_configs[i], step);
        small_same_models(model, base);
        rapt_trainer_free(trainer);
        rapt_model_free(model);
        rapt_model_free(base);
    }
}

/* ---- the definition of adapters ---- */

struct adapter {
    int index, rows, columns;
    float *a, *b; /* [RANK][columns], [rows][RANK] */
};

static struct adapter adapter_of(const rapt_trainer *trainer, const rapt_model *model, int index)
{
    const rapt_tensor t = rapt_model_tensor(model, index);
    struct adapter x = {index, t.rows, t.columns, malloc(sizeof(float) * RANK * (size_t)t.columns),
                        malloc(sizeof(float) * RANK * (size_t)t.rows)};
    assert_int_equal(rapt_trainer_read_adapter(trainer, index, x.a, x.b, NULL), RAPT_OK);
    return x;
}

static void adapter_free(struct adapter *x)
{
    free(x->a);
    free(x->b);
}

/* Element (i, j) of s B A. */
static double product_at(const struct adapter *x, int i, int j)
{
    double sum = 0;
    for (int k = 0; k < RANK; k++)
        sum += (double)x->b[i * RANK + k] * (double)x->a[k * x->columns + j];
    return (double)lora_alpha / RANK * sum;
}

static void check_merged(const rapt_trainer *trainer, const rapt_model *model,
                         const rapt_model *base, int index)
{
    struct adapter x = adapter_of(trainer, model, index);
    float *was = small_read(base, index), *is = small_read(model, index);
    double largest = 0;
    for (int i = 0; i < x.rows; i++)
        for (int j = 0; j < x.columns; j++) {
            size_t at = (size_t)i * (size_t)x.columns + (size_t)j;
            double change = product_at(&x, i, j), wanted = (double)was[at] + change;
            double magnitude = fabs((double)was[at]) + (double)lora_alpha / RANK * RANK;
            assert_true(fabs((double)is[at] - wanted) <= 0x1p-22 * magnitude);
            largest = fmax(largest, fabs(change));
        }
    assert_true(largest > 1e-3);
    free(was);
    free(is);
    adapter_free(&x);
}

static void test_merged(void **state)
{
    (void)state;
    uint8_t mask[MOST_TENSORS];
    for (int c = 0; c < COUNT(tuned_configs); c++) {
        rapt_model *model = small_model(tuned_configs[c], 11),
                   *base = small_model(tuned_configs[c], 11);
        rapt_train_options o = tuned_options(model, MIXED, mask);
        rapt_trainer *trainer = trainer_of(model, &o, 2);
        for (int i = 0; i < 5; i++) one_step(trainer, tuned_configs[c], i);
        for (int i = 0; i < rapt_model_tensors(model); i++)
            if (mask[i] == RAPT_TUNING_LORA) check_merged(trainer, model, base, i);
        rapt_trainer_free(trainer);
        rapt_model_free(model);
        rapt_model_free(base);
    }
}

/* Options with which a step subtracts the gradient of the mean loss: without moments, Adam divides
   by the magnitude of the gradient plus epsilon. */
static rapt_train_options plain_descent(const rapt_model *model, uint8_t mask[MOST_TENSORS])
{
    rapt_train_options o = tuned_options(model, LORA_ONLY, mask);
    o.schedule = RAPT_SCHEDULE_CONSTANT;
    o.warmup = 0;
    o.dropout = o.attention_dropout = o.ffn_dropout = o.clip_norm = o.weight_decay = 0;
    o.beta1 = o.beta2 = 0;
    o.rate = o.epsilon = 1e5f;
    return o;
}

/* Returns the loss of the batch per token, by the oracle, with A and B of a matrix changed by `ha`
   at (k, j) and by `hb` at (i, k). */
static double oracle_loss(struct oracle_model *m, const struct adapter *x, const double *w0,
                          const struct small_batch *batches, const double step[2], const int at[3])
{
    const int k = at[0], i = at[1], j = at[2];
    struct adapter moved = *x;
    double *w = m->tensors[x->index].data;
    for (int row = 0; row < x->rows; row++)
        for (int column = 0; column < x->columns; column++) {
            double extra = 0, scale = (double)lora_alpha / RANK;
            double bik = (double)x->b[row * RANK + k], akj = (double)x->a[k * x->columns + column];
            if (column == j) extra += scale * bik * step[0];
            if (row == i) extra += scale * akj * step[1];
            if (row == i && column == j) extra += scale * step[0] * step[1];
            w[row * x->columns + column] =
                w0[row * x->columns + column] + product_at(&moved, row, column) + extra;
        }
    return oracle_batch_loss(m, NULL, &batches[0].tokens, &batches[1].tokens, 0.1, NULL);
}

/* Compares the gradients of one element of A and of B, as a step applied them, with difference
   quotients of the oracle's loss. */
static void check_quotients(struct oracle_model *m, const struct adapter *before,
                            const struct adapter *after, const double *w0,
                            const struct small_batch *batches, double tokens)
{
    for (int part = 0; part < 2; part++) {
        const int k = part, i = before->rows / 2, j = before->columns / 3, at[3] = {k, i, j};
        const double h = 1e-4, up[2] = {part ? 0 : h, part ? h : 0}, down[2] = {-up[0], -up[1]};
        double quotient = (oracle_loss(m, before, w0, batches, up, at) -
                           oracle_loss(m, before, w0, batches, down, at)) /
                          (2 * h * tokens);
        const float *was = part ? before->b : before->a, *is = part ? after->b : after->a;
        const int element = part ? i * RANK + k : k * before->columns + j;
        double gradient = (double)was[element] - (double)is[element];
        if (fabs(gradient - quotient) > 1e-5 * (1 + fabs(quotient)))
            fail_msg("matrix %d, part %d: %g, by quotients %g", before->index, part, gradient,
                     quotient);
    }
    const double none[2] = {0, 0};
    oracle_loss(m, before, w0, batches, none, (const int[3]){0, 0, 0}); /* restores the matrix */
}

/* Compares all gradients with those that the dense gradient G gives: dA = s B' G, dB = s G A'. */
static void check_dense(const struct adapter *before, const struct adapter *after, const float *g,
                        double tokens)
{
    const double s = (double)lora_alpha / RANK;
    const int R = before->rows, C = before->columns;
    double worst = 0, largest = 0;
    for (int k = 0; k < RANK; k++) {
        for (int j = 0; j < C; j++) {
            double sum = 0;
            for (int i = 0; i < R; i++)
                sum += (double)before->b[i * RANK + k] * (double)g[i * C + j];
            double moved = (double)before->a[k * C + j] - (double)after->a[k * C + j];
            worst = fmax(worst, fabs(moved - s * sum / tokens));
            largest = fmax(largest, fabs(s * sum / tokens));
        }
        for (int i = 0; i < R; i++) {
            double sum = 0;
            for (int j = 0; j < C; j++) sum += (double)g[i * C + j] * (double)before->a[k * C + j];
            double moved = (double)before->b[i * RANK + k] - (double)after->b[i * RANK + k];
            worst = fmax(worst, fabs(moved - s * sum / tokens));
            largest = fmax(largest, fabs(s * sum / tokens));
        }
    }
    assert_true(largest > 1e-4);
    assert_true(worst <= 1e-6 + 1e-4 * largest);
}

static void gradients(const rapt_config *c)
{
    uint8_t mask[MOST_TENSORS];
    struct small_batch batches[2];
    rapt_report report = {.size = sizeof report};
    rapt_model *model = small_model(c, 11), *base = small_model(c, 11);
    rapt_train_options o = plain_descent(model, mask);
    rapt_trainer *trainer = trainer_of(model, &o, 2);
    const int count = rapt_model_tensors(model);
    struct adapter before[MOST_TENSORS], after;
    float *dense[MOST_TENSORS];
    one_step(trainer, c, 0); /* so that B is not 0 */
    batch_of(c, 1, &batches[0], &batches[1]);
    struct oracle_model *m = oracle_model_read(model);
    assert_int_equal(
        rapt_train_gradient(trainer, &batches[0].tokens, &batches[1].tokens, &report, NULL),
        RAPT_OK);
    for (int i = 0; i < count; i++) {
        if (mask[i] != RAPT_TUNING_LORA) continue;
        before[i] = adapter_of(trainer, model, i);
        dense[i] = malloc(small_size(model, i) * sizeof(float));
        assert_int_equal(rapt_trainer_read_gradient(trainer, i, dense[i], NULL), RAPT_OK);
    }
    assert_int_equal(rapt_train_step(trainer, &report, NULL), RAPT_OK);
    for (int i = 0; i < count; i++) {
        if (mask[i] != RAPT_TUNING_LORA) continue;
        after = adapter_of(trainer, model, i);
        float *w = small_read(base, i);
        double *w0 = malloc(small_size(model, i) * sizeof *w0);
        for (size_t j = 0; j < small_size(model, i); j++) w0[j] = (double)w[j];
        check_dense(&before[i], &after, dense[i], (double)report.tokens);
        check_quotients(m, &before[i], &after, w0, batches, (double)report.tokens);
        adapter_free(&before[i]);
        adapter_free(&after);
        free(dense[i]);
        free(w);
        free(w0);
    }
    oracle_model_free(m);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    rapt_model_free(base);
}

static void test_gradients(void **state)
{
    (void)state;
    gradients(&small_configs[0]);
    gradients(&small_configs[14]);
    gradients(&small_configs[21]);
}

static void test_reading(void **state)
{
    (void)state;
    uint8_t mask[MOST_TENSORS];
    rapt_model *model = small_model(&wide, 11);
    const rapt_train_options o = tuned_options(model, LORA_ONLY, mask);
    rapt_trainer *trainer = trainer_of(model, &o, 1);
    rapt_message why = {""};
    const int bias = rapt_model_find(model, "encoder.layers.0.self_attn.out.bias");
    const int matrix = rapt_model_find(model, "encoder.layers.0.self_attn.out.weight");
    assert_int_equal(rapt_trainer_read_adapter(trainer, matrix, NULL, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_trainer_read_adapter(trainer, bias, NULL, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "has no adapter"));
    assert_int_equal(rapt_trainer_read_adapter(NULL, 0, NULL, NULL, &why), RAPT_BAD_ARGUMENT);
    struct adapter x = adapter_of(trainer, model, matrix); /* A is random, B is 0 */
    double squares = 0;
    for (int i = 0; i < RANK * x.columns; i++) squares += (double)x.a[i] * (double)x.a[i];
    for (int i = 0; i < RANK * x.rows; i++) assert_true(x.b[i] == 0);
    assert_true(fabs(squares / RANK - 1) < 0.5);
    adapter_free(&x);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_change),
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
