/* tasks_language.h - a decoder and an encoder for one small language, and measurements of both. */
#ifndef LESSONS_TASKS_LANGUAGE_H
#define LESSONS_TASKS_LANGUAGE_H

#include "learner.h"
#include "tasks_grammar.h"

enum { DECODER, ENCODER, MODELS };
enum { BATCH = 32, TESTS = 512, PROMPT = 6, SHOWN_WORDS = 7, DRAWS = 4 };

struct language {
    struct learner learner[MODELS];
    int steps;
    struct grams grams;                        /* counted in the training sentences */
    double perplexity[ORDERS], model, grammar; /* on test sentences */
    double agrees[2];    /* share of right verbs after a distracting noun: trigram, decoder */
    double fits[MODELS]; /* share of right numbers of a subject after "the": by the words to its
                            left, by all words */
    int32_t said[2][MAX_WORDS];
    int said_count[2];
    int32_t drawn[DRAWS][MAX_WORDS]; /* continuations of the first prompt by draws */
    int drawn_count[DRAWS];
    double streamed;               /* largest change of a logit when more words arrive */
    struct sentence shown;         /* with a masked subject */
    float weights[2][SHOWN_WORDS]; /* [layer] weights of the mask on all words */
};
/* ---- tasks_language_test.c ---- */
/* Adds a sentence to the batch. masked: the word that an encoder has to fill in, or -1. */
void language_put(struct learner *learner, const struct sentence *sentence, int masked);
/* Measures on sentences kept out of training: perplexities, agreement of verbs, numbers of
   subjects. */
void language_test_decoder(struct language *t);
void language_test_encoder(struct language *t);
/* Returns by how much the decoder's logits after a word change when the words after it are given,
   too. */
double language_streamed(struct language *t);

#endif
