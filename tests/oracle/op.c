/* op.c - definitions, written from the papers named at each one. */
#include "op.h"

#include <math.h>
#include <stddef.h>

void oracle_linear(int rows, int in, int out, const double *x, const double *w, const double *b,
                   double *y)
{
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            double sum = b ? b[o] : 0;
            for (int i = 0; i < in; i++) sum += x[r * in + i] * w[o * in + i];
            y[r * out + o] = sum;
        }
}

/* Hendrycks and Gimpel 2016, "Gaussian error linear units": x P(X <= x), X normal; the same paper
   names x sigmoid(x). */
double oracle_activation(int kind, double x)
{
    if (kind == ORACLE_RELU) return x > 0 ? x : 0;
    if (kind == ORACLE_GELU) return x * 0.5 * erfc(-x / sqrt(2));
    if (kind == ORACLE_GELU_TANH)
        return x * 0.5 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    return x / (1 + exp(-x));
}

/* Vaswani et al. 2017, sections 3.4 and 3.5. */
void oracle_embed(int rows, int width, const int *ids, const int *position, double scale,
                  const double *table, const double *positions, double *y)
{
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < width; j++) {
            double at = positions ? positions[position[r] * width + j] : 0;
            y[r * width + j] = scale * table[ids[r] * width + j] + at;
        }
}

/* Ba, Kiros and Hinton 2016, equation 4; Zhang and Sennrich 2019, equation 4. */
void oracle_norm(int rows, int width, const double *x, const double *gain, const double *bias,
                 double epsilon, double *y)
{
    for (int r = 0; r < rows; r++, x += width, y += width) {
        double mean = 0, variance = 0;
        for (int j = 0; bias && j < width; j++) mean += x[j] / width;
        for (int j = 0; j < width; j++) variance += (x[j] - mean) * (x[j] - mean) / width;
        for (int j = 0; j < width; j++)
            y[j] = (x[j] - mean) / sqrt(variance + epsilon) * gain[j] + (bias ? bias[j] : 0);
    }
}

/* Szegedy et al. 2016, section 7: q(k) = (1 - s) [k = label] + s / vocab, loss = -sum q log p. */
double oracle_loss(int vocab, const double *logits, int label, double smoothing, double *likelihood)
{
    double max = logits[0], sum = 0, loss = 0;
    for (int k = 1; k < vocab; k++) max = logits[k] > max ? logits[k] : max;
    for (int k = 0; k < vocab; k++) sum += exp(logits[k] - max);
    for (int k = 0; k < vocab; k++) {
        double log_p = logits[k] - max - log(sum);
        double q = (k == label ? 1 - smoothing : 0) + smoothing / vocab;
        loss -= q * log_p;
        if (k == label) *likelihood = -log_p;
    }
    return loss;
}

/* Kingma and Ba 2015, algorithm 1; decay: Loshchilov and Hutter 2019, algorithm 2. */
void oracle_adam(const struct oracle_adam *a, double *p, double g, double *m, double *v)
{
    *m = a->beta1 * *m + (1 - a->beta1) * g;
    *v = a->beta2 * *v + (1 - a->beta2) * g * g;
    double mhat = *m / (1 - pow(a->beta1, a->step)), vhat = *v / (1 - pow(a->beta2, a->step));
    *p -= a->rate * (mhat / (sqrt(vhat) + a->epsilon) + a->decay * *p);
}
