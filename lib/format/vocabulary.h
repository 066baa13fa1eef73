/* vocabulary.h - reads the tokens and numbers of a vocabulary file: Marian's vocab.yml, vocab.json
   of Hugging Face and CTranslate2, or a file with one token per line. */
#ifndef RAPT_LIB_FORMAT_VOCABULARY_H
#define RAPT_LIB_FORMAT_VOCABULARY_H

#include "format/disk.h"
#include <rapt/base.h>
#include <stddef.h>

enum vocabulary_form {
    VOCABULARY_LINES, /* the token with number i is in line i + 1 */
    VOCABULARY_YAML,  /* one "token: number" per line, or {token: number, ..}; read as JSON if it
                         begins with '[', or with '{' and '"' or '}' */
    VOCABULARY_JSON   /* {token: number, ..}, or [token, ..] */
};
struct vocabulary;

/* Reads a vocabulary file. The end of its name, without .gz or .zst, determines its format: .json,
   .yml or .yaml, otherwise lines. A compressed file is inflated. Returns RAPT_BAD_FILE if the file
   is damaged or has no tokens; if a token occurs twice, is empty, is not UTF-8 or contains a 0; or
   if the numbers are not 0 .. count - 1, each once. A token "<extra_id_N>" may occur more than
   once: it keeps the lowest of its numbers, and the other numbers get the token "". Memory is at
   most proportional to the size of the file. */
rapt_status rapt__vocabulary_open(struct vocabulary **vocabulary, const char *path,
                                  const rapt_allocator *allocator, rapt_message *why);
/* Does the same for a source, which stays open. The end of `name` determines the format. */
rapt_status rapt__vocabulary_open_source(struct vocabulary **vocabulary,
                                         const struct disk_source *source, const char *name,
                                         const rapt_allocator *allocator, rapt_message *why);
/* Does the same for bytes in memory, which are copied. */
rapt_status rapt__vocabulary_open_memory(struct vocabulary **vocabulary, const void *bytes,
                                         size_t size, enum vocabulary_form form,
                                         const rapt_allocator *allocator, rapt_message *why);
void rapt__vocabulary_close(struct vocabulary *vocabulary); /* NULL is allowed */

int rapt__vocabulary_count(const struct vocabulary *vocabulary);
const char *rapt__vocabulary_token(const struct vocabulary *vocabulary,
                                   int id); /* returns NULL if id is out of range */
int rapt__vocabulary_find(const struct vocabulary *vocabulary,
                          const char *token); /* returns -1 if the token is unknown */

#endif
