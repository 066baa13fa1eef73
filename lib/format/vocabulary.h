/* vocabulary.h - tokens and their numbers out of a vocabulary file: Marian's vocab.yml, vocab.json
   of Hugging Face and CTranslate2, a token for each line. */
#ifndef RAPT_LIB_FORMAT_VOCABULARY_H
#define RAPT_LIB_FORMAT_VOCABULARY_H

#include <rapt/base.h>
#include <stddef.h>

enum vocabulary_form {
    VOCABULARY_LINES, /* token number i in line i + 1 */
    VOCABULARY_YAML,  /* token: number, one for each line */
    VOCABULARY_JSON   /* {token: number, ..}, or [token, ..] */
};
struct vocabulary;

/* RAPT_BAD_FILE: a token is there twice, empty, not UTF-8 or has a 0 inside; numbers are not
   0 .. count - 1, each once; the file is damaged. Memory in proportion to the file. */
rapt_status rapt__vocabulary_open(struct vocabulary **vocabulary, const char *path,
                                  const rapt_allocator *allocator, rapt_message *why);
/* The same of bytes at hand. A YAML file may be JSON, which begins with '{' or '['. */
rapt_status rapt__vocabulary_open_memory(struct vocabulary **vocabulary, const void *bytes,
                                         size_t size, enum vocabulary_form form,
                                         const rapt_allocator *allocator, rapt_message *why);
void rapt__vocabulary_close(struct vocabulary *vocabulary); /* NULL is allowed */

int rapt__vocabulary_count(const struct vocabulary *vocabulary);
const char *rapt__vocabulary_token(const struct vocabulary *vocabulary, int id); /* NULL: no such */
int rapt__vocabulary_find(const struct vocabulary *vocabulary, const char *token); /* -1: no such */

#endif
