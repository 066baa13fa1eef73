/* study.c - several models that are trained in parallel, and what they attend to. */
#include "study.h"
#include "kit/demo.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct german_clause study_clause = {0, {0, -1, 0}, 1, 0, {0, -1, 1}};

void study_create(struct study *study, const struct lesson_options *options, int max_words,
                  int steps)
{
    *study = (struct study){.threads = options->threads};
    german_create(&study->language);
    study->training = (struct training){.language = &study->language,
                                        .max_words = max_words,
                                        .steps = options->quick ? steps / 3 : steps,
                                        .batch = 16,
                                        .rate = 1e-2F,
                                        .seed = options->seed,
                                        .quiet = true};
    study->config = (struct recurrent_config){.embed = 16,
                                              .hidden = 32,
                                              .encoder_hidden = 32,
                                              .directions = 1,
                                              .words = 4 * max_words + 8,
                                              .batch = study->training.batch,
                                              .cell = CELL_GRU,
                                              .encoder = ENCODER_ONCE,
                                              .width = 16,
                                              .seed = options->seed};
}

struct recurrent_config study_prototype(const struct study *study, enum prototype which)
{
    struct recurrent_config c = study->config;
    c.attends = which >= PROTOTYPE_3;
    if (which == FIXED_VECTOR) c.pass = PASS_INITIAL;
    if (which == PROTOTYPE_2) c.encoder = ENCODER_AGAIN;
    if (which == PROTOTYPE_3) {
        c.encoder = ENCODER_NONE;
        c.normalizer = RAPT_NORMALIZER_STRAIGHT_THROUGH;
    }
    const bool before = which == PROTOTYPE_4 || which == BIDIRECTIONAL;
    c.query = before ? QUERY_BEFORE : QUERY_PRESENT;
    c.score = before                 ? RAPT_SCORE_ADDITIVE
              : which == PROTOTYPE_3 ? RAPT_SCORE_GENERAL
                                     : RAPT_SCORE_DOT;
    if (which == BIDIRECTIONAL) c.directions = 2;
    c.projected = which == PARAMETERIZED;
    return c;
}

void study_free(struct study *study)
{
    for (int i = 0; i < study->count; i++) translator_free(&study->models[i]);
}

static struct translator *study_next(struct study *study, const char *name)
{
    if (study->count == STUDY_MODELS) exit(failed("a study has at most %d models", STUDY_MODELS));
    struct translator *model = &study->models[study->count];
    *model = (struct translator){.name = name, .training = &study->training};
    return model;
}

/* Creates the model of a plan and adds it. */
static int study_put(struct study *study, const char *name, const struct study_plan *plan)
{
    struct translator *model = study_next(study, name);
    study->plans[study->count] = *plan;
    if (plan->recurrent)
        model->recurrent = recurrent_create(&plan->config, &study->language);
    else
        model->transformer = transformer_create(&plan->transformer, &study->language);
    return study->count++;
}

int study_add(struct study *study, const char *name, const struct recurrent_config *config)
{
    return study_put(study, name, &(struct study_plan){.recurrent = true, .config = *config});
}

int study_add_transformer(struct study *study, const char *name,
                          const struct transformer_config *config)
{
    struct study_plan plan = {.transformer = *config};
    plan.transformer.words = study->config.words;
    plan.transformer.batch = study->training.batch;
    plan.transformer.seed = study->training.seed;
    return study_put(study, name, &plan);
}

int study_untrained(struct study *study, int model)
{
    struct study_plan *plan = &study->plans[model];
    if (plan->untrained == 0) {
        struct study_plan twin = *plan;
        twin.measured = 0;
        twin.twin = true;
        plan->untrained = study_put(study, study->models[model].name, &twin);
    }
    return plan->untrained;
}

bool study_claim(struct study *study, struct page *page, const char *statement,
                 study_measure_fn *measure, const int *models, int count, const void *user,
                 enum page_relation relation, double bound)
{
    int untrained[STUDY_COMPARED] = {0};
    for (int i = 0; i < count; i++) untrained[i] = study_untrained(study, models[i]);
    const double trained = measure(study, models, user);
    return page_claim_learned(page, statement, trained, measure(study, untrained, user), relation,
                              bound);
}

void study_train(struct study *study, int first)
{
    for (int i = first; i < study->count; i++)
        if (study->plans[i].twin)
            exit(failed("%s: a control must stay untrained", study->models[i].name));
    run_threads(translator_train, &study->models[first], study->count - first,
                sizeof *study->models, study->threads);
}

const char **study_names(const struct vocabulary *vocabulary, const struct words *words)
{
    const char **names = xcalloc((size_t)words->count + 1, sizeof *names);
    for (int i = 0; i < words->count; i++) names[i] = vocabulary->words[words->tokens[i]];
    names[words->count] = vocabulary->words[RAPT_TOKEN_END];
    return names;
}

float *study_weights(struct study *study, int model, const struct sentence *sentence,
                     struct words *out, float **scores)
{
    const size_t floats = MAX_TARGET * (size_t)(sentence->source.count + 1);
    struct seen seen = {xcalloc(floats, sizeof(float)), NULL};
    if (scores) *scores = seen.scores = xcalloc(floats, sizeof(float));
    translator_translate(&study->models[model], sentence, 1, out, &seen);
    return seen.weights;
}

float *study_influence(struct study *study, int model, const struct sentence *sentence)
{
    const int columns = sentence->source.count + 1, rows = sentence->target.count + 1;
    float *map = xcalloc((size_t)rows * (size_t)columns, sizeof *map);
    for (int t = 0; t < rows; t++) {
        float *row = map + t * columns, sum = 0;
        translator_influence(&study->models[model], sentence, t, row);
        for (int s = 0; s < columns; s++) sum += row[s];
        for (int s = 0; s < columns && sum > 0; s++) row[s] /= sum;
    }
    return map;
}

void study_map(struct study *study, struct page *page, enum page_detail detail, const char *title,
               const struct sentence *sentence, const struct words *out, const float *weights)
{
    const char **rows = study_names(&study->language.target, out);
    const char **columns = study_names(&study->language.source, &sentence->source);
    page_map(page, detail, title, out->count + 1, sentence->source.count + 1, rows, columns,
             weights);
    free(rows);
    free(columns);
}

double study_distance(int rows, int columns, const float *map)
{
    double sum = 0;
    for (int a = 0; a < rows; a++)
        for (int b = 0; b < a; b++)
            for (int s = 0; s < columns; s++)
                sum += fabs((double)(map[a * columns + s] - map[b * columns + s])) / 2;
    return sum / (rows * (rows - 1) / 2);
}

double study_distance_more(struct study *study, const int *models, const void *user)
{
    const struct sentence *sentence = user;
    double distance[2];
    for (int i = 0; i < 2; i++) {
        float *map = study_influence(study, models[i], sentence);
        distance[i] = study_distance(sentence->target.count + 1, sentence->source.count + 1, map);
        free(map);
    }
    return distance[0] - distance[1];
}

double study_translates(struct study *study, const int *models, const void *user)
{
    const struct sentence *sentence = user;
    char text[400], right[400];
    struct words out;
    translator_translate(&study->models[models[0]], sentence, 1, &out, NULL);
    study_spell(&study->language.target, &out, text, sizeof text);
    study_spell(&study->language.target, &sentence->target, right, sizeof right);
    return strcmp(text, right) == 0;
}

void study_sentence(const struct study *study, struct sentence *sentence,
                    const struct german_clause *clause)
{
    *sentence = (struct sentence){0};
    german_append(&study->language, sentence, clause);
}

void study_spell(const struct vocabulary *vocabulary, const struct words *words, char *text,
                 size_t size)
{
    words_spell(vocabulary, words->tokens, words->count, text, size);
}

/* ---- compares the models: quality by length, a table, and the cost of a word ---- */

/* BLEU of a model by length. */
struct measured {
    struct translator *model;
    int points;
    double lengths[STUDY_POINTS], bleu[STUDY_POINTS];
};

static void *measure_curve(void *argument)
{
    struct measured *m = argument;
    const int max_words = m->model->training->max_words;
    for (int length = MIN_WORDS; length <= 2 * max_words && m->points < STUDY_POINTS; length += 2) {
        m->lengths[m->points] = length;
        m->bleu[m->points++] = quality_of(m->model, length, length, 64).bleu;
    }
    return NULL;
}

void study_curves(struct study *study, struct page *page, enum page_detail detail,
                  const char *title, const int *models, int count)
{
    struct measured *curves = xcalloc((size_t)count, sizeof *curves);
    for (int i = 0; i < count; i++) curves[i].model = &study->models[models[i]];
    run_threads(measure_curve, curves, count, sizeof *curves, study->threads);
    page_chart(page, detail, title, "length of the English sentence in words", "BLEU");
    page_chart_range(page, 0, 100);
    for (int i = 0; i < count; i++)
        page_curve(page, curves[i].model->name, curves[i].points, curves[i].lengths,
                   curves[i].bleu);
    free(curves);
}

struct quality study_quality_of(struct study *study, int model, int from, int to, int tests)
{
    struct study_plan *plan = &study->plans[model];
    for (int i = 0; i < plan->measured; i++) {
        const struct study_quality *known = &plan->known[i];
        if (known->from == from && known->to == to && known->tests == tests) return known->quality;
    }
    const struct quality quality =
        quality_of(&study->models[model], from, to, plan->twin ? (tests + 3) / 4 : tests);
    if (plan->measured < STUDY_KNOWN)
        plan->known[plan->measured++] = (struct study_quality){from, to, tests, quality};
    return quality;
}

struct quality study_quality(struct study *study, int model)
{
    return study_quality_of(study, model, MIN_WORDS, study->training.max_words, 64);
}

double study_exact(struct study *study, const int *models, const void *user)
{
    (void)user;
    return study_quality(study, models[0]).exact;
}

double study_exact_more(struct study *study, const int *models, const void *user)
{
    return study_exact(study, models, user) - study_exact(study, models + 1, user);
}

double study_bleu(struct study *study, const int *models, const void *user)
{
    (void)user;
    return study_quality(study, models[0]).bleu;
}

double study_bleu_more(struct study *study, const int *models, const void *user)
{
    return study_bleu(study, models, user) - study_bleu(study, models + 1, user);
}

/* Writes "-" without attention or without an exact translation. */
static void write_error(char text[16], double error)
{
    snprintf(text, 16, isnan(error) ? "-" : "%.2f", error);
}

void study_compare(struct study *study, struct page *page, enum page_detail detail,
                   const char *title, const char *head, int first, int count,
                   struct quality *quality)
{
    bool attends = false;
    for (int i = first; i < first + count; i++)
        attends = attends || translator_attends(&study->models[i]);
    char *heads =
        xasprintf("%s\tparameters\tloss\texact, %%%s\tseconds", head, attends ? "\tAER" : "");
    page_table(page, detail, title, heads);
    free(heads);
    for (int i = first; i < first + count; i++) {
        const struct translator *model = &study->models[i];
        const struct quality own = study_quality(study, i);
        char error[16] = "";
        if (attends) write_error(error, own.alignment_error);
        page_row(page, "%s\t%zu\t%.2f\t%.1f%s%s\t%.1f", model->name, translator_parameters(model),
                 model->loss, own.exact, attends ? "\t" : "", error, model->seconds);
        if (quality != NULL) quality[i - first] = own;
    }
}

double study_steps_of(struct study *study, int model, int length)
{
    enum { COUNT = 16 };
    struct sentence *sentences = xcalloc(COUNT, sizeof *sentences);
    struct recurrent *recurrent = study->models[model].recurrent;
    struct random random = random_from(study->training.seed, (uint64_t)length);
    int words = 0; /* in the longest; shorter ones are computed to its end */
    for (int i = 0; i < COUNT; i++) {
        study->language.draw(&study->language, &sentences[i], &random, length);
        if (sentences[i].target.count > words) words = sentences[i].target.count;
    }
    words = COUNT * (words + 1);
    const size_t before = recurrent_cell_steps(recurrent);
    recurrent_loss(recurrent, sentences, COUNT);
    free(sentences);
    return (double)(recurrent_cell_steps(recurrent) - before) / words;
}
