/* document.h - interface of the document layer. document.c collects sentences, has them translated,
   and passes the translated document to the caller in pieces. parts.c prepares the sentences for
   translation and marks protected text. split.c finds the sentences and cuts long ones: plain.c
   finds the prose in plain text, breaks.c finds the places where sentences may end, ends.c decides
   whether they do, and protect.c and addresses.c find text that must not change. recase.c converts
   sentences in capitals or title case to sentence case, and restores the case in the translation.
   engine.c translates sentences with a translator. characters.c classifies characters. markup.h
   declares the formats with markup. */
#ifndef RAPT_LIB_DOCUMENT_H
#define RAPT_LIB_DOCUMENT_H

#include "document/markup.h"
#include "text/glossary.h"

#include <rapt/document.h>

/* ---- characters.c ---- */
bool rapt__is_terminator(uint32_t character); /* punctuation that ends sentences, such as . ! ? */
/* Returns true for a terminator that needs no space after it, such as the Chinese full stop. */
bool rapt__is_full_terminator(uint32_t character);
/* Returns true for closing brackets, and for quotation marks that end a quotation in some
   language. */
bool rapt__is_closer(uint32_t character);
/* Returns true for opening brackets, for quotation marks that begin a quotation in some language,
   and for inverted exclamation and question marks. */
bool rapt__is_opener(uint32_t character);
/* Returns the span without leading and trailing white space and byte order marks (U+FEFF). */
rapt_span rapt__trimmed(rapt_text text, rapt_span span);
/* Returns the end of the span that rapt__trimmed returns, or span.begin if that span is empty. */
size_t rapt__trimmed_end(rapt_text text, rapt_span span);
bool rapt__has_letters(rapt_text text);
bool rapt__is_break(char c); /* true for \n and \r */
/* Returns the offset of the first line break at or after `at`, or the size of the text. */
size_t rapt__line_end(rapt_text text, size_t at);
/* Returns the beginning of the line after the line break at `end`, which may be \r\n. */
size_t rapt__line_next(rapt_text text, size_t end);

/* ---- breaks.c: where the sentences of a block of text may end ---- */
struct breaks {
    rapt_text block;
    bool rules;      /* use only the rules of breaks.c, not ICU */
    size_t rule;     /* the last place that the rules found; 0 if they have not been applied yet */
    void *sentences; /* ICU's iterators over sentences and lines, and the text that they read; NULL
                        until needed */
    void *lines;
    void *text;
};
/* Opens ICU's sentence iterator, if ICU was built in and `rules` is false. Returns RAPT_NO_MEMORY
   if an allocation fails, and RAPT_BAD_FILE if ICU fails for another reason, usually because its
   data is missing. The caller must close *breaks even after a failure. */
rapt_status rapt__breaks_open(struct breaks *breaks, bool rules, rapt_message *why);
void rapt__breaks_close(struct breaks *breaks);
/* Sets the block, which must remain valid. Returns the same errors as rapt__breaks_open. */
rapt_status rapt__breaks_set(struct breaks *breaks, rapt_text block, rapt_message *why);
/* Returns the first place after `from` where a sentence may begin, or the size of the block. */
size_t rapt__breaks_next(struct breaks *breaks, size_t from);
/* Returns the last place in `text`, at or before `limit`, where a line may be broken according to
   ICU. Returns 0 if the line cannot be broken there or ICU is not used. The block stays the
   same. */
size_t rapt__breaks_line(struct breaks *breaks, rapt_text text, size_t limit);

/* ---- ends.c: whether a sentence ends ---- */
struct language;
enum { LANGUAGES_MAX = 24 };
struct languages { /* languages whose abbreviations are recognized */
    const struct language *list[LANGUAGES_MAX];
    int count;
};
/* Returns the language with this ISO 639 code. The first - _ . or @ in the code is ignored, along
   with everything after it. Returns all languages if the code is NULL or unknown. */
struct languages rapt__languages(const char *code);
/* Returns true if a sentence of text ends before `at`, a place that rapt__breaks_next returned. */
bool rapt__sentence_ends(const struct languages *languages, rapt_text text, size_t at);

/* ---- plain.c: plain text ---- */
/* Finds the next run of prose at or after *at, and moves *at to its end. If `unwrap` is true, the
   run may continue on the following lines. Before the call, *at must be at the beginning of a line
   or at the end of the previous run. Returns false at the end of the document. */
bool rapt__plain_next(rapt_text document, bool unwrap, size_t *at, rapt_span *prose);
/* Returns the beginning of the prose in the line that begins at `at`, after white space and quote,
   heading and list markers. */
size_t rapt__plain_marks(rapt_text text, size_t at);
/* Copies text, replacing each tab, line feed, vertical tab, form feed and carriage return with a
   space. */
void rapt__plain_flatten(rapt_text text, char *flat);
/* Copies text to `out`. White space that contains a line break becomes a single space, but is
   dropped between characters of scripts without spaces, after a hyphen within a word, and at both
   ends of the text. Returns the size of the result, which is at most text.size. */
size_t rapt__plain_join(rapt_text text, char *out);

/* ---- protect.c: text that must not change ---- */
struct protection {
    bool off; /* only text that matches a pattern is protected */
    const rapt_text *patterns;
    size_t pattern_count;
    bool firsts[256]; /* true for bytes that may begin a match of a pattern */
};
/* Keeps a pointer to the patterns in the options. Returns RAPT_BAD_ARGUMENT if one is invalid. */
rapt_status rapt__protection_open(struct protection *protection,
                                  const rapt_document_options *options, rapt_message *why);
/* Finds the first protected text that begins in [at, limit). Returns false if there is none. */
bool rapt__protected_next(const struct protection *protection, rapt_text text, size_t at,
                          size_t limit, rapt_span *span);

/* ---- addresses.c: every search is bounded, so the total time is linear ---- */
enum { PROTECTED_URL = 2048, PROTECTED_NAME = 255 }; /* maximum sizes in bytes */
/* These functions return the end of the address or name that begins at `at`, or `at` if there is
   none. */
size_t rapt__url_end(rapt_text text, size_t at);
size_t rapt__mail_end(rapt_text text, size_t at);
/* Finds the path of a file, or the name of a file or host with a known ending. */
size_t rapt__path_end(rapt_text text, size_t at);
/* Finds the name of a hidden file, such as .bashrc. */
size_t rapt__hidden_end(rapt_text text, size_t at);
/* Finds a Windows path, which begins with a drive or a server. */
size_t rapt__windows_path_end(rapt_text text, size_t at);
/* Finds an IPv4 address and the port or prefix length after it, if any. */
size_t rapt__number_address_end(rapt_text text, size_t at);
/* Finds a program identifier: a name that is followed by () or has an underscore between letters or
   digits. */
size_t rapt__identifier_end(rapt_text text, size_t at);

/* ---- recase.c: sentences in capitals and in title case ---- */
struct recasing {
    bool capitals, titles;         /* convert sentences in capitals, and in title case */
    bool small_words;              /* a title may contain short words in lower case */
    bool keeps_i;                  /* the word I remains in upper case, as in English */
    bool dotless;                  /* the lower-case form of I has no dot, as in Turkish */
    const rapt_glossary *glossary; /* terms are spelled as in this glossary; may be NULL */
};
struct recasing rapt__recasing(const rapt_document_options *options);
/* Returns the case of a sentence if it is to be converted to sentence case, otherwise CASE_USUAL.
   Guards are ignored. */
enum letter_case rapt__case_find(const struct recasing *how, rapt_text text,
                                 const struct mark *marks, size_t count);
enum { CASE_GROWS = 3 }; /* a character becomes at most 3 times as long, in bytes */
/* A sentence that was converted to sentence case. */
struct recased {
    struct buffer text; /* the caller sets its allocator */
    size_t *places;     /* [size + 1] offset in `text` of each byte of the sentence */
    char *capitals;     /* [text.size] nonzero for letters that were capitals, and for glossary
                           terms */
    size_t size;        /* bytes of the sentence */
};
/* Converts a sentence to sentence case and stores the result in *out, which must be freed even
   after a failure. The first letter remains a capital unless `continued`, which means that the text
   is not the beginning of its sentence. Returns RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__case_lower(const struct recasing *how, rapt_text text, const struct mark *marks,
                             size_t count, enum letter_case letters, bool continued,
                             struct recased *out);
void rapt__recased_free(struct recased *recased);
/* Returns true if a text contains a dotless i or its counterpart, a capital I with a dot. */
bool rapt__case_dotless(rapt_text text);

/* ---- split.c: the sentences of a document ---- */
/* The last protected text that was found. The bytes from `origin` to `scanned` have been
   searched. */
struct protected_search {
    size_t origin, scanned;
    rapt_span last;
};
struct sentence_splitter {
    rapt_text document;
    rapt_text text; /* the text being split: the document, or the text of reader.block */
    const struct format *format;
    struct format_reader reader; /* not used for plain text */
    rapt_document_options options;
    rapt_document_engine engine;
    struct protection protection;
    struct protected_search search;
    struct recasing recasing;
    struct languages languages;
    struct breaks breaks;
    size_t at;          /* plain text has been read up to here */
    rapt_span prose;    /* the rest of the prose, whose sentences have not been found yet */
    rapt_span block;    /* the part of the prose whose sentences are being found */
    rapt_span sentence; /* the rest of the sentence, which has not been returned yet */
    bool continued;     /* a part of the sentence has been returned already */
    bool artificial;    /* the sentence ends only because the block does */
    char *flat;         /* the block without line breaks; NULL unless lines of text are joined */
};
struct passage {      /* a sentence, or a part of one that was cut */
    rapt_span source; /* in the text being split */
    bool continued;
};
/* Finds the next sentence, or the next part of one, that has letters to translate. Sets *found to
   false at the end of the document. Returns errors of the format's reader and of rapt__breaks_set,
   and RAPT_NO_MEMORY if an allocation fails. */
rapt_status rapt__splitter_next(struct sentence_splitter *splitter, struct passage *part,
                                bool *found, rapt_message *why);

/* Returns the size of the longest prefix of text that has at most max_length tokens, or characters
   if the engine has no `fit`. If max_length is 0, this is the size of text. */
size_t rapt__splitter_fit(const struct sentence_splitter *splitter, rapt_text text);

/* ---- parts.c: guards, which are marks for text that must not change ---- */
/* The parts of sentences that must not change, as rapt_translate_call.opaque expects them, and
   flags for the sentences that have marks. */
struct opaque {
    unsigned char *marked; /* [texts] */
    size_t marked_capacity;
    rapt_span *spans;
    size_t *starts; /* [texts + 1] */
    size_t count, texts, span_capacity, start_capacity;
};
/* Appends a sentence whose opaque parts are the guards among marks [count]. Returns RAPT_NO_MEMORY
   if an allocation fails. */
rapt_status rapt__opaque_add(struct opaque *opaque, const struct mark *marks, size_t count,
                             const rapt_allocator *allocator);
void rapt__opaque_free(struct opaque *opaque, const rapt_allocator *allocator);

/* ---- engine.c: a translator as the engine of a document ---- */
struct translator_engine {
    rapt_document_engine engine;   /* its `user` is this struct */
    rapt_document_options options; /* the caller's options, with the defaults of the translator */
    rapt_translator *translator;
    int alignments, mend;
    const rapt_glossary *glossary;
    struct opaque opaque; /* opaque parts of the sentences that are translated next */
    uint64_t first;       /* number of the next sentence */
    rapt_status failure;  /* first failure of engine.spells; RAPT_OK if there was none */
    int32_t *ids;         /* [capacity] */
    size_t *ends;         /* [capacity] */
    size_t capacity;
};
/* Prepares to translate one document. On success, the caller must close the engine. Returns
   RAPT_NO_MEMORY if an allocation fails, and errors of rapt__struct_read for the options. */
rapt_status rapt__engine_open(struct translator_engine *e, rapt_translator *translator,
                              const rapt_document_options *options, rapt_message *why);
void rapt__engine_close(struct translator_engine *e);

/* ---- document.c ---- */
/* Implements rapt_document_translate_with. If `rules` is true, ICU is not used. If `opaque` is not
   NULL, it describes the sentences in each call to engine->translate. */
rapt_status rapt__document_translate(const rapt_document_engine *engine, rapt_text document,
                                     const rapt_document_options *options, bool rules,
                                     struct opaque *opaque, rapt_document_fn *callback, void *user,
                                     const rapt_allocator *allocator, rapt_message *why);

/* ---- parts.c: the window of document.c ---- */

struct window_part {  /* a sentence, or a part of one, in the window */
    rapt_span source; /* bytes of the document that the part came from */
    bool continued;
    rapt_text text;           /* the text to translate; empty if it is not valid UTF-8 */
    bool is_held;             /* text is in document.held, not in the document */
    size_t held;              /* offset of the text in document.held */
    rapt_span joined;         /* span of the whole text in document.held, if its lines were
                                 joined */
    size_t marks, mark_count; /* in document.marks */
    struct elsewhere elsewhere;
    enum letter_case letters; /* original case of the sentence, if text is in sentence case */
    size_t capitals;          /* offset in document.held of the array placed.capitals,
                                 [text.size] */
};

/* The state of one call to rapt__document_translate. */
struct document {
    rapt_allocator allocator;
    struct sentence_splitter splitter;
    rapt_document_fn *callback;
    void *user;
    struct window_part *parts; /* [WINDOW_PARTS] */
    rapt_text *texts;          /* [WINDOW_PARTS] the window's texts that are valid UTF-8 */
    size_t count, given;       /* number of parts, and of texts for the engine */
    size_t emitted;            /* number of parts of the window that have been passed on */
    size_t before;             /* number of sentences given to the engine in earlier windows */
    size_t done, written;      /* bytes of the document and of its translation that have been passed
                                  on */
    uint32_t last;             /* last character of the last sentence's translation, not counting
                                  quotation marks; 0 before the first sentence of the document or of
                                  an entry */
    bool ended, stopped;
    bool holds;             /* set if the texts of sentences are copied to `held` */
    struct buffer held;     /* texts of the window's sentences, without line breaks or markup */
    struct mark_list marks; /* marks of the window's sentences */
    struct buffer clean;    /* a translation without line breaks, later with its marks */
    struct elsewhere entry; /* the entry that is being written, if entry.given is set */
    size_t copied;          /* end of the part of entry.original that has been written */
    struct opaque *opaque;  /* describes the window's sentences; may be NULL */
};

/* Appends a sentence, or a part of one, to the window. Returns RAPT_NO_MEMORY if an allocation
   fails. */
rapt_status rapt__document_add(struct document *d, struct passage part, rapt_message *why);

#endif
