/* text.h - tokenizer: from text to token ids and back (byte-level byte-pair encoding, learned here,
   or a SentencePiece model). */
#ifndef RAPT_TEXT_H
#define RAPT_TEXT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of one of three kinds. rapt_tokenizer_learn makes a byte-pair vocabulary (Sennrich, Haddow and
   Birch 2016) over bytes. Lossless: any bytes, valid UTF-8 or not, are encoded and decoded to the
   same bytes. Ids 0..2 are the special tokens below, then come the 256 bytes, then one token per
   merge, in the order learned; at most 2^20 tokens.

   Text is split into words first: a run of letters, of digits or of other bytes, with the one space
   before it. (Bytes from 0x80 on are letters, but U+2000..U+207F are not.) A word of more than 256
   bytes is split there, between characters. No token crosses the end of a word.

   rapt_tokenizer_load opens a SentencePiece model (Kudo and Richardson 2018): unigram, BPE, words
   or characters. It gives the ids and texts that SentencePiece 0.1.97 gives. Text is normalized by
   the rules of the model, so that what comes back from ids is the normalized text.

   rapt_tokenizer_create_list takes a vocabulary as other projects keep it, with or without such a
   model.

   A tokenizer never changes: any number of threads may use one at once. */
typedef struct rapt_tokenizer rapt_tokenizer;

/* Special tokens, which text never becomes; in a byte-pair vocabulary these are their ids. */
enum {
    RAPT_TOKEN_UNKNOWN = -1, /* to ask for: rapt_tokenizer_special */
    RAPT_TOKEN_PAD = 0,      /* the library itself never pads */
    RAPT_TOKEN_BEGIN = 1,    /* first input of a decoder */
    RAPT_TOKEN_END = 2,      /* ends a sequence */
    RAPT_TOKEN_SPECIALS = 3  /* how many ids they take */
};

/* A string with its size; it need not end in 0. This struct will not grow. */
typedef struct rapt_text {
    const char *bytes; /* NULL only if size is 0 */
    size_t size;       /* in bytes */
} rapt_text;

/* Learns a vocabulary of `vocab` tokens in all from `count` texts. A merge must occur at least
   twice. Deterministic, and independent of the order of the texts: ties go to the pair with the
   lower ids. *tokenizer is the caller's to free. RAPT_BAD_ARGUMENT: the texts do not support that
   many (*why says how many). Memory: in proportion to the different words. */
RAPT_API rapt_status rapt_tokenizer_learn(rapt_tokenizer **tokenizer, const rapt_text *texts,
                                          size_t count, int vocab, const rapt_allocator *allocator,
                                          rapt_message *why);

/* The tokenizer of a SentencePiece model file (.model, .spm). Nothing in it is trusted. *tokenizer
   is the caller's to free.
   RAPT_NO_FILE: it cannot be read. RAPT_BAD_FILE: it is none, is damaged, or has an option that
   would change tokens and is not supported; *why names it. */
RAPT_API rapt_status rapt_tokenizer_load(rapt_tokenizer **tokenizer, const char *path,
                                         const rapt_allocator *allocator, rapt_message *why);
/* The same from the bytes of the file, which are copied. */
RAPT_API rapt_status rapt_tokenizer_load_memory(rapt_tokenizer **tokenizer, const void *bytes,
                                                size_t size, const rapt_allocator *allocator,
                                                rapt_message *why);

/* A tokenizer of `count` names, id by id, as vocabulary files of other projects list them. pieces
   NULL: text is names with a space between two. Else a SentencePiece tokenizer, which is copied: it
   cuts text into pieces, and their names are looked up; a language at the front of a text, such as
   ">>deu<<", is one token if it is a name. What is not found is the unknown token. Special tokens
   are told by their names: <unk>, <pad> or <blank>, <s>, </s>; an empty name stands for nothing.
   *tokenizer is the caller's to free.
   RAPT_BAD_ARGUMENT: two names are the same, one holds a 0, they have more than 2^30 bytes, or
   pieces is of another kind. */
RAPT_API rapt_status rapt_tokenizer_create_list(rapt_tokenizer **tokenizer, const rapt_text *names,
                                                int count, const rapt_tokenizer *pieces,
                                                const rapt_allocator *allocator, rapt_message *why);

/* The SentencePiece model that a tokenizer was made of, or that cuts the text of a list of names,
   as it stands in a file; owned by the tokenizer. Size 0: there is none. */
RAPT_API rapt_text rapt_tokenizer_file(const rapt_tokenizer *tokenizer);

/* The tokenizer as a printable ASCII string without quotes, backslashes or line breaks, as model
   files carry it. *size: bytes needed, with the final 0; text may be NULL to ask.
   RAPT_BAD_ARGUMENT, and nothing written: capacity is less than *size. */
RAPT_API rapt_status rapt_tokenizer_write(const rapt_tokenizer *tokenizer, char *text,
                                          size_t capacity, size_t *size, rapt_message *why);

/* The tokenizer of such a string; size: bytes without the final 0. *tokenizer is the caller's to
   free. RAPT_BAD_FILE: a checksum tells any one changed byte, and merges that cannot be are named.
 */
RAPT_API rapt_status rapt_tokenizer_create(rapt_tokenizer **tokenizer, const char *text,
                                           size_t size, const rapt_allocator *allocator,
                                           rapt_message *why);
RAPT_API void rapt_tokenizer_free(rapt_tokenizer *tokenizer); /* NULL is allowed */

/* Tokens in all; 0 for NULL. */
RAPT_API int rapt_tokenizer_vocab(const rapt_tokenizer *tokenizer);

/* The id of a special token (RAPT_TOKEN_UNKNOWN, _PAD, _BEGIN or _END), -1: there is none. Those of
   a SentencePiece model are told by their names and types. Where that has no begin token, a text
   begins with the end token. */
RAPT_API int32_t rapt_tokenizer_special(const rapt_tokenizer *tokenizer, int which);

/* The bytes of one token in a text (not 0-terminated, owned by the tokenizer); size 0 for a special
   token, an id that is none, and a NULL tokenizer. The unknown token has the bytes that stand for
   it, usually " \xE2\x81\x87 ". */
RAPT_API rapt_text rapt_tokenizer_token(const rapt_tokenizer *tokenizer, int32_t id);

/* The name of one token: what a SentencePiece model calls it (with U+2581 for a space, <s>,
   <0x0A>), else its bytes. */
RAPT_API rapt_text rapt_tokenizer_name(const rapt_tokenizer *tokenizer, int32_t id);
/* The token of this name; -1: there is none, or a NULL argument. */
RAPT_API int32_t rapt_tokenizer_find(const rapt_tokenizer *tokenizer, rapt_text name);

/* The most tokens that a text of so many bytes can have: with a byte-pair vocabulary as many;
   0 for NULL. */
RAPT_API size_t rapt_tokenizer_bound(const rapt_tokenizer *tokenizer, size_t bytes);

/* ids: [capacity]. ends, if not NULL: [capacity], for each token the offset in text of the byte
   after what it came from; it came from what follows the token before. Spaces that SentencePiece
   drops at the front count to the first token, and those at the end to none.
   *count: tokens needed; no more than capacity are written. RAPT_BAD_ARGUMENT: capacity is less
   than *count; or, *count not written: a text for SentencePiece has more than 2^30 bytes, or a word
   is no name of a list that has no unknown token. Adds no special tokens.
   Byte-pair encoding allocates nothing, SentencePiece in proportion to the text for the length of
   the call. n bytes take at most n log n steps, times the bytes of the longest token. */
RAPT_API rapt_status rapt_tokenizer_encode(const rapt_tokenizer *tokenizer, rapt_text text,
                                           int32_t *ids, size_t *ends, size_t capacity,
                                           size_t *count, rapt_message *why);

/* bytes: [capacity]. *size: bytes needed, without a final 0, which is not written; no more than
   capacity are written. Special tokens have no bytes. RAPT_BAD_ARGUMENT: capacity is less than
   *size, or an id is outside the vocabulary (nothing is written then). Allocates nothing, unless a
   SentencePiece model has rules for text that it writes (denormalizer_spec). */
RAPT_API rapt_status rapt_tokenizer_decode(const rapt_tokenizer *tokenizer, const int32_t *ids,
                                           size_t count, char *bytes, size_t capacity, size_t *size,
                                           rapt_message *why);

/* What is done to a text before it becomes tokens. */
typedef enum rapt_preprocess {
    RAPT_PREPROCESS_NONE, /* nothing */
    RAPT_PREPROCESS_OPUS  /* what OPUS-MT's scripts do before SentencePiece: punctuation and digits
                             of full width and typographic ones become ASCII, control characters
                             spaces, spaces one, and none stays at the ends */
} rapt_preprocess;
/* bytes: [capacity], which text.size always is enough for. ends, if not NULL: [capacity], for each
   byte the offset in text of the byte after what it came from. *size: bytes needed, without a final
   0, which is not written; no more than capacity are written. A line break is a control character.
   RAPT_BAD_ARGUMENT: capacity is less than *size, unless bytes and ends are NULL. Allocates
   nothing. */
RAPT_API rapt_status rapt_text_preprocess(rapt_preprocess by, rapt_text text, char *bytes,
                                          size_t *ends, size_t capacity, size_t *size,
                                          rapt_message *why);

/* The offset of the first byte that is not valid UTF-8 (RFC 3629), or text.size. */
RAPT_API size_t rapt_utf8_valid(rapt_text text);

#ifdef __cplusplus
}
#endif
#endif
