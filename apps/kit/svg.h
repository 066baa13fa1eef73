/* svg.h - pictures: a page of one SVG file, in pixels from the top left, and charts on it. Errors
   are kept until svg_close, which tells. Colors are what SVG understands: "#1F77B4", "none". */
#ifndef KIT_SVG_H
#define KIT_SVG_H

#include <rapt/text.h>
#include <stdio.h>

enum svg_anchor { SVG_LEFT, SVG_MIDDLE, SVG_RIGHT };
struct svg {
    FILE *file;
    const char *path;
    double width, height;
};
/* An exit code, said if it is not 0. The page is white. */
int svg_open(struct svg *svg, const char *path, double width, double height);
int svg_close(struct svg *svg);

void svg_rect(struct svg *svg, double x, double y, double width, double height, const char *fill,
              const char *stroke);
void svg_circle(struct svg *svg, double x, double y, double radius, const char *fill,
                const char *stroke);
void svg_line(struct svg *svg, double x1, double y1, double x2, double y2, const char *stroke,
              double thickness);
/* points: [count][2]. closed: a polygon, filled; else a line without filling. */
void svg_polyline(struct svg *svg, int count, const double *points, const char *color,
                  double thickness, int closed);
/* The base line of the text is at y; what XML would misread is escaped. */
void svg_text(struct svg *svg, double x, double y, double size, enum svg_anchor anchor,
              const char *color, const char *format, ...) __attribute__((format(printf, 7, 8)));
void svg_text_rotated(struct svg *svg, double x, double y, double size, double degrees,
                      enum svg_anchor anchor, const char *color, const char *text);

/* ---- chart.c ---- */
/* A frame for curves; values from..to on each axis become places inside x, y, width, height. */
struct chart {
    double x, y, width, height;
    double from[2], to[2],
        step[2]; /* of the horizontal and the vertical axis; step: between ticks */
    const char *title, *labels[2];
};
void chart_frame(struct svg *svg, const struct chart *chart);
double chart_x(const struct chart *chart, double value);
double chart_y(const struct chart *chart, double value);
/* A curve with its points. */
void chart_curve(struct svg *svg, const struct chart *chart, int count, const double *xs,
                 const double *ys, const char *color);
void chart_legend(struct svg *svg, double x, double y, const char *color, const char *name);
extern const char *const chart_colors[6]; /* to be told apart by everyone: Okabe and Ito 2008 */

/* ---- shade.c ---- */
void shade_color(float weight, char color[8]); /* 0: white, 1: dark blue; "#RRGGBB" */
/* weights [rows][columns] as squares of `cell` pixels from (x, y) on, with names on the left of
   rows and slanting above columns; NULL: no names. A weight above 0.095 is written into its
   square, in per cent, if cells are large enough. */
void shade_map(struct svg *svg, double x, double y, double cell, int rows, int columns,
               const rapt_text *row_names, const rapt_text *column_names, const float *weights);

#endif
