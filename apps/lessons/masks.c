/* masks.c - what a mask hides. Keys and values of hidden words are NaN, and no output of
   any score, locality or normalizer changes. */
#include "attend.h"
#include "parts.h"
#include <math.h>
#include <string.h>

enum { WORDS = BY_HAND_WORDS, WIDTH = BY_HAND_WIDTH, KEPT = 7, CAT = 2 };

/* Keys and values of a sentence in which those of words [first, end) are NaN. */
struct poisoned {
    float key[WORDS * WIDTH], value[WORDS * 2];
};

static void poison(struct poisoned *poisoned, const struct by_hand *s, int first, int end)
{
    memcpy(poisoned->key, s->key, sizeof poisoned->key);
    memcpy(poisoned->value, s->value, sizeof poisoned->value);
    for (int i = first * WIDTH; i < end * WIDTH; i++) poisoned->key[i] = NAN;
    for (int i = first * 2; i < end * 2; i++) poisoned->value[i] = NAN;
}

/* Returns the larger number, or NaN if x is NaN; fmax would lose it. */
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

/* Returns the largest weight on a key in the rows before `end`. */
static double seen(const struct by_hand_result *r, int key, int end)
{
    double max = 0;
    for (int t = 0; t < end; t++) max = worse((double)r->weights[t * WORDS + key], max);
    return max;
}

/* Causal mask: compares the outputs up to each word with those where all later words are NaN. */
static double judge_causal(const struct by_hand *s, struct variant variant, uint64_t seed)
{
    struct by_hand_result whole, part;
    struct poisoned poisoned;
    double max = 0;
    by_hand_problem(&whole, s, variant, seed);
    whole.problem.mask.causal = 1;
    by_hand_attend(&whole, s->query, s->key, s->value);
    for (int t = 0; t < WORDS; t++) {
        poison(&poisoned, s, t + 1, WORDS);
        by_hand_problem(&part, s, variant, seed);
        part.problem.mask.causal = 1;
        by_hand_attend(&part, s->query, poisoned.key, poisoned.value);
        max = worse(difference(whole.out, part.out, 2 * t + 2), max);
        max = worse(seen(&whole, t, t), max);
    }
    return max;
}

/* Padding: compares seven words and three that are NaN with seven words. */
static double judge_padding(const struct by_hand *s, struct variant variant, uint64_t seed)
{
    static const int kept = KEPT;
    struct by_hand_result padded, cut;
    struct poisoned poisoned;
    double max = 0;
    poison(&poisoned, s, KEPT, WORDS);
    by_hand_problem(&padded, s, variant, seed);
    padded.problem.mask.key_counts = &kept;
    by_hand_attend(&padded, s->query, poisoned.key, poisoned.value);
    by_hand_problem(&cut, s, variant, seed);
    cut.problem.keys = KEPT;
    by_hand_attend(&cut, s->query, s->key, s->value);
    for (int i = KEPT; i < WORDS; i++) max = worse(seen(&padded, i, WORDS), max);
    return worse(difference(padded.out, cut.out, WORDS * 2), max);
}

/* Hides "cat" from all queries and everything from the first one. worst[0]: weight on "cat", or
   what changes if it is NaN; worst[1]: output and weights of the first query. */
static void judge_word(const struct by_hand *s, struct variant variant, uint64_t seed,
                       double worst[2])
{
    uint8_t allowed[WORDS * WORDS];
    struct by_hand_result poisoned_cat, cat;
    struct poisoned poisoned;
    memset(allowed, 1, sizeof allowed);
    for (int t = 0; t < WORDS; t++) allowed[t * WORDS + CAT] = 0;
    memset(allowed, 0, WORDS);
    poison(&poisoned, s, CAT, CAT + 1);
    by_hand_problem(&cat, s, variant, seed);
    cat.problem.mask.allowed = allowed;
    cat.problem.mask.allowed_stride.row = WORDS;
    poisoned_cat = cat;
    by_hand_attend(&cat, s->query, s->key, s->value);
    by_hand_attend(&poisoned_cat, s->query, poisoned.key, poisoned.value);
    worst[0] = worse(seen(&poisoned_cat, CAT, WORDS), worst[0]);
    worst[0] = worse(difference(cat.out, poisoned_cat.out, WORDS * 2), worst[0]);
    for (int i = 0; i < 2; i++) worst[1] = worse(fabs((double)cat.out[i]), worst[1]);
    for (int i = 0; i < WORDS; i++) worst[1] = worse((double)cat.weights[i], worst[1]);
}

static void show_map(struct page *page, enum page_detail detail, const char *title,
                     const struct by_hand *s, const rapt_mask *mask)
{
    struct by_hand_result r;
    by_hand_problem(&r, s, (struct variant){RAPT_SCORE_GENERAL, 0, 0}, 1);
    const rapt_causal_alignment alignment = r.problem.mask.causal_alignment;
    r.problem.mask = *mask;
    r.problem.mask.causal_alignment = alignment;
    by_hand_attend(&r, s->query, s->key, s->value);
    page_map(page, detail, title, WORDS, WORDS, s->words, s->words, r.weights);
}

void show_masks(struct page *page, uint64_t seed)
{
    static const int kept = KEPT;
    struct by_hand s;
    double causal = 0, padding = 0, word[2] = {0, 0};
    by_hand_make(&s);
    page_step(page, "Masks");
    page_paragraph(
        page, SHORT,
        "A mask says which keys a query may read. A causal mask hides the words that come later. A "
        "padding mask hides what shorter sentences of a batch are filled up with. A boolean mask "
        "can hide any key from any query. The score of a hidden key becomes −∞, so its weight is "
        "0.");
    page_formula(page, SHORT,
                 "a_{ts} = softmax_s(e_{ts} + m_{ts}) ,  m_{ts} ∈ \\{0, −∞\\} ,  a, e, m: T × S");
    show_map(page, SHORT, "Causal: each word reads itself and the words before it", &s,
             &(rapt_mask){.causal = 1});
    show_map(page, MORE, "Padding: the last three words are hidden", &s,
             &(rapt_mask){.key_counts = &kept});
    page_paragraph(
        page, MORE,
        "Here the sentence of lesson 8 attends to itself. To show that hidden words are not read "
        "at all, their keys and values are set to NaN (not a number), which spoils every sum that "
        "contains it. Each claim gives the worst case of all combinations of score, locality and "
        "normalizer. If all keys are hidden from a query, its output is 0.");
    for (struct variant v = {0}; variant_is(v); v = variant_after(v)) {
        causal = worse(judge_causal(&s, v, seed), causal);
        padding = worse(judge_padding(&s, v, seed), padding);
        judge_word(&s, v, seed, word);
    }
    page_claim(page, "causal: weight on later words, or change of an output if they are NaN",
               causal, EQUALS, 0);
    page_claim(page,
               "padding: weight on the last three words, or change of an output if they are NaN",
               padding, EQUALS, 0);
    page_claim(page, "boolean mask: weight on a hidden word, or change of an output if it is NaN",
               word[0], EQUALS, 0);
    page_claim(page, "weights and output of a query from which all keys are hidden", word[1],
               EQUALS, 0);
}
