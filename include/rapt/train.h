/* train.h - training with teacher forcing, label-smoothed cross-entropy and Adam; also low-rank
   adapters, data-parallel steps and checkpoints. A trainer is created for a model. Each batch adds
   gradients, and each step updates the model. During a call to a trainer, no session may use its
   model. */
#ifndef RAPT_TRAIN_H
#define RAPT_TRAIN_H

#include "transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Schedules of the learning rate, which rises linearly from 0 to `rate` during the warm-up and then
   follows one of these rules: */
typedef enum rapt_schedule {
    RAPT_SCHEDULE_INVERSE_SQRT, /* rate * sqrt(warmup / step), where a warmup of 0 counts as 1 */
    RAPT_SCHEDULE_LINEAR,       /* falls linearly, to 0 at step `steps`; if steps <= warmup, the
                                   rate is 0 after the warm-up */
    RAPT_SCHEDULE_CONSTANT      /* stays at `rate` */
} rapt_schedule;

/* The baseline that is subtracted from the rewards of sampled keys. The reward of a key is the
   negative sum of the losses of the rows that it can affect; the baseline is computed in the same
   way, but with an estimate in place of each loss. The estimate does not depend on the keys drawn
   in the batch, so the baseline changes only the variance of the gradient, not its mean. */
typedef enum rapt_baseline {
    RAPT_BASELINE_MEAN,    /* the estimate is a running mean of the loss per token in earlier
                              batches */
    RAPT_BASELINE_EXPECTED /* the estimate is the loss of the same row if all sequences attend to
                              expected values instead of drawn keys. This takes one more forward
                              pass (as in Rennie et al. 2017, but with expected values in place of
                              greedy choices) */
} rapt_baseline;

/* How a parameter is trained. */
typedef enum rapt_tuning {
    RAPT_TUNING_FULL,   /* every element is trained */
    RAPT_TUNING_FROZEN, /* the parameter does not change */
    RAPT_TUNING_LORA    /* the matrix W is W0 + s B A, where W0 is frozen, and A and B are trained.
                           Only the matrices of linear layers and of token embeddings can be trained
                           in this way */
} rapt_tuning;

/* Options of a trainer. Start from rapt_train_options_default. */
typedef struct rapt_train_options { /* size-first, see base.h */
    size_t size;
    float rate;             /* peak learning rate, 0 to 1e30 */
    int warmup;             /* steps during which the rate rises to its peak, 0 or more; 0 means no
                               warm-up */
    int steps;              /* step at which RAPT_SCHEDULE_LINEAR reaches 0, 0 or more; other
                               schedules ignore it */
    rapt_schedule schedule; /* how the learning rate changes */
    /* Adam (Kingma and Ba 2015, algorithm 1): */
    float beta1;             /* decay of the first moment, at least 0 and below 1 */
    float beta2;             /* decay of the second moment, at least 0 and below 1 */
    float epsilon;           /* added to the root of the second moment, above 0 */
    float weight_decay;      /* decoupled weight decay, 0 to 1e6; 0 means none */
    float clip_norm;         /* maximum norm of the whole gradient, 0 or more; 0 means no
                                clipping */
    float label_smoothing;   /* fraction of a label's probability that is spread over the
                                vocabulary, at least 0 and below 1 */
    float dropout;           /* fraction of embeddings and sublayer outputs dropped, at least 0 and
                                below 1 */
    float attention_dropout; /* fraction of attention weights dropped, same range */
    float ffn_dropout;       /* fraction of hidden units of feed-forward layers dropped, same
                                range */
    rapt_products products;  /* 0 is built-in; see also rapt_train_options_default */
    uint64_t seed;           /* seed for dropout, noise, sampled keys and adapters */
    /* If nonzero, targets are y1 .. yn, and the library adds begin and end to each of them. If 0,
       the caller must have added these tokens, and the fields `begin` and `end` must be 0. In a
       target of two or more tokens, the library cannot detect that begin and end are missing; a
       model trained without them never learns to predict the first token of a target or its end.
       Must be 0 for an encoder-only model. */
    int frame;
    int32_t begin; /* added before each target */
    int32_t end;   /* added after each target */
    /* The next five fields apply to RAPT_NORMALIZER_SAMPLE, which draws keys; they must be 0 if no
       attention layer uses it. If all are 0, training follows Williams 1992. The running mean as
       baseline, expected_share, reward_scale and reward_entropy are from Xu et al. 2015, section
       4.1. */
    rapt_baseline baseline; /* baseline that is subtracted from rewards */
    float expected_share;   /* fraction of sequences that attend to expected values, as with
                               RAPT_NORMALIZER_SOFTMAX; 0 to 1 */
    float reward_scale;     /* factor applied to rewards and baselines, 0 to 1e6; 0 means 1 */
    float reward_decay;     /* in the reward of a decoder row, the loss n rows later has weight (1 -
                               reward_decay)^n; 0 to 1. Values above 0 bias the gradient, because
                               effects on later rows count less */
    float reward_entropy;   /* reward per nat of entropy of the distribution from which a row draws
                               its key, -1e6 to 1e6; a negative value penalizes entropy */
    /* The next two fields apply to RAPT_NORMALIZER_ARGMAX. Both must be 0, or both at least 1; they
       must be 0 if no attention layer uses this normalizer. In step n < anneal_steps, counted from
       0, the weights are softmax(anneal^(n / anneal_steps) x), which passes gradients to the scores
       x. In later steps, and always in evaluation, the arg-max is used, which passes no
       gradients. */
    float anneal;     /* factor applied to x, reached after anneal_steps steps, 1 to 1e6, or 0 */
    int anneal_steps; /* number of steps with a softmax, 0 or more */
    /* Weight of the guided alignment loss, 0 to 1e6; see rapt_train_align (Chen et al. 2016, as in
       Marian). If above 0, config.alignment_layer must be set, alignment_heads must be 0 or 1,
       differential, talking_heads and monotonic must be 0, and cross_normalizer must be softmax. */
    float guided_alignment;
    /* 1: trains the model for RAPT_PRECISION_INT8 (Jacob et al. 2018, section 3). The losses are
       bit-identical to those of the model quantized to 8 bits. The backward pass treats the
       rounding of weights and activations as a function with derivative 1 (the straight-through
       estimator, Bengio et al. 2013). Parameters and moments remain floats, and `products` applies
       to the backward pass. If the model was imported from a quantized file, rapt_trainer_create
       removes its scales (rapt_model_scales), which no longer apply after a step. The trainer needs
       additional memory: 1.25 times the size of the model, and a copy of the largest activations.
       See also rapt_trainer_set_quantized. 0: trains without quantization */
    int quantize_aware;
    /* [rapt_model_tensors] one rapt_tuning per parameter, to fine-tune a model. NULL means that all
       parameters are trained in full. rapt_trainer_create reads the array; it is not needed
       afterwards. At least one parameter must not be frozen. Frozen parameters have no moments and
       are not included in rapt_report.gradient_norm. */
    const uint8_t *tuning;
    /* The next two fields apply to RAPT_TUNING_LORA (Hu et al. 2021, arXiv 2106.09685). For each
       matrix W [rows][columns] trained in this way, the trainer stores a copy W0 of its initial
       values, and learns A [lora_rank][columns] and B [rows][lora_rank]; s is lora_alpha /
       lora_rank. A is initialized with random numbers of variance 1 / columns, and B with 0. After
       every step W is W0 + s B A, so sessions and model files need no adapters. clip_norm and
       rapt_report.gradient_norm refer to the gradients of A and B instead of the gradient of W.
       Projections that the library stores as one matrix, such as self_attn.qkv.weight, share one A.
       Do not write to W while the trainer exists. */
    int lora_rank;    /* 1 to the smaller dimension of each such matrix; 0 if no parameter has
                         RAPT_TUNING_LORA */
    float lora_alpha; /* 0 to 1e6; 0 means lora_rank, so that s is 1. Must be 0 if lora_rank is 0 */
    /* Weight of the coverage loss, 0 to 1e6 (See, Liu and Manning 2017, equations 12 and 13, where
       the weight is 1). The loss of a target token is the sum over source tokens s of
       min(weight[s], coverage[s]), averaged over all cross-attention heads in all layers. It is
       large if the token attends to the same source tokens as earlier target tokens did. If above
       0, cross_score must be coverage, cross_normalizer must not be one that gives all weight to
       one key, and differential must be 0. */
    float coverage_loss;
    /* Standard deviation of the noise that is added to the energies of monotonic cross-attention, 0
       to 1e6 (Raffel et al. 2017, section 2.4). It teaches the model to stop decisively, which the
       hard stops at inference require. Models without monotonic attention ignore it. */
    float monotonic_noise;
} rapt_train_options;
/* Sets *options, which is `size` bytes long, to the defaults: rate 1e-3, warmup 1000,
   RAPT_SCHEDULE_INVERSE_SQRT, beta1 0.9, beta2 0.98, epsilon 1e-9, label_smoothing 0.1, dropout
   0.1, seed 1, monotonic_noise 1, and all other fields 0, except that `products` is
   RAPT_PRODUCTS_AUTO if the library has no vector kernels for this processor.

       rapt_train_options options;
       rapt_train_options_default(&options, sizeof options); */
RAPT_API void rapt_train_options_default(rapt_train_options *options, size_t size);

/* Results of a call. The caller sets size; a successful call overwrites the other fields. Pass NULL
   if no report is needed. */
typedef struct rapt_report { /* size-first, see base.h */
    size_t size;
    double loss;          /* label-smoothed cross-entropy summed over tokens, in nats */
    double likelihood;    /* negative log-likelihood summed over tokens, in nats */
    long long tokens;     /* number of predicted target tokens; for an encoder-only model, the
                             number of labels that are not negative */
    long long correct;    /* number of these tokens to which the model gave the highest
                             probability */
    double gradient_norm; /* norm of the mean gradient per token, before clipping, set by calls that
                             take a step; else 0 */
    double rate;          /* learning rate of the step, set by the same calls; else 0 */
    long long step;       /* number of steps so far */
    double alignment;     /* guided alignment loss summed over tokens, times its weight; 0 for
                             evaluations and sharded steps */
    double coverage;      /* coverage loss summed over tokens, times its weight; 0 for
                             evaluations */
} rapt_report;

/* The gradients, moments and activations of a model that is being trained. Only one thread at a
   time may use a trainer. */
typedef struct rapt_trainer rapt_trainer;

/* The largest batch that can be passed to a call. The begin and end tokens of each target are
   counted as target tokens, whether or not the library adds them. source_tokens may be 0 for a
   decoder-only model. target_tokens may be 0 for an encoder-only model, which has at most one label
   per source token. */
typedef struct rapt_train_limits { /* size-first, see base.h */
    size_t size;
    int batch;         /* sequences, 1 or more */
    int source_tokens; /* total over all sequences, 1 or more if the model reads a source */
    int target_tokens; /* total over all sequences, 2 or more if the model has a decoder */
    int threads;       /* maximum number of threads, see base.h */
    int shards;   /* shards per sharded step (see below), a power of two, at most 1024; needs memory
                     for log2(shards) additional gradients. 0 means that rapt_train_shard cannot be
                     used */
    int reserved; /* must be 0 */
} rapt_train_limits;

/* Returns the number of bytes that a trainer with default options allocates, or 0 if an argument is
   invalid or the number overflows. */
RAPT_API size_t rapt_trainer_bytes(const rapt_model *model, const rapt_train_limits *limits);
/* Works like rapt_trainer_bytes, but for the given options; NULL means the defaults. Checks only
   the options on which the number depends: tuning, adapters and quantize_aware. A frozen parameter
   needs no moments, and one with RAPT_TUNING_LORA needs W0, A, B and the moments of A and B instead
   of its own moments. */
RAPT_API size_t rapt_trainer_bytes_with(const rapt_model *model, const rapt_train_options *options,
                                        const rapt_train_limits *limits);
/* Creates a trainer, which the caller must free. The model is not copied and must outlive the
   trainer; options and limits are copied. The parameters of a mapped model are first copied to
   memory. Returns RAPT_BAD_ARGUMENT if the model is not in RAPT_PRECISION_F32, or if an option or
   limit is out of range or does not suit the model (*why names it), and RAPT_NO_MEMORY if an
   allocation fails. */
RAPT_API rapt_status rapt_trainer_create(rapt_trainer **trainer, rapt_model *model,
                                         const rapt_train_options *options,
                                         const rapt_train_limits *limits,
                                         const rapt_allocator *allocator, rapt_message *why);
/* Frees a trainer. NULL is allowed. */
RAPT_API void rapt_trainer_free(rapt_trainer *trainer);

/* Runs the forward and backward passes of a batch, and adds the gradient of its summed loss to the
   trainer's gradients. *report describes only this batch.

   Training uses teacher forcing: a target is begin, y1 .. yn, end; its first n + 1 tokens are the
   decoder's inputs, and its last n + 1 tokens are the labels. For a decoder-only model, `source` is
   NULL, or only source->batch is set. For an encoder-only model, the target contains one label per
   source token, or per source sequence if config.pooling is set; negative labels are ignored.

   Returns RAPT_BAD_ARGUMENT if the batch exceeds the limits, if a token, label or length is out of
   range, if a source is empty, if sources and targets do not match, if alignments from
   rapt_train_align do not suit the batch, or if there are shards from rapt_train_shard that no step
   has applied. Returns RAPT_NOT_FINITE if the loss is infinite or NaN. In that case the gradients
   added since the last step are discarded, and the model is unchanged. */
RAPT_API rapt_status rapt_train_gradient(rapt_trainer *trainer, const rapt_tokens *source,
                                         const rapt_tokens *target, rapt_report *report,
                                         rapt_message *why);

/* Word alignments of a batch. Each label of each target is a row, so y1 .. yn and end are n + 1
   rows. Row r is aligned to the source tokens sources[starts[r]] .. sources[starts[r + 1] - 1],
   possibly none. Source tokens are numbered from 0 within their own source. This struct will not
   grow. */
typedef struct rapt_alignment {
    const int *starts;  /* [label rows + 1], starts[0] is 0 */
    const int *sources; /* the source tokens of all rows, back to back */
} rapt_alignment;
/* Guides the attention in the next call to rapt_train_gradient, rapt_train_shard or
   rapt_train_shard_early. The first head of cross-attention in layer config.alignment_layer learns
   to spread the weight of a row evenly over its aligned source tokens. This adds a term to the
   loss: options.guided_alignment times a sum over all rows that have aligned tokens. A row
   contributes the mean of -log(weight + 1e-6) over its aligned tokens, with the weights before
   dropout. rapt_report.alignment reports this term separately.

   The arrays are not copied; the next call to one of these functions checks and reads them. They
   apply only to that call, but if it returns RAPT_BAD_ARGUMENT, they remain set for the call after
   it. If alignment is NULL, an earlier call to rapt_train_align is canceled. Otherwise returns
   RAPT_BAD_ARGUMENT if options.guided_alignment is 0. */
RAPT_API rapt_status rapt_train_align(rapt_trainer *trainer, const rapt_alignment *alignment,
                                      rapt_message *why);

/* Takes an Adam step: divides the gradients by the number of tokens that contributed to them, clips
   them, updates the parameters and sets the gradients to 0. *report receives the totals over this
   trainer's batches since the last step.

   Returns RAPT_NOT_FINITE if the gradient or its norm is not finite, or if a parameter or moment
   would become infinite or NaN. In that case the parameters, moments and number of steps are
   unchanged, and the gradients are set to 0. Returns RAPT_BAD_ARGUMENT if there are no tokens, the
   rate is out of range, or there are shards from rapt_train_shard, which need
   rapt_train_shards_step; the gradients are then kept. */
RAPT_API rapt_status rapt_train_step(rapt_trainer *trainer, rapt_report *report, rapt_message *why);

/* Computes the loss of a batch, without dropout and without changing the gradients. With
   options.quantize_aware, it is the loss of the model quantized to 8 bits. source and target are as
   for rapt_train_gradient. Returns RAPT_BAD_ARGUMENT if the batch exceeds the limits, if a token,
   label or length is out of range, if a source is empty, or if sources and targets do not match.
   Returns RAPT_NOT_FINITE if the loss is infinite or NaN. */
RAPT_API rapt_status rapt_train_evaluate(rapt_trainer *trainer, const rapt_tokens *source,
                                         const rapt_tokens *target, rapt_report *report,
                                         rapt_message *why);

/* Returns the gradients, a block of *count floats in the layout of the parameters. **tokens is the
   number of tokens that contributed to them. The caller may change both, for example to sum them
   across machines. In a sharded step, **tokens is 0 and is not read, since the records contain the
   numbers of tokens. count and tokens may be NULL. The block belongs to the trainer; if
   limits.shards is not 0, it is valid until the trainer's next call. Returns NULL for NULL. */
RAPT_API float *rapt_trainer_gradients(rapt_trainer *trainer, size_t *count, long long **tokens);
/* Copies the gradient of a parameter to data [rows][columns], in the layout of rapt_model_read.
   Returns RAPT_BAD_ARGUMENT if the index is out of range. */
RAPT_API rapt_status rapt_trainer_read_gradient(const rapt_trainer *trainer, int index, float *data,
                                                rapt_message *why);
/* Copies the adapter of a parameter with RAPT_TUNING_LORA: A to a [lora_rank][columns], and B to b
   [rows][lora_rank]. Either pointer may be NULL. Returns RAPT_BAD_ARGUMENT if the index is out of
   range or the parameter has no adapter. */
RAPT_API rapt_status rapt_trainer_read_adapter(const rapt_trainer *trainer, int index, float *a,
                                               float *b, rapt_message *why);

/* ---- sharded steps: gradient accumulation on one machine, or training on many ----

   In a sharded step, the batch is divided into S = limits.shards smaller batches, called shards.
   Each shard has its own gradient. The gradients are summed in a complete binary tree over shards
   0 .. S-1:

       g(first, count) = g(first, count/2) + g(first + count/2, count/2)

   in single precision. Random numbers depend only on the seed, the number of steps attempted and
   the shard's number. The baseline for sampled keys is updated once per step. Results are therefore
   bit-identical no matter which machine computes a shard, or when.

   On one machine, call rapt_train_shard for 0 .. S-1, then rapt_train_shards_step. On several
   machines, each has a trainer with the same model, options and number of shards, and the caller
   transfers data between them by any means:

       1. Each machine calls rapt_train_shard for a range of shards.
       2. The caller collects the records of all shards and the subtrees that rapt_train_shard_sums
          lists on each machine.
       3. The caller adds the subtrees with rapt_shards_sum, in one piece or in several, and copies
          the sum to the gradients of every machine (rapt_trainer_gradients).
       4. Each machine takes the same step with rapt_train_shards_step.

   The results of a step with a single shard are bit-identical to those of rapt_train_gradient and
   rapt_train_step. With RAPT_PRODUCTS_AUTO, each trainer makes its own measurements, so results may
   differ slightly between machines. */

/* The results of a shard that other machines need in addition to its gradient. A program may send
   the struct as raw bytes to another program that uses the same version of the library on a machine
   with the same byte order. */
typedef struct rapt_shard { /* size-first, see base.h */
    size_t size;
    int shard;         /* number of the shard */
    int reserved;      /* must be 0 */
    double loss;       /* as in rapt_report; if infinite or NaN, the whole step is skipped */
    double likelihood; /* as in rapt_report */
    long long tokens;  /* as in rapt_report */
    long long correct; /* as in rapt_report */
    double coverage;   /* as in rapt_report */
} rapt_shard;

/* Consecutive shards whose gradients have been added. This struct will not grow. */
typedef struct rapt_subtree {
    int first;       /* number of the first shard */
    int count;       /* number of shards, a power of two */
    float *gradient; /* as many floats as rapt_trainer_gradients reports, owned by the trainer */
} rapt_subtree;

/* Divides shards among machines in nearly equal ranges. Machine number `machine` of `machines`,
   counted from 0, gets shards [*first, *end). If there are more machines than shards, some ranges
   are empty. A trainer has enough memory for any of these ranges. Returns RAPT_BAD_ARGUMENT if
   shards is not a power of two up to 1024, machines is less than 1, or machine is out of range. */
RAPT_API rapt_status rapt_shards_range(int shards, int machines, int machine, int *first, int *end,
                                       rapt_message *why);
/* Computes the gradient of one shard of a step, and fills in *record for rapt_train_shards_step. If
   source and target are NULL, the shard is empty. A batch with fewer sequences than shards needs
   empty shards. Each shard may be computed once per step. A trainer has enough memory to
   compute all shards, or a range from rapt_shards_range, in ascending order; in any other order, a
   call may return RAPT_BAD_ARGUMENT.

   Returns RAPT_BAD_ARGUMENT if the batch exceeds the limits, a token, label or length is out of
   range, a source is empty, sources and targets do not match, or alignments from rapt_train_align
   do not suit the batch. Also returns RAPT_BAD_ARGUMENT if limits.shards is 0, if shard is out of
   range or has been computed for this step, or if there are gradients from rapt_train_gradient that
   no step has applied. A loss that is infinite or NaN is not an error here; record->loss reports
   it. */
RAPT_API rapt_status rapt_train_shard(rapt_trainer *trainer, int shard, const rapt_tokens *source,
                                      const rapt_tokens *target, rapt_shard *record,
                                      rapt_message *why);
/* Reports that floats [from, until) of a subtree's gradient are final. */
typedef void rapt_ready_fn(void *user, const rapt_subtree *tree, size_t from, size_t until);
/* Works like rapt_train_shard, but calls `ready` while it computes, as floats of the largest
   subtree that contains this shard become final. They become final from the last to the first, and
   can be sent while the rest is computed. `ready` runs on the calling thread, between layers and at
   the end, when all floats are final. It must not use the trainer, must not change the floats of
   the subtree before all of them are final, and must return, because other threads wait for it. If
   a later shard has already been computed, `ready` is called only at the end. `ready` may be NULL.
   Errors are the same as for rapt_train_shard. */
RAPT_API rapt_status rapt_train_shard_early(rapt_trainer *trainer, int shard,
                                            const rapt_tokens *source, const rapt_tokens *target,
                                            rapt_shard *record, rapt_ready_fn *ready, void *user,
                                            rapt_message *why);
/* Finds the largest complete subtrees of the shards computed since the last step, copies them to
   list [capacity] in the order of their shards, and returns how many there are, which may exceed
   capacity; 0 for NULL. list may be NULL. The gradients of the subtrees are valid until the
   trainer's next call; the caller may change them. */
RAPT_API int rapt_train_shard_sums(const rapt_trainer *trainer, rapt_subtree *list, int capacity);
/* Adds the gradients of the subtrees in list [count], which must cover all `shards` shards in
   order. Only the first `floats` floats at each gradient pointer are added, so a caller can sum the
   gradients in pieces. The sum is stored in list[0].gradient; the other gradients become
   unspecified. Returns RAPT_BAD_ARGUMENT if the subtrees are not complete or do not cover all
   shards in order, or if `shards` is not a power of two up to 1024. */
RAPT_API rapt_status rapt_shards_sum(int shards, const rapt_subtree *list, int count, size_t floats,
                                     rapt_message *why);
/* Takes a step, as rapt_train_step does, but with the gradients of shards. records [limits.shards]
   contains the records of all shards in order, including those that other machines computed. If
   this trainer did not compute all shards, the caller must have stored the sum of their gradients
   in the block that rapt_trainer_gradients returns after the last rapt_train_shard. Returns
   RAPT_NOT_FINITE as rapt_train_step does, and also if the loss of a shard was infinite or NaN; the
   step is then skipped and the shards are discarded. Returns RAPT_BAD_ARGUMENT if `records` does
   not contain all shards in order, if no shard has tokens, if the rate is out of range, if
   limits.shards is 0, or if there are gradients from rapt_train_gradient that no step has
   applied. */
RAPT_API rapt_status rapt_train_shards_step(rapt_trainer *trainer, const rapt_shard *records,
                                            rapt_report *report, rapt_message *why);
/* Discards the shards computed since the last step, so that the trainer can be saved. Computing
   them again gives bit-identical gradients. Gradients from rapt_train_gradient are not discarded.
   NULL is allowed. */
RAPT_API void rapt_train_shards_discard(rapt_trainer *trainer);

/* Describes, for human readers, how this trainer computes matrix products of floats. The text is
   one of these:

       - "built-in";
       - "bf16" or "bf16 tiles", with ", emulated" appended if the instruction is emulated;
       - "OpenBLAS: all large products";
       - a list of the products that OpenBLAS computes, such as "OpenBLAS: y 2048x512, dW 512x2048",
         with y, dx or dW before the shape of the weights (outputs x inputs).

   The string belongs to the trainer and is valid until its next call. Returns NULL for NULL. */
RAPT_API const char *rapt_trainer_products(const rapt_trainer *trainer);

/* Sets the peak learning rate; the schedule continues. If the rate is outside the range of
   options.rate, the next step or rapt_trainer_save fails. */
RAPT_API void rapt_trainer_set_rate(rapt_trainer *trainer, float rate);

/* If options.quantize_aware is set, chooses whether gradients are computed with the model quantized
   to 8 bits, starting with the next batch; otherwise does nothing. The setting is on in a new
   trainer. Typically, training starts with it off and ends with it on. rapt_train_evaluate always
   uses the quantized model, so its losses can be compared throughout. Checkpoints store this
   setting. */
RAPT_API void rapt_trainer_set_quantized(rapt_trainer *trainer, int on);

/* Saves a checkpoint: parameters, adapters, moments, the peak learning rate and the other state of
   the trainer, but not its options. If a trainer with the same options and limits.shards loads the
   checkpoint, its results are bit-identical to those of an uninterrupted run. The file is replaced
   atomically (file.h). metadata has the same meaning as for rapt_model_save, and rapt_model_load
   can also read the file. Allocates memory for the duration of the call.

   Returns RAPT_BAD_ARGUMENT if there are gradients or shards that no step has applied, if the rate
   is out of range, or if rapt_model_save would reject metadata. Returns RAPT_NOT_FINITE if a
   parameter is infinite or NaN, RAPT_NO_FILE if the file cannot be written, and RAPT_NO_MEMORY if
   an allocation fails. */
RAPT_API rapt_status rapt_trainer_save(const rapt_trainer *trainer, const char *path,
                                       const rapt_metadata *metadata, int count, rapt_message *why);
/* Resumes from a checkpoint of a trainer with the same configuration, lora_rank and lora_alpha.
   `tuning` may differ only for parameters that are frozen now. The parameters in the checkpoint are
   copied to the model. The peak learning rate is taken from the checkpoint instead of options.rate.
   Gradients and shards that no step has applied are discarded.

   Returns RAPT_NO_FILE if the file cannot be read, and RAPT_BAD_FILE if it is damaged, is a model
   without a trainer's state, belongs to a trainer with another configuration or other adapters,
   lacks a counter, parameter or moment, or has one that is out of range; *why names it. Returns
   RAPT_NO_MEMORY if an allocation fails. With RAPT_PRODUCTS_AUTO, also returns RAPT_BAD_ARGUMENT if
   the checkpoint selects OpenBLAS for a product and OpenBLAS cannot be loaded now. If `products` is
   not what it was in the trainer that saved the checkpoint, the results may differ slightly from
   those of that trainer. */
RAPT_API rapt_status rapt_trainer_load(rapt_trainer *trainer, const char *path, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
