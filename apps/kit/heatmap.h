/* heatmap.h - heat maps of attention weights as text; the width of text on a terminal, and its
   escaping. */
#ifndef KIT_HEATMAP_H
#define KIT_HEATMAP_H

#include <rapt/text.h>
#include <stdbool.h>
#include <stdio.h>

struct heatmap {
    int rows, columns;
    const rapt_text *row_names, *column_names; /* [rows], [columns]; UTF-8 */
    const float *weights;                      /* [rows][columns], each from -1 to 1 */
};
struct heatmap_style {
    int width;    /* terminal columns */
    bool numbers; /* weights in % instead of shades */
    bool color;   /* one of 256 terminal colors instead of shades */
};
/* Shades and colors are relative to heatmap_full of the row. If horizontal heads are too wide, they
   are written vertically. A map that is still too wide is split into parts. */
void heatmap_print(FILE *file, const struct heatmap *map, struct heatmap_style style);
/* Decides by "always", "never" or "auto": on a terminal, unless NO_COLOR is set
   (https://no-color.org). */
bool heatmap_color(const char *choice);
/* Returns the weight of the darkest shade in a row: its largest absolute weight, but at least twice
   the uniform weight (at most 1), so that a uniform row is not dark. */
float heatmap_full(int columns, const float *weights);
/* Returns one character, from a dot for the smallest weight to a full block; a minus for weights of
   -0.05 or less. */
const char *heatmap_shade(float weight);
extern const char heatmap_legend[]; /* explains the shades in % */

int text_columns(rapt_text text); /* width on a terminal */
/* Returns the bytes of the longest prefix that fits in `columns`. The text must be valid UTF-8. */
size_t text_prefix(rapt_text text, int columns);
char *printable(rapt_text text); /* a new string: one line of valid UTF-8 */

#endif
