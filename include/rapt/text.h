/* text.h - tokenizers, which turn text into token ids and back: byte-level byte-pair encodings
   learned here, SentencePiece models, and lists of names. */
#ifndef RAPT_TEXT_H
#define RAPT_TEXT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tokenizer is of one of three kinds.

   rapt_tokenizer_learn makes a byte-pair vocabulary (Sennrich, Haddow and Birch 2016) over bytes.
   It is lossless: any bytes, valid UTF-8 or not, are encoded and decoded to the same bytes. Ids 0
   to 2 are the special tokens below, followed by the 256 bytes and one token per merge in the order
   they were learned, at most 2^20 tokens in all. Text is first split into words: a run of letters,
   of digits or of other bytes, together with one preceding space. (Bytes from 0x80 on are letters,
   except in U+2000..U+207F.) A word of more than 256 bytes is split between characters. No token
   crosses the end of a word.

   rapt_tokenizer_load opens a SentencePiece model (Kudo and Richardson 2018) of type unigram, BPE,
   word or char, and gives the ids and texts of SentencePiece 0.1.97. The model's rules normalize
   the text, so that decoding gives the normalized text.

   rapt_tokenizer_create_list takes a vocabulary as other projects store it, with or without such a
   model.

   A tokenizer never changes: any number of threads may share one. */
typedef struct rapt_tokenizer rapt_tokenizer;

/* Special tokens, which no text is encoded to. In a byte-pair vocabulary these are their ids; in
   others, arguments of rapt_tokenizer_special. */
enum {
    RAPT_TOKEN_UNKNOWN = -1, /* not in byte-pair vocabularies */
    RAPT_TOKEN_PAD = 0,      /* the library itself never pads */
    RAPT_TOKEN_BEGIN = 1,    /* first input of a decoder */
    RAPT_TOKEN_END = 2,      /* ends a sequence */
    RAPT_TOKEN_SPECIALS = 3  /* number of ids that special tokens take */
};

/* A string with its size, without a terminator. Will not grow. */
typedef struct rapt_text {
    const char *bytes; /* may be NULL if size is 0 */
    size_t size;       /* in bytes */
} rapt_text;

/* Learns a byte-pair vocabulary of `vocab` tokens, special tokens and bytes included, from texts
   [count]. Only pairs that occur at least twice are merged; ties go to the pair of lower ids. The
   result is deterministic and independent of the order of the texts. Memory is proportional to the
   number of different words. *tokenizer is the caller's to free. RAPT_BAD_ARGUMENT: the texts do
   not support so large a vocabulary; *why says which size they support. RAPT_NO_MEMORY. */
RAPT_API rapt_status rapt_tokenizer_learn(rapt_tokenizer **tokenizer, const rapt_text *texts,
                                          size_t count, int vocab, const rapt_allocator *allocator,
                                          rapt_message *why);

/* Loads a SentencePiece model file (.model, .spm), which is not trusted. *tokenizer is the caller's
   to free. RAPT_NO_FILE: it cannot be read. RAPT_BAD_FILE: it is not such a file, is damaged, or
   has an unsupported option that would change tokens; *why names it. */
RAPT_API rapt_status rapt_tokenizer_load(rapt_tokenizer **tokenizer, const char *path,
                                         const rapt_allocator *allocator, rapt_message *why);
/* The same for a file in memory: bytes [size], which are copied. */
RAPT_API rapt_status rapt_tokenizer_load_memory(rapt_tokenizer **tokenizer, const void *bytes,
                                                size_t size, const rapt_allocator *allocator,
                                                rapt_message *why);

/* Makes a tokenizer from names [count], one per id, as the vocabulary files of other projects list
   them. If pieces is NULL, a text is a sequence of names separated by single spaces. Otherwise
   pieces is a SentencePiece tokenizer, which is copied: it splits text into pieces, whose names are
   looked up; a language tag at the beginning of a text, such as ">>deu<<", is one token if it is a
   name. What is not found becomes the unknown token. Special tokens are recognized by their names:
   <unk>, <pad> or <blank>, <s>, </s>. An empty name is a token without text. *tokenizer is the
   caller's to free. RAPT_BAD_ARGUMENT: two names are equal, a name contains a 0 byte, the names
   have more than 2^30 bytes, or pieces is of another kind. RAPT_NO_MEMORY. */
RAPT_API rapt_status rapt_tokenizer_create_list(rapt_tokenizer **tokenizer, const rapt_text *names,
                                                int count, const rapt_tokenizer *pieces,
                                                const rapt_allocator *allocator, rapt_message *why);

/* Returns the bytes of the SentencePiece model file that a tokenizer was loaded from, or that
   splits the text of a list; size 0 if there is none. Owned by the tokenizer. */
RAPT_API rapt_text rapt_tokenizer_file(const rapt_tokenizer *tokenizer);

/* Writes a tokenizer as a string, the form in which model files carry it: printable ASCII without
   quotes, backslashes or line breaks, terminated by 0, in text [capacity]. *size is the number of
   bytes needed, including the 0; text may be NULL to ask for it. RAPT_BAD_ARGUMENT: capacity is
   less than *size; nothing else is written. */
RAPT_API rapt_status rapt_tokenizer_write(const rapt_tokenizer *tokenizer, char *text,
                                          size_t capacity, size_t *size, rapt_message *why);

/* Reads such a string, text [size], without its 0. *tokenizer is the caller's to free.
   RAPT_BAD_FILE: the checksum, which detects any single changed byte, is wrong, or a merge is
   impossible; *why names it. RAPT_NO_MEMORY. */
RAPT_API rapt_status rapt_tokenizer_create(rapt_tokenizer **tokenizer, const char *text,
                                           size_t size, const rapt_allocator *allocator,
                                           rapt_message *why);
RAPT_API void rapt_tokenizer_free(rapt_tokenizer *tokenizer); /* NULL is allowed */

/* Returns the number of tokens; 0 for NULL. */
RAPT_API int rapt_tokenizer_vocab(const rapt_tokenizer *tokenizer);

/* Returns the id of a special token (RAPT_TOKEN_UNKNOWN, _PAD, _BEGIN or _END), or -1 if the
   vocabulary has none. SentencePiece models identify them by name and type. If there is no begin
   token, a sequence begins with the end token. */
RAPT_API int32_t rapt_tokenizer_special(const rapt_tokenizer *tokenizer, int which);

/* Returns the bytes that a token stands for in a text, owned by the tokenizer and without a
   terminator; size 0 for special tokens, invalid ids and a NULL tokenizer. The unknown token of a
   SentencePiece model has the text that the model gives it, usually " \xE2\x81\x87 ". */
RAPT_API rapt_text rapt_tokenizer_token(const rapt_tokenizer *tokenizer, int32_t id);

/* Returns the name of a token, owned by the tokenizer: as a SentencePiece model or a list spells it
   (U+2581 for a space, <s>, <0x0A>), otherwise its bytes. */
RAPT_API rapt_text rapt_tokenizer_name(const rapt_tokenizer *tokenizer, int32_t id);
/* Returns the token with a name, or -1 if the vocabulary lacks it or an argument is NULL. */
RAPT_API int32_t rapt_tokenizer_find(const rapt_tokenizer *tokenizer, rapt_text name);

/* Returns the largest number of tokens that a text of `bytes` bytes can have; 0 for NULL. In a
   byte-pair vocabulary it is `bytes`. */
RAPT_API size_t rapt_tokenizer_bound(const rapt_tokenizer *tokenizer, size_t bytes);

/* Encodes a text into ids [capacity], without special tokens. ends [capacity], if not NULL, gets
   for each token the offset in text after the bytes it came from; they begin where those of the
   previous token end. Spaces that SentencePiece drops at the beginning belong to the first token,
   those at the end to no token. *count is the number of tokens needed; at most capacity are
   written.

   Byte-pair encoding allocates nothing; SentencePiece allocates for the duration of the call, in
   proportion to the text. n bytes take at most about n log n steps times the length of the longest
   token.

   RAPT_BAD_ARGUMENT: capacity is less than *count. Without setting *count also if a text for
   SentencePiece has more than 2^30 bytes, or a word is missing from a list without an unknown
   token. */
RAPT_API rapt_status rapt_tokenizer_encode(const rapt_tokenizer *tokenizer, rapt_text text,
                                           int32_t *ids, size_t *ends, size_t capacity,
                                           size_t *count, rapt_message *why);

/* Decodes ids [count] into bytes [capacity]. *size is the number of bytes needed; at most capacity
   are written, and no terminator. Special tokens have no bytes. Allocates nothing, unless a
   SentencePiece model has rules for its output (denormalizer_spec). RAPT_BAD_ARGUMENT: capacity is
   less than *size, or an id is outside the vocabulary, and then nothing is written. */
RAPT_API rapt_status rapt_tokenizer_decode(const rapt_tokenizer *tokenizer, const int32_t *ids,
                                           size_t count, char *bytes, size_t capacity, size_t *size,
                                           rapt_message *why);

/* How text is prepared before it is split into tokens. */
typedef enum rapt_preprocess {
    RAPT_PREPROCESS_NONE, /* not at all */
    RAPT_PREPROCESS_OPUS /* as OPUS-MT's scripts do before SentencePiece: full-width and typographic
                            punctuation and digits become ASCII, control characters become spaces,
                            runs of spaces become one, and spaces at both ends are removed */
} rapt_preprocess;
/* Prepares a text into bytes [capacity], without a terminator; a capacity of text.size always
   suffices. ends [capacity], if not NULL, receives for each byte the offset in text just after the
   bytes that it came from. *size is the number of bytes needed; at most capacity are written. A
   line break counts as a control character. Allocates nothing. RAPT_BAD_ARGUMENT: capacity is less
   than *size, unless bytes and ends are NULL. */
RAPT_API rapt_status rapt_text_preprocess(rapt_preprocess by, rapt_text text, char *bytes,
                                          size_t *ends, size_t capacity, size_t *size,
                                          rapt_message *why);

/* Returns the offset of the first byte that is not valid UTF-8 (RFC 3629), or text.size. */
RAPT_API size_t rapt_utf8_valid(rapt_text text);

#ifdef __cplusplus
}
#endif
#endif
