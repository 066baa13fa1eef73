/* heatmap.h - heat maps of attention weights as text; the width of text on a terminal; and text
   without control characters. */
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
/* Shades and colors are relative to heatmap_full of the row. Column names that do not fit
   horizontally are written vertically, except above numbers. Maps that are still too wide are
   split. */
void heatmap_print(FILE *file, const struct heatmap *map, struct heatmap_style style);
/* Returns whether to print colors. choice: "always", "never", or "auto", which prints them if
   standard output is a terminal, TERM is set but not to "dumb", and NO_COLOR is unset or empty
   (https://no-color.org). */
bool heatmap_color(const char *choice);
/* Returns the weight of the darkest shade in a row: its largest absolute weight, but at least twice
   the uniform weight (at most 1), so that a uniform row is not dark. */
float heatmap_full(int columns, const float *weights);
/* Returns one character, from a dot for weights near 0 to a full block; a minus for weights of
   -0.05 or less. */
const char *heatmap_shade(float weight);
extern const char heatmap_legend[]; /* explains the shades in % */

int text_columns(rapt_text text); /* width on a terminal */
/* Returns the number of bytes of the longest prefix that fits in `columns`. The text must be valid
   UTF-8. */
size_t text_prefix(rapt_text text, int columns);
/* Returns the text as one line of valid UTF-8: characters below U+0020 become spaces, and invalid
   bytes become U+FFFD. The caller frees it. */
char *printable(rapt_text text);

#endif
