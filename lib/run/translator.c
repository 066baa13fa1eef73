/* translator.c - a model file in, a translator out: the model, the tokenizers from its metadata,
   and a session. */
#include "run/translator.h"

#include <math.h>
#include <string.h>

static void fill_in(rapt_translator_options *o)
{
    if (!o->beams) o->beams = 5;
    if (!o->nbest) o->nbest = 1;
    if (!o->batch) o->batch = 32;
    if (!o->batch_tokens) o->batch_tokens = 2048;
}

static rapt_status check_options(const rapt_translator_options *o, rapt_message *why)
{
    if (o->beams < 1 || o->beams > 1024 || o->nbest < 1 || o->nbest > o->beams)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "beams %d, nbest %d: nbest is 1 to beams",
                          o->beams, o->nbest);
    if (!isfinite(o->length_penalty))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "length_penalty is not finite");
    if (o->batch < 1 || o->batch > 1 << 16 || o->batch_tokens < 1 || o->threads < 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "batch %d, batch_tokens %d, threads %d", o->batch,
                          o->batch_tokens, o->threads);
    return RAPT_OK;
}

static rapt_status tokenizer_of(rapt_tokenizer **tokenizer, const rapt_model *model,
                                const char *key, int vocab, const rapt_allocator *allocator,
                                rapt_message *why)
{
    const char *text = rapt_model_metadata(model, key);
    if (!text)
        return rapt__fail(why, RAPT_BAD_FILE, "the model has no tokenizer: no metadata %s", key);
    rapt_status status = rapt_tokenizer_create(tokenizer, text, strlen(text), allocator, why);
    if (status) return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
    if (rapt_tokenizer_vocab(*tokenizer) != vocab)
        return rapt__fail(why, RAPT_BAD_FILE, "%s has %d tokens, the model's table %d", key,
                          rapt_tokenizer_vocab(*tokenizer), vocab);
    return RAPT_OK;
}

static rapt_status load_tokenizers(rapt_translator *t, rapt_message *why)
{
    rapt_config c = *rapt_model_config(t->model);
    if (c.kind != RAPT_KIND_ENCODER_DECODER)
        return rapt__fail(why, RAPT_BAD_FILE, "it is not an encoder-decoder model");
    if (rapt_model_metadata(t->model, "rapt.tokenizer")) {
        if (c.source_vocab != c.target_vocab)
            return rapt__fail(why, RAPT_BAD_FILE, "one tokenizer, but two vocabularies: %d and %d",
                              c.source_vocab, c.target_vocab);
        rapt_status status = tokenizer_of(&t->source, t->model, "rapt.tokenizer", c.source_vocab,
                                          &t->allocator, why);
        t->target = t->source;
        return status;
    }
    rapt_status status = tokenizer_of(&t->source, t->model, "rapt.source_tokenizer", c.source_vocab,
                                      &t->allocator, why);
    if (status) return status;
    return tokenizer_of(&t->target, t->model, "rapt.target_tokenizer", c.target_vocab,
                        &t->allocator, why);
}

/* The special tokens of both sides. */
static rapt_status find_specials(rapt_translator *t, rapt_message *why)
{
    int32_t pad = rapt_tokenizer_special(t->target, RAPT_TOKEN_PAD);
    t->source_end = rapt_tokenizer_special(t->source, RAPT_TOKEN_END);
    t->begin = rapt_tokenizer_special(t->target, RAPT_TOKEN_BEGIN);
    t->end = rapt_tokenizer_special(t->target, RAPT_TOKEN_END);
    if (t->source_end < 0 || t->end < 0)
        return rapt__fail(why, RAPT_BAD_FILE, "the tokenizer of the %s has no end token (</s>)",
                          t->source_end < 0 ? "source" : "target");
    if (pad >= 0) t->suppressed[t->suppressed_count++] = pad;
    if (t->begin != t->end) t->suppressed[t->suppressed_count++] = t->begin;
    return RAPT_OK;
}

/* A session for a full batch of usual sentences; a longer sentence, or one of more
   tokens than a batch may have, is translated in a smaller batch in the same memory. */
static rapt_status make_session(rapt_translator *t, rapt_message *why)
{
    rapt_config c = *rapt_model_config(t->model);
    const rapt_translator_options *o = &t->options;
    int positions = c.positions, longest = TARGET_PER_SOURCE * positions + TARGET_EXTRA;
    if (longest > positions) longest = positions;
    t->target_capacity = 128;
    while (t->target_capacity < longest && (long long)t->target_capacity * o->batch < longest)
        t->target_capacity *= 2;
    if (t->target_capacity > positions) t->target_capacity = positions;
    rapt_limits limits = {.size = sizeof limits,
                          .batch = o->batch,
                          .beams = o->beams,
                          .source_tokens =
                              o->batch_tokens > positions ? o->batch_tokens : positions,
                          .target_length = t->target_capacity,
                          .threads = o->threads};
    return rapt_session_create(&t->session, t->model, &limits, &t->allocator, why);
}

rapt_status rapt_translator_load(rapt_translator **translator, const char *path,
                                 const rapt_translator_options *options,
                                 const rapt_allocator *allocator, rapt_message *why)
{
    rapt_translator_options own = {.size = sizeof own};
    rapt_status status = RAPT_OK;
    if (!translator || !path)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: NULL", translator ? "path" : "translator");
    if (options)
        status = rapt__struct_read(&own, sizeof own, options, "rapt_translator_options", why);
    if (status) return status;
    fill_in(&own);
    status = check_options(&own, why);
    if (status) return status;
    rapt_translator *t = rapt__alloc(allocator, sizeof *t);
    if (!t) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a translator");
    *t = (rapt_translator){.allocator = rapt__allocator(allocator), .options = own};
    rapt_message reason = {"no memory for its tokenizers"};
    status = rapt_model_load(&t->model, path, allocator, why);
    if (!status) {
        status = load_tokenizers(t, &reason);
        if (!status) status = find_specials(t, &reason);
        if (!status) status = make_session(t, &reason);
        if (status) rapt__fail(why, status, "%.200s: %.300s", path, reason.text);
    }
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
    rapt_session_free(t->session);
    if (t->target != t->source) rapt_tokenizer_free(t->target);
    rapt_tokenizer_free(t->source);
    rapt_model_free(t->model);
    rapt__free(&allocator, t, sizeof *t);
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
