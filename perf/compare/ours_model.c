/* ours_model.c - whole models for compare.py: models with random weights, which the peers copy, and
   a converted translator. */
#include "bench.h"

#include <pthread.h>
#include <rapt/rapt.h>
#include <rapt/translator.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- models with random weights: training steps and greedy translation. Everything is tied to one
   table; tokens are random and all sequences have the same length, so that no peer loses by
   padding. ---- */

enum { BEGIN = 1, END = 0 };

struct model_shape {
    int encoder_layers, decoder_layers, width, heads, hidden, vocab, batch, source, target;
    int threads;
};

struct model_work {
    struct model_shape shape;
    rapt_model *model;
    rapt_trainer *trainer; /* or */
    rapt_session *session;
    rapt_tokens source, target;
    int32_t *ids; /* [batch][target], for translations */
    int *counts;
};

static void check_ours_model(rapt_status status, const rapt_message *why)
{
    if (status) bench_fail(why->text[0] ? why->text : rapt_status_text(status));
}

static rapt_tokens draw_tokens(int batch, int length, int vocab, uint64_t key)
{
    int *starts = bench_alloc(((size_t)batch + 1) * sizeof *starts);
    int32_t *ids = bench_alloc((size_t)batch * (size_t)length * sizeof *ids);
    for (int i = 0; i <= batch; i++) starts[i] = i * length;
    for (int i = 0; i < batch * length; i++)
        ids[i] = (int32_t)(2 + rapt__uniform(key, (uint64_t)i) * (vocab - 2));
    return (rapt_tokens){.batch = batch, .ids = ids, .starts = starts};
}

static struct model_work *create(const struct model_shape *s)
{
    struct model_work *w = bench_alloc(sizeof *w);
    rapt_message why = {""};
    rapt_config config = {.size = sizeof(rapt_config),
                          .kind = RAPT_KIND_ENCODER_DECODER,
                          .source_vocab = s->vocab,
                          .target_vocab = s->vocab,
                          .positions = s->source > s->target ? s->source : s->target,
                          .width = s->width,
                          .heads = s->heads,
                          .ffn_width = s->hidden,
                          .encoder_layers = s->encoder_layers,
                          .decoder_layers = s->decoder_layers,
                          .tie = RAPT_TIE_ALL};
    *w = (struct model_work){.shape = *s};
    check_ours_model(rapt_model_create(&w->model, &config, 1, NULL, &why), &why);
    w->source = draw_tokens(s->batch, s->source, s->vocab, 1);
    return w;
}

EXPORT int ours_model_tensors(const struct model_work *w);
int ours_model_tensors(const struct model_work *w)
{
    return rapt_model_tensors(w->model);
}

EXPORT const char *ours_model_tensor(const struct model_work *w, int index, int *rows,
                                     int *columns);
const char *ours_model_tensor(const struct model_work *w, int index, int *rows, int *columns)
{
    rapt_tensor t = rapt_model_tensor(w->model, index);
    *rows = t.rows, *columns = t.columns;
    return t.name;
}

EXPORT void ours_model_read(const struct model_work *w, int index, float *data);
void ours_model_read(const struct model_work *w, int index, float *data)
{
    check_ours_model(rapt_model_read(w->model, index, data, NULL), &(rapt_message){""});
}

/* Returns [batch][source], or [batch][target + 1] with the token that is fed first and the one that
   is predicted last. */
EXPORT const int32_t *ours_model_tokens(const struct model_work *w, int target);
const int32_t *ours_model_tokens(const struct model_work *w, int target)
{
    return target ? w->target.ids : w->source.ids;
}

/* ---- training: without dropout, so that losses can be compared; with bf16, products are computed
   in bf16 ---- */

EXPORT struct model_work *ours_train_create(const struct model_shape *s, float rate, bool bf16);
struct model_work *ours_train_create(const struct model_shape *s, float rate, bool bf16)
{
    struct model_work *w = create(s);
    rapt_message why = {""};
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    rapt_train_limits limits = {sizeof limits, s->batch, s->batch * s->source,
                                s->batch * (s->target + 1), .threads = s->threads};
    o.rate = rate, o.warmup = 0, o.schedule = RAPT_SCHEDULE_CONSTANT;
    o.beta1 = 0.9f, o.beta2 = 0.98f, o.epsilon = 1e-9f, o.weight_decay = 0, o.clip_norm = 0;
    o.label_smoothing = 0.1f, o.dropout = o.attention_dropout = o.ffn_dropout = 0;
    if (bf16) o.products = RAPT_PRODUCTS_BF16;
    w->target = draw_tokens(s->batch, s->target + 1, s->vocab, 2);
    check_ours_model(rapt_trainer_create(&w->trainer, w->model, &o, &limits, NULL, &why), &why);
    return w;
}

/* Returns how products are computed: "built-in", "bf16" or "bf16, emulated". */
EXPORT const char *ours_train_products(const struct model_work *w);
const char *ours_train_products(const struct model_work *w)
{
    return rapt_trainer_products(w->trainer);
}

/* Takes one step and returns the loss per token before it. */
EXPORT double ours_train_step(struct model_work *w);
double ours_train_step(struct model_work *w)
{
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    check_ours_model(rapt_train_gradient(w->trainer, &w->source, &w->target, &report, &why), &why);
    check_ours_model(rapt_train_step(w->trainer, &report, &why), &why);
    return report.loss / (double)report.tokens;
}

/* ---- greedy translation of full length ---- */

EXPORT struct model_work *ours_translate_create(const struct model_shape *s);
struct model_work *ours_translate_create(const struct model_shape *s)
{
    struct model_work *w = create(s);
    rapt_message why = {""};
    rapt_limits limits = {.size = sizeof limits,
                          .batch = s->batch,
                          .source_tokens = s->batch * s->source,
                          .target_length = s->target,
                          .threads = s->threads};
    check_ours_model(rapt_session_create(&w->session, w->model, &limits, NULL, &why), &why);
    w->ids = bench_alloc((size_t)s->batch * (size_t)s->target * sizeof *w->ids);
    w->counts = bench_alloc((size_t)s->batch * sizeof *w->counts);
    return w;
}

/* Returns [batch][target] tokens, owned by the work. */
EXPORT const int32_t *ours_translate(struct model_work *w);
const int32_t *ours_translate(struct model_work *w)
{
    static const int32_t suppressed[] = {END};
    rapt_message why = {""};
    rapt_generate_options o;
    rapt_generate_options_default(&o, sizeof o, BEGIN, END);
    o.max_length = w->shape.target, o.suppressed = suppressed, o.suppressed_count = 1;
    const rapt_generate_outputs out = {.size = sizeof out, .ids = w->ids, .counts = w->counts};
    check_ours_model(rapt_generate(w->session, &w->source, &o, &out, &why), &why);
    return w->ids;
}

/* Returns logits [batch][vocab] of the first token, owned by the work. */
EXPORT const float *ours_translate_logits(struct model_work *w);
const float *ours_translate_logits(struct model_work *w)
{
    rapt_message why = {""};
    const float *logits;
    int batch = w->shape.batch;
    int *starts = bench_alloc(((size_t)batch + 1) * sizeof *starts);
    int32_t *ids = bench_alloc((size_t)batch * sizeof *ids);
    for (int i = 0; i <= batch; i++) starts[i] = i;
    for (int i = 0; i < batch; i++) ids[i] = BEGIN;
    const rapt_tokens first = {.batch = batch, .ids = ids, .starts = starts};
    check_ours_model(rapt_encode(w->session, &w->source, NULL, &why), &why);
    check_ours_model(rapt_decode(w->session, &first, &logits, &why), &why);
    bench_free(starts);
    bench_free(ids);
    return logits;
}

EXPORT void ours_model_free(struct model_work *w);
void ours_model_free(struct model_work *w)
{
    rapt_trainer_free(w->trainer);
    rapt_session_free(w->session);
    rapt_model_free(w->model);
    void *all[] = {(void *)w->source.ids,
                   (void *)w->source.starts,
                   (void *)w->target.ids,
                   (void *)w->target.starts,
                   w->ids,
                   w->counts};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) bench_free(all[i]);
    bench_free(w);
}

/* ---- a folder with a translator. Sources and translations are the names of tokens, separated by
   tabs with a line for each sentence, so that another engine can be given the same. ---- */

enum { SENTENCES = 32, TOKENS = 24 };

struct text { /* a text that grows */
    char *bytes;
    size_t size, capacity;
};

struct share { /* the sentences of one translator */
    rapt_translator *translator;
    const rapt_text *sources;
    int count;
    struct text translations;
    int tokens; /* tokens of all translations of a run */
};

struct translator_work {
    struct share shares[SENTENCES]; /* the translator of the first one owns the model */
    int translators;
    struct text texts[SENTENCES];
    rapt_text sources[SENTENCES];
    struct text names, translations;
};

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
    const rapt_tokenizer *tokenizer = rapt_translator_source(w->shares[0].translator);
    int vocab = rapt_tokenizer_vocab(tokenizer);
    int32_t drawn[TOKENS], ids[16 * TOKENS];
    char bytes[64 * TOKENS];
    size_t size = 0, count = 0;
    rapt_message why = {""};
    for (int i = 0; i < TOKENS; i++)
        drawn[i] = (int32_t)(rapt__uniform((uint64_t)sentence, (uint64_t)i) * vocab);
    check_ours_model(
        rapt_tokenizer_decode(tokenizer, drawn, TOKENS, bytes, sizeof bytes, &size, &why), &why);
    append(&w->texts[sentence], bytes, size);
    w->sources[sentence] = (rapt_text){w->texts[sentence].bytes, size};
    check_ours_model(rapt_tokenizer_encode(tokenizer, w->sources[sentence], ids, NULL, 16 * TOKENS,
                                           &count, &why),
                     &why);
    append_names(&w->names, tokenizer, ids, (int)count);
}

/* Opens a model, in the precision in which it is stored unless `floats` is set. Several translators
   share it, and each gets as many sentences. */
EXPORT struct translator_work *ours_translator_create(const char *path, int beams, int batch,
                                                      int translators, int threads, int floats);
struct translator_work *ours_translator_create(const char *path, int beams, int batch,
                                               int translators, int threads, int floats)
{
    struct translator_work *w = bench_alloc(sizeof *w);
    rapt_translator_options options = {.size = sizeof options,
                                       .beams = beams,
                                       .batch = batch,
                                       .length_penalty = 1,
                                       .threads = threads,
                                       .precision = floats ? RAPT_PRECISION_F32 : 0,
                                       .min_length = TOKENS,
                                       .max_length = TOKENS};
    rapt_message why = {""};
    *w = (struct translator_work){.translators = translators};
    check_ours_model(rapt_translator_load(&w->shares[0].translator, path, &options, NULL, &why),
                     &why);
    const rapt_translator *first = w->shares[0].translator;
    options.precision = 0;
    for (int i = 1; i < translators; i++)
        check_ours_model(
            rapt_translator_create(&w->shares[i].translator, rapt_translator_model(first),
                                   rapt_translator_source(first), rapt_translator_target(first),
                                   &options, NULL, &why),
            &why);
    for (int i = 0; i < SENTENCES; i++) draw_token(w, i);
    for (int i = 0; i < translators; i++) {
        int from = i * SENTENCES / translators, end = (i + 1) * SENTENCES / translators;
        w->shares[i].sources = w->sources + from, w->shares[i].count = end - from;
    }
    return w;
}

/* Returns the number of tokens of each translation without its end token. */
EXPORT int ours_translator_length(void);
int ours_translator_length(void)
{
    return TOKENS;
}

/* Returns the number of sources, which is also the largest number of translators. */
EXPORT int ours_translator_sentences(void);
int ours_translator_sentences(void)
{
    return SENTENCES;
}

/* Returns the sources, owned by the work. */
EXPORT const char *ours_translator_sources(const struct translator_work *w);
const char *ours_translator_sources(const struct translator_work *w)
{
    return w->names.bytes;
}

static int keep_translation(void *user, const rapt_translation *t)
{
    struct share *s = user;
    append_names(&s->translations, rapt_translator_target(s->translator), t->target,
                 t->target_count);
    s->tokens += t->target_count;
    return 0;
}

static void *translate_share(void *argument)
{
    struct share *s = argument;
    rapt_message why = {""};
    s->translations.size = 0, s->tokens = 0;
    check_ours_model(rapt_translate_many(s->translator, s->sources, (size_t)s->count, 0,
                                         keep_translation, s, &why),
                     &why);
    return NULL;
}

/* Returns the translations of all sources, owned by the work until the next call. */
EXPORT const char *ours_translator_run(struct translator_work *w);
const char *ours_translator_run(struct translator_work *w)
{
    pthread_t threads[SENTENCES];
    for (int i = 1; i < w->translators; i++)
        if (pthread_create(&threads[i], NULL, translate_share, &w->shares[i]))
            bench_fail("no more threads");
    translate_share(&w->shares[0]);
    w->translations.size = 0;
    for (int i = 0; i < w->translators; i++) {
        if (i > 0) pthread_join(threads[i], NULL);
        append(&w->translations, w->shares[i].translations.bytes, w->shares[i].translations.size);
    }
    return w->translations.bytes;
}

EXPORT int ours_translator_tokens(const struct translator_work *w);
int ours_translator_tokens(const struct translator_work *w)
{
    int tokens = 0;
    for (int i = 0; i < w->translators; i++) tokens += w->shares[i].tokens;
    return tokens;
}

EXPORT void ours_translator_free(struct translator_work *w);
void ours_translator_free(struct translator_work *w)
{
    for (int i = 0; i < SENTENCES; i++) bench_free(w->texts[i].bytes);
    bench_free(w->names.bytes);
    bench_free(w->translations.bytes);
    for (int i = w->translators - 1; i >= 0; i--) {
        bench_free(w->shares[i].translations.bytes);
        rapt_translator_free(w->shares[i].translator);
    }
    bench_free(w);
}
