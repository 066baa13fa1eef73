/* translate.c - many sentences: encoded, sorted by length, searched in batches, given back in the
   order they came. Works through windows of sentences, so that memory does not grow with count. */
#include "run/translator.h"

#include <string.h>

enum { WINDOW = 1024 };

struct sentence {
    int number;   /* in its window */
    size_t start; /* of its source tokens */
    int count;    /* of them, RAPT_TOKEN_END included; 0: an empty text, -1: too long */
    int limit;    /* target tokens at most, the end included */
    size_t out;   /* its first result: nbest rows of limit tokens */
};

struct window {
    rapt_translator *t;
    const rapt_text *texts;
    size_t first; /* number of its first sentence */
    int count;
    struct sentence sentences[WINDOW];
    struct sentence *order[WINDOW]; /* longest first */
    struct arena arena;
    int32_t *ids;  /* source tokens */
    int32_t *out;  /* target tokens */
    int *counts;   /* [count][nbest] */
    float *scores; /* [count][nbest] */
    int32_t *batch_ids, *batch_out;
    int *batch_starts, *batch_counts;
    float *batch_scores;
    float *weights;  /* one alignment; NULL: none wanted */
    int32_t *fed;    /* one target sequence */
    int *fed_starts; /* [beams + 1] */
    char *text;      /* one translation */
    size_t text_size;
};

/* ---- encoding ---- */

static int limit_of(const rapt_translator *t, int source_count)
{
    int positions = t->model->config.positions;
    long long limit = (long long)TARGET_PER_SOURCE * source_count + TARGET_EXTRA;
    return limit < positions ? (int)limit : positions;
}

static rapt_status encode(struct window *w)
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
            rapt_tokeniser_encode(w->t->source, text, w->ids + at, NULL, text.size, &count);
        if (status) return status;
        w->ids[at + count++] = RAPT_TOKEN_END;
        s->count = count > (size_t)w->t->model->config.positions ? -1 : (int)count;
        if (s->count < 0) continue;
        s->limit = limit_of(w->t, s->count);
        at += count;
        out += (size_t)s->limit * nbest;
    }
    return RAPT_OK;
}

static int by_length(const void *context, const void *x, const void *y)
{
    (void)context;
    const struct sentence *a = *(struct sentence *const *)x, *b = *(struct sentence *const *)y;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return a->number - b->number;
}

/* ---- searching ---- */

/* How many sentences from order[first] on make one batch. */
static int batch_of(const struct window *w, int first)
{
    const rapt_translator_options *o = &w->t->options;
    int n = 0, tokens = 0, room = w->order[first]->limit;
    while (first + n < w->count && n < o->batch) {
        const struct sentence *s = w->order[first + n];
        if (s->count <= 0) break;
        if (n > 0 && (tokens + s->count > o->batch_tokens ||
                      room > rapt__session_room(w->t->session, n + 1)))
            break;
        tokens += s->count;
        n++;
    }
    return n;
}

static rapt_status search(struct window *w, int first, int n, rapt_message *why)
{
    rapt_translator *t = w->t;
    int nbest = t->options.nbest, longest = w->order[first]->limit;
    rapt_generate_options o = rapt_generate_options_default(RAPT_TOKEN_BEGIN, RAPT_TOKEN_END);
    o.max_length = longest;
    o.max_ratio = TARGET_PER_SOURCE, o.max_extra = TARGET_EXTRA;
    o.beams = t->options.beams, o.nbest = nbest;
    o.length_penalty = t->options.length_penalty;
    static const int32_t never[] = {RAPT_TOKEN_PAD, RAPT_TOKEN_BEGIN};
    o.never = never, o.never_count = 2;
    w->batch_starts[0] = 0;
    for (int i = 0; i < n; i++) {
        const struct sentence *s = w->order[first + i];
        memcpy(w->batch_ids + w->batch_starts[i], w->ids + s->start,
               sizeof(int32_t) * (size_t)s->count);
        w->batch_starts[i + 1] = w->batch_starts[i] + s->count;
    }
    rapt_tokens source = {n, w->batch_ids, w->batch_starts};
    rapt_status status =
        rapt_generate(t->session, &source, &o, w->batch_out, w->batch_counts, w->batch_scores, why);
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
    w->fed[0] = RAPT_TOKEN_BEGIN;
    memcpy(w->fed + 1, target, sizeof(int32_t) * (size_t)count);
    w->fed_starts[0] = 0;
    memset(w->weights + (size_t)count * (size_t)s->count, 0, sizeof(float) * (size_t)s->count);
    for (int at = 0, rows; !status && at < count + 1 && at < s->limit; at += rows) {
        int left = (count + 1 < s->limit ? count + 1 : s->limit) - at;
        rows = left < session->limits.target_tokens ? left : session->limits.target_tokens;
        for (int i = 1; i <= slots; i++) w->fed_starts[i] = rows;
        rapt_tokens fed = {slots, w->fed + at, w->fed_starts};
        status = rapt_decode(session, &fed, NULL, why);
        if (!status)
            status = rapt_session_alignment(session, -1, -1,
                                            w->weights + (size_t)at * (size_t)s->count, why);
    }
    return status;
}

static rapt_status give_one(struct window *w, const struct sentence *s, int rank, rapt_give *give,
                            void *user, bool *stop, rapt_message *why)
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
        status = rapt_tokeniser_decode(w->t->target, out.target, (size_t)out.target_count, w->text,
                                       w->text_size - 1, &out.size);
        if (!status && w->weights) status = align(w, s, out.target, out.target_count, why);
        if (status) return status;
        w->text[out.size] = 0;
        out.text = w->text;
        out.alignment = w->weights;
    } else if (rank > 0) {
        return RAPT_OK;
    }
    *stop = give(user, &out) != 0;
    return RAPT_OK;
}

/* ---- memory of a window ---- */

static size_t longest_token(const rapt_tokeniser *tokeniser)
{
    size_t longest = 0;
    for (int i = 0; i < rapt_tokeniser_vocab(tokeniser); i++) {
        size_t size = rapt_tokeniser_token(tokeniser, i).size;
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
        out += (size_t)limit_of(t, (int)tokens);
    }
    size_t room = (size_t)t->session->limits.batch * (size_t)t->session->limits.target_length;
    if (room < positions) room = positions;
    size_t tokens = (size_t)t->session->limits.source_tokens;
    w->ids = rapt__arena_take(arena, bytes, sizeof(int32_t));
    w->out = rapt__arena_take(arena, out * nbest, sizeof(int32_t));
    w->counts = rapt__arena_take(arena, results, sizeof(int));
    w->scores = rapt__arena_take(arena, results, sizeof(float));
    w->batch_ids = rapt__arena_take(arena, tokens, sizeof(int32_t));
    w->batch_out = rapt__arena_take(arena, (room + batch * LANES) * nbest, sizeof(int32_t));
    w->batch_starts = rapt__arena_take(arena, batch + 1, sizeof(int));
    w->batch_counts = rapt__arena_take(arena, batch * nbest, sizeof(int));
    w->batch_scores = rapt__arena_take(arena, batch * nbest, sizeof(float));
    w->weights = alignments ? rapt__arena_floats(arena, positions + 1, positions) : NULL;
    w->fed = rapt__arena_take(arena, positions + 1, sizeof(int32_t));
    w->fed_starts = rapt__arena_take(arena, (size_t)t->options.beams + 1, sizeof(int));
    w->text_size = positions * longest_token(t->target) + 1;
    w->text = rapt__arena_take(arena, w->text_size, 1);
}

static rapt_status run(struct window *w, rapt_give *give, void *user, bool *stop, rapt_message *why)
{
    rapt_status status = encode(w);
    if (status) return rapt__fail(why, status, "a text could not be encoded");
    rapt__sort(w->order, (size_t)w->count, sizeof *w->order, by_length, NULL);
    for (int at = 0, n; !status && at < w->count && (n = batch_of(w, at)) > 0; at += n)
        status = search(w, at, n, why);
    for (int i = 0; !status && !*stop && i < w->count; i++)
        for (int rank = 0; !status && !*stop && rank < w->t->options.nbest; rank++)
            status = give_one(w, &w->sentences[i], rank, give, user, stop, why);
    return status;
}

rapt_status rapt_translate_many(rapt_translator *t, const rapt_text *texts, size_t count,
                                int alignments, rapt_give *give, void *user, rapt_message *why)
{
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
        status = run(w, give, user, &stop, why);
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
