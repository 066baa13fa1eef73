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

/* ---- json.c, html.c ---- */
extern const char *const relation_signs[]; /* ">=" */
json_t *page_json(const struct page *page);
/* Creates the folder unless it exists. option: the option that named it, for the message. */
int folder_make(const char *option, const char *folder);
/* Writes index.html, glossary.html and lesson-N.html into the folder. */
int html_write(const char *folder, const struct page *pages, int count);

#endif
