/* lesson.h - the interface of a lesson: a function that appends blocks to a page. The page is then
   printed, drawn (SVG), and written as JSON or HTML. A new lesson is a row of lessons.def and a
   file.

   Everything passed to page_* is copied. Texts are UTF-8; control characters become spaces. The
   terminal prints SHORT blocks, and MORE blocks only with --more; files contain all of them. */
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
/* Returns an exit code. Claims that fail do not change it; the page counts them. */
typedef int lesson_fn(struct page *page, const struct lesson_options *options);

/* Begins a step: a heading, before which --pause waits for Enter. Prints what was appended so far,
   so that a long computation should come after the step that announces it. */
void page_step(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
void page_paragraph(struct page *page, enum page_detail detail, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One description for text and MathML, such as "a_s = softmax(frac{q k_s^⊤}{sqrt{d}})":
     x_i  x^2  x_{ij}  x_i^2     sub- and superscripts, also the limits of ∑
     frac{a}{b}  sqrt{a}         fraction, root
     col{a}{b}                   a above b: two vectors, one after the other
     text{a b}                   words in between
     a ,  b                      two blanks: a wide space, as between two formulas
     \{ \}                       braces
   A word of several letters is an upright name. Single letters, also Greek ones, are variables, and
   so are the two letters of an index in braces, such as a_{ts}. */
void page_formula(struct page *page, enum page_detail detail, const char *formula);

/* heads, and the cells of each row, are separated by tabs; each row has as many cells as there are
   heads. */
void page_table(struct page *page, enum page_detail detail, const char *title, const char *heads);
/* Appends a row to the last table. */
void page_row(struct page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* weights [rows][columns], each from -1 to 1; negative ones are orange. */
void page_map(struct page *page, enum page_detail detail, const char *title, int rows, int columns,
              const char *const *row_names, const char *const *column_names, const float *weights);

/* Frames a row of the last map and fades the other rows. */
void page_map_row(struct page *page, int row);

/* Give the last map, whose rows must be softmaxes, a slider. page_map_temperature: divides the
   scores by a temperature. page_map_root: the scores of row r were divided by the square root of
   sizes[r], and the slider chooses another power. */
void page_map_temperature(struct page *page);
void page_map_root(struct page *page, const double *sizes);

/* Begins a chart, to which the following curves belong. The terminal prints their values as a
   table. */
void page_chart(struct page *page, enum page_detail detail, const char *title, const char *x_label,
                const char *y_label);
/* Sets the y range of the last chart. Otherwise it fits the curves, and includes 0 if they are
   positive. */
void page_chart_range(struct page *page, double y_from, double y_to);
void page_curve(struct page *page, const char *name, int count, const double *xs, const double *ys);

/* page_drawing calls draw at once, with an empty picture of that size. Widths up to 480 are
   readable on a phone. description: what there is to see, for screen readers and the terminal. */
typedef void page_draw_fn(struct svg *svg, const void *user);
void page_drawing(struct page *page, enum page_detail detail, const char *title,
                  const char *description, double width, double height, page_draw_fn *draw,
                  const void *user);

/* The last drawing shows a row of the map with the same weights, which is anywhere on the page. A
   reader who steps through the map sees the other rows in the drawing, too. Its elements have
   classes: "weight" and "score" are texts, one for each column; "line" are a line and an arrow for
   each column, as thick as 0.5 + 7 weight; "written" and "before" are the names of the row and of
   the one before; "loss" is the negative logarithm of the row's probability; numbers in "count" are
   those of the row and grow with it. */
struct drawing_rows {
    int rows, columns, shown;    /* shown: the row in the drawing */
    const float *weights;        /* [rows][columns] */
    const float *scores;         /* [rows][columns] or NULL */
    const double *probabilities; /* [rows] or NULL */
};
void page_drawing_rows(struct page *page, const struct drawing_rows *rows);

/* The last drawing keeps its colors where the reader prefers dark pages: a photograph would become
   a negative. */
void page_keep_colors(struct page *page);

/* Claims are collected and shown at the end of the page, whenever they are made. A claim reads
   "statement: measured (relation bound)". It fails if the measured value is NaN or infinite. */
enum page_relation { AT_LEAST, AT_MOST, ABOVE, BELOW, EQUALS };
/* A claim about something that no training changes. Returns whether it holds. */
bool page_claim(struct page *page, const char *statement, double measured,
                enum page_relation relation, double bound);
/* A claim about something learned. `untrained` is its negative control: the same measure on the
   network before training. The claim fails if the control satisfies it as well, since nothing was
   learned then, or if the control is NaN or infinite. Returns whether the claim holds. */
bool page_claim_learned(struct page *page, const char *statement, double trained, double untrained,
                        enum page_relation relation, double bound);

/* One row of lessons.def. */
struct lesson {
    int number;
    const char *title, *summary;
    lesson_fn *run;
};
/* Runs the program over this table: options, output, exit status (1 if a claim fails). */
int lessons_main(int argc, char **argv, const struct lesson *lessons, int count);

#define LESSON(number, name, title, summary) lesson_fn lesson_##name;
#include "lessons.def"
#undef LESSON

#endif
