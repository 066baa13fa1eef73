/* commands.h - interface header of commands/: the commands of toy_translate, and functions that
   several of them share. Help, completion and the manual page are generated from the list of
   commands and from their tables of options. Functions that return an int return the program's exit
   code, after a message if it is not 0. */
#ifndef TOY_TRANSLATE_COMMANDS_H
#define TOY_TRANSLATE_COMMANDS_H

#include "data/data.h"
#include "kit/heatmap.h"
#include "kit/text.h"
#include "training/training.h"
#include <rapt/document.h>

/* ---- main.c ---- */
struct entry {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
    bool has_options; /* the command calls options_read */
};
extern const struct entry commands[]; /* ends with a NULL name */

int command_train(int argc, char **argv);
int command_translate(int argc, char **argv);
int command_score(int argc, char **argv);
int command_evaluate(int argc, char **argv);
int command_attend(int argc, char **argv);
int command_embed(int argc, char **argv);
int command_similarity(int argc, char **argv);
int command_rerank(int argc, char **argv);
int command_tokenize(int argc, char **argv);
int command_detokenize(int argc, char **argv);
int command_vocab(int argc, char **argv);
int command_info(int argc, char **argv);
int command_convert(int argc, char **argv);
int command_shortlist(int argc, char **argv);
int command_demo(int argc, char **argv);
int command_completion(int argc, char **argv);

/* ---- words.c: tokens grouped into words ---- */
struct words {
    int tokens, count;
    int *of_token;    /* [tokens] the word of each token; the last token is the end token */
    rapt_text *texts; /* [count]; the last is "(end)" */
    char *bytes;
};
void words_make(struct words *words, const rapt_tokenizer *tokenizer, const int32_t *ids,
                int count);
/* Removes the end token, which is the last word. */
void words_no_end(struct words *words);
/* Turns the words of a target into those of the decoder's inputs, with "(begin)" at the beginning
   and without "(end)". */
void words_begin(struct words *words);
void words_free(struct words *words);
/* Folds weights [target tokens + end][source tokens + end] into grid [target words + end][source
   words + end]: summed over the tokens of a source word, averaged over those of a target word. */
void words_fold(const struct words *source, const struct words *target, const float *weights,
                float *grid);

/* ---- unseen.c: words that training did not see ---- */
struct unseen {
    const rapt_translator *translator;
    const char *list; /* made by seen.c; NULL if the model has none */
    char *updated;    /* the list in today's format, if an earlier version wrote it; else NULL */
    char **words;     /* [count], all different */
    size_t count, more;
};
void unseen_open(struct unseen *unseen, const rapt_translator *translator);
/* Splits a source sentence at spaces and returns which parts have a word that training has not
   seen: [words->count]. The caller frees the result and *words. */
bool *unseen_find(const struct unseen *unseen, const int32_t *ids, int count, struct words *words);
/* Returns the words that `found` marks, or an empty list if they are only guessed. */
json_t *unseen_json(const struct unseen *unseen, const struct words *words, const bool *found);
/* Adds the words of a source sentence that training has not seen. */
void unseen_add(struct unseen *unseen, const int32_t *ids, int count);
void unseen_report(struct unseen *unseen); /* names these words in a message and forgets them */
void unseen_free(struct unseen *unseen);

/* ---- unseen.c: raw text for a model without a tokenizer ---- */
struct raw {
    size_t tokens, unknown; /* numbers of tokens, and of unknown ones, in the texts so far */
    bool reported;
};
void raw_add(struct raw *raw, const rapt_tokenizer *tokenizer, const int32_t *ids, int count);
/* Reports, once, that most tokens are unknown, what follows from that, and what to give instead.
   `model` is its path. */
void raw_report(struct raw *raw, const rapt_tokenizer *tokenizer, const char *model,
                const char *consequence);

/* ---- train_options.c ---- */
struct option_row seed_row(uint64_t *seed); /* --seed of training */

/* ---- search.c: the models that commands read, and their options for searching ---- */
/* Returns the precision that a word of precision_row names; RAPT_PRECISION_STORED for NULL. */
rapt_precision precision_of(const char *word);
/* Opens a model. `precision` is a word of precision_row, or NULL for the precision of the file.
   Returns EXIT_OK, or another exit code after a message. */
int model_open(rapt_model **model, const char *path, const char *precision);
struct option_row model_row(const char **path);
struct option_row source_language_row(const char **language);
struct option_row target_language_row(const char **language);
struct option_row batch_row(int *tokens); /* --batch-tokens */
struct option_row precision_row(const char **word);

struct search {
    const char *model;
    int beam, nbest, batch_tokens, threads, min_length, max_length, no_repeat_ngram, top_k;
    bool bf16_cache;
    double length_penalty, repetition_penalty; /* below their ranges if not given */
    double coverage_penalty;
    const rapt_text *suppressed; /* [suppressed_count] never produced */
    size_t suppressed_count;
    double temperature,
        top_p; /* temperature 0 means to search; top_p 0 means to sample from all tokens */
    uint64_t seed;
    double max_length_factor;                              /* 0 means that of the model or its
                                                              project */
    const char *like, *preprocess, *shortlist, *precision; /* NULL if not given */
    const char *products;                                  /* likewise */
    const char *source_language, *target_language;         /* likewise */
};
enum { SEARCH_ROWS = 20 };
extern const struct search search_default;
void search_rows(struct search *search, struct option_row rows[SEARCH_ROWS]);
int search_open(const struct search *search, const char *command, rapt_translator **translator);
void search_close(rapt_translator *translator); /* NULL is allowed */
/* Reports the settings of the model's folder that are ignored. */
void search_report(const struct search *search, const rapt_translator *translator);

/* ---- embed.c: the lines of a file ---- */
struct texts {      /* all lines of a file */
    rapt_text *all; /* [count] */
    size_t count, capacity;
};
/* Reads the lines of a file, or of standard input if path is NULL or "-". *texts must be zero at
   first, and must be freed even if this fails. */
int texts_read(struct texts *texts, const char *path);
void texts_free(struct texts *texts);

/* ---- score.c: BLEU, chrF and exact matches ---- */
enum { SCORE_COUNTS = 28 };
struct score {
    rapt_bleu_tokens tokens; /* set before the first sentence */
    size_t sentences, capacity, exact, too_long;
    rapt_bleu lowered;            /* BLEU of lowercase text, split at spaces */
    long long sums[SCORE_COUNTS]; /* over sentences */
    long long *counts;            /* [sentences][SCORE_COUNTS] */
    long long target_tokens;
    double seconds; /* 0 if nothing was translated */
    struct raw raw; /* the sources that were translated */
};
double score_bleu(const long long *sums); /* cased; sums is [SCORE_COUNTS] */
double score_chrf(const long long *sums);
int score_add(struct score *score, rapt_text hypothesis, rapt_text reference);
/* Returns the tokenizer that suits the script of the targets if it is written without spaces,
   otherwise NULL. */
const char *score_tokenizer(const struct pairs *pairs);
/* Translates the sources. Writes a line to `output`, unless it is NULL, for each line of the pairs'
   file, empty where a pair was skipped. */
int score_pairs(struct score *score, rapt_translator *translator, const struct pairs *pairs,
                FILE *output);
double score_exact(const struct score *score); /* in % */
void score_free(struct score *score);

/* ---- attention.c ---- */
struct attention_choice {
    const char *sentence, *target; /* `target` is a given translation; NULL means the model's own */
    const char *model;             /* path of the model, for messages; NULL in the demo */
    rapt_weights which;            /* RAPT_WEIGHTS_ENCODER is 0 */
    int layer, head;               /* from 0; -1 means the mean over all */
    int heads;                     /* number of heads to average, starting with `head`; 0 means 1 */
    bool quiet;                    /* no message about unseen words */
};
struct attention {
    struct words source, target; /* columns, which are attended to, and rows, which attend */
    float *grid;                 /* [target.count][source.count] */
    struct unseen seen;          /* the words that training has not seen */
    bool *unseen;                /* [source.count] columns with such a word, by the list */
    rapt_text *names;            /* [source.count] labels of the map: unseen words are marked */
    bool self;                   /* rows and columns are the same words */
    char *text;                  /* the translation */
};
struct heatmap attention_map(const struct attention *attention);
int attention_make(struct attention *attention, rapt_translator *translator,
                   const struct attention_choice *choice);
void attention_free(struct attention *attention);

/* ---- train_options.c: the options of train, and the files that it reads ---- */
struct training_files {
    struct pair_files train, valid; /* valid.more_columns is that of train */
    const char *alignment;          /* word alignments of the training pairs, or NULL */
};
enum { TRAINING_TAKEN = 128 };
struct training {
    struct recipe recipe;
    struct training_files files;
    char *helps[16];             /* help texts that rows point to */
    char *texts[TRAINING_TAKEN]; /* values taken from a checkpoint */
    int taken;
    const char *augment; /* kinds of noise, or NULL */
    int lock;            /* of training/outputs.c; -1 means none */
};
enum { TRAINING_ROWS = 61 + HARD_ROWS + VARIANT_ROWS };
/* Fills `rows` with the options of train, which point into *training. Returns their number. */
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

/* ---- train.c ---- */
/* Fills in the defaults for fine-tuning (--from), which change a model only a little. */
void tuning_defaults(struct recipe *recipe, const struct command *command);

/* ---- translate.c: translates lines, or the sentences of a document (documents.c) ---- */
enum { TRANSLATE_WINDOW = 1024 }; /* as many lines as the library translates at once */

/* The beginnings of translations, which are the lines of a file. */
struct prefixes {
    const char *name; /* name of the file, or NULL without --prefix */
    char *bytes;
    size_t size, at, lines;            /* lines: number of lines that prefixes_next has returned */
    rapt_text texts[TRANSLATE_WINDOW]; /* lines of the current window */
};

/* The output of --quality, an object for each sentence. */
struct quality {
    const char *name;     /* of the file, or NULL without --quality */
    FILE *file;           /* temporary; NULL if it is not open */
    size_t count;         /* sentences so far */
    size_t read, written; /* bytes of the document, and of its translation, before the block */
};

/* A list of words and phrases. */
struct phrases {
    char *bytes;
    rapt_text *list; /* [count] */
    size_t count;
};

struct job {
    rapt_translator *translator;
    bool by_lines, scores, alignments, json, unwrap;
    const char *format, *language; /* language is NULL if it is not given */
    bool unprotected, unmended;
    const char *recase; /* capitals, titles or none */
    size_t mended,
        faulty; /* number of sentences translated again, and of those that still have a fault */
    const char *do_not_translate; /* a file, or NULL */
    const char *suppress;         /* likewise */
    struct phrases suppressed;
    const char *glossary_file; /* NULL if none */
    rapt_glossary *glossary;
    size_t terms, terms_met; /* terms in all sources, and those that the translations contain */
    int max_length;          /* 0 if not given */
    const char *model;
    struct prefixes prefixes;
    struct quality quality;
    struct raw raw;
    int nbest;                      /* number of translations to print per sentence */
    const char *name, *placeholder; /* name of the input; text for lines without a translation */
    const char *output;             /* NULL means standard output */
    bool complete;                  /* all lines have been answered */
    size_t first;                   /* the number of the window's first sentence, from 0 */
    bool wrong;                     /* a line could not be translated */
    bool returns;                   /* a line with a carriage return was reported */
    size_t count;
    bool dialog;       /* a person types the input */
    bool progress;     /* progress is shown */
    double start;      /* when translating began */
    double bytes, all; /* bytes of the input: translated so far, and in total, or 0 if unknown */
    struct unseen unseen;
    struct lines lines;
    rapt_text texts[TRANSLATE_WINDOW];
    bool invalid[TRANSLATE_WINDOW]; /* not UTF-8 */
};

/* Counts the terms and the unknown tokens of a translation, and notes its unseen words. */
void note_translation(struct job *job, const rapt_translation *t);
/* Reads --glossary. */
int open_glossary(struct job *job);
/* Reports how many terms of the glossary the translations contain. */
void report_terms(const struct job *job);
/* Reports once if most tokens so far are unknown. */
void report_raw(struct job *job);
/* Shows how many lines or sentences have been translated, and how long the others may take. */
void show_progress(const struct job *job, const char *what);

/* ---- phrases.c: --prefix ---- */
int prefixes_open(struct prefixes *prefixes);
/* Sets prefixes->texts to the next `count` lines. */
int prefixes_next(struct prefixes *prefixes, size_t count);
/* Fails if there are lines after those that prefixes_next took. */
int prefixes_end(const struct prefixes *prefixes);
void prefixes_close(struct prefixes *prefixes);

/* ---- documents.c: --quality ---- */
int quality_open(struct quality *quality);
/* Closes the temporary file, after writing it to --quality if the document is complete. */
int quality_close(struct quality *quality, bool complete);
void quality_add(struct quality *quality, const rapt_document_piece *piece);

/* ---- phrases.c ---- */
size_t count_lines(rapt_text text);
/* Reads phrases, one per line. Spaces around them and empty lines are ignored. Does nothing if path
   is NULL. */
int phrases_read(struct phrases *phrases, const char *path);
void phrases_free(struct phrases *phrases);

/* ---- documents.c ---- */
int translate_documents(struct job *job);
/* Writes the names of the formats, separated by |. */
void list_formats(char *names, size_t capacity);

#endif
