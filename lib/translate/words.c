/* words.c - finds the bytes of the tokens and words of a source and its translation, and converts
   the alignment of tokens to an alignment of words:

       word_alignment[u][v] = sum over t of p(t, u) sum over s of alignment[t][s] p'(s, v)
                              / sum over t of p(t, u)

   p(t, u) is the number of bytes of token t inside word u, divided by the number of bytes of token
   t inside any word. p'(s, v) is the same for token s and word v of the source. The log-probability
   of a word is the mean of the log-probabilities of its tokens, weighted in the same way. */
#include "translate/translate.h"

#include <string.h>

_Static_assert(sizeof(int) == sizeof(float), "int and float arrays share memory");

enum { USUAL = 1 << 16 }; /* size in bytes that is sufficient for most translations */

/* Returns true if a character has the Unicode property White_Space (PropList.txt). */
static bool is_space(uint32_t c)
{
    static const uint32_t others[] = {0x20,   0x85,   0xA0,   0x1680, 0x2028,
                                      0x2029, 0x202F, 0x205F, 0x3000};
    if ((c >= 9 && c <= 13) || (c >= 0x2000 && c <= 0x200A)) return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (c == others[i]) return true;
    return false;
}

/* Returns the number of words in the text, and stores their spans in `words` unless it is NULL.
   Bytes that are not UTF-8 belong to words. */
static int find_words(rapt_text text, rapt_span *words)
{
    int count = 0;
    bool inside = false;
    for (size_t at = 0, length; at < text.size; at += length) {
        uint32_t c = 0;
        length = rapt__utf8_decode(text.bytes + at, text.size - at, &c);
        bool space = length > 0 && is_space(c);
        if (length == 0) length = 1;
        if (!space && !inside && words) words[count].begin = at;
        if (!space && words) words[count].end = at + length;
        if (inside && space) count++;
        inside = !space;
    }
    return count + inside;
}

/* Fills in the spans of the source tokens. There are no gaps: each token begins where the previous
   one ends. */
static void source_spans(const struct window *w, const struct sentence *s, int count,
                         rapt_span *spans)
{
    for (int i = 0; i < count; i++) {
        spans[i].begin = i ? spans[i - 1].end : 0;
        spans[i].end = w->ends[s->start + (size_t)i];
    }
}

/* Fills in the spans of the target tokens. A token ends where the text decoded from all tokens up
   to and including it ends, but not after the end of a later token. (Each byte of an incomplete
   character decodes to U+FFFD, so fewer tokens may decode to more bytes.) */
static rapt_status target_spans(const struct window *w, const rapt_translation *t, rapt_span *spans)
{
    for (int i = 0; i < t->target_count; i++) {
        rapt_status status =
            rapt__tokenizer_extent(w->t->target, t->target, (size_t)i + 1, &spans[i].end);
        if (status) return status;
    }
    for (int i = t->target_count; i-- > 0;) {
        size_t later = i + 1 < t->target_count ? spans[i + 1].end : t->size;
        spans[i].end = rapt__min_size(spans[i].end, later);
    }
    for (int i = 0; i < t->target_count; i++) spans[i].begin = i ? spans[i - 1].end : 0;
    return RAPT_OK;
}

/* Returns the number of bytes that a token and a word share. */
static size_t shared(const rapt_span *token, const rapt_span *word)
{
    size_t begin = rapt__max_size(token->begin, word->begin);
    size_t end = rapt__min_size(token->end, word->end);
    return end > begin ? end - begin : 0;
}

struct share { /* the words that contain bytes of the current token */
    const rapt_span *words;
    int count;
    int first;    /* the first word that ends after the beginning of the token */
    size_t bytes; /* bytes of the token that are inside words */
};

/* Advances to the next token, which does not begin before the previous one. */
static void advance(struct share *s, const rapt_span *token)
{
    while (s->first < s->count && s->words[s->first].end <= token->begin) s->first++;
    s->bytes = 0;
    for (int v = s->first; v < s->count && s->words[v].begin < token->end; v++)
        s->bytes += shared(token, &s->words[v]);
}

/* For each source word v, adds to row[v] `weight` times the sum over source tokens s of
   alignment[s] p'(s, v). */
static void add_row(const rapt_translation *t, const float *alignment, double weight, float *row)
{
    struct share s = {.words = t->source_words, .count = t->source_word_count};
    for (int i = 0; i < t->source_count; i++) {
        const rapt_span *token = &t->source_spans[i];
        advance(&s, token);
        for (int v = s.first; s.bytes && v < s.count && s.words[v].begin < token->end; v++)
            row[v] += (float)(weight * (double)alignment[i] *
                              ((double)shared(token, &s.words[v]) / (double)s.bytes));
    }
}

/* Computes the alignment of words, [target words][source words], and the log-probabilities of
   target words if those of the tokens are known. For each target word, a first pass adds up the
   shares of its tokens, and a second pass adds up their weighted values. */
static void word_weights(const rapt_translation *t, float *weights, float *logs)
{
    size_t columns = (size_t)t->source_word_count;
    memset(weights, 0, sizeof *weights * columns * (size_t)t->target_word_count);
    for (int u = 0; u < t->target_word_count; u++) {
        const rapt_span *word = &t->target_words[u];
        double total = 0, log = 0;
        for (int pass = 0; pass < 2; pass++) {
            struct share s = {.words = t->target_words, .count = t->target_word_count};
            for (int i = 0; i < t->target_count; i++) {
                advance(&s, &t->target_spans[i]);
                size_t own = shared(&t->target_spans[i], word);
                double share = own ? (double)own / (double)s.bytes : 0;
                if (pass == 0) total += share;
                if (pass == 1 && own)
                    add_row(t, t->alignment + (ptrdiff_t)i * (t->source_count + 1), share / total,
                            weights + (size_t)u * columns);
                if (pass == 1 && own && t->log_probabilities)
                    log += share / total * (double)t->log_probabilities[i];
            }
        }
        if (t->log_probabilities) logs[u] = (float)log;
    }
}

/* Sets sources[u] to the source word with the largest weight for target word u, or to -1 if all
   weights are 0. Returns the number of distinct source words found. */
static int find_sources(const rapt_translation *t, const float *weights, int *sources)
{
    int covered = 0;
    for (int u = 0; u < t->target_word_count; u++) {
        const float *row = weights + (ptrdiff_t)u * t->source_word_count;
        int best = -1, same = 0;
        for (int v = 0; v < t->source_word_count; v++)
            if (row[v] > (best < 0 ? 0 : row[best])) best = v;
        while (same < u && sources[same] != best) same++;
        covered += best >= 0 && same == u;
        sources[u] = best;
    }
    return covered;
}

/* Makes w->memory.spans large enough for these numbers of spans and floats. */
static rapt_status take_spans(struct window *w, size_t spans, size_t floats)
{
    size_t bytes, weights;
    if (!rapt__times(spans, sizeof(rapt_span), &bytes) ||
        !rapt__times(floats, sizeof(float), &weights) || !rapt__plus(bytes, weights, &bytes))
        return RAPT_NO_MEMORY;
    if (bytes <= w->memory.spans_size) return RAPT_OK;
    size_t size = rapt__max_size(bytes, USUAL);
    void *memory = rapt__alloc(&w->t->allocator, size);
    if (!memory) return RAPT_NO_MEMORY;
    rapt__free(&w->t->allocator, w->memory.spans, w->memory.spans_size);
    w->memory.spans = memory, w->memory.spans_size = size;
    return RAPT_OK;
}

rapt_status rapt__words_fill(struct window *w, const struct sentence *s, rapt_translation *t)
{
    const rapt_text source = w->texts[s->number], target = {t->text, t->size};
    size_t tokens[] = {(size_t)t->source_count, (size_t)t->target_count};
    int words[] = {find_words(source, NULL), find_words(target, NULL)};
    size_t columns = (size_t)words[0], rows = (size_t)words[1], floats;
    /* The weights are followed by a log-probability and a source word for each target word. */
    if (!rapt__times(columns + 2, rows, &floats)) return RAPT_NO_MEMORY;
    rapt_status status = take_spans(w, tokens[0] + tokens[1] + columns + rows, floats);
    if (status) return status;
    rapt_span *spans = w->memory.spans, *target_at = spans + tokens[0];
    rapt_span *source_words = target_at + tokens[1], *target_words = source_words + columns;
    float *weights = (float *)(target_words + rows), *logs = weights + columns * rows;
    int *sources = (int *)(logs + rows);
    source_spans(w, s, t->source_count, spans);
    status = target_spans(w, t, target_at);
    if (status) return status;
    find_words(source, source_words), find_words(target, target_words);
    t->source_spans = spans, t->target_spans = target_at;
    t->source_words = source_words, t->source_word_count = words[0];
    t->target_words = target_words, t->target_word_count = words[1];
    word_weights(t, weights, logs);
    t->word_alignment = weights;
    t->word_log_probabilities = t->log_probabilities ? logs : NULL;
    t->source_words_covered = find_sources(t, weights, sources);
    t->word_sources = sources;
    return RAPT_OK;
}
