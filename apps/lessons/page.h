/* page.h - the blocks of a page in the order in which they were appended, for the files that render
   them. */
#ifndef LESSONS_PAGE_H
#define LESSONS_PAGE_H

#include "kit/heatmap.h"
#include "lesson.h"
#include <jansson.h>
#include <stdio.h>

enum map_slider { NO_SLIDER, BY_TEMPERATURE, BY_SIZE };
enum block_kind { STEP, PARAGRAPH, FORMULA, TABLE, MAP, CHART, DRAWING, BLOCK_KINDS };
struct curve {
    char *name;
    int count;
    double *xs, *ys; /* [count] */
};
struct block {
    enum block_kind kind;
    enum page_detail detail;
    char *text;             /* of paragraph and formula; the title of other blocks */
    int rows, columns;      /* of a table without its heads, of a map, or of a drawing's map */
    char **cells;           /* table: [1 + rows][columns], first the heads */
    char **row_names;       /* map: [rows] */
    char **column_names;    /* map: [columns] */
    float *weights;         /* map, or drawing with a map: [rows][columns] */
    float *scores;          /* drawing: [rows][columns] or NULL */
    double *probabilities;  /* drawing: [rows] or NULL */
    int shown;              /* drawing: its row of the map */
    int lit;                /* map: the row that matters, counted from 1; 0 if all do */
    enum map_slider slider; /* map: what a reader can divide the scores by */
    double *sizes;          /* map with BY_SIZE: [rows], n */
    char *model;            /* map: JSON of the model that made it, or NULL */
    char *labels[2];        /* chart: x, y */
    double range[2];        /* chart: of the y axis; both 0: fits the curves */
    int curves;             /* chart */
    struct curve *curve;    /* [curves] */
    double width, height;   /* drawing */
    char *drawn;            /* drawing: its SVG elements */
    bool keeps_colors;      /* drawing: also on dark pages */
    char *description;      /* drawing */
};
struct claim {
    char *statement;
    double measured, bound;
    enum page_relation relation;
    bool learned;     /* about something learned: it has a control */
    double untrained; /* the control, which must not satisfy the claim */
    bool holds;
};
struct page {
    const struct lesson *lesson;
    int count, capacity;
    struct block *blocks;
    int claims, failures;
    struct claim *claim; /* [claims] */
    double seconds;
    /* Called when a step begins, before its block is appended. */
    void (*before_step)(struct page *page, void *user);
    void *user;
};
void page_free(struct page *page);
/* Attaches a model to the last map: JSON as small_play writes it. */
void page_map_model(struct page *page, const char *json);

/* Returns whether a column of a table holds words and not numbers, so that it is left-aligned. */
bool table_column_is_text(const struct block *table, int column);
/* Returns what was measured, the bound and the control of a claim: "98.1 (>= 90; untrained: 0)".
   The caller frees. */
char *claim_text(const struct claim *claim);

/* ---- formula.c ---- */
char *formula_text(const char *formula); /* the caller frees */
void formula_mathml(FILE *file, const char *formula);

/* ---- terminal.c ---- */
struct terminal {
    bool more, pause;
    int printed; /* number of blocks */
};
void terminal_title(const struct page *page);
void terminal_print(const struct page *page, struct terminal *terminal); /* prints what is new */
void terminal_claims(const struct page *page);

/* ---- picture.c ---- */
bool block_is_picture(const struct block *block);
void picture_size(const struct block *block, double *width, double *height);
/* Finds the top left of the squares of a map, and their width. */
void picture_map_at(const struct block *map, double *x, double *y, double *cell);
void picture_draw(struct svg *svg, const struct block *block); /* draws from the top left */
/* Writes all pictures of the pages into one file. */
int picture_file(const char *path, const struct page *pages, int count);

/* ---- page.c, html.c ---- */
extern const char *const relation_signs[]; /* ">=" */
json_t *page_json(const struct page *page);
/* Creates the folder unless it exists. option: the option that named it, for the message. */
int folder_make(const char *option, const char *folder);
/* Writes index.html, glossary.html and lesson-N.html into the folder. */
int html_write(const char *folder, const struct page *pages, int count);

/* ---- html.c: parts of the pages ---- */
/* Writes text, with indices and exponents of one character set as such: x_T, W^h. Longer names with
   underscores stay as they are. */
void html_text(FILE *file, const char *text);
/* <element>text</element> */
void html_element(FILE *file, const char *element, const char *text);

/* Writes `lines` lines of the quoted code, from the one that contains `start` on, with the
   indentation of the first removed. Fails if no line contains it. */
void html_code(FILE *file, const char *start, int lines);

/* ---- appendix.c: exercises and sources of a lesson, and the glossary, from three tables ---- */
void html_exercises(FILE *file, int lesson);
void html_sources(FILE *file, int lesson);
void html_glossary(FILE *file);

/* ---- play.c: the script of pages, and the data that it reads ----
   These are the numbers of maps, and a model with the library that runs it. */
/* play.js, and the library compiled to WebAssembly and by gzip, with vectors of 128 bits and
   without. Their sizes are 0 if they could not be built. */
extern const unsigned char play_script[], play_simd[], play_plain[];
extern const size_t play_script_count, play_simd_count, play_plain_count;

/* The files of C of which pages quote lines, one after another, and a 0. */
extern const unsigned char quoted_code[];
extern const size_t quoted_code_count;

/* Writes the numbers of a map into its figure if its rows are distributions over a few words, or
   those of a drawing that shows a row of such a map. */
void play_picture(FILE *file, const struct page *page, const struct block *picture);
/* Writes the script at the end of a page with such a map, and the library if a map has a model. */
void play_end(FILE *file, const struct page *page);

/* Returns bytes in base64; the caller frees. */
char *play_base64(const unsigned char *bytes, size_t size);

#endif
