/* index.h - how the index of pairs is made: one sentence as token ids, many pairs at once by
   several threads and ranks. Shared by encode.c, examples.c, guided.c, index.c and index_ranks.c.
 */
#ifndef TOY_TRANSLATE_INDEX_H
#define TOY_TRANSLATE_INDEX_H

#include "learner.h"

/* ---- encode.c ---- */
struct ids {
    int32_t *ids;
    size_t *ends; /* of the tokens in their text, without begin and end; NULL: of many pairs */
    size_t count, capacity;
};
struct encoded { /* {0} before the first use */
    struct ids source, target;
};
/* The pair that the reader has read last. false: a side has more than max_tokens, with begin and
   end; its ids are not there. */
bool encode_pair(struct encoded *pair, const struct examples *examples,
                 const struct pair_reader *reader);
void encoded_free(struct encoded *pair);
uint32_t pair_digest(const struct pair_reader *reader); /* of that pair */

/* ---- index.c ---- */
struct skipped_pairs {
    size_t count, first; /* the line of the first one */
};
/* ---- index_ranks.c: what a rank has made of its segments ---- */
struct share {
    int code;
    uint64_t count, ids, max_ids; /* pairs; ids of the first ones, that are held; that may be */
    struct skipped_pairs skipped;
    uint64_t words; /* bytes of the list of seen words; 0: too many */
};
/* Each rank has its own pairs in examples and its own share; then all have those of all in order,
   *share is of all of them, and rank 0 has all words in `seen`, if not NULL. Returns the code of a
   rank that failed. */
int index_join(struct examples *examples, struct share *share, struct seen *seen);

#endif
