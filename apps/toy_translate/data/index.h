/* index.h - how the index of pairs is made: one sentence as token ids, and many pairs at once by
   several threads and ranks. */
#ifndef TOY_TRANSLATE_INDEX_H
#define TOY_TRANSLATE_INDEX_H

#include "data.h"

/* ---- encode.c ---- */
struct ids {
    int32_t *ids;
    size_t *ends; /* where each token ends in the text, without begin and end; NULL: many pairs */
    size_t count, capacity;
};
struct encoded { /* {0} before the first use */
    struct ids source, target;
};
/* Encodes the pair that the reader read last. Returns false if a side has more than max_tokens
   tokens, including begin and end; its ids are then incomplete. */
bool encode_pair(struct encoded *pair, const struct examples *examples,
                 const struct pair_reader *reader);
void encoded_free(struct encoded *pair);

/* ---- index.c ---- */
struct skipped_pairs {
    size_t count, first; /* the line of the first one */
};
/* ---- index_ranks.c ---- */
struct share { /* what a rank has made of its segments */
    int code;
    uint64_t count;        /* pairs */
    uint64_t ids, max_ids; /* token ids held, and the most that may be */
    struct skipped_pairs skipped;
    uint64_t words; /* bytes of the list of seen words; 0: too many */
};
/* Joins the indices of all ranks: on return, examples and *share are those of all ranks, in order,
   and `seen`, if not NULL, has the words of all on rank 0. Returns the code of a rank that
   failed. */
int index_join(struct examples *examples, struct share *share, struct seen *seen);

#endif
