/* bleu.c - corpus BLEU (Papineni, Roukos, Ward and Zhu 2002) as computed by sacreBLEU (Post 2018).

       BLEU = 100 min(1, exp(1 - r/h)) (p[1] p[2] p[3] p[4])^(1/4),   p[n] = matches[n] / totals[n]

   If order n has no match, p[n] = 1 / (2^k totals[n]), where k is the number of orders without a
   match up to n (smoothing "exp", method 3 of Chen and Cherry 2014). If no order has a match, BLEU
   is 0. */
#include "text/text.h"
#include <string.h>

enum { ORDERS = 4 };

struct words { /* a sentence split into words */
    char *bytes;
    size_t size, count;
};

/* Finds the next word at or after *at and moves *at to its end. Returns false at the end of the
   text. */
static bool next_word(const char *bytes, size_t size, size_t *at, size_t *begin)
{
    size_t here = *at, end;
    do {
        *begin = here;
        if (here == size) return false;
    } while (rapt__utf8_space(rapt__utf8_next(bytes, size, &here)));
    for (end = here; here < size; end = here)
        if (rapt__utf8_space(rapt__utf8_next(bytes, size, &here))) break;
    *at = end;
    return true;
}

/* Splits a sentence into words. workspace has 6 * text.size + 2 bytes, and the result points into
   it. */
static struct words split(rapt_text text, rapt_bleu_tokens tokens, int lowercase, char *workspace)
{
    struct words s = {.bytes = workspace, .size = text.size};
    if (lowercase)
        s.size = rapt__lower(text, workspace);
    else if (text.size)
        memcpy(workspace, text.bytes, text.size);
    if (tokens != RAPT_BLEU_TOKENS_NONE) {
        s.bytes = workspace + 2 * text.size;
        s.size = rapt__bleu_tokens(tokens, workspace, s.size, s.bytes);
    }
    for (size_t at = 0, begin; next_word(s.bytes, s.size, &at, &begin);) s.count++;
    return s;
}

/* Compares two words by their bytes. A key is offset << 32 | size. */
static int by_bytes(const void *context, const void *x, const void *y)
{
    const char *bytes = context;
    uint64_t a = ((const struct ranked *)x)->key, b = ((const struct ranked *)y)->key;
    size_t m = (uint32_t)a, n = (uint32_t)b;
    int order = memcmp(bytes + (a >> 32), bytes + (b >> 32), rapt__min_size(m, n));
    return order ? order : (m > n) - (m < n);
}

static void list_words(struct ngrams *grams, size_t item, const char *base, const struct words *s)
{
    for (size_t at = 0, begin; next_word(s->bytes, s->size, &at, &begin); item++) {
        uint64_t offset = (uint64_t)(s->bytes - base) + begin;
        grams->items[item] = (struct ranked){offset << 32 | (at - begin), (uint32_t)item};
    }
}

/* Assigns the same id to equal words. */
static void number_words(struct ngrams *grams, const char *base)
{
    size_t n = grams->hypothesis + grams->reference;
    rapt__sort(grams->items, n, sizeof *grams->items, by_bytes, base);
    for (size_t i = 0, same = 0; i < n; i++) {
        if (by_bytes(base, &grams->items[same], &grams->items[i])) same = i;
        grams->ids[grams->items[i].position] = (uint32_t)same;
    }
}

static rapt_status add_words(rapt_bleu *bleu, const char *base, const struct words *hypothesis,
                             const struct words *reference, const rapt_allocator *allocator)
{
    struct ngrams grams;
    rapt_status status =
        rapt__ngrams_create(&grams, hypothesis->count, reference->count, allocator);
    if (status) return status;
    long long matches[ORDERS];
    list_words(&grams, 0, base, hypothesis);
    list_words(&grams, hypothesis->count, base, reference);
    number_words(&grams, base);
    rapt__ngrams_match(&grams, ORDERS, matches);
    rapt__ngrams_free(&grams, allocator);

    bleu->hypothesis_length += (long long)hypothesis->count;
    bleu->reference_length += (long long)reference->count;
    for (int n = 0; n < ORDERS; n++) {
        bleu->matches[n] += matches[n];
        bleu->totals[n] += rapt__ngrams_total(hypothesis->count, n + 1);
    }
    return RAPT_OK;
}

rapt_status rapt_bleu_add(rapt_bleu *bleu, rapt_bleu_tokens tokens, int lowercase,
                          rapt_text hypothesis, rapt_text reference,
                          const rapt_allocator *allocator, rapt_message *why)
{
    if (!bleu) return rapt__fail(why, RAPT_BAD_ARGUMENT, "bleu is NULL");
    rapt_status status = rapt__bleu_tokens_check(tokens, why);
    if (!status) status = rapt__scored_check(hypothesis, reference, why);
    if (status) return status;
    rapt_allocator memory = rapt__allocator(allocator);
    size_t first = 6 * hypothesis.size + 2, bytes = first + 6 * reference.size + 2;
    char *workspace = rapt__alloc(&memory, bytes);
    if (!workspace) return rapt__fail(why, RAPT_NO_MEMORY, "no memory to score a sentence");
    struct words h = split(hypothesis, tokens, lowercase, workspace);
    struct words r = split(reference, tokens, lowercase, workspace + first);
    status = add_words(bleu, workspace, &h, &r, &memory);
    rapt__free(&memory, workspace, bytes);
    return status ? rapt__fail(why, status, "no memory to score a sentence") : RAPT_OK;
}

double rapt_bleu_score(const rapt_bleu *bleu)
{
    if (!bleu) return 0;
    double h = (double)bleu->hypothesis_length, r = (double)bleu->reference_length;
    double logs = 0, smoothing = 1;
    bool any = false;
    for (int n = 0; n < ORDERS; n++) any = any || bleu->matches[n] > 0;
    if (!any) return 0;
    for (int n = 0; n < ORDERS; n++) {
        double matches = (double)bleu->matches[n], total = (double)bleu->totals[n];
        if (bleu->totals[n] <= 0) return 0;
        if (bleu->matches[n] <= 0) {
            smoothing *= 2;
            matches = 1 / smoothing;
        }
        logs += rapt__log(100 * matches / total);
    }
    double brevity = h < r ? (h > 0 ? rapt__exp(1 - r / h) : 0) : 1;
    return brevity * rapt__exp(logs / ORDERS);
}
