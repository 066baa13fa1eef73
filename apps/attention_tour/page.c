/* page.c - the whole tour on one page: one attention in large, its results among the values, what
   happens between two queries, masks; and below, every kind. */
#include "tour.h"
#include <stdlib.h>
#include <string.h>

enum { LEFT = 36, SMALL = 9, MAP = SMALL * WORDS, STEP = MAP + 9, LABELS = 118, TOP = 118 };

static const char dark[] = "#222222", grey[] = "#555555";

static void heading(struct svg *svg, double x, double y, const char *title, const char *below)
{
    svg_text(svg, x, y, 15, SVG_LEFT, dark, "%s", title);
    svg_text(svg, x, y + 18, 12, SVG_LEFT, grey, "%s", below);
}

static struct result attended(const struct sentence *s, struct variant variant, uint64_t seed)
{
    struct result r;
    problem_make(&r, s, variant, seed);
    attend(&r, s->query, s->key, s->value);
    return r;
}

static void put_large(struct svg *svg, const struct sentence *s, double x, double y)
{
    struct result r = attended(s, (struct variant){RAPT_SCORE_GENERAL, 0, 0}, 1);
    heading(svg, x, y, "Who looks at whom", "general score, all keys, soft weights in per cent");
    shade_map(svg, x + 66, y + 76, 26, WORDS, WORDS, s->words, s->words, r.weights);
}

/* ---- results among the values ---- */
struct plane {
    double x, y, size;
};

static double plane_x(const struct plane *p, float value)
{
    return p->x + p->size * (0.5 + 0.42 * (double)value);
}

static double plane_y(const struct plane *p, float value)
{
    return p->y + p->size * (0.5 - 0.42 * (double)value);
}

/* The corners of the convex hull, in order: Jarvis 1973, "gift wrapping". */
static int wrap(const float *points, int corners[WORDS])
{
    int first = 0, count = 0, at;
    for (int i = 1; i < WORDS; i++)
        if (points[2 * i] < points[2 * first]) first = i;
    at = first;
    do {
        int next = at == 0 ? 1 : 0;
        corners[count++] = at;
        for (int i = 0; i < WORDS; i++) {
            const float *a = points + 2 * at, *b = points + 2 * next, *c = points + 2 * i;
            if ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) < 0) next = i;
        }
        at = next;
    } while (at != first && count < WORDS);
    return count;
}

static void put_dots(struct svg *svg, const struct plane *p, const struct result *r, double radius,
                     const char *colour)
{
    for (int t = 0; t < WORDS; t++)
        svg_circle(svg, plane_x(p, r->out[2 * t]), plane_y(p, r->out[2 * t + 1]), radius, colour,
                   "white");
}

static void put_hull(struct svg *svg, const struct sentence *s, double x, double y)
{
    const struct plane p = {x, y + 40, 340};
    double corners[2 * WORDS];
    int order[WORDS], count = wrap(s->value, order);
    heading(svg, x, y, "Soft results are mixtures, hard ones are choices",
            "each word's value is a point, and so is each result");
    for (int i = 0; i < count; i++) {
        corners[2 * i] = plane_x(&p, s->value[2 * order[i]]);
        corners[2 * i + 1] = plane_y(&p, s->value[2 * order[i] + 1]);
    }
    svg_polyline(svg, count, corners, "#EEF3F8", 1, 1);
    struct result hard =
        attended(s, (struct variant){RAPT_SCORE_SCALED_DOT, 0, RAPT_WEIGH_ARGMAX}, 1);
    struct result soft = attended(s, (struct variant){RAPT_SCORE_SCALED_DOT, 0, 0}, 1);
    struct result faded =
        attended(s, (struct variant){RAPT_SCORE_SCALED_DOT, RAPT_REACH_LOCAL_P, 0}, 1);
    const double middle = p.x + p.size / 2, level = p.y + p.size / 2;
    svg_line(svg, middle - 5, level, middle + 5, level, grey, 1);
    svg_line(svg, middle, level - 5, middle, level + 5, grey, 1);
    svg_text(svg, middle + 7, level + 13, 11, SVG_LEFT, grey, "0");
    put_dots(svg, &p, &hard, 9, chart_colours[1]);
    for (int t = 0; t < WORDS; t++) {
        double at = plane_x(&p, s->value[2 * t]), line = plane_y(&p, s->value[2 * t + 1]);
        svg_circle(svg, at, line, 4, dark, "white");
        svg_text(svg, at + 11, line - 6, 12, SVG_LEFT, dark, "%s", s->words[t].bytes);
    }
    put_dots(svg, &p, &soft, 5, chart_colours[0]);
    put_dots(svg, &p, &faded, 4, chart_colours[5]);
    static const char *const names[] = {"values and their hull", "arg-max", "soft",
                                        "soft, local-p: faded towards 0"};
    const char *const colours[] = {dark, chart_colours[1], chart_colours[0], chart_colours[5]};
    for (int i = 0; i < 4; i++) {
        double at = x + i % 2 * 190, line = p.y + p.size + 12 + i / 2 * 20;
        svg_circle(svg, at + 6, line - 4, 5, colours[i], "white");
        svg_text(svg, at + 18, line, 12, SVG_LEFT, dark, "%s", names[i]);
    }
}

/* ---- from one query to another ---- */
static void put_curve(struct svg *svg, const struct chart *chart, const struct sentence *s,
                      rapt_weighing weighing, const char *colour, double thickness)
{
    enum { POINTS = 241 };
    double points[2 * POINTS];
    float query[WORDS * WIDTH];
    for (int i = 0; i < POINTS; i++) {
        struct result r;
        double share = (double)i / (POINTS - 1);
        problem_make(&r, s, (struct variant){RAPT_SCORE_GENERAL, 0, weighing}, 1);
        query_between(query, s, 5, 9, (float)share);
        attend(&r, query, s->key, s->value);
        points[2 * i] = chart_x(chart, share);
        points[2 * i + 1] = chart_y(chart, (double)r.out[2 * 5 + 1]);
    }
    svg_polyline(svg, POINTS, points, colour, thickness, 0);
}

static void put_between(struct svg *svg, const struct sentence *s, double x, double y)
{
    struct chart chart = {
        .x = x + 50,
        .y = y + 48,
        .width = 300,
        .height = 300,
        .from = {0, -1},
        .to = {1, 1},
        .step = {0.25, 0.5},
        .title = "",
        .labels = {"from the query of \u201Cit\u201D to that of \u201Cmouse\u201D",
                   "height of the result"}};
    heading(svg, x, y, "A choice has no slope", "while a query moves steadily, what it gets back");
    chart_frame(svg, &chart);
    put_curve(svg, &chart, s, RAPT_WEIGH_ARGMAX, chart_colours[1], 2);
    put_curve(svg, &chart, s, RAPT_WEIGH_GUMBEL, chart_colours[2], 2);
    put_curve(svg, &chart, s, RAPT_WEIGH_SOFT, chart_colours[0], 2.5);
    static const char *const names[] = {"soft", "arg-max", "gumbel, one draw of noise"};
    for (int i = 0; i < 3; i++) {
        double line = chart.y + chart.height - 50 + 20 * i;
        svg_line(svg, chart.x + 12, line - 4, chart.x + 36, line - 4, chart_colours[i], 2.5);
        svg_text(svg, chart.x + 44, line, 12, SVG_LEFT, dark, "%s", names[i]);
    }
}

/* ---- masks ---- */
static void put_masks(struct svg *svg, const struct sentence *s, double x, double y)
{
    static const char *const names[] = {"none", "causal", "three words are padding",
                                        "\u201Ccat\u201D is hidden"};
    static const int kept = WORDS - 3;
    uint8_t allowed[WORDS * WORDS];
    memset(allowed, 1, sizeof allowed);
    for (int t = 0; t < WORDS; t++) allowed[t * WORDS + 2] = 0;
    heading(svg, x, y, "Masks mask", "scaled dot, all keys, soft; what is hidden may be NaN");
    for (int i = 0; i < 4; i++) {
        struct result r;
        double left = x + i % 2 * 176, top = y + 62 + i / 2 * 196;
        problem_make(&r, s, (struct variant){RAPT_SCORE_SCALED_DOT, 0, 0}, 1);
        r.problem.mask.causal = i == 1;
        r.problem.mask.key_counts = i == 2 ? &kept : NULL;
        r.problem.mask.allowed = i == 3 ? allowed : NULL;
        r.problem.mask.allowed_stride.row = WORDS;
        attend(&r, s->query, s->key, s->value);
        svg_text(svg, left, top - 7, 12, SVG_LEFT, dark, "%s", names[i]);
        shade_map(svg, left, top, 15.5, WORDS, WORDS, NULL, NULL, r.weights);
    }
}

/* ---- every kind ---- */
static void put_all(struct svg *svg, const struct sentence *s, double y, uint64_t seed)
{
    heading(svg, LEFT, y, "Every kind",
            "rows: the score; columns: how scores become weights, and which keys are seen");
    int column = 0;
    for (int weighing = 0; rapt_weighing_name(weighing) != NULL; weighing++)
        for (int reach = 0; rapt_reach_name(reach) != NULL; reach++, column++) {
            double x = LEFT + LABELS + column * STEP + weighing * 16;
            if (reach == 0)
                svg_text(svg, x, y + 48, 14, SVG_LEFT, dark, "%s", rapt_weighing_name(weighing));
            svg_text(svg, x, y + 66, 12, SVG_LEFT, grey, "%s", rapt_reach_name(reach));
            for (int score = 0; rapt_score_name(score) != NULL; score++) {
                struct result r = attended(s, (struct variant){score, reach, weighing}, seed);
                double top = y + 76 + score * STEP;
                shade_map(svg, x, top, SMALL, WORDS, WORDS, NULL, NULL, r.weights);
                if (column == 0)
                    svg_text(svg, x - 12, top + MAP / 2.0 + 4, 13, SVG_RIGHT, dark, "%s",
                             rapt_score_name(score));
            }
        }
}

int page_draw(const char *path, const struct sentence *s, uint64_t seed)
{
    const double middle = TOP + 462;
    struct svg svg;
    char text[256] = "";
    int code =
        svg_open(&svg, path, 2 * LEFT + LABELS + RAPT_WEIGHINGS * (RAPT_REACHES * STEP + 16) - 16,
                 middle + 80 + RAPT_SCORES * STEP + 20);
    if (code != EXIT_FINE) return code;
    for (int t = 0, used = 0; t < WORDS; t++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", t ? " " : "",
                         s->words[t].bytes);
    svg_text(&svg, LEFT, 42, 22, SVG_LEFT, "#111111", "A tour of attention");
    svg_text(
        &svg, LEFT, 66, 14, SVG_LEFT, grey,
        "\u201C%s\u201D attends to itself. Rows look, columns are looked at: the darker, the more "
        "weight.",
        text);
    put_large(&svg, s, LEFT, TOP);
    put_hull(&svg, s, LEFT + 410, TOP);
    put_between(&svg, s, LEFT + 826, TOP);
    put_masks(&svg, s, LEFT + 1250, TOP);
    put_all(&svg, s, middle, seed);
    return svg_close(&svg);
}
