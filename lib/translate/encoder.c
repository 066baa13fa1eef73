/* encoder.c - turns texts into vectors or class logits: tokenizes them, truncates long texts, adds
   special tokens, and runs the encoder over batches of texts. */
#include "translate/translate.h"
#include <rapt/encoder.h>

#include <limits.h>
#include <math.h>
#include <string.h>

struct rapt_encoder {
    rapt_allocator allocator;
    rapt_encoder_options options; /* with defaults filled in */
    const rapt_model *model;
    const rapt_tokenizer *tokenizer;
    rapt_model *own_model;         /* NULL if the model belongs to the caller */
    rapt_tokenizer *own_tokenizer; /* NULL if the tokenizer belongs to the caller */
    rapt_session *session;
    int32_t begin, end; /* special tokens around a text; -1 for none */
    int between;        /* number of end tokens between the texts of a pair */
    int capacity;       /* maximum number of tokens in a batch */
    struct arena arena;
    int32_t *ids; /* [capacity] tokens of the batch */
    int32_t *two; /* [max_tokens] tokens of the second text of a pair */
    int *starts;  /* [batch + 1] */
    int count;    /* number of texts in the batch */
};

/* ---- options ---- */

static rapt_status read_encoder_options(rapt_encoder_options *own,
                                        const rapt_encoder_options *options, rapt_message *why)
{
    rapt_status status = RAPT_OK;
    *own = (rapt_encoder_options){.size = sizeof *own};
    if (options) status = rapt__struct_read(own, sizeof *own, options, "rapt_encoder_options", why);
    if (!status) status = rapt__int_check("pooling", (int)own->pooling, 0, RAPT_POOLING_MEAN, why);
    if (!status)
        status = rapt__int_check("normalize", (int)own->normalize, 0, RAPT_NORMALIZE_NO, why);
    if (!status) status = rapt__int_check("max_tokens", own->max_tokens, 0, 1 << 24, why);
    if (!status) status = rapt__int_check("batch", own->batch, 0, 1 << 16, why);
    if (!status) status = rapt__int_check("batch_tokens", own->batch_tokens, 0, 1 << 28, why);
    if (!status) status = rapt__int_check("threads", own->threads, 0, INT32_MAX, why);
    if (!status)
        status = rapt__int_check("precision", (int)own->precision, 0, RAPT_PRECISION_F16, why);
    if (!own->batch) own->batch = 32;
    if (!own->batch_tokens) own->batch_tokens = 2048;
    return status;
}

/* Replaces options that are 0 with values from the model, and limits max_tokens to the model's
   positions. */
static void follow_model(rapt_encoder *e)
{
    const rapt_config *c = &e->model->config;
    rapt_encoder_options *o = &e->options;
    int normalizes = 0;
    rapt__read_count(e->model, NORMALIZE_KEY, 1, &normalizes);
    if (!o->pooling) o->pooling = c->pooling ? c->pooling : RAPT_POOLING_MEAN;
    if (!o->max_tokens) rapt__read_count(e->model, TOKENS_KEY, 1 << 24, &o->max_tokens);
    if (!o->max_tokens || o->max_tokens > c->positions) o->max_tokens = c->positions;
    if (!o->normalize) o->normalize = normalizes ? RAPT_NORMALIZE_YES : RAPT_NORMALIZE_NO;
}

/* ---- creation ---- */

static rapt_status check_encodes(const rapt_encoder *e, rapt_status otherwise, rapt_message *why)
{
    const rapt_config *c = &e->model->config;
    if (!c->source_vocab)
        return rapt__fail(why, otherwise, "the model has no encoder that reads tokens");
    if (!e->tokenizer || rapt_tokenizer_vocab(e->tokenizer) == c->source_vocab) return RAPT_OK;
    return rapt__fail(why, otherwise, "the tokenizer has %d tokens; the model's table has %d",
                      rapt_tokenizer_vocab(e->tokenizer), c->source_vocab);
}

static rapt_status open_tokenizer(rapt_encoder *e, rapt_message *why)
{
    const char *text = rapt_model_metadata(e->model, "rapt.tokenizer");
    if (!text) text = rapt_model_metadata(e->model, "rapt.source_tokenizer");
    if (!text)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "the model has no tokenizer: store the output of rapt_tokenizer_write as "
                          "metadata rapt.tokenizer, or pass a tokenizer to rapt_encoder_create");
    rapt_status status =
        rapt_tokenizer_create(&e->own_tokenizer, text, strlen(text), &e->allocator, why);
    e->tokenizer = e->own_tokenizer;
    return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
}

/* Looks up the special tokens around a text, and checks that max_tokens leaves room for other
   tokens. */
static rapt_status find_around(rapt_encoder *e, rapt_status otherwise, rapt_message *why)
{
    const bool ends = !e->model->config.no_source_end;
    int begins = 0;
    rapt__read_count(e->model, BEGIN_KEY, 1, &begins);
    e->begin = begins ? rapt_tokenizer_special(e->tokenizer, RAPT_TOKEN_BEGIN) : -1;
    e->end = ends ? rapt_tokenizer_special(e->tokenizer, RAPT_TOKEN_END) : -1;
    if ((begins && e->begin < 0) || (ends && e->end < 0))
        return rapt__fail(why, otherwise, "the tokenizer has no %s token",
                          begins && e->begin < 0 ? "begin" : "end");
    e->between = 1;
    rapt__read_count(e->model, PAIR_KEY, 2, &e->between);
    const int around = begins + (e->between + 1) * ends;
    if (e->options.max_tokens > around) return RAPT_OK;
    return rapt__fail(why, otherwise,
                      "max_tokens is %d, but must exceed %d, the number of special tokens added to "
                      "a pair of texts",
                      e->options.max_tokens, around);
}

static void lay_out_encoder(rapt_encoder *e, struct arena *arena)
{
    e->ids = rapt__arena_take(arena, (size_t)e->capacity, sizeof *e->ids);
    e->two = rapt__arena_take(arena, (size_t)e->options.max_tokens, sizeof *e->two);
    e->starts = rapt__arena_take(arena, (size_t)e->options.batch + 1, sizeof *e->starts);
}

static rapt_status make_memory(rapt_encoder *e, rapt_message *why)
{
    const rapt_encoder_options *o = &e->options;
    e->capacity = rapt__max(o->batch_tokens, o->max_tokens);
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = o->batch,
                                .source_tokens = e->capacity,
                                .target_length = 1,
                                .threads = o->threads,
                                .products = o->products};
    lay_out_encoder(e, &e->arena);
    if (rapt__arena_reserve(&e->arena, &e->allocator))
        return rapt__fail(why, RAPT_NO_MEMORY, "no memory for an encoder");
    lay_out_encoder(e, &e->arena);
    e->starts[0] = 0;
    return rapt_session_create(&e->session, e->model, &limits, &e->allocator, why);
}

/* Completes an encoder that has a model. */
static rapt_status encoder_finish(rapt_encoder *e, rapt_status otherwise, rapt_message *why)
{
    rapt_status status = e->tokenizer ? RAPT_OK : open_tokenizer(e, why);
    if (!status) status = check_encodes(e, otherwise, why);
    if (status) return status;
    follow_model(e);
    status = find_around(e, otherwise, why);
    return status ? status : make_memory(e, why);
}

static rapt_status encoder_begin(rapt_encoder **encoder, const rapt_encoder_options *options,
                                 const rapt_allocator *allocator, rapt_message *why)
{
    rapt_encoder_options own;
    rapt_status status = read_encoder_options(&own, options, why);
    if (status) return status;
    rapt_encoder *e = rapt__alloc(allocator, sizeof *e);
    if (!e) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for an encoder");
    *e = (rapt_encoder){.allocator = rapt__allocator(allocator), .options = own};
    *encoder = e;
    return RAPT_OK;
}

static rapt_status encoder_open(rapt_encoder *e, const char *path, rapt_message *why)
{
    rapt_message reason = {"no memory for its tokenizer"};
    const rapt_load_options load = {.size = sizeof load, .precision = e->options.precision};
    rapt_status status =
        rapt_model_import_with(&e->own_model, path, &load, NULL, NULL, &e->allocator, why);
    if (status) return status;
    e->model = e->own_model;
    status = encoder_finish(e, RAPT_BAD_FILE, &reason);
    return status ? rapt__fail(why, status, "%.200s: %.300s", path, reason.text) : RAPT_OK;
}

rapt_status rapt_encoder_load(rapt_encoder **encoder, const char *path,
                              const rapt_encoder_options *options, const rapt_allocator *allocator,
                              rapt_message *why)
{
    rapt_encoder *e = NULL;
    if (!encoder || !path)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", encoder ? "path" : "encoder");
    rapt_status status = encoder_begin(&e, options, allocator, why);
    if (!e) return status;
    status = encoder_open(e, path, why);
    if (status)
        rapt_encoder_free(e);
    else
        *encoder = e;
    return status;
}

rapt_status rapt_encoder_create(rapt_encoder **encoder, const rapt_model *model,
                                const rapt_tokenizer *tokenizer,
                                const rapt_encoder_options *options,
                                const rapt_allocator *allocator, rapt_message *why)
{
    rapt_encoder *e = NULL;
    if (!encoder || !model)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", encoder ? "model" : "encoder");
    rapt_status status = encoder_begin(&e, options, allocator, why);
    if (!e) return status;
    e->model = model, e->tokenizer = tokenizer;
    status = rapt__check_no_precision(e->options.precision, why);
    if (!status) status = encoder_finish(e, RAPT_BAD_ARGUMENT, why);
    if (status)
        rapt_encoder_free(e);
    else
        *encoder = e;
    return status;
}

void rapt_encoder_free(rapt_encoder *e)
{
    if (!e) return;
    rapt_allocator allocator = e->allocator;
    rapt_session_free(e->session);
    rapt__arena_free(&e->arena, &allocator);
    rapt_tokenizer_free(e->own_tokenizer);
    rapt_model_free(e->own_model);
    rapt__free(&allocator, e, sizeof *e);
}

const rapt_model *rapt_encoder_model(const rapt_encoder *e)
{
    return e ? e->model : NULL;
}

const rapt_tokenizer *rapt_encoder_tokenizer(const rapt_encoder *e)
{
    return e ? e->tokenizer : NULL;
}

/* ---- texts ---- */

/* Encodes a text into ids [capacity], truncating it if necessary. Sets *count to the number of
   tokens in the whole text, but at most INT_MAX / 4. */
static rapt_status cut_tokens(const rapt_encoder *e, rapt_text text, int32_t *ids, int capacity,
                              int *count, rapt_message *why)
{
    size_t needed = 0;
    *count = 0;
    if (text.size == 0) return RAPT_OK;
    rapt_status status =
        rapt_tokenizer_encode(e->tokenizer, text, ids, NULL, (size_t)capacity, &needed, why);
    const bool cut = status == RAPT_BAD_ARGUMENT && needed > (size_t)capacity;
    if (status && !cut) return status;
    *count = needed < INT_MAX / 4 ? (int)needed : INT_MAX / 4;
    return RAPT_OK;
}

/* Returns the number of tokens to keep from the first text of a pair that may have at most `max`
   tokens in total. The shorter text is truncated only if both have more than max / 2 tokens. */
static int first_share(int first, int second, int max)
{
    if (first + second <= max) return first;
    const int shorter = rapt__min(first, second), half = max / 2;
    if (shorter <= half) return first <= second ? first : max - second;
    return first <= second ? half : max - half;
}

/* Adds a text, or a pair, to the batch, which must have room for max_tokens more tokens. */
static rapt_status add_text(rapt_encoder *e, rapt_text text, const rapt_text *second,
                            rapt_message *why)
{
    const int max = e->options.max_tokens, types = e->model->config.token_types;
    int32_t *ids = e->ids + e->starts[e->count];
    int n = 0, first, other = 0;
    const int between = second ? e->between : 1, ends = between + (second != NULL);
    const int room = max - (e->begin >= 0) - (e->end >= 0 ? ends : 0);
    if (e->begin >= 0) ids[n++] = e->begin;
    rapt_status status = cut_tokens(e, text, ids + n, room, &first, why);
    if (!status && second) status = cut_tokens(e, *second, e->two, room, &other, why);
    if (status) return status;
    const int keep = first_share(first, other, room);
    other = rapt__min(other, room - keep), n += keep;
    for (int k = 0; k < between && e->end >= 0; k++) ids[n++] = e->end;
    /* RoBERTa has no token types for pairs; it separates the two texts with two end tokens. */
    const int32_t shift = types > 1 && e->between == 1 ? e->model->config.source_vocab : 0;
    for (int t = 0; t < other; t++) ids[n++] = e->two[t] + shift;
    if (second && e->end >= 0) ids[n++] = e->end + shift;
    e->starts[e->count + 1] = e->starts[e->count] + n;
    e->count++;
    return RAPT_OK;
}

static bool batch_is_full(const rapt_encoder *e)
{
    return e->count == e->options.batch ||
           e->starts[e->count] + e->options.max_tokens > e->capacity;
}

/* Copies vectors, dividing each by its L2 norm if the options request it. A vector of zeros is
   copied unchanged. */
static void copy_vectors(const rapt_encoder *e, const float *from, float *to)
{
    const int width = e->model->config.width;
    for (int i = 0; i < e->count; i++, from += width, to += width) {
        double sum = 0;
        for (int j = 0; j < width; j++) sum += (double)from[j] * (double)from[j];
        const bool divide = e->options.normalize == RAPT_NORMALIZE_YES && sum > 0;
        const double norm = divide ? sqrt(sum) : 1;
        for (int j = 0; j < width; j++) to[j] = (float)((double)from[j] / norm);
    }
}

/* The results of a call: vectors, or logits if `classify` is set. */
struct wanted {
    bool classify;
    float *out;
    size_t width;
};

/* Runs the model on the batch, writes the results to the output from row `first` on, and empties
   the batch. */
static rapt_status run_encoder(rapt_encoder *e, const struct wanted *w, size_t first,
                               rapt_message *why)
{
    const rapt_tokens tokens = {.batch = e->count, .ids = e->ids, .starts = e->starts};
    const float *rows = NULL;
    float *to = w->out + first * w->width;
    rapt_status status = w->classify
                             ? rapt_classify(e->session, &tokens, &rows, why)
                             : rapt_embed(e->session, &tokens, e->options.pooling, &rows, why);
    if (!status && w->classify) memcpy(to, rows, (size_t)e->count * w->width * sizeof *to);
    if (!status && !w->classify) copy_vectors(e, rows, to);
    e->count = 0;
    return status;
}

static rapt_status encode_texts(rapt_encoder *e, const struct wanted *w, const rapt_text *texts,
                                const rapt_text *seconds, size_t count, rapt_message *why)
{
    rapt_message reason = {"out of memory"};
    rapt_status status = RAPT_OK;
    size_t first = 0; /* first text of the batch */
    e->count = 0;
    for (size_t i = 0; i < count && !status; i++) {
        status = add_text(e, texts[i], seconds ? &seconds[i] : NULL, &reason);
        if (status) return rapt__fail(why, status, "text %zu: %.400s", i, reason.text);
        if (!batch_is_full(e) && i + 1 < count) continue;
        status = run_encoder(e, w, first, why);
        first = i + 1;
    }
    return status;
}

rapt_status rapt_encoder_embed(rapt_encoder *e, const rapt_text *texts, size_t count,
                               float *vectors, rapt_message *why)
{
    if (!e || (count && (!texts || !vectors)))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL",
                          !e       ? "encoder"
                          : !texts ? "texts"
                                   : "vectors");
    const struct wanted w = {false, vectors, (size_t)e->model->config.width};
    rapt_status status = rapt__texts_check("texts", texts, count, why);
    return status ? status : encode_texts(e, &w, texts, NULL, count, why);
}

rapt_status rapt_encoder_classify(rapt_encoder *e, const rapt_text *texts, const rapt_text *seconds,
                                  size_t count, float *logits, rapt_message *why)
{
    if (!e || (count && (!texts || !logits)))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL",
                          !e       ? "encoder"
                          : !texts ? "texts"
                                   : "logits");
    const rapt_config *c = &e->model->config;
    if (c->kind != RAPT_KIND_ENCODER_ONLY || !c->pooling || !c->target_vocab)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "the model does not compute one row of logits per text: %s",
                          c->kind != RAPT_KIND_ENCODER_ONLY ? "it has a decoder"
                          : c->target_vocab                 ? "it computes one per token"
                                                            : "it has no output matrix");
    const struct wanted w = {true, logits, (size_t)c->target_vocab};
    rapt_status status = rapt__texts_check("texts", texts, count, why);
    if (!status && seconds) status = rapt__texts_check("seconds", seconds, count, why);
    return status ? status : encode_texts(e, &w, texts, seconds, count, why);
}
