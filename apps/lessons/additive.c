/* additive.c - the additive score: a product with the two vectors one after the other is the sum of
   two products; with its drawing, and which state of the decoder asks. */
#include "every_score.h"
#include "kit/layers.h"
#include <math.h>

enum { N = 2, HIDDEN = 3 };
static const float query[N] = {1, -0.5F}, key[N] = {0.8F, 0.4F};
static const float query_weight[N * HIDDEN] = {0.6F, -1, 0.2F, 0.4F, 0.5F, 1}; /* [N][HIDDEN] */
static const float key_weight[N * HIDDEN] = {1, 0.3F, -0.7F, -0.2F, 0.9F, 0.5F};
static const float vector[HIDDEN] = {1, -0.5F, 2};

struct additive {
    float from_query[HIDDEN], from_key[HIDDEN], both[HIDDEN], hidden[HIDDEN], score;
};

/* Computes the hidden layer twice: from the two vectors one after the other, and as a sum. */
static struct additive additive_make(void)
{
    struct additive a = {{0}, {0}, {0}, {0}, 0};
    float together[2 * N], weight[2 * N * HIDDEN];
    for (int i = 0; i < N; i++) together[i] = query[i], together[N + i] = key[i];
    for (int i = 0; i < N * HIDDEN; i++)
        weight[i] = query_weight[i], weight[N * HIDDEN + i] = key_weight[i];
    matmul(1, 2 * N, HIDDEN, together, weight, a.both);
    matmul(1, N, HIDDEN, query, query_weight, a.from_query);
    matmul(1, N, HIDDEN, key, key_weight, a.from_key);
    for (int i = 0; i < HIDDEN; i++) {
        a.hidden[i] = tanhf(a.both[i]);
        a.score += vector[i] * a.hidden[i];
    }
    return a;
}

static void put_column(struct svg *svg, double x, const char *name, const char *color,
                       const float *numbers, int count)
{
    const double top = 120 - 14 * count;
    svg_text(svg, x + 26, top - 8, 13, SVG_MIDDLE, color, "%s", name);
    for (int i = 0; i < count; i++) {
        svg_rect(svg, x, top + 28 * i, 52, 26, "white", color);
        svg_text(svg, x + 26, top + 28 * i + 18, 13, SVG_MIDDLE, "#222222", "%.2f",
                 (double)numbers[i]);
    }
}

static void draw_additive(struct svg *svg, const void *user)
{
    static const char gray[] = "#777777";
    const struct additive *a = user;
    const char *asks = chart_colors[3], *reads = chart_colors[0];
    svg_text(svg, 93, 124, 16, SVG_MIDDLE, gray, "tanh(");
    put_column(svg, 118, "W s", asks, a->from_query, HIDDEN);
    svg_text(svg, 184, 125, 18, SVG_MIDDLE, gray, "+");
    put_column(svg, 198, "U h", reads, a->from_key, HIDDEN);
    svg_text(svg, 270, 124, 16, SVG_MIDDLE, gray, ") =");
    put_column(svg, 290, "hidden", gray, a->hidden, HIDDEN);
    svg_text(svg, 364, 118, 13, SVG_MIDDLE, gray, "· v");
    svg_text(svg, 364, 135, 13, SVG_MIDDLE, gray, "=");
    put_column(svg, 386, "score", chart_colors[1], &a->score, 1);
    svg_text(svg, 12, 62, 13, SVG_LEFT, asks, "query s");
    svg_text(svg, 12, 80, 13, SVG_LEFT, "#222222", "%.1f, %.1f", (double)query[0],
             (double)query[1]);
    svg_text(svg, 12, 166, 13, SVG_LEFT, reads, "key h");
    svg_text(svg, 12, 184, 13, SVG_LEFT, "#222222", "%.1f, %.1f", (double)key[0], (double)key[1]);
    svg_text(svg, 290, 196, 12, SVG_LEFT, gray, "v = %.1f, %.1f, %.1f", (double)vector[0],
             (double)vector[1], (double)vector[2]);
}

void show_additive(struct page *page, const struct study *study)
{
    const struct additive a = additive_make();
    double differ = 0;
    for (int i = 0; i < HIDDEN; i++)
        differ = fmax(differ, fabs((double)a.both[i] - (double)(a.from_query[i] + a.from_key[i])));
    page_step(page, "An additive score is a small network");
    page_paragraph(
        page, SHORT,
        "Bahdanau, Cho and Bengio compare by a network with one hidden layer, which is trained "
        "with everything else: the alignment model. It reads the state s of the decoder and an "
        "encoding h, one after the other. The matrix W_a of such a pair has a left half W for s "
        "and a right half U for h, so that the product is a sum of two. U h is the same in every "
        "step "
        "and is computed once per sentence. Some write a bias b as well, rapt among them.");
    page_formula(page, SHORT, "score(s, h) = v^⊤ tanh(W_a col{s}{h}) = v^⊤ tanh(W s + U h)");
    page_drawing(
        page, SHORT, "An additive score, with numbers",
        "Two products are added, tanh is applied to the sum, and the product with v is the "
        "score.",
        450, 210, draw_additive, &a);
    page_paragraph(
        page, SHORT,
        "Which state asks? For Bahdanau it is the state before the step, s(t−1): the context then "
        "enters the cell and helps to compute s(t). For Luong it is the new state s(t), and the "
        "context enters only the output. The table of the next step has both, \"%s\" and \"%s\".",
        study->models[BEFORE].name, study->models[RAPT_SCORE_ADDITIVE].name);
    page_formula(page, SHORT,
                 "α_{ts} = softmax_s(score(s_{t-1}, h_s)) text{ or } softmax_s(score(s_t, h_s))");
    page_claim(page, "largest difference of W_a (s; h) from W s + U h", differ, AT_MOST, 1e-6);
}
