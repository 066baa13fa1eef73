/* picture.c - the pictures of a page in SVG: heat maps, charts, drawings; or all of them in one
   file. */
#include "kit/program.h"
#include "page.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 30, LETTER = 8, MARGIN = 16, PLOT_WIDTH = 390, PLOT_HEIGHT = 230, LEGEND = 22 };
static const double plot_left = 70, plot_top = 24;

bool block_is_picture(const struct block *block)
{
    return block->kind == MAP || block->kind == CHART || block->kind == DRAWING;
}

static int widest(char *const *names, int count)
{
    int columns = 1;
    for (int i = 0; i < count; i++) {
        int width = text_columns((rapt_text){names[i], strlen(names[i])});
        columns = width > columns ? width : columns;
    }
    return columns;
}

/* Finds the top left of the squares of a map. */
static void map_origin(const struct block *map, double *x, double *y)
{
    *x = MARGIN + 8 + LETTER * widest(map->row_names, map->rows);
    *y = MARGIN + 12 + 0.72 * LETTER * widest(map->column_names, map->columns);
}

static double cell_of(const struct block *map)
{
    return map->columns > 14 ? 420.0 / map->columns : CELL;
}

void picture_map_at(const struct block *map, double *x, double *y, double *cell)
{
    map_origin(map, x, y);
    *cell = cell_of(map);
}

void picture_size(const struct block *block, double *width, double *height)
{
    *width = block->width;
    *height = block->height;
    if (block->kind == MAP) {
        map_origin(block, width, height);
        double slant = 0.72 * LETTER * widest(block->column_names, block->columns);
        *width += cell_of(block) * block->columns + (slant > MARGIN ? slant : MARGIN);
        *height += cell_of(block) * block->rows + MARGIN;
    } else if (block->kind == CHART) {
        *width = plot_left + PLOT_WIDTH + MARGIN;
        *height = plot_top + PLOT_HEIGHT + 56 + LEGEND * block->curves;
    }
}

/* Covers all rows but one, and frames that one. */
static void light_row(struct svg *svg, double x, double y, double cell, const struct block *map)
{
    static const char veil[] = "#FFFFFFB0";
    const double width = cell * map->columns, top = y + cell * (map->lit - 1);
    svg_rect(svg, x, y, width, top - y, veil, "none");
    svg_rect(svg, x, top + cell, width, cell * (map->rows - map->lit), veil, "none");
    svg_rect(svg, x, top, width, cell, "none", chart_colors[1]);
}

static void draw_map(struct svg *svg, const struct block *map)
{
    double x, y;
    rapt_text *names = xcalloc((size_t)(map->rows + map->columns), sizeof *names);
    for (int i = 0; i < map->rows + map->columns; i++) {
        const char *name = i < map->rows ? map->row_names[i] : map->column_names[i - map->rows];
        names[i] = (rapt_text){name, strlen(name)};
    }
    map_origin(map, &x, &y);
    shade_map(svg, x, y, cell_of(map), map->rows, map->columns, names, names + map->rows,
              map->weights);
    if (map->lit > 0) light_row(svg, x, y, cell_of(map), map);
    free(names);
}

/* Extends the range to the values that are numbers. */
static void widen_range(double range[2], const double *values, int count)
{
    for (int i = 0; i < count; i++)
        if (isfinite(values[i])) {
            range[0] = fmin(range[0], values[i]);
            range[1] = fmax(range[1], values[i]);
        }
}

/* Rounds the ends of an axis to ticks. */
static void round_range(double range[2], double *step, int ticks)
{
    if (!(range[1] > range[0])) {
        range[0] = isfinite(range[0]) ? range[0] - 0.5 : 0;
        range[1] = range[0] + 1;
    }
    *step = chart_step(range[1] - range[0], ticks);
    range[0] = floor(range[0] / *step + 1e-9) * *step;
    range[1] = ceil(range[1] / *step - 1e-9) * *step;
}

static struct chart chart_of(const struct block *block)
{
    double x[2] = {INFINITY, -INFINITY}, y[2] = {INFINITY, -INFINITY};
    struct chart chart = {.x = plot_left,
                          .y = plot_top,
                          .width = PLOT_WIDTH,
                          .height = PLOT_HEIGHT,
                          .title = "",
                          .labels = {block->labels[0], block->labels[1]}};
    for (int i = 0; i < block->curves; i++) {
        widen_range(x, block->curve[i].xs, block->curve[i].count);
        widen_range(y, block->curve[i].ys, block->curve[i].count);
    }
    y[0] = y[0] > 0 ? 0 : y[0];
    bool given = block->range[1] > block->range[0];
    round_range(x, &chart.step[0], 8);
    round_range(given ? memcpy(y, block->range, sizeof y) : y, &chart.step[1], 6);
    chart.from[0] = x[0];
    chart.to[0] = x[1];
    chart.from[1] = y[0];
    chart.to[1] = y[1];
    return chart;
}

static void draw_chart(struct svg *svg, const struct block *block)
{
    struct chart chart = chart_of(block);
    chart_frame(svg, &chart);
    for (int i = 0; i < block->curves; i++) {
        const struct curve *curve = &block->curve[i];
        const char *color = chart_colors[i % 6];
        chart_curve(svg, &chart, curve->count, curve->xs, curve->ys, color);
        chart_legend(svg, plot_left, plot_top + PLOT_HEIGHT + 66 + LEGEND * i, color, curve->name);
    }
}

void picture_draw(struct svg *svg, const struct block *block)
{
    if (block->kind == MAP)
        draw_map(svg, block);
    else if (block->kind == CHART)
        draw_chart(svg, block);
    else
        svg_part_put(svg, 0, 0, block->drawn);
}

/* ---- all pictures of the pages, one below the other ---- */
static char *picture_part(const struct block *block)
{
    struct svg svg;
    if (svg_part_open(&svg, 0, 0) != EXIT_OK) exit(EXIT_FAILED);
    picture_draw(&svg, block);
    return svg_part_close(&svg);
}

enum { TITLE = 34 };

/* Finds the width and height of all pictures together. */
static void measure_pictures(const struct page *pages, int count, double size[2])
{
    size[0] = 360;
    size[1] = MARGIN;
    for (int p = 0; p < count; p++)
        for (int i = 0; i < pages[p].count; i++) {
            const struct block *block = &pages[p].blocks[i];
            if (!block_is_picture(block)) continue;
            double width, height;
            picture_size(block, &width, &height);
            size[0] = fmax(size[0], fmax(width, 7.6 * (double)strlen(block->text) + 2 * MARGIN));
            size[1] += height + TITLE;
        }
}

int picture_file(const char *path, const struct page *pages, int count)
{
    struct svg svg;
    double size[2], y = MARGIN;
    measure_pictures(pages, count, size);
    char *title = count == 1
                      ? xasprintf("Lesson %d. %s", pages->lesson->number, pages->lesson->title)
                      : xasprintf("Lessons about attention");
    int code = svg_open(&svg, path, size[0], size[1], title);
    free(title);
    if (code != EXIT_OK) return code;
    for (int p = 0; p < count; p++)
        for (int i = 0; i < pages[p].count; i++) {
            const struct block *block = &pages[p].blocks[i];
            if (!block_is_picture(block)) continue;
            double width, height;
            char *part = picture_part(block);
            picture_size(block, &width, &height);
            svg_text(&svg, MARGIN, y + 16, 15, SVG_LEFT, "#222222", "%s", block->text);
            svg_part_put(&svg, 0, y + TITLE - 8, part);
            free(part);
            y += height + TITLE;
        }
    return svg_close(&svg);
}
