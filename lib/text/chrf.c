/* chrf.c - corpus chrF2 (Popovic 2015) as computed by sacreBLEU 2.x by default.

       F = 100 (1 + 4) P R / (4 P + R)

   P and R are the means over the orders 1..6 of matches / hypothesis and matches / reference,
   counting n-grams of characters without white space. Orders for which one side has no n-grams are
   skipped. The n-grams of a hypothesis count only if its reference has n-grams of that order. */
#include "text/text.h"

enum { ORDERS = 6 };

/* Writes the characters other than white space to `out`, unless it is NULL, and returns their
   number. */
static size_t characters(rapt_text text, uint32_t *out)
{
    size_t count = 0;
    for (size_t at = 0; at < text.size;) {
        uint32_t character = rapt__utf8_next(text.bytes, text.size, &at);
        if (rapt__utf8_space(character)) continue;
        if (out) out[count] = character;
        count++;
    }
    return count;
}

rapt_status rapt_chrf_add(rapt_chrf *chrf, rapt_text hypothesis, rapt_text reference,
                          const rapt_allocator *allocator, rapt_message *why)
{
    if (!chrf) return rapt__fail(why, RAPT_BAD_ARGUMENT, "chrf is NULL");
    rapt_status status = rapt__scored_check(hypothesis, reference, why);
    if (status) return status;
    rapt_allocator memory = rapt__allocator(allocator);
    struct ngrams grams;
    size_t h = characters(hypothesis, NULL), r = characters(reference, NULL);
    status = rapt__ngrams_create(&grams, h, r, &memory);
    if (status) return rapt__fail(why, status, "no memory to score a sentence");
    long long matches[ORDERS];
    characters(hypothesis, grams.ids);
    characters(reference, h ? grams.ids + h : grams.ids);
    rapt__ngrams_match(&grams, ORDERS, matches);
    rapt__ngrams_free(&grams, &memory);

    for (int n = 0; n < ORDERS; n++) {
        long long total = rapt__ngrams_total(r, n + 1);
        chrf->matches[n] += matches[n];
        chrf->hypothesis[n] += total ? rapt__ngrams_total(h, n + 1) : 0;
        chrf->reference[n] += total;
    }
    return RAPT_OK;
}

double rapt_chrf_score(const rapt_chrf *chrf)
{
    if (!chrf) return 0;
    double precision = 0, recall = 0;
    int orders = 0;
    for (int n = 0; n < ORDERS; n++) {
        if (chrf->hypothesis[n] <= 0 || chrf->reference[n] <= 0) continue;
        precision += (double)chrf->matches[n] / (double)chrf->hypothesis[n];
        recall += (double)chrf->matches[n] / (double)chrf->reference[n];
        orders++;
    }
    if (precision + recall <= 0) return 0;
    precision /= orders;
    recall /= orders;
    return 100 * 5 * precision * recall / (4 * precision + recall);
}
