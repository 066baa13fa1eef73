/* model.h - the parts of a recurrent encoder-decoder, shared by the files of this folder alone.

   Arrays of a sequence are time-major: row t * batch + b is word t of sentence b. B: sentences,
   E: width of a word, H, G: width and gates of the decoder's cell, K, L: of the encoder's,
   T: words of a source sentence and its end, U: steps of the decoder, A: width of an annotation
   (K for each direction; E without encoder), C: of a context (A, or `width` if projected),
   Q: of a query (H, or `width`). d...: gradients. */
#ifndef RECURRENT_MODEL_H
#define RECURRENT_MODEL_H

#include "kit/workspace.h"
#include "recurrent.h"

struct series { /* one array and its gradient */
    float *x, *d;
};
struct states { /* [(T + 1) B][width], c only of an LSTM */
    struct cell_state x, d;
};
struct past { /* of a direction that reads its past; V: K, of an LSTM 2 K */
    float *learned[RAPT_LEARNED_COUNT], *dlearned[RAPT_LEARNED_COUNT];
    rapt_learned widths;
    struct series queries; /* [T B][E + K] word; mixture before */
    struct series values;  /* [(T + 1) B][V] states: h, of an LSTM c beside it */
    struct series out;     /* [T B][V] mixtures of them */
    struct states mixed;   /* [T B][K] the same, h and c apart: the cell's states before */
    float *lse;            /* [T B] */
};
struct side {               /* one direction of the encoder; initial states are 0 */
    struct cell cell;       /* E -> K */
    struct linear asked;    /* H -> L K: the decoder's state, encoder again */
    struct series base, in; /* [T B][L K]: of the words; with the decoder's state */
    struct states states;   /* state t is before word t, or of the second direction after it */
    struct cell_tape tape;
    struct past past;
};
struct recurrent {
    struct recurrent_config config;
    const struct language *language;
    int annotation, context, query; /* A, C, Q */
    bool has_context;               /* cell or output read one */
    size_t cell_steps;
    struct params params;
    /* Parameters. */
    struct embed source, target, position; /* position: T -> A, encoder none */
    struct cell decoder;                   /* E -> H */
    struct linear into_cell;               /* C -> G H: its second input */
    struct linear output, context_output;  /* H -> words, C -> words: added */
    struct linear hidden, initial[2];      /* pass mlp: A -> H -> H, the last for h and c */
    struct linear projection[3];           /* W^q: H -> Q, W^k, W^v: A -> C */
    float *learned[RAPT_LEARNED_COUNT], *dlearned[RAPT_LEARNED_COUNT]; /* by the score */
    rapt_learned learned_widths;
    /* Activations of a batch. */
    int *source_ids, *positions, *target_ids, *labels; /* [T B] twice, [U B] twice */
    struct series embedded;                            /* [T B][E] */
    struct side sides[2];
    struct series annotations, keys, values; /* [T B][A], [T B][C] what attention reads */
    struct states summary;                   /* [B][A] the last state of each direction */
    struct series inside, start;             /* [B][H] pass mlp: hidden layer; before the tanh */
    struct series inputs, x;                 /* [U B][E] inputs of the decoder, [U B][G H] */
    struct states states;                    /* [(U + 1) B][H] */
    struct cell_tape tape;                   /* [U B][G H] */
    struct series queries;                   /* [(U + 1) B][Q] of states; projected */
    struct series contexts, logits;          /* [U B][C], [U B][words] */
    float *lse, *reward,
        *baseline; /* [U][B] of attention; of sampling: reward is less its baseline */
    int *chosen;   /* [U][B] of hard attention */
    float *earlier, *dearlier, *earlier_lse, *earlier_reward; /* attention of several rows */
    int *earlier_chosen;
    uint64_t noise; /* of hard attention, counts training steps */
    bool expected;  /* sampling: the weights are those that samples are drawn from */
    bool greedy;    /* translating: no noise */
    struct workspace workspace;
    void *owned[96]; /* all these arrays */
    int owned_count;
};

/* ---- encoder.c ---- */
void encoder_forward(struct recurrent *m, int count, int length);  /* up to the initial state */
void encoder_backward(struct recurrent *m, int count, int length); /* given that of all steps */
/* Reads the source once more, given row `state` of the decoder's states. */
void encoder_again(struct recurrent *m, int count, int length, int state);
void encoder_again_backward(struct recurrent *m, int count, int length, int state);
void encoder_clear(struct recurrent *m, int count, int length); /* gradients of what it returns */

/* ---- past.c: an encoder that attends to its own states; t: a word ---- */
void past_create(struct recurrent *m, struct random *random);
void past_arrays(struct recurrent *m, struct series (*series)(struct recurrent *m, int width),
                 struct states (*states)(struct recurrent *m, int width));
/* From states 0 .. t to the mixture that step t begins with. */
void past_forward(struct recurrent *m, int count, int t);
void past_clear(struct recurrent *m, int count, int length); /* gradients, before the last step's */
/* After step t + 1 and before step t: completes the gradient of state t + 1. */
void past_complete(struct recurrent *m, int count, int t);
/* From the gradient of that mixture to those of states, words and parameters. */
void past_backward(struct recurrent *m, int count, int t);

/* ---- initial.c: the first state of the decoder ---- */
void initial_forward(struct recurrent *m, int count);
void initial_backward(struct recurrent *m, int count);

/* ---- attend.c: context = attention of one state over all keys, by rapt ---- */
/* Takes and initializes the parameters of a problem's score. */
void learned_create(struct recurrent *m, const rapt_attention *problem, struct random *random,
                    float *learned[RAPT_LEARNED_COUNT], float *dlearned[RAPT_LEARNED_COUNT]);
void attend_create(struct recurrent *m, struct random *random);
void attend_forward(struct recurrent *m, int count, int length, int t);
void attend_backward(struct recurrent *m, int count, int length, int t);
/* [length] each, scores may be NULL. */
void attend_weights(struct recurrent *m, int count, int length, int t, int sentence, float *weights,
                    float *scores);

/* ---- decoder.c ---- */
void decoder_step(struct recurrent *m, int count, int length, int t); /* step t: states, logits */
void decoder_backward(struct recurrent *m, int count, int length, int steps); /* backward in time */

/* ---- rows.c ---- */
float *at_step(float *rows, int step, int count, int width); /* rows of one step */
struct cell_state state_at(struct cell_state states, int step, int count, int width);
struct cell_tape tape_at(struct cell_tape tape, int step, int count, int width);
void clear_rows(float *x, int rows, int width);
void clear_state(struct cell_state x, int rows, int width); /* c too, if there is one */

#endif
