/* dot_products.c - two properties of dot products, shown with random vectors: which key
   attracts a query, and how the number of elements changes the distribution. */
#include "architecture.h"
#include "kit/layers.h"
#include "kit/program.h"
#include "kit/random.h"
#include "lesson.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 16, WIDTHS = 11, WIDTH = 1 << (WIDTHS - 1), QUERIES_TRIED = 64 };

/* One query and KEYS keys, which are also the values. */
struct problem {
    struct workspace workspace;
    float query[WIDTH], keys[KEYS * WIDTH], out[WIDTH], weights[KEYS];
};

static void problem_attend(struct problem *p, rapt_score score, int keys, int width)
{
    rapt_attention a;
    float lse;
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = &lse};
    rapt_attention_init(&a, sizeof a, 1, 1, 1, keys, width);
    a.score = score;
    a.threads = 1;
    void *workspace = workspace_for(&p->workspace, &a);
    must(rapt_attention_forward(&a, p->query, p->keys, p->keys, p->out, &saved, workspace, NULL));
    must(rapt_attention_weights(&a, p->query, p->keys, &saved, 0, 0, 0, 1, p->weights, workspace,
                                NULL));
}

static void draw_vector(float *x, int count, struct random *random)
{
    for (int i = 0; i < count; i++) x[i] = random_normal(random);
}

/* Returns |out - key| / |key|. */
static double distance(const struct problem *p, int key, int width)
{
    double difference = 0, norm = 0;
    for (int i = 0; i < width; i++) {
        double k = (double)p->keys[key * width + i];
        difference += ((double)p->out[i] - k) * ((double)p->out[i] - k);
        norm += k * k;
    }
    return sqrt(difference / norm);
}

/* Draws the step in which one of the states is the query, with scaled dot products. */
static void draw_scaled(struct page *page, struct problem *p, const float *states, int count,
                        int width, int chosen)
{
    static const char *const source[] = {"x1", "x2", "x3", "x4", "x5"}, *const target[] = {"y1",
                                                                                           "y2"};
    float scores[KEYS];
    const float *query = states + chosen * width;
    memcpy(p->keys, states, (size_t)(count * width) * sizeof *states);
    memcpy(p->query, query, (size_t)width * sizeof *query);
    for (int i = 0; i < count; i++) {
        double sum = 0;
        for (int k = 0; k < width; k++) sum += (double)query[k] * (double)states[i * width + k];
        scores[i] = (float)(sum / sqrt(width));
    }
    problem_attend(p, RAPT_SCORE_SCALED_DOT, count, width);
    show_drawn_step(page, STEP_SCALED,
                    &(struct step_numbers){.sources = count,
                                           .source = source,
                                           .step = 1,
                                           .target = target,
                                           .weights = p->weights,
                                           .scores = scores});
}

static void extreme(struct page *page, struct problem *p, struct random *random)
{
    enum { STATES = 5, HIDDEN = 32, CHOSEN = 3, SIZES = 9 };
    float states[STATES * HIDDEN];
    double sizes[SIZES], weights[SIZES], distances[SIZES];
    page_step(page, "The extreme case");
    page_paragraph(page, SHORT,
                   "If the decoder's state d equals one of the encoder's states h, and states are "
                   "large, the weight of that state is almost 1, so the context c consists almost "
                   "entirely of it. Here are five random states of %d elements, and the query is "
                   "the fourth of them. The picture uses scaled dot products, which are the "
                   "subject of the next section. The chart and the first claims use dot products "
                   "without a scale.",
                   HIDDEN);
    page_formula(page, SHORT, "d = h_4 ⇒ a_4 → 1 ,  c → h_4");
    draw_vector(states, STATES * HIDDEN, random);
    for (int i = 0; i < SIZES; i++) {
        sizes[i] = 0.125 * (i + 1);
        for (int k = 0; k < STATES * HIDDEN; k++) p->keys[k] = (float)sizes[i] * states[k];
        memcpy(p->query, p->keys + CHOSEN * HIDDEN, HIDDEN * sizeof *p->query);
        problem_attend(p, RAPT_SCORE_DOT, STATES, HIDDEN);
        weights[i] = (double)p->weights[CHOSEN];
        distances[i] = distance(p, CHOSEN, HIDDEN);
    }
    draw_scaled(page, p, states, STATES, HIDDEN, CHOSEN);
    page_chart(page, MORE, "A state that is its own query, dot products that are not scaled",
               "root mean square of the states' elements", "weight, relative distance");
    page_chart_range(page, 0, 1);
    page_curve(page, "a₄: weight of the equal state", SIZES, sizes, weights);
    page_curve(page, "|c − h₄| / |h₄|: distance of the context", SIZES, sizes, distances);
    page_claim(page, "states of size 1, not scaled: weight of the equal state", weights[7],
               AT_LEAST, 0.999);
    page_claim(
        page, "states of size 1, not scaled: relative distance of the context from the equal state",
        distances[7], AT_MOST, 0.01);
    for (int i = 0; i < HIDDEN; i++) { /* at size 1 */
        p->keys[CHOSEN * HIDDEN + i] = p->query[i] = states[CHOSEN * HIDDEN + i];
        p->keys[i] = 1.5F * p->query[i];
    }
    problem_attend(p, RAPT_SCORE_DOT, STATES, HIDDEN);
    page_paragraph(
        page, MORE,
        "The dot product is largest for the equal key only if all keys have the same length. A key "
        "in the same direction but 1.5 times as long takes %.1f %% of the weight, again without "
        "the scale.",
        100 * (double)p->weights[0]);
    page_claim(page, "not scaled: weight of a key that is 1.5 times as long", (double)p->weights[0],
               AT_LEAST, 0.9);
}

/* Returns the mean entropy, in bits, over random queries and keys. */
static double entropy(struct problem *p, rapt_score score, int width, struct random random)
{
    double sum = 0;
    for (int query = 0; query < QUERIES_TRIED; query++) {
        draw_vector(p->query, width, &random);
        draw_vector(p->keys, KEYS * width, &random);
        problem_attend(p, score, KEYS, width);
        for (int i = 0; i < KEYS; i++)
            if (p->weights[i] > 0) sum -= (double)p->weights[i] * log2((double)p->weights[i]);
    }
    return sum / QUERIES_TRIED;
}

/* Shows weights of a random query on random keys for some widths, divided by √n. */
static void show_root(struct page *page, struct problem *p, struct random random)
{
    enum { ROWS = 5, COLUMNS = 8 };
    static const char *const rows[ROWS] = {"n = 4", "n = 16", "n = 64", "n = 256", "n = 1024"};
    static const char *const columns[COLUMNS] = {"k₁", "k₂", "k₃", "k₄", "k₅", "k₆", "k₇", "k₈"};
    static const double widths[ROWS] = {4, 16, 64, 256, 1024};
    float weights[ROWS * COLUMNS];
    for (int r = 0; r < ROWS; r++) {
        draw_vector(p->query, (int)widths[r], &random);
        draw_vector(p->keys, COLUMNS * (int)widths[r], &random);
        problem_attend(p, RAPT_SCORE_SCALED_DOT, COLUMNS, (int)widths[r]);
        memcpy(weights + r * COLUMNS, p->weights, COLUMNS * sizeof *weights);
    }
    page_map(page, MORE, "Weights of a random query on 8 random keys, scores divided by √n", ROWS,
             COLUMNS, rows, columns, weights);
    page_map_root(page, widths);
    page_paragraph(page, MORE,
                   "The slider below the map divides by another power of n. At 0 the scores are "
                   "not divided at all, and long vectors put all their weight on one key.");
}

static void scale(struct page *page, struct problem *p, const struct random *random)
{
    double xs[WIDTHS], dot[WIDTHS], scaled[WIDTHS];
    page_step(page, "Why 1/√n");
    page_paragraph(
        page, SHORT,
        "The dot product of two vectors of n independent elements with mean 0 and variance 1 has "
        "the variance n. If n is large, the softmax of such scores puts almost all weight on one "
        "key (of %d, say), and then has almost no gradient. Once scores are divided by √n, their "
        "variance is 1 for every n.",
        KEYS);
    page_formula(page, SHORT, "score(q, k) = frac{q ⋅ k}{sqrt{n}}");
    for (int i = 0; i < WIDTHS; i++) {
        xs[i] = i;
        dot[i] = entropy(p, RAPT_SCORE_DOT, 1 << i, *random);
        scaled[i] = entropy(p, RAPT_SCORE_SCALED_DOT, 1 << i, *random);
    }
    page_chart(page, SHORT, "Entropy of the weights (4 bits if all are equal)", "log2 of n",
               "bits");
    page_chart_range(page, 0, 4);
    page_curve(page, "dot", WIDTHS, xs, dot);
    page_curve(page, "scaled dot", WIDTHS, xs, scaled);
    show_root(page, p, *random);
    page_claim(page, "n = 1024: entropy with dot products, bits", dot[WIDTHS - 1], AT_MOST, 0.3);
    page_claim(page, "n = 1024: entropy with scaled dot products, bits", scaled[WIDTHS - 1],
               AT_LEAST, 3);
}

int lesson_dot_products(struct page *page, const struct lesson_options *options)
{
    struct problem *p = xcalloc(1, sizeof *p);
    struct random random = random_from(options->seed, 6);
    extreme(page, p, &random);
    scale(page, p, &random);
    free(p->workspace.data);
    free(p);
    return EXIT_OK;
}
