/* chart.c - axes with ticks and grid lines, curves, reference lines and legends in SVG. */
#include "kit/program.h"
#include "kit/svg.h"
#include <math.h>
#include <stdlib.h>

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
