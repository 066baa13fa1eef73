/* calls_text.h - one call of each public function of text.h, metrics.h, translator.h and
   document.h, for
   calls.c. */
#ifndef RAPT_TESTS_API_CALLS_TEXT_H
#define RAPT_TESTS_API_CALLS_TEXT_H

#include "api/small_world.h"
#include <errno.h>

/* ---- text.h ---- */

static rapt_status tokenizer_learn(struct world *w, int null, rapt_message *why)
{
    rapt_tokenizer *made = NULL;
    rapt_status status =
        rapt_tokenizer_learn(arg(null, 0, &made), arg(null, 1, w->texts), COUNT(w->texts),
                             SMALL_VOCAB, arg(null, 2, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_tokenizer_free(made);
    return status;
}

static rapt_status tokenizer_write(struct world *w, int null, rapt_message *why)
{
    return rapt_tokenizer_write(arg(null, 0, w->tokenizer), arg(null, 1, w->written),
                                sizeof w->written, arg(null, 2, &w->written_size), why);
}

static rapt_status tokenizer_create(struct world *w, int null, rapt_message *why)
{
    rapt_tokenizer *made = NULL;
    rapt_status status =
        rapt_tokenizer_create(arg(null, 0, &made), arg(null, 1, w->written), w->written_size - 1,
                              arg(null, 2, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_tokenizer_free(made);
    return status;
}

/* A SentencePiece model: the unknown piece, and "a" with the score -1. */
static const char smallest_spm[] = "\x0A\x09\x0A\x05<unk>\x18\x02\x0A\x08\x0A\x01"
                                   "a\x15\x00\x00\x80\xBF";
enum { SMALLEST_SPM = sizeof smallest_spm - 1 };

static rapt_status tokenizer_load_memory(struct world *w, int null, rapt_message *why)
{
    rapt_tokenizer *made = NULL;
    rapt_status status = rapt_tokenizer_load_memory(arg(null, 0, &made), arg(null, 1, smallest_spm),
                                                    SMALLEST_SPM, arg(null, 2, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_tokenizer_free(made);
    return status;
}

static rapt_status tokenizer_file(struct world *w, int null, rapt_message *why)
{
    rapt_tokenizer *made = NULL;
    (void)w, (void)why;
    assert_int_equal(rapt_tokenizer_load_memory(&made, smallest_spm, SMALLEST_SPM, NULL, NULL),
                     RAPT_OK);
    size_t size = rapt_tokenizer_file(arg(null, 0, made)).size;
    rapt_tokenizer_free(made);
    return found(size == SMALLEST_SPM);
}

static rapt_status tokenizer_create_list(struct world *w, int null, rapt_message *why)
{
    rapt_tokenizer *made = NULL, *pieces = NULL;
    assert_int_equal(rapt_tokenizer_load_memory(&pieces, smallest_spm, SMALLEST_SPM, NULL, NULL),
                     RAPT_OK);
    rapt_status status =
        rapt_tokenizer_create_list(arg(null, 0, &made), arg(null, 1, w->names), 3,
                                   arg(null, 2, pieces), arg(null, 3, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_tokenizer_free(made);
    rapt_tokenizer_free(pieces);
    return status;
}

static rapt_status tokenizer_create_wordpiece(struct world *w, int null, rapt_message *why)
{
    const rapt_wordpiece_options options = {.size = sizeof options};
    rapt_tokenizer *made = NULL;
    rapt_status status =
        rapt_tokenizer_create_wordpiece(arg(null, 0, &made), arg(null, 1, w->pieces), 3,
                                        arg(null, 2, &options), arg(null, 3, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_tokenizer_free(made);
    return status;
}

static rapt_status tokenizer_load(struct world *w, int null, rapt_message *why)
{
    rapt_tokenizer *made = NULL;
    int number = errno;
    FILE *file = fopen(w->path[2], "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(smallest_spm, 1, SMALLEST_SPM, file), SMALLEST_SPM);
    assert_int_equal(fclose(file), 0);
    errno = number;
    rapt_status status = rapt_tokenizer_load(arg(null, 0, &made), arg(null, 1, w->path[2]),
                                             arg(null, 2, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_tokenizer_free(made);
    return status;
}

static rapt_status tokenizer_free(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    rapt_tokenizer *made = small_tokenizer();
    rapt_tokenizer_free(arg(null, 0, made));
    if (null == 0) rapt_tokenizer_free(made);
    return RAPT_OK;
}

static rapt_status tokenizer_vocab(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_tokenizer_vocab(arg(null, 0, w->tokenizer)) > 0);
}

static rapt_status tokenizer_special(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_tokenizer_special(arg(null, 0, w->tokenizer), RAPT_TOKEN_END) ==
                 RAPT_TOKEN_END);
}

static rapt_status tokenizer_name(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_tokenizer_name(arg(null, 0, w->tokenizer), 70).size > 0);
}

static rapt_status tokenizer_find(struct world *w, int null, rapt_message *why)
{
    (void)why;
    const rapt_text name = {null == 1 ? NULL : "a", 1};
    return found(rapt_tokenizer_find(arg(null, 0, w->tokenizer), name) >= 0);
}

static rapt_status tokenizer_bound(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_tokenizer_bound(arg(null, 0, w->tokenizer), 7) == 7);
}

static rapt_status tokenizer_token(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_tokenizer_token(arg(null, 0, w->tokenizer), 70).size > 0);
}

static rapt_status tokenizer_encode(struct world *w, int null, rapt_message *why)
{
    return rapt_tokenizer_encode(arg(null, 0, w->tokenizer), text_arg(null, 1),
                                 arg(null, 2, w->ids), arg(null, 3, w->ends), COUNT(w->ids),
                                 arg(null, 4, &w->size), why);
}

static rapt_status tokenizer_decode(struct world *w, int null, rapt_message *why)
{
    return rapt_tokenizer_decode(arg(null, 0, w->tokenizer), arg(null, 1, world_ids),
                                 COUNT(world_ids), arg(null, 2, w->text), sizeof w->text,
                                 arg(null, 3, &w->size), why);
}

static rapt_status text_preprocess(struct world *w, int null, rapt_message *why)
{
    char bytes[8];
    size_t ends[8], size = 0;
    (void)w;
    return rapt_text_preprocess(RAPT_PREPROCESS_OPUS, text_arg(null, 0), arg(null, 1, bytes),
                                arg(null, 2, ends), COUNT(ends), arg(null, 3, &size), why);
}

static rapt_status utf8_valid(struct world *w, int null, rapt_message *why)
{
    (void)w, (void)why;
    return found(rapt_utf8_valid(text_arg(null, 0)) == 7);
}

/* ---- metrics.h ---- */

static rapt_status bleu_add(struct world *w, int null, rapt_message *why)
{
    return rapt_bleu_add(arg(null, 0, &w->bleu), RAPT_BLEU_TOKENS_13A, 0, text_arg(null, 1),
                         text_arg(null, 2), arg(null, 3, &w->allocator), why);
}

static rapt_status bleu_score(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_bleu_score(arg(null, 0, &w->bleu)) >= 0);
}

static rapt_status chrf_add(struct world *w, int null, rapt_message *why)
{
    return rapt_chrf_add(arg(null, 0, &w->chrf), text_arg(null, 1), text_arg(null, 2),
                         arg(null, 3, &w->allocator), why);
}

static rapt_status chrf_score(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_chrf_score(arg(null, 0, &w->chrf)) >= 0);
}

/* ---- translator.h ---- */

static rapt_status translator_load(struct world *w, int null, rapt_message *why)
{
    const rapt_translator_options options = {.size = sizeof options,
                                             .suppressed_texts = w->prefixes,
                                             .suppressed_text_count = COUNT(w->prefixes)};
    rapt_translator *made = NULL;
    rapt_status status =
        rapt_translator_load(arg(null, 0, &made), arg(null, 1, w->path[0]), arg(null, 2, &options),
                             arg(null, 3, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_translator_free(made);
    return status;
}

static rapt_status translator_options_default(struct world *w, int null, rapt_message *why)
{
    rapt_translator_options options;
    (void)why;
    rapt_translator_options_default(arg(null, 0, &options), sizeof options, arg(null, 1, w->model));
    return RAPT_OK;
}

static rapt_status translator_free(struct world *w, int null, rapt_message *why)
{
    (void)why;
    rapt_translator *made = NULL;
    assert_int_equal(rapt_translator_load(&made, w->path[0], NULL, NULL, NULL), RAPT_OK);
    rapt_translator_free(arg(null, 0, made));
    if (null == 0) rapt_translator_free(made);
    return RAPT_OK;
}

static rapt_status translator_model(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_translator_model(arg(null, 0, w->translator)) != NULL);
}

static rapt_status translator_source(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_translator_source(arg(null, 0, w->translator)) != NULL);
}

static rapt_status target_begin(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_target_begin(arg(null, 0, w->model), arg(null, 1, w->tokenizer)) >= 0);
}

static rapt_status translator_target(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_translator_target(arg(null, 0, w->translator)) != NULL);
}

static rapt_status translator_frame(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_translator_frame(arg(null, 0, w->translator), RAPT_FRAME_TARGET_BEGIN) >= 0);
}

static rapt_status translate(struct world *w, int null, rapt_message *why)
{
    return rapt_translate(arg(null, 0, w->translator), arg(null, 1, "the cat"),
                          arg(null, 2, w->text), sizeof w->text, arg(null, 3, &w->size), why);
}

static int take_nothing(void *user, const rapt_translation *translation)
{
    (void)user, (void)translation;
    return 0;
}

static rapt_status translate_many(struct world *w, int null, rapt_message *why)
{
    return rapt_translate_many(arg(null, 0, w->translator), arg(null, 1, w->texts), COUNT(w->texts),
                               1, null == 2 ? NULL : take_nothing, arg(null, 3, w), why);
}

static rapt_status translate_many_with(struct world *w, int null, rapt_message *why)
{
    const rapt_translate_call call = {.size = sizeof call, .prefixes = w->prefixes};
    return rapt_translate_many_with(arg(null, 0, w->translator), arg(null, 1, w->texts),
                                    COUNT(w->texts), arg(null, 2, &call),
                                    null == 3 ? NULL : take_nothing, arg(null, 4, w), why);
}

static rapt_status translator_create(struct world *w, int null, rapt_message *why)
{
    const rapt_translator_options options = {.size = sizeof options,
                                             .suppressed_texts = w->prefixes,
                                             .suppressed_text_count = COUNT(w->prefixes)};
    rapt_translator *made = NULL;
    rapt_status status = rapt_translator_create(
        arg(null, 0, &made), arg(null, 1, w->model), arg(null, 2, w->tokenizer),
        arg(null, 3, w->tokenizer), arg(null, 4, &options), arg(null, 5, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_translator_free(made);
    return status;
}

static int take_no_score(void *user, const rapt_text_score *score)
{
    (void)user, (void)score;
    return 0;
}

static rapt_status translator_score(struct world *w, int null, rapt_message *why)
{
    return rapt_translator_score(arg(null, 0, w->translator), arg(null, 1, w->texts),
                                 arg(null, 2, w->targets), COUNT(w->texts),
                                 null == 3 ? NULL : take_no_score, arg(null, 4, w), why);
}

/* ---- document.h ---- */

static int take_no_piece(void *user, const rapt_document_piece *piece)
{
    (void)user, (void)piece;
    return 0;
}

static rapt_status document_translate(struct world *w, int null, rapt_message *why)
{
    const rapt_document_options options = {.size = sizeof options,
                                           .protected_patterns = w->prefixes,
                                           .protected_pattern_count = COUNT(w->prefixes)};
    return rapt_document_translate(
        arg(null, 0, w->translator), null == 1 ? (rapt_text){NULL, 0} : (rapt_text){"the cat", 7},
        arg(null, 2, &options), null == 3 ? NULL : take_no_piece, arg(null, 4, w), why);
}

static rapt_status translate_nothing(void *user, const rapt_text *sentences, size_t count,
                                     rapt_take_fn *take, void *taker, rapt_message *why)
{
    (void)user, (void)sentences, (void)count, (void)take, (void)taker, (void)why;
    return RAPT_OK;
}

static rapt_status document_translate_with(struct world *w, int null, rapt_message *why)
{
    const rapt_document_options options = {.size = sizeof options,
                                           .protected_patterns = w->prefixes,
                                           .protected_pattern_count = COUNT(w->prefixes)};
    const rapt_document_engine engine = {.size = sizeof engine, .translate = translate_nothing};
    return rapt_document_translate_with(
        arg(null, 0, &engine), null == 1 ? (rapt_text){NULL, 0} : (rapt_text){"the cat", 7},
        arg(null, 2, &options), null == 3 ? NULL : take_no_piece, arg(null, 4, w),
        arg(null, 5, &w->allocator), why);
}

#endif
