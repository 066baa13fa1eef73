/* operations_text.h - the operations on text: tokenizers, metrics, files, shortlists, encoders of
   texts and folders of other projects. */
#ifndef RAPT_TESTS_PROCESS_OPERATIONS_TEXT_H
#define RAPT_TESTS_PROCESS_OPERATIONS_TEXT_H

#include "process/scene.h"

/* ---- texts: the operations on text: tokenizers, metrics, files. ---- */

static void *const scene_untouched = (void *)(uintptr_t)64;

/* ---- text ---- */

static rapt_status do_learn(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_text texts[COUNT(small_lines)];
    rapt_tokenizer *tokenizer = scene_untouched;
    for (int i = 0; i < COUNT(texts); i++)
        texts[i] = (rapt_text){small_lines[i], strlen(small_lines[i])};
    rapt_status status = rapt_tokenizer_learn(&tokenizer, texts, COUNT(texts), 262 + s->variant / 3,
                                              s->allocator, why);
    if (status) {
        s->changed |= tokenizer != scene_untouched;
        return status;
    }
    for (int i = 0; i < rapt_tokenizer_vocab(tokenizer); i++) {
        rapt_text token = rapt_tokenizer_token(tokenizer, i);
        if (token.size) add(h, token.bytes, token.size);
    }
    rapt_tokenizer_free(tokenizer);
    return status;
}

static rapt_status do_tokenizer(struct scene *s, uint64_t *h, rapt_message *why)
{
    size_t size = 0;
    rapt_tokenizer *tokenizer = scene_untouched;
    rapt_status status = rapt_tokenizer_write(s->tokenizer, s->bytes, SCENE_BYTES, &size, why);
    add(h, s->bytes, size);
    if (!status) status = rapt_tokenizer_create(&tokenizer, s->bytes, size - 1, s->allocator, why);
    if (status)
        s->changed |= tokenizer != scene_untouched;
    else
        rapt_tokenizer_free(tokenizer);
    return status;
}

/* Adds what a tokenizer loaded from a SentencePiece model does to the hash and frees it. */
static inline rapt_status loaded(struct scene *s, uint64_t *h, rapt_status status,
                                 rapt_tokenizer *tokenizer)
{
    if (status) {
        s->changed |= tokenizer != scene_untouched;
        return status;
    }
    for (int i = 0; i < rapt_tokenizer_vocab(tokenizer); i++) {
        rapt_text name = rapt_tokenizer_name(tokenizer, i);
        int32_t id = rapt_tokenizer_find(tokenizer, name);
        add(h, name.bytes, name.size);
        add(h, &id, sizeof id);
    }
    rapt_tokenizer_free(tokenizer);
    return status;
}

static rapt_status do_spm(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_tokenizer *tokenizer = scene_untouched;
    rapt_status status = rapt_tokenizer_load(&tokenizer, s->spm_path, s->allocator, why);
    return loaded(s, h, status, tokenizer);
}

static rapt_status do_spm_memory(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_tokenizer *tokenizer = scene_untouched;
    rapt_status status =
        rapt_tokenizer_load_memory(&tokenizer, s->spm, s->spm_size, s->allocator, why);
    return loaded(s, h, status, tokenizer);
}

static rapt_status do_list(struct scene *s, uint64_t *h, rapt_message *why)
{
    static const rapt_text names[] = {{"</s>", 4}, {"<unk>", 5}, {"a", 1}, {"b", 1}};
    rapt_tokenizer *tokenizer = scene_untouched;
    rapt_status status = rapt_tokenizer_create_list(&tokenizer, names, 4, NULL, s->allocator, why);
    return loaded(s, h, status, tokenizer);
}

static rapt_status do_wordpiece(struct scene *s, uint64_t *h, rapt_message *why)
{
    static const rapt_text names[] = {{"[UNK]", 5}, {"the", 3}, {"##se", 4}, {"[SEP]", 5}};
    rapt_tokenizer *tokenizer = scene_untouched;
    rapt_status status =
        rapt_tokenizer_create_wordpiece(&tokenizer, names, 4, NULL, s->allocator, why);
    return loaded(s, h, status, tokenizer);
}

static rapt_status do_tokens(struct scene *s, uint64_t *h, rapt_message *why)
{
    const rapt_text text = {"the birds do not sing \xC3\xA4\xFF", 25};
    size_t ends[32], count = 0, size = 0;
    char bytes[64] = "";
    rapt_status status =
        rapt_tokenizer_encode(s->tokenizer, text, s->ids, ends, COUNT(ends), &count, why);
    if (!status)
        status =
            rapt_tokenizer_decode(s->tokenizer, s->ids, count, bytes, sizeof bytes, &size, why);
    add(h, bytes, size);
    if (!status)
        status =
            rapt_text_preprocess(RAPT_PREPROCESS_OPUS, text, bytes, ends, COUNT(ends), &size, why);
    size_t valid = rapt_utf8_valid(text) + rapt_tokenizer_bound(s->tokenizer, text.size);
    int32_t end = rapt_tokenizer_special(s->tokenizer, RAPT_TOKEN_END);
    add(h, &end, sizeof end);
    add(h, s->ids, count * sizeof *s->ids);
    add(h, ends, count * sizeof *ends);
    add(h, bytes, size);
    add(h, &valid, sizeof valid);
    return status;
}

/* Sets two texts whose length grows with the variant. */
static inline void scene_texts(const struct scene *s, rapt_text *hypothesis, rapt_text *reference)
{
    static const char a[] =
        "The cat sat on the mat . A bird; it sings, and sings 1,000 times: not so!";
    static const char b[] =
        "the cat SAT upon that mat, did it? No bird sings so often, and so well?";
    *hypothesis = (rapt_text){a, (size_t)s->variant * 2 + 15};
    *reference = (rapt_text){b, (size_t)s->variant * 2 + 13};
}

static rapt_status do_bleu(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_bleu bleu = {.matches = {1, 2, 3, 4}, .totals = {9, 9, 9, 9}}, before = bleu;
    rapt_text hypothesis, reference;
    scene_texts(s, &hypothesis, &reference);
    rapt_status status =
        rapt_bleu_add(&bleu, RAPT_BLEU_TOKENS_13A, 1, hypothesis, reference, s->allocator, why);
    double score = rapt_bleu_score(&bleu);
    if (status) s->changed |= memcmp(&bleu, &before, sizeof bleu) != 0;
    add(h, &bleu, sizeof bleu);
    add(h, &score, sizeof score);
    return status;
}

static rapt_status do_chrf(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_chrf chrf = {.matches = {1, 2, 3}, .hypothesis = {9, 9, 9}}, before = chrf;
    rapt_text hypothesis, reference;
    scene_texts(s, &hypothesis, &reference);
    rapt_status status = rapt_chrf_add(&chrf, hypothesis, reference, s->allocator, why);
    double score = rapt_chrf_score(&chrf);
    if (status) s->changed |= memcmp(&chrf, &before, sizeof chrf) != 0;
    add(h, &chrf, sizeof chrf);
    add(h, &score, sizeof score);
    return status;
}

static rapt_status do_file(struct scene *s, uint64_t *h, rapt_message *why)
{
    unlink(s->out_path);
    rapt_status status = rapt_file_check(s->out_path, 10, 100, why);
    if (!status) status = rapt_file_write(s->out_path, "0123456789", 10, why);
    if (status) s->changed |= access(s->out_path, F_OK) == 0;
    add_file(s, h, s->out_path);
    unlink(s->out_path);
    return status;
}

/* ---- shortlists: the operations on lexical shortlists. ---- */

/* Creates, queries, writes and reads a shortlist. */
static rapt_status do_shortlist(struct scene *s, uint64_t *h, rapt_message *why)
{
    static const rapt_lexical_pair pairs[] = {{5, 6, 0.5f}, {5, 7, 0.25f}, {9, 6, 1}};
    static const int32_t source[] = {9, 5};
    static const char text[] = "a b 0.5\ns e 1\n";
    rapt_shortlist *made = scene_untouched, *read = NULL, *other = NULL;
    int count = 0;
    rapt_status status = rapt_shortlist_create(&made, pairs, COUNT(pairs), 4, 2, s->tokenizer,
                                               s->tokenizer, s->allocator, why);
    if (status) {
        s->changed |= made != scene_untouched;
        return status;
    }
    status = rapt_shortlist_tokens(made, source, 2, s->ids, COUNT(s->ids), &count, why);
    if (!status) add(h, s->ids, (size_t)count * sizeof *s->ids);
    if (!status) status = rapt_shortlist_write(made, s->out_path, why);
    if (!status)
        status =
            rapt_shortlist_load(&read, s->out_path, s->tokenizer, s->tokenizer, s->allocator, why);
    if (!status)
        status = rapt_shortlist_load_memory(&other, text, sizeof text - 1, s->tokenizer,
                                            s->tokenizer, s->allocator, why);
    int vocab = rapt_shortlist_source_vocab(made) + rapt_shortlist_target_vocab(made);
    add(h, &vocab, sizeof vocab);
    rapt_shortlist_free(made);
    rapt_shortlist_free(read);
    rapt_shortlist_free(other);
    unlink(s->out_path);
    return status;
}

static rapt_status do_translate_listed(struct scene *s, uint64_t *h, rapt_message *why)
{
    static const char text[] = "a b 0.5\ns e 1\n";
    rapt_shortlist *list = NULL;
    char out[64] = "";
    size_t size = 0;
    rapt_status status = rapt_shortlist_load_memory(&list, text, sizeof text - 1, s->tokenizer,
                                                    s->tokenizer, s->allocator, why);
    if (!status) status = rapt_translator_set_shortlist(s->translator, list, why);
    if (!status) status = rapt_translate(s->translator, "the cat", out, sizeof out, &size, why);
    add(h, out, size);
    rapt_translator_set_shortlist(s->translator, NULL, NULL);
    if (!status) status = rapt_shortlist_write(list, s->out_path, why);
    if (!status) status = rapt_translator_load_shortlist(s->translator, s->out_path, why);
    rapt_translator_set_shortlist(s->translator, NULL, NULL);
    rapt_shortlist_free(list);
    unlink(s->out_path);
    return status;
}

/* ---- encoders: the operations on encoders of texts. ---- */

static rapt_status do_encoder_load(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_encoder *encoder = scene_untouched;
    const rapt_encoder_options options = {
        .size = sizeof options, .batch = 2, .batch_tokens = 20, .threads = s->threads};
    rapt_status status =
        rapt_encoder_load(&encoder, s->translator_path, &options, s->allocator, why);
    if (status) {
        s->changed |= encoder != scene_untouched;
        return status;
    }
    int vocab = rapt_tokenizer_vocab(rapt_encoder_tokenizer(encoder));
    add(h, &vocab, sizeof vocab);
    rapt_encoder_free(encoder);
    return status;
}

/* Creates an encoder and embeds two texts. */
static rapt_status do_encoder_embed(struct scene *s, uint64_t *h, rapt_message *why)
{
    static const rapt_text texts[] = {{"the birds", 9}, {"sing", 4}};
    const rapt_model *model = rapt_translator_model(s->translator);
    const rapt_encoder_options options = {
        .size = sizeof options, .batch = 2, .batch_tokens = 20, .threads = s->threads};
    rapt_encoder *encoder = scene_untouched;
    rapt_status status = rapt_encoder_create(&encoder, model, NULL, &options, s->allocator, why);
    if (status) {
        s->changed |= encoder != scene_untouched;
        return status;
    }
    status = rapt_encoder_embed(encoder, texts, 2, s->floats, why);
    size_t count = 2 * (size_t)rapt_model_config(rapt_encoder_model(encoder))->width;
    if (!status) add(h, s->floats, count * sizeof *s->floats);
    rapt_encoder_free(encoder);
    return status;
}

/* Classifies a pair of texts with a small model. */
static rapt_status do_encoder_classify(struct scene *s, uint64_t *h, rapt_message *why)
{
    static const rapt_text texts[] = {{"the birds", 9}, {"sing", 4}};
    rapt_config c = *rapt_model_config(rapt_translator_model(s->translator));
    rapt_model *model = NULL;
    rapt_encoder *encoder = NULL;
    const rapt_encoder_options options = {.size = sizeof options, .threads = s->threads};
    c.kind = RAPT_KIND_ENCODER_ONLY, c.decoder_layers = 0, c.pooling = RAPT_POOLING_FIRST;
    rapt_status status = rapt_model_create(&model, &c, 1, s->allocator, why);
    if (!status)
        status = rapt_encoder_create(&encoder, model, s->tokenizer, &options, s->allocator, why);
    if (!status) status = rapt_encoder_classify(encoder, &texts[0], &texts[1], 1, s->floats, why);
    if (!status) add(h, s->floats, sizeof *s->floats);
    rapt_encoder_free(encoder);
    rapt_model_free(model);
    return status;
}

/* ---- folders: the operations on folders of other projects. A small model that Marian and
   CTranslate2 can represent, with a vocabulary of names, is exported to both and imported again.
   ---- */

/* Adds the metadata and tensors of an imported model to the hash and frees the model. */
static inline rapt_status add_model_made(struct scene *s, uint64_t *h, rapt_status status,
                                         rapt_model *model)
{
    if (status) {
        s->changed |= model != scene_untouched;
        return status;
    }
    add_model(s, h, model);
    for (int i = 0; i < rapt_model_metadata_count(model); i++) {
        rapt_metadata note = rapt_model_metadata_at(model, i);
        add_text(h, note.key);
        add_text(h, rapt_model_metadata(model, note.key));
    }
    rapt_model_free(model);
    return status;
}

static rapt_status do_folder_import(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_status status = RAPT_OK;
    for (int i = 0; !status && i < SCENE_FOLDERS; i++) {
        rapt_model *model = scene_untouched;
        status = rapt_model_import(&model, s->folders[i].path, s->allocator, why);
        status = add_model_made(s, h, status, model);
    }
    return status;
}

/* Exports replace the files of a folder one by one. After a call that fails they must be as
   before. */
static rapt_status do_folder_export(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_model *model = NULL;
    rapt_status status =
        rapt_model_load_memory(&model, s->foreign, s->foreign_size, NULL, s->allocator, why);
    const rapt_export_options check = {.size = sizeof check, .check_only = 1};
    for (int i = 0; !status && i < SCENE_FOLDERS; i++)
        status =
            rapt_model_export_with(model, s->folders[i].format, s->folders[i].path, &check, why);
    for (int i = 0; !status && i < SCENE_FOLDERS; i++)
        status = rapt_model_export(model, s->folders[i].format, s->folders[i].path, why);
    for (int i = 0; i < SCENE_FOLDERS; i++)
        for (int f = 0; f < SCENE_FILES && s->folders[i].files[f]; f++) {
            uint64_t is = 0;
            scene_file_path(s, i, f);
            add_file(s, &is, s->file_path);
            if (status) s->changed |= is != s->folders[i].hashes[f];
            add(h, &is, sizeof is);
        }
    rapt_model_free(model);
    return status;
}

#endif
