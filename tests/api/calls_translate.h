/* calls_translate.h - one call of each public function of encoder.h, shortlist.h and glossary.h,
   and of those that import and export models, for calls.c. */
#ifndef RAPT_TESTS_API_CALLS_TRANSLATE_H
#define RAPT_TESTS_API_CALLS_TRANSLATE_H

#include "api/calls_text.h"
#include "api/small_world.h"

#include <sys/stat.h>

/* ---- import and export ---- */

/* Creates a model that Marian can represent, with a SentencePiece tokenizer. */
static rapt_model *exportable(void)
{
    static char bytes[1 << 16], text[256];
    const rapt_config c = {.size = sizeof c,
                           .source_vocab = 3,
                           .target_vocab = 3,
                           .positions = 8,
                           .width = 4,
                           .heads = 1,
                           .ffn_width = 4,
                           .encoder_layers = 1,
                           .decoder_layers = 1,
                           .norm_epsilon = 1e-6f,
                           .position = RAPT_POSITION_CONCATENATED_N1,
                           .decoder_start = RAPT_DECODER_START_ZERO};
    const rapt_metadata note = {"rapt.tokenizer", text};
    rapt_tokenizer *tokenizer = NULL;
    rapt_model *model = NULL, *with_tokenizer = NULL;
    size_t size;
    static const char spm[] = "\x0A\x08\x0A\x04</s>\x18\x03" /* </s>, <unk>, a */
                              "\x0A\x09\x0A\x05<unk>\x18\x02\x0A\x05\x0A\x01"
                              "a\x18\x01";
    assert_int_equal(rapt_tokenizer_load_memory(&tokenizer, spm, sizeof spm - 1, NULL, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_tokenizer_write(tokenizer, text, sizeof text, &size, NULL), RAPT_OK);
    assert_int_equal(rapt_model_create(&model, &c, 1, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_model_save_memory(model, bytes, sizeof bytes, &size, &note, 1, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_model_load_memory(&with_tokenizer, bytes, size, NULL, NULL, NULL),
                     RAPT_OK);
    rapt_model_free(model);
    rapt_tokenizer_free(tokenizer);
    return with_tokenizer;
}

static rapt_status export_to(struct world *w, int null, bool with, rapt_message *why)
{
    char folder[300], path[320];
    const rapt_export_options options = {.size = sizeof options};
    int number = errno;
    snprintf(folder, sizeof folder, "%s.export", w->path[2]);
    mkdir(folder, 0700);
    rapt_model *model = exportable();
    errno = number;
    rapt_status status =
        with
            ? rapt_model_export_with(arg(null, 0, model), RAPT_EXPORT_MARIAN, arg(null, 1, folder),
                                     arg(null, 2, &options), why)
            : rapt_model_export(arg(null, 0, model), RAPT_EXPORT_MARIAN, arg(null, 1, folder), why);
    number = errno;
    snprintf(path, sizeof path, "%s/model.bin", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/vocab.spm", folder);
    unlink(path);
    rmdir(folder);
    rapt_model_free(model);
    errno = number;
    return status;
}

static rapt_status model_export(struct world *w, int null, rapt_message *why)
{
    return export_to(w, null, false, why);
}

static rapt_status model_export_with(struct world *w, int null, rapt_message *why)
{
    return export_to(w, null, true, why);
}

static void visit_file(void *user, const char *name, rapt_file_use use, const char *reason)
{
    (void)user, (void)name, (void)use, (void)reason;
}

static rapt_status model_import_with(struct world *w, int null, rapt_message *why)
{
    rapt_model *made = NULL;
    rapt_load_options options = {.size = sizeof options};
    rapt_file_fn *file = null == 3 ? NULL : visit_file;
    rapt_status status = rapt_model_import_with(arg(null, 0, &made), arg(null, 1, w->path[0]),
                                                arg(null, 2, &options), file, arg(null, 4, w),
                                                arg(null, 5, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_model_free(made);
    return status;
}

static rapt_status model_calibrate(struct world *w, int null, rapt_message *why)
{
    int number = errno;
    rapt_model *model = exportable();
    errno = number;
    rapt_status status =
        rapt_model_calibrate(arg(null, 0, model), arg(null, 1, w->texts), COUNT(w->texts), 1, why);
    number = errno;
    rapt_model_free(model);
    errno = number;
    return status;
}

static rapt_status model_import(struct world *w, int null, rapt_message *why)
{
    rapt_model *made = NULL;
    rapt_status status = rapt_model_import(arg(null, 0, &made), arg(null, 1, w->path[0]),
                                           arg(null, 2, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_model_free(made);
    return status;
}

/* ---- encoder.h ---- */

static rapt_status encoder_load(struct world *w, int null, rapt_message *why)
{
    const rapt_encoder_options options = {.size = sizeof options};
    rapt_encoder *made = NULL;
    rapt_status status =
        rapt_encoder_load(arg(null, 0, &made), arg(null, 1, w->path[0]), arg(null, 2, &options),
                          arg(null, 3, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_encoder_free(made);
    return status;
}

/* With the tokenizer NULL, the model has to have one in its metadata. */
static rapt_status encoder_create(struct world *w, int null, rapt_message *why)
{
    const rapt_encoder_options options = {.size = sizeof options};
    const rapt_model *model = rapt_translator_model(w->translator);
    rapt_encoder *made = NULL;
    rapt_status status = rapt_encoder_create(
        arg(null, 0, &made), arg(null, 1, (void *)(uintptr_t)model), arg(null, 2, w->tokenizer),
        arg(null, 3, &options), arg(null, 4, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_encoder_free(made);
    return status;
}

static rapt_encoder *world_encoder(const struct world *w)
{
    rapt_encoder *made = NULL;
    assert_int_equal(rapt_encoder_load(&made, w->path[0], NULL, NULL, NULL), RAPT_OK);
    return made;
}

static rapt_status encoder_free(struct world *w, int null, rapt_message *why)
{
    (void)why;
    rapt_encoder *made = world_encoder(w);
    rapt_encoder_free(arg(null, 0, made));
    if (null == 0) rapt_encoder_free(made);
    return RAPT_OK;
}

static rapt_status encoder_model(struct world *w, int null, rapt_message *why)
{
    (void)why;
    rapt_encoder *made = world_encoder(w);
    const rapt_model *model = rapt_encoder_model(arg(null, 0, made));
    rapt_encoder_free(made);
    return found(model != NULL);
}

static rapt_status encoder_tokenizer(struct world *w, int null, rapt_message *why)
{
    (void)why;
    rapt_encoder *made = world_encoder(w);
    const rapt_tokenizer *tokenizer = rapt_encoder_tokenizer(arg(null, 0, made));
    rapt_encoder_free(made);
    return found(tokenizer != NULL);
}

static rapt_status encoder_embed(struct world *w, int null, rapt_message *why)
{
    rapt_encoder *made = world_encoder(w);
    rapt_status status = rapt_encoder_embed(arg(null, 0, made), arg(null, 1, w->texts), 2,
                                            arg(null, 2, w->logits), why);
    rapt_encoder_free(made);
    return status;
}

static rapt_status encoder_classify(struct world *w, int null, rapt_message *why)
{
    rapt_config c = w->config;
    rapt_model *model;
    rapt_encoder *made;
    c.kind = RAPT_KIND_ENCODER_ONLY, c.decoder_layers = 0, c.pooling = RAPT_POOLING_FIRST;
    assert_int_equal(rapt_model_create(&model, &c, 1, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_encoder_create(&made, model, w->tokenizer, NULL, NULL, NULL), RAPT_OK);
    rapt_status status =
        rapt_encoder_classify(arg(null, 0, made), arg(null, 1, w->texts), arg(null, 2, w->targets),
                              2, arg(null, 3, w->logits), why);
    rapt_encoder_free(made);
    rapt_model_free(model);
    return status;
}

/* ---- shortlist: one call of each function of shortlist.h and glossary.h, for calls.c. ---- */

static const rapt_lexical_pair lexical_pairs[] = {{5, 6, 0.5f}, {5, 7, 0.25f}, {9, 6, 1}};

static rapt_shortlist *some_shortlist(const struct world *w)
{
    rapt_shortlist *made = NULL;
    assert_int_equal(rapt_shortlist_create(&made, lexical_pairs, COUNT(lexical_pairs), 4, 2,
                                           w->tokenizer, w->tokenizer, NULL, NULL),
                     RAPT_OK);
    return made;
}

static rapt_status shortlist_load(struct world *w, int null, rapt_message *why)
{
    rapt_shortlist *made = NULL, *some = some_shortlist(w);
    int number = errno;
    assert_int_equal(rapt_shortlist_write(some, w->path[2], NULL), RAPT_OK);
    errno = number;
    rapt_status status = rapt_shortlist_load(arg(null, 0, &made), arg(null, 1, w->path[2]),
                                             arg(null, 2, w->tokenizer), arg(null, 3, w->tokenizer),
                                             arg(null, 4, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    number = errno;
    unlink(w->path[2]);
    errno = number;
    rapt_shortlist_free(made);
    rapt_shortlist_free(some);
    return status;
}

static rapt_status shortlist_load_memory(struct world *w, int null, rapt_message *why)
{
    rapt_shortlist *made = NULL;
    rapt_status status = rapt_shortlist_load_memory(
        arg(null, 0, &made), arg(null, 1, "a b 0.5\n"), 8, arg(null, 2, w->tokenizer),
        arg(null, 3, w->tokenizer), arg(null, 4, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_shortlist_free(made);
    return status;
}

static rapt_status shortlist_create(struct world *w, int null, rapt_message *why)
{
    rapt_shortlist *made = NULL;
    rapt_status status = rapt_shortlist_create(
        arg(null, 0, &made), arg(null, 1, lexical_pairs), COUNT(lexical_pairs), 4, 2,
        arg(null, 2, w->tokenizer), arg(null, 3, w->tokenizer), arg(null, 4, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_shortlist_free(made);
    return status;
}

static rapt_status shortlist_source_vocab(struct world *w, int null, rapt_message *why)
{
    rapt_shortlist *some = some_shortlist(w);
    (void)why;
    int vocab = rapt_shortlist_source_vocab(arg(null, 0, some));
    rapt_shortlist_free(some);
    return found(vocab == SMALL_VOCAB);
}

static rapt_status shortlist_target_vocab(struct world *w, int null, rapt_message *why)
{
    rapt_shortlist *some = some_shortlist(w);
    (void)why;
    int vocab = rapt_shortlist_target_vocab(arg(null, 0, some));
    rapt_shortlist_free(some);
    return found(vocab == SMALL_VOCAB);
}

static rapt_status shortlist_free(struct world *w, int null, rapt_message *why)
{
    rapt_shortlist *some = some_shortlist(w);
    (void)why;
    rapt_shortlist_free(arg(null, 0, some));
    if (null == 0) rapt_shortlist_free(some);
    return RAPT_OK;
}

static rapt_status shortlist_write(struct world *w, int null, rapt_message *why)
{
    rapt_shortlist *some = some_shortlist(w);
    int number = errno;
    rapt_status status = rapt_shortlist_write(arg(null, 0, some), arg(null, 1, w->path[2]), why);
    number = status ? number : errno;
    unlink(w->path[2]);
    errno = number;
    rapt_shortlist_free(some);
    return status;
}

static rapt_status shortlist_tokens(struct world *w, int null, rapt_message *why)
{
    rapt_shortlist *some = some_shortlist(w);
    int count;
    rapt_status status =
        rapt_shortlist_tokens(arg(null, 0, some), arg(null, 1, world_ids), 4, arg(null, 2, w->ids),
                              COUNT(w->ids), arg(null, 3, &count), why);
    rapt_shortlist_free(some);
    return status;
}

static rapt_status translator_load_shortlist(struct world *w, int null, rapt_message *why)
{
    rapt_shortlist *some = some_shortlist(w);
    int number = errno;
    assert_int_equal(rapt_shortlist_write(some, w->path[2], NULL), RAPT_OK);
    errno = number;
    rapt_status status =
        rapt_translator_load_shortlist(arg(null, 0, w->translator), arg(null, 1, w->path[2]), why);
    number = errno;
    unlink(w->path[2]);
    errno = number;
    rapt_translator_set_shortlist(w->translator, NULL, NULL);
    rapt_shortlist_free(some);
    return status;
}

static rapt_status translator_set_shortlist(struct world *w, int null, rapt_message *why)
{
    rapt_shortlist *some = some_shortlist(w);
    rapt_status status =
        rapt_translator_set_shortlist(arg(null, 0, w->translator), arg(null, 1, some), why);
    rapt_translator_set_shortlist(w->translator, NULL, NULL);
    rapt_shortlist_free(some);
    return status;
}

/* ---- glossary.h ---- */

static rapt_glossary *some_glossary(void)
{
    rapt_glossary *made = NULL;
    assert_int_equal(rapt_glossary_create(&made, (rapt_text){"a\tb\nc\td\n", 8}, NULL, NULL),
                     RAPT_OK);
    return made;
}

static rapt_status glossary_create(struct world *w, int null, rapt_message *why)
{
    rapt_glossary *made = NULL;
    rapt_status status = rapt_glossary_create(
        arg(null, 0, &made), null == 1 ? (rapt_text){NULL, 4} : (rapt_text){"a\tb\n", 4},
        arg(null, 2, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_glossary_free(made);
    return status;
}

static rapt_status glossary_count(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    rapt_glossary *some = some_glossary();
    const size_t count = rapt_glossary_count(arg(null, 0, some));
    rapt_glossary_free(some);
    return found(count == 2);
}

static rapt_status glossary_free(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    rapt_glossary *some = some_glossary();
    rapt_glossary_free(arg(null, 0, some));
    if (null == 0) rapt_glossary_free(some);
    return RAPT_OK;
}

#endif
