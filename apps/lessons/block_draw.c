/* block_draw.c - figure 1 of Vaswani et al. 2017 with the numbers of one step: the encoder on the
   left, the decoder on the right, read from the bottom up. */
#include "architecture.h"
#include "kit/program.h"
#include <stdlib.h>

enum { LEFT = 16, RIGHT = 252, WIDE = 212, CELL = 30, ROW = 19 };
static const char ink[] = "#222222", gray[] = "#777777";
static const char cross_color[] = "#0072B2", self_color[] = "#009E73", rest_color[] = "#D55E00";

/* A titled box; `top` is its upper edge. */
static void put_part(struct svg *svg, double x, double top, double height, const char *color,
                     const char *title)
{
    svg_rect(svg, x, top, WIDE, height, "white", color);
    svg_text(svg, x + WIDE / 2.0, top + 15, 12, SVG_MIDDLE, color, "%s", title);
}

static void put_up(struct svg *svg, double x, double from, double to)
{
    const double head[] = {x, to, x - 4, to + 7, x + 4, to + 7};
    svg_line(svg, x, from, x, to + 5, gray, 1.5);
    svg_polyline(svg, 3, head, gray, 1, 1);
}

static double word_x(double x, int i)
{
    return x + 34 + i * CELL;
}

/* The weights of each head, one row of shaded numbers per head. */
static void put_heads(struct svg *svg, double x, double top, const float weights[][DRAWN_WORDS],
                      int count)
{
    for (int h = 0; h < BLOCK_HEADS; h++) {
        const double y = top + h * ROW;
        svg_text(svg, x + 5, y + 14, 11, SVG_LEFT, gray, "h%d", h + 1);
        for (int s = 0; s < count; s++) {
            char color[8];
            shade_color(weights[h][s], color);
            svg_rect(svg, word_x(x, s) - CELL / 2.0, y, CELL - 2, ROW - 2, color, "#CCCCCC");
            svg_text(svg, word_x(x, s) - 1, y + 13, 11, SVG_MIDDLE,
                     weights[h][s] > 0.5F ? "#FFFFFF" : ink, "%.2f", (double)weights[h][s]);
        }
    }
}

static void put_norm(struct svg *svg, double x, double y)
{
    svg_rect(svg, x, y, WIDE, 18, "#F1F1F1", gray);
    svg_text(svg, x + WIDE / 2.0, y + 13, 11, SVG_MIDDLE, ink, "add x, then norm");
}

static void put_feed(struct svg *svg, double x, double y)
{
    char *text = xasprintf("feed-forward %d → %d → %d", BLOCK_WIDTH, BLOCK_FFN, BLOCK_WIDTH);
    put_part(svg, x, y, 24, rest_color, text);
    free(text);
}

/* Words, and below the blocks where their vectors come from. */
static void put_input(struct svg *svg, double x, const char (*words)[16], int count,
                      int first_marked)
{
    for (int i = 0; i < count; i++) {
        svg_text_rotated(svg, word_x(x, i) + 4, 566, 13, -38, SVG_RIGHT,
                         i == first_marked ? cross_color : ink, words[i]);
        svg_text(svg, word_x(x, i), 540, 11, SVG_MIDDLE, gray, "+p%d", i);
    }
    svg_rect(svg, x, 500, WIDE, 24, "#F1F1F1", gray);
    svg_text(svg, x + WIDE / 2.0, 516, 12, SVG_MIDDLE, ink, "embedding + position: %d × %d", count,
             BLOCK_WIDTH);
    put_up(svg, x + WIDE / 2.0, 500, 482);
}

static void draw_encoder_half(struct svg *svg, const struct architecture *a)
{
    char *title = xasprintf("self-attention, what \"%s\" reads", a->source[a->seen]);
    put_input(svg, LEFT, a->source, a->sources, a->seen);
    svg_rect(svg, LEFT - 8, 330, WIDE + 16, 152, "none", "#BBBBBB");
    svg_text(svg, LEFT - 4, 344, 11, SVG_LEFT, gray, "encoder, %d ×", BLOCK_LAYERS);
    put_part(svg, LEFT, 416, 60, self_color, title);
    put_heads(svg, LEFT, 436, a->block.self, a->sources);
    put_norm(svg, LEFT, 394);
    put_feed(svg, LEFT, 368);
    put_norm(svg, LEFT, 348);
    free(title);
}

static void draw_decoder_half(struct svg *svg, const struct architecture *a)
{
    char written[DRAWN_WORDS][16] = {"(begin)"};
    for (int t = 1; t < a->targets; t++) snprintf(written[t], 16, "%s", a->target[t - 1]);
    put_input(svg, RIGHT, (const char(*)[16])written, a->targets, -1);
    svg_rect(svg, RIGHT - 8, 218, WIDE + 16, 264, "none", "#BBBBBB");
    svg_text(svg, RIGHT + WIDE + 4, 232, 11, SVG_RIGHT, gray, "decoder, %d ×", BLOCK_LAYERS);
    put_part(svg, RIGHT, 416, 60, self_color, "masked self-attention");
    put_heads(svg, RIGHT, 436, a->block.past, a->targets);
    put_norm(svg, RIGHT, 394);
    put_part(svg, RIGHT, 310, 60, cross_color, "cross-attention, keys from the left");
    put_heads(svg, RIGHT, 330, a->block.cross, a->sources);
    put_norm(svg, RIGHT, 288);
    put_feed(svg, RIGHT, 260);
    put_norm(svg, RIGHT, 238);
    svg_line(svg, RIGHT + WIDE / 2.0, 394, RIGHT + WIDE / 2.0, 371, cross_color, 2);
    svg_text(svg, RIGHT + WIDE / 2.0 + 6, 387, 11, SVG_LEFT, cross_color, "queries Q");
}

/* The output of the encoder goes to the cross-attention of every layer. */
static void draw_memory(struct svg *svg)
{
    const double path[] = {LEFT + WIDE / 2.0,
                           330,
                           LEFT + WIDE / 2.0,
                           306,
                           RIGHT - 16,
                           306,
                           RIGHT - 16,
                           340,
                           RIGHT,
                           340};
    svg_polyline(svg, 5, path, cross_color, 2, 0);
    svg_text(svg, LEFT + WIDE / 2.0 - 4, 300, 11, SVG_MIDDLE, cross_color, "keys K and values V");
}

static void draw_output(struct svg *svg, const struct architecture *a)
{
    put_up(svg, RIGHT + WIDE / 2.0, 218, 198);
    svg_rect(svg, RIGHT, 174, WIDE, 24, "#F1F1F1", gray);
    svg_text(svg, RIGHT + WIDE / 2.0, 190, 12, SVG_MIDDLE, ink, "linear %d → %d, softmax",
             BLOCK_WIDTH, a->block.vocabulary);
    put_up(svg, RIGHT + WIDE / 2.0, 174, 156);
    for (int i = 0; i < BLOCK_LIKELY; i++) {
        const double y = 60 + i * 30.0, p = (double)a->block.probability[i];
        svg_rect(svg, RIGHT + 92, y + 2, 1 + 70 * p, 16, i == 0 ? rest_color : "#BBBBBB", "none");
        svg_text(svg, RIGHT + 86, y + 15, i == 0 ? 15 : 12, SVG_RIGHT, i == 0 ? rest_color : gray,
                 "%s", a->block.likely[i]);
        svg_text(svg, RIGHT + 170, y + 15, 12, SVG_LEFT, ink, "%.3f", p);
    }
    svg_text(svg, LEFT, 60, 12, SVG_LEFT, self_color, "green: self-attention, Q, K, V of one half");
    svg_text(svg, LEFT, 80, 12, SVG_LEFT, cross_color, "blue: cross-attention, Q right, K, V left");
    svg_text(svg, LEFT, 100, 12, SVG_LEFT, gray, "gray: sums, norms, positions p0, p1, …");
    svg_text(svg, LEFT, 120, 12, SVG_LEFT, rest_color, "orange: what is computed word by word");
    svg_text(svg, LEFT, 148, 12, SVG_LEFT, gray, "h1, h2: heads of the last layer, weights");
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
