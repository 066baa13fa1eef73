/* every_score.c - an RNN with simple attention; softmax; queries, keys and values;
   projections; every score of the library in the same decoder; localities. */
#include "architecture.h"
#include "parts.h"
#include "study.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Models: one for each score, one with projections, and the lecture's, which has the dot product
   and one cell for both languages. */
enum { PROJECTED = RAPT_SCORE_COUNT, ONE_CELL, BEFORE, SCORED_MODELS };

/* ---- a step of simple attention: scores, distribution, queries, keys and values, projections ----
 */

enum { STEP_WORDS = 6 }; /* including the end */
enum step_part { QUERY_PART, KEYS_PART, VALUES_PART, STEP_PARTS };
/* One step of a decoder with simple attention, and the part of it that is explained. */
struct step_figure {
    enum step_part part;
    int step; /* counts from 1 */
    const char *words[STEP_WORDS], *output;
    float scores[STEP_WORDS], weights[STEP_WORDS];
};
static page_draw_fn step_figure_draw; /* user: struct step_figure */
enum { STEP_WIDTH = 460, STEP_HEIGHT = 250 };

enum { STEP = 1 }; /* the step that writes mögen, counted from 0 */

/* The scores and weights of each step of the simple model. */
struct step {
    const struct sentence *sentence;
    struct words out;
    float *scores, *weights; /* [words and end][columns] */
    int columns;
};

static void show_scores(struct page *page, const struct study *study)
{
    page_step(page, "Simple attention: scores");
    page_paragraph(page, SHORT,
                   "An RNN reads the sentence; its states are yᵉ(1) … yᵉ(T). Then it continues "
                   "from the last of them and writes. Its current state yᵈ(t) is compared with "
                   "each of them by a dot product. These products are the scores: each says how "
                   "important a state of the encoder is for the current one. The output layer sees "
                   "both the current state and the result of attention.");
    page_formula(page, SHORT, "a(t) = [y^e(1) … y^e(T)]^⊤ y^d(t)");
    page_formula(page, SHORT, "y(t) = σ_1(W^o col{y^d(t)}{y^a(t)})");
    page_formula(page, MORE, "y^e(t), y^d(t), y^a(t): n ,  a(t): T ,  W^o: N × 2n ,  y(t): N");
    page_paragraph(page, SHORT,
                   "Each translation of L words has two more symbols. The first word that the "
                   "decoder reads, y(0), is (begin), since nothing has been written yet. After the "
                   "last word it has to write (end), which ends the translation. The source ends "
                   "with (end), too.");
    page_formula(page, SHORT, "y(0) = text{(begin)} ,  y(L + 1) = text{(end)}");
    page_paragraph(
        page, MORE,
        "As in the lecture, one matrix Wʰ both reads and writes, in a cell without gates (Elman "
        "1990). The table, the map and the pictures of the next two sections show this model, "
        "which is the row \"%s\" in the table of scores. The models of the other rows have one "
        "matrix for each language, and their decoder begins with yᵈ(0) = 0.",
        study->models[ONE_CELL].name);
    page_formula(page, MORE, "y^e(t) = tanh(W^h col{y^e(t-1)}{x(t)})");
    page_formula(page, MORE, "y^d(t) = tanh(W^h col{y^d(t-1)}{y(t-1)}) ,  y^d(0) = y^e(T)");
}

static void show_distribution(struct page *page, struct study *study, const struct step *step)
{
    const float *scores = step->scores + STEP * step->columns;
    const float *weights = step->weights + STEP * step->columns;
    char text[400], right[400];
    double total = 0;
    page_step(page, "Then a distribution");
    page_paragraph(page, SHORT,
                   "Scores can have any size and sign. The softmax function σ₁ makes them positive "
                   "numbers that sum to 1. The result is called the attention distribution, and "
                   "the mixture of the states by it is the attention vector.");
    page_formula(page, SHORT, "a_1(t) = σ_1(a(t))");
    page_formula(page, SHORT, "y^a(t) = [y^e(1) … y^e(T)] a_1(t)");
    page_table(page, SHORT, "The step that writes mögen", "state of\tscore\texp(score)\tweight");
    const char **names = study_names(&study->language.source, &step->sentence->source);
    for (int s = 0; s < step->columns; s++) {
        page_row(page, "%s\t%.2f\t%.3g\t%.3f", names[s], (double)scores[s], exp((double)scores[s]),
                 (double)weights[s]);
        total += (double)scores[s];
    }
    free(names);
    page_paragraph(
        page, MORE,
        "At first the lecture mixes by the scores themselves, yᵃ = [yᵉ(1) … yᵉ(T)] a(t); another "
        "lecture writes such a sum as similarity × value. Here the scores sum to %.1f instead of "
        "1, and a state with a negative score would be subtracted.",
        total);
    study_spell(&study->language.target, &step->out, text, sizeof text);
    study_map(study, page, SHORT, text, step->sentence, &step->out, step->weights);
    study_spell(&study->language.target, &step->sentence->target, right, sizeof right);
    if (strcmp(text, right) != 0)
        page_paragraph(page, SHORT,
                       "The right translation would be \"%s\". The table below says how often each "
                       "model is right.",
                       right);
}

static void show_roles(struct page *page, struct study *study, const struct step *step)
{
    page_step(page, "Queries, keys, values");
    page_paragraph(page, SHORT,
                   "The vector that asks is called the query. The vectors that it is compared with "
                   "are the keys, and the vectors that are mixed are the values. Here the same "
                   "states are both keys and values.");
    const int written = STEP < step->out.count ? step->out.tokens[STEP] : RAPT_TOKEN_END;
    struct step_figure figure = {.step = STEP + 1, .output = study->language.target.words[written]};
    const char **names = study_names(&study->language.source, &step->sentence->source);
    for (int s = 0; s < STEP_WORDS; s++) {
        figure.words[s] = names[s];
        figure.scores[s] = step->scores[STEP * step->columns + s];
        figure.weights[s] = step->weights[STEP * step->columns + s];
    }
    static const char *const titles[STEP_PARTS] = {"Queries", "Keys", "Values"};
    for (int part = 0; part < STEP_PARTS; part++) {
        figure.part = (enum step_part)part;
        page_drawing(page, MORE, titles[part],
                     "The step that writes mögen: the states of the encoder, their scores with the "
                     "state of the decoder, the distribution, and the attention vector.",
                     STEP_WIDTH, STEP_HEIGHT, step_figure_draw, &figure);
    }
    free(names);
}

static void show_simple(struct page *page, struct study *study, const struct sentence *sentence)
{
    struct step step = {.sentence = sentence, .columns = sentence->source.count + 1};
    show_scores(page, study);
    study_train(study, 0);
    step.weights = study_weights(study, ONE_CELL, sentence, &step.out, &step.scores);
    show_distribution(page, study, &step);
    show_roles(page, study, &step);
    free(step.weights);
    free(step.scores);
}

static void show_parameterized(struct page *page, struct study *study,
                               const struct sentence *sentence)
{
    struct words out;
    float *weights = study_weights(study, PROJECTED, sentence, &out, NULL);
    page_step(page, "Parameterized attention");
    page_paragraph(
        page, SHORT,
        "Three learned matrices, called the query, key and value projections, are applied to the "
        "states. The vectors that are compared then need not be the vectors that are mixed, nor of "
        "the same width.");
    page_formula(page, SHORT, "a(t) = (W^k [y^e(1) … y^e(T)])^⊤ (W^q y^d(t))");
    page_formula(page, SHORT, "y^a(t) = (W^v [y^e(1) … y^e(T)]) a_1(t)");
    page_formula(page, MORE, "W^q, W^k, W^v: m × n ,  y^a(t): m ,  W^o: N × (n + m)");
    study_map(study, page, MORE, "Weights with projections", sentence, &out, weights);
    free(weights);
}

/* ---- draws one step of simple attention; queries, keys or values are highlighted ---- */

static const char lit[] = "#F5C26B", plain[] = "#EEF2F6", line[] = "#5B6B7B", ink[] = "#222222";

static void box(struct svg *svg, double x, double y, double width, const char *fill,
                const char *label)
{
    svg_rect(svg, x, y, width, 28, fill, line);
    svg_text(svg, x + width / 2, y + 19, 13, SVG_MIDDLE, ink, "%s", label);
}

/* Leads a value past its score and weight to the attention vector. right: of its column. */
static void put_value(struct svg *svg, const struct step_figure *f, int i, double right)
{
    const double beside = right + 2;
    const double path[] = {right - 5, 160, beside, 150, beside, 52, 225, 38};
    const bool shown = f->part == VALUES_PART;
    svg_polyline(svg, 4, path, shown ? "#C77B00" : "#C4CCD4",
                 shown ? 0.5 + 3 * (double)f->weights[i] : 0.5, 0);
}

static void step_figure_draw(struct svg *svg, const void *user)
{
    const struct step_figure *f = user;
    const double left = 74, pitch = 48, wide = 44, decoder = 386;
    const char *const rows[] = {"distribution", "scores"};
    char name[32];
    svg_text(svg, 4, 76, 11, SVG_LEFT, line, "%s", rows[0]);
    svg_text(svg, 4, 121, 11, SVG_LEFT, line, "%s", rows[1]);
    for (int i = 0; i < STEP_WORDS; i++) {
        const double x = left + i * pitch, middle = x + wide / 2;
        char shade[8];
        shade_color(f->weights[i], shade);
        svg_rect(svg, x, 58, wide, 26, shade, line);
        svg_text(svg, middle, 76, 13, SVG_MIDDLE, f->weights[i] > 0.5F ? "#FFFFFF" : ink, "%.2f",
                 (double)f->weights[i]);
        svg_text(svg, middle, 121, 13, SVG_MIDDLE, ink, "%.2f", (double)f->scores[i]);
        svg_line(svg, middle, 160, middle, 128, f->part == KEYS_PART ? "#C77B00" : line,
                 f->part == KEYS_PART ? 2.5 : 1);
        svg_line(svg, middle, 106, middle, 86, line, 1);
        svg_line(svg, middle, 56, 225, 38, line, 0.5);
        put_value(svg, f, i, x + wide);
        snprintf(name, sizeof name, "y\u1D49(%d)", i + 1);
        box(svg, x, 160, wide, f->part == QUERY_PART ? plain : lit, name);
        svg_text(svg, middle, 208, 13, SVG_MIDDLE, ink, "%s", f->words[i]);
    }
    snprintf(name, sizeof name, "y\u1D48(%d)", f->step);
    box(svg, decoder, 160, wide, f->part == QUERY_PART ? lit : plain, name);
    svg_line(svg, decoder + wide / 2, 160, decoder + wide / 2, 116,
             f->part == QUERY_PART ? "#C77B00" : line, f->part == QUERY_PART ? 2.5 : 1);
    svg_line(svg, decoder + wide / 2, 116, left + STEP_WORDS * pitch, 116,
             f->part == QUERY_PART ? "#C77B00" : line, f->part == QUERY_PART ? 2.5 : 1);
    box(svg, 195, 10, 60, plain, "y\u1D43");
    svg_line(svg, 255, 24, 276, 24, line, 1);
    box(svg, 276, 10, 32, plain, "W\u1D52");
    svg_line(svg, 308, 24, 330, 24, line, 1);
    const double beside = decoder + wide - 8; /* W^o also sees the state of the decoder */
    const double path[] = {beside, 160, beside, 46, 292, 46, 292, 38};
    svg_polyline(svg, 4, path, line, 1, 0);
    svg_text(svg, 336, 29, 15, SVG_LEFT, ink, "%s", f->output);
    static const char *const told[STEP_PARTS] = {"Query: the state of the decoder asks.",
                                                 "Keys: it is compared with each encoder state.",
                                                 "Values: the same states are mixed."};
    svg_text(svg, left, 238, 13, SVG_LEFT, ink, "%s", told[f->part]);
}

/* ---- the scores of the library ---- */

static void add_models(struct study *study)
{
    for (int score = 0; score < RAPT_SCORE_COUNT; score++) {
        struct recurrent_config config = study_prototype(study, SIMPLE);
        config.score = (rapt_score)score;
        study_add(study, rapt_score_name(config.score), &config);
    }
    struct recurrent_config config = study_prototype(study, PARAMETERIZED);
    study_add(study, "parameterized", &config);
    config = study_prototype(study, SIMPLE);
    config.one_cell = true;
    config.pass = PASS_INITIAL;
    study_add(study, "dot, one Wʰ", &config);
    config = study_prototype(study, PROTOTYPE_4);
    study_add(study, "additive d(t−1)", &config);
}

/* Returns the largest difference between the scores of the first step in two sentences of the same
   length. The query of that step is the same in both. */
static double first_difference(struct study *study, int model)
{
    static const struct german_clause clauses[2] = {{0, {0, -1, 0}, 1, 0, {0, -1, 1}},
                                                    {0, {0, -1, 5}, 1, 3, {0, -1, 7}}};
    enum { COLUMNS = 6 };
    float rows[2][COLUMNS];
    double largest = 0;
    for (int i = 0; i < 2; i++) {
        struct sentence sentence;
        struct words out;
        study_sentence(study, &sentence, &clauses[i]);
        float *scores;
        free(study_weights(study, model, &sentence, &out, &scores));
        memcpy(rows[i], scores, sizeof rows[i]);
        free(scores);
    }
    for (int s = 0; s < COLUMNS; s++)
        largest = fmax(largest, fabs((double)(rows[1][s] - rows[0][s])));
    return largest;
}

/* Returns how many parameters the score of a model has. */
static size_t score_parameters(const struct study *study, int model)
{
    const size_t states = (size_t)study->config.hidden, width = (size_t)study->config.width;
    if (model == ONE_CELL) return 0;
    if (model == PROJECTED) return 2 * states * width; /* W_v is a part of the mixture */
    const int same = model == BEFORE ? RAPT_SCORE_ADDITIVE : model; /* its cell is wider */
    return translator_parameters(&study->models[same]) -
           translator_parameters(&study->models[RAPT_SCORE_DOT]);
}

static void compare_scores(struct page *page, struct study *study)
{
    static const char *const formulas[SCORED_MODELS] = {"q·k / √n",
                                                        "q·k",
                                                        "Wq·k",
                                                        "β cos(q, k)",
                                                        "P[s]·q",
                                                        "v·tanh(Wq + Uk + b)",
                                                        "v·tanh(Wq + Uk + Lf + b)",
                                                        "v·tanh(Wq + Uk + wc + b)",
                                                        "W_q q · W_k k",
                                                        "q·k",
                                                        "v·tanh(Wq + Uk + b)"};
    const int n = study->config.hidden, h = study->config.width;
    page_step(page, "Every score");
    page_paragraph(page, SHORT,
                   "The models of the first %d rows have the same encoder and decoder, each with a "
                   "cell of its own, and differ only in the score. In the row \"%s\" the values "
                   "are projected, too. In the row \"%s\" one cell both reads and writes, and in "
                   "the last row the context enters the cell. Only the parameters of the score are "
                   "counted. The AER, the alignment error rate (lesson 2), is measured on "
                   "sentences that are translated exactly. It is 0 if the largest weight is always "
                   "on the word that is being translated.",
                   RAPT_SCORE_COUNT, study->models[PROJECTED].name, study->models[ONE_CELL].name);
    page_table(page, SHORT, "Scores in the same decoder",
               "score\tformula\tparameters\texact, %\tAER\tseconds");
    for (int i = 0; i < SCORED_MODELS; i++) {
        const struct translator *model = &study->models[i];
        struct quality quality = study_quality(study, i);
        const size_t parameters = score_parameters(study, i);
        page_row(page, "%s\t%s\t%zu\t%.1f\t%.2f\t%.1f", model->name, formulas[i], parameters,
                 quality.exact, quality.alignment_error, model->seconds);
    }
    page_paragraph(
        page, SHORT,
        "In the formulas, q is the state that asks, k a key, and P[s] a learned vector for each "
        "position. The weights of the previous step, after a convolution, are f; c is the sum of "
        "the weights of all previous steps, called coverage. The general score, also called "
        "multiplicative, is a middle ground: it has one matrix, where a dot product has none and "
        "an additive score has two and a vector (W, U, v).");
    page_paragraph(
        page, MORE,
        "Dot products have no parameters. With states of n elements a general score has n² (here "
        "%d), and an additive one with m hidden units has 2nm + 2m (here %d, with m = %d). The "
        "parameterized score has W_q and W_k of %d × %d each; its W_v, of the same size, is not "
        "counted, since it belongs to the mixture. Which number is larger depends on the choice of "
        "m and says nothing about the scores. A cosine is at most 1, so it is multiplied by a "
        "learned factor β: without it softmax could never be sharp. The location score does not "
        "read the keys. Since each state knows all words before it, the state after a word serves "
        "as well as the word's own. A model that never reads the state of the word itself can have "
        "an AER of 1 and still translate correctly. The AER therefore depends more on the seed "
        "(try --seed 2) than on the score: a weight says which state is read, not which word is "
        "meant.",
        n * n, 2 * n * h + 2 * h, h, h, n);
    for (int i = 0; i < SCORED_MODELS; i++) {
        char *statement = xasprintf("%s: sentences translated exactly, %%", study->models[i].name);
        study_claim(study, page, statement, study_exact, &i, 1, NULL, AT_LEAST, 50);
        free(statement);
    }
    page_claim(page, "location: largest difference between the first scores of two sentences",
               first_difference(study, RAPT_SCORE_LOCATION), EQUALS, 0);
    page_claim(page, "general: largest difference between the first scores of two sentences",
               first_difference(study, RAPT_SCORE_GENERAL), ABOVE, 0);
}

static void show_letters(struct page *page)
{
    page_step(page, "Two alphabets");
    page_paragraph(
        page, SHORT,
        "The first sections of this lesson follow the lecture ML:IX (Deep Learning, Attention "
        "Mechanism) and its letters. The pictures, and the sections from the additive score on, "
        "keep the letters of lesson 1. So do the other lessons, except where they quote a "
        "lecture's formula.");
    page_table(page, SHORT, "Letters", "meaning\tlesson 1\tML:IX");
    page_row(page, "state of the encoder\th\tyᵉ");
    page_row(page, "state of the decoder\td\tyᵈ");
    page_row(page, "context, or attention vector\tc\tyᵃ");
    page_row(page, "scores\te\ta");
    page_row(page, "weights\ta\ta₁");
    page_row(page, "softmax\tsoftmax\tσ₁");
    page_row(page, "word that is read, word that is written\tx, y\tx, y");
    page_row(page, "first input of the decoder, (begin)\ty₀\ty(0)");
}

int lesson_every_score(struct page *page, const struct lesson_options *options)
{
    struct study study;
    struct sentence sentence;
    study_create(&study, options, 8, 900);
    study.config.cell = CELL_RNN;
    study_sentence(&study, &sentence, &study_clause);
    add_models(&study);
    show_letters(page);
    show_simple(page, &study, &sentence);
    show_architecture(page, &study, ONE_CELL, SIMPLE, &sentence);
    show_parameterized(page, &study, &sentence);
    show_architecture(page, &study, PROJECTED, PARAMETERIZED, &sentence);
    show_additive(page, study.models[BEFORE].name, study.models[RAPT_SCORE_ADDITIVE].name);
    compare_scores(page, &study);
    show_localities(page, options->seed);
    study_free(&study);
    return EXIT_SUCCESS;
}
