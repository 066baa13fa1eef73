/* reader.h - what the files that read a grammar share. Internal to this folder. */
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
    int count, next; /* tokens of this line, and how many are used */
    bool bad;
};

extern const struct names corpus_kinds; /* of determiners */

/* The first complaint stays; all others are consequences. */
void corpus_complain(struct reader *r, const char *what, const char *token);

/* The next token of the line. */
char *corpus_take(struct reader *r);
int corpus_take_number(struct reader *r);
unsigned corpus_take_set(struct reader *r, int list);

/* Where a name stands: -1, or 0 and a complaint, if nowhere. */
int corpus_find(const struct names *names, const char *name);
int corpus_look_up(struct reader *r, int list, const char *name);
int corpus_add_name(struct reader *r, int list, const char *name);

/* A list with commas as a set of bits; "-" is none, "any" is all. Cuts the list up. */
unsigned corpus_set_of(struct reader *r, const struct names *names, char *list);

/* What the parts of a clause are called. */
extern const struct names corpus_parts;

/* The rest of the line, in the language of the block it stands in. */
void corpus_take_pattern(struct reader *r, struct pattern *pattern);

/* False if the line is no entry of the lexicon. */
bool corpus_lexicon_line(struct reader *r, const char *key);

#endif
