/* learner.h - state of the training loop, shared by learn.c, checkpoint.c, average.c and
 * validate.c. */
#ifndef TOY_TRANSLATE_LEARNER_H
#define TOY_TRANSLATE_LEARNER_H

#include "state_text.h"
#include "toy.h"

/* The parameters at the end of the last epochs, oldest first from `first` on. */
struct average {
    int capacity, count, first;
    size_t size;    /* parameters of a model */
    float **epochs; /* [capacity][size] */
    float *raw;     /* [size] the parameters while the mean replaces them */
};

struct learner {
    const struct recipe *recipe;
    struct vocabulary vocabulary;
    struct examples train, valid;
    struct batches batches, valid_batches;
    rapt_model *model;
    rapt_trainer *trainer;
    struct average average;
    struct state state;
    struct progress progress;
    double start;              /* when this run began */
    double before;             /* seconds of earlier runs */
    double written;            /* when the checkpoint was */
    double validation_seconds; /* seconds the last validation took */
    double recent;             /* loss per token, smoothed */
    long long tokens;          /* in this run */
    int enough;                /* validations whose loss was below recipe->enough */
    char *path, *options;      /* of the checkpoint; options it must have been made with */
};

double elapsed(const struct learner *learner); /* seconds, those of earlier runs included */

/* ---- prepare.c ---- */
int prepare(struct learner *learner, const struct pairs *train, const struct pairs *valid);
void release(struct learner *learner);

/* ---- rate.c ---- */
double share_done(const struct learner *learner); /* 0..1; 0 if there is no bound */
double time_left(const struct learner *learner);  /* seconds; -1: unknown */
double rate_now(const struct learner *learner);

/* ---- state.c ---- */
char *options_text(const struct recipe *recipe);
char *state_write(const struct learner *learner);
/* text: as state_write wrote it, or NULL. Fails unless options and data are the same. */
int state_read(struct learner *learner, const char *text);
/* ---- state_0_1.c: options_text of release 0.1 as options_text writes it today; other text is
   unchanged. The caller frees. ---- */
char *options_upgrade(const char *options);

/* ---- checkpoint.c ---- */
int checkpoint_save(struct learner *learner);
int checkpoint_open(struct learner *learner);     /* the model, vocabulary and state */
int checkpoint_continue(struct learner *learner); /* the trainer and the average */
int model_save(const struct learner *learner, const char *path);
char *epoch_path(const struct learner *learner, long long epoch);

/* ---- space.c ---- */
int output_check(const struct learner *learner); /* are the files writable, is there space? */

/* ---- average.c ---- */
void average_create(struct average *average, const rapt_model *model, int epochs);
void average_add(struct average *average, const rapt_model *model);
void average_apply(struct average *average,
                   rapt_model *model); /* the mean replaces the parameters */
void average_undo(struct average *average, rapt_model *model); /* and restores them */
void average_free(struct average *average);

/* ---- best.c ---- */
/* The model, the best so far, goes to OUT. */
int best_save(const struct learner *learner, bool within_epoch);
/* It is not the best: OUT is, or becomes again, the best one of the epochs that have ended. */
int best_restore(const struct learner *learner);

/* ---- validate.c ---- */
/* Validates; OUT becomes or remains the best model so far, whose loss is state->best; *loss: per
   token. within_epoch: of a run that ends there, which leaves no trace in a longer one. */
int validate(struct learner *learner, struct state *state, bool within_epoch, double *loss);

#endif
