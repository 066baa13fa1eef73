/* train.c - training and testing of network and policy, and of a network without attention.

   The policy learns only from the reward, by REINFORCE. Its baseline is the reward that the network
   predicts, which is learned by squared error. READ: the digit is learned at every glimpse, by
   cross-entropy, and the reward is its probability after the last glimpse. FIND: the only signal is
   the reward, which is 1 if the last glimpse is at the digit. */
#include "glimpse.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void viewer_create(struct viewer *l, enum policy policy, const struct setup *setup)
{
    *l = (struct viewer){.setup = setup, .policy = policy};
    network_create(&l->network, setup);
    l->pictures = xcalloc((size_t)setup->batch, sizeof *l->pictures);
    l->labels = xcalloc((size_t)(setup->glimpses * setup->batch), sizeof *l->labels);
}

void viewer_free(struct viewer *l)
{
    network_free(&l->network);
    free(l->pictures);
    free(l->labels);
}

static void draw_batch(struct viewer *l, enum stream stream, int batch)
{
    const int rows = l->setup->batch;
    for (int b = 0; b < rows; b++) {
        picture_make(l->setup, stream, (uint64_t)batch * (uint64_t)rows + (uint64_t)b,
                     &l->pictures[b]);
        for (int t = 0; t < l->setup->glimpses; t++) l->labels[t * rows + b] = l->pictures[b].label;
    }
}

static void rollout(struct viewer *l, bool greedy, uint64_t seed)
{
    struct network *n = &l->network;
    const int rows = l->setup->batch, width = retina_width(l->setup);
    memset(n->tape.block, 0, n->tape.count * sizeof(float));
    for (int b = 0; b < rows; b++) {
        n->chosen[b] = location_center(l->setup);
        memcpy(n->fixation + 2 * b, n->coordinates + 2 * n->chosen[b], 2 * sizeof(float));
        retina_preview(l->setup, &l->pictures[b], n->coordinates,
                       n->previews + b * locations_of(l->setup) * PREVIEW_CELLS);
    }
    network_preview(n);
    for (int t = 0; t < l->setup->glimpses; t++) {
        if (t > 0) policy_choose(n, l->policy, greedy, t - 1, seed + (uint64_t)t);
        for (int b = 0, i = t * rows; b < rows; b++, i++)
            retina_sample(l->setup, &l->pictures[b], n->fixation + 2 * i,
                          n->tape.retina + i * width);
        network_glimpse(n, t);
    }
}

/* Returns true if the distance of the digit from the glimpse is at most a third of the window. */
static bool hits_digit(const struct viewer *l, int picture, int glimpse)
{
    const float *at = l->network.fixation + 2 * (glimpse * l->setup->batch + picture);
    const float max = (float)l->setup->window / 3;
    return fabsf(at[0] - l->pictures[picture].x) < max &&
           fabsf(at[1] - l->pictures[picture].y) < max;
}

bool viewer_found(const struct viewer *l, int picture)
{
    return hits_digit(l, picture, l->setup->glimpses - 1);
}

/* Sets the rewards of all choices, and the gradient of (baseline - reward)^2 / 2. */
static void set_rewards(struct viewer *l)
{
    struct network *n = &l->network;
    const int rows = l->setup->batch, digits = l->setup->digits, glimpses = l->setup->glimpses;
    float p[DIGITS];
    for (int b = 0; b < rows; b++) {
        softmax(1, digits, n->tape.logits + ((glimpses - 1) * rows + b) * digits, p);
        const float reward = l->setup->aim == READ ? p[l->pictures[b].label]
                             : viewer_found(l, b)  ? 1.0F
                                                   : 0.0F;
        for (int i = b; i < glimpses * rows; i += rows) {
            n->reward[i] = reward;
            n->gradient.baseline[i] = n->tape.baseline[i] - n->reward[i];
        }
    }
}

/* Sets the gradient of the logits; returns how many pictures are classified correctly at the
   end. */
static int learn_digits(struct viewer *l)
{
    struct network *n = &l->network;
    const int rows = l->setup->batch, digits = l->setup->digits;
    const int last = (l->setup->glimpses - 1) * rows;
    int correct = 0;
    cross_entropy(last, digits, n->tape.logits, l->labels, n->gradient.logits, NULL);
    cross_entropy(rows, digits, n->tape.logits + last * digits, l->labels,
                  n->gradient.logits + last * digits, &correct);
    return correct;
}

/* Makes a training step; returns how many pictures end as the aim demands. */
static int viewer_step(struct viewer *l, int number)
{
    struct network *n = &l->network;
    const struct setup *s = l->setup;
    const int rows = s->batch;
    const uint64_t seed = (s->seed << 32) + (uint64_t)number * MAX_GLIMPSES;
    int successes = 0;
    draw_batch(l, STREAM_TRAINING, number);
    rollout(l, false, seed);
    memset(n->gradient.block, 0, n->gradient.count * sizeof(float));
    if (s->aim == READ) successes = learn_digits(l);
    for (int b = 0; b < rows && s->aim == FIND; b++) successes += viewer_found(l, b);
    set_rewards(l);
    if (l->policy == LEARNED) policy_backward(n);
    network_backward(n);
    float remaining = 1 - (float)number / (float)s->steps;
    params_step(&n->params, s->rate * fminf(1, 3 * remaining), 1 / (float)rows, 1);
    return successes;
}

void viewer_train(struct viewer *l)
{
    const int part = (l->setup->steps + 39) / 40;
    int successes = 0;
    for (int i = 0; i < l->setup->steps && !interrupted(); i++) {
        successes += viewer_step(l, i);
        if (l->setup->quiet) training_progress("", i + 1, l->setup->steps);
        if ((i + 1) % part != 0 && i + 1 < l->setup->steps) continue;
        int counted = i % part + 1;
        l->steps[l->reports] = i + 1;
        l->success_curve[l->reports] = (double)successes / (counted * l->setup->batch);
        if (!l->setup->quiet && l->policy == LEARNED) /* only one of two threads reports */
            print_progress("%s policy: step %d of %d, %.1f %% right", policy_names[l->policy],
                           i + 1, l->setup->steps, 100 * l->success_curve[l->reports]);
        l->reports++;
        successes = 0;
    }
}

void viewer_run(struct viewer *l, int batch)
{
    draw_batch(l, STREAM_TESTS, batch);
    rollout(l, true, (l->setup->seed << 32) + (uint64_t)(batch + 1) * MAX_GLIMPSES);
}

int viewer_prediction(const struct viewer *l, int picture, int glimpse)
{
    const int digits = l->setup->digits, row = glimpse * l->setup->batch + picture;
    return argmax(digits, l->network.tape.logits + row * digits);
}

void viewer_test(struct viewer *l)
{
    const int rows = l->setup->batch, glimpses = l->setup->glimpses;
    const int batches = (l->setup->tests + rows - 1) / rows;
    int correct = 0, hits = 0, last = 0;
    for (int i = 0; i < batches; i++) {
        viewer_run(l, i);
        for (int b = 0; b < rows; b++) {
            correct += viewer_prediction(l, b, glimpses - 1) == l->pictures[b].label;
            for (int t = 1; t < glimpses; t++) hits += hits_digit(l, b, t);
            last += viewer_found(l, b);
        }
    }
    l->accuracy = (double)correct / (batches * rows);
    l->last_rate = (double)last / (batches * rows);
    l->hit_rate = glimpses > 1 ? (double)hits / (batches * rows * (glimpses - 1)) : 0;
}

double viewer_success(const struct viewer *l)
{
    return l->setup->aim == READ ? l->accuracy : l->last_rate;
}

/* ---- a network without attention, with one hidden layer over all pixels, which learns the digit
 * from the same pictures as a viewer ---- */

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
