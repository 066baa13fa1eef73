/* claims_hard.c - claims about hard attention: its output is one of the values, piecewise constant
   in the query, and its estimators of gradients are what their papers say. */
#include "tour.h"
#include <math.h>
#include <string.h>

enum { ONE, STILL, JUMP, GRADIENT, STRAIGHT, DRAWN, HARD_CLAIMS, IT = 5 };

static const struct claim said[HARD_CLAIMS] = {
    [ONE] = {.name = "one",
             .says = "hard attention gives exactly one of the values",
             .figure_is = "furthest from it",
             .bound = 0},
    [STILL] = {.name = "still",
               .says = "a small change of the queries does not move it, while soft results move",
               .figure_is = "furthest moved",
               .bound = 0},
    [JUMP] = {.name = "jump",
              .says = "at a tie it jumps, while soft results move by less than 0.0001",
              .figure_is = "shortest jump",
              .bound = 0.01,
              .above = true},
    [GRADIENT] = {.name = "no gradient",
                  .says = "so arg-max gives queries, keys and learned weights a gradient of 0",
                  .figure_is = "largest gradient",
                  .bound = 0},
    [STRAIGHT] = {.name = "straight-through",
                  .says = "straight-through passes on the gradient soft attention would have",
                  .figure_is = "largest difference, of its size",
                  .bound = 1e-5},
    [DRAWN] = {.name = "score function",
               .says = "a drawn choice that is rewarded gives a gradient nevertheless",
               .figure_is = "smallest gradient",
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

void query_between(float *query, const struct sentence *s, int word, int other, float share)
{
    memcpy(query, s->query, sizeof s->query);
    for (int i = 0; i < WIDTH; i++) {
        float from = s->query[word * WIDTH + i], to = s->query[other * WIDTH + i];
        query[word * WIDTH + i] = from + share * (to - from);
    }
}

/* One row of weight 1, and its value. */
static double off_one(const struct sentence *s, const struct result *r)
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

/* How far results move when all queries are changed a little. */
static double moved(const struct sentence *s, struct variant variant)
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

/* How far results differ between two points of the way from one word's query to another's. */
static double apart(const struct sentence *s, struct variant variant, int word, int other,
                    const float shares[2])
{
    struct result r[2];
    float query[WORDS * WIDTH];
    for (int i = 0; i < 2; i++) {
        problem_make(&r[i], s, variant, 1);
        query_between(query, s, word, other, shares[i]);
        attend(&r[i], query, s->key, s->value);
    }
    return difference(r[0].out, r[1].out, WORDS * 2);
}

/* Halves the way around a tie until nothing lies between its ends. */
static void find_tie(const struct sentence *s, struct variant variant, int word, int other,
                     float ends[2])
{
    for (;;) {
        const float middle = (ends[0] + ends[1]) / 2, half[2] = {ends[0], middle};
        if (!(middle > ends[0]) || !(middle < ends[1])) return;
        ends[apart(s, variant, word, other, half) > 0 ? 1 : 0] = middle;
    }
}

/* From the query of "it" to that of the first word that makes another choice. */
static double judge_jump(const struct sentence *s, struct variant hard, struct variant soft)
{
    for (int other = 0; other < WORDS; other++) {
        float ends[2] = {0, 1};
        if (!(apart(s, hard, IT, other, ends) > 0)) continue;
        find_tie(s, hard, IT, other, ends);
        return apart(s, soft, IT, other, ends) < 1e-4 ? apart(s, hard, IT, other, ends) : NAN;
    }
    return NAN;
}

static struct variant softened(struct variant variant)
{
    variant.normalizer = RAPT_NORMALIZER_SOFTMAX;
    return variant;
}

static void find_slopes(struct slopes *slopes, const struct sentence *s, struct variant variant,
                        uint64_t seed)
{
    static const float reward[WORDS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct result r;
    problem_make(&r, s, variant, seed);
    attend(&r, s->query, s->key, s->value);
    slopes_find(slopes, &r, s, along, reward);
}

static void judge_argmax(struct claim *claims, const struct sentence *s, struct variant hard)
{
    const struct variant soft = softened(hard);
    struct slopes slopes;
    claim_worse(&claims[STILL], moved(s, soft) > 0 ? moved(s, hard) : NAN);
    claim_worse(&claims[JUMP], judge_jump(s, hard, soft));
    find_slopes(&slopes, s, hard, 1);
    claim_worse(&claims[GRADIENT], fmax(largest(slopes.query, WORDS * WIDTH),
                                        fmax(largest(slopes.key, WORDS * WIDTH),
                                             largest(slopes.learned, 2 * HIDDEN * WIDTH))));
}

/* Location-aware scores read the weights of the query before, and those are hard here: they have
   another softmax to begin with. */
static void judge_straight(struct claim *claims, const struct sentence *s, struct variant straight)
{
    struct slopes slopes, soft;
    if (straight.score == RAPT_SCORE_LOCATION_AWARE) return;
    find_slopes(&slopes, s, straight, 1);
    find_slopes(&soft, s, softened(straight), 1);
    claim_worse(&claims[STRAIGHT], difference(slopes.query, soft.query, WORDS * WIDTH) /
                                       largest(soft.query, WORDS * WIDTH));
}

static void judge_drawn(struct claim *claims, const struct sentence *s, struct variant drawn,
                        uint64_t seed)
{
    struct slopes slopes;
    find_slopes(&slopes, s, drawn, seed);
    claim_worse(&claims[DRAWN], largest(slopes.query, WORDS * WIDTH));
}

/* With local-p the query also moves the center, and with it the weight of what was chosen: its
   results do move, and are judged by nobody here. */
int claims_hard(struct claim *claims, const struct sentence *s, uint64_t seed)
{
    memcpy(claims, said, sizeof said);
    for (struct variant v = {0}; variant_is(v); v = variant_after(v)) {
        struct result r;
        if (v.locality == RAPT_LOCALITY_LOCAL_P) continue;
        if (v.normalizer == RAPT_NORMALIZER_ARGMAX) judge_argmax(claims, s, v);
        if (v.normalizer == RAPT_NORMALIZER_STRAIGHT_THROUGH) judge_straight(claims, s, v);
        if (v.normalizer == RAPT_NORMALIZER_SAMPLE) judge_drawn(claims, s, v, seed);
        if (!is_hard(v.normalizer)) continue;
        problem_make(&r, s, v, seed);
        attend(&r, s->query, s->key, s->value);
        claim_worse(&claims[ONE], off_one(s, &r));
    }
    return HARD_CLAIMS;
}
