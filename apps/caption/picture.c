/* picture.c - an SVG figure: each scene, and for each kind of attention one copy per word, shaded
   by attention weight. */
#include "caption.h"
#include <string.h>

enum {
    BIG = 5,
    SMALL = CAPTION_SIZE / SIZE,
    LEFT = 30,
    WIDE = 1150
}; /* sizes and margins in pixels */
enum { ROW = CAPTION_SIZE + CAPTION_HEAD + 6 };

/* Computes the color of an object or of the background with the opacity `share` on white. */
static void mix(char color[8], const struct scene *scene, int object, float share)
{
    unsigned rgb = 0xC8C8C8;
    if (object >= 0) sscanf(scene_color(scene->objects[object].color), "#%x", &rgb);
    unsigned out = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        float part = 255 - share * (255 - (float)(rgb >> shift & 255));
        out |= (unsigned)(part + 0.5F) << shift;
    }
    snprintf(color, 8, "#%06X", out);
}

/* Returns the largest weight of a patch, at least a little more than 0. */
static float largest_weight(const float *weights)
{
    float max = 1e-9F;
    for (int p = 0; p < PATCHES; p++) max = weights[p] > max ? weights[p] : max;
    return max;
}

/* Each run of pixels of one color becomes one rectangle. */
void caption_draw_scene(struct svg *svg, const struct scene *scene, double x, double y,
                        double pixel, const float *weights)
{
    const float max = weights != NULL ? largest_weight(weights) : 1;
    for (int row = 0; row < SIZE; row++)
        for (int from = 0, to; from < SIZE; from = to) {
            int object = scene_object(scene, from, row),
                patch = row / PIXELS * SIDE + from / PIXELS;
            for (to = from + 1; to < SIZE && to % PIXELS != 0; to++)
                if (scene_object(scene, to, row) != object) break;
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

static const char wrong[] = "#C04A00";

/* Writes the right caption above a wrong one. */
static void put_reference(struct svg *svg, const struct scene *scene,
                          const struct caption_view *view, double x, double y)
{
    char caption[128], reference[128];
    caption_spell(caption, sizeof caption, view->out);
    caption_spell(reference, sizeof reference, scene->words);
    if (strcmp(caption, reference) != 0)
        svg_text(svg, x, y + 9, 11, SVG_LEFT, wrong, "wrong; reference: %s", reference);
}

void caption_draw_view(struct svg *svg, const struct scene *scene, const struct caption_view *view,
                       double x, double y, int columns)
{
    put_reference(svg, scene, view, x, y);
    for (int t = 0; t < caption_length(view->out); t++) {
        double left = x + t % columns * (CAPTION_SIZE + CAPTION_GAP), top = y + t / columns * ROW;
        caption_draw_scene(svg, scene, left, top + CAPTION_HEAD, SMALL,
                           view->weights + t * PATCHES);
        svg_text(svg, left, top + CAPTION_HEAD - 8, 15, SVG_LEFT,
                 view->out[t] == scene->words[t] ? "#222222" : wrong, "%s",
                 caption_words[view->out[t]]);
        svg_text(svg, left + CAPTION_SIZE, top + CAPTION_HEAD - 8, 10, SVG_RIGHT, "#666666", "%.0f",
                 (double)(100 * largest_weight(view->weights + t * PATCHES)));
    }
}

static void draw_example(struct svg *svg, const struct caption_example *example, int kinds,
                         double top, double row)
{
    caption_draw_scene(svg, &example->scene, LEFT, top + (row - SIZE * BIG) / 2, BIG, NULL);
    for (int kind = 0; kind < kinds; kind++)
        caption_draw_view(svg, &example->scene, &example->views[kind], LEFT + SIZE * BIG + 30,
                          top + kind * ROW, MAX_WORDS);
}

int caption_draw(const struct caption_study *study, const char *path)
{
    struct svg svg;
    static const char title[] =
        "Captions and the cross-attention weights of each word over 25 image patches";
    const int kinds = study->kinds, lines = 80 + 20 * kinds;
    const double row = (kinds == 1 ? SIZE * BIG : kinds * ROW) + 30;
    int code = svg_open(&svg, path, WIDE, lines + EXAMPLES * row, title);
    if (code != EXIT_OK) return code;
    svg_text(&svg, LEFT, 38, 18, SVG_LEFT, "#222222", "%s", title);
    for (int kind = 0; kind < kinds; kind++) {
        const struct caption_result *r = &study->results[kind];
        svg_text(
            &svg, LEFT, 60 + 20 * kind, 13, SVG_LEFT, "#666666",
            "%s row: %s. %.0f %% of captions of held-out pairs are exact. Weight on an "
            "object's patches: %.2f at its color word, %.2f at its shape word, %.2f if uniform",
            kind == SOFT ? "Upper" : "Lower", rapt_normalizer_name(r->normalizer), 100 * r->exact,
            r->colors, r->shapes, r->chance);
    }
    svg_text(&svg, LEFT, 60 + 20 * kinds, 13, SVG_LEFT, "#666666",
             "The most attended patch of a word is opaque, the number its weight in %%; others are "
             "shaded in proportion");
    for (int i = 0; i < EXAMPLES; i++)
        draw_example(&svg, &study->examples[i], kinds, lines + i * row, row - 30);
    return svg_close(&svg);
}
