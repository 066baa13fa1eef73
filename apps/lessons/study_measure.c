/* study_measure.c - compares the models of a study: quality by length, a table, and the cost of a
   word. */
#include "kit/demo.h"
#include "study.h"
#include <math.h>
#include <stdlib.h>

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
