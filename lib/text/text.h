/* text.h - what the files of this layer share: characters, words, tokenizer, n-grams of the
   metrics. It knows nothing of models. Other layers use <rapt/text.h> and <rapt/metrics.h> alone.
 */
#ifndef RAPT_LIB_TEXT_H
#define RAPT_LIB_TEXT_H

#include "base/base.h"
#include <rapt/metrics.h>

/* ---- character.c ---- */

/* The character at *at, which moves behind it. A byte that is no part of valid UTF-8 counts as
   one character, 0xDC00 + the byte: no valid text holds such a value. */
uint32_t rapt__utf8_next(const char *bytes, size_t size, size_t *at);

/* What Python's str.split() and str.rstrip() take for white space. */
bool rapt__utf8_space(uint32_t character);

/* ---- lower.c ---- */

/* Writes text in lower case, at most twice its bytes, and returns how many. */
size_t rapt__lower(rapt_text text, char *out);

struct ranked { /* an item to sort: a key, and its index before */
    uint64_t key;
    uint32_t position;
};

/* ---- ngram.c ---- */

/* Two sequences of ids, the hypothesis first and the reference behind it. */
struct ngrams {
    size_t hypothesis, reference; /* lengths; their sum is n */
    uint32_t *ids;                /* [n] equal ids: equal words or characters */
    uint32_t *ranks;              /* [n] */
    struct ranked *items;         /* [n] */
};
rapt__order rapt__by_number; /* of struct ranked, by key */
rapt_status rapt__ngrams_create(struct ngrams *grams, size_t hypothesis, size_t reference,
                                const rapt_allocator *allocator);
void rapt__ngrams_free(struct ngrams *grams, const rapt_allocator *allocator);

/* matches[k] = sum over the distinct (k+1)-grams of min(times in hypothesis, in reference). */
void rapt__ngrams_match(struct ngrams *grams, int orders, long long *matches);
long long rapt__ngrams_total(size_t length, int order); /* how many n-grams there are */

/* RAPT_BAD_ARGUMENT: a text is NULL, or has more bytes than are scored. */
enum { RAPT__SCORED_MAX = 1 << 28 };
rapt_status rapt__scored_check(rapt_text hypothesis, rapt_text reference, rapt_message *why);

/* ---- mteval.c ---- */

/* Tokenizes as mteval-v13a does. text, size bytes of it, is overwritten; out takes at most
   2 * size + 2 bytes. Returns how many. */
size_t rapt__mteval(char *text, size_t size, char *out);

/* ---- word.c ---- */

enum {
    RAPT__WORD_MAX = 256,     /* bytes of a word, thus of a token */
    RAPT__VOCAB_MAX = 1 << 20 /* tokens */
};
enum { RAPT__TOKEN_BYTES = RAPT_TOKEN_SPECIALS, RAPT__TOKEN_MERGES = RAPT_TOKEN_SPECIALS + 256 };

/* Where the word that begins at `at` < size ends. */
size_t rapt__word_end(const char *bytes, size_t size, size_t at);

/* ---- base64.c: bytes as printable text, RFC 4648 ---- */
size_t rapt__base64_size(size_t bytes);
void rapt__base64_write(const void *bytes, size_t size, char *text);
/* Writes the bytes of a text of rapt__base64_size(size) characters; false: it is none. */
bool rapt__base64_read(const char *text, size_t size, void *bytes);

/* ---- tokenizer.c ---- */

struct rapt_tokenizer {
    rapt_allocator allocator;
    struct spm *spm;      /* sentencepiece/sentencepiece.h, or */
    struct list *list;    /* list.h; both NULL: byte-pair, by what follows */
    struct arena arena;   /* of the arrays below but the pool */
    int vocab, merges;    /* vocab = RAPT__TOKEN_MERGES + merges */
    int32_t *left;        /* [merges] merge m makes token RAPT__TOKEN_MERGES + m of left[m] */
    int32_t *right;       /* [merges]   and right[m] */
    uint32_t *first;      /* [vocab + 1] the merges whose left part is token t are */
    struct ranked *pairs; /* [merges]   pairs[first[t]..first[t+1]), by right: key, merge */
    uint32_t *start;      /* [vocab + 1] token t is pool[start[t]..start[t+1]) */
    char *pool;
};

/* Checks merges that may come from anywhere: RAPT_BAD_FILE and which one is wrong. */
rapt_status rapt__tokenizer_build(rapt_tokenizer **tokenizer, const int32_t *left,
                                  const int32_t *right, int merges, const rapt_allocator *allocator,
                                  rapt_message *why);

/* The merge that joins two tokens, or -1. */
int32_t rapt__tokenizer_merge(const rapt_tokenizer *tokenizer, int32_t left, int32_t right);

/* ---- kinds.c: a tokenizer of a list, from `count` names that end with 0, and the bytes of a
   SentencePiece model or NULL ---- */
rapt_status rapt__tokenizer_list(rapt_tokenizer **tokenizer, const char *names, size_t size,
                                 int count, rapt_text pieces, const rapt_allocator *allocator,
                                 rapt_message *why);

/* The rest of rapt_tokenizer_encode and _decode for byte-pair encoding; arguments are checked. */
rapt_status rapt__pairs_encode(const rapt_tokenizer *tokenizer, rapt_text text, int32_t *ids,
                               size_t *ends, size_t capacity, size_t *count, rapt_message *why);
rapt_status rapt__pairs_decode(const rapt_tokenizer *tokenizer, const int32_t *ids, size_t count,
                               char *bytes, size_t capacity, size_t *size, rapt_message *why);

/* ---- types.c: word types, that is distinct words, and how often each occurs ---- */

struct word_type {
    const char *bytes;
    uint64_t count;
    uint32_t hash, size;
};
struct word_types {
    struct word_type *types; /* [capacity], in order of appearance */
    size_t count, capacity;
    uint32_t *table; /* [slots] 1 + type, 0: free; slots is a power of two */
    size_t slots;
    const rapt_allocator *allocator;
};
rapt_status rapt__word_types_create(struct word_types *types, const rapt_text *texts, size_t count,
                                    const rapt_allocator *allocator);
void rapt__word_types_free(struct word_types *types);

/* ---- pairs.c: how often two tokens are adjacent, and in which words ---- */

struct pair {
    uint64_t key; /* left << 32 | right */
    uint64_t count;
    uint32_t uses; /* 1 + the first of its uses; 0: none */
};
struct pair_use {
    uint32_t word, next; /* next: 1 + the next use; 0: none */
};
struct pair_table {
    struct pair *pairs;
    size_t count, capacity;
    uint32_t *table; /* [slots] 1 + pair, 0: free; slots is a power of two */
    size_t slots;
    struct pair_use *uses;
    size_t use_count, use_capacity;
    struct merge_candidate *heap; /* the pairs by falling count, then rising key */
    size_t heap_count, heap_capacity;
    const rapt_allocator *allocator;
};
void rapt__pairs_free(struct pair_table *pairs);
/* The pair's index, put in with count 0 if it is new; -1: no memory. */
ptrdiff_t rapt__pairs_at(struct pair_table *pairs, int32_t left, int32_t right);
bool rapt__pairs_use(struct pair_table *pairs, size_t pair, uint32_t word); /* false: no memory */
/* Pairs from index `from` on become candidates for a merge; from then on their counts only fall. */
bool rapt__pairs_offer(struct pair_table *pairs, size_t from);
/* Takes out the most frequent pair, at equal counts the one with the lower ids; -1: none occurs
   at least twice. */
ptrdiff_t rapt__pairs_best(struct pair_table *pairs);

#endif
