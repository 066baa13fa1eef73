/* architecture_draw.c - draws a model: words at the bottom, encodings above them, weights between
   encodings and context, the decoder's step on the right. The thickness of a line shows the weight.
   */
#include "architecture.h"
#include "kit/program.h"
#include <math.h>
#include <stdlib.h>

enum { BOX = 40, ROW_WORDS = 372, ROW_ENCODED = 292, ROW_CONTEXT = 130, ROW_OUT = 62 };
static const double decoder_x = 420, context_x = 205;
static const char ink[] = "#222222", gray[] = "#777777", box_color[] = "#DCE9F5";

static double source_x(const struct architecture *a, int s)
{
    return 38 + s * (330.0 / a->sources);
}

static void put_box(struct svg *svg, double x, double y, const char *color, const char *text)
{
    svg_rect(svg, x - BOX / 2.0, y - BOX / 2.0, BOX, BOX, color, gray);
    svg_text(svg, x, y + 5, 15, SVG_MIDDLE, ink, "%s", text);
}

/* Draws a line with an arrowhead. */
static void put_arrow(struct svg *svg, double x1, double y1, double x2, double y2,
                      const char *color, double thickness)
{
    double dx = x2 - x1, dy = y2 - y1, length = sqrt(dx * dx + dy * dy);
    dx /= length;
    dy /= length;
    const double head[] = {x2,
                           y2,
                           x2 - 8 * dx + 4 * dy,
                           y2 - 8 * dy - 4 * dx,
                           x2 - 8 * dx - 4 * dy,
                           y2 - 8 * dy + 4 * dx};
    svg_line(svg, x1, y1, x2 - 6 * dx, y2 - 6 * dy, color, thickness);
    svg_polyline(svg, 3, head, color, 1, 1);
}

static void draw_words(struct svg *svg, const struct architecture *a)
{
    for (int s = 0; s < a->sources; s++) {
        svg_text(svg, source_x(a, s), ROW_WORDS + 5, 14, SVG_MIDDLE, ink, "%s", a->source[s]);
        if (a->encoding != NOT_ENCODED)
            put_arrow(svg, source_x(a, s), ROW_WORDS - 12, source_x(a, s), ROW_ENCODED + BOX / 2.0,
                      gray, 1.5);
    }
}

/* Draws arcs from the word with the largest weight to all words, below the boxes. */
static void draw_self(struct svg *svg, const struct architecture *a)
{
    enum { POINTS = 17 };
    for (int s = 0; s < a->sources; s++) {
        double x1 = source_x(a, a->seen), x2 = source_x(a, s), points[2 * POINTS];
        for (int i = 0; i < POINTS; i++) {
            double t = i / (POINTS - 1.0);
            points[2 * i] = x1 + t * (x2 - x1) + (s == a->seen ? 16 * (t - 0.5) : 0);
            points[2 * i + 1] = ROW_ENCODED + BOX / 2.0 + 4 * t * (1 - t) * 26;
        }
        svg_polyline(svg, POINTS, points, chart_colors[2], 0.5 + 8 * (double)a->self[s], 0);
        svg_text(svg, x2 + 4, ROW_WORDS - 15, 12, SVG_LEFT, chart_colors[2], "%.2f",
                 (double)a->self[s]);
    }
}

static void draw_encoder(struct svg *svg, const struct architecture *a)
{
    if (a->encoding == ENCODED_BY_ATTENTION) draw_self(svg, a);
    for (int s = 0; s < a->sources; s++) {
        char *text = xasprintf(a->encoding == NOT_ENCODED ? "e%d" : "h%d", s + 1);
        put_box(svg, source_x(a, s), a->encoding == NOT_ENCODED ? ROW_ENCODED + 30 : ROW_ENCODED,
                box_color, text);
        free(text);
        if (s > 0 && (a->encoding == ENCODED_BY_CHAIN || a->encoding == ENCODED_AGAIN))
            put_arrow(svg, source_x(a, s - 1) + BOX / 2.0, ROW_ENCODED, source_x(a, s) - BOX / 2.0,
                      ROW_ENCODED, gray, 2);
    }
}

/* Draws numbers above the encodings, and lines to the context. */
static void draw_weights(struct svg *svg, const struct architecture *a)
{
    const double top = a->encoding == NOT_ENCODED ? ROW_ENCODED + 10 : ROW_ENCODED - BOX / 2.0;
    const double numbers = ROW_ENCODED - 30;
    for (int s = 0; s < a->sources; s++) {
        double weight = (double)a->weights[s], x = source_x(a, s);
        bool joined = a->attends ? weight > 0 : s == a->sources - 1;
        if (joined)
            svg_line(svg, x, numbers - (a->scored ? 34 : 17), context_x, ROW_CONTEXT + 20,
                     chart_colors[0], a->attends ? 0.5 + 9 * weight : 3);
        if (joined) svg_line(svg, x, top, x, numbers + 4, chart_colors[0], 1);
        if (a->scored)
            svg_text(svg, x, numbers - 16, 12, SVG_MIDDLE, gray, "%.1f", (double)a->scores[s]);
        svg_text(svg, x, numbers, 13, SVG_MIDDLE, chart_colors[0], "%.2f", weight);
    }
    svg_text(svg, 12, 46, 13, SVG_LEFT, gray, "%s",
             !a->attends                  ? "numbers: influence of each word, by the gradient"
             : a->encoding == NOT_ENCODED ? "numbers: the word that is picked"
             : a->encoding == ENCODED_BY_ATTENTION ? "blue: cross-attention; green: self-attention"
             : a->projected ? "numbers: scores, weights; keys W_k h, values W_v h"
                            : "numbers: scores, weights; keys and values h");
}

static void draw_decoder(struct svg *svg, const struct architecture *a)
{
    const double y = ROW_CONTEXT, left = decoder_x - BOX / 2.0;
    char *state = xasprintf("d%d", a->step + 1);
    const char *before = a->step > 0 ? a->target[a->step - 1] : "(begin)";
    svg_circle(svg, context_x, y, 20, "#FCE5CC", chart_colors[1]);
    svg_text(svg, context_x, y + 5, 15, SVG_MIDDLE, ink, "c");
    put_box(svg, decoder_x, y, box_color, state);
    free(state);
    svg_text(svg, decoder_x, y + 62, 14, SVG_MIDDLE, ink, "%s", before);
    put_arrow(svg, decoder_x, y + 46, decoder_x, y + BOX / 2.0, gray, 1.5);
    put_arrow(svg, decoder_x, y - BOX / 2.0, decoder_x, ROW_OUT + 10, gray, 1.5);
    svg_text(svg, decoder_x, ROW_OUT, 17, SVG_MIDDLE, chart_colors[1], "%s", a->target[a->step]);
    if (a->after)
        put_arrow(svg, context_x + 20, y - 8, decoder_x - 12, ROW_OUT + 16, chart_colors[1], 2.5);
    else
        put_arrow(svg, context_x + 20, y, left, y, chart_colors[1], 2.5);
    if (a->by_state)
        svg_text(svg, (context_x + left) / 2, y - 8, 12, SVG_MIDDLE, chart_colors[1],
                 "once, as the state d0");
    if (a->after && a->attends) {
        put_arrow(svg, left, y + 8, context_x + 22, y + 8, chart_colors[2], 1.5);
        svg_text(svg, (context_x + left) / 2, y + 24, 12, SVG_MIDDLE, chart_colors[2], "%s",
                 a->projected ? "query W_q d" : "query d");
    }
}

/* Draws how the state of the decoder enters each step of the encoder. */
static void draw_again(struct svg *svg, const struct architecture *a)
{
    const double bottom = ROW_ENCODED + BOX / 2.0, below = bottom + 22, beside = 12;
    svg_line(svg, decoder_x, ROW_CONTEXT + 94, decoder_x, below, chart_colors[2], 1.5);
    svg_line(svg, decoder_x, below, source_x(a, 0) + beside, below, chart_colors[2], 1.5);
    for (int s = 0; s < a->sources; s++)
        put_arrow(svg, source_x(a, s) + beside, below, source_x(a, s) + beside, bottom,
                  chart_colors[2], 1.5);
    svg_text(svg, decoder_x, below + 18, 12, SVG_MIDDLE, chart_colors[2], "reads again");
}

/* Draws how the decoder knows what it has written: by a state, or by attention to it. */
static void draw_past(struct svg *svg, const struct architecture *a)
{
    const double y = ROW_CONTEXT + 84;
    if (a->encoding != ENCODED_BY_ATTENTION) {
        svg_text(svg, decoder_x, y + 4, 12, SVG_MIDDLE, gray, "and the state d%d", a->step);
        if (a->encoding == ENCODED_AGAIN) draw_again(svg, a);
        return;
    }
    svg_text(svg, 470, y + 4, 12, SVG_RIGHT, chart_colors[2], "attends to itself:");
    for (int t = 0; t < a->targets; t++)
        svg_text(svg, 470, y + 21 + 16 * t, 12, SVG_RIGHT, chart_colors[2], "%s %.2f",
                 t == 0 ? "(begin)" : a->target[t - 1], (double)a->past[t]);
}

void architecture_draw(struct svg *svg, const void *architecture)
{
    const struct architecture *a = architecture;
    draw_words(svg, a);
    draw_weights(svg, a);
    draw_encoder(svg, a);
    draw_decoder(svg, a);
    draw_past(svg, a);
}
