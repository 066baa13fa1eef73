/* training.h - the command train: its options and the files it reads. */
#ifndef TOY_TRANSLATE_TRAINING_H
#define TOY_TRANSLATE_TRAINING_H

#include "toy.h"

struct files {
    struct pair_files train, valid; /* valid.more_columns: as train's */
    const char *alignment;          /* of the training pairs; NULL: none */
};
enum { TRAINING_TAKEN = 128 };
struct training {
    struct recipe recipe;
    struct files files;
    char *helps[16]; /* texts that rows point to */
    char *texts[TRAINING_TAKEN];
    int taken;
    int lock; /* of lock.c; -1: none */
};
enum { TRAINING_ROWS = 52 + HARD_ROWS + VARIANT_ROWS };
/* The options of train, which point into *training; returns the count. */
int training_rows(struct training *training, struct option_row rows[TRAINING_ROWS]);
/* Defaults that follow from the preset and from other options. */
void training_fill_in(struct training *training, const struct command *command);
/* Then those that depend on the data, of which there are so many bytes. */
void training_fit(struct training *training, const struct command *command, uint64_t bytes);
/* Options that are not given come from OUT.checkpoint. */
int training_resume(struct training *training, const struct command *command);
/* Where the data are and when to stop, as JSON for the checkpoint; the caller frees. */
char *training_text(const struct command *command);
void training_free(struct training *training);

/* ---- lock.c ---- */
/* Fails if another run is writing OUT; *lock: until it is closed, none can begin. */
int lock_open(int *lock, const char *out);
void lock_close(int lock);

#endif
