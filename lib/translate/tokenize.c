/* tokenize.c - preprocesses and tokenizes the sentences of a window, tokenizes the prefixes of
   their translations, and limits the length of each translation. */
#include "translate/translate.h"

#include <math.h>

rapt_status rapt__text_encode(const rapt_translator *t, const rapt_tokenizer *tokenizer,
                              rapt_text text, int32_t *ids, size_t *ends, size_t capacity,
                              size_t *count)
{
    if (t->options.preprocess == RAPT_PREPROCESS_NONE || text.size == 0)
        return rapt_tokenizer_encode(tokenizer, text, ids, ends, capacity, count, NULL);
    size_t offsets = ends ? text.size * sizeof(size_t) : 0, size = 0;
    char *bytes = rapt__alloc(&t->allocator, text.size);
    size_t *from = rapt__alloc(&t->allocator, offsets);
    rapt_status status = RAPT_NO_MEMORY;
    *count = 0;
    if (bytes && (from || !ends))
        status =
            rapt_text_preprocess(t->options.preprocess, text, bytes, from, text.size, &size, NULL);
    if (!status && size > 0)
        status = rapt_tokenizer_encode(tokenizer, (rapt_text){bytes, size}, ids, ends, capacity,
                                       count, NULL);
    /* Convert the ends from offsets in the preprocessed text to offsets in the original text. */
    for (size_t i = 0; ends && i < rapt__min_size(*count, capacity); i++)
        if (ends[i] > 0) ends[i] = from[ends[i] - 1];
    rapt__free(&t->allocator, from, offsets);
    rapt__free(&t->allocator, bytes, text.size);
    return status;
}

struct target_limit rapt__window_rule(const struct window *w)
{
    struct target_limit rule = w->t->limit;
    const float factor = w->job->options.max_length_factor;
    if (factor > 0) rule.per_source = factor, rule.extra = 0;
    return rule;
}

/* Returns the maximum number of tokens of a translation, including the end token. */
static int limit_of(const struct window *w, const struct sentence *s)
{
    const struct target_limit rule = rapt__window_rule(w);
    double limit = (double)rule.per_source * s->count + rule.extra;
    if (w->t->options.search_rules == RAPT_SEARCH_RULES_MARIAN) limit = ceil(limit);
    limit += s->term_tokens;
    if (w->job->options.max_length > 0) limit = fmin(limit, w->job->options.max_length);
    if (limit < 1) return 1;
    return limit < w->t->model->config.positions ? (int)limit : w->t->model->config.positions;
}

size_t rapt__token_capacity(const rapt_translator *t, const rapt_tokenizer *tokenizer,
                            rapt_text text)
{
    return rapt__min_size(rapt_tokenizer_bound(tokenizer, text.size),
                          (size_t)t->model->config.positions);
}

static void lay_out_texts(struct window *w, struct arena *arena)
{
    size_t tokens = 0, given = 0;
    for (int i = 0; i < w->count; i++) {
        tokens += rapt__token_capacity(w->t, w->t->source, w->texts[i]) + 2;
        if (w->prefixes) given += rapt__token_capacity(w->t, w->t->target, w->prefixes[i]);
        given += w->t->target_first >= 0;
    }
    w->ids = rapt__arena_take(arena, tokens, sizeof *w->ids);
    w->ends = rapt__arena_take(arena, w->job->call.alignments ? tokens : 0, sizeof *w->ends);
    w->given = rapt__arena_take(arena, given, sizeof *w->given);
}

rapt_status rapt__window_take_texts(struct window *w)
{
    w->memory.texts.raw = true;
    lay_out_texts(w, &w->memory.texts);
    rapt_status status = rapt__arena_reserve(&w->memory.texts, &w->t->allocator);
    if (!status) lay_out_texts(w, &w->memory.texts);
    return status;
}

/* Returns true if a source has an empty translation because its text consists only of a begin
   token, an end token, or both. One other token, such as a language token, may follow the end
   token. With the search rules MARIAN and HF, such a source is translated nevertheless. */
static bool is_bare(const struct window *w, const int32_t *ids, size_t count)
{
    const rapt_tokenizer *t = w->t->source;
    rapt_search_rules rules = w->t->options.search_rules;
    int32_t begin = rapt_tokenizer_special(t, RAPT_TOKEN_BEGIN);
    int32_t end = rapt_tokenizer_special(t, RAPT_TOKEN_END);
    if (rules == RAPT_SEARCH_RULES_MARIAN || rules == RAPT_SEARCH_RULES_HF) return false;
    if (count == 1) return ids[0] == begin || ids[0] == end;
    if (count > 3) return false;
    size_t counted = count - (ids[0] == begin);
    if (ids[count - 1] == end) return counted == 1;
    return ids[count - 2] == end && counted == 2;
}

/* Writes the tokens of `text` to w->ids + s->start, and sets s->count and s->limit. If the text is
   too long, sets s->count to -1. If there is nothing to translate, leaves both at 0. */
static rapt_status tokenize_source(struct window *w, rapt_text text, struct sentence *s)
{
    const rapt_translator *t = w->t;
    const size_t positions = (size_t)t->model->config.positions, front = rapt__source_front(t);
    int32_t *ids = w->ids + s->start;
    size_t *ends = w->ends ? w->ends + s->start : NULL, count = 0;
    if (text.size == 0) return RAPT_OK;
    rapt_status status =
        rapt__text_encode(t, t->source, text, ids + front, ends ? ends + front : NULL,
                          rapt__token_capacity(t, t->source, text), &count);
    if (status == RAPT_BAD_ARGUMENT || count + rapt__source_more(t) > positions) {
        s->count = -1;
        return RAPT_OK;
    }
    if (status || count == 0 || is_bare(w, ids + front, count)) return status;
    if (ends && front) ends[0] = 0;
    if (ends) ends[front + count] = text.size; /* the end token; a language token may follow */
    count = rapt__source_frame(t, ids, count);
    s->count = (int)count;
    if (s->count > 0) s->limit = limit_of(w, s);
    return RAPT_OK;
}

/* Writes the forced first token of the target, if there is one, and the tokens of a prefix to
   w->given + s->prefix, and counts them in s->prefix_count. Drops spaces at the end of the prefix,
   since they belong to the next word. If there are too many tokens, sets s->count to -1. */
static rapt_status tokenize_prefix(struct window *w, rapt_text text, struct sentence *s)
{
    size_t count = 0;
    const bool named = w->t->target_first >= 0;
    rapt_status status = RAPT_OK;
    while (text.size > 0 && text.bytes[text.size - 1] == ' ') text.size--;
    if ((text.size == 0 && !named) || s->count <= 0) return RAPT_OK;
    if (named) w->given[s->prefix] = w->t->target_first;
    if (text.size)
        status =
            rapt_tokenizer_encode(w->t->target, text, w->given + s->prefix + named, NULL,
                                  rapt__token_capacity(w->t, w->t->target, text), &count, NULL);
    if (status && status != RAPT_BAD_ARGUMENT) return status;
    count += named;
    s->prefix_count = (int)count;
    if (status || count > (size_t)s->limit) s->count = -1, s->limit = s->prefix_count = 0;
    return RAPT_OK;
}

rapt_status rapt__window_tokenize(struct window *w, int number, struct sentence *s,
                                  rapt_message *why)
{
    rapt_status status = rapt__window_terms(w, s, why);
    if (!status) status = tokenize_source(w, w->texts[number], s);
    if (status) return status;
    return tokenize_prefix(w, w->prefixes ? w->prefixes[number] : (rapt_text){"", 0}, s);
}
