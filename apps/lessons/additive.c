/* additive.c - the additive score as a sum of two products, with its drawing, which state of the
   decoder asks, and what the score costs. */
#include "kit/layers.h"
#include "kit/program.h"
#include "parts.h"
#include <math.h>
#include <stdlib.h>

enum { N = 2, HIDDEN = 3 };
static const float query[N] = {1, -0.5F}, key[N] = {0.8F, 0.4F};
static const float query_weight[N * HIDDEN] = {0.6F, -1, 0.2F, 0.4F, 0.5F, 1}; /* [N][HIDDEN] */
static const float key_weight[N * HIDDEN] = {1, 0.3F, -0.7F, -0.2F, 0.9F, 0.5F};
static const float vector[HIDDEN] = {1, -0.5F, 2};

struct additive {
    float from_query[HIDDEN], from_key[HIDDEN], hidden[HIDDEN], score;
};

static struct additive additive_make(void)
{
    struct additive a = {{0}, {0}, {0}, 0};
    matmul(1, N, HIDDEN, query, query_weight, a.from_query);
    matmul(1, N, HIDDEN, key, key_weight, a.from_key);
    for (int i = 0; i < HIDDEN; i++) {
        a.hidden[i] = tanhf(a.from_query[i] + a.from_key[i]);
        a.score += vector[i] * a.hidden[i];
    }
    return a;
}

enum { WIDE = 36, HIGH = 22, HEIGHT = 232 };

/* Draws numbers [columns][rows] as a matrix whose middle is at y, with its name above. */
static void put_matrix(struct svg *svg, double x, double y, const char *name, const char *color,
                       const float *numbers, int rows, int columns)
{
    const double top = y - HIGH * rows / 2.0;
    svg_text(svg, x + WIDE * columns / 2.0, top - 6, 13, SVG_MIDDLE, color, "%s", name);
    for (int i = 0; i < rows * columns; i++) {
        const double left = x + WIDE * (i / rows), up = top + HIGH * (i % rows);
        svg_rect(svg, left, up, WIDE, HIGH, "white", color);
        svg_text(svg, left + WIDE / 2.0, up + 16, 12, SVG_MIDDLE, "#222222", "%.2f",
                 (double)numbers[i]);
    }
}

/* Draws a matrix times a vector. */
static void put_product(struct svg *svg, double y, const char *const names[3], const char *color,
                        const float *matrix, const float *x, const float *product)
{
    put_matrix(svg, 10, y, names[0], color, matrix, HIDDEN, N);
    svg_text(svg, 92, y + 5, 16, SVG_MIDDLE, color, "·");
    put_matrix(svg, 102, y, names[1], color, x, N, 1);
    svg_text(svg, 150, y + 5, 16, SVG_MIDDLE, color, "=");
    put_matrix(svg, 162, y, names[2], color, product, HIDDEN, 1);
}

static void draw_additive(struct svg *svg, const void *user)
{
    static const char gray[] = "#777777";
    static const char *const asks[3] = {"W", "query d", "W d"};
    static const char *const reads[3] = {"U", "key h", "U h"};
    const struct additive *a = user;
    const double high = 62, low = 180, middle = 121;
    put_product(svg, high, asks, chart_colors[3], query_weight, query, a->from_query);
    put_product(svg, low, reads, chart_colors[0], key_weight, key, a->from_key);
    svg_text(svg, 180, middle + 5, 16, SVG_MIDDLE, gray, "+");
    svg_arrow(svg, 198, high, 258, middle - 10, gray, 1.5);
    svg_arrow(svg, 198, low, 258, middle + 10, gray, 1.5);
    svg_text(svg, 226, middle + 5, 14, SVG_MIDDLE, gray, "tanh");
    put_matrix(svg, 262, middle, "hidden", gray, a->hidden, HIDDEN, 1);
    svg_text(svg, 310, middle + 5, 16, SVG_MIDDLE, gray, "·");
    put_matrix(svg, 322, middle, "v", gray, vector, HIDDEN, 1);
    svg_text(svg, 370, middle + 5, 16, SVG_MIDDLE, gray, "=");
    put_matrix(svg, 382, middle, "score", chart_colors[1], &a->score, 1, 1);
}

/* ---- the cost ---- */
enum { LENGTH = 128, ELEMENTS = 64, TRIES = 20 };

/* Returns the microseconds of the fastest of several calls for LENGTH queries and keys. */
static double time_of(rapt_score score)
{
    struct random random = random_from(1, 91);
    struct workspace workspace = {0};
    rapt_attention a;
    float *x = xcalloc(LENGTH * ELEMENTS + 2 * ELEMENTS * ELEMENTS, sizeof *x);
    float *out = xcalloc(LENGTH * ELEMENTS, sizeof *out), best = INFINITY;
    for (int i = 0; i < LENGTH * ELEMENTS + 2 * ELEMENTS * ELEMENTS; i++)
        x[i] = 0.1F * random_normal(&random);
    rapt_attention_init(&a, sizeof a, 1, 1, LENGTH, LENGTH, ELEMENTS);
    const float *weights = x + LENGTH * ELEMENTS;
    a.score = score;
    a.threads = 1;
    a.parameters = (rapt_attention_parameters){
        .hidden = ELEMENTS,
        .array = {[RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT] = weights,
                  [RAPT_ATTENTION_PARAMETER_KEY_WEIGHT] = weights + ELEMENTS * ELEMENTS,
                  [RAPT_ATTENTION_PARAMETER_HIDDEN_BIAS] = x,
                  [RAPT_ATTENTION_PARAMETER_HIDDEN_VECTOR] = x + ELEMENTS}};
    void *space = workspace_for(&workspace, &a);
    for (int try = 0; try < TRIES; try++) {
        const double start = now();
        must(rapt_attention_forward(&a, x, x, x, out, NULL, space, NULL));
        best = fminf(best, (float)((now() - start) * 1e6));
    }
    free(workspace.data);
    free(x), free(out);
    return (double)best;
}

static void show_speed(struct page *page)
{
    const double dot = time_of(RAPT_SCORE_DOT), additive = time_of(RAPT_SCORE_ADDITIVE);
    page_paragraph(
        page, MORE,
        "A dot product is also efficient: all dot products of a sentence are one product of "
        "matrices. The additive score has to compute the tanh of m numbers for every pair of a "
        "query and a key. When this page was made, attention of %d queries to %d keys of %d "
        "elements took %.0f µs with dot products and %.0f µs with additive scores (m = %d, one "
        "thread).",
        LENGTH, LENGTH, ELEMENTS, dot, additive, ELEMENTS);
}

void show_additive(struct page *page, const char *before, const char *after)
{
    const struct additive a = additive_make();
    page_step(page, "An additive score is a small network");
    page_paragraph(page, SHORT,
                   "Bahdanau, Cho and Bengio compare states by a network with one hidden layer, "
                   "the alignment model, which is trained together with everything else. It reads "
                   "the state d of the decoder and an encoding h, stacked into one vector. The "
                   "matrix W_a that multiplies this vector has a left half W for d and a right "
                   "half U for h, so the product is a sum of two. U h is the same in every step "
                   "and is computed once per sentence. Some authors also add a bias b, and so does "
                   "rapt.");
    page_formula(page, SHORT, "score(d, h) = v^⊤ tanh(W_a col{d}{h}) = v^⊤ tanh(W d + U h)");
    page_formula(page, MORE, "d, h: n ,  W_a: m × 2n ,  W, U: m × n ,  v: m");
    page_drawing(
        page, SHORT, "An additive score, with numbers",
        "The products W d and U h are added, tanh is applied to the sum, and the product of "
        "the result with v is the score.",
        430, HEIGHT, draw_additive, &a);
    page_paragraph(
        page, SHORT,
        "Which state asks? For Bahdanau it is the state before the step, d(t−1), which he calls "
        "s(t−1): the context then enters the cell and helps to compute d(t). For Luong it is the "
        "new state d(t), and the context enters only the output. The table in the next section has "
        "both, \"%s\" and \"%s\".",
        before, after);
    page_formula(page, SHORT,
                 "α_{ts} = softmax_s(score(d_{t-1}, h_s)) text{ or } softmax_s(score(d_t, h_s))");
    show_speed(page);
}
