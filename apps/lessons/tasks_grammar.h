/* tasks_grammar.h - a small language: sentences with their probability, and n-grams counted over
   them. A subject, up to two places, a verb that agrees with the subject, perhaps an adverb: "the
   dogs near the old tower sleep again." */
#ifndef TASKS_GRAMMAR_H
#define TASKS_GRAMMAR_H

#include "kit/random.h"
#include <stdbool.h>

/* Words of a class, first those of one number, then those of the other. */
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
    MASK = BEGIN, /* of the encoder */
    NOUNS = 8,
    VERBS = 6,
    MAX_WORDS = 16, /* of a sentence */
    ORDERS = 3      /* unigrams, bigrams, trigrams */
};
extern const char *const grammar_words[WORDS];
struct sentence {
    int count, word[MAX_WORDS]; /* STOP is the last one */
    bool plural;                /* the subject */
    int subject, verb;          /* where they are */
    bool distracted;            /* the noun before the verb has the other number */
    double nats;                /* - log of its probability */
};
/* Composes until the sentence is of the one in ten that are kept out of training, or is not. */
void sentence_draw(struct sentence *sentence, struct random *random, bool test);

struct grams {
    int *counts[ORDERS]; /* of n-grams: [WORDS^n], the last word fastest */
};
void grams_create(struct grams *grams);
void grams_free(struct grams *grams);
void grams_add(struct grams *grams, const struct sentence *sentence);
/* The probability of word `at` given those before it, by each order. */
void grams_share(const struct grams *grams, const struct sentence *sentence, int at,
                 double share[ORDERS]);

#endif
