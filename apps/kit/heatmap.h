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
/* Maps wider than `width` terminal columns are split into several parts. numbers: per cent. */
void heatmap_print(FILE *file, const struct heatmap *map, bool numbers, int width);
const char *heatmap_shade(float weight); /* one character, from a dot to a full block */

int text_columns(rapt_text text); /* its width on a terminal */
/* Bytes of the longest beginning that takes no more columns; the text must be valid UTF-8. */
size_t text_prefix(rapt_text text, int columns);
char *printable(rapt_text text); /* one line of valid UTF-8; a new string */

#endif
