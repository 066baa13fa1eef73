/* all_models.c - all models of the lessons compared at about the same number of parameters, and
   their pictures. */
#include "kit/program.h"
#include "study.h"

enum { VECTOR, AGAIN, PICKED, ADDITIVE, SINUSOIDS, RELATIVE, MODELS, MAX_WORDS = 12 };

/* Adds the models in the order of the enumerators, each with 25,000 to 28,000 parameters. */
static void add_models(struct study *study)
{
    struct recurrent_config vector = study->config;
    vector.hidden = vector.encoder_hidden = 44;
    study_add(study, "prototype 1: GRU, one vector", &vector);
    struct recurrent_config again = study_prototype(study, PROTOTYPE_2);
    again.hidden = again.encoder_hidden = 44;
    study_add(study, "prototype 2: read again", &again);
    struct recurrent_config picked = study_prototype(study, PROTOTYPE_3);
    picked.hidden = 76;
    study_add(study, "prototype 3: pick one", &picked);
    struct recurrent_config additive = study_prototype(study, BIDIRECTIONAL);
    additive.hidden = 40;
    additive.encoder_hidden = 28;
    study_add(study, "prototype 4: GRU, additive attention", &additive);
    struct transformer_config transformer = {.width = 24, .layers = 2};
    study_add_transformer(study, "attention only, sinusoids", &transformer);
    transformer.position = RAPT_POSITION_NONE;
    transformer.rotary = RAPT_ROTARY_HALVES;
    transformer.window = 2;
    transformer.cross = RAPT_SCORE_LOCATION_AWARE;
    study_add_transformer(study, "attention only, relative", &transformer);
}

/* Returns the BLEU of a model beyond the lengths of training. */
static double beyond(struct study *study, int model)
{
    return study_quality_of(study, model, MAX_WORDS + 1, MAX_WORDS + 6, 32).bleu;
}

static double beyond_more(struct study *study, const int *models, const void *user)
{
    (void)user;
    return beyond(study, models[0]) - beyond(study, models[1]);
}

/* Says at which length prototype 3 is worst, if it is better again at the longest of training. */
static void tell_picked(struct page *page, struct study *study)
{
    const double longest = study_quality_of(study, PICKED, MAX_WORDS, MAX_WORDS, 64).bleu;
    double worst = longest;
    int length = MAX_WORDS;
    for (int words = MIN_WORDS; words < MAX_WORDS; words += 2) {
        const double bleu = study_quality_of(study, PICKED, words, words, 64).bleu;
        if (bleu < worst) worst = bleu, length = words;
    }
    if (length == MAX_WORDS) return;
    page_paragraph(
        page, MORE,
        "Prototype 3 is worse at %d words than at %d (BLEU %.0f and %.0f). It reads one English "
        "word for each German one, so words that depend on several are hard for it. Sentences of "
        "up to 6 words are always single clauses, and one with 6 words has articles, adjectives or "
        "a negation. From 7 words on, a sentence may consist of two short clauses instead.",
        length, MAX_WORDS, worst, longest);
}

static void compare_all(struct page *page, const struct lesson_options *options)
{
    static struct study study;
    study_create(&study, options, MAX_WORDS, 700);
    study.training.steps = options->quick ? 500 : 700;
    study.training.rate = 5e-3F;
    add_models(&study);
    page_step(page, "All models compared");
    page_paragraph(
        page, SHORT,
        "Six models of about the same size learn to translate English into German from the same %d "
        "sentences of up to %d words: the four prototypes and two models with attention only. The "
        "first of the two has sinusoidal positions. These are defined beyond the longest training "
        "sentence, but the model has never seen them there. The second has relative positions "
        "instead: rotary positions, within a window of two words to each side, and location-aware "
        "scores in cross-attention, which know the weights of the previous step.",
        study.training.steps * study.training.batch, MAX_WORDS);
    study_train(&study, 0);
    study_curves(&study, page, MORE, "Quality by length (training sentences have up to 12 words)",
                 (const int[]){VECTOR, AGAIN, PICKED, ADDITIVE, SINUSOIDS, RELATIVE}, MODELS);
    tell_picked(page, &study);
    page_table(page, SHORT, "Quality (BLEU) and training time",
               "model\tparameters\t4–12 words\t13–18\tseconds");
    for (int i = 0; i < MODELS; i++) {
        page_row(page, "%s\t%zu\t%.1f\t%.1f\t%.1f", study.models[i].name,
                 translator_parameters(&study.models[i]), study_quality(&study, i).bleu,
                 beyond(&study, i), study.models[i].seconds);
    }
    page_paragraph(
        page, MORE,
        "The seconds are processor time of one thread. They do not tell which architecture is "
        "faster, since the recurrent models run on the plain loops of apps/kit and the others on "
        "the library. Attention computes all words of a layer at once and can use more threads. A "
        "recurrent network has to wait for the previous word, and so do location-aware scores.");
    study_claim(&study, page, "attention only, relative: BLEU up to 12 words", study_bleu,
                (const int[]){RELATIVE}, 1, NULL, AT_LEAST, 90);
    study_claim(&study, page,
                "beyond the lengths of training: BLEU of relative positions minus prototype 4",
                beyond_more, (const int[]){RELATIVE, ADDITIVE}, 2, NULL, AT_LEAST, 10);
    study_claim(&study, page,
                "beyond the lengths of training: BLEU of relative positions minus sinusoids",
                beyond_more, (const int[]){RELATIVE, SINUSOIDS}, 2, NULL, AT_LEAST, 10);
    study_claim(&study, page,
                "beyond the lengths of training: BLEU of relative positions minus prototype 1",
                beyond_more, (const int[]){RELATIVE, VECTOR}, 2, NULL, AT_LEAST, 30);
    study_free(&study);
}

static void show_kinds(struct page *page)
{
    page_step(page, "Three questions that sort all of them");
    page_paragraph(
        page, SHORT,
        "The lectures' names for kinds of attention answer three independent questions, and every "
        "combination of answers exists. The struct rapt_attention has fields for the last two; the "
        "first is a matter of which arrays are passed as keys.");
    page_table(page, SHORT, "Kinds of attention", "question\tanswers\tlessons");
    page_row(page, "whose keys?\tof another sequence: cross-attention\t5 to 8");
    page_row(page, "\tof the same one: self-attention\t10");
    page_row(page, "how many at once?\tall, by weights: soft\t6");
    page_row(page, "\tone: hard\t5, 13");
    page_row(page, "which may be read?\tall: global\t6");
    page_row(page, "\tthose near a place, a patch: local\t8, 14");
}

int lesson_all_models(struct page *page, const struct lesson_options *options)
{
    show_kinds(page);
    compare_all(page, options);
    return EXIT_OK;
}
