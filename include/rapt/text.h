/* text.h - tokenizers, which turn text into token ids and back; also text normalization and a check
   for valid UTF-8. The library supports byte-level byte-pair encoding (BPE, which it can also
   learn), SentencePiece models, lists of names, WordPiece, GPT-2's byte-level BPE, and BPE over
   Moses-tokenized words. */
#ifndef RAPT_TEXT_H
#define RAPT_TEXT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* There are six kinds of tokenizers.

   rapt_tokenizer_learn learns a byte-pair vocabulary (Sennrich, Haddow and Birch 2016) over bytes.
   The encoding is lossless: decoding restores all bytes, whether or not they are valid UTF-8. Ids 0
   to 2 are the special tokens for padding, begin and end, followed by the 256 bytes and one token
   per merge, in the order in which the merges were learned. A vocabulary has at most 2^20 tokens.
   Text is first split into words: runs of letters, of digits or of other bytes, each with at most
   one preceding space. Any other space is a word by itself. (Bytes of 0x80 or more count as
   letters, except in U+2000..U+207F.) A word of more than 256 bytes is split between characters. No
   token crosses a word boundary.

   rapt_tokenizer_load opens a SentencePiece model (Kudo and Richardson 2018) of type unigram, BPE,
   word or char. Encoding and decoding give the same results as SentencePiece 0.1.97. The model's
   rules normalize text before it is encoded, and decoding does not undo this.

   rapt_tokenizer_create_list creates a tokenizer from a list of names, such as the vocabulary file
   of another project, with or without a SentencePiece model.

   rapt_tokenizer_create_wordpiece creates a tokenizer from the vocabulary of a BERT model.

   rapt_model_import creates the tokenizers of models that use GPT-2's byte-level BPE (Radford et
   al. 2019), such as BART and RoBERTa. These tokenizers split text into words by Unicode
   categories, so the words depend on the version of Unicode that utf8proc implements. Decoding
   restores all bytes, with two exceptions. First, the names <s>, <pad>, </s>, <unk> and <mask> in a
   text become the tokens with these names; only <mask> has text, and white space before it is
   dropped. Second, if the model has the option add_prefix_space, a space is put before each part of
   the text between these tokens unless the part begins with one.

   rapt_model_import also creates the tokenizers of an Argos Translate package that contains
   bpe.model. They normalize punctuation and split text into words as the Moses scripts (Koehn et
   al. 2007) do for the source or target language, with the same results as sacremoses 0.1. Words
   are split into subwords as in subword-nmt. Decoding reassembles the words, so it yields the
   normalized text, spaced as is customary in the language.

   A tokenizer is immutable: any number of threads may share one. */
typedef struct rapt_tokenizer rapt_tokenizer;

/* Special tokens. In a byte-pair vocabulary these constants are their ids. For other tokenizers,
   rapt_tokenizer_special returns the ids. Encoded text contains no pad, begin or end tokens, except
   that WordPiece, GPT-2's byte-level BPE and lists without a SentencePiece model recognize the
   names of these tokens in the text. */
enum {
    RAPT_TOKEN_UNKNOWN = -1, /* byte-pair vocabularies do not have it */
    RAPT_TOKEN_PAD = 0,      /* the library itself never pads */
    RAPT_TOKEN_BEGIN = 1,    /* first input of a decoder */
    RAPT_TOKEN_END = 2,      /* ends a sequence */
    RAPT_TOKEN_SPECIALS = 3  /* number of ids reserved for special tokens */
};

/* A string with its size; it need not be terminated. This struct will not grow. */
typedef struct rapt_text {
    const char *bytes; /* may be NULL if size is 0 */
    size_t size;       /* in bytes */
} rapt_text;

/* Learns a byte-pair vocabulary from texts [count]. `vocab` is the number of its tokens, including
   special tokens and bytes, 259 to 2^20. Only pairs that occur at least twice are merged; ties go
   to the pair with the lower ids. The result does not depend on the order of the texts. The memory
   needed grows with the number of distinct words, not with the total number of words. The caller
   must free *tokenizer.

   Returns RAPT_BAD_ARGUMENT if vocab is out of range or the texts have too few pairs for this many
   tokens (*why states the largest possible number), and RAPT_NO_MEMORY if an allocation fails. */
RAPT_API rapt_status rapt_tokenizer_learn(rapt_tokenizer **tokenizer, const rapt_text *texts,
                                          size_t count, int vocab, const rapt_allocator *allocator,
                                          rapt_message *why);

/* Loads a SentencePiece model file (.model, .spm), which may be compressed with gzip or zstd. The
   file is treated as untrusted. The caller must free *tokenizer. Returns RAPT_NO_FILE if the file
   cannot be read. Returns RAPT_BAD_FILE if it is not a SentencePiece model, is damaged, cannot be
   decompressed, is larger than 2^30 bytes, or has an unsupported option that would change tokens;
   *why describes the problem. Returns RAPT_NO_MEMORY if an allocation fails. */
RAPT_API rapt_status rapt_tokenizer_load(rapt_tokenizer **tokenizer, const char *path,
                                         const rapt_allocator *allocator, rapt_message *why);
/* Loads a SentencePiece model, as rapt_tokenizer_load does, but from an uncompressed file in
   memory: bytes [size], which are copied. */
RAPT_API rapt_status rapt_tokenizer_load_memory(rapt_tokenizer **tokenizer, const void *bytes,
                                                size_t size, const rapt_allocator *allocator,
                                                rapt_message *why);

/* Creates a tokenizer from names [count], one per id, as in vocabulary files of other projects. The
   names <unk>, <pad> (or <blank>), <s> and </s> in the list are its special tokens. An empty name
   is a token without text. The caller must free *tokenizer.

   If `pieces` is NULL, the text to encode must consist of names separated by spaces. Otherwise the
   SentencePiece tokenizer `pieces` splits the text, and the pieces are looked up in the list. A
   copy of `pieces` is kept. Some names in the list are recognized before the text is split: a
   language tag such as ">>deu<<" at the beginning of the text and, anywhere in it, T5's sentinels,
   such as "<extra_id_0>", and the language tokens of NLLB-200, M2M-100 and mBART-50, such as
   "eng_Latn", "__en__" and "en_XX" (those of mBART-50 only if the list contains "en_XX"). The
   language tokens of these three models have no text. Anything that is not in the list becomes the
   unknown token.

   Returns RAPT_BAD_ARGUMENT if two nonempty names are equal, a name contains a NUL byte, count is
   not from 1 to 2^24, the names have more than 2^30 bytes in total, or `pieces` is not a
   SentencePiece tokenizer. Returns RAPT_NO_MEMORY if an allocation fails. */
RAPT_API rapt_status rapt_tokenizer_create_list(rapt_tokenizer **tokenizer, const rapt_text *names,
                                                int count, const rapt_tokenizer *pieces,
                                                const rapt_allocator *allocator, rapt_message *why);

/* Options of a WordPiece tokenizer. The defaults are those of uncased BERT models. */
typedef struct rapt_wordpiece_options { /* size-first, see base.h */
    size_t size;
    int keep_case;    /* 1: text is not lowercased */
    int keep_accents; /* 1: accents and other nonspacing marks are not removed */
    int keep_han;     /* 1: Chinese characters are not treated as separate words */
    int reserved;     /* must be 0 */
} rapt_wordpiece_options;
/* Creates a WordPiece tokenizer (Devlin et al. 2019) from names [count], the lines of a vocab.txt
   file, whose indices are the ids. It produces the same ids as Hugging Face's BERT tokenizers, but
   does not add [CLS] or [SEP], which are RAPT_TOKEN_BEGIN and RAPT_TOKEN_END. In a vocabulary that
   contains <s> and </s>, such as MPNet's, these are the begin and end tokens instead. The name of a
   special token in a text, such as [MASK], becomes that token. options may be NULL for the
   defaults. The caller must free *tokenizer.

   Returns RAPT_BAD_ARGUMENT if the names lack [UNK], an option is out of range, or
   rapt_tokenizer_create_list would reject `names` or `count`. Returns RAPT_BAD_FILE if the library
   was built without utf8proc, and RAPT_NO_MEMORY if an allocation fails. */
RAPT_API rapt_status rapt_tokenizer_create_wordpiece(rapt_tokenizer **tokenizer,
                                                     const rapt_text *names, int count,
                                                     const rapt_wordpiece_options *options,
                                                     const rapt_allocator *allocator,
                                                     rapt_message *why);

/* Returns the bytes of the SentencePiece model file that the tokenizer was loaded from, or that a
   list uses to split text. The tokenizer owns them. For other tokenizers and NULL, the size is
   0. */
RAPT_API rapt_text rapt_tokenizer_file(const rapt_tokenizer *tokenizer);

/* Writes a tokenizer to text [capacity] as a string, in the form stored in model files:
   null-terminated printable ASCII without quotes, backslashes or line breaks. *size receives the
   number of bytes needed, including the terminator. text may be NULL to query the size. If text is
   not NULL and capacity is less than *size, sets only *size and returns RAPT_BAD_ARGUMENT. */
RAPT_API rapt_status rapt_tokenizer_write(const rapt_tokenizer *tokenizer, char *text,
                                          size_t capacity, size_t *size, rapt_message *why);

/* Creates a tokenizer from a string that rapt_tokenizer_write wrote: text [size], where size does
   not count the terminator. The caller must free *tokenizer. Returns RAPT_BAD_FILE if the string is
   damaged, or if it needs utf8proc and the library was built without it; *why describes the
   problem. A checksum detects any single changed byte. Returns RAPT_NO_MEMORY if an allocation
   fails. */
RAPT_API rapt_status rapt_tokenizer_create(rapt_tokenizer **tokenizer, const char *text,
                                           size_t size, const rapt_allocator *allocator,
                                           rapt_message *why);
/* Frees a tokenizer. NULL is allowed. */
RAPT_API void rapt_tokenizer_free(rapt_tokenizer *tokenizer);

/* Returns the number of tokens; 0 for NULL. */
RAPT_API int rapt_tokenizer_vocab(const rapt_tokenizer *tokenizer);

/* Returns the id of a special token (RAPT_TOKEN_UNKNOWN, _PAD, _BEGIN or _END), or -1 if the
   vocabulary lacks it, `which` is not one of these, or the tokenizer is NULL. The special
   tokens of a SentencePiece model are identified by name and type. If a SentencePiece model or a
   list has no begin token, the end token is returned in its place, because sequences then begin
   with it. */
RAPT_API int32_t rapt_tokenizer_special(const rapt_tokenizer *tokenizer, int which);

/* Returns the text of a token. The string belongs to the tokenizer and has no terminator. Its size
   is 0 for tokens without text (such as pad, begin and end tokens, and language tokens), invalid
   ids and a NULL tokenizer. The unknown token of a SentencePiece model has the text that the model
   defines, usually " \xE2\x81\x87 ". In a list with a SentencePiece model, and with GPT-2's
   byte-level BPE, the unknown token has no text; in all other cases its text is its name. */
RAPT_API rapt_text rapt_tokenizer_token(const rapt_tokenizer *tokenizer, int32_t id);

/* Returns the name of a token. The string belongs to the tokenizer. The name is spelled as in the
   SentencePiece model or list, for example "<s>" or "<0x0A>". A space is spelled U+2581, or U+0120
   with GPT-2's byte-level BPE. In a byte-pair vocabulary, the name is the text of the token, so
   special tokens have none. The size is 0 for tokens without a name, invalid ids and a NULL
   tokenizer. */
RAPT_API rapt_text rapt_tokenizer_name(const rapt_tokenizer *tokenizer, int32_t id);
/* Returns the id of the token with this name (in a byte-pair vocabulary, of the first such token),
   or -1 if the name is unknown or empty or the tokenizer is NULL. */
RAPT_API int32_t rapt_tokenizer_find(const rapt_tokenizer *tokenizer, rapt_text name);

/* Returns an upper bound on the number of tokens in `bytes` bytes of text; 0 for NULL. For a
   byte-pair vocabulary it is `bytes`. */
RAPT_API size_t rapt_tokenizer_bound(const rapt_tokenizer *tokenizer, size_t bytes);

/* Encodes text into ids [capacity], without adding special tokens. *count receives the number of
   tokens needed; at most capacity are written. ends [capacity], which may be NULL, receives for
   each token the offset in text just after its bytes, which begin where the bytes of the previous
   token end. Spaces that are dropped at the beginning of the text belong to the first token; those
   that are dropped at its end belong to no token.

   Byte-pair vocabularies, WordPiece and lists without a SentencePiece model allocate nothing. The
   other tokenizers allocate memory proportional to the text for the duration of the call. Encoding
   n bytes takes O(L n log n) time, where L is the length of the longest token.

   Returns RAPT_BAD_ARGUMENT if capacity is less than *count. Also returns RAPT_BAD_ARGUMENT, but
   without setting *count, if a word is missing from a list that has no unknown token, or if the
   text is too long. The limits are 2^28 bytes for Moses tokenizers, 2^30 - 1 for GPT-2's byte-level
   BPE, and about 0.8 * 2^30 for SentencePiece, whose normalized text is limited to 2^30. Returns
   RAPT_NO_MEMORY if an allocation fails. */
RAPT_API rapt_status rapt_tokenizer_encode(const rapt_tokenizer *tokenizer, rapt_text text,
                                           int32_t *ids, size_t *ends, size_t capacity,
                                           size_t *count, rapt_message *why);

/* Decodes ids [count] into bytes [capacity]. *size receives the number of bytes needed; at most
   capacity are written, without a terminator. Special tokens become the text that
   rapt_tokenizer_token returns for them. Decoding allocates memory only for Moses tokenizers, and
   for SentencePiece models with output rules (denormalizer_spec). Returns RAPT_BAD_ARGUMENT if
   capacity is less than *size. Also returns RAPT_BAD_ARGUMENT, but without writing anything, if an
   id is outside the vocabulary or the text exceeds the limit for output rules, 2^30 bytes. Returns
   RAPT_NO_MEMORY if an allocation fails. */
RAPT_API rapt_status rapt_tokenizer_decode(const rapt_tokenizer *tokenizer, const int32_t *ids,
                                           size_t count, char *bytes, size_t capacity, size_t *size,
                                           rapt_message *why);

/* How text is normalized before it is tokenized. */
typedef enum rapt_preprocess {
    RAPT_PREPROCESS_NONE, /* the text is unchanged */
    RAPT_PREPROCESS_OPUS  /* the text is normalized as in OPUS-MT's scripts: the typographic and
                             full-width characters that the scripts list become ASCII; control,
                             format and private-use characters and noncharacters become spaces; runs
                             of spaces become one space; spaces at both ends are removed */
} rapt_preprocess;
/* Normalizes text into bytes [capacity], without a terminator. A capacity of text.size is always
   enough. *size receives the number of bytes needed; at most capacity are written. ends [capacity],
   which may be NULL, receives for each output byte the offset in text just after the bytes that it
   comes from. A line break counts as a control character. Bytes that are not valid UTF-8 do not
   change. Allocates nothing. Returns RAPT_BAD_ARGUMENT if `by` is unknown, or if capacity is less
   than *size, unless bytes and ends are NULL. */
RAPT_API rapt_status rapt_text_preprocess(rapt_preprocess by, rapt_text text, char *bytes,
                                          size_t *ends, size_t capacity, size_t *size,
                                          rapt_message *why);

/* Returns the size of the longest prefix of the text that is valid UTF-8 (RFC 3629); this is
   text.size if the whole text is valid. */
RAPT_API size_t rapt_utf8_valid(rapt_text text);

#ifdef __cplusplus
}
#endif
#endif
