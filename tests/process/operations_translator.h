/* operations_translator.h - the operations on translators and glossaries. */
#ifndef RAPT_TESTS_PROCESS_OPERATIONS_TRANSLATOR_H
#define RAPT_TESTS_PROCESS_OPERATIONS_TRANSLATOR_H

#include "process/operations_text.h"

/* ---- translators: the operations on translators. ---- */

static rapt_status do_translator(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_translator *translator = scene_untouched;
    rapt_translator_options options = {
        .size = sizeof options, .beams = 2, .batch = 2, .batch_tokens = 20, .threads = s->threads};
    rapt_status status =
        rapt_translator_load(&translator, s->translator_path, &options, s->allocator, why);
    if (status) {
        s->changed |= translator != scene_untouched;
        return status;
    }
    int sizes[] = {rapt_model_tensors(rapt_translator_model(translator)),
                   rapt_tokenizer_vocab(rapt_translator_source(translator)),
                   rapt_tokenizer_vocab(rapt_translator_target(translator))};
    add(h, sizes, sizeof sizes);
    rapt_translator_free(translator);
    return status;
}

static rapt_status do_translator_create(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_translator *translator = scene_untouched;
    const rapt_model *model = rapt_translator_model(s->translator);
    rapt_translator_options options;
    rapt_translator_options_default(&options, sizeof options, model);
    rapt_status status =
        rapt_translator_create(&translator, model, s->tokenizer, NULL, &options, s->allocator, why);
    if (status) {
        s->changed |= translator != scene_untouched;
        return status;
    }
    int vocab = rapt_tokenizer_vocab(rapt_translator_target(translator));
    add(h, &vocab, sizeof vocab);
    int32_t end = rapt_translator_frame(translator, RAPT_FRAME_TARGET_END);
    add(h, &end, sizeof end);
    int32_t begin = rapt_target_begin(model, s->tokenizer);
    add(h, &begin, sizeof begin);
    rapt_translator_free(translator);
    return status;
}

static int scene_take_score(void *user, const rapt_text_score *score)
{
    add(user, &score->sum, sizeof score->sum);
    add(user, score->log_probabilities, sizeof(float) * (size_t)(score->target_count + 1));
    return 0;
}

static rapt_status do_translator_score(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_text texts[] = {{"the cat", 7}, {"a bird sleeps", 13}};
    uint64_t before = *h;
    rapt_status status =
        rapt_translator_score(s->translator, texts, texts, 2, scene_take_score, h, why);
    if (status) s->changed |= *h != before;
    return status;
}

static rapt_status do_model_calibrate(struct scene *s, uint64_t *h, rapt_message *why)
{
    const rapt_text texts[] = {{"the cat", 7}, {"a bird sleeps", 13}};
    rapt_model *model = NULL;
    rapt_status status = rapt_model_load(&model, s->translator_path, s->allocator, why);
    if (!status) status = rapt_model_calibrate(model, texts, 2, s->threads, why);
    const char *scales = rapt_model_metadata(model, "rapt.scales");
    if (status) s->changed |= scales != NULL;
    add_text(h, scales);
    rapt_model_free(model);
    return status;
}

static rapt_status do_translate(struct scene *s, uint64_t *h, rapt_message *why)
{
    char out[1024] = "as before";
    size_t size = 7;
    rapt_status status =
        rapt_translate(s->translator, "the dog sings", out, sizeof out, &size, why);
    if (status) s->changed |= size != 7 || strcmp(out, "as before") != 0;
    add(h, out, strlen(out));
    return status;
}

static int scene_take(void *user, const rapt_translation *translation)
{
    uint64_t *h = user;
    add(h, translation->text, translation->size);
    add(h, &translation->score, sizeof translation->score);
    return 0;
}

static rapt_status do_translate_many(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_text texts[] = {{"the cat", 7}, {"", 0}, {"a bird sleeps", 13}};
    uint64_t before = *h;
    rapt_status status = rapt_translate_many(s->translator, texts, 3, 1, scene_take, h, why);
    if (status) s->changed |= *h != before;
    return status;
}

/* Tokens may have been delivered before a call fails, but translations may not. So they have
   separate hashes. */
static int scene_take_token(void *user, int source, int32_t id, float log_probability)
{
    uint64_t *tokens = (uint64_t *)user + 1;
    add(tokens, &source, sizeof source);
    add(tokens, &id, sizeof id);
    add(tokens, &log_probability, sizeof log_probability);
    return 0;
}

static rapt_status do_translate_many_with(struct scene *s, uint64_t *h, rapt_message *why)
{
    const rapt_text texts[] = {{"the cat", 7}, {"a bird sleeps", 13}};
    const rapt_text prefixes[] = {{"a", 1}, {"", 0}};
    const rapt_translator_options options = {.size = sizeof options, .beams = 1};
    const rapt_translate_call call = {
        .size = sizeof call, .options = &options, .prefixes = prefixes, .token = scene_take_token};
    uint64_t both[2] = {*h, *h}; /* hashes of translations and of tokens */
    rapt_status status =
        rapt_translate_many_with(s->translator, texts, 2, &call, scene_take, both, why);
    if (status) s->changed |= both[0] != *h;
    add(h, both, sizeof both);
    return status;
}

/* ---- documents ---- */

static int scene_take_piece(void *user, const rapt_document_piece *piece)
{
    uint64_t *h = user;
    add(h, piece->text, piece->target.end - piece->target.begin);
    add(h, &piece->source, sizeof piece->source);
    return 0;
}

static rapt_status do_document(struct scene *s, uint64_t *h, rapt_message *why)
{
    const rapt_text document = {"The cat. A BIRD,\nAND DOGS SLEEP.\n\n- the\xFF dog\n", 45};
    const rapt_document_options options = {.size = sizeof options,
                                           .unwrap = 1,
                                           .max_length = 8,
                                           .alignments = 1,
                                           .log_probabilities = 1};
    uint64_t before = *h;
    rapt_status status =
        rapt_document_translate(s->translator, document, &options, scene_take_piece, h, why);
    if (status) s->changed |= *h != before;
    return status;
}

static rapt_status scene_keep(void *user, const rapt_text *sentences, size_t count,
                              rapt_take_fn *give, void *taker, rapt_message *why)
{
    (void)user, (void)why;
    for (size_t i = 0; i < count; i++) give(taker, RAPT_OK, sentences[i], NULL);
    return RAPT_OK;
}

/* Translates the same text as a document of each format, with an engine that keeps sentences. */
static rapt_status do_document_with(struct scene *s, uint64_t *h, rapt_message *why)
{
    static const char text[] = "<p>The <b>cat</b>. A bird,\nand dogs &amp; `cats` sleep.</p>\n";
    const rapt_text document = {text, sizeof text - 1};
    const rapt_document_engine engine = {.size = sizeof engine, .translate = scene_keep};
    rapt_document_options options = {.size = sizeof options};
    rapt_status status = RAPT_OK;
    for (int format = 0; !status && format <= RAPT_DOCUMENT_FORMAT_LAST; format++) {
        const char *name = rapt_document_format_name(format);
        if (format == RAPT_DOCUMENT_FORMAT_XLIFF) continue; /* refuses this text */
        uint64_t before = *h;
        options.format = (rapt_document_format)format;
        status = rapt_document_translate_with(&engine, document, &options, scene_take_piece, h,
                                              s->allocator, why);
        if (status) s->changed |= *h != before;
        add(h, name, strlen(name));
    }
    return status;
}

/* ---- glossaries: the operations on glossaries. ---- */

static const char scene_glossary[] = "cat|cats\tbird\nthe dog\ta \\|dog\texact\n";

static rapt_status do_glossary(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_glossary *made = scene_untouched;
    const rapt_text text = {scene_glossary, sizeof scene_glossary - 1};
    rapt_status status = rapt_glossary_create(&made, text, s->allocator, why);
    if (status) {
        s->changed |= made != scene_untouched;
        return status;
    }
    size_t count = rapt_glossary_count(made);
    add(h, &count, sizeof count);
    rapt_glossary_free(made);
    return RAPT_OK;
}

static rapt_status do_translate_terms(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_glossary *made = NULL;
    const rapt_text texts[] = {{"the cat", 7}, {"", 0}, {"a bird sleeps", 13}};
    const rapt_text text = {scene_glossary, sizeof scene_glossary - 1};
    uint64_t before = *h;
    rapt_status status = rapt_glossary_create(&made, text, s->allocator, why);
    if (status) return status;
    const rapt_translate_call call = {.size = sizeof call, .glossary = made};
    status = rapt_translate_many_with(s->translator, texts, 3, &call, scene_take, h, why);
    if (status) s->changed |= *h != before;
    rapt_glossary_free(made);
    return status;
}

#endif
