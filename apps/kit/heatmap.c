/* heatmap.c - heat maps of matrices, in SVG and as text. */
#define _POSIX_C_SOURCE 200809L

#include "kit/heatmap.h"
#include "kit/program.h"
#include "kit/svg.h"
#include "kit/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- heat maps in SVG: positive weights are shades of blue and negative ones shades of orange,
   relative to their row ---- */

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

/* Begins elements that show a text under the pointer, such as "Katze, cat: 0.93". */
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

/* ---- heat maps as text, with row and column labels ---- */

enum { CELL = 4, MAX_CELL = 12, NARROW = 2 }; /* in columns; NARROW includes the gap */

/* The common ranges of characters of width 0 (controls and Unicode general category Mn) and 2 (East
   Asian Width W and F) on a terminal. */
static const struct {
    unsigned first, last;
    int columns;
} ranges[] = {
    {0x0000, 0x001F, 0}, {0x007F, 0x009F, 0},   {0x0300, 0x036F, 0},   {0x0483, 0x0489, 0},
    {0x0591, 0x05BD, 0}, {0x0610, 0x061A, 0},   {0x064B, 0x065F, 0},   {0x1100, 0x115F, 2},
    {0x1AB0, 0x1AFF, 0}, {0x1DC0, 0x1DFF, 0},   {0x200B, 0x200F, 0},   {0x20D0, 0x20FF, 0},
    {0x2E80, 0x303E, 2}, {0x3041, 0xA4CF, 2},   {0xAC00, 0xD7A3, 2},   {0xF900, 0xFAFF, 2},
    {0xFE00, 0xFE0F, 0}, {0xFE20, 0xFE2F, 0},   {0xFE30, 0xFE6F, 2},   {0xFF00, 0xFF60, 2},
    {0xFFE0, 0xFFE6, 2}, {0x1F300, 0x1F64F, 2}, {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2},
};

/* Returns the width of the character at *at, in columns, and moves *at past it. */
static int next_columns(rapt_text text, size_t *at)
{
    uint32_t value = unicode_next(text, at);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (value >= ranges[i].first && value <= ranges[i].last) return ranges[i].columns;
    return 1;
}

int text_columns(rapt_text text)
{
    int columns = 0;
    for (size_t at = 0; at < text.size;) columns += next_columns(text, &at);
    return columns;
}

size_t text_prefix(rapt_text text, int columns)
{
    size_t at = 0, end = 0;
    for (int used = 0; at < text.size && used <= columns;) {
        end = at;
        used += next_columns(text, &at);
        if (used <= columns) end = at;
    }
    return end;
}

char *printable(rapt_text all)
{
    const char *text = all.bytes;
    size_t size = all.size, out = 0;
    char *clean = xcalloc(3 * size + 1, 1);
    for (size_t at = 0; at < size;) {
        size_t good = rapt_utf8_valid((rapt_text){text + at, size - at});
        for (size_t i = 0; i < good; i++) {
            char c = text[at + i];
            clean[out++] = (unsigned char)c < 0x20 ? ' ' : c;
        }
        at += good;
        if (at == size) break;
        memcpy(clean + out, "\xEF\xBF\xBD", 3); /* U+FFFD for an invalid byte */
        out += 3;
        at++;
    }
    return clean;
}

/* Writes text in exactly `columns` columns: truncated with a dot, or padded on one side. */
static void put_label(FILE *file, const char *text, int columns, bool right)
{
    rapt_text all = {text, strlen(text)};
    int width = text_columns(all), used = 0;
    size_t at = 0, cut = 0;
    while (width > columns && at < all.size) {
        int next = next_columns(all, &at);
        if (used + next > columns - 1) break;
        used += next;
        cut = at;
    }
    int fill = width > columns ? columns - used - 1 : columns - width;
    if (right) fprintf(file, "%*s", fill, "");
    if (width > columns)
        fprintf(file, "%.*s.", (int)cut, text);
    else
        fputs(text, file);
    if (!right) fprintf(file, "%*s", fill, "");
}

struct labels {
    int count;
    char **texts;
    int *full, *widths; /* width of each text, and the columns reserved for it */
};

static struct labels labels_make(const rapt_text *names, int names_count)
{
    size_t count = (size_t)names_count;
    struct labels labels = {names_count, xcalloc(count, sizeof(char *)),
                            xcalloc(count, sizeof(int)), xcalloc(count, sizeof(int))};
    for (size_t i = 0; i < count; i++) {
        labels.texts[i] = printable(names[i]);
        labels.full[i] = text_columns((rapt_text){labels.texts[i], strlen(labels.texts[i])});
        labels.widths[i] = labels.full[i];
    }
    return labels;
}

static void labels_free(struct labels *labels)
{
    for (int i = 0; i < labels->count; i++) free(labels->texts[i]);
    free(labels->texts);
    free(labels->full);
    free(labels->widths);
}

const char *heatmap_shade(float weight)
{
    static const char *const shades[] = {"\u00B7", "\u2591", "\u2592", "\u2593", "\u2588"};
    int percent = (int)(100 * weight + 0.5F);
    if (weight <= -0.05F) return "-";
    return shades[percent < 5 ? 0 : percent < 20 ? 1 : percent < 40 ? 2 : percent < 65 ? 3 : 4];
}

const char heatmap_legend[] =
    "\u00B7 below 5 %, \u2591 below 20 %, \u2592 below 40 %, \u2593 below 65 %, \u2588 above";

float heatmap_full(int columns, const float *weights)
{
    float full = columns > 2 ? 2 / (float)columns : 1;
    for (int c = 0; c < columns; c++) full = fmaxf(full, fabsf(weights[c]));
    return full;
}

static int clamp(int value, int min, int max)
{
    return value < min ? min : value > max ? max : value;
}

/* The layout of a map. */
struct layout {
    const struct heatmap *map;
    struct heatmap_style style;
    struct labels rows, heads;
    int left;    /* columns for row names */
    bool narrow; /* cells have NARROW columns, and column names are written vertically */
};

/* Returns the background of a cell, one of xterm's 256 colors: from dark blue to yellow. */
static int color_of(float share)
{
    static const int colors[] = {17, 24, 30, 36, 71, 113, 185, 227};
    int count = sizeof colors / sizeof *colors;
    return colors[clamp((int)(share * (float)count), 0, count - 1)];
}

/* Prints a cell. `share` is the weight divided by heatmap_full of the row. */
static void put_cell(FILE *file, const struct layout *layout, float weight, float share, int width)
{
    int percent = (int)lroundf(100 * weight), wide = layout->narrow ? NARROW - 1 : CELL;
    if (layout->style.numbers) {
        fprintf(file, " %*d", width, percent);
        return;
    }
    if (layout->style.color) {
        fprintf(file, "\033[48;5;%dm%*s\033[0m", color_of(share), width + 1, "");
        return;
    }
    int block = layout->narrow ? wide : share < 0.05F ? 1 : CELL;
    fprintf(file, " %*s", (width - block) / 2, "");
    for (int i = 0; i < block; i++) fputs(heatmap_shade(share), file);
    fprintf(file, "%*s", width - block - (width - block) / 2, "");
}

static void print_row(FILE *file, const struct layout *layout, int row, int from, int to)
{
    const float *weights = layout->map->weights + (size_t)row * (size_t)layout->map->columns;
    const float full = heatmap_full(layout->map->columns, weights);
    put_label(file, layout->rows.texts[row], layout->left, true);
    for (int s = from; s < to; s++)
        put_cell(file, layout, weights[s], weights[s] / full, layout->heads.widths[s]);
    fputc('\n', file);
}

static void print_heads(FILE *file, const struct layout *layout, int from, int to)
{
    fprintf(file, "%*s", layout->left, "");
    for (int s = from; s < to; s++) {
        fputc(' ', file);
        put_label(file, layout->heads.texts[s], layout->heads.widths[s], layout->style.numbers);
    }
    fputc('\n', file);
}

/* Returns the character with this index, or an empty text if the text is shorter. If `last` is true
   and more characters follow, returns a dot. */
static rapt_text character(const char *text, int index, bool last)
{
    rapt_text all = {text, strlen(text)};
    size_t at = 0, begin = 0;
    for (int i = 0; i <= index && at < all.size; i++) {
        begin = at;
        next_columns(all, &at);
        if (i < index && at == all.size) return (rapt_text){text, 0};
    }
    if (last && at < all.size) return (rapt_text){".", 1};
    return (rapt_text){text + begin, at - begin};
}

/* Prints column names vertically, one character per line, ending above their cells. */
static void print_downwards(FILE *file, const struct layout *layout, int from, int to)
{
    int height = 0;
    for (int s = from; s < to; s++) {
        int width = layout->heads.full[s];
        height = clamp(width, height, MAX_CELL);
    }
    for (int line = 0; line < height; line++) {
        fprintf(file, "%*s", layout->left, "");
        for (int s = from; s < to; s++) {
            int index = line - (height - clamp(layout->heads.full[s], 0, height));
            rapt_text c = {"", 0};
            if (index >= 0) c = character(layout->heads.texts[s], index, line + 1 == height);
            int width = text_columns(c);
            fprintf(file, "%*s%.*s%*s", 1, "", (int)c.size, c.bytes,
                    clamp(layout->heads.widths[s] - width, 0, NARROW), "");
        }
        fputc('\n', file);
    }
}

/* Prints columns from .. to - 1 of the map. */
static void print_part(FILE *file, const struct layout *layout, int from, int to)
{
    if (layout->narrow)
        print_downwards(file, layout, from, to);
    else
        print_heads(file, layout, from, to);
    for (int t = 0; t < layout->rows.count; t++) print_row(file, layout, t, from, to);
}

/* Makes the column names horizontal if the map then fits or shows numbers, otherwise vertical. */
static void lay_out_heatmap(struct layout *layout)
{
    int used = 0, width = layout->style.width;
    struct labels *heads = &layout->heads;
    for (int t = 0; t < layout->rows.count; t++)
        layout->left =
            layout->rows.widths[t] > layout->left ? layout->rows.widths[t] : layout->left;
    layout->left = clamp(layout->left, 1, width / 3);
    for (int s = 0; s < heads->count; s++) used += clamp(heads->full[s], CELL, MAX_CELL) + 1;
    layout->narrow = layout->left + used > width && !layout->style.numbers;
    for (int s = 0; s < heads->count; s++)
        heads->widths[s] = layout->narrow ? NARROW - 1 : clamp(heads->full[s], CELL, MAX_CELL);
}

void heatmap_print(FILE *file, const struct heatmap *map, struct heatmap_style style)
{
    struct layout layout = {.map = map,
                            .style = style,
                            .rows = labels_make(map->row_names, map->rows),
                            .heads = labels_make(map->column_names, map->columns)};
    lay_out_heatmap(&layout);
    for (int from = 0, to; from < layout.heads.count; from = to) {
        int used = layout.left;
        for (to = from; to < layout.heads.count; to++) {
            used += layout.heads.widths[to] + 1;
            if (used > style.width && to > from) break;
        }
        if (from > 0) fputc('\n', file);
        print_part(file, &layout, from, to);
    }
    labels_free(&layout.rows);
    labels_free(&layout.heads);
}

bool heatmap_color(const char *choice)
{
    const char *refused = getenv("NO_COLOR"), *terminal = getenv("TERM");
    if (strcmp(choice, "always") == 0) return true;
    if (strcmp(choice, "never") == 0 || (refused != NULL && *refused)) return false;
    return isatty(STDOUT_FILENO) && terminal != NULL && strcmp(terminal, "dumb") != 0;
}
