/* ours_model.c - whole models for compare.py: weights to copy, training steps, and greedy
   translation. Everything is tied to one table; tokens are random and all sequences have the same
   length, so that no peer loses by padding. */
#include "bench.h"

#include <rapt/rapt.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

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

/* ---- training: without dropout, so that losses can be compared ---- */

EXPORT struct model_work *ours_train_create(const struct model_shape *s, float rate);
struct model_work *ours_train_create(const struct model_shape *s, float rate)
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
    w->target = draw_tokens(s->batch, s->target + 1, s->vocab, 2);
    check_ours_model(rapt_trainer_create(&w->trainer, w->model, &o, &limits, NULL, &why), &why);
    return w;
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
