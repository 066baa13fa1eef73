/* terms.c - finds glossary terms in sentences. Converts forms to phrases: a form is a string that a
   translation should or must not contain (a target of a term, an opaque part or a suppressed text),
   and its phrases are the token sequences that spell it at different places in a sentence. */
#include "translate/translate.h"

#include <string.h>

enum {
    TERM_BATCH_SLOTS = 64,                   /* usual number of hypotheses in a batch of sentences
                                                with terms */
    CONTEXT = 2,                             /* maximum number of bytes before a form when it is
                                                encoded */
    FORM_BYTES = CONTEXT + 4 * GLOSSARY_FORM /* capitals may take more bytes */
};

void rapt__terms_free(struct term_store *s, const rapt_allocator *allocator)
{
    rapt__free(allocator, s->terms, s->term_capacity * sizeof *s->terms);
    rapt__free(allocator, s->starts, s->start_capacity * sizeof *s->starts);
    rapt__free(allocator, s->ids, s->id_capacity * sizeof *s->ids);
    *s = (struct term_store){.terms = NULL};
}

/* ---- a store ---- */

/* Makes room for `more` items after the first `count` items of an array. */
static rapt_status reserve(const rapt_allocator *allocator, void **array, size_t *capacity,
                           size_t size, size_t count, size_t more)
{
    while (*capacity < count + more) {
        void *grown = rapt__grown(allocator, *array, capacity, size);
        if (!grown) return RAPT_NO_MEMORY;
        *array = grown;
    }
    return RAPT_OK;
}

/* Appends a phrase to the last term, unless the term already contains it. */
static rapt_status add_phrase(struct term_store *s, const rapt_allocator *allocator,
                              const int32_t *ids, size_t count)
{
    const size_t tokens = (size_t)s->tokens;
    void *starts = s->starts, *own = s->ids;
    for (int p = s->terms[s->count]; p < s->phrases; p++)
        if ((size_t)(s->starts[p + 1] - s->starts[p]) == count &&
            memcmp(s->ids + s->starts[p], ids, count * sizeof *ids) == 0)
            return RAPT_OK;
    rapt_status status =
        reserve(allocator, &starts, &s->start_capacity, sizeof *s->starts, (size_t)s->phrases, 2);
    s->starts = starts;
    if (!status) status = reserve(allocator, &own, &s->id_capacity, sizeof *s->ids, tokens, count);
    s->ids = own;
    if (status) return status;
    memcpy(s->ids + tokens, ids, count * sizeof *ids);
    s->starts[s->phrases] = s->tokens;
    s->tokens += (int)count;
    s->starts[++s->phrases] = s->tokens;
    return RAPT_OK;
}

/* Begins a term, which becomes part of the store when end_term is called. */
static rapt_status begin_term(struct term_store *s, const rapt_allocator *allocator)
{
    void *terms = s->terms;
    rapt_status status =
        reserve(allocator, &terms, &s->term_capacity, sizeof *s->terms, (size_t)s->count, 2);
    s->terms = terms;
    if (!status) s->terms[s->count] = s->phrases;
    return status;
}

static void end_term(struct term_store *s)
{
    s->terms[++s->count] = s->phrases;
}

rapt_status rapt__batch_terms(struct window *w, const struct sentence *s)
{
    const struct term_store *from = &w->memory.terms;
    struct term_store *to = &w->memory.batch_terms;
    rapt_status status = RAPT_OK;
    for (int i = s->term; i < s->term + s->term_count && !status; i++) {
        status = begin_term(to, &w->t->allocator);
        for (int p = from->terms[i]; p < from->terms[i + 1] && !status; p++)
            status = add_phrase(to, &w->t->allocator, from->ids + from->starts[p],
                                (size_t)(from->starts[p + 1] - from->starts[p]));
        if (!status) end_term(to);
    }
    return status;
}

/* ---- the translator ---- */

/* Returns true if a byte that is not a whole character counts as part of a word: a continuation
   byte, or the first byte of a character from U+00C0 to U+07FF, most of which are letters. */
static bool is_part_of_word(unsigned char byte)
{
    return rapt__utf8_continues(byte) || (byte >= 0xC3 && byte <= 0xDF);
}

/* Returns the RAPT_WORD_... bits of a token with this text. */
static unsigned char word_bits(rapt_text text)
{
    size_t at = 0, start;
    if (text.size == 0) return 0;
    const bool whole = rapt_utf8_valid(text) == text.size;
    const bool begins = rapt__in_word(rapt__utf8_next(text.bytes, text.size, &at)) ||
                        (!whole && is_part_of_word((unsigned char)text.bytes[0]));
    const bool ends = !whole || rapt__in_word(rapt__character_before(text, text.size, &start));
    return (unsigned char)((begins ? RAPT_WORD_INSIDE : 0) | (ends ? RAPT_WORD_OPEN : 0));
}

/* Returns true if copies of a token are decoded without spaces between them. */
static bool is_joined(const rapt_translator *t, int32_t token)
{
    const int32_t twice[] = {token, token};
    size_t size = 0;
    rapt_tokenizer_decode(t->target, twice, 2, NULL, 0, &size, NULL);
    return size <= 2 * rapt_tokenizer_token(t->target, token).size;
}

static rapt_status classify_tokens(rapt_translator *t)
{
    const int vocab = rapt_tokenizer_vocab(t->target);
    t->words = rapt__alloc(&t->allocator, (size_t)vocab);
    if (!t->words) return RAPT_NO_MEMORY;
    for (int32_t id = 0; id < vocab; id++) {
        t->words[id] = word_bits(rapt_tokenizer_token(t->target, id));
        if (t->words[id] && !is_joined(t, id)) t->words[id] = 0;
    }
    return RAPT_OK;
}

/* Prepares the translator for terms: classifies target tokens, and creates a session with a wide
   beam. Does nothing if the translator is ready. */
static rapt_status make_ready(rapt_translator *t, rapt_message *why)
{
    const rapt_limits *usual = &t->session->limits;
    if (t->term_session) return RAPT_OK;
    rapt_limits limits = {.size = sizeof limits,
                          .beams = rapt__max(usual->beams, TERM_BEAMS),
                          .source_tokens = usual->source_tokens,
                          .target_length = usual->target_length,
                          .threads = usual->threads,
                          .bf16_cache = usual->bf16_cache,
                          .products = usual->products};
    limits.batch = rapt__max(TERM_BATCH_SLOTS / limits.beams, 1);
    while ((int64_t)limits.batch * limits.target_length < t->model->config.positions)
        limits.batch++; /* so that one sentence may have the maximum length */
    rapt_status status = t->words ? RAPT_OK : classify_tokens(t);
    if (status) return rapt__fail(why, status, "no memory for the words of a vocabulary");
    return rapt_session_create(&t->term_session, t->model, &limits, &t->allocator, why);
}

/* ---- phrases ---- */

/* Returns true if phrases may contain a token. */
static bool is_usable(const rapt_translator *t, int32_t token)
{
    if (token == rapt_tokenizer_special(t->target, RAPT_TOKEN_UNKNOWN) || token == t->end)
        return false;
    for (int i = 0; i < t->suppressed_count; i++)
        if (t->suppressed[i] == token) return false;
    return true;
}

struct phrase_maker {
    const rapt_translator *t;
    struct term_store *store;
    int32_t *ids; /* [capacity] */
    size_t *ends; /* [capacity] */
    size_t capacity;
};

/* Appends the tokens of a form to the last term, as a phrase. The form is encoded after `context`,
   whose first byte, if any, is excluded from the phrase. Does nothing if a token contains both this
   byte and the next one, if a token of the form is not usable, or if the form has no tokens. */
static rapt_status add_form(const struct phrase_maker *m, const char *context, rapt_text form)
{
    char bytes[FORM_BYTES];
    const size_t before = strlen(context);
    size_t count = 0, first = 0;
    memcpy(bytes, context, before);
    memcpy(bytes + before, form.bytes, form.size);
    rapt_status status = rapt_tokenizer_encode(m->t->target, (rapt_text){bytes, before + form.size},
                                               m->ids, m->ends, m->capacity, &count, NULL);
    if (status) return status == RAPT_BAD_ARGUMENT ? RAPT_OK : status;
    while (before > 0 && first < count && m->ends[first] == 0) first++;
    if (before > 0 && first < count && m->ends[first] == 1) first++;
    if (before > 0 && (first == 0 || m->ends[first - 1] != 1)) return RAPT_OK;
    for (size_t i = first; i < count; i++)
        if (!is_usable(m->t, m->ids[i])) return RAPT_OK;
    if (first == count) return RAPT_OK;
    return add_phrase(m->store, &m->t->allocator, m->ids + first, count - first);
}

/* Appends the phrases that spell a form after a space, after punctuation, and at the beginning of a
   sentence. If the form's script has no spaces between words, appends only the phrase after
   punctuation or, if there is none, the one at the beginning of a sentence. */
static rapt_status add_places(const struct phrase_maker *m, rapt_text form)
{
    size_t at = 0;
    const uint32_t first = rapt__utf8_next(form.bytes, form.size, &at);
    rapt_status status = RAPT_OK;
    const int before = m->store->phrases;
    if (!rapt__is_unspaced(first)) status = add_form(m, ", ", form);
    if (!status) status = add_form(m, "(", form);
    if (!status && (!rapt__is_unspaced(first) || m->store->phrases == before))
        status = add_form(m, "", form);
    return status;
}

/* Copies a form, capitalizing its first letter or all letters. */
static rapt_text raise(rapt_text form, bool all, char *out)
{
    size_t size = 0;
    for (size_t at = 0, next = 0; at < form.size; at = next) {
        const uint32_t c = rapt__utf8_next(form.bytes, form.size, &next);
        if (at == 0 || all) {
            size += rapt__utf8_encode(rapt__upper_character(c), out + size);
        } else {
            memcpy(out + size, form.bytes + at, next - at);
            size += next - at;
        }
    }
    return (rapt_text){out, size};
}

/* Appends a term for a match, unless the term would have no phrases. Capitals in the match allow
   capitals in the target if the entry's rule is not exact. */
static rapt_status add_term(const struct phrase_maker *m, const rapt_glossary *g,
                            const struct glossary_match *match)
{
    const struct glossary_entry *e = match->entry;
    char raised[4 * GLOSSARY_FORM];
    rapt_status status = begin_term(m->store, &m->t->allocator);
    for (size_t i = e->first; i < e->last && !status; i++) {
        status = add_places(m, g->targets[i]);
        if (!status && e->rule != GLOSSARY_EXACT && (match->capital || match->capitals))
            status = add_places(m, raise(g->targets[i], false, raised));
        if (!status && e->rule != GLOSSARY_EXACT && match->capitals)
            status = add_places(m, raise(g->targets[i], true, raised));
    }
    if (!status && m->store->phrases > m->store->terms[m->store->count]) end_term(m->store);
    return status;
}

static int shortest_phrase(const struct term_store *s, int term)
{
    int shortest = INT32_MAX;
    for (int p = s->terms[term]; p < s->terms[term + 1]; p++)
        shortest = rapt__min(shortest, s->starts[p + 1] - s->starts[p]);
    return shortest;
}

/* Finds the first match at or after `at` that does not overlap an opaque part of text `number`.
   Returns false if there is none. */
static bool next_match(const struct window *w, int number, size_t at, struct glossary_match *match)
{
    const struct opaque_parts opaque = rapt__window_parts(w, number);
    if (!w->job->options.glossary) return false;
    while (rapt__glossary_next(w->job->options.glossary, w->texts[number], at, match)) {
        size_t i = 0;
        while (i < opaque.count && opaque.spans[i].end <= match->begin) i++;
        if (i == opaque.count || opaque.spans[i].begin >= match->end) return true;
        at = rapt__max_size(opaque.spans[i].end, match->begin + 1);
    }
    return false;
}

/* Appends terms for the matches in the text of a sentence, at most RAPT_TERMS_MAX. */
static rapt_status add_terms(struct window *w, const struct phrase_maker *m, struct sentence *s)
{
    struct glossary_match match = {.end = 0};
    rapt_status status = RAPT_OK;
    while (!status && s->terms < RAPT_TERMS_MAX && next_match(w, s->number, match.end, &match)) {
        s->terms++;
        status = add_term(m, w->job->options.glossary, &match);
    }
    return status;
}

/* Appends terms for those opaque parts of a sentence that tokens can spell and that have at most
   GLOSSARY_FORM bytes, until the sentence has RAPT_TERMS_MAX terms. */
static rapt_status add_copies(const struct window *w, const struct phrase_maker *m,
                              const struct sentence *s)
{
    const struct opaque_parts opaque = rapt__window_parts(w, s->number);
    rapt_status status = RAPT_OK;
    for (size_t i = 0; i < opaque.count && !status; i++) {
        const rapt_text part = rapt__part_text(w, s->number, opaque.spans[i]);
        if (m->store->count - s->term >= RAPT_TERMS_MAX) break;
        if (part.size > GLOSSARY_FORM) continue;
        status = begin_term(m->store, &m->t->allocator);
        if (!status) status = add_places(m, part);
        if (!status && m->store->phrases > m->store->terms[m->store->count]) end_term(m->store);
    }
    return status;
}

/* Allocates the arrays of a phrase_maker. */
static rapt_status open_maker(struct phrase_maker *m, const rapt_translator *t,
                              struct term_store *store)
{
    *m = (struct phrase_maker){
        .t = t, .store = store, .capacity = rapt_tokenizer_bound(t->target, FORM_BYTES)};
    m->ids = rapt__alloc(&t->allocator, m->capacity * sizeof *m->ids);
    m->ends = rapt__alloc(&t->allocator, m->capacity * sizeof *m->ends);
    return m->ids && m->ends ? RAPT_OK : RAPT_NO_MEMORY;
}

static void close_maker(const struct phrase_maker *m)
{
    rapt__free(&m->t->allocator, m->ids, m->capacity * sizeof *m->ids);
    rapt__free(&m->t->allocator, m->ends, m->capacity * sizeof *m->ends);
}

rapt_status rapt__window_suppress(struct window *w)
{
    const rapt_translator_options *o = &w->job->options;
    struct phrase_maker m;
    if (o->suppressed_text_count == 0) return RAPT_OK;
    rapt_status status = open_maker(&m, w->t, &w->memory.suppressed);
    for (size_t i = 0; i < o->suppressed_text_count && !status; i++) {
        status = begin_term(m.store, &w->t->allocator);
        if (!status) status = add_places(&m, o->suppressed_texts[i]);
        if (!status) end_term(m.store);
    }
    close_maker(&m);
    return status;
}

/* Replaces the terms of a sentence with terms for its glossary matches and, if `copies` is true,
   for its opaque parts. */
static rapt_status set_terms(struct window *w, struct sentence *s, bool copies, rapt_message *why)
{
    rapt_translator *t = w->t;
    rapt_status status = make_ready(t, why);
    if (status) return status;
    struct phrase_maker m;
    status = open_maker(&m, t, &w->memory.terms);
    s->term = m.store->count;
    s->terms = s->term_tokens = 0;
    if (!status) status = add_terms(w, &m, s);
    if (!status && copies) status = add_copies(w, &m, s);
    s->term_count = m.store->count - s->term;
    for (int i = s->term; i < m.store->count; i++) s->term_tokens += shortest_phrase(m.store, i);
    close_maker(&m);
    return status;
}

rapt_status rapt__window_terms(struct window *w, struct sentence *s, rapt_message *why)
{
    struct glossary_match match;
    return next_match(w, s->number, 0, &match) ? set_terms(w, s, false, why) : RAPT_OK;
}

rapt_status rapt__window_copies(struct window *w, struct sentence *s, rapt_message *why)
{
    return set_terms(w, s, true, why);
}
