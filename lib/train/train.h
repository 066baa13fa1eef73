/* train.h - interface of the train layer: the trainer, and the functions that its files share. */
#ifndef RAPT_LIB_TRAIN_H
#define RAPT_LIB_TRAIN_H

#include "model/model.h"
#include <rapt/train.h>

/* The maximum learning rate. It still fits in a float after bias correction. */
#define TRAIN_RATE_MAX ((double)1e30f)

struct trainer_state { /* the numbers in a checkpoint besides parameters, adapters and moments */
#define CHECKPOINT(type, member, key, kind, max, when) type member;
#include "train/checkpoint.def"
};

enum { SHARDS_MAX = 1024, SHARD_LEVELS = 10 };
/* The joins of subtrees (additions of their gradients) that the shard being computed makes
   possible. With rapt_train_shard_early, they are made layer by layer, as soon as the gradient of
   each layer is final. */
struct early {
    rapt_ready_fn *ready; /* NULL if all joins are made after the backward pass */
    void *user;
    float *chain[SHARD_LEVELS + 1]; /* [links + 1] starting with the shard's own gradient; each is
                                       added to the next */
    int links;
    rapt_subtree tree; /* the subtree whose gradient is last in the chain */
    size_t from;       /* the floats at and after this index have been joined and are final */
};
enum { PRODUCTS_TEXT = 1024 };

struct shards { /* shards of the current step that this trainer computed */
    struct early early;
    rapt_subtree held[SHARD_LEVELS + 1]; /* [count] subtrees in the order of their shards */
    float *spare[SHARD_LEVELS];          /* [spares] zeroed blocks other than t->gradients */
    int count, spares;
};

enum { TUNINGS = RAPT_TUNING_LORA + 1 };
/* Consecutive floats of the block that are trained in full. */
struct trained_range {
    size_t from, at, floats; /* from: index of the first float in the block; at: its index in m and
                                v; floats: number of floats */
};
struct tuning {
    struct layout moments; /* parameters that are trained in full, with their offsets in m and v */
    size_t moment_floats;  /* number of floats in m, and in v */
    struct trained_range *ranges; /* [range_count] the same parameters as ranges of the block */
    int range_count;
    /* The matrices that have adapters. `base` is the layout of all W0 in `frozen`; `a` and `b` are
       the layouts of A and of the transpose of B in `adapters`. */
    struct layout base, a, b;
    int *adapted;                        /* [base.count] indices of these matrices in the model */
    size_t floats;                       /* total size of all A and B */
    float *frozen;                       /* [base.floats] */
    double frozen_bound;                 /* largest magnitude in W0 */
    float *adapters, *gradients, *m, *v; /* [floats] */
    float *scaled;                       /* [rank][side] workspace */
    int rank, side;                      /* side: the largest dimension of these matrices */
    float scale;                         /* s; 0 if there are no adapters */
};
/* The arrays that one pass of Adam reads and updates. */
struct trained_part {
    float *p, *g, *m, *v; /* [floats] */
    size_t floats;
};

/* The models for quantization-aware training; all 0 without options.quantize_aware. */
struct quantized_models {
    rapt_model forward;  /* the model quantized to 8 bits */
    rapt_model backward; /* the quantized values as floats, in the layout of the model */
    float *rounded;      /* workspace of struct products */
};

struct rapt_trainer {
    rapt_allocator allocator;
    rapt_model *model;
    rapt_train_options options;
    rapt_train_limits limits;
    struct arena arena;
    struct stack_memory encoder, decoder;
    float *gradients;    /* [layout.floats] sums since the last step */
    float *m, *v;        /* [tuning.moment_floats] Adam's moments */
    double moment_bound; /* upper bound on the magnitudes of all first moments */
    struct tuning tuning;
    float *partial, *loss_workspace, *pack;
    double *step_partial; /* workspace of op/training.c */
    void *attention_workspace;
    int32_t *inputs;         /* [target rows] inputs of the decoder */
    int32_t *labels;         /* [target rows], or [source rows] of an encoder-only model */
    int *input_starts;       /* [batch + 1] */
    float *pooled, *dpooled; /* [batch][D]; NULL unless the model pools */
    float *hidden, *dhidden; /* [batch][D] after the pooler; NULL unless the model has one */
    /* The next eight arrays are NULL unless the model samples keys. */
    float *losses;                          /* [rows] loss of each row of output, 0 if it has no
                                               label */
    float *expected_losses;                 /* [rows] the losses if attention uses expected values
                                               instead of draws */
    uint8_t *expected;                      /* [batch] 1 if a sequence attends to expected values */
    uint8_t *all_expected;                  /* [batch] all 1 */
    float *encoder_reward, *decoder_reward; /* [H][rows] */
    float *encoder_baseline, *decoder_baseline; /* [H][rows] */
    rapt_alignment alignment;                   /* alignment for the next gradient; starts is NULL
                                                   if there is none */
    struct guide guide; /* alignment of the current batch, for the backward pass */
    double *guided;     /* [target rows] guided alignment loss of each row; NULL if the model has no
                           alignment_layer */
    double alignment_loss;         /* guided alignment loss of the last batch with a gradient */
    struct coverage_loss coverage; /* coverage loss of the current batch; without
                                      options.coverage_loss its losses are NULL */
    double coverage_sum;           /* coverage loss of the last batch with a gradient */
    long long tokens; /* number of tokens whose gradients were added since the last step */
    bool added;       /* a gradient was added since the last step, even if it had no tokens */
    rapt_report sums; /* sums over the batches since the last step */
    struct shards shards;
    struct products products; /* how products of floats are computed */
    struct quantized_models quantized;
    char products_text[PRODUCTS_TEXT];
    struct trainer_state state;
};

/* ---- products.c ---- */
/* Returns the number of floats in t->m that measuring products needs. */
size_t rapt__products_scratch(const struct layout *l);
/* Fills in t->products as the options request. RAPT_PRODUCTS_AUTO requires a new trainer, because
   measuring overwrites moments and gradients with zeros. */
void rapt__products_choose(rapt_trainer *t);
/* With RAPT_PRODUCTS_AUTO, fails if *state, which comes from a checkpoint, leaves some products to
   OpenBLAS but OpenBLAS cannot be loaded. The built-in products would not give bit-identical
   results. */
rapt_status rapt__products_check(const rapt_trainer *t, const struct trainer_state *state,
                                 rapt_message *why);
/* With RAPT_PRODUCTS_AUTO, sets t->products from t->state, which must have been loaded and
   checked. */
void rapt__products_restore(rapt_trainer *t);

/* ---- tuning.c: frozen parameters and adapters ---- */
rapt_status rapt__tuning_check(const rapt_train_options *o, const rapt_model *model,
                               rapt_message *why);
/* Lays out t->tuning and the moments, as the options require. */
void rapt__tuning_layout(rapt_trainer *t, struct arena *arena);
/* Copies W0 from the model and initializes A and B. */
void rapt__tuning_begin(rapt_trainer *t);
void rapt__tuning_bound(rapt_trainer *t); /* sets tuning.frozen_bound */
/* Returns the number of parts into which the trained parameters are divided for a step, at least
   1. */
int rapt__trained_parts(const rapt_trainer *t);
struct trained_part rapt__trained_part(const rapt_trainer *t, int index);
/* Computes the gradients of A and B from those of their matrices. All threads of a team must call
   this function and the next one. */
void rapt__adapter_gradients(const struct exec_context *c, rapt_trainer *t);
/* Sets the model's matrices that have adapters to W0 + s B A. */
void rapt__adapters_merge(const struct exec_context *c, rapt_trainer *t);

/* ---- products.c: training for inference in 8-bit arithmetic ---- */
rapt_status rapt__quantized_check(const rapt_train_options *o, const rapt_model *model,
                                  rapt_message *why);
/* Lays out t->quantized, if options.quantize_aware is set. A batch has at most `rows` rows in the
   encoder, and at most `rows` in the decoder. */
void rapt__quantized_layout(rapt_trainer *t, int rows, struct arena *arena);
/* If options.quantize_aware is set, removes the quantization scales from the model's metadata,
   since rapt_model_set_precision would use them to quantize parameters that training has
   changed. */
rapt_status rapt__quantized_begin(const rapt_trainer *t, rapt_message *why);
/* Quantizes the parameters. All threads of a team must call this function. */
void rapt__quantized_fill(const struct exec_context *c, const rapt_trainer *t);

/* ---- batch.c ---- */
/* Runs one batch forward and, if `gradient`, backward. The number of the call, state.calls + shard,
   determines dropout and draws. *sums receives the losses of the batch; infinite or NaN losses are
   not an error here. */
rapt_status rapt__trainer_batch(rapt_trainer *t, const rapt_tokens *source,
                                const rapt_tokens *target, bool gradient, int shard,
                                struct loss *sums, rapt_message *why);

/* ---- trainer.c ---- */
/* Writes the caller's report, unless it is NULL. */
rapt_status rapt__report_write(rapt_report *report, const rapt_report *own, rapt_message *why);
/* Returns true if gradients from rapt_train_gradient have not yet been applied by a step. */
static inline bool rapt__gradient_waits(const rapt_trainer *t)
{
    return t->tokens || t->added;
}
/* Discards everything added since the last step, after a batch whose loss is not finite. That batch
   still counts in state.calls. */
void rapt__trainer_discard(rapt_trainer *t);
/* Checks the requirements of rapt__trainer_step: gradients from at least one token, and a valid
   rate. */
rapt_status rapt__step_check(const rapt_trainer *t, rapt_message *why);
/* Takes a step with t->gradients, t->tokens and t->sums. Requires a successful rapt__step_check. */
rapt_status rapt__trainer_step(rapt_trainer *t, rapt_report *report, rapt_message *why);

/* ---- shards.c ---- */
int rapt__shard_levels(int shards); /* log2(shards), rounded down; 0 for 0 */
/* Checks that a number of shards is a power of two, at least `min` and at most SHARDS_MAX. If min
   is 0, the number may also be 0. */
rapt_status rapt__shards_check(const char *name, int shards, int min, rapt_message *why);
/* Discards all shards of the step and zeroes their blocks, except t->gradients. */
void rapt__shards_forget(rapt_trainer *t);
/* Joins floats [from, early.from), which are final in the gradient of the shard, and calls
   early.ready. Used as stack.final; `argument` is the trainer. */
void rapt__shards_final(struct team *team, void *argument, size_t from);

/* ---- checkpoint.c ---- */
/* Parses metadata entry TRAINER_KEY of a checkpoint, text[size], which need not be null-terminated.
   `samples` means that the model samples keys. Optional fields that the text does not contain keep
   their values in *state. Returns RAPT_BAD_FILE and leaves *state unchanged if a required field is
   missing, or if a field is unknown, cannot be parsed or is out of range. */
rapt_status rapt__trainer_state_read(struct trainer_state *state, bool samples, const char *text,
                                     size_t size, rapt_message *why);

/* ---- attention_losses.c: guided alignment ---- */
/* Checks t->alignment, if there is one, against a batch. */
rapt_status rapt__alignment_check(const rapt_trainer *t, const rapt_tokens *source,
                                  const rapt_tokens *target, rapt_message *why);
/* Returns the guide for the backward pass over `rows` target rows, or NULL if there is no
   alignment. The alignment must have been checked. */
const struct guide *rapt__guide_of(rapt_trainer *t, int rows);
/* Sums the losses of the batch into t->alignment_loss and discards the alignment. */
void rapt__guide_end(rapt_trainer *t, int rows);
/* ---- attention_losses.c: coverage ---- */
/* Checks options.coverage_loss. */
rapt_status rapt__coverage_check(const rapt_train_options *o, const rapt_config *c,
                                 rapt_message *why);
/* Lays out the losses of a batch with at most `rows` target rows. */
void rapt__coverage_layout(rapt_trainer *t, int rows, struct arena *arena);
/* Returns the coverage loss for the backward pass over `rows` target rows, or NULL if there is
   none. */
const struct coverage_loss *rapt__coverage_begin(rapt_trainer *t, int rows);
/* Sums the losses of `rows` target rows into t->coverage_sum. */
void rapt__coverage_end(rapt_trainer *t, int rows);
/* ---- attention_losses.c: rewards of sampled keys ---- */
/* Returns the initial mean loss per token: the loss of a uniform guess. */
double rapt__mean_loss_first(const rapt_model *model);
/* Computes the rewards and baselines of all rows from the losses of the rows with labels. Must be
   called by only one thread of the team. */
void rapt__rewards_fill(rapt_trainer *t, const struct rows *source, const struct rows *target);
/* Chooses the sequences of a batch that attend to expected values. `key` is the random key of the
   batch. */
void rapt__expected_draw(rapt_trainer *t, int batch, uint64_t key);
/* Returns the factor by which scores are multiplied if the next step uses a softmax in place of the
   arg-max. Returns 0 if it uses the arg-max itself. */
float rapt__anneal_now(const rapt_trainer *t);
/* Updates the running mean with a batch of `tokens` tokens whose losses add up to `loss`. */
void rapt__mean_loss_update(rapt_trainer *t, double loss, long long tokens);

/* ---- trainer_memory.c ---- */
rapt_status rapt__rate_check(float rate, rapt_message *why);

#endif
