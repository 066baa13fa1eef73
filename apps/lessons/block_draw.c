/* block_draw.c - figure 1 of Vaswani et al. 2017 with the numbers of one step: the encoder on the
   left, the decoder on the right, read from the bottom up. */
#include "architecture.h"
#include "kit/program.h"
#include <stdlib.h>

enum { LEFT = 16, RIGHT = 252, WIDE = 200, CELL = 27, ROW = 19 };
/* Heights of sublayers and of what is between them; BOTTOM: the lower edge of the first one. */
enum { ATTENTION = 60, FEED = 24, NORM = 18, GAP = 16, BOTTOM = 518, EMBEDDED = BOTTOM + 26 };
/* Upper edges of the halves, and the lower edge of the cross-attention. */
enum {
    CROSS = BOTTOM - ATTENTION - NORM - 2 * GAP,
    ENCODER_TOP = CROSS - FEED - NORM - GAP,
    DECODER_TOP = CROSS - ATTENTION - FEED - 2 * NORM - 3 * GAP
};
static const char ink[] = "#222222", gray[] = "#777777";
static const char cross_color[] = "#0072B2", self_color[] = "#009E73", rest_color[] = "#D55E00";

/* A titled box; `bottom` is its lower edge. */
static void put_part(struct svg *svg, double x, double bottom, double height, const char *color,
                     const char *title)
{
    svg_rect(svg, x, bottom - height, WIDE, height, "white", color);
    svg_text(svg, x + WIDE / 2.0, bottom - height + 15, 12, SVG_MIDDLE, color, "%s", title);
}

static void put_up(struct svg *svg, double x, double from, double to)
{
    svg_arrow(svg, x + WIDE / 2.0, from, x + WIDE / 2.0, to, gray, 1.5);
}

static double word_x(double x, int i)
{
    return x + 51 + i * CELL;
}

/* Shows the weights of each head, one row of shaded numbers per head. */
static void put_heads(struct svg *svg, double x, double bottom, const float weights[][DRAWN_WORDS],
                      int count)
{
    for (int h = 0; h < BLOCK_HEADS; h++) {
        const double y = bottom - (BLOCK_HEADS - h) * ROW - 2;
        svg_text(svg, x + 3, y + 13, 11, SVG_LEFT, gray, "head %d", h + 1);
        for (int s = 0; s < count; s++) {
            char color[8];
            shade_color(weights[h][s], color);
            svg_rect(svg, word_x(x, s) - CELL / 2.0, y, CELL - 2, ROW - 2, color, "#CCCCCC");
            svg_text(svg, word_x(x, s) - 1, y + 13, 11, SVG_MIDDLE,
                     weights[h][s] > 0.5F ? "#FFFFFF" : ink, "%.2f", (double)weights[h][s]);
        }
    }
}

/* Draws what surrounds a sublayer: the vector x enters it from below and also passes it on the
   right (the residual line), and both are added above, before the norm. */
static void put_sum(struct svg *svg, double x, double bottom, double height)
{
    const double middle = x + WIDE / 2.0, side = x + WIDE + 9;
    const double top = bottom - height - GAP - NORM, into = top + NORM / 2.0;
    const double around[] = {middle, bottom + 12, side, bottom + 12, side, into};
    svg_polyline(svg, 3, around, gray, 1.2, 0);
    svg_arrow(svg, side, into, x + WIDE, into, gray, 1.2);
    put_up(svg, x, bottom + GAP, bottom);
    put_up(svg, x, bottom - height, top + NORM);
    svg_rect(svg, x, top, WIDE, NORM, "#F1F1F1", gray);
    svg_text(svg, middle, top + 13, 11, SVG_MIDDLE, ink, "add x, then norm");
}

static void put_feed(struct svg *svg, double x, double bottom)
{
    char *text = xasprintf("feed-forward %d → %d → %d", BLOCK_WIDTH, BLOCK_FFN, BLOCK_WIDTH);
    put_part(svg, x, bottom, FEED, rest_color, text);
    put_sum(svg, x, bottom, FEED);
    free(text);
}

static void put_attention(struct svg *svg, double x, double bottom, const char *color,
                          const char *title, const float weights[][DRAWN_WORDS], int count)
{
    put_part(svg, x, bottom, ATTENTION, color, title);
    put_heads(svg, x, bottom, weights, count);
    put_sum(svg, x, bottom, ATTENTION);
}

/* Words, and below the blocks where their vectors come from. */
static void put_input(struct svg *svg, double x, const char (*words)[16], int count, int marked)
{
    for (int i = 0; i < count; i++) {
        svg_text_rotated(svg, word_x(x, i) + 4, EMBEDDED + 66, 13, -38, SVG_RIGHT,
                         i == marked ? self_color : ink, words[i]);
        svg_text(svg, word_x(x, i), EMBEDDED + 40, 11, SVG_MIDDLE, gray, "+p%d", i);
    }
    svg_rect(svg, x, EMBEDDED, WIDE, 24, "#F1F1F1", gray);
    svg_text(svg, x + WIDE / 2.0, EMBEDDED + 16, 12, SVG_MIDDLE, ink,
             "embedding + position: %d × %d", count, BLOCK_WIDTH);
    svg_line(svg, x + WIDE / 2.0, EMBEDDED, x + WIDE / 2.0, BOTTOM + GAP, gray, 1.5);
}

/* Draws the frame of a half and how often it is repeated. */
static void put_frame(struct svg *svg, double x, double top, const char *name)
{
    svg_rect(svg, x - 8, top - 20, WIDE + 28, BOTTOM + 16 - (top - 20), "none", "#BBBBBB");
    svg_text(svg, x - 4, top - 6, 11, SVG_LEFT, gray, "%s, %d ×", name, BLOCK_LAYERS);
}

static void draw_encoder_half(struct svg *svg, const struct architecture *a)
{
    char *title = xasprintf("self-attention, what \"%s\" reads", a->source[a->seen]);
    put_input(svg, LEFT, a->source, a->sources, a->seen);
    put_frame(svg, LEFT, ENCODER_TOP, "encoder");
    put_attention(svg, LEFT, BOTTOM, self_color, title, a->block.self, a->sources);
    put_feed(svg, LEFT, CROSS);
    free(title);
}

static void draw_decoder_half(struct svg *svg, const struct architecture *a)
{
    char written[DRAWN_WORDS][16] = {"(begin)"};
    for (int t = 1; t < a->targets; t++) snprintf(written[t], 16, "%s", a->target[t - 1]);
    put_input(svg, RIGHT, (const char(*)[16])written, a->targets, -1);
    put_frame(svg, RIGHT, DECODER_TOP, "decoder");
    put_attention(svg, RIGHT, BOTTOM, self_color, "masked self-attention", a->block.past,
                  a->targets);
    put_attention(svg, RIGHT, CROSS, cross_color, "cross-attention", a->block.cross, a->sources);
    put_feed(svg, RIGHT, CROSS - ATTENTION - NORM - 2 * GAP);
    svg_arrow(svg, RIGHT + WIDE / 2.0, CROSS + GAP, RIGHT + WIDE / 2.0, CROSS, cross_color, 2);
    svg_text(svg, RIGHT + WIDE / 2.0 - 8, CROSS + 13, 11, SVG_RIGHT, cross_color, "queries Q");
}

/* The output of the encoder goes to the cross-attention of every layer. */
static void draw_memory(struct svg *svg)
{
    const double from = LEFT + WIDE / 2.0, between = RIGHT - 12, high = ENCODER_TOP - 34;
    const double into = CROSS - ATTENTION / 2.0;
    const double path[] = {from, ENCODER_TOP, from, high, between, high, between, into};
    svg_polyline(svg, 4, path, cross_color, 2, 0);
    svg_arrow(svg, between, into, RIGHT, into, cross_color, 2);
    svg_text(svg, from - 4, high - 6, 11, SVG_MIDDLE, cross_color, "keys K and values V");
}

static void draw_output(struct svg *svg, const struct architecture *a)
{
    const double linear = DECODER_TOP - 40; /* the lower edge */
    put_up(svg, RIGHT, DECODER_TOP, linear);
    svg_rect(svg, RIGHT, linear - 24, WIDE, 24, "#F1F1F1", gray);
    svg_text(svg, RIGHT + WIDE / 2.0, linear - 8, 12, SVG_MIDDLE, ink, "linear %d → %d, softmax",
             BLOCK_WIDTH, a->block.vocabulary);
    put_up(svg, RIGHT, linear - 24, linear - 42);
    for (int i = 0; i < BLOCK_LIKELY; i++) {
        const double y = linear - 138 + i * 30.0, p = (double)a->block.probability[i];
        svg_rect(svg, RIGHT + 82, y + 2, 1 + 70 * p, 16, i == 0 ? rest_color : "#BBBBBB", "none");
        svg_text(svg, RIGHT + 76, y + 15, i == 0 ? 15 : 12, SVG_RIGHT, i == 0 ? rest_color : gray,
                 "%s", a->block.likely[i]);
        svg_text(svg, RIGHT + 160, y + 15, 12, SVG_LEFT, ink, "%.3f", p);
    }
    svg_text(svg, LEFT, 60, 12, SVG_LEFT, self_color, "green: self-attention, Q, K, V of one half");
    svg_text(svg, LEFT, 80, 12, SVG_LEFT, cross_color, "blue: cross-attention, Q right, K, V left");
    svg_text(svg, LEFT, 100, 12, SVG_LEFT, gray, "gray: sums with x, norms, positions p0, p1, …");
    svg_text(svg, LEFT, 120, 12, SVG_LEFT, rest_color, "orange: what is computed word by word");
    svg_text(svg, LEFT, 148, 12, SVG_LEFT, gray, "heads: weights in the last layer");
    svg_text(svg, LEFT, 166, 12, SVG_LEFT, gray, "at the step that writes \"%s\"",
             a->target[a->step]);
}

void block_draw(struct svg *svg, const void *architecture)
{
    const struct architecture *a = architecture;
    draw_output(svg, a);
    draw_encoder_half(svg, a);
    draw_decoder_half(svg, a);
    draw_memory(svg);
}
