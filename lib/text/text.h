/* text.h - declarations shared by the files of the text layer: characters, languages, words,
   tokenizers, and the n-grams of the metrics. import, translate and document also include it; other
   layers include only the public headers. */
#ifndef RAPT_LIB_TEXT_H
#define RAPT_LIB_TEXT_H

#include "base/base.h"
#include <rapt/metrics.h>

/* ---- characters.c: decoding ---- */

/* Returns the character at *at and moves *at past it. A byte that is not part of valid UTF-8 counts
   as one character with the value 0xDC00 + byte, which no valid text contains. */
uint32_t rapt__utf8_next(const char *bytes, size_t size, size_t *at);

/* Returns true for white space according to Python's str.split() and str.rstrip(). */
bool rapt__utf8_space(uint32_t character);

/* ---- characters.c: letters and words ---- */

struct character_range {
    uint32_t first, last;
};
/* Returns true if a character is in one of the `count` ranges, which are in ascending order. */
bool rapt__in_ranges(const struct character_range *ranges, size_t count, uint32_t character);
/* Returns the character that ends at `at`, which must be above 0, and sets *start to the offset of
   its first byte. */
uint32_t rapt__character_before(rapt_text text, size_t at, size_t *start);
/* Returns true for letters. Approximates Unicode: characters above U+007F are letters unless they
   are in a table of punctuation and symbols, so digits of other scripts count as letters. */
bool rapt__is_letter(uint32_t character);
/* Returns true for characters of scripts that are written without spaces between words or
   sentences, and for their punctuation. */
bool rapt__is_unspaced(uint32_t character);
/* Returns true for letters, ASCII digits and _, except in scripts that are written without
   spaces. */
bool rapt__in_word(uint32_t character);
/* Returns true if no word extends across `at`. In scripts that are written without spaces, every
   position is a boundary. */
bool rapt__is_boundary(rapt_text text, size_t at);

/* ---- language.c ---- */

enum { LANGUAGES = 204, NLLB_LANGUAGES = 202 };
struct language_names { /* missing names are "" */
    const char *code;   /* FLORES-200 code, such as eng_Latn */
    const char *brief;  /* M2M-100 code, usually the ISO 639-1 code */
    const char *name;   /* English name */
};
extern const struct language_names rapt__language_table[LANGUAGES];
/* The language tokens of mBART-50, in the order of their ids. Each token begins with a brief code.
   The first MBART25_LANGUAGES tokens are those of mBART-25. */
enum { MBART_LANGUAGES = 52, MBART25_LANGUAGES = 25, MBART_TOKEN = 5 /* bytes */ };
extern const char *const rapt__mbart_languages[MBART_LANGUAGES];
/* Returns the size in bytes of the language token at the beginning of the text, or 0 if there is
   none. Anything of the form eng_Latn or __en__ counts as a language token, and so do the tokens of
   mBART-50 if `mbart` is true. */
size_t rapt__language_token(rapt_text text, bool mbart);
/* Returns the token of the language whose token, code or English name is `word`, or -1 if the
   tokenizer has no such language. Case is ignored, except in tokens such as __en__. */
int32_t rapt__language_find(const rapt_tokenizer *t, const char *word);
/* Returns true if the tokenizer has language tokens. */
bool rapt__language_any(const rapt_tokenizer *t);
/* Writes up to four of the tokenizer's languages whose names are similar to `word`, separated by
   commas, each in the form "German (deu_Latn)". Writes "" if there are none. `size` is the capacity
   of `to`, at least 1. */
void rapt__language_near(const rapt_tokenizer *t, const char *word, char *to, size_t size);

/* ---- characters.c: case ---- */

/* Converts a character to lower case, regardless of its context. Returns the number of characters
   written; only U+0130 becomes two. */
size_t rapt__lower_character(uint32_t character, uint32_t to[2]);
/* Writes the text in lower case, which takes at most twice its size, and returns the size
   written. */
size_t rapt__lower(rapt_text text, char *out);
/* Returns true for a lower-case letter. */
bool rapt__is_lower(uint32_t character);
/* Returns the simple upper-case mapping of a character, which is the character itself if it has no
   other. */
uint32_t rapt__upper_character(uint32_t character);

struct ranked { /* an item to sort: a key and the item's original index */
    uint64_t key;
    uint32_t position;
};

/* ---- metrics.c ---- */

/* Two sequences of ids: the hypothesis, followed by the reference. */
struct ngrams {
    size_t hypothesis, reference; /* lengths of the two sequences; n is their sum */
    uint32_t *ids;                /* [n] equal words or characters have equal ids */
    uint32_t *ranks;              /* [n] rank of the n-gram that begins at each position
                                     (metrics.c) */
    struct ranked *items;         /* [n] memory for sorting */
};
rapt__order rapt__by_number; /* orders struct ranked by key */
/* Allocates the arrays for sequences of these lengths. The caller then sets the ids. Returns
   RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__ngrams_create(struct ngrams *grams, size_t hypothesis, size_t reference,
                                const rapt_allocator *allocator);
void rapt__ngrams_free(struct ngrams *grams, const rapt_allocator *allocator);

/* Sets matches[k], for k from 0 to orders - 1, to the sum over all distinct (k + 1)-grams of
   min(count in hypothesis, count in reference). */
void rapt__ngrams_match(struct ngrams *grams, int orders, long long *matches);
long long rapt__ngrams_total(size_t length, int order); /* number of n-grams in a sequence */

enum { RAPT__SCORED_MAX = 1 << 28 };
/* Returns RAPT_BAD_ARGUMENT if a non-empty text is NULL or a text exceeds RAPT__SCORED_MAX
   bytes. */
rapt_status rapt__scored_check(rapt_text hypothesis, rapt_text reference, rapt_message *why);

/* ---- bleu_tokens.c ---- */

/* Returns RAPT_BAD_ARGUMENT if there is no such tokenizer, or if it needs utf8proc and the library
   was built without utf8proc. */
rapt_status rapt__bleu_tokens_check(rapt_bleu_tokens tokens, rapt_message *why);
/* Tokenizes text [size], which is overwritten. Writes the tokens to `out`, which needs 2 * size + 2
   bytes, with spaces between them. Returns the number of bytes written. */
size_t rapt__bleu_tokens(rapt_bleu_tokens tokens, char *text, size_t size, char *out);

/* ---- words.c ---- */

enum {
    RAPT__WORD_MAX = 256,     /* maximum size of a word, and therefore of a token, in bytes */
    RAPT__VOCAB_MAX = 1 << 20 /* maximum number of tokens */
};
enum { RAPT__TOKEN_BYTES = RAPT_TOKEN_SPECIALS, RAPT__TOKEN_MERGES = RAPT_TOKEN_SPECIALS + 256 };

/* Returns the end of the word that begins at `at`, which must be below size. */
size_t rapt__word_end(const char *bytes, size_t size, size_t at);

/* ---- written.c: bytes as printable text (base64, RFC 4648, section 4) ---- */
size_t rapt__base64_size(size_t bytes); /* number of characters that encode this many bytes */
/* Writes rapt__base64_size(size) characters, without a terminating zero byte. */
void rapt__base64_write(const void *bytes, size_t size, char *text);
/* Decodes rapt__base64_size(size) characters to `size` bytes. Returns false if they are not
   valid. */
bool rapt__base64_read(const char *text, size_t size, void *bytes);

/* ---- tokenizer.c ---- */

struct rapt_tokenizer {
    rapt_allocator allocator;
    struct spm *spm;    /* set for SentencePiece (sentencepiece/sentencepiece.h) */
    struct list *list;  /* set for a list of names (list.h); if both are NULL, the tokenizer uses
                           byte-pair encoding (below) */
    struct arena arena; /* holds the arrays below except the pool */
    int vocab, merges;  /* vocab = RAPT__TOKEN_MERGES + merges */
    int32_t *left;   /* [merges] left part of merge m, which makes token RAPT__TOKEN_MERGES + m */
    int32_t *right;  /* [merges] right part of merge m */
    uint32_t *first; /* [vocab + 1] the merges whose left part is token t are
                        pairs[first[t]..first[t+1]) */
    struct ranked *pairs; /* [merges] the merges, sorted by left part, then by right part */
    uint32_t *start;      /* [vocab + 1] the bytes of token t are pool[start[t]..start[t+1]) */
    char *pool;
};

/* Returns an upper bound on the number of tokens in a text. Computing it is much faster than
   encoding the text. For a SentencePiece model whose rules expand a few characters into many, it is
   much lower than rapt_tokenizer_bound. */
size_t rapt__tokenizer_most(const rapt_tokenizer *tokenizer, rapt_text text);
/* Sets *size to the size of the text that ids [count] decode to when more tokens follow them.
   Returns RAPT_NO_MEMORY if an allocation fails. The ids must be valid. */
rapt_status rapt__tokenizer_extent(const rapt_tokenizer *tokenizer, const int32_t *ids,
                                   size_t count, size_t *size);
/* Builds a byte-pair tokenizer from untrusted merges. Returns RAPT_BAD_FILE if a merge is invalid
   or occurs twice (*why names it), and RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__tokenizer_build(rapt_tokenizer **tokenizer, const int32_t *left,
                                  const int32_t *right, int merges, const rapt_allocator *allocator,
                                  rapt_message *why);

/* Returns the merge that joins two tokens, or -1 if there is none. */
int32_t rapt__tokenizer_merge(const rapt_tokenizer *tokenizer, int32_t left, int32_t right);

/* ---- kinds.c: tokenizers made from a list of names ---- */
struct wordpiece { /* see rapt_wordpiece_options */
    bool used;     /* WordPiece splits text into names */
    bool keep_case, keep_accents, keep_han;
};
struct list_source {
    const char *names; /* [size] `count` null-terminated names; an empty name is a token without
                          text */
    size_t size;
    int count;
    rapt_text pieces; /* the bytes of a SentencePiece model that splits text, or NULL */
    struct wordpiece wordpiece;
    struct list_merges { /* see struct bytelevel in list.h */
        bool used;       /* byte-level BPE splits text into names */
        bool space_first;
        const int32_t *pairs; /* [2 * count] ids, earliest merge first */
        int count;
    } merges;
    struct moses_source {   /* see moses/moses.h */
        rapt_text merges;   /* the bytes of bpe.model, or NULL */
        rapt_text language; /* language code, such as "en" */
    } moses;
};
/* Creates a tokenizer. Returns the same errors as rapt__list_create (list.h). */
rapt_status rapt__tokenizer_list(rapt_tokenizer **tokenizer, const struct list_source *source,
                                 const rapt_allocator *allocator, rapt_message *why);

/* Creates a tokenizer from names [count] and BPE merges for Moses-tokenized words. Returns
   RAPT_BAD_FILE if the merges cannot be read or are too large, or if the language code is empty or
   too long. Otherwise returns the same errors as rapt_tokenizer_create_list. */
rapt_status rapt__tokenizer_moses(rapt_tokenizer **tokenizer, const rapt_text *names, int count,
                                  const struct moses_source *moses, const rapt_allocator *allocator,
                                  rapt_message *why);

/* Implement rapt_tokenizer_encode and rapt_tokenizer_decode for byte-pair tokenizers, with
   arguments that have been checked. */
rapt_status rapt__pairs_encode(const rapt_tokenizer *tokenizer, rapt_text text, int32_t *ids,
                               size_t *ends, size_t capacity, size_t *count, rapt_message *why);
rapt_status rapt__pairs_decode(const rapt_tokenizer *tokenizer, const int32_t *ids, size_t count,
                               char *bytes, size_t capacity, size_t *size, rapt_message *why);

/* ---- words.c: word types (distinct words) and their counts ---- */

struct word_type {
    const char *bytes;
    uint64_t count;
    uint32_t hash, size;
};
struct word_types {
    struct word_type *types; /* [capacity], in order of appearance */
    size_t count, capacity;
    uint32_t *table; /* [slots] 1 + type, or 0 if free; slots is a power of two */
    size_t slots;
    const rapt_allocator *allocator;
};
/* Counts the words of texts. The types point into the texts. Returns RAPT_NO_MEMORY if an
   allocation fails. */
rapt_status rapt__word_types_create(struct word_types *types, const rapt_text *texts, size_t count,
                                    const rapt_allocator *allocator);
void rapt__word_types_free(struct word_types *types);

/* ---- learn.c: counts of pairs of adjacent tokens, and the words that contain each pair ---- */

struct pair {
    uint64_t key; /* left << 32 | right */
    uint64_t count;
    uint32_t uses; /* 1 + index of the first of its uses; 0 if there is none */
};
struct pair_use {
    uint32_t word, next; /* next is 1 + index of the next use, or 0 for the last */
};
struct pair_table {
    struct pair *pairs;
    size_t count, capacity;
    uint32_t *table; /* [slots] 1 + pair, or 0 if free; slots is a power of two */
    size_t slots;
    struct pair_use *uses;
    size_t use_count, use_capacity;
    struct merge_candidate *heap; /* ordered by decreasing count, then increasing key */
    size_t heap_count, heap_capacity;
    const rapt_allocator *allocator;
};
void rapt__pairs_free(struct pair_table *pairs);
/* Returns the index of a pair, inserting it with count 0 if it is new. Returns -1 if out of
   memory. */
ptrdiff_t rapt__pairs_at(struct pair_table *pairs, int32_t left, int32_t right);
/* Records that a word contains a pair. Returns false if out of memory. */
bool rapt__pairs_use(struct pair_table *pairs, size_t pair, uint32_t word);
/* Makes every pair whose index is at least `from` a merge candidate if it occurs at least twice.
   After that, the counts of these pairs may only decrease. Returns false if out of memory. */
bool rapt__pairs_offer(struct pair_table *pairs, size_t from);
/* Removes the most frequent candidate and returns the index of its pair. If several are equally
   frequent, chooses the one with the lowest ids. Returns -1 if no candidate occurs at least
   twice. */
ptrdiff_t rapt__pairs_best(struct pair_table *pairs);

/* ---- kinds.c ---- */
/* Returns RAPT_BAD_ARGUMENT if the bytes of a nonempty text in an array are NULL. Messages refer to
   the array as `name`. */
rapt_status rapt__texts_check(const char *name, const rapt_text *texts, size_t count,
                              rapt_message *why);
/* Ends the budget within which a tokenizer was created, as rapt__budget_end does. If `status` is
   RAPT_OK, makes the tokenizer use the underlying allocator from then on. */
rapt_status rapt__tokenizer_kept(rapt_tokenizer **tokenizer, const struct budget *budget,
                                 rapt_status status, rapt_message *why);

#endif
