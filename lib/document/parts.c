/* parts.c - prepares sentences for the model: joins their lines, adds guards for protected text,
   and converts capitals to sentence case. */
#include "document/document.h"

#include <string.h>

/* Appends the text of a sentence to d->held. `text` is its span in the text that is split. */
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

/* Adds guards to a part whose text is valid UTF-8. If the text was joined, its guards are in
   d->held. */
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

/* Replaces the text of a part by the text in sentence case, which is in d->held, and moves its
   marks. */
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
   sentence then has too many tokens and as it is does not. */
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
