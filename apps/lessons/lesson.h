/* lesson.h - the interface of a lesson: a function appends blocks to a page, which is then printed,
   drawn (SVG), and written as JSON or HTML. A new lesson is a row of lessons.def and a file.

   Everything passed to page_* is copied; texts are UTF-8, and control characters become spaces. A
   block is SHORT (the terminal prints it) or MORE (the terminal does with --more); files hold all.
 */
#ifndef LESSON_H
#define LESSON_H

#include "kit/svg.h"
#include <stdbool.h>
#include <stdint.h>

struct page;
enum page_detail { SHORT, MORE };
struct lesson_options {
    bool quick; /* the form that tests run: less training, the same claims */
    uint64_t seed;
    int threads; /* at least 1 */
};
/* Returns an exit code; 0 although claims fail, which the page counts. */
typedef int lesson_fn(struct page *page, const struct lesson_options *options);

/* A step begins: a heading, and with --pause the reader's Enter before it. What was appended so far
   is printed, so a step that takes long comes after what announces it. */
void page_step(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_paragraph(struct page *page, enum page_detail detail, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One description for text and MathML, such as "a_s = softmax(frac{q k_s^⊤}{sqrt{d}})":
     x_i  x^2  x_{ij}  x_i^2     sub- and superscripts; ∑ takes its limits so, too
     frac{a}{b}  sqrt{a}         fraction, root
     col{a}{b}                   a above b: two vectors one after the other
     text{a b}                   words between
   A word of several letters is one upright name; single letters, also Greek ones, are variables. */
void page_formula(struct page *page, enum page_detail detail, const char *formula);

/* heads and cells of a row: separated by tabs, as many in each row. */
void page_table(struct page *page, enum page_detail detail, const char *title, const char *heads);
/* Appends to the last table. */
void page_row(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* weights [rows][columns], each from 0 to 1. */
void page_map(struct page *page, enum page_detail detail, const char *title, int rows, int columns,
              const char *const *row_names, const char *const *column_names, const float *weights);

/* Axes around the curves that follow; the terminal prints their values as a table. */
void page_chart(struct page *page, enum page_detail detail, const char *title, const char *x_label,
                const char *y_label);
/* Of the last chart, instead of what its curves need (and 0, if they are positive). */
void page_chart_range(struct page *page, double y_from, double y_to);
void page_curve(struct page *page, const char *name, int count, const double *xs, const double *ys);

/* Calls draw at once; it draws on an empty picture of that size. Widths up to 480 are readable on a
   phone. description: what there is to see, for readers of the screen and the terminal. */
typedef void page_draw_fn(struct svg *svg, const void *user);
void page_drawing(struct page *page, enum page_detail detail, const char *title,
                  const char *description, double width, double height, page_draw_fn *draw,
                  const void *user);

/* "statement: measured (relation bound)". A measured value that is not a number fails. */
enum page_relation { AT_LEAST, AT_MOST, ABOVE, BELOW, EQUALS };
/* Does it hold? */
bool page_claim(struct page *page, const char *statement, double measured,
                enum page_relation relation, double bound);

/* One row of lessons.def. */
struct lesson {
    int number;
    const char *title, *summary;
    lesson_fn *run;
};
/* The program: options, output, exit status (1 if a claim fails) over this table. */
int lessons_main(int argc, char **argv, const struct lesson *lessons, int count);

#define LESSON(number, name, title, summary) lesson_fn lesson_##name;
#include "lessons.def"
#undef LESSON

#endif
