/* op.c - definitions, written from the papers named at each one. */
#include "op.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- operations in floats ---- */

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

/* ---- bf16 ---- */

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Rounds to the nearer of the two bf16 numbers around x, ties to even. */
uint16_t oracle_bf16(float x)
{
    uint32_t bits = bits_of(x), below = bits & 0xffff0000;
    if (isnan(x)) return (uint16_t)(bits >> 16 | 0x40);
    if (isinf(x)) return (uint16_t)(bits >> 16);
    if (fabsf(x) < 0x1p-126f) return signbit(x) ? 0x8000 : 0;
    double unit = ldexp(1, ilogbf(x) - 7); /* the distance to the next bf16 number */
    double rest = fabs((double)x) - fabs((double)float_of(below));
    int up = rest > unit / 2 || (rest == unit / 2 && (below >> 16) % 2 == 1);
    return (uint16_t)((below >> 16) + (uint32_t)up);
}

static float widened(uint16_t h)
{
    float x = float_of((uint32_t)h << 16);
    return isnan(x) || fabsf(x) >= 0x1p-126f ? x : copysignf(0, x);
}

static float quiet(float x)
{
    return float_of(bits_of(x) | 0x00400000);
}

/* Returns x + y, rounded to odd: if the sum is inexact, its last bit is 1, so that rounding it to
   fewer bits gives the same as rounding the exact sum. Knuth's two-sum computes the error. */
static double sum_to_odd(double x, double y)
{
    double sum = x + y, part = sum - x, error = (x - (sum - part)) + (y - part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (error == 0 || bits % 2 == 1) return sum;
    return nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}

/* Returns product + c. Neither the product, which is exact, nor c is a denormal or NaN, but the
   product is NaN if it is invalid. */
static float added(double product, float c)
{
    if (isnan(product) || isnan(product + (double)c)) return float_of(0xffc00000);
    if (isinf(product) || isinf(c)) return (float)(product + (double)c);
    double sum = sum_to_odd(product, (double)c);
    if (fabs(sum) >= 1 || sum == 0) return (float)sum;
    float scaled = (float)(sum * 0x1p100);
    return fabsf(scaled) < 0x1p-26f ? copysignf(0, scaled) : (float)((double)scaled * 0x1p-100);
}

static float without_denormal(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

float oracle_bf16_step(uint16_t left, uint16_t right, float c)
{
    const float a = widened(left), b = widened(right);
    if (isnan(a)) return quiet(a);
    if (isnan(b)) return quiet(b);
    if (isnan(c)) return quiet(c);
    return added((double)a * (double)b, without_denormal(c));
}

float oracle_bf16_add(float x, float y)
{
    if (isnan(x)) return quiet(x);
    if (isnan(y)) return quiet(y);
    return added((double)without_denormal(x), without_denormal(y));
}

float oracle_bf16_chain(int n, const float *a, int a_step, const float *b, int b_step, float sum)
{
    for (int k = 0; k < n; k += 2) {
        float odd_a = k + 1 < n ? a[(k + 1) * a_step] : 0;
        float odd_b = k + 1 < n ? b[(k + 1) * b_step] : 0;
        sum = oracle_bf16_step(oracle_bf16(odd_a), oracle_bf16(odd_b), sum);
        sum = oracle_bf16_step(oracle_bf16(a[k * a_step]), oracle_bf16(b[k * b_step]), sum);
    }
    return sum;
}

float oracle_bf16_tiles(int n, const float *a, int a_step, const float *b, int b_step, float sum)
{
    for (int first = 0; first < n; first += 32) {
        float sums[2] = {0, 0}; /* of the even and of the odd k */
        for (int k = first; k < first + 32; k++) {
            uint16_t x = k < n ? oracle_bf16(a[k * a_step]) : 0;
            uint16_t y = k < n ? oracle_bf16(b[k * b_step]) : 0;
            sums[k % 2] = oracle_bf16_step(x, y, sums[k % 2]);
        }
        sum = oracle_bf16_add(sum, oracle_bf16_add(sums[0], sums[1]));
    }
    return isnan(sum) ? float_of(0xffc00000) : sum;
}

/* ---- int8 ---- */

static int nearest(double x) /* halves to even */
{
    double below = floor(x), rest = x - below;
    int whole = (int)below;
    return rest > 0.5 || (rest == 0.5 && whole % 2 != 0) ? whole + 1 : whole;
}

void oracle_quantize(int n, const float *x, int *q, float *scale)
{
    double max = 0;
    int finite = 1;
    for (int k = 0; k < n; k++) {
        if (!isfinite(x[k])) finite = 0;
        max = fmax(max, fabs((double)x[k]));
        q[k] = 0;
    }
    *scale = finite ? 0 : NAN;
    if (!finite || max < 0x1p-118) return;
    float factor = (float)(127 / max);
    *scale = (float)(max / 127);
    for (int k = 0; k < n; k++) q[k] = nearest((double)(float)((double)x[k] * (double)factor));
}

void oracle_quantize_rest(int n, const float *x, const int *q, int *rest, float *scale)
{
    double max = 0;
    int finite = 1;
    for (int k = 0; k < n; k++) {
        if (!isfinite(x[k])) finite = 0;
        max = fmax(max, fabs((double)x[k]));
        rest[k] = 0;
    }
    float whole = (float)(max / 127), factor = (float)(127 / max);
    *scale = 0;
    if (!finite || whole < 0x1p-117f) return;
    *scale = (float)((double)whole / 254);
    for (int k = 0; k < n; k++) {
        double scaled = (double)(float)((double)x[k] * (double)factor);
        rest[k] = nearest((double)(float)((scaled - q[k]) * 254));
    }
}

float oracle_int8(int n, const int *q, float s, const int *w, float t, float bias)
{
    long long sum = 0;
    for (int k = 0; k < n; k++) sum += q[k] * w[k];
    double scale = (double)(float)((double)s * (double)t);
    float product = (float)((double)(float)sum * scale);
    return (float)((double)product + (double)bias);
}

/* ---- random numbers: Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1,
   2, 3", sections 3 and 4: ten rounds turn a key and a counter into 128 bits ---- */

void oracle_philox(uint64_t key, uint64_t low, uint64_t high, uint32_t words[4])
{
    uint32_t k[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    uint32_t x[4] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high, (uint32_t)(high >> 32)};
    for (int round = 0; round < 10; round++, k[0] += 0x9E3779B9u, k[1] += 0xBB67AE85u) {
        uint64_t left = 0xD2511F53ull * x[0], right = 0xCD9E8D57ull * x[2];
        uint32_t y[4] = {(uint32_t)(right >> 32) ^ x[1] ^ k[0], (uint32_t)right,
                         (uint32_t)(left >> 32) ^ x[3] ^ k[1], (uint32_t)left};
        for (int i = 0; i < 4; i++) x[i] = y[i];
    }
    for (int i = 0; i < 4; i++) words[i] = x[i];
}

uint64_t oracle_mix(uint64_t key, uint64_t word)
{
    uint32_t x[4];
    oracle_philox(key, word, UINT64_MAX, x);
    return (uint64_t)x[1] << 32 | x[0];
}

uint32_t oracle_element(uint64_t key, int row, int column)
{
    uint32_t x[4];
    oracle_philox(key, (uint64_t)(column / 64 * 16 + column % 16), (uint64_t)row, x);
    return x[column / 16 % 4];
}

double oracle_dropout(uint64_t key, float share, int row, int column)
{
    double s = (double)share;
    if (share == 0) return 1;
    return oracle_element(key, row, column) < (uint32_t)(s * 4294967296.0) ? 0 : 1 / (1 - s);
}
