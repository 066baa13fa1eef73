/* simple_attention.c - one step of an RNN with simple attention, from scores to a
   distribution; queries, keys and values; projections. */
#include "every_score.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

void show_simple(struct page *page, struct study *study, const struct sentence *sentence)
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

void show_parameterized(struct page *page, struct study *study, const struct sentence *sentence)
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

void step_figure_draw(struct svg *svg, const void *user)
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
