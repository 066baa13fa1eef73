/* every_score.c - lesson 6: an RNN with simple attention, softmax, queries, keys and values,
   parameterized attention, and every score of the library in the same decoder. */
#include "every_score.h"
#include "study.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Models: one of each score and one with projections. */
enum { SIMPLE = RAPT_SCORE_DOT, PARAMETERIZED = RAPT_SCORE_COUNT };
enum { STEP = 1 }; /* that of mögen, counted from 0 */

static struct recurrent_config simple(const struct study *study)
{
    struct recurrent_config config = study->config;
    config.cell = CELL_RNN;
    config.attends = true;
    config.query = QUERY_PRESENT;
    config.score = RAPT_SCORE_DOT;
    return config;
}

static void train(struct study *study)
{
    for (int score = 0; score < RAPT_SCORE_COUNT; score++) {
        struct recurrent_config config = simple(study);
        config.score = (rapt_score)score;
        study_add(study, rapt_score_name(config.score), &config);
    }
    struct recurrent_config config = simple(study);
    config.projected = true;
    study_add(study, "parameterized", &config);
    study_train(study, 0);
}

static void show_simple(struct page *page, struct study *study, const struct sentence *sentence)
{
    page_step(page, "Simple attention: scores");
    page_paragraph(page, SHORT,
                   "An RNN reads the sentence, its states are yᵉ(1) … yᵉ(T). Another one writes. "
                   "Its present state yᵈ(t) is compared with each of them by a dot product; these "
                   "are the scores. The output sees both states.");
    page_formula(page, SHORT, "a(t) = [y^e(1) … y^e(T)]^⊤ y^d(t)");
    page_formula(page, SHORT, "y(t) = σ_1(W^o col{y^d(t)}{y^a(t)})");
    page_paragraph(page, MORE,
                   "The lecture gives one matrix Wʰ to both networks, and a cell of Elman (1990) "
                   "without gates: y = tanh(Wʰ [y before; x]). So here, but that each network has "
                   "a matrix of its own, since their words are of two languages.");
    train(study);
    struct words out;
    float *scores, *weights = study_weights(study, SIMPLE, sentence, &out, &scores);
    const int columns = sentence->source.count + 1;
    page_step(page, "Then a distribution");
    page_paragraph(page, SHORT,
                   "Scores may have any size and sign. Softmax σ₁ makes them positive, with sum 1: "
                   "the attention distribution. The attention vector is the mixture by it.");
    page_formula(page, SHORT, "a_1(t) = σ_1(a(t))");
    page_formula(page, SHORT, "y^a(t) = [y^e(1) … y^e(T)] a_1(t)");
    char text[400];
    study_spell(&study->language.target, &out, text, sizeof text);
    page_table(page, SHORT, "The step that writes mögen", "state of\tscore\texp(score)\tweight");
    double sum = 0;
    const char **names = study_names(&study->language.source, &sentence->source);
    for (int s = 0; s < columns; s++) {
        const int i = STEP * columns + s;
        page_row(page, "%s\t%.2f\t%.3g\t%.3f", names[s], (double)scores[i], exp((double)scores[i]),
                 (double)weights[i]);
        sum += (double)weights[i];
    }
    free(names);
    page_claim(page, "weights have the sum 1, deviation", fabs(sum - 1), AT_MOST, 1e-5);
    study_map(study, page, SHORT, text, sentence, &out, weights);
    char right[400];
    study_spell(&study->language.target, &sentence->target, right, sizeof right);
    if (strcmp(text, right) != 0)
        page_paragraph(page, SHORT,
                       "Right would be \"%s\". This is the least of the models of this lesson; "
                       "how often each is right stands below.",
                       right);
    page_step(page, "Queries, keys, values");
    page_paragraph(page, SHORT,
                   "What asks is the query; what it is compared with are the keys; what is mixed "
                   "are the values. Here keys and values are the same states.");
    struct step_figure figure = {.step = STEP + 1,
                                 .output = study->language.target.words[out.tokens[STEP]]};
    for (int s = 0; s < STEP_WORDS; s++) {
        figure.words[s] = study->language.source.words[sentence->source.tokens[s]];
        figure.scores[s] = scores[STEP * columns + s];
        figure.weights[s] = weights[STEP * columns + s];
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
    free(weights);
    free(scores);
}

static void show_parameterized(struct page *page, struct study *study,
                               const struct sentence *sentence)
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

/* How far the weights of the first step are apart in two sentences of the same length: the query is
   the same. */
static double first_distance(struct study *study, int model)
{
    static const struct german_clause clauses[2] = {{0, {0, -1, 0}, 1, 0, {0, -1, 1}},
                                                    {0, {0, -1, 5}, 1, 3, {0, -1, 7}}};
    enum { COLUMNS = 6 };
    float rows[2 * COLUMNS];
    for (int i = 0; i < 2; i++) {
        struct sentence sentence;
        struct words out;
        study_sentence(study, &sentence, &clauses[i]);
        float *weights = study_weights(study, model, &sentence, &out, NULL);
        for (int s = 0; s < COLUMNS; s++) rows[i * COLUMNS + s] = weights[s];
        free(weights);
    }
    return study_distance(2, COLUMNS, rows);
}

static void compare_scores(struct page *page, struct study *study)
{
    static const char *const formulas[RAPT_SCORE_COUNT] = {"q·k / √n",
                                                           "q·k",
                                                           "Wq·k",
                                                           "β cos(q, k)",
                                                           "P[s]·q",
                                                           "v·tanh(Wq + Uk + b)",
                                                           "v·tanh(Wq + Uk + Lf + b)"};
    page_step(page, "Every score");
    page_paragraph(
        page, SHORT,
        "The same encoder and decoder with each score. Parameters: those of the score "
        "alone. AER, alignment error rate (lesson 7), of sentences translated exactly: 0 if "
        "the largest weight is always on the word that is translated.");
    page_table(page, SHORT, "Scores in the same decoder",
               "score\tformula\tparameters\texact, %\tAER\tseconds");
    const size_t without = translator_parameters(&study->models[SIMPLE]);
    double worst = 100;
    size_t parameters[RAPT_SCORE_COUNT + 1] = {0};
    for (int i = 0; i < study->count; i++) {
        const struct translator *model = &study->models[i];
        struct quality quality = study_quality(study, i);
        parameters[i] = translator_parameters(model) - without;
        page_row(page, "%s\t%s\t%zu\t%.1f\t%.2f\t%.1f", model->name,
                 i == PARAMETERIZED ? "Wᵠq·Wᵏk" : formulas[i], parameters[i], quality.exact,
                 quality.alignment_error, model->seconds);
        worst = fmin(worst, quality.exact);
    }
    page_paragraph(
        page, MORE,
        "Dot products have no parameters. The location score does not read the keys. Each "
        "state knows all words before it, so one behind a word serves as well as the "
        "word's own: the AER depends on the seed (try --seed 2) more than on "
        "the score. A weight says which state is read, not which word is meant.");
    page_claim(page, "the worst score translates exactly, %", worst, AT_LEAST, 50);
    page_claim(page, "parameters of dot products", (double)parameters[RAPT_SCORE_DOT], EQUALS, 0);
    page_claim(page, "parameters of additive scores beyond general ones",
               (double)parameters[RAPT_SCORE_ADDITIVE] - (double)parameters[RAPT_SCORE_GENERAL],
               ABOVE, 0);
    page_claim(page, "location: first weights of two sentences, distance",
               first_distance(study, RAPT_SCORE_LOCATION), EQUALS, 0);
    page_claim(page, "general: the same, since keys are read",
               first_distance(study, RAPT_SCORE_GENERAL), ABOVE, 0);
}

int lesson_every_score(struct page *page, const struct lesson_options *options)
{
    struct study study;
    struct sentence sentence;
    study_create(&study, options, 8, 900);
    study_sentence(&study, &sentence, &study_clause);
    show_simple(page, &study, &sentence);
    show_parameterized(page, &study, &sentence);
    compare_scores(page, &study);
    dot_products(page, options->seed);
    study_free(&study);
    return EXIT_SUCCESS;
}
