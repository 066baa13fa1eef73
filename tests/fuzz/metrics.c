/* metrics.c - compares BLEU and chrF of texts chosen by the input with their definitions in plain
   loops over n-grams. Scores must be within bounds, the counts of two sentences must add up, and a
   call that runs out of memory must not change the counts. */
#include "fuzz.h"
#include "text/text.h"
#include <math.h>

enum { BYTES = 120, MAX = BYTES };

struct items { /* words or characters, given by offsets and lengths */
    size_t count, at[MAX], size[MAX];
    const char *bytes;
};

static rapt_text take_text(struct feed *in, char *text)
{
    int mode = take_below(in, 3), wanted = take_below(in, BYTES - 8);
    size_t size = 0;
    while (in->left && size < (size_t)wanted) {
        uint8_t byte = take_byte(in);
        if (mode == 0)
            text[size++] = (char)byte;
        else if (mode == 1 || byte < 220)
            text[size++] = "ab  c"[byte % 5];
        else
            size += rapt__utf8_encode(byte % 2 ? 0xE4 : 0x2003, text + size);
    }
    return (rapt_text){text, size};
}

/* Splits a text into words, or into the characters other than white space. */
static struct items split(rapt_text text, bool characters)
{
    struct items s = {.bytes = text.bytes};
    bool in_word = false;
    for (size_t at = 0; at < text.size;) {
        size_t begin = at;
        bool space = rapt__utf8_space(rapt__utf8_next(text.bytes, text.size, &at));
        if (!space && in_word && !characters) {
            s.size[s.count - 1] += at - begin;
        } else if (!space) {
            s.at[s.count] = begin;
            s.size[s.count++] = at - begin;
        }
        in_word = !space;
    }
    return s;
}

static bool equal(const struct items *a, size_t i, const struct items *b, size_t j, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (a->size[i + k] != b->size[j + k] ||
            memcmp(a->bytes + a->at[i + k], b->bytes + b->at[j + k], a->size[i + k]) != 0)
            return false;
    return true;
}

static long long times(const struct items *of, size_t i, const struct items *in, size_t n)
{
    long long count = 0;
    for (size_t j = 0; j + n <= in->count; j++) count += equal(of, i, in, j, n);
    return count;
}

static long long matches(const struct items *h, const struct items *r, size_t n)
{
    long long sum = 0;
    for (size_t i = 0; i + n <= h->count; i++) {
        bool before = false;
        for (size_t j = 0; j < i && !before; j++) before = equal(h, i, h, j, n);
        if (before) continue;
        long long a = times(h, i, h, n), b = times(h, i, r, n);
        sum += a < b ? a : b;
    }
    return sum;
}

static long long total(const struct items *s, size_t n)
{
    return s->count >= n ? (long long)(s->count - n + 1) : 0;
}

static void check_bleu(const rapt_bleu *got, rapt_text hypothesis, rapt_text reference)
{
    struct items h = split(hypothesis, false), r = split(reference, false);
    double smooth = 1, logs = 0, length = (double)h.count, wanted = 0;
    bool any = false, all = true;
    for (size_t n = 1; n <= 4; n++) {
        long long m = matches(&h, &r, n), t = total(&h, n);
        require(got->matches[n - 1] == m && got->totals[n - 1] == t, "BLEU's n-grams");
        any = any || m > 0, all = all && t > 0;
        if (m == 0) smooth *= 2;
        logs += log(100 * (m ? (double)m : 1 / smooth) / (double)t) / 4;
    }
    require(got->hypothesis_length == (long long)h.count, "words of the hypothesis");
    require(got->reference_length == (long long)r.count, "words of the reference");
    if (any && all)
        wanted = exp(logs) * (h.count < r.count ? exp(1 - (double)r.count / length) : 1);
    double score = rapt_bleu_score(got);
    require(fabs(score - wanted) <= 1e-9 * 100, "BLEU");
    require(score >= 0 && score <= 100 + 1e-9, "BLEU's bounds");
}

static void check_chrf(const rapt_chrf *got, rapt_text hypothesis, rapt_text reference)
{
    struct items h = split(hypothesis, true), r = split(reference, true);
    double precision = 0, recall = 0, orders = 0;
    for (size_t n = 1; n <= 6; n++) {
        long long m = matches(&h, &r, n), a = total(&h, n), b = total(&r, n);
        require(got->matches[n - 1] == m && got->reference[n - 1] == b, "chrF's n-grams");
        require(got->hypothesis[n - 1] == (b ? a : 0), "chrF's n-grams of the hypothesis");
        if (a == 0 || b == 0) continue;
        precision += (double)m / (double)a, recall += (double)m / (double)b, orders++;
    }
    double wanted = 0, score = rapt_chrf_score(got);
    if (precision > 0) {
        precision /= orders, recall /= orders;
        wanted = 100 * 5 * precision * recall / (4 * precision + recall);
    }
    require(fabs(score - wanted) <= 1e-9 * 100, "chrF");
    require(score >= 0 && score <= 100 + 1e-9, "chrF's bounds");
}

static void check_without_memory(uint64_t hash, rapt_text h, rapt_text r)
{
    struct counted counted = {.fail_at = (long)(hash % 3)};
    const rapt_allocator allocator = counted_allocator(&counted);
    rapt_bleu bleu = {.matches = {7}};
    rapt_chrf chrf = {.matches = {7}};
    rapt_status status = rapt_bleu_add(&bleu, (rapt_bleu_tokens)(hash / 4 % 2), hash / 8 % 2, h, r,
                                       &allocator, NULL);
    require((status == RAPT_NO_MEMORY) == may_lack_memory(&counted), "memory is missed");
    require(status == RAPT_OK || (bleu.matches[0] == 7 && bleu.totals[0] == 0), "no change");
    require(rapt_bleu_score(&bleu) >= 0, "a score");
    counted.calls = 0;
    status = rapt_chrf_add(&chrf, h, r, &allocator, NULL);
    require(status == RAPT_OK || (chrf.matches[0] == 7 && chrf.reference[0] == 0), "no change");
    require(counted.now == 0, "all memory is given back");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    char text[2][BYTES];
    rapt_text h = take_text(&in, text[0]), r = take_text(&in, text[1]);
    rapt_bleu bleu = {0}, twice = {0};
    rapt_chrf chrf = {0};
    char *own[2] = {exact_copy(h.bytes, h.size), exact_copy(r.bytes, r.size)};
    h.bytes = own[0], r.bytes = own[1];
    rapt_status status = rapt_bleu_add(&bleu, RAPT_BLEU_TOKENS_NONE, 0, h, r, NULL, NULL);
    require(status == RAPT_OK && rapt_chrf_add(&chrf, h, r, NULL, NULL) == RAPT_OK, "status");
    check_bleu(&bleu, h, r);
    check_chrf(&chrf, h, r);
    for (int i = 0; i < 2; i++) rapt_bleu_add(&twice, RAPT_BLEU_TOKENS_NONE, 0, h, r, NULL, NULL);
    for (int n = 0; n < 4; n++) require(twice.matches[n] == 2 * bleu.matches[n], "counts add up");
    check_without_memory(input_hash(bytes, size), h, r);
    free(own[0]);
    free(own[1]);
    return 0;
}
