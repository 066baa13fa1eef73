/* three_problems.c - lesson 7: the problems that attention solves: the bottleneck of one vector,
   gradients that vanish with distance, and the alignment of words. */
#include "three_problems.h"
#include <stdlib.h>

static const char *const names[MODELS] = {"RNN, one vector", "GRU, one vector", "LSTM, one vector",
                                          "RNN, attention",  "GRU, attention",  "LSTM, attention",
                                          "attention only"};

static void create_models(struct study *study)
{
    for (int i = 0; i < ALONE; i++) {
        struct recurrent_config config = study->config;
        config.cell = (enum cell_kind)(i % CELLS);
        config.pass = PASS_INITIAL;
        config.attends = i >= ATTENDING;
        config.query = QUERY_PRESENT;
        config.score = RAPT_SCORE_DOT;
        study_add(study, names[i], &config);
    }
    study_add_transformer(study, names[ALONE],
                          &(struct transformer_config){.width = 32, .layers = 1, .probed = true});
    study_add(study, "GRU, one vector at each step", &study->config);
}

/* ---- bottleneck ---- */

/* Returns BLEU just beyond the lengths of training, divided by that within. */
static double retained(struct study *study, int model)
{
    const int max_words = study->training.max_words;
    double beyond = quality_of(&study->models[model], max_words + 1, max_words + 2, 64).bleu;
    double within = quality_of(&study->models[model], MIN_WORDS, max_words - 2, 64).bleu;
    return beyond / within;
}

static void show_bottleneck(struct page *page, struct study *study)
{
    page_step(page, "Bottleneck");
    page_paragraph(page, SHORT,
                   "All that the decoder knows of a sentence has to fit into one vector of %d "
                   "elements. Attention reads the states of all words instead, and a longer "
                   "sentence has more of them. All models train on sentences of up to %d words.",
                   study->config.hidden, study->training.max_words);
    study_train(study, 0);
    const int shown[] = {EACH, ATTENDING + CELL_GRU, ALONE};
    study_curves(study, page, SHORT, "Quality by length", shown, 3);
    study_compare(study, page, MORE, "All models", "model", 0, EACH + 1, NULL);
    page_paragraph(
        page, MORE,
        "None of the models translates sentences that are twice as long. Attention removes the "
        "bottleneck, but a model still has to have seen such lengths in training.");
    double fixed = retained(study, EACH), attending = retained(study, ATTENDING + CELL_GRU);
    page_claim(page, "one vector: BLEU just beyond the lengths of training, divided by that within",
               fixed, AT_MOST, 0.3);
    page_claim(page, "with attention that ratio is larger, by a factor of", attending / fixed,
               AT_LEAST, 2);
}

int lesson_three_problems(struct page *page, const struct lesson_options *options)
{
    struct study study;
    double means[MODELS][DISTANCES]; /* before any training */
    study_create(&study, options, 8, 1200);
    study.config.words = 4 * WORDS;
    create_models(&study);
    for (int i = 0; i < MODELS; i++) measure_distances(&study, i, means[i]);
    show_bottleneck(page, &study);
    show_longer(page, options);
    show_gradients(page, &study, means);
    show_alignment(page, &study);
    study_free(&study);
    return EXIT_SUCCESS;
}
