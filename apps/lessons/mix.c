/* mix.c - softmax turns scores into weights; what a mixture by such weights means for
   points, pictures and codes of pictures; why a hidden state can be the query. */
#include "architecture.h"
#include "attend.h"
#include "kit/layers.h"
#include "kit/program.h"
#include "parts.h"
#include "study.h"
#include <math.h>
#include <stdlib.h>

/* ---- weights, and the triangle of three values ---- */
enum { MIXTURES = 48, CORNERS = 3 };
struct triangle {
    float q[MIXTURES][2], out[MIXTURES][2], weights[MIXTURES][CORNERS];
};
static const float corners[CORNERS][2] = {{0.08F, 0.1F}, {0.95F, 0.25F}, {0.42F, 0.94F}};

static double plot_at(float value)
{
    return 26 + 300 * (double)value;
}

static void draw_triangle(struct svg *svg, const void *user)
{
    const struct triangle *t = user;
    double outline[2 * CORNERS];
    for (int i = 0; i < CORNERS; i++) {
        outline[2 * i] = plot_at(corners[i][0]);
        outline[2 * i + 1] = plot_at(corners[i][1]);
    }
    svg_polyline(svg, CORNERS, outline, "#DCE9F5", 1, 1);
    for (int i = 0; i < MIXTURES; i++) {
        svg_hint_begin(svg, "weights %.2f %.2f %.2f", (double)t->weights[i][0],
                       (double)t->weights[i][1], (double)t->weights[i][2]);
        svg_circle(svg, plot_at(t->out[i][0]), plot_at(t->out[i][1]), 4, chart_colors[0], "white");
        svg_hint_end(svg);
    }
    for (int i = 0; i < CORNERS; i++) {
        svg_circle(svg, outline[2 * i], outline[2 * i + 1], 6, chart_colors[1], "white");
        svg_text(svg, outline[2 * i], outline[2 * i + 1] + (i < 2 ? -12 : 22), 14, SVG_MIDDLE,
                 "#222222", "value %d", i + 1);
    }
}

/* Compares the weights with the areas of the triangle opposite each corner, from which they can be
   read. */
static double distance_from_areas(const struct triangle *t)
{
    double worst = 0;
    for (int i = 0; i < MIXTURES; i++) {
        double area[CORNERS], all = 0;
        for (int c = 0; c < CORNERS; c++) {
            const float *a = corners[(c + 1) % CORNERS], *b = corners[(c + 2) % CORNERS];
            area[c] =
                ((double)a[0] - (double)t->out[i][0]) * ((double)b[1] - (double)t->out[i][1]) -
                ((double)b[0] - (double)t->out[i][0]) * ((double)a[1] - (double)t->out[i][1]);
            all += area[c];
        }
        for (int c = 0; c < CORNERS; c++)
            worst = fmax(worst, fabs(area[c] / all - (double)t->weights[i][c]));
    }
    return worst;
}

static void weights_step(struct page *page, uint64_t seed)
{
    static const char *const names[] = {"value 1", "value 2", "value 3"};
    static const char *const rows[] = {"query 1", "query 2", "query 3", "query 4"};
    static const float keys[CORNERS][2] = {{1, 0}, {-0.5F, 0.87F}, {-0.5F, -0.87F}};
    struct triangle t;
    struct random random = random_from(seed, 41);
    double sum = 0, min = 1;
    for (int i = 0; i < 2 * MIXTURES; i++) t.q[i / 2][i % 2] = 2.5F * random_normal(&random);
    attend(&(struct attended){MIXTURES, CORNERS, 2, 2, 1, t.q[0], keys[0], corners[0]}, t.out[0],
           t.weights[0]);
    for (int i = 0; i < MIXTURES; i++) {
        double all = 0;
        for (int c = 0; c < CORNERS; c++) {
            all += (double)t.weights[i][c];
            min = fmin(min, (double)t.weights[i][c]);
        }
        sum = fmax(sum, fabs(all - 1));
    }
    page_step(page, "Scores become weights");
    page_paragraph(page, SHORT,
                   "Argmax takes one value and ignores the rest. Softmax does not decide: every "
                   "value gets a positive weight, and the weights of a query sum to 1.");
    page_formula(page, SHORT, "a_i = frac{exp(q·k_i)}{∑_j exp(q·k_j)}");
    page_map(page, SHORT, "Weights of four queries", 4, CORNERS, rows, names, t.weights[0]);
    page_claim(page, "smallest weight of 48 queries", min, ABOVE, 0);
    page_claim(page, "largest deviation of a sum of weights from 1", sum, AT_MOST, 1e-6);
    page_formula(page, MORE, "c = ∑_i a_i v_i ,  a_i > 0 ,  ∑_i a_i = 1");
    page_drawing(page, MORE, "Each output lies among the values",
                 "The blue outputs of 48 queries all lie inside the triangle of the three values.",
                 360, 340, draw_triangle, &t);
    page_paragraph(
        page, MORE,
        "Such a sum is called a convex combination. All outputs stay in the convex hull of the "
        "values, which is a triangle here. The weights can be read from the position of an output: "
        "lines from it to the corners divide the triangle into three, and the weight of a value is "
        "the share of the part opposite its corner.");
    page_claim(page,
               "largest difference of a weight from the share of the area opposite its corner",
               distance_from_areas(&t), AT_MOST, 1e-5);
}

/* ---- the query is the hidden state ---- */
enum { WIDTH = 20 };
static const double lecture_x[WIDTH] = {0.00056069, 0.00025621, 0.00094021, 0.00034668, 0.00092293,
                                        0.00072075, 0.00077331, 0.00087205, 0.00053207, 0.00054651,
                                        0.00005004, 0.00019434, 0.0001579,  0.00024429, 0.00083791,
                                        0.00059451, 0.00034378, 1,          0,          0};
static const double lecture_y[WIDTH] = {0.00007009, 0.00013716, 0.00097105, 0.00004687, 0.00077888,
                                        0.00019543, 0.00025575, 0.00033477, 0.00000329, 0.00086016,
                                        0.00030442, 0.00039481, 0.0000476,  0.00088459, 0.00026804,
                                        0.00083782, 0.00037836, 1,          0,          0};

/* Compares the weights of the query 4y over x and two items with the last places 0 1 0 and 0 0 1
   with those of the last three places only. Returns the largest difference. */
static double effect_of_content(float weights[2][3])
{
    float k[2][3][WIDTH] = {{{0}}}, q[2][WIDTH] = {{0}};
    double worst = 0;
    for (int i = 0; i < WIDTH; i++) {
        q[0][i] = 4 * (float)lecture_y[i];
        k[0][0][i] = (float)lecture_x[i];
        for (int s = 1; s < 3 && i < WIDTH - 3; s++)
            k[0][s][i] = (float)lecture_x[(i + 5 * s) % 17];
    }
    q[1][WIDTH - 3] = 4;
    for (int s = 0; s < 3; s++) k[0][s][WIDTH - 3 + s] = k[1][s][WIDTH - 3 + s] = 1;
    for (int i = 0; i < 2; i++)
        attend(&(struct attended){1, 3, WIDTH, WIDTH, 1, q[i], k[i][0], k[i][0]}, NULL, weights[i]);
    for (int s = 0; s < 3; s++)
        worst = fmax(worst, fabs((double)weights[0][s] - (double)weights[1][s]));
    return worst;
}

/* Returns the root mean square of the cosine of random vectors. */
static double mean_cosine(struct random *random, int width, int pairs)
{
    double sum = 0;
    for (int p = 0; p < pairs; p++) {
        double xy = 0, xx = 0, yy = 0;
        for (int i = 0; i < width; i++) {
            double x = (double)random_normal(random), y = (double)random_normal(random);
            xy += x * y;
            xx += x * x;
            yy += y * y;
        }
        sum += xy * xy / (xx * yy);
    }
    return sqrt(sum / pairs);
}

static void cosine_chart(struct page *page, uint64_t seed)
{
    enum { POINTS = 9 };
    struct random random = random_from(seed, 42);
    double width[POINTS], measured[POINTS], law[POINTS], worst = 0;
    for (int i = 0; i < POINTS; i++) {
        int d = 4 << i;
        width[i] = log2(d);
        measured[i] = mean_cosine(&random, d, 2000);
        law[i] = 1 / sqrt(d);
        worst = fmax(worst, fabs(measured[i] / law[i] - 1));
    }
    page_formula(page, MORE, "text{mean of } cos(x, y)^2 = frac{1}{d}");
    page_chart(page, MORE, "Cosine of random vectors of width d", "log2 d", "root mean square");
    page_curve(page, "2,000 pairs measured", POINTS, width, measured);
    page_curve(page, "1 / √d", POINTS, width, law);
    page_claim(page, "largest relative deviation of the cosine of random vectors from 1/√d", worst,
               AT_MOST, 0.08);
}

static void hidden_state_step(struct page *page, uint64_t seed)
{
    double product = 0;
    float weights[2][3];
    for (int i = 0; i < WIDTH; i++) product += lecture_x[i] * lecture_y[i];
    double effect = effect_of_content(weights);
    page_step(page, "The query can be the hidden state");
    page_paragraph(page, SHORT,
                   "In the lecture's example the vectors x and y have 20 elements. Seventeen small "
                   "numbers hold content, and the last three, 1 0 0, say what the vector is about. "
                   "Their product is x·y = %.6f, so the content hardly changes the similarity. One "
                   "vector can therefore be both key and content, or both hidden state and query.",
                   product);
    page_formula(page, SHORT, "a_t = softmax(E d_t) ,  d_{t+1} = f(E^⊤ a_t , d_t)");
    page_claim(page, "difference of x·y from the lecture's 1.0000039932546048",
               fabs(product - 1.0000039932546048), AT_MOST, 1e-9);
    page_table(page, MORE, "Weights of the query 4y over x and two other items",
               "keys\t1 0 0\t0 1 0\t0 0 1");
    for (int i = 0; i < 2; i++)
        page_row(page, "%s\t%.5f\t%.5f\t%.5f", i == 0 ? "with content" : "without",
                 (double)weights[i][0], (double)weights[i][1], (double)weights[i][2]);
    page_claim(page, "largest change of an attention weight by the content", effect, AT_MOST, 1e-4);
    page_paragraph(page, MORE,
                   "Content does not even have to be small. Random vectors of d elements are "
                   "nearly orthogonal: their cosine is about 1/√d. Wide vectors can therefore hold "
                   "a lot that a query does not ask for.");
    cosine_chart(page, seed);
}

int lesson_mix(struct page *page, const struct lesson_options *options)
{
    weights_step(page, options->seed);
    mix_codes(page, options);
    hidden_state_step(page, options->seed);
    show_prototype_4(page, options);
    return EXIT_OK;
}

/* ---- prototype 4 as a translator, compared with the one vector of lesson 1 ---- */

enum { VECTOR, MIXED };

static void show_shapes(struct page *page, const struct study *study,
                        const struct sentence *sentence)
{
    const int n = sentence->source.count + 1, k = study->config.embed, d = study->config.hidden;
    page_paragraph(
        page, SHORT,
        "Now in matrices, for n items of k numbers and states of d numbers: V holds the embedded "
        "words and is n × k, and E holds their encodings and is n × d. The state of the decoder "
        "d_t is a vector of d numbers (the lecture calls it h_t), and the weights a_t are n "
        "numbers. In \"cats do not like dogs\" with its end, n is %d, and the model below has k = "
        "%d and d = %d.",
        n, k, d);
    page_formula(page, SHORT, "E = f_{encoder}(V) ,  V: n × k ,  E: n × d");
    page_formula(page, SHORT, "a_t = softmax(E d_t) ,  a_t: n ,  d_t: d");
    page_formula(page, SHORT, "d_{t+1} = f_{output}(E^⊤ a_t , d_t) ,  E^⊤ a_t: d");
    page_paragraph(page, SHORT,
                   "The model below computes its scores by a small network instead, v tanh(W d + U "
                   "h), as Bahdanau's does (lesson 8). Everything else is as in these formulas.");
}

void show_prototype_4(struct page *page, const struct lesson_options *options)
{
    static struct study study;
    struct sentence sentence;
    struct words out;
    page_step(page, "Prototype 4");
    page_paragraph(page, SHORT,
                   "Prototype 4 puts the parts together: encode each item, compute the softmax of "
                   "the items' scores with the query, and pass on the weighted average of the "
                   "encodings. Since every step reads all encodings, this is called global or soft "
                   "attention. Local attention (lesson 8) reads some of them, and hard attention "
                   "only one.");
    study_create(&study, options, 8, 1200);
    study_sentence(&study, &sentence, &study_clause);
    show_shapes(page, &study, &sentence);
    study_add(&study, "one vector", &study.config);
    const struct recurrent_config config = study_prototype(&study, PROTOTYPE_4);
    study_add(&study, "prototype 4", &config);
    study_train(&study, 0);
    show_architecture(page, &study, MIXED, PROTOTYPE_4, &sentence);
    float *weights = study_weights(&study, MIXED, &sentence, &out, NULL);
    study_map(&study, page, SHORT, "Prototype 4, trained: the weights of each word that it writes",
              &sentence, &out, weights);
    page_map_temperature(page);
    page_paragraph(page, MORE,
                   "The slider below the map divides the scores by a temperature before the "
                   "softmax. At 0 only the largest weight is left, which is hard attention, and "
                   "far above 1 all weights become equal.");
    free(weights);
    study_compare(&study, page, SHORT, "The same training", "model", VECTOR, MIXED + 1, NULL);
    page_paragraph(page, SHORT,
                   "An AER (lesson 2) far from 0 does not mean that translations are wrong. A "
                   "state knows the words before it, so a word can be read from the state after "
                   "it. That counts as an error in the AER, but does no harm to the translation.");
    study_claim(&study, page, "prototype 4: sentences translated exactly, %", study_exact,
                (const int[]){MIXED}, 1, NULL, AT_LEAST, 75);
    study_claim(&study, page, "sentences translated exactly: prototype 4 minus one vector, %",
                study_exact_more, (const int[]){MIXED, VECTOR}, 2, NULL, AT_LEAST, 5);
    study_free(&study);
}
