/* shortlist.h - lexical shortlists: for every source token, its most likely translations. A search
   limited to these target tokens multiplies by only a small part of the output matrix. */
#ifndef RAPT_SHORTLIST_H
#define RAPT_SHORTLIST_H

#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A shortlist limits the translation of a sentence to these target tokens:

       - the first tokens of the target vocabulary;
       - the tokens listed for its source tokens;
       - the source tokens themselves, if both sides share a vocabulary;
       - the remaining tokens with the lowest ids, as padding, until the number of tokens is a
         multiple of 8 (as in Marian);
       - the end token.

   A shortlist is immutable: any number of threads may share one. */
typedef struct rapt_shortlist rapt_shortlist;

/* Loads a shortlist for a pair of vocabularies; if both sides share a vocabulary, pass the same
   tokenizer twice. The file has one of two formats:

       binary   as in Bergamot and Firefox (lex.*.bin)
       text     lines "target source probability", as in fast_align's lexicons and Marian's lex.s2t,
                with probabilities from 0 to 1 (or up to 1.01, to allow for rounding)

   A shortlist from a text file lists the 100 most likely target tokens of each source token, and
   the first 100 tokens of the target vocabulary. As in Marian, lines with the word NULL are
   skipped, a word that is not in the vocabulary counts as the unknown token, and if several lines
   have the same tokens, the last one wins.

   The file may be compressed with gzip or zstd, and may hold up to 2^30 bytes when decompressed. It
   is treated as untrusted. The tokenizers are not needed after the call. The caller must free the
   shortlist.

   Returns RAPT_NO_FILE if the file cannot be read. Returns RAPT_BAD_FILE if it is damaged, too
   large or made for other vocabularies; *why describes the problem. A text file counts as made for
   other vocabularies if no line has a probability above 0 and a word from each vocabulary. Returns
   RAPT_NO_MEMORY if an allocation fails. */
RAPT_API rapt_status rapt_shortlist_load(rapt_shortlist **shortlist, const char *path,
                                         const rapt_tokenizer *source, const rapt_tokenizer *target,
                                         const rapt_allocator *allocator, rapt_message *why);
/* Loads a shortlist, as rapt_shortlist_load does, but from an uncompressed file in memory: bytes
   [size], which are not needed after the call. */
RAPT_API rapt_status rapt_shortlist_load_memory(rapt_shortlist **shortlist, const void *bytes,
                                                size_t size, const rapt_tokenizer *source,
                                                const rapt_tokenizer *target,
                                                const rapt_allocator *allocator, rapt_message *why);

/* A source token and a possible translation of it. This struct will not grow. */
typedef struct rapt_lexical_pair {
    int32_t source;    /* id in the source vocabulary */
    int32_t target;    /* id in the target vocabulary */
    float probability; /* probability of target given source; pairs with a probability of 0 or less
                          are ignored */
} rapt_lexical_pair;
/* Creates a shortlist from pairs [count] in any order; for a shared vocabulary, pass the same
   tokenizer twice. It lists the `best` (1 or more) most likely target tokens of each source token,
   and the first `first` (0 or more) tokens of the target vocabulary. Ties go to the greater target
   id. If a pair occurs more than once, its highest probability is used. The caller must free
   *shortlist. Returns RAPT_BAD_ARGUMENT if a token is outside its vocabulary, a probability is not
   finite, or `best` or `first` is out of range, and RAPT_NO_MEMORY if an allocation fails. */
RAPT_API rapt_status rapt_shortlist_create(rapt_shortlist **shortlist,
                                           const rapt_lexical_pair *pairs, size_t count, int first,
                                           int best, const rapt_tokenizer *source,
                                           const rapt_tokenizer *target,
                                           const rapt_allocator *allocator, rapt_message *why);
/* Returns the size of the source vocabulary; 0 for NULL. */
RAPT_API int rapt_shortlist_source_vocab(const rapt_shortlist *shortlist);
/* Returns the size of the target vocabulary; 0 for NULL. */
RAPT_API int rapt_shortlist_target_vocab(const rapt_shortlist *shortlist);
/* Frees a shortlist. NULL is allowed. */
RAPT_API void rapt_shortlist_free(rapt_shortlist *shortlist);

/* Writes a shortlist to a file in the binary format, replacing an existing file atomically. Returns
   RAPT_NO_FILE if the file cannot be written, and RAPT_NO_MEMORY if an allocation fails. */
RAPT_API rapt_status rapt_shortlist_write(const rapt_shortlist *shortlist, const char *path,
                                          rapt_message *why);

/* Writes the target tokens for source [count] to tokens [capacity], in ascending order; *found
   receives the number of target tokens. The source tokens may be in any order and may be repeated.
   The end token, which a search adds, is included here only if another rule includes it. tokens may
   be NULL if capacity is 0. Allocates memory for the duration of the call. Returns
   RAPT_BAD_ARGUMENT if a source token is outside its vocabulary, or if capacity is less than
   *found, the number needed. Returns RAPT_NO_MEMORY if an allocation fails. */
RAPT_API rapt_status rapt_shortlist_tokens(const rapt_shortlist *shortlist, const int32_t *source,
                                           size_t count, int32_t *tokens, int capacity, int *found,
                                           rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
