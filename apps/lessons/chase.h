/* chase.h - a small grammar: English sentences of three to ten words, their Chinese
   translations, and which word translates which. */
#ifndef LESSONS_CHASE_H
#define LESSONS_CHASE_H

#include "small.h"
#include <stdbool.h>

struct chase { /* a sentence as indices of words; -1 if there is no such word */
    int subject, verb, object, where;
    bool negated, today;
};
/* source[t] is the position of the source word that target word t translates. */
struct chase_pair {
    struct ids_pair ids;
    int source[SMALL_TOKENS];
};
/* The lecture's sentence, and its weights of each Chinese word (rows) on the English ones. */
enum { CHASE_WORDS = 3 };
extern const char *const chase_english[CHASE_WORDS], *const chase_chinese[CHASE_WORDS];
extern const float chase_weights[CHASE_WORDS][CHASE_WORDS];

int chase_vocabulary(void); /* number of ids of both languages, from RAPT_TOKEN_SPECIALS on */
const char *chase_word(int32_t id);
bool chase_is_english(int32_t id); /* false for special tokens */
void chase_make(const struct chase *sentence, struct chase_pair *pair);
/* Returns whether the sentence is kept out of training. That holds for three in ten combinations of
   who does what to whom, the lecture's among them. */
bool chase_held_out(const struct chase *sentence);
/* Draws until chase_held_out is as wanted. */
void chase_draw(struct random *random, bool held_out, struct chase_pair *pair);
/* A small_draw_fn that never draws held-out sentences. */
void chase_draw_training(struct random *random, struct ids_pair *pair, const void *user);

#endif
