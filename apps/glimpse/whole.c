/* whole.c - a network without attention, with one hidden layer over all pixels, which learns the
   digit from the same pictures as a viewer. */
#include "glimpse.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN = 64 };
struct dense {
    const struct setup *setup;
    struct params params;
    struct linear in, out;
    struct picture *pictures; /* [batch] */
    float *hidden, *dhidden;  /* [batch][HIDDEN] */
    float *logits, *dlogits;  /* [batch][digits] */
    int *labels;              /* [batch] */
};

static int pixels(const struct setup *s)
{
    return s->side * s->side;
}

static void dense_create(struct dense *n, const struct setup *s)
{
    const size_t batch = (size_t)s->batch;
    struct random random = random_from(s->seed, STREAM_WEIGHTS);
    *n = (struct dense){.setup = s};
    params_create(&n->params, (size_t)((pixels(s) + 1) * HIDDEN + (HIDDEN + 1) * s->digits));
    linear_create(&n->in, &n->params, &random, pixels(s), HIDDEN, 1);
    linear_create(&n->out, &n->params, &random, HIDDEN, s->digits, 1);
    n->pictures = xcalloc(batch, sizeof *n->pictures);
    n->hidden = xcalloc(batch * HIDDEN, sizeof(float));
    n->dhidden = xcalloc(batch * HIDDEN, sizeof(float));
    n->logits = xcalloc(batch * (size_t)s->digits, sizeof(float));
    n->dlogits = xcalloc(batch * (size_t)s->digits, sizeof(float));
    n->labels = xcalloc(batch, sizeof(int));
}

static void dense_free(struct dense *n)
{
    params_free(&n->params);
    free(n->pictures);
    free(n->hidden);
    free(n->dhidden);
    free(n->logits);
    free(n->dlogits);
    free(n->labels);
}

/* Computes the first layer for one picture, most of whose pixels are 0. */
static void pixels_forward(const struct dense *n, const float *ink, float *y)
{
    memcpy(y, n->in.bias, HIDDEN * sizeof *y);
    for (int i = 0; i < pixels(n->setup); i++)
        for (int j = 0; j < HIDDEN && ink[i] > 0; j++)
            y[j] += ink[i] * n->in.weight[i * HIDDEN + j];
}

static void pixels_backward(const struct dense *n, const float *ink, const float *dy)
{
    for (int j = 0; j < HIDDEN; j++) n->in.dbias[j] += dy[j];
    for (int i = 0; i < pixels(n->setup); i++)
        for (int j = 0; j < HIDDEN && ink[i] > 0; j++)
            n->in.dweight[i * HIDDEN + j] += ink[i] * dy[j];
}

static void dense_forward(struct dense *n, enum stream stream, int batch)
{
    const struct setup *s = n->setup;
    for (int b = 0; b < s->batch; b++) {
        picture_make(s, stream, (uint64_t)batch * (uint64_t)s->batch + (uint64_t)b,
                     &n->pictures[b]);
        n->labels[b] = n->pictures[b].label;
        pixels_forward(n, n->pictures[b].ink, n->hidden + b * HIDDEN);
    }
    const size_t floats = (size_t)s->batch * HIDDEN;
    relu_forward(floats, n->hidden, n->hidden);
    memset(n->logits, 0, (size_t)(s->batch * s->digits) * sizeof(float));
    linear_forward(&n->out, s->batch, n->hidden, n->logits);
}

static void dense_step(struct dense *n, int number)
{
    const struct setup *s = n->setup;
    const size_t floats = (size_t)s->batch * HIDDEN;
    float *dinside = xcalloc(floats, sizeof *dinside);
    dense_forward(n, STREAM_TRAINING, number);
    cross_entropy(s->batch, s->digits, n->logits, n->labels, n->dlogits, NULL);
    memset(n->dhidden, 0, floats * sizeof(float));
    linear_backward(&n->out, s->batch, n->hidden, n->dlogits, n->dhidden);
    relu_backward(floats, n->hidden, n->dhidden, dinside);
    for (int b = 0; b < s->batch; b++) pixels_backward(n, n->pictures[b].ink, dinside + b * HIDDEN);
    free(dinside);
    float remaining = 1 - (float)number / (float)s->steps;
    params_step(&n->params, s->rate * fminf(1, 3 * remaining), 1 / (float)s->batch, 1);
}

void *whole_train(void *argument)
{
    struct whole *whole = argument;
    const struct setup *s = whole->setup;
    const int batches = (s->tests + s->batch - 1) / s->batch;
    struct dense n;
    int correct = 0;
    dense_create(&n, s);
    for (int i = 0; i < s->steps; i++) dense_step(&n, i);
    for (int i = 0; i < batches; i++) {
        dense_forward(&n, STREAM_TESTS, i);
        cross_entropy(s->batch, s->digits, n.logits, n.labels, n.dlogits, &correct);
    }
    whole->accuracy = (double)correct / (batches * s->batch);
    whole->parameters = n.params.count;
    dense_free(&n);
    return NULL;
}
