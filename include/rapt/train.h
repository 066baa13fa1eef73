/* train.h - training: teacher forcing, label-smoothed cross-entropy, Adam. A trainer is given a
   model and options; batches yield losses and gradients, and steps change the model. While the
   trainer computes, no session may run on that model. One thread at a time may use a trainer. */
#ifndef RAPT_TRAIN_H
#define RAPT_TRAIN_H

#include "transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the learning rate changes. It rises linearly from 0 to `rate` over the warm-up steps, then:
 */
typedef enum rapt_schedule {
    RAPT_SCHEDULE_INVERSE_SQRT, /* rate * sqrt(warmup / step) */
    RAPT_SCHEDULE_LINEAR,       /* falls linearly to 0 at `steps`; 0 after the warm-up if `steps` is
                                   not later */
    RAPT_SCHEDULE_CONSTANT      /* rate */
} rapt_schedule;

/* Who computes the matrix products of training. */
typedef enum rapt_products {
    RAPT_PRODUCTS_BUILTIN,  /* this library: the same bits for any number of threads and on every
                               instruction set with a fused multiply-add, see rapt_isa */
    RAPT_PRODUCTS_OPENBLAS, /* OpenBLAS: the same bits for any number of threads.
                               rapt_trainer_create loads it into the process, where it stays;
                               RAPT_BAD_ARGUMENT if it is not installed */
    RAPT_PRODUCTS_AUTO      /* whichever is faster, for each shape of weights and each of its three
                               products: rapt_trainer_create measures them for a few tenths of a
                               second. Without OpenBLAS, the built-in ones. A checkpoint keeps the
                               choice, so that a continued run has the same bits; another run may
                               choose differently */
} rapt_products;

/* The baseline that is subtracted from the rewards of sampled keys. It does not depend on the draws
   of its own batch, so it changes the variance of the gradient but not its mean. */
typedef enum rapt_baseline {
    RAPT_BASELINE_MEAN,    /* for each loss in the reward, the running mean of a token's loss */
    RAPT_BASELINE_EXPECTED /* the same losses with expected values instead of draws in every
                              sequence: one more forward pass (Rennie et al. 2017, with the mean
                              field instead of the greedy choice) */
} rapt_baseline;

/* How to train. Start from rapt_train_options_default. */
typedef struct rapt_train_options { /* size-first, see base.h */
    size_t size;
    float rate;             /* peak learning rate, at most 1e30 */
    int warmup;             /* steps in which the rate rises to its peak; 0: it starts there */
    int steps;              /* when RAPT_SCHEDULE_LINEAR reaches 0; otherwise not read */
    rapt_schedule schedule; /* of the learning rate */
    /* Adam (Kingma and Ba 2015, algorithm 1): */
    float beta1;             /* decay of the first moment, 0 to below 1 */
    float beta2;             /* decay of the second moment, 0 to below 1 */
    float epsilon;           /* added to the root of the second moment, above 0 */
    float weight_decay;      /* decoupled, at most 1e6; 0: none */
    float clip_norm;         /* largest norm of the whole gradient; 0: no clipping */
    float label_smoothing;   /* share of a target spread over the vocabulary, 0 to below 1 */
    float dropout;           /* share of embeddings and sublayer outputs, 0 to below 1 */
    float attention_dropout; /* share of attention weights, likewise */
    float ffn_dropout;       /* share of the hidden units of feed-forward layers, likewise */
    rapt_products products;  /* 0: built-in */
    uint64_t seed;           /* of dropout and of sampled keys */
    /* not 0: targets are y1 .. yn, and the library puts begin and end around each of them. 0: the
       caller does, and begin and end must be 0. The library cannot notice if the caller forgets
       them, but such a model never predicts the first token of a target, nor its end. */
    int frame;
    int32_t begin; /* put before each target */
    int32_t end;   /* put after each target */
    /* The next five apply where RAPT_NORMALIZER_SAMPLE draws keys; all 0: as in Williams 1992. All
       but reward_decay come from Xu et al. 2015, section 4.1. */
    rapt_baseline baseline; /* subtracted from rewards */
    float expected_share;   /* share of sequences that attend to expected values, as with SOFTMAX */
    float reward_scale;     /* multiplies rewards and baselines; 0: 1 */
    float reward_decay; /* the loss n rows later counts (1 - decay)^n in a decoder's reward. Above 0
                           the gradient is biased: effects of a row on later ones count less */
    float reward_entropy; /* reward per nat of entropy of the weights of a row that draws, -1e6 to
                             1e6; negative: a cost */
    /* The next two apply where RAPT_NORMALIZER_ARGMAX chooses keys, and are both 0 or both above 0.
       In step n < anneal_steps the weights are softmax(anneal^(n / anneal_steps) x), with its
       gradient; after that they are the arg-max, which passes no gradient to the scores. Evaluation
       always uses the arg-max. */
    float anneal;     /* 1 to 1e6 */
    int anneal_steps; /* steps with a softmax */
    /* Weight, 0 to 1e6, of the guided alignment loss of rapt_train_align (Chen et al. 2016, as in
       Marian). Above 0 it needs config.alignment_layer and cross-attention by softmax. */
    float guided_alignment;
    int reserved;
} rapt_train_options;
/* Sets *options, which has `size` bytes, to: rate 1e-3, warmup 1000, inverse square root, beta 0.9
   and 0.98, epsilon 1e-9, label_smoothing 0.1, dropout 0.1, seed 1, all else 0. On a processor for
   which this library has no vector instructions, products is RAPT_PRODUCTS_AUTO.

       rapt_train_options options;
       rapt_train_options_default(&options, sizeof options); */
RAPT_API void rapt_train_options_default(rapt_train_options *options, size_t size);

/* Results of a call. The caller sets size; a call that succeeds overwrites the rest, and one that
   fails overwrites nothing. Functions accept NULL if no report is wanted. */
typedef struct rapt_report { /* size-first, see base.h */
    size_t size;
    double loss;          /* label-smoothed cross-entropy summed over tokens, in nats */
    double likelihood;    /* negative log-likelihood summed over tokens, in nats */
    long long tokens;     /* predicted target tokens */
    long long correct;    /* predicted target tokens for which the most likely token was right */
    double gradient_norm; /* before clipping, from rapt_train_step; else 0 */
    double rate;          /* learning rate of the step, from rapt_train_step; else 0 */
    long long step;       /* number of steps so far */
    double alignment;     /* loss of guided alignment summed over tokens, times its weight; 0 for
                             evaluations and steps in shards */
} rapt_report;

/* The gradients, moments and activations of a model in training. One thread at a time may use a
   trainer. */
typedef struct rapt_trainer rapt_trainer;

/* The largest batch of a call. The begin and the end of each target count as target tokens, no
   matter who adds them. A decoder-only model does not need source_tokens. An encoder-only model
   does not need target_tokens, since it has one label per source token. */
typedef struct rapt_train_limits { /* size-first, see base.h */
    size_t size;
    int batch;         /* sequences, 1 or more */
    int source_tokens; /* of all sequences together, 1 or more */
    int target_tokens; /* of all sequences together, 2 or more */
    int threads;       /* see base.h */
    int shards; /* of a step of rapt_train_shard: a power of two of at most 1024, with memory for
                   log2(shards) more gradients; 0: that function is not used */
    int reserved;
} rapt_train_limits;

/* Returns the bytes that rapt_trainer_create allocates, or 0 if an argument is not valid or the
   number overflows. */
RAPT_API size_t rapt_trainer_bytes(const rapt_model *model, const rapt_train_limits *limits);
/* Creates a trainer. The model is not copied and must outlive it; options and limits are copied.
   *trainer is the caller's to free. RAPT_BAD_ARGUMENT: an option or limit is out of range or does
   not suit the model; *why names it. RAPT_NO_MEMORY. */
RAPT_API rapt_status rapt_trainer_create(rapt_trainer **trainer, rapt_model *model,
                                         const rapt_train_options *options,
                                         const rapt_train_limits *limits,
                                         const rapt_allocator *allocator, rapt_message *why);
RAPT_API void rapt_trainer_free(rapt_trainer *trainer); /* NULL is allowed */

/* Runs a batch forward and backward and adds the gradient of its summed loss to the trainer's
   gradients. *report describes this batch only.

   With teacher forcing, target b is begin, y1 .. yn, end: its first n+1 tokens are the decoder's
   inputs, its last n+1 tokens the labels. The source of a decoder-only model is NULL or only a
   batch. The target of an encoder-only model holds one label per source token, or per source
   sequence if the configuration pools; a negative one means no label.

   RAPT_BAD_ARGUMENT: a token, label or length is out of range, or a source is empty.
   RAPT_NOT_FINITE: the loss was infinite or NaN; the gradients added since the last step are
   dropped and the model is unchanged. */
RAPT_API rapt_status rapt_train_gradient(rapt_trainer *trainer, const rapt_tokens *source,
                                         const rapt_tokens *target, rapt_report *report,
                                         rapt_message *why);

/* Word alignments of a batch. The labels of all targets form rows: n + 1 for a target y1 .. yn,
   end. Row r is a translation of the source tokens sources[starts[r]] .. sources[starts[r + 1] -
   1], which count from 0 in their own source; it may have none. Will not grow. */
typedef struct rapt_alignment {
    const int *starts;  /* [label rows + 1], starts[0] is 0 */
    const int *sources; /* of all rows, back to back */
} rapt_alignment;
/* Guides the attention in the next call of rapt_train_gradient or rapt_train_shard: the first head
   of cross-attention in layer config.alignment_layer learns to spread the weight of a row evenly
   over its source tokens. This adds to the loss guided_alignment times the sum, over rows with
   source tokens, of the mean of -log(weight + 1e-6) over these tokens, before dropout;
   rapt_report.alignment holds it separately. That next call checks and reads the arrays, which are
   not copied, and forgets them unless it refuses them. NULL cancels an earlier call.
   RAPT_BAD_ARGUMENT: options.guided_alignment is 0. */
RAPT_API rapt_status rapt_train_align(rapt_trainer *trainer, const rapt_alignment *alignment,
                                      rapt_message *why);

/* Takes a step of Adam: divides the gradients by the number of tokens they were added over, clips
   them, updates the parameters and sets the gradients to zero. *report sums this trainer's batches
   since the last step. RAPT_NOT_FINITE: the gradient or its norm is not finite, or a parameter or
   moment would become infinite or NaN; parameters, moments and the number of steps are unchanged,
   and the gradients are zero. RAPT_BAD_ARGUMENT: there are no tokens, or the rate is out of range;
   the gradients stay. */
RAPT_API rapt_status rapt_train_step(rapt_trainer *trainer, rapt_report *report, rapt_message *why);

/* Computes the loss of a batch without dropout and without touching gradients. Batches and errors
   as rapt_train_gradient, but gradients are never dropped. */
RAPT_API rapt_status rapt_train_evaluate(rapt_trainer *trainer, const rapt_tokens *source,
                                         const rapt_tokens *target, rapt_report *report,
                                         rapt_message *why);

/* Returns the gradients, a block of *count floats in the layout of the parameters, and in **tokens
   the number of tokens they were added over. A caller may sum both across machines. Owned by the
   trainer; with limits.shards, the block is valid until the trainer's next call. NULL for NULL. */
RAPT_API float *rapt_trainer_gradients(rapt_trainer *trainer, size_t *count, long long **tokens);
/* Copies the gradient of a parameter to data [rows][columns], in the layout of rapt_model_read.
   RAPT_BAD_ARGUMENT: the index is out of range. */
RAPT_API rapt_status rapt_trainer_read_gradient(const rapt_trainer *trainer, int index, float *data,
                                                rapt_message *why);

/* ---- steps in shards: accumulation on one machine, or the work of many ----

   Such a step consists of S = limits.shards batches, its shards. The gradient of each starts from
   zero, and they are added as the nodes of a complete binary tree over shards 0 .. S-1:

       g(first, count) = g(first, count/2) + g(first + count/2, count/2)

   in floats, with one addition per element. Dropout and draws depend only on the seed, the number
   of steps tried and the number of the shard, and the baseline of sampled keys moves once per step.
   The bits therefore depend neither on who computes a shard nor on when.

   On one machine, call rapt_train_shard for 0 .. S-1, then rapt_train_shards_step. On several, each
   machine has a trainer of the same model, options and number of shards, and the caller moves bytes
   between them in whatever way it likes. Each machine calls rapt_train_shard for a range of shards.
   The records and the subtrees of rapt_train_shard_sums are collected, and rapt_shards_sum adds the
   subtrees, as a whole or in pieces. The sum is copied to rapt_trainer_gradients of every machine,
   and each takes the same step with rapt_train_shards_step.

   Steps of one shard give the same bits as rapt_train_gradient and rapt_train_step. With
   RAPT_PRODUCTS_AUTO each trainer measures for itself, so that bits may differ between machines. */

/* What other machines need to know about a shard besides its gradient. A program may send it as
   bytes to another one that runs the same library. */
typedef struct rapt_shard { /* size-first, see base.h */
    size_t size;
    int shard; /* its number */
    int reserved;
    double loss;       /* as in rapt_report; infinite or NaN: the whole step is dropped */
    double likelihood; /* as in rapt_report */
    long long tokens;  /* as in rapt_report */
    long long correct; /* as in rapt_report */
} rapt_shard;

/* Consecutive shards whose gradients have been added. Will not grow. */
typedef struct rapt_subtree {
    int first;       /* number of the first shard */
    int count;       /* number of shards, a power of two */
    float *gradient; /* as many floats as rapt_trainer_gradients says, owned by the trainer */
} rapt_subtree;

/* Divides shards among machines in nearly equal parts: `machine` of `machines` gets *first .. *end
   - 1, which is empty if there are more machines than shards. A trainer has enough memory for any
   such range. RAPT_BAD_ARGUMENT: shards is not a power of two of at most 1024, machines is less
   than 1, or machine is out of range. */
RAPT_API rapt_status rapt_shards_range(int shards, int machines, int machine, int *first, int *end,
                                       rapt_message *why);
/* Computes the gradient of a shard of the step, and its *record for rapt_train_shards_step. source
   and target NULL: the shard is empty, as when a batch has few sequences. Each shard may be
   computed once per step. There is memory for all of them, or for a range of rapt_shards_range, in
   ascending order. A loss that is not finite is not an error here, but recorded in record->loss.
   RAPT_BAD_ARGUMENT: as rapt_train_gradient; also if gradients of that function wait for a step. */
RAPT_API rapt_status rapt_train_shard(rapt_trainer *trainer, int shard, const rapt_tokens *source,
                                      const rapt_tokens *target, rapt_shard *record,
                                      rapt_message *why);
/* Reports that floats [from, until) of a subtree's gradient are final. */
typedef void rapt_ready_fn(void *user, const rapt_subtree *tree, size_t from, size_t until);
/* Works like rapt_train_shard, but reports while it computes which floats of the largest subtree
   with this shard are final, from the last to the first, so that they can be sent meanwhile. ready
   runs on the calling thread, between layers and at the end, when all floats are final. It must not
   call the trainer, nor change the floats of the subtree before all are final. NULL: no reports.
   Errors as rapt_train_shard. */
RAPT_API rapt_status rapt_train_shard_early(rapt_trainer *trainer, int shard,
                                            const rapt_tokens *source, const rapt_tokens *target,
                                            rapt_shard *record, rapt_ready_fn *ready, void *user,
                                            rapt_message *why);
/* Copies the largest subtrees of the shards computed since the last step to list [capacity], in the
   order of their shards, and returns their number, which may exceed capacity. They and their
   gradients are valid until the trainer's next call; the caller may change the gradients. */
RAPT_API int rapt_train_shard_sums(const rapt_trainer *trainer, rapt_subtree *list, int capacity);
/* Adds the gradients of subtrees, list [count], which cover all of `shards` in order. Only the
   first `floats` floats at each gradient pointer are added, so that the gradients may be summed in
   pieces.
   The sum is left in list[0].gradient; the other gradients become unspecified. RAPT_BAD_ARGUMENT:
   the subtrees do not cover all shards in order. */
RAPT_API rapt_status rapt_shards_sum(int shards, const rapt_subtree *list, int count, size_t floats,
                                     rapt_message *why);
/* Takes a step with the gradients of shards, as rapt_train_step does. records [limits.shards] has
   the records of all shards in order, wherever they were computed. Unless this trainer computed all
   of them, the sum of their gradients must be in the block that rapt_trainer_gradients returns
   after the last rapt_train_shard. RAPT_NOT_FINITE also if the loss of a shard was infinite or NaN;
   the step is then dropped. */
RAPT_API rapt_status rapt_train_shards_step(rapt_trainer *trainer, const rapt_shard *records,
                                            rapt_report *report, rapt_message *why);
/* Forgets the shards computed since the last step. The same calls then give the same bits again,
   and the trainer can be saved. */
RAPT_API void rapt_train_shards_discard(rapt_trainer *trainer);

/* Returns a text for human readers that says how this trainer computes matrix products: "built-in",
   or which of the products y, dx and dW OpenBLAS computes, by outputs x inputs of their weights, as
   in "OpenBLAS: y 2048x512, dW 512x2048". Owned by the trainer, valid until its next call. NULL for
   NULL. */
RAPT_API const char *rapt_trainer_products(const rapt_trainer *trainer);

/* Sets the peak learning rate; the schedule continues. If the rate is out of the range of
   options.rate, the next step or rapt_trainer_save fails. */
RAPT_API void rapt_trainer_set_rate(rapt_trainer *trainer, float rate);

/* Saves a checkpoint: parameters, moments, the number of steps and random counters. A trainer that
   loads it continues bit for bit. The file is replaced atomically (temporary file, fsync, rename);
   metadata are as in rapt_model_save, and rapt_model_load can read the file too. Allocates memory
   for the duration of the call. RAPT_BAD_ARGUMENT: there are gradients that no step has applied, or
   the rate is out of range. RAPT_NOT_FINITE: a parameter is infinite or NaN. RAPT_NO_FILE: the file
   cannot be written. */
RAPT_API rapt_status rapt_trainer_save(const rapt_trainer *trainer, const char *path,
                                       const rapt_metadata *metadata, int count, rapt_message *why);
/* Continues from a checkpoint, whose configuration must be that of the trainer's model; the model
   gets its parameters. RAPT_BAD_FILE: a counter, parameter or moment is missing or out of range,
   and *why names it. RAPT_BAD_ARGUMENT or RAPT_NO_MEMORY, with RAPT_PRODUCTS_AUTO: OpenBLAS
   computed products of that run and cannot be loaded. RAPT_PRODUCTS_BUILTIN continues with other
   bits. */
RAPT_API rapt_status rapt_trainer_load(rapt_trainer *trainer, const char *path, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
