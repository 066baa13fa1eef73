/* looking - the network of the program glimpse and its decisions, judged by difference quotients;
   pictures and looks by what they promise. */
#include "glimpse/core.c"
#include "glimpse/decide.c"
#include "glimpse/draw.c"
#include "glimpse/network.c"
#include "glimpse/retina.c"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

const char program_name[] = "looking";

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
enum { ROWS = 12, BATCH = 4, GLIMPSES = 3, POSITIONS = 9 };

/* What was looked at and where; biases away from 0, where empty pictures would have a kink. */
struct trial {
    struct network network;
    int labels[ROWS];
    bool decisions; /* J is about them, else about digits */
};

static void look(struct trial *trial)
{
    struct network *n = &trial->network;
    const size_t seen = (size_t)(ROWS * retina_width(&small));
    memset(n->tape.block + seen, 0, (n->tape.count - seen) * sizeof(float));
    network_preview(n);
    for (int t = 0; t < GLIMPSES; t++) network_glimpse(n, t);
}

static void trial_make(struct trial *trial, bool decisions)
{
    struct network *n = &trial->network;
    struct random random = random_from(5, 5);
    trial->decisions = decisions;
    network_create(n, &small);
    for (int i = 0; i < 2 * small.width; i++)
        n->see.bias[i] = n->think.bias[i] = 0.4F * random_normal(&random);
    for (int i = 0; i < ROWS; i++) {
        struct picture picture;
        picture_draw(&small, STREAM_TESTS, (uint64_t)i % BATCH, &picture);
        trial->labels[i] = picture.label;
        n->chosen[i] = random_below(&random, POSITIONS);
        n->reward[i] = random_unit(&random);
        memcpy(n->glimpsed + 2 * i, n->points + 2 * n->chosen[i], 2 * sizeof(float));
        retina_see(&small, &picture, n->glimpsed + 2 * i, n->tape.seen + i * retina_width(&small));
        if (i < BATCH)
            retina_preview(&small, &picture, n->points, n->marks + i * POSITIONS * MARKS);
    }
    look(trial);
}

/* log p(chosen) of a decision, by its definition. */
static double log_chance(const struct network *n, int t, int b)
{
    const float *ask = n->tape.ask + (t * BATCH + b) * KEY;
    const int chosen = n->chosen[(t + 1) * BATCH + b];
    double score[POSITIONS], sum = 0;
    for (int s = 0; s < POSITIONS; s++) {
        const float *key = n->tape.locations + (b * POSITIONS + s) * KEY;
        score[s] = 0;
        for (int i = 0; i < KEY; i++) score[s] += (double)ask[i] * (double)key[i];
        sum += exp(score[s]);
    }
    return score[chosen] - log(sum);
}

/* What descends: cross-entropy, or the score function's surrogate with what was expected held. */
static double loss(struct trial *trial, const float expected[ROWS])
{
    float nothing[ROWS * DIGITS] = {0};
    struct network *n = &trial->network;
    double sum = 0;
    look(trial);
    if (!trial->decisions)
        return cross_entropy(ROWS, small.digits, n->tape.logits, trial->labels, nothing, NULL);
    for (int t = 0; t + 1 < GLIMPSES; t++)
        for (int b = 0; b < BATCH; b++) {
            int i = t * BATCH + b;
            sum += (double)(expected[i] - n->reward[i]) * log_chance(n, t, b);
        }
    return sum;
}

static void back(struct trial *trial)
{
    struct network *n = &trial->network;
    memset(n->gradient.block, 0, n->gradient.count * sizeof(float));
    if (!trial->decisions) {
        cross_entropy(ROWS, small.digits, n->tape.logits, trial->labels, n->gradient.logits, NULL);
    } else {
        int chosen[ROWS];
        memcpy(chosen, n->chosen, sizeof chosen);
        /* Forward for the sum of each softmax; then the choices that are judged. */
        for (int t = 0; t + 1 < GLIMPSES; t++) decide(n, LEARNED, false, t, 1);
        memcpy(n->chosen, chosen, sizeof chosen);
        for (int i = 0; i < ROWS; i++)
            memcpy(n->glimpsed + 2 * i, n->points + 2 * chosen[i], 2 * sizeof(float));
        decide_back(n);
    }
    network_back(n);
}

static void judge(bool decisions)
{
    struct trial trial;
    float expected[ROWS];
    int moved = 0, off = 0;
    trial_make(&trial, decisions);
    memcpy(expected, trial.network.tape.expected, sizeof expected);
    back(&trial);
    struct params *p = &trial.network.params;
    for (size_t i = 0; i < p->count; i++) {
        const float kept = p->value[i], step = 1e-3F;
        p->value[i] = kept + step;
        double above = loss(&trial, expected);
        p->value[i] = kept - step;
        double below = loss(&trial, expected);
        p->value[i] = kept;
        double quotient = (above - below) / (2 * (double)step);
        moved += fabs(quotient) > 0.05;
        off += fabs(quotient - (double)p->gradient[i]) > 1e-2 * (1 + fabs(quotient));
    }
    /* A few quotients reach across the kink of a positive part. */
    assert_true(moved > 1000 && off < 5);
    network_free(&trial.network);
}

static void test_digits(void **state)
{
    (void)state;
    judge(false);
}

static void test_decisions(void **state)
{
    (void)state;
    judge(true);
}

/* Hard attention gives the coordinates of the chosen place; the best one is the likeliest. */
static void test_decide(void **state)
{
    struct trial trial;
    struct network *n = &trial.network;
    (void)state;
    trial_make(&trial, true);
    decide(n, LEARNED, true, 0, 1);
    for (int b = 0; b < BATCH; b++) {
        const int i = BATCH + b, best = n->chosen[i];
        assert_float_equal(n->glimpsed[2 * i], n->points[2 * best], 0);
        assert_float_equal(n->glimpsed[2 * i + 1], n->points[2 * best + 1], 0);
        double max = log_chance(n, 0, b);
        for (n->chosen[i] = 0; n->chosen[i] < POSITIONS; n->chosen[i]++)
            assert_true(log_chance(n, 0, b) <= max + 1e-5);
    }
    network_free(n);
}

/* A digit lies whole within its picture; a window over its middle holds ink. */
static void test_pictures(void **state)
{
    static struct picture picture, again;
    struct setup setup = small;
    float x[12 * 12 + 9];
    (void)state;
    setup.digits = DIGITS;
    setup.window = 12;
    for (uint64_t i = 0; i < 200; i++) {
        picture_draw(&setup, STREAM_TRAINING, i, &picture);
        picture_draw(&setup, STREAM_TRAINING, i, &again);
        assert_memory_equal(&picture, &again, sizeof picture);
        assert_in_range(picture.label, 0, DIGITS - 1);
        assert_true(picture.x >= 6 && picture.x <= 18 && picture.y >= 8 && picture.y <= 16);
        const float point[2] = {picture.x, picture.y};
        float ink = 0;
        retina_see(&setup, &picture, point, x);
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
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_decide),
        cmocka_unit_test(test_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
