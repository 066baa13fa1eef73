/* json.c - a page as one JSON object: claims, tables, heat maps, charts. */
#include "kit/program.h"
#include "page.h"

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
