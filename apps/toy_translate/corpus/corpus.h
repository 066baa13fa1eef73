/* corpus.h - English-German sentence pairs from a small grammar (grammar.txt), for the demo.

   Sentences are UTF-8 text with one space between words, without tabs or line breaks. Every English
   sentence of the grammar has one translation, and the same seed gives the same pairs on every
   machine. */
#ifndef TOY_TRANSLATE_CORPUS_H
#define TOY_TRANSLATE_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CORPUS_TEXT = 256 }; /* bytes of the longest sentence or message, including the final NUL */

/* grammar.txt, compiled into the program by kit/generate.cmake. */
extern const unsigned char corpus_bytes[];
extern const size_t corpus_bytes_count;

typedef struct corpus_grammar corpus_grammar; /* immutable */

/* Parses a grammar. Returns NULL, with the reason and its line number in why, if it is malformed or
   memory runs out. */
corpus_grammar *corpus_grammar_create(const void *bytes, size_t count, char why[CORPUS_TEXT]);
void corpus_grammar_free(corpus_grammar *grammar); /* NULL is allowed */

struct corpus_pair {
    const char *source, *target; /* English, German */
};

/* Returns the examples that the grammar file lists. The grammar owns them. */
const struct corpus_pair *corpus_showcase(const corpus_grammar *grammar, size_t *count);

struct corpus {
    struct corpus_pair *train, *heldout; /* owned by the corpus */
    size_t train_count, heldout_count;
    char *text;
};

/* Draws this many pairs. No sentence of either language occurs twice in the pairs and the showcase,
   and all words of held-out sentences and of the showcase occur in training. Returns false, with
   the reason in why, if the grammar yields too few pairs or two translations of a sentence. */
bool corpus_draw(struct corpus *corpus, const corpus_grammar *grammar, uint64_t seed,
                 size_t train_count, size_t heldout_count, char why[CORPUS_TEXT]);
void corpus_free(struct corpus *corpus); /* leaves it empty */

/* Finds the German translation of an English sentence. Returns false if none of `tries` random
   derivations gives the sentence (a million take about a second). */
bool corpus_derive(const corpus_grammar *grammar, const char *source, long tries,
                   char target[CORPUS_TEXT]);

/* Writes a line per pair: source, tab, target. Returns false if the file cannot be written. */
bool corpus_write(FILE *file, const struct corpus_pair *pairs, size_t count);

#endif
