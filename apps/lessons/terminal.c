/* terminal.c - prints a page as text of at most 80 columns, only the short blocks or all of them,
   with pauses. */
#include "kit/program.h"
#include "page.h"
#include <stdlib.h>
#include <string.h>

enum { WIDTH = HELP_COLUMNS };

static int width_of(const char *text)
{
    return text_columns((rapt_text){text, strlen(text)});
}

/* Wraps words at the right margin. Each line begins at column `left`, the first with `begin`. Short
   parentheses are not divided. */
static void put_wrapped(const char *begin, int left, const char *text)
{
    int at = width_of(begin);
    fputs(begin, stdout);
    for (bool first = true; *text; first = false) {
        size_t size = strcspn(text, " "), whole = strcspn(text, ")") + 1;
        if (*text == '(' && whole < 20 && text[whole - 1] == ')')
            size = whole + strcspn(text + whole, " ");
        int columns = text_columns((rapt_text){text, size});
        if (!first && at + 1 + columns > WIDTH) {
            printf("\n%*s", left, "");
            at = left;
        } else if (!first) {
            putchar(' ');
            at++;
        }
        printf("%.*s", (int)size, text);
        at += columns;
        text += size + (text[size] == ' ');
    }
    putchar('\n');
}

/* Writes a cell; a left-aligned one at the end of a line is not filled. */
static void put_cell(const char *text, int width, bool right, bool last)
{
    int fill = width - width_of(text);
    printf("%*s%s%*s", right && fill > 0 ? fill : 0, "", text,
           !right && !last && fill > 0 ? fill : 0, "");
}

/* cells [rows][columns]. Left-aligned are the first column and those that hold words; table may be
   NULL. */
static void put_cells(char *const *cells, int rows, int columns, const struct block *table)
{
    for (int r = 0; r < rows; r++) {
        fputs("  ", stdout);
        for (int c = 0; c < columns; c++) {
            const bool words = c == 0 || (table != NULL && table_column_is_text(table, c));
            int width = 0;
            for (int i = 0; i < rows; i++) {
                int other = width_of(cells[i * columns + c]);
                width = other > width ? other : width;
            }
            if (c > 0) fputs("  ", stdout);
            put_cell(cells[r * columns + c], width, !words, c + 1 == columns);
        }
        putchar('\n');
    }
}

static void put_map(const struct block *map)
{
    rapt_text *names = xcalloc((size_t)(map->rows + map->columns), sizeof *names);
    for (int i = 0; i < map->rows + map->columns; i++) {
        const char *name = i < map->rows ? map->row_names[i] : map->column_names[i - map->rows];
        names[i] = (rapt_text){name, strlen(name)};
    }
    struct heatmap heatmap = {map->rows, map->columns, names, names + map->rows, map->weights};
    heatmap_print(stdout, &heatmap,
                  (struct heatmap_style){.width = WIDTH, .color = heatmap_color("auto")});
    free(names);
}

/* Returns whether the names of the curves fit as heads of a table. */
static bool heads_fit(const struct block *chart, int from, int count)
{
    int width = 2 + width_of(chart->labels[0]);
    for (int i = from; i < from + count; i++) width += 2 + width_of(chart->curve[i].name);
    return width <= WIDTH;
}

/* Prints the values of curves with the same x as a table. Names that do not fit are replaced by
   letters. */
static void put_curves(const struct block *chart, int from, int count)
{
    const struct curve *curves = chart->curve + from;
    const bool fit = heads_fit(chart, from, count);
    int rows = curves[0].count + 1, columns = count + 1;
    char **cells = xcalloc((size_t)(rows * columns), sizeof *cells);
    for (int c = 0; c < columns; c++) {
        cells[c] = !fit     ? xasprintf("%c", c == 0 ? 'x' : 'A' + (c - 1) % 26)
                   : c == 0 ? xasprintf("%s", chart->labels[0])
                            : xasprintf("%s", curves[c - 1].name);
        for (int r = 1; r < rows; r++)
            cells[r * columns + c] = c == 0 ? xasprintf("%.4g", curves[0].xs[r - 1])
                                            : xasprintf("%.3g", curves[c - 1].ys[r - 1]);
    }
    put_cells(cells, rows, columns, NULL);
    if (!fit) printf("  x: %s\n", chart->labels[0]);
    for (int c = 0; c < count && !fit; c++) printf("  %c: %s\n", 'A' + c % 26, curves[c].name);
    for (int i = 0; i < rows * columns; i++) free(cells[i]);
    free(cells);
}

static void put_chart(const struct block *chart)
{
    printf("  (%s)\n", chart->labels[1]);
    for (int from = 0, to; from < chart->curves; from = to) {
        const struct curve *first = &chart->curve[from];
        for (to = from + 1; to < chart->curves && chart->curve[to].count == first->count; to++)
            if (memcmp(chart->curve[to].xs, first->xs, (size_t)first->count * sizeof *first->xs))
                break;
        put_curves(chart, from, to - from);
    }
}

static void put_block(const struct block *block)
{
    if (block->kind >= TABLE) put_wrapped("", 0, block->text);
    if (block->kind == STEP) {
        printf("-- %s\n", block->text);
    } else if (block->kind == PARAGRAPH) {
        put_wrapped("", 0, block->text);
    } else if (block->kind == FORMULA) {
        char *text = formula_text(block->text);
        put_wrapped("    ", 8, text);
        free(text);
    } else if (block->kind == TABLE) {
        put_cells(block->cells, 1 + block->rows, block->columns, block);
    } else if (block->kind == MAP) {
        put_map(block);
    } else if (block->kind == CHART) {
        put_chart(block);
    } else {
        put_wrapped("  ", 2, block->description);
    }
}

void terminal_title(const struct page *page)
{
    printf("Lesson %d. %s\n", page->lesson->number, page->lesson->title);
    put_wrapped("", 0, page->lesson->summary);
    fflush(stdout);
}

static void wait_for_enter(void)
{
    int c;
    fputs("[Enter]", stdout);
    fflush(stdout);
    do c = getchar();
    while (c != '\n' && c != EOF);
}

void terminal_print(const struct page *page, struct terminal *terminal)
{
    for (; terminal->printed < page->count; terminal->printed++) {
        const struct block *block = &page->blocks[terminal->printed];
        if (block->detail == MORE && !terminal->more) continue;
        if (block->kind == STEP && terminal->pause) wait_for_enter();
        putchar('\n');
        put_block(block);
    }
    fflush(stdout);
}

void terminal_claims(const struct page *page)
{
    puts("\nClaims");
    for (int i = 0; i < page->claims; i++) {
        const struct claim *claim = &page->claim[i];
        char *measured = claim_text(claim);
        char *text = xasprintf("%s: %s", claim->statement, measured);
        put_wrapped(claim->holds ? "yes  " : "NO   ", 5, text);
        free(measured);
        free(text);
    }
}
