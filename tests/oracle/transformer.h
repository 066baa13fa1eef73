/* transformer.h - the Transformer of Vaswani et al. 2017 sentence by sentence, in double, as
   obvious loops. Parameters are copied out of a model by name; no other code of the library is
   used. Attention is that of attention.h. */
#ifndef RAPT_ORACLE_TRANSFORMER_H
#define RAPT_ORACLE_TRANSFORMER_H

#include "attention.h"
#include <rapt/train.h>
#include <rapt/transformer.h>

struct oracle_tensor {
    const char *name;
    int rows, columns;
    double *data; /* [rows][columns] */
};
struct oracle_model {
    rapt_config config;
    int count;
    struct oracle_tensor *tensors; /* in the order of the model; the data may be changed */
    struct oracle_layer *encoder, *decoder;
    struct oracle_past *past;     /* see oracle_model_hold; NULL: nothing is held fixed */
    double expected;              /* loss of a token, for the baseline of sampled keys */
    double *expected_losses;      /* of each target row, in place of `expected`; may be NULL */
    double share;                 /* share of sentences that attend to expected values while keys
                                     are drawn; above 1: all */
    double scale, decay, entropy; /* of rewards, as in rapt_train_options, except that scale 0 is
                                     0 */
    int count_draws; /* if not 0, terms are the sum of log p[chosen] of all sampled keys */
    double anneal;   /* if above 0, an argmax is replaced by the softmax of this many times the
                        scores */
    double *self;    /* the next weights of self-attention are written here,
                        [layers][heads][rows][rows]; may be NULL */
    const rapt_alignment *alignment; /* guided alignment of the batch; NULL: none */
    int int8;                        /* not 0: matrices multiply quantized rows (op.h) */
    double guided;                   /* its weight; its loss is added to terms */
    double noise;                    /* of the energies of monotonic attention, with oracle_drop */
    int expects_stops; /* not 0: expected values of monotonic attention instead of hard stops;
                          oracle_batch_loss sets this */
    double coverage;   /* weight of the coverage loss, which is added to terms */
    double terms;      /* added to: (baseline - reward) log p[chosen] - entropy H(p) of all
                          sampled keys */
};
struct oracle_model *oracle_model_read(const rapt_model *model);
void oracle_model_free(struct oracle_model *m);
/* From the next oracle_batch_loss on, holds fixed what has no derivative: its choices, the losses
   it finds, which are then the rewards of sampled keys, and what an int8 model adds to activations
   by rounding them. */
void oracle_model_hold(struct oracle_model *m);

/* Dropout and draws of training. Without it nothing is dropped, sampled keys are the most likely
   ones and Gumbel noise is 0. Keys are made with mix of random.h: that of a batch is mix(seed,
   batches before it), that of a place in it mix(batch's, ((sublayer + 1) * 3 + site) * 2 +
   decoder). Sublayers count from 0 through the layers of one half, and -1 is the embedding. The
   site is 0 for the output of a sublayer, 1 for attention (its seed), 2 for the hidden layer of a
   feed-forward network. The rows of element (row, column) count through all sentences of the
   batch. */
struct oracle_drop {
    float output, attention, hidden; /* shares */
    uint64_t seed, batches;
};

/* One sentence. first: its first row in the batch (any value if drop is NULL, as it may be). */
struct oracle_sentence {
    int number, first, count;
    const int32_t *ids;   /* [count] */
    const float *vectors; /* instead, of all sentences: row `first` is the first one of this */
};

/* Computes the encoder's output [count][width]. */
void oracle_encode(struct oracle_model *m, const struct oracle_drop *drop,
                   const struct oracle_sentence *source, double *states);
/* Computes an encoder-only model: logits [source count][target_vocab], or of one row if it
   pools. */
void oracle_classify(struct oracle_model *m, const struct oracle_drop *drop,
                     const struct oracle_sentence *source, double *logits);
/* Computes logits [target count][target_vocab] and, if cross is not NULL, the weights of
   cross-attention [layers][heads][target count][source count]. source NULL: decoder only. */
void oracle_decode(struct oracle_model *m, const struct oracle_drop *drop,
                   const struct oracle_sentence *source, const double *states,
                   const struct oracle_sentence *target, double *logits, double *cross);

/* Returns the summed loss of a batch as rapt_train_gradient defines it, with the plain likelihood
   in *likelihood, if not NULL. */
double oracle_batch_loss(struct oracle_model *m, const struct oracle_drop *drop,
                         const rapt_tokens *source, const rapt_tokens *target, double smoothing,
                         double *likelihood);
/* Returns the loss of each row with a label if every sentence attends to expected values; the
   caller frees it. Holds nothing fixed. */
double *oracle_expected_losses(struct oracle_model *m, const struct oracle_drop *drop,
                               const rapt_tokens *source, const rapt_tokens *target,
                               double smoothing);

#endif
