/* parts.c - prepares sentences for the model: joins their lines, turns protected text into guards
   (which place.c puts into the translation), and converts sentences in capitals or title case to
   sentence case. */
#include "document/document.h"

#include <stdio.h>
#include <string.h>

/* ---- guards ---- */

enum { GUARD_TEXT = 124 }; /* maximum number of bytes of a guard that the model sees */

rapt_status rapt__marks_add(struct mark_list *list, const struct mark *mark)
{
    if (list->count == list->capacity) {
        void *grown =
            rapt__grown(list->allocator, list->items, &list->capacity, sizeof *list->items);
        if (!grown) return RAPT_NO_MEMORY;
        list->items = grown;
    }
    list->items[list->count++] = *mark;
    return RAPT_OK;
}

rapt_status rapt__marks_add_block(struct mark_list *list, const struct text_block *b,
                                  rapt_span text, size_t first, size_t last)
{
    rapt_status status = RAPT_OK;
    for (size_t i = first; i < last && !status; i++) {
        struct mark m = b->marks[i];
        m.partner = m.partner >= first && m.partner < last ? m.partner - first : NO_PARTNER;
        m.text.begin = rapt__max_size(m.text.begin, text.begin) - text.begin;
        m.text.end = rapt__max_size(m.text.end, text.begin) - text.begin;
        status = rapt__marks_add(list, &m);
    }
    return status;
}

/* Returns a guard for protected text. As in .po files, the guards of placeholders without a number
   or name are named "%", so that the placeholders keep their order. */
static struct mark guard_of(const struct guarding *g, rapt_text text, rapt_span span)
{
    const rapt_span own = {g->base + span.begin, g->base + span.end};
    bool numbered = true;
    const size_t size = rapt__placeholder_size(text, span.begin, &numbered);
    const bool ordered = size == span.end - span.begin && !numbered;
    return (struct mark){.kind = MARK_GUARD,
                         .name = {ordered ? "%" : "", ordered},
                         .document = g->block ? rapt__block_origin(g->block, own) : own,
                         .text = span,
                         .partner = NO_PARTNER};
}

/* Appends guards for the protected text in a run of text that has no marks. */
static rapt_status guard_run(const struct guarding *g, rapt_text text, rapt_span run,
                             struct mark_list *list)
{
    const rapt_text head = {text.bytes, run.end};
    rapt_status status = RAPT_OK;
    for (rapt_span span;
         !status && rapt__protected_next(g->protection, head, run.begin, run.end, &span);
         run.begin = span.end) {
        const struct mark guard = guard_of(g, text, span);
        status = rapt__marks_add(list, &guard);
    }
    return status;
}

/* Appends a copy of marks [first, list->count), with guards between them. places[i] receives the
   index of copy i among the appended marks. */
static rapt_status merge(const struct guarding *g, rapt_text text, struct mark_list *list,
                         size_t first, size_t *places)
{
    const size_t count = list->count;
    size_t at = 0;
    rapt_status status = RAPT_OK;
    for (size_t i = first; i <= count && !status; i++) {
        const bool last = i == count;
        const size_t end = last ? text.size : rapt__min_size(list->items[i].text.begin, text.size);
        if (end > at) status = guard_run(g, text, (rapt_span){at, end}, list);
        if (status || last) break;
        const struct mark mark = list->items[i];
        at = rapt__max_size(at, mark.text.end);
        places[i - first] = list->count - count;
        status = rapt__marks_add(list, &mark);
    }
    return status;
}

rapt_status rapt__guards_add(const struct guarding *g, rapt_text text, struct mark_list *list,
                             size_t first)
{
    const size_t count = list->count - first;
    rapt_span span;
    if (!rapt__protected_next(g->protection, text, 0, text.size, &span)) return RAPT_OK;
    size_t *places = rapt__alloc(list->allocator, (count + 1) * sizeof *places);
    rapt_status status = places ? merge(g, text, list, first, places) : RAPT_NO_MEMORY;
    if (!status) {
        struct mark *items = list->items + first;
        list->count -= count;
        memmove(items, items + count, (list->count - first) * sizeof *items);
        for (size_t i = 0; i < count; i++) {
            struct mark *m = &items[places[i]];
            if (m->partner != NO_PARTNER) m->partner = places[m->partner];
        }
    }
    rapt__free(list->allocator, places, (count + 1) * sizeof *places);
    return status;
}

/* ---- what the model sees of a guard ---- */

/* Returns the number of leading bytes of a guard that the model may see. */
static size_t head_size(rapt_text text, rapt_span guard)
{
    size_t size = guard.end - guard.begin;
    if (size <= GUARD_TEXT) return size;
    for (size = GUARD_TEXT; size > 1 && rapt__utf8_continues(text.bytes[guard.begin + size]);)
        size--;
    return size;
}

/* Copies text, replacing each white-space character with a space. */
static rapt_text with_blanks(rapt_text text, char *bytes)
{
    size_t size = 0;
    for (size_t at = 0, next = 0; at < text.size; at = next) {
        const bool space = rapt__utf8_space(rapt__utf8_next(text.bytes, text.size, &next));
        const rapt_text from =
            space ? (rapt_text){" ", 1} : (rapt_text){text.bytes + at, next - at};
        memcpy(bytes + size, from.bytes, from.size);
        size += from.size;
    }
    return (rapt_text){bytes, size};
}

static bool is_spaced_letter(uint32_t c)
{
    return rapt__in_word(c) && !rapt__is_unspaced(c);
}

/* Returns true if a guard directly follows or precedes a word of a script that separates words with
   spaces. */
static bool touches_word(rapt_text text, rapt_span guard)
{
    size_t start, next = guard.end;
    if (guard.begin > 0 && is_spaced_letter(rapt__character_before(text, guard.begin, &start)))
        return true;
    return guard.end < text.size && is_spaced_letter(rapt__utf8_next(text.bytes, text.size, &next));
}

static bool contains(rapt_text text, rapt_text part)
{
    for (size_t at = 0; at + part.size <= text.size; at++)
        if (memcmp(text.bytes + at, part.bytes, part.size) == 0) return true;
    return false;
}

static bool spells(const rapt_document_engine *engine, rapt_text text)
{
    return !engine->spells || engine->spells(engine->user, text) != 0;
}

/* Returns what the model sees of a guard, which is the first of these that the model can write:
   - the beginning of the guard
   - the beginning with spaces for other white space
   - a name such as X1 that does not occur in the text, unless the guard touches a word
   If the model can write none of them, it sees the beginning. The result may be stored in bytes
   [GUARD_TEXT]. *number counts the names that have been tried. */
static rapt_text shown(const rapt_document_engine *engine, rapt_text text, rapt_span guard,
                       int *number, char *bytes)
{
    const rapt_text head = {text.bytes + guard.begin, head_size(text, guard)};
    rapt_text other;
    if (spells(engine, head)) return head;
    other = with_blanks(head, bytes);
    if (other.size < head.size && spells(engine, other)) return other;
    if (touches_word(text, guard)) return head;
    do {
        ++*number;
        other = (rapt_text){bytes, (size_t)snprintf(bytes, GUARD_TEXT, "X%d", *number)};
    } while (contains(text, other));
    return spells(engine, other) ? other : head;
}

/* Returns true if a text has letters that are not in guards. */
static bool has_other_letters(rapt_text text, const struct mark *marks, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (marks[i].kind != MARK_GUARD) continue;
        if (rapt__has_letters((rapt_text){text.bytes + at, marks[i].text.begin - at})) return true;
        at = marks[i].text.end;
    }
    return rapt__has_letters((rapt_text){text.bytes + at, text.size - at});
}

bool rapt__guards_show(const rapt_document_engine *engine, rapt_text text, struct mark *marks,
                       size_t count, struct buffer *out)
{
    size_t at = 0, shift = 0; /* wraps around if negative */
    const size_t before = out->size;
    int number = 0;
    char bytes[GUARD_TEXT];
    if (!has_other_letters(text, marks, count)) return false;
    for (size_t i = 0; i < count; i++) {
        struct mark *m = &marks[i];
        const rapt_span span = m->text;
        m->text = (rapt_span){span.begin + shift, span.end + shift};
        if (m->kind != MARK_GUARD) continue;
        const rapt_text see = shown(engine, text, span, &number, bytes);
        if (see.bytes == text.bytes + span.begin && see.size == span.end - span.begin) continue;
        rapt__buffer_add(out, (rapt_text){text.bytes + at, span.begin - at});
        rapt__buffer_add(out, see);
        at = span.end;
        m->text.end = m->text.begin + see.size;
        shift += see.size - (span.end - span.begin);
    }
    if (out->size == before) return false;
    rapt__buffer_add(out, (rapt_text){text.bytes + at, text.size - at});
    return true;
}

rapt_status rapt__opaque_add(struct opaque *o, const struct mark *marks, size_t count,
                             const rapt_allocator *allocator)
{
    if (o->texts + 1 >= o->start_capacity) {
        void *grown = rapt__grown(allocator, o->starts, &o->start_capacity, sizeof *o->starts);
        if (!grown) return RAPT_NO_MEMORY;
        o->starts = grown;
    }
    if (o->texts == o->marked_capacity) {
        void *grown = rapt__grown(allocator, o->marked, &o->marked_capacity, sizeof *o->marked);
        if (!grown) return RAPT_NO_MEMORY;
        o->marked = grown;
    }
    o->marked[o->texts] = count > 0;
    for (size_t i = 0; i < count; i++) {
        if (marks[i].kind != MARK_GUARD) continue;
        if (o->count == o->span_capacity) {
            void *grown = rapt__grown(allocator, o->spans, &o->span_capacity, sizeof *o->spans);
            if (!grown) return RAPT_NO_MEMORY;
            o->spans = grown;
        }
        o->spans[o->count++] = marks[i].text;
    }
    if (o->texts == 0) o->starts[0] = 0;
    o->starts[++o->texts] = o->count;
    return RAPT_OK;
}

void rapt__opaque_free(struct opaque *o, const rapt_allocator *allocator)
{
    rapt__free(allocator, o->marked, o->marked_capacity * sizeof *o->marked);
    rapt__free(allocator, o->spans, o->span_capacity * sizeof *o->spans);
    rapt__free(allocator, o->starts, o->start_capacity * sizeof *o->starts);
}

/* ---- parts of the window ---- */

/* Appends the text of a sentence to d->held, with its lines joined if it is plain text. In other
   formats, also appends its marks. `text` is its span in the text being split. */
static rapt_status hold_text(struct document *d, struct window_part *p, rapt_span text)
{
    size_t first = 0, last = 0;
    p->is_held = true;
    p->held = d->held.size;
    rapt__buffer_add(&d->held, p->text);
    if (d->held.failed) return RAPT_NO_MEMORY;
    if (d->splitter.format->next) {
        p->elsewhere = d->splitter.reader.block.elsewhere;
        p->source = rapt__block_sentence(&d->splitter.reader.block, text, &first, &last);
        return rapt__marks_add_block(&d->marks, &d->splitter.reader.block, text, first, last);
    }
    p->text.size = rapt__plain_join(p->text, d->held.bytes + p->held);
    d->held.size = p->held + p->text.size;
    p->joined = (rapt_span){p->held, d->held.size};
    return RAPT_OK;
}

/* Adds guards to a part whose text is valid UTF-8. If lines of plain text were joined, the bytes of
   the guards are in d->held and not in the document. */
static rapt_status protect(struct document *d, struct window_part *p, rapt_span text)
{
    const struct guarding g = {.protection = &d->splitter.protection,
                               .block = d->splitter.format->next ? &d->splitter.reader.block : NULL,
                               .base =
                                   p->is_held && !d->splitter.format->next ? p->held : text.begin};
    const rapt_text sentence = {p->is_held ? d->held.bytes + p->held : p->text.bytes, p->text.size};
    struct buffer shown = {.allocator = &d->allocator};
    rapt_status status = rapt__guards_add(&g, sentence, &d->marks, p->marks);
    if (status || d->marks.count == p->marks) return status;
    if (rapt__guards_show(&d->splitter.engine, sentence, d->marks.items + p->marks,
                          d->marks.count - p->marks, &shown)) {
        p->is_held = true;
        p->held = d->held.size;
        p->text.size = shown.size;
        rapt__buffer_add(&d->held, (rapt_text){shown.bytes, shown.size});
    }
    const bool failed = shown.failed || d->held.failed;
    rapt__buffer_free(&shown);
    return failed ? RAPT_NO_MEMORY : RAPT_OK;
}

/* Replaces the text of a part with the converted sentence, which is added to d->held, and adjusts
   the places of its marks. */
static void take_recased(struct document *d, struct window_part *p, const struct recased *r)
{
    for (size_t i = p->marks; i < d->marks.count; i++) {
        rapt_span *span = &d->marks.items[i].text;
        *span = (rapt_span){r->places[rapt__min_size(span->begin, r->size)],
                            r->places[rapt__min_size(span->end, r->size)]};
    }
    p->is_held = true;
    p->held = d->held.size;
    p->text.size = r->text.size;
    rapt__buffer_add(&d->held, (rapt_text){r->text.bytes, r->text.size});
    p->capitals = d->held.size;
    rapt__buffer_add(&d->held, (rapt_text){r->capitals, r->text.size});
}

/* Converts a sentence in capitals or in title case to sentence case for the model, unless the
   converted sentence has too many tokens and the original does not. */
static rapt_status recase(struct document *d, struct window_part *p)
{
    const rapt_text text = {p->is_held ? d->held.bytes + p->held : p->text.bytes, p->text.size};
    const struct mark *marks = d->marks.count > p->marks ? d->marks.items + p->marks : NULL;
    const size_t count = d->marks.count - p->marks;
    const struct recasing *how = &d->splitter.recasing;
    struct recased r = {.text = {.allocator = &d->allocator}};
    p->letters = rapt__case_find(how, text, marks, count);
    if (p->letters == CASE_USUAL) return RAPT_OK;
    rapt_status status = rapt__case_lower(how, text, marks, count, p->letters, p->continued, &r);
    const rapt_text normal = {r.text.bytes, r.text.size};
    if (!status && (rapt__splitter_fit(&d->splitter, normal) == normal.size ||
                    rapt__splitter_fit(&d->splitter, text) < text.size))
        take_recased(d, p, &r);
    else
        p->letters = CASE_USUAL;
    rapt__recased_free(&r);
    return status || d->held.failed ? RAPT_NO_MEMORY : RAPT_OK;
}

rapt_status rapt__document_add(struct document *d, struct passage part, rapt_message *why)
{
    struct window_part *p = &d->parts[d->count++];
    rapt_status status = RAPT_OK;
    *p = (struct window_part){
        .source = part.source, .continued = part.continued, .marks = d->marks.count};
    p->text.bytes = d->splitter.text.bytes + part.source.begin;
    p->text.size = part.source.end - part.source.begin;
    const bool valid = rapt_utf8_valid(p->text) == p->text.size;
    if (d->holds && (valid || d->splitter.format->next)) status = hold_text(d, p, part.source);
    if (!status && valid) status = protect(d, p, part.source);
    if (!status && valid) status = recase(d, p);
    p->mark_count = d->marks.count - p->marks;
    if (!valid) p->text.size = 0;
    if (status) return rapt__fail(why, status, "no memory for the sentences of a document");
    return RAPT_OK;
}
