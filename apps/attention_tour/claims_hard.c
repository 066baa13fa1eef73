/* claims_hard.c - hard attention: one-hot weights, piecewise constant in the query, and its
 * gradients. */
#include "tour.h"
#include <math.h>
#include <string.h>

enum { ONE, STILL, JUMP, GRADIENT, STRAIGHT, DRAWN, HARD_CLAIMS, IT = 5 };

static const struct claim texts[HARD_CLAIMS] = {
    [ONE] = {.name = "one",
             .statement = "the output of hard attention is exactly one of the values",
             .measure = "maximum deviation",
             .bound = 0},
    [STILL] = {.name = "still",
               .statement =
                   "it does not change with a small change of the queries; softmax outputs do",
               .measure = "maximum change",
               .bound = 0},
    [JUMP] = {.name = "jump",
              .statement =
                  "at a tie it is discontinuous; softmax outputs change by less than 0.0001",
              .measure = "minimum jump",
              .bound = 0.01,
              .above = true},
    [GRADIENT] = {.name = "no gradient",
                  .statement = "so the gradient of argmax by queries, keys and parameters is 0",
                  .measure = "maximum gradient",
                  .bound = 0},
    [STRAIGHT] = {.name = "straight-through",
                  .statement = "straight-through has the gradient of softmax attention",
                  .measure = "maximum relative difference",
                  .bound = 1e-5},
    [DRAWN] = {.name = "REINFORCE",
               .statement = "sampled attention with a reward has a REINFORCE gradient",
               .measure = "minimum gradient",
               .bound = 1e-3,
               .above = true},
};

static const float along[WORDS * 2] = {1, -1, 0.5F, 1, -0.3F, 1, 1, 0.2F, -1, 0.6F,
                                       1, 1,  -1,   1, 0.4F,  1, 1, -1,   1,  0.8F};

static double largest(const float *x, int count)
{
    double max = 0;
    for (int i = 0; i < count; i++) max = fmax(max, fabs((double)x[i]));
    return max;
}

static double difference(const float *x, const float *y, int count)
{
    double max = 0;
    for (int i = 0; i < count; i++) max = fmax(max, fabs((double)x[i] - (double)y[i]));
    return max;
}

void query_between(float *query, const struct sentence *s, int word, int other, float fraction)
{
    memcpy(query, s->query, sizeof s->query);
    for (int i = 0; i < WIDTH; i++) {
        float from = s->query[word * WIDTH + i], to = s->query[other * WIDTH + i];
        query[word * WIDTH + i] = from + fraction * (to - from);
    }
}

/* The distance of weights from one-hot rows, and of outputs from the chosen values. */
static double distance_from_one_hot(const struct sentence *s, const struct result *r)
{
    double worst = 0;
    for (int t = 0; t < WORDS; t++) {
        for (int i = 0; i < WORDS; i++) {
            double wanted = i == r->chosen[t] ? 1 : 0;
            worst = fmax(worst, fabs((double)r->weights[t * WORDS + i] - wanted));
        }
        worst = fmax(worst, difference(r->out + 2 * t, s->value + 2 * r->chosen[t], 2));
    }
    return worst;
}

/* The change of outputs by a small change of all queries. */
static double change(const struct sentence *s, struct variant variant)
{
    struct result before, after;
    float query[WORDS * WIDTH];
    for (int i = 0; i < WORDS * WIDTH; i++) query[i] = s->query[i] + (float)(i % 3 - 1) * 1e-4F;
    problem_make(&before, s, variant, 1);
    attend(&before, s->query, s->key, s->value);
    problem_make(&after, s, variant, 1);
    attend(&after, query, s->key, s->value);
    return difference(before.out, after.out, WORDS * 2);
}

/* The distance of outputs at two points between one word's query and another's. */
static double distance_between(const struct sentence *s, struct variant variant, int word,
                               int other, const float fractions[2])
{
    struct result r[2];
    float query[WORDS * WIDTH];
    for (int i = 0; i < 2; i++) {
        problem_make(&r[i], s, variant, 1);
        query_between(query, s, word, other, fractions[i]);
        attend(&r[i], query, s->key, s->value);
    }
    return difference(r[0].out, r[1].out, WORDS * 2);
}

/* Bisects the interval around a tie down to adjacent floats. */
static void find_tie(const struct sentence *s, struct variant variant, int word, int other,
                     float ends[2])
{
    for (;;) {
        const float middle = (ends[0] + ends[1]) / 2, half[2] = {ends[0], middle};
        if (!(middle > ends[0]) || !(middle < ends[1])) return;
        ends[distance_between(s, variant, word, other, half) > 0 ? 1 : 0] = middle;
    }
}

/* From the query of "it" to that of the first word with another choice. */
static double judge_jump(const struct sentence *s, struct variant hard, struct variant soft)
{
    for (int other = 0; other < WORDS; other++) {
        float ends[2] = {0, 1};
        if (!(distance_between(s, hard, IT, other, ends) > 0)) continue;
        find_tie(s, hard, IT, other, ends);
        return distance_between(s, soft, IT, other, ends) < 1e-4
                   ? distance_between(s, hard, IT, other, ends)
                   : NAN;
    }
    return NAN;
}

static struct variant with_softmax(struct variant variant)
{
    variant.normalizer = RAPT_NORMALIZER_SOFTMAX;
    return variant;
}

static void find_gradients(struct tour_gradients *gradients, const struct sentence *s,
                           struct variant variant, uint64_t seed)
{
    static const float reward[WORDS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct result r;
    problem_make(&r, s, variant, seed);
    attend(&r, s->query, s->key, s->value);
    gradients_of(gradients, &r, s, along, reward);
}

static void judge_argmax(struct claim *claims, const struct sentence *s, struct variant hard)
{
    const struct variant soft = with_softmax(hard);
    struct tour_gradients gradients;
    claim_worse(&claims[STILL], change(s, soft) > 0 ? change(s, hard) : NAN);
    claim_worse(&claims[JUMP], judge_jump(s, hard, soft));
    find_gradients(&gradients, s, hard, 1);
    claim_worse(&claims[GRADIENT], fmax(largest(gradients.query, WORDS * WIDTH),
                                        fmax(largest(gradients.key, WORDS * WIDTH),
                                             largest(gradients.learned, 2 * HIDDEN * WIDTH))));
}

/* Not location-aware scores: they depend on the weights of the previous query, which are hard here.
 */
static void judge_straight(struct claim *claims, const struct sentence *s, struct variant straight)
{
    struct tour_gradients gradients, soft;
    if (straight.score == RAPT_SCORE_LOCATION_AWARE) return;
    find_gradients(&gradients, s, straight, 1);
    find_gradients(&soft, s, with_softmax(straight), 1);
    claim_worse(&claims[STRAIGHT], difference(gradients.query, soft.query, WORDS * WIDTH) /
                                       largest(soft.query, WORDS * WIDTH));
}

static void judge_drawn(struct claim *claims, const struct sentence *s, struct variant drawn,
                        uint64_t seed)
{
    struct tour_gradients gradients;
    find_gradients(&gradients, s, drawn, seed);
    claim_worse(&claims[DRAWN], largest(gradients.query, WORDS * WIDTH));
}

/* Not local-p: the query also moves the center, and with it the weight of the chosen key. */
int claims_hard(struct claim *claims, const struct sentence *s, uint64_t seed)
{
    memcpy(claims, texts, sizeof texts);
    for (struct variant v = {0}; variant_is(v); v = variant_after(v)) {
        struct result r;
        if (v.locality == RAPT_LOCALITY_LOCAL_P) continue;
        if (v.normalizer == RAPT_NORMALIZER_ARGMAX) judge_argmax(claims, s, v);
        if (v.normalizer == RAPT_NORMALIZER_STRAIGHT_THROUGH) judge_straight(claims, s, v);
        if (v.normalizer == RAPT_NORMALIZER_SAMPLE) judge_drawn(claims, s, v, seed);
        if (!is_hard(v.normalizer)) continue;
        problem_make(&r, s, v, seed);
        attend(&r, s->query, s->key, s->value);
        claim_worse(&claims[ONE], distance_from_one_hot(s, &r));
    }
    return HARD_CLAIMS;
}
