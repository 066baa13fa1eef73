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

/* Draws that the state after word s continues from the one before, or each from the other. */
static void draw_link(struct svg *svg, const struct architecture *a, int s)
{
    const double left = source_x(a, s - 1) + BOX / 2.0, right = source_x(a, s) - BOX / 2.0;
    const double apart = a->both_ways ? 8 : 0;
    put_arrow(svg, left, ROW_ENCODED - apart, right, ROW_ENCODED - apart, gray, 2);
    if (a->both_ways)
        put_arrow(svg, right, ROW_ENCODED + apart, left, ROW_ENCODED + apart, gray, 2);
}

static void draw_encoder(struct svg *svg, const struct architecture *a)
{
    for (int s = 0; s < a->sources; s++) {
        char *text = xasprintf(a->encoding == NOT_ENCODED ? "e%d" : "h%d", s + 1);
        put_box(svg, source_x(a, s), a->encoding == NOT_ENCODED ? ROW_ENCODED + 30 : ROW_ENCODED,
                box_color, text);
        free(text);
        if (s > 0 && (a->encoding == ENCODED_BY_CHAIN || a->encoding == ENCODED_AGAIN))
            draw_link(svg, a, s);
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
             : a->projected               ? "numbers: scores, weights; keys W_k h, values W_v h"
                                          : "numbers: scores, weights; keys and values h");
}

/* Draws the states before the present one, the first of which is the vector c. */
static void draw_states(struct svg *svg, const struct architecture *a)
{
    const double pitch = 56, first = decoder_x - pitch * (a->step + 1);
    for (int k = 0; k <= a->step; k++) {
        const double x = first + pitch * k;
        char *name = xasprintf("d%d", k);
        put_box(svg, x, ROW_CONTEXT, box_color, name);
        free(name);
        put_arrow(svg, x + BOX / 2.0, ROW_CONTEXT, x + pitch - BOX / 2.0, ROW_CONTEXT, gray, 2);
        if (k == 0) continue;
        svg_text(svg, x, ROW_CONTEXT + 62, 12, SVG_MIDDLE, gray, "%s",
                 k == 1 ? "(begin)" : a->target[k - 2]);
        put_arrow(svg, x, ROW_CONTEXT + 46, x, ROW_CONTEXT + BOX / 2.0, gray, 1.5);
    }
    put_arrow(svg, context_x + 20, ROW_CONTEXT, first - BOX / 2.0, ROW_CONTEXT, chart_colors[1],
              2.5);
    svg_text(svg, (context_x + first) / 2 + 16, ROW_CONTEXT - 34, 12, SVG_MIDDLE, chart_colors[1],
             "c is the first state");
}

/* Draws which state of the decoder asks: the present one, or the one before. */
static void draw_query(struct svg *svg, const struct architecture *a)
{
    const double y = ROW_CONTEXT, left = decoder_x - BOX / 2.0;
    const char *color = chart_colors[3];
    if (a->after) {
        put_arrow(svg, left, y + 8, context_x + 22, y + 8, color, 1.5);
        svg_text(svg, (context_x + left) / 2, y + 24, 12, SVG_MIDDLE, color, "query %sd%d",
                 a->projected ? "W_q " : "", a->step + 1);
        return;
    }
    put_arrow(svg, left - 20, y + 80, context_x + 21, y + 11, color, 1.5);
    svg_text(svg, (context_x + left) / 2 + 14, y + 38, 12, SVG_LEFT, color, "query d%d", a->step);
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
    if (a->by_state) draw_states(svg, a);
    svg_text(svg, decoder_x, y + 62, 14, SVG_MIDDLE, ink, "%s", before);
    put_arrow(svg, decoder_x, y + 46, decoder_x, y + BOX / 2.0, gray, 1.5);
    put_arrow(svg, decoder_x, y - BOX / 2.0, decoder_x, ROW_OUT + 10, gray, 1.5);
    svg_text(svg, decoder_x, ROW_OUT, 17, SVG_MIDDLE, chart_colors[1], "%s", a->target[a->step]);
    if (a->after)
        put_arrow(svg, context_x + 20, y - 8, decoder_x - 12, ROW_OUT + 16, chart_colors[1], 2.5);
    else if (!a->by_state)
        put_arrow(svg, context_x + 20, y, left, y, chart_colors[1], 2.5);
    if (a->attends) draw_query(svg, a);
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

void architecture_draw(struct svg *svg, const void *architecture)
{
    const struct architecture *a = architecture;
    if (a->encoding == ENCODED_BY_ATTENTION) {
        block_draw(svg, a);
        return;
    }
    draw_words(svg, a);
    draw_weights(svg, a);
    draw_encoder(svg, a);
    draw_decoder(svg, a);
    if (!a->by_state)
        svg_text(svg, decoder_x, ROW_CONTEXT + 88, 12, SVG_MIDDLE, gray, "and the state d%d",
                 a->step);
    if (a->encoding == ENCODED_AGAIN) draw_again(svg, a);
}

double architecture_height(const struct architecture *a)
{
    return a->encoding == ENCODED_BY_ATTENTION ? BLOCK_HEIGHT : ARCHITECTURE_HEIGHT;
}
