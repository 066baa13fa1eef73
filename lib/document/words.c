/* words.c - finds the words of a sentence and of its translation, and the source word that each
   target word comes from. */
#include "document/document.h"
#include "document/markup.h"

#include <string.h>

/* ---- words ---- */

enum word_class { CLASS_SPACE, CLASS_WORD, CLASS_OTHER, CLASS_UNSPACED };

static enum word_class class_of(uint32_t c)
{
    if (rapt__utf8_space(c)) return CLASS_SPACE;
    if (rapt__is_unspaced(c))
        return rapt__is_letter(c) || c < 0x3000 ? CLASS_UNSPACED : CLASS_OTHER;
    if ((c >= '0' && c <= '9') || c == '_' || (c >= 0x300 && c <= 0x36F)) return CLASS_WORD;
    return rapt__is_letter(c) ? CLASS_WORD : CLASS_OTHER;
}

/* Returns true for punctuation that is part of a word if it is between letters or digits. */
static bool joins(uint32_t c)
{
    return c == '\'' || c == 0x2019 || c == '-' || c == '.' || c == ',' || c == 0x2010 ||
           c == 0x2011;
}

enum { EDGE_TOKEN = 1, EDGE_GUARD };

/* Marks the bytes of a text at which a token begins or ends, or all bytes if `tokens` is NULL. */
static void mark_tokens(char *edges, size_t size, const rapt_span *tokens, int count)
{
    memset(edges, tokens == NULL, size + 1);
    for (int i = 0; i < count && tokens; i++) {
        if (tokens[i].begin <= size) edges[tokens[i].begin] = EDGE_TOKEN;
        if (tokens[i].end <= size) edges[tokens[i].end] = EDGE_TOKEN;
    }
}

/* Marks the edges of the copies of a guard in a text, so that letters next to a copy form a word of
   their own. */
static void mark_guard(char *edges, rapt_text text, rapt_text guard)
{
    for (size_t at = 0; at + guard.size <= text.size; at++) {
        const char *next = memchr(text.bytes + at, guard.bytes[0], text.size - at);
        if (!next) return;
        at = (size_t)(next - text.bytes);
        if (at + guard.size > text.size || memcmp(next, guard.bytes, guard.size) != 0) continue;
        edges[at] = edges[at + guard.size] = EDGE_GUARD;
    }
}

/* Returns true for characters that form a longer word with a guard next to them. */
static bool extends(uint32_t c)
{
    return class_of(c) == CLASS_WORD || joins(c);
}

/* Returns true if a guard is part of a longer word. */
static bool is_joined(rapt_text source, rapt_span guard)
{
    size_t at = guard.end;
    if (at < source.size && extends(rapt__utf8_next(source.bytes, source.size, &at))) return true;
    return guard.begin > 0 && extends(rapt__character_before(source, guard.begin, &at));
}

/* Marks the edges of guards that are part of a longer word, and the edges of their copies in the
   target. */
static void mark_guards(const struct placed *in, char *source_edges, char *target_edges)
{
    for (size_t i = 0; i < in->mark_count; i++) {
        const struct mark *m = &in->marks[i];
        if (m->kind != MARK_GUARD || !is_joined(in->source, m->text)) continue;
        source_edges[m->text.begin] = source_edges[m->text.end] = EDGE_GUARD;
        mark_guard(target_edges, in->target,
                   (rapt_text){in->source.bytes + m->text.begin, m->text.end - m->text.begin});
    }
}

/* Returns the end of the word that begins at `at`. */
static size_t word_end(rapt_text text, size_t at, const char *edges)
{
    const enum word_class class = class_of(rapt__utf8_next(text.bytes, text.size, &at));
    while (at < text.size && class != CLASS_OTHER && edges[at] != EDGE_GUARD) {
        size_t next = at, beyond;
        const uint32_t c = rapt__utf8_next(text.bytes, text.size, &next);
        bool same = class_of(c) == class;
        beyond = next;
        if (!same && class == CLASS_WORD && joins(c) && next < text.size)
            same = class_of(rapt__utf8_next(text.bytes, text.size, &beyond)) == CLASS_WORD;
        if (!same || (class == CLASS_UNSPACED && edges[at])) break;
        at = next;
    }
    return at;
}

/* Counts the words of a text and stores their spans unless `spans` is NULL. */
static size_t find_words(rapt_text text, const char *edges, rapt_span *spans)
{
    size_t count = 0;
    for (size_t at = 0; at < text.size;) {
        size_t next = at;
        if (class_of(rapt__utf8_next(text.bytes, text.size, &next)) != CLASS_SPACE) {
            next = word_end(text, at, edges);
            if (spans) spans[count] = (rapt_span){at, next};
            count++;
        }
        at = next;
    }
    return count;
}

static rapt_status list_words(rapt_text text, const char *edges, struct word_spans *words,
                              const rapt_allocator *allocator)
{
    words->count = find_words(text, edges, NULL);
    words->spans = rapt__alloc(allocator, words->count * sizeof *words->spans);
    if (words->spans) find_words(text, edges, words->spans);
    return words->spans || words->count == 0 ? RAPT_OK : RAPT_NO_MEMORY;
}

/* Finds the words of the sentence and of its translation. `aligned` is true if the translation has
   token spans. */
static rapt_status list_both(const struct placed *in, bool aligned, struct word_pairs *p,
                             const rapt_allocator *allocator)
{
    const rapt_translation *t = in->translation;
    const size_t source = in->source.size, size = source + in->target.size + 2;
    char *edges = rapt__alloc(allocator, size);
    if (!edges) return RAPT_NO_MEMORY;
    mark_tokens(edges, source, aligned ? t->source_spans : NULL, aligned ? t->source_count : 0);
    mark_tokens(edges + source + 1, in->target.size, aligned ? t->target_spans : NULL,
                aligned ? t->target_count : 0);
    mark_guards(in, edges, edges + source + 1);
    rapt_status status = list_words(in->source, edges, &p->source, allocator);
    if (!status) status = list_words(in->target, edges + source + 1, &p->target, allocator);
    rapt__free(allocator, edges, size);
    return status;
}

/* ---- pairs ---- */

static bool is_literal(rapt_text text, rapt_span word)
{
    size_t at = word.begin;
    const uint32_t c = rapt__utf8_next(text.bytes, text.size, &at);
    return (c >= '0' && c <= '9') || class_of(c) == CLASS_OTHER;
}

static bool equal_words(rapt_text a, rapt_span i, rapt_text b, rapt_span j)
{
    const size_t size = i.end - i.begin;
    return size == j.end - j.begin && memcmp(a.bytes + i.begin, b.bytes + j.begin, size) == 0;
}

/* Returns the number of bytes that two spans share. */
static size_t shared(rapt_span a, rapt_span b)
{
    const size_t begin = rapt__max_size(a.begin, b.begin), end = rapt__min_size(a.end, b.end);
    return end > begin ? end - begin : 0;
}

/* Adds `share` times a row of an alignment to the weights of source words. The weight of a token is
   divided among the words that it overlaps, in proportion to the bytes that it shares with each. */
static void add_row(const struct word_spans *source, const rapt_translation *t, const float *row,
                    float share, float *weights)
{
    size_t first = 0;
    for (int k = 0; k < t->source_count; k++) {
        const rapt_span token = t->source_spans[k];
        while (first < source->count && source->spans[first].end <= token.begin) first++;
        if (token.end <= token.begin) continue;
        for (size_t w = first; w < source->count && source->spans[w].begin < token.end; w++)
            weights[w] += share * row[k] * (float)shared(token, source->spans[w]) /
                          (float)(token.end - token.begin);
    }
}

/* Returns the source word with the largest weight for target word `word`, or NOT_ALIGNED. For
   punctuation and numbers, an equal source word is preferred if it has any weight. Moves *token to
   the first target token that may overlap the word. */
static int heaviest(const struct placed *in, const struct word_pairs *p, size_t word, int *token,
                    float *weights)
{
    const rapt_translation *t = in->translation;
    const rapt_span span = p->target.spans[word];
    const bool literal = is_literal(in->target, span);
    bool equal = false;
    int best = NOT_ALIGNED;
    float most = 0;
    memset(weights, 0, p->source.count * sizeof *weights);
    while (*token < t->target_count && t->target_spans[*token].end <= span.begin) ++*token;
    for (int j = *token; j < t->target_count && t->target_spans[j].begin < span.end; j++)
        add_row(&p->source, t, t->alignment + (size_t)j * ((size_t)t->source_count + 1),
                (float)shared(t->target_spans[j], span), weights);
    for (size_t s = 0; s < p->source.count; s++) {
        const bool same = literal && weights[s] > 0 &&
                          equal_words(in->source, p->source.spans[s], in->target, span);
        if (equal ? !same || weights[s] <= most : !same && weights[s] <= most) continue;
        equal = same;
        most = weights[s], best = (int)s;
    }
    return best;
}

static rapt_status pair_by_alignment(const struct placed *in, struct word_pairs *p,
                                     const rapt_allocator *allocator)
{
    const size_t size = p->source.count * sizeof(float);
    float *weights = rapt__alloc(allocator, size);
    if (!weights) return RAPT_NO_MEMORY;
    int token = 0;
    for (size_t i = 0; i < p->target.count; i++)
        p->aligned[i] = heaviest(in, p, i, &token, weights);
    rapt__free(allocator, weights, size);
    return RAPT_OK;
}

/* Returns how many of the first `limit` words are equal to the word at span `word` of `text`. */
static size_t count_equal(const struct word_spans *words, rapt_text in, size_t limit,
                          rapt_text text, rapt_span word)
{
    size_t count = 0;
    for (size_t i = 0; i < limit; i++) count += equal_words(in, words->spans[i], text, word);
    return count;
}

/* If a punctuation mark or number occurs equally often on both sides, pairs its occurrences in
   order, except those that the alignment already pairs with an equal source word. Otherwise, a
   number keeps its source word, and a punctuation mark gets none, since attention at punctuation is
   unreliable. */
static void pair_literals(struct word_pairs *p, rapt_text source, rapt_text target)
{
    enum { WORDS = 1000 }; /* longer sentences are skipped, since the time is quadratic */
    if (p->source.count > WORDS || p->target.count > WORDS) return;
    for (size_t i = 0; i < p->target.count; i++) {
        const rapt_span word = p->target.spans[i];
        const int given = p->aligned[i];
        if (!is_literal(target, word)) continue;
        if (!p->guessed && given != NOT_ALIGNED &&
            equal_words(source, p->source.spans[given], target, word))
            continue;
        size_t rank = count_equal(&p->target, target, i, target, word);
        const size_t here = count_equal(&p->target, target, p->target.count, target, word);
        const size_t there = count_equal(&p->source, source, p->source.count, target, word);
        size_t at = target.bytes[word.begin] >= '0' && target.bytes[word.begin] <= '9';
        if (here != there && at == 0) p->aligned[i] = NOT_ALIGNED;
        for (size_t s = 0; here == there && s < p->source.count; s++)
            if (equal_words(source, p->source.spans[s], target, word) && rank-- == 0)
                p->aligned[i] = (int)s;
    }
}

struct word_run rapt__words_copy(const struct word_spans *words, rapt_text text, size_t word,
                                 rapt_text contents)
{
    const size_t begin = words->spans[word].begin, end = begin + contents.size;
    struct word_run run = {word, word};
    if (end > text.size || memcmp(text.bytes + begin, contents.bytes, contents.size) != 0)
        return run;
    while (run.last < words->count && words->spans[run.last].end <= end) run.last++;
    if (run.last == word || words->spans[run.last - 1].end < end) run.last = word;
    return run;
}

/* Pairs all words of a guard's copy in the target with the first word of the guard, if the
   alignment pairs one of them with the guard or there is only one copy. If there are several
   copies, takes the one with the most words paired with the guard. Pairing all words is necessary
   because the model may attend elsewhere at some tokens of a copy. Guards of one byte are
   skipped. */
static void pair_guard(const struct placed *in, struct word_pairs *p, const struct mark *m)
{
    const rapt_text contents = {in->source.bytes + m->text.begin, m->text.end - m->text.begin};
    size_t first = 0, last, most = 0, copies = 0;
    struct word_run best = {0, 0};
    while (first < p->source.count && p->source.spans[first].end <= m->text.begin) first++;
    for (last = first; last < p->source.count && p->source.spans[last].begin < m->text.end;) last++;
    if (first == last || contents.size < 2) return;
    for (size_t w = 0; w < p->target.count; w++) {
        const struct word_run run = rapt__words_copy(&p->target, in->target, w, contents);
        size_t own = 0;
        if (run.last == run.first) continue;
        for (size_t i = run.first; i < run.last; i++)
            own += p->aligned[i] >= (int)first && p->aligned[i] < (int)last;
        if (own > most || copies == 0) most = own, best = run;
        copies++;
    }
    if (most == 0 && copies != 1) return;
    for (size_t i = best.first; i < best.last; i++) p->aligned[i] = (int)first;
}

static void pair_guards(const struct placed *in, struct word_pairs *p)
{
    for (size_t i = 0; i < in->mark_count; i++)
        if (in->marks[i].kind == MARK_GUARD) pair_guard(in, p, &in->marks[i]);
}

rapt_status rapt__words_pair(const struct placed *in, struct word_pairs *p,
                             const rapt_allocator *allocator)
{
    const rapt_translation *t = in->translation;
    const bool aligned = t && t->alignment && t->source_spans && t->target_spans;
    rapt_status status = list_both(in, aligned, p, allocator);
    if (status || p->target.count == 0) return status;
    p->guessed = !aligned;
    p->aligned = rapt__alloc(allocator, p->target.count * sizeof *p->aligned);
    if (!p->aligned) return RAPT_NO_MEMORY;
    for (size_t i = 0; i < p->target.count; i++)
        p->aligned[i] =
            p->source.count > 0 ? (int)(i * p->source.count / p->target.count) : NOT_ALIGNED;
    if (aligned && p->source.count > 0) status = pair_by_alignment(in, p, allocator);
    if (status) return status;
    pair_literals(p, in->source, in->target);
    if (p->source.count > 0) pair_guards(in, p);
    return RAPT_OK;
}

void rapt__words_free(struct word_pairs *p, const rapt_allocator *allocator)
{
    rapt__free(allocator, p->source.spans, p->source.count * sizeof *p->source.spans);
    rapt__free(allocator, p->target.spans, p->target.count * sizeof *p->target.spans);
    rapt__free(allocator, p->aligned, p->target.count * sizeof *p->aligned);
}

bool rapt__word_follows(rapt_text text, size_t *at, rapt_text word)
{
    size_t to = *at;
    for (size_t i = 0; i < word.size; i++, to++) {
        while (to < text.size && rapt__markup_space(text.bytes[to])) to++;
        if (to == text.size ||
            !rapt__names_equal((rapt_text){text.bytes + to, 1}, (rapt_text){word.bytes + i, 1}))
            return false;
    }
    *at = to;
    return true;
}
