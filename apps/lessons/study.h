/* study.h - several models that are trained in parallel on the same sentence pairs, curves of their
   quality, and maps of what they attend to, for the lessons about recurrent models. */
#ifndef STUDY_H
#define STUDY_H

#include "lesson.h"
#include "recurrent/recurrent.h"

enum { STUDY_MODELS = 12, STUDY_POINTS = 16 };
struct study {
    struct language language;
    struct training training;
    struct recurrent_config config; /* a GRU with one vector, to be copied and changed */
    struct translator models[STUDY_MODELS];
    int count, threads;
};
/* The language is English to German, with sentences of MIN_WORDS to max_words words. With --quick a
   third of the steps are made. */
void study_create(struct study *study, const struct lesson_options *options, int max_words,
                  int steps);
void study_free(struct study *study);
/* Adds a model; name is not copied. Returns its index. */
int study_add(struct study *study, const char *name, const struct recurrent_config *config);
/* The same for a Transformer; words, batch and seed are those of the study. */
int study_add_transformer(struct study *study, const char *name,
                          const struct transformer_config *config);
/* Trains the models from index `first` on, in up to options->threads threads. */
void study_train(struct study *study, int first);

/* ---- study_measure.c: compares models ---- */
/* Appends a chart of BLEU by the length of the English sentence, up to twice that of training, with
   one curve for each of the models. */
void study_curves(struct study *study, struct page *page, enum page_detail detail,
                  const char *title, const int *models, int count);
/* Measures sentences that are no longer than those of training. */
struct quality study_quality(struct study *study, int model);
/* Appends a table of the models first .. first + count - 1: parameters, loss, quality on sentences
   that are no longer than those of training, seconds of training, and the alignment error rate if
   one of them attends. head: of the column of names. quality: [count], or NULL. */
void study_compare(struct study *study, struct page *page, enum page_detail detail,
                   const char *title, const char *head, int first, int count,
                   struct quality *quality);

/* Measures a forward pass over sentences of `length` words with their right translations. Per word
   of the translation: steps of a cell, and microseconds of the fastest try. */
struct study_cost {
    double steps, time;
};
struct study_cost study_cost_of(struct study *study, int model, int length);

/* ---- study.c: sentences, and what models attend to in them ---- */
/* "cats do not like dogs" */
extern const struct german_clause study_clause;
/* Returns the names of source or target words and of the end; the caller frees the array. */
const char **study_names(const struct vocabulary *vocabulary, const struct words *words);
/* Returns the attention weights [target words and end][source words and end] of a greedy
   translation, which is written to *out; the caller frees. scores: as in struct seen, or NULL. */
float *study_weights(struct study *study, int model, const struct sentence *sentence,
                     struct words *out, float **scores);
/* Returns the influence of each source word and the end (columns) on each target word and the end
   (rows) of the right translation. Each row is divided by its sum. The caller frees. */
float *study_influence(struct study *study, int model, const struct sentence *sentence);
/* Appends a map of such an array. out: the words of its rows. */
void study_map(struct study *study, struct page *page, enum page_detail detail, const char *title,
               const struct sentence *sentence, const struct words *out, const float *weights);
/* Returns the mean distance of all pairs of rows: half the sum of absolute differences, 0 if all
   rows are equal, 1 if they have nothing in common. */
double study_distance(int rows, int columns, const float *map);
void study_sentence(const struct study *study, struct sentence *sentence,
                    const struct german_clause *clause);
void study_spell(const struct vocabulary *vocabulary, const struct words *words, char *text,
                 size_t size);

#endif
