/* bottleneck.h - interface header of bottleneck: a synthetic language pair, three translation
   models and their evaluation by sentence length. */
#ifndef BOTTLENECK_H
#define BOTTLENECK_H

#include "kit/demo.h"
#include "kit/heatmap.h"
#include "kit/layers.h"
#include "kit/program.h"
#include <rapt/rapt.h>

/* ---- language.c: English of a few words, and its French ---- */
enum { MIN_WORDS = 4, MAX_TARGET = 192, MAX_WORD = 16, MAX_BATCH = 64 };
struct vocabulary {
    int count; /* tokens; the first are RAPT_TOKEN_SPECIALS */
    char words[96][MAX_WORD];
};
struct language {
    struct vocabulary english, french;
};
struct words {
    int count, tokens[MAX_TARGET];
};
struct sentence {
    struct words english, french;
};
struct clause { /* rows of the tables in language.c; -1: none */
    int link, subject, subject_adjective, verb, negated, object, object_adjective;
};
void language_create(struct language *language);
void sentence_append(const struct language *language, struct sentence *sentence,
                     const struct clause *clause); /* appends one */
/* A sentence of exactly `length` English words, at least MIN_WORDS - 1. */
void sentence_draw(const struct language *language, struct sentence *sentence,
                   struct random *random, int length);
void words_spell(const struct vocabulary *vocabulary, const int *tokens, int count, char *text,
                 size_t size);

/* ---- hyperparameters ---- */
struct setup {
    struct language language;
    int max_words;    /* English words of a training sentence; tests: up to three times as many */
    int steps, batch; /* training steps; sentences per batch, all of one length */
    int embed, alignment_width; /* widths: word embeddings, hidden layer of additive attention */
    int hidden[2];              /* of a GRU: with a fixed vector, with attention */
    int width, layers;          /* of the Transformer */
    float rate;                 /* peak learning rate */
    int tests;                  /* sentences for each length */
    uint64_t seed;
    bool quiet;
};
/* The batch of a step, a function of seed and step: the same for every model. */
void batch_draw(const struct setup *setup, int step, struct sentence *sentences);

/* ---- gru.c: a gated recurrent unit (Cho et al. 2014, section 2.3) ----
   r = sigmoid(xWr + hUr + br)    z = sigmoid(xWz + hUz + bz)
   n = tanh(xWn + bn + r * (hUn)) h' = (1 - z) n + z h
   The reset gate comes after the product, so that the three products with h are one. */
struct gru {
    int hidden;
    struct linear input, state; /* [in][3 hidden] with bias, [hidden][3 hidden] without; r, z, n */
};
struct gru_tape { /* saved for the backward pass of one step, rows [3 hidden] */
    float *gates; /* r, z, n */
    float *inner; /* hU */
};
void gru_create(struct gru *gru, struct params *params, struct random *random, int in, int hidden);
/* x: xW + b of this step, [rows][3 hidden]. Sets next [rows][hidden]. */
void gru_forward(const struct gru *gru, int rows, const float *x, const float *h, float *next,
                 struct gru_tape tape);
/* Adds to dx [rows][3 hidden] and dh. */
void gru_backward(const struct gru *gru, int rows, const float *h, const float *dnext, float *dx,
                  float *dh, struct gru_tape tape);

/* ---- translator.c: one interface to the three models ---- */
enum kind { FIXED_VECTOR, WITH_ATTENTION, TRANSFORMER, KINDS };
extern const char *const kind_names[KINDS];
struct translator {
    enum kind kind;
    const struct setup *setup;
    struct recurrent *recurrent;     /* FIXED_VECTOR, WITH_ATTENTION */
    struct transformer *transformer; /* TRANSFORMER */
    int step;
    double loss; /* per word, of the last step */
};
void translator_create(struct translator *translator, enum kind kind, const struct setup *setup);
void translator_free(struct translator *translator);
void translator_train(struct translator *translator); /* all steps */
size_t translator_parameters(const struct translator *translator);
/* Greedy translations of sentences of one length, at most setup->batch. weights, if not NULL:
   [count][MAX_TARGET][English words + 1], the attention weights of each word and the end token; the
   last column is the end token of the English sentence. */
void translator_translate(struct translator *translator, const struct sentence *sentences,
                          int count, struct words *out, float *weights);

/* ---- recurrent.c, transformer.c: the models ---- */
struct recurrent *recurrent_create(const struct setup *setup, bool attends);
void recurrent_free(struct recurrent *model);
size_t recurrent_parameters(const struct recurrent *model);
double recurrent_step(struct recurrent *model, const struct sentence *sentences, float rate);
void recurrent_translate(struct recurrent *model, const struct sentence *sentences, int count,
                         struct words *out, float *weights);
struct transformer *transformer_create(const struct setup *setup);
void transformer_free(struct transformer *model);
size_t transformer_parameters(const struct transformer *model);
double transformer_step(struct transformer *model, const struct sentence *sentences, float rate);
void transformer_translate(struct transformer *model, const struct sentence *sentences, int count,
                           struct words *out, float *weights);

/* ---- measure.c: quality by sentence length ---- */
enum { POINTS = 12 };
struct quality {
    double bleu, exact; /* 0..100 */
};
struct curve {
    size_t parameters;
    struct quality at[POINTS];       /* sentences of (i + 1) max_words / 4 words */
    struct quality in_range, beyond; /* up to max_words / 2 words; max_words + 1 .. 5/4 max_words */
};
/* BLEU and exact matches over sentences of from..to words, setup->tests of each length. */
struct quality quality_of(struct translator *translator, int from, int to);
void curve_measure(struct curve *curve, struct translator *translator);
int point_length(const struct setup *setup, int point);

/* ---- show.c ---- */
enum { EXAMPLES = 2 };
struct example {
    const char *about;
    struct sentence sentence;
    struct words out;
    float *weights; /* [French words and the end][English words and the end] */
};
void example_make(struct example *example, const char *about, const struct clause *clause,
                  struct translator *translator);
void example_free(struct example *example);
/* Labels and weights as a table; free it. */
struct heatmap example_map(const struct example *example, const struct language *language);
void example_map_free(struct heatmap *map);
struct report {
    const struct setup *setup;
    struct curve curves[KINDS];
    struct example examples[EXAMPLES];
    double seconds;
};
/* show.c, picture.c */
void report_print(const struct report *report);
void report_json(const struct report *report);
int report_svg(const struct report *report, const char *path);
/* BLEU on sentences just longer than any in training over BLEU on short ones. The claim: less than
   0.5 with the fixed vector, at least 0.9 with attention. */
double retained(const struct curve *curve);
bool claim_holds(const struct report *report);

#endif
