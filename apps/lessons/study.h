/* study.h - what the lessons about recurrent models share: several models that train at once on the
   same English-German sentences, curves of their quality, and maps of what they attend to. */
#ifndef STUDY_H
#define STUDY_H

#include "lesson.h"
#include "recurrent/recurrent.h"

enum { STUDY_MODELS = 12, STUDY_POINTS = 16 };
struct study {
    struct language language;
    struct training training;
    struct recurrent_config config; /* to be copied and changed: a GRU with one vector */
    struct translator models[STUDY_MODELS];
    int count, threads;
};
/* Sentences of MIN_WORDS .. max_words words; a third of the steps if quick. */
void study_create(struct study *study, const struct lesson_options *options, int max_words,
                  int steps);
void study_free(struct study *study);
/* Adds a model; name is not copied. Returns its index. */
int study_add(struct study *study, const char *name, const struct recurrent_config *config);
/* The same; words, batch and seed are those of the study. */
int study_add_transformer(struct study *study, const char *name,
                          const struct transformer_config *config);
/* Trains the models from index `first` on, in as many threads as the options allow. */
void study_train(struct study *study, int first);

/* ---- study_measure.c: models beside one another ---- */
/* Appends a chart of BLEU by the length of the English sentence, up to twice the training's, one
   curve for each of the models. */
void study_curves(struct study *study, struct page *page, enum page_detail detail,
                  const char *title, const int *models, int count);
/* Of sentences no longer than those of training. */
struct quality study_quality(struct study *study, int model);
/* Appends a table of models first .. first + count - 1: parameters, loss, quality of such
   sentences, seconds of training, and if one of them attends the alignment error rate. head: of the
   column of their names. quality: [count], or NULL. */
void study_compare(struct study *study, struct page *page, enum page_detail detail,
                   const char *title, const char *head, int first, int count,
                   struct quality *quality);

/* Of translating sentences of `length` words forward, each with its right translation: steps of a
   cell and microseconds (of the fastest of some tries) for each word of the translation. */
struct study_cost {
    double steps, time;
};
struct study_cost study_cost_of(struct study *study, int model, int length);

/* ---- study.c: sentences, and what models attend to in them ---- */
/* "cats do not like dogs" */
extern const struct german_clause study_clause;
/* The names of source words, of target words, each with the end; the caller frees the array. */
const char **study_names(const struct vocabulary *vocabulary, const struct words *words);
/* Attention weights of a greedy translation, written to *out: [target words and end][source words
   and end]; the caller frees. scores: as in struct seen, else NULL. */
float *study_weights(struct study *study, int model, const struct sentence *sentence,
                     struct words *out, float **scores);
/* Influence of each source word and the end (columns) on each target word and the end (rows) of the
   right translation, each row divided by its sum; the caller frees. */
float *study_influence(struct study *study, int model, const struct sentence *sentence);
/* Appends a map of such an array; out: the words of its rows. */
void study_map(struct study *study, struct page *page, enum page_detail detail, const char *title,
               const struct sentence *sentence, const struct words *out, const float *weights);
/* How far two rows are apart, the mean over all pairs: half the sum of absolute differences, 0 if
   all rows are equal, 1 if they have nothing in common. */
double study_distance(int rows, int columns, const float *map);
void study_sentence(const struct study *study, struct sentence *sentence,
                    const struct german_clause *clause);
void study_spell(const struct vocabulary *vocabulary, const struct words *words, char *text,
                 size_t size);

#endif
