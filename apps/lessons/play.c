/* play.c - writes the script of a page and the data that it reads. */
#include "kit/program.h"
#include "page.h"
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

/* numbers: [rows][columns] of the picture */
static json_t *numbers_json(const struct block *picture, const float *numbers)
{
    json_t *rows = json_array();
    for (int r = 0; r < picture->rows; r++) {
        json_t *row = json_array();
        for (int c = 0; c < picture->columns; c++)
            put_item(row, json_real((double)numbers[r * picture->columns + c]));
        put_item(rows, row);
    }
    return rows;
}

static json_t *reals_json(const double *numbers, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++) put_item(list, json_real(numbers[i]));
    return list;
}

/* Writes JSON and releases it. */
static void put_numbers(FILE *file, const char *class, json_t *data)
{
    char *text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(5));
    json_decref(data);
    if (text == NULL) exit(failed("out of memory"));
    put_data(file, class, text);
    free(text);
}

/* Returns the place, among the maps with a script, of the one that a drawing shows a row of, or
   -1. */
static int map_of(const struct page *page, const struct block *drawing)
{
    const size_t size = (size_t)(drawing->rows * drawing->columns) * sizeof *drawing->weights;
    int place = 0;
    for (int i = 0; i < page->count; i++) {
        const struct block *map = &page->blocks[i];
        if (!is_played(map)) continue;
        if (map->model == NULL && map->rows == drawing->rows && map->columns == drawing->columns &&
            memcmp(map->weights, drawing->weights, size) == 0)
            return place;
        place++;
    }
    return -1;
}

static void put_drawing(FILE *file, const struct page *page, const struct block *drawing)
{
    const int map = drawing->rows > 0 ? map_of(page, drawing) : -1;
    if (map < 0) return;
    json_t *data = json_pack("{s:i,s:i}", "map", map, "shown", drawing->shown);
    if (drawing->scores != NULL) put_member(data, "scores", numbers_json(drawing, drawing->scores));
    if (drawing->probabilities != NULL)
        put_member(data, "probabilities", reals_json(drawing->probabilities, drawing->rows));
    put_numbers(file, "steps", data);
}

static void put_map(FILE *file, const struct block *map)
{
    double x, y, cell;
    picture_map_at(map, &x, &y, &cell);
    json_t *data = json_pack("{s:o,s:o,s:o,s:[fff]}", "rows", names_json(map->row_names, map->rows),
                             "columns", names_json(map->column_names, map->columns), "weights",
                             numbers_json(map, map->weights), "at", x, y, cell);
    if (map->slider != NO_SLIDER)
        put_member(data, "slider", json_string(map->slider == BY_SIZE ? "root" : "temperature"));
    if (map->slider == BY_SIZE) put_member(data, "n", reals_json(map->sizes, map->rows));
    put_numbers(file, "map", data);
    if (map->model != NULL) put_data(file, "model", map->model);
}

void play_picture(FILE *file, const struct page *page, const struct block *picture)
{
    if (is_played(picture))
        put_map(file, picture);
    else if (picture->kind == DRAWING)
        put_drawing(file, page, picture);
}

static void put_library(FILE *file, const unsigned char *bytes, size_t count)
{
    if (count == 0) return;
    char *text = play_base64(bytes, count);
    fprintf(file, "<script type=\"application/gzip\" class=\"rapt\">%s</script>\n", text);
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
