/* svg.h - SVG files: shapes and text in pixels from the top left, charts, and heat maps. svg_close
   replaces the file with the whole figure. Colors are SVG colors: "#1F77B4", "none". */
#ifndef KIT_SVG_H
#define KIT_SVG_H

#include <rapt/text.h>
#include <stdbool.h>
#include <stdio.h>

enum svg_anchor { SVG_LEFT, SVG_MIDDLE, SVG_RIGHT };
struct svg {
    FILE *file; /* in memory */
    char *bytes;
    size_t size;
    const char *path;
    double width, height;
};
/* Begin a figure and write it to its file. Return an exit code, after a message if they fail.
   `title` is the name of the figure for screen readers. The background is white, or dark if the
   reader prefers that. */
int svg_open(struct svg *svg, const char *path, double width, double height, const char *title);
int svg_close(struct svg *svg);

/* Begin and end a part, whose elements svg_part_put puts into a figure. svg_part_close exits if
   memory runs out; the caller frees its result. */
int svg_part_open(struct svg *svg, double width, double height);
char *svg_part_close(struct svg *svg);
void svg_part_put(struct svg *svg, double x, double y, const char *part);
/* Escapes <, >, & and ", and replaces characters below U+0020 with spaces and invalid bytes with
   U+FFFD. */
void xml_escape(FILE *file, const char *text);

/* Elements between begin and end show this text, of at most 1023 bytes, under the pointer. */
void svg_hint_begin(struct svg *svg, const char *format, ...) __attribute__((format(printf, 2, 3)));
void svg_hint_end(struct svg *svg);
/* Elements between begin and end are faint. */
void svg_faint_begin(struct svg *svg);
void svg_faint_end(struct svg *svg);
/* Elements between begin and end belong to a class, by which a script finds them. If `hidden` is
   true, they are not visible until the script shows them. */
void svg_class_begin(struct svg *svg, const char *name, bool hidden);
void svg_class_end(struct svg *svg);

void svg_rect(struct svg *svg, double x, double y, double width, double height, const char *fill,
              const char *stroke);
void svg_circle(struct svg *svg, double x, double y, double radius, const char *fill,
                const char *stroke);
void svg_line(struct svg *svg, double x1, double y1, double x2, double y2, const char *stroke,
              double thickness);
void svg_dashed_line(struct svg *svg, double x1, double y1, double x2, double y2,
                     const char *stroke, double thickness);
/* Draws a line from the first point to the second, with an arrowhead whose tip is the second. */
void svg_arrow(struct svg *svg, double x1, double y1, double x2, double y2, const char *color,
               double thickness);
/* Draws points [count][2]: a filled polygon if `closed` is true, otherwise an open line without
   fill. */
void svg_polyline(struct svg *svg, int count, const double *points, const char *color,
                  double thickness, int closed);
/* The baseline of the text is at y. */
void svg_text(struct svg *svg, double x, double y, double size, enum svg_anchor anchor,
              const char *color, const char *format, ...) __attribute__((format(printf, 7, 8)));
void svg_text_rotated(struct svg *svg, double x, double y, double size, double degrees,
                      enum svg_anchor anchor, const char *color, const char *text);

/* ---- svg.c: charts ---- */
/* Axes in the rectangle x, y, width, height, with data from .. to on each axis. */
struct chart {
    double x, y, width, height;
    double from[2], to[2],
        step[2]; /* of the horizontal and the vertical axis; step: between ticks, 0 means none */
    const char *title, *subtitle; /* above the axes; subtitle may be NULL */
    const char *labels[2];
};
void chart_frame(struct svg *svg, const struct chart *chart);
double chart_x(const struct chart *chart, double value);
double chart_y(const struct chart *chart, double value);
/* Returns the smallest number that is 1, 2 or 5 times a power of 10 and divides the span into at
   most `ticks` parts. */
double chart_step(double span, int ticks);
/* Draws a curve with its points. */
void chart_curve(struct svg *svg, const struct chart *chart, int count, const double *xs,
                 const double *ys, const char *color);
void chart_legend(struct svg *svg, double x, double y, const char *color, const char *name);
extern const char *const chart_colors[6]; /* color-blind safe: Okabe and Ito 2008 */

/* ---- heatmap.c: shades ---- */
/* Writes the color of a weight as "#RRGGBB": 0 is white, 1 is dark blue, -1 is dark orange. */
void shade_color(float weight, char color[8]);
/* Draws weights [rows][columns] as squares of `cell` pixels from (x, y) on, with row names on the
   left and slanted column names above (NULL means no names). Shades are relative to heatmap_full of
   the row. Absolute weights above 0.095 are printed in per cent if cells are large enough. */
void shade_map(struct svg *svg, double x, double y, double cell, int rows, int columns,
               const rapt_text *row_names, const rapt_text *column_names, const float *weights);

#endif
