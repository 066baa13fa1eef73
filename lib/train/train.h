/* train.h - a trainer, and what the files of the layer train share. */
#ifndef RAPT_LIB_TRAIN_H
#define RAPT_LIB_TRAIN_H

#include "model/model.h"
#include <rapt/train.h>

#define TRAIN_RATE_MAX ((double)1e30f) /* times the correction of bias it is still a float */

struct trainer_state { /* what a checkpoint holds beside parameters and moments */
#define CHECKPOINT(type, member, key, kind, max, when) type member;
#include "train/checkpoint.def"
};

enum { SHARDS_MAX = 1024, SHARD_LEVELS = 10 };
/* Of the shard that is being computed: the gradients it is added to, while their layers become
   final. */
struct early {
    rapt_ready_fn *ready; /* NULL: nobody wants to know */
    void *user;
    float *chain[SHARD_LEVELS + 1]; /* [links + 1] its own; each is added to the next */
    int links;
    rapt_subtree tree; /* whose gradient the last one is */
    size_t from;       /* floats from here on are */
};
enum { PRODUCTS_TEXT = 1024 };

struct shards { /* of the step begun, computed here */
    struct early early;
    rapt_subtree held[SHARD_LEVELS + 1];
    float *spare[SHARD_LEVELS]; /* blocks that are zero, beside `gradients` of the trainer */
    int count, spares;
};

struct rapt_trainer {
    rapt_allocator allocator;
    rapt_model *model;
    rapt_train_options options;
    rapt_train_limits limits;
    struct arena arena;
    struct stack_memory encoder, decoder;
    float *gradients, *m, *v; /* [layout.floats]: sums; Adam's moments */
    double moment_bound;      /* no magnitude in m is larger */
    float *partial, *loss_workspace, *pack;
    double *step_partial; /* of op/adam.c */
    void *attention_workspace;
    int32_t *inputs, *labels; /* [target rows] of the decoder, or labels of the encoder */
    int *input_starts;        /* [batch + 1] */
    float *pooled, *dpooled;  /* [batch][D]; NULL unless the model pools */
    float *losses; /* [rows with labels]; these eight arrays: NULL unless the model samples keys */
    float *expected_losses;                     /* of the same rows, where all is expected */
    uint8_t *expected, *all_expected;           /* [batch] which sequences are; all of them */
    float *encoder_reward, *decoder_reward;     /* [H][rows] */
    float *encoder_baseline, *decoder_baseline; /* [H][rows] */
    rapt_alignment alignment;                   /* of the next gradient; starts NULL: none */
    struct guide guide;                         /* of the batch at hand */
    double *guided;        /* [target rows]; NULL: the model has no alignment_layer */
    double alignment_loss; /* of the last gradient */
    long long tokens;      /* whose gradients have been added since the last step */
    bool added;            /* a gradient has been, if of no token */
    rapt_report sums;      /* of the batches since then */
    struct shards shards;
    struct products products; /* of OpenBLAS */
    char products_text[PRODUCTS_TEXT];
    struct trainer_state state;
};

/* ---- products.c ---- */
/* Fills in t->products as the options ask; AUTO: by measuring, in a trainer that is new. */
void rapt__products_choose(rapt_trainer *t);
/* AUTO: whether those of *state can be computed here, as a checkpoint's must be, bit for bit. */
rapt_status rapt__products_check(const rapt_trainer *t, const struct trainer_state *state,
                                 rapt_message *why);
/* AUTO: those of t->state, which has been loaded and checked. */
void rapt__products_restore(rapt_trainer *t);

/* ---- batch_check.c ---- */
rapt_status rapt__batch_check(const rapt_trainer *t, const rapt_tokens *source,
                              const rapt_tokens *target, rapt_message *why);

/* ---- batch.c ---- */
/* Forward and, for a gradient, backward over one batch; dropout and draws are those of call number
   state.calls + shard. *sums: of the batch. A loss that is not finite is no error. */
rapt_status rapt__trainer_batch(rapt_trainer *t, const rapt_tokens *source,
                                const rapt_tokens *target, bool gradient, int shard,
                                struct loss *sums, rapt_message *why);

/* ---- step.c ---- */
/* Would rapt__trainer_step be refused? */
rapt_status rapt__step_check(const rapt_trainer *t, rapt_message *why);
/* The step of t->gradients, t->tokens and t->sums, which have been checked. */
rapt_status rapt__trainer_step(rapt_trainer *t, rapt_report *report, rapt_message *why);

/* ---- trainer.c ---- */
/* Into the caller's report; NULL: none is wanted. */
rapt_status rapt__report_write(rapt_report *report, const rapt_report *own, rapt_message *why);
/* Whether gradients of rapt_train_gradient wait for their step. */
static inline bool rapt__gradient_waits(const rapt_trainer *t)
{
    return t->tokens || t->added;
}
/* Forgets the gradients added since the last step. */
void rapt__trainer_discard(rapt_trainer *t);

/* ---- shards.c ---- */
int rapt__shard_levels(int shards); /* log2; 0 of 0 */
/* A power of two from min on; 0, if min is 0, too. */
rapt_status rapt__shards_check(const char *name, int shards, int min, rapt_message *why);
/* Nothing is held any more, and all blocks but t->gradients are zero. */
void rapt__shards_forget(rapt_trainer *t);
/* Of struct stack: adds what is final, and tells who wants to know. argument: the trainer. */
void rapt__shards_final(struct team *team, void *argument, size_t from);

/* ---- reward.c ---- */
double rapt__mean_loss_first(const rapt_model *model);
/* Rewards and baselines of all rows, from the losses of those with labels. One member's work. */
void rapt__rewards_fill(rapt_trainer *t, const struct rows *source, const struct rows *target);
/* Draws the sequences of a batch that attend to expected values, under the key of its draws. */
void rapt__expected_draw(rapt_trainer *t, int batch, uint64_t key);
/* What multiplies the scores of an arg-max in the step to come; 0: it is the arg-max. */
float rapt__anneal_now(const rapt_trainer *t);
/* A batch of so many tokens has cost `loss`. */
void rapt__mean_loss_update(rapt_trainer *t, double loss, long long tokens);

/* ---- checkpoint.c ---- */
/* The metadata TRAINER_KEY of a checkpoint: text of `size` bytes, which need not end in 0. samples:
   the model samples keys. Members that the text may lack keep their values. RAPT_BAD_FILE: a field
   is missing, unknown or out of its range; *state is unchanged. */
rapt_status rapt__trainer_state_read(struct trainer_state *state, bool samples, const char *text,
                                     size_t size, rapt_message *why);

/* ---- guided.c: the alignment of the next gradient ---- */
rapt_status rapt__alignment_check(const rapt_trainer *t, const rapt_tokens *source,
                                  const rapt_tokens *target, rapt_message *why);
/* Of a batch whose alignment has been checked, and whose targets are split; NULL: it has none. */
const struct guide *rapt__guide_of(rapt_trainer *t, int rows);
/* The batch is over: its loss goes to alignment_loss, and no alignment is left. */
void rapt__guide_end(rapt_trainer *t, int rows);

/* ---- schedule.c ---- */
float rapt__schedule_rate(const rapt_train_options *o, float rate, long long step);

/* ---- trainer_memory.c ---- */
rapt_status rapt__rate_check(float rate, rapt_message *why);

#endif
