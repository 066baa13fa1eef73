/* claims_masks.c - masks: keys and values of masked positions are NaN, and no output changes. */
#include "tour.h"
#include <math.h>
#include <string.h>

enum { CAUSAL, PADDING, WORD, FULLY_MASKED, MASK_CLAIMS, WORDS_KEPT = 7, CAT = 2 };

static const struct claim texts[MASK_CLAIMS] = {
    [CAUSAL] = {.name = "causal",
                .statement = "causal: no word attends to a later one, even if those are NaN",
                .measure = "maximum weight or change",
                .bound = 0},
    [PADDING] = {.name = "padding",
                 .statement = "padding: seven words and three NaN give the same as seven words",
                 .measure = "maximum weight or change",
                 .bound = 0},
    [WORD] = {.name = "masked word",
              .statement = "a masked word gets weight 0 and changes nothing, even if it is NaN",
              .measure = "maximum weight or change",
              .bound = 0},
    [FULLY_MASKED] = {.name = "fully masked",
                      .statement = "a fully masked query gets output 0",
                      .measure = "maximum weight or output",
                      .bound = 0},
};

/* Keys and values with words [first, end) made NaN. */
struct poisoned {
    float key[WORDS * WIDTH], value[WORDS * 2];
};

static void poison(struct poisoned *poisoned, const struct sentence *s, int first, int end)
{
    memcpy(poisoned->key, s->key, sizeof poisoned->key);
    memcpy(poisoned->value, s->value, sizeof poisoned->value);
    for (int i = first * WIDTH; i < end * WIDTH; i++) poisoned->key[i] = NAN;
    for (int i = first * 2; i < end * 2; i++) poisoned->value[i] = NAN;
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

/* Later words NaN, one query at a time: the same output as without NaN. */
static double judge_causal(const struct sentence *s, struct variant variant, uint64_t seed)
{
    struct result whole, part;
    struct poisoned poisoned;
    double max = 0;
    problem_make(&whole, s, variant, seed);
    whole.problem.mask.causal = 1;
    attend(&whole, s->query, s->key, s->value);
    for (int t = 0; t < WORDS; t++) {
        poison(&poisoned, s, t + 1, WORDS);
        problem_make(&part, s, variant, seed);
        part.problem.mask.causal = 1;
        attend(&part, s->query, poisoned.key, poisoned.value);
        max = worse(difference(whole.out, part.out, 2 * t + 2), max);
        max = worse(seen(&whole, t, t), max);
    }
    return max;
}

static double judge_padding(const struct sentence *s, struct variant variant, uint64_t seed)
{
    static const int kept = WORDS_KEPT;
    struct result padded, cut;
    struct poisoned poisoned;
    double max = 0;
    poison(&poisoned, s, WORDS_KEPT, WORDS);
    problem_make(&padded, s, variant, seed);
    padded.problem.mask.key_counts = &kept;
    attend(&padded, s->query, poisoned.key, poisoned.value);
    problem_make(&cut, s, variant, seed);
    cut.problem.keys = WORDS_KEPT;
    attend(&cut, s->query, s->key, s->value);
    for (int i = WORDS_KEPT; i < WORDS; i++) max = worse(seen(&padded, i, WORDS), max);
    return worse(difference(padded.out, cut.out, WORDS * 2), max);
}

/* "cat" masked for all queries; the first query fully masked. */
static void judge_word(struct claim *claims, const struct sentence *s, struct variant variant,
                       uint64_t seed)
{
    uint8_t allowed[WORDS * WORDS];
    struct result poisoned_cat, cat;
    struct poisoned poisoned;
    memset(allowed, 1, sizeof allowed);
    for (int t = 0; t < WORDS; t++) allowed[t * WORDS + CAT] = 0;
    memset(allowed, 0, WORDS);
    poison(&poisoned, s, CAT, CAT + 1);
    problem_make(&cat, s, variant, seed);
    cat.problem.mask.allowed = allowed;
    cat.problem.mask.allowed_stride.row = WORDS;
    poisoned_cat = cat;
    attend(&cat, s->query, s->key, s->value);
    attend(&poisoned_cat, s->query, poisoned.key, poisoned.value);
    double max = seen(&poisoned_cat, CAT, WORDS);
    claim_worse(&claims[WORD], worse(difference(cat.out, poisoned_cat.out, WORDS * 2), max));
    max = worse(fabs((double)cat.out[0]), fabs((double)cat.out[1]));
    for (int i = 0; i < WORDS; i++) max = worse((double)cat.weights[i], max);
    claim_worse(&claims[FULLY_MASKED], max);
}

int claims_masks(struct claim *claims, const struct sentence *s, uint64_t seed)
{
    memcpy(claims, texts, sizeof texts);
    for (struct variant v = {0}; variant_is(v); v = variant_after(v)) {
        claim_worse(&claims[CAUSAL], judge_causal(s, v, seed));
        claim_worse(&claims[PADDING], judge_padding(s, v, seed));
        judge_word(claims, s, v, seed);
    }
    return MASK_CLAIMS;
}
