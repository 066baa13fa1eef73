/* machines_figure.c - predictions as an SVG figure: efficiency by number of machines; the parts of
   the time of a step; and measurements on one machine next to the results of the same formulas. */
#include "machines.h"

#include "kit/program.h"
#include "kit/svg.h"

#include <math.h>

enum { WIDTH = 1180, HEIGHT = 740, PLOT = 300, TOP = 120, RIGHT = 690 };
static const double threshold = 0.8;
static const char gray[] = "#888888", black[] = "#222222", dark[] = "#444444";
/* One shade for each term, distinguishable in gray. */
static const char *const term_colors[TERMS] = {"#0072B2", "#56B4E9", "#888888", "#D55E00",
                                               "#CC79A7", "#E69F00", "#009E73"};

/* ---- efficiency ---- */

static void ticks_of_machines(struct svg *svg, const struct chart *chart, int max)
{
    for (int n = 1; n <= max; n *= max > 64 ? 4 : 2) {
        double x = chart_x(chart, log2(n)), bottom = chart->y + chart->height;
        svg_line(svg, x, bottom, x, bottom + 5, "#666666", 1);
        svg_text(svg, x, bottom + 19, 12, SVG_MIDDLE, dark, "%d", n);
    }
}

static void draw_curve(struct svg *svg, const struct chart *chart, const struct prediction *p,
                       int link, int batch)
{
    const struct cluster *c = &p->cluster[link][batch];
    const char *color = chart_colors[(link * p->batches + batch) % 6];
    double points[2 * 16];
    int count = 0;
    for (int n = 1; n <= c->shards && count < 16; n *= 2, count++) {
        points[2 * count] = chart_x(chart, log2(n));
        points[2 * count + 1] = chart_y(chart, cluster_efficiency(c, n));
    }
    svg_polyline(svg, count, points, color, 2.5, 0);
    for (int i = 0; i < count; i++) {
        double terms[TERMS], seconds = cluster_time(c, 1 << i, terms);
        svg_hint_begin(svg, "%d machines, %s, %d shards: efficiency %.2f, a step of %.3g ms",
                       1 << i, p->link[link], c->shards, cluster_efficiency(c, 1 << i),
                       seconds * 1e3);
        svg_circle(svg, points[2 * i], points[2 * i + 1], 3.5, color, "white");
        svg_hint_end(svg);
    }
}

static void draw_efficiency(struct svg *svg, const struct prediction *p)
{
    int max = 1, row = 0;
    for (int b = 0; b < p->batches; b++)
        if (p->cluster[0][b].shards > max) max = p->cluster[0][b].shards;
    struct chart chart = {.x = 70,
                          .y = TOP,
                          .width = 500,
                          .height = PLOT,
                          .to = {log2(max > 1 ? max : 2), 1},
                          .step = {0, 0.2},
                          .title = "Efficiency",
                          .subtitle = "time of one machine over machines times theirs",
                          .labels = {"machines", "efficiency"}};
    chart_frame(svg, &chart);
    ticks_of_machines(svg, &chart, max);
    svg_dashed_line(svg, chart.x, chart_y(&chart, threshold), chart.x + chart.width,
                    chart_y(&chart, threshold), gray, 1.5);
    for (int l = 0; l < p->links; l++)
        for (int b = 0; b < p->batches; b++, row++) {
            const struct cluster *c = &p->cluster[l][b];
            char name[160], limit[64];
            int from = cluster_limit(c, threshold);
            snprintf(limit, sizeof limit, from > 0 ? "below 0.8 from %d on: %s" : "never below 0.8",
                     from, from > 0 ? cluster_names[cluster_excess(c, from)] : "");
            snprintf(name, sizeof name, "%s, %d shards: %s", p->link[l], c->shards, limit);
            draw_curve(svg, &chart, p, l, b);
            chart_legend(svg, 70, TOP + PLOT + 70 + 20 * row,
                         chart_colors[(l * p->batches + b) % 6], name);
        }
}

/* ---- parts of the time ---- */

static void draw_bar(struct svg *svg, double x, double y, double width, const struct prediction *p,
                     int link, int machines)
{
    const struct cluster *c = &p->cluster[link][p->batches - 1];
    double terms[TERMS], total = cluster_time(c, machines, terms), at = x;
    svg_text(svg, x - 8, y + 13, 12, SVG_RIGHT, dark, "%d", machines);
    for (int i = 0; i < TERMS; i++) {
        double part = width * terms[i] / total;
        svg_hint_begin(svg, "%d machines, %s: %s, %.3g ms, %.0f %% of a step", machines,
                       p->link[link], cluster_names[i], terms[i] * 1e3, 100 * terms[i] / total);
        svg_rect(svg, at, y, part, 18, term_colors[i], "none");
        svg_hint_end(svg);
        at += part;
    }
    svg_text(svg, x + width + 8, y + 13, 12, SVG_LEFT, dark, "%.3g %s",
             total < 0.9995 ? total * 1e3 : total, total < 0.9995 ? "ms" : "s");
}

static void draw_terms(struct svg *svg, const struct prediction *p)
{
    const double x = RIGHT, width = 380;
    const struct cluster *c = &p->cluster[0][p->batches - 1];
    double y = TOP - 29;
    svg_text(svg, x - 40, y, 15, SVG_LEFT, black, "What takes the time of a step");
    svg_text(svg, x - 40, y + 16, 11, SVG_LEFT, dark,
             "%d shards of %.0f target tokens; by machines", c->shards, p->tokens);
    y += 38;
    for (int l = 0; l < p->links; l++, y += 8) {
        svg_text(svg, x, y + 4, 12, SVG_LEFT, dark, "%s", p->link[l]);
        for (int i = 0; i < p->counts; i++)
            if (p->machines[i] <= c->shards)
                draw_bar(svg, x, y += i == 0 ? 12 : 23, width, p, l, p->machines[i]);
        y += 34;
    }
    for (int i = 0; i < TERMS; i++) {
        double left = x + (i % 2) * 210, top = y + 20 * (i / 2);
        svg_rect(svg, left, top, 12, 12, term_colors[i], "none");
        svg_text(svg, left + 20, top + 11, 13, SVG_LEFT, black, "%s", cluster_names[i]);
    }
}

/* ---- measurements ---- */

static void draw_check(struct svg *svg, const struct prediction *p)
{
    double ranks[MEASURED], measured[MEASURED], predicted[MEASURED], terms[TERMS], max = 0;
    int count = 0;
    for (int i = 0; i < p->measured_count; i++) {
        const struct measured *m = &p->measured[i];
        if (m->ranks > p->here.shards || m->seconds <= 0) continue;
        ranks[count] = m->ranks;
        measured[count] = m->seconds;
        predicted[count] = cluster_time(&p->here, m->ranks, terms);
        max = fmax(max, fmax(measured[count], predicted[count])), count++;
    }
    if (count < 2) return;
    char subtitle[160];
    snprintf(subtitle, sizeof subtitle, "%d shards, ranks on %d cores, by %s", p->here.shards,
             p->here.cores, p->transport);
    struct chart chart = {.x = RIGHT,
                          .y = 550,
                          .width = 290,
                          .height = 130,
                          .from = {1, 0},
                          .to = {ranks[count - 1], max},
                          .step = {1, chart_step(max, 4)},
                          .title = "Measured and computed",
                          .subtitle = subtitle,
                          .labels = {"ranks", "seconds a step"}};
    chart.to[1] = chart.step[1] * ceil(max / chart.step[1]);
    chart_frame(svg, &chart);
    for (int i = 1; i < count; i++)
        svg_dashed_line(svg, chart_x(&chart, ranks[i - 1]), chart_y(&chart, predicted[i - 1]),
                        chart_x(&chart, ranks[i]), chart_y(&chart, predicted[i]), chart_colors[1],
                        2);
    chart_curve(svg, &chart, count, ranks, measured, chart_colors[0]);
    chart_legend(svg, RIGHT + 310, 575, chart_colors[0], "measured");
    svg_dashed_line(svg, RIGHT + 310, 591, RIGHT + 334, 591, chart_colors[1], 2);
    svg_text(svg, RIGHT + 342, 595, 13, SVG_LEFT, black, "computed");
}

int machines_figure(const char *path, const struct prediction *p)
{
    struct svg svg;
    const char *title = "Training steps on many machines";
    int code = svg_open(&svg, path, WIDTH, HEIGHT, title);
    if (code != EXIT_OK) return code;
    svg_text(&svg, 20, 34, 18, SVG_LEFT, black, "%s", title);
    svg_text(&svg, 20, 54, 12, SVG_LEFT, dark, "%s; computed from what one machine takes: %s",
             p->model, p->processor);
    draw_efficiency(&svg, p);
    draw_terms(&svg, p);
    draw_check(&svg, p);
    return svg_close(&svg);
}
