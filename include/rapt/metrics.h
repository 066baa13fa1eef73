/* metrics.h - corpus scores of translations against references: BLEU and chrF, as sacreBLEU 2.x
   defines them, to four decimals. */
#ifndef RAPT_METRICS_H
#define RAPT_METRICS_H

#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One call of *_add per sentence: one hypothesis, one reference, each at most 2^28 bytes. Bytes
   that are not valid UTF-8 count as characters of their own. The allocator gives memory for the
   length of the call. A failed call leaves the counts as they were: RAPT_NO_MEMORY, or
   RAPT_BAD_ARGUMENT for NULL, a text that is too long, an unknown enumerator.

   The structs hold counts alone: start from all zeros, add those of several threads or machines up
   field by field. One struct must not be added to by two threads at once. They will not grow. */

/* How a text becomes words. */
typedef enum rapt_bleu_tokens {
    RAPT_BLEU_TOKENS_13A, /* mteval-v13a tokenization: sacreBLEU's default */
    RAPT_BLEU_TOKENS_NONE /* split at white space only: for text that is tokenized already */
} rapt_bleu_tokens;

/* Counts of a corpus; all zeros to begin with. */
typedef struct rapt_bleu {
    long long matches[4]; /* n-grams of order 1..4 of hypotheses that references have, clipped */
    long long totals[4];  /* all n-grams of hypotheses */
    long long hypothesis_length, reference_length; /* words of hypotheses; words of references */
} rapt_bleu;

/* lowercase: not 0 to fold case first: of all Unicode if the library was built with utf8proc, else
   of Latin, Greek, Cyrillic and Armenian letters. RAPT_NO_MEMORY, RAPT_BAD_ARGUMENT: see above. */
RAPT_API rapt_status rapt_bleu_add(rapt_bleu *bleu, rapt_bleu_tokens tokens, int lowercase,
                                   rapt_text hypothesis, rapt_text reference,
                                   const rapt_allocator *allocator, rapt_message *why);
RAPT_API double rapt_bleu_score(const rapt_bleu *bleu); /* 0..100, smoothing "exp"; NULL: 0 */

typedef struct rapt_chrf { /* chrF2: character order 6, no word order, white space removed */
    long long matches[6];  /* n-grams of order 1..6 that both have */
    long long hypothesis[6], reference[6]; /* n-grams of hypotheses; of references */
} rapt_chrf;

/* Adds one sentence, as rapt_bleu_add does. */
RAPT_API rapt_status rapt_chrf_add(rapt_chrf *chrf, rapt_text hypothesis, rapt_text reference,
                                   const rapt_allocator *allocator, rapt_message *why);
RAPT_API double rapt_chrf_score(const rapt_chrf *chrf); /* 0..100; NULL: 0 */

#ifdef __cplusplus
}
#endif
#endif
