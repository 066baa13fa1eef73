/* languages.h - folders of translators between many languages: a SentencePiece model in the order
   of fairseq, translators with languages, and the ids of their translations. */
#ifndef RAPT_TESTS_IMPORT_LANGUAGES_H
#define RAPT_TESTS_IMPORT_LANGUAGES_H

#include "import/recorded.h"

enum { PIECES = 8 };

/* Writes a SentencePiece model of `count` pieces, of which the first PIECES make up texts. */
static inline void write_pieces(const char *folder, int count)
{
    static const struct {
        const char *text;
        int type;
    } pieces[PIECES] = {{"<unk>", 2},   {"<s>", 3}, {"</s>", 3}, {"\u2581", 1},
                        {"\u2581a", 1}, {"a", 1},   {"b", 1},    {"ab", 1}};
    static struct bytes b;
    b.size = 0;
    for (int i = 0; i < count; i++) {
        char text[16];
        snprintf(text, sizeof text, "c%d", i);
        put_piece(&b, i < PIECES ? pieces[i].text : text, i < PIECES ? pieces[i].type : 1);
    }
    folder_write(folder, "sentencepiece.bpe.model", &b);
}

static inline rapt_translator *load(const char *folder, const char *from, const char *to)
{
    const rapt_translator_options o = {
        .size = sizeof o, .beams = 1, .source_language = from, .target_language = to};
    rapt_translator *t = NULL;
    rapt_message why = {""};
    if (rapt_translator_load(&t, folder, &o, NULL, &why)) fail_msg("%s", why.text);
    return t;
}

/* Checks a token's name and the size of its text. */
static inline void check_token(const rapt_tokenizer *t, int32_t id, const char *name, size_t size)
{
    check_name(t, id, name);
    assert_int_equal(rapt_tokenizer_token(t, id).size, size);
}

struct seen { /* ids of a translation */
    int32_t source[16], target[16];
    int source_count, target_count;
};

static inline int see(void *user, const rapt_translation *t)
{
    struct seen *s = user;
    s->source_count = t->source_count, s->target_count = t->target_count;
    assert_true(t->source_count <= 16);
    memcpy(s->source, t->source, sizeof *t->source * (size_t)t->source_count);
    for (int i = 0; i < t->target_count && i < 16; i++) s->target[i] = t->target[i];
    return 0;
}

static inline struct seen translate(rapt_translator *t, const char *text)
{
    struct seen seen = {.source_count = 0};
    const rapt_text one = {text, strlen(text)};
    rapt_message why = {""};
    if (rapt_translate_many(t, &one, 1, 0, see, &seen, &why)) fail_msg("%s", why.text);
    return seen;
}

/* Checks that the languages are refused and that the message contains this text. */
static inline void languages_refused(const char *folder, const char *from, const char *to,
                                     const char *phrase)
{
    const rapt_translator_options o = {
        .size = sizeof o, .source_language = from, .target_language = to};
    rapt_translator *t = NULL;
    rapt_message why = {""};
    assert_int_equal(rapt_translator_load(&t, folder, &o, NULL, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, phrase)) fail_msg("\"%s\" does not say %s", why.text, phrase);
    assert_null(t);
}

#endif
