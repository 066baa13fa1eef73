/* glimpse_network.c - tests the network and the policy of the program glimpse: gradients against
   difference quotients, and properties of pictures and glimpses. */
#include "glimpse/glimpse.h"
#include "quotient.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char program_name[] = "glimpse_network";

static const struct setup small = {.digits = 4,
                                   .side = 24,
                                   .clutter = 2,
                                   .window = 6,
                                   .cells = 3,
                                   .blur = 8,
                                   .grid = 3,
                                   .pitch = 6,
                                   .glimpses = 3,
                                   .width = 8,
                                   .batch = 4,
                                   .seed = 3};
enum { ROWS = 12, BATCH = 4, GLIMPSES = 3, LOCATIONS = 9 };

/* Fixed glimpses of a few pictures. Biases are not 0, where ReLU has its kink for empty
   pictures. */
struct trial {
    struct network network;
    int labels[ROWS];
    float baseline[ROWS]; /* a constant of the surrogate loss */
    bool choices;         /* use the loss of the policy instead of that of the digits */
};

static void forward(struct trial *trial)
{
    struct network *n = &trial->network;
    const size_t retina_values = (size_t)(ROWS * retina_width(&small));
    memset(n->tape.block + retina_values, 0, (n->tape.count - retina_values) * sizeof(float));
    network_preview(n);
    for (int t = 0; t < GLIMPSES; t++) network_glimpse(n, t);
}

static void trial_make(struct trial *trial, bool choices)
{
    struct network *n = &trial->network;
    struct random random = random_from(5, 5);
    trial->choices = choices;
    network_create(n, &small);
    for (int i = 0; i < 2 * small.width; i++)
        n->retina_in.bias[i] = n->ffn_in.bias[i] = 0.4F * random_normal(&random);
    for (int i = 0; i < ROWS; i++) {
        struct picture picture;
        picture_make(&small, STREAM_TESTS, (uint64_t)i % BATCH, &picture);
        trial->labels[i] = picture.label;
        n->chosen[i] = random_below(&random, LOCATIONS);
        n->reward[i] = random_unit(&random);
        memcpy(n->fixation + 2 * i, n->coordinates + 2 * n->chosen[i], 2 * sizeof(float));
        retina_sample(&small, &picture, n->fixation + 2 * i,
                      n->tape.retina + i * retina_width(&small));
        if (i < BATCH)
            retina_preview(&small, &picture, n->coordinates,
                           n->previews + i * LOCATIONS * PREVIEW_CELLS);
    }
    forward(trial);
}

/* Returns log p(chosen) of a decision by its definition. */
static double log_probability(const struct network *n, int t, int b)
{
    const float *ask = n->tape.policy_query + (t * BATCH + b) * KEY;
    const int chosen = n->chosen[(t + 1) * BATCH + b];
    double score[LOCATIONS], sum = 0;
    for (int s = 0; s < LOCATIONS; s++) {
        const float *key = n->tape.policy_keys + (b * LOCATIONS + s) * KEY;
        score[s] = 0;
        for (int i = 0; i < KEY; i++) score[s] += (double)ask[i] * (double)key[i];
        sum += exp(score[s]);
    }
    return score[chosen] - log(sum);
}

/* Returns the cross-entropy, or the surrogate loss of REINFORCE with a constant baseline. */
static double loss(void *argument, double *magnitude)
{
    struct trial *trial = argument;
    float zero[ROWS * DIGITS] = {0};
    struct network *n = &trial->network;
    double sum = 0;
    forward(trial);
    if (!trial->choices)
        return *magnitude =
                   cross_entropy(ROWS, small.digits, n->tape.logits, trial->labels, zero, NULL);
    *magnitude = 0;
    for (int t = 0; t + 1 < GLIMPSES; t++)
        for (int b = 0; b < BATCH; b++) {
            int i = t * BATCH + b;
            double term = (double)(trial->baseline[i] - n->reward[i]) * log_probability(n, t, b);
            sum += term;
            *magnitude += fabs(term);
        }
    return sum;
}

static void backward(struct trial *trial)
{
    struct network *n = &trial->network;
    memset(n->gradient.block, 0, n->gradient.count * sizeof(float));
    if (!trial->choices) {
        cross_entropy(ROWS, small.digits, n->tape.logits, trial->labels, n->gradient.logits, NULL);
    } else {
        int chosen[ROWS];
        memcpy(chosen, n->chosen, sizeof chosen);
        /* The forward pass gives the log-sum-exp of each softmax; the choices are then fixed. */
        for (int t = 0; t + 1 < GLIMPSES; t++) policy_choose(n, LEARNED, false, t, 1);
        memcpy(n->chosen, chosen, sizeof chosen);
        for (int i = 0; i < ROWS; i++)
            memcpy(n->fixation + 2 * i, n->coordinates + 2 * chosen[i], 2 * sizeof(float));
        policy_backward(n);
    }
    network_backward(n);
}

static void judge(bool choices)
{
    struct trial trial;
    int moved = 0, off = 0;
    trial_make(&trial, choices);
    memcpy(trial.baseline, trial.network.tape.baseline, sizeof trial.baseline);
    backward(&trial);
    struct params *p = &trial.network.params;
    for (size_t i = 0; i < p->count; i++) {
        double gradient = (double)p->gradient[i], quotient;
        off += !is_slope(loss, &trial, &p->value[i], 0x1p-11F, gradient, &quotient);
        moved += fabs(quotient) > 0.05;
    }
    /* A few quotients step across the kink of ReLU. */
    print_message("%d of %zu parameters move the loss, %d quotients differ\n", moved, p->count,
                  off);
    assert_true(moved > 1000 && off < 5);
    network_free(&trial.network);
}

static void test_digits(void **state)
{
    (void)state;
    judge(false);
}

static void test_policy_gradient(void **state)
{
    (void)state;
    judge(true);
}

/* Hard attention returns the coordinates of the chosen location; argmax is the most probable. */
static void test_choose(void **state)
{
    struct trial trial;
    struct network *n = &trial.network;
    (void)state;
    trial_make(&trial, true);
    policy_choose(n, LEARNED, true, 0, 1);
    for (int b = 0; b < BATCH; b++) {
        const int i = BATCH + b, best = n->chosen[i];
        assert_float_equal(n->fixation[2 * i], n->coordinates[2 * best], 0);
        assert_float_equal(n->fixation[2 * i + 1], n->coordinates[2 * best + 1], 0);
        double max = log_probability(n, 0, b);
        for (n->chosen[i] = 0; n->chosen[i] < LOCATIONS; n->chosen[i]++)
            assert_true(log_probability(n, 0, b) <= max + 16 * ROUNDING);
    }
    network_free(n);
}

/* A digit lies within its picture; a window at its center contains ink. */
static void test_pictures(void **state)
{
    static struct picture picture, again;
    struct setup setup = small;
    float x[12 * 12 + 9];
    (void)state;
    setup.digits = DIGITS;
    setup.window = 12;
    for (uint64_t i = 0; i < 200; i++) {
        picture_make(&setup, STREAM_TRAINING, i, &picture);
        picture_make(&setup, STREAM_TRAINING, i, &again);
        assert_memory_equal(&picture, &again, sizeof picture);
        assert_in_range(picture.label, 0, DIGITS - 1);
        assert_true(picture.x >= 6 && picture.x <= 18 && picture.y >= 8 && picture.y <= 16);
        const float point[2] = {picture.x, picture.y};
        float ink = 0;
        retina_sample(&setup, &picture, point, x);
        for (int k = 0; k < setup.window * setup.window; k++) {
            assert_true(x[k] >= 0 && x[k] <= 1);
            ink += x[k];
        }
        assert_true(ink > 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digits),
        cmocka_unit_test(test_policy_gradient),
        cmocka_unit_test(test_choose),
        cmocka_unit_test(test_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
