/* page_figures.c - two plots: outputs among the values, which are points of a plane; and an output
   while its query moves from one word's to another's. */
#include "page.h"

const char page_dark[] = "#222222", page_gray[] = "#555555";

void page_heading(struct svg *svg, double x, double y, const char *title, const char *below)
{
    svg_text(svg, x, y, 15, SVG_LEFT, page_dark, "%s", title);
    svg_text(svg, x, y + 18, 12, SVG_LEFT, page_gray, "%s", below);
}

struct result page_attended(const struct sentence *s, struct variant variant, uint64_t seed)
{
    struct result r;
    problem_make(&r, s, variant, seed);
    attend(&r, s->query, s->key, s->value);
    return r;
}

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
                     const char *color)
{
    for (int t = 0; t < WORDS; t++)
        svg_circle(svg, plane_x(p, r->out[2 * t]), plane_y(p, r->out[2 * t + 1]), radius, color,
                   "white");
}

void page_hull(struct svg *svg, const struct sentence *s, double x, double y)
{
    const struct plane p = {x, y + 40, 340};
    double corners[2 * WORDS];
    int order[WORDS], count = wrap(s->value, order);
    page_heading(svg, x, y, "Softmax outputs are convex combinations",
                 "in the plane; the outputs of argmax are values");
    for (int i = 0; i < count; i++) {
        corners[2 * i] = plane_x(&p, s->value[2 * order[i]]);
        corners[2 * i + 1] = plane_y(&p, s->value[2 * order[i] + 1]);
    }
    svg_polyline(svg, count, corners, "#EEF3F8", 1, 1);
    struct result hard =
        page_attended(s, (struct variant){RAPT_SCORE_SCALED_DOT, 0, RAPT_NORMALIZER_ARGMAX}, 1);
    struct result soft = page_attended(s, (struct variant){RAPT_SCORE_SCALED_DOT, 0, 0}, 1);
    struct result rescaled =
        page_attended(s, (struct variant){RAPT_SCORE_SCALED_DOT, RAPT_LOCALITY_LOCAL_P, 0}, 1);
    const double middle = p.x + p.size / 2, level = p.y + p.size / 2;
    svg_line(svg, middle - 5, level, middle + 5, level, page_gray, 1);
    svg_line(svg, middle, level - 5, middle, level + 5, page_gray, 1);
    svg_text(svg, middle + 7, level + 13, 11, SVG_LEFT, page_gray, "0");
    put_dots(svg, &p, &hard, 9, chart_colors[1]);
    for (int t = 0; t < WORDS; t++) {
        double at = plane_x(&p, s->value[2 * t]), line = plane_y(&p, s->value[2 * t + 1]);
        svg_circle(svg, at, line, 4, page_dark, "white");
        svg_text(svg, at + 11, line - 6, 12, SVG_LEFT, page_dark, "%s", s->words[t].bytes);
    }
    put_dots(svg, &p, &soft, 5, chart_colors[0]);
    put_dots(svg, &p, &rescaled, 4, chart_colors[5]);
    static const char *const names[] = {"values and their convex hull", "argmax", "softmax",
                                        "softmax, local-p"};
    const char *const colors[] = {page_dark, chart_colors[1], chart_colors[0], chart_colors[5]};
    for (int i = 0; i < 4; i++) {
        double at = x + i % 2 * 190, line = p.y + p.size + 12 + i / 2 * 20;
        svg_circle(svg, at + 6, line - 4, 5, colors[i], "white");
        svg_text(svg, at + 18, line, 12, SVG_LEFT, page_dark, "%s", names[i]);
    }
}

/* ---- from one query to another ---- */
static void put_curve(struct svg *svg, const struct chart *chart, const struct sentence *s,
                      rapt_normalizer normalizer, const char *color, double thickness)
{
    enum { POINTS = 241 };
    double points[2 * POINTS];
    float query[WORDS * WIDTH];
    for (int i = 0; i < POINTS; i++) {
        struct result r;
        double fraction = (double)i / (POINTS - 1);
        problem_make(&r, s, (struct variant){RAPT_SCORE_GENERAL, 0, normalizer}, 1);
        query_between(query, s, 5, 9, (float)fraction);
        attend(&r, query, s->key, s->value);
        points[2 * i] = chart_x(chart, fraction);
        points[2 * i + 1] = chart_y(chart, (double)r.out[2 * 5 + 1]);
    }
    svg_polyline(svg, POINTS, points, color, thickness, 0);
}

void page_between(struct svg *svg, const struct sentence *s, double x, double y)
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
                   "second coordinate of the output"}};
    page_heading(svg, x, y, "Hard attention is piecewise constant",
                 "the output while one query moves");
    chart_frame(svg, &chart);
    put_curve(svg, &chart, s, RAPT_NORMALIZER_ARGMAX, chart_colors[1], 2);
    put_curve(svg, &chart, s, RAPT_NORMALIZER_GUMBEL_SOFTMAX, chart_colors[2], 2);
    put_curve(svg, &chart, s, RAPT_NORMALIZER_SOFTMAX, chart_colors[0], 2.5);
    static const char *const names[] = {"softmax", "argmax", "gumbel-softmax, one draw"};
    for (int i = 0; i < 3; i++) {
        double line = chart.y + chart.height - 50 + 20 * i;
        svg_line(svg, chart.x + 12, line - 4, chart.x + 36, line - 4, chart_colors[i], 2.5);
        svg_text(svg, chart.x + 44, line, 12, SVG_LEFT, page_dark, "%s", names[i]);
    }
}
