/* window.c - a window of sentences: encoded, sorted by length, searched in batches. */
#include "run/translator.h"

#include <string.h>

int rapt__window_limit(const rapt_translator *t, int source_count)
{
    int positions = t->model->config.positions;
    long long limit = (long long)TARGET_PER_SOURCE * source_count + TARGET_EXTRA;
    return limit < positions ? (int)limit : positions;
}

static int by_length(const void *context, const void *x, const void *y)
{
    (void)context;
    const struct sentence *a = *(struct sentence *const *)x, *b = *(struct sentence *const *)y;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return a->number - b->number;
}

rapt_status rapt__window_encode(struct window *w)
{
    size_t at = 0, out = 0, nbest = (size_t)w->t->options.nbest;
    for (int i = 0; i < w->count; i++) {
        rapt_text text = w->texts[w->first + (size_t)i];
        struct sentence *s = &w->sentences[i];
        size_t count = 0;
        *s = (struct sentence){.number = i, .start = at, .out = out};
        w->order[i] = s;
        if (text.size == 0) continue;
        rapt_status status =
            rapt_tokenizer_encode(w->t->source, text, w->ids + at, NULL, text.size, &count);
        if (status) return status;
        w->ids[at + count++] = RAPT_TOKEN_END;
        s->count = count > (size_t)w->t->model->config.positions ? -1 : (int)count;
        if (s->count < 0) continue;
        s->limit = rapt__window_limit(w->t, s->count);
        at += count;
        out += (size_t)s->limit * nbest;
    }
    rapt__sort(w->order, (size_t)w->count, sizeof *w->order, by_length, NULL);
    return RAPT_OK;
}

int rapt__window_batch(const struct window *w, int first)
{
    const rapt_translator_options *o = &w->t->options;
    int n = 0, tokens = 0, target_capacity = w->order[first]->limit;
    while (first + n < w->count && n < o->batch) {
        const struct sentence *s = w->order[first + n];
        if (s->count <= 0) break;
        if (n > 0 && (tokens + s->count > o->batch_tokens ||
                      target_capacity > rapt__session_target_capacity(w->t->session, n + 1)))
            break;
        tokens += s->count;
        n++;
    }
    return n;
}

rapt_status rapt__window_search(struct window *w, int first, int n, rapt_message *why)
{
    rapt_translator *t = w->t;
    int nbest = t->options.nbest, longest = w->order[first]->limit;
    rapt_generate_options o;
    rapt_generate_options_default(&o, sizeof o, RAPT_TOKEN_BEGIN, RAPT_TOKEN_END);
    o.max_length = longest;
    o.max_ratio = TARGET_PER_SOURCE, o.max_extra = TARGET_EXTRA;
    o.beams = t->options.beams, o.nbest = nbest;
    o.length_penalty = t->options.length_penalty;
    static const int32_t suppressed[] = {RAPT_TOKEN_PAD, RAPT_TOKEN_BEGIN};
    o.suppressed = suppressed, o.suppressed_count = 2;
    w->batch_starts[0] = 0;
    for (int i = 0; i < n; i++) {
        const struct sentence *s = w->order[first + i];
        memcpy(w->batch_ids + w->batch_starts[i], w->ids + s->start,
               sizeof(int32_t) * (size_t)s->count);
        w->batch_starts[i + 1] = w->batch_starts[i] + s->count;
    }
    rapt_tokens source = {n, w->batch_ids, w->batch_starts};
    const rapt_generate_outputs out = {.size = sizeof out,
                                       .ids = w->batch_out,
                                       .counts = w->batch_counts,
                                       .scores = w->batch_scores};
    rapt_status status = rapt_generate(t->session, &source, &o, &out, why);
    for (int i = 0; !status && i < n * nbest; i++) {
        const struct sentence *s = w->order[first + i / nbest];
        size_t to = (size_t)s->number * (size_t)nbest + (size_t)(i % nbest);
        w->counts[to] = w->batch_counts[i];
        w->scores[to] = w->batch_scores[i];
        if (w->batch_counts[i] > 0)
            memcpy(w->out + s->out + (size_t)(i % nbest) * (size_t)s->limit,
                   w->batch_out + (size_t)i * (size_t)longest,
                   sizeof(int32_t) * (size_t)w->batch_counts[i]);
    }
    return status;
}
