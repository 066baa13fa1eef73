/* simple_attention.c - lesson 6: one step of an RNN with simple attention, from scores to a
   distribution; queries, keys and values; projections. */
#include "every_score.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 1 }; /* that of mögen, counted from 0 */

/* What a step of the simple model attends to. */
struct step {
    const struct sentence *sentence;
    struct words out;
    float *scores, *weights; /* [words and end][columns] */
    int columns;
};

static void show_scores(struct page *page)
{
    page_step(page, "Simple attention: scores");
    page_paragraph(page, SHORT,
                   "An RNN reads the sentence, its states are yᵉ(1) … yᵉ(T). It goes on from the "
                   "last of them and writes. Its present state yᵈ(t) is compared with each of them "
                   "by a dot product; these are the scores. The output sees both states.");
    page_formula(page, SHORT, "a(t) = [y^e(1) … y^e(T)]^⊤ y^d(t)");
    page_formula(page, SHORT, "y(t) = σ_1(W^o col{y^d(t)}{y^a(t)})");
    page_paragraph(page, MORE,
                   "As in the lecture, one matrix Wʰ reads and writes, in a cell of Elman (1990) "
                   "without gates. The other models of this lesson have a matrix for each of the "
                   "two languages, and the one that writes begins with yᵈ(0) = 0.");
    page_formula(page, MORE, "y^e(t) = tanh(W^h col{y^e(t-1)}{x(t)})");
    page_formula(page, MORE, "y^d(t) = tanh(W^h col{y^d(t-1)}{y(t-1)}) ,  y^d(0) = y^e(T)");
}

static void show_distribution(struct page *page, struct study *study, const struct step *step)
{
    const float *scores = step->scores + STEP * step->columns;
    const float *weights = step->weights + STEP * step->columns;
    char text[400], right[400];
    double sum = 0, total = 0;
    page_step(page, "Then a distribution");
    page_paragraph(page, SHORT,
                   "Scores may have any size and sign. Softmax σ₁ makes them positive, with sum 1: "
                   "the attention distribution. The attention vector is the mixture by it.");
    page_formula(page, SHORT, "a_1(t) = σ_1(a(t))");
    page_formula(page, SHORT, "y^a(t) = [y^e(1) … y^e(T)] a_1(t)");
    page_table(page, SHORT, "The step that writes mögen", "state of\tscore\texp(score)\tweight");
    const char **names = study_names(&study->language.source, &step->sentence->source);
    for (int s = 0; s < step->columns; s++) {
        page_row(page, "%s\t%.2f\t%.3g\t%.3f", names[s], (double)scores[s], exp((double)scores[s]),
                 (double)weights[s]);
        sum += (double)weights[s];
        total += (double)scores[s];
    }
    free(names);
    page_paragraph(
        page, MORE,
        "The lecture mixes by the scores themselves first, yᵃ = [yᵉ(1) … yᵉ(T)] a(t), and "
        "another one writes the same as similarity × value. Here they add up to %.1f, not "
        "to 1, and a state with a negative score would be taken away.",
        total);
    page_claim(page, "weights have the sum 1, deviation", fabs(sum - 1), AT_MOST, 1e-5);
    study_spell(&study->language.target, &step->out, text, sizeof text);
    study_map(study, page, SHORT, text, step->sentence, &step->out, step->weights);
    study_spell(&study->language.target, &step->sentence->target, right, sizeof right);
    if (strcmp(text, right) != 0)
        page_paragraph(page, SHORT,
                       "Right would be \"%s\"; "
                       "how often each model is right stands below.",
                       right);
}

static void show_roles(struct page *page, struct study *study, const struct step *step)
{
    page_step(page, "Queries, keys, values");
    page_paragraph(page, SHORT,
                   "What asks is the query; what it is compared with are the keys; what is mixed "
                   "are the values. Here keys and values are the same states.");
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
        page_drawing(
            page, MORE, titles[part],
            "The step that writes mögen: states of the encoder, their scores with the state "
            "of the decoder, the distribution, and the attention vector.",
            STEP_WIDTH, STEP_HEIGHT, step_figure_draw, &figure);
    }
    free(names);
}

void show_simple(struct page *page, struct study *study, const struct sentence *sentence)
{
    struct step step = {.sentence = sentence, .columns = sentence->source.count + 1};
    show_scores(page);
    study_train(study, 0);
    step.weights = study_weights(study, SIMPLE, sentence, &step.out, &step.scores);
    show_distribution(page, study, &step);
    show_roles(page, study, &step);
    free(step.weights);
    free(step.scores);
}

void show_parameterized(struct page *page, struct study *study, const struct sentence *sentence)
{
    struct words out;
    float *weights = study_weights(study, PARAMETERIZED, sentence, &out, NULL);
    page_step(page, "Parameterized attention");
    page_paragraph(page, SHORT,
                   "Three learned matrices, the query, key and value projection: what is compared "
                   "need not be what is mixed, nor as wide.");
    page_formula(page, SHORT, "a(t) = (W^k [y^e(1) … y^e(T)])^⊤ (W^q y^d(t))");
    page_formula(page, SHORT, "y^a(t) = (W^v [y^e(1) … y^e(T)]) a_1(t)");
    study_map(study, page, MORE, "Weights with projections", sentence, &out, weights);
    free(weights);
}
