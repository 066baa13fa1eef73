/* localities.c - global and local attention, and all combinations of score, locality and
   normalizer on one sentence. */
#include "attend.h"

#include "kit/heatmap.h"
#include "parts.h"
#include <math.h>
#include <stdlib.h>

enum { WORDS = BY_HAND_WORDS, RADIUS = 2 };

static struct by_hand_result attended(const struct by_hand *s, struct variant variant,
                                      uint64_t seed)
{
    struct by_hand_result r;
    by_hand_problem(&r, s, variant, seed);
    by_hand_attend(&r, s->query, s->key, s->value);
    return r;
}

/* Returns the largest weight on a word that is further than RADIUS from the query's. */
static double far_away(const struct by_hand_result *r)
{
    double max = 0;
    for (int t = 0; t < WORDS; t++)
        for (int i = 0; i < WORDS; i++)
            if (abs(t - i) > RADIUS) max = fmax(max, (double)r->weights[t * WORDS + i]);
    return max;
}

/* Returns the largest weight between two words that are further than RADIUS apart and of which none
   is the first. */
static double far_from_both(const struct by_hand_result *r)
{
    double max = 0;
    for (int t = 1; t < WORDS; t++)
        for (int i = 1; i < WORDS; i++)
            if (abs(t - i) > RADIUS) max = fmax(max, (double)r->weights[t * WORDS + i]);
    return max;
}

/* Returns the largest sum of the weights of a query, or the smallest. */
static double extreme_sum(const struct by_hand_result *r, bool largest)
{
    double extreme = largest ? 0 : INFINITY;
    for (int t = 0; t < WORDS; t++) {
        double sum = 0;
        for (int i = 0; i < WORDS; i++) sum += (double)r->weights[t * WORDS + i];
        extreme = largest ? fmax(extreme, sum) : fmin(extreme, sum);
    }
    return extreme;
}

/* Returns how far weights are from one-hot rows, and outputs from the values that were selected. */
static double distance_from_one(const struct by_hand *s, const struct by_hand_result *r)
{
    double worst = 0;
    for (int t = 0; t < WORDS; t++) {
        const int chosen = r->chosen[t];
        for (int i = 0; i < WORDS; i++)
            worst = fmax(worst, fabs((double)r->weights[t * WORDS + i] - (i == chosen ? 1 : 0)));
        for (int i = 0; i < 2; i++)
            worst = fmax(worst, fabs((double)r->out[2 * t + i] - (double)s->value[2 * chosen + i]));
    }
    return worst;
}

static void show_local(struct page *page, const struct by_hand *s, uint64_t seed)
{
    static const char *const titles[RAPT_LOCALITY_COUNT] = {
        "Global attention of the general score", "Local-m: two words to each side",
        "Local-p: around a center that each query predicts",
        "Sparse: two words to each side, and the first word"};
    double outside = 0, apart = 0, largest = 0, smallest = INFINITY, shown[2] = {0};
    page_step(page, "Global and local attention");
    page_paragraph(
        page, SHORT,
        "So far every query has read every key, which is called global attention. Local attention "
        "(Luong, Pham and Manning 2015) reads only the keys within a radius D of a center p. In "
        "local-m (monotonic) the center is the position of the query. In local-p (predictive) it "
        "is computed from the query, as below, where S is the number of keys and z and C are "
        "learned; the weights are then multiplied by a Gaussian around the center. Sparse "
        "attention (Beltagy, Peters and Cohan 2020) is local-m plus a few words that see all words "
        "and are seen by all, here the first one.");
    page_formula(page, SHORT, "p_t = S ⋅ sigmoid(z^⊤ tanh(C q_t)) ,  q_t: n ,  C: m × n ,  z: m");
    page_formula(page, SHORT, "a_{ts} = softmax_s(e_{ts}) exp(−frac{(s − p_t)^2}{2 (D/2)^2})");
    page_paragraph(
        page, MORE,
        "The vectors of this sentence were made by hand, so we know what each word looks for. For "
        "example, \"slept\" looks for a noun that can act, just before it, and \"it\" looks for "
        "such a noun three places before it. The sentence attends to itself, which is the topic of "
        "lesson 10. The radius is %d words, and the score is the general one.",
        RADIUS);
    for (int locality = 0; locality < RAPT_LOCALITY_COUNT; locality++) {
        const struct variant variant = {RAPT_SCORE_GENERAL, (rapt_locality)locality, 0};
        const struct by_hand_result r = attended(s, variant, seed);
        if (locality == RAPT_LOCALITY_LOCAL_P)
            for (int i = 0; i < 2; i++) shown[i] = extreme_sum(&r, i);
        page_map(page, locality ? MORE : SHORT, titles[locality], WORDS, WORDS, s->words, s->words,
                 r.weights);
    }
    for (int score = 0; score < RAPT_SCORE_COUNT; score++) {
        struct variant variant = {(rapt_score)score, RAPT_LOCALITY_LOCAL_M, 0};
        struct by_hand_result r = attended(s, variant, seed);
        outside = fmax(outside, far_away(&r));
        variant.locality = RAPT_LOCALITY_LOCAL_P;
        r = attended(s, variant, seed);
        largest = fmax(largest, extreme_sum(&r, true));
        smallest = fmin(smallest, extreme_sum(&r, false));
        variant.locality = RAPT_LOCALITY_SPARSE;
        r = attended(s, variant, seed);
        apart = fmax(apart, far_from_both(&r));
    }
    page_claim(page, "local-m, all scores: largest weight beyond the radius", outside, EQUALS, 0);
    page_claim(page, "sparse, all scores: the same, but for weights of or on the first word", apart,
               EQUALS, 0);
    page_paragraph(page, MORE,
                   "The Gaussian takes away weight that no other key receives. With local-p, the "
                   "weights of a query therefore sum to less than 1, and its output is pulled "
                   "towards 0. In the map above the sums are between %.2f and %.2f, and with all "
                   "%d scores, on the same sentence, between %.2f and %.2f.",
                   shown[0], shown[1], RAPT_SCORE_COUNT, smallest, largest);
    page_claim(page, "local-p, all scores: largest sum of a query's weights", largest, AT_MOST,
               1 + 1e-6);
}

/* ---- all combinations ---- */
enum { CELL = 5, MAP = CELL * WORDS, GAP = 7, LABELS = 114, TOP = 46 };
enum {
    ALL_WIDTH = LABELS + RAPT_SCORE_COUNT * (MAP + GAP) + 34,
    BLOCK = RAPT_NORMALIZER_COUNT * (MAP + GAP) + 22,
    ALL_HEIGHT = TOP + RAPT_LOCALITY_COUNT * BLOCK
};

/* Draws a small map; weights below 2 % are left to the background. */
static void draw_small(struct svg *svg, double x, double y, const float *weights)
{
    svg_rect(svg, x, y, MAP, MAP, "#F4F4F4", "none");
    for (int t = 0; t < WORDS; t++) {
        const float *row = weights + t * WORDS, full = heatmap_full(WORDS, row);
        for (int i = 0; i < WORDS; i++) {
            char color[8];
            if (row[i] < 0.02F) continue;
            shade_color(row[i] / full, color);
            svg_rect(svg, x + CELL * i, y + CELL * t, CELL, CELL, color, "none");
        }
    }
}

struct all {
    const struct by_hand *sentence;
    uint64_t seed;
};

static void draw_all(struct svg *svg, const void *user)
{
    const struct all *all = user;
    for (struct variant v = {0}; variant_is(v); v = variant_after(v)) {
        const struct by_hand_result r = attended(all->sentence, v, all->seed);
        const double x = LABELS + (int)v.score * (MAP + GAP);
        const double block = TOP + (int)v.locality * BLOCK;
        const double y = block + 16 + (int)v.normalizer * (MAP + GAP);
        draw_small(svg, x, y, r.weights);
        if (v.score == 0)
            svg_text(svg, LABELS - 8, y + MAP / 2.0 + 4, 13, SVG_RIGHT, "#222222", "%s",
                     rapt_normalizer_name(v.normalizer));
        if (v.score == 0 && v.normalizer == 0)
            svg_text(svg, 4, block + 10, 13, SVG_LEFT, "#222222", "%s",
                     rapt_locality_name(v.locality));
        if (v.locality == 0 && v.normalizer == 0)
            svg_text_rotated(svg, x + 6, TOP + 10, 13, -28, SVG_LEFT, "#222222",
                             rapt_score_name(v.score));
    }
}

static void show_all(struct page *page, const struct by_hand *s, uint64_t seed)
{
    const struct all all = {s, seed};
    double selected = 0, faintest = 1;
    page_step(page, "All combinations");
    page_paragraph(
        page, SHORT,
        "The score says how well a key answers a query, the locality which keys are read, and the "
        "normalizer how scores become weights. Every score works with every locality and every "
        "normalizer, so there are %d combinations of one and the same function.",
        RAPT_SCORE_COUNT * RAPT_LOCALITY_COUNT * RAPT_NORMALIZER_COUNT);
    page_drawing(
        page, MORE, "The sentence with every score, locality and normalizer",
        "Each small map shows the weights of the ten queries (rows) over the ten keys (columns). "
        "There is one column of maps for each score, one row for each normalizer, and one block "
        "for each locality. Hard normalizers select one key in each row.",
        ALL_WIDTH, ALL_HEIGHT, draw_all, &all);
    for (struct variant v = {0}; variant_is(v); v = variant_after(v)) {
        const struct by_hand_result r = attended(s, v, seed);
        double largest = 0;
        for (int i = 0; i < WORDS * WORDS; i++) largest = fmax(largest, (double)r.weights[i]);
        faintest = fmin(faintest, largest);
        if (variant_is_hard(v.normalizer) && v.locality != RAPT_LOCALITY_LOCAL_P)
            selected = fmax(selected, distance_from_one(s, &r));
    }
    page_claim(page, "all combinations: the smallest of their largest weights", faintest, AT_LEAST,
               0.3);
    page_claim(page, "hard normalizers: largest distance of an output from the selected value",
               selected, EQUALS, 0);
}

void show_localities(struct page *page, uint64_t seed)
{
    struct by_hand s;
    by_hand_make(&s);
    show_local(page, &s, seed);
    show_all(page, &s, seed);
}
