/* chase.c - lesson 5: the lecture's three rows of weights for Tom chase Jerry, and a model that
   learns English and Chinese and finds such rows itself. */
#include "chase.h"
#include "attend.h"
#include "kit/layers.h"
#include "kit/program.h"
#include "lesson.h"
#include <math.h>
#include <stdlib.h>

enum { N = 3 };
static const char *const source_words[N] = {"Tom", "chase", "Jerry"};
static const char *const target_words[N] = {"汤姆", "追逐", "杰瑞"};
static const float lecture[N][N] = {{0.6F, 0.2F, 0.2F}, {0.2F, 0.7F, 0.1F}, {0.3F, 0.2F, 0.5F}};
static const float encoded[N][2] = {{0.1F, 0.15F}, {0.9F, 0.3F}, {0.45F, 0.9F}};

/* ---- given weights ---- */
static double picture_at(float value)
{
    return 30 + 280 * (double)value;
}

static void draw_contexts(struct svg *svg, const void *user)
{
    /* Where the label of each context is, away from the lines. */
    static const struct {
        double x, y;
        enum svg_anchor anchor;
    } labels[N] = {{-18, 28, SVG_RIGHT}, {12, -16, SVG_RIGHT}, {-26, 8, SVG_RIGHT}};
    const float(*context)[2] = user;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            svg_line(svg, picture_at(encoded[j][0]), picture_at(encoded[j][1]),
                     picture_at(context[i][0]), picture_at(context[i][1]), chart_colors[i],
                     6 * (double)lecture[i][j]);
    for (int i = 0; i < N; i++) {
        double x = picture_at(encoded[i][0]), y = picture_at(encoded[i][1]);
        svg_circle(svg, x, y, 6, "#444444", "white");
        svg_text(svg, x, y + (i < 2 ? -12 : 22), 14, SVG_MIDDLE, "#222222", "f2(%s)",
                 source_words[i]);
        x = picture_at(context[i][0]);
        y = picture_at(context[i][1]);
        svg_circle(svg, x, y, 8, chart_colors[i], "white");
        svg_text(svg, x + labels[i].x, y + labels[i].y, 14, labels[i].anchor, "#222222", "C%d %s",
                 i + 1, target_words[i]);
    }
}

static void given_step(struct page *page)
{
    static const float keys[N][N] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    float queries[N][N], weights[N][N], context[N][2];
    double rows = 0, sums = 0;
    for (int i = 0; i < N * N; i++) queries[i / N][i % N] = logf(lecture[i / N][i % N]);
    attend(&(struct attended){N, N, N, 2, 1, queries[0], keys[0], encoded[0]}, context[0],
           weights[0]);
    for (int i = 0; i < N; i++)
        for (int c = 0; c < 2; c++) {
            double sum = 0;
            for (int j = 0; j < N; j++) sum += (double)lecture[i][j] * (double)encoded[j][c];
            sums = fmax(sums, fabs(sum - (double)context[i][c]));
        }
    for (int i = 0; i < N * N; i++)
        rows = fmax(rows, fabs((double)weights[i / N][i % N] - (double)lecture[i / N][i % N]));
    page_step(page, "Weights that are given");
    page_paragraph(page, SHORT,
                   "If one vector stands for the whole sentence, each word of the translation is "
                   "made from the same source. With attention, word i has a context Cᵢ of its own: "
                   "the weighted sum of the encodings of Tom, chase and Jerry.");
    page_formula(page, SHORT, "C_i = ∑_{j=1}^3 α_{ij} h_j");
    page_map(page, SHORT, "The lecture's weights, as rapt_attention_forward computed them", N, N,
             target_words, source_words, weights[0]);
    page_paragraph(
        page, MORE,
        "Keys do not have to be encodings. Here they are one-hot positions: (1, 0, 0) for Tom, (0, "
        "1, 0) for chase, (0, 0, 1) for Jerry. The values are the encodings, and each query holds "
        "the logarithms of the three weights, which softmax turns back into the weights. The "
        "location score of lesson 6 is a product of this kind.");
    page_formula(page, MORE, "y_1 = f_1(C_1)");
    page_formula(page, MORE, "y_2 = f_1(C_2 , y_1)");
    page_formula(page, MORE, "y_3 = f_1(C_3 , y_1 , y_2)");
    page_drawing(page, MORE, "Three contexts among three encodings",
                 "Each context C lies nearest to the word that it is used for. The thickness of a "
                 "line shows the weight.",
                 350, 320, draw_contexts, context);
    page_table(page, SHORT, "Contexts: sums of the encodings f2 of width 2",
               "context\tTom\tchase\tJerry\tsum");
    for (int i = 0; i < N; i++)
        page_row(page, "C%d %s\t%.1f\t%.1f\t%.1f\t%.3f, %.3f", i + 1, target_words[i],
                 (double)weights[i][0], (double)weights[i][1], (double)weights[i][2],
                 (double)context[i][0], (double)context[i][1]);
    page_claim(
        page, "largest difference from the lecture's weights 0.6 0.2 0.2, 0.2 0.7 0.1, 0.3 0.2 0.5",
        rows, AT_MOST, 1e-6);
    page_claim(page, "largest difference between the contexts and the weighted sums", sums, AT_MOST,
               1e-6);
}

/* ---- learned weights ---- */
static void draw_test(struct random *random, struct ids_pair *pair, const void *user)
{
    struct chase_pair drawn;
    (void)user;
    chase_draw(random, true, &drawn);
    *pair = drawn.ids;
}

/* Appends a map of the pair's cross-attention, with a row for each word of the translation. */
static void show_pair(struct page *page, enum page_detail detail, const char *title,
                      struct learner *small, const struct ids_pair *pair, float *weights)
{
    const char *rows[SMALL_TOKENS], *columns[SMALL_TOKENS + 1];
    for (int t = 0; t < pair->target.count; t++) rows[t] = chase_word(pair->target.at[t]);
    for (int s = 0; s < pair->source.count; s++) columns[s] = chase_word(pair->source.at[s]);
    columns[pair->source.count] = "(end)";
    small_weights(small, pair, RAPT_WEIGHTS_CROSS, -1, -1, weights);
    page_map(page, detail, title, pair->target.count, pair->source.count + 1, rows, columns,
             weights);
}

/* Returns the share of words of held-out sentences whose largest weight is on the word they
   translate. */
static double aligned(struct learner *small, struct random random)
{
    enum { SENTENCES = 200 };
    float weights[(SMALL_TOKENS + 1) * (SMALL_TOKENS + 1)];
    int right = 0, words = 0;
    for (int i = 0; i < SENTENCES; i++) {
        struct chase_pair pair;
        chase_draw(&random, true, &pair);
        int columns = pair.ids.source.count + 1;
        small_weights(small, &pair.ids, RAPT_WEIGHTS_CROSS, -1, -1, weights);
        for (int t = 0; t < pair.ids.target.count; t++)
            right += argmax(columns, weights + t * columns) == pair.source[t];
        words += pair.ids.target.count;
    }
    return (double)right / words;
}

static void learned_step(struct page *page, const struct lesson_options *options)
{
    static const struct chase tom = {.subject = 0, .verb = 0, .object = 1, .where = -1};
    static const struct chase denied = {
        .subject = 0, .verb = 0, .object = 1, .where = 0, .negated = true, .today = true};
    const int steps = options->quick ? 300 : 800, vocabulary = chase_vocabulary();
    const rapt_config config = {.source_vocab = vocabulary,
                                .target_vocab = vocabulary,
                                .width = 32,
                                .heads = 1,
                                .ffn_width = 64,
                                .encoder_layers = 1,
                                .decoder_layers = 1,
                                .norm_order = RAPT_NORM_ORDER_POST};
    float weights[(SMALL_TOKENS + 1) * (SMALL_TOKENS + 1)];
    struct learner small;
    struct chase_pair pair;
    page_step(page, "Weights that are learned");
    page_paragraph(page, SHORT,
                   "A Transformer of one layer and one head learns from sentences of this kind, "
                   "where Chinese says when and where before the verb. Three in ten combinations "
                   "of who does what to whom are kept out of training, among them Tom chase Jerry. "
                   "Nobody tells the model which word translates which: it learns the weights "
                   "together with everything else, from the loss alone.");
    small_create(&small, &config, options->seed);
    double loss = small_train(&small, steps, 5e-3F, chase_draw_training, NULL,
                              random_from(options->seed, 51));
    double exact = small_exact(&small, 320, draw_test, NULL, random_from(options->seed, 52));
    chase_make(&tom, &pair);
    page_formula(page, SHORT, "α_{ij} = softmax_j(frac{W_q s_i · W_k h_j}{sqrt{d}})");
    show_pair(page, MORE, "Learned weights: Tom chase Jerry", &small, &pair.ids, weights);
    double own = INFINITY;
    page_table(page, SHORT, "Weight of the word that a word translates", "word\tlecture\tlearned");
    for (int i = 0; i < N; i++) {
        page_row(page, "%s %s\t%.2f\t%.2f", target_words[i], source_words[i], (double)lecture[i][i],
                 (double)weights[i * (N + 1) + i]);
        own = fmin(own, (double)weights[i * (N + 1) + i]);
    }
    chase_make(&denied, &pair);
    show_pair(page, MORE, "Learned weights: another order of words", &small, &pair.ids, weights);
    page_paragraph(page, MORE,
                   "Nothing forces the weights to be an alignment. Self-attention of the encoder "
                   "(lesson 8) may carry a word to its neighbor, and with another seed (--seed 3) "
                   "the word is read there. The translations are right all the same.");
    page_paragraph(page, MORE, "%d parameters, %d steps of %d sentences, loss %.3f per word.",
                   (int)rapt_model_parameters(small.model), steps, SMALL_BATCH, loss);
    page_claim(page, "unseen sentences that are translated exactly, share", exact, AT_LEAST, 0.95);
    page_claim(page, "smallest of the three learned weights above", own, AT_LEAST, 0.5);
    page_claim(page, "words whose largest weight is on the word that they translate, share",
               aligned(&small, random_from(options->seed, 53)), AT_LEAST, 0.6);
    learner_free(&small);
}

int lesson_chase(struct page *page, const struct lesson_options *options)
{
    given_step(page);
    learned_step(page, options);
    return EXIT_OK;
}
