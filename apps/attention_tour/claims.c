/* claims.c - claims about attention, each judged by one number, the worst over all variants it is
   about; and the claims about softmax weights: convex combinations. */
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

/* How far the rows are from weights that are none below 0 and sum to 1; at most 1 if `less`. */
static double off_simplex(const float *weights, bool less)
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

int claims_soft(struct claim *claims, const struct sentence *s, uint64_t seed)
{
    static const struct claim said[] = {
        {.name = "weights",
         .says = "soft weights are none below 0 and sum to 1",
         .figure_is = "furthest from it",
         .bound = 1e-6},
        {.name = "hull",
         .says = "so every result lies within the convex hull of the values",
         .figure_is = "furthest outside",
         .bound = 1e-6},
        {.name = "local-p",
         .says = "local-p fades them: they sum to less, towards the origin",
         .figure_is = "furthest outside",
         .bound = 1e-6},
    };
    memcpy(claims, said, sizeof said);
    for (struct variant v = {0}; variant_is(v); v = variant_after(v)) {
        struct result r;
        if (is_hard(v.normalizer)) continue;
        problem_make(&r, s, v, seed);
        attend(&r, s->query, s->key, s->value);
        const bool fades = v.locality == RAPT_LOCALITY_LOCAL_P;
        const double off = off_simplex(r.weights, fades);
        const double outside = outside_hull(s->value, r.out, fades);
        if (fades) {
            claim_worse(&claims[2], fmax(off, outside));
        } else {
            claim_worse(&claims[0], off);
            claim_worse(&claims[1], outside);
        }
    }
    return sizeof said / sizeof *said;
}

void claims_find(struct claim claims[CLAIMS], const struct sentence *sentence, uint64_t seed)
{
    int count = claims_soft(claims, sentence, seed);
    count += claims_hard(claims + count, sentence, seed);
    claims_masks(claims + count, sentence, seed);
}
