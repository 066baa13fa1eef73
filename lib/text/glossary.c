/* glossary.c - reads a glossary, and finds its entries in a sentence.

   A line of the file is a source, a tab, a target and, optionally, a tab and a rule. The forms of a
   source or target are separated by |. The forms of all sources are sorted by their keys, which are
   in lower case. At every word boundary, a search narrows down, byte by byte, the range of forms
   that match the sentence so far. */
#include "text/glossary.h"

#include <string.h>

enum { KEY_CHARACTER = 8 }; /* maximum size of a character in lower case, in bytes */

/* Writes a character in lower case, and returns the number of bytes written. A final sigma becomes
   an ordinary sigma, because both have the same capital. */
static size_t lower(uint32_t c, rapt_text bytes, char out[KEY_CHARACTER])
{
    enum { SIGMA = 0x3C3, FINAL_SIGMA = 0x3C2 };
    uint32_t low[2];
    size_t size = 0;
    const size_t count = rapt__lower_character(c == FINAL_SIGMA ? SIGMA : c, low);
    if (c != FINAL_SIGMA && low[0] == c) {
        memcpy(out, bytes.bytes, bytes.size);
        return bytes.size;
    }
    for (size_t i = 0; i < count; i++) size += rapt__utf8_encode(low[i], out + size);
    return size;
}

size_t rapt__glossary_key(rapt_text form, char *key)
{
    size_t size = 0;
    for (size_t at = 0, next = 0; at < form.size; at = next) {
        const uint32_t c = rapt__utf8_next(form.bytes, form.size, &next);
        size += lower(c, (rapt_text){form.bytes + at, next - at}, key + size);
    }
    return size;
}

/* Orders sources by key, then by entry. */
static int by_key(const void *context, const void *x, const void *y)
{
    (void)context;
    const struct glossary_source *a = x, *b = y;
    const size_t size = rapt__min_size(a->key.size, b->key.size);
    const int order = memcmp(a->key.bytes, b->key.bytes, size);
    if (order != 0) return order;
    if (a->key.size != b->key.size) return a->key.size < b->key.size ? -1 : 1;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

/* ---- search ---- */

/* Sources [first, last), all of whose keys begin with the same bytes. */
struct source_range {
    size_t first, last;
};

/* Returns the index of the first source in a range whose key has a byte of at least `byte` at index
   `depth`, or r.last if there is none. Keys that end before that index come first. */
static size_t bound(const rapt_glossary *g, struct source_range r, size_t depth, int byte)
{
    while (r.first < r.last) {
        const size_t middle = r.first + (r.last - r.first) / 2;
        const rapt_text key = g->sources[middle].key;
        if (key.size <= depth || (unsigned char)key.bytes[depth] < byte)
            r.first = middle + 1;
        else
            r.last = middle;
    }
    return r.first;
}

/* Returns true if converting the form's first character to upper case gives the text. */
static bool is_capitalized(rapt_text form, rapt_text text)
{
    size_t at = 0, own = 0;
    const uint32_t c = rapt__utf8_next(form.bytes, form.size, &at);
    const uint32_t first = rapt__utf8_next(text.bytes, text.size, &own);
    return first == rapt__upper_character(c) && form.size - at == text.size - own &&
           memcmp(form.bytes + at, text.bytes + own, text.size - own) == 0;
}

/* Returns true if converting the form to upper case gives the text. */
static bool is_in_capitals(rapt_text form, rapt_text text)
{
    size_t at = 0, own = 0;
    while (at < form.size && own < text.size) {
        const uint32_t c = rapt__utf8_next(form.bytes, form.size, &at);
        if (rapt__utf8_next(text.bytes, text.size, &own) != rapt__upper_character(c)) return false;
    }
    return at == form.size && own == text.size;
}

static bool is_same(rapt_text a, rapt_text b)
{
    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

/* Returns true if a source's form matches this text under the rule of the source's entry. Sets the
   flags *capital and *capitals as in struct glossary_match. */
static bool is_allowed(const rapt_glossary *g, const struct glossary_source *s, rapt_text text,
                       bool *capital, bool *capitals)
{
    const enum glossary_rule rule = g->entries[s->entry].rule;
    const bool same = is_same(s->form, text), first = is_capitalized(s->form, text);
    *capital = !same && first;
    *capitals = !same && !first && is_in_capitals(s->form, text);
    if (rule == GLOSSARY_EXACT) return same;
    return rule == GLOSSARY_NOCASE || same || first || *capitals;
}

/* Returns true if there is no letter before `at`. */
static bool is_first_word(rapt_text sentence, size_t at)
{
    for (size_t i = 0; i < at;)
        if (rapt__is_letter(rapt__utf8_next(sentence.bytes, at, &i))) return false;
    return true;
}

/* Finds the longest match that begins at match->begin, and fills in *match. Returns false if there
   is none. */
static bool match_at(const rapt_glossary *g, rapt_text sentence, struct glossary_match *match)
{
    struct source_range r = {0, g->source_count};
    size_t depth = 0, at = match->begin;
    bool found = false;
    while (at < sentence.size && r.first < r.last) {
        char low[KEY_CHARACTER];
        const size_t from = at;
        const uint32_t c = rapt__utf8_next(sentence.bytes, sentence.size, &at);
        const size_t size = lower(c, (rapt_text){sentence.bytes + from, at - from}, low);
        for (size_t i = 0; i < size && r.first < r.last; i++, depth++) {
            const int byte = (unsigned char)low[i];
            r = (struct source_range){bound(g, r, depth, byte), bound(g, r, depth, byte + 1)};
        }
        if (r.first == r.last || !rapt__is_boundary(sentence, at)) continue;
        const rapt_text text = {sentence.bytes + match->begin, at - match->begin};
        for (size_t i = r.first; i < r.last && g->sources[i].key.size == depth; i++) {
            bool capital, capitals;
            if (!is_allowed(g, &g->sources[i], text, &capital, &capitals)) continue;
            match->entry = &g->entries[g->sources[i].entry];
            match->form = g->sources[i].form;
            match->end = at;
            match->capital = capital || is_first_word(sentence, match->begin);
            match->capitals = capitals;
            found = true;
            break;
        }
    }
    return found;
}

bool rapt__glossary_next(const rapt_glossary *g, rapt_text sentence, size_t at,
                         struct glossary_match *match)
{
    while (at < sentence.size) {
        match->begin = at;
        if (rapt__is_boundary(sentence, at) && match_at(g, sentence, match)) return true;
        rapt__utf8_next(sentence.bytes, sentence.size, &at);
    }
    return false;
}

size_t rapt_glossary_count(const rapt_glossary *g)
{
    return g ? g->count : 0;
}

/* ---- reading ---- */

struct glossary_reader {
    rapt_glossary *g;
    size_t line; /* line number, counted from 1 */
    rapt_message *why;
};

static rapt_status no_memory(const struct glossary_reader *r)
{
    return rapt__fail(r->why, RAPT_NO_MEMORY, "no memory for a glossary");
}

static rapt_text trimmed(rapt_text text)
{
    while (text.size > 0 && (text.bytes[0] == ' ' || text.bytes[0] == '\r'))
        text.bytes++, text.size--;
    while (text.size > 0 && (text.bytes[text.size - 1] == ' ' || text.bytes[text.size - 1] == '\r'))
        text.size--;
    return text;
}

/* Removes the text up to the next separator from *rest, or all of *rest if there is no separator,
   and returns the removed text. The separator is removed as well. If it is '|', the character after
   a \ is never a separator. */
static rapt_text take_until(rapt_text *rest, char separator)
{
    size_t end = 0;
    while (end < rest->size && rest->bytes[end] != separator)
        end += separator == '|' && rest->bytes[end] == '\\' && end + 1 < rest->size ? 2 : 1;
    const rapt_text taken = {rest->bytes, end};
    const size_t skipped = rapt__min_size(end + 1, rest->size);
    rest->bytes += skipped;
    rest->size -= skipped;
    return taken;
}

/* Copies a form, replacing \| with | and \\ with \. */
static rapt_text unescape(rapt_glossary *g, rapt_text form)
{
    char *to = g->bytes + g->bytes_used;
    size_t size = 0;
    for (size_t i = 0; i < form.size; i++) {
        const char next = i + 1 < form.size ? form.bytes[i + 1] : 0;
        if (form.bytes[i] == '\\' && (next == '|' || next == '\\')) i++;
        to[size++] = form.bytes[i];
    }
    g->bytes_used += size;
    return (rapt_text){to, size};
}

/* Takes the next form of a column. `what` names the column. */
static rapt_status take_form(struct glossary_reader *r, rapt_text *column, const char *what,
                             rapt_text *form)
{
    const rapt_text raw = trimmed(take_until(column, '|'));
    *form = unescape(r->g, raw);
    if (form->size == 0)
        return rapt__fail(r->why, RAPT_BAD_FILE,
                          "line %zu: the %s is empty; a line is a source, a tab and a target",
                          r->line, what);
    if (form->size > GLOSSARY_FORM)
        return rapt__fail(r->why, RAPT_BAD_FILE,
                          "line %zu: a form of the %s has %zu bytes; the maximum is %d", r->line,
                          what, form->size, (int)GLOSSARY_FORM);
    return RAPT_OK;
}

static rapt_status read_sources(struct glossary_reader *r, rapt_text column)
{
    rapt_glossary *g = r->g;
    do {
        struct glossary_source s = {.entry = g->count};
        rapt_status status = take_form(r, &column, "source", &s.form);
        if (status) return status;
        if (g->source_count == g->source_capacity) {
            void *grown =
                rapt__grown(&g->allocator, g->sources, &g->source_capacity, sizeof *g->sources);
            if (!grown) return no_memory(r);
            g->sources = grown;
        }
        s.key.bytes = g->bytes + g->bytes_used;
        s.key.size = rapt__glossary_key(s.form, g->bytes + g->bytes_used);
        g->bytes_used += s.key.size;
        g->sources[g->source_count++] = s;
    } while (column.size > 0);
    return RAPT_OK;
}

static rapt_status read_targets(struct glossary_reader *r, rapt_text column)
{
    rapt_glossary *g = r->g;
    do {
        rapt_text form;
        rapt_status status = take_form(r, &column, "target", &form);
        if (status) return status;
        if (g->target_count == g->target_capacity) {
            void *grown =
                rapt__grown(&g->allocator, g->targets, &g->target_capacity, sizeof *g->targets);
            if (!grown) return no_memory(r);
            g->targets = grown;
        }
        g->targets[g->target_count++] = form;
    } while (column.size > 0);
    return RAPT_OK;
}

static rapt_status read_rule(const struct glossary_reader *r, rapt_text column,
                             enum glossary_rule *rule)
{
    static const char *const names[] = {"", "exact", "nocase"};
    const rapt_text word = trimmed(column);
    for (int i = GLOSSARY_USUAL; i <= GLOSSARY_NOCASE; i++)
        if (word.size == strlen(names[i]) && memcmp(word.bytes, names[i], word.size) == 0) {
            *rule = (enum glossary_rule)i;
            return RAPT_OK;
        }
    return rapt__fail(r->why, RAPT_BAD_FILE,
                      "line %zu: the rule is \"%.*s\"; it must be exact or nocase", r->line,
                      (int)rapt__min_size(word.size, 40), word.bytes);
}

static rapt_status read_entry(struct glossary_reader *r, rapt_text line)
{
    rapt_glossary *g = r->g;
    struct glossary_entry e = {.line = r->line, .first = g->target_count};
    const size_t valid = rapt_utf8_valid(line);
    if (valid < line.size)
        return rapt__fail(r->why, RAPT_BAD_FILE, "line %zu: byte %zu is not valid UTF-8", r->line,
                          valid + 1);
    rapt_text rest = line;
    const rapt_text source = take_until(&rest, '\t'), target = take_until(&rest, '\t');
    rapt_status status = read_sources(r, source);
    if (!status) status = read_targets(r, target);
    if (!status) status = read_rule(r, rest, &e.rule);
    if (status) return status;
    e.last = g->target_count;
    if (g->count == g->entry_capacity) {
        void *grown =
            rapt__grown(&g->allocator, g->entries, &g->entry_capacity, sizeof *g->entries);
        if (!grown) return no_memory(r);
        g->entries = grown;
    }
    g->entries[g->count++] = e;
    return RAPT_OK;
}

/* Orders sources so that equal sources with the same rule are adjacent. */
static int by_form(const void *context, const void *x, const void *y)
{
    const rapt_glossary *g = context;
    const struct glossary_source *a = x, *b = y;
    const int rule_a = (int)g->entries[a->entry].rule, rule_b = (int)g->entries[b->entry].rule;
    if (rule_a != rule_b) return rule_a - rule_b;
    if (a->form.size != b->form.size) return a->form.size < b->form.size ? -1 : 1;
    const int order = memcmp(a->form.bytes, b->form.bytes, a->form.size);
    return order ? order : (a->entry > b->entry) - (a->entry < b->entry);
}

/* Checks that no source form occurs twice with the same rule, and sorts the sources by key. */
static rapt_status index_sources(rapt_glossary *g, rapt_message *why)
{
    rapt__sort(g->sources, g->source_count, sizeof *g->sources, by_form, g);
    for (size_t i = 0; i + 1 < g->source_count; i++) {
        const struct glossary_source *a = &g->sources[i], *b = &g->sources[i + 1];
        const struct glossary_entry *first = &g->entries[a->entry], *next = &g->entries[b->entry];
        if (first->rule != next->rule || a->form.size != b->form.size ||
            memcmp(a->form.bytes, b->form.bytes, a->form.size) != 0)
            continue;
        return rapt__fail(why, RAPT_BAD_FILE,
                          "line %zu: the source \"%.*s\" is also on line %zu; separate several "
                          "targets with |",
                          next->line, (int)a->form.size, a->form.bytes, first->line);
    }
    rapt__sort(g->sources, g->source_count, sizeof *g->sources, by_key, NULL);
    return RAPT_OK;
}

static rapt_status read_all(rapt_glossary *g, rapt_text text, rapt_message *why)
{
    struct glossary_reader r = {.g = g, .why = why};
    rapt_status status = RAPT_OK;
    static const char mark[] = "\xEF\xBB\xBF"; /* byte order mark */
    if (text.size >= 3 && memcmp(text.bytes, mark, 3) == 0) text.bytes += 3, text.size -= 3;
    while (!status && text.size > 0) {
        const rapt_text line = take_until(&text, '\n');
        r.line++;
        if (trimmed(line).size > 0) status = read_entry(&r, line);
    }
    return status ? status : index_sources(g, why);
}

rapt_status rapt_glossary_create(rapt_glossary **glossary, rapt_text text,
                                 const rapt_allocator *allocator, rapt_message *why)
{
    enum { TIMES = 3 }; /* a form and its key, which is at most twice as long */
    if (!glossary) return rapt__fail(why, RAPT_BAD_ARGUMENT, "glossary is NULL");
    rapt_status status = rapt__text_check("text", 0, text.bytes, text.size, why);
    if (!status && text.size > INT32_MAX)
        status = rapt__fail(why, RAPT_BAD_ARGUMENT, "the glossary has %zu bytes; the maximum is %d",
                            text.size, (int)INT32_MAX);
    if (status) return status;
    rapt_glossary *g = rapt__alloc(allocator, sizeof *g);
    if (!g) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a glossary");
    *g = (rapt_glossary){.allocator = rapt__allocator(allocator),
                         .bytes_size = TIMES * text.size + 1};
    g->bytes = rapt__alloc(&g->allocator, g->bytes_size);
    if (g->bytes)
        status = read_all(g, text, why);
    else
        status = rapt__fail(why, RAPT_NO_MEMORY, "no memory for a glossary");
    if (status)
        rapt_glossary_free(g);
    else
        *glossary = g;
    return status;
}

void rapt_glossary_free(rapt_glossary *g)
{
    if (!g) return;
    const rapt_allocator allocator = g->allocator;
    rapt__free(&allocator, g->targets, g->target_capacity * sizeof *g->targets);
    rapt__free(&allocator, g->sources, g->source_capacity * sizeof *g->sources);
    rapt__free(&allocator, g->entries, g->entry_capacity * sizeof *g->entries);
    rapt__free(&allocator, g->bytes, g->bytes_size);
    rapt__free(&allocator, g, sizeof *g);
}
