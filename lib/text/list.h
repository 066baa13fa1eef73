/* list.h - a vocabulary that is a list of names, as other projects have them: made from its names
   and, if text is to be cut into pieces, a SentencePiece model. It never changes. */
#ifndef RAPT_LIB_TEXT_LIST_H
#define RAPT_LIB_TEXT_LIST_H

#include "text/sentencepiece/sentencepiece.h"

enum { LIST_SPECIALS = RAPT_TOKEN_SPECIALS - RAPT_TOKEN_UNKNOWN };

struct list {
    rapt_allocator allocator;
    struct spm *spm;    /* NULL: text is names with spaces between */
    struct arena arena; /* of the arrays below */
    int count;
    char *joined; /* [joined_size] the names, each with a 0 behind it */
    size_t joined_size;
    uint32_t *start;   /* [count + 1] where they begin */
    uint32_t *surface; /* [count + 1] name i in a text is surfaces[surface[i]..surface[i + 1]) */
    char *surfaces;
    bool *byte;        /* [count] the name is that of a byte piece: its surface is the byte */
    int32_t *of_piece; /* [spm->count] the name of a piece; -1: there is none */
    int32_t *table;    /* [slots] ids by the hash of their names; -1: free. A power of two */
    size_t slots;
    int32_t special[LIST_SPECIALS]; /* from RAPT_TOKEN_UNKNOWN on; -1: there is none */
};

/* names: `count` of them, each with a 0 behind it, size bytes in all. pieces: the bytes of a
   SentencePiece model, or NULL. RAPT_BAD_ARGUMENT: two names are the same; empty ones stand for
   nothing. */
rapt_status rapt__list_create(struct list **list, const char *names, size_t size, int count,
                              rapt_text pieces, const rapt_allocator *allocator, rapt_message *why);
void rapt__list_free(struct list *list);                          /* NULL is allowed */
int32_t rapt__list_find(const struct list *list, rapt_text name); /* -1: there is none */
int32_t rapt__list_special(const struct list *list, int which);
rapt_text rapt__list_name(const struct list *list, int32_t id);
rapt_text rapt__list_surface(const struct list *list, int32_t id);
size_t rapt__list_bound(const struct list *list, size_t bytes);
/* As rapt_tokenizer_encode and _decode; arguments are checked. */
rapt_status rapt__list_encode(const struct list *list, rapt_text text, int32_t *ids, size_t *ends,
                              size_t capacity, size_t *count, rapt_message *why);
rapt_status rapt__list_decode(const struct list *list, const int32_t *ids, size_t count,
                              char *bytes, size_t capacity, size_t *size, rapt_message *why);

#endif
