/* call_memory.c - the memory of a call that passes results to a callback. The translator lists the
   memory of all its unfinished calls: if a callback leaves its call by longjmp or an exception, the
   memory is freed together with the translator. */
#include "translate/translate.h"

struct call_memory *rapt__call_begin(rapt_translator *t, size_t size)
{
    struct call_memory *m = rapt__alloc(&t->allocator, size);
    if (!m) return NULL;
    *m = (struct call_memory){.outer = t->calls, .size = size};
    t->calls = m;
    return m;
}

void rapt__call_release(rapt_translator *t, struct call_memory *m)
{
    rapt__arena_free(&m->texts, &t->allocator);
    rapt__arena_free(&m->results, &t->allocator);
    rapt__free(&t->allocator, m->text, m->text_size);
    rapt__free(&t->allocator, m->spans, m->spans_size);
    rapt__terms_free(&m->terms, &t->allocator);
    rapt__terms_free(&m->batch_terms, &t->allocator);
    rapt__terms_free(&m->suppressed, &t->allocator);
    *m = (struct call_memory){.outer = m->outer, .size = m->size};
}

/* Reallocates m->text for `size` bytes and a terminating 0. The contents are lost. */
static rapt_status grow_text(const rapt_translator *t, struct call_memory *m, size_t size)
{
    size_t capacity = rapt__max_size(2 * m->text_size, size + 1);
    char *text = rapt__alloc(&t->allocator, capacity);
    if (!text) return RAPT_NO_MEMORY;
    rapt__free(&t->allocator, m->text, m->text_size);
    m->text = text;
    m->text_size = capacity;
    return RAPT_OK;
}

rapt_status rapt__call_text(const rapt_translator *t, struct call_memory *m, const int32_t *ids,
                            size_t count, size_t *size)
{
    enum { USUAL = 255 };
    rapt_status status = m->text ? RAPT_OK : grow_text(t, m, USUAL);
    if (status) return status;
    status = rapt_tokenizer_decode(t->target, ids, count, m->text, m->text_size - 1, size, NULL);
    if (status == RAPT_BAD_ARGUMENT && *size >= m->text_size) {
        status = grow_text(t, m, *size);
        if (!status)
            status =
                rapt_tokenizer_decode(t->target, ids, count, m->text, m->text_size - 1, size, NULL);
    }
    if (!status) m->text[*size] = 0;
    return status;
}

/* m need not be the first in the list: nested calls that a callback of this call made and left by
   longjmp precede it, and remain in the list. */
void rapt__call_end(rapt_translator *t, struct call_memory *m)
{
    struct call_memory **at = &t->calls;
    while (*at != m) at = &(*at)->outer;
    *at = m->outer;
    rapt__call_release(t, m);
    rapt__free(&t->allocator, m, m->size);
}
