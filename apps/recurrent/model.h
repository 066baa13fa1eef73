/* model.h - the parts of a recurrent encoder-decoder, for the files of this folder only.

   Arrays of a sequence are time-major: row t * batch + b is word t of sentence b. B is the number
   of sentences, T the number of words of a source sentence and its end, and U the number of steps
   of the decoder. E is the width of a word. H and G are the width and the number of gates of the
   decoder's cell, and K and L those of the encoder's. A is the width of an annotation (K for each
   direction, or E without an encoder), C that of a context (A, or `width` if projected), and Q that
   of a query (H, or `width`). Names that begin with d are gradients. */
#ifndef RECURRENT_MODEL_H
#define RECURRENT_MODEL_H

#include "kit/layers.h"
#include "recurrent.h"

struct series { /* one array and its gradient */
    float *x, *d;
};
struct states { /* [(T + 1) B][width]; c only in an LSTM */
    struct cell_state x, d;
};
struct past { /* of a direction that reads its past; V is K, or 2 K in an LSTM */
    float *learned[RAPT_ATTENTION_PARAMETER_COUNT], *dlearned[RAPT_ATTENTION_PARAMETER_COUNT];
    rapt_attention_parameters widths;
    struct series queries; /* [T B][E + K] word, previous mixture */
    struct series values;  /* [(T + 1) B][V] states: h, in an LSTM also c */
    struct series out;     /* [T B][V] mixtures of them */
    struct states mixed; /* [T B][K] the same with h and c separate: the states before each step */
    float *lse;          /* [T B] */
};
struct side {               /* one direction of the encoder; initial states are 0 */
    struct cell cell;       /* E -> K */
    struct linear asked;    /* H -> L K: reads the decoder's state (ENCODER_AGAIN) */
    struct series base, in; /* [T B][L K]: of the words; plus the decoder's state */
    struct states states;   /* state t is before word t; in the second direction, after it */
    struct cell_tape tape;
    struct past past;
};
struct recurrent {
    struct recurrent_config config;
    const struct language *language;
    int annotation, context, query; /* A, C, Q */
    bool has_context;               /* whether cell or output reads a context */
    size_t cell_steps;
    struct params params;
    /* Parameters. */
    struct embed source, target, position; /* position: T -> A, without an encoder */
    struct cell decoder;                   /* E -> H */
    struct linear into_cell;               /* C -> G H: its second input */
    struct linear output, context_output;  /* H -> words, C -> words: added */
    struct linear hidden, initial[2]; /* PASS_NETWORK: A -> H -> H, the last one for h and for c */
    struct linear projection[3];      /* W^q: H -> Q, W^k, W^v: A -> C */
    float *learned[RAPT_ATTENTION_PARAMETER_COUNT],
        *dlearned[RAPT_ATTENTION_PARAMETER_COUNT]; /* as the score needs */
    rapt_attention_parameters learned_widths;
    /* Activations of a batch. */
    int *source_ids, *positions, *target_ids, *labels; /* [T B] the first two, [U B] the others */
    struct series embedded;                            /* [T B][E] */
    struct side sides[2];
    struct series annotations, keys, values; /* [T B][A], [T B][C]: what attention reads */
    struct states summary;                   /* [B][A] the last state of each direction */
    struct series inside, start;    /* [B][H] PASS_NETWORK: hidden layer, and input of the tanh */
    struct series inputs, x;        /* [U B][E] inputs of the decoder, [U B][G H] */
    struct states states;           /* [(U + 1) B][H] */
    struct cell_tape tape;          /* [U B][G H] */
    struct series queries;          /* [(U + 1) B][Q] of states; projected */
    struct series contexts, logits; /* [U B][C], [U B][words] */
    float *lse, *reward,
        *baseline; /* [U][B] of attention; sampling: rewards have their baseline subtracted */
    int *chosen;   /* [U][B] hard attention */
    float *earlier, *dearlier, *earlier_lse, *earlier_reward; /* attention with several queries */
    int *earlier_chosen;
    uint64_t noise; /* hard attention: counts training steps */
    bool expected;  /* sampling: use expected values instead of samples */
    bool greedy;    /* translating: no noise */
    struct workspace workspace;
    void *owned[96]; /* owns all these arrays */
    int owned_count;
};

/* ---- encoder.c ---- */
void encoder_forward(struct recurrent *m, int count,
                     int length); /* computes everything that the initial state needs */
void encoder_backward(struct recurrent *m, int count,
                      int length); /* needs the gradients of all steps */
/* Reads the source again, given row `state` of the decoder's states. */
void encoder_again(struct recurrent *m, int count, int length, int state);
void encoder_again_backward(struct recurrent *m, int count, int length, int state);
void encoder_clear(struct recurrent *m, int count,
                   int length); /* clears the gradients of its results */

/* ---- past.c: an encoder that attends to its own states; t: index of a word ---- */
void past_create(struct recurrent *m, struct random *random);
void past_arrays(struct recurrent *m, struct series (*series)(struct recurrent *m, int width),
                 struct states (*states)(struct recurrent *m, int width));
/* Computes the mixture that step t begins with from states 0 .. t. */
void past_forward(struct recurrent *m, int count, int t);
void past_clear(struct recurrent *m, int count,
                int length); /* clears the gradients before the last step */
/* After step t + 1 and before step t: completes the gradient of state t + 1. */
void past_complete(struct recurrent *m, int count, int t);
/* Propagates the gradient of that mixture to states, words and parameters. */
void past_backward(struct recurrent *m, int count, int t);

/* ---- decoder.c: the first state of the decoder ---- */
void initial_forward(struct recurrent *m, int count);
void initial_backward(struct recurrent *m, int count);

/* ---- attend.c ---- */
/* Takes and initializes the parameters of a problem's score. */
void learned_create(struct recurrent *m, const rapt_attention *problem, struct random *random,
                    float *learned[RAPT_ATTENTION_PARAMETER_COUNT],
                    float *dlearned[RAPT_ATTENTION_PARAMETER_COUNT]);
void attend_create(struct recurrent *m, struct random *random);
void attend_forward(struct recurrent *m, int count, int length, int t);
void attend_backward(struct recurrent *m, int count, int length, int t);
/* [length] each; scores may be NULL. */
void attend_weights(struct recurrent *m, int count, int length, int t, int sentence, float *weights,
                    float *scores);

/* ---- decoder.c ---- */
void decoder_step(struct recurrent *m, int count, int length,
                  int t); /* computes the state and logits of step t */
void decoder_backward(struct recurrent *m, int count, int length,
                      int steps); /* backward through time */

/* ---- recurrent.c: rows of a step ---- */
float *at_step(float *rows, int step, int count, int width); /* returns the rows of one step */
struct cell_state state_at(struct cell_state states, int step, int count, int width);
struct cell_tape tape_at(struct cell_tape tape, int step, int count, int width);
void clear_rows(float *x, int rows, int width);
void clear_state(struct cell_state x, int rows, int width); /* clears c, too, if it is not NULL */

#endif
