/* sentencepiece.h - SentencePiece models (Kudo and Richardson 2018): the bytes of a .model or .spm
   file in, a processor out that turns text into the ids of its pieces and back, as the reference
   implementation (version 0.1.97) does.

   text -> normalize.c -> normalized text -> unigram.c, bpe.c or word.c -> pieces -> encode.c -> ids
   Nothing in the file is trusted. No function recurses. A processor never changes. */
#ifndef RAPT_LIB_TEXT_SENTENCEPIECE_H
#define RAPT_LIB_TEXT_SENTENCEPIECE_H

#include "base/base.h"
#include <rapt/text.h>

static const char spm_space[] = "\xE2\x96\x81"; /* U+2581, which stands for a space in pieces */
enum { SPM_SPACE_SIZE = 3 };

/* ---- trie.c: sets of strings, each with a value, searched byte by byte ----
   A double array (Aoe 1989): the child of a unit by a byte is the unit base ^ byte, if that carries
   this byte as its label. No two units have the same base, so the label alone proves the parent. */
struct trie_unit {
    uint32_t link; /* base << 8 | label; base 0: no children */
    int32_t value; /* of the key that ends here; -1: none does */
};
struct trie {
    struct trie_unit *units; /* [count], the root first; count is a multiple of 256 */
    size_t count;
};
struct trie_key {
    uint64_t front; /* its first bytes, for sorting */
    const char *bytes;
    uint32_t size;
    int32_t value;
};
struct trie_key rapt__trie_key(const char *bytes, size_t size, int32_t value);
/* Sorts the keys. RAPT_BAD_FILE: two are the same (*why names their values), or there is too much
   of them. */
rapt_status rapt__trie_build(struct trie *trie, struct trie_key *keys, size_t count,
                             const rapt_allocator *allocator, rapt_message *why);
void rapt__trie_free(struct trie *trie, const rapt_allocator *allocator);

/* The child by a byte; NULL: there is none. */
static inline const struct trie_unit *rapt__trie_step(const struct trie *trie,
                                                      const struct trie_unit *unit, char byte)
{
    uint32_t label = (unsigned char)byte;
    const struct trie_unit *child = trie->units + (unit->link >> 8 ^ label);
    return (child->link & 0xFF) == label ? child : NULL;
}
/* Whether it has no keys, or only the empty one. */
static inline bool rapt__trie_empty(const struct trie *trie)
{
    return trie->units[0].link >> 8 == 0;
}
/* The unit behind all these bytes; NULL: no key begins with them. */
const struct trie_unit *rapt__trie_walk(const struct trie *trie, const struct trie_unit *from,
                                        const char *bytes, size_t size);
int32_t rapt__trie_find(const struct trie *trie, const char *bytes, size_t size); /* -1: no key */
/* The size of the longest key at the front of the text; 0: none is there. */
size_t rapt__trie_longest(const struct trie *trie, const char *text, size_t size);

/* ---- charsmap.c: what is replaced by what ---- */
struct charsmap {
    uint32_t *units; /* [count] a double array of Darts-clone; count is a multiple of 256 */
    size_t count;
    const char *strings; /* [size] replacements, each ended by 0 */
    size_t size;
};
/* bytes stay the caller's and must outlive the map. Checked: no search leaves the array or the
   strings, or goes round in it. */
rapt_status rapt__charsmap_create(struct charsmap *map, const char *bytes, size_t size,
                                  const rapt_allocator *allocator, rapt_message *why);
void rapt__charsmap_free(struct charsmap *map, const rapt_allocator *allocator);
/* The replacement of the longest key at the front of the text, its size in *consumed; NULL: none is
   there. */
const char *rapt__charsmap_match(const struct charsmap *map, const char *text, size_t size,
                                 size_t *consumed);

/* Whether a key begins with these bytes. */
bool rapt__charsmap_begins(const struct charsmap *map, const char *bytes, size_t size);

/* ---- normalize.c ---- */
struct spm_normalizer {
    bool dummy_prefix;  /* a space is put before the text */
    bool trim_spaces;   /* spaces at the ends are dropped, several become one */
    bool escape_spaces; /* spaces become spm_space */
    bool suffix;        /* the dummy prefix is put behind the text instead */
    rapt_text rules;    /* the map as the file has it */
    struct charsmap map;
    const struct trie *untouched; /* strings that stay as they are; NULL: none */
    bool plain[256];              /* an ASCII byte before another one, or the end, is kept */
};
/* Makes map and plain from the rest. */
rapt_status rapt__spm_normalizer_create(struct spm_normalizer *normalizer,
                                        const rapt_allocator *allocator, rapt_message *why);

/* The most bytes, or else characters, that one byte of text can become. */
size_t rapt__spm_normalizer_spread(const struct spm_normalizer *normalizer, bool bytes);

struct spm_normalized {
    char *bytes;      /* [size of capacity] */
    uint32_t *origin; /* [size + 1 of capacity] the offset in the text of what became each byte;
                         NULL: not wanted */
    size_t size, capacity;
    rapt_allocator allocator;
};
enum { SPM_TEXT_MAX = 1 << 30 }; /* bytes of a text, and of what it becomes */
/* out: its allocator set, else zero. The caller frees it, after a failure too. RAPT_BAD_ARGUMENT:
   the text, or what it becomes, is too long. */
rapt_status rapt__spm_normalize(const struct spm_normalizer *normalizer, rapt_text text,
                                bool origins, struct spm_normalized *out);
void rapt__spm_normalized_free(struct spm_normalized *out);

/* ---- model.c: what the file says ---- */
enum spm_type { /* of a piece, as files number them */
                SPM_NORMAL = 1,
                SPM_UNKNOWN = 2,
                SPM_CONTROL = 3,
                SPM_USER_DEFINED = 4,
                SPM_UNUSED = 5,
                SPM_BYTE = 6
};
enum spm_kind { SPM_UNIGRAM = 1, SPM_BPE = 2, SPM_WORD = 3, SPM_CHARACTER = 4 };
enum { SPM_NAMES = 4 }; /* unknown, begin, end, padding: in the order of their fields */

struct spm_piece {
    const char *bytes;
    uint32_t size;
    float score;
    enum spm_type type;
    int32_t reading; /* the piece that this one is read as: itself, or a reserved one of its name */
    uint32_t split;  /* in bpe.c: 1 + the number of this UNUSED piece among those; 0: it is used */
};
struct spm {
    rapt_allocator allocator;
    char *file; /* [file_size] the bytes it was made of, into which the texts below point */
    size_t file_size;
    enum spm_kind kind;
    bool byte_fallback; /* unknown characters become byte pieces */
    rapt_text unknown_surface;
    rapt_text names[SPM_NAMES];
    struct spm_normalizer normalizer, denormalizer;

    struct arena arena; /* of the arrays below */
    int count, unused;
    struct spm_piece *pieces; /* [count] */
    double *scores;           /* [count] of unigram pieces; -infinity: never chosen */
    uint32_t *surface;        /* [count + 1] piece i in text is surfaces[surface[i]..[i + 1]) */
    char *surfaces;
    int32_t unknown, bytes[256]; /* ids; bytes: with byte_fallback */
    float unknown_score;
    size_t spread;                      /* tokens that one byte of text can become, at most */
    struct trie chosen, reserved, user; /* NORMAL, USER_DEFINED and UNUSED; the others;
                                           USER_DEFINED */
};
/* The file's options, and its pieces if there is an array for them; else they are only counted. */
rapt_status rapt__spm_read(struct spm *spm, rapt_message *why);

/* ---- pieces.c ---- */
/* What the pieces are together: tries, byte pieces, scores, surfaces. */
rapt_status rapt__spm_index(struct spm *spm, rapt_message *why);
/* A piece as text. */
rapt_text rapt__spm_surface(const struct spm *spm, int32_t id);
/* The id that a piece of normalized text gets. */
int32_t rapt__spm_id(const struct spm *spm, const char *bytes, size_t size);

/* ---- processor.c ---- */
rapt_status rapt__spm_create(struct spm **spm, const void *bytes, size_t size,
                             const rapt_allocator *allocator, rapt_message *why);
void rapt__spm_free(struct spm *spm); /* NULL is allowed */
/* The piece of this name, -1: there is none. */
int32_t rapt__spm_find(const struct spm *spm, rapt_text name);
/* The special token whose name is names[which], if it has the right type; else -1. */
int32_t rapt__spm_special(const struct spm *spm, int which);

/* ---- encode.c ---- */
struct spm_output { /* where ids go, in the order of the text */
    const struct spm *spm;
    const struct spm_normalized *text;
    int32_t *ids;  /* [capacity] */
    size_t *ends;  /* [capacity] in the text, or NULL */
    size_t *inner; /* [capacity] in the normalized text, or NULL */
    size_t capacity, count;
    bool unknown; /* the last piece was unknown */
};
/* The next piece is bytes [start, end) of the normalized text. */
void rapt__spm_put(struct spm_output *out, size_t start, size_t end, int32_t id);

/* The most tokens that a text of so many bytes can have. */
size_t rapt__spm_bound(const struct spm *spm, size_t bytes);
/* A normalized text, which has its origins if ends are wanted; *out: all but count and unknown.
   More than capacity: only counted. RAPT_NO_MEMORY, RAPT_BAD_ARGUMENT: the text is too long. */
rapt_status rapt__spm_encode_normalized(struct spm_output *out);
/* Of rapt_tokenizer_encode, its arguments checked. */
rapt_status rapt__spm_encode(const struct spm *spm, rapt_text text, int32_t *ids, size_t *ends,
                             size_t capacity, size_t *count, rapt_message *why);

/* ---- decode.c ---- */
enum { CHARACTER_BYTES = 4 }; /* of UTF-8, at most */
/* The character at the front of the bytes of byte pieces, *used of them: 1 to CHARACTER_BYTES;
   U+FFFD for a byte that begins none. size: 1 to CHARACTER_BYTES. The text is in `bytes` or
   constant. */
rapt_text rapt__spm_join_bytes(const char *bytes, size_t size, size_t *used);

/* ---- unigram.c, bpe.c, word.c: put out the pieces of out->text, which is not empty ---- */
rapt_status rapt__spm_unigram(struct spm_output *out);
rapt_status rapt__spm_bpe(struct spm_output *out);
void rapt__spm_words(struct spm_output *out);
void rapt__spm_characters(struct spm_output *out);
/* Bytes of the character at the front of valid UTF-8, at most size; USER_DEFINED pieces are one
   character, and then *user, if not NULL, is true. */
size_t rapt__spm_character(const struct spm *spm, const char *text, size_t size, bool *user);

/* The length that a lead byte tells, 1 if it is none. */
static inline size_t rapt__spm_length(char byte)
{
    unsigned lead = (unsigned char)byte;
    return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* ---- decode.c ---- */
/* Of rapt_tokenizer_decode, its arguments and ids checked. */
rapt_status rapt__spm_decode(const struct spm *spm, const int32_t *ids, size_t count, char *bytes,
                             size_t capacity, size_t *size, rapt_message *why);

#endif
