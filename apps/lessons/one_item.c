/* one_item.c - a word that two items decide: the mixture of two paints. Hard attention reads one of
   them, soft attention both. */
#include "parts.h"
#include "study.h"
#include <math.h>
#include <stdlib.h>

enum { PAINTS = 5, LENGTH = 4, FIRST = 1, SECOND = 3 }; /* "mix blue with yellow" */
enum { HARD, SOFT, WAYS };
enum { TESTS = 4096 };
static const double BY_ONE = 100.0 / (PAINTS - 1); /* % right by reading one paint and guessing */
static const char *const paints[PAINTS] = {"red", "yellow", "blue", "white", "black"};
static const char *const mixtures[PAINTS][PAINTS] = {{"", "orange", "purple", "pink", "maroon"},
                                                     {"", "", "green", "cream", "olive"},
                                                     {"", "", "", "azure", "navy"},
                                                     {"", "", "", "", "gray"}};

static void paint_append(const struct language *language, struct sentence *sentence, int a, int b)
{
    words_append(&language->source, &sentence->source, "mix");
    words_append(&language->source, &sentence->source, paints[a]);
    words_append(&language->source, &sentence->source, "with");
    words_append(&language->source, &sentence->source, paints[b]);
    words_append(&language->target, &sentence->target, a < b ? mixtures[a][b] : mixtures[b][a]);
    sentence->links[0] = (struct link){.sure = -1, .first = FIRST, .last = SECOND};
}

static void paint_draw(const struct language *language, struct sentence *sentence,
                       struct random *random, int length)
{
    int a, b;
    (void)length; /* always LENGTH */
    do a = random_below(random, PAINTS), b = random_below(random, PAINTS);
    while (a == b);
    *sentence = (struct sentence){0};
    paint_append(language, sentence, a, b);
}

static void paint_create(struct language *language)
{
    const struct vocabulary empty = {RAPT_TOKEN_SPECIALS, {"", "", "(end)"}};
    *language = (struct language){"paints", "mixtures", empty, empty, paint_draw};
    vocabulary_add(&language->source, "mix with");
    for (int a = 0; a < PAINTS; a++) {
        vocabulary_add(&language->source, paints[a]);
        for (int b = a + 1; b < PAINTS; b++) vocabulary_add(&language->target, mixtures[a][b]);
    }
}

/* Returns the share of mixtures that a model names right, in %. */
static double right(struct study *study, int model)
{
    return study_quality_of(study, model, LENGTH, LENGTH, TESTS).exact;
}

static double right_more(struct study *study, const int *models, const void *user)
{
    (void)user;
    return right(study, models[0]) - right(study, models[1]);
}

/* Returns how far the share of right names is from that of reading one paint and guessing. */
static double from_one_paint(struct study *study, const int *models, const void *user)
{
    (void)user;
    return fabs(right(study, models[0]) - BY_ONE);
}

/* Returns the weight of the less read paint at the step that writes the mixture. */
static double second_weight(struct study *study, const int *models, const void *user)
{
    const struct sentence *sentence = user;
    struct words out;
    float *weights = study_weights(study, models[0], sentence, &out, NULL);
    const double least =
        (double)(weights[FIRST] < weights[SECOND] ? weights[FIRST] : weights[SECOND]);
    free(weights);
    return least;
}

static void show_mixtures(struct page *page, struct study *study)
{
    static const char *const titles[WAYS] = {"Hard: one item is read",
                                             "Soft: both paints are read"};
    struct sentence sentence = {0};
    paint_append(&study->language, &sentence, 2, 1);
    for (int way = 0; way < WAYS; way++) {
        struct words out;
        float *weights = study_weights(study, way, &sentence, &out, NULL);
        study_map(study, page, SHORT, titles[way], &sentence, &out, weights);
        free(weights);
    }
    page_table(page, SHORT, "Mixtures that are named right",
               "attention\tright, %\tweight of the paint read less");
    for (int way = 0; way < WAYS; way++)
        page_row(page, "%s\t%.1f\t%.2f", study->models[way].name, right(study, way),
                 second_weight(study, (const int[]){way}, &sentence));
    study_claim(study, page,
                "mixtures that soft attention names right, minus those of hard attention, %",
                right_more, (const int[]){SOFT, HARD}, 2, NULL, AT_LEAST, 50);
    study_claim(study, page,
                "hard: distance of its share of right names from that of reading one paint, %",
                from_one_paint, (const int[]){HARD}, 1, NULL, AT_MOST, 15);
    study_claim(study, page, "soft: weight of the paint that is read less", second_weight,
                (const int[]){SOFT}, 1, &sentence, AT_LEAST, 0.3);
}

void show_one_item(struct page *page, const struct lesson_options *options)
{
    static struct study study;
    page_step(page, "When one item is too little");
    page_paragraph(
        page, SHORT,
        "Every word above depends on a single word of the source, so picking one was enough. That "
        "is not always so. Now the task is \"mix blue with yellow\", and the answer is the single "
        "word \"green\". A model that reads only \"blue\" has to guess among the %d mixtures of "
        "blue, and is right in %.0f %% of all cases. A model that reads no paint at all guesses "
        "among %d mixtures, and is right in %.0f %%. Two models learn the task. One mixes by "
        "softmax; the other draws one item by the same kind of weights and learns from a reward, "
        "as above. Their scores depend on the place of a word and not on the word itself (the "
        "location score of lesson 8). Otherwise the choice could give away something about the "
        "paint that was not picked.",
        PAINTS - 1, BY_ONE, PAINTS * (PAINTS - 1) / 2, 2 * BY_ONE / PAINTS);
    study_create(&study, options, LENGTH, 0);
    paint_create(&study.language);
    study.training.steps = options->quick ? 600 : 1200;
    struct recurrent_config config = study_prototype(&study, PROTOTYPE_3);
    config.score = RAPT_SCORE_LOCATION;
    config.normalizer = RAPT_NORMALIZER_SAMPLE;
    study_add(&study, "hard (sampled)", &config);
    config.normalizer = RAPT_NORMALIZER_SOFTMAX;
    study_add(&study, "soft (softmax)", &config);
    study_train(&study, 0);
    show_mixtures(page, &study);
    page_paragraph(
        page, SHORT,
        "Softmax is the subject of the next lesson. Hard attention has two other ways out: several "
        "heads that pick one item each, or several looks before it answers (lesson 13).");
    study_free(&study);
}
