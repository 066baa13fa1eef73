/* stream.h - sentence pairs that are read when they are needed: inputs, a reader of their pairs in
   order, and the data of a training. Functions that return an int return the program's exit code,
   after a message if it is not 0. */
#ifndef TOY_TRANSLATE_STREAM_H
#define TOY_TRANSLATE_STREAM_H

#include <rapt/text.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pairs;

/* ---- input.c: the bytes of a file, at any offset ---- */
struct input {
    const char *name;
    int file;   /* a regular file, open; -1: the bytes are held */
    char *held; /* those of a pipe, which can be read once */
    size_t size;
};
int input_open(struct input *input, const char *path);
struct input input_over(const char *name, char *bytes, size_t size); /* takes the bytes over */
/* At most `size` bytes from offset `at` on; fewer only at the end. */
int input_read(const struct input *input, uint64_t at, char *bytes, size_t size, size_t *got);
void input_close(struct input *input);

/* ---- reader.c ---- */
enum { MAX_BYTES = 1 << 16 }; /* of a sentence; pairs with a longer one are skipped */
/* Where pairs are: `data`, or `source` and `target`; more_columns: columns of data after the second
   are ignored, else refused. */
struct pair_files {
    const char *data, *source, *target;
    bool more_columns;
};
struct pair_inputs {
    struct input side[2]; /* the second only if two */
    bool two, more_columns;
};
int pair_inputs_open(struct pair_inputs *inputs, const struct pair_files *files);
void pair_inputs_close(struct pair_inputs *inputs);

struct line_reader {
    const struct input *input;
    char *bytes; /* [size], from offset `from` of the input on */
    size_t size, capacity, chunk;
    uint64_t from;
    size_t at; /* where the next line begins in bytes */
    bool ended;
    size_t number; /* of the line last read, from 1 */
    rapt_text line;
};
/* A position between two lines, from which a reader can go on. */
struct position {
    uint64_t at[2];
    size_t line; /* number of the line before */
};
struct skipped {
    size_t empty, too_long, first_empty, first_long;
};
struct pair_reader {
    const struct pair_inputs *inputs;
    struct line_reader side[2];
    rapt_text source, target; /* the pair last read, valid until the next one is */
    struct position position; /* where its line begins */
    struct skipped skipped;
};
/* chunk: bytes of a read, at least; longer lines take more memory. */
int reader_open(struct pair_reader *reader, const struct pair_inputs *inputs, size_t chunk);
void reader_seek(struct pair_reader *reader, struct position position);
/* The next pair that is not skipped; *more false: there is none. */
int reader_next(struct pair_reader *reader, bool *more);
/* The pair at a position where one was once, unchecked; *same false: there is none any more. */
int reader_again(struct pair_reader *reader, struct position position, bool *same);
size_t reader_lines(const struct pair_reader *reader);
void reader_report(const struct pair_reader *reader); /* what was skipped */
void reader_close(struct pair_reader *reader);
/* Goes on from the hash of the pairs before, or from HASH_EMPTY (kit/hash.h); sizes go in too, so
   that boundaries count. */
uint64_t reader_hash(uint64_t hash, const struct pair_reader *reader);

/* ---- data.c: training and validation pairs in their files ---- */
/* Before a pair that is not skipped. */
struct mark {
    struct position position;
    size_t pair;   /* its number in the part */
    uint64_t hash; /* of all pairs before it */
};
/* Pairs that follow one another, in segments of about as many bytes each, which can be read by
   themselves. */
struct part {
    const struct pair_inputs *inputs;
    size_t count; /* pairs from the first mark on that are not skipped */
    struct mark *marks;
    size_t segments; /* segment i: pairs marks[i].pair .. marks[i + 1].pair - 1 */
    size_t spacing;  /* bytes of a segment, about */
    uint64_t end;    /* the hash behind the last pair */
    uint64_t bytes;  /* of all pairs as lines; of the validation pairs too if those are its last */
};
enum { SEGMENTS = 1 << 12 }; /* of a part, at most */
/* Reads the files once; *hash goes on with all pairs. Fails if there is none. */
int part_survey(struct part *part, const struct pair_inputs *inputs, uint64_t *hash);
void part_free(struct part *part); /* count stays */

struct data {
    struct pair_inputs train_inputs, valid_inputs;
    struct part train, valid;
    uint64_t hash;         /* of all pairs of both */
    struct pairs *sample;  /* training pairs, evenly spaced; NULL: not wanted, or given back */
    size_t sample_spacing; /* 1: they are all of them */
};
enum { SAMPLE_BYTES = 1 << 26 }; /* of text, at most, and one pair */
/* Reads the files once. Without files of its own, valid gets the last pairs of train: one in a
   hundred, at least 1 and at most `max`. */
int data_open(struct data *data, const struct pair_files *train, const struct pair_files *valid,
              size_t max, bool sample);
/* The same for text, a pair with a tab on each line, which is taken over. */
int data_over(struct data *data, const char *name, char *bytes, size_t size, size_t max);
void data_forget_sample(struct data *data);
void data_close(struct data *data);

#endif
