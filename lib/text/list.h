/* list.h - a vocabulary that is a list of names, such as the vocabulary file of another project.
   Text is split into names by a SentencePiece model, by WordPiece, by GPT-2's byte-level BPE, by
   BPE over Moses-tokenized words, or at spaces. A list is immutable. */
#ifndef RAPT_LIB_TEXT_LIST_H
#define RAPT_LIB_TEXT_LIST_H

#include "text/moses/moses.h"
#include "text/sentencepiece/sentencepiece.h"
#include "text/text.h"

/* ---- byte-level BPE, as in GPT-2 (Radford et al. 2019), RoBERTa and BART ---- */

struct bytelevel {
    bool used;
    bool space_first;      /* a space is put before text that does not begin with one */
    int merges;            /* number of merges */
    int32_t byte[256];     /* id of the name of each byte */
    int32_t *pairs;        /* [2 * merges] the ids that each merge joins, earliest merge first */
    int32_t *made;         /* [merges] the id that each merge makes */
    struct ranked *sorted; /* [merges] key: left id << 32 | right id; position: the merge */
};

/* ---- list.c ---- */

enum { LIST_SPECIALS = RAPT_TOKEN_SPECIALS - RAPT_TOKEN_UNKNOWN };

struct list {
    rapt_allocator allocator;
    struct spm *spm; /* NULL if there is none */
    struct wordpiece wordpiece;
    struct bytelevel bytes;
    struct moses *moses; /* NULL if there is none */
    bool mbart;          /* the list has mBART's language tokens, such as en_XX */
    bool angled;         /* special tokens are <s> and </s>, not WordPiece's [CLS] and [SEP] */
    struct arena arena;  /* holds the arrays below */
    int count;
    char *joined; /* [joined_size] the names, each terminated by a zero byte */
    size_t joined_size;
    uint32_t *start;   /* [count + 1] offsets of the names in `joined` */
    uint32_t *surface; /* [count + 1] text of name i: surfaces[surface[i]..surface[i + 1]) */
    char *surfaces;
    bool *byte;        /* [count] true for a byte piece, whose surface is a single byte */
    int32_t *of_piece; /* [spm->count] id of each piece's name, or -1 */
    int32_t *table;    /* [slots] hash table of ids by name; -1 if free. slots is a power of two */
    size_t slots;
    int32_t special[LIST_SPECIALS]; /* ids of special tokens, starting with RAPT_TOKEN_UNKNOWN, or
                                       -1 */
};

/* Creates a list. Returns RAPT_BAD_ARGUMENT if two nonempty names are equal, a WordPiece vocabulary
   lacks [UNK], a merge is invalid, or byte-level BPE has no name for some byte. Returns
   RAPT_BAD_FILE if the SentencePiece model, the Moses merges or the Moses language code is invalid,
   or if WordPiece or byte-level BPE is requested but the library was built without utf8proc.
   Returns RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__list_create(struct list **list, const struct list_source *source,
                              const rapt_allocator *allocator, rapt_message *why);
void rapt__list_free(struct list *list);                          /* accepts NULL */
int32_t rapt__list_find(const struct list *list, rapt_text name); /* returns -1 if not found */
/* Returns the id of a special token, or -1 if there is none. The end token takes the place of a
   missing begin token. */
int32_t rapt__list_special(const struct list *list, int which);
rapt_text rapt__list_name(const struct list *list, int32_t id);
rapt_text rapt__list_surface(const struct list *list, int32_t id);
size_t rapt__list_bound(const struct list *list, size_t bytes);
/* Work like rapt_tokenizer_encode and rapt_tokenizer_decode, for arguments that have been
   checked. */
rapt_status rapt__list_encode(const struct list *list, rapt_text text, int32_t *ids, size_t *ends,
                              size_t capacity, size_t *count, rapt_message *why);
rapt_status rapt__list_decode(const struct list *list, const int32_t *ids, size_t count,
                              char *bytes, size_t capacity, size_t *size, rapt_message *why);

/* The caller's arrays for the tokens of a text. Tokens beyond the capacity are only counted. */
struct list_output {
    int32_t *ids;
    size_t *ends; /* or NULL */
    size_t capacity, count;
};
void rapt__list_put(struct list_output *out, int32_t id, size_t end);

/* ---- list_words.c ---- */
/* Returns true if the library was built with utf8proc, which WordPiece needs. */
bool rapt__wordpiece_available(void);
void rapt__list_encode_words(const struct list *l, rapt_text text, struct list_output *out);

/* ---- list_bytes.c ---- */
/* Returns true if the library was built with utf8proc, which byte-level BPE needs for character
   classes. */
bool rapt__bytelevel_available(void);
/* Writes the character that represents a byte in names, and returns its size in bytes. */
size_t rapt__bytelevel_spell(unsigned char byte, char to[2]);
/* Writes the bytes that a name represents, at most name.size, and returns how many there are. A
   character that represents no byte is copied. */
size_t rapt__bytelevel_bytes(rapt_text name, char *to);
/* Returns the end of the word that begins at `at`, which must be below text.size. */
size_t rapt__bytelevel_word_end(rapt_text text, size_t at);
/* Returns true for white space as defined by Unicode. */
bool rapt__bytelevel_space(uint32_t c);
/* Sets up the arrays of l->bytes from pairs [2 * l->bytes.merges]. Returns RAPT_BAD_ARGUMENT if a
   byte has no name or a merge is invalid. */
rapt_status rapt__list_index_merges(struct list *l, const int32_t *pairs, rapt_message *why);
/* Returns RAPT_BAD_ARGUMENT if the text is too long, and RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__list_encode_bytes(const struct list *l, rapt_text text, struct list_output *out,
                                    rapt_message *why);

/* ---- list_moses.c ---- */
/* Writes the text of a name, at most name.size bytes, and returns its size. */
size_t rapt__list_moses_surface(rapt_text name, char *to);
/* Returns RAPT_BAD_ARGUMENT if the text is too long or a piece is missing from a list without an
   unknown token, and RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__list_encode_moses(const struct list *l, rapt_text text, struct list_output *out,
                                    rapt_message *why);
/* Works like rapt__list_decode, except that a capacity that is too small is not an error. If `more`
   is true, other tokens follow, so the "@@" of an unfinished last word is removed. */
rapt_status rapt__list_decode_moses(const struct list *l, const int32_t *ids, size_t count,
                                    bool more, char *bytes, size_t capacity, size_t *size,
                                    rapt_message *why);

#endif
