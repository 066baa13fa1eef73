/* toy.h - interface header of toy_translate: sentence pairs, vocabulary, batches, training, search
   and scoring. Functions that return an int return the program's exit code, after a message if it
   is not 0. */
#ifndef TOY_TRANSLATE_TOY_H
#define TOY_TRANSLATE_TOY_H

#include "kit/heatmap.h"
#include "kit/program.h"
#include "mpi/ranks.h"
#include "stream.h"
#include <rapt/rapt.h>

/* ---- pairs.c: sentence pairs in memory ---- */
struct pairs {
    size_t count, capacity;
    rapt_text *source, *target; /* [count] into bytes */
    size_t *line;               /* [count] line numbers, from 1 */
    size_t lines;               /* of the file, with those that are no pair */
    const char *name;           /* of the file, for messages */
    char *bytes;                /* [used] source, target, source, target .. */
    size_t used, bytes_capacity;
};
enum { PAIR_ROWS = 4 };
void pair_rows(struct pair_files *files, struct option_row rows[PAIR_ROWS]);
int pair_files_check(const struct pair_files *files, const char *command);
int pairs_read(struct pairs *pairs, const struct pair_files *files);
void pairs_add(struct pairs *pairs, rapt_text source, rapt_text target, size_t line); /* copies */
void pairs_thin(struct pairs *pairs);              /* drops each second pair */
void pairs_cut(struct pairs *pairs, size_t count); /* keeps the first ones */
void pairs_free(struct pairs *pairs);

/* ---- vocabulary.c ---- */
struct vocabulary {
    rapt_tokenizer *source, *target; /* the same pointer if joint */
    char *metadata[2];
};
int vocabulary_learn(struct vocabulary *vocabulary, const struct pairs *pairs, int vocab,
                     bool exactly, bool separate);
/* Of a SentencePiece model; target NULL: for both sides. */
int vocabulary_open(struct vocabulary *vocabulary, const char *path, const char *target);
int vocabulary_load(struct vocabulary *vocabulary, const rapt_model *model);
int vocabulary_metadata(const struct vocabulary *vocabulary,
                        rapt_metadata metadata[2]); /* returns the count */
bool vocabulary_same(const struct vocabulary *a, const struct vocabulary *b);
void vocabulary_free(struct vocabulary *vocabulary);

/* ---- variant.c: the fields of a model's configuration ---- */
struct variant_value { /* of an option; 0: not given */
    const char *word;
    int integer;
    double real;
    bool flag;
};
struct variant { /* both: of the option X for self_X and cross_X, at the index of self_X */
    struct variant_value own[RAPT_CONFIG_FIELDS], both[RAPT_CONFIG_FIELDS];
};
enum { VARIANT_ROWS = 2 * RAPT_CONFIG_FIELDS }; /* of both parts together, at most */
enum variant_part { VARIANT_MODEL, VARIANT_ATTENTION };
/* The options of one part; returns the count. */
int variant_rows(struct variant *variant, enum variant_part part,
                 struct option_row rows[VARIANT_ROWS]);
void variant_apply(const struct variant *variant, rapt_config *config);
bool is_variant(const char *option); /* "self-radius": one of these options? */
char *variant_text(
    const rapt_config *config); /* for options that --resume must repeat; the caller frees */
json_t *variant_describe(const rapt_config *config); /* NULL: out of memory */

/* ---- hard.c: the options of rapt_train_options for hard attention ---- */
struct hard {
    const char *baseline; /* "mean" or "expected" */
    double expected_share, reward_scale, reward_decay, reward_entropy, anneal;
    int anneal_steps;
};
enum { HARD_ROWS = 7 };
void hard_rows(struct hard *hard, struct option_row rows[HARD_ROWS]);
/* Refuses options that the model has no use for. */
int hard_check(const struct hard *hard, const rapt_config *config);
void hard_apply(const struct hard *hard, rapt_train_options *options);
char *hard_text(const struct hard *hard); /* as variant_text */

/* ---- learn.c: the training loop of train and demo ---- */
struct recipe {
    const char *preset;                  /* "tiny", "small", "base" */
    int layers, width, heads, ffn_width; /* 0: the preset's */
    struct variant variant;
    int vocab;                        /* tokens */
    const char *sentencepiece;        /* a file that holds the vocabulary; NULL: learn it */
    const char *sentencepiece_target; /* of the target side; NULL: the same */
    bool exact_vocab, separate;       /* fail if the data supports fewer; two vocabularies */
    double dropout, smoothing, rate;
    struct hard hard;
    const char *guided;   /* word alignments of the training pairs; NULL: none */
    double guided_weight; /* of their loss */
    int guided_layer;     /* of the decoder, from 1; 0: the last */
    int warmup;
    const char *schedule;            /* "inverse-sqrt", "linear" or "constant" */
    int batch_tokens, epochs, steps; /* 0: no bound */
    double minutes;                  /* 0: no bound */
    int average, patience;
    int valid_steps; /* also validate after so many steps; 0: only at the end of an epoch */
    double enough;   /* stop when the validation loss is below this for the second time; 0: never */
    uint64_t seed;
    int shards;           /* of a step; 0: it is one batch, as a whole */
    struct ranks *ranks;  /* those that train together; NULL: this process alone */
    const char *products; /* "builtin", "openblas" or "auto"; NULL: the library's default */
    int threads;
    double memory_limit; /* MB; 0: none */
    const char *out;
    const char *command; /* training_text(), for the checkpoint; NULL: there is none */
    bool resume, checkpoint, keep_checkpoint, curve, json, force;
};
int recipe_config(const struct recipe *recipe,
                  rapt_config *config); /* vocabulary sizes are set later */
/* Forgets the sample of the data. *steps, if not NULL: how many were made, with those of earlier
   runs. */
int learn(const struct recipe *recipe, struct data *data, long long *steps);

/* ---- outputs.c: the files of a run beside OUT ---- */
/* Fails if OUT or a checkpoint of ours is there, unless the recipe says resume or force; and if a
   file that is not ours has a name of the checkpoint's, of a recipe with one. */
int outputs_check(const struct recipe *recipe);
/* Calls visit for each file beside OUT that has a name of the checkpoint's, until it fails. */
int outputs_each(const char *out, int (*visit)(const char *path, const void *user),
                 const void *user);
void outputs_remove(const char *out); /* the checkpoint and its copies, if they are ours */

/* ---- words.c: tokens grouped into words ---- */
struct words {
    int tokens, count;
    int *of_token;    /* [tokens] the word of each token; the last: the end token */
    rapt_text *texts; /* [count]; the last is "(end)" */
    char *bytes;
};
void words_make(struct words *words, const rapt_tokenizer *tokenizer, const int32_t *ids,
                int count);
/* Without the end token, which is the last word. */
void words_no_end(struct words *words);
/* The words of a decoder's inputs instead: "(begin)" first, no "(end)". */
void words_begin(struct words *words);
void words_free(struct words *words);
/* weights [target tokens + end][source tokens + end] to grid [target words + end][source words +
   end]: summed over the tokens of a source word, averaged over those of a target word. */
void words_fold(const struct words *source, const struct words *target, const float *weights,
                float *grid);

/* ---- seen.c: the source words of training ---- */
#define WORDS_KEY "toy_translate.words" /* in a model's metadata */
struct seen {
    char **slots; /* [capacity], a power of two; NULL: free */
    size_t capacity, count, bytes;
    char *text; /* [text_capacity] of the sentence last added */
    size_t text_capacity;
};
void seen_add(struct seen *seen, const rapt_tokenizer *tokenizer, const int32_t *ids, int count);
void seen_add_list(struct seen *seen, const char *list); /* as seen_list gives it */
char *seen_list(struct seen *seen); /* and empties it; NULL: too many; the caller frees */
void seen_free(struct seen *seen);
bool seen_has(const char *list, rapt_text word); /* true if it has no letters */

/* ---- unseen.c: words that training did not see ---- */
struct unseen {
    char **words; /* [count], different */
    size_t count, more;
    bool known; /* by the list of seen.c; else guessed */
};
/* The words of a source sentence of the translator, and which of them training has not seen:
   [words->count], the caller frees. *known: by the list of seen.c. */
bool *unseen_find(const rapt_translator *translator, const int32_t *ids, int count,
                  struct words *words, bool *known);
json_t *unseen_json(const struct words *words, const bool *unseen);
/* Those of them. */
void unseen_add(struct unseen *unseen, const rapt_translator *translator, const int32_t *ids,
                int count);
void unseen_report(struct unseen *unseen); /* a message that names them, and forgets them */
void unseen_free(struct unseen *unseen);

/* ---- model.c ---- */
int model_open(rapt_model **model, const char *path);

/* ---- search.c: options of translate, evaluate and attend; the translator they configure ---- */
struct search {
    const char *model;
    int beam, nbest, batch_tokens, threads;
    double length_penalty;
    const char *like, *preprocess, *shortlist; /* NULL: not given */
};
enum { SEARCH_ROWS = 9 };
extern const struct search search_default;
void search_rows(struct search *search, struct option_row rows[SEARCH_ROWS]);
int search_open(const struct search *search, const char *command, rapt_translator **translator);

/* ---- score.c ---- */
enum { SCORE_COUNTS = 28 };
struct score {
    size_t sentences, capacity, exact, too_long;
    rapt_bleu lowered;            /* lower case, split at spaces */
    long long sums[SCORE_COUNTS]; /* over sentences */
    long long *counts;            /* [sentences][SCORE_COUNTS] */
    long long target_tokens;
    double seconds; /* 0: nothing was translated */
};
double score_bleu(const long long *sums); /* cased, 13a; sums: [SCORE_COUNTS] */
double score_chrf(const long long *sums);
int score_add(struct score *score, rapt_text hypothesis, rapt_text reference);
/* Translates the sources; output, if not NULL, gets the translations, one for each line of
   the pairs' file: an empty one where that is no pair. */
int score_pairs(struct score *score, rapt_translator *translator, const struct pairs *pairs,
                FILE *output);
double score_exact(const struct score *score); /* in % */
void score_free(struct score *score);

/* ---- attention.c ---- */
struct attention_choice {
    const char *sentence, *target; /* target: the translation; NULL: the model's own */
    rapt_weights which;            /* RAPT_WEIGHTS_ENCODER is 0 */
    int layer, head;               /* from 0, or -1: the mean over all */
    bool quiet;                    /* no message about words never seen */
};
struct attention {
    struct words source, target; /* what is attended to; what attends */
    float *grid;                 /* [target.count][source.count] */
    bool *unseen;                /* [source.count] words that training never saw, of a list */
    rapt_text *names;            /* [source.count] of the map: those have a mark before them */
    bool self;                   /* rows are the words of the columns */
    char *text;                  /* the translation */
};
struct heatmap attention_map(const struct attention *attention);
int attention_make(struct attention *attention, rapt_translator *translator,
                   const struct attention_choice *choice);
void attention_free(struct attention *attention);

int command_train(int argc, char **argv);
int command_translate(int argc, char **argv);
int command_score(int argc, char **argv);
int command_evaluate(int argc, char **argv);
int command_attend(int argc, char **argv);
int command_tokenize(int argc, char **argv);
int command_detokenize(int argc, char **argv);
int command_vocab(int argc, char **argv);
int command_info(int argc, char **argv);
int command_convert(int argc, char **argv);
int command_shortlist(int argc, char **argv);
int command_demo(int argc, char **argv);
int command_completion(int argc, char **argv);

#endif
