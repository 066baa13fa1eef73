/* small_text.h - helpers of the tests of translators: a tokenizer learned from a few lines, and a
   model file with it. */
#ifndef RAPT_TESTS_TRANSLATE_SMALL_TEXT_H
#define RAPT_TESTS_TRANSLATE_SMALL_TEXT_H

#include "model/small.h"

enum { SMALL_VOCAB = 275 };
static const char *const small_lines[] = {
    "the cat sees the dog", "the dog does not see the cat", "a bird sings",
    "the cat sleeps",       "dogs and cats sleep",          "the bird sees a cat",
};

static inline rapt_tokenizer *small_tokenizer(void)
{
    rapt_text texts[COUNT(small_lines)];
    rapt_tokenizer *tokenizer = NULL;
    rapt_message why = {""};
    for (int i = 0; i < COUNT(texts); i++)
        texts[i] = (rapt_text){small_lines[i], strlen(small_lines[i])};
    if (rapt_tokenizer_learn(&tokenizer, texts, COUNT(texts), SMALL_VOCAB, NULL, &why))
        fail_msg("%s", why.text);
    return tokenizer;
}

/* Writes a model with its tokenizer to path. */
static inline void small_translator_file(const char *path, int positions, uint64_t seed)
{
    rapt_config c = {.size = sizeof(rapt_config),
                     .source_vocab = SMALL_VOCAB,
                     .target_vocab = SMALL_VOCAB,
                     .width = 16,
                     .heads = 2,
                     .ffn_width = 24,
                     .encoder_layers = 1,
                     .decoder_layers = 2,
                     .tie = RAPT_TIE_ALL};
    size_t size;
    rapt_tokenizer *tokenizer = small_tokenizer();
    assert_int_equal(rapt_tokenizer_write(tokenizer, NULL, 0, &size, NULL), RAPT_OK);
    char *text = malloc(size);
    assert_int_equal(rapt_tokenizer_write(tokenizer, text, size, &size, NULL), RAPT_OK);
    c.positions = positions;
    rapt_model *model = small_model(&c, seed);
    rapt_metadata note = {"rapt.tokenizer", text};
    assert_int_equal(rapt_model_save(model, path, &note, 1, NULL), RAPT_OK);
    rapt_model_free(model);
    rapt_tokenizer_free(tokenizer);
    free(text);
}

/* Returns a translator of such a model. `name` is that of the file, which is gone afterwards. */
static inline rapt_translator *small_translator_make(const char *name, int positions,
                                                     const rapt_translator_options *options)
{
    char path[256];
    rapt_translator *t = NULL;
    rapt_message why = {""};
    small_translator_file(small_path(path, name), positions, 4);
    if (rapt_translator_load(&t, path, options, NULL, &why)) fail_msg("%s", why.text);
    unlink(path);
    return t;
}

/* Sets texts [count] to beginnings of the lines. */
static inline void small_texts(rapt_text *texts, int count)
{
    for (int i = 0; i < count; i++) {
        const char *line = small_lines[i % COUNT(small_lines)];
        texts[i] = (rapt_text){line, strlen(line) - (size_t)(i % 4)};
    }
}

#endif
