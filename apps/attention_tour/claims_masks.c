/* claims_masks.c - claims about masks: keys and values that are hidden are set to NaN, and no
   result changes. */
#include "tour.h"
#include <math.h>
#include <string.h>

enum { CAUSAL, PADDING, WORD, FULLY_MASKED, MASK_CLAIMS, KEPT = 7, CAT = 2 };

static const struct claim said[MASK_CLAIMS] = {
    [CAUSAL] = {.name = "causal",
                .says = "causal: no word sees a later one, though those be NaN",
                .figure_is = "largest weight or change",
                .bound = 0},
    [PADDING] = {.name = "padding",
                 .says = "padding: seven words and three NaN are the same as seven words",
                 .figure_is = "largest weight or change",
                 .bound = 0},
    [WORD] = {.name = "hidden word",
              .says = "a hidden word gets no weight and spoils nothing, though it be NaN",
              .figure_is = "largest weight or change",
              .bound = 0},
    [FULLY_MASKED] = {.name = "nothing seen",
                      .says = "a word that sees nothing gets 0",
                      .figure_is = "largest weight or result",
                      .bound = 0},
};

/* Keys and values with words [first, end) made NaN. */
struct spoilt {
    float key[WORDS * WIDTH], value[WORDS * 2];
};

static void spoil(struct spoilt *spoilt, const struct sentence *s, int first, int end)
{
    memcpy(spoilt->key, s->key, sizeof spoilt->key);
    memcpy(spoilt->value, s->value, sizeof spoilt->value);
    for (int i = first * WIDTH; i < end * WIDTH; i++) spoilt->key[i] = NAN;
    for (int i = first * 2; i < end * 2; i++) spoilt->value[i] = NAN;
}

/* The larger one; NaN if one is, which fmax would lose. */
static double worse(double x, double y)
{
    return x > y || x != x ? x : y;
}

static double difference(const float *x, const float *y, int count)
{
    double max = 0;
    for (int i = 0; i < count; i++) max = worse(fabs((double)x[i] - (double)y[i]), max);
    return max;
}

/* The weights of column `key` above row `end`. */
static double seen(const struct result *r, int key, int end)
{
    double max = 0;
    for (int t = 0; t < end; t++) max = worse((double)r->weights[t * WORDS + key], max);
    return max;
}

/* Each word among the words up to itself, the rest NaN, is the word among all. */
static double judge_causal(const struct sentence *s, struct variant variant, uint64_t seed)
{
    struct result whole, part;
    struct spoilt spoilt;
    double max = 0;
    problem_make(&whole, s, variant, seed);
    whole.problem.mask.causal = 1;
    attend(&whole, s->query, s->key, s->value);
    for (int t = 0; t < WORDS; t++) {
        spoil(&spoilt, s, t + 1, WORDS);
        problem_make(&part, s, variant, seed);
        part.problem.mask.causal = 1;
        attend(&part, s->query, spoilt.key, spoilt.value);
        max = worse(difference(whole.out, part.out, 2 * t + 2), max);
        max = worse(seen(&whole, t, t), max);
    }
    return max;
}

static double judge_padding(const struct sentence *s, struct variant variant, uint64_t seed)
{
    static const int kept = KEPT;
    struct result padded, cut;
    struct spoilt spoilt;
    double max = 0;
    spoil(&spoilt, s, KEPT, WORDS);
    problem_make(&padded, s, variant, seed);
    padded.problem.mask.key_counts = &kept;
    attend(&padded, s->query, spoilt.key, spoilt.value);
    problem_make(&cut, s, variant, seed);
    cut.problem.keys = KEPT;
    attend(&cut, s->query, s->key, s->value);
    for (int i = KEPT; i < WORDS; i++) max = worse(seen(&padded, i, WORDS), max);
    return worse(difference(padded.out, cut.out, WORDS * 2), max);
}

/* The cat hidden from all; then the first word sees nothing. */
static void judge_word(struct claim *claims, const struct sentence *s, struct variant variant,
                       uint64_t seed)
{
    uint8_t allowed[WORDS * WORDS];
    struct result spoilt_cat, cat;
    struct spoilt spoilt;
    memset(allowed, 1, sizeof allowed);
    for (int t = 0; t < WORDS; t++) allowed[t * WORDS + CAT] = 0;
    memset(allowed, 0, WORDS);
    spoil(&spoilt, s, CAT, CAT + 1);
    problem_make(&cat, s, variant, seed);
    cat.problem.mask.allowed = allowed;
    cat.problem.mask.allowed_stride.row = WORDS;
    spoilt_cat = cat;
    attend(&cat, s->query, s->key, s->value);
    attend(&spoilt_cat, s->query, spoilt.key, spoilt.value);
    double max = seen(&spoilt_cat, CAT, WORDS);
    claim_worse(&claims[WORD], worse(difference(cat.out, spoilt_cat.out, WORDS * 2), max));
    max = worse(fabs((double)cat.out[0]), fabs((double)cat.out[1]));
    for (int i = 0; i < WORDS; i++) max = worse((double)cat.weights[i], max);
    claim_worse(&claims[FULLY_MASKED], max);
}

int claims_masks(struct claim *claims, const struct sentence *s, uint64_t seed)
{
    memcpy(claims, said, sizeof said);
    for (struct variant v = {0}; variant_is(v); v = variant_after(v)) {
        claim_worse(&claims[CAUSAL], judge_causal(s, v, seed));
        claim_worse(&claims[PADDING], judge_padding(s, v, seed));
        judge_word(claims, s, v, seed);
    }
    return MASK_CLAIMS;
}
