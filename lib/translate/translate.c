/* translate.c - translates sentences window by window and passes each translation to a callback, in
   order. */
#include "translate/translate.h"

#include <limits.h>
#include <string.h>

/* Fills in the log-probabilities of a translation, and their mean, if requested. */
static void fill_logs(const struct window *w, const struct sentence *s, rapt_translation *out)
{
    const int count = out->target_count + (out->ended != 0);
    double sum = 0;
    if (!w->job->call.log_probabilities) return;
    out->log_probabilities = w->logs + s->out + (size_t)out->rank * (size_t)s->limit;
    for (int i = s->prefix_count; i < count; i++) sum += (double)out->log_probabilities[i];
    if (count > s->prefix_count)
        out->mean_log_probability = (float)(sum / (count - s->prefix_count));
}

/* Fills in translation number `rank` of a sentence from the results of the search. Returns false if
   the sentence has no translation of that rank. */
static bool found(const struct window *w, const struct sentence *s, int rank, rapt_translation *out)
{
    size_t nbest = (size_t)w->job->options.nbest, at = (size_t)s->number * nbest + (size_t)rank;
    size_t limit = (size_t)s->limit, keys = rapt__alignment_columns(w->t, s);
    if (w->counts[at] < 0) return false;
    out->source = w->ids + s->start;
    out->source_count = (int)keys - 1;
    out->target = w->out + s->out + (size_t)rank * limit;
    out->target_count = w->counts[at];
    out->score = w->scores[at];
    out->ended = w->ended[at];
    out->faults = s->faults;
    out->terms = s->terms;
    out->terms_met = w->met[at];
    fill_logs(w, s, out);
    if (s->aligned)
        out->alignment = w->alignments_out + s->alignment + (size_t)rank * (limit + 1) * keys;
    return true;
}

struct receiver {
    rapt_translation_fn *callback;
    void *user;
    bool stop; /* the callback has asked to stop */
};

/* Passes each translation of a sentence to the callback. A sentence without tokens has one empty
   translation. After a stop, sentences whose search has not begun are skipped. */
static rapt_status emit(struct window *w, const struct sentence *s, struct receiver *to,
                        rapt_message *why)
{
    int ranks = s->count > 0 ? w->job->options.nbest : 1;
    if (w->stopped && !s->begun) return RAPT_OK;
    for (int rank = 0; rank < ranks && !to->stop; rank++) {
        rapt_translation out = {
            .sentence = w->before + (size_t)s->number, .rank = rank, .text = ""};
        rapt_status status = RAPT_OK;
        if (s->count < 0) out.status = RAPT_BAD_ARGUMENT;
        if (s->count > 0 && !found(w, s, rank, &out)) continue;
        if (s->count > 0)
            status =
                rapt__call_text(w->t, &w->memory, out.target, (size_t)out.target_count, &out.size);
        if (s->count > 0 && !status) out.text = w->memory.text;
        if (!status && out.alignment) status = rapt__words_fill(w, s, &out);
        if (status)
            return rapt__fail(why, status, "out of memory for the translation of texts[%zu]",
                              out.sentence);
        to->stop = to->callback(to->user, &out) != 0;
    }
    return RAPT_OK;
}

/* Copies and checks the caller's arguments; call may be NULL for the defaults. */
static rapt_status read_call(struct translate_job *job, const rapt_text *texts, size_t count,
                             const rapt_translate_call *call, rapt_message *why)
{
    rapt_translate_call *own = &job->call;
    rapt_status status = RAPT_OK;
    *own = (rapt_translate_call){.size = sizeof *own};
    if (call) status = rapt__struct_read(own, sizeof *own, call, "rapt_translate_call", why);
    if (!status) status = rapt__call_options(job->t, own->options, &job->options, why);
    if (!status && own->glossary) job->options.glossary = own->glossary;
    if (!status && job->options.glossary && job->options.temperature > 0)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "temperature is %g; with a glossary it must be 0, since samples cannot be "
            "made to contain terms",
            (double)job->options.temperature);
    if (!status && (own->token || own->logits) && count > INT_MAX)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "count is %zu; if %s is set, it must be at most %d", count,
                          own->token ? "token" : "logits", INT_MAX);
    if (!status && own->token && own->mend)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "mend cannot be used with token, because tokens cannot change once they are reported");
    if (!status && own->token && job->options.temperature > 0 && job->options.nbest > 1)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "if token is set and temperature is above 0, nbest must be 1, not %d",
                          job->options.nbest);
    if (!status) status = rapt__languages_given(job->t, why);
    if (!status) status = rapt__texts_check("texts", texts, count, why);
    if (!status) status = rapt__opaque_check(own, texts, count, why);
    if (!status && own->prefixes) status = rapt__texts_check("prefixes", own->prefixes, count, why);
    return status;
}

rapt_status rapt_translate_many_with(rapt_translator *t, const rapt_text *texts, size_t count,
                                     const rapt_translate_call *call, rapt_translation_fn *callback,
                                     void *user, rapt_message *why)
{
    if (!t || !callback || (count && !texts))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL",
                          !t          ? "translator"
                          : !callback ? "callback"
                                      : "texts");
    struct receiver to = {callback, user, false};
    struct translate_job job = {.t = t, .user = user};
    rapt_status status = read_call(&job, texts, count, call, why);
    if (status) return status;
    struct window *w = (struct window *)rapt__call_begin(t, sizeof *w);
    if (!w) return rapt__fail(why, RAPT_NO_MEMORY, "out of memory while translating");
    for (size_t at = 0; !status && !to.stop && at < count; at += (size_t)w->count) {
        status = rapt__window_translate(w, &job, texts, count, at, why);
        for (int i = 0; !status && !to.stop && i < w->count; i++)
            status = emit(w, &w->sentences[i], &to, why);
        to.stop = to.stop || w->stopped;
        rapt__call_release(t, &w->memory);
    }
    rapt__call_end(t, &w->memory);
    return status;
}

rapt_status rapt_translate_many(rapt_translator *t, const rapt_text *texts, size_t count,
                                int alignments, rapt_translation_fn *callback, void *user,
                                rapt_message *why)
{
    const rapt_translate_call call = {.size = sizeof call, .alignments = alignments};
    return rapt_translate_many_with(t, texts, count, &call, callback, user, why);
}

/* ---- one sentence ---- */

struct one {
    char *out;
    size_t capacity, size;
    rapt_status status;
};

static int take_one(void *user, const rapt_translation *translation)
{
    struct one *one = user;
    one->status = translation->status;
    one->size = translation->size + 1;
    if (one->size <= one->capacity) memcpy(one->out, translation->text, one->size);
    return 1;
}

rapt_status rapt_translate(rapt_translator *t, const char *text, char *out, size_t capacity,
                           size_t *size, rapt_message *why)
{
    if (!t || !text || (capacity && !out))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL",
                          !t      ? "translator"
                          : !text ? "text"
                                  : "out");
    rapt_text one_text = {text, strlen(text)};
    struct one one = {.out = out, .capacity = capacity};
    rapt_status status = rapt_translate_many(t, &one_text, 1, 0, take_one, &one, why);
    if (status) return status;
    if (one.status)
        return rapt__fail(
            why, one.status,
            "with special tokens, the text has more tokens than the model's maximum of %d",
            t->model->config.positions);
    if (size) *size = one.size;
    if (one.size > capacity)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "the translation needs %zu bytes; capacity is %zu", one.size, capacity);
    return RAPT_OK;
}
