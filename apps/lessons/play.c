/* play.c - writes the script of a page and the data that it reads. */
#include "play.h"
#include "kit/program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16 }; /* words in a list */

/* Returns whether the rows of a map are distributions over a few words, so that they can be drawn
   as lines between two lists. */
static bool is_played(const struct block *map)
{
    if (map->kind != MAP || map->rows > MOST || map->columns > MOST) return false;
    for (int r = 0; r < map->rows; r++) {
        double sum = 0;
        for (int c = 0; c < map->columns; c++) sum += (double)map->weights[r * map->columns + c];
        if (fabs(sum - 1) > 0.01) return false;
    }
    return true;
}

char *play_base64(const unsigned char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = xcalloc((size + 2) / 3 * 4 + 1, 1), *to = text;
    for (size_t i = 0; i < size; i += 3) {
        const size_t left = size - i;
        const unsigned three = (unsigned)bytes[i] << 16 |
                               (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                               (left > 2 ? bytes[i + 2] : 0);
        for (int d = 0; d < 4; d++)
            *to++ = (char)((size_t)d > left ? '=' : digits[three >> (18 - 6 * d) & 63]);
    }
    return text;
}

/* Writes JSON as an element, in which < is escaped so that no text ends the element. */
static void put_data(FILE *file, const char *class, const char *json)
{
    fprintf(file, "<script type=\"application/json\" class=\"%s\">", class);
    for (const char *at = json; *at; at++)
        if (*at == '<')
            fputs("\\u003c", file);
        else
            fputc(*at, file);
    fputs("</script>\n", file);
}

static json_t *names_json(char *const *names, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++) put_item(list, json_string(names[i]));
    return list;
}

static json_t *weights_json(const struct block *map)
{
    json_t *rows = json_array();
    for (int r = 0; r < map->rows; r++) {
        json_t *row = json_array();
        for (int c = 0; c < map->columns; c++)
            put_item(row, json_real((double)map->weights[r * map->columns + c]));
        put_item(rows, row);
    }
    return rows;
}

void play_map(FILE *file, const struct block *map)
{
    if (!is_played(map)) return;
    double x, y, cell;
    picture_map_at(map, &x, &y, &cell);
    json_t *data = json_pack("{s:o,s:o,s:o,s:[fff]}", "rows", names_json(map->row_names, map->rows),
                             "columns", names_json(map->column_names, map->columns), "weights",
                             weights_json(map), "at", x, y, cell);
    if (map->slider != NO_SLIDER)
        put_member(data, "slider", json_string(map->slider == BY_SIZE ? "root" : "temperature"));
    if (map->slider == BY_SIZE) {
        json_t *sizes = json_array();
        for (int r = 0; r < map->rows; r++) put_item(sizes, json_real(map->sizes[r]));
        put_member(data, "n", sizes);
    }
    char *text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(5));
    json_decref(data);
    if (text == NULL) exit(failed("out of memory"));
    put_data(file, "map", text);
    free(text);
    if (map->model != NULL) put_data(file, "model", map->model);
}

static void put_library(FILE *file, const unsigned char *bytes, size_t count)
{
    if (count == 0) return;
    char *text = play_base64(bytes, count);
    fprintf(file, "<script type=\"application/gzip\" class=\"library\">%s</script>\n", text);
    free(text);
}

void play_end(FILE *file, const struct page *page)
{
    bool played = false, models = false;
    for (int i = 0; i < page->count; i++) {
        played = played || is_played(&page->blocks[i]);
        models = models || page->blocks[i].model != NULL;
    }
    if (!played) return;
    if (models) {
        put_library(file, play_simd, play_simd_count);
        put_library(file, play_plain, play_plain_count);
    }
    fprintf(file, "<script class=\"play\">\n%.*s</script>\n", (int)play_script_count,
            (const char *)play_script);
}
