/* longer.c - lesson 7: the bottleneck once more with models of twice the size on longer sentences
   of another language, as in figures 2 and 3 of Bahdanau, Cho and Bengio 2015. */
#include "three_problems.h"
#include <stdlib.h>
#include <string.h>

enum { FIXED, ADDITIVE, BOTH };

static void add_models(struct study *study)
{
    struct recurrent_config config = study->config;
    config.embed = config.width = 32;
    config.hidden = config.encoder_hidden = 52;
    config.directions = 2;
    study_add(study, "one vector", &config);
    config.hidden = config.encoder_hidden = 48;
    config.attends = true;
    config.query = QUERY_BEFORE;
    config.score = RAPT_SCORE_ADDITIVE;
    study_add(study, "additive attention", &config);
}

/* Returns BLEU just beyond the lengths of training, divided by that on short sentences. */
static double retained(struct study *study, int model)
{
    struct translator *translator = &study->models[model];
    const int max_words = study->training.max_words;
    const double beyond = quality_of(translator, max_words + 1, max_words * 5 / 4, 64).bleu;
    return beyond / quality_of(translator, MIN_WORDS, max_words / 2, 64).bleu;
}

/* Shows the weights of a sentence in which adjectives and nouns swap places. */
static void show_inversion(struct page *page, struct study *study)
{
    /* "the black cow picks the gray wolf up" */
    static const struct clause clause = {0, 13, 0, 9, false, 3, 3};
    struct sentence sentence = {0};
    struct words out;
    char text[400], right[400];
    french_append(&study->language, &sentence, &clause);
    float *weights = study_weights(study, ADDITIVE, &sentence, &out, NULL);
    study_spell(&study->language.target, &out, text, sizeof text);
    study_spell(&study->language.target, &sentence.target, right, sizeof right);
    page_paragraph(
        page, MORE,
        "In French the adjective follows the noun and agrees with it, and two separate English "
        "words (picks ... up) become one. This is where the weights leave the diagonal.");
    study_map(study, page, MORE, text, &sentence, &out, weights);
    page_claim(page, "black cow, gray wolf: is the translation exact? (1: yes)",
               strcmp(text, right) == 0, EQUALS, 1);
    free(weights);
}

void show_longer(struct page *page, const struct lesson_options *options)
{
    static struct study study;
    const int max_words = options->quick ? 12 : 16;
    study_create(&study, options, max_words, 0);
    french_create(&study.language);
    study.training.steps = options->quick ? 400 : 1000;
    study.training.batch = 32;
    study.training.rate = 4e-3F;
    study.config.words = 6 * max_words + 16;
    study.config.batch = study.training.batch;
    add_models(&study);
    page_step(page, "Longer sentences");
    page_paragraph(
        page, SHORT,
        "Would a larger vector be enough? Two models of about 65,000 parameters each learn French "
        "from sentences of up to %d words. Both have a bidirectional encoder, in which one network "
        "reads from the left and one from the right. Bahdanau, Cho and Bengio (2015) made this "
        "comparison when they introduced additive attention.",
        max_words);
    study_train(&study, 0);
    study_curves(&study, page, SHORT, "Quality by length, English to French",
                 (const int[]){FIXED, ADDITIVE}, BOTH);
    study_compare(&study, page, MORE, "Both models", "model", 0, BOTH, NULL);
    show_inversion(page, &study);
    page_claim(
        page,
        "one vector: BLEU just beyond the lengths of training, divided by that of short sentences",
        retained(&study, FIXED), BELOW, 0.5);
    page_claim(page, "additive attention: the same", retained(&study, ADDITIVE), AT_LEAST, 0.9);
    study_free(&study);
}
