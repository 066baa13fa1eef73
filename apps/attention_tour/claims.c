/* claims.c - numeric checks of properties of attention: each claim is one number, the worst over
   the variants it is about. Here: softmax weights. */
#include "tour.h"
#include <math.h>
#include <string.h>

bool claim_holds(const struct claim *claim)
{
    if (claim->variants == 0 || !isfinite(claim->figure)) return false;
    return claim->above ? claim->figure >= claim->bound : claim->figure <= claim->bound;
}

void claim_worse(struct claim *claim, double figure)
{
    bool worse = claim->above ? figure < claim->figure : figure > claim->figure;
    if (claim->variants++ == 0 || worse || !(figure == figure)) claim->figure = figure;
}

/* The distance of rows from the simplex (weights >= 0 with sum 1; sum <= 1 if `less`). */
static double distance_from_simplex(const float *weights, bool less)
{
    double worst = 0;
    for (int t = 0; t < WORDS; t++) {
        double sum = 0;
        for (int s = 0; s < WORDS; s++) {
            sum += (double)weights[t * WORDS + s];
            worst = fmax(worst, -(double)weights[t * WORDS + s]);
        }
        worst = fmax(worst, less ? sum - 1 : fabs(sum - 1));
    }
    return worst;
}

/* How far the points out stand outside the convex hull of the values: a point is inside if no
   direction takes it further than all values. The directions across all pairs of values suffice.
   zero: the origin is one of the values. */
static double outside_hull(const float *value, const float *out, bool zero)
{
    float points[WORDS + 1][2] = {{0}};
    const int count = WORDS + (zero ? 1 : 0);
    double worst = 0;
    memcpy(points, value, WORDS * sizeof *points);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            double x = (double)points[j][1] - (double)points[i][1];
            double y = (double)points[i][0] - (double)points[j][0];
            double length = sqrt(x * x + y * y), max = -INFINITY;
            if (!(length > 0)) continue;
            for (int k = 0; k < count; k++)
                max = fmax(max, (x * (double)points[k][0] + y * (double)points[k][1]) / length);
            for (int t = 0; t < WORDS; t++) {
                double at = (x * (double)out[2 * t] + y * (double)out[2 * t + 1]) / length;
                worst = fmax(worst, at - max);
            }
        }
    return worst;
}

/* Keys of the same length, which is long, as queries: how far the weight of each word on itself is
   from 1, and its output from its value. */
static double judge_own(const struct sentence *s, struct variant variant, uint64_t seed)
{
    enum { LENGTH = 40 };
    float key[WORDS * WIDTH];
    struct result r;
    double worst = 0;
    for (int t = 0; t < WORDS; t++) {
        double square = 0;
        for (int i = 0; i < WIDTH; i++) square += pow((double)s->key[t * WIDTH + i], 2);
        for (int i = 0; i < WIDTH; i++)
            key[t * WIDTH + i] = (float)(LENGTH * (double)s->key[t * WIDTH + i] / sqrt(square));
    }
    problem_make(&r, s, variant, seed);
    attend(&r, key, key, s->value);
    for (int t = 0; t < WORDS; t++) {
        worst = fmax(worst, 1 - (double)r.weights[t * WORDS + t]);
        for (int i = 0; i < 2; i++)
            worst = fmax(worst, fabs((double)(r.out[2 * t + i] - s->value[2 * t + i])));
    }
    return worst;
}

int claims_soft(struct claim *claims, const struct sentence *s, uint64_t seed)
{
    static const struct claim texts[] = {
        {.name = "weights",
         .statement = "softmax weights are not negative and sum to 1",
         .measure = "maximum deviation",
         .bound = 1e-6},
        {.name = "hull",
         .statement = "so every output lies in the convex hull of the values",
         .measure = "maximum distance outside",
         .bound = 1e-6},
        {.name = "local-p",
         .statement = "local-p rescales them: they sum to at most 1, outputs move towards 0",
         .measure = "maximum distance outside",
         .bound = 1e-6},
        {.name = "own key",
         .statement = "a long query that equals a key: weight 1 there, and its value as output",
         .measure = "maximum deviation",
         .bound = 1e-3},
    };
    memcpy(claims, texts, sizeof texts);
    for (struct variant v = {0}; variant_is(v); v = variant_after(v)) {
        struct result r;
        if (is_hard(v.normalizer)) continue;
        problem_make(&r, s, v, seed);
        attend(&r, s->query, s->key, s->value);
        const bool rescaled = v.locality == RAPT_LOCALITY_LOCAL_P;
        if (!rescaled && (v.score == RAPT_SCORE_DOT || v.score == RAPT_SCORE_SCALED_DOT))
            claim_worse(&claims[3], judge_own(s, v, seed));
        const double off = distance_from_simplex(r.weights, rescaled);
        const double outside = outside_hull(s->value, r.out, rescaled);
        if (rescaled) {
            claim_worse(&claims[2], fmax(off, outside));
        } else {
            claim_worse(&claims[0], off);
            claim_worse(&claims[1], outside);
        }
    }
    return sizeof texts / sizeof *texts;
}

void claims_find(struct claim claims[CLAIMS], const struct sentence *sentence, uint64_t seed)
{
    int count = claims_soft(claims, sentence, seed);
    count += claims_hard(claims + count, sentence, seed);
    claims_masks(claims + count, sentence, seed);
}
