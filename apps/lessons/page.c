/* page.c - collects the blocks of a page: each call copies its arguments and appends a block or
   extends the last one. Also returns a page as one JSON object. */
#define _POSIX_C_SOURCE 200809L
#include "page.h"
#include "kit/program.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static char *copy_text(const char *text)
{
    return printable((rapt_text){text, strlen(text)});
}

static char *formatted(const char *format, va_list list)
{
    va_list again;
    va_copy(again, list);
    size_t size = (size_t)vsnprintf(NULL, 0, format, again) + 1;
    va_end(again);
    char *text = xcalloc(size, 1);
    vsnprintf(text, size, format, list);
    return text;
}

static char **copy_names(const char *const *names, int count)
{
    char **copy = xcalloc((size_t)count, sizeof *copy);
    for (int i = 0; i < count; i++) copy[i] = copy_text(names[i]);
    return copy;
}

static void *copy_memory(const void *from, int count, size_t size)
{
    void *copy = xcalloc((size_t)count, size);
    memcpy(copy, from, (size_t)count * size);
    return copy;
}

static struct block *page_append(struct page *page, enum block_kind kind, enum page_detail detail,
                                 const char *text)
{
    if (page->count == page->capacity) {
        page->capacity = 2 * page->capacity + 16;
        page->blocks = xreallocarray(page->blocks, (size_t)page->capacity, sizeof *page->blocks);
    }
    struct block *block = &page->blocks[page->count++];
    *block = (struct block){.kind = kind, .detail = detail, .text = copy_text(text)};
    return block;
}

/* Returns the last block, which must be of this kind. */
static struct block *last(struct page *page, enum block_kind kind)
{
    struct block *block = page->count > 0 ? &page->blocks[page->count - 1] : NULL;
    if (block == NULL || block->kind != kind)
        exit(failed("lesson %d: a row without table or map, or a curve without chart",
                    page->lesson->number));
    return block;
}

void page_step(struct page *page, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = formatted(format, list);
    va_end(list);
    if (page->before_step != NULL) page->before_step(page, page->user);
    page_append(page, STEP, SHORT, text);
    free(text);
}

void page_paragraph(struct page *page, enum page_detail detail, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = formatted(format, list);
    va_end(list);
    page_append(page, PARAGRAPH, detail, text);
    free(text);
}

void page_formula(struct page *page, enum page_detail detail, const char *formula)
{
    page_append(page, FORMULA, detail, formula);
}

/* Appends the cells of a line to the table. */
static void add_cells(struct page *page, struct block *table, const char *line)
{
    int count = 1;
    for (const char *at = line; *at; at++) count += *at == '\t';
    if (table->cells == NULL) table->columns = count;
    if (count != table->columns)
        exit(failed("lesson %d: table \"%s\": a row of %d cells below %d heads",
                    page->lesson->number, table->text, count, table->columns));
    size_t have = table->cells == NULL ? 0 : (size_t)(1 + table->rows) * (size_t)count;
    if (table->cells != NULL) table->rows++;
    table->cells = xreallocarray(table->cells, have + (size_t)count, sizeof *table->cells);
    for (int i = 0; i < count; i++) {
        size_t size = strcspn(line, "\t");
        table->cells[have + (size_t)i] = printable((rapt_text){line, size});
        line += size + 1;
    }
}

bool table_column_is_text(const struct block *table, int column)
{
    for (int r = 1; r <= table->rows; r++) {
        const char *cell = table->cells[r * table->columns + column];
        const bool letter = (*cell >= 'A' && *cell <= 'Z') || (*cell >= 'a' && *cell <= 'z');
        if (letter && strcmp(cell, "nan") != 0 && strcmp(cell, "inf") != 0) return true;
    }
    return false;
}

void page_table(struct page *page, enum page_detail detail, const char *title, const char *heads)
{
    add_cells(page, page_append(page, TABLE, detail, title), heads);
}

void page_row(struct page *page, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *line = formatted(format, list);
    va_end(list);
    add_cells(page, last(page, TABLE), line);
    free(line);
}

void page_map(struct page *page, enum page_detail detail, const char *title, int rows, int columns,
              const char *const *row_names, const char *const *column_names, const float *weights)
{
    struct block *map = page_append(page, MAP, detail, title);
    map->rows = rows;
    map->columns = columns;
    map->row_names = copy_names(row_names, rows);
    map->column_names = copy_names(column_names, columns);
    map->weights = copy_memory(weights, rows * columns, sizeof *weights);
}

void page_map_row(struct page *page, int row)
{
    last(page, MAP)->lit = row + 1;
}

void page_map_temperature(struct page *page)
{
    last(page, MAP)->slider = BY_TEMPERATURE;
}

void page_map_root(struct page *page, const double *sizes)
{
    struct block *map = last(page, MAP);
    map->slider = BY_SIZE;
    map->sizes = copy_memory(sizes, map->rows, sizeof *sizes);
}

void page_map_model(struct page *page, const char *json)
{
    last(page, MAP)->model = xasprintf("%s", json);
}

void page_chart(struct page *page, enum page_detail detail, const char *title, const char *x_label,
                const char *y_label)
{
    struct block *chart = page_append(page, CHART, detail, title);
    chart->labels[0] = copy_text(x_label);
    chart->labels[1] = copy_text(y_label);
}

void page_chart_range(struct page *page, double y_from, double y_to)
{
    struct block *chart = last(page, CHART);
    chart->range[0] = y_from;
    chart->range[1] = y_to;
}

void page_curve(struct page *page, const char *name, int count, const double *xs, const double *ys)
{
    struct block *chart = last(page, CHART);
    chart->curve = xreallocarray(chart->curve, (size_t)chart->curves + 1, sizeof *chart->curve);
    chart->curve[chart->curves++] =
        (struct curve){copy_text(name), count, copy_memory(xs, count, sizeof *xs),
                       copy_memory(ys, count, sizeof *ys)};
}

void page_drawing(struct page *page, enum page_detail detail, const char *title,
                  const char *description, double width, double height, page_draw_fn *draw,
                  const void *user)
{
    struct svg svg;
    if (svg_part_open(&svg, width, height) != EXIT_OK) exit(EXIT_FAILED);
    draw(&svg, user);
    struct block *block = page_append(page, DRAWING, detail, title);
    block->description = copy_text(description);
    block->width = width;
    block->height = height;
    block->drawn = svg_part_close(&svg);
}

void page_drawing_rows(struct page *page, const struct drawing_rows *rows)
{
    struct block *drawing = last(page, DRAWING);
    const int count = rows->rows * rows->columns;
    drawing->rows = rows->rows;
    drawing->columns = rows->columns;
    drawing->shown = rows->shown;
    drawing->weights = copy_memory(rows->weights, count, sizeof *rows->weights);
    if (rows->scores != NULL)
        drawing->scores = copy_memory(rows->scores, count, sizeof *rows->scores);
    if (rows->probabilities != NULL)
        drawing->probabilities =
            copy_memory(rows->probabilities, rows->rows, sizeof *rows->probabilities);
}

void page_keep_colors(struct page *page)
{
    last(page, DRAWING)->keeps_colors = true;
}

static bool is_true(double measured, enum page_relation relation, double bound)
{
    if (!isfinite(measured)) return false;
    switch (relation) {
    case AT_LEAST:
        return measured >= bound;
    case AT_MOST:
        return measured <= bound;
    case ABOVE:
        return measured > bound;
    case BELOW:
        return measured < bound;
    default:
        return measured >= bound && measured <= bound;
    }
}

static bool claim_add(struct page *page, const struct claim *claim)
{
    page->claim = xreallocarray(page->claim, (size_t)page->claims + 1, sizeof *page->claim);
    page->claim[page->claims++] = *claim;
    page->failures += !claim->holds;
    return claim->holds;
}

bool page_claim(struct page *page, const char *statement, double measured,
                enum page_relation relation, double bound)
{
    return claim_add(page, &(struct claim){.statement = copy_text(statement),
                                           .measured = measured,
                                           .relation = relation,
                                           .bound = bound,
                                           .holds = is_true(measured, relation, bound)});
}

bool page_claim_learned(struct page *page, const char *statement, double trained, double untrained,
                        enum page_relation relation, double bound)
{
    const bool refuted = isfinite(untrained) && !is_true(untrained, relation, bound);
    return claim_add(page, &(struct claim){.statement = copy_text(statement),
                                           .measured = trained,
                                           .relation = relation,
                                           .bound = bound,
                                           .learned = true,
                                           .untrained = untrained,
                                           .holds = refuted && is_true(trained, relation, bound)});
}

char *claim_text(const struct claim *claim)
{
    const char *sign = relation_signs[claim->relation];
    if (!claim->learned) return xasprintf("%.4g (%s %.4g)", claim->measured, sign, claim->bound);
    return xasprintf("%.4g (%s %.4g; untrained: %.3g)", claim->measured, sign, claim->bound,
                     claim->untrained);
}

static void free_texts(char **texts, int count)
{
    for (int i = 0; texts != NULL && i < count; i++) free(texts[i]);
    free(texts);
}

static void block_free(struct block *block)
{
    free(block->text);
    free_texts(block->cells, (1 + block->rows) * block->columns);
    free_texts(block->row_names, block->rows);
    free_texts(block->column_names, block->columns);
    free(block->weights);
    free(block->scores);
    free(block->probabilities);
    free(block->sizes);
    free(block->model);
    free(block->labels[0]);
    free(block->labels[1]);
    for (int i = 0; i < block->curves; i++) {
        free(block->curve[i].name);
        free(block->curve[i].xs);
        free(block->curve[i].ys);
    }
    free(block->curve);
    free(block->drawn);
    free(block->description);
}

void page_free(struct page *page)
{
    for (int i = 0; i < page->count; i++) block_free(&page->blocks[i]);
    for (int i = 0; i < page->claims; i++) free(page->claim[i].statement);
    free(page->blocks);
    free(page->claim);
}

/* ---- a page as JSON: claims, tables, heat maps, charts ---- */

const char *const relation_signs[] = {">=", "<=", ">", "<", "="};

static json_t *strings(char *const *texts, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++) put_item(list, json_string(texts[i]));
    return list;
}

static json_t *numbers(const double *values, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++) put_item(list, number(values[i]));
    return list;
}

static json_t *claims_json(const struct page *page)
{
    json_t *list = json_array();
    for (int i = 0; i < page->claims; i++) {
        const struct claim *claim = &page->claim[i];
        json_t *object =
            json_pack("{s:s,s:o,s:s,s:f,s:b}", "statement", claim->statement, "measured",
                      number(claim->measured), "relation", relation_signs[claim->relation], "bound",
                      claim->bound, "holds", claim->holds);
        if (claim->learned) put_member(object, "untrained", number(claim->untrained));
        put_item(list, object);
    }
    return list;
}

static json_t *table_json(const struct block *table)
{
    json_t *rows = json_array();
    for (int r = 1; r <= table->rows; r++)
        put_item(rows, strings(table->cells + r * table->columns, table->columns));
    return json_pack("{s:s,s:o,s:o}", "title", table->text, "heads",
                     strings(table->cells, table->columns), "rows", rows);
}

static json_t *map_json(const struct block *map)
{
    return json_pack("{s:s,s:o,s:o,s:o}", "title", map->text, "rows",
                     strings(map->row_names, map->rows), "columns",
                     strings(map->column_names, map->columns), "weights",
                     number_rows(map->weights, map->rows, map->columns));
}

static json_t *chart_json(const struct block *chart)
{
    json_t *curves = json_array();
    for (int i = 0; i < chart->curves; i++) {
        const struct curve *curve = &chart->curve[i];
        put_item(curves, json_pack("{s:s,s:o,s:o}", "name", curve->name, "x",
                                   numbers(curve->xs, curve->count), "y",
                                   numbers(curve->ys, curve->count)));
    }
    return json_pack("{s:s,s:s,s:s,s:o}", "title", chart->text, "x", chart->labels[0], "y",
                     chart->labels[1], "curves", curves);
}

json_t *page_json(const struct page *page)
{
    static const struct {
        enum block_kind kind;
        const char *name;
        json_t *(*make)(const struct block *block);
    } lists[] = {
        {TABLE, "tables", table_json}, {MAP, "maps", map_json}, {CHART, "charts", chart_json}};
    json_t *object = json_pack("{s:i,s:s,s:f}", "lesson", page->lesson->number, "title",
                               page->lesson->title, "seconds", page->seconds);
    put_member(object, "claims", claims_json(page));
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        json_t *list = json_array();
        for (int i = 0; i < page->count; i++)
            if (page->blocks[i].kind == lists[k].kind)
                put_item(list, lists[k].make(&page->blocks[i]));
        put_member(object, lists[k].name, list);
    }
    return object;
}
