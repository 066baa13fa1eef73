/* guards.c - turns the protected text in a sentence into guards, so that place.c puts it into the
   translation. */
#include "document/document.h"

#include <string.h>

enum { GUARD_TEXT = 124 }; /* bytes of a guard that the model sees */

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

/* Returns the guard of protected text. As in messages, placeholders without numbers have the name
   %, which makes them keep their order. */
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

/* Appends guards for the protected text in a run of text without marks. */
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
   index of copy i, counted from the first one appended. */
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

/* Returns the number of leading bytes of a guard that the model sees. */
static size_t shown(rapt_text text, rapt_span guard)
{
    size_t size = guard.end - guard.begin;
    if (size <= GUARD_TEXT) return size;
    for (size = GUARD_TEXT; size > 1 && rapt__utf8_continues(text.bytes[guard.begin + size]);)
        size--;
    return size;
}

bool rapt__guards_shorten(rapt_text text, struct mark *marks, size_t count, char *out, size_t *size)
{
    size_t at = 0, removed = 0;
    *size = 0;
    for (size_t i = 0; i < count; i++) {
        struct mark *m = &marks[i];
        const rapt_span span = m->text;
        const size_t end = m->kind == MARK_GUARD ? span.begin + shown(text, span) : span.end;
        m->text = (rapt_span){span.begin - removed, end - removed};
        if (end == span.end) continue;
        memcpy(out + *size, text.bytes + at, end - at);
        *size += end - at;
        at = span.end;
        removed += span.end - end;
    }
    memcpy(out + *size, text.bytes + at, text.size - at);
    *size += text.size - at;
    return removed > 0;
}

rapt_status rapt__opaque_add(struct opaque *o, const struct mark *marks, size_t count,
                             const rapt_allocator *allocator)
{
    if (o->texts + 1 >= o->start_capacity) {
        void *grown = rapt__grown(allocator, o->starts, &o->start_capacity, sizeof *o->starts);
        if (!grown) return RAPT_NO_MEMORY;
        o->starts = grown;
    }
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
    rapt__free(allocator, o->spans, o->span_capacity * sizeof *o->spans);
    rapt__free(allocator, o->starts, o->start_capacity * sizeof *o->starts);
}
