/* heatmap.c - a table of weights in the terminal: a row per target word, a column per source
   word, the darker the more weight. Tables wider than the terminal come in several parts. */
#include "toy.h"
#include <stdlib.h>
#include <string.h>

/* Ranges of characters that a terminal shows in no column or in two, after Unicode's general
   category Mn and East Asian Width W and F; the common ones. */
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

/* The columns of the character at *at, which moves behind it; text must be valid. */
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

char *printable(rapt_text all)
{
    const char *text = all.bytes;
    size_t size = all.size, out = 0;
    char *clean = grab(3 * size + 1, 1);
    for (size_t at = 0; at < size;) {
        size_t good = rapt_utf8_valid((rapt_text){text + at, size - at});
        for (size_t i = 0; i < good; i++) {
            char c = text[at + i];
            clean[out++] = (unsigned char)c < 0x20 ? ' ' : c;
        }
        at += good;
        if (at == size) break;
        memcpy(clean + out, "\xEF\xBF\xBD", 3); /* U+FFFD for a byte that is no UTF-8 */
        out += 3;
        at++;
    }
    return clean;
}

/* Writes text in exactly `columns` columns: cut with a dot, or filled up on one side. */
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

static char **labels(const struct words *words, int *widest)
{
    char **texts = grab((size_t)words->count, sizeof *texts);
    for (int i = 0; i < words->count; i++) {
        texts[i] = printable(words->texts[i]);
        int width = text_columns((rapt_text){texts[i], strlen(texts[i])});
        if (width > *widest) *widest = width;
    }
    return texts;
}

static void labels_free(char **texts, int count)
{
    for (int i = 0; i < count; i++) free(texts[i]);
    free(texts);
}

static void put_cell(FILE *file, float weight, int width, bool numbers)
{
    static const char *const shades[] = {"\u00B7", "\u2591", "\u2592", "\u2593", "\u2588"};
    int percent = (int)(100 * weight + 0.5F);
    int shade = percent < 5 ? 0 : percent < 20 ? 1 : percent < 40 ? 2 : percent < 65 ? 3 : 4;
    if (numbers) {
        fprintf(file, " %*d", width, percent);
        return;
    }
    int block = shade == 0 ? 1 : width < 4 ? width : 4;
    fprintf(file, " %*s", (width - block) / 2, "");
    for (int i = 0; i < block; i++) fputs(shades[shade], file);
    fprintf(file, "%*s", width - block - (width - block) / 2, "");
}

void heatmap_print(FILE *file, const struct words *source, const struct words *target,
                   const float *grid, bool numbers, int columns)
{
    int left = 0, width = 4;
    char **rows = labels(target, &left), **heads = labels(source, &width);
    if (left > columns / 3) left = columns / 3;
    if (width > 12) width = 12;
    int at_once = (columns - left) / (width + 1);
    if (at_once < 1) at_once = 1;
    for (int from = 0; from < source->count; from += at_once) {
        int to = from + at_once < source->count ? from + at_once : source->count;
        fprintf(file, "%*s", left, "");
        for (int s = from; s < to; s++) {
            fputc(' ', file);
            put(file, heads[s], width, numbers);
        }
        fputc('\n', file);
        for (int t = 0; t < target->count; t++) {
            put(file, rows[t], left, true);
            for (int s = from; s < to; s++)
                put_cell(file, grid[(size_t)t * (size_t)source->count + (size_t)s], width, numbers);
            fputc('\n', file);
        }
    }
    labels_free(rows, target->count);
    labels_free(heads, source->count);
}
