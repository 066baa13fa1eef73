/* study.h - several models that are trained in parallel on the same sentence pairs, curves of their
   quality, and maps of what they attend to, for the lessons about recurrent models. */
#ifndef STUDY_H
#define STUDY_H

#include "lesson.h"
#include "recurrent/recurrent.h"

enum { STUDY_MODELS = 24, STUDY_POINTS = 16 }; /* models: with their untrained twins */
enum { STUDY_KNOWN = 4 };
struct study_quality {
    int from, to, tests;
    struct quality quality;
};
struct study_plan { /* how a model was made, and what is known of it */
    bool recurrent;
    struct recurrent_config config;        /* if recurrent */
    struct transformer_config transformer; /* if not */
    int untrained;                         /* index of its twin; 0 if not made yet */
    bool twin;                             /* it is one, and stays untrained */
    int measured;                          /* number of qualities that are known */
    struct study_quality known[STUDY_KNOWN];
};
struct study {
    struct language language;
    struct training training;
    struct recurrent_config config; /* a GRU with one vector, to be copied and changed */
    struct translator models[STUDY_MODELS];
    struct study_plan plans[STUDY_MODELS];
    int count, threads;
};
/* The language is English to German, with sentences of MIN_WORDS to max_words words. With --quick a
   third of the steps are made. */
void study_create(struct study *study, const struct lesson_options *options, int max_words,
                  int steps);
void study_free(struct study *study);
/* The recurrent models of the lectures. */
enum prototype {
    FIXED_VECTOR,  /* the last state begins the decoder */
    PROTOTYPE_1,   /* the last state enters each step */
    PROTOTYPE_2,   /* the sentence is encoded again for each word */
    PROTOTYPE_3,   /* one word is picked, by straight-through */
    PROTOTYPE_4,   /* encodings are mixed: additive scores, asked by the state before the step */
    BIDIRECTIONAL, /* the same with an encoder in both directions */
    SIMPLE,        /* dot products, asked by the new state */
    PARAMETERIZED, /* the same with projections */
    PROTOTYPES
};
/* Returns study->config with the choices of a prototype. */
struct recurrent_config study_prototype(const struct study *study, enum prototype which);
/* Adds a model; name is not copied. Returns its index. */
int study_add(struct study *study, const char *name, const struct recurrent_config *config);
/* The same for a Transformer; words, batch and seed are those of the study. */
int study_add_transformer(struct study *study, const char *name,
                          const struct transformer_config *config);
/* Trains the models from index `first` on, in up to options->threads threads. */
void study_train(struct study *study, int first);
/* Returns the index of a model like this one before its training: the same configuration and
   initial parameters. It is added when it is first asked for. */
int study_untrained(struct study *study, int model);
/* Returns a measure of one or several models. */
typedef double study_measure_fn(struct study *study, const int *models, const void *user);
enum { STUDY_COMPARED = 4 };
/* Appends a claim about what models learned. The same measure of their untrained twins is its
   control. models: [count], at most STUDY_COMPARED. */
bool study_claim(struct study *study, struct page *page, const char *statement,
                 study_measure_fn *measure, const int *models, int count, const void *user,
                 enum page_relation relation, double bound);

/* ---- study.c: compares models ---- */
/* Appends a chart of BLEU by the length of the English sentence, up to twice that of training, with
   one curve for each of the models. */
void study_curves(struct study *study, struct page *page, enum page_detail detail,
                  const char *title, const int *models, int count);
/* Measures sentences of from .. to words as quality_of does, the same ones only once. An untrained
   model, which writes until it has no room left, is measured on a quarter of them. */
struct quality study_quality_of(struct study *study, int model, int from, int to, int tests);
/* Measures sentences that are no longer than those of training. */
struct quality study_quality(struct study *study, int model);
/* Measures for claims: the share of exact translations in % and the BLEU of models[0], and by how
   much they exceed those of models[1]. */
study_measure_fn study_exact, study_exact_more, study_bleu, study_bleu_more;
/* Measures by how much more the rows of study_influence differ in models[0] than in models[1].
   user: the struct sentence. */
study_measure_fn study_distance_more;
/* 1 if models[0] translates the struct sentence exactly, otherwise 0. */
study_measure_fn study_translates;
/* Appends a table of the models first .. first + count - 1: parameters, loss, quality on sentences
   that are no longer than those of training, seconds of training, and the alignment error rate if
   one of them attends. head: of the column of names. quality: [count], or NULL. */
void study_compare(struct study *study, struct page *page, enum page_detail detail,
                   const char *title, const char *head, int first, int count,
                   struct quality *quality);

/* Counts the steps of a cell in a forward pass over sentences of `length` words with their right
   translations. Returns them per word of the translation. */
double study_steps_of(struct study *study, int model, int length);

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
