/* shade.c - a heat map in SVG: weights as shades of blue, relative to their row; negative ones as
   shades of orange. */
#include "kit/heatmap.h"
#include "kit/program.h"
#include "kit/svg.h"
#include <math.h>
#include <stdlib.h>

void shade_color(float weight, char color[8])
{
    static const int white[3] = {255, 255, 255}, darks[2][3] = {{8, 48, 107}, {127, 39, 4}};
    static const int middles[2][3] = {{107, 174, 214}, {253, 141, 60}};
    const int *middle = middles[weight < 0], *dark = darks[weight < 0];
    int rgb[3];
    weight = fminf(fabsf(weight), 1);
    for (int i = 0; i < 3; i++) {
        const int from = weight < 0.5F ? white[i] : middle[i];
        const int to = weight < 0.5F ? middle[i] : dark[i];
        float share = weight < 0.5F ? 2 * weight : 2 * weight - 1;
        rgb[i] = (int)((float)from + share * (float)(to - from) + 0.5F);
    }
    snprintf(color, 8, "#%02X%02X%02X", rgb[0] & 255, rgb[1] & 255, rgb[2] & 255);
}

static void put_name(struct svg *svg, double x, double y, double degrees, rapt_text name)
{
    char *text = printable(name);
    svg_text_rotated(svg, x, y, 13, degrees, degrees < 0 ? SVG_LEFT : SVG_RIGHT, "#222222", text);
    free(text);
}

/* Sets the text under the pointer, such as "Katze, cat: 0.93". */
static void put_hint(struct svg *svg, const rapt_text *row_names, int row,
                     const rapt_text *column_names, int column, float weight)
{
    char *of_row = row_names ? printable(row_names[row]) : NULL;
    char *of_column = column_names ? printable(column_names[column]) : NULL;
    if (of_row && of_column)
        svg_hint_begin(svg, "%s, %s: %.3g", of_row, of_column, (double)weight);
    else
        svg_hint_begin(svg, "row %d, column %d: %.3g", row + 1, column + 1, (double)weight);
    free(of_row);
    free(of_column);
}

void shade_map(struct svg *svg, double x, double y, double cell, int rows, int columns,
               const rapt_text *row_names, const rapt_text *column_names, const float *weights)
{
    for (int r = 0; r < rows; r++) {
        const float full = heatmap_full(columns, weights + (size_t)r * (size_t)columns);
        double top = y + r * cell;
        for (int c = 0; c < columns; c++) {
            float weight = weights[(size_t)r * (size_t)columns + (size_t)c];
            double left = x + c * cell;
            char color[8];
            shade_color(weight / full, color);
            put_hint(svg, row_names, r, column_names, c, weight);
            svg_rect(svg, left, top, cell, cell, color, "#D8D8D8");
            if (cell >= 22 && fabsf(weight) > 0.095F)
                svg_text(svg, left + cell / 2, top + cell / 2 + 4, 11, SVG_MIDDLE,
                         fabsf(weight) > 0.55F * full ? "white" : "#333333", "%s%.0f",
                         weight < 0 ? "\u2212" : "", 100 * fabs((double)weight));
            svg_hint_end(svg);
        }
        if (row_names != NULL) put_name(svg, x - 8, top + cell / 2 + 4, 0, row_names[r]);
    }
    for (int c = 0; column_names != NULL && c < columns; c++)
        put_name(svg, x + (c + 0.6) * cell, y - 7, -45, column_names[c]);
}
