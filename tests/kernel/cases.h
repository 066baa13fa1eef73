/* cases.h - one list of the kernels that work along rows, for tests and measurements: which arrays
   each reads and writes, and a call of it. `n` is the length of a row. */
#ifndef RAPT_TESTS_KERNEL_CASES_H
#define RAPT_TESTS_KERNEL_CASES_H

#include "kernel/kernel.h"

#include <string.h>

enum { CASE_INS = 4, CASE_OUTS = 4, CASE_ROWS = 7, CASE_BEST = 5 };

struct case_data {
    const float *in[CASE_INS]; /* each [rows][n] */
    float *out[CASE_OUTS];     /* each [n], read and written; initially in 0 .. 1 */
    float number[4];           /* results that are not rows */
    int index[CASE_BEST + 1];
};

struct kernel_case {
    const char *name;
    int ins, outs; /* number of arrays of in and of out */
    int rows;      /* rows of each input */
    int min;       /* smallest n allowed */
    void (*run)(const struct kernels *k, int n, struct case_data *d);
    /* Per element of n: floats read and written, and operations on floats as in the source; a fused
       multiply-add counts as two. */
    float reads, writes, operations;
};

static void case_dot(const struct kernels *k, int n, struct case_data *d)
{
    d->number[0] = k->dot(d->in[0], d->in[1], n);
}
static void case_add(const struct kernels *k, int n, struct case_data *d)
{
    k->add(d->out[0], d->in[0], (size_t)n);
}
static void case_square_sum(const struct kernels *k, int n, struct case_data *d)
{
    d->number[0] = k->square_sum(d->in[0], (size_t)n);
}
static void case_column_sum(const struct kernels *k, int n, struct case_data *d)
{
    k->column_sum(d->out[0], d->in[0], n, CASE_ROWS, n);
}
static void case_rows_finite(const struct kernels *k, int n, struct case_data *d)
{
    d->number[0] = (float)k->rows_finite(d->in[0], n, CASE_ROWS, n);
}
static void case_norm_row(const struct kernels *k, int n, struct case_data *d)
{
    k->norm_row(d->in[0], d->in[1], d->in[2], 1e-5f, n, d->out[0], d->number, d->number + 1);
}
static void case_rms_row(const struct kernels *k, int n, struct case_data *d)
{
    k->norm_row(d->in[0], d->in[1], NULL, 1e-5f, n, d->out[0], d->number, d->number + 1);
}
static void case_rms_row_backward(const struct kernels *k, int n, struct case_data *d)
{
    k->norm_row_backward(d->in[0], d->in[1], false, 0, 0.7f, d->in[2], NULL, n, d->out[0]);
}
static void case_norm_row_backward(const struct kernels *k, int n, struct case_data *d)
{
    k->norm_row_backward(d->in[0], d->in[1], true, 0.1f, 0.7f, d->in[2], NULL, n, d->out[0]);
}
static void case_norm_row_backward_from(const struct kernels *k, int n, struct case_data *d)
{
    k->norm_row_backward(d->in[0], d->in[1], true, 0.1f, 0.7f, d->in[2], d->in[3], n, d->out[0]);
}
static void case_norm_columns(const struct kernels *k, int n, struct case_data *d)
{
    k->norm_columns(d->in[0], d->in[1], n, d->in[2], d->in[3], CASE_ROWS, n, d->out[0], d->out[1]);
}
static void case_relu(const struct kernels *k, int n, struct case_data *d)
{
    k->activate(ACTIVATION_RELU, d->in[0], d->out[0], (size_t)n);
}
static void case_gelu(const struct kernels *k, int n, struct case_data *d)
{
    k->activate(ACTIVATION_GELU, d->in[0], d->out[0], (size_t)n);
}
static void case_silu(const struct kernels *k, int n, struct case_data *d)
{
    k->activate(ACTIVATION_SILU, d->in[0], d->out[0], (size_t)n);
}
static void case_gelu_tanh(const struct kernels *k, int n, struct case_data *d)
{
    k->activate(ACTIVATION_GELU_TANH, d->in[0], d->out[0], (size_t)n);
}
static void case_sigmoid(const struct kernels *k, int n, struct case_data *d)
{
    k->activate(ACTIVATION_SIGMOID, d->in[0], d->out[0], (size_t)n);
}
static void case_gelu_in_place(const struct kernels *k, int n, struct case_data *d)
{
    k->activate(ACTIVATION_GELU, d->out[0], d->out[0], (size_t)n);
}
static void case_relu_backward(const struct kernels *k, int n, struct case_data *d)
{
    k->activate_backward(ACTIVATION_RELU, d->in[0], d->in[1], d->out[0], (size_t)n);
}
static void case_gelu_backward(const struct kernels *k, int n, struct case_data *d)
{
    k->activate_backward(ACTIVATION_GELU, d->in[0], d->in[1], d->out[0], (size_t)n);
}
static void case_silu_backward(const struct kernels *k, int n, struct case_data *d)
{
    k->activate_backward(ACTIVATION_SILU, d->in[0], d->in[1], d->out[0], (size_t)n);
}
static void case_gelu_tanh_backward(const struct kernels *k, int n, struct case_data *d)
{
    k->activate_backward(ACTIVATION_GELU_TANH, d->in[0], d->in[1], d->out[0], (size_t)n);
}
static void case_sigmoid_backward(const struct kernels *k, int n, struct case_data *d)
{
    k->activate_backward(ACTIVATION_SIGMOID, d->in[0], d->in[1], d->out[0], (size_t)n);
}
static void case_gate(const struct kernels *k, int n, struct case_data *d)
{
    k->gate(ACTIVATION_SILU, d->in[0], d->in[1], d->out[0], (size_t)n);
}
static void case_gate_backward(const struct kernels *k, int n, struct case_data *d)
{
    k->gate_backward(ACTIVATION_GELU, d->in[0], d->in[1], d->in[2], d->out[0], d->out[1],
                     (size_t)n);
}

static void case_ssru_row(const struct kernels *k, int n, struct case_data *d)
{
    k->ssru_row(d->in[0], d->in[1], d->in[2], d->out[0], d->out[1], (size_t)n);
}
static void case_ssru_first(const struct kernels *k, int n, struct case_data *d)
{
    k->ssru_row(d->in[0], d->in[1], NULL, d->out[0], d->out[1], (size_t)n);
}
static void case_ssru_row_backward(const struct kernels *k, int n, struct case_data *d)
{
    k->ssru_row_backward(d->in[0], d->in[1], d->in[2], d->out[0], d->out[1], d->out[2], (size_t)n);
}

static const struct dropout case_drop = {0x123456789abcdefu, 0x40000000u, 4.0f / 3};

static void case_dropout(const struct kernels *k, int n, struct case_data *d)
{
    k->dropout_row(&case_drop, 5000000000u, d->in[0], NULL, d->out[0], n);
}
static void case_dropout_from(const struct kernels *k, int n, struct case_data *d)
{
    k->dropout_row(&case_drop, 3, d->in[0], d->in[1], d->out[0], n);
}
static void case_dropout_in_place(const struct kernels *k, int n, struct case_data *d)
{
    k->dropout_row(&case_drop, 4, d->out[0], d->out[0], d->out[0], n);
}
static void case_gumbel(const struct kernels *k, int n, struct case_data *d)
{
    k->gumbel_row(0x123456789abcdefu, 5000000000u, 48, d->in[0], d->out[0], n);
}
static void case_softmax_row(const struct kernels *k, int n, struct case_data *d)
{
    k->softmax_row(d->out[0], n, d->number, d->number + 1);
}
static void case_softmax_wide(const struct kernels *k, int n, struct case_data *d)
{
    for (int i = 0; i < n; i++)
        d->out[0][i] = 30 * d->in[0][i]; /* down to denormal results and zeros */
    k->softmax_row(d->out[0], n, d->number, d->number + 1);
}
static void case_sparsemax_row(const struct kernels *k, int n, struct case_data *d)
{
    d->index[0] = k->simplex_row(d->out[0], n, 1);
}
static void case_entmax_row(const struct kernels *k, int n, struct case_data *d)
{
    d->index[0] = k->simplex_row(d->out[0], n, 2);
}
static void case_learned_entmax_row(const struct kernels *k, int n, struct case_data *d)
{
    d->index[0] = k->entmax_row(d->in[0], d->out[0], n, 0.3f);
}
static void case_entmax_row_backward(const struct kernels *k, int n, struct case_data *d)
{
    d->number[0] = k->entmax_row_backward(d->out[0], d->out[1], n, 0.3f, d->out[2], d->out[3]);
}
static void case_log_sum_row(const struct kernels *k, int n, struct case_data *d)
{
    d->number[0] = k->log_sum_row(d->in[0], n);
}
static void case_loss_row(const struct kernels *k, int n, struct case_data *d)
{
    struct loss_sums sums;

    k->loss_row(d->out[0], n, n / 2, 0.1f, 0.25f, &sums);
    d->number[0] = sums.loss;
    d->number[1] = sums.likelihood;
    d->index[0] = sums.best;
}
static void case_top_row(const struct kernels *k, int n, struct case_data *d)
{
    float value[CASE_BEST] = {0};

    d->index[CASE_BEST] = k->top_row(d->in[0], n, CASE_BEST, d->index, value);
    for (int i = 0; i < 4; i++) d->number[i] = value[i];
}
static void case_top_more(const struct kernels *k, int n, struct case_data *d)
{
    float value[CASE_BEST] = {1, 0.5f};

    d->index[CASE_BEST] = k->top_more(d->in[0], n, 1000, CASE_BEST, 2, d->index, value);
    for (int i = 0; i < 4; i++) d->number[i] = value[i];
}
static void case_exp_row(const struct kernels *k, int n, struct case_data *d)
{
    k->exp_row(d->out[0], (size_t)n);
}
static void case_log_row(const struct kernels *k, int n, struct case_data *d)
{
    k->log_row(d->out[0], (size_t)n);
}
static void case_tanh_row(const struct kernels *k, int n, struct case_data *d)
{
    k->tanh_row(d->out[0], (size_t)n);
}

/* Computes angles of a position, 64 at a time as rotary embeddings do. */
static void case_sine_cosine_row(const struct kernels *k, int n, struct case_data *d)
{
    enum { CHUNK = 64 };
    double frequencies[CHUNK];

    for (int first = 0; first < n; first += CHUNK) {
        int count = rapt__min(n - first, CHUNK);
        for (int i = 0; i < count; i++) frequencies[i] = (double)d->in[0][first + i];
        k->sine_cosine_row(77, frequencies, count, d->out[0] + first, d->out[1] + first);
    }
}

/* Weights of rows, queries and vectors of a hidden layer. n counts what rows hold, or keys, of
   which only whole panels are compared. */
static const float case_weights[CASE_ROWS] = {0.5f, -1, 0, 3, 0.25f, -0.125f, 2};

static void case_gemv(const struct kernels *k, int n, struct case_data *d)
{
    k->gemv(case_weights, CASE_ROWS, d->in[0], n, n, d->out[0]);
}
static void case_rank1_update(const struct kernels *k, int n, struct case_data *d)
{
    k->rank1_update(case_weights, 1, d->in[0], n, d->out[0], n);
}
static void case_additive_row(const struct kernels *k, int n, struct case_data *d)
{
    static const float q[CASE_ROWS] = {0, 1, -0.5f, 0.1f, 2, -1, 0.3f};
    const struct additive a = {
        .width = CASE_ROWS, .panels = n / LANES, .q = q, .vector = case_weights, .keys = d->in[0]};

    k->additive_row(&a, d->out[0]);
}
static void case_additive_row_backward(const struct kernels *k, int n, struct case_data *d)
{
    float hidden[CASE_ROWS * LANES], query[CASE_ROWS] = {0}, vector[CASE_ROWS] = {0};
    struct additive a = {.width = CASE_ROWS, .panels = 1, .vector = case_weights, .hidden = hidden};

    for (int p = 0; p < n / LANES; p++) { /* the gradients of all elements are added to one row */
        const struct additive_gradients to = {query, vector, d->out[0] + p * LANES, LANES, 0};
        memcpy(hidden, d->in[0] + p * CASE_ROWS * LANES, sizeof hidden);
        k->additive_row_backward(&a, d->in[1] + p * LANES, &to);
    }
    d->number[0] = query[0], d->number[1] = query[CASE_ROWS - 1];
    d->number[2] = vector[0], d->number[3] = vector[CASE_ROWS - 1];
}
static void case_adam_span(const struct kernels *k, int n, struct case_data *d)
{
    static const struct adam step = {1e-3f, 0.9f, 0.98f, 1e-9f, 1.5f, 2.5f, 1e-5f, 0.7f};

    k->adam_span(&step, d->out[0], d->in[0], d->out[1], d->out[2], (size_t)n);
}

/* Estimated operations of e^x, log x, tanh x, the normal distribution, and sine and cosine, which
   SLEEF computes in double. */
enum { CASE_EXP = 22, CASE_LOG = 31, CASE_TANH = 48, CASE_GELU = 57, CASE_SINE_COSINE = 100 };

static const struct kernel_case kernel_cases[] = {
    {"dot", 2, 0, 1, 0, case_dot, 2, 0, 2},
    {"add", 1, 1, 1, 0, case_add, 2, 1, 1},
    {"square_sum", 1, 0, 1, 0, case_square_sum, 1, 0, 2},
    {"column_sum", 1, 1, CASE_ROWS, 0, case_column_sum, CASE_ROWS + 1, 1, 4 * CASE_ROWS},
    {"rows_finite", 1, 0, CASE_ROWS, 0, case_rows_finite, CASE_ROWS, 0, 2 * CASE_ROWS},
    {"norm_row", 3, 1, 1, 1, case_norm_row, 3, 1, 8},
    {"norm_row_backward", 3, 1, 1, 1, case_norm_row_backward, 4, 1, 16},
    {"norm_row_backward_from", 4, 1, 1, 1, case_norm_row_backward_from, 4, 1, 16},
    {"norm_columns", 4, 2, CASE_ROWS, 1, case_norm_columns, 2 * CASE_ROWS + 2, 2, 11 * CASE_ROWS},
    {"rms_row", 2, 1, 1, 1, case_rms_row, 2, 1, 6},
    {"rms_row_backward", 3, 1, 1, 1, case_rms_row_backward, 4, 1, 14},
    {"relu", 1, 1, 1, 0, case_relu, 1, 1, 1},
    {"gelu", 1, 1, 1, 0, case_gelu, 1, 1, CASE_GELU},
    {"silu", 1, 1, 1, 0, case_silu, 1, 1, CASE_EXP + 5},
    {"gelu_tanh", 1, 1, 1, 0, case_gelu_tanh, 1, 1, CASE_EXP + 9},
    {"sigmoid", 1, 1, 1, 0, case_sigmoid, 1, 1, CASE_EXP + 4},
    {"gelu_in_place", 0, 1, 1, 0, case_gelu_in_place, 1, 1, CASE_GELU},
    {"relu_backward", 2, 1, 1, 0, case_relu_backward, 2, 1, 2},
    {"gelu_backward", 2, 1, 1, 0, case_gelu_backward, 2, 1, CASE_GELU + 4},
    {"silu_backward", 2, 1, 1, 0, case_silu_backward, 2, 1, CASE_EXP + 9},
    {"gelu_tanh_backward", 2, 1, 1, 0, case_gelu_tanh_backward, 2, 1, CASE_EXP + 16},
    {"sigmoid_backward", 2, 1, 1, 0, case_sigmoid_backward, 2, 1, CASE_EXP + 5},
    {"gate", 2, 1, 1, 0, case_gate, 2, 1, CASE_EXP + 6},
    {"gate_backward", 3, 2, 1, 0, case_gate_backward, 3, 2, 2 * CASE_GELU + 7},
    {"ssru_row", 3, 2, 1, 0, case_ssru_row, 3, 2, CASE_EXP + 7},
    {"ssru_first", 2, 2, 1, 0, case_ssru_first, 2, 2, CASE_EXP + 7},
    {"ssru_row_backward", 3, 3, 1, 0, case_ssru_row_backward, 4, 3, CASE_EXP + 8},
    {"dropout", 1, 1, 1, 0, case_dropout, 1, 1, 2},
    {"dropout_from", 2, 1, 1, 0, case_dropout_from, 2, 1, 2},
    {"dropout_in_place", 0, 1, 1, 0, case_dropout_in_place, 1, 1, 2},
    {"gumbel_row", 1, 1, 1, 0, case_gumbel, 1, 1, 2 * CASE_LOG + 35},
    {"softmax_row", 0, 1, 1, 0, case_softmax_row, 1, 1, CASE_EXP + 3},
    {"softmax_wide", 1, 1, 1, 0, case_softmax_wide, 2, 1, CASE_EXP + 4},
    {"sparsemax_row", 0, 1, 1, 0, case_sparsemax_row, 1, 1, 24},
    {"entmax_row", 0, 1, 1, 0, case_entmax_row, 1, 1, 32},
    {"entmax_row_learned", 1, 1, 1, 0, case_learned_entmax_row, 1, 1, 5 * (2 * CASE_LOG + 12)},
    {"entmax_row_backward", 0, 4, 1, 0, case_entmax_row_backward, 6, 3, CASE_LOG + CASE_EXP + 30},
    {"log_sum_row", 1, 0, 1, 0, case_log_sum_row, 1, 0, CASE_EXP + 3},
    {"loss_row", 0, 1, 1, 1, case_loss_row, 1, 1, CASE_EXP + 8},
    {"top_row", 1, 0, 1, 0, case_top_row, 1, 0, 1},
    {"top_more", 1, 0, 1, 0, case_top_more, 1, 0, 1},
    {"exp_row", 0, 1, 1, 0, case_exp_row, 1, 1, CASE_EXP},
    {"log_row", 0, 1, 1, 0, case_log_row, 1, 1, CASE_LOG},
    {"tanh_row", 0, 1, 1, 0, case_tanh_row, 1, 1, CASE_TANH},
    {"sine_cosine_row", 1, 2, 1, 0, case_sine_cosine_row, 1, 2, CASE_SINE_COSINE},
    {"gemv", 1, 1, CASE_ROWS, 0, case_gemv, CASE_ROWS, 1, 2 * CASE_ROWS - 2},
    {"rank1_update", 1, 1, 1, 0, case_rank1_update, 2, 1, 2},
    {"additive_row", 1, 1, CASE_ROWS, 0, case_additive_row, CASE_ROWS, 1,
     CASE_ROWS *(CASE_TANH + 3)},
    {"additive_row_backward", 2, 1, CASE_ROWS, 0, case_additive_row_backward, CASE_ROWS + 2, 1,
     7 * CASE_ROWS},
    {"adam_span", 1, 3, 1, 0, case_adam_span, 4, 3, 16},
};

enum { KERNEL_CASES = sizeof kernel_cases / sizeof kernel_cases[0] };

#endif
