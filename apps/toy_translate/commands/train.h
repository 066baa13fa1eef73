/* train.h - the command train: its options and the files it reads. */
#ifndef TOY_TRANSLATE_TRAIN_H
#define TOY_TRANSLATE_TRAIN_H

#include "commands.h"
#include "training/training.h"

struct files {
    struct pair_files train, valid; /* valid.more_columns is that of train */
    const char *alignment;          /* word alignments of the training pairs, or NULL */
};
enum { TRAINING_TAKEN = 128 };
struct training {
    struct recipe recipe;
    struct files files;
    char *helps[16];             /* help texts that rows point to */
    char *texts[TRAINING_TAKEN]; /* values taken from a checkpoint */
    int taken;
    const char *augment; /* kinds of noise, or NULL */
    int lock;            /* of training/outputs.c; -1 means none */
};
enum { TRAINING_ROWS = 61 + HARD_ROWS + VARIANT_ROWS };
/* Writes the options of train, which point into *training, and returns their number. */
int training_rows(struct training *training, struct option_row rows[TRAINING_ROWS]);
/* Fills in defaults that depend on the preset and on other options. */
void training_fill_in(struct training *training, const struct command *command);
/* Fills in the defaults that depend on the size of the training data, in bytes. Must be called
   after training_fill_in. */
void training_fit(struct training *training, const struct command *command, uint64_t bytes);
/* Sets an option unless it is given. The text is copied. */
int training_take(struct training *training, const struct command *command, const char *name,
                  const char *value);
/* Sets the options that the project of --for needs, unless they are given. */
int training_for(struct training *training, const struct command *command);
/* Takes options that are not given from OUT.checkpoint. */
int training_resume(struct training *training, const struct command *command);
/* Returns the paths of the data and the conditions for the end of the run, as JSON for the
   checkpoint. The caller frees it. */
char *training_text(const struct command *command);
void training_free(struct training *training);

/* ---- tune.c: --from ---- */
/* Refuses options that cannot be combined with --from, or without it. */
int tuning_check(const struct recipe *recipe, const struct command *command);
/* Fills in the defaults of --from, with which a model changes little. */
void tuning_defaults(struct recipe *recipe, const struct command *command);
/* Prints BLEU and chrF of the original and the tuned model on these pairs. */
int tuning_evaluate(const struct recipe *recipe, const struct pairs *pairs);
enum { EVALUATED_PAIRS = 200 };

#endif
