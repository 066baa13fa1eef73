/* every_score.c - an RNN with simple attention; softmax; queries, keys and values;
   projections; every score of the library in the same decoder; localities. */
#include "every_score.h"
#include "architecture.h"
#include "parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    show_additive(page, &study);
    compare_scores(page, &study);
    show_localities(page, options->seed);
    study_free(&study);
    return EXIT_SUCCESS;
}
