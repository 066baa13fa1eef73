/* data.h - interface header of data/: sentence pairs in files and in memory, vocabularies, pairs as
   tokens, and batches. Functions that return an int return the program's exit code, after a message
   if it is not 0. */
#ifndef TOY_TRANSLATE_DATA_H
#define TOY_TRANSLATE_DATA_H

#include "kit/program.h"
#include "kit/random.h"
#include "ranks/ranks.h"
#include <rapt/rapt.h>

/* ---- reader.c: the bytes of a file at any offset ---- */
struct input {
    const char *name;
    int file;   /* an open regular file, or -1 if the bytes are held */
    char *held; /* the decompressed bytes of a pipe or a compressed file, or those of
                   input_over */
    size_t size;
};
int input_open(struct input *input, const char *path);
/* Makes an input of bytes, which it will free. */
struct input input_over(const char *name, char *bytes, size_t size);
/* Reads `size` bytes from offset `at` on; *got is smaller only at the end. */
int input_read(const struct input *input, uint64_t at, char *bytes, size_t size, size_t *got);
void input_close(struct input *input);

/* ---- reader.c: the pairs of one or two files, in order or at a known position ---- */
enum { MAX_BYTES = 1 << 16 }; /* of a sentence; pairs with a longer one are skipped */
/* The files: `data`, or `source` and `target`. */
struct pair_files {
    const char *data, *source, *target;
    bool more_columns; /* ignore columns of data after the second instead of refusing them */
};
struct pair_inputs {
    struct input side[2]; /* the second is used only if `two` is true */
    bool two, more_columns;
};
int pair_inputs_open(struct pair_inputs *inputs, const struct pair_files *files);
void pair_inputs_close(struct pair_inputs *inputs);

struct line_reader {
    const struct input *input;
    char *bytes; /* [size] the input from offset `from` on */
    size_t size, capacity, chunk;
    uint64_t from;
    size_t at; /* offset of the next line in `bytes` */
    bool ended;
    size_t number; /* of the line last read, from 1 */
    rapt_text line;
};
/* A position between two lines, from which a reader can go on. */
struct position {
    uint64_t at[2];
    size_t line; /* number of the line before it */
};
struct skipped {
    size_t empty, too_long, first_empty, first_long;
};
struct pair_reader {
    const struct pair_inputs *inputs;
    struct line_reader side[2];
    rapt_text source, target; /* the pair last read; valid until the next is read */
    struct position position; /* where its line begins */
    struct skipped skipped;
};
/* `chunk` is the number of bytes to read at once. A longer line takes more memory. */
int reader_open(struct pair_reader *reader, const struct pair_inputs *inputs, size_t chunk);
void reader_seek(struct pair_reader *reader, struct position position);
/* Reads the next pair that is not skipped; *more becomes false at the end. */
int reader_next(struct pair_reader *reader, bool *more);
/* Reads the pair at a position where one was found earlier, without validating it; *same becomes
   false if no pair begins there now. */
int reader_again(struct pair_reader *reader, struct position position, bool *same);
size_t reader_lines(const struct pair_reader *reader);
void reader_report(const struct pair_reader *reader); /* prints what was skipped */
void reader_close(struct pair_reader *reader);
/* Continues the hash of earlier pairs (initially HASH_EMPTY, kit/random.h) with this one. Sizes are
   hashed too, so that moving a boundary changes the hash. */
uint64_t reader_hash(uint64_t hash, const struct pair_reader *reader);
uint32_t reader_digest(const struct pair_reader *reader); /* of the pair that was read last */

/* ---- pairs.c: pairs in memory, and the options that name files of pairs ---- */
struct pairs {
    size_t count, capacity;
    rapt_text *source, *target; /* [count] in bytes */
    size_t *line;               /* [count] line numbers, from 1 */
    size_t lines;               /* of the file, including skipped ones */
    const char *name;           /* of the file, for messages */
    char *bytes;                /* [used] source, target, source, target ... */
    size_t used, bytes_capacity;
};
enum { PAIR_ROWS = 4 };
void pair_rows(struct pair_files *files, struct option_row rows[PAIR_ROWS]);
int pair_files_check(const struct pair_files *files, const char *command);
int pairs_read(struct pairs *pairs, const struct pair_files *files);
void pairs_add(struct pairs *pairs, rapt_text source, rapt_text target, size_t line); /* copies */
void pairs_drop(struct pairs *pairs, const bool *drop); /* drop is [count] */
void pairs_thin(struct pairs *pairs);                   /* drops every second pair */
void pairs_free(struct pairs *pairs);

/* ---- data.c: training and validation pairs in their files ---- */
/* The place of a pair that is not skipped. */
struct mark {
    struct position position;
    size_t pair;     /* its number in the files */
    uint64_t hash;   /* of all pairs before it */
    uint32_t digest; /* of the pair (reader_digest) */
    bool held_out;   /* for validation, so not in this part */
};
/* Pairs of the files, in segments that can be read independently. */
struct part {
    const struct pair_inputs *inputs;
    size_t count; /* pairs of the part, without skipped ones */
    size_t pairs; /* of the files, without skipped ones */
    struct mark *marks;
    size_t segments;        /* segment i: pairs marks[i].pair .. marks[i + 1].pair - 1 */
    bool single;            /* segment i is only the pair marks[i].pair */
    uint64_t spacing, next; /* bytes per segment, and where the next one may begin */
    uint64_t end;           /* the hash after the last pair */
    uint64_t bytes;         /* of all pairs as lines, including those that are held out */
};
enum { SEGMENTS = 1 << 12 }; /* at most, per part */
/* Reads the files once and continues *hash with every pair. Fails if there are no pairs. */
int part_survey(struct part *part, const struct pair_inputs *inputs, uint64_t *hash);
void part_free(struct part *part); /* keeps count */
/* Reads at most `max` pairs, evenly spread over the part. The caller frees them. */
int part_sample(const struct part *part, size_t max, struct pairs *pairs);

struct examples;
struct data {
    struct pair_inputs train_inputs, valid_inputs;
    struct part train, valid;
    bool separate;         /* valid has files of its own */
    uint64_t hash;         /* of all pairs of both */
    struct pairs *sample;  /* evenly spaced training pairs, or NULL */
    size_t sample_spacing; /* 1 means that the sample is all of them */
};
enum { SAMPLE_BYTES = 1 << 26 }; /* maximum bytes of a sample */
/* Reads the files once. Without files of its own, valid takes pairs of train (data.c): one in a
   hundred, at least 1 and at most `max`, which must not exceed SEGMENTS / 2. Collects
   data->sample if `sample` is true. */
int data_open(struct data *data, const struct pair_files *train, const struct pair_files *valid,
              size_t max, bool sample);
/* Does the same for text in memory, with a source, a tab and a target on each line. Collects a
   sample. data_close frees the bytes. */
int data_over(struct data *data, const char *name, char *bytes, size_t size, size_t max);
void data_forget_sample(struct data *data);
void data_close(struct data *data);

/* ---- data.c: which training pairs are held out for validation ---- */
/* Holds out `count` pairs, evenly spread over the files. */
void split_choose(struct data *data, size_t count);
/* Replaces held-out pairs that are too long for examples_make by neighbors that are not, if there
   are any. Fails if no held-out pair remains. `examples` has the fields that examples_make reads.
   Does nothing if the validation pairs have files of their own. */
int split_settle(struct data *data, const struct examples *examples);

/* ---- vocabulary.c ---- */
struct vocabulary {
    rapt_tokenizer *source, *target; /* the same pointer if joint */
    char *metadata[2];
};
/* Learns a vocabulary of `vocab` tokens. If the pairs support fewer, fails if `exactly` is true,
   and otherwise learns as many as possible. */
int vocabulary_learn(struct vocabulary *vocabulary, const struct pairs *pairs, int vocab,
                     bool exactly, bool separate);
/* Reads SentencePiece models. target is NULL if `path` serves both sides. */
int vocabulary_open(struct vocabulary *vocabulary, const char *path, const char *target);
int vocabulary_load(struct vocabulary *vocabulary, const rapt_model *model);
/* Fills in the metadata of a model file and returns their number. */
int vocabulary_metadata(const struct vocabulary *vocabulary, rapt_metadata metadata[2]);
bool vocabulary_same(const struct vocabulary *a, const struct vocabulary *b);
void vocabulary_free(struct vocabulary *vocabulary);

/* ---- seen.c: the source words of the training pairs ---- */
#define WORDS_KEY "toy_translate.words" /* in a model's metadata */
struct seen {
    char **slots; /* [capacity] a power of two; NULL if free */
    size_t capacity, count, bytes;
    char *text; /* [text_capacity] the sentence last added */
    size_t text_capacity;
};
void seen_add(struct seen *seen, const rapt_tokenizer *tokenizer, const int32_t *ids, int count);
/* Adds a result of seen_list. NULL means that there are too many words. */
void seen_add_list(struct seen *seen, const char *list);
/* Empties the set and returns its words, one per line and sorted, or NULL if they are too many. The
   caller frees the list. */
char *seen_list(struct seen *seen);
void seen_free(struct seen *seen);
bool seen_has(const char *list, rapt_text text); /* returns true if the list has all words of the
                                                    text */
/* Converts a list that an earlier version made to the words that word_next finds. Returns NULL if
   it consists of such words already, or becomes too long. The caller frees the result. */
char *seen_update(const char *list);
/* Finds the next word at or after *at and moves *at to its end. Returns false at the end of the
   text. */
bool word_next(rapt_text text, size_t *at, rapt_text *word);

/* ---- noise.c: noise in sentence pairs, from which models learn to translate such text ---- */
enum noise_kind {
    NOISE_CAPS,               /* both sides in capital letters */
    NOISE_TITLE,              /* the first letter of every word is a capital letter */
    NOISE_TYPOS,              /* letters of the source are swapped, lost, doubled or replaced */
    NOISE_TAGS,               /* tags such as <b> around a word and its translation, or both
                                 sentences */
    NOISE_NO_END_PUNCTUATION, /* both sides lose their last punctuation, if both have some */
    NOISE_CONCAT,             /* the pair is followed by the next one */
    NOISE_KINDS
};
struct noise { /* {0}: none */
    double rates[NOISE_KINDS];
};
const char *noise_name(int kind);
/* Reads a list such as "caps=.1,typos" for an option of a command. Kinds without a rate get a
   default or, if `always`, the rate 1. "all" stands for every kind. */
int noise_read(struct noise *noise, const char *list, bool always, const char *command,
               const char *option);
bool noise_any(const struct noise *noise);
char *noise_text(const struct noise *noise); /* returns such a list, which the caller frees */
/* Draws the kinds of noise that a pair gets, as bits. */
unsigned noise_draw(const struct noise *noise, struct random *random);
struct noisy_pair { /* {0} before the first use */
    char *bytes[2]; /* the source and the target */
    size_t size[2], capacity[2];
};
rapt_text noisy_text(const struct noisy_pair *pair, int side);
/* Makes room for `more` bytes and returns a pointer to the first. */
char *noisy_reserve(struct noisy_pair *pair, int side, size_t more);
/* Appends a pair, with a space between the sentences in scripts that need one. */
void noisy_append(struct noisy_pair *pair, rapt_text source, rapt_text target);
/* Adds the kinds of noise, except NOISE_CONCAT, which noisy_append makes. Tags enclose the source
   word and the translation whose numbers, from 0, are in `words`, or both sentences if `words` is
   NULL. */
void noise_add(struct noisy_pair *pair, unsigned kinds, const size_t words[2],
               struct random *random);
void noisy_free(struct noisy_pair *pair);
/* Makes noisy copies of pairs. Returns how many are not equal to their originals. */
size_t noise_pairs(struct pairs *noisy, const struct pairs *pairs, const struct noise *noise,
                   uint64_t seed);

/* ---- examples.c: special tokens around the tokens of a text ---- */
struct frame {
    int32_t before[2], after[2];
    size_t before_count, after_count;
};
struct frames {
    struct frame source, target; /* the first of target.before is the decoder's first input */
};
/* Finds the tokens that a translator adds. The languages are NULL unless the model needs them. */
int frames_find(struct frames *frames, const rapt_model *model, const struct vocabulary *vocabulary,
                const char *source_language, const char *target_language);
size_t frame_count(const struct frame *frame);

/* ---- examples.c and index.c: pairs as tokens ---- */
struct examples {
    /* Set before examples_make: */
    const struct vocabulary *vocabulary;
    struct frames frames;
    size_t max_tokens;         /* pairs with a longer side are skipped, with a message */
    size_t max_ids;            /* token ids to hold in memory */
    int threads;               /* threads that make the index; 0 means one */
    const struct ranks *ranks; /* ranks that each make a part of the index; NULL means only this
                                  process */
    /* The index: */
    size_t count;
    uint64_t *where[2]; /* [count] offsets in the files; where[0] of a held example is its offset in
                           ids */
    uint32_t *source, *target; /* [count] numbers of tokens, including special ones; with noise,
                                  those of this epoch */
    uint32_t *digests;         /* [count] of the text in the file */
    size_t held;               /* the ids of the first `held` examples are in memory */
    int32_t *ids;
    size_t ids_count, ids_capacity;
    struct pair_reader reader;   /* reads the other examples */
    size_t own;                  /* pairs that this rank tokenized for the index */
    struct augmented *augmented; /* NULL means that the examples are as they are in the files */
};
/* All ranks call this together. Fails if the pairs have changed since the part was surveyed.
   `seen`, unless NULL, receives the source words (on rank 0, those of all ranks). */
int examples_make(struct examples *examples, const struct part *part, struct seen *seen);
size_t examples_index_bytes(const struct part *part);
/* Returns the number of tokens of the longer side, in this epoch. */
size_t examples_length(const struct examples *examples, size_t index);
/* Reads the tokens of an example, with its noise in this epoch: source[index] and target[index] of
   them. */
int examples_get(struct examples *examples, size_t index, int32_t *source, int32_t *target);
void examples_free(struct examples *examples);

/* ---- batches.c ---- */
struct batches {
    struct examples *examples;
    size_t budget; /* tokens of either side in one batch */
    size_t count, capacity;
    uint32_t *order;    /* [examples] by length */
    uint32_t *starts;   /* sorted batch s: examples order[starts[s]] .. order[starts[s + 1] - 1] */
    size_t from, end;   /* the current batch: examples order[from] .. order[end - 1] */
    uint32_t *shuffled; /* [count] batch b is the sorted batch shuffled[b] */
    int32_t *source_ids, *target_ids;
    int *source_starts, *target_starts;
};
enum { MAX_SENTENCES = 1 << 20 }; /* of a batch: the library's limit */
int batches_create(struct batches *batches, struct examples *examples, size_t budget);
size_t batches_bytes(size_t examples, size_t budget); /* approximate memory */
/* Plans the batches of an epoch, a function of seed and epoch. Epoch 0 is not shuffled and serves
   for validation. */
void batches_plan(struct batches *batches, uint64_t seed, int epoch);
/* Makes batch b the current one. *source and *target are valid until the next call. */
int batches_get(struct batches *batches, size_t b, rapt_tokens *source, rapt_tokens *target);
/* Does the same for one of `parts` consecutive parts of the batch, which have about equally many
   tokens. A part may be empty. */
int batches_get_part(struct batches *batches, size_t b, size_t part, size_t parts,
                     rapt_tokens *source, rapt_tokens *target);
/* Returns an upper bound on the number of tokens on either side of a part. max_tokens is the
   maximum number of tokens in a sentence, without begin and end. */
size_t batches_part_budget(size_t budget, size_t max_tokens, size_t parts);
void batches_free(struct batches *batches);

/* ---- alignments.c: word alignments of the training pairs ---- */
struct token_link {
    uint16_t source, target; /* tokens of an example, from 0, not counting begin */
};
struct alignments { /* all zero means no alignments */
    const char *name;
    char *bytes;           /* of the file, until the links of all examples are made */
    size_t size, at, line; /* offset of the next line, and number of the line before it */
    struct token_link *links;
    size_t *starts; /* [count + 1] links of example i: starts[i] .. starts[i + 1] - 1, by target */
    size_t count, capacity, link_capacity;
    int *row_starts, *sources; /* of the last batch that was requested */
    size_t row_capacity, source_capacity;
};
int alignments_open(struct alignments *alignments, const char *path);
/* Continues `hash` with the file. */
uint64_t alignments_hash(const struct alignments *alignments, uint64_t hash);
/* Makes the links of all examples, which must have been made from this part, and frees the file's
   bytes. */
int alignments_make(struct alignments *alignments, const struct examples *examples,
                    const struct part *part);
/* Returns the alignment of the current batch, valid until the next call. */
rapt_alignment alignments_batch(struct alignments *alignments, const struct batches *batches);
/* Returns the links of an example, sorted by target, and their number. */
const struct token_link *alignments_links(const struct alignments *alignments, size_t example,
                                          size_t *count);
void alignments_free(struct alignments *alignments);

/* ---- augment.c: examples that get noise, different ones in each epoch ---- */
/* The noise of an example is a function of the seed, the epoch and the example. `alignments` are
   those of the examples, or NULL; they must remain valid. */
void examples_augment(struct examples *examples, const struct noise *noise, uint64_t seed,
                      const struct alignments *alignments);
/* Begins an epoch, counted from 1, and sets the lengths of the examples. Does nothing without
   noise. */
int examples_epoch(struct examples *examples, int epoch);
/* Returns true if an example gets noise in this epoch. */
bool examples_noisy(const struct examples *examples, size_t index);
size_t augmented_bytes(size_t examples); /* approximate memory */

/* ---- examples.c, internal to data/: one sentence pair as token ids ---- */
struct ids {
    int32_t *ids;
    size_t *ends; /* offsets in the text at which tokens end, without special ones; NULL if the ids
                     are those of many pairs */
    size_t count, capacity;
};
struct encoded { /* {0} before the first use */
    struct ids source, target;
};
/* Encodes the pair that the reader read last. Returns false if a side has more than max_tokens
   tokens, including special ones; its ids are then incomplete. */
bool encode_pair(struct encoded *pair, const struct examples *examples,
                 const struct pair_reader *reader);
/* Does the same for a pair of texts. */
bool encode_texts(struct encoded *pair, const struct examples *examples, rapt_text source,
                  rapt_text target);
void encoded_free(struct encoded *pair);

/* Reads an example as it is in the files. Returns the program's exit code. */
int examples_get_clean(struct examples *examples, size_t index, int32_t *source, int32_t *target);

/* ---- augment.c, internal to data/ ---- */
/* Finds the numbers of tokens of both sides of an example as it is in the files. */
void examples_clean_counts(const struct examples *examples, size_t index, size_t counts[2]);
/* Reads an example that gets noise. */
int augmented_get(struct examples *examples, size_t index, int32_t *source, int32_t *target);
void augmented_free(struct augmented *augmented);

#endif
