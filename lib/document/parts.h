/* parts.h - shared by document.c, which passes on the pieces of a document, and parts.c, which
   prepares sentences for the model. */
#ifndef RAPT_LIB_PARTS_H
#define RAPT_LIB_PARTS_H

#include "document/document.h"

struct window_part {
    rapt_span source; /* bytes of the part in the document */
    bool continued;
    rapt_text text;           /* the text to translate; empty if it is not valid UTF-8 */
    bool is_held;             /* text is in document.held and not in the document */
    size_t held;              /* offset of the text in document.held */
    rapt_span joined;         /* in document.held: all of the text, if its lines were joined */
    size_t marks, mark_count; /* in document.marks */
    struct elsewhere elsewhere;
    enum letter_case letters; /* original case of the sentence, if text is in sentence case */
    size_t capitals;          /* offset in document.held: [text.size] as in struct placed */
};

/* The state of one call. */
struct document {
    rapt_allocator allocator;
    struct sentence_splitter splitter;
    rapt_document_fn *callback;
    void *user;
    struct window_part *parts; /* [WINDOW_PARTS] */
    rapt_text *texts;          /* [WINDOW_PARTS] those texts of the window that are valid UTF-8 */
    size_t count, given;       /* number of parts, and of texts */
    size_t emitted;            /* parts of the window that have been passed on */
    size_t before;             /* sentences of earlier windows that were given to the engine */
    size_t done, written;      /* bytes of the document and of its translation that have been passed
                                  on */
    uint32_t last;             /* last character of the last sentence's translation */
    bool ended, stopped;
    bool holds;             /* set if the texts of sentences are copied to `held` */
    struct buffer held;     /* texts of the window's sentences, without line breaks and markup */
    struct mark_list marks; /* marks of the window's sentences */
    struct buffer clean;    /* a translation: first without line breaks, then with its marks */
    struct elsewhere entry; /* the entry that is being written, if entry.given is set */
    size_t copied;          /* end of the part of entry.original that has been written */
    struct opaque *opaque;  /* describes the window's sentences; may be NULL */
};

/* ---- parts.c ---- */
/* Appends a sentence, or a part of one, to the window. */
rapt_status rapt__document_add(struct document *d, struct passage part, rapt_message *why);

#endif
