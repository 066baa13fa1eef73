/* ours_translator.c - a converted model for compare.py: opens a folder with a translator. Sources
   and translations are the names of tokens, separated by tabs with a line for each sentence, so
   that another engine can be given the same. */
#include "bench.h"

#include <rapt/translator.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { SENTENCES = 32, TOKENS = 24 };

struct text { /* a text that grows */
    char *bytes;
    size_t size, capacity;
};

struct translator_work {
    rapt_translator *translator;
    struct text texts[SENTENCES];
    rapt_text sources[SENTENCES];
    struct text names, translations;
    int tokens; /* tokens of all translations of a run */
};

static void check_ours_translator(rapt_status status, const rapt_message *why)
{
    if (status) bench_fail(why->text[0] ? why->text : rapt_status_text(status));
}

/* Appends bytes, and a 0 after them. */
static void append(struct text *t, const char *bytes, size_t size)
{
    if (t->size + size + 1 > t->capacity) {
        size_t capacity = 2 * (t->size + size + 1);
        char *grown = bench_alloc(capacity);
        if (t->bytes) memcpy(grown, t->bytes, t->size);
        bench_free(t->bytes);
        t->bytes = grown, t->capacity = capacity;
    }
    memcpy(t->bytes + t->size, bytes, size);
    t->size += size;
    t->bytes[t->size] = 0;
}

static void append_names(struct text *t, const rapt_tokenizer *tokenizer, const int32_t *ids,
                         int count)
{
    for (int i = 0; i < count; i++) {
        rapt_text name = rapt_tokenizer_name(tokenizer, ids[i]);
        if (i > 0) append(t, "\t", 1);
        append(t, name.bytes, name.size);
    }
    append(t, "\n", 1);
}

/* Draws a text of random tokens and counts the tokens it has. */
static void draw_token(struct translator_work *w, int sentence)
{
    const rapt_tokenizer *tokenizer = rapt_translator_source(w->translator);
    int vocab = rapt_tokenizer_vocab(tokenizer);
    int32_t drawn[TOKENS], ids[16 * TOKENS];
    char bytes[64 * TOKENS];
    size_t size = 0, count = 0;
    rapt_message why = {""};
    for (int i = 0; i < TOKENS; i++)
        drawn[i] = (int32_t)(rapt__uniform((uint64_t)sentence, (uint64_t)i) * vocab);
    check_ours_translator(
        rapt_tokenizer_decode(tokenizer, drawn, TOKENS, bytes, sizeof bytes, &size, &why), &why);
    append(&w->texts[sentence], bytes, size);
    w->sources[sentence] = (rapt_text){w->texts[sentence].bytes, size};
    check_ours_translator(rapt_tokenizer_encode(tokenizer, w->sources[sentence], ids, NULL,
                                                16 * TOKENS, &count, &why),
                          &why);
    append_names(&w->names, tokenizer, ids, (int)count);
}

/* Opens a model, in the precision in which it is stored unless `floats` is set. */
EXPORT struct translator_work *ours_translator_create(const char *path, int beams, int batch,
                                                      int threads, int floats);
struct translator_work *ours_translator_create(const char *path, int beams, int batch, int threads,
                                               int floats)
{
    struct translator_work *w = bench_alloc(sizeof *w);
    const rapt_translator_options options = {.size = sizeof options,
                                             .beams = beams,
                                             .batch = batch,
                                             .length_penalty = 1,
                                             .threads = threads,
                                             .precision = floats ? RAPT_PRECISION_F32 : 0,
                                             .min_length = TOKENS,
                                             .max_length = TOKENS};
    rapt_message why = {""};
    *w = (struct translator_work){0};
    check_ours_translator(rapt_translator_load(&w->translator, path, &options, NULL, &why), &why);
    for (int i = 0; i < SENTENCES; i++) draw_token(w, i);
    return w;
}

/* Returns the number of tokens of each translation without its end token. */
EXPORT int ours_translator_length(void);
int ours_translator_length(void)
{
    return TOKENS;
}

/* Returns the sources, owned by the work. */
EXPORT const char *ours_translator_sources(const struct translator_work *w);
const char *ours_translator_sources(const struct translator_work *w)
{
    return w->names.bytes;
}

static int keep(void *user, const rapt_translation *t)
{
    struct translator_work *w = user;
    append_names(&w->translations, rapt_translator_target(w->translator), t->target,
                 t->target_count);
    w->tokens += t->target_count;
    return 0;
}

/* Returns the translations of all sources, owned by the work until the next call. */
EXPORT const char *ours_translator_run(struct translator_work *w);
const char *ours_translator_run(struct translator_work *w)
{
    rapt_message why = {""};
    w->translations.size = 0, w->tokens = 0;
    check_ours_translator(
        rapt_translate_many(w->translator, w->sources, SENTENCES, 0, keep, w, &why), &why);
    return w->translations.bytes;
}

EXPORT int ours_translator_tokens(const struct translator_work *w);
int ours_translator_tokens(const struct translator_work *w)
{
    return w->tokens;
}

EXPORT void ours_translator_free(struct translator_work *w);
void ours_translator_free(struct translator_work *w)
{
    for (int i = 0; i < SENTENCES; i++) bench_free(w->texts[i].bytes);
    bench_free(w->names.bytes);
    bench_free(w->translations.bytes);
    rapt_translator_free(w->translator);
    bench_free(w);
}
