/* recurrent.h - the model of Bahdanau, Cho and Bengio 2015, and the one before it, by its parts.

   Arrays of a sequence go by time: row t * batch + b is word t of sentence b. B: sentences,
   E: width of a word, H: of a state, T: words of a source sentence and its end, U: steps of the
   decoder. An annotation of a word is
   what the forward and the backward network know there, [2H]. */
#ifndef BOTTLENECK_RECURRENT_H
#define BOTTLENECK_RECURRENT_H

#include "bottleneck.h"

struct recurrent {
    const struct setup *setup;
    bool attends;
    int batch, words, hidden; /* room for B, most steps of the decoder, H */
    struct params params;
    /* What is learned. */
    struct embed source, target;
    struct gru forth, back;         /* the encoder: E -> H each */
    struct gru decoder;             /* E -> H, */
    struct linear context;          /* 2H -> 3H: and its second input */
    struct linear output, glimpsed; /* H -> words, 2H -> words: added */
    float *query, *dquery;          /* additive attention: [align][H] */
    float *key, *dkey;              /* [align][2H] */
    float *bias, *dbias;            /* [align] */
    float *vector, *dvector;        /* [align] */
    /* What a batch leaves behind; d...: its gradient. */
    int *source_ids, *target_ids, *labels;        /* [T B], [U B] twice */
    float *read, *dread;                          /* [T B][E] */
    float *forth_x, *dforth_x, *back_x, *dback_x; /* [T B][3H] */
    float *forth_h, *dforth_h, *back_h, *dback_h; /* [(T + 1) B][H]: 0 at one end */
    struct gru_tape forth_tape, back_tape, tape;  /* [T B][3H], the last [U B][3H] */
    float *annotations, *dnotes, *dvalues;        /* [T B][2H] annotations; as keys, as values */
    float *whole, *dwhole;                        /* [B][2H] both last states */
    float *said, *dsaid;                          /* [U B][E] words fed to the decoder */
    float *x, *dx;                                /* [U B][3H] */
    float *states, *dstates;                      /* [(U + 1) B][H] */
    float *contexts, *dcontexts;                  /* [U B][2H] */
    float *scores, *dscores;                      /* [U B][words] */
    float *lse;                                   /* [U][B] of attention */
    void *workspace;
    size_t workspace_bytes;
    void *owned[48]; /* all these arrays */
    int owned_count;
};

/* ---- encoder.c ---- */
void encoder_forward(struct recurrent *m, int count, int length);
void encoder_backward(struct recurrent *m, int count, int length);

/* ---- attend.c: c = attention of one state over all annotations, through rapt ---- */
void attend_forward(struct recurrent *m, int count, int length, int t);
void attend_backward(struct recurrent *m, int count, int length, int t);
void attend_weights(struct recurrent *m, int count, int length, int t, int sentence,
                    float *weights); /* [length] */

/* ---- decoder.c ---- */
void decoder_step(struct recurrent *m, int count, int length, int t); /* states and scores of t */
void decoder_backward(struct recurrent *m, int count, int length, int steps); /* last first */

float *part(float *rows, int step, int count, int width); /* rows of one step */

#endif
