/* picture.c - an SVG figure: each scene, and a copy for every word, shaded by attention weight. */
#include "caption.h"

enum { BIG = 5, SMALL = 3, LEFT = 30, GAP = 14 }; /* pixel sizes; margins */

/* The color of an object or the background, with opacity `share` over white. */
static void mix(char color[8], const struct scene *scene, int object, float share)
{
    unsigned rgb = 0xC8C8C8;
    if (object >= 0) sscanf(color_of(scene->objects[object].color), "#%x", &rgb);
    unsigned out = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        float part = 255 - share * (255 - (float)(rgb >> shift & 255));
        out |= (unsigned)(part + 0.5F) << shift;
    }
    snprintf(color, 8, "#%06X", out);
}

/* weights [PATCHES]: opacity of each patch relative to the maximum; NULL: opaque. Runs of one color
   are one rectangle. */
static void draw_scene(struct svg *svg, const struct scene *scene, double x, double y, double pixel,
                       const float *weights)
{
    float max = 1e-9F;
    for (int p = 0; weights != NULL && p < PATCHES; p++) max = weights[p] > max ? weights[p] : max;
    for (int row = 0; row < SIZE; row++)
        for (int from = 0, to; from < SIZE; from = to) {
            int object = object_at(scene, from, row), patch = row / PIXELS * SIDE + from / PIXELS;
            for (to = from + 1; to < SIZE && to % PIXELS != 0; to++)
                if (object_at(scene, to, row) != object) break;
            char color[8];
            mix(color, scene, object, weights == NULL ? 1 : 0.08F + 0.92F * weights[patch] / max);
            svg_rect(svg, x + from * pixel, y + row * pixel, (to - from) * pixel, pixel, color,
                     color);
        }
    for (int i = 0; i <= SIDE; i++) {
        double at = i * PIXELS * pixel, end = SIZE * pixel;
        svg_line(svg, x + at, y, x + at, y + end, "#E8E8E8", 0.7);
        svg_line(svg, x, y + at, x + end, y + at, "#E8E8E8", 0.7);
    }
}

static void draw_example(struct svg *svg, const struct example *example, double top)
{
    double x = LEFT + SIZE * BIG + 30, y = top + 45;
    draw_scene(svg, &example->scene, LEFT, top, BIG, NULL);
    for (int t = 0; t < MAX_WORDS && example->out[t] != END; t++) {
        draw_scene(svg, &example->scene, x, y, SMALL, example->weights + t * PATCHES);
        svg_text(svg, x + SIZE * SMALL / 2.0, y - 10, 15, SVG_MIDDLE, "#222222", "%s",
                 words[example->out[t]]);
        x += SIZE * SMALL + GAP;
    }
}

int draw_result(const struct result *result, const struct example *examples, const char *path)
{
    struct svg svg;
    int code =
        svg_open(&svg, path, 1060, 90 + 185 * EXAMPLES,
                 "Captions and the cross-attention weights of each word over 25 image patches");
    if (code != EXIT_OK) return code;
    svg_text(&svg, LEFT, 38, 18, SVG_LEFT, "#222222",
             "Captions and the cross-attention weights of each word over 25 image patches");
    svg_text(&svg, LEFT, 60, 13, SVG_LEFT, "#666666",
             "Held-out pairs of objects: %.0f %% of captions exact. Weight on an object's patches: "
             "%.2f at its color word, %.2f at its shape word, %.2f if uniform",
             100 * result->exact, result->colors, result->shapes, result->chance);
    for (int i = 0; i < EXAMPLES; i++) draw_example(&svg, &examples[i], 90 + 185 * i);
    return svg_close(&svg);
}
