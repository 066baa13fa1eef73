/* text.h - tokenizer: from text to token ids and back (byte-level byte-pair encoding). */
#ifndef RAPT_TEXT_H
#define RAPT_TEXT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A byte-pair vocabulary (Sennrich, Haddow and Birch 2016) over bytes. Lossless: any bytes, valid
   UTF-8 or not, are encoded and decoded to the same bytes. Ids 0..2 are the special tokens below,
   then come the 256 bytes, then one token per merge, in the order learned; at most 2^20 tokens.

   Text is split into words first: a run of letters, of digits or of other bytes, with the one space
   before it. (Bytes from 0x80 on are letters, but U+2000..U+207F are not.) A word of more than 256
   bytes is split there, between characters. No token crosses the end of a word.

   A tokenizer never changes: any number of threads may use one at once. */
typedef struct rapt_tokenizer rapt_tokenizer;

enum { RAPT_TOKEN_PAD = 0, RAPT_TOKEN_BEGIN = 1, RAPT_TOKEN_END = 2, RAPT_TOKEN_SPECIALS = 3 };

/* A string with its size; it need not end in 0. This struct will not grow. */
typedef struct rapt_text {
    const char *bytes; /* NULL only if size is 0 */
    size_t size;
} rapt_text;

/* Learns a vocabulary of `vocab` tokens in all from `count` texts. A merge must occur at least
   twice. Deterministic, and independent of the order of the texts: ties go to the pair with the
   lower ids. RAPT_BAD_ARGUMENT: the texts do not support that many (*why says how many). Memory: in
   proportion to the different words. */
RAPT_API rapt_status rapt_tokenizer_learn(rapt_tokenizer **tokenizer, const rapt_text *texts,
                                          size_t count, int vocab, const rapt_allocator *allocator,
                                          rapt_message *why);

/* The tokenizer as a printable ASCII string without quotes, backslashes or line breaks, as model
   files carry it. *size: bytes needed, with the final 0; text may be NULL to ask.
   RAPT_BAD_ARGUMENT, and nothing written: capacity is less than *size. */
RAPT_API rapt_status rapt_tokenizer_write(const rapt_tokenizer *tokenizer, char *text,
                                          size_t capacity, size_t *size, rapt_message *why);

/* The tokenizer of such a string; size: bytes without the final 0. RAPT_BAD_FILE: a checksum tells
   any one changed byte, and merges that cannot be are named. */
RAPT_API rapt_status rapt_tokenizer_create(rapt_tokenizer **tokenizer, const char *text,
                                           size_t size, const rapt_allocator *allocator,
                                           rapt_message *why);
RAPT_API void rapt_tokenizer_free(rapt_tokenizer *tokenizer); /* NULL is allowed */

/* Tokens in all; 0 for NULL. */
RAPT_API int rapt_tokenizer_vocab(const rapt_tokenizer *tokenizer);

/* The bytes of one token (not 0-terminated, owned by the tokenizer); size 0 for a special token, an
   id that is none, and a NULL tokenizer. */
RAPT_API rapt_text rapt_tokenizer_token(const rapt_tokenizer *tokenizer, int32_t id);

/* ids: [capacity]. ends, if not NULL: [capacity], for each token the offset in text of the byte
   after it. *count: tokens needed, at most text.size; no more than capacity are written.
   RAPT_BAD_ARGUMENT: capacity is less than *count. Adds no special tokens. Allocates nothing; a
   word of n bytes takes n log n steps. */
RAPT_API rapt_status rapt_tokenizer_encode(const rapt_tokenizer *tokenizer, rapt_text text,
                                           int32_t *ids, size_t *ends, size_t capacity,
                                           size_t *count, rapt_message *why);

/* bytes: [capacity]. *size: bytes needed, without a final 0, which is not written; no more than
   capacity are written. Special tokens have no bytes. RAPT_BAD_ARGUMENT: capacity is less than
   *size, or an id is outside the vocabulary (nothing is written then). Allocates nothing. */
RAPT_API rapt_status rapt_tokenizer_decode(const rapt_tokenizer *tokenizer, const int32_t *ids,
                                           size_t count, char *bytes, size_t capacity, size_t *size,
                                           rapt_message *why);

/* The offset of the first byte that is not valid UTF-8 (RFC 3629), or text.size. */
RAPT_API size_t rapt_utf8_valid(rapt_text text);

#ifdef __cplusplus
}
#endif
#endif
