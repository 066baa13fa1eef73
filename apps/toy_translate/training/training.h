/* training.h - interface header of training/: the training loop, its options that depend on the
   model, and the files of a run. Functions that return an int return the program's exit code, after
   a message if it is not 0. */
#ifndef TOY_TRANSLATE_TRAINING_H
#define TOY_TRANSLATE_TRAINING_H

#include "data/data.h"
#include "state_text.h"

/* Metadata keys: the first three are in a checkpoint (the state of the training loop, the paths of
   the data with the conditions for the end of the run, and the validations so far), the last in a
   model (how it was trained). */
#define STATE_KEY    "toy_translate.state"
#define COMMAND_KEY  "toy_translate.command"
#define HISTORY_KEY  "toy_translate.history"
#define TRAINING_KEY "toy_translate.training"

/* ---- variant.c: options for the fields of a model's configuration ---- */
struct variant_value { /* of an option; 0 if not given */
    const char *word;
    int integer;
    double real;
    bool flag;
};
struct variant { /* `both` is for option X, which sets self_X and cross_X, stored at the index of
                    self_X */
    struct variant_value own[RAPT_CONFIG_FIELDS], both[RAPT_CONFIG_FIELDS];
};
enum { VARIANT_ROWS = 2 * RAPT_CONFIG_FIELDS }; /* maximum number, in both parts together */
enum variant_part { VARIANT_MODEL, VARIANT_ATTENTION };
/* Fills `rows` with the options of one part and returns their number. */
int variant_rows(struct variant *variant, enum variant_part part,
                 struct option_row rows[VARIANT_ROWS]);
void variant_apply(const struct variant *variant, rapt_config *config);
/* Returns true if a name such as "self-radius" is the option of one field. */
bool is_variant(const char *option);
/* Returns the options that --resume must repeat. The caller frees them. */
char *variant_text(const rapt_config *config);
json_t *variant_describe(const rapt_config *config); /* NULL if out of memory */

/* ---- variant.c: options for training hard and monotonic attention ---- */
struct hard {
    const char *baseline; /* "mean" or "expected" */
    double expected_share, reward_scale, reward_decay, reward_entropy, anneal;
    int anneal_steps;
    double monotonic_noise;
};
enum { HARD_ROWS = 8, HARD_NOISE = 1 }; /* HARD_NOISE: default of monotonic_noise */
void hard_rows(struct hard *hard, struct option_row rows[HARD_ROWS]);
/* Refuses options that the model does not use. */
int hard_check(const struct hard *hard, const rapt_config *config);
void hard_apply(const struct hard *hard, rapt_train_options *options);
char *hard_text(const struct hard *hard); /* like variant_text */

/* ---- learn.c: the training loop of train and demo ---- */
struct recipe {
    bool tuned;       /* continue from another model, also in a run that is resumed */
    const char *from; /* that model; NULL means none, or the path is unknown in a resumed run */
    /* Languages, for models that translate between many; NULL means none. */
    const char *source_language, *target_language;
    const char *freeze; /* patterns of the names of parameters, separated by commas, or NULL */
    int lora;           /* rank of adapters; 0 means none */
    double lora_alpha;  /* 0 means the rank */
    const char *preset; /* "tiny", "small" or "base" */
    int layers, width, heads, ffn_width; /* 0 means the preset's */
    struct variant variant;
    int vocab;                        /* tokens */
    const char *sentencepiece;        /* a file with the vocabulary; NULL means to learn it */
    const char *sentencepiece_target; /* a file for the target side; NULL means the same */
    const char *project;              /* project that must support the model, or NULL */
    bool exact_vocab;                 /* fail if the data support fewer tokens */
    bool separate;                    /* one vocabulary per side */
    double dropout, smoothing, rate;
    struct hard hard;
    struct noise noise;   /* noise that is added to training pairs */
    const char *guided;   /* a file with word alignments of the training pairs, or NULL */
    double guided_weight; /* weight of their loss */
    int guided_layer;     /* of the decoder, from 1; 0 means the last */
    double coverage_loss; /* weight of the coverage loss; 0 means none */
    int warmup;
    const char *schedule;            /* "inverse-sqrt", "linear" or "constant" */
    int batch_tokens, epochs, steps; /* 0 means unlimited */
    double minutes;                  /* 0 means unlimited */
    int average, patience;
    int valid_steps; /* validate every valid_steps steps, too; 0 means only after each epoch */
    double enough;   /* stop when the validation loss is below this a second time; 0 means never */
    uint64_t seed;
    int shards;            /* per step; 0 means to compute the batch as a whole */
    struct ranks *ranks;   /* ranks that train together; NULL means only this process */
    const char *products;  /* "builtin", "openblas" or "auto"; NULL means the library's default */
    const char *precision; /* of products, "f32", "bf16" or "bf16-tiles"; NULL means f32 */
    double quantize_aware; /* share of the run, at its end, that is trained in 8-bit arithmetic */
    int threads;
    double memory_limit; /* MB; 0 means unlimited */
    const char *out;
    const char *command; /* metadata of the checkpoint under COMMAND_KEY, or NULL */
    bool resume, checkpoint, keep_checkpoint, curve, json, force;
};
/* Returns true if only the end of the run is trained in 8-bit arithmetic. */
static inline bool quantizes_late(const struct recipe *recipe)
{
    return recipe->quantize_aware > 0 && recipe->quantize_aware < 1;
}
/* Makes a configuration with the vocabulary sizes that the recipe requests, of which the data may
   support less. For a tuned model, only `size` is set. */
int recipe_config(const struct recipe *recipe, rapt_config *config);
/* Trains, and frees the sample of the data. *steps, unless NULL, receives the number of steps made,
   including those of earlier runs. */
int learn(const struct recipe *recipe, struct data *data, long long *steps);

/* ---- prepare.c: whether another project supports the model ---- */
/* Returns the format with this name in convert --to and train --for. */
rapt_export export_format(const char *name);
/* Fails if a project does not support models with this configuration and vocabulary. */
int export_check(const char *project, const rapt_config *config,
                 const struct vocabulary *vocabulary);

/* ---- agree.c: the start of a run of several ranks ---- */
struct learner;
/* Every rank calls this twice: when it has data, vocabulary and model, which must be alike, and
   when it is ready to train. `code` is EXIT_OK or says why this rank cannot go on (learner may then
   be NULL). Returns EXIT_OK if all ranks may go on. Does nothing with one rank, or after the ranks
   have agreed. */
int agree(struct ranks *ranks, int code, const struct learner *learner);

/* ---- outputs.c: the files of a run beside OUT ---- */
/* Fails if OUT or its checkpoint exists, unless the recipe resumes or forces. Also fails if a file
   that toy_translate did not write has the name of a checkpoint that the recipe would write. */
int outputs_check(const struct recipe *recipe);
/* Calls visit for each file beside OUT that is named like a part of its checkpoint, until visit
   fails. */
int outputs_each(const char *out, int (*visit)(const char *path, const void *user),
                 const void *user);
/* Removes the checkpoint and its copies, if toy_translate wrote them. */
void outputs_remove(const char *out);

/* ---- outputs.c: the lock of OUT ---- */
/* Fails if another run is writing OUT, even through a symbolic link. Until lock_close, no other run
   can begin to write it. */
int lock_open(int *lock, const char *out);
void lock_close(int lock);

/* ---- state.c ---- */
/* Reads the state and the options of a run from `text`, the metadata of its checkpoint, which is
   NULL if they are missing. path is for messages. The caller frees *options. */
int state_open(struct state *state, char **options, const char *path, const char *text);

/* ---- progress.c ---- */
enum { TIME_TEXT = 32, NUMBER_TEXT = 32 };
void time_text(double seconds, char text[TIME_TEXT]); /* "1:02:03" */
void perplexity_text(double loss, char text[NUMBER_TEXT]);

#endif
