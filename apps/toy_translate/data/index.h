/* index.h - how the index of pairs is made: one sentence as token ids, and many pairs at once by
   several threads and ranks. */
#ifndef TOY_TRANSLATE_INDEX_H
#define TOY_TRANSLATE_INDEX_H

#include "data.h"

/* ---- examples.c ---- */
struct ids {
    int32_t *ids;
    size_t *ends; /* where each token ends in the text, without begin and end; NULL means many
                     pairs */
    size_t count, capacity;
};
struct encoded { /* {0} before the first use */
    struct ids source, target;
};
/* Encodes the pair that the reader read last. Returns false if a side has more than max_tokens
   tokens, including begin and end; its ids are then incomplete. */
bool encode_pair(struct encoded *pair, const struct examples *examples,
                 const struct pair_reader *reader);
/* Does the same for a pair of texts. */
bool encode_texts(struct encoded *pair, const struct examples *examples, rapt_text source,
                  rapt_text target);
void encoded_free(struct encoded *pair);

/* ---- examples.c ---- */
/* Reads an example as it is in the files. Returns the program's exit code. */
int examples_get_clean(struct examples *examples, size_t index, int32_t *source, int32_t *target);

/* ---- augment.c ---- */
/* The numbers of tokens of both sides of an example as it is in the files. */
void examples_clean_counts(const struct examples *examples, size_t index, size_t counts[2]);
/* Reads an example that gets noise. */
int augmented_get(struct examples *examples, size_t index, int32_t *source, int32_t *target);
void augmented_free(struct augmented *augmented);

/* ---- index.c ---- */
struct skipped_pairs {
    size_t count, first; /* the line of the first one */
};
/* ---- index_ranks.c ---- */
struct share { /* what a rank has made from its segments */
    int code;
    uint64_t count;        /* pairs */
    uint64_t ids, max_ids; /* token ids held, and the maximum number */
    struct skipped_pairs skipped;
    uint64_t words; /* bytes of the list of seen words; 0 if there are too many */
};
/* Joins the indices of all ranks: on return, examples and *share are those of all ranks, in order,
   and `seen`, if not NULL, has the words of all on rank 0. Returns the code of a rank that
   failed. */
int index_join(struct examples *examples, struct share *share, struct seen *seen);

#endif
