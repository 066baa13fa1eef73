/* calls_import.h - calls of the public functions that import and export models, for calls.c. */
#ifndef RAPT_TESTS_API_CALLS_IMPORT_H
#define RAPT_TESTS_API_CALLS_IMPORT_H

#include "api/calls_text.h"
#include <sys/stat.h>

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

#endif
