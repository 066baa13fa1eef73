/* speedup.c - speed-ups as an SVG figure: a grid of charts, each with the number of threads on the
   x axis and the speed-up on the y axis; ideal scaling is a dashed line. */
#include "speedup.h"

#include "kit/svg.h"

#include <math.h>

enum { COLUMNS = 4, WIDTH = 264, HEIGHT = 236, TOP = 84, MARGIN = 20 };
enum { LEFT = 50, RIGHT = 46, ABOVE = 54, BELOW = 54, MAX_TICKS = 5 };

static const char ideal_color[] = "#888888";

static void draw_speedup(struct svg *svg, const struct series *s, double left, double top)
{
    const int last = s->count - 1;
    double threads[BENCH_THREADS], speed_up[BENCH_THREADS], max_threads = 1, max_speed_up = 1;
    for (int i = 0; i < s->count; i++) {
        double ideal = (double)s->threads[i] / s->threads[0];
        threads[i] = s->threads[i];
        speed_up[i] = series_speed_up(s, i);
        if (threads[i] > max_threads) max_threads = threads[i];
        if (ideal > max_speed_up) max_speed_up = ideal;
        if (speed_up[i] > max_speed_up) max_speed_up = speed_up[i];
    }
    struct chart chart = {
        .x = left + LEFT,
        .y = top + ABOVE,
        .width = WIDTH - LEFT - RIGHT,
        .height = HEIGHT - ABOVE - BELOW,
        .to = {max_threads, max_speed_up},
        .step = {fmax(1, chart_step(max_threads, MAX_TICKS)), chart_step(max_speed_up, MAX_TICKS)},
        .title = s->title,
        .subtitle = s->shape,
        .labels = {"threads", "speed-up"}};
    chart_frame(svg, &chart);
    svg_dashed_line(svg, chart_x(&chart, threads[0]), chart_y(&chart, 1),
                    chart_x(&chart, threads[last]), chart_y(&chart, threads[last] / threads[0]),
                    ideal_color, 1.5);
    chart_curve(svg, &chart, s->count, threads, speed_up, chart_colors[0]);
    svg_text(svg, chart_x(&chart, threads[last]) + 8, chart_y(&chart, speed_up[last]) + 4, 12,
             SVG_LEFT, chart_colors[0], "%.2f", speed_up[last]);
}

bool speedup_figure(const char *path, const char *environment, const struct series *series,
                    int count)
{
    struct svg svg;
    int rows = (count + COLUMNS - 1) / COLUMNS, columns = count < COLUMNS ? count : COLUMNS;
    if (columns < 3) columns = 3; /* the width of the title */
    if (svg_open(&svg, path, 2 * MARGIN + columns * WIDTH, TOP + rows * HEIGHT + MARGIN,
                 "Speed-up by number of threads") != 0)
        return false;
    svg_text(&svg, MARGIN, 32, 18, SVG_LEFT, "#222222", "Speed-up by number of threads");
    svg_text(&svg, MARGIN, 51, 11, SVG_LEFT, "#444444", "%s", environment);
    svg_dashed_line(&svg, MARGIN, 68, MARGIN + 24, 68, ideal_color, 1.5);
    svg_text(&svg, MARGIN + 32, 72, 13, SVG_LEFT, "#222222", "ideal");
    chart_legend(&svg, MARGIN + 84, 72, chart_colors[0],
                 "measured; the number is the speed-up with the most threads");
    for (int i = 0; i < count; i++)
        draw_speedup(&svg, &series[i], MARGIN + i % COLUMNS * WIDTH, TOP + i / COLUMNS * HEIGHT);
    return svg_close(&svg) == 0;
}
