/* operations_text.h - the operations on text: tokenizers, metrics, files. */
#ifndef RAPT_TESTS_PROCESS_OPERATIONS_TEXT_H
#define RAPT_TESTS_PROCESS_OPERATIONS_TEXT_H

#include "process/scene.h"

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

#endif
