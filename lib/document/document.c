/* document.c - lists the formats. Collects a window of sentences, has them translated, and passes
   the pieces of the translated document to the callback: for each sentence, first the kept bytes
   before it and then its translation. */
#include "document/document.h"

#include <string.h>

/* ---- formats ---- */

static const struct format formats[] = {
    [RAPT_DOCUMENT_FORMAT_TEXT] = {"text", NULL, rapt__write_plain},
    [RAPT_DOCUMENT_FORMAT_HTML] = {"html", rapt__html_next, rapt__write_escaped},
    [RAPT_DOCUMENT_FORMAT_XLIFF] = {"xliff", rapt__xliff_next, rapt__write_escaped},
    [RAPT_DOCUMENT_FORMAT_MARKDOWN] = {"markdown", rapt__markdown_next, rapt__markdown_write},
    [RAPT_DOCUMENT_FORMAT_PO] = {"po", rapt__po_next, rapt__po_write},
    [RAPT_DOCUMENT_FORMAT_SRT] = {"srt", rapt__srt_next, rapt__write_plain},
};

const struct format *rapt__format(int index)
{
    return index >= 0 && index < (int)(sizeof formats / sizeof *formats) ? &formats[index] : NULL;
}

const char *rapt_document_format_name(int format)
{
    const struct format *known = rapt__format(format);
    return known ? known->name : NULL;
}

enum {
    WINDOW_PARTS = 1024, /* equal to WINDOW in translate/translate.h, the number of sentences that a
                            translator translates at once */
    WINDOW_BYTES = 1 << 20 /* a window ends once its sentences total at least this many bytes */
};

/* ---- memory ---- */

static rapt_status open_document(struct document *d, bool rules, rapt_message *why)
{
    struct sentence_splitter *s = &d->splitter;
    d->parts = rapt__alloc(&d->allocator, WINDOW_PARTS * sizeof *d->parts);
    d->texts = rapt__alloc(&d->allocator, WINDOW_PARTS * sizeof *d->texts);
    const bool joins = s->options.unwrap && !s->format->next;
    if (joins) s->flat = rapt__alloc(&d->allocator, SPLITTER_BLOCK);
    d->holds = joins || s->format->next;
    d->held.allocator = d->clean.allocator = s->reader.block.text.allocator = &d->allocator;
    d->marks.allocator = &d->allocator;
    if (!d->parts || !d->texts || (joins && !s->flat))
        return rapt__fail(why, RAPT_NO_MEMORY, "not enough memory to translate a document");
    s->languages = rapt__languages(s->options.language);
    return rapt__breaks_open(&s->breaks, rules, why);
}

static void close_document(struct document *d)
{
    rapt__breaks_close(&d->splitter.breaks);
    rapt__free(&d->allocator, d->splitter.flat, SPLITTER_BLOCK);
    rapt__free(&d->allocator, d->parts, WINDOW_PARTS * sizeof *d->parts);
    rapt__free(&d->allocator, d->texts, WINDOW_PARTS * sizeof *d->texts);
    rapt__free(&d->allocator, d->marks.items, d->marks.capacity * sizeof *d->marks.items);
    rapt__buffer_free(&d->held);
    rapt__buffer_free(&d->clean);
    rapt__block_free(&d->splitter.reader.block);
}

/* ---- a window of sentences ---- */

/* Fills d->texts with the window's texts that are valid UTF-8. */
static rapt_status list_texts(struct document *d)
{
    rapt_status status = RAPT_OK;
    d->given = 0;
    if (d->opaque) d->opaque->count = d->opaque->texts = 0;
    for (size_t i = 0; i < d->count && !status; i++) {
        struct window_part *p = &d->parts[i];
        if (p->is_held && p->text.size > 0) p->text.bytes = d->held.bytes + p->held;
        if (p->text.size == 0) continue;
        d->texts[d->given++] = p->text;
        if (d->opaque)
            status = rapt__opaque_add(d->opaque, p->mark_count ? d->marks.items + p->marks : NULL,
                                      p->mark_count, &d->allocator);
    }
    return status;
}

static rapt_status fill_window(struct document *d, rapt_message *why)
{
    rapt_status status = RAPT_OK;
    d->count = d->emitted = d->held.size = d->marks.count = 0;
    for (size_t bytes = 0; !status && d->count < WINDOW_PARTS && bytes < WINDOW_BYTES;) {
        struct passage part = {{0, 0}, false};
        bool found = false;
        status = rapt__splitter_next(&d->splitter, &part, &found, why);
        d->ended = !status && !found;
        if (!found) break;
        status = rapt__document_add(d, part, why);
        bytes += part.source.end - part.source.begin;
    }
    if (status || !list_texts(d)) return status;
    return rapt__fail(why, RAPT_NO_MEMORY, "no memory for the sentences of a document");
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

static rapt_text document_text(const struct document *d, rapt_span span)
{
    return (rapt_text){d->splitter.document.bytes + span.begin, span.end - span.begin};
}

/* Passes on a kept piece: `text` takes the place of the bytes `source` of the document. */
static void emit_kept(struct document *d, rapt_span source, rapt_span original, rapt_text text)
{
    rapt_document_piece kept = {.kind = RAPT_PIECE_KEPT, .source = source, .original = original};
    if (text.size > 0 || source.end > source.begin) emit(d, &kept, text);
}

/* Passes on the bytes of the document up to `end` unchanged. */
static void emit_until(struct document *d, size_t end)
{
    const rapt_span span = {d->done, end};
    emit_kept(d, span, span, document_text(d, span));
}

/* Passes on a kept piece whose text is inserted at the current place. */
static void emit_inserted(struct document *d, rapt_span original, rapt_text text)
{
    emit_kept(d, (rapt_span){d->done, d->done}, original, text);
}

/* ---- entries that are written elsewhere ---- */

/* Ends the entry that is being written, if there is one. */
static void end_entry(struct document *d)
{
    const struct elsewhere e = d->entry;
    const rapt_span rest = {d->copied, e.original.end};
    if (!e.given) return;
    emit_kept(d, (rapt_span){d->done, e.place.end}, rest, document_text(d, rest));
    emit_inserted(d, (rapt_span){rest.end, rest.end}, (rapt_text){e.after, strlen(e.after)});
    d->entry.given = false;
    d->last = 0;
}

/* Ends the current entry and begins that of the next part, unless the two are the same. */
static void begin_entry(struct document *d, const struct elsewhere *e)
{
    const rapt_span begin = {e->original.begin, e->original.begin};
    if (d->entry.given && e->given && d->entry.place.begin == e->place.begin) return;
    end_entry(d);
    if (!e->given) return;
    emit_until(d, e->place.begin);
    emit_inserted(d, e->indent, document_text(d, e->indent));
    emit_inserted(d, begin, (rapt_text){e->before, strlen(e->before)});
    d->entry = *e;
    d->copied = e->original.begin;
    d->last = 0;
}

/* ---- sentences ---- */

/* Returns true if the document has only spaces from `begin` to `end`. */
static bool is_gap(rapt_text document, size_t begin, size_t end)
{
    for (size_t at = begin; at < end; at++)
        if (document.bytes[at] != ' ') return false;
    return true;
}

static bool is_quotation_mark(uint32_t c)
{
    return c == '"' || c == '\'' || c == 0xAB || c == 0xBB || (c >= 0x2018 && c <= 0x201F) ||
           (c >= 0x300C && c <= 0x300F);
}

/* Returns the last character before `at`, skipping quotation marks unless nothing else precedes
   `at`. Returns 0 if `at` is 0. */
static uint32_t last_character(rapt_text text, size_t at)
{
    uint32_t c = 0;
    for (size_t start = at; at > 0; at = start) {
        c = rapt__character_before(text, at, &start);
        if (!is_quotation_mark(c)) break;
    }
    return c;
}

/* Returns the first character from `at` on, skipping quotation marks unless nothing else follows.
   Returns 0 at the end of the text. */
static uint32_t first_character(rapt_text text, size_t at)
{
    uint32_t c = 0;
    while (at < text.size) {
        c = rapt__utf8_next(text.bytes, text.size, &at);
        if (!is_quotation_mark(c)) break;
    }
    return c;
}

/* Returns the text to write between the last sentence, which ends at `from`, and part p, whose
   translation begins with the character `first`. This is the text that the document has there,
   unless the two languages differ in whether a space belongs there. */
static rapt_text gap_text(const struct document *d, size_t from, const struct window_part *p,
                          uint32_t first)
{
    rapt_text document = d->splitter.document;
    rapt_text gap = document_text(d, (rapt_span){from, p->source.begin});
    if (d->last == 0 || !is_gap(document, from, p->source.begin)) return gap;
    bool before = rapt__is_unspaced(last_character(document, from));
    bool after = rapt__is_unspaced(first_character(document, p->source.begin));
    bool bare = rapt__is_unspaced(d->last) && rapt__is_unspaced(first);
    bool spaced = !rapt__is_unspaced(d->last) && !rapt__is_unspaced(first);
    if (gap.size == 0 && spaced && (before || after)) return (rapt_text){" ", 1};
    if (gap.size > 0 && bare && p->continued && !(before && after)) gap.size = 0;
    return gap;
}

/* Passes on the kept text before a part, and then `text` in place of the part. */
static void emit_part(struct document *d, const struct window_part *p, rapt_text text,
                      rapt_document_piece *piece)
{
    const uint32_t first = first_character(text, 0);
    begin_entry(d, &p->elsewhere);
    const bool here = !d->entry.given;
    const size_t from = here ? d->done : d->copied;
    const rapt_span original = {from, p->source.begin};
    const rapt_text gap = gap_text(d, from, p, first);
    emit_kept(d, here ? original : (rapt_span){d->done, d->done}, original, gap);
    piece->kind = RAPT_PIECE_SENTENCE;
    piece->source = here ? p->source : (rapt_span){d->done, d->done};
    piece->original = p->source;
    piece->continued = p->continued;
    emit(d, piece, text);
    d->copied = p->source.end;
    d->last = last_character(text, text.size);
}

static rapt_text source_text(const struct document *d, const struct window_part *p)
{
    return document_text(d, p->source);
}

/* Passes on parts untranslated, up to the next one that is valid UTF-8. */
static void emit_invalid(struct document *d)
{
    for (; d->emitted < d->count && d->parts[d->emitted].text.size == 0; d->emitted++) {
        const struct window_part *p = &d->parts[d->emitted];
        rapt_document_piece piece = {.status = RAPT_BAD_FILE};
        emit_part(d, p, source_text(d, p), &piece);
    }
}

/* Replaces each tab and line break in a translation with a space, since they would change the
   layout. */
static rapt_status clean_text(struct document *d, rapt_text *text)
{
    size_t at = 0;
    while (at < text->size && (text->bytes[at] < '\t' || text->bytes[at] > '\r')) at++;
    if (at == text->size) return RAPT_OK;
    rapt__buffer_add(&d->clean, *text);
    if (d->clean.failed) return RAPT_NO_MEMORY;
    rapt__plain_flatten(*text, d->clean.bytes);
    text->bytes = d->clean.bytes;
    return RAPT_OK;
}

static int count_guards(const struct document *d, const struct window_part *p)
{
    int count = 0;
    for (size_t i = 0; i < p->mark_count; i++)
        count += d->marks.items[p->marks + i].kind == MARK_GUARD;
    return count;
}

/* Puts the marks of a sentence into its translation, restores its case, and escapes the translation
   as the format requires. If the translation equals the sentence that the model read, replaces it
   with the original bytes of the sentence. */
static rapt_status mark_up(struct document *d, const struct window_part *p,
                           rapt_document_piece *piece, rapt_text *text)
{
    const struct format *format = d->splitter.format;
    struct buffer out = {.allocator = &d->allocator};
    const bool joined = d->holds && !format->next;
    struct placed placed = {.document = joined ? (rapt_text){d->held.bytes, d->held.size}
                                               : d->splitter.document,
                            .source = p->text,
                            .target = *text,
                            .marks = p->mark_count > 0 ? d->marks.items + p->marks : NULL,
                            .mark_count = p->mark_count,
                            .translation = piece->translation,
                            .letters = p->letters,
                            .capitals = p->letters ? d->held.bytes + p->capitals : NULL,
                            .apart = format->write == rapt__write_escaped &&
                                     rapt__tag_may_begin(d->splitter.document, p->source.begin),
                            .write = format->write};
    if (!format->next && p->mark_count == 0 && p->letters == CASE_USUAL) return RAPT_OK;
    piece->guards = count_guards(d, p);
    const bool same =
        text->size == p->text.size && memcmp(text->bytes, p->text.bytes, text->size) == 0;
    if (same) {
        *text = joined
                    ? (rapt_text){d->held.bytes + p->joined.begin, p->joined.end - p->joined.begin}
                    : source_text(d, p);
        return RAPT_OK;
    }
    rapt_status status = rapt__place_marks(&placed, &out);
    piece->restored = placed.lost;
    rapt__buffer_free(status ? &out : &d->clean);
    if (status) return status;
    d->clean = out;
    *text = (rapt_text){out.bytes, out.size};
    return RAPT_OK;
}

struct taker { /* receives the translations of a window */
    struct document *document;
    rapt_status status;
};

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
    piece.read = p->text;
    piece.recased = p->letters != CASE_USUAL;
    if (translation) {
        counted = *translation;
        counted.sentence += d->before;
        piece.translation = &counted;
    }
    d->clean.size = 0;
    if (status)
        text = source_text(d, p);
    else
        taker->status = clean_text(d, &text);
    if (!status && !taker->status) taker->status = mark_up(d, p, &piece, &text);
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

/* Passes on the rest of the document after the last sentence. */
static void emit_rest(struct document *d)
{
    end_entry(d);
    emit_until(d, d->splitter.document.size);
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
                                 RAPT_DOCUMENT_FORMAT_LAST, why);
    if (!status) status = rapt__int_check("max_length", own->max_length, 0, 1 << 30, why);
    if (!status)
        status = rapt__int_check("recase", (int)own->recase, RAPT_DOCUMENT_RECASE_CAPITALS,
                                 RAPT_DOCUMENT_RECASE_LAST, why);
    if (!status) s->format = rapt__format((int)own->format);
    if (!status) status = rapt__protection_open(&s->protection, own, why);
    return status;
}

rapt_status rapt__document_translate(const rapt_document_engine *engine, rapt_text document,
                                     const rapt_document_options *options, bool rules,
                                     struct opaque *opaque, rapt_document_fn *callback, void *user,
                                     const rapt_allocator *allocator, rapt_message *why)
{
    struct document d = {.allocator = rapt__allocator(allocator),
                         .splitter = {.document = document,
                                      .text = document,
                                      .reader = {.document = document,
                                                 .end = document.size,
                                                 .block = {.document = document}}},
                         .opaque = opaque,
                         .callback = callback,
                         .user = user};
    if (!callback) return rapt__fail(why, RAPT_BAD_ARGUMENT, "callback is NULL");
    rapt_status status = rapt__text_check("document", 0, document.bytes, document.size, why);
    if (!status) status = read_arguments(&d.splitter, engine, options, why);
    if (status) return status;
    d.splitter.recasing = rapt__recasing(&d.splitter.options);
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
    if (!engine) return rapt__fail(why, RAPT_BAD_ARGUMENT, "engine is NULL");
    return rapt__document_translate(engine, document, options, false, NULL, callback, user,
                                    allocator, why);
}
