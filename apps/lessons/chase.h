/* chase.h - English of three to ten words and its Chinese, with what translates what: the grammar
   of lesson 5. */
#ifndef LESSONS_CHASE_H
#define LESSONS_CHASE_H

#include "small.h"
#include <stdbool.h>

struct chase { /* a sentence: numbers of words; -1: there is none */
    int subject, verb, object, where;
    bool negated, today;
};
/* source[t]: the position in the source of the word that target word t translates. */
struct chase_pair {
    struct ids_pair ids;
    int source[SMALL_TOKENS];
};
int chase_vocabulary(void); /* ids of both languages together, from RAPT_TOKEN_SPECIALS on */
const char *chase_word(int32_t id);
void chase_make(const struct chase *sentence, struct chase_pair *pair);
/* Is the sentence kept out of training? Three in ten who-does-what-to-whom are, the
   lecture's among them. */
bool chase_held_out(const struct chase *sentence);
/* Draws until held_out or not, as wanted. */
void chase_draw(struct random *random, bool held_out, struct chase_pair *pair);
/* A small_draw_fn: never held out. */
void chase_draw_training(struct random *random, struct ids_pair *pair, const void *user);

#endif
