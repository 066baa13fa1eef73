/* engine.c - translates the sentences of a document with a translator. */
#include "document/document.h"
#include "translate/translate.h"

enum { LENGTH_USUAL = 128 }; /* tokens; the same as max-length-break in Bergamot and Firefox */

struct relay {
    rapt_take_fn *take;
    void *taker;
};

static int pass_on(void *user, const rapt_translation *t)
{
    const struct relay *to = user;
    return t->rank ? 0 : to->take(to->taker, t->status, (rapt_text){t->text, t->size}, t);
}

static rapt_status translate_sentences(void *user, const rapt_text *sentences, size_t count,
                                       rapt_take_fn *take, void *taker, rapt_message *why)
{
    struct translator_engine *e = user;
    struct relay to = {take, taker};
    const rapt_translate_call call = {.size = sizeof call,
                                      .alignments = 1,
                                      .aligned = e->alignments ? NULL : e->opaque.marked,
                                      .log_probabilities = e->options.log_probabilities,
                                      .first = e->first,
                                      .mend = e->mend,
                                      .copy = e->mend,
                                      .glossary = e->glossary,
                                      .opaque = e->opaque.spans,
                                      .opaque_starts = e->opaque.starts};
    e->first += count;
    if (e->failure) return rapt__fail(why, e->failure, "no memory for protected text");
    return rapt_translate_many_with(e->translator, sentences, count, &call, pass_on, &to, why);
}

/* Returns the longest prefix of text that has at most 16 * max bytes and does not split a
   character. */
static rapt_text head_of(rapt_text text, size_t max)
{
    enum { TOKEN_LONGEST = 16 };
    size_t size = max * TOKEN_LONGEST;
    if (size >= text.size) return text;
    for (int back = 0; back < 3 && rapt__utf8_continues(text.bytes[size]); back++) size--;
    return (rapt_text){text.bytes, size};
}

/* Returns true if a text is certain to have at most `max` tokens. Does not tokenize it. */
static bool is_short(const rapt_translator *t, rapt_text text, size_t max)
{
    enum { BYTES_LONGEST = 4 };
    if (text.size > BYTES_LONGEST * max) return false;
    if (t->options.preprocess != RAPT_PREPROCESS_NONE)
        return rapt_tokenizer_bound(t->source, text.size) <= max;
    return rapt__tokenizer_most(t->source, text) <= max;
}

/* Implements rapt_fit_fn. max is at most e->capacity. */
static size_t fit_tokens(void *user, rapt_text text, size_t max)
{
    const struct translator_engine *e = user;
    const rapt_text head = head_of(text, max);
    size_t count = 0;
    if (is_short(e->translator, text, max)) return text.size;
    rapt_status status =
        rapt__text_encode(e->translator, e->translator->source, head, e->ids, e->ends, max, &count);
    if (!status) return head.size;
    /* Other failures are reported when the sentence is translated. */
    return status == RAPT_BAD_ARGUMENT && count > max ? e->ends[max - 1] : text.size;
}

/* Implements rapt_spells_fn. A failure is reported by the next translation. */
static int can_spell(void *user, rapt_text text)
{
    struct translator_engine *e = user;
    bool read = false, written = false;
    if (!e->failure) e->failure = rapt__spelled(e->translator, e->translator->source, text, &read);
    if (!e->failure && read)
        e->failure = rapt__spelled(e->translator, e->translator->target, text, &written);
    return written;
}

/* Copies the caller's options. Replaces a max_length of 0 with the default, and limits max_length
   so that a part fits in config.positions together with the tokens that the translator adds to
   it. */
static rapt_status read_options(const rapt_translator *t, const rapt_document_options *given,
                                rapt_document_options *own, rapt_message *why)
{
    rapt_status status = RAPT_OK;
    *own = (rapt_document_options){.size = sizeof *own};
    if (given) status = rapt__struct_read(own, sizeof *own, given, "rapt_document_options", why);
    if (status) return status;
    if (own->max_length == 0) own->max_length = LENGTH_USUAL;
    int positions = t->model->config.positions - (int)rapt__source_more(t);
    own->max_length = rapt__min(own->max_length, rapt__max(positions, 1));
    return RAPT_OK;
}

rapt_status rapt__engine_open(struct translator_engine *e, rapt_translator *translator,
                              const rapt_document_options *options, rapt_message *why)
{
    *e = (struct translator_engine){.translator = translator};
    rapt_document_options *own = &e->options;
    rapt_status status = read_options(translator, options, own, why);
    if (status) return status;
    /* Alignments determine which words of a title get capitals. Log-probabilities of words require
       the words, which are found together with the alignment. */
    e->alignments =
        own->alignments || own->log_probabilities || own->recase == RAPT_DOCUMENT_RECASE_TITLES;
    e->mend = !own->unmended;
    e->glossary = own->glossary;
    if (!own->glossary) own->glossary = translator->options.glossary;
    e->first = own->first;
    /* Negative values are rejected later. */
    e->capacity = own->max_length > 0 ? (size_t)own->max_length : 1;
    e->ids = rapt__alloc(&translator->allocator, e->capacity * sizeof *e->ids);
    e->ends = rapt__alloc(&translator->allocator, e->capacity * sizeof *e->ends);
    e->engine = (rapt_document_engine){.size = sizeof e->engine,
                                       .translate = translate_sentences,
                                       .fit = fit_tokens,
                                       .user = e,
                                       .spells = can_spell};
    if (e->ids && e->ends) return RAPT_OK;
    rapt__engine_close(e);
    return rapt__fail(why, RAPT_NO_MEMORY, "not enough memory to translate a document");
}

void rapt__engine_close(struct translator_engine *e)
{
    rapt__opaque_free(&e->opaque, &e->translator->allocator);
    rapt__free(&e->translator->allocator, e->ids, e->capacity * sizeof *e->ids);
    rapt__free(&e->translator->allocator, e->ends, e->capacity * sizeof *e->ends);
}

rapt_status rapt_document_translate(rapt_translator *translator, rapt_text document,
                                    const rapt_document_options *options,
                                    rapt_document_fn *callback, void *user, rapt_message *why)
{
    struct translator_engine e;
    if (!translator) return rapt__fail(why, RAPT_BAD_ARGUMENT, "translator is NULL");
    rapt_status status = rapt__engine_open(&e, translator, options, why);
    if (status) return status;
    status = rapt__document_translate(&e.engine, document, &e.options, false, &e.opaque, callback,
                                      user, &translator->allocator, why);
    rapt__engine_close(&e);
    return status;
}
