/* picture.c - an SVG figure: BLEU by sentence length, and attention weights of two examples. */
#include "bottleneck.h"
#include "kit/svg.h"

static void draw_curves(struct svg *svg, const struct report *report)
{
    const int max_words = report->training->max_words;
    struct chart chart = {.x = 80,
                          .y = 70,
                          .width = 760,
                          .height = 300,
                          .to = {3 * max_words, 100},
                          .step = {max_words / 4.0, 20},
                          .title = "BLEU by sentence length",
                          .labels = {"length of the English sentence in words", "BLEU"}};
    double edge = chart_x(&chart, max_words);
    svg_rect(svg, edge, chart.y, chart.x + chart.width - edge, chart.height, "#F7F3EA", "none");
    chart_frame(svg, &chart);
    svg_line(svg, edge, chart.y, edge, chart.y + chart.height, "#B0A080", 1);
    svg_text(svg, chart.x + chart.width - 10, chart.y + 18, 12, SVG_RIGHT, "#807050",
             "longer than any training sentence");
    for (int k = 0; k < KINDS; k++) {
        double xs[POINTS], ys[POINTS];
        for (int i = 0; i < POINTS; i++) {
            xs[i] = point_length(report->training, i);
            ys[i] = report->curves[k].at[i].bleu;
        }
        chart_curve(svg, &chart, POINTS, xs, ys, chart_colors[k]);
        chart_legend(svg, chart.x + chart.width - 170, chart.y + 40 + 22 * k, chart_colors[k],
                     report->curves[k].name);
    }
}

int report_svg(const struct report *report, const char *path)
{
    struct svg svg;
    int code = svg_open(&svg, path, 880, 840,
                        "BLEU by length of the sentence: a fixed context vector, additive "
                        "attention, attention only");
    if (code != EXIT_OK) return code;
    draw_curves(&svg, report);
    for (int i = 0; i < EXAMPLES; i++) {
        const struct example *example = &report->examples[i];
        struct heatmap map = example_map(example, report->training->language);
        double x = 100 + 430 * i, y = 560;
        svg_text(&svg, x - 80, 456, 15, SVG_LEFT, "#222222", "%s", example->about);
        shade_map(&svg, x, y, 30, map.rows, map.columns, map.row_names, map.column_names,
                  map.weights);
        example_map_free(&map);
    }
    svg_text(&svg, 20, 474, 12, SVG_LEFT, "#666666",
             "Weights of each French word in the recurrent model with attention, in %%");
    return svg_close(&svg);
}
