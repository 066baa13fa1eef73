/* translate.c - many sentences: encoded, sorted by length, searched in batches, given back in the
   order they came. Works through windows of sentences, so that memory does not grow with count. */
#include "run/translator.h"

#include <string.h>

/* ---- giving back ---- */

/* The mean cross-attention of a translation: it is fed once more, as many rows at a time as the
   session takes. One that fills all its room has no end, and zeros in that row. */
static rapt_status align(struct window *w, const struct sentence *s, const int32_t *target,
                         int count, rapt_message *why)
{
    rapt_session *session = w->t->session;
    int starts[2] = {0, s->count}, slots = w->t->options.beams;
    rapt_tokens source = {1, w->ids + s->start, starts};
    rapt_status status = rapt__encode(session, &source, s->limit, NULL, why);
    w->inputs[0] = RAPT_TOKEN_BEGIN;
    memcpy(w->inputs + 1, target, sizeof(int32_t) * (size_t)count);
    w->input_starts[0] = 0;
    memset(w->weights + (size_t)count * (size_t)s->count, 0, sizeof(float) * (size_t)s->count);
    for (int at = 0, rows; !status && at < count + 1 && at < s->limit; at += rows) {
        int left = (count + 1 < s->limit ? count + 1 : s->limit) - at;
        rows = left < session->limits.target_tokens ? left : session->limits.target_tokens;
        for (int i = 1; i <= slots; i++) w->input_starts[i] = rows;
        rapt_tokens inputs = {slots, w->inputs + at, w->input_starts};
        status = rapt_decode(session, &inputs, NULL, why);
        if (!status)
            status = rapt_session_alignment(session, -1, -1,
                                            w->weights + (size_t)at * (size_t)s->count, why);
    }
    return status;
}

static rapt_status emit_one(struct window *w, const struct sentence *s, int rank,
                            rapt_translation_fn *callback, void *user, bool *stop,
                            rapt_message *why)
{
    size_t nbest = (size_t)w->t->options.nbest, at = (size_t)s->number * nbest + (size_t)rank;
    rapt_translation out = {.sentence = w->first + (size_t)s->number, .rank = rank, .text = ""};
    out.status = s->count < 0 ? RAPT_BAD_ARGUMENT : RAPT_OK;
    rapt_status status = RAPT_OK;
    if (s->count > 0) {
        if (w->counts[at] < 0) return RAPT_OK;
        out.source = w->ids + s->start;
        out.source_count = s->count - 1;
        out.target = w->out + s->out + (size_t)rank * (size_t)s->limit;
        out.target_count = w->counts[at];
        out.score = w->scores[at];
        status = rapt_tokenizer_decode(w->t->target, out.target, (size_t)out.target_count, w->text,
                                       w->text_size - 1, &out.size);
        if (!status && w->weights) status = align(w, s, out.target, out.target_count, why);
        if (status) return status;
        w->text[out.size] = 0;
        out.text = w->text;
        out.alignment = w->weights;
    } else if (rank > 0) {
        return RAPT_OK;
    }
    *stop = callback(user, &out) != 0;
    return RAPT_OK;
}

/* ---- memory of a window ---- */

static size_t longest_token(const rapt_tokenizer *tokenizer)
{
    size_t longest = 0;
    for (int i = 0; i < rapt_tokenizer_vocab(tokenizer); i++) {
        size_t size = rapt_tokenizer_token(tokenizer, i).size;
        if (size > longest) longest = size;
    }
    return longest;
}

static void lay_out(struct window *w, bool alignments, struct arena *arena)
{
    const rapt_translator *t = w->t;
    size_t nbest = (size_t)t->options.nbest, batch = (size_t)t->options.batch, bytes = 0;
    size_t positions = (size_t)t->model->config.positions, results = (size_t)w->count * nbest,
           out = 0;
    for (int i = 0; i < w->count; i++) {
        size_t size = w->texts[w->first + (size_t)i].size;
        size_t tokens = size + 1 < positions ? size + 1 : positions;
        bytes += size + 1;
        out += (size_t)rapt__window_limit(t, (int)tokens);
    }
    size_t target_capacity =
        (size_t)t->session->limits.batch * (size_t)t->session->limits.target_length;
    if (target_capacity < positions) target_capacity = positions;
    size_t tokens = (size_t)t->session->limits.source_tokens;
    w->ids = rapt__arena_take(arena, bytes, sizeof(int32_t));
    w->out = rapt__arena_take(arena, out * nbest, sizeof(int32_t));
    w->counts = rapt__arena_take(arena, results, sizeof(int));
    w->scores = rapt__arena_take(arena, results, sizeof(float));
    w->batch_ids = rapt__arena_take(arena, tokens, sizeof(int32_t));
    w->batch_out =
        rapt__arena_take(arena, (target_capacity + batch * LANES) * nbest, sizeof(int32_t));
    w->batch_starts = rapt__arena_take(arena, batch + 1, sizeof(int));
    w->batch_counts = rapt__arena_take(arena, batch * nbest, sizeof(int));
    w->batch_scores = rapt__arena_take(arena, batch * nbest, sizeof(float));
    w->weights = alignments ? rapt__arena_floats(arena, positions + 1, positions) : NULL;
    w->inputs = rapt__arena_take(arena, positions + 1, sizeof(int32_t));
    w->input_starts = rapt__arena_take(arena, (size_t)t->options.beams + 1, sizeof(int));
    w->text_size = positions * longest_token(t->target) + 1;
    w->text = rapt__arena_take(arena, w->text_size, 1);
}

static rapt_status run(struct window *w, rapt_translation_fn *callback, void *user, bool *stop,
                       rapt_message *why)
{
    rapt_status status = rapt__window_encode(w);
    if (status) return rapt__fail(why, status, "a text could not be encoded");
    for (int at = 0, n; !status && at < w->count && (n = rapt__window_batch(w, at)) > 0; at += n)
        status = rapt__window_search(w, at, n, why);
    for (int i = 0; !status && !*stop && i < w->count; i++)
        for (int rank = 0; !status && !*stop && rank < w->t->options.nbest; rank++)
            status = emit_one(w, &w->sentences[i], rank, callback, user, stop, why);
    return status;
}

rapt_status rapt_translate_many(rapt_translator *t, const rapt_text *texts, size_t count,
                                int alignments, rapt_translation_fn *callback, void *user,
                                rapt_message *why)
{
    if (!t || !callback || (count && !texts))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: NULL",
                          !t          ? "translator"
                          : !callback ? "callback"
                                      : "texts");
    struct window *w = rapt__alloc(&t->allocator, sizeof *w);
    if (!w) return rapt__fail(why, RAPT_NO_MEMORY, "no memory to translate");
    rapt_status status = RAPT_OK;
    bool stop = false;
    for (size_t first = 0; !status && !stop && first < count; first += WINDOW) {
        *w = (struct window){.t = t, .texts = texts, .first = first};
        w->count = count - first < WINDOW ? (int)(count - first) : WINDOW;
        w->arena.raw = true;
        lay_out(w, alignments, &w->arena);
        status = rapt__arena_reserve(&w->arena, &t->allocator);
        if (status) {
            rapt__fail(why, status, "no memory to translate");
            break;
        }
        lay_out(w, alignments, &w->arena);
        status = run(w, callback, user, &stop, why);
        rapt__arena_free(&w->arena, &t->allocator);
    }
    rapt__free(&t->allocator, w, sizeof *w);
    return status;
}

/* ---- one sentence ---- */

struct one {
    char *out;
    size_t capacity, size;
    rapt_status status;
};

static int take_one(void *user, const rapt_translation *translation)
{
    struct one *one = user;
    one->status = translation->status;
    one->size = translation->size + 1;
    if (one->size <= one->capacity) memcpy(one->out, translation->text, one->size);
    return 1;
}

rapt_status rapt_translate(rapt_translator *t, const char *text, char *out, size_t capacity,
                           size_t *size, rapt_message *why)
{
    if (!t || !text || (capacity && !out))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: NULL",
                          !t      ? "translator"
                          : !text ? "text"
                                  : "out");
    rapt_text one_text = {text, strlen(text)};
    struct one one = {.out = out, .capacity = capacity};
    rapt_status status = rapt_translate_many(t, &one_text, 1, 0, take_one, &one, why);
    if (status) return status;
    if (one.status)
        return rapt__fail(why, one.status, "the text has more tokens than the model's %d positions",
                          t->model->config.positions);
    if (size) *size = one.size;
    if (one.size > capacity)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the translation needs %zu bytes, there are %zu",
                          one.size, capacity);
    return RAPT_OK;
}
