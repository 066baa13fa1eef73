/* given.c - the lecture's three rows of weights for Tom chase Jerry: one context for each word of a
   translation, whose sums can be followed by hand. */
#include "architecture.h"
#include "attend.h"
#include "chase.h"
#include "kit/program.h"
#include "lesson.h"
#include <math.h>

enum { N = CHASE_WORDS };
static const float encoded[N][2] = {{0.1F, 0.15F}, {0.9F, 0.3F}, {0.45F, 0.9F}};

static double picture_at(float value)
{
    return 30 + 280 * (double)value;
}

static void draw_contexts(struct svg *svg, const void *user)
{
    /* Offsets of the labels from their contexts, away from the lines. */
    static const struct {
        double x, y;
        enum svg_anchor anchor;
    } labels[N] = {{-28, 28, SVG_RIGHT}, {0, -18, SVG_RIGHT}, {-36, 8, SVG_RIGHT}};
    const float(*context)[2] = user;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            svg_line(svg, picture_at(encoded[j][0]), picture_at(encoded[j][1]),
                     picture_at(context[i][0]), picture_at(context[i][1]), chart_colors[i],
                     6 * (double)chase_weights[i][j]);
    for (int i = 0; i < N; i++) {
        double x = picture_at(encoded[i][0]), y = picture_at(encoded[i][1]);
        svg_circle(svg, x, y, 6, "#444444", "white");
        svg_text(svg, x, y + (i < 2 ? -12 : 22), 14, SVG_MIDDLE, "#222222", "f2(%s)",
                 chase_english[i]);
        x = picture_at(context[i][0]);
        y = picture_at(context[i][1]);
        svg_circle(svg, x, y, 8, chart_colors[i], "white");
        svg_text(svg, x + labels[i].x, y + labels[i].y, 14, labels[i].anchor, "#222222", "C%d %s",
                 i + 1, chase_chinese[i]);
    }
}

static void tell_given(struct page *page)
{
    page_step(page, "A context for each word");
    page_paragraph(page, SHORT,
                   "A model that passes on one vector C makes every word of the translation from "
                   "the same C and the words before it. With attention, C becomes Cᵢ: each word "
                   "has a context of its own.");
    page_formula(page, SHORT,
                 "y_1 = f_1(C_1) ,  y_2 = f_1(C_2 , y_1) ,  y_3 = f_1(C_3 , y_1 , y_2)");
    page_paragraph(
        page, SHORT,
        "The lecture \"Simply explain Attention Model\" translates \"Tom chase Jerry\" into "
        "Chinese and gives the weights: how much of each English word goes into each Chinese one. "
        "The function f2 encodes a word; in a recurrent network, f2 of the j-th word is the hidden "
        "state hⱼ after that word. The function g combines the encodings into a context: it is "
        "their sum, weighted by α.");
    page_formula(page, SHORT, "C_i = g(α_{i1} f_2(x_1), …) = ∑_{j=1}^3 α_{ij} h_j");
}

/* weights [N][N], context [N][2] */
static void show_sums(struct page *page, const float *weights, float (*context)[2])
{
    page_map(page, SHORT, "The lecture's weights, as rapt_attention_forward computed them", N, N,
             chase_chinese, chase_english, weights);
    page_table(page, SHORT, "Encodings f2 of width 2", "word\tf2");
    for (int j = 0; j < N; j++)
        page_row(page, "%s\t%.2f, %.2f", chase_english[j], (double)encoded[j][0],
                 (double)encoded[j][1]);
    page_table(page, SHORT, "Contexts: weighted sums of the encodings",
               "context\tTom\tchase\tJerry\tsum");
    for (int i = 0; i < N; i++)
        page_row(page, "C%d %s\t%.1f\t%.1f\t%.1f\t%.3f, %.3f", i + 1, chase_chinese[i],
                 (double)weights[i * N], (double)weights[i * N + 1], (double)weights[i * N + 2],
                 (double)context[i][0], (double)context[i][1]);
    page_paragraph(
        page, SHORT,
        "By hand, the first number of C1 is %.1f · %.2f + %.1f · %.2f + %.1f · %.2f = %.3f.",
        (double)weights[0], (double)encoded[0][0], (double)weights[1], (double)encoded[1][0],
        (double)weights[2], (double)encoded[2][0], (double)context[0][0]);
    page_paragraph(page, SHORT,
                   "The picture shows the step that writes the second word. The context no longer "
                   "comes from the last state only but from all of them. Here the weights are "
                   "given. In lesson 5 the state of the decoder determines them, and in lesson 7 "
                   "they are learned.");
    show_drawn_step(page, STEP_GIVEN,
                    &(struct step_numbers){.sources = N,
                                           .source = chase_english,
                                           .step = 1,
                                           .rows = N,
                                           .target = chase_chinese,
                                           .weights = weights});
    page_paragraph(page, SHORT,
                   "In the next picture each context has a color, and a line from an encoding to a "
                   "context is as thick as its weight.");
    page_drawing(page, SHORT, "Three contexts among three encodings",
                 "Each context C lies nearest to the word that it is used for. The thickness of a "
                 "line shows the weight.",
                 350, 320, draw_contexts, context);
    page_paragraph(
        page, MORE,
        "rapt_attention_forward takes queries and keys, not weights. To make it use the lecture's "
        "weights, we choose queries and keys that lead to them. The keys are one-hot positions: "
        "(1, 0, 0) for Tom, (0, 1, 0) for chase, (0, 0, 1) for Jerry. Each query is made of the "
        "logarithms of the three weights, which softmax turns back into the weights. The values "
        "are the encodings. As this shows, keys need not be encodings. The location score of "
        "lesson 8 is a product of this kind.");
}

int lesson_given(struct page *page, const struct lesson_options *options)
{
    static const float keys[N][N] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    float queries[N][N], weights[N][N], context[N][2];
    double rows = 0, sums = 0;
    for (int i = 0; i < N * N; i++) queries[i / N][i % N] = logf(chase_weights[i / N][i % N]);
    attend(&(struct attended){N, N, N, 2, 1, queries[0], keys[0], encoded[0]}, context[0],
           weights[0]);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 2; c++) {
            double sum = 0;
            for (int j = 0; j < N; j++) sum += (double)chase_weights[i][j] * (double)encoded[j][c];
            sums = fmax(sums, fabs(sum - (double)context[i][c]));
        }
    for (int i = 0; i < N * N; i++)
        rows =
            fmax(rows, fabs((double)weights[i / N][i % N] - (double)chase_weights[i / N][i % N]));
    tell_given(page);
    show_sums(page, weights[0], context);
    page_claim(
        page, "largest difference from the lecture's weights 0.6 0.2 0.2, 0.2 0.7 0.1, 0.3 0.2 0.5",
        rows, AT_MOST, 1e-6);
    page_claim(page, "largest difference between the contexts and the weighted sums", sums, AT_MOST,
               1e-6);
    (void)options;
    return EXIT_OK;
}
