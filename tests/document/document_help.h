/* document_help.h - helpers of the tests of documents and markup: engines, and a record of the
   pieces. */
#ifndef RAPT_TESTS_DOCUMENT_HELP_H
#define RAPT_TESTS_DOCUMENT_HELP_H

#include "../skips.h"
#include "document/document.h"
#include "reorder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- documents: helpers of the tests of documents: an engine that marks or keeps sentences, and a
   record of the pieces, which checks that they tile the document and its translation. ---- */

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
enum { RULES = 1, ICU = 0 };

#ifdef RAPT_HAVE_ICU
static const bool have_icu = true;
#else
static const bool have_icu = false;
#endif
static inline bool built_with_icu(const char *test)
{
    if (!have_icu) skipped(test, "the library was built without ICU");
    return have_icu;
}

static inline uint64_t draw(uint64_t *state) /* xorshift64* (Vigna 2016) */
{
    *state ^= *state >> 12, *state ^= *state << 25, *state ^= *state >> 27;
    return *state * 0x2545F4914F6CDD1Du >> 33;
}

/* ---- engines ---- */

static inline rapt_status keep_sentences(void *user, const rapt_text *texts, size_t count,
                                         rapt_take_fn *take, void *taker, rapt_message *why)
{
    (void)user, (void)why;
    for (size_t i = 0; i < count; i++)
        if (take(taker, RAPT_OK, texts[i], NULL)) break;
    return RAPT_OK;
}

/* Puts braces around a sentence. */
static inline rapt_status mark_sentences(void *user, const rapt_text *texts, size_t count,
                                         rapt_take_fn *take, void *taker, rapt_message *why)
{
    (void)user, (void)why;
    for (size_t i = 0, stop = 0; i < count && !stop; i++) {
        char *marked = malloc(texts[i].size + 2);
        assert_non_null(marked);
        marked[0] = '{';
        memcpy(marked + 1, texts[i].bytes, texts[i].size);
        marked[texts[i].size + 1] = '}';
        stop = (size_t)take(taker, RAPT_OK, (rapt_text){marked, texts[i].size + 2}, NULL);
        free(marked);
    }
    return RAPT_OK;
}

/* ---- pieces ---- */

struct record {
    rapt_text document;
    char *text; /* the translated document, terminated by 0 */
    size_t size, done;
    size_t pieces, sentences, bad;
    bool kept_equal;      /* kept pieces are bytes of the document */
    bool kept_but_blanks; /* but for blanks that are inserted or removed between sentences */
    size_t stop_after;    /* pieces; 0: never */
};

/* Returns true if a kept piece is a blank that was inserted, or blanks that were removed. */
static inline bool is_blank_change(const rapt_document_piece *p, rapt_text document)
{
    const size_t source = p->source.end - p->source.begin, target = p->target.end - p->target.begin;
    if (source == 0) return target == 1 && p->text[0] == ' ';
    for (size_t at = p->source.begin; at < p->source.end; at++)
        if (document.bytes[at] != ' ') return false;
    return target == 0;
}

static inline int record_piece(void *user, const rapt_document_piece *p)
{
    struct record *r = user;
    size_t source = p->source.end - p->source.begin, target = p->target.end - p->target.begin;
    assert_true(p->source.begin == r->done && p->source.end >= p->source.begin);
    assert_true(p->source.end <= r->document.size);
    assert_true(p->target.begin == r->size && p->target.end >= p->target.begin);
    r->text = realloc(r->text, r->size + target + 1);
    assert_non_null(r->text);
    if (target) memcpy(r->text + r->size, p->text, target);
    r->size += target;
    r->text[r->size] = 0;
    r->done = p->source.end;
    r->pieces++;
    if (p->kind == RAPT_PIECE_SENTENCE) {
        r->sentences++;
        r->bad += p->status != RAPT_OK;
        assert_true(p->original.end > p->original.begin);
    } else {
        assert_int_equal(p->status, RAPT_OK);
        assert_true(p->translation == NULL && p->continued == 0);
        const bool equal =
            source == target && memcmp(p->text, r->document.bytes + p->source.begin, source) == 0;
        r->kept_equal = r->kept_equal && equal;
        r->kept_but_blanks = r->kept_but_blanks && (equal || is_blank_change(p, r->document));
    }
    return r->stop_after > 0 && r->pieces == r->stop_after;
}

/* Translates a document and returns the record, whose text the caller frees. */
static inline struct record translate_document(rapt_sentences_fn *translate, rapt_text document,
                                               const rapt_document_options *options, bool rules)
{
    struct record r = {
        .document = document, .text = calloc(1, 1), .kept_equal = true, .kept_but_blanks = true};
    const rapt_document_engine engine = {.size = sizeof engine, .translate = translate};
    rapt_message why = {""};
    if (rapt__document_translate(&engine, document, options, rules, NULL, record_piece, &r, NULL,
                                 &why))
        fail_msg("%s", why.text);
    assert_true(r.done == document.size);
    return r;
}

/* Checks what a document becomes if its sentences are marked, by ICU and by rules. */
static inline void becomes(const char *language, const char *document, const char *wanted)
{
    const rapt_document_options options = {.size = sizeof options, .language = language};
    for (int rules = 0; rules < 2; rules++) {
        struct record r = translate_document(
            mark_sentences, (rapt_text){document, strlen(document)}, &options, rules);
        assert_string_equal(r.text, wanted);
        free(r.text);
    }
}

/* ---- markup: helpers of the tests of markup: documents that are translated by changing the order
   of words. ---- */

/* Returns a document with its words in another order. The caller frees the text of the record. */
static inline struct record reorder_document(rapt_document_format format, struct reordering how,
                                             rapt_text document)
{
    const rapt_document_options options = {.size = sizeof options, .format = format};
    const rapt_document_engine engine = {
        .size = sizeof engine, .translate = reorder_sentences, .user = &how};
    struct record r = {.document = document, .text = calloc(1, 1), .kept_equal = true};
    rapt_message why = {""};
    if (rapt__document_translate(&engine, document, &options, RULES, NULL, record_piece, &r, NULL,
                                 &why))
        fail_msg("%s", why.text);
    assert_true(r.done == document.size);
    return r;
}

static inline void reorders(rapt_document_format format, struct reordering how,
                            const char *document, const char *wanted)
{
    struct record r = reorder_document(format, how, (rapt_text){document, strlen(document)});
    assert_string_equal(r.text, wanted);
    free(r.text);
}

#endif
