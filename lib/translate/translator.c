/* translator.c - creates translators. A translator has a session, a model and tokenizers. It owns
   the model if it loaded the model itself, and the tokenizers if it created them from the model's
   metadata. Also imports and exports models. */
#include "translate/translate.h"

#include "import/import.h"
#include <errno.h>
#include <float.h>
#include <string.h>

static void fill_in(rapt_translator_options *o)
{
    if (!o->beams) o->beams = 5;
    if (!o->nbest) o->nbest = 1;
    if (!o->batch) o->batch = 32;
    if (!o->batch_tokens) o->batch_tokens = 2048;
}

/* Checks options.suppressed_texts. */
static rapt_status check_texts(const rapt_translator_options *o, rapt_message *why)
{
    if (o->suppressed_text_count > 0 && !o->suppressed_texts)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "suppressed_text_count is %zu, but suppressed_texts is NULL",
                          o->suppressed_text_count);
    rapt_status status =
        rapt__texts_check("suppressed_texts", o->suppressed_texts, o->suppressed_text_count, why);
    for (size_t i = 0; i < o->suppressed_text_count && !status; i++) {
        const rapt_text *text = &o->suppressed_texts[i];
        if (text->size == 0 || text->size > GLOSSARY_FORM)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "suppressed_texts[%zu] has %zu bytes; it must have 1 to %d", i,
                              text->size, (int)GLOSSARY_FORM);
        if (rapt_utf8_valid(*text) < text->size)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "suppressed_texts[%zu] is not valid UTF-8",
                              i);
    }
    return status;
}

static rapt_status check_options(const rapt_translator_options *o, rapt_message *why)
{
    const struct {
        const char *name;
        int value, min, max;
    } ranges[] = {
        {"beams", o->beams, 1, MAX_BEAMS},
        {"nbest", o->nbest, 1, o->temperature > 0 ? MAX_BEAMS : o->beams},
        {"batch", o->batch, 1, 1 << 16},
        {"batch_tokens", o->batch_tokens, 1, INT32_MAX},
        {"threads", o->threads, 0, INT32_MAX},
        {"min_length", o->min_length, 0, INT32_MAX},
        {"no_repeat_ngram", o->no_repeat_ngram, 0, INT32_MAX},
        {"max_length", o->max_length, 0, INT32_MAX},
        {"top_k", o->top_k, 0, INT32_MAX},
        {"search_rules", (int)o->search_rules, RAPT_SEARCH_RULES_MODEL, RAPT_SEARCH_RULES_CT2},
        {"preprocess", (int)o->preprocess, 0, RAPT_PREPROCESS_OPUS},
        {"precision", (int)o->precision, RAPT_PRECISION_STORED, RAPT_PRECISION_F16}};
    rapt_status status = RAPT_OK;
    for (size_t i = 0; !status && i < sizeof ranges / sizeof *ranges; i++)
        status =
            rapt__int_check(ranges[i].name, ranges[i].value, ranges[i].min, ranges[i].max, why);
    const struct {
        const char *name;
        float value, max;
    } floats[] = {{"max_length_factor", o->max_length_factor, FLT_MAX},
                  {"temperature", o->temperature, FLT_MAX},
                  {"repetition_penalty", o->repetition_penalty, FLT_MAX},
                  {"coverage_penalty", o->coverage_penalty, FLT_MAX},
                  {"top_p", o->top_p, 1}};
    for (size_t i = 0; !status && i < sizeof floats / sizeof *floats; i++)
        status = rapt__float_check(floats[i].name, floats[i].value, 0, (double)floats[i].max, why);
    if (status) return status;
    status = rapt__float_check("length_penalty", o->length_penalty, -(double)FLT_MAX,
                               (double)FLT_MAX, why);
    return status ? status : check_texts(o, why);
}

/* Copies the caller's options, which may be NULL, fills in defaults and checks them. */
static rapt_status read_options(rapt_translator_options *own,
                                const rapt_translator_options *options, rapt_message *why)
{
    rapt_status status = RAPT_OK;
    *own = (rapt_translator_options){.size = sizeof *own};
    if (options)
        status = rapt__struct_read(own, sizeof *own, options, "rapt_translator_options", why);
    if (status) return status;
    fill_in(own);
    return check_options(own, why);
}

rapt_status rapt__call_options(const rapt_translator *t, const rapt_translator_options *given,
                               rapt_translator_options *own, rapt_message *why)
{
    *own = t->options;
    if (!given) return RAPT_OK;
    rapt_status status = rapt__struct_read(own, sizeof *own, given, "rapt_translator_options", why);
    if (status) return status;
    const char *fixed = own->batch             ? "batch"
                        : own->batch_tokens    ? "batch_tokens"
                        : own->threads         ? "threads"
                        : own->search_rules    ? "search_rules"
                        : own->preprocess      ? "preprocess"
                        : own->precision       ? "precision"
                        : own->bf16_cache      ? "bf16_cache"
                        : own->products        ? "products"
                        : own->source_language ? "source_language"
                        : own->target_language ? "target_language"
                                               : NULL;
    if (fixed)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "options.%s cannot change between calls: it must be 0", fixed);
    own->batch = t->options.batch, own->batch_tokens = t->options.batch_tokens;
    own->threads = t->options.threads, own->search_rules = t->options.search_rules;
    own->preprocess = t->options.preprocess, own->precision = t->options.precision;
    own->bf16_cache = t->options.bf16_cache, own->products = t->options.products;
    if (!own->beams) own->beams = t->options.beams;
    fill_in(own);
    if (own->beams > t->options.beams)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "options.beams is %d; the translator was made for at most %d", own->beams,
                          t->options.beams);
    return check_options(own, why);
}

/* ---- the tokenizers of a model file ---- */

static rapt_status check_vocab(const rapt_tokenizer *tokenizer, const char *name, int vocab,
                               rapt_status otherwise, rapt_message *why)
{
    if (rapt_tokenizer_vocab(tokenizer) == vocab) return RAPT_OK;
    return rapt__fail(why, otherwise, "%s has %d tokens; the model's table has %d", name,
                      rapt_tokenizer_vocab(tokenizer), vocab);
}

/* Creates a tokenizer from the model's metadata. */
static rapt_status tokenizer_of(rapt_tokenizer **tokenizer, const rapt_model *model,
                                const char *key, int vocab, const rapt_allocator *allocator,
                                rapt_message *why)
{
    const char *text = rapt_model_metadata(model, key);
    if (!text)
        return rapt__fail(
            why, RAPT_BAD_FILE,
            "the model has no tokenizer: store the output of rapt_tokenizer_write as metadata "
            "rapt.tokenizer or %s, or pass a tokenizer to rapt_translator_create",
            key);
    rapt_status status = rapt_tokenizer_create(tokenizer, text, strlen(text), allocator, why);
    if (status) return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
    return check_vocab(*tokenizer, key, vocab, RAPT_BAD_FILE, why);
}

/* Creates the tokenizers that the model's metadata contains: one for both sides, or one for
   each. */
static rapt_status load_tokenizers(rapt_translator *t, rapt_message *why)
{
    const rapt_config *c = rapt_model_config(t->model);
    rapt_status status;
    if (rapt_model_metadata(t->model, "rapt.tokenizer")) {
        if (c->source_vocab != c->target_vocab)
            return rapt__fail(why, RAPT_BAD_FILE,
                              "there is one tokenizer, but the vocabularies have %d and %d tokens",
                              c->source_vocab, c->target_vocab);
        status = tokenizer_of(&t->own_source, t->model, "rapt.tokenizer", c->source_vocab,
                              &t->allocator, why);
        t->source = t->target = t->own_source;
        return status;
    }
    status = tokenizer_of(&t->own_source, t->model, "rapt.source_tokenizer", c->source_vocab,
                          &t->allocator, why);
    if (!status)
        status = tokenizer_of(&t->own_target, t->model, "rapt.target_tokenizer", c->target_vocab,
                              &t->allocator, why);
    t->source = t->own_source, t->target = t->own_target;
    return status;
}

/* ---- translators ---- */

int32_t rapt_target_begin(const rapt_model *model, const rapt_tokenizer *target)
{
    static const int specials[] = {[RAPT_DECODER_START_BEGIN] = RAPT_TOKEN_BEGIN,
                                   [RAPT_DECODER_START_END] = RAPT_TOKEN_END,
                                   [RAPT_DECODER_START_PAD] = RAPT_TOKEN_PAD,
                                   [RAPT_DECODER_START_ZERO] = RAPT_TOKEN_END,
                                   [RAPT_DECODER_START_UNKNOWN] = RAPT_TOKEN_UNKNOWN};
    return model ? rapt_tokenizer_special(target, specials[model->config.decoder_start]) : -1;
}

/* Looks up the special tokens of both sides, and lists the suppressed tokens. Returns `otherwise`
   if a special token is missing. */
static rapt_status find_specials(rapt_translator *t, rapt_status otherwise, rapt_message *why)
{
    bool ends = !rapt_model_config(t->model)->no_source_end;
    t->source_end = ends ? rapt_tokenizer_special(t->source, RAPT_TOKEN_END) : -1;
    t->end = rapt_tokenizer_special(t->target, RAPT_TOKEN_END);
    t->begin = rapt_target_begin(t->model, t->target);
    if ((ends && t->source_end < 0) || t->end < 0)
        return rapt__fail(why, otherwise, "the %s tokenizer has no end token (</s>)",
                          ends && t->source_end < 0 ? "source" : "target");
    if (t->begin < 0)
        return rapt__fail(
            why, otherwise, "decoder_start is %s, but the tokenizer has no such token",
            rapt_config_field_at(CONFIG_decoder_start)->word((int)t->model->config.decoder_start));
    return rapt__suppress(t, why);
}

/* Creates a session for a full batch of sentences of typical length. Longer sentences are
   translated in smaller batches with the same memory. */
static rapt_status make_session(rapt_translator *t, rapt_message *why)
{
    rapt_config c = *rapt_model_config(t->model);
    const rapt_translator_options *o = &t->options;
    int positions = c.positions; /* the maximum length of a target to be scored */
    t->target_capacity = 128;
    while (t->target_capacity < positions && (long long)t->target_capacity * o->batch < positions)
        t->target_capacity *= 2;
    if (t->target_capacity > positions) t->target_capacity = positions;
    rapt_limits limits = {.size = sizeof limits,
                          .batch = o->batch,
                          .beams = o->beams,
                          .source_tokens =
                              o->batch_tokens > positions ? o->batch_tokens : positions,
                          .target_length = t->target_capacity,
                          .threads = o->threads,
                          .bf16_cache = o->bf16_cache,
                          .products = o->products};
    return rapt_session_create(&t->session, t->model, &limits, &t->allocator, why);
}

static rapt_status check_kind(const rapt_model *model, rapt_status otherwise, rapt_message *why)
{
    if (rapt_model_config(model)->kind == RAPT_KIND_ENCODER_DECODER) return RAPT_OK;
    return rapt__fail(why, otherwise, "only an encoder-decoder model can translate");
}

/* Completes a translator that has a model and tokenizers. Returns `otherwise` if a tokenizer lacks
   a special token. */
static rapt_status translator_finish(rapt_translator *t, rapt_status otherwise, rapt_message *why)
{
    if (t->defaulted) {
        rapt_translator_options_default(&t->options, sizeof t->options, t->model);
        fill_in(&t->options);
    }
    rapt__follow_project(t);
    rapt_status status = find_specials(t, otherwise, why);
    if (!status) status = rapt__languages_find(t, why);
    return status ? status : make_session(t, why);
}

rapt_status rapt_model_import(rapt_model **model, const char *path, const rapt_allocator *allocator,
                              rapt_message *why)
{
    return rapt_model_import_with(model, path, NULL, NULL, NULL, allocator, why);
}

rapt_status rapt_model_import_with(rapt_model **model, const char *path,
                                   const rapt_load_options *options, rapt_file_fn *file, void *user,
                                   const rapt_allocator *allocator, rapt_message *why)
{
    rapt_load_options own = {.size = sizeof own};
    if (!model || !path)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", model ? "path" : "model");
    rapt_message reason = {""};
    int number = errno;
    rapt_status status = RAPT_OK;
    if (options) status = rapt__struct_read(&own, sizeof own, options, "rapt_load_options", why);
    if (status) return status;
    status = rapt_model_load_with(model, path, &own, allocator, &reason);
    if ((status == RAPT_BAD_FILE || status == RAPT_NO_FILE) && rapt__import_wants(path, allocator))
        status = rapt__import(model, path, own.precision, file, user, allocator, &reason);
    if (status) return rapt__fail(why, status, "%.500s", reason.text);
    errno = number;
    return RAPT_OK;
}

rapt_status rapt_model_export(const rapt_model *model, rapt_export format, const char *folder,
                              rapt_message *why)
{
    return rapt_model_export_with(model, format, folder, NULL, why);
}

rapt_status rapt_model_export_with(const rapt_model *model, rapt_export format, const char *folder,
                                   const rapt_export_options *options, rapt_message *why)
{
    static const enum export_format formats[] = {[RAPT_EXPORT_MARIAN] = EXPORT_MARIAN,
                                                 [RAPT_EXPORT_BERGAMOT] = EXPORT_BERGAMOT,
                                                 [RAPT_EXPORT_HF] = EXPORT_HF,
                                                 [RAPT_EXPORT_CT2] = EXPORT_CT2,
                                                 [RAPT_EXPORT_FIREFOX] = EXPORT_FIREFOX};
    rapt_export_options own = {.size = sizeof own};
    rapt_status status = RAPT_OK;
    if (options) status = rapt__struct_read(&own, sizeof own, options, "rapt_export_options", why);
    if (status) return status;
    if (!model || (!folder && !own.check_only))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", model ? "folder" : "model");
    if ((unsigned)format >= sizeof formats / sizeof *formats)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "format is %d, which is not a rapt_export value",
                          (int)format);
    const struct export_settings settings = {own.source_language, own.target_language,
                                             own.shortlist, own.gzip != 0, own.check_only != 0};
    return rapt__export(model, formats[format], folder, &settings, why);
}

static rapt_status open_file(rapt_translator *t, const char *path, rapt_message *why)
{
    rapt_message reason = {"no memory for its tokenizers"};
    const rapt_load_options load = {.size = sizeof load, .precision = t->options.precision};
    rapt_status status =
        rapt_model_import_with(&t->own_model, path, &load, NULL, NULL, &t->allocator, why);
    if (status) return status;
    t->model = t->own_model;
    status = check_kind(t->model, RAPT_BAD_FILE, &reason);
    if (!status) status = load_tokenizers(t, &reason);
    if (!status) status = translator_finish(t, RAPT_BAD_FILE, &reason);
    return status ? rapt__fail(why, status, "%.200s: %.300s", path, reason.text) : RAPT_OK;
}

rapt_status rapt__check_no_precision(rapt_precision precision, rapt_message *why)
{
    if (!precision) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "options.precision is %d, but the model belongs to the caller: call "
                      "rapt_model_set_precision first",
                      (int)precision);
}

/* Uses the caller's model and tokenizers or, if `source` is NULL, the tokenizers in the model's
   metadata. */
static rapt_status translator_use(rapt_translator *t, const rapt_model *model,
                                  const rapt_tokenizer *source, const rapt_tokenizer *target,
                                  rapt_message *why)
{
    const rapt_config *c = rapt_model_config(model);
    t->model = model, t->source = source, t->target = target ? target : source;
    rapt_status status = rapt__check_no_precision(t->options.precision, why);
    if (!status) status = check_kind(model, RAPT_BAD_ARGUMENT, why);
    if (!status && !source) {
        rapt_message reason = {"no memory for its tokenizers"};
        status = load_tokenizers(t, &reason);
        if (!status) status = translator_finish(t, RAPT_BAD_FILE, &reason);
        return status ? rapt__fail(why, status, "%.500s", reason.text) : RAPT_OK;
    }
    if (!status) status = check_vocab(source, "source", c->source_vocab, RAPT_BAD_ARGUMENT, why);
    if (!status)
        status = check_vocab(t->target, target ? "target" : "source, which is also the target,",
                             c->target_vocab, RAPT_BAD_ARGUMENT, why);
    return status ? status : translator_finish(t, RAPT_BAD_ARGUMENT, why);
}

/* Allocates an empty translator with these options. */
static rapt_status translator_begin(rapt_translator **translator,
                                    const rapt_translator_options *options,
                                    const rapt_allocator *allocator, rapt_message *why)
{
    rapt_translator_options own;
    rapt_status status = read_options(&own, options, why);
    if (status) return status;
    rapt_translator *t = rapt__alloc(allocator, sizeof *t);
    if (!t) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a translator");
    *t = (rapt_translator){
        .allocator = rapt__allocator(allocator), .options = own, .defaulted = !options};
    *translator = t;
    return RAPT_OK;
}

rapt_status rapt_translator_load(rapt_translator **translator, const char *path,
                                 const rapt_translator_options *options,
                                 const rapt_allocator *allocator, rapt_message *why)
{
    rapt_translator *t = NULL;
    if (!translator || !path)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", translator ? "path" : "translator");
    rapt_status status = translator_begin(&t, options, allocator, why);
    if (!t) return status;
    status = open_file(t, path, why);
    if (status)
        rapt_translator_free(t);
    else
        *translator = t;
    return status;
}

rapt_status rapt_translator_create(rapt_translator **translator, const rapt_model *model,
                                   const rapt_tokenizer *source, const rapt_tokenizer *target,
                                   const rapt_translator_options *options,
                                   const rapt_allocator *allocator, rapt_message *why)
{
    rapt_translator *t = NULL;
    if (!translator || !model || (target && !source))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL",
                          !translator ? "translator"
                          : !model    ? "model"
                                      : "source");
    rapt_status status = translator_begin(&t, options, allocator, why);
    if (!t) return status;
    status = translator_use(t, model, source, target, why);
    if (status)
        rapt_translator_free(t);
    else
        *translator = t;
    return status;
}

void rapt_translator_free(rapt_translator *t)
{
    if (!t) return;
    rapt_allocator allocator = t->allocator;
    while (t->calls) rapt__call_end(t, t->calls); /* calls that a callback exited via longjmp() */
    rapt_session_free(t->session);
    rapt_session_free(t->term_session);
    rapt__free(&t->allocator, t->words, (size_t)rapt_tokenizer_vocab(t->target));
    rapt__free(&allocator, t->suppressed, (size_t)t->suppressed_capacity * sizeof *t->suppressed);
    rapt_shortlist_free(t->own_shortlist);
    rapt_tokenizer_free(t->own_target);
    rapt_tokenizer_free(t->own_source);
    rapt_model_free(t->own_model);
    rapt__free(&allocator, t, sizeof *t);
}

rapt_status rapt_translator_set_shortlist(rapt_translator *t, const rapt_shortlist *shortlist,
                                          rapt_message *why)
{
    if (!t) return rapt__fail(why, RAPT_BAD_ARGUMENT, "translator is NULL");
    rapt_status status = RAPT_OK;
    if (shortlist) status = rapt__shortlist_check(shortlist, &t->model->config, why);
    if (!status) t->shortlist = shortlist;
    return status;
}

rapt_status rapt_translator_load_shortlist(rapt_translator *t, const char *path, rapt_message *why)
{
    rapt_shortlist *own = NULL;
    if (!t || !path)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", t ? "path" : "translator");
    rapt_status status = rapt_shortlist_load(&own, path, t->source, t->target, &t->allocator, why);
    if (status) return status;
    rapt_shortlist_free(t->own_shortlist);
    t->shortlist = t->own_shortlist = own;
    return RAPT_OK;
}

const rapt_model *rapt_translator_model(const rapt_translator *t)
{
    return t ? t->model : NULL;
}
const rapt_tokenizer *rapt_translator_source(const rapt_translator *t)
{
    return t ? t->source : NULL;
}
const rapt_tokenizer *rapt_translator_target(const rapt_translator *t)
{
    return t ? t->target : NULL;
}
