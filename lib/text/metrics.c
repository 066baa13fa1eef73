/* metrics.c - computes BLEU and chrF, and counts the n-grams for both. */
#include "text/text.h"

#include <string.h>

/* ---- n-grams ---- */

/* Counts the n-grams that two sequences of ids have in common (clipped counts), for BLEU and chrF.
   Each n-gram is represented by a rank among the n-grams of both sequences:

       rank[1](i) = rank of id[i],   rank[n](i) = rank of (rank[n-1](i), id[i+n-1])

   Two n-grams are equal if and only if their ranks are equal, so it is enough to sort pairs of
   numbers. (This resembles the prefix doubling of Manber and Myers 1990, but goes one order at a
   time.) */

int rapt__by_number(const void *context, const void *x, const void *y)
{
    uint64_t a = ((const struct ranked *)x)->key, b = ((const struct ranked *)y)->key;
    (void)context;
    return (a > b) - (a < b);
}

static size_t bytes_for(size_t n)
{
    return n * (sizeof(struct ranked) + 2 * sizeof(uint32_t));
}

rapt_status rapt__scored_check(rapt_text hypothesis, rapt_text reference, rapt_message *why)
{
    if ((!hypothesis.bytes && hypothesis.size) || (!reference.bytes && reference.size))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the bytes of the %s are NULL",
                          hypothesis.bytes || !hypothesis.size ? "reference" : "hypothesis");
    if (hypothesis.size > RAPT__SCORED_MAX || reference.size > RAPT__SCORED_MAX)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the %s has more than %d bytes",
                          hypothesis.size > RAPT__SCORED_MAX ? "hypothesis" : "reference",
                          RAPT__SCORED_MAX);
    return RAPT_OK;
}

rapt_status rapt__ngrams_create(struct ngrams *grams, size_t hypothesis, size_t reference,
                                const rapt_allocator *allocator)
{
    size_t n = hypothesis + reference; /* each at most 2 * RAPT__SCORED_MAX */
    *grams = (struct ngrams){.hypothesis = hypothesis, .reference = reference};
    if (n == 0) return RAPT_OK;
    grams->items = rapt__alloc(allocator, bytes_for(n));
    if (!grams->items) return RAPT_NO_MEMORY;
    grams->ids = (uint32_t *)(grams->items + n);
    grams->ranks = grams->ids + n;
    return RAPT_OK;
}

void rapt__ngrams_free(struct ngrams *grams, const rapt_allocator *allocator)
{
    rapt__free(allocator, grams->items, bytes_for(grams->hypothesis + grams->reference));
}

long long rapt__ngrams_total(size_t length, int order)
{
    return length < (size_t)order ? 0 : (long long)(length - (size_t)order + 1);
}

/* Appends the n-grams of one sequence, ids[begin..begin+length), to grams->items, which already
   holds `items` items. Returns the new number of items. */
static size_t collect(struct ngrams *grams, size_t items, size_t begin, size_t length, int order)
{
    size_t total = (size_t)rapt__ngrams_total(length, order);
    for (size_t i = begin; i < begin + total; i++) {
        uint64_t head = order == 1 ? 0 : grams->ranks[i];
        grams->items[items].key = head << 32 | grams->ids[i + (size_t)order - 1];
        grams->items[items++].position = (uint32_t)i;
    }
    return items;
}

/* Assigns ranks to the sorted items and counts the matches. */
static long long count_matches(struct ngrams *grams, size_t items)
{
    long long matches = 0;
    for (size_t i = 0, next; i < items; i = next) {
        long long hypothesis = 0, reference = 0;
        for (next = i; next < items && grams->items[next].key == grams->items[i].key; next++) {
            size_t position = grams->items[next].position;
            grams->ranks[position] = (uint32_t)i;
            if (position < grams->hypothesis)
                hypothesis++;
            else
                reference++;
        }
        matches += hypothesis < reference ? hypothesis : reference; /* clipped */
    }
    return matches;
}

void rapt__ngrams_match(struct ngrams *grams, int orders, long long *matches)
{
    for (int order = 1; order <= orders; order++) {
        size_t items = collect(grams, 0, 0, grams->hypothesis, order);
        items = collect(grams, items, grams->hypothesis, grams->reference, order);
        rapt__sort(grams->items, items, sizeof *grams->items, rapt__by_number, NULL);
        matches[order - 1] = count_matches(grams, items);
    }
}

/* ---- BLEU ---- */

/* Corpus BLEU (Papineni, Roukos, Ward and Zhu 2002) as computed by sacreBLEU (Post 2018).

       BLEU = 100 min(1, exp(1 - r/h)) (p[1] p[2] p[3] p[4])^(1/4),   p[n] = matches[n] / totals[n]

   h and r are the total numbers of words in the hypotheses and in the references. If order n has no
   match, p[n] = 1 / (2^k totals[n]), where k is the number of orders up to n without a match
   (smoothing "exp", method 3 of Chen and Cherry 2014). If no order has a match, or the hypotheses
   have no n-grams of some order, BLEU is 0. */

enum { BLEU_ORDERS = 4 };

struct words { /* a sentence split into words */
    char *bytes;
    size_t size, count;
};

/* Finds the next word at or after *at, sets *begin to its beginning and moves *at to its end.
   Returns false at the end of the text. */
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

/* Splits a sentence into words. `workspace` must have 6 * text.size + 2 bytes; the result points
   into it. */
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

/* Assigns equal ids to equal words. */
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
    long long matches[BLEU_ORDERS];
    list_words(&grams, 0, base, hypothesis);
    list_words(&grams, hypothesis->count, base, reference);
    number_words(&grams, base);
    rapt__ngrams_match(&grams, BLEU_ORDERS, matches);
    rapt__ngrams_free(&grams, allocator);

    bleu->hypothesis_length += (long long)hypothesis->count;
    bleu->reference_length += (long long)reference->count;
    for (int n = 0; n < BLEU_ORDERS; n++) {
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
    if (!workspace) return rapt__fail(why, RAPT_NO_MEMORY, "not enough memory to score a sentence");
    struct words h = split(hypothesis, tokens, lowercase, workspace);
    struct words r = split(reference, tokens, lowercase, workspace + first);
    status = add_words(bleu, workspace, &h, &r, &memory);
    rapt__free(&memory, workspace, bytes);
    return status ? rapt__fail(why, status, "not enough memory to score a sentence") : RAPT_OK;
}

double rapt_bleu_score(const rapt_bleu *bleu)
{
    if (!bleu) return 0;
    double h = (double)bleu->hypothesis_length, r = (double)bleu->reference_length;
    double logs = 0, smoothing = 1;
    bool any = false;
    for (int n = 0; n < BLEU_ORDERS; n++) any = any || bleu->matches[n] > 0;
    if (!any) return 0;
    for (int n = 0; n < BLEU_ORDERS; n++) {
        double matches = (double)bleu->matches[n], total = (double)bleu->totals[n];
        if (bleu->totals[n] <= 0) return 0;
        if (bleu->matches[n] <= 0) {
            smoothing *= 2;
            matches = 1 / smoothing;
        }
        logs += rapt__log(100 * matches / total);
    }
    double brevity = h < r ? (h > 0 ? rapt__exp(1 - r / h) : 0) : 1;
    return brevity * rapt__exp(logs / BLEU_ORDERS);
}

/* ---- chrF ---- */

/* Corpus chrF (Popovic 2015) with beta = 2, as computed by sacreBLEU 2.x by default.

       F = 100 (1 + beta^2) P R / (beta^2 P + R)

   P and R are the means over the orders 1..6 of matches / hypothesis and matches / reference. These
   three are counts of character n-grams after white space has been removed. Orders for which one
   side has no n-grams are skipped. The n-grams of a hypothesis count only if its reference has
   n-grams of that order. */

enum { CHRF_ORDERS = 6 };

/* Writes the characters other than white space to `out`, unless it is NULL, and returns how many
   there are. */
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
    if (status) return rapt__fail(why, status, "not enough memory to score a sentence");
    long long matches[CHRF_ORDERS];
    characters(hypothesis, grams.ids);
    characters(reference, h ? grams.ids + h : grams.ids);
    rapt__ngrams_match(&grams, CHRF_ORDERS, matches);
    rapt__ngrams_free(&grams, &memory);

    for (int n = 0; n < CHRF_ORDERS; n++) {
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
    for (int n = 0; n < CHRF_ORDERS; n++) {
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
