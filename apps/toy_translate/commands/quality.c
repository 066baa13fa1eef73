/* quality.c - toy_translate translate --quality: one JSON object for each sentence of a document,
   with its confidence, what it is aligned to, and which guards were needed. */
#include "translate.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int quality_open(struct quality *quality)
{
    if (quality->name == NULL) return EXIT_OK;
    quality->file = tmpfile();
    return quality->file != NULL ? EXIT_OK : failed("a temporary file: %s", strerror(errno));
}

int quality_close(struct quality *quality, bool complete)
{
    int code = EXIT_OK;
    if (quality->file == NULL) return EXIT_OK;
    if (complete) code = spool_save(quality->file, quality->name);
    fclose(quality->file);
    quality->file = NULL;
    return code;
}

static json_t *span_json(rapt_span span)
{
    return json_pack("[I, I]", (json_int_t)span.begin, (json_int_t)span.end);
}

/* Returns a span that begins `before` bytes later. */
static json_t *later_json(rapt_span span, size_t before)
{
    return span_json((rapt_span){before + span.begin, before + span.end});
}

static json_t *spans_json(const rapt_span *spans, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++) put_item(list, span_json(spans[i]));
    return list;
}

static json_t *words_json(const rapt_translation *t)
{
    json_t *list = json_array();
    for (int i = 0; i < t->target_word_count; i++) {
        const int source = t->word_sources[i];
        put_item(list, json_pack("{s:o, s:o, s:o}", "span", span_json(t->target_words[i]), "source",
                                 source < 0 ? json_null() : json_integer(source), "log_probability",
                                 number((double)t->word_log_probabilities[i])));
    }
    return list;
}

static json_t *faults_json(int faults)
{
    static const struct {
        int bit;
        const char *name;
    } known[] = {{RAPT_FAULT_REPEATS, "repeats"},
                 {RAPT_FAULT_LONG, "long"},
                 {RAPT_FAULT_EMPTY, "empty"},
                 {RAPT_FAULT_LOST, "lost"},
                 {RAPT_FAULT_REMAINS, "remains"}};
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (faults & known[i].bit) put_item(list, json_string(known[i].name));
    return list;
}

/* Returns a text as it is, or its printable characters if it is not UTF-8. */
static json_t *text_json(rapt_text text)
{
    if (rapt_utf8_valid(text) == text.size) return json_stringn(text.bytes, text.size);
    char *valid = printable(text);
    json_t *string = json_string(valid);
    free(valid);
    return string;
}

/* Adds what is known of a sentence that was translated. */
static void put_translation(json_t *object, const rapt_document_piece *piece)
{
    const rapt_translation *t = piece->translation;
    const int words = t->source_word_count;
    put_member(object, "read", json_stringn(piece->read.bytes, piece->read.size));
    put_member(object, "translation", text_json((rapt_text){t->text, t->size}));
    put_member(object, "log_probability", number((double)t->mean_log_probability));
    put_member(object, "coverage",
               words > 0 ? number((double)t->source_words_covered / words) : json_null());
    put_member(object, "source_words", spans_json(t->source_words, words));
    put_member(object, "words", words_json(t));
    put_member(object, "ended", json_boolean(t->ended));
    put_member(object, "faults", faults_json(t->faults));
    put_member(object, "protected", json_integer(piece->guards));
    put_member(object, "restored", json_integer(piece->restored));
    put_member(object, "terms", json_integer(t->terms));
    put_member(object, "terms_met", json_integer(t->terms_met));
    put_member(object, "recased", json_boolean(piece->recased));
}

void quality_add(struct quality *quality, const rapt_document_piece *piece)
{
    if (quality->file == NULL || piece->kind != RAPT_PIECE_SENTENCE) return;
    json_t *object =
        json_pack("{s:I, s:o, s:o, s:b}", "sentence", (json_int_t)quality->count++, "source",
                  later_json(piece->original, quality->read), "target",
                  later_json(piece->target, quality->written), "continued", piece->continued);
    if (object == NULL) exit(failed("out of memory"));
    if (piece->status != RAPT_OK)
        put_member(object, "error",
                   json_string(piece->status == RAPT_BAD_FILE ? "not UTF-8" : "too many tokens"));
    else if (piece->translation != NULL)
        put_translation(object, piece);
    write_json(object, quality->file);
}
