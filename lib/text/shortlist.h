/* shortlist.h - a lexical shortlist in memory, shared by the functions that create and query it
   (shortlist.c) and those that read and write files (shortlist_files.c). */
#ifndef RAPT_LIB_TEXT_SHORTLIST_H
#define RAPT_LIB_TEXT_SHORTLIST_H

#include "base/base.h"
#include <rapt/shortlist.h>

struct rapt_shortlist {
    rapt_allocator allocator;
    struct arena arena;
    int source_vocab, target_vocab;
    bool shared; /* both sides have the same tokenizer */
    /* Target tokens 0 to first - 1 are in every list. `best` is the maximum number of target tokens
       per source token, which is stored but not used. */
    uint64_t first, best;
    size_t count;
    uint64_t *starts; /* [source_vocab + 1] non-decreasing, at most count */
    int32_t *lists; /* [count] target tokens; those of source token s are lists[starts[s]..starts[s
                       + 1]) */
};

/* Creates a shortlist for these vocabularies, with memory for `count` tokens. The caller fills
   `first`, `best` and the arrays. Returns RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__shortlist_make(rapt_shortlist **shortlist, const rapt_tokenizer *source,
                                 const rapt_tokenizer *target, size_t count,
                                 const rapt_allocator *allocator, rapt_message *why);

/* ---- shortlist_files.c ---- */
/* Returns true if the bytes begin with the magic number of the binary format. */
bool rapt__shortlist_is_binary(const void *bytes, size_t size);
/* Reads a file in the binary format. Returns RAPT_BAD_FILE if the file is damaged or does not match
   the vocabularies, and RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__shortlist_read(rapt_shortlist **shortlist, const unsigned char *bytes,
                                 size_t size, const rapt_tokenizer *source,
                                 const rapt_tokenizer *target, const rapt_allocator *allocator,
                                 rapt_message *why);
/* Reads a file in the text format. Returns the same errors as rapt__shortlist_read. */
rapt_status rapt__shortlist_parse(rapt_shortlist **shortlist, const char *text, size_t size,
                                  const rapt_tokenizer *source, const rapt_tokenizer *target,
                                  const rapt_allocator *allocator, rapt_message *why);

#endif
