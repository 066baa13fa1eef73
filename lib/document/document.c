/* document.c - collects a window of sentences, has them translated, and passes on the pieces of the
   document: what is kept before a sentence, then the sentence. */
#include "document/document.h"

#include <string.h>

enum {
    WINDOW_PARTS = 1024,   /* as many sentences as translate.c translates at once */
    WINDOW_BYTES = 1 << 20 /* a window ends when its sentences have more bytes */
};

struct window_part {
    struct passage part;
    rapt_text text; /* what is translated; empty if it is not valid UTF-8 */
    size_t joined;  /* where text is in document.joined, with options.unwrap */
};

/* One call. */
struct document {
    rapt_allocator allocator;
    struct sentence_splitter splitter;
    rapt_document_fn *callback;
    void *user;
    struct window_part *parts; /* [WINDOW_PARTS] */
    rapt_text *texts;          /* [WINDOW_PARTS] the valid ones of the window */
    size_t count, given;       /* in parts; in texts */
    size_t emitted;            /* parts of the window that have been passed on */
    size_t before;             /* sentences of earlier windows that were given to the engine */
    size_t done, written;      /* bytes of the document and of its translation, so far */
    uint32_t last;             /* last character of the last sentence's translation */
    bool ended, stopped;
    char *joined; /* [joined_capacity] sentences without line breaks */
    size_t joined_size, joined_capacity;
    char *clean; /* [clean_capacity] a translation without line breaks */
    size_t clean_capacity;
};

/* ---- memory ---- */

/* Makes *array [*capacity], which has `used` bytes, large enough for `size` bytes. */
static rapt_status reserve(struct document *d, char **array, size_t *capacity, size_t used,
                           size_t size)
{
    if (size <= *capacity) return RAPT_OK;
    size_t larger = rapt__max_size(size, 2 * *capacity);
    char *memory = rapt__alloc(&d->allocator, larger);
    if (!memory) return RAPT_NO_MEMORY;
    if (used) memcpy(memory, *array, used);
    rapt__free(&d->allocator, *array, *capacity);
    *array = memory, *capacity = larger;
    return RAPT_OK;
}

static rapt_status open_document(struct document *d, bool rules, rapt_message *why)
{
    struct sentence_splitter *s = &d->splitter;
    d->parts = rapt__alloc(&d->allocator, WINDOW_PARTS * sizeof *d->parts);
    d->texts = rapt__alloc(&d->allocator, WINDOW_PARTS * sizeof *d->texts);
    if (s->options.unwrap) s->flat = rapt__alloc(&d->allocator, SPLITTER_BLOCK);
    if (!d->parts || !d->texts || (s->options.unwrap && !s->flat))
        return rapt__fail(why, RAPT_NO_MEMORY, "no memory to translate a document");
    s->languages = rapt__languages(s->options.language);
    return rapt__breaks_open(&s->breaks, rules, why);
}

static void close_document(struct document *d)
{
    rapt__breaks_close(&d->splitter.breaks);
    rapt__free(&d->allocator, d->splitter.flat, SPLITTER_BLOCK);
    rapt__free(&d->allocator, d->parts, WINDOW_PARTS * sizeof *d->parts);
    rapt__free(&d->allocator, d->texts, WINDOW_PARTS * sizeof *d->texts);
    rapt__free(&d->allocator, d->joined, d->joined_capacity);
    rapt__free(&d->allocator, d->clean, d->clean_capacity);
}

/* ---- a window of sentences ---- */

/* Appends text to d->joined without its line breaks. */
static rapt_status join_lines(struct document *d, struct window_part *p)
{
    rapt_status status =
        reserve(d, &d->joined, &d->joined_capacity, d->joined_size, d->joined_size + p->text.size);
    if (status) return status;
    p->joined = d->joined_size;
    p->text.size = rapt__plain_join(p->text, d->joined + d->joined_size);
    d->joined_size += p->text.size;
    return RAPT_OK;
}

static rapt_status add_part(struct document *d, struct passage part, rapt_message *why)
{
    struct window_part *p = &d->parts[d->count++];
    rapt_status status = RAPT_OK;
    *p = (struct window_part){.part = part};
    p->text.bytes = d->splitter.document.bytes + part.source.begin;
    p->text.size = part.source.end - part.source.begin;
    if (rapt_utf8_valid(p->text) < p->text.size)
        p->text.size = 0;
    else if (d->splitter.flat)
        status = join_lines(d, p);
    if (status) return rapt__fail(why, status, "no memory to join lines of a document");
    return RAPT_OK;
}

/* Lists the texts of the window that are valid. */
static void list_texts(struct document *d)
{
    d->given = 0;
    for (size_t i = 0; i < d->count; i++) {
        struct window_part *p = &d->parts[i];
        if (d->splitter.flat && p->text.size > 0) p->text.bytes = d->joined + p->joined;
        if (p->text.size > 0) d->texts[d->given++] = p->text;
    }
}

static rapt_status fill_window(struct document *d, rapt_message *why)
{
    rapt_status status = RAPT_OK;
    d->count = d->emitted = d->joined_size = 0;
    for (size_t bytes = 0; !status && d->count < WINDOW_PARTS && bytes < WINDOW_BYTES;) {
        struct passage part = {{0, 0}, false};
        bool found = false;
        status = rapt__splitter_next(&d->splitter, &part, &found, why);
        d->ended = !status && !found;
        if (!found) break;
        status = add_part(d, part, why);
        bytes += part.source.end - part.source.begin;
    }
    if (!status) list_texts(d);
    return status;
}

/* ---- pieces ---- */

static void emit(struct document *d, rapt_document_piece *piece, rapt_text text)
{
    if (d->stopped) return;
    piece->text = text.bytes;
    piece->target = (rapt_span){d->written, d->written + text.size};
    d->done = piece->source.end;
    d->written = piece->target.end;
    d->stopped = d->callback(d->user, piece) != 0;
}

/* Returns true if the document has only spaces from `begin` to `end`. */
static bool is_gap(rapt_text document, size_t begin, size_t end)
{
    for (size_t at = begin; at < end; at++)
        if (document.bytes[at] != ' ') return false;
    return true;
}

/* Returns the text between the last sentence and one whose translation begins with `first`: that of
   the document, unless the two languages differ in whether a blank belongs there. */
static rapt_text gap_text(const struct document *d, const struct passage *part, uint32_t first)
{
    rapt_text document = d->splitter.document;
    rapt_text gap = {document.bytes + d->done, part->source.begin - d->done};
    size_t next = part->source.begin, start;
    if (d->last == 0 || !is_gap(document, d->done, part->source.begin)) return gap;
    bool before = rapt__is_unspaced(rapt__character_before(document, d->done, &start));
    bool after = rapt__is_unspaced(rapt__utf8_next(document.bytes, document.size, &next));
    bool bare = rapt__is_unspaced(d->last) && rapt__is_unspaced(first);
    bool spaced = !rapt__is_unspaced(d->last) && !rapt__is_unspaced(first);
    if (gap.size == 0 && spaced && (before || after)) return (rapt_text){" ", 1};
    if (gap.size > 0 && bare && part->continued && !(before && after)) gap.size = 0;
    return gap;
}

/* Passes on what is kept before a part, then the part, as which `text` appears. */
static void emit_part(struct document *d, const struct window_part *p, rapt_text text,
                      rapt_document_piece *piece)
{
    rapt_document_piece kept = {.kind = RAPT_PIECE_KEPT, .source = {d->done, p->part.source.begin}};
    size_t at = 0;
    uint32_t first = text.size > 0 ? rapt__utf8_next(text.bytes, text.size, &at) : 0;
    rapt_text gap = gap_text(d, &p->part, first);
    if (gap.size > 0 || kept.source.end > kept.source.begin) emit(d, &kept, gap);
    piece->kind = RAPT_PIECE_SENTENCE;
    piece->source = p->part.source;
    piece->continued = p->part.continued;
    emit(d, piece, text);
    d->last = text.size > 0 ? rapt__character_before(text, text.size, &at) : 0;
}

static rapt_text source_text(const struct document *d, const struct window_part *p)
{
    const rapt_span source = p->part.source;
    return (rapt_text){d->splitter.document.bytes + source.begin, source.end - source.begin};
}

/* Passes on the parts that are not valid UTF-8, up to the next one that is. */
static void emit_invalid(struct document *d)
{
    for (; d->emitted < d->count && d->parts[d->emitted].text.size == 0; d->emitted++) {
        const struct window_part *p = &d->parts[d->emitted];
        rapt_document_piece piece = {.status = RAPT_BAD_FILE};
        emit_part(d, p, source_text(d, p), &piece);
    }
}

/* Replaces tabs and line breaks of a translation, which would change the layout, by blanks. */
static rapt_status clean_text(struct document *d, rapt_text *text)
{
    size_t at = 0;
    while (at < text->size && (text->bytes[at] < '\t' || text->bytes[at] > '\r')) at++;
    if (at == text->size) return RAPT_OK;
    rapt_status status = reserve(d, &d->clean, &d->clean_capacity, 0, text->size);
    if (status) return status;
    rapt__plain_flatten(*text, d->clean);
    text->bytes = d->clean;
    return RAPT_OK;
}

struct taker { /* of the translations of a window */
    struct document *document;
    rapt_status status;
};

/* Receives the translations of a window in order. */
static int take_translation(void *user, rapt_status status, rapt_text text,
                            const rapt_translation *translation)
{
    struct taker *taker = user;
    struct document *d = taker->document;
    rapt_translation counted;
    rapt_document_piece piece = {.status = status};
    if (d->stopped || taker->status) return 1;
    emit_invalid(d);
    if (d->emitted == d->count || d->stopped) return 1;
    const struct window_part *p = &d->parts[d->emitted++];
    if (translation) {
        counted = *translation;
        counted.sentence += d->before;
        piece.translation = &counted;
    }
    if (status)
        text = source_text(d, p);
    else
        taker->status = clean_text(d, &text);
    if (!taker->status) emit_part(d, p, text, &piece);
    return d->stopped || taker->status;
}

static rapt_status translate_window(struct document *d, rapt_message *why)
{
    const rapt_document_engine *engine = &d->splitter.engine;
    struct taker taker = {d, RAPT_OK};
    rapt_status status = RAPT_OK;
    if (d->given > 0)
        status = engine->translate(engine->user, d->texts, d->given, take_translation, &taker, why);
    if (status) return status;
    if (taker.status)
        return rapt__fail(why, taker.status, "no memory for a translation of a document");
    emit_invalid(d);
    d->stopped = d->stopped || d->emitted < d->count;
    d->before += d->given;
    return RAPT_OK;
}

/* Passes on what follows the last sentence. */
static void emit_rest(struct document *d)
{
    rapt_text document = d->splitter.document;
    rapt_document_piece kept = {.kind = RAPT_PIECE_KEPT, .source = {d->done, document.size}};
    if (d->done < document.size)
        emit(d, &kept, (rapt_text){document.bytes + d->done, document.size - d->done});
}

/* ---- the call ---- */

static rapt_status read_arguments(struct sentence_splitter *s, const rapt_document_engine *engine,
                                  const rapt_document_options *options, rapt_message *why)
{
    rapt_document_options *own = &s->options;
    rapt_status status =
        rapt__struct_read(&s->engine, sizeof s->engine, engine, "rapt_document_engine", why);
    own->size = sizeof *own;
    if (!status && options)
        status = rapt__struct_read(own, sizeof *own, options, "rapt_document_options", why);
    if (!status && !s->engine.translate)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "engine.translate is NULL");
    if (!status)
        status = rapt__int_check("format", (int)own->format, RAPT_DOCUMENT_FORMAT_TEXT,
                                 RAPT_DOCUMENT_FORMAT_TEXT, why);
    if (!status) status = rapt__int_check("max_length", own->max_length, 0, 1 << 30, why);
    return status;
}

rapt_status rapt__document_translate(const rapt_document_engine *engine, rapt_text document,
                                     const rapt_document_options *options, bool rules,
                                     rapt_document_fn *callback, void *user,
                                     const rapt_allocator *allocator, rapt_message *why)
{
    struct document d = {.allocator = rapt__allocator(allocator),
                         .splitter = {.document = document},
                         .callback = callback,
                         .user = user};
    rapt_status status = read_arguments(&d.splitter, engine, options, why);
    if (status) return status;
    status = open_document(&d, rules, why);
    while (!status && !d.ended && !d.stopped) {
        status = fill_window(&d, why);
        if (!status) status = translate_window(&d, why);
    }
    if (!status) emit_rest(&d);
    close_document(&d);
    return status;
}

rapt_status rapt_document_translate_with(const rapt_document_engine *engine, rapt_text document,
                                         const rapt_document_options *options,
                                         rapt_document_fn *callback, void *user,
                                         const rapt_allocator *allocator, rapt_message *why)
{
    if (!engine || !callback)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", !engine ? "engine" : "callback");
    rapt_status status = rapt__text_check("document", 0, document.bytes, document.size, why);
    if (status) return status;
    return rapt__document_translate(engine, document, options, false, callback, user, allocator,
                                    why);
}
