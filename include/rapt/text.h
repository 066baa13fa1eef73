/* text.h - from text to token ids and back, and how good a translation is. */
#ifndef RAPT_TEXT_H
#define RAPT_TEXT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A byte-pair vocabulary (Sennrich, Haddow and Birch 2016) over bytes: it encodes any bytes,
   valid UTF-8 or not, and gives them back exactly. Ids 0..2 are the specials below, then the
   256 bytes, then one token per merge, in the order learned; at most 2^20 tokens in all.

   No token reaches over the end of a word: a run of letters, of digits or of other bytes, with
   the one space before it. (Bytes from 0x80 on are letters, but U+2000..U+207F are not.) A word
   of more than 256 bytes is cut there, between characters. */
typedef struct rapt_tokenizer rapt_tokenizer;

enum { RAPT_TOKEN_PAD = 0, RAPT_TOKEN_BEGIN = 1, RAPT_TOKEN_END = 2, RAPT_TOKEN_SPECIALS = 3 };

typedef struct rapt_text {
    const char *bytes;
    size_t size;
} rapt_text;

/* Learns a vocabulary of `vocab` tokens in all from `count` texts. A merge must occur at least
   twice. Deterministic, whatever the order of the texts: ties go to the pair with the lower ids.
   RAPT_BAD_ARGUMENT: the texts do not support that many (the message says how many). */
RAPT_API rapt_status rapt_tokenizer_learn(rapt_tokenizer **tokenizer, const rapt_text *texts,
                                          size_t count, int vocab, const rapt_allocator *allocator,
                                          rapt_message *why);

/* To and from a printable ASCII string without quotes, backslashes or line breaks, as a model
   file carries it. *size: bytes needed with the final 0; text may be NULL to ask. If capacity is
   smaller nothing is written: RAPT_BAD_ARGUMENT. create takes the size without the final 0. It
   trusts nothing: RAPT_BAD_FILE if any one byte was changed, or anything does not fit. */
RAPT_API rapt_status rapt_tokenizer_write(const rapt_tokenizer *tokenizer, char *text,
                                          size_t capacity, size_t *size);
RAPT_API rapt_status rapt_tokenizer_create(rapt_tokenizer **tokenizer, const char *text,
                                           size_t size, const rapt_allocator *allocator,
                                           rapt_message *why);
RAPT_API void rapt_tokenizer_free(rapt_tokenizer *tokenizer); /* NULL is allowed */

RAPT_API int rapt_tokenizer_vocab(const rapt_tokenizer *tokenizer);

/* The bytes of one token (not 0-terminated, owned by the tokenizer); size 0 for a special. */
RAPT_API rapt_text rapt_tokenizer_token(const rapt_tokenizer *tokenizer, int32_t id);

/* *count: tokens needed, at most text.size; written only as far as capacity reaches
   (RAPT_BAD_ARGUMENT if it does not; then *count tells). ends, if not NULL, receives for each
   token the offset of the byte after it in text. Adds no specials. Needs no memory and, for a
   word of n bytes, time n log n; a tokenizer may be used by many threads at once. */
RAPT_API rapt_status rapt_tokenizer_encode(const rapt_tokenizer *tokenizer, rapt_text text,
                                           int32_t *ids, size_t *ends, size_t capacity,
                                           size_t *count);

/* *size: bytes needed; nothing is written past capacity; no final 0. Specials give no bytes,
   an id outside the vocabulary is RAPT_BAD_ARGUMENT. */
RAPT_API rapt_status rapt_tokenizer_decode(const rapt_tokenizer *tokenizer, const int32_t *ids,
                                           size_t count, char *bytes, size_t capacity,
                                           size_t *size);

/* Corpus scores as sacreBLEU 2.x defines them, to four decimals. One hypothesis, one reference,
   each at most 2^28 bytes. Bytes that are not valid UTF-8 count as characters of their own. The
   allocator gives memory for the call only; without it the counts stay as they were. Lower case
   is that of all Unicode if the library was built with utf8proc, else of Latin, Greek, Cyrillic
   and Armenian letters. */
typedef enum rapt_bleu_tokens {
    RAPT_BLEU_TOKENS_13A, /* mteval-v13a tokenization, cased: sacreBLEU's default */
    RAPT_BLEU_TOKENS_NONE /* split at white space only: for text that is tokenised already */
} rapt_bleu_tokens;

typedef struct rapt_bleu { /* start from all zeros; counts only, so they may be added up */
    long long matches[4], totals[4];
    long long hypothesis_length, reference_length;
} rapt_bleu;
RAPT_API rapt_status rapt_bleu_add(rapt_bleu *bleu, rapt_bleu_tokens tokens, int lowercase,
                                   rapt_text hypothesis, rapt_text reference,
                                   const rapt_allocator *allocator);
RAPT_API double rapt_bleu_score(const rapt_bleu *bleu); /* 0..100, smoothing "exp" */

typedef struct rapt_chrf { /* chrF2, character order 6, no word order, whitespace removed */
    long long matches[6], hypothesis[6], reference[6];
} rapt_chrf;
RAPT_API rapt_status rapt_chrf_add(rapt_chrf *chrf, rapt_text hypothesis, rapt_text reference,
                                   const rapt_allocator *allocator);
RAPT_API double rapt_chrf_score(const rapt_chrf *chrf); /* 0..100 */

/* The offset of the first byte that is not valid UTF-8 (RFC 3629), or text.size. */
RAPT_API size_t rapt_utf8_valid(rapt_text text);

#ifdef __cplusplus
}
#endif
#endif
