/* metrics.c - BLEU, chrF and a tokenizer of BLEU, compared with their definitions. */
#include "fuzz.h"
#include "text/text.h"

#include <math.h>

/* ---- metrics: compares BLEU and chrF of texts chosen by the input with their definitions in plain
   loops over n-grams. Scores must be within bounds, the counts of two sentences must add up, and a
   call that runs out of memory must not change the counts. ---- */

enum { METRICS_BYTES = 120, MAX = METRICS_BYTES };

struct items { /* words or characters, given by offsets and lengths */
    size_t count, at[MAX], size[MAX];
    const char *bytes;
};

static rapt_text take_text_metrics(struct feed *in, char *text)
{
    int mode = take_below(in, 3), wanted = take_below(in, METRICS_BYTES - 8);
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

int fuzz_metrics(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    char text[2][METRICS_BYTES];
    rapt_text h = take_text_metrics(&in, text[0]), r = take_text_metrics(&in, text[1]);
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

/* ---- mteval: compares the tokenization of mteval-v13a with its substitutions applied one after
   the other to the whole text. The text consists of pieces that matter to the rules, chosen by the
   input. ---- */

enum { MTEVAL_BYTES = 200, SPACE = 4 * MTEVAL_BYTES };

static size_t take_text_mteval(struct feed *in, char *text)
{
    static const char *const pieces[] = {"<skipped>", "-\n",      "\n",  "&quot;",   "&amp;",
                                         "&lt;",      "&gt;",     "...", "1,000",    "3.14",
                                         ",.",        "a-b",      "1-2", "\xC2\xA0", "\xE3\x80\x80",
                                         " ",         "&amp;lt;", "-"};
    bool raw = take_byte(in) % 2;
    size_t size = 0;
    while (in->left && size + 12 < MTEVAL_BYTES) {
        uint8_t byte = take_byte(in);
        if (raw || byte < 128) {
            text[size++] = (char)byte;
            continue;
        }
        const char *piece = pieces[byte % (sizeof pieces / sizeof *pieces)];
        memcpy(text + size, piece, strlen(piece));
        size += strlen(piece);
    }
    return size;
}

struct text {
    char bytes[SPACE];
    size_t size;
};

static void put(struct text *t, const char *bytes, size_t size)
{
    memcpy(t->bytes + t->size, bytes, size);
    t->size += size;
}

static void replace(struct text *t, const char *from, const char *to)
{
    struct text out = {.size = 0};
    size_t length = strlen(from);
    for (size_t at = 0; at < t->size;) {
        bool here = t->size - at >= length && memcmp(t->bytes + at, from, length) == 0;
        put(&out, here ? to : t->bytes + at, here ? strlen(to) : 1);
        at += here ? length : 1;
    }
    *t = out;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool first_rule(char a, char b) /* [^0-9][.,] */
{
    return !is_digit(a) && (b == '.' || b == ',');
}

static bool second_rule(char a, char b) /* [.,][^0-9] */
{
    return (a == '.' || a == ',') && !is_digit(b);
}

static bool third_rule(char a, char b) /* [0-9]- */
{
    return is_digit(a) && b == '-';
}

/* Replaces every match of two bytes, left to right, by the shape, in which 1 and 2 stand for the
   bytes. */
static void substitute(struct text *t, bool (*rule)(char a, char b), const char *shape)
{
    struct text out = {.size = 0};
    for (size_t at = 0; at < t->size; at++) {
        bool here = at + 1 < t->size && rule(t->bytes[at], t->bytes[at + 1]);
        for (const char *s = shape; here && *s; s++)
            put(&out, *s == '1' ? t->bytes + at : *s == '2' ? t->bytes + at + 1 : " ", 1);
        if (!here) put(&out, t->bytes + at, 1);
        at += here;
    }
    *t = out;
}

static void set_marks_apart(struct text *t)
{
    struct text out = {.size = 0};
    put(&out, " ", 1);
    for (size_t at = 0; at < t->size; at++) {
        char c = t->bytes[at];
        bool apart = c && strchr("{|}~[\\]^_`!\"#$%&()*+:;<=>?@/", c);
        if (apart) put(&out, " ", 1);
        put(&out, t->bytes + at, 1);
        if (apart) put(&out, " ", 1);
    }
    put(&out, " ", 1);
    *t = out;
}

/* Deletes leading spaces and reduces runs of spaces to one, since only words are compared. */
static void squash(struct text *t)
{
    size_t put_at = 0;
    for (size_t at = 0; at < t->size; at++)
        if (t->bytes[at] != ' ' || (put_at && t->bytes[put_at - 1] != ' '))
            t->bytes[put_at++] = t->bytes[at];
    t->size = put_at;
}

static void by_rules(struct text *t)
{
    size_t end = 0;
    for (size_t at = 0; at < t->size;)
        if (!rapt__utf8_space(rapt__utf8_next(t->bytes, t->size, &at))) end = at;
    t->size = end;
    replace(t, "<skipped>", "");
    replace(t, "-\n", "");
    replace(t, "\n", " ");
    replace(t, "&quot;", "\"");
    replace(t, "&amp;", "&");
    replace(t, "&lt;", "<");
    replace(t, "&gt;", ">");
    set_marks_apart(t);
    substitute(t, first_rule, "1 2 ");
    substitute(t, second_rule, " 1 2");
    substitute(t, third_rule, "1 2 ");
    squash(t);
}

int fuzz_mteval(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    static struct text wanted;
    wanted.size = take_text_mteval(&in, wanted.bytes);
    char *text = exact_copy(wanted.bytes, wanted.size), *out = malloc(2 * wanted.size + 2);
    require(out != NULL, "memory for the test itself");
    size_t limit = 2 * wanted.size + 2,
           length = rapt__bleu_tokens(RAPT_BLEU_TOKENS_13A, text, wanted.size, out);
    require(length <= limit, "at most two bytes for each, and two");
    by_rules(&wanted);
    require(length == wanted.size && memcmp(out, wanted.bytes, length) == 0, "the rules' words");
    free(out);
    free(text);
    return 0;
}
