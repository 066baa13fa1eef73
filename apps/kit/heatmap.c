/* heatmap.c - a heat map of attention weights as text, with row and column labels. */
#include "kit/heatmap.h"
#include "kit/program.h"
#include <stdlib.h>
#include <string.h>

enum { CELL = 4, MAX_CELL = 12 }; /* columns of a cell */

/* Characters of width 0 or 2 on a terminal: Unicode general category Mn, East Asian Width W and F;
   the common ranges. */
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

/* The width of the character at *at, which is advanced; the text must be valid UTF-8. */
static int next_columns(rapt_text text, size_t *at)
{
    unsigned char lead = (unsigned char)text.bytes[(*at)++];
    unsigned value = lead < 0x80 ? lead : lead < 0xE0 ? lead & 0x1F : lead & 0x0F;
    if (lead >= 0xF0) value = lead & 0x07;
    while (*at < text.size && ((unsigned char)text.bytes[*at] & 0xC0) == 0x80)
        value = value << 6 | ((unsigned char)text.bytes[(*at)++] & 0x3F);
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
static void put(FILE *file, const char *text, int columns, bool right)
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
    int *widths; /* in columns */
};

static struct labels labels_make(const rapt_text *names, int names_count)
{
    size_t count = (size_t)names_count;
    struct labels labels = {names_count, xcalloc(count, sizeof(char *)),
                            xcalloc(count, sizeof(int))};
    for (size_t i = 0; i < count; i++) {
        labels.texts[i] = printable(names[i]);
        labels.widths[i] = text_columns((rapt_text){labels.texts[i], strlen(labels.texts[i])});
    }
    return labels;
}

static void labels_free(struct labels *labels)
{
    for (int i = 0; i < labels->count; i++) free(labels->texts[i]);
    free(labels->texts);
    free(labels->widths);
}

const char *heatmap_shade(float weight)
{
    static const char *const shades[] = {"\u00B7", "\u2591", "\u2592", "\u2593", "\u2588"};
    int percent = (int)(100 * weight + 0.5F);
    return shades[percent < 5 ? 0 : percent < 20 ? 1 : percent < 40 ? 2 : percent < 65 ? 3 : 4];
}

static void put_cell(FILE *file, float weight, int width, bool numbers)
{
    int percent = (int)(100 * weight + 0.5F);
    if (numbers) {
        fprintf(file, " %*d", width, percent);
        return;
    }
    int block = percent < 5 ? 1 : CELL;
    fprintf(file, " %*s", (width - block) / 2, "");
    for (int i = 0; i < block; i++) fputs(heatmap_shade(weight), file);
    fprintf(file, "%*s", width - block - (width - block) / 2, "");
}

static int clamp(int value, int min, int max)
{
    return value < min ? min : value > max ? max : value;
}

/* Columns [from, to) of the map. */
static void print_part(FILE *file, const struct labels *rows, const struct labels *heads, int left,
                       int from, int to, const float *grid, bool numbers)
{
    fprintf(file, "%*s", left, "");
    for (int s = from; s < to; s++) {
        fputc(' ', file);
        put(file, heads->texts[s], heads->widths[s], numbers);
    }
    fputc('\n', file);
    for (int t = 0; t < rows->count; t++) {
        put(file, rows->texts[t], left, true);
        for (int s = from; s < to; s++)
            put_cell(file, grid[(size_t)t * (size_t)heads->count + (size_t)s], heads->widths[s],
                     numbers);
        fputc('\n', file);
    }
}

void heatmap_print(FILE *file, const struct heatmap *map, bool numbers, int width)
{
    struct labels rows = labels_make(map->row_names, map->rows);
    struct labels heads = labels_make(map->column_names, map->columns);
    int left = 0;
    for (int t = 0; t < rows.count; t++) left = rows.widths[t] > left ? rows.widths[t] : left;
    left = clamp(left, 1, width / 3);
    for (int s = 0; s < heads.count; s++) heads.widths[s] = clamp(heads.widths[s], CELL, MAX_CELL);
    for (int from = 0, to; from < heads.count; from = to) {
        int used = left;
        for (to = from; to < heads.count; to++) {
            used += heads.widths[to] + 1;
            if (used > width && to > from) break;
        }
        if (from > 0) fputc('\n', file);
        print_part(file, &rows, &heads, left, from, to, map->weights, numbers);
    }
    labels_free(&rows);
    labels_free(&heads);
}
