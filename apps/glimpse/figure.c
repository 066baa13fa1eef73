/* figure.c - an SVG figure: glimpse paths of both policies on the same pictures, success during
   training, gradient estimates of the bandit, and what the sensor reads. */
#include "glimpse.h"
#include <stdio.h>

enum { SHOWN = 6, SIDE = 186, GAP = 20, LEFT = 36, TOP = 96, ROW = SIDE + 58 };

/* Chooses the first pictures with different digits, as long as there are enough digits. */
static void choose_pictures(const struct viewer *l, int shown[SHOWN])
{
    const int different = l->setup->digits < SHOWN ? l->setup->digits : SHOWN;
    int count = 0;
    for (int b = 0; b < l->setup->batch && count < SHOWN; b++) {
        bool new = true;
        for (int i = 0; i < count; i++)
            if (l->pictures[shown[i]].label == l->pictures[b].label) new = false;
        if (new || count >= different) shown[count++] = b;
    }
    while (count < SHOWN) shown[count++] = 0; /* a small batch may not contain all digits */
}

static const char good[] = "#007A55", bad[] = "#C04A00";

/* Writes the digits that were predicted after each glimpse, which the heading of the figure
   explains. */
static void put_predictions(struct svg *svg, const struct viewer *l, int b, double x, double y)
{
    const int label = l->pictures[b].label;
    const char *gap = l->setup->glimpses > 5 ? " " : " \u2192 ";
    char predictions[64] = "";
    int used = 0, last = viewer_prediction(l, b, l->setup->glimpses - 1);
    for (int t = 0; t < l->setup->glimpses; t++)
        used += snprintf(predictions + used, sizeof predictions - (size_t)used, "%s%d",
                         t ? gap : "", viewer_prediction(l, b, t));
    svg_text(svg, x, y, 13, SVG_LEFT, "#444444", "%s", predictions);
    svg_text(svg, x + SIDE, y, 13, SVG_RIGHT, last == label ? good : bad,
             last == label ? "correct" : "label %d", label);
}

static const char *success_of(const struct setup *setup)
{
    return setup->aim == READ ? "accuracy" : "last glimpses at the digit";
}

static void put_row(struct svg *svg, struct viewer *l, double y)
{
    int shown[SHOWN];
    viewer_run(l, 0);
    choose_pictures(l, shown);
    svg_text(
        svg, LEFT, y - 12, 15, SVG_LEFT, "#222222", "%s policy: %s %.1f %% on held-out pictures",
        l->policy == LEARNED ? "Learned" : "Random", success_of(l->setup), 100 * viewer_success(l));
    for (int i = 0; i < SHOWN; i++) {
        const int b = shown[i];
        double x = LEFT + i * (SIDE + GAP);
        path_draw(svg, l, b, x, y, SIDE);
        if (l->setup->aim == READ)
            put_predictions(svg, l, b, x, y + SIDE + 20);
        else
            svg_text(svg, x + SIDE, y + SIDE + 20, 13, SVG_RIGHT, viewer_found(l, b) ? good : bad,
                     viewer_found(l, b) ? "found" : "not found");
    }
}

static void put_curves(struct svg *svg, struct viewer viewers[POLICIES], double y)
{
    const struct setup *s = viewers[0].setup;
    struct chart chart = {
        .x = LEFT + 56,
        .y = y,
        .width = 560,
        .height = 220,
        .to = {s->steps, 100},
        .step = {chart_step(s->steps, 5), 20},
        .title = s->aim == READ ? "Training accuracy" : "Last glimpses at the digit",
        .labels = {"batches", s->aim == READ ? "accuracy, %" : "at the digit, %"}};
    chart_frame(svg, &chart);
    for (int k = 0; k < POLICIES; k++) {
        double share[MAX_REPORTS];
        for (int i = 0; i < viewers[k].reports; i++) share[i] = 100 * viewers[k].success_curve[i];
        chart_curve(svg, &chart, viewers[k].reports, viewers[k].steps, share, chart_colors[k]);
        chart_legend(svg, chart.x + chart.width - 120, chart.y + chart.height - 42 + 22 * k,
                     chart_colors[k], policy_names[k]);
    }
}

static void put_bandit(struct svg *svg, const struct bandit *bandit, double x, double y)
{
    static const char *const names[] = {"without a baseline", "with a baseline"};
    svg_text(svg, x, y - 14, 15, SVG_LEFT, "#222222",
             "Two-armed bandit: REINFORCE, mean of %d draws", bandit->draws);
    for (int i = 0; i < 2; i++) {
        const double scale = 24 / bandit->error[0][i], middle = x + 310, line = y + 28 + 108 * i;
        svg_text(svg, x, line, 13, SVG_LEFT, "#222222", "d J / d q[%d] = %.5f", i,
                 bandit->exact[i]);
        svg_line(svg, middle, line - 20, middle, line + 62, "#222222", 1.5);
        for (int with = 0; with < 2; with++) {
            double at = line + 20 + 28 * with, off = bandit->mean[with][i] - bandit->exact[i];
            double extent = 3 * bandit->error[with][i] * scale;
            svg_text(svg, x + 14, at + 4, 13, SVG_LEFT, "#444444", "%s %.5f", names[with],
                     bandit->mean[with][i]);
            svg_line(svg, middle + off * scale - extent, at, middle + off * scale + extent, at,
                     chart_colors[2 - 2 * with], 3);
            svg_circle(svg, middle + off * scale, at, 5, chart_colors[2 - 2 * with], "white");
        }
    }
    svg_text(svg, x, y + 232, 12, SVG_LEFT, "#444444",
             "Bars: +- 3 standard errors. The vertical line is the exact gradient.");
    svg_text(svg, x, y + 248, 12, SVG_LEFT, "#444444",
             "A baseline keeps the mean and reduces the variance.");
}

/* Draws what the sensor reads from the first picture, and how much that is of everything. */
static void put_sensor(struct svg *svg, const struct viewer *l, double y)
{
    const struct setup *s = l->setup;
    const struct pixels pixels = pixels_of(s);
    const double low = y + SIDE + 46;
    int shown[SHOWN];
    choose_pictures(l, shown);
    const float *point = l->network.fixation + 2 * (s->batch * (s->glimpses - 1) + shown[0]);
    svg_text(svg, LEFT, y - 12, 15, SVG_LEFT, "#222222", "One glimpse, and the preview");
    path_draw(svg, l, shown[0], LEFT, y, SIDE);
    sensor_draw(svg, s, &l->pictures[shown[0]], point, LEFT + SIDE + GAP, y, SIDE, GAP);
    svg_text(svg, LEFT, low, 13, SVG_LEFT, "#444444",
             "%d glimpses read %d pixels and %d averages, the preview %d averages: %d numbers. The "
             "picture has %d pixels.",
             s->glimpses, pixels.sharp, pixels.blurred, pixels.preview,
             pixels.sharp + pixels.blurred + pixels.preview, pixels.there);
}

int figure_write(const char *path, const struct bandit *bandit, struct viewer viewers[POLICIES])
{
    struct svg svg;
    const double low = TOP + 2 * ROW + 44;
    int code = svg_open(&svg, path, 2 * LEFT + SHOWN * (SIDE + GAP) - GAP, low + 276 + ROW + 44,
                        "Hard visual attention over locations, trained with REINFORCE");
    if (code != EXIT_OK) return code;
    svg_text(&svg, LEFT, 36, 21, SVG_LEFT, "#111111",
             "Hard visual attention over locations, trained with REINFORCE");
    svg_text(
        &svg, LEFT, 58, 13, SVG_LEFT, "#444444",
        "%d glimpses of %d x %d out of %d x %d pixels, after a blurred preview; the first at the "
        "center. Numbers: order of the glimpses%s.",
        viewers[0].setup->glimpses, viewers[0].setup->window, viewers[0].setup->window,
        viewers[0].setup->side, viewers[0].setup->side,
        viewers[0].setup->aim == READ ? "; below each picture: the prediction after each" : "");
    for (int k = 0; k < POLICIES; k++) put_row(&svg, &viewers[k], TOP + 8 + k * ROW);
    put_curves(&svg, viewers, low);
    put_bandit(&svg, bandit, LEFT + 690, low);
    viewer_run(&viewers[LEARNED], 0);
    put_sensor(&svg, &viewers[LEARNED], low + 300);
    return svg_close(&svg);
}
