/* nothing_but.c - lesson 8: a Transformer looked into, and all models beside one another: quality
   by length and seconds at about equal numbers of parameters. */
#include "architecture.h"
#include "kit/program.h"
#include "parts.h"
#include "study.h"

enum { VECTOR, AGAIN, PICKED, ADDITIVE, SINUSOIDS, RELATIVE, MODELS, MAX_WORDS = 12 };

/* In the order of the enumerators, each of about 27,000 parameters. */
static void add_models(struct study *study)
{
    struct recurrent_config vector = study->config;
    vector.hidden = vector.encoder_hidden = 44;
    study_add(study, "prototype 1: GRU, one vector", &vector);
    struct recurrent_config again = study->config;
    again.encoder = ENCODER_AGAIN;
    again.hidden = again.encoder_hidden = 40;
    study_add(study, "prototype 2: read again", &again);
    struct recurrent_config picked = study->config;
    picked.encoder = ENCODER_NONE;
    picked.attends = true;
    picked.query = QUERY_PRESENT;
    picked.score = RAPT_SCORE_GENERAL;
    picked.normalizer = RAPT_NORMALIZER_STRAIGHT_THROUGH;
    picked.hidden = 76;
    study_add(study, "prototype 3: pick one", &picked);
    struct recurrent_config additive = study->config;
    additive.attends = true;
    additive.score = RAPT_SCORE_ADDITIVE;
    additive.directions = 2;
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

static void compare_all(struct page *page, const struct lesson_options *options)
{
    static struct study study;
    struct quality near[MODELS], beyond[MODELS];
    study_create(&study, options, MAX_WORDS, 700);
    study.training.steps = options->quick ? 500 : 700;
    study.training.rate = 5e-3F;
    add_models(&study);
    page_step(page, "All models beside one another");
    page_paragraph(page, SHORT,
                   "Six models of about the same size learn English and German from the same %d "
                   "sentences of up to %d words: the four prototypes, and two of attention only. "
                   "Positions beyond the longest sentence never occur in training, although their "
                   "sinusoids exist. What does not depend on them is relative: rotary positions in "
                   "a window of two words to each side, and scores of cross-attention that know "
                   "the weights of the step before (location-aware).",
                   study.training.steps * study.training.batch, MAX_WORDS);
    study_train(&study, 0);
    study_curves(&study, page, MORE, "Quality by length; sentences of training end at 12 words",
                 (const int[]){VECTOR, AGAIN, PICKED, ADDITIVE, SINUSOIDS, RELATIVE}, MODELS);
    page_table(page, SHORT, "Quality (BLEU) and time of training",
               "model\tparameters\t4–12 words\t13–18\tseconds");
    for (int i = 0; i < MODELS; i++) {
        near[i] = study_quality(&study, i);
        beyond[i] = quality_of(&study.models[i], MAX_WORDS + 1, MAX_WORDS + 6, 32);
        page_row(page, "%s\t%zu\t%.1f\t%.1f\t%.1f", study.models[i].name,
                 translator_parameters(&study.models[i]), near[i].bleu, beyond[i].bleu,
                 study.models[i].seconds);
    }
    page_paragraph(page, MORE,
                   "Processor time of one thread. The recurrent models run on the plain loops of "
                   "apps/kit, the others on the library, so these seconds do not compare the "
                   "architectures. Attention computes all words of a layer at once and can use "
                   "more threads; a recurrent network, and location-aware scores, wait for the row "
                   "before.");
    page_claim(page, "attention only, up to 12 words: BLEU", near[RELATIVE].bleu, AT_LEAST, 90);
    page_claim(page, "beyond training: BLEU more than prototype 4",
               beyond[RELATIVE].bleu - beyond[ADDITIVE].bleu, AT_LEAST, 10);
    page_claim(page, "beyond training: BLEU more than with sinusoids",
               beyond[RELATIVE].bleu - beyond[SINUSOIDS].bleu, AT_LEAST, 10);
    page_claim(page, "beyond training: BLEU more than prototype 1",
               beyond[RELATIVE].bleu - beyond[VECTOR].bleu, AT_LEAST, 30);
    study_free(&study);
}

static void show_architectures(struct page *page, const struct lesson_options *options)
{
    static struct architecture list[ARCHITECTURES];
    architectures_make(list, options);
    page_step(page, "The architectures, with the numbers of one step");
    page_paragraph(page, MORE,
                   "Each model of the lessons, trained for a moment, writes the second word of its "
                   "translation of \"cats do not like dogs\". Lines are as thick as weights.");
    for (int i = 0; i < ARCHITECTURES; i++) {
        page_formula(page, MORE, list[i].formula);
        page_drawing(page, MORE, list[i].title,
                     "Words below, their encodings above them, the "
                     "context c, and the step of the decoder on the right.",
                     ARCHITECTURE_WIDTH, ARCHITECTURE_HEIGHT, architecture_draw, &list[i]);
    }
}

int lesson_nothing_but(struct page *page, const struct lesson_options *options)
{
    read_own_past(page, options);
    see_inside(page, options);
    show_masks(page, options->seed);
    draw_sinusoids(page);
    compare_all(page, options);
    show_architectures(page, options);
    return EXIT_OK;
}
