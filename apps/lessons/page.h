/* page.h - what a page holds, for those that render it: blocks in the order of their appending. */
#ifndef LESSONS_PAGE_H
#define LESSONS_PAGE_H

#include "kit/heatmap.h"
#include "lesson.h"
#include <jansson.h>
#include <stdio.h>

enum block_kind { STEP, PARAGRAPH, FORMULA, TABLE, MAP, CHART, DRAWING, CLAIM, BLOCK_KINDS };
struct curve {
    char *name;
    int count;
    double *xs, *ys; /* [count] */
};
struct block {
    enum block_kind kind;
    enum page_detail detail;
    char *text;           /* paragraph, formula, statement; the title of others */
    int rows, columns;    /* of a table without its heads, of a map */
    char **cells;         /* table: [1 + rows][columns], heads first */
    char **row_names;     /* map: [rows] */
    char **column_names;  /* map: [columns] */
    float *weights;       /* map: [rows][columns] */
    char *labels[2];      /* chart: x, y */
    double range[2];      /* chart: of y; both 0: what the curves need */
    int curves;           /* chart */
    struct curve *curve;  /* [curves] */
    double width, height; /* drawing */
    char *drawn;          /* drawing: its SVG elements */
    char *description;    /* drawing */
    double measured, bound;
    enum page_relation relation;
    bool holds; /* claim */
};
struct page {
    const struct lesson *lesson;
    int count, capacity;
    struct block *blocks;
    int claims, failures;
    double seconds;
    /* Called where a step begins, before its block is appended. */
    void (*before_step)(struct page *page, void *user);
    void *user;
};
void page_free(struct page *page);

/* ---- formula_text.c, formula_mathml.c ---- */
char *formula_text(const char *formula); /* the caller frees */
void formula_mathml(FILE *file, const char *formula);

/* ---- terminal.c ---- */
struct terminal {
    bool more, pause;
    int printed; /* blocks of the page */
};
void terminal_title(const struct page *page);
void terminal_print(const struct page *page, struct terminal *terminal); /* what is new */

/* ---- picture.c ---- */
bool block_is_picture(const struct block *block);
void picture_size(const struct block *block, double *width, double *height);
void picture_draw(struct svg *svg, const struct block *block); /* from the corner on */
/* All pictures of the pages in one file. */
int picture_file(const char *path, const struct page *pages, int count);

/* ---- json.c, html.c ---- */
extern const char *const relation_signs[]; /* ">=" */
json_t *page_json(const struct page *page);
/* Creates it, unless it is there; option: of the program, for the message. */
int folder_make(const char *option, const char *folder);
/* index.html and lesson-N.html in the folder. */
int html_write(const char *folder, const struct page *pages, int count);

#endif
