/* distribution.c - normalizers, which turn scores x into weights z, and their gradients. Each has a
   row in the table at the end. p is softmax(x).

   SOFTMAX            z = p                          dx = p (dz - p.dz)
   ARGMAX             z = 1 at the max of x          dx = 0
   SAMPLE             z = 1 at the max of x + g      dx = gain (p - z) + entropy p (log p + H):
                                                     Williams 1992; gain is reward - baseline,
                                                     and H is the entropy of p
   STRAIGHT_THROUGH   z = 1 at the max of x          dx = p (dz - p.dz): Bengio, Leonard and
                                                     Courville 2013
   GUMBEL_SOFTMAX     y = (x + g) / temperature      dy = z (dz - z.dz): Jang, Gu and Poole 2017
                      z = softmax(y)                 dx = dy / temperature
   SINK_SOFTMAX       z = e^x / (e^b + sum of e^x)   dx = z (dz - z.dz), db = -r z.dz, where
                                                     r = 1 - sum of z: Xiao et al. 2023
   SIGMOID            z = 1 / (1 + e^-(x + b))       dx = z (1 - z) dz, db = sum of dx:
                                                     Ramapuram et al. 2024
   SPARSEMAX          see below: Martins and Astudillo 2016
   ENTMAX_1_5         see below: Peters, Niculae and Martins 2019
   ENTMAX             see below: Correia, Niculae and Martins 2019

   g is Gumbel noise: argmax(x + g) has the distribution p (Gumbel 1954; Maddison, Tarlow and Minka
   2014, "A* sampling", section 2). Without noise it is 0. g[s] is column s of the query's row of
   random numbers (kernel/random.c), so it depends only on seed, sequence, head, query and key. If
   several keys attain the maximum, the first is chosen. Hidden keys have x = -infinity, and their
   weights and gradients are 0.

   If the temperature is so low that the maximum of y would be infinite, the maximum of x + g is
   subtracted before the division. If the inverse of the temperature is infinite, dx is its limit,
   0. */
#include "attention/general/general.h"

#include <float.h>
#include <math.h>
#include <string.h>

static size_t length_of(const struct row *r)
{
    return (size_t)(r->end - r->first);
}

static void copy_scores(const struct row *r, float *to)
{
    memcpy(to + r->first, r->space.x + r->first, length_of(r) * sizeof *to);
}

/* Zeroes the elements of hidden keys, so that a NaN from a visible key does not reach them. */
static void hide(const struct row *r, float *to)
{
    for (int s = r->first; s < r->end; s++)
        if (r->space.x[s] == -INFINITY) to[s] = 0;
}

/* Given the maximum of the scores, not all of which are hidden, and the sum of their exponentials
   relative to this maximum, returns their log-sum-exp, or 0 if it is not wanted. */
static float log_sum(const struct row *r, float max, float sum)
{
    if (!r->head->keeps_lse) return 0;
    r->head->kernels->log_row(&sum, 1);
    return (float)((double)max + (double)sum);
}

/* Replaces the scores in p with their softmax, which is 0 at hidden keys even if the sum is NaN.
   Returns -infinity if all keys are hidden, else the result of log_sum. */
static float exponentiate(struct row *r)
{
    const struct kernels *k = r->head->kernels;
    float *p = r->space.p, max, sum;
    k->softmax_row(p + r->first, r->end - r->first, &max, &sum);
    if (sum == 0) return -INFINITY;
    for (int s = r->first; s < r->end; s++) p[s] /= sum;
    if (isnan(sum)) hide(r, p);
    return log_sum(r, max, sum);
}

/* Works like exponentiate, but with a sink, whose weight is stored in r->sink_weight. */
static float exponentiate_with_sink(struct row *r)
{
    const struct kernels *k = r->head->kernels;
    float *p = r->space.p, sink = r->head->number, max, sum;
    k->softmax_row(p + r->first, r->end - r->first, &max, &sum);
    if (sum == 0) return -INFINITY;
    float top = fmaxf(max, sink), factors[] = {max - top, sink - top};
    k->exp_row(factors, 2);
    float keep = factors[0], own = factors[1], all = sum * keep + own;
    for (int s = r->first; s < r->end; s++) p[s] = p[s] * keep / all;
    if (isnan(all)) hide(r, p);
    r->sink_weight = own / all;
    return log_sum(r, top, all);
}

static void add_noise(const struct row *r, float *to)
{
    const struct row_head *h = r->head;
    h->kernels->gumbel_row(h->noise, r->number, r->first, r->space.x + r->first, to + r->first,
                           r->end - r->first);
}

static void take_weights(struct row *r, float lse)
{
    r->lse = lse;
    r->fully_masked = lse == -INFINITY;
    memcpy(r->space.weights + r->first, r->space.p + r->first, length_of(r) * sizeof(float));
}

static void normalize_softmax(struct row *r)
{
    copy_scores(r, r->space.p);
    take_weights(r, exponentiate(r));
}

static void normalize_sink(struct row *r)
{
    copy_scores(r, r->space.p);
    take_weights(r, exponentiate_with_sink(r));
}

static void normalize_sigmoid(struct row *r)
{
    const float *x = r->space.x, number = r->head->number;
    float *p = r->space.p, *e = r->space.more;
    bool any = false;
    for (int s = r->first; s < r->end; s++) e[s] = -fabsf(x[s] + number);
    r->head->kernels->exp_row(e + r->first, length_of(r));
    for (int s = r->first; s < r->end; s++) {
        bool hidden = x[s] == -INFINITY;
        p[s] = hidden ? 0 : (x[s] + number < 0 ? e[s] : 1) / (1 + e[s]);
        any |= !hidden;
    }
    take_weights(r, any ? 0 : -INFINITY);
}

/* Returns the maximum over whole panels, ignoring NaN. */
static float max_of(const float *x, int first, int end)
{
    float max[LANES], result = -INFINITY;
    for (int i = 0; i < LANES; i++) max[i] = -INFINITY;
    for (int s = first; s < end; s += LANES)
        for (int i = 0; i < LANES; i++) max[i] = x[s + i] > max[i] ? x[s + i] : max[i];
    for (int i = 0; i < LANES; i++) result = max[i] > result ? max[i] : result;
    return result;
}

static void normalize_gumbel(struct row *r)
{
    float temperature = r->head->temperature, *p = r->space.p;
    if (r->head->noiseless)
        copy_scores(r, p);
    else
        add_noise(r, p);
    float max = temperature < 1 ? max_of(p, r->first, r->end) : 0;
    bool low = isfinite(max) && !isfinite(max / temperature);
    for (int s = r->first; s < r->end && temperature != 1; s++)
        p[s] = (low ? p[s] - max : p[s]) / temperature;
    take_weights(r, exponentiate(r));
    if (low && !r->fully_masked) r->lse = copysignf(FLT_MAX, max);
}

/* Gives weight 1 to r->chosen if an earlier call chose it, else to the key where `from` is
   largest. */
static void choose_key(struct row *r, const float *from)
{
    const struct kernels *k = r->head->kernels;
    int position = 0, best = -1;
    float value;
    if (r->decided) {
        bool seen = r->chosen >= r->visible.low && r->chosen < r->visible.high;
        if (seen && r->space.x[r->chosen] != -INFINITY) best = r->chosen;
    } else if (k->top_row(from + r->first, r->end - r->first, 1, &position, &value) == 1) {
        best = r->first + position;
    }
    memset(r->space.weights + r->first, 0, length_of(r) * sizeof(float));
    r->chosen = best;
    r->fully_masked = best < 0;
    if (!r->fully_masked) r->space.weights[best] = 1;
    if (r->head->keeps_lse) r->lse = k->log_sum_row(r->space.x + r->first, r->end - r->first);
}

static void normalize_argmax(struct row *r)
{
    choose_key(r, r->space.x);
}

static void normalize_sample(struct row *r)
{
    bool draw = !r->decided && !r->head->noiseless;
    if (draw) add_noise(r, r->space.p);
    choose_key(r, draw ? r->space.p : r->space.x);
}

/* Replaces dz with p (dz - p.dz) / `by`. Returns p.dz. */
static float softmax_gradient(const struct row *r, float *dz, float by)
{
    const float *p = r->space.p;
    float sum = r->head->kernels->dot(p + r->first, dz + r->first, r->end - r->first);
    for (int s = r->first; s < r->end; s++)
        dz[s] = r->space.x[s] == -INFINITY ? 0 : p[s] * (dz[s] - sum);
    for (int s = r->first; s < r->end && by != 1; s++) dz[s] /= by;
    return sum;
}

static void softmax_backward(struct row *r, float *dz, struct gain gain)
{
    (void)gain;
    softmax_gradient(r, dz, 1);
}

static void sink_backward(struct row *r, float *dz, struct gain gain)
{
    (void)gain;
    r->dnumber = -r->sink_weight * softmax_gradient(r, dz, 1);
}

static void sigmoid_backward(struct row *r, float *dz, struct gain gain)
{
    const float *p = r->space.p;
    double sum = 0;
    (void)gain;
    for (int s = r->first; s < r->end; s++) {
        dz[s] = r->space.x[s] == -INFINITY ? 0 : p[s] * (1 - p[s]) * dz[s];
        sum += (double)dz[s];
    }
    r->dnumber = (float)sum;
}

/* ---- SPARSEMAX, ENTMAX_1_5 and ENTMAX, which give exact zeros ----

       z = max(0, (alpha - 1) x - tau)^k,  k = 1 / (alpha - 1),  with tau such that z sums to 1
       dx = c (dz - mean),  c = z^(2 - alpha) where z is not 0,  mean = c.dz / sum of c
       dalpha = (z.dz - mean) / (alpha - 1)^2 - (l.dz - mean sum of l) / (alpha - 1),  l = z log z
              = -sum of z log(z)^2 (dz - mean) (e^t - 1 - t) / t^2,  t = -(alpha - 1) log z

   alpha is 2 for sparsemax, 1.5 for 1.5-entmax, and otherwise 1 + sigmoid(a) with a learned a. The
   second form of dalpha follows from c.(dz - mean) = 0, and does not divide a small difference by
   (alpha - 1)^2. kernel/simplex.c computes the rows. */

/* Returns alpha - 1, which is at least 2^-20 so that k is finite. */
static double entmax_order(const struct row *r)
{
    double learned = 1 / (1 + rapt__exp(-(double)r->head->number));
    if (r->head->normalizer == RAPT_NORMALIZER_SPARSEMAX) return 1;
    if (r->head->normalizer == RAPT_NORMALIZER_ENTMAX_1_5) return 0.5;
    return learned < 0x1p-20 ? 0x1p-20 : learned;
}

static void entmax(struct row *r)
{
    const struct kernels *k = r->head->kernels;
    const int n = r->end - r->first;
    const float *x = r->space.x + r->first;
    float *p = r->space.p + r->first;
    bool sparsemax = r->head->normalizer == RAPT_NORMALIZER_SPARSEMAX, visible;
    if (r->head->normalizer == RAPT_NORMALIZER_ENTMAX) {
        visible = k->entmax_row(x, p, n, (float)entmax_order(r));
    } else {
        memcpy(p, x, (size_t)n * sizeof *p);
        visible = k->simplex_row(p, n, sparsemax ? 1 : 2);
    }
    r->fully_masked = !visible;
    r->lse = visible ? 0 : -INFINITY;
    memcpy(r->space.weights + r->first, p, (size_t)n * sizeof *p);
}

static void entmax_backward(struct row *r, float *dz, struct gain gain)
{
    (void)gain;
    const bool learned = r->head->normalizer == RAPT_NORMALIZER_ENTMAX;
    const double order = entmax_order(r);
    const float dalpha = r->head->kernels->entmax_row_backward(
        r->space.p + r->first, dz + r->first, r->end - r->first, (float)order,
        r->space.more + r->first, learned ? r->space.dropped + r->first : NULL);
    r->dnumber = (float)((double)dalpha * order * (1 - order));
}

/* ---- gradients of hard and random choices ---- */

static void nothing_backward(struct row *r, float *dz, struct gain gain)
{
    (void)gain;
    memset(dz + r->first, 0, length_of(r) * sizeof *dz);
}

static void gumbel_backward(struct row *r, float *dz, struct gain gain)
{
    if (isfinite(1 / r->head->temperature))
        softmax_gradient(r, dz, r->head->temperature);
    else
        nothing_backward(r, dz, gain);
}

static void straight_through_backward(struct row *r, float *dz, struct gain gain)
{
    (void)gain;
    copy_scores(r, r->space.p);
    exponentiate(r);
    softmax_gradient(r, dz, 1);
}

/* Adds to dz the gradient of -entropy H, which is entropy p (log p + H). Here H = -sum of p log p,
   and 0 log 0 is 0. */
static void entropy_backward(const struct row *r, float *dz, float entropy)
{
    const float *p = r->space.p;
    float *log = r->space.more;
    for (int s = r->first; s < r->end; s++) log[s] = p[s] > 0 ? p[s] : 1;
    r->head->kernels->log_row(log + r->first, length_of(r));
    float minus = r->head->kernels->dot(p + r->first, log + r->first, r->end - r->first);
    for (int s = r->first; s < r->end; s++) dz[s] += entropy * p[s] * (log[s] - minus);
    if (isnan(minus)) hide(r, dz);
}

static void sample_backward(struct row *r, float *dz, struct gain gain)
{
    copy_scores(r, r->space.p);
    exponentiate(r);
    for (int s = r->first; s < r->end; s++)
        dz[s] = r->space.x[s] == -INFINITY ? 0 : gain.reward * (r->space.p[s] - (s == r->chosen));
    if (gain.entropy != 0) entropy_backward(r, dz, gain.entropy);
}

static const struct normalizer {
    const char *name;
    bool hard;
    enum attend_kind kind; /* how the flash path computes the normalizer; 0 if it cannot */
    int number;            /* index of the array of learned parameters, one per head; 0 if none */
    void (*forward)(struct row *r);
    void (*backward)(struct row *r, float *dz, struct gain gain);
} normalizers[RAPT_NORMALIZER_COUNT] = {
    [RAPT_NORMALIZER_SOFTMAX] = {.name = "softmax",
                                 .kind = ATTEND_SOFTMAX,
                                 .forward = normalize_softmax,
                                 .backward = softmax_backward},
    [RAPT_NORMALIZER_ARGMAX] = {.name = "argmax",
                                .hard = true,
                                .forward = normalize_argmax,
                                .backward = nothing_backward},
    [RAPT_NORMALIZER_SAMPLE] = {.name = "sample",
                                .hard = true,
                                .forward = normalize_sample,
                                .backward = sample_backward},
    [RAPT_NORMALIZER_STRAIGHT_THROUGH] = {.name = "straight-through",
                                          .hard = true,
                                          .forward = normalize_argmax,
                                          .backward = straight_through_backward},
    [RAPT_NORMALIZER_GUMBEL_SOFTMAX] = {.name = "gumbel-softmax",
                                        .forward = normalize_gumbel,
                                        .backward = gumbel_backward},
    [RAPT_NORMALIZER_SINK_SOFTMAX] = {.name = "sink-softmax",
                                      .kind = ATTEND_SINK,
                                      .number = RAPT_ATTENTION_PARAMETER_SINK,
                                      .forward = normalize_sink,
                                      .backward = sink_backward},
    [RAPT_NORMALIZER_SIGMOID] = {.name = "sigmoid",
                                 .kind = ATTEND_SIGMOID,
                                 .number = RAPT_ATTENTION_PARAMETER_SIGMOID_BIAS,
                                 .forward = normalize_sigmoid,
                                 .backward = sigmoid_backward},
    [RAPT_NORMALIZER_SPARSEMAX] = {.name = "sparsemax",
                                   .forward = entmax,
                                   .backward = entmax_backward},
    [RAPT_NORMALIZER_ENTMAX_1_5] = {.name = "entmax-1.5",
                                    .forward = entmax,
                                    .backward = entmax_backward},
    [RAPT_NORMALIZER_ENTMAX] = {.name = "entmax",
                                .number = RAPT_ATTENTION_PARAMETER_ENTMAX_ALPHA,
                                .forward = entmax,
                                .backward = entmax_backward},
};

const char *rapt_normalizer_name(rapt_normalizer normalizer)
{
    return (unsigned)normalizer < RAPT_NORMALIZER_COUNT ? normalizers[normalizer].name : NULL;
}

bool rapt__normalizer_is_hard(rapt_normalizer normalizer)
{
    return normalizers[normalizer].hard;
}

enum attend_kind rapt__normalizer_kind(rapt_normalizer normalizer)
{
    return normalizers[normalizer].kind;
}

int rapt__normalizer_number(rapt_normalizer normalizer)
{
    return normalizers[normalizer].number ? normalizers[normalizer].number : -1;
}

void rapt__normalize(struct row *r)
{
    normalizers[r->head->normalizer].forward(r);
}

void rapt__normalize_backward(struct row *r, float *dz, struct gain gain)
{
    normalizers[r->head->normalizer].backward(r, dz, gain);
}
