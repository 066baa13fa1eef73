/* tasks_grammar.h - a small language: sentences with their probability, and n-grams counted over
   them. A sentence has a subject, up to two places, a verb that agrees with the subject, and
   sometimes an adverb: "the dogs near the old tower sleep again." */
#ifndef TASKS_GRAMMAR_H
#define TASKS_GRAMMAR_H

#include "kit/random.h"
#include <stdbool.h>

/* Words by class. In classes with number, the words of one number precede those of the other. */
enum {
    DETERMINER, /* the; a this every; these many two */
    NOUN = DETERMINER + 7,
    VERB = NOUN + 16,
    ADJECTIVE = VERB + 12,
    ADVERB = ADJECTIVE + 5,
    PREPOSITION = ADVERB + 4,
    STOP = PREPOSITION + 4, /* ends a sentence */
    BEGIN,
    WORDS,
    MASK = BEGIN, /* for the encoder */
    NOUNS = 8,
    VERBS = 6,
    MAX_WORDS = 16, /* in a sentence */
    ORDERS = 3      /* unigrams, bigrams, trigrams */
};
extern const char *const grammar_words[WORDS];
struct sentence {
    int count, word[MAX_WORDS]; /* the last word is STOP */
    bool plural;                /* true if the subject is plural */
    int subject, verb;          /* their positions */
    bool distracted; /* the noun before the verb has a different number from the subject */
    double nats;     /* negative log of its probability */
};
/* Draws sentences until one is (test) or is not among the tenth that is kept out of training. */
void sentence_draw(struct sentence *sentence, struct random *random, bool test);

struct grams {
    int *counts[ORDERS]; /* n-grams: [WORDS^n], the last word varies fastest */
};
void grams_create(struct grams *grams);
void grams_free(struct grams *grams);
void grams_add(struct grams *grams, const struct sentence *sentence);
/* Sets the probability of word `at` given the words before it, for each order. */
void grams_share(const struct grams *grams, const struct sentence *sentence, int at,
                 double share[ORDERS]);

#endif
