/* shortlist.h - lexical shortlists: for every source token the target tokens that it is likely to
   become. A search that may choose among these alone computes a small part of the output matrix. */
#ifndef RAPT_SHORTLIST_H
#define RAPT_SHORTLIST_H

#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tokens that a translation of a sentence may have: the first ones of the target's vocabulary,
   those that belong to its source tokens, these themselves where both sides have one vocabulary,
   and then, as Marian does, unused ones in order until their number is a multiple of 8; and the end
   token. Constant: any number of threads may share it. */
typedef struct rapt_shortlist rapt_shortlist;

/* A shortlist file for these vocabularies (the same pointer: one for both sides), in one of two
   forms:

       binary   as Bergamot and Firefox have it (lex.*.bin)
       text     lines "target source probability", as the lexicons of fast_align and Marian's
                lex.s2t; the 100 likeliest of each source token count, and the first 100 tokens.
                Probabilities are from 0 to 1; lines with NULL or a name that is not in its
                vocabulary are skipped

   Nothing in it is trusted. The tokenizers are not needed afterwards. *shortlist is the caller's to
   free. RAPT_NO_FILE: it cannot be read. RAPT_BAD_FILE: it is damaged, made for other
   vocabularies, or a text without a pair of these; *why says what is wrong. */
RAPT_API rapt_status rapt_shortlist_load(rapt_shortlist **shortlist, const char *path,
                                         const rapt_tokenizer *source, const rapt_tokenizer *target,
                                         const rapt_allocator *allocator, rapt_message *why);
/* The same of the bytes of a file, which are not needed afterwards. */
RAPT_API rapt_status rapt_shortlist_load_memory(rapt_shortlist **shortlist, const void *bytes,
                                                size_t size, const rapt_tokenizer *source,
                                                const rapt_tokenizer *target,
                                                const rapt_allocator *allocator, rapt_message *why);

/* That a source token becomes a target token. Will not grow. */
typedef struct rapt_lexical_pair {
    int32_t source, target; /* a source token; the target token that it becomes */
    float probability;      /* of target, given source; pairs of 0 or less do not count */
} rapt_lexical_pair;
/* A shortlist of `count` pairs in any order: the `best` (1 or more) likeliest of each source token
   (ties: the greater id) and the `first` (0 or more) tokens of the target's vocabulary. Of equal
   pairs the likeliest counts. *shortlist is the caller's to free. RAPT_BAD_ARGUMENT: a token is in
   no vocabulary, a probability is not finite. */
RAPT_API rapt_status rapt_shortlist_create(rapt_shortlist **shortlist,
                                           const rapt_lexical_pair *pairs, size_t count, int first,
                                           int best, const rapt_tokenizer *source,
                                           const rapt_tokenizer *target,
                                           const rapt_allocator *allocator, rapt_message *why);
/* Tokens of the vocabularies that it is for; 0 for NULL. */
RAPT_API int rapt_shortlist_source_vocab(const rapt_shortlist *shortlist);
RAPT_API int rapt_shortlist_target_vocab(const rapt_shortlist *shortlist); /* of the other side */
RAPT_API void rapt_shortlist_free(rapt_shortlist *shortlist);              /* NULL is allowed */

/* Writes the binary form; the file is replaced atomically. RAPT_NO_FILE: it cannot be written.
   RAPT_NO_MEMORY: it is laid out in memory first. */
RAPT_API rapt_status rapt_shortlist_write(const rapt_shortlist *shortlist, const char *path,
                                          rapt_message *why);

/* The target tokens for source[count], without the end token unless it is one of these: ascending,
   in tokens [capacity]; *found: how many there are. They do not depend on the order of the source.
   RAPT_BAD_ARGUMENT: a source token is in no vocabulary, or capacity is less than *found. */
RAPT_API rapt_status rapt_shortlist_tokens(const rapt_shortlist *shortlist, const int32_t *source,
                                           size_t count, int32_t *tokens, int capacity, int *found,
                                           rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
