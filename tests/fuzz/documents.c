/* documents.c - any bytes as a document of plain text or with markup, for the targets of the
   formats. Its pieces tile it; what is kept does not change; with an engine that keeps sentences,
   it comes back byte for byte; and a failing allocation is reported. */
#include "document/document.h"
#include "document/reorder.h"
#include "fuzz.h"

/* ---- document: plain text, whose lines may be joined. Sentences are valid UTF-8 without white
   space around them, whatever is protected. ---- */

enum { DOCUMENT_BYTES = 1 << 12 };

struct seen {
    rapt_text document;
    const rapt_document_options *options;
    size_t done, written; /* bytes of the document and of its translation */
    size_t wrong;         /* sentences that are not valid UTF-8 */
};

static int see_piece(void *user, const rapt_document_piece *p)
{
    struct seen *s = user;
    size_t source = p->source.end - p->source.begin, target = p->target.end - p->target.begin;
    const char *bytes = s->document.bytes + p->source.begin;
    require(p->source.begin == s->done && p->target.begin == s->written,
            "pieces follow each other");
    require(p->source.begin < p->source.end && p->source.end <= s->document.size, "a piece");
    bool equal = source == target && memcmp(bytes, p->text, source) == 0;
    require(equal || (s->options->unwrap && p->kind == RAPT_PIECE_SENTENCE && target <= source),
            "the document comes back");
    bool valid = rapt_utf8_valid((rapt_text){bytes, source}) == source;
    if (p->kind == RAPT_PIECE_SENTENCE)
        require(valid == (p->status == RAPT_OK), "status of a sentence");
    else
        require(p->status == RAPT_OK, "status of a kept piece");
    require(p->recased == 0 || s->options->recase != RAPT_DOCUMENT_RECASE_NONE, "case");
    s->done = p->source.end, s->written = p->target.end;
    return 0;
}

/* Keeps sentences. */
static rapt_status keep(void *user, const rapt_text *texts, size_t count, rapt_take_fn *take,
                        void *taker, rapt_message *why)
{
    const struct seen *s = user;
    (void)why;
    for (size_t i = 0; i < count; i++) {
        const rapt_text t = texts[i];
        rapt_span trimmed = rapt__trimmed(t, (rapt_span){0, t.size});
        require(t.size > 0 && rapt_utf8_valid(t) == t.size, "a sentence is valid UTF-8");
        require(trimmed.begin == 0 && trimmed.end == t.size, "no white space around a sentence");
        require(rapt__has_letters(t), "a sentence has letters");
        size_t characters = 0, max = (size_t)s->options->max_length;
        for (size_t at = 0; at < t.size; characters++) rapt__utf8_next(t.bytes, t.size, &at);
        require(max == 0 || characters <= max || !s->options->unprotected,
                "a sentence is not too long");
        if (take(taker, RAPT_OK, t, NULL)) break;
    }
    return RAPT_OK;
}

int fuzz_document(const uint8_t *bytes, size_t size)
{
    static const char *const languages[] = {NULL, "en", "de", "zh-Hant"};
    static const rapt_text patterns[] = {{"a b", 3}, {"x*z?", 4}, {"*\xC3\xA9", 3}};
    struct feed in = {bytes, size};
    if (size > DOCUMENT_BYTES) return 0;
    const rapt_document_options options = {.size = sizeof options,
                                           .unwrap = take_flag(&in),
                                           .max_length = take_below(&in, 40),
                                           .language = languages[take_below(&in, 4)],
                                           .unprotected = (int)(size & 1),
                                           .recase = (rapt_document_recase)(size / 2 % 3),
                                           .protected_patterns = patterns,
                                           .protected_pattern_count = size % 4};
    bool rules = take_flag(&in);
    char *exact = exact_copy(in.at, in.left);
    struct counted counted = counted_by(input_hash(bytes, size), 4);
    const rapt_allocator allocator = counted_allocator(&counted);
    struct seen seen = {.document = {exact, in.left}, .options = &options};
    const rapt_document_engine engine = {.size = sizeof engine, .translate = keep, .user = &seen};
    rapt_message why = {""};
    rapt_status status = rapt__document_translate(&engine, seen.document, &options, rules, NULL,
                                                  see_piece, &seen, &allocator, &why);
    require(status == RAPT_OK || (status == RAPT_NO_MEMORY && may_lack_memory(&counted)), "status");
    require(status == RAPT_OK || why.text[0], "a reason");
    require(status != RAPT_OK || seen.done == seen.document.size, "nothing is lost");
    require(counted.now == 0, "all memory is given back");
    free(exact);
    return 0;
}

/* ---- laws of markup: an engine that changes the order of words gives a document that has the same
   marks when it is read again ---- */

enum { MARKUP_BYTES = 1500 }; /* so that no block has more marks than it may */

struct markup_seen {
    rapt_text document;
    char *out; /* [capacity] the translated document */
    size_t capacity, size;
    size_t done;    /* bytes of the document */
    size_t wrong;   /* sentences that are not valid UTF-8 or were refused */
    bool elsewhere; /* a translation is not in the place of its sentence */
};

static int see_markup(void *user, const rapt_document_piece *p)
{
    struct markup_seen *s = user;
    const size_t source = p->source.end - p->source.begin, target = p->target.end - p->target.begin;
    const size_t original = p->original.end - p->original.begin;
    require(p->source.begin == s->done && p->target.begin == s->size, "pieces follow each other");
    require(p->source.begin <= p->source.end && p->source.end <= s->document.size, "source");
    require(p->original.begin <= p->original.end && p->original.end <= s->document.size,
            "original");
    const bool here = p->original.begin == p->source.begin && p->original.end == p->source.end;
    s->elsewhere = s->elsewhere || !here;
    if (p->kind == RAPT_PIECE_KEPT && here && source > 0 && target > 0)
        require(target == source &&
                    memcmp(p->text, s->document.bytes + p->source.begin, target) == 0,
                "what is kept does not change");
    if (p->kind == RAPT_PIECE_KEPT && !here && original > 0 && target > 0)
        require(target == original &&
                    memcmp(p->text, s->document.bytes + p->original.begin, target) == 0,
                "what is copied does not change");
    s->wrong += p->status != RAPT_OK;
    if (s->size + target > s->capacity) {
        s->capacity = 2 * (s->size + target);
        s->out = realloc(s->out, s->capacity);
        require(s->out != NULL, "memory for the test itself");
    }
    if (target) memcpy(s->out + s->size, p->text, target);
    s->size += target;
    s->done = p->source.end;
    return 0;
}

static rapt_status keep_markup(void *user, const rapt_text *texts, size_t count, rapt_take_fn *take,
                               void *taker, rapt_message *why)
{
    (void)user, (void)why;
    for (size_t i = 0; i < count; i++) {
        const rapt_span trimmed = rapt__trimmed(texts[i], (rapt_span){0, texts[i].size});
        require(trimmed.begin == 0 && trimmed.end == texts[i].size && trimmed.end > 0, "trimmed");
        require(rapt_utf8_valid(texts[i]) == texts[i].size, "a sentence is valid UTF-8");
        if (take(taker, RAPT_OK, texts[i], NULL)) break;
    }
    return RAPT_OK;
}

/* A vocabulary that lacks some characters. */
static int spell_markup(void *user, rapt_text text)
{
    (void)user;
    for (size_t i = 0; i < text.size; i++)
        if (strchr("@{`", text.bytes[i]) || (unsigned char)text.bytes[i] >= 0xC2) return 0;
    return 1;
}

/* Calls see(user, mark) for the marks of a document, except line breaks. */
static void each_mark(rapt_document_format format, rapt_text document,
                      void (*see)(void *, const struct mark *), void *user)
{
    const rapt_allocator allocator = rapt__allocator(NULL);
    struct format_reader r = {.document = document, .block = {.document = document}};
    bool found = true;
    r.block.text.allocator = &allocator;
    while (found && rapt__format((int)format)->next(&r, &found, NULL) == RAPT_OK)
        for (size_t i = 0; found && i < r.block.mark_count; i++)
            if (r.block.marks[i].kind != MARK_BREAK) see(user, &r.block.marks[i]);
    rapt__block_free(&r.block);
}

struct mark_sum {
    rapt_text document;
    uint64_t sum; /* does not depend on the order of marks */
    bool guarded; /* there are guards; if only guards are left of a block, it is not found again */
};

static void add_mark(void *user, const struct mark *m)
{
    struct mark_sum *s = user;
    s->sum += input_hash((const uint8_t *)s->document.bytes + m->document.begin,
                         m->document.end - m->document.begin);
    s->guarded = s->guarded || m->kind == MARK_GUARD;
}

struct mark_search {
    rapt_text document, out;
};

static void find_mark(void *user, const struct mark *m)
{
    const struct mark_search *s = user;
    const size_t size = m->document.end - m->document.begin;
    bool found = false;
    for (size_t at = 0; !found && at + size <= s->out.size; at++)
        found = memcmp(s->out.bytes + at, s->document.bytes + m->document.begin, size) == 0;
    require(found, "a mark comes back");
}

/* Checks that the marks of a document are those of its translation. Where < is not escaped, text
   may become a mark. */
static void compare_marks(rapt_document_format format, rapt_text document, rapt_text out)
{
    struct mark_sum before = {.document = document}, after = {.document = out};
    struct mark_search search = {document, out};
    each_mark(format, document, add_mark, &before);
    each_mark(format, out, add_mark, &after);
    const bool exact = !before.guarded && rapt__format((int)format)->write == rapt__write_escaped;
    require(!exact || before.sum == after.sum, "the marks come back");
    if (!exact) each_mark(format, document, find_mark, &search);
}

/* Checks that a file of messages that has been translated has nothing left to translate. */
static void check_translated(const rapt_document_options *options, rapt_text document)
{
    struct markup_seen seen = {.document = document};
    const rapt_document_engine engine = {.size = sizeof engine, .translate = keep_markup};
    static const char *const stale[] = {"fuzzy", "initial", "new", "needs"}; /* always translated */
    for (size_t i = 0; i < sizeof stale / sizeof *stale; i++)
        for (size_t at = 0, size = strlen(stale[i]); at + size <= document.size; at++)
            if (rapt__same_name((rapt_text){document.bytes + at, size}, stale[i])) return;
    require(rapt_document_translate_with(&engine, document, options, see_markup, &seen, NULL,
                                         NULL) == RAPT_OK,
            "the translation can be read");
    require(!seen.elsewhere, "all messages are translated");
    free(seen.out);
}

static void check_markup(rapt_document_format format, const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    if (size > MARKUP_BYTES) return;
    const bool keeps = take_flag(&in), rules = take_flag(&in);
    struct reordering how = {(enum order)take_below(&in, 3), take_flag(&in)};
    const rapt_document_options options = {.size = sizeof options,
                                           .format = format,
                                           .recase = (rapt_document_recase)(size % 3),
                                           .language = size % 2 ? "tr" : NULL,
                                           .max_length = take_flag(&in) ? take_below(&in, 40) : 0};
    char *exact = exact_copy(in.at, in.left);
    struct counted counted = counted_by(input_hash(bytes, size), 30);
    const rapt_allocator allocator = counted_allocator(&counted);
    struct markup_seen seen = {.document = {exact, in.left}};
    const rapt_document_engine engine = {.size = sizeof engine,
                                         .translate = keeps ? keep_markup : reorder_sentences,
                                         .user = &how,
                                         .spells =
                                             input_hash(bytes, size) & 1 ? spell_markup : NULL};
    rapt_message why = {""};
    rapt_status status = rapt__document_translate(&engine, seen.document, &options, rules, NULL,
                                                  see_markup, &seen, &allocator, &why);
    require(status == RAPT_OK || status == RAPT_BAD_FILE ||
                (status == RAPT_NO_MEMORY && may_lack_memory(&counted)),
            "status");
    require(status == RAPT_OK || why.text[0], "a reason");
    require(counted.now == 0, "all memory is given back");
    if (status == RAPT_OK) {
        require(seen.done == seen.document.size, "nothing is lost");
        if (keeps && !seen.elsewhere)
            require(seen.size == in.left && (in.left == 0 || memcmp(seen.out, exact, in.left) == 0),
                    "the document comes back");
        if (!seen.elsewhere) compare_marks(format, seen.document, (rapt_text){seen.out, seen.size});
        if (seen.elsewhere && options.max_length == 0)
            check_translated(&options, (rapt_text){seen.out, seen.size});
    }
    free(seen.out);
    free(exact);
}

/* ---- html: any bytes as an HTML document ---- */

int fuzz_html(const uint8_t *bytes, size_t size)
{
    check_markup(RAPT_DOCUMENT_FORMAT_HTML, bytes, size);
    return 0;
}

/* ---- markdown: any bytes as Markdown ---- */

int fuzz_markdown(const uint8_t *bytes, size_t size)
{
    check_markup(RAPT_DOCUMENT_FORMAT_MARKDOWN, bytes, size);
    return 0;
}

/* ---- po: any bytes as messages of gettext ---- */

int fuzz_po(const uint8_t *bytes, size_t size)
{
    check_markup(RAPT_DOCUMENT_FORMAT_PO, bytes, size);
    return 0;
}

/* ---- srt: any bytes as subtitles ---- */

int fuzz_srt(const uint8_t *bytes, size_t size)
{
    check_markup(RAPT_DOCUMENT_FORMAT_SRT, bytes, size);
    return 0;
}

/* ---- xliff: any bytes as XLIFF ---- */

int fuzz_xliff(const uint8_t *bytes, size_t size)
{
    check_markup(RAPT_DOCUMENT_FORMAT_XLIFF, bytes, size);
    return 0;
}
