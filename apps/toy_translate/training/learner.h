/* learner.h - the state of the training loop, and the functions of training/ that use it. */
#ifndef TOY_TRANSLATE_LEARNER_H
#define TOY_TRANSLATE_LEARNER_H

#include "training.h"

/* The parameters at the end of the last epochs, oldest first from `first` on. */
struct average {
    int capacity, count, first;
    size_t size;    /* parameters of a model */
    float **epochs; /* [capacity][size] */
    float *raw;     /* [size] the parameters while the mean replaces them */
};

struct history_point {
    long long epoch, step;
    double train, valid; /* negative log-likelihood per token */
};
struct history { /* one point per validation */
    struct history_point *points;
    size_t count, capacity;
};

struct progress {
    double shown, from; /* when the line was last written, and when the counting of tokens began */
    long long tokens;
    double speed; /* tokens per second, smoothed */
};

/* ---- space.c: the bytes that a run will need ---- */
struct memory {
    size_t model, gradients, optimizer, activations, averages, index, batches, messages;
    size_t available; /* 0 if unknown */
};
struct learner;
/* Fails if a run needs more than --memory-limit, and warns if the machine has less. *max_ids
   receives the number of token ids that can be held as well. */
int memory_plan(struct learner *learner, const struct data *data, size_t *max_ids);
void memory_report(const struct learner *learner);

struct learner {
    const struct recipe *recipe;
    struct exchange exchange; /* with the other ranks */
    struct vocabulary vocabulary;
    struct examples train, valid;
    char *words; /* list of seen.c, or NULL */
    struct alignments alignments;
    struct batches batches, valid_batches;
    rapt_model *model;
    rapt_trainer *trainer;
    uint8_t *tuning; /* how each parameter is trained; NULL means in full */
    struct average average;
    struct state state;
    struct progress progress;
    struct history history;
    double start;   /* when this run began */
    double clock;   /* elapsed time that all ranks agreed on before the step; a negative value means
                       to read the clock */
    double before;  /* seconds of earlier runs */
    double written; /* when the checkpoint was last written */
    double validation_seconds; /* duration of the last validation */
    double rate;               /* of the last step */
    double recent;             /* negative log-likelihood per token, smoothed over steps */
    double coverage;           /* coverage loss per token, before its weight, smoothed over steps */
    double valid_loss;         /* of the model being saved; NaN if unknown */
    long long first;           /* steps made by earlier runs */
    long long tokens;          /* in this run */
    size_t bytes;              /* of the trainer */
    struct memory memory;
    bool curve_refused; /* OUT.svg is not a learning curve; this has been reported */
    bool unread;        /* training pairs could not be read; the state is that of the last step */
    int enough;         /* validations with a loss below recipe->enough */
    char *path;         /* of the checkpoint */
    char *options;      /* the options with which the checkpoint must have been made */
};

double elapsed(const struct learner *learner); /* seconds, including earlier runs */
/* Returns true on the one rank that writes files and messages. */
static inline bool leads(const struct learner *learner)
{
    return learner->exchange.ranks->rank == 0;
}

/* ---- prepare.c ---- */
int prepare(struct learner *learner, struct data *data);
bool trains_in_bf16(const struct recipe *recipe);
rapt_train_limits train_limits(const struct learner *learner); /* of its trainer */
size_t max_tokens(const struct learner *learner);   /* of a sentence, including begin and end */
size_t shard_budget(const struct learner *learner); /* tokens of either side in one shard */
void release(struct learner *learner);

/* ---- tune.c ---- */
int tune_open(struct learner *learner);   /* opens the model and the vocabulary of --from */
int tune_choose(struct learner *learner); /* sets learner->tuning by --freeze and --lora */
/* Sets the options on which the memory of a trainer depends. */
void tune_options(const struct learner *learner, rapt_train_options *options);
/* Counts the numbers of the model that are trained in full, those of matrices with adapters, and
   those of the adapters. */
struct tuned {
    size_t full, base, adapters;
};
struct tuned tune_count(const struct learner *learner);
char *tune_text(const struct recipe *recipe); /* as options_text; the caller frees it */

/* ---- step.c ---- */
/* Makes a step with the batch at the learner's position. With EXIT_OK, *status is the library's
   result, with *report or *why. EXIT_INTERRUPTED means that this process was asked to end or a rank
   was lost. After any code but EXIT_OK, the step was not made. */
int step_make(struct learner *learner, rapt_status *status, rapt_report *report, rapt_message *why);

/* ---- step.c: the learning rate ---- */
double share_done(const struct learner *learner);  /* 0 .. 1; 0 if the run is unlimited */
bool quantized_now(const struct learner *learner); /* with --quantize-aware only */
double time_left(const struct learner *learner);   /* seconds; -1 if unknown */
double rate_now(const struct learner *learner);

/* ---- state.c ---- */
char *options_text(const struct recipe *recipe, bool split);
/* Returns the first difference of two such lists, as "with rate 1, not 2" or "without shards 4", or
   NULL. The caller frees it. */
char *options_difference(const char *was, const char *is);
char *state_write(const struct learner *learner);
/* Sets the learner's state from the text of state_write. Fails if its options or data are not the
   learner's. */
int state_read(struct learner *learner, const char *text);

/* ---- checkpoint.c ---- */
int checkpoint_save(struct learner *learner);
int checkpoint_open(struct learner *learner);     /* reads model, vocabulary and state */
int checkpoint_load(struct learner *learner);     /* reads the trainer and the parameters */
int checkpoint_continue(struct learner *learner); /* does so, and reads the epochs to average */
int model_save(const struct learner *learner, const char *path);
char *epoch_path(const struct learner *learner, long long epoch);

/* ---- checkpoint.c: how a model was trained ---- */
/* Returns the metadata of TRAINING_KEY. The caller frees it. `valid` is NaN if unknown. */
char *facts_text(const struct learner *learner, double valid);

/* ---- curve.c: the validations of a run ---- */
void history_add(struct history *history, struct history_point point);
char *history_text(const struct history *history);             /* the caller frees it */
bool history_parse(struct history *history, const char *text); /* returns false if it is damaged */
void history_free(struct history *history);

/* ---- curve.c: OUT.svg, if the recipe asks for it ---- */
void curve_draw(struct learner *learner);
bool curve_exists(const struct learner *learner);

/* ---- validate.c: a sample translation ---- */
char *sample(struct learner *learner); /* "source -> translation", or NULL; the caller frees it */

/* ---- progress.c ---- */
void progress_count(struct progress *progress, long long tokens);
/* Rewrites one line on a terminal; otherwise prints a line, at most every 10 s. */
void progress_show(struct learner *learner);
/* Prints a line about a validation, and a translation by the current model. */
void progress_validated(struct learner *learner, double valid, bool best);

/* ---- space.c ---- */
/* Fails if the files cannot be written or do not fit on the disk. */
int output_check(const struct learner *learner);

/* ---- best.c: the mean of the last epochs ---- */
void average_create(struct average *average, const rapt_model *model, int epochs);
void average_add(struct average *average, const rapt_model *model);
/* Restores the parameters of the last epoch. Returns false if none are stored. */
bool average_last(const struct average *average, rapt_model *model);
/* Replaces the parameters with their mean until average_undo. */
void average_apply(struct average *average, rapt_model *model);
void average_undo(struct average *average, rapt_model *model);
void average_free(struct average *average);

/* ---- best.c: OUT, the best model so far ---- */
/* Writes the model, which is the best so far, to OUT. */
int best_save(const struct learner *learner, bool within_epoch);
/* Called if the model just validated is not the best. Makes OUT the best model of the finished
   epochs again, if it is another one. */
int best_restore(const struct learner *learner);
int best_check(const struct learner *learner); /* fails if OUT is not a model */
/* Ensures that a resumed run, with trainer and average loaded, has OUT; writes it again if
   possible. */
int best_find(struct learner *learner);

/* ---- validate.c ---- */
/* Computes the validation loss, the negative log-likelihood per token. OUT becomes or remains the
   best model so far, and state->best its loss. *loss receives the loss. within_epoch means that the
   run ends here, which must not change a longer run. */
int validate(struct learner *learner, struct state *state, bool within_epoch, double *loss);

#endif
