/* chart.c - speed-ups as an SVG: small charts side by side, each with threads from left to right,
   speed-up from bottom to top, the ideal as a dashed line and what was measured as dots. */
#include "chart.h"

#include <stdio.h>

enum { COLUMNS = 4, WIDTH = 250, HEIGHT = 218, TOP = 84, EDGE = 20 };
enum { LEFT = 34, RIGHT = 36, HEAD = 46, FOOT = 40, MAX_TICKS = 5 };

struct panel {
    double x, y, width, height; /* of the axes */
    double max_threads, max_speed_up;
};

static double at_x(const struct panel *p, double threads)
{
    double span = p->max_threads > 1 ? p->max_threads - 1 : 1;
    return p->x + p->width * (threads - 1) / span;
}

static double at_y(const struct panel *p, double speed_up)
{
    return p->y + p->height * (1 - speed_up / p->max_speed_up);
}

static void text(FILE *f, double x, double y, const char *kind, const char *words)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, kind);
    for (; *words; words++) {
        if (*words == '&' || *words == '<')
            fprintf(f, "&#%d;", *words);
        else
            fputc(*words, f);
    }
    fprintf(f, "</text>\n");
}

static void line(FILE *f, const char *kind, double x1, double y1, double x2, double y2)
{
    fprintf(f, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", kind, x1,
            y1, x2, y2);
}

/* Whole numbers from 0 or 1 to the greatest, not more than MAX_TICKS steps. */
static int step_of(double max)
{
    int step = 1;
    while (max / step > MAX_TICKS) step *= 2;
    return step;
}

static void axes(FILE *f, const struct panel *p)
{
    char number[16];
    int up = step_of(p->max_speed_up), right = step_of(p->max_threads);
    for (int i = 0; i <= p->max_speed_up; i += up) {
        line(f, "grid", p->x, at_y(p, i), p->x + p->width, at_y(p, i));
        snprintf(number, sizeof number, "%d", i);
        text(f, p->x - 6, at_y(p, i) + 4, "tick end", number);
    }
    for (int i = 1; i <= p->max_threads; i = i == 1 && right > 1 ? right : i + right) {
        line(f, "axis", at_x(p, i), p->y + p->height, at_x(p, i), p->y + p->height + 4);
        snprintf(number, sizeof number, "%d", i);
        text(f, at_x(p, i), p->y + p->height + 17, "tick middle", number);
    }
    line(f, "axis", p->x, p->y + p->height, p->x + p->width, p->y + p->height);
    line(f, "axis", p->x, p->y, p->x, p->y + p->height);
    text(f, p->x + p->width / 2, p->y + p->height + 31, "tick middle", "threads");
}

static void draw(FILE *f, const struct series *s, double left, double top)
{
    struct panel p = {left + LEFT, top + HEAD, WIDTH - LEFT - RIGHT, HEIGHT - HEAD - FOOT, 1, 1};
    int last = s->count - 1;
    char number[32];
    for (int i = 0; i < s->count; i++) {
        double ideal = (double)s->threads[i] / s->threads[0];
        if (s->threads[i] > p.max_threads) p.max_threads = s->threads[i];
        if (ideal > p.max_speed_up) p.max_speed_up = ideal;
        if (series_speed_up(s, i) > p.max_speed_up) p.max_speed_up = series_speed_up(s, i);
    }
    text(f, left + 4, top + 18, "title", s->title);
    text(f, left + 4, top + 33, "shape", s->shape);
    axes(f, &p);
    line(f, "ideal", at_x(&p, s->threads[0]), at_y(&p, 1), at_x(&p, s->threads[last]),
         at_y(&p, (double)s->threads[last] / s->threads[0]));
    fprintf(f, "<polyline class=\"measured\" points=\"");
    for (int i = 0; i < s->count; i++)
        fprintf(f, "%.1f,%.1f ", at_x(&p, s->threads[i]), at_y(&p, series_speed_up(s, i)));
    fprintf(f, "\"/>\n");
    for (int i = 0; i < s->count; i++)
        fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n", at_x(&p, s->threads[i]),
                at_y(&p, series_speed_up(s, i)));
    snprintf(number, sizeof number, "%.2f", series_speed_up(s, last));
    text(f, at_x(&p, s->threads[last]) + 7, at_y(&p, series_speed_up(s, last)) + 5, "value",
         number);
}

static const char style[] =
    "<style>text{font-family:sans-serif;fill:#222}.big{font-size:18px;font-weight:bold}"
    ".small,.shape,.tick{font-size:11px;fill:#555}.title{font-size:13px;font-weight:bold}"
    ".end{text-anchor:end}.middle{text-anchor:middle}.value{font-size:12px;fill:#1259a7}"
    ".grid{stroke:#e4e4e4}.axis{stroke:#888}.ideal{stroke:#999;stroke-dasharray:5 4}"
    ".measured{stroke:#1259a7;stroke-width:2;fill:none}circle{fill:#1259a7}</style>\n";

bool chart_write(const char *path, const char *below, const struct series *series, int count)
{
    FILE *f = fopen(path, "w");
    if (!f) return false;
    int rows = (count + COLUMNS - 1) / COLUMNS, columns = count < COLUMNS ? count : COLUMNS;
    if (columns < 3) columns = 3; /* the title needs room */
    int width = 2 * EDGE + columns * WIDTH, height = TOP + rows * HEIGHT + EDGE;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\">\n%s<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
            width, height, width, height, style, width, height);
    text(f, EDGE + 4, 32, "big", "Speed-up over the number of threads");
    text(f, EDGE + 4, 51, "small", below);
    line(f, "ideal", EDGE + 4, 68, EDGE + 34, 68);
    text(f, EDGE + 40, 72, "small", "ideal");
    line(f, "measured", EDGE + 84, 68, EDGE + 114, 68);
    fprintf(f, "<circle cx=\"%d\" cy=\"68\" r=\"3.5\"/>\n", EDGE + 99);
    text(f, EDGE + 120, 72, "small", "measured; the number is that of the most threads");
    for (int i = 0; i < count; i++)
        draw(f, &series[i], EDGE + i % COLUMNS * WIDTH, TOP + i / COLUMNS * HEIGHT);
    fprintf(f, "</svg>\n");
    bool failed = ferror(f) != 0;
    return fclose(f) == 0 && !failed;
}
