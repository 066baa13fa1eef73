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
    struct oracle_past *past; /* what oracle_model_hold holds fixed, or NULL */
    double expected;          /* expected loss of a token, for the baseline of sampled keys */
    double *
        expected_losses; /* expected loss of each target row, in place of `expected`; may be NULL */
    double share; /* share of sentences that attend to expected values instead of drawn keys; above
                     1 means all */
    double scale, decay,
        entropy;     /* of rewards, as in rapt_train_options, except that a scale of 0 is 0 */
    int count_draws; /* if not 0, `terms` is the sum of log p[chosen] of all sampled keys */
    double anneal;   /* if above 0, an argmax is replaced by the softmax of this many times the
                        scores */
    double *self;    /* the next weights of self-attention are written here,
                        [layers][heads][rows][rows]; may be NULL */
    const rapt_alignment *alignment; /* guided alignment of the batch; NULL: none */
    int int8;                        /* if not 0, matrices multiply quantized rows (op.h) */
    double guided; /* weight of guided alignment, whose loss is added to `terms` */
    double noise;  /* noise of the energies of monotonic attention, if there is an oracle_drop */
    int expects_stops; /* if not 0, monotonic attention computes expected values instead of hard
                          stops; set by oracle_batch_loss */
    double coverage;   /* weight of the coverage loss, which is added to `terms` */
    double terms; /* accumulates (baseline - reward) log p[chosen] - entropy H(p) of all sampled
                     keys */
};
struct oracle_model *oracle_model_read(const rapt_model *model);
void oracle_model_free(struct oracle_model *m);
/* From the next oracle_batch_loss on, holds fixed what has no derivative: the choices of keys, the
   losses, which are then the rewards of sampled keys, and what an int8 model adds to activations by
   rounding them. */
void oracle_model_hold(struct oracle_model *m);

/* Dropout and draws of training. Without it, nothing is dropped, sampled keys are the most likely
   ones and Gumbel noise is 0. Keys come from oracle_mix: a batch has the key mix(seed, batches
   before it), and a place in it the key mix(the batch's, ((sublayer + 1) * 3 + site) * 2 +
   decoder). Sublayers are counted from 0 through the layers of one half; -1 is the embedding. The
   site is 0 for the output of a sublayer, 1 for attention (its seed), 2 for the hidden layer of a
   feed-forward network. The row of element (row, column) is counted through all sentences of the
   batch. */
struct oracle_drop {
    float output, attention, hidden; /* shares */
    uint64_t seed, batches;
};

/* One sentence. `first` is its first row in the batch, and may be anything if drop is NULL. */
struct oracle_sentence {
    int number, first, count;
    const int32_t *ids;   /* [count] */
    const float *vectors; /* vectors of all sentences in place of ids; this sentence begins with row
                             `first` */
};

/* Computes the encoder's output [count][width]. */
void oracle_encode(struct oracle_model *m, const struct oracle_drop *drop,
                   const struct oracle_sentence *source, double *states);
/* Computes an encoder-only model: logits [source count][target_vocab], or [target_vocab] if it
   pools. */
void oracle_classify(struct oracle_model *m, const struct oracle_drop *drop,
                     const struct oracle_sentence *source, double *logits);
/* Computes logits [target count][target_vocab] and, if cross is not NULL, the weights of
   cross-attention [layers][heads][target count][source count]. For a decoder-only model, source is
   NULL. */
void oracle_decode(struct oracle_model *m, const struct oracle_drop *drop,
                   const struct oracle_sentence *source, const double *states,
                   const struct oracle_sentence *target, double *logits, double *cross);

/* Returns the summed loss of a batch as rapt_train_gradient defines it, and the plain cross-entropy
   in *likelihood, unless it is NULL. */
double oracle_batch_loss(struct oracle_model *m, const struct oracle_drop *drop,
                         const rapt_tokens *source, const rapt_tokens *target, double smoothing,
                         double *likelihood);
/* Returns the loss of each row with a label if every sentence attends to expected values; the
   caller frees it. Holds nothing fixed. */
double *oracle_expected_losses(struct oracle_model *m, const struct oracle_drop *drop,
                               const rapt_tokens *source, const rapt_tokens *target,
                               double smoothing);

#endif
