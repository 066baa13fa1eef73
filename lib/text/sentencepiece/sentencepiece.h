/* sentencepiece.h - SentencePiece models (Kudo and Richardson 2018). A processor is created from
   the bytes of a .model or .spm file. It converts text to ids and back with the same results as the
   reference implementation (version 0.1.97).

   text -> normalize.c -> normalized text -> segment.c -> pieces -> processor.c -> ids

   The file is untrusted. No function recurses. A processor is constant after creation. */
#ifndef RAPT_LIB_TEXT_SENTENCEPIECE_H
#define RAPT_LIB_TEXT_SENTENCEPIECE_H

#include "base/base.h"
#include <rapt/text.h>

static const char spm_space[] = "\xE2\x96\x81"; /* U+2581, which represents a space in pieces */
enum { SPM_SPACE_SIZE = 3 };

/* ---- trie.c: a map from strings to values that is searched byte by byte ----
   A trie is a double array (Aoe 1989): the child of a unit for a byte is the unit at base ^ byte,
   if the label of that unit is the byte. No two units with children share a base, and no unit has
   the label that a child of base 0 would have, so checking the label is enough to identify the
   parent. */
struct trie_unit {
    uint32_t link; /* base << 8 | label; base is 0 if there are no children */
    int32_t value; /* value of the key that ends here, or -1 */
};
struct trie {
    struct trie_unit *units; /* [count], the root first; count is a multiple of 256 */
    size_t count;
};
struct trie_key {
    uint64_t front; /* the first eight bytes, for sorting */
    const char *bytes;
    uint32_t size;
    int32_t value;
};
struct trie_key rapt__trie_key(const char *bytes, size_t size, int32_t value);
/* Builds a trie, sorting the keys in place. Returns RAPT_BAD_FILE if two keys are equal (*why then
   names their values) or if there are too many keys, and RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__trie_build(struct trie *trie, struct trie_key *keys, size_t count,
                             const rapt_allocator *allocator, rapt_message *why);
void rapt__trie_free(struct trie *trie, const rapt_allocator *allocator);

/* Returns the child for a byte, or NULL if there is none. */
static inline const struct trie_unit *rapt__trie_step(const struct trie *trie,
                                                      const struct trie_unit *unit, char byte)
{
    uint32_t label = (unsigned char)byte;
    const struct trie_unit *child = trie->units + (unit->link >> 8 ^ label);
    return (child->link & 0xFF) == label ? child : NULL;
}
/* Returns true if the trie has no keys except perhaps the empty one. */
static inline bool rapt__trie_empty(const struct trie *trie)
{
    return trie->units[0].link >> 8 == 0;
}
/* Follows bytes [size] from the unit `from`. Returns the unit reached, or NULL if `from` is NULL or
   there is no such unit. */
const struct trie_unit *rapt__trie_walk(const struct trie *trie, const struct trie_unit *from,
                                        const char *bytes, size_t size);
/* Returns the value of a key, or -1 if the key is not in the trie. */
int32_t rapt__trie_find(const struct trie *trie, const char *bytes, size_t size);
/* Returns the size of the longest key that the text begins with, or 0. */
size_t rapt__trie_longest(const struct trie *trie, const char *text, size_t size);

/* ---- normalize.c: replacement rules ---- */
struct charsmap {
    uint32_t *units; /* [count] a Darts-clone double array; count is a multiple of 256 */
    size_t count;
    const char *strings; /* [size] replacements, each null-terminated */
    size_t size;
};
/* Creates a map over `bytes`, which must outlive the map. Returns RAPT_BAD_FILE if a size is wrong,
   or if a search could leave the arrays or run in a cycle, and RAPT_NO_MEMORY if an allocation
   fails. */
rapt_status rapt__charsmap_create(struct charsmap *map, const char *bytes, size_t size,
                                  const rapt_allocator *allocator, rapt_message *why);
void rapt__charsmap_free(struct charsmap *map, const rapt_allocator *allocator);
/* Returns the replacement of the longest key that the text begins with and sets *consumed to the
   key's size, or returns NULL. */
const char *rapt__charsmap_match(const struct charsmap *map, const char *text, size_t size,
                                 size_t *consumed);

/* Returns true if a key begins with these bytes. */
bool rapt__charsmap_begins(const struct charsmap *map, const char *bytes, size_t size);

/* ---- normalize.c ---- */
struct spm_normalizer {
    bool dummy_prefix;  /* put a space before the text */
    bool trim_spaces;   /* remove outer spaces and collapse runs of spaces */
    bool escape_spaces; /* replace spaces with spm_space */
    bool suffix;        /* put the space of dummy_prefix after the text instead */
    rapt_text rules;    /* the charsmap as stored in the file */
    struct charsmap map;
    const struct trie *untouched; /* strings to leave unchanged, or NULL */
    bool plain[256]; /* true if this byte is ASCII but not a space, and is left unchanged before an
                        ASCII byte or at the end of the text */
};
/* Derives `map` and `plain` from the other fields. Returns the same errors as
   rapt__charsmap_create. */
rapt_status rapt__spm_normalizer_create(struct spm_normalizer *normalizer,
                                        const rapt_allocator *allocator, rapt_message *why);

/* Returns an upper bound on the number of bytes, or of characters if `bytes` is false, that one
   byte of text can become. */
size_t rapt__spm_normalizer_spread(const struct spm_normalizer *normalizer, bool bytes);

/* Returns an upper bound on the size of the normalized form of a text, in bytes, or in characters
   if `bytes` is false. */
size_t rapt__spm_normalizer_most(const struct spm_normalizer *normalizer, rapt_text text,
                                 bool bytes);

struct spm_normalized {
    char *bytes;      /* [capacity], of which `size` are used */
    uint32_t *origin; /* [capacity], of which size + 1 are used: the offset in the text from which
                         each byte comes; NULL if origins were not requested */
    size_t size, capacity;
    rapt_allocator allocator;
};
/* Maximum size in bytes of a text, and of the memory for its normalized form. */
enum { SPM_TEXT_MAX = 1 << 30 };
/* Normalizes text. Before the call, `out` must be zero except for its allocator; the caller frees
   it even after a failure. Returns RAPT_BAD_ARGUMENT if the text or its normalized form is too
   long, and RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__spm_normalize(const struct spm_normalizer *normalizer, rapt_text text,
                                bool origins, struct spm_normalized *out);
void rapt__spm_normalized_free(struct spm_normalized *out);

/* ---- model.c: the contents of the file ---- */
/* The type of a piece, numbered as in files. */
enum spm_type {
    SPM_NORMAL = 1,
    SPM_UNKNOWN = 2,
    SPM_CONTROL = 3,
    SPM_USER_DEFINED = 4,
    SPM_UNUSED = 5,
    SPM_BYTE = 6
};
enum spm_kind { SPM_UNIGRAM = 1, SPM_BPE = 2, SPM_WORD = 3, SPM_CHARACTER = 4 };
enum { SPM_NAMES = 4 }; /* unknown, begin, end, padding, in the order of their fields in the file */

struct spm_piece {
    const char *bytes;
    uint32_t size;
    float score;
    enum spm_type type;
    int32_t reading; /* the id that the piece is decoded as: its own, or the id of a reserved piece
                        with the same name */
    uint32_t split;  /* for segment.c: 1 + index among the UNUSED pieces; 0 for other pieces */
};
struct spm {
    rapt_allocator allocator;
    char *file; /* [file_size] the bytes of the model; the texts below point into them */
    size_t file_size;
    enum spm_kind kind;
    bool byte_fallback; /* encode unknown characters as byte pieces */
    rapt_text unknown_surface;
    rapt_text names[SPM_NAMES];
    struct spm_normalizer normalizer, denormalizer;

    struct arena arena; /* holds the arrays below */
    int count, unused;
    struct spm_piece *pieces; /* [count] */
    double *scores;           /* [count] scores of a unigram model; -infinity means never chosen */
    uint32_t *surface; /* [count + 1] the text of piece i is surfaces[surface[i]..surface[i + 1]) */
    char *surfaces;
    int32_t unknown, bytes[256]; /* ids; those of bytes are -1 without byte_fallback */
    float unknown_score;
    size_t spread;                      /* upper bound on the number of tokens per byte of text */
    struct trie chosen, reserved, user; /* chosen: NORMAL, USER_DEFINED and UNUSED pieces; reserved:
                                           all other pieces; user: USER_DEFINED pieces */
};
/* Reads the options in the file. Reads the pieces if their array has been allocated, and only
   counts them otherwise. Returns RAPT_BAD_FILE if the file is damaged or has an unsupported
   option. */
rapt_status rapt__spm_read(struct spm *spm, rapt_message *why);

/* ---- pieces.c ---- */
/* Builds the data that depend on all pieces: tries, byte pieces, scores and surfaces. Returns
   RAPT_BAD_FILE if a required piece is missing, if pieces are invalid or repeated, or if there are
   too many or they are too long, and RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__spm_index(struct spm *spm, rapt_message *why);
/* Returns the text of a piece. */
rapt_text rapt__spm_surface(const struct spm *spm, int32_t id);
/* Returns the id of the piece that these bytes of normalized text form, or the unknown id if there
   is no such piece or it is a control piece. */
int32_t rapt__spm_id(const struct spm *spm, const char *bytes, size_t size);

/* ---- processor.c ---- */
/* Creates a processor from the bytes of a file, which are copied. Returns RAPT_BAD_FILE if they are
   not a supported model, and RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__spm_create(struct spm **spm, const void *bytes, size_t size,
                             const rapt_allocator *allocator, rapt_message *why);
void rapt__spm_free(struct spm *spm); /* accepts NULL */
/* ---- pieces.c: finding pieces ---- */
/* Returns the piece with this name, or -1. */
int32_t rapt__spm_find(const struct spm *spm, rapt_text name);
/* Returns the special token named names[which] if it has the right type, otherwise -1. */
int32_t rapt__spm_special(const struct spm *spm, int which);

/* ---- processor.c: encoding ---- */
struct spm_output { /* collects ids in the order of the text */
    const struct spm *spm;
    const struct spm_normalized *text;
    int32_t *ids;  /* [capacity] */
    size_t *ends;  /* [capacity] offsets in the text, or NULL */
    size_t *inner; /* [capacity] offsets in the normalized text, or NULL */
    size_t capacity, count;
    bool unknown; /* true if the last piece was unknown */
};
/* Emits bytes [start, end) of the normalized text as the next piece. */
void rapt__spm_put(struct spm_output *out, size_t start, size_t end, int32_t id);

/* Returns an upper bound on the number of tokens in `bytes` bytes of text. */
size_t rapt__spm_bound(const struct spm *spm, size_t bytes);
/* Encodes a normalized text, which must have origins if ends are requested. The caller sets all
   fields of *out except count and unknown. Tokens beyond the capacity are only counted. Returns
   RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__spm_encode_normalized(struct spm_output *out);
/* Implements rapt_tokenizer_encode for arguments that have been checked. */
rapt_status rapt__spm_encode(const struct spm *spm, rapt_text text, int32_t *ids, size_t *ends,
                             size_t capacity, size_t *count, rapt_message *why);

/* ---- processor.c: decoding ---- */
enum { CHARACTER_BYTES = 4 }; /* maximum size of a UTF-8 character */
/* Returns the character that the bytes begin with, or U+FFFD if the first byte does not begin a
   character. Sets *used to the number of bytes that the result stands for. `size` must be 1 to
   CHARACTER_BYTES. The result points into `bytes` or to a constant. */
rapt_text rapt__spm_join_bytes(const char *bytes, size_t size, size_t *used);

/* ---- segment.c ---- */
/* These functions emit the pieces of out->text, which must not be empty. The first two return
   RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__spm_unigram(struct spm_output *out);
rapt_status rapt__spm_bpe(struct spm_output *out);
void rapt__spm_words(struct spm_output *out);
void rapt__spm_characters(struct spm_output *out);
/* Returns the size of the first character of a text in valid UTF-8, at most `size`. A USER_DEFINED
   piece counts as one character. Unless `user` is NULL, sets *user to true for such a piece and to
   false otherwise. */
size_t rapt__spm_character(const struct spm *spm, const char *text, size_t size, bool *user);

/* Returns the length of the UTF-8 character that begins with this byte, or 1 for a continuation
   byte. Like SentencePiece, returns 4 for 0xF8 to 0xFF, which begin no character. */
static inline size_t rapt__spm_length(char byte)
{
    unsigned lead = (unsigned char)byte;
    return lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* ---- processor.c: decoding ---- */
/* Implements rapt_tokenizer_decode for arguments and ids that have been checked. */
rapt_status rapt__spm_decode(const struct spm *spm, const int32_t *ids, size_t count, char *bytes,
                             size_t capacity, size_t *size, rapt_message *why);

#endif
