/* figure.c - an SVG figure: glimpse paths of both policies on the same pictures, accuracy while
   training, and the gradient estimates of the bandit. */
#include "glimpse.h"
#include <stdio.h>

enum { SHOWN = 6, SIDE = 186, GAP = 20, LEFT = 36, TOP = 96, ROW = SIDE + 58 };

static const char *const glimpse_colors[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7"};

static const char *color_of(int glimpse)
{
    return glimpse_colors[glimpse % 4];
}

static void put_ink(struct svg *svg, const struct setup *setup, const struct picture *picture,
                    double x, double y)
{
    const double pixel = (double)SIDE / setup->side;
    svg_rect(svg, x, y, SIDE, SIDE, "#F6F4EE", "#BBBBBB");
    for (int i = 0; i < setup->side * setup->side; i++) {
        int grey = 235 - (int)(205 * picture->ink[i]);
        char fill[8];
        if (picture->ink[i] < 0.04F) continue;
        snprintf(fill, sizeof fill, "#%02X%02X%02X", grey & 255, grey & 255, grey & 255);
        svg_rect(svg, x + i % setup->side * pixel, y + i / setup->side * pixel, pixel, pixel, fill,
                 "none");
    }
}

/* The windows, numbered, and a line from each to the next. */
static void put_path(struct svg *svg, const struct learner *l, int picture, double x, double y)
{
    const struct setup *s = l->setup;
    const double pixel = (double)SIDE / s->side, half = s->window * pixel / 2;
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
        svg_polyline(svg, 5, corners, color_of(t), 2, 0);
    }
    for (int t = 0; t < s->glimpses; t++) {
        /* Numbers of glimpses at one location stand side by side. */
        double middle = path[2 * t] - half + 2 * half * (t + 0.5) / s->glimpses;
        double top = path[2 * t + 1] - half;
        svg_circle(svg, middle, top, 6.5, color_of(t), "white");
        svg_text(svg, middle, top + 3.5, 10, SVG_MIDDLE, "white", "%d", t + 1);
    }
}

/* The first pictures with distinct digits, as far as there are enough digits. */
static void choose_pictures(const struct learner *l, int shown[SHOWN])
{
    const int different = l->setup->digits < SHOWN ? l->setup->digits : SHOWN;
    int count = 0;
    for (int b = 0; b < l->setup->batch && count < SHOWN; b++) {
        bool new = true;
        for (int i = 0; i < count; i++)
            if (l->pictures[shown[i]].label == l->pictures[b].label) new = false;
        if (new || count >= different) shown[count++] = b;
    }
    while (count < SHOWN) shown[count++] = 0; /* a small batch may lack a digit */
}

static void put_row(struct svg *svg, struct learner *l, double y)
{
    int shown[SHOWN];
    learner_run(l, 0);
    choose_pictures(l, shown);
    svg_text(svg, LEFT, y - 12, 15, SVG_LEFT, "#222222",
             "%s policy: accuracy %.1f %% on held-out pictures",
             l->policy == LEARNED ? "Learned" : "Random", 100 * l->accuracy);
    for (int i = 0; i < SHOWN; i++) {
        const int b = shown[i];
        double x = LEFT + i * (SIDE + GAP);
        char predictions[64] = "";
        int used = 0, last = learner_prediction(l, b, l->setup->glimpses - 1);
        for (int t = 0; t < l->setup->glimpses; t++)
            used += snprintf(predictions + used, sizeof predictions - (size_t)used, "%s%d",
                             t ? " \u2192 " : "", learner_prediction(l, b, t));
        put_ink(svg, l->setup, &l->pictures[b], x, y);
        put_path(svg, l, b, x, y);
        bool right = last == l->pictures[b].label;
        svg_text(svg, x, y + SIDE + 20, 13, SVG_LEFT, "#444444", "prediction %s", predictions);
        svg_text(svg, x + SIDE, y + SIDE + 20, 13, SVG_RIGHT, right ? "#007A55" : "#C04A00",
                 right ? "correct" : "label %d", l->pictures[b].label);
    }
}

static void put_curves(struct svg *svg, struct learner learners[POLICIES], double y)
{
    const struct setup *s = learners[0].setup;
    struct chart chart = {.x = LEFT + 56,
                          .y = y,
                          .width = 560,
                          .height = 220,
                          .to = {s->steps, 100},
                          .step = {chart_step(s->steps, 5), 20},
                          .title = "Training accuracy",
                          .labels = {"batches", "accuracy, %"}};
    chart_frame(svg, &chart);
    for (int k = 0; k < POLICIES; k++) {
        double share[MAX_REPORTS];
        for (int i = 0; i < learners[k].reports; i++)
            share[i] = 100 * learners[k].accuracy_curve[i];
        chart_curve(svg, &chart, learners[k].reports, learners[k].steps, share, chart_colors[k]);
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

int figure_write(const char *path, const struct bandit *bandit, struct learner learners[POLICIES])
{
    struct svg svg;
    const double low = TOP + 2 * ROW + 44;
    int code = svg_open(&svg, path, 2 * LEFT + SHOWN * (SIDE + GAP) - GAP, low + 276,
                        "Hard visual attention over locations, trained with REINFORCE");
    if (code != EXIT_OK) return code;
    svg_text(&svg, LEFT, 36, 21, SVG_LEFT, "#111111",
             "Hard visual attention over locations, trained with REINFORCE");
    svg_text(
        &svg, LEFT, 58, 13, SVG_LEFT, "#444444",
        "%d glimpses of %d x %d out of %d x %d pixels, after a blurred preview; the first at the "
        "center. Numbers: order of the glimpses; below each picture: the prediction after each.",
        learners[0].setup->glimpses, learners[0].setup->window, learners[0].setup->window,
        learners[0].setup->side, learners[0].setup->side);
    for (int k = 0; k < POLICIES; k++) put_row(&svg, &learners[k], TOP + 8 + k * ROW);
    put_curves(&svg, learners, low);
    put_bandit(&svg, bandit, LEFT + 690, low);
    return svg_close(&svg);
}
