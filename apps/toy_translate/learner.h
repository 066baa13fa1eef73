/* learner.h - state of the training loop, shared by learn.c, checkpoint.c, average.c and
 * validate.c. */
#ifndef TOY_TRANSLATE_LEARNER_H
#define TOY_TRANSLATE_LEARNER_H

#include "exchange.h"
#include "state_text.h"
#include "toy.h"

/* Keys of metadata. */
#define STATE_KEY    "toy_translate.state"    /* of a checkpoint: the training loop */
#define COMMAND_KEY  "toy_translate.command"  /* of a checkpoint: data and bounds */
#define HISTORY_KEY  "toy_translate.history"  /* of a checkpoint: the validations so far */
#define TRAINING_KEY "toy_translate.training" /* of a model: how it was trained */

struct learner;

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
struct history { /* one point per epoch, and per validation between */
    struct history_point *points;
    size_t count, capacity;
};

struct progress {
    double shown, from; /* when the line was last written; start of the token count */
    long long tokens;
    double speed; /* tokens per second, smoothed */
};

/* ---- guided.c: word alignments of training pairs ---- */
struct token_link {
    uint16_t source, target; /* tokens of an example, from 0 without the begin */
};
struct alignments { /* all zero: there are none */
    const char *name;
    char *bytes;           /* of the file, until all examples are made */
    size_t size, at, line; /* where the next line begins, and the number of the one before it */
    struct token_link *links;
    size_t *starts; /* [count + 1] of each example in links, sorted by target */
    size_t count, capacity, link_capacity;
    int *row_starts, *sources; /* of the batch last asked for */
    size_t row_capacity, source_capacity;
};
/* Where the tokens of a text end in it, as rapt_tokenizer_encode has it. */
struct token_ends {
    rapt_text text;
    const size_t *ends; /* [count] */
    size_t count;
};
int alignments_open(struct alignments *alignments, const char *path);
uint64_t alignments_hash(const struct alignments *alignments, uint64_t hash); /* of the file, too */
/* Of all examples that were made of the part; the file is not needed any more. */
struct examples;
int alignments_make(struct alignments *alignments, const struct examples *examples,
                    const struct part *part);
struct batches;
/* Of the batch last got, valid until the next call. */
rapt_alignment alignments_batch(struct alignments *alignments, const struct batches *batches);
void alignments_free(struct alignments *alignments);

/* ---- examples.c: pairs as tokens ---- */
struct examples {
    /* Set before examples_make: */
    const struct vocabulary *vocabulary;
    int32_t begin;             /* the token that targets begin with */
    size_t max_tokens;         /* pairs with a longer side are skipped, with a message */
    size_t max_ids;            /* to hold in memory */
    int threads;               /* that make the index; 0: one */
    const struct ranks *ranks; /* each makes a part of the index; NULL: this process is alone */
    /* The index: */
    size_t count;
    uint64_t *where[2];        /* [count] the first: in ids, if held, else in the file */
    uint32_t *source, *target; /* [count] tokens, with begin and end */
    uint32_t *digests;         /* [count] of what was in the file */
    size_t held;               /* the first ones, whose tokens are in ids */
    int32_t *ids;
    size_t ids_count, ids_capacity;
    struct pair_reader reader; /* of the others */
    size_t own;                /* pairs that this rank tokenized for the index */
};
/* index.c; all ranks call it at once. Fails if there are other pairs than when the part was
   surveyed. seen: NULL, or gets the source words, of all ranks on rank 0. */
int examples_make(struct examples *examples, const struct part *part, struct seen *seen);
size_t examples_index_bytes(const struct part *part);
size_t examples_length(const struct examples *examples, size_t index); /* of the longer side */
int examples_get(struct examples *examples, size_t index, int32_t *source, int32_t *target);
void examples_free(struct examples *examples);

/* ---- batches.c ---- */
struct batches {
    struct examples *examples;
    size_t budget; /* tokens of either side in one batch */
    size_t count, capacity;
    uint32_t *order;    /* [examples] by length */
    uint32_t *starts;   /* sorted batch s: examples order[starts[s]] .. order[starts[s + 1] - 1] */
    size_t from, end;   /* the batch last got: examples order[from] .. order[end - 1] */
    uint32_t *shuffled; /* [count] batch b is the sorted batch shuffled[b] */
    int32_t *source_ids, *target_ids;
    int *source_starts, *target_starts;
};
enum { MAX_SENTENCES = 1 << 20 }; /* of a batch: the library's limit */
int batches_create(struct batches *batches, struct examples *examples, size_t budget);
size_t batches_bytes(size_t examples, size_t budget); /* of memory, about */
/* The batches of an epoch are a function of seed and epoch. epoch 0: not shuffled, for validation.
 */
void batches_plan(struct batches *batches, uint64_t seed, int epoch);
/* Valid until the next call. */
int batches_get(struct batches *batches, size_t b, rapt_tokens *source, rapt_tokens *target);
/* Of parts with about equally many tokens of both sides, one: parts follow one another, and may be
   empty. */
int batches_get_part(struct batches *batches, size_t b, size_t part, size_t parts,
                     rapt_tokens *source, rapt_tokens *target);
/* The most tokens of either side in a part, of sentences of up to max_tokens and begin and end. */
size_t batches_part_budget(size_t budget, size_t max_tokens, size_t parts);
void batches_free(struct batches *batches);

/* ---- memory.c: bytes of a run, before it has them ---- */
struct memory {
    size_t model, gradients, optimizer, activations, averages, index, batches, messages;
    size_t available; /* 0: unknown */
};
/* Fails if that is more than --memory-limit, warns if the machine has less. *max_ids: how many
   tokens may be held beside. */
int memory_plan(struct learner *learner, const struct data *data, size_t *max_ids);
void memory_report(const struct learner *learner);

struct learner {
    const struct recipe *recipe;
    struct exchange exchange; /* with the other ranks */
    struct vocabulary vocabulary;
    struct examples train, valid;
    char *words; /* of seen.c, or NULL */
    struct alignments alignments;
    struct batches batches, valid_batches;
    rapt_model *model;
    rapt_trainer *trainer;
    struct average average;
    struct state state;
    struct progress progress;
    struct history history;
    double start;   /* when this run began */
    double clock;   /* elapsed, as all ranks agreed before the step; < 0: ask the clock */
    double before;  /* seconds of earlier runs */
    double written; /* when the checkpoint was */
    double validation_seconds; /* seconds the last validation took */
    double rate;               /* of the last step */
    double recent;             /* negative log-likelihood per token, smoothed over steps */
    double valid_loss;         /* that of the validation which saves a model */
    long long first;           /* steps made by earlier runs */
    long long tokens;          /* in this run */
    size_t bytes;              /* of the trainer */
    struct memory memory;
    bool curve_refused;   /* OUT.svg is another file, which a message has named */
    bool unread;          /* training pairs could not be read: the step before stands */
    int enough;           /* validations whose loss was below recipe->enough */
    char *path, *options; /* of the checkpoint; options it must have been made with */
};

double elapsed(const struct learner *learner); /* seconds, those of earlier runs included */
/* Does this rank write files and lines? One does. */
static inline bool leads(const struct learner *learner)
{
    return learner->exchange.ranks->rank == 0;
}

/* ---- prepare.c ---- */
int prepare(struct learner *learner, struct data *data);
rapt_train_limits train_limits(const struct learner *learner); /* of its trainer */
size_t max_tokens(const struct learner *learner);   /* of a sentence, with begin and end */
size_t shard_budget(const struct learner *learner); /* tokens of either side, of one shard */
void release(struct learner *learner);

/* ---- step.c ---- */
/* The gradient of the batch at the learner's position, and a step: as a whole, or in shards, of
   which other ranks compute some. EXIT_OK, and *status with *report or *why; EXIT_INTERRUPTED:
   asked to end within a step, or a rank is lost; the step has not been. */
int step_make(struct learner *learner, rapt_status *status, rapt_report *report, rapt_message *why);

/* ---- rate.c ---- */
double share_done(const struct learner *learner); /* 0..1; 0 if there is no bound */
double time_left(const struct learner *learner);  /* seconds; -1: unknown */
double rate_now(const struct learner *learner);

/* ---- state.c ---- */
char *options_text(const struct recipe *recipe);
/* The first difference of two such lists, as "with rate 1, not 2" or "without shards 4", which the
   caller frees; NULL: none. */
char *options_difference(const char *was, const char *is);
char *state_write(const struct learner *learner);
/* text: as state_write wrote it, or NULL; path: for messages. *options is the caller's to free. */
int state_open(struct state *state, char **options, const char *path, const char *text);
/* The same, and fails unless options and data are those of the learner, which gets the state. */
int state_read(struct learner *learner, const char *text);
/* ---- state_0_1.c: options_text of release 0.1 as options_text writes it today; other text is
   unchanged. The caller frees. ---- */
char *options_upgrade(const char *options);

/* ---- checkpoint.c ---- */
int checkpoint_save(struct learner *learner);
int checkpoint_open(struct learner *learner);     /* the model, vocabulary and state */
int checkpoint_load(struct learner *learner);     /* the trainer, and the parameters */
int checkpoint_continue(struct learner *learner); /* and the average */
int model_save(const struct learner *learner, const char *path);
char *epoch_path(const struct learner *learner, long long epoch);

/* ---- facts.c: the metadata of TRAINING_KEY; the caller frees. valid: NaN if it is unknown. ----
 */
char *facts_text(const struct learner *learner, double valid);

/* ---- history.c ---- */
void history_add(struct history *history, struct history_point point);
char *history_text(const struct history *history);             /* the caller frees */
bool history_parse(struct history *history, const char *text); /* false: it is damaged */
void history_free(struct history *history);

/* ---- curve.c ---- */
void curve_draw(struct learner *learner);         /* OUT.svg, if the recipe asks for it */
bool curve_exists(const struct learner *learner); /* one that the recipe asks for */

/* ---- sample.c ---- */
char *sample(struct learner *learner); /* "source -> translation", or NULL; the caller frees */

/* ---- progress.c ---- */
enum { TIME_TEXT = 32, NUMBER_TEXT = 32 };
void time_text(double seconds, char text[TIME_TEXT]); /* "1:02:03" */
void perplexity_text(double loss, char text[NUMBER_TEXT]);
void progress_count(struct progress *progress, long long tokens);
/* Rewrites one line on a terminal, else prints a line every 10 s. */
void progress_show(struct learner *learner);
/* A line about a validation, and a sentence as the model translates it now. */
void progress_validated(struct learner *learner, double train, double valid, bool best);

/* ---- space.c ---- */
int output_check(const struct learner *learner); /* are the files writable, is there space? */

/* ---- average.c ---- */
void average_create(struct average *average, const rapt_model *model, int epochs);
void average_add(struct average *average, const rapt_model *model);
/* The parameters of the last epoch replace those of the model; false: there are none. */
bool average_last(const struct average *average, rapt_model *model);
void average_apply(struct average *average,
                   rapt_model *model); /* the mean replaces the parameters */
void average_undo(struct average *average, rapt_model *model); /* and restores them */
void average_free(struct average *average);

/* ---- best.c ---- */
/* The model, the best so far, goes to OUT. */
int best_save(const struct learner *learner, bool within_epoch);
/* It is not the best: OUT is, or becomes again, the best one of the epochs that have ended. */
int best_restore(const struct learner *learner);
int best_check(const struct learner *learner); /* fails if OUT is no model */
/* Of a run that goes on, whose trainer and average are loaded: fails if OUT, the best model so far,
   is not there and cannot be written once more. */
int best_find(struct learner *learner);

/* ---- validate.c ---- */
/* Validates; OUT becomes or remains the best model so far, whose loss is state->best; *loss: per
   token. within_epoch: of a run that ends there, which leaves no trace in a longer one. */
int validate(struct learner *learner, struct state *state, bool within_epoch, double *loss);

#endif
