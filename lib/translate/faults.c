/* faults.c - finds faults in translations: loops (which weak models often produce), too many tokens
   for a short source, empty translations, and parts of the source that were not copied. Also
   returns constraints that prevent all but the last of these faults. */
#include "translate/translate.h"

#include <string.h>

/* ---- opaque parts of texts ----

   Opaque parts are, for example, addresses and placeholders. If the caller requests it, a
   translation must contain the opaque parts of its source unchanged. */

rapt_status rapt__opaque_check(const rapt_translate_call *call, const rapt_text *texts,
                               size_t count, rapt_message *why)
{
    if (!call->opaque) return RAPT_OK;
    if (!call->opaque_starts)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "opaque_starts is NULL, but opaque is not");
    for (size_t t = 0; t < count; t++) {
        size_t at = 0;
        for (size_t i = call->opaque_starts[t]; i < call->opaque_starts[t + 1]; i++) {
            const rapt_span part = call->opaque[i];
            if (part.begin < at || part.end < part.begin || part.end > texts[t].size)
                return rapt__fail(why, RAPT_BAD_ARGUMENT,
                                  "opaque[%zu] is bytes %zu to %zu; parts must be in order, must "
                                  "not overlap, and must end within the %zu bytes of texts[%zu]",
                                  i, part.begin, part.end, texts[t].size, t);
            at = part.end;
        }
    }
    return RAPT_OK;
}

struct opaque_parts rapt__window_parts(const struct window *w, int number)
{
    const rapt_translate_call *call = &w->job->call;
    if (!call->opaque) return (struct opaque_parts){NULL, 0};
    const size_t *starts = call->opaque_starts + w->before + (size_t)number;
    return (struct opaque_parts){call->opaque + starts[0], starts[1] - starts[0]};
}

rapt_text rapt__part_text(const struct window *w, int number, rapt_span part)
{
    return (rapt_text){w->texts[number].bytes + part.begin, part.end - part.begin};
}

bool rapt__copies_wanted(const struct window *w, int number)
{
    const struct translate_job *job = w->job;
    return job->call.copy && job->call.mend && !(job->options.temperature > 0) &&
           rapt__window_parts(w, number).count > 0;
}

static bool equal_texts(rapt_text a, rapt_text b)
{
    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

/* Returns the number of times that a part occurs in a text. Occurrences do not overlap, and those
   that begin or end within a word do not count. */
static size_t occurrences(rapt_text text, rapt_text part)
{
    size_t count = 0;
    for (size_t at = 0; part.size > 0 && at + part.size <= text.size;) {
        const bool here = memcmp(text.bytes + at, part.bytes, part.size) == 0 &&
                          rapt__is_boundary(text, at) && rapt__is_boundary(text, at + part.size);
        count += here;
        at += here ? part.size : 1;
    }
    return count;
}

rapt_status rapt__spelled(const rapt_translator *t, const rapt_tokenizer *tokenizer, rapt_text text,
                          bool *spelled)
{
    const size_t capacity = rapt_tokenizer_bound(tokenizer, text.size), space = 2 * text.size + 16;
    int32_t *ids = rapt__alloc(&t->allocator, capacity * sizeof *ids);
    char *bytes = rapt__alloc(&t->allocator, space);
    size_t count = 0, size = 0;
    rapt_status status = ids && bytes ? RAPT_OK : RAPT_NO_MEMORY;
    if (!status) status = rapt_tokenizer_encode(tokenizer, text, ids, NULL, capacity, &count, NULL);
    if (!status) status = rapt_tokenizer_decode(tokenizer, ids, count, bytes, space, &size, NULL);
    *spelled = !status && equal_texts(text, (rapt_text){bytes, size});
    rapt__free(&t->allocator, bytes, space);
    rapt__free(&t->allocator, ids, capacity * sizeof *ids);
    return status == RAPT_NO_MEMORY ? status : RAPT_OK;
}

/* Sets *lost to true if an opaque part that tokens can spell occurs fewer times in a translation of
   text `number` than among the opaque parts of the text. Overwrites w->memory.text. */
static rapt_status find_lost(struct window *w, int number, const int32_t *ids, int count,
                             bool *lost)
{
    const struct opaque_parts parts = rapt__window_parts(w, number);
    size_t size = 0;
    rapt_status status = rapt__call_text(w->t, &w->memory, ids, (size_t)count, &size);
    *lost = false;
    for (size_t i = 0; i < parts.count && !status && !*lost; i++) {
        const rapt_text part = rapt__part_text(w, number, parts.spans[i]);
        size_t wanted = 1;
        for (size_t k = 0; k < i; k++)
            wanted += equal_texts(part, rapt__part_text(w, number, parts.spans[k]));
        if (occurrences((rapt_text){w->memory.text, size}, part) < wanted)
            status = rapt__spelled(w->t, w->t->target, part, lost);
    }
    return status;
}

/* ---- all faults ---- */

enum {
    PERIOD_MAX = 64,  /* maximum length of a repeated sequence, in tokens */
    LOOP_TIMES = 4,   /* minimum number of times in a row that the sequence occurs in a loop */
    LOOP_TOKENS = 8,  /* minimum number of tokens in a loop */
    LOOP_NGRAM = 4,   /* every loop contains an n-gram of this size twice */
    SHORT_TOKENS = 8, /* maximum number of tokens of a short source */
    SHORT_RATIO = 2,  /* maximum number of target tokens per token of a short source */
    SHORT_EXTRA = 8   /* number of target tokens allowed in addition */
};

/* Returns the largest number of times that a sequence of 1 to PERIOD_MAX tokens occurs in a row.
   Ignores repetitions with fewer than `least` tokens in total. */
static int repeats(const int32_t *ids, int count, int least)
{
    int most = 1;
    for (int period = 1; period <= PERIOD_MAX && 2 * period <= count; period++) {
        int run = 0; /* number of consecutive tokens that equal the token `period` positions
                        earlier */
        for (int i = period; i < count; i++) {
            run = ids[i] == ids[i - period] ? run + 1 : 0;
            if (run + period >= least) most = rapt__max(most, run / period + 1);
        }
    }
    return most;
}

/* Returns the maximum number of tokens of a translation, not counting its end token. Returns 0 if
   there is no limit, because the source is not short or the caller gave prefixes. */
static int short_limit(const struct window *w, const struct sentence *s)
{
    if (w->prefixes || s->count > SHORT_TOKENS) return 0;
    return rapt__max(SHORT_RATIO * s->count + SHORT_EXTRA + s->prefix_count + s->term_tokens,
                     w->job->options.min_length);
}

rapt_status rapt__faults_find(struct window *w, const struct sentence *s, const int32_t *ids,
                              int count, int *faults)
{
    const int limit = short_limit(w, s), times = repeats(ids, count, LOOP_TOKENS);
    bool lost = false;
    *faults = 0;
    if (times >= LOOP_TIMES && times > 2 * repeats(w->ids + s->start, s->count, 0))
        *faults |= RAPT_FAULT_REPEATS;
    if (limit > 0 && count > limit) *faults |= RAPT_FAULT_LONG;
    if (!w->prefixes && count <= s->prefix_count) *faults |= RAPT_FAULT_EMPTY;
    if (!rapt__copies_wanted(w, s->number)) return RAPT_OK;
    rapt_status status = find_lost(w, s->number, ids, count, &lost);
    if (lost) *faults |= RAPT_FAULT_LOST;
    return status;
}

struct constraint rapt__fault_constraint(const struct window *w, const struct sentence *s)
{
    struct constraint c = {0, 0, 0};
    if (s->faults & RAPT_FAULT_REPEATS) c.no_repeat_ngram = LOOP_NGRAM;
    if (s->faults & RAPT_FAULT_LONG) c.max_length = short_limit(w, s) + 1;
    if (s->faults & RAPT_FAULT_EMPTY) c.min_length = s->prefix_count + 1;
    return c;
}
