/* page.c - the SVG figure: attention weights of one variant, outputs among the values, outputs
   between two queries, masks, and the weights of all variants. */
#include "page.h"
#include <stdlib.h>
#include <string.h>

enum { LEFT = 36, SMALL = 9, MAP = SMALL * WORDS, STEP = MAP + 9, LABELS = 118, TOP = 118 };

static void put_large(struct svg *svg, const struct sentence *s, double x, double y)
{
    struct result r = page_attended(s, (struct variant){RAPT_SCORE_GENERAL, 0, 0}, 1);
    page_heading(svg, x, y, "Attention weights", "general score, global, softmax; in %");
    shade_map(svg, x + 66, y + 76, 26, WORDS, WORDS, s->words, s->words, r.weights);
}

/* ---- masks ---- */
static void put_masks(struct svg *svg, const struct sentence *s, double x, double y)
{
    static const char *const names[] = {"none", "causal", "padding: three words",
                                        "\u201Ccat\u201D masked"};
    static const int kept = WORDS - 3;
    uint8_t allowed[WORDS * WORDS];
    memset(allowed, 1, sizeof allowed);
    for (int t = 0; t < WORDS; t++) allowed[t * WORDS + 2] = 0;
    page_heading(svg, x, y, "Masks",
                 "scaled dot products, global, softmax; masked keys may be NaN");
    for (int i = 0; i < 4; i++) {
        struct result r;
        double left = x + i % 2 * 176, top = y + 62 + i / 2 * 196;
        problem_make(&r, s, (struct variant){RAPT_SCORE_SCALED_DOT, 0, 0}, 1);
        r.problem.mask.causal = i == 1;
        r.problem.mask.key_counts = i == 2 ? &kept : NULL;
        r.problem.mask.allowed = i == 3 ? allowed : NULL;
        r.problem.mask.allowed_stride.row = WORDS;
        attend(&r, s->query, s->key, s->value);
        svg_text(svg, left, top - 7, 12, SVG_LEFT, page_dark, "%s", names[i]);
        shade_map(svg, left, top, 15.5, WORDS, WORDS, NULL, NULL, r.weights);
    }
}

/* ---- all variants ---- */
static void put_all(struct svg *svg, const struct sentence *s, double y, uint64_t seed)
{
    page_heading(svg, LEFT, y, "All variants", "rows: score; columns: normalizer and locality");
    for (struct variant v = {0}; variant_is(v); v = variant_after(v)) {
        const int column = (int)v.normalizer * RAPT_LOCALITY_COUNT + (int)v.locality;
        const double x = LEFT + LABELS + column * STEP + (int)v.normalizer * 16;
        const double top = y + 76 + (int)v.score * STEP;
        struct result r = page_attended(s, v, seed);
        shade_map(svg, x, top, SMALL, WORDS, WORDS, NULL, NULL, r.weights);
        if (column == 0)
            svg_text(svg, x - 12, top + MAP / 2.0 + 4, 13, SVG_RIGHT, page_dark, "%s",
                     rapt_score_name(v.score));
        if (v.score > 0) continue;
        if (v.locality == RAPT_LOCALITY_GLOBAL)
            svg_text(svg, x, y + 48, 14, SVG_LEFT, page_dark, "%s",
                     rapt_normalizer_name(v.normalizer));
        svg_text(svg, x, y + 66, 12, SVG_LEFT, page_gray, "%s", rapt_locality_name(v.locality));
    }
}

int page_draw(const char *path, const struct sentence *s, uint64_t seed)
{
    const double middle = TOP + 462;
    struct svg svg;
    char text[256] = "";
    int code =
        svg_open(&svg, path,
                 2 * LEFT + LABELS + RAPT_NORMALIZER_COUNT * (RAPT_LOCALITY_COUNT * STEP + 16) - 16,
                 middle + 80 + RAPT_SCORE_COUNT * STEP + 20,
                 "Attention: scores, localities, normalizers and masks");
    if (code != EXIT_OK) return code;
    for (int t = 0, used = 0; t < WORDS; t++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", t ? " " : "",
                         s->words[t].bytes);
    svg_text(&svg, LEFT, 42, 22, SVG_LEFT, "#111111",
             "Attention: scores, localities, normalizers and masks");
    svg_text(&svg, LEFT, 66, 14, SVG_LEFT, page_gray,
             "\u201C%s\u201D attends to itself. Rows: queries; columns: keys; darker: more of the "
             "row's weight.",
             text);
    put_large(&svg, s, LEFT, TOP);
    page_hull(&svg, s, LEFT + 410, TOP);
    page_between(&svg, s, LEFT + 826, TOP);
    put_masks(&svg, s, LEFT + 1250, TOP);
    put_all(&svg, s, middle, seed);
    return svg_close(&svg);
}
