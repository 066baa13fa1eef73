/* bottleneck.h - what the files of this program share: a small language, three translators that
   learn it, and the measure of what they have learned. */
#ifndef BOTTLENECK_H
#define BOTTLENECK_H

#include "kit/heatmap.h"
#include "kit/layers.h"
#include "kit/program.h"
#include <rapt/rapt.h>

/* ---- language.c: English of a few words, and its French ---- */
enum { SHORTEST = 4, MAX_TARGET = 192, LONGEST_WORD = 16, MAX_BATCH = 64 };
struct vocabulary {
    int count; /* tokens; the first are RAPT_TOKEN_SPECIALS */
    char words[96][LONGEST_WORD];
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
    int link, who, who_is, verb, negated, whom, whom_is;
};
void language_create(struct language *language);
void sentence_say(const struct language *language, struct sentence *sentence,
                  const struct clause *clause); /* one clause more */
/* A sentence of exactly so many English words, at least SHORTEST - 1. */
void sentence_draw(const struct language *language, struct sentence *sentence,
                   struct random *random, int length);
void words_spell(const struct vocabulary *vocabulary, const int *tokens, int count, char *text,
                 size_t size);

/* ---- How large, how long ---- */
struct setup {
    struct language language;
    int longest;       /* English words of a training sentence; tests go to three times as many */
    int steps, batch;  /* batches; sentences in each, of one length */
    int embed, align;  /* widths: of a word, of the hidden layer of additive attention */
    int hidden[2];     /* of a GRU: with the fixed vector, with attention */
    int width, layers; /* of the model without recurrence */
    float rate;        /* of learning */
    int tests;         /* sentences for each length */
    uint64_t seed;
    bool quiet;
};
/* The batch of a step: its sentences are a function of seed and step, for every model the same. */
void batch_draw(const struct setup *setup, int step, struct sentence *sentences);

/* ---- gru.c: a gated recurrent unit (Cho et al. 2014, section 2.3) ----
   r = sigmoid(xWr + hUr + br)    z = sigmoid(xWz + hUz + bz)
   n = tanh(xWn + bn + r * (hUn)) h' = (1 - z) n + z h
   The reset gate comes after the product, so that the three products with h are one. */
struct gru {
    int hidden;
    struct linear input, state; /* [in][3 hidden] with bias, [hidden][3 hidden] without; r, z, n */
};
struct gru_tape { /* of one step, rows [3 hidden]: what backward needs */
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

/* ---- translator.c: three models behind one face ---- */
enum kind { FIXED, ATTENDING, ATTENTION_ONLY, KINDS };
extern const char *const kind_names[KINDS];
struct translator {
    enum kind kind;
    const struct setup *setup;
    struct recurrent *recurrent; /* FIXED, ATTENDING */
    struct pure *pure;           /* ATTENTION_ONLY */
    int step;
    double loss; /* per word, of the last step */
    int code;    /* of the program, if something failed */
};
void translator_create(struct translator *translator, enum kind kind, const struct setup *setup);
void translator_free(struct translator *translator);
void translator_learn(struct translator *translator); /* all steps */
size_t translator_parameters(const struct translator *translator);
/* Greedy translations of sentences of one length, at most setup->batch. weights, if not NULL:
   [count][MAX_TARGET][English words + 1], what each word and the end attended to; the last column
   is the end of the English sentence. */
void translator_translate(struct translator *translator, const struct sentence *sentences,
                          int count, struct words *out, float *weights);

/* ---- recurrent.c, pure.c: the two behind it ---- */
struct recurrent *recurrent_create(const struct setup *setup, bool attends);
void recurrent_free(struct recurrent *model);
size_t recurrent_parameters(const struct recurrent *model);
double recurrent_step(struct recurrent *model, const struct sentence *sentences, float rate);
void recurrent_translate(struct recurrent *model, const struct sentence *sentences, int count,
                         struct words *out, float *weights);
struct pure *pure_create(const struct setup *setup);
void pure_free(struct pure *model);
size_t pure_parameters(const struct pure *model);
double pure_step(struct pure *model, const struct sentence *sentences, float rate);
void pure_translate(struct pure *model, const struct sentence *sentences, int count,
                    struct words *out, float *weights);

/* ---- measure.c: how good, by length ---- */
enum { POINTS = 12 };
struct quality {
    double bleu, exact; /* 0..100 */
};
struct curve {
    size_t parameters;
    struct quality at[POINTS];     /* sentences of (i + 1) longest / 4 words */
    struct quality inside, beyond; /* of up to longest / 2 words; of longest + 1 .. 5/4 longest */
};
/* Pooled over sentences of from..to words, setup->tests of each length. */
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
/* Names and weights as a table; free it. */
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
/* The claim: just beyond the lengths of training the fixed vector keeps less than half of its
   quality on short sentences, attention at least nine tenths of its own. */
double kept(const struct curve *curve);
bool claim_holds(const struct report *report);

#endif
