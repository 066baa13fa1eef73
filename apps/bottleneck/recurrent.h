/* recurrent.h - the recurrent encoder-decoders: of Bahdanau, Cho and Bengio 2015 with attention,
   and of Cho et al. 2014 with a fixed vector.

   Arrays of a sequence are time-major: row t * batch + b is word t of sentence b. B: sentences,
   E: width of a word, H: of a state, T: words of a source sentence and its end, U: steps of the
   decoder. The annotation of a word is
   the concatenation of the forward and the backward state there, [2H]. */
#ifndef BOTTLENECK_RECURRENT_H
#define BOTTLENECK_RECURRENT_H

#include "bottleneck.h"
#include "kit/workspace.h"

struct recurrent {
    const struct setup *setup;
    bool attends;
    int batch, words, hidden; /* maximum of B and of decoder steps; H */
    struct params params;
    /* Parameters. */
    struct embed source, target;
    struct gru fwd, bwd;                  /* the encoder: E -> H each */
    struct gru decoder;                   /* E -> H, */
    struct linear context;                /* 2H -> 3H: its second input */
    struct linear output, context_output; /* H -> words, 2H -> words: added */
    float *query, *dquery;                /* additive attention: [align][H] */
    float *key, *dkey;                    /* [align][2H] */
    float *bias, *dbias;                  /* [align] */
    float *vector, *dvector;              /* [align] */
    /* Activations of a batch; d...: their gradients. */
    int *source_ids, *target_ids, *labels;    /* [T B], [U B] twice */
    float *embedded, *dembedded;              /* [T B][E] */
    float *fwd_x, *dfwd_x, *bwd_x, *dbwd_x;   /* [T B][3H] */
    float *fwd_h, *dfwd_h, *bwd_h, *dbwd_h;   /* [(T + 1) B][H]: 0 at one end */
    struct gru_tape fwd_tape, bwd_tape, tape; /* [T B][3H], the last [U B][3H] */
    float *annotations, *dkeys, *dvalues;     /* [T B][2H]; gradients as keys, as values */
    float *summary, *dsummary;                /* [B][2H] both last states: the fixed vector */
    float *inputs, *dinputs;                  /* [U B][E] embedded inputs of the decoder */
    float *x, *dx;                            /* [U B][3H] */
    float *states, *dstates;                  /* [(U + 1) B][H] */
    float *contexts, *dcontexts;              /* [U B][2H] */
    float *logits, *dlogits;                  /* [U B][words] */
    float *lse;                               /* [U][B] of attention */
    struct workspace workspace;
    void *owned[48]; /* all these arrays */
    int owned_count;
};

/* ---- encoder.c ---- */
void encoder_forward(struct recurrent *m, int count, int length);
void encoder_backward(struct recurrent *m, int count, int length);

/* ---- alignment.c: context = attention of one state over all annotations, by rapt ---- */
void alignment_forward(struct recurrent *m, int count, int length, int t);
void alignment_backward(struct recurrent *m, int count, int length, int t);
void alignment_weights(struct recurrent *m, int count, int length, int t, int sentence,
                       float *weights); /* [length] */

/* ---- decoder.c ---- */
void decoder_step(struct recurrent *m, int count, int length, int t); /* step t: states, logits */
void decoder_backward(struct recurrent *m, int count, int length, int steps); /* backward in time */

float *at_step(float *rows, int step, int count, int width); /* rows of one step */

#endif
