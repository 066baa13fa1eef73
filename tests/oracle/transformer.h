/* transformer.h - the Transformer of Vaswani et al. 2017 sentence by sentence, in double, with
   obvious loops. Parameters are copied out of a model by name; of the library's code nothing is
   used but that. Attention is that of attention.h. */
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
    struct oracle_tensor *tensors; /* in the model's order; the data may be changed */
    struct oracle_layer *encoder, *decoder;
    struct oracle_past *past;     /* see oracle_model_hold; NULL: nothing is held */
    double expected;              /* loss of a token, for the baseline of sampled keys */
    double *expected_losses;      /* of each target row, instead; NULL: `expected` */
    double share;                 /* of sentences that attend to expected values, while something is
                                     drawn; above 1: all do */
    double scale, decay, entropy; /* of rewards; as rapt_train_options says, but scale 0 is 0 */
    int count_draws; /* not 0: terms are the sum of log p[chosen] of all sampled keys instead */
    double anneal;   /* above 0: an arg-max is the softmax of so many times the scores */
    double *self;    /* where the next weights of self-attention go, [layers][heads][rows]
                        [rows], layer by layer; NULL: not wanted */
    const rapt_alignment *alignment; /* guided alignment of the batch; NULL: none */
    double guided;                   /* its weight; terms get its loss */
    double terms; /* added to: (baseline - reward) log p[chosen] - entropy H(p) of all
                     sampled keys */
};
struct oracle_model *oracle_model_read(const rapt_model *model);
void oracle_model_free(struct oracle_model *m);
/* From the next oracle_batch_loss on all that has no derivative is held constant: what it chooses,
   and the losses it finds, which are the rewards of sampled keys afterwards. */
void oracle_model_hold(struct oracle_model *m);

/* Training: what is dropped and drawn. Without it nothing is: sampled keys are the most likely
   ones, Gumbel noise is 0. Keys, with mix of random.h: of a batch mix(seed, batches before it); of
   a place in it mix(batch's, ((sublayer + 1) * 3 + site) * 2 + decoder), where sublayers count from
   0 through the layers of one half, -1 is the embedding, and site is 0 for what a sublayer gives, 1
   for attention (its seed), 2 for the hidden layer of a feed-forward network. Element (row, column)
   of a place: rows count through all sentences of the batch. */
struct oracle_drop {
    float output, attention, hidden; /* shares */
    uint64_t seed, batches;
};

/* One sentence. first: its first row in the batch (drop may be NULL, then it does not matter). */
struct oracle_sentence {
    int number, first, count;
    const int32_t *ids;
};

/* The encoder's output [count][width]. */
void oracle_encode(struct oracle_model *m, const struct oracle_drop *drop,
                   const struct oracle_sentence *source, double *states);
/* An encoder-only model: logits [source count][target_vocab], or of one row where it pools. */
void oracle_classify(struct oracle_model *m, const struct oracle_drop *drop,
                     const struct oracle_sentence *source, double *logits);
/* logits [target count][target_vocab]; cross, if not NULL: the weights of cross-attention
   [layers][heads][target count][source count]. source NULL: decoder only. */
void oracle_decode(struct oracle_model *m, const struct oracle_drop *drop,
                   const struct oracle_sentence *source, const double *states,
                   const struct oracle_sentence *target, double *logits, double *cross);

/* The summed loss of a batch as rapt_train_gradient defines it; the plain likelihood in
 *likelihood, if not NULL. */
double oracle_batch_loss(struct oracle_model *m, const struct oracle_drop *drop,
                         const rapt_tokens *source, const rapt_tokens *target, double smoothing,
                         double *likelihood);
/* The loss of each row with a label, where every sentence attends to expected values: the caller
   frees. Holds nothing. */
double *oracle_expected_losses(struct oracle_model *m, const struct oracle_drop *drop,
                               const rapt_tokens *source, const rapt_tokens *target,
                               double smoothing);

#endif
