/* every_score.c - lesson 6: an RNN with simple attention; softmax; queries, keys and values;
   projections; every score of the library in the same decoder; localities; dot products. */
#include "every_score.h"
#include "parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct recurrent_config simple(const struct study *study)
{
    struct recurrent_config config = study->config;
    config.cell = CELL_RNN;
    config.attends = true;
    config.query = QUERY_PRESENT;
    config.score = RAPT_SCORE_DOT;
    return config;
}

static void add_models(struct study *study)
{
    for (int score = 0; score < RAPT_SCORE_COUNT; score++) {
        struct recurrent_config config = simple(study);
        config.score = (rapt_score)score;
        study_add(study, rapt_score_name(config.score), &config);
    }
    struct recurrent_config config = simple(study);
    config.projected = true;
    study_add(study, "parameterized", &config);
    config = simple(study);
    config.one_cell = true;
    config.pass = PASS_INITIAL;
    study_add(study, "dot, one Wʰ", &config);
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

static void compare_scores(struct page *page, struct study *study)
{
    static const char *const formulas[SCORED_MODELS] = {"q·k / √n",
                                                        "q·k",
                                                        "Wq·k",
                                                        "β cos(q, k)",
                                                        "P[s]·q",
                                                        "v·tanh(Wq + Uk + b)",
                                                        "v·tanh(Wq + Uk + Lf + b)",
                                                        "W^q q · W^k k",
                                                        "q·k"};
    page_step(page, "Every score");
    page_paragraph(page, SHORT,
                   "The same encoder and decoder are trained with each score. The parameters are "
                   "those of the score only. AER, the alignment error rate (lesson 7), is measured "
                   "on sentences that are translated exactly. It is 0 if the largest weight is "
                   "always on the word that is being translated.");
    page_table(page, SHORT, "Scores in the same decoder",
               "score\tformula\tparameters\texact, %\tAER\tseconds");
    const size_t without = translator_parameters(&study->models[RAPT_SCORE_DOT]);
    double worst = 100;
    size_t parameters[SCORED_MODELS] = {0};
    for (int i = 0; i < study->count; i++) {
        const struct translator *model = &study->models[i];
        struct quality quality = study_quality(study, i);
        parameters[i] = i == SIMPLE ? 0 : translator_parameters(model) - without;
        page_row(page, "%s\t%s\t%zu\t%.1f\t%.2f\t%.1f", model->name, formulas[i], parameters[i],
                 quality.exact, quality.alignment_error, model->seconds);
        worst = fmin(worst, quality.exact);
    }
    page_paragraph(
        page, MORE,
        "Dot products have no parameters. How many an additive score has depends on the width of "
        "its hidden layer, here 16. A cosine is at most 1, so its factor β is learned: without it "
        "softmax could never be sharp. The location score does not read the keys. Since each state "
        "knows all words before it, the state after a word serves as well as the word's own. The "
        "AER therefore depends on the seed (try --seed 2) more than on the score: a weight says "
        "which state is read, not which word is meant.");
    page_claim(page, "sentences that the worst score translates exactly, %", worst, AT_LEAST, 50);
    page_claim(page, "parameters of dot products", (double)parameters[RAPT_SCORE_DOT], EQUALS, 0);
    page_claim(page, "parameters of additive scores (16 hidden units) minus those of general ones",
               (double)parameters[RAPT_SCORE_ADDITIVE] - (double)parameters[RAPT_SCORE_GENERAL],
               ABOVE, 0);
    page_claim(page, "location: largest difference between the first scores of two sentences",
               first_difference(study, RAPT_SCORE_LOCATION), EQUALS, 0);
    page_claim(page, "general: the same, since it reads the keys",
               first_difference(study, RAPT_SCORE_GENERAL), AT_LEAST, 0.1);
}

int lesson_every_score(struct page *page, const struct lesson_options *options)
{
    struct study study;
    struct sentence sentence;
    study_create(&study, options, 8, 900);
    study_sentence(&study, &sentence, &study_clause);
    add_models(&study);
    show_simple(page, &study, &sentence);
    show_parameterized(page, &study, &sentence);
    compare_scores(page, &study);
    show_localities(page, options->seed);
    dot_products(page, options->seed);
    study_free(&study);
    return EXIT_SUCCESS;
}
