/* reader.h - state and helpers of the grammar parser. Internal to this folder. */
#ifndef TOY_TRANSLATE_READER_H
#define TOY_TRANSLATE_READER_H

#include "grammar.h"

enum { MAX_TOKENS = 40 };
enum block { NO_BLOCK, TENSE_BLOCK, FRAME_BLOCK, SENTENCE_BLOCK, ORDER_BLOCK };

struct reader {
    corpus_grammar *grammar;
    char *why;
    int line;
    enum block block; /* the block that the lines after a heading belong to */
    char *token[MAX_TOKENS];
    int count, next; /* tokens of this line, and how many have been taken */
    bool bad;
};

extern const struct names corpus_kinds; /* names of the kinds of determiners */

/* Records the first error. Later ones are consequences of it. */
void corpus_complain(struct reader *r, const char *what, const char *token);

/* Takes the next token of the line. */
char *corpus_take(struct reader *r);
int corpus_take_number(struct reader *r);
unsigned corpus_take_set(struct reader *r, int list);

/* Return the index of a name. Without such a name, corpus_find returns -1, and corpus_look_up
   records an error and returns 0. */
int corpus_find(const struct names *names, const char *name);
int corpus_look_up(struct reader *r, int list, const char *name);
int corpus_add_name(struct reader *r, int list, const char *name);

/* Reads a comma-separated list as a set of bits; "-" is the empty set, "any" all names. Modifies
   the list. */
unsigned corpus_set_of(struct reader *r, const struct names *names, char *list);

/* The names of the parts of a clause. */
extern const struct names corpus_parts;

/* Parses the rest of the line, in the syntax of its block. */
void corpus_take_pattern(struct reader *r, struct pattern *pattern);

/* Returns false if the line is not an entry of the lexicon. */
bool corpus_lexicon_line(struct reader *r, const char *key);

#endif
