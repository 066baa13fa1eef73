/* train.h - training: a model, options and batches go in; losses and a changed model come out.
   Teacher forcing, label-smoothed cross-entropy, Adam. A trainer changes its model: no session may
   run on that model meanwhile. One thread at a time may use a trainer.

   Structs that begin with `size` are size-first, see base.h. */
#ifndef RAPT_TRAIN_H
#define RAPT_TRAIN_H

#include "transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rapt_schedule { /* linear from 0 to rate over warmup steps, then: */
                             RAPT_SCHEDULE_INVERSE_SQRT, /* rate * sqrt(warmup / step) */
                             RAPT_SCHEDULE_LINEAR,       /* linear to 0 at `steps`; 0 after the
                                                            warmup if that is no later */
                             RAPT_SCHEDULE_CONSTANT      /* rate */
} rapt_schedule;

/* Who computes the matrix products of training. */
typedef enum rapt_products {
    RAPT_PRODUCTS_BUILTIN,  /* same bits for any number of threads and on any instruction set with
                               a fused multiply-add, see rapt_isa */
    RAPT_PRODUCTS_OPENBLAS, /* same bits for any number of threads. rapt_trainer_create loads it
                               into the process, for good; RAPT_BAD_ARGUMENT if it is absent */
    RAPT_PRODUCTS_AUTO      /* for each shape of weights and each of its three products whichever
                               rapt_trainer_create finds faster, by computing them for some tenths of
                               a second; built-in where OpenBLAS is absent. A checkpoint holds what
                               was chosen, so that a run goes on with the same bits; another run may
                               choose differently */
} rapt_products;

/* What is subtracted from the rewards of sampled keys. It does not depend on the draws of its own
   batch, so it changes the variance of the gradient and not its mean. */
typedef enum rapt_baseline {
    RAPT_BASELINE_MEAN, /* the running mean of the loss of a token, for each loss in the reward */
    RAPT_BASELINE_EXPECTED /* the same losses where every sequence attends to expected values: one
                              more forward pass (Rennie et al. 2017, with the mean field for the
                              greedy choice) */
} rapt_baseline;

typedef struct rapt_train_options { /* size-first */
    size_t size;                    /* sizeof(rapt_train_options) */
    float rate;                     /* peak learning rate, at most 1e30 */
    int warmup; /* steps in which the rate grows from 0 to its peak; 0: it begins there */
    int steps;  /* where RAPT_SCHEDULE_LINEAR reaches 0; the others do not read it */
    rapt_schedule schedule; /* of the learning rate */
    /* Adam: Kingma and Ba 2015, algorithm 1. */
    float beta1, beta2;    /* decay of the first moment, 0 to below 1; of the second, likewise */
    float epsilon;         /* added to the root of the second, above 0 */
    float weight_decay;    /* decoupled; 0: none; at most 1e6 */
    float clip_norm;       /* of the whole gradient; 0: none */
    float label_smoothing; /* share of each target spread evenly over the whole vocabulary, 0 to
                              below 1 */
    float dropout;         /* share of embeddings and of each sublayer's output, 0 to below 1 */
    float attention_dropout, ffn_dropout; /* of attention weights; of the feed-forward layer */
    rapt_products products;               /* 0: built-in */
    uint64_t seed;                        /* of dropout and of sampled keys */
    /* not 0: targets are y1 .. yn, and the library puts begin and end around each of them. 0: the
       caller does, and begin and end must be 0; ids do not show that both were forgotten, but such
       a model never predicts the first token of a target, nor its end. */
    int frame;
    int32_t begin, end; /* the token put before each target; the token put after it */
    /* The next five: where RAPT_NORMALIZER_SAMPLE draws keys; all 0: as Williams 1992. The rest is
       Xu et al. 2015, section 4.1, but for reward_decay. */
    rapt_baseline baseline;
    float expected_share; /* of sequences, those that attend to expected values, as with SOFTMAX */
    float reward_scale;   /* of rewards and baselines; 0: 1 */
    float reward_decay; /* the loss n rows later counts (1 - decay)^n in a decoder's reward. Above 0
                           the gradient is biased: what a row does to later ones counts less */
    float reward_entropy; /* of the weights of a row that draws, in nats: a reward of so much per
                             nat, negative: a cost; from -1e6 to 1e6 */
    /* Both 0, or above 0, where RAPT_NORMALIZER_ARGMAX chooses keys: in step n < anneal_steps its
       weights are softmax(anneal^(n / anneal_steps) x) instead, with their gradient, from then on
       the arg-max, whose scores have none. Evaluation always takes the arg-max. */
    float anneal;     /* 1 to 1e6 */
    int anneal_steps; /* how many steps the softmax lasts */
    /* Guided alignment (Chen et al. 2016, as Marian has it): the weight of rapt_train_align's loss,
       0 to 1e6. Above 0 config.alignment_layer must be, and cross-attention a softmax. 0: none */
    float guided_alignment;
    int reserved; /* 0 */
} rapt_train_options;
/* Sets all of *options, which has `size` bytes: rate 1e-3, warmup 1000, inverse square root, beta
   0.9 and 0.98, epsilon 1e-9, label_smoothing 0.1, dropout 0.1, seed 1; all else 0.
   products is RAPT_PRODUCTS_AUTO where the processor has no instruction set that this library has
   vectors for.
       rapt_train_options options;
       rapt_train_options_default(&options, sizeof options); */
RAPT_API void rapt_train_options_default(rapt_train_options *options, size_t size);

/* Output: a call that succeeds overwrites all of it but `size`, a call that fails nothing. Where a
   function takes a rapt_report, NULL means that none is wanted. */
typedef struct rapt_report { /* size-first */
    size_t size;             /* sizeof(rapt_report): rapt_report report = {.size = sizeof report} */
    double loss;             /* label-smoothed cross-entropy summed over tokens, in nats */
    double likelihood;       /* negative log-likelihood summed over tokens, in nats */
    long long tokens;        /* target tokens predicted */
    long long correct;       /* of them, where the likeliest token was the right one */
    double gradient_norm;    /* before clipping; by rapt_train_step, else 0 */
    double rate;             /* of the step; by rapt_train_step, else 0 */
    long long step;          /* steps made so far */
    double alignment;        /* loss of guided alignment summed over tokens, with its weight; not of
                                evaluations and of steps in shards: 0 */
} rapt_report;

/* Gradients, moments and activations for one model. One thread at a time may use a trainer. */
typedef struct rapt_trainer rapt_trainer;

/* The largest batch of one call of rapt_train_gradient or rapt_train_evaluate. Of all sequences
   together: source_tokens, which a decoder-only model does not have; target_tokens, in which the
   begin and the end of each target count (whoever puts them there), and which an encoder-only model
   does not need: it has a label per source token. */
typedef struct rapt_train_limits { /* size-first */
    size_t size;                   /* sizeof(rapt_train_limits) */
    int batch;                     /* sequences, 1 or more */
    int source_tokens;             /* 1 or more */
    int target_tokens;             /* 2 or more */
    int threads;                   /* see base.h */
    int shards;   /* of a step of rapt_train_shard, a power of two of at most 1024, with memory for
                     log2(shards) more gradients; 0: that function is not used */
    int reserved; /* 0 */
} rapt_train_limits;

/* Bytes that rapt_trainer_create allocates; 0: an argument is wrong, or it would not fit into
   memory. */
RAPT_API size_t rapt_trainer_bytes(const rapt_model *model, const rapt_train_limits *limits);
/* The model is not copied and must outlive the trainer. *trainer is the caller's to free; options
   and limits are copied. RAPT_BAD_ARGUMENT: a field of these is out of range, or does not fit the
   model; *why names it. RAPT_NO_MEMORY. */
RAPT_API rapt_status rapt_trainer_create(rapt_trainer **trainer, rapt_model *model,
                                         const rapt_train_options *options,
                                         const rapt_train_limits *limits,
                                         const rapt_allocator *allocator, rapt_message *why);
RAPT_API void rapt_trainer_free(rapt_trainer *trainer); /* NULL is allowed */

/* Forward and backward over one batch: adds the gradient of the summed loss to the trainer's block.
   *report: this batch alone. A decoder-only model reads the batch of source alone, or NULL.
   Teacher forcing: target sequence b is begin, y1 .. yn, end; its first
   n+1 tokens are the decoder's inputs, its last n+1 the labels. For an encoder-only model target
   holds one label per source token, or per source sequence if the configuration pools; negative: no
   label. RAPT_BAD_ARGUMENT: a token, label or length is out of range, or a source is empty.
   RAPT_NOT_FINITE: the loss was infinite or NaN; the gradients added since the last step are
   dropped, the model is unchanged. */
RAPT_API rapt_status rapt_train_gradient(rapt_trainer *trainer, const rapt_tokens *source,
                                         const rapt_tokens *target, rapt_report *report,
                                         rapt_message *why);

/* Word alignments of a batch. Row r of the labels (a target y1 .. yn, end has n + 1 rows; rows are
   counted over all targets) is a translation of the source tokens sources[starts[r]] to
   sources[starts[r + 1] - 1], which are counted from 0 in their own source. A row may have none.
   Will not grow. */
typedef struct rapt_alignment {
    const int *starts;  /* [label rows + 1], the first one 0 */
    const int *sources; /* of all rows */
} rapt_alignment;
/* For the next call of rapt_train_gradient or rapt_train_shard alone: the first head of
   cross-attention in layer config.alignment_layer is to give the source tokens of a row even
   weights. To the loss whose gradient is computed it adds guided_alignment times the sum over rows
   of the mean of -log(weight + 1e-6) over their source tokens, before dropout, without rows that
   see no source token; rapt_report has that apart. The arrays are not copied; that call checks and
   reads them, and keeps none of them unless it is refused. NULL: none, as without this call.
   RAPT_BAD_ARGUMENT: options.guided_alignment is 0. */
RAPT_API rapt_status rapt_train_align(rapt_trainer *trainer, const rapt_alignment *alignment,
                                      rapt_message *why);

/* One step of Adam: divides the gradients by the tokens they were added over, clips, updates the
   parameters and sets the gradients to zero. *report: sums over this trainer's batches since the
   last step. RAPT_NOT_FINITE: the gradient or its norm was not finite, or a parameter or moment
   would become infinite or NaN; parameters, moments and the number of steps are unchanged and the
   gradients are zero. RAPT_BAD_ARGUMENT: no tokens, or a rate that is out of range; the gradients
   stay. */
RAPT_API rapt_status rapt_train_step(rapt_trainer *trainer, rapt_report *report, rapt_message *why);

/* The loss of one batch without dropout; gradients are left alone. Batch and errors as
   rapt_train_gradient, but gradients stay. */
RAPT_API rapt_status rapt_train_evaluate(rapt_trainer *trainer, const rapt_tokens *source,
                                         const rapt_tokens *target, rapt_report *report,
                                         rapt_message *why);

/* The gradients as one block of *count floats, in the order and layout of the parameters, and
   the tokens they were added over: so that a caller may sum them across machines. Owned by the
   trainer; of a trainer with limits.shards the block lasts until its next call. NULL: no trainer.
 */
RAPT_API float *rapt_trainer_gradients(rapt_trainer *trainer, size_t *count, long long **tokens);
/* The gradient of one parameter into data [rows][columns], as rapt_model_read gives the parameter;
   RAPT_BAD_ARGUMENT: there is no such index. */
RAPT_API rapt_status rapt_trainer_read_gradient(const rapt_trainer *trainer, int index, float *data,
                                                rapt_message *why);

/* ---- A step in shards: accumulation on one machine, or the work of many ----
   A step is S = limits.shards batches, its shards. The gradient of each starts from zero, and they
   are added as the nodes of one complete binary tree over shards 0 .. S-1:

       g(first, count) = g(first, count/2) + g(first + count/2, count/2)

   in floats, one addition per element. Dropout and draws depend on the seed, the steps tried and
   the shard's number, and the baseline of sampled keys moves once per step. So neither who computes
   a shard nor when changes a bit. On one machine: rapt_train_shard for 0 .. S-1, then
   rapt_train_shards_step. On many, each with a trainer of the same model, options and number of
   shards, however its caller moves bytes: rapt_train_shard for the shards of a range of its own;
   records and rapt_train_shard_sums meet; rapt_shards_sum adds the subtrees, whole or in pieces of
   their floats; the sum goes to rapt_trainer_gradients of every machine, and each makes the same
   rapt_train_shards_step. A trainer that makes steps of one shard has the bits of one that calls
   rapt_train_gradient and rapt_train_step. With RAPT_PRODUCTS_AUTO each trainer measures for itself
   which products it takes: on many machines their bits may differ. */

/* What the others must know of a shard beside its gradient. A program may send it as bytes to
   another that runs on the same library. */
typedef struct rapt_shard { /* size-first */
    size_t size;            /* sizeof(rapt_shard): rapt_shard shard = {.size = sizeof shard} */
    int shard;              /* its number */
    int reserved;           /* 0 */
    double loss;            /* as in rapt_report; infinite or NaN: the whole step is dropped */
    double likelihood;      /* this and the next two: as in rapt_report */
    long long tokens;       /* target tokens predicted */
    long long correct;      /* of them, where the likeliest token was the right one */
} rapt_shard;

/* Shards whose gradients have been added here. */
typedef struct rapt_subtree { /* no size: it does not grow */
    int first, count;         /* the first shard; how many there are, a power of two */
    float *gradient;          /* as many floats as rapt_trainer_gradients says, of the trainer */
} rapt_subtree;

/* Shards *first .. *end - 1 are for machine `machine` of `machines`, in nearly equal parts; none if
   there are more machines than shards. The parts need no more memory than a trainer has.
   RAPT_BAD_ARGUMENT: shards is no power of two of at most 1024, machines is less than 1, or there
   is no such machine. */
RAPT_API rapt_status rapt_shards_range(int shards, int machines, int machine, int *first, int *end,
                                       rapt_message *why);
/* The gradient of shard number `shard` of the step; source and target NULL: it is empty, as shards
   of a batch of few sequences are. *record: the shard, for rapt_train_shards_step. Each shard of a
   step once; there is memory for all of them, and for a range of rapt_shards_range, in ascending
   order. RAPT_BAD_ARGUMENT also: gradients of rapt_train_gradient wait for their step. A loss that
   is not finite is no error here: record->loss has it. */
RAPT_API rapt_status rapt_train_shard(rapt_trainer *trainer, int shard, const rapt_tokens *source,
                                      const rapt_tokens *target, rapt_shard *record,
                                      rapt_message *why);
/* Floats from .. until - 1 of this subtree's gradient are final. */
typedef void rapt_ready_fn(void *user, const rapt_subtree *tree, size_t from, size_t until);
/* rapt_train_shard that tells, while it computes, which floats of the largest subtree with this
   shard are final, from the last to the first, so that they can be sent meanwhile. ready: called in
   the caller's thread, between layers and at the end, when all are; it must not call the trainer,
   nor change what it is shown before the end. NULL: not called. Errors
   as rapt_train_shard. */
RAPT_API rapt_status rapt_train_shard_early(rapt_trainer *trainer, int shard,
                                            const rapt_tokens *source, const rapt_tokens *target,
                                            rapt_shard *record, rapt_ready_fn *ready, void *user,
                                            rapt_message *why);
/* The largest subtrees of the shards computed since the last step, in the order of their shards:
   the first `capacity` of them into list. Returns how many there are; they and their gradients last
   until the next call with the trainer, and the caller may change those. */
RAPT_API int rapt_train_shard_sums(const rapt_trainer *trainer, rapt_subtree *list, int capacity);
/* The sum of the tree over subtrees that cover all of `shards` in order; of each, floats
   [0, floats) behind `gradient`. It goes into list[0].gradient; the other gradients become
   unspecified. RAPT_BAD_ARGUMENT: they do not cover all shards in order. */
RAPT_API rapt_status rapt_shards_sum(int shards, const rapt_subtree *list, int count, size_t floats,
                                     rapt_message *why);
/* As rapt_train_step, for a step in shards. records: all limits.shards of them in order, wherever
   they were computed. Unless all shards were computed here, the sum of their gradients is in the
   block that rapt_trainer_gradients gives after the last rapt_train_shard. RAPT_NOT_FINITE also:
   the loss of a shard was infinite or NaN; the step is dropped, as if it had not been finite here.
 */
RAPT_API rapt_status rapt_train_shards_step(rapt_trainer *trainer, const rapt_shard *records,
                                            rapt_report *report, rapt_message *why);
/* Forgets the shards computed since the last step, as if they had not been: the same calls again
   give the same bits, and the trainer can be saved. */
RAPT_API void rapt_train_shards_discard(rapt_trainer *trainer);

/* Who computes the products of this trainer, for people: "built-in", or those products y, dx and dW
   of layers that OpenBLAS computes, with outputs x inputs of their weights, as in "OpenBLAS: y
   2048x512, dW 512x2048". The text is the trainer's, until its next call. NULL for NULL. */
RAPT_API const char *rapt_trainer_products(const rapt_trainer *trainer);

/* A new peak learning rate; the schedule goes on. A step and rapt_trainer_save refuse one that
   options.rate could not be. */
RAPT_API void rapt_trainer_set_rate(rapt_trainer *trainer, float rate);

/* A checkpoint: parameters, Adam moments, step and random counters. A trainer that has loaded it
   continues bit for bit. Atomically replaced (temporary file, fsync, rename). Metadata as in
   rapt_model_save; rapt_model_load reads such a file too. RAPT_BAD_ARGUMENT: gradients have been
   added that no step has applied, or the rate is out of its range. RAPT_NOT_FINITE: a parameter is
   infinite or NaN. Allocates for the length of the call. */
RAPT_API rapt_status rapt_trainer_save(const rapt_trainer *trainer, const char *path,
                                       const rapt_metadata *metadata, int count, rapt_message *why);
/* The trainer's model must have the configuration of the file; it gets the file's parameters.
   RAPT_BAD_FILE: a counter, parameter or moment is missing or out of its range, and *why names it.
   RAPT_BAD_ARGUMENT or RAPT_NO_MEMORY, with RAPT_PRODUCTS_AUTO: OpenBLAS computed products of the
   run and cannot be loaded; with RAPT_PRODUCTS_BUILTIN the run goes on, with other bits. */
RAPT_API rapt_status rapt_trainer_load(rapt_trainer *trainer, const char *path, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
