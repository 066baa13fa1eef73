/* glossary_text.c - reads a glossary. A line is a source, a tab, a target and, optionally, a tab
   and a rule. The forms of a source or target are separated by |. */
#include "text/glossary.h"

#include <string.h>

struct glossary_reader {
    rapt_glossary *g;
    size_t line; /* from 1 */
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

/* Removes the text up to the next separator, or all of the text if there is none, from *rest and
   returns it. The separator is removed as well. If it is '|', the character after a \ is never a
   separator. */
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

/* Checks that no form is a source twice with the same rule, and sorts the sources by key. */
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
                          "line %zu: the source \"%.*s\" is on line %zu, too; separate several "
                          "targets with |",
                          next->line, (int)a->form.size, a->form.bytes, first->line);
    }
    rapt__sort(g->sources, g->source_count, sizeof *g->sources, rapt__glossary_order, NULL);
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
