/* recase.c - converts sentences in capitals or title case to sentence case before the model reads
   them, since models see few such sentences in training. Restores the original case in the
   translation. */
#include "document/document.h"

#include <string.h>

enum {
    CAPITALS_WORDS = 2,   /* minimum number of words of a sentence in capitals */
    CAPITALS_LETTERS = 4, /* minimum number of letters in the longest word of such a sentence */
    CAPITALS_PARTS = 10,  /* in such a sentence, at most one in this many letters is in lower
                             case */
    TITLE_WORDS = 4,      /* minimum number of words of a sentence in title case */
    TITLE_SMALL = 3       /* words of at most this many letters need no capital in a title */
};
enum { CAPITAL_I = 'I', DOTTED_I = 0x130, DOTLESS_I = 0x131, SHARP_S = 0xDF };
enum { SIGMA = 0x3A3, FINAL_SIGMA = 0x3C2 };

/* ---- languages ---- */

static bool is_language(const char *code, const char *name)
{
    const size_t size = code ? strcspn(code, "-_.@") : 0;
    return size == strlen(name) && memcmp(code, name, size) == 0;
}

struct recasing rapt__recasing(const rapt_document_options *options)
{
    const char *code = options->language;
    const bool nouns = is_language(code, "de") || is_language(code, "lb");
    bool known = false;
    for (const char *at = code; at && *at && !known; at++) known = *at != ' ';
    return (struct recasing){.capitals = options->recase != RAPT_DOCUMENT_RECASE_NONE,
                             .titles = options->recase == RAPT_DOCUMENT_RECASE_TITLES,
                             .small_words = known && !nouns,
                             .keeps_i = !known || is_language(code, "en"),
                             .dotless = is_language(code, "tr") || is_language(code, "az"),
                             .glossary = options->glossary};
}

/* ---- words ---- */

static bool is_capital(uint32_t c)
{
    uint32_t low[2];
    return rapt__lower_character(c, low) > 1 || low[0] != c;
}

static bool is_apostrophe(uint32_t c)
{
    return c == '\'' || c == 0x2019;
}

/* A sentence being read word by word. */
struct word_reader {
    rapt_text text;
    const struct mark *marks; /* [count] */
    size_t count, next;       /* marks[next] is the first guard after the word */
    bool after;               /* letters, digits or protected text have been passed */
};
struct case_word { /* a run of letters and digits outside of guards, which may contain
                      apostrophes */
    rapt_span span;
    size_t letters, capitals; /* number of letters that have case, and of capitals among them */
    bool capitalized;         /* the first letter that has case is a capital */
    bool first;               /* nothing but punctuation precedes the word */
    bool hyphenated;          /* a hyphen precedes the word */
    bool digits;              /* the word contains digits, as in A4 */
};

/* Moves *at past the guards that begin there. Returns the place of the next guard, or the end of
   the text if there is none. */
static size_t pass_guards(struct word_reader *r, size_t *at)
{
    for (; r->next < r->count; r->next++) {
        const struct mark *m = &r->marks[r->next];
        if (m->kind != MARK_GUARD || m->text.end <= *at) continue;
        if (m->text.begin > *at) return m->text.begin;
        *at = m->text.end;
        r->after = true;
    }
    return r->text.size;
}

/* Reads the word at `at`, which may extend to `limit` at most. The word is empty if there is
   none. */
static struct case_word read_word(const struct word_reader *r, size_t at, size_t limit)
{
    struct case_word w = {
        .span = {at, at}, .first = !r->after, .hyphenated = at > 0 && r->text.bytes[at - 1] == '-'};
    for (size_t next = at; at < limit; at = next) {
        const uint32_t c = rapt__utf8_next(r->text.bytes, limit, &next);
        size_t beyond = next;
        const bool joins = is_apostrophe(c) && w.span.end > w.span.begin && next < limit &&
                           rapt__in_word(rapt__utf8_next(r->text.bytes, limit, &beyond));
        if (!joins && !rapt__in_word(c)) break;
        const bool capital = is_capital(c);
        w.capitalized = w.capitalized || (capital && w.letters == 0);
        w.digits = w.digits || (c >= '0' && c <= '9');
        w.capitals += capital;
        w.letters += capital || rapt__is_lower(c);
        w.span.end = next;
    }
    return w;
}

/* Finds the next word at or after `at`. Returns false at the end of the text. */
static bool next_word(struct word_reader *r, size_t at, struct case_word *word)
{
    while (at < r->text.size) {
        const size_t limit = pass_guards(r, &at);
        if (at >= limit) continue;
        *word = read_word(r, at, limit);
        if (word->span.end > at) {
            r->after = true;
            return true;
        }
        rapt__utf8_next(r->text.bytes, limit, &at);
    }
    return false;
}

/* ---- the case of a sentence ---- */

/* Statistics of a sentence, excluding words that contain digits or have no letters with case. In
   `words`, words with no space between them count as one. `longest` is the number of letters in the
   longest word. */
struct case_counts {
    size_t words, longest, letters, capitals;
    size_t capitalized; /* words that begin with a capital and are not in capitals, or are a single
                           capital letter */
    bool title;         /* titles are to be converted, and no word so far contradicts title case */
};

/* Counts a word. `spaced` means that white space precedes it, so it is not part of a name such as
   STDEV.S. */
static void count_word(struct case_counts *n, const struct case_word *w, bool spaced,
                       bool small_words)
{
    const bool capitalized = w->capitalized && (w->capitals < w->letters || w->letters == 1);
    if (w->letters == 0 || w->digits) return;
    n->words += spaced || n->words == 0;
    n->longest = rapt__max_size(n->longest, w->letters);
    n->letters += w->letters;
    n->capitals += w->capitals;
    n->capitalized += capitalized;
    n->title = n->title &&
               (w->capitals > 0 || w->hyphenated || (small_words && w->letters <= TITLE_SMALL));
}

static bool has_space(rapt_text text, size_t begin, size_t end)
{
    while (begin < end)
        if (rapt__utf8_space(rapt__utf8_next(text.bytes, end, &begin))) return true;
    return false;
}

enum letter_case rapt__case_find(const struct recasing *how, rapt_text text,
                                 const struct mark *marks, size_t count)
{
    struct word_reader r = {.text = text, .marks = marks, .count = count};
    struct case_counts n = {.title = how->titles};
    struct case_word w = {.span = {0, 0}};
    if (!how->capitals) return CASE_USUAL;
    for (size_t last = 0; next_word(&r, last, &w); last = w.span.end) {
        count_word(&n, &w, has_space(text, last, w.span.begin), how->small_words);
        if (!n.title && CAPITALS_PARTS * (n.letters - n.capitals) > text.size) return CASE_USUAL;
    }
    if (n.words >= CAPITALS_WORDS && n.longest >= CAPITALS_LETTERS &&
        CAPITALS_PARTS * (n.letters - n.capitals) <= n.letters)
        return CASE_CAPITALS;
    return n.title && n.words >= TITLE_WORDS && 2 * n.capitalized > n.words ? CASE_TITLE
                                                                            : CASE_USUAL;
}

/* ---- sentence case ---- */

/* A sentence that is being converted to sentence case. */
struct lowering {
    const struct recasing *how;
    struct word_reader in;
    struct recased *out;
};

/* Appends `bytes`, which replace the bytes `from` of the text. Stores `capital` in out->capitals
   for each appended byte. */
static void add(struct lowering *l, rapt_span from, rapt_text bytes, bool capital)
{
    struct recased *out = l->out;
    const size_t at = out->text.size;
    for (size_t i = from.begin; i < from.end; i++)
        out->places[i] = at + rapt__min_size(i - from.begin, bytes.size);
    memset(out->capitals + at, capital, bytes.size);
    rapt__buffer_add(&out->text, bytes);
}

/* Appends a part of a word unchanged. */
static void keep(struct lowering *l, rapt_span span)
{
    for (size_t at = span.begin, next = at; at < span.end; at = next) {
        const uint32_t c = rapt__utf8_next(l->in.text.bytes, span.end, &next);
        add(l, (rapt_span){at, next}, (rapt_text){l->in.text.bytes + at, next - at}, is_capital(c));
    }
}

/* Appends a character of a word in lower case. */
static void lower(struct lowering *l, const struct case_word *w, rapt_span from, uint32_t c)
{
    char bytes[8];
    uint32_t low[2];
    size_t size = 0, count = rapt__lower_character(c, low);
    if (l->how->dotless && (c == CAPITAL_I || c == DOTTED_I))
        low[0] = c == CAPITAL_I ? DOTLESS_I : 'i', count = 1;
    if (c == SIGMA && from.begin > w->span.begin && from.end == w->span.end) low[0] = FINAL_SIGMA;
    for (size_t i = 0; i < count; i++) size += rapt__utf8_encode(low[i], bytes + size);
    add(l, from, (rapt_text){bytes, size}, true);
}

/* Returns true if the language keeps the pronoun I in upper case and the word is I or begins with
   it, as in I'm. */
static bool is_pronoun(const struct lowering *l, const struct case_word *w)
{
    const rapt_text text = {l->in.text.bytes, w->span.end};
    size_t at = w->span.begin;
    if (!l->how->keeps_i || rapt__utf8_next(text.bytes, text.size, &at) != CAPITAL_I) return false;
    return at == text.size || is_apostrophe(rapt__utf8_next(text.bytes, text.size, &at));
}

/* Appends a word in sentence case. */
static void lower_word(struct lowering *l, const struct case_word *w, enum letter_case letters,
                       bool continued)
{
    bool capital = (w->first && !continued) || is_pronoun(l, w);
    if (letters == CASE_TITLE && (w->capitals > 1 || capital)) {
        keep(l, w->span);
        return;
    }
    for (size_t at = w->span.begin, next = at; at < w->span.end; at = next) {
        const uint32_t c = rapt__utf8_next(l->in.text.bytes, w->span.end, &next);
        if (is_capital(c) && !capital)
            lower(l, w, (rapt_span){at, next}, c);
        else
            keep(l, (rapt_span){at, next});
        capital = capital && !is_capital(c) && !rapt__is_lower(c);
    }
}

/* Returns true if a glossary match contains protected text, or if the glossary's spelling is too
   long for the arrays of struct recased. */
static bool is_unusable(const struct lowering *l, const struct glossary_match *term)
{
    const struct word_reader *r = &l->in;
    const bool guarded = r->next < r->count && r->marks[r->next].text.begin < term->end;
    return guarded || term->form.size > CASE_GROWS * (term->end - term->begin);
}

/* If a term of the glossary begins with this word, appends the term as the glossary spells it, but
   with a capital at the beginning of a sentence. Returns the end of the term, or the beginning of
   the word if no usable term begins there. `term` is the last term found; *more becomes false when
   there are no others. */
static size_t write_term(struct lowering *l, const struct case_word *w, bool continued,
                         struct glossary_match *term, bool *more)
{
    const size_t at = w->span.begin;
    while (*more && (term->end == 0 || term->begin < at))
        *more =
            rapt__glossary_next(l->how->glossary, l->in.text, rapt__max_size(at, term->end), term);
    if (!*more || term->begin != at || is_unusable(l, term)) return at;
    size_t first = 0;
    const uint32_t c = rapt__utf8_next(term->form.bytes, term->form.size, &first);
    char capital[4];
    rapt_text begin = {term->form.bytes, first};
    if (w->first && !continued)
        begin = (rapt_text){capital, rapt__utf8_encode(rapt__upper_character(c), capital)};
    add(l, (rapt_span){at, at + 1}, begin, true);
    add(l, (rapt_span){at + 1, term->end},
        (rapt_text){term->form.bytes + first, term->form.size - first}, true);
    return term->end;
}

/* Writes the words of the text and what is between them. */
static void write_lowered(struct lowering *l, enum letter_case letters, bool continued)
{
    const rapt_text text = l->in.text;
    struct case_word w;
    struct glossary_match term = {.end = 0};
    bool more = l->how->glossary != NULL;
    size_t at = 0;
    while (next_word(&l->in, at, &w)) {
        const rapt_span between = {at, w.span.begin};
        add(l, between, (rapt_text){text.bytes + at, between.end - at}, false);
        at = write_term(l, &w, continued, &term, &more);
        if (at > w.span.begin) continue;
        lower_word(l, &w, letters, continued);
        at = w.span.end;
    }
    add(l, (rapt_span){at, text.size}, (rapt_text){text.bytes + at, text.size - at}, false);
    l->out->places[text.size] = l->out->text.size;
}

rapt_status rapt__case_lower(const struct recasing *how, rapt_text text, const struct mark *marks,
                             size_t count, enum letter_case letters, bool continued,
                             struct recased *out)
{
    struct lowering l = {
        .how = how, .in = {.text = text, .marks = marks, .count = count}, .out = out};
    out->size = text.size;
    out->places = rapt__alloc(out->text.allocator, (text.size + 1) * sizeof *out->places);
    out->capitals = rapt__alloc(out->text.allocator, CASE_GROWS * text.size);
    if (!out->places || !out->capitals) return RAPT_NO_MEMORY;
    write_lowered(&l, letters, continued);
    return out->text.failed ? RAPT_NO_MEMORY : RAPT_OK;
}

void rapt__recased_free(struct recased *r)
{
    rapt__free(r->text.allocator, r->places, (r->size + 1) * sizeof *r->places);
    rapt__free(r->text.allocator, r->capitals, CASE_GROWS * r->size);
    rapt__buffer_free(&r->text);
}

/* ---- the case of a translation ---- */

static bool is_georgian(uint32_t c) /* few fonts have Georgian capitals */
{
    return c >= 0x10D0 && c <= 0x10FF;
}

static void raise_letter(uint32_t c, bool dotless, struct buffer *out)
{
    char bytes[4];
    uint32_t high = is_georgian(c) ? c : rapt__upper_character(c);
    if (c == 'i' && dotless) high = DOTTED_I;
    if (c == DOTLESS_I) high = CAPITAL_I;
    if (c == SHARP_S)
        rapt__buffer_add(out, (rapt_text){"SS", 2});
    else
        rapt__buffer_add(out, (rapt_text){bytes, rapt__utf8_encode(high, bytes)});
}

bool rapt__case_dotless(rapt_text text)
{
    for (size_t at = 0; at < text.size;) {
        const uint32_t c = rapt__utf8_next(text.bytes, text.size, &at);
        if (c == DOTLESS_I || c == DOTTED_I) return true;
    }
    return false;
}

/* Returns true if a word of a title is the translation of a capitalized word. */
static bool is_raised(const struct placed *in, const struct word_pairs *pairs, size_t word)
{
    const int source = pairs->aligned[word];
    return source != NOT_ALIGNED && in->capitals[pairs->source.spans[source].begin];
}

void rapt__case_restore(const struct placed *in, const struct word_pairs *pairs, rapt_span span,
                        struct buffer *out)
{
    size_t word = 0;
    for (size_t at = span.begin, next = at; at < span.end; at = next) {
        const uint32_t c = rapt__utf8_next(in->target.bytes, span.end, &next);
        while (word < pairs->target.count && pairs->target.spans[word].begin < at) word++;
        const bool begins = word < pairs->target.count && pairs->target.spans[word].begin == at;
        if (in->letters == CASE_CAPITALS || (begins && is_raised(in, pairs, word)))
            raise_letter(c, in->dotless, out);
        else
            rapt__buffer_add(out, (rapt_text){in->target.bytes + at, next - at});
    }
}
