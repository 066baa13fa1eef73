/* heatmap.h - a heat map of attention weights as text; Unicode width and escaping of labels. */
#ifndef KIT_HEATMAP_H
#define KIT_HEATMAP_H

#include <rapt/text.h>
#include <stdbool.h>
#include <stdio.h>

struct heatmap {
    int rows, columns;
    const rapt_text *row_names, *column_names; /* [rows], [columns]; UTF-8 */
    const float *weights;                      /* [rows][columns], each from 0 to 1 */
};
struct heatmap_style {
    int width;    /* terminal columns */
    bool numbers; /* weights in % instead of shades */
    bool color;   /* of the 256 that terminals have, instead of shades */
};
/* Shades and colors are relative to heatmap_full of the row. Where the heads are too wide they are
   written downwards; maps that are still too wide are split into parts. */
void heatmap_print(FILE *file, const struct heatmap *map, struct heatmap_style style);
/* "always", "never" or "auto": on a terminal, unless the environment has NO_COLOR
   (https://no-color.org). */
bool heatmap_color(const char *choice);
/* The weight of the darkest shade in a row: its largest, but no less than twice that of equal
   weights, or 1, so that a row of equal ones is not dark. */
float heatmap_full(int columns, const float *weights);
const char *heatmap_shade(float weight); /* one character, from a dot to a full block */
extern const char heatmap_legend[];      /* which of them stands for which weight, in % */

int text_columns(rapt_text text); /* its width on a terminal */
/* Bytes of the longest beginning that takes no more columns; the text must be valid UTF-8. */
size_t text_prefix(rapt_text text, int columns);
char *printable(rapt_text text); /* one line of valid UTF-8; a new string */

#endif
