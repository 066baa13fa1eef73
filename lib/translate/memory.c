/* memory.c - manages the memory of calls and windows, and divides windows into batches. */
#include "translate/translate.h"

/* ---- calls that pass results to a callback ----

   The translator lists the memory of all its unfinished calls: if a callback exits its call via
   longjmp() or an exception, the memory is freed together with the translator. */

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

/* m need not be the first in the list. If a callback of this call made another call, against the
   rules, and exited it via longjmp(), the memory of that call precedes m and remains in the
   list. */
void rapt__call_end(rapt_translator *t, struct call_memory *m)
{
    struct call_memory **at = &t->calls;
    while (*at != m) at = &(*at)->outer;
    *at = m->outer;
    rapt__call_release(t, m);
    rapt__free(&t->allocator, m, m->size);
}

/* ---- the batches of a window, and memory for their searches and results ---- */

struct window_sizes { /* maxima over the batches of a window */
    size_t source, prefix, target, alignment, record, parents;
};

rapt_session *rapt__window_session(const struct window *w, const struct sentence *s)
{
    return s->term_count > 0 ? w->t->term_session : w->t->session;
}

int rapt__window_batch(const struct window *w, int first)
{
    const rapt_session *session = rapt__window_session(w, w->order[first]);
    const bool terms = w->order[first]->term_count > 0;
    const rapt_translator_options *o = &w->job->options;
    int n = 0, tokens = 0, target_capacity = w->order[first]->limit;
    while (first + n < w->count && n < rapt__min(o->batch, session->limits.batch)) {
        const struct sentence *s = w->order[first + n];
        if (s->count <= 0 || (s->term_count > 0) != terms) break;
        if (n > 0 && (tokens + s->count > o->batch_tokens ||
                      target_capacity > rapt__session_target_capacity(session, n + 1)))
            break;
        tokens += s->count;
        n++;
    }
    return n;
}

/* Enlarges the alignment record's sizes in *z for a sentence that may be translated again with its
   opaque parts as terms. */
static void size_copies(const struct window *w, const struct sentence *s, struct window_sizes *z)
{
    const size_t beams = (size_t)rapt__max(w->t->session->limits.beams, TERM_BEAMS);
    if (!rapt__copies_wanted(w, s->number)) return;
    z->record = rapt__max_size(z->record, (size_t)s->limit * beams * (size_t)s->count);
    z->parents = rapt__max_size(z->parents, ((size_t)s->limit + 1) * beams);
}

/* Returns the maximum of each size over the batches that will be searched. */
static struct window_sizes window_sizes_of(const struct window *w)
{
    struct window_sizes z = {0};
    size_t nbest = (size_t)w->job->options.nbest;
    for (int at = 0, n; at < w->count && (n = rapt__window_batch(w, at)) > 0; at += n) {
        const size_t beams = (size_t)rapt__window_session(w, w->order[at])->limits.beams;
        size_t length = (size_t)w->order[at]->limit, sentences = (size_t)n, tokens = 0, given = 0;
        bool aligned = false;
        for (int i = at; i < at + n; i++) {
            tokens += (size_t)w->order[i]->count;
            given += (size_t)w->order[i]->prefix_count;
            aligned = aligned || w->order[i]->aligned;
        }
        z.prefix = rapt__max_size(z.prefix, given);
        z.source = rapt__max_size(z.source, tokens);
        z.target = rapt__max_size(z.target, sentences * nbest * length);
        if (!aligned && w->job->options.coverage_penalty <= 0) continue;
        for (int i = at; i < at + n; i++) size_copies(w, w->order[i], &z);
        if (aligned) z.alignment = rapt__max_size(z.alignment, nbest * tokens * (length + 1));
        z.record = rapt__max_size(z.record, length * beams * tokens);
        z.parents = rapt__max_size(z.parents, (length + 1) * sentences * beams);
    }
    return z;
}

static void lay_out_results(struct window *w, const struct sentence *end,
                            const struct window_sizes *z, struct arena *arena)
{
    const rapt_translator_options *o = &w->job->options;
    struct search_batch *b = &w->batch;
    size_t nbest = (size_t)o->nbest, batch = (size_t)o->batch;
    size_t results = (size_t)w->count * nbest, logs = w->job->call.log_probabilities != 0;
    w->out = rapt__arena_take(arena, end->out, sizeof(int32_t));
    w->counts = rapt__arena_take(arena, results, sizeof(int));
    w->ended = rapt__arena_take(arena, results, sizeof(int));
    w->met = rapt__arena_take(arena, results, sizeof(int));
    w->scores = rapt__arena_floats(arena, results, 1);
    w->logs = rapt__arena_floats(arena, end->out, logs);
    w->alignments_out = rapt__arena_floats(arena, end->alignment, 1);
    b->ids = rapt__arena_take(arena, z->source, sizeof(int32_t));
    b->given = rapt__arena_take(arena, z->prefix, sizeof(int32_t));
    b->out = rapt__arena_take(arena, z->target, sizeof(int32_t));
    b->starts = rapt__arena_take(arena, batch + 1, sizeof(int));
    b->given_starts = rapt__arena_take(arena, batch + 1, sizeof(int));
    b->numbers = rapt__arena_take(arena, batch, sizeof *b->numbers);
    b->counts = rapt__arena_take(arena, batch * nbest, sizeof(int));
    b->ended = rapt__arena_take(arena, batch * nbest, sizeof(int));
    b->met = rapt__arena_take(arena, batch * nbest, sizeof(int));
    b->term_starts = rapt__arena_take(arena, batch + 1, sizeof(int));
    b->scores = rapt__arena_floats(arena, batch * nbest, 1);
    b->aligned = rapt__arena_take(arena, batch, sizeof *b->aligned);
    b->alignments = rapt__arena_floats(arena, z->alignment, 1);
    b->logs = rapt__arena_floats(arena, z->target, logs);
    rapt__record_layout(&b->record, z->record, z->parents, arena);
}

rapt_status rapt__window_take_results(struct window *w, const struct sentence *end)
{
    const struct window_sizes z = window_sizes_of(w);
    w->memory.results.raw = true;
    lay_out_results(w, end, &z, &w->memory.results);
    rapt_status status = rapt__arena_reserve(&w->memory.results, &w->t->allocator);
    if (!status) lay_out_results(w, end, &z, &w->memory.results);
    return status;
}
