/* longer.c - the bottleneck once more with models of twice the size on longer sentences
   of another language, as in figures 2 and 3 of Bahdanau, Cho and Bengio 2015. */
#include "architecture.h"
#include "parts.h"
#include "study.h"
#include <stdlib.h>

enum { FIXED, ADDITIVE, BOTH };

/* Adds both models. Returns the width of the states of the first one's encoder. */
static int add_models(struct study *study)
{
    const int vector = 52;
    study->config.embed = study->config.width = 32;
    study->config.hidden = study->config.encoder_hidden = vector;
    study->config.directions = 2;
    study_add(study, "one vector", &study->config);
    study->config.hidden = study->config.encoder_hidden = 48;
    const struct recurrent_config config = study_prototype(study, BIDIRECTIONAL);
    study_add(study, "additive attention", &config);
    return vector;
}

/* Returns the BLEU just beyond the lengths of training. */
static double beyond(struct study *study, const int *models, const void *user)
{
    const int max_words = study->training.max_words;
    (void)user;
    return study_quality_of(study, models[0], max_words + 1, max_words * 5 / 4, 64).bleu;
}

static double beyond_more(struct study *study, const int *models, const void *user)
{
    return beyond(study, models, user) - beyond(study, models + 1, user);
}

/* Says what the translations of "the" and "picks" read most, and where "up" is read. */
static void tell_reading(struct page *page, const struct study *study,
                         const struct sentence *sentence, const struct words *out,
                         const float *weights)
{
    enum { LA = 0, RAMASSE = 3, UP = 6 };
    const int columns = sentence->source.count + 1;
    if (out->count != sentence->target.count) return; /* another translation */
    const char **names = study_names(&study->language.source, &sentence->source);
    const char **written = study_names(&study->language.target, out);
    const float *la = weights + LA * columns, *picks = weights + RAMASSE * columns;
    int reader = 0;
    for (int t = 1; t <= out->count; t++)
        if (weights[t * columns + UP] > weights[reader * columns + UP]) reader = t;
    const int at_la = argmax(columns, la), at_picks = argmax(columns, picks);
    page_paragraph(
        page, MORE,
        "The word %s, whose form depends on the noun, reads \"%s\" most (%.0f %%), and %s reads "
        "\"%s\" (%.0f %%). The state after \"up\" is read most in the step that writes %s, with "
        "%.0f %%. A word can contribute to a translation without being read itself, if some other "
        "state that is read knows about it.",
        written[LA], names[at_la], 100 * (double)la[at_la], written[RAMASSE], names[at_picks],
        100 * (double)picks[at_picks], written[reader],
        100 * (double)weights[reader * columns + UP]);
    free(names);
    free(written);
}

/* Shows the weights of a sentence in which adjectives and nouns swap places. */
static void show_inversion(struct page *page, struct study *study)
{
    /* "the black cow picks the wolf up" */
    static const struct clause clause = {0, 13, 0, 9, false, 3, -1};
    struct sentence sentence = {0};
    struct words out;
    char text[400];
    french_append(&study->language, &sentence, &clause);
    float *weights = study_weights(study, ADDITIVE, &sentence, &out, NULL);
    study_spell(&study->language.target, &out, text, sizeof text);
    show_architecture(page, study, ADDITIVE, BIDIRECTIONAL, &sentence);
    page_paragraph(
        page, MORE,
        "In French most adjectives follow the noun. They agree with it, as does the article, and "
        "the two separate words \"picks … up\" become one. This is where the weights leave the "
        "diagonal.");
    study_map(study, page, MORE, text, &sentence, &out, weights);
    tell_reading(page, study, &sentence, &out, weights);
    study_claim(study, page,
                "\"the black cow picks the wolf up\": is the translation exact? (1: yes)",
                study_translates, (const int[]){ADDITIVE}, 1, &sentence, EQUALS, 1);
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
    const int vector = add_models(&study);
    page_step(page, "Longer sentences");
    page_paragraph(
        page, SHORT,
        "Would a larger vector be enough? Two models of about 65,000 parameters each learn French "
        "from sentences of up to %d words. Both have a bidirectional encoder: one network reads "
        "from the left and another from the right, so the state of a word knows what comes after "
        "it as well as what comes before. Bahdanau, Cho and Bengio (2015) made this comparison "
        "when they introduced additive attention.",
        max_words);
    study_train(&study, 0);
    study_curves(&study, page, SHORT, "Quality by length, English to French",
                 (const int[]){FIXED, ADDITIVE}, BOTH);
    study_compare(&study, page, MORE, "Both models", "model", 0, BOTH, NULL);
    page_paragraph(page, SHORT,
                   "So a larger vector is not enough. With %d elements, the last states of both "
                   "directions, the model with one vector translates %.1f %% of the sentences of "
                   "training lengths exactly, and the model with attention %.1f %%.",
                   2 * vector, study_quality(&study, FIXED).exact,
                   study_quality(&study, ADDITIVE).exact);
    show_inversion(page, &study);
    study_claim(&study, page, "additive attention: BLEU just beyond the lengths of training",
                beyond, (const int[]){ADDITIVE}, 1, NULL, AT_LEAST, 80);
    study_claim(&study, page, "BLEU just beyond those lengths, minus that of one vector",
                beyond_more, (const int[]){ADDITIVE, FIXED}, 2, NULL, AT_LEAST, 30);
    study_free(&study);
}
