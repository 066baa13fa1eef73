/* show.c - the output: text with scenes as letters and attention weights as shades, JSON, and an
   SVG figure. */
#include "caption.h"
#include "kit/heatmap.h"
#include <string.h>

int caption_length(const int *out)
{
    int count = 0;
    while (count < MAX_WORDS && out[count] != END) count++;
    return count;
}

void caption_spell(char *text, size_t size, const int *out)
{
    size_t at = 0;
    text[0] = 0;
    for (int t = 0; t < caption_length(out) && at < size; t++)
        at +=
            (size_t)snprintf(text + at, size - at, "%s%s", t > 0 ? " " : "", caption_words[out[t]]);
}

/* Prints two by two characters for each patch of the picture. */
static void print_picture_row(const struct scene *scene, int row)
{
    for (int x = 0; x < 2 * SIDE; x++) {
        int object = scene_object(scene, x * PIXELS / 2 + 1, row * PIXELS / 2 + 1);
        putchar(object < 0 ? '.' : "rgby"[scene->objects[object].color]);
    }
}

/* Prints the words [from, to) of the caption. */
static void print_words(const struct scene *scene, const struct caption_view *view, int from,
                        int to)
{
    printf("%*s", 2 * SIDE + 1, "");
    for (int t = from; t < to; t++)
        printf(" %-*.*s", 2 * SIDE, 2 * SIDE, caption_words[view->out[t]]);
    putchar('\n');
    for (int row = 0; row < 2 * SIDE; row++) {
        print_picture_row(scene, row);
        putchar(' ');
        for (int t = from; row % 2 == 0 && t < to; t++) {
            putchar(' ');
            for (int x = 0; x < SIDE; x++) {
                float weight = view->weights[t * PATCHES + row / 2 * SIDE + x];
                printf("%s%s", heatmap_shade(weight), heatmap_shade(weight));
            }
        }
        putchar('\n');
    }
    putchar('\n');
}

/* Prints as many words side by side as fit. */
static void print_view(const struct scene *scene, const struct caption_view *view)
{
    const int count = caption_length(view->out);
    int fit = (terminal_columns(stdout) - (2 * SIDE + 1)) / (2 * SIDE + 1);
    fit = fit < 1 ? 1 : fit;
    for (int from = 0; from < count; from += fit)
        print_words(scene, view, from, from + fit < count ? from + fit : count);
}

static void print_example(const struct caption_study *study, const struct caption_example *example)
{
    char caption[128], reference[128];
    caption_spell(reference, sizeof reference, example->scene.words);
    for (int kind = 0; kind < study->kinds; kind++) {
        const struct caption_view *view = &example->views[kind];
        caption_spell(caption, sizeof caption, view->out);
        printf("%s: %s\n", rapt_normalizer_name(study->results[kind].normalizer), caption);
        if (strcmp(caption, reference) != 0) printf("(reference: %s)\n", reference);
        print_view(&example->scene, view);
    }
}

static void print_kind(const struct caption_result *result)
{
    printf("%s\n  exact captions: %.1f %% of training pairs, %.1f %% of held-out pairs\n",
           rapt_normalizer_name(result->normalizer), 100 * result->exact_seen, 100 * result->exact);
    printf("  weight on an object's patches: %.2f at its color word, %.2f at its shape word,\n"
           "    %.2f if uniform\n"
           "  attends to %.1f of %d patches for such a word\n",
           result->colors, result->shapes, result->chance, result->read, PATCHES);
}

void caption_print(const struct caption_study *study)
{
    printf("Left: the picture, one letter per color. Right: attention weights over patches,\n"
           "per word: %s.\n\n",
           heatmap_legend);
    for (int i = 0; i < EXAMPLES; i++) print_example(study, &study->examples[i]);
    printf("%zu parameters, %.1f seconds\n", study->results[SOFT].parameters, study->seconds);
    for (int kind = 0; kind < study->kinds; kind++) print_kind(&study->results[kind]);
    printf("The claim %s: at least 80 %% of the captions of held-out pairs are\n"
           "exact (70 %% with hard attention), an object's patches get at least twice the\n"
           "weight of uniform attention at its words, and hard attention attends to one\n"
           "patch per head.\n",
           caption_claims(study) ? "holds" : "does NOT hold");
}

static json_t *view_json(const struct caption_view *view)
{
    char caption[128];
    caption_spell(caption, sizeof caption, view->out);
    return json_pack("{s:s, s:o}", "caption", caption, "weights",
                     number_rows(view->weights, caption_length(view->out), PATCHES));
}

static json_t *kind_json(const struct caption_study *study, int kind)
{
    const struct caption_result *r = &study->results[kind];
    json_t *views = json_array();
    for (int i = 0; i < EXAMPLES; i++)
        json_array_append_new(views, view_json(&study->examples[i].views[kind]));
    return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:b}", "normalizer",
                     rapt_normalizer_name(r->normalizer), "exact", r->exact, "exact_seen",
                     r->exact_seen, "weight_color", r->colors, "weight_shape", r->shapes, "chance",
                     r->chance, "read", r->read, "examples", views, "claim", caption_claim(r));
}

void caption_print_json(const struct caption_study *study)
{
    json_t *kinds = json_array(), *references = json_array();
    for (int kind = 0; kind < study->kinds; kind++)
        json_array_append_new(kinds, kind_json(study, kind));
    for (int i = 0; i < EXAMPLES; i++) {
        char reference[128];
        caption_spell(reference, sizeof reference, study->examples[i].scene.words);
        json_array_append_new(references, json_string(reference));
    }
    print_json(json_pack("{s:I, s:o, s:o, s:b, s:f}", "parameters",
                         (json_int_t)study->results[SOFT].parameters, "references", references,
                         "attention", kinds, "claim", caption_claims(study), "seconds",
                         study->seconds));
}

/* ---- an SVG figure: each scene, and for each kind of attention one copy per word, shaded by
 * attention weight ---- */

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
