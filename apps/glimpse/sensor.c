/* sensor.c - what the glimpse sensor reads, and a drawing of that. */
#include "glimpse.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the glimpse sensor of Mnih et al. 2014, section 3.1 ----
   It reads a small window at full resolution and a wider one that is blurred. Pixels outside the
   picture are 0. */

int retina_width(const struct setup *setup)
{
    return setup->window * setup->window + setup->cells * setup->cells;
}

int location_center(const struct setup *setup)
{
    return locations_of(setup) / 2; /* the middle of an odd grid */
}

void location_coordinates(const struct setup *setup, float *points)
{
    const int first = (setup->side - (setup->grid - 1) * setup->pitch) / 2;
    for (int i = 0; i < locations_of(setup); i++) {
        points[2 * i] = (float)(first + i % setup->grid * setup->pitch);
        points[2 * i + 1] = (float)(first + i / setup->grid * setup->pitch);
    }
}

/* Returns the ink in a square of `size` pixels with this corner. A blurred square is scaled so that
   a line through it gives 1/2, the magnitude of a pixel. */
static float ink_of(const struct setup *setup, const struct picture *picture, int left, int top,
                    int size)
{
    const int side = setup->side;
    int right = left + size < side ? left + size : side;
    int bottom = top + size < side ? top + size : side;
    float sum = 0;
    for (int y = top < 0 ? 0 : top; y < bottom; y++)
        for (int x = left < 0 ? 0 : left; x < right; x++) sum += picture->ink[y * side + x];
    return size > 1 ? sum / (2 * (float)size) : sum;
}

void retina_preview(const struct setup *setup, const struct picture *picture, const float *points,
                    float *previews)
{
    const int size = setup->blur;
    for (int i = 0; i < locations_of(setup) * PREVIEW_CELLS; i++) {
        const float *point = points + i / PREVIEW_CELLS * 2;
        int left = (int)point[0] - size / 2 + (i % PREVIEW_CELLS % 3 - 1) * size;
        int top = (int)point[1] - size / 2 + (i % PREVIEW_CELLS / 3 - 1) * size;
        previews[i] = ink_of(setup, picture, left, top, size);
    }
}

void retina_sample(const struct setup *setup, const struct picture *picture, const float *point,
                   float *x)
{
    const int counts[2] = {setup->window, setup->cells}, sizes[2] = {1, setup->blur};
    for (int layer = 0; layer < 2; layer++) {
        int count = counts[layer], size = sizes[layer];
        int left = (int)point[0] - count * size / 2, top = (int)point[1] - count * size / 2;
        for (int i = 0; i < count * count; i++)
            *x++ = ink_of(setup, picture, left + i % count * size, top + i / count * size, size);
    }
}

/* ---- draws what the sensor reads, in its resolution, and where it reads ---- */

static const char *const colors[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7"};

const char *glimpse_color(int glimpse)
{
    return colors[glimpse % 4];
}

/* Draws values [count][count], 0 to 1 and `skip` apart, as squares of ink. */
static void put_cells(struct svg *svg, const float *values, int count, int skip, double x, double y,
                      double side)
{
    const double cell = side / count;
    svg_rect(svg, x, y, side, side, "#F6F4EE", "#BBBBBB");
    for (int i = 0; i < count * count; i++) {
        const float ink = values[i * skip] < 1 ? values[i * skip] : 1;
        const int gray = 235 - (int)(205 * ink);
        char fill[8];
        if (ink < 0.04F) continue;
        snprintf(fill, sizeof fill, "#%02X%02X%02X", gray & 255, gray & 255, gray & 255);
        svg_rect(svg, x + i % count * cell, y + i / count * cell, cell, cell, fill, "none");
    }
}

void sensor_draw(struct svg *svg, const struct setup *s, const struct picture *picture,
                 const float *point, double x, double y, double side, double gap)
{
    const size_t locations = (size_t)locations_of(s);
    float *glimpse = xcalloc((size_t)retina_width(s), sizeof *glimpse);
    float *coordinates = xcalloc(2 * locations, sizeof *coordinates);
    float *previews = xcalloc(locations * PREVIEW_CELLS, sizeof *previews);
    const double step = side + gap, below = y + side + 18;
    retina_sample(s, picture, point, glimpse);
    location_coordinates(s, coordinates);
    retina_preview(s, picture, coordinates, previews);
    put_cells(svg, glimpse, s->window, 1, x, y, side);
    put_cells(svg, glimpse + s->window * s->window, s->cells, 1, x + step, y, side);
    put_cells(svg, previews + PREVIEW_CELLS / 2, s->grid, PREVIEW_CELLS, x + 2 * step, y, side);
    svg_text(svg, x, below, 13, SVG_LEFT, "#444444", "%d x %d pixels", s->window, s->window);
    svg_text(svg, x + step, below, 13, SVG_LEFT, "#444444", "%d x %d averages", s->cells, s->cells);
    svg_text(svg, x + 2 * step, below, 13, SVG_LEFT, "#444444", "preview, %d x %d", s->grid,
             s->grid);
    free(glimpse), free(coordinates), free(previews);
}

/* Moves mark t to the right until it covers none of the earlier ones. */
static void avoid_marks(double *marks, int t)
{
    const double apart = 13;
    for (int i = 0; i < t; i++) {
        if (hypot(marks[2 * t] - marks[2 * i], marks[2 * t + 1] - marks[2 * i + 1]) >= apart)
            continue;
        marks[2 * t] = marks[2 * i] + apart;
        i = -1; /* compare with all of them again */
    }
}

/* Draws the numbered windows, and a line from each one to the next. */
static void put_windows(struct svg *svg, const struct viewer *l, int picture, double x, double y,
                        double side)
{
    const struct setup *s = l->setup;
    const double pixel = side / s->side, half = s->window * pixel / 2;
    double path[2 * MAX_GLIMPSES];
    for (int t = 0; t < s->glimpses; t++) {
        const float *at = l->network.fixation + 2 * (t * s->batch + picture);
        path[2 * t] = x + (double)at[0] * pixel;
        path[2 * t + 1] = y + (double)at[1] * pixel;
    }
    svg_polyline(svg, s->glimpses, path, "#555555", 1.2, 0);
    for (int t = 0; t < s->glimpses; t++) {
        double left = path[2 * t] - half, top = path[2 * t + 1] - half;
        double corners[] = {left,           top,  left + 2 * half, top,  left + 2 * half,
                            top + 2 * half, left, top + 2 * half,  left, top};
        svg_polyline(svg, 5, corners, glimpse_color(t), 2, 0);
    }
    double marks[2 * MAX_GLIMPSES];
    for (int t = 0; t < s->glimpses; t++) {
        /* Numbers of glimpses at the same location are side by side. */
        marks[2 * t] = path[2 * t] - half + 2 * half * (t + 0.5) / s->glimpses;
        marks[2 * t + 1] = path[2 * t + 1] - half;
        avoid_marks(marks, t);
        svg_circle(svg, marks[2 * t], marks[2 * t + 1], 6.5, glimpse_color(t), "white");
        svg_text(svg, marks[2 * t], marks[2 * t + 1] + 3.5, 10, SVG_MIDDLE, "white", "%d", t + 1);
    }
}

void path_draw(struct svg *svg, const struct viewer *l, int picture, double x, double y,
               double side)
{
    put_cells(svg, l->pictures[picture].ink, l->setup->side, 1, x, y, side);
    put_windows(svg, l, picture, x, y, side);
}
