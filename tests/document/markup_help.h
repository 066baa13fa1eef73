/* markup_help.h - helpers of the tests of markup: documents that are translated by changing the
   order of words. */
#ifndef RAPT_TESTS_MARKUP_HELP_H
#define RAPT_TESTS_MARKUP_HELP_H

#include "document_help.h"
#include "reorder.h"

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
