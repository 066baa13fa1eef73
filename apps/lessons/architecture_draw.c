/* architecture_draw.c - draws a model: words at the bottom, encodings above them, weights between
   encodings and context, the decoder's step on the right. A line is as thick as its weight. */
#include "architecture.h"
#include "kit/program.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { BOX = 40, ROW_WORDS = 372, ROW_ENCODED = 292, ROW_CONTEXT = 130, ROW_OUT = 62 };
static const double decoder_x = 420, context_x = 205;
static const double before_x = 368, before_y = 204; /* the state before the step */
static const char ink[] = "#222222", gray[] = "#777777", box_color[] = "#DCE9F5";

/* Draws text, which a script finds by its class: it changes with the step. */
__attribute__((format(printf, 8, 9))) static void
put_step_text(struct svg *svg, const char *class, double x, double y, double size,
              enum svg_anchor anchor, const char *color, const char *format, ...)
{
    char text[64];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    svg_class_begin(svg, class, false);
    svg_text(svg, x, y, size, anchor, color, "%s", text);
    svg_class_end(svg);
}

/* The distance of two words. There is more room if no decoder is beside them. */
static double pitch(const struct architecture *a)
{
    return (a->itself ? 440.0 : 330.0) / a->sources;
}

static double source_x(const struct architecture *a, int s)
{
    return (a->itself ? 24 : 38) + s * pitch(a);
}

static double box_width(const struct architecture *a)
{
    return fmin(BOX, pitch(a) - 12);
}

static void put_box(struct svg *svg, double x, double y, double width, const char *text)
{
    svg_rect(svg, x - width / 2, y - BOX / 2.0, width, BOX, box_color, gray);
    svg_text(svg, x, y + 5, 15, SVG_MIDDLE, ink, "%s", text);
}

/* Draws state k of the decoder. */
static void put_state(struct svg *svg, double x, double y, int k)
{
    char text[16];
    snprintf(text, sizeof text, "d%d", k);
    svg_class_begin(svg, "count", false);
    put_box(svg, x, y, BOX, text);
    svg_class_end(svg);
}

/* The upper edge of the encodings. */
static double top_of(const struct architecture *a)
{
    return (a->encoding == NOT_ENCODED ? ROW_ENCODED + 30 : ROW_ENCODED) - BOX / 2.0;
}

static void draw_words(struct svg *svg, const struct architecture *a)
{
    for (int s = 0; s < a->sources; s++) {
        svg_text(svg, source_x(a, s), ROW_WORDS + 5, a->itself ? 11 : 14, SVG_MIDDLE, ink, "%s",
                 a->source[s]);
        svg_arrow(svg, source_x(a, s), ROW_WORDS - 10, source_x(a, s), top_of(a) + BOX + 1, gray,
                  1.5);
        if (!a->attends)
            put_step_text(svg, "weight", source_x(a, s), ROW_WORDS + 22, 13, SVG_MIDDLE,
                          chart_colors[0], "%.2f", (double)a->weights[s]);
    }
}

/* Draws that the state after word s continues from the one before, or each from the other. */
static void draw_link(struct svg *svg, const struct architecture *a, int s)
{
    const double half = box_width(a) / 2, apart = a->both_ways ? 8 : 0;
    const double left = source_x(a, s - 1) + half, right = source_x(a, s) - half;
    svg_arrow(svg, left, ROW_ENCODED - apart, right, ROW_ENCODED - apart, gray, 1.5);
    if (a->both_ways)
        svg_arrow(svg, right, ROW_ENCODED + apart, left, ROW_ENCODED + apart, gray, 1.5);
}

static void draw_encoder(struct svg *svg, const struct architecture *a)
{
    for (int s = 0; s < a->sources; s++) {
        const bool raw = a->encoding == NOT_ENCODED || a->itself;
        char *text = xasprintf(raw ? "x%d" : "h%d", s + 1);
        put_box(svg, source_x(a, s), top_of(a) + BOX / 2.0, box_width(a), text);
        free(text);
        if (s > 0 && !raw && a->encoding != ENCODED_AT_ONCE) draw_link(svg, a, s);
    }
}

/* Draws a line from an encoding to the edge of the context, with the numbers of attention on it. */
static void draw_weight(struct svg *svg, const struct architecture *a, int s)
{
    const double weight = (double)a->weights[s], x = source_x(a, s), y = ROW_ENCODED - 60;
    const double distance = hypot(context_x - x, ROW_CONTEXT - y), radius = 21;
    const bool joined = a->attends ? weight > 0 : s == a->sources - 1;
    const double thickness = a->attends ? 0.5 + 7 * weight : 3;
    svg_class_begin(svg, a->attends ? "line" : "fixed", !joined);
    svg_line(svg, x, top_of(a), x, y, chart_colors[0], thickness);
    svg_arrow(svg, x, y, context_x - radius * (context_x - x) / distance,
              ROW_CONTEXT - radius * (ROW_CONTEXT - y) / distance, chart_colors[0], thickness);
    svg_class_end(svg);
    if (!a->attends) return;
    svg_rect(svg, x - 15, y + (a->scored ? 0 : 10), 30, a->scored ? 34 : 20, "white", "#CCCCCC");
    if (a->scored)
        put_step_text(svg, "score", x, y + 13, 12, SVG_MIDDLE, gray, "%.1f",
                      fabsf(a->scores[s]) < 0.05F ? 0 : (double)a->scores[s]);
    put_step_text(svg, "weight", x, y + (a->scored ? 29 : 25), 12, SVG_MIDDLE, chart_colors[0],
                  "%.2f", weight);
}

static void draw_weights(struct svg *svg, const struct architecture *a)
{
    for (int s = 0; s < a->sources; s++) draw_weight(svg, a, s);
}

/* Returns a note on the numbers in the picture. */
static const char *note_of(const struct architecture *a)
{
    return a->note                      ? a->note
           : !a->attends                ? "numbers: influence of each word, by the gradient"
           : a->encoding == NOT_ENCODED ? "numbers: 1.00 at the word that is picked"
           : a->projected               ? "numbers: score, weight; keys and values from h"
                                        : "numbers: score, weight; keys and values h";
}

/* Draws the states before the present one, the first of which is the vector c. */
static void draw_states(struct svg *svg, const struct architecture *a)
{
    const double pitch = 56, first = decoder_x - pitch * (a->step + 1);
    for (int k = 0; k <= a->step; k++) {
        const double x = first + pitch * k;
        char *name = xasprintf("d%d", k);
        put_box(svg, x, ROW_CONTEXT, BOX, name);
        free(name);
        svg_arrow(svg, x + BOX / 2.0, ROW_CONTEXT, x + pitch - BOX / 2.0, ROW_CONTEXT, gray, 1.5);
        if (k == 0) continue;
        svg_text(svg, x, ROW_CONTEXT + 62, 12, SVG_MIDDLE, gray, "%s",
                 k == 1 ? "(begin)" : a->target[k - 2]);
        svg_arrow(svg, x, ROW_CONTEXT + 46, x, ROW_CONTEXT + BOX / 2.0, gray, 1.5);
    }
    svg_arrow(svg, context_x + 20, ROW_CONTEXT, first - BOX / 2.0, ROW_CONTEXT, chart_colors[1],
              2.5);
    svg_text(svg, (context_x + first) / 2 + 16, ROW_CONTEXT - 26, 12, SVG_MIDDLE, chart_colors[1],
             "c is the first state");
}

/* Draws who asks: a word of the source, or the present state of the decoder, or the one before. */
static void draw_query(struct svg *svg, const struct architecture *a)
{
    const double y = ROW_CONTEXT, left = decoder_x - BOX / 2.0;
    const char *color = chart_colors[3];
    if (!a->attends || a->given) return;
    if (a->itself) {
        svg_arrow(svg, source_x(a, a->step) + 6, top_of(a), context_x + 22, y + 6, color, 1.5);
        svg_text(svg, 318, y + 34, 12, SVG_LEFT, color, "query of x%d", a->step + 1);
        return;
    }
    if (a->after) {
        svg_arrow(svg, left, y + 8, context_x + 22, y + 8, color, 1.5);
        put_step_text(svg, "count", 300, y + 26, 12, SVG_MIDDLE, color,
                      a->projected ? "query from d%d" : "query d%d", a->step + 1);
        return;
    }
    svg_arrow(svg, before_x - BOX / 2.0, before_y, context_x + 21, y + 11, color, 1.5);
    put_step_text(svg, "count", 292, y + 26, 12, SVG_LEFT, color, "query d%d", a->step);
}

/* Draws what the step reads: the word before, and the state before. */
static void draw_before(struct svg *svg, const struct architecture *a)
{
    const double bottom = ROW_CONTEXT + BOX / 2.0, x = a->by_state ? decoder_x : decoder_x + 16;
    put_step_text(svg, "before", x, ROW_CONTEXT + 62, 14, SVG_MIDDLE, ink, "%s",
                  a->step > 0 ? a->target[a->step - 1] : "(begin)");
    svg_arrow(svg, x, ROW_CONTEXT + 46, x, bottom, gray, 1.5);
    if (a->by_state) {
        draw_states(svg, a);
        return;
    }
    if (a->encoding == ENCODED_AT_ONCE) return; /* it reads the words instead of a state */
    put_state(svg, before_x, before_y, a->step);
    svg_arrow(svg, before_x + 6, before_y - BOX / 2.0, decoder_x - 12, bottom, gray, 1.5);
}

static void draw_context(struct svg *svg)
{
    svg_circle(svg, context_x, ROW_CONTEXT, 20, "#FCE5CC", chart_colors[1]);
    svg_text(svg, context_x, ROW_CONTEXT + 5, 15, SVG_MIDDLE, ink, "c");
}

/* Draws that the word that asks adds the context to its own vector. */
static void draw_sum(struct svg *svg, const struct architecture *a)
{
    const double y = ROW_CONTEXT, width = BOX + 26, left = decoder_x - width / 2;
    char *sum = xasprintf("x%d + c", a->step + 1);
    draw_context(svg);
    put_box(svg, decoder_x, y, width, sum);
    free(sum);
    svg_arrow(svg, context_x + 20, y, left, y, chart_colors[1], 2.5);
    svg_arrow(svg, source_x(a, a->step) + 14, top_of(a), decoder_x, y + BOX / 2.0, gray, 1.5);
    svg_text(svg, decoder_x, ROW_OUT + 40, 12, SVG_MIDDLE, gray, "\"%s\", next layer",
             a->source[a->step]);
}

static void draw_decoder(struct svg *svg, const struct architecture *a)
{
    const double y = ROW_CONTEXT, left = decoder_x - BOX / 2.0;
    if (a->itself) {
        draw_sum(svg, a);
        return;
    }
    draw_context(svg);
    put_state(svg, decoder_x, y, a->step + 1);
    draw_before(svg, a);
    svg_arrow(svg, decoder_x, y - BOX / 2.0, decoder_x, ROW_OUT + 10, gray, 1.5);
    put_step_text(svg, "written", decoder_x, ROW_OUT, 17, SVG_MIDDLE, chart_colors[1], "%s",
                  a->target[a->step]);
    if (a->after)
        svg_arrow(svg, context_x + 20, y - 8, decoder_x - 12, ROW_OUT + 16, chart_colors[1], 2.5);
    else if (!a->by_state)
        svg_arrow(svg, context_x + 20, y, left, y, chart_colors[1], 2.5);
}

/* Draws how the state of the decoder enters each step of the encoder. */
static void draw_again(struct svg *svg, const struct architecture *a)
{
    const double bottom = ROW_ENCODED + BOX / 2.0, below = bottom + 22, beside = 12;
    if (a->encoding != ENCODED_AGAIN) return;
    svg_line(svg, before_x, before_y + BOX / 2.0, before_x, below, chart_colors[2], 1.5);
    svg_line(svg, before_x, below, source_x(a, 0) + beside, below, chart_colors[2], 1.5);
    for (int s = 0; s < a->sources; s++)
        svg_arrow(svg, source_x(a, s) + beside, below, source_x(a, s) + beside, bottom,
                  chart_colors[2], 1.5);
    svg_text(svg, decoder_x, below + 18, 12, SVG_MIDDLE, chart_colors[2], "reads again");
}

/* Draws the loss of the word that is written, and the way of its gradient back. */
static void draw_loss(struct svg *svg, const struct architecture *a)
{
    const char *color = chart_colors[4];
    put_step_text(svg, "loss", decoder_x, ROW_OUT - 22, 13, SVG_MIDDLE, color, "−log %.3f = %.3f",
                  a->probability, -log(a->probability));
    svg_arrow(svg, decoder_x + 12, ROW_OUT + 8, decoder_x + 12, ROW_CONTEXT - BOX / 2.0, color,
              1.5);
    svg_arrow(svg, decoder_x - 24, ROW_OUT + 8, context_x + 18, ROW_CONTEXT - 16, color, 1.5);
    for (int s = 0; s < a->sources; s++) {
        const double x = source_x(a, s) + 18, y = ROW_ENCODED - 62;
        svg_line(svg, context_x + 8, ROW_CONTEXT + 20, x, y, color, 1.5);
        svg_arrow(svg, x, y, x, top_of(a), color, 1.5);
    }
}

/* Draws a key of the colors that the picture uses. */
static void draw_legend(struct svg *svg, const struct architecture *a)
{
    const struct {
        const char *text;
        int color;
        bool used;
    } entries[] = {{a->attends ? "weight" : "to the context", 0, true},
                   {"from the context", 1, true},
                   {"query", 3, a->attends && !a->given},
                   {"back to the encoder", 2, a->encoding == ENCODED_AGAIN},
                   {"gradient", 4, a->probability > 0}};
    double x = 12;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        if (!entries[i].used) continue;
        svg_line(svg, x, 82, x + 14, 82, chart_colors[entries[i].color], 3);
        svg_text(svg, x + 18, 86, 12, SVG_LEFT, gray, "%s", entries[i].text);
        x += 30 + 6.1 * (double)strlen(entries[i].text);
    }
}

static void draw_words_encoded(struct svg *svg, const struct architecture *a)
{
    draw_words(svg, a);
    draw_encoder(svg, a);
}

void architecture_draw(struct svg *svg, const void *architecture)
{
    static const struct {
        unsigned part;
        void (*draw)(struct svg *svg, const struct architecture *a);
    } parts[] = {{PART_ENCODER, draw_words_encoded},
                 {PART_CONTEXT, draw_weights},
                 {PART_STEP, draw_decoder},
                 {PART_QUERY, draw_query},
                 {PART_AGAIN, draw_again}};
    const struct architecture *a = architecture;
    if (a->encoding == ENCODED_BY_ATTENTION) {
        block_draw(svg, a);
        return;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const bool faint = (a->added & parts[i].part) == 0;
        if (faint) svg_faint_begin(svg);
        parts[i].draw(svg, a);
        if (faint) svg_faint_end(svg);
    }
    if (a->probability > 0) draw_loss(svg, a);
    svg_text(svg, 12, 46, 13, SVG_LEFT, gray, "%s", note_of(a));
    draw_legend(svg, a);
    if (a->added != PARTS_ALL)
        svg_text(svg, 12, 66, 13, SVG_LEFT, gray, "faint: drawn before; in color: new");
}

double architecture_height(const struct architecture *a)
{
    return a->encoding == ENCODED_BY_ATTENTION ? BLOCK_HEIGHT : ARCHITECTURE_HEIGHT;
}
