/* svg.c - pictures as SVG, and charts. */
#define _POSIX_C_SOURCE 200809L

#include "kit/svg.h"
#include "kit/program.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- shapes and text of Scalable Vector Graphics 1.1 ---- */

static void put_character(FILE *file, char c)
{
    if (c == '<')
        fputs("&lt;", file);
    else if (c == '>')
        fputs("&gt;", file);
    else if (c == '&')
        fputs("&amp;", file);
    else if (c == '"')
        fputs("&quot;", file);
    else
        fputc((unsigned char)c < 0x20 ? ' ' : c, file);
}

void xml_escape(FILE *file, const char *text)
{
    while (*text) {
        size_t good = rapt_utf8_valid((rapt_text){text, strlen(text)});
        for (size_t i = 0; i < good; i++) put_character(file, text[i]);
        text += good;
        if (*text == 0) return;
        fputs("\xEF\xBF\xBD", file); /* U+FFFD for an invalid byte */
        text++;
    }
}

static int open_memory(struct svg *svg, const char *path, double width, double height)
{
    *svg = (struct svg){.path = path, .width = width, .height = height};
    svg->file = open_memstream(&svg->bytes, &svg->size);
    return svg->file != NULL ? EXIT_OK : failed("%s: out of memory", path);
}

int svg_part_open(struct svg *svg, double width, double height)
{
    return open_memory(svg, "a picture", width, height);
}

char *svg_part_close(struct svg *svg)
{
    bool whole = !ferror(svg->file);
    whole = fclose(svg->file) == 0 && whole;
    if (!whole) exit(failed("out of memory"));
    return svg->bytes;
}

void svg_part_put(struct svg *svg, double x, double y, const char *part)
{
    fprintf(svg->file, "<g transform=\"translate(%.6g %.6g)\">\n%s</g>\n", x, y, part);
}

int svg_open(struct svg *svg, const char *path, double width, double height, const char *title)
{
    if (open_memory(svg, path, width, height) != EXIT_OK) return EXIT_FAILED;
    fprintf(svg->file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
            "viewBox=\"0 0 %g %g\" font-family=\"Helvetica, Arial, DejaVu Sans, sans-serif\" "
            "role=\"img\" aria-label=\"",
            width, height, width, height);
    xml_escape(svg->file, title);
    fputs("\">\n<title>", svg->file);
    xml_escape(svg->file, title);
    fputs("</title>\n<style>@media (prefers-color-scheme: dark) "
          "{ svg { filter: invert(0.9) hue-rotate(180deg); } }</style>\n",
          svg->file);
    svg_rect(svg, 0, 0, width, height, "white", "none");
    return EXIT_OK;
}

int svg_close(struct svg *svg)
{
    fputs("</svg>\n", svg->file);
    bool whole = !ferror(svg->file);
    whole = fclose(svg->file) == 0 && whole;
    int code = whole ? file_write(svg->path, svg->bytes, svg->size)
                     : failed("%s: out of memory", svg->path);
    free(svg->bytes);
    return code;
}

void svg_hint_begin(struct svg *svg, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fputs("<g><title>", svg->file);
    xml_escape(svg->file, text);
    fputs("</title>", svg->file);
}

void svg_hint_end(struct svg *svg)
{
    fputs("</g>\n", svg->file);
}

void svg_faint_begin(struct svg *svg)
{
    fputs("<g opacity=\"0.55\">", svg->file);
}

void svg_faint_end(struct svg *svg)
{
    fputs("</g>\n", svg->file);
}

void svg_class_begin(struct svg *svg, const char *name, bool hidden)
{
    fprintf(svg->file, "<g class=\"%s\"%s>", name, hidden ? " visibility=\"hidden\"" : "");
}

void svg_class_end(struct svg *svg)
{
    fputs("</g>\n", svg->file);
}

void svg_rect(struct svg *svg, double x, double y, double width, double height, const char *fill,
              const char *stroke)
{
    fprintf(svg->file,
            "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" fill=\"%s\" "
            "stroke=\"%s\"/>\n",
            x, y, width, height, fill, stroke);
}

void svg_circle(struct svg *svg, double x, double y, double radius, const char *fill,
                const char *stroke)
{
    fprintf(svg->file, "<circle cx=\"%.6g\" cy=\"%.6g\" r=\"%.6g\" fill=\"%s\" stroke=\"%s\"/>\n",
            x, y, radius, fill, stroke);
}

static void put_line(struct svg *svg, double x1, double y1, double x2, double y2,
                     const char *stroke, double thickness, const char *attributes)
{
    fprintf(svg->file,
            "<line x1=\"%.6g\" y1=\"%.6g\" x2=\"%.6g\" y2=\"%.6g\" stroke=\"%s\" "
            "stroke-width=\"%g\"%s/>\n",
            x1, y1, x2, y2, stroke, thickness, attributes);
}

void svg_line(struct svg *svg, double x1, double y1, double x2, double y2, const char *stroke,
              double thickness)
{
    put_line(svg, x1, y1, x2, y2, stroke, thickness, "");
}

void svg_dashed_line(struct svg *svg, double x1, double y1, double x2, double y2,
                     const char *stroke, double thickness)
{
    put_line(svg, x1, y1, x2, y2, stroke, thickness, " stroke-dasharray=\"5 4\"");
}

void svg_polyline(struct svg *svg, int count, const double *points, const char *color,
                  double thickness, int closed)
{
    fprintf(svg->file, "<%s points=\"", closed ? "polygon" : "polyline");
    for (int i = 0; i < count; i++)
        fprintf(svg->file, "%s%.6g,%.6g", i > 0 ? " " : "", points[2 * i], points[2 * i + 1]);
    fprintf(svg->file,
            "\" fill=\"%s\" stroke=\"%s\" stroke-width=\"%g\" stroke-linejoin=\"round\"/>\n",
            closed ? color : "none", color, thickness);
}

void svg_arrow(struct svg *svg, double x1, double y1, double x2, double y2, const char *color,
               double thickness)
{
    const double length = hypot(x2 - x1, y2 - y1), half = 3 + 0.75 * thickness;
    if (!(length > 0)) return; /* no direction */
    const double dx = (x2 - x1) / length, dy = (y2 - y1) / length;
    const double x = x2 - 2 * half * dx, y = y2 - 2 * half * dy; /* middle of the head's base */
    const double head[] = {x2, y2, x + half * dy, y - half * dx, x - half * dy, y + half * dx};
    svg_line(svg, x1, y1, x, y, color, thickness);
    svg_polyline(svg, 3, head, color, 1, 1);
}

void svg_text_rotated(struct svg *svg, double x, double y, double size, double degrees,
                      enum svg_anchor anchor, const char *color, const char *text)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    fprintf(svg->file,
            "<text x=\"%.6g\" y=\"%.6g\" font-size=\"%g\" text-anchor=\"%s\" fill=\"%s\"", x, y,
            size, anchors[anchor], color);
    if (degrees < 0 || degrees > 0)
        fprintf(svg->file, " transform=\"rotate(%g %.6g %.6g)\"", degrees, x, y);
    fputc('>', svg->file);
    xml_escape(svg->file, text);
    fputs("</text>\n", svg->file);
}

void svg_text(struct svg *svg, double x, double y, double size, enum svg_anchor anchor,
              const char *color, const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    svg_text_rotated(svg, x, y, size, 0, anchor, color, text);
}

/* ---- charts: axes with ticks and grid lines, curves and legends ---- */

const char *const chart_colors[6] = {"#0072B2", "#D55E00", "#009E73",
                                     "#CC79A7", "#E69F00", "#56B4E9"};

double chart_x(const struct chart *chart, double value)
{
    return chart->x + chart->width * (value - chart->from[0]) / (chart->to[0] - chart->from[0]);
}

double chart_y(const struct chart *chart, double value)
{
    return chart->y + chart->height -
           chart->height * (value - chart->from[1]) / (chart->to[1] - chart->from[1]);
}

double chart_step(double span, int ticks)
{
    static const double factors[] = {1, 2, 5};
    double unit = pow(10, floor(log10(span / ticks)));
    for (int i = 0; i < 3; i++)
        if (span / (factors[i] * unit) <= ticks + 1e-6) return factors[i] * unit;
    return 10 * unit;
}

static void draw_tick(struct svg *svg, const struct chart *chart, int axis, double value)
{
    if (axis == 0) {
        double x = chart_x(chart, value), bottom = chart->y + chart->height;
        svg_line(svg, x, bottom, x, bottom + 5, "#666666", 1);
        svg_text(svg, x, bottom + 19, 12, SVG_MIDDLE, "#444444", "%g", value);
    } else {
        double y = chart_y(chart, value);
        svg_line(svg, chart->x, y, chart->x + chart->width, y, "#E4E4E4", 1);
        svg_text(svg, chart->x - 8, y + 4, 12, SVG_RIGHT, "#444444", "%g", value);
    }
}

void chart_frame(struct svg *svg, const struct chart *chart)
{
    double bottom = chart->y + chart->height, middle = chart->y + chart->height / 2;
    for (int axis = 0; axis < 2; axis++) {
        if (chart->step[axis] <= 0) continue;
        int ticks = (int)((chart->to[axis] - chart->from[axis]) / chart->step[axis] + 1e-6);
        for (int i = 0; i <= ticks; i++)
            draw_tick(svg, chart, axis, chart->from[axis] + i * chart->step[axis]);
    }
    svg_line(svg, chart->x, bottom, chart->x + chart->width, bottom, "#666666", 1);
    svg_text(svg, chart->x, chart->y - (chart->subtitle ? 29 : 14), 15, SVG_LEFT, "#222222", "%s",
             chart->title);
    if (chart->subtitle)
        svg_text(svg, chart->x, chart->y - 13, 11, SVG_LEFT, "#444444", "%s", chart->subtitle);
    svg_text(svg, chart->x + chart->width / 2, bottom + 40, 13, SVG_MIDDLE, "#444444", "%s",
             chart->labels[0]);
    svg_text_rotated(svg, chart->x - 42, middle, 13, -90, SVG_MIDDLE, "#444444", chart->labels[1]);
}

void chart_curve(struct svg *svg, const struct chart *chart, int count, const double *xs,
                 const double *ys, const char *color)
{
    double *points = xcalloc(2 * (size_t)count, sizeof *points);
    for (int i = 0; i < count; i++) {
        points[2 * i] = chart_x(chart, xs[i]);
        points[2 * i + 1] = chart_y(chart, ys[i]);
    }
    svg_polyline(svg, count, points, color, 2.5, 0);
    for (int i = 0; i < count; i++) {
        svg_hint_begin(svg, "%s %.6g: %s %.4g", chart->labels[0], xs[i], chart->labels[1], ys[i]);
        svg_circle(svg, points[2 * i], points[2 * i + 1], 3.5, color, "white");
        svg_hint_end(svg);
    }
    free(points);
}

void chart_legend(struct svg *svg, double x, double y, const char *color, const char *name)
{
    svg_line(svg, x, y - 4, x + 24, y - 4, color, 2.5);
    svg_circle(svg, x + 12, y - 4, 3.5, color, "white");
    svg_text(svg, x + 32, y, 13, SVG_LEFT, "#222222", "%s", name);
}
