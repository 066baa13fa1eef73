/* metrics.h - corpus-level BLEU and chrF scores of translations, as defined by sacreBLEU 2.x. They
   agree with sacreBLEU's to four decimal places. */
#ifndef RAPT_METRICS_H
#define RAPT_METRICS_H

#include "text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* To score a corpus, zero-initialize a struct, call *_add with the hypothesis and reference of each
   sentence, then call *_score. The structs hold only counts, so structs from several threads or
   machines can be added field by field. Only one thread at a time may add to a struct. The structs
   will not grow.

   A sentence may have up to 2^28 bytes. Each byte that is not valid UTF-8 counts as a character.
   *_add allocates memory for the duration of the call. It returns RAPT_NO_MEMORY if an allocation
   fails, and RAPT_BAD_ARGUMENT if the struct or the bytes of a nonempty sentence are NULL, a
   sentence is too long or an enumerator is unknown. If a call fails, the counts are unchanged. */

/* How a sentence is split into words: sacreBLEU's tokenizers that need no model. In scripts without
   spaces between words, 13a treats any text between spaces or ASCII punctuation marks as one
   word. */
typedef enum rapt_bleu_tokens {
    RAPT_BLEU_TOKENS_13A,  /* mteval-v13a tokenization, sacreBLEU's default */
    RAPT_BLEU_TOKENS_NONE, /* splits at white space only, for text that is already tokenized */
    RAPT_BLEU_TOKENS_ZH,   /* every Chinese character is a word; the rest is split as in 13a, but
                              entities such as &amp; are not replaced */
    RAPT_BLEU_TOKENS_INTL, /* mteval-v14 tokenization: splits off symbols, and punctuation marks
                              next to a character that is not a number, by Unicode category;
                              RAPT_BAD_ARGUMENT if the library was built without utf8proc */
    RAPT_BLEU_TOKENS_CHAR  /* every character except white space is a word */
} rapt_bleu_tokens;

/* Counts for BLEU (Papineni et al. 2002). */
typedef struct rapt_bleu {
    long long matches[4];        /* n-grams of order 1 to 4 shared with the reference, clipped */
    long long totals[4];         /* all n-grams in the hypotheses */
    long long hypothesis_length; /* words in the hypotheses */
    long long reference_length;  /* words in the references */
} rapt_bleu;

/* Adds a sentence. If lowercase is not 0, both texts are first converted to lower case: in all
   scripts if the library was built with utf8proc, else only in Latin, Greek, Cyrillic and Armenian.
   Returns RAPT_NO_MEMORY or RAPT_BAD_ARGUMENT as described above. */
RAPT_API rapt_status rapt_bleu_add(rapt_bleu *bleu, rapt_bleu_tokens tokens, int lowercase,
                                   rapt_text hypothesis, rapt_text reference,
                                   const rapt_allocator *allocator, rapt_message *why);
/* Returns BLEU, 0 to 100, with sacreBLEU's "exp" smoothing; 0 for NULL. */
RAPT_API double rapt_bleu_score(const rapt_bleu *bleu);

/* Counts for chrF2, which is chrF (Popovic 2015) with beta 2: character n-grams up to order 6, no
   word n-grams, white space removed. */
typedef struct rapt_chrf {
    long long matches[6];    /* n-grams of order 1 to 6 shared with the reference, clipped */
    long long hypothesis[6]; /* n-grams in hypotheses whose references have n-grams of that order */
    long long reference[6];  /* n-grams in the references */
} rapt_chrf;

/* Adds a sentence. Returns RAPT_NO_MEMORY or RAPT_BAD_ARGUMENT as described above. */
RAPT_API rapt_status rapt_chrf_add(rapt_chrf *chrf, rapt_text hypothesis, rapt_text reference,
                                   const rapt_allocator *allocator, rapt_message *why);
/* Returns chrF2, 0 to 100; 0 for NULL. */
RAPT_API double rapt_chrf_score(const rapt_chrf *chrf);

#ifdef __cplusplus
}
#endif
#endif
