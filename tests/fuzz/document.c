/* document.c - any bytes as a document. Its pieces tile it; with an engine that keeps sentences it
   comes back byte for byte, unless lines are joined; what is kept does not change; sentences are
   valid UTF-8 without white space around them, whatever is protected; and a failing allocation is
   reported. */
#include "document/document.h"
#include "fuzz.h"

enum { BYTES = 1 << 12 };

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
    if (size > BYTES) return 0;
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
