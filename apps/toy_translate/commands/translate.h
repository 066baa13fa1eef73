/* translate.h - shared by translate.c, which translates line by line, and documents.c, which
   translates the sentences of a document. */
#ifndef TOY_TRANSLATE_TRANSLATE_H
#define TOY_TRANSLATE_TRANSLATE_H

#include "commands.h"
#include "kit/text.h"
#include "training/training.h"
#include <rapt/document.h>

enum { WINDOW = 1024 }; /* as many lines as the library translates at once */

/* The beginnings of translations, lines of a file. */
struct prefixes {
    const char *name; /* name of the file, or NULL without --prefix */
    char *bytes;
    size_t size, at, lines;  /* number of lines that prefixes_next has returned */
    rapt_text texts[WINDOW]; /* lines of the current window */
};

/* The output of --quality, an object for each sentence. */
struct quality {
    const char *name;     /* of the file, or NULL without --quality */
    FILE *file;           /* temporary; NULL if it is not open */
    size_t count;         /* sentences so far */
    size_t read, written; /* bytes of the document, and of its translation, before the block */
};

/* A list of words and phrases. */
struct phrases {
    char *bytes;
    rapt_text *list; /* [count] */
    size_t count;
};

struct job {
    rapt_translator *translator;
    bool by_lines, scores, alignments, json, unwrap;
    const char *format, *language; /* language is NULL if it is not given */
    bool unprotected, unmended;
    const char *recase; /* capitals, titles or none */
    size_t mended,
        faulty; /* number of sentences translated again, and of those that still have a fault */
    const char *do_not_translate; /* a file, or NULL */
    const char *suppress;         /* likewise */
    struct phrases suppressed;
    const char *glossary_file; /* NULL if none */
    rapt_glossary *glossary;
    size_t terms, terms_met; /* of the glossary, in all translations */
    int max_length;          /* 0 if not given */
    const char *model;
    struct prefixes prefixes;
    struct quality quality;
    struct raw raw;
    int nbest;                      /* number of translations to print per sentence */
    const char *name, *placeholder; /* name of the input; text for lines without a translation */
    const char *output;             /* NULL means standard output */
    bool complete;                  /* all lines have been answered */
    size_t first;                   /* the number of the window's first sentence, from 0 */
    bool wrong;                     /* a line could not be translated */
    bool returns;                   /* a line with a carriage return was reported */
    size_t count;
    bool dialog;       /* a person types the input */
    bool progress;     /* progress is shown */
    double start;      /* when translating began */
    double bytes, all; /* bytes of the input: translated so far, and in total, or 0 if unknown */
    struct unseen unseen;
    struct lines lines;
    rapt_text texts[WINDOW];
    bool invalid[WINDOW]; /* not UTF-8 */
};

/* Counts the terms and the unknown tokens of a translation, and notes its unseen words. */
void note_translation(struct job *job, const rapt_translation *t);
/* Reads --glossary. */
int open_glossary(struct job *job);
/* Reports how many terms of the glossary the translations contain. */
void report_terms(const struct job *job);
/* Reports once if most tokens so far are unknown. */
void report_raw(struct job *job);
/* Shows how many lines or sentences have been translated, and how long the others may take. */
void show_progress(const struct job *job, const char *what);

/* ---- phrases.c: --prefix ---- */
int prefixes_open(struct prefixes *prefixes);
/* Sets prefixes->texts to the next `count` lines. */
int prefixes_next(struct prefixes *prefixes, size_t count);
/* Fails if there are lines after those that prefixes_next took. */
int prefixes_end(const struct prefixes *prefixes);
void prefixes_close(struct prefixes *prefixes);

/* ---- documents.c: --quality ---- */
int quality_open(struct quality *quality);
/* Closes the temporary file, after writing it to --quality if the document is complete. */
int quality_close(struct quality *quality, bool complete);
void quality_add(struct quality *quality, const rapt_document_piece *piece);

/* ---- phrases.c ---- */
size_t count_lines(rapt_text text);
/* Reads phrases, one per line. Spaces around them and empty lines are ignored. Does nothing if path
   is NULL. */
int phrases_read(struct phrases *phrases, const char *path);
void phrases_free(struct phrases *phrases);

/* ---- documents.c ---- */
int translate_documents(struct job *job);
/* Writes the names of the formats, separated by |. */
void list_formats(char *names, size_t capacity);

#endif
