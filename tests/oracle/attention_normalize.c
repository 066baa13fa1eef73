/* attention_normalize.c - how scores become weights beside the softmax: noise, choice, dropout. */
#include "attention_axes.h"

#include <math.h>
#include <stdint.h>

static void philox(const uint32_t key[2], const uint32_t counter[4], uint32_t x[4])
{
    uint32_t k[2] = {key[0], key[1]};
    for (int i = 0; i < 4; i++) x[i] = counter[i];
    for (int round = 0; round < 10; round++, k[0] += 0x9E3779B9u, k[1] += 0xBB67AE85u) {
        uint64_t left = 0xD2511F53ull * x[0], right = 0xCD9E8D57ull * x[2];
        uint32_t y[4] = {(uint32_t)(right >> 32) ^ x[1] ^ k[0], (uint32_t)right,
                         (uint32_t)(left >> 32) ^ x[3] ^ k[1], (uint32_t)left};
        for (int i = 0; i < 4; i++) x[i] = y[i];
    }
}

/* key = the first two words at counter (word, 2^64 - 1). */
static void mix(uint32_t key[2], int word)
{
    const uint32_t counter[4] = {(uint32_t)word, 0, UINT32_MAX, UINT32_MAX};
    uint32_t x[4];
    philox(key, counter, x);
    key[0] = x[0], key[1] = x[1];
}

/* The 32 bits of element (t, s) of a head. */
static uint32_t element(const rapt_attention *a, int b, int h, int t, int s)
{
    uint32_t key[2] = {(uint32_t)a->seed, (uint32_t)(a->seed >> 32)}, x[4];
    const uint32_t counter[4] = {(uint32_t)(s / 64 * 16 + s % 16), 0, (uint32_t)t, 0};
    mix(key, b);
    mix(key, h);
    philox(key, counter, x);
    return x[s / 16 % 4];
}

int oracle_is_hard(const rapt_attention *a)
{
    return a->normalizer == RAPT_NORMALIZER_ARGMAX || a->normalizer == RAPT_NORMALIZER_SAMPLE ||
           a->normalizer == RAPT_NORMALIZER_STRAIGHT_THROUGH;
}

double oracle_keep(const rapt_attention *a, int b, int h, int t, int s)
{
    double share = (double)a->dropout;
    if (a->dropout == 0 || oracle_is_hard(a)) return 1;
    return element(a, b, h, t, s) < (uint32_t)(share * 4294967296.0) ? 0 : 1 / (1 - share);
}

/* Gumbel noise of an element: -log(-log(u)), u = (n + 1/2) / 2^23, n the upper 23 of 32 bits: word
   s % 4 of counter (s / 4, t) under the key of dropout, mixed once more with the letters "gum". */
static double gumbel(const rapt_attention *a, int b, int h, int t, int s)
{
    uint32_t key[2] = {(uint32_t)a->seed, (uint32_t)(a->seed >> 32)}, x[4];
    const uint32_t counter[4] = {(uint32_t)s / 4, 0, (uint32_t)t, 0};
    mix(key, b);
    mix(key, h);
    mix(key, 'g' << 16 | 'u' << 8 | 'm');
    philox(key, counter, x);
    return -log(-log(((x[s % 4] >> 9) + 0.5) / 8388608));
}

double oracle_noise(const struct oracle_row *r, double *x)
{
    double temperature = r->a->temperature != 0 ? (double)r->a->temperature : 1, worst = 0;
    if (r->a->normalizer != RAPT_NORMALIZER_GUMBEL_SOFTMAX) return 0;
    for (int s = 0; s < r->keys; s++) {
        if (x[s] == -INFINITY) continue;
        if (!r->a->noiseless) x[s] += gumbel(r->a, r->b, r->h, r->t, s);
        x[s] /= temperature;
        worst = fmax(worst, fabs(x[s]));
    }
    return 4 * worst;
}

int oracle_choose(const struct oracle_row *r, const double *x, double *decides)
{
    int best = -1;
    for (int s = 0; s < r->keys; s++) {
        decides[s] = x[s];
        if (x[s] == -INFINITY) continue;
        if (r->a->normalizer == RAPT_NORMALIZER_SAMPLE && !r->a->noiseless)
            decides[s] += gumbel(r->a, r->b, r->h, r->t, s);
        if (best < 0 || decides[s] > decides[best]) best = s;
    }
    return best;
}
