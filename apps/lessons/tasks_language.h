/* tasks_language.h - a decoder and an encoder on one small language, and what is measured of them.
 */
#ifndef LESSONS_TASKS_LANGUAGE_H
#define LESSONS_TASKS_LANGUAGE_H

#include "learner.h"
#include "tasks_grammar.h"

enum { DECODER, ENCODER, MODELS };
enum { BATCH = 32, TESTS = 512, PROMPT = 6, SHOWN_WORDS = 7 };

struct language {
    struct learner learner[MODELS];
    int steps;
    struct grams grams;                        /* of the sentences of training */
    double perplexity[ORDERS], model, grammar; /* on the tests */
    double agrees[2];    /* verbs after a distracting noun: trigram, decoder */
    double fits[MODELS]; /* number of a subject after "the": by what is left of it, by both */
    int32_t said[2][MAX_WORDS];
    int said_count[2];
    struct sentence shown;         /* its subject is masked */
    float weights[2][SHOWN_WORDS]; /* [layer] of the mask on all words */
};
/* ---- tasks_language_test.c ---- */
/* Adds a sentence to the batch; masked: the word that an encoder is to fill in, or -1. */
void language_put(struct learner *learner, const struct sentence *sentence, int masked);
/* On sentences kept out of training: perplexities, agreement of verbs, numbers of subjects. */
void language_test_decoder(struct language *t);
void language_test_encoder(struct language *t);

#endif
