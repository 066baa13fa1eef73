/* learn.c - how looking and reading are learned together.

   The digit is learned from every look, by cross-entropy. The places are learned from the reward
   alone: the probability of the right digit after the last look. What reward was to be expected
   is learned too, by its squared error, and subtracted: a decision is blamed or praised only for
   the difference. */
#include "glimpse.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void learner_create(struct learner *l, enum looker looker, const struct setup *setup)
{
    *l = (struct learner){.setup = setup, .looker = looker};
    network_create(&l->network, setup);
    l->pictures = xcalloc((size_t)setup->batch, sizeof *l->pictures);
    l->labels = xcalloc((size_t)(setup->glimpses * setup->batch), sizeof *l->labels);
}

void learner_free(struct learner *l)
{
    network_free(&l->network);
    free(l->pictures);
    free(l->labels);
}

static void fetch(struct learner *l, enum stream stream, int batch)
{
    const int rows = l->setup->batch;
    for (int b = 0; b < rows; b++) {
        picture_draw(l->setup, stream, (uint64_t)batch * (uint64_t)rows + (uint64_t)b,
                     &l->pictures[b]);
        for (int t = 0; t < l->setup->glimpses; t++) l->labels[t * rows + b] = l->pictures[b].label;
    }
}

static void watch(struct learner *l, bool greedy, uint64_t seed)
{
    struct network *n = &l->network;
    const int rows = l->setup->batch, width = retina_width(l->setup);
    memset(n->tape.block, 0, n->tape.count * sizeof(float));
    for (int b = 0; b < rows; b++) {
        n->chosen[b] = place_middle(l->setup);
        memcpy(n->glimpsed + 2 * b, n->points + 2 * n->chosen[b], 2 * sizeof(float));
        retina_preview(l->setup, &l->pictures[b], n->points,
                       n->marks + b * locations_of(l->setup) * MARKS);
    }
    network_preview(n);
    for (int t = 0; t < l->setup->glimpses; t++) {
        if (t > 0) decide(n, l->looker, greedy, t - 1, seed + (uint64_t)t);
        for (int b = 0, i = t * rows; b < rows; b++, i++)
            retina_see(l->setup, &l->pictures[b], n->glimpsed + 2 * i, n->tape.seen + i * width);
        network_glimpse(n, t);
    }
}

/* Rewards of all decisions; the gradient of (expected - reward)^2 / 2. */
static void pay(struct learner *l)
{
    struct network *n = &l->network;
    const int rows = l->setup->batch, digits = l->setup->digits, glimpses = l->setup->glimpses;
    float p[DIGITS];
    for (int b = 0; b < rows; b++) {
        softmax(1, digits, n->tape.logits + ((glimpses - 1) * rows + b) * digits, p);
        for (int i = b; i < glimpses * rows; i += rows) {
            n->reward[i] = p[l->pictures[b].label];
            n->gradient.expected[i] = n->tape.expected[i] - n->reward[i];
        }
    }
}

/* Returns how many pictures are read rightly after the last look. */
static int step(struct learner *l, int number)
{
    struct network *n = &l->network;
    const struct setup *s = l->setup;
    const int rows = s->batch, digits = s->digits, last = (s->glimpses - 1) * rows;
    const uint64_t seed = (s->seed << 32) + (uint64_t)number * MAX_GLIMPSES;
    int right = 0;
    fetch(l, STREAM_TRAINING, number);
    watch(l, false, seed);
    memset(n->gradient.block, 0, n->gradient.count * sizeof(float));
    cross_entropy(last, digits, n->tape.logits, l->labels, n->gradient.logits, NULL);
    cross_entropy(rows, digits, n->tape.logits + last * digits, l->labels,
                  n->gradient.logits + last * digits, &right);
    pay(l);
    if (l->looker == LEARNED) decide_back(n);
    network_back(n);
    float left = 1 - (float)number / (float)s->steps;
    params_step(&n->params, s->rate * fminf(1, 3 * left), 1 / (float)rows, 1);
    return right;
}

void learner_train(struct learner *l)
{
    const int part = (l->setup->steps + 39) / 40;
    int right = 0;
    for (int i = 0; i < l->setup->steps && !interrupted(); i++) {
        right += step(l, i);
        if ((i + 1) % part != 0 && i + 1 < l->setup->steps) continue;
        int counted = i % part + 1;
        l->steps[l->reports] = i + 1;
        l->share[l->reports] = (double)right / (counted * l->setup->batch);
        if (!l->setup->quiet && l->looker == LEARNED) /* one thread speaks */
            print_progress("%s looking: step %d of %d, %.1f %% right", looker_names[l->looker],
                           i + 1, l->setup->steps, 100 * l->share[l->reports]);
        l->reports++;
        right = 0;
    }
}

void learner_watch(struct learner *l, int batch)
{
    fetch(l, STREAM_TESTS, batch);
    watch(l, true, (l->setup->seed << 32) + (uint64_t)(batch + 1) * MAX_GLIMPSES);
}

int learner_says(const struct learner *l, int picture, int look)
{
    const int digits = l->setup->digits, row = look * l->setup->batch + picture;
    return argmax(digits, l->network.tape.logits + row * digits);
}

/* Within a third of the window. */
static bool near(const struct learner *l, int picture, int look)
{
    const float *at = l->network.glimpsed + 2 * (look * l->setup->batch + picture);
    const float max = (float)l->setup->window / 3;
    return fabsf(at[0] - l->pictures[picture].x) < max &&
           fabsf(at[1] - l->pictures[picture].y) < max;
}

void learner_test(struct learner *l)
{
    const int rows = l->setup->batch, glimpses = l->setup->glimpses;
    const int batches = (l->setup->tests + rows - 1) / rows;
    int right = 0, landed = 0;
    for (int i = 0; i < batches; i++) {
        learner_watch(l, i);
        for (int b = 0; b < rows; b++) {
            right += learner_says(l, b, glimpses - 1) == l->pictures[b].label;
            for (int t = 1; t < glimpses; t++) landed += near(l, b, t);
        }
    }
    l->right = (double)right / (batches * rows);
    l->landed = glimpses > 1 ? (double)landed / (batches * rows * (glimpses - 1)) : 0;
}
