/* score_texts.c - scores pairs of texts: tokenizes them, computes the log-probability of each
   target in batches that fit into the translator's session, and passes each pair's score to a
   callback, in order. */
#include "translate/translate.h"

#include <string.h>

struct text_pair {    /* number and place of the tokens of a pair */
    int source_count; /* including special tokens; 0 if the text has no tokens, -1 if it has too
                         many */
    int target_count; /* including the forced first token, but not the end token; -1 if there are
                         too many */
    size_t source, target; /* indices in text_pairs.ids of the first token of each */
};

struct text_pairs {            /* pairs that are tokenized together */
    struct call_memory memory; /* must come first */
    rapt_translator *t;
    const rapt_text *sources, *targets; /* [count] */
    int count;
    struct text_pair *pairs; /* [count] */
    int32_t *ids;            /* tokens of all sources, followed by those of all targets */
    /* arrays for one batch: */
    int *source_starts, *target_starts; /* [count + 1] */
    float *log_probabilities;
    double *sums; /* [count] */
};

static void lay_out_pairs(struct text_pairs *p, struct arena *arena)
{
    size_t tokens = 0, targets = 0, count = (size_t)p->count;
    for (int i = 0; i < p->count; i++) {
        targets += rapt__token_capacity(p->t, p->t->target, p->targets[i]) + 2;
        tokens += rapt__token_capacity(p->t, p->t->source, p->sources[i]) + rapt__source_more(p->t);
    }
    p->pairs = rapt__arena_take(arena, count, sizeof *p->pairs);
    p->ids = rapt__arena_take(arena, tokens + targets, sizeof *p->ids);
    p->source_starts = rapt__arena_take(arena, count + 1, sizeof(int));
    p->target_starts = rapt__arena_take(arena, count + 1, sizeof(int));
    p->log_probabilities = rapt__arena_floats(arena, targets, 1);
    p->sums = rapt__arena_take(arena, count, sizeof *p->sums);
}

/* Writes the tokens of `text` to ids. Sets *count to the number of these tokens, or to -1 if they
   and `more` special tokens exceed config.positions. */
static rapt_status encode_text(const struct text_pairs *p, const rapt_tokenizer *tokenizer,
                               rapt_text text, int more, int32_t *ids, int *count)
{
    size_t found = 0, limit = (size_t)(p->t->model->config.positions - more);
    rapt_status status = RAPT_OK;
    if (text.size)
        status = rapt__text_encode(p->t, tokenizer, text, ids, NULL,
                                   rapt__token_capacity(p->t, tokenizer, text), &found);
    if (status && status != RAPT_BAD_ARGUMENT) return status;
    *count = status || found > limit ? -1 : (int)found;
    return RAPT_OK;
}

/* Tokenizes all sources, then all targets, so that the sources of consecutive pairs are stored back
   to back, and so are their targets. */
static rapt_status tokenize(struct text_pairs *p)
{
    const rapt_translator *t = p->t;
    const bool named = t->target_first >= 0;
    size_t at = 0;
    rapt_status status = RAPT_OK;
    for (int i = 0; !status && i < p->count; i++) {
        struct text_pair *pair = &p->pairs[i];
        pair->source = at;
        status = encode_text(p, t->source, p->sources[i], (int)rapt__source_more(t),
                             p->ids + at + rapt__source_front(t), &pair->source_count);
        if (status || pair->source_count <= 0) continue;
        pair->source_count = (int)rapt__source_frame(t, p->ids + at, (size_t)pair->source_count);
        at += (size_t)pair->source_count;
    }
    for (int i = 0; !status && i < p->count; i++) {
        struct text_pair *pair = &p->pairs[i];
        pair->target = at;
        status = encode_text(p, t->target, p->targets[i], 1 + named, p->ids + at + named,
                             &pair->target_count);
        if (status || pair->target_count < 0) continue;
        if (named) p->ids[at] = t->target_first;
        pair->target_count += named;
        at += (size_t)pair->target_count;
    }
    return status;
}

/* Returns true if the source has tokens and neither text has too many. */
static bool scorable(const struct text_pair *pair)
{
    return pair->source_count > 0 && pair->target_count >= 0;
}

/* Returns the number of pairs, starting at `first`, that form one batch. Pair `first` must be
   scorable. */
static int batch_from(const struct text_pairs *p, int first)
{
    const rapt_translator_options *o = &p->t->options;
    int n = 0, tokens = 0, longest = 0;
    while (first + n < p->count && n < o->batch && scorable(&p->pairs[first + n])) {
        const struct text_pair *pair = &p->pairs[first + n];
        longest = rapt__max(longest, pair->target_count + 1);
        if (n > 0 && (tokens + pair->source_count > o->batch_tokens ||
                      longest > rapt__session_target_capacity(p->t->session, n + 1)))
            break;
        tokens += pair->source_count;
        n++;
    }
    return n;
}

/* Scores pairs first .. first + n - 1, and stores the results in sums and log_probabilities. */
static rapt_status score_batch(struct text_pairs *p, int first, int n, rapt_message *why)
{
    const struct text_pair *from = &p->pairs[first];
    p->source_starts[0] = p->target_starts[0] = 0;
    for (int i = 0; i < n; i++) {
        p->source_starts[i + 1] = p->source_starts[i] + from[i].source_count;
        p->target_starts[i + 1] = p->target_starts[i] + from[i].target_count;
    }
    const rapt_tokens source = {
        .batch = n, .ids = p->ids + from->source, .starts = p->source_starts};
    const rapt_tokens target = {
        .batch = n, .ids = p->ids + from->target, .starts = p->target_starts};
    return rapt_score_targets(p->t->session, &source, &target, p->t->begin, p->t->end,
                              p->log_probabilities, p->sums, why);
}

struct text_score_receiver {
    rapt_text_score_fn *callback;
    void *user;
    bool stop;
};

/* Fills in the score of pair i of a batch. Excludes the forced first token of the target, if there
   is one. */
static void fill_score(const struct text_pairs *p, const struct text_pair *pair, int i,
                       rapt_text_score *score)
{
    const bool named = p->t->target_first >= 0;
    const float *logs = p->log_probabilities + p->target_starts[i] + i;
    score->sum = p->sums[i] - (named ? (double)logs[0] : 0);
    score->target = p->ids + pair->target + named;
    score->target_count = pair->target_count - named;
    score->log_probabilities = logs + named;
}

/* Scores all pairs and passes each score to the callback. `before` is the number of pairs that
   precede them. */
static rapt_status score_all(struct text_pairs *p, size_t before, struct text_score_receiver *to,
                             rapt_message *why)
{
    for (int first = 0, n; first < p->count && !to->stop; first += n) {
        n = scorable(&p->pairs[first]) ? batch_from(p, first) : 0;
        rapt_status status = n ? score_batch(p, first, n, why) : RAPT_OK;
        if (status) return status;
        for (int i = 0; i < rapt__max(n, 1) && !to->stop; i++) {
            const struct text_pair *pair = &p->pairs[first + i];
            rapt_text_score score = {.pair = before + (size_t)(first + i)};
            score.status = n ? RAPT_OK : RAPT_BAD_ARGUMENT;
            if (n) fill_score(p, pair, i, &score);
            to->stop = to->callback(to->user, &score) != 0;
        }
        n = rapt__max(n, 1);
    }
    return RAPT_OK;
}

/* Allocates memory for p->count pairs, then tokenizes and scores them. */
static rapt_status score_some(struct text_pairs *p, size_t before, struct text_score_receiver *to,
                              rapt_message *why)
{
    struct arena *arena = &p->memory.texts;
    arena->raw = true;
    lay_out_pairs(p, arena);
    rapt_status status = rapt__arena_reserve(arena, &p->t->allocator);
    if (status) return rapt__fail(why, status, "out of memory while scoring %d pairs", p->count);
    lay_out_pairs(p, arena);
    status = tokenize(p);
    if (status)
        rapt__fail(why, status, "out of memory while encoding pairs %zu .. %zu", before,
                   before + (size_t)p->count - 1);
    else
        status = score_all(p, before, to, why);
    rapt__call_release(p->t, &p->memory);
    return status;
}

rapt_status rapt_translator_score(rapt_translator *t, const rapt_text *sources,
                                  const rapt_text *targets, size_t count,
                                  rapt_text_score_fn *callback, void *user, rapt_message *why)
{
    if (!t || !callback || (count && (!sources || !targets)))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL",
                          !t          ? "translator"
                          : !callback ? "callback"
                          : !sources  ? "sources"
                                      : "targets");
    struct text_score_receiver to = {callback, user, false};
    rapt_status status = rapt__languages_given(t, why);
    if (!status) status = rapt__texts_check("sources", sources, count, why);
    if (!status) status = rapt__texts_check("targets", targets, count, why);
    if (status) return status;
    struct text_pairs *p = (struct text_pairs *)rapt__call_begin(t, sizeof *p);
    if (!p) return rapt__fail(why, RAPT_NO_MEMORY, "out of memory while scoring texts");
    p->t = t;
    for (size_t at = 0; !status && !to.stop && at < count; at += (size_t)p->count) {
        p->sources = sources + at, p->targets = targets + at;
        p->count = (int)rapt__min_size(count - at, (size_t)WINDOW);
        status = score_some(p, at, &to, why);
    }
    rapt__call_end(t, &p->memory);
    return status;
}
