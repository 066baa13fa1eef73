/* block.c - stores a block: its text, where in the document each byte of the text comes from, and
   its marks (inline markup). */
#include "document/document.h"
#include "document/markup.h"

#include <string.h>

/* ---- memory ---- */

void rapt__buffer_add(struct buffer *b, rapt_text text)
{
    if (b->failed || text.size == 0) return;
    if (text.size > b->capacity - b->size) {
        size_t larger = rapt__max_size(b->size + text.size, 2 * b->capacity);
        char *memory = rapt__alloc(b->allocator, larger);
        b->failed = memory == NULL;
        if (b->failed) return;
        if (b->size) memcpy(memory, b->bytes, b->size);
        rapt__free(b->allocator, b->bytes, b->capacity);
        b->bytes = memory, b->capacity = larger;
    }
    memcpy(b->bytes + b->size, text.bytes, text.size);
    b->size += text.size;
}

void rapt__buffer_free(struct buffer *b)
{
    rapt__free(b->allocator, b->bytes, b->capacity);
    b->bytes = NULL;
    b->size = b->capacity = 0;
}

/* Makes room for one more item in an array, and sets *grown to the array, which may have moved.
   Returns false, with b->text.failed set, if this or an earlier allocation has failed. */
static bool grow(struct text_block *b, void *array, size_t count, size_t *capacity, size_t size,
                 void **grown)
{
    *grown = array;
    if (b->text.failed) return false;
    if (count < *capacity) return true;
    void *memory = rapt__grown(b->text.allocator, array, capacity, size);
    b->text.failed = memory == NULL;
    if (memory) *grown = memory;
    return memory != NULL;
}

void rapt__block_clear(struct text_block *b)
{
    b->text.size = b->origin_count = b->mark_count = 0;
}

void rapt__block_free(struct text_block *b)
{
    rapt__free(b->text.allocator, b->origins, b->origin_capacity * sizeof *b->origins);
    rapt__free(b->text.allocator, b->marks, b->mark_capacity * sizeof *b->marks);
    rapt__buffer_free(&b->text);
}

/* ---- building ---- */

void rapt__block_text(struct text_block *b, rapt_text text, rapt_span from)
{
    const size_t size = from.end - from.begin;
    struct text_origin *last = b->origin_count > 0 ? &b->origins[b->origin_count - 1] : NULL;
    void *grown;
    if (text.size == 0) return;
    if (last && text.size == size && last->text_size == last->document_size &&
        last->document + last->document_size == from.begin) {
        last->text_size += size;
        last->document_size += size;
    } else {
        if (!grow(b, b->origins, b->origin_count, &b->origin_capacity, sizeof *b->origins, &grown))
            return;
        b->origins = grown;
        b->origins[b->origin_count++] =
            (struct text_origin){b->text.size, text.size, from.begin, size};
    }
    rapt__buffer_add(&b->text, text);
}

void rapt__block_copy(struct text_block *b, rapt_span from)
{
    rapt__block_text(b, (rapt_text){b->document.bytes + from.begin, from.end - from.begin}, from);
}

void rapt__block_space(struct text_block *b, rapt_span from)
{
    if (b->text.size > 0 && b->text.bytes[b->text.size - 1] != ' ')
        rapt__block_text(b, (rapt_text){" ", 1}, from);
}

/* Pairs the last mark, which is a closing tag, with the last opening tag of the same name that has
   no partner. */
static void find_partner(struct text_block *b)
{
    const size_t last = b->mark_count - 1;
    for (size_t i = last; i-- > 0;) {
        struct mark *m = &b->marks[i];
        if (m->kind != MARK_OPEN || m->partner != NO_PARTNER) continue;
        if (!rapt__names_equal(m->name, b->marks[last].name)) continue;
        m->partner = last;
        b->marks[last].partner = i;
        return;
    }
}

void rapt__block_mark(struct text_block *b, enum mark_kind kind, rapt_span from, rapt_text name,
                      rapt_text text)
{
    const size_t begin = b->text.size;
    void *grown;
    if (kind == MARK_GUARD) rapt__block_text(b, text, from);
    if (kind == MARK_BREAK) rapt__block_space(b, from);
    if (!grow(b, b->marks, b->mark_count, &b->mark_capacity, sizeof *b->marks, &grown)) return;
    b->marks = grown;
    b->marks[b->mark_count++] = (struct mark){kind, name, from, {begin, b->text.size}, NO_PARTNER};
    if (kind == MARK_CLOSE) find_partner(b);
}

void rapt__block_unpair(struct text_block *b)
{
    for (size_t i = 0; i < b->mark_count; i++) {
        struct mark *m = &b->marks[i];
        if ((m->kind == MARK_OPEN || m->kind == MARK_CLOSE) && m->partner == NO_PARTNER)
            m->kind = MARK_POINT;
    }
}

bool rapt__block_full(const struct text_block *b)
{
    return b->mark_count >= MARKS_MAX || b->text.size >= SPLITTER_BLOCK - 1024 || b->text.failed;
}

/* ---- reading ---- */

bool rapt__block_has_letters(const struct text_block *b, rapt_span text)
{
    size_t at = text.begin;
    for (size_t i = 0; i <= b->mark_count && at < text.end; i++) {
        const struct mark *m = i < b->mark_count ? &b->marks[i] : NULL;
        if (m && (m->kind != MARK_GUARD || m->text.end <= at)) continue;
        const size_t end = m ? rapt__min_size(m->text.begin, text.end) : text.end;
        if (end > at && rapt__has_letters((rapt_text){b->text.bytes + at, end - at})) return true;
        if (m) at = m->text.end;
    }
    return false;
}

/* Returns the origin that contains byte `at` of the text. */
static const struct text_origin *origin_of(const struct text_block *b, size_t at)
{
    size_t low = 0, high = b->origin_count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (b->origins[middle].text <= at)
            low = middle;
        else
            high = middle;
    }
    return &b->origins[low];
}

static size_t document_begin(const struct text_block *b, size_t at)
{
    const struct text_origin *s = origin_of(b, at);
    return s->text_size == s->document_size ? s->document + (at - s->text) : s->document;
}

static size_t document_end(const struct text_block *b, size_t at)
{
    const struct text_origin *s = origin_of(b, at - 1);
    return s->text_size == s->document_size ? s->document + (at - s->text)
                                            : s->document + s->document_size;
}

/* Returns the index of the first mark that begins at or after byte `at` of the document. */
static size_t mark_from(const struct text_block *b, size_t at)
{
    size_t low = 0, high = b->mark_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (b->marks[middle].document.begin < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

rapt_span rapt__block_origin(const struct text_block *b, rapt_span text)
{
    return (rapt_span){document_begin(b, text.begin), document_end(b, text.end)};
}

rapt_span rapt__block_sentence(const struct text_block *b, rapt_span text, size_t *first,
                               size_t *last)
{
    rapt_span span = rapt__block_origin(b, text);
    *first = mark_from(b, span.begin);
    *last = mark_from(b, span.end);
    const size_t within = *first, beyond = *last;
    for (size_t i = within; i-- > 0 && b->marks[i].text.end == text.begin;) {
        const struct mark *m = &b->marks[i];
        if (m->kind == MARK_OPEN && m->partner != NO_PARTNER && m->partner >= within &&
            b->marks[m->partner].text.end <= text.end)
            *first = i;
    }
    for (size_t i = beyond; i < b->mark_count && b->marks[i].text.begin == text.end; i++) {
        const struct mark *m = &b->marks[i];
        if (m->kind == MARK_CLOSE && m->partner != NO_PARTNER && m->partner < beyond &&
            m->partner >= *first)
            *last = i + 1;
    }
    if (*first < within) span.begin = b->marks[*first].document.begin;
    if (*last > beyond) span.end = b->marks[*last - 1].document.end;
    return span;
}

rapt_span rapt__block_guard(const struct text_block *b, size_t at)
{
    for (size_t i = 0; i < b->mark_count; i++) {
        const struct mark *m = &b->marks[i];
        if (m->kind == MARK_GUARD && m->text.begin < at && at < m->text.end) return m->text;
    }
    return (rapt_span){at, at};
}
