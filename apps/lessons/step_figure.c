/* step_figure.c - draws one step of simple attention with its numbers: states of the encoder,
   scores, distribution, attention vector and output. Queries, keys or values are highlighted. */
#include "every_score.h"

static const char lit[] = "#F5C26B", plain[] = "#EEF2F6", line[] = "#5B6B7B", ink[] = "#222222";

static void box(struct svg *svg, double x, double y, double width, const char *fill,
                const char *label)
{
    svg_rect(svg, x, y, width, 28, fill, line);
    svg_text(svg, x + width / 2, y + 19, 13, SVG_MIDDLE, ink, "%s", label);
}

/* Leads a value past its score and weight to the attention vector. right: of its column. */
static void put_value(struct svg *svg, const struct step_figure *f, int i, double right)
{
    const double beside = right + 2;
    const double path[] = {right - 5, 160, beside, 150, beside, 52, 225, 38};
    const bool shown = f->part == VALUES_PART;
    svg_polyline(svg, 4, path, shown ? "#C77B00" : "#C4CCD4",
                 shown ? 0.5 + 3 * (double)f->weights[i] : 0.5, 0);
}

void step_figure_draw(struct svg *svg, const void *user)
{
    const struct step_figure *f = user;
    const double left = 74, pitch = 48, wide = 44, decoder = 386;
    const char *const rows[] = {"distribution", "scores"};
    char name[32];
    svg_text(svg, 4, 76, 11, SVG_LEFT, line, "%s", rows[0]);
    svg_text(svg, 4, 121, 11, SVG_LEFT, line, "%s", rows[1]);
    for (int i = 0; i < STEP_WORDS; i++) {
        const double x = left + i * pitch, middle = x + wide / 2;
        char shade[8];
        shade_color(f->weights[i], shade);
        svg_rect(svg, x, 58, wide, 26, shade, line);
        svg_text(svg, middle, 76, 13, SVG_MIDDLE, f->weights[i] > 0.5F ? "#FFFFFF" : ink, "%.2f",
                 (double)f->weights[i]);
        svg_text(svg, middle, 121, 13, SVG_MIDDLE, ink, "%.2f", (double)f->scores[i]);
        svg_line(svg, middle, 160, middle, 128, f->part == KEYS_PART ? "#C77B00" : line,
                 f->part == KEYS_PART ? 2.5 : 1);
        svg_line(svg, middle, 106, middle, 86, line, 1);
        svg_line(svg, middle, 56, 225, 38, line, 0.5);
        put_value(svg, f, i, x + wide);
        snprintf(name, sizeof name, "y\u1D49(%d)", i + 1);
        box(svg, x, 160, wide, f->part == QUERY_PART ? plain : lit, name);
        svg_text(svg, middle, 208, 13, SVG_MIDDLE, ink, "%s", f->words[i]);
    }
    snprintf(name, sizeof name, "y\u1D48(%d)", f->step);
    box(svg, decoder, 160, wide, f->part == QUERY_PART ? lit : plain, name);
    svg_line(svg, decoder + wide / 2, 160, decoder + wide / 2, 116,
             f->part == QUERY_PART ? "#C77B00" : line, f->part == QUERY_PART ? 2.5 : 1);
    svg_line(svg, decoder + wide / 2, 116, left + STEP_WORDS * pitch, 116,
             f->part == QUERY_PART ? "#C77B00" : line, f->part == QUERY_PART ? 2.5 : 1);
    box(svg, 195, 10, 60, plain, "y\u1D43");
    svg_line(svg, 255, 24, 276, 24, line, 1);
    box(svg, 276, 10, 32, plain, "W\u1D52");
    svg_line(svg, 308, 24, 330, 24, line, 1);
    const double beside = decoder + wide - 8; /* W^o also sees the state of the decoder */
    const double path[] = {beside, 160, beside, 46, 292, 46, 292, 38};
    svg_polyline(svg, 4, path, line, 1, 0);
    svg_text(svg, 336, 29, 15, SVG_LEFT, ink, "%s", f->output);
    static const char *const told[STEP_PARTS] = {"Query: the state of the decoder asks.",
                                                 "Keys: it is compared with each encoder state.",
                                                 "Values: the same states are mixed."};
    svg_text(svg, left, 238, 13, SVG_LEFT, ink, "%s", told[f->part]);
}
