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
    enum block block; /* what the lines after a heading belong to */
    char *token[MAX_TOKENS];
    int count, next; /* tokens of this line, and how many are consumed */
    bool bad;
};

extern const struct names corpus_kinds; /* of determiners */

/* Records the first error; later ones are consequences. */
void corpus_complain(struct reader *r, const char *what, const char *token);

/* The next token of the line. */
char *corpus_take(struct reader *r);
int corpus_take_number(struct reader *r);
unsigned corpus_take_set(struct reader *r, int list);

/* The index of a name: -1, or 0 and an error, if there is none. */
int corpus_find(const struct names *names, const char *name);
int corpus_look_up(struct reader *r, int list, const char *name);
int corpus_add_name(struct reader *r, int list, const char *name);

/* A list with commas as a set of bits; "-" is none, "any" is all. Modifies the list. */
unsigned corpus_set_of(struct reader *r, const struct names *names, char *list);

/* The names of the parts of a clause. */
extern const struct names corpus_parts;

/* The rest of the line, in the language of its block. */
void corpus_take_pattern(struct reader *r, struct pattern *pattern);

/* False if the line is not an entry of the lexicon. */
bool corpus_lexicon_line(struct reader *r, const char *key);

#endif
