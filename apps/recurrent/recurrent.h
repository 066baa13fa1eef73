/* recurrent.h - interface header of rapt_recurrent: learns from sentence pairs of a small language,
   and gives translations, attention weights and gradients. The models are encoder-decoders with
   every recurrent cell, with a context vector or with attention, and rapt's Transformer. Each uses
   one thread and depends only on its seed, so several can be trained in parallel threads. */
#ifndef RECURRENT_H
#define RECURRENT_H

#include "kit/layers.h"
#include "kit/program.h"
#include <rapt/rapt.h>

/* ---- language.c: sentence pairs whose alignment is known ---- */
enum { MIN_WORDS = 4, MAX_TARGET = 192, MAX_WORD = 16, MAX_BATCH = 64 };
struct vocabulary {
    int count; /* tokens; the first are RAPT_TOKEN_SPECIALS */
    char words[96][MAX_WORD];
};
struct words {
    int count, tokens[MAX_TARGET];
};
/* The source words of a target word: `sure`, which it translates (-1 if there is no single one),
   and the range first .. last of all words that it depends on. */
struct link {
    int sure, first, last;
};
struct sentence {
    struct words source, target;
    struct link links[MAX_TARGET]; /* of each target word */
};
struct language {
    const char *source_name, *target_name;
    struct vocabulary source, target;
    /* Draws a sentence of exactly `length` source words, at least MIN_WORDS - 1. */
    void (*draw)(const struct language *language, struct sentence *sentence, struct random *random,
                 int length);
};
void words_spell(const struct vocabulary *vocabulary, const int *tokens, int count, char *text,
                 size_t size);
/* The first adds the new words of a phrase to a vocabulary. The second appends the words of a
   phrase, which must be known, to a sentence. */
void vocabulary_add(struct vocabulary *vocabulary, const char *phrase);
void words_append(const struct vocabulary *vocabulary, struct words *words, const char *phrase);

/* ---- language.c: French, with agreement, reordering and phrases ---- */
struct clause { /* rows of the tables of French; -1 means none */
    int link, subject, subject_adjective, verb, negated, object, object_adjective;
};
void french_create(struct language *language);
void french_append(const struct language *language, struct sentence *sentence,
                   const struct clause *clause); /* appends one */

/* ---- language.c: German, with negation and the place of the verb ---- */
struct german_phrase { /* rows of the tables of German; adjective -1 means none */
    int the, adjective, noun;
};
struct german_clause {
    int link;
    struct german_phrase subject;
    int negated, verb;
    struct german_phrase object;
};
void german_create(struct language *language);
void german_append(const struct language *language, struct sentence *sentence,
                   const struct german_clause *clause); /* appends one */

/* ---- cell.c: one step of a recurrent cell ----
   Here x is W times the input of the step, plus b; U is the weight of the state; s is the sigmoid.

   rnn   h' = tanh(x + hU)                                                    Elman 1990
   gru   r = s(xr + hUr)   z = s(xz + hUz)   n = tanh(xn + r (hUn))           Cho et al. 2014, 2.3
         h' = (1 - z) n + z h
   lstm  i, f, o = s(x + hU)   g = tanh(x + hU)                 Hochreiter and Schmidhuber 1997,
         c' = f c + i g    h' = o tanh(c')                      Gers et al. 2000

   The reset gate is applied after the product, so that the three products with h become one. The
   bias of f is 1 at first. */
enum cell_kind { CELL_RNN, CELL_GRU, CELL_LSTM, CELLS };
extern const char *const cell_names[CELLS];
struct cell {
    enum cell_kind kind;
    int hidden, gates;          /* H; G: 1, 3 (r, z, n) or 4 (i, f, o, g) */
    struct linear input, state; /* [in][G H] with bias, [H][G H] without */
};
struct cell_state {
    float *h, *c; /* [rows][H]; c is NULL unless the cell is an LSTM */
};
struct cell_tape {        /* what the backward pass of one step reads and overwrites */
    float *gates, *inner; /* [rows][G H] */
};
void cell_create(struct cell *cell, enum cell_kind kind, struct params *params,
                 struct random *random, int in, int hidden);
/* Computes the next state from x [rows][G H], which is W times the input of the step, plus b. */
void cell_forward(const struct cell *cell, int rows, const float *x, struct cell_state before,
                  struct cell_state next, struct cell_tape tape);
/* Adds the gradients to dx [rows][G H] and dbefore. */
void cell_backward(const struct cell *cell, int rows, struct cell_state before,
                   struct cell_state next, struct cell_state dnext, float *dx,
                   struct cell_state dbefore, struct cell_tape tape);

/* ---- recurrent.c: the choices of a model ---- */
enum pass_kind {               /* how the encoding of the whole source reaches the decoder */
                 PASS_EACH,    /* into the cell and the output at each step */
                 PASS_FIRST,   /* the same at the first step; then zeros */
                 PASS_INITIAL, /* as the initial state */
                 PASS_NETWORK, /* as the initial state, through a network with a hidden layer */
                 PASSES
};
enum encoder_kind {
    ENCODER_NONE,  /* keys are embedded words plus positions, and values are embedded words */
    ENCODER_ONCE,  /* a recurrent network reads the source */
    ENCODER_AGAIN, /* the same, but anew for every step of the decoder, whose state it also reads */
    ENCODERS
};
enum reads_kind {
    READS_STATE, /* a step of the encoder continues from the previous state */
    READS_PAST,  /* a step continues from a mixture of all states so far, by additive attention:
                    intra-attention (Cheng, Dong and Lapata 2016; in an LSTM both h and c are
                    mixed) */
    READINGS
};
enum query_kind {
    QUERY_BEFORE,  /* the query is the previous state; the context enters cell and output */
    QUERY_PRESENT, /* the query is the new state; the context enters only the output */
    QUERIES
};
extern const char *const pass_names[PASSES],
    *const encoder_names[ENCODERS], *const reads_names[READINGS], *const query_names[QUERIES];
struct recurrent_config {
    int embed, hidden;              /* E and H, the widths of words and of the decoder's state */
    int encoder_hidden, directions; /* width of the encoder's state; 1 or 2 directions */
    int words;                      /* maximum length of a source sentence and of a translation */
    int batch;                      /* maximum number of sentences at once, up to MAX_BATCH */
    enum cell_kind cell;
    enum pass_kind pass;
    enum encoder_kind encoder;
    enum query_kind query;
    enum reads_kind reads; /* READS_PAST needs an encoder that reads once, in one direction */
    bool one_cell;         /* encoder and decoder are the same cell, with the same parameters */
    bool attends;          /* the context is attention, as the fields below say */
    bool projected;        /* queries, keys and values are multiplied by W^q, W^k and W^v, which
                              makes them `width` wide */
    int width;             /* width of projections, and of the hidden layer of additive scores */
    rapt_score score;
    rapt_normalizer normalizer;
    rapt_locality locality;
    float radius, temperature; /* of the locality and of the Gumbel softmax; 0 means 2 and 1 */
    uint64_t seed;
};
/* Returns NULL if the configuration is valid, otherwise the reason why it is not, a constant
   string. */
const char *recurrent_refusal(const struct recurrent_config *config);

/* ---- recurrent.c: the model; exits if memory runs out or the model is refused ---- */
struct recurrent;
struct recurrent *recurrent_create(const struct recurrent_config *config,
                                   const struct language *language);
void recurrent_free(struct recurrent *model);
size_t recurrent_parameters(const struct recurrent *model);
bool recurrent_attends(const struct recurrent *model);      /* false for NULL, too */
struct params *recurrent_block(struct recurrent *model);    /* parameters and their gradients */
size_t recurrent_cell_steps(const struct recurrent *model); /* of one sentence each, so far */

/* ---- run.c: `count` sentences of one source length ---- */
/* Runs only forward; returns the summed loss in nats. */
double recurrent_loss(struct recurrent *model, const struct sentence *sentences, int count);
/* Runs forward and backward and adds to the gradients. Returns the summed loss in nats, and the
   number of target words and ends in *words. */
double recurrent_gradient(struct recurrent *model, const struct sentence *sentences, int count,
                          int *words);
double recurrent_step(struct recurrent *model, const struct sentence *sentences, float rate);
/* Computes |d loss_t / d x_s| / |d loss_t / d logits_t|, the influence of each source word and the
   end on step t = `step` of the given translation, from gradients with respect to the embedded
   words. norms is [count][source words + 1], with 0 for a translation that does not have the
   step. */
void recurrent_influence(struct recurrent *model, const struct sentence *sentences, int count,
                         int step, float *norms);
/* For READS_PAST: returns the weights [words + 1][words + 1] of each word and the end (rows) on the
   states so far (columns, the initial state and the state after each word). They are 0 above the
   diagonal. */
void recurrent_past(struct recurrent *model, const struct sentence *sentence, float *weights);
struct seen { /* attention of each word of a translation and of its end; NULL if not wanted */
    float *weights, *scores; /* [count][MAX_TARGET][source words + 1]; scores are those before the
                                normalizer, with softmax only */
};
/* Translates greedily. */
void recurrent_translate(struct recurrent *model, const struct sentence *sentences, int count,
                         struct words *out, const struct seen *seen);

/* ---- transformer.c: rapt's Transformer (Vaswani et al. 2017) with the same calls ---- */
struct transformer_config {
    int width, layers, words, batch;
    uint64_t seed;
    rapt_position position;      /* 0 means sinusoids */
    rapt_rotary rotary;          /* 0 means none; these two are as in rapt_config */
    rapt_relative_bias relative; /* 0 means none */
    float window;                /* radius of self-attention (local-m); 0 means global */
    rapt_score cross;            /* score of cross-attention */
    bool probed;                 /* transformer_influence will be called */
};
struct transformer;
struct transformer *transformer_create(const struct transformer_config *config,
                                       const struct language *language);
void transformer_free(struct transformer *model);
size_t transformer_parameters(const struct transformer *model);
double transformer_step(struct transformer *model, const struct sentence *sentences, int count,
                        float rate);
void transformer_translate(struct transformer *model, const struct sentence *sentences, int count,
                           struct words *out, const struct seen *seen);
/* Does the same as recurrent_influence for one sentence. */
void transformer_influence(struct transformer *model, const struct sentence *sentence, int step,
                           float *norms);

/* ---- translator.c: one interface to all models, and their training ---- */
struct training {
    const struct language *language;
    int max_words;    /* source words of a training sentence */
    int steps, batch; /* sentences per step, all of one length */
    float rate;       /* peak learning rate */
    uint64_t seed;
    bool quiet;
};
/* Draws the batch of a step, which depends only on seed and step and is the same for every
   model. */
void batch_draw(const struct training *training, int step, struct sentence *sentences);
struct translator {
    const char *name;
    const struct training *training;
    struct recurrent *recurrent; /* one of the two; the other is NULL */
    struct transformer *transformer;
    int step;
    double loss;    /* per word, moving average */
    double seconds; /* processor time of training */
};
void translator_free(struct translator *translator);
void *translator_train(void *translator); /* makes all steps; returns NULL, for run_threads */
size_t translator_parameters(const struct translator *translator);
bool translator_attends(const struct translator *translator);
void translator_translate(struct translator *translator, const struct sentence *sentences,
                          int count, struct words *out, const struct seen *seen);
/* Does the same as recurrent_influence for one sentence. */
void translator_influence(struct translator *translator, const struct sentence *sentence, int step,
                          float *norms);

/* ---- translator.c: the quality of translations ---- */
struct quality {
    double bleu, exact;     /* 0..100 */
    double alignment_error; /* 0..1 (Och and Ney 2003), of the largest weight of each word in
                               exact translations; NAN without attention or exact translations */
};
/* Measures sentences of from .. to words, `tests` of each length, none of which is in training. */
struct quality quality_of(struct translator *translator, int from, int to, int tests);
/* Returns the alignment error in the same sentences if word t of each is aligned to word t of its
   translation. */
double diagonal_error(const struct training *training, int from, int to, int tests);

#endif
