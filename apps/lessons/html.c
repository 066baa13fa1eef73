/* html.c - writes pages as HTML: one self-contained file per lesson, with style, pictures and a
   script that it can be read without, an index and a glossary. A single short formula is placed
   beside the picture that follows it. */
#define _POSIX_C_SOURCE 200809L
#include "kit/program.h"
#include "page.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char style[] =
    ":root{color-scheme:light dark;--ink:#222;--paper:#fff;--line:#d0d0d0;--soft:#f4f5f7;"
    "--link:#0b57d0;--good:#006e4e;--bad:#b3261e}"
    "@media (prefers-color-scheme:dark){:root{--ink:#e4e4e4;--paper:#191919;--line:#444;"
    "--soft:#232528;--link:#8ab4f8;--good:#6dd5ae;--bad:#ffb4ab}"
    "figure svg{filter:invert(.9) hue-rotate(180deg)}figure.colors svg{filter:none}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;max-width:62rem;padding:1rem;background:var(--paper);color:var(--ink);"
    "font:1.05rem/1.55 system-ui,Helvetica,Arial,'DejaVu Sans',sans-serif;"
    "overflow-wrap:break-word}"
    "h1{font-size:1.7rem;line-height:1.2;margin:.6rem 0}h2{font-size:1.2rem;margin:2rem 0 .5rem}"
    "a{color:var(--link)}nav{display:flex;flex-wrap:wrap;gap:.4rem 1.5rem;font-size:.95rem}"
    "nav .next{margin-left:auto}.summary{font-size:1.15rem}p{max-width:44rem}"
    ".formula{overflow-x:auto;overflow-y:hidden;padding:.5rem 0;font-size:1.15rem;max-width:100%}"
    "math{math-style:normal;font-family:'STIX Two Math','Cambria Math','Latin Modern Math',"
    "'DejaVu Math TeX Gyre',math}"
    ".beside{display:grid;grid-template-columns:minmax(0,1fr);gap:0 1.5rem;align-items:center}"
    "@media (min-width:52rem){.beside{grid-template-columns:minmax(0,2fr) minmax(0,3fr)}}"
    "figure{margin:1rem 0;max-width:100%}figcaption{font-weight:600;margin-bottom:.4rem}"
    "figure svg{display:block;max-width:100%;height:auto;border-radius:6px}"
    ".scroll{overflow-x:auto;max-width:100%}"
    /* A shadow at an edge shows that there is more beyond it. */
    ".scroll,.formula{background:linear-gradient(90deg,var(--paper) 40%,transparent) left/2.5rem "
    "100% no-repeat local,linear-gradient(270deg,var(--paper) 40%,transparent) right/2.5rem 100% "
    "no-repeat local,linear-gradient(90deg,#8888,transparent) left/.7rem 100% no-repeat scroll,"
    "linear-gradient(270deg,#8888,transparent) right/.7rem 100% no-repeat scroll}"
    "pre{font-size:.85rem;line-height:1.4;margin:.5rem 0;padding:.5rem 0}"
    "dt{font-weight:600;margin-top:.8rem}dd{margin:0;max-width:44rem}li{max-width:44rem}"
    "summary{cursor:pointer;color:var(--link)}sub,sup{line-height:0}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.95rem}"
    "th,td{border-bottom:1px solid var(--line);padding:.3rem .7rem;text-align:right;"
    "white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left;padding-left:0;white-space:normal;"
    "min-width:7.5rem}"
    "th.words,td.words{text-align:left;white-space:normal}"
    "@media (max-width:40rem){figure.chart svg "
    "text{font-size:16px}table{font-size:.85rem}th,td{padding:.3rem .35rem}"
    "th:first-child,td:first-child{min-width:5.5rem}}"
    ".claim{background:var(--soft);border-left:4px solid var(--good);padding:.5rem .8rem;"
    "margin:.6rem 0}.claim.fails{border-color:var(--bad)}.claim b{color:var(--good)}"
    ".claim.fails b{color:var(--bad)}.claim span{white-space:nowrap}@media "
    "(max-width:40rem){.claim span{white-space:normal}}"
    "ol.lessons{list-style:none;padding:0}ol.lessons li{margin:1rem 0}"
    ".play{margin:.6rem 0;max-width:44rem}.play .controls{display:flex;flex-wrap:wrap;gap:.4rem "
    ".8rem;align-items:center;margin:.4rem 0}"
    ".play button,.play select,.play input{font:inherit;font-size:.95rem;color:inherit;background:"
    "var(--soft);border:1px solid var(--line);border-radius:6px;padding:.2rem "
    ".55rem;max-width:100%;box-sizing:border-box}"
    ".play label{max-width:100%}.play input[type=text]{width:22rem}.play "
    "input[type=range]{padding:0;vertical-align:middle}"
    ".play output{display:inline-block;min-width:6.5rem;padding-left:.4rem}"
    ".play .words{display:flex;overflow-x:auto;max-width:100%}.play .words>div{display:flex;"
    "flex-direction:column;flex:none}"
    "figure .play .words svg{flex:none;filter:none;max-width:none;border-radius:0}"
    ".play line{stroke:var(--link)}.frame{fill:none;stroke:#C05000;stroke-width:2.5}"
    ".play .words button{height:30px;margin:2px 0;padding:0 .5rem;white-space:nowrap;line-height:1}"
    ".play .row button{text-align:right}.play .column button{text-align:left}"
    ".play .words button.now{border-color:var(--link);font-weight:600}.play button.later{opacity:"
    ".35}"
    ".play .words button[data-weight]:not([data-weight=''])::after{content:' \\00b7 ' "
    "attr(data-weight);font-size:.8rem}"
    ".play .report{margin:.3rem 0;min-height:3.1em;font-size:.95rem}.play .answer{margin:.3rem 0;"
    "font-weight:600}"
    "ol.lessons a{font-weight:600;font-size:1.1rem}";

static void put_head(FILE *file, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          file);
    xml_escape(file, title);
    fprintf(file, "</title>\n<style>%s</style>\n</head>\n<body>\n", style);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_part_of_name(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '^';
}

/* Returns true if a letter with an index or exponent of one character is at `at`. */
static bool has_index(const char *text, const char *at)
{
    return is_letter(at[0]) && (at == text || !is_part_of_name(at[-1])) &&
           (at[1] == '_' || at[1] == '^') && is_part_of_name(at[2]) && at[2] != at[1] &&
           !is_part_of_name(at[3]);
}

void html_text(FILE *file, const char *text)
{
    const char *from = text;
    for (const char *at = text;; at++) {
        const bool index = *at != 0 && has_index(text, at);
        if (*at != 0 && !index) continue;
        char *before = xasprintf("%.*s", (int)(at - from), from);
        xml_escape(file, before);
        free(before);
        if (!index) return;
        const char *element = at[1] == '_' ? "sub" : "sup";
        fprintf(file, "<i>%c</i><%s>%c</%s>", at[0], element, at[2], element);
        at += 2;
        from = at + 1;
    }
}

void html_element(FILE *file, const char *element, const char *text)
{
    fprintf(file, "<%s>", element);
    html_text(file, text);
    fprintf(file, "</%s>\n", element);
}

static void put_picture(FILE *file, const struct page *page, const struct block *block)
{
    struct svg svg;
    double width, height;
    picture_size(block, &width, &height);
    if (svg_part_open(&svg, width, height) != EXIT_OK) exit(EXIT_FAILED);
    picture_draw(&svg, block);
    char *part = svg_part_close(&svg);
    const char *kind = block->keeps_colors ? "colors" : block->kind == CHART ? "chart" : "drawn";
    fprintf(file, "<figure class=\"%s\"><figcaption>", kind);
    html_text(file, block->text);
    fprintf(file,
            "</figcaption><svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
            "viewBox=\"0 0 %g %g\" font-family=\"Helvetica, Arial, DejaVu Sans, sans-serif\" "
            "role=\"img\" aria-label=\"",
            width, height, width, height);
    xml_escape(file, block->text);
    if (block->description != NULL) {
        fputs(". ", file);
        xml_escape(file, block->description);
    }
    fprintf(file, "\"><rect width=\"%g\" height=\"%g\" fill=\"white\"/>\n%s</svg>\n", width, height,
            part);
    free(part);
    play_picture(file, page, block);
    fputs("</figure>\n", file);
}

static void put_table(FILE *file, const struct block *table)
{
    fputs("<figure><figcaption>", file);
    html_text(file, table->text);
    fputs("</figcaption><div class=\"scroll\"><table>\n", file);
    for (int r = 0; r <= table->rows; r++) {
        fputs("<tr>", file);
        for (int c = 0; c < table->columns; c++) {
            const char *words = table_column_is_text(table, c) ? " class=\"words\"" : "";
            fprintf(file, r == 0 ? "<th%s>" : "<td%s>", words);
            html_text(file, table->cells[r * table->columns + c]);
            fputs(r == 0 ? "</th>" : "</td>", file);
        }
        fputs("</tr>\n", file);
    }
    fputs("</table></div></figure>\n", file);
}

/* Writes the claims, below the text that they belong to. */
static void put_claims(FILE *file, const struct page *page)
{
    html_element(file, "h2", "Claims");
    html_element(file, "p",
                 "The program checked these claims when it made the page. If a claim is about "
                 "something learned, the same measure is also taken on the network before "
                 "training, where the claim must be false.");
    for (int i = 0; i < page->claims; i++) {
        const struct claim *claim = &page->claim[i];
        char *measured = claim_text(claim);
        fprintf(file, "<p class=\"claim%s\"><b>%s</b> ", claim->holds ? "" : " fails",
                claim->holds ? "\u2713" : "\u2717 fails:");
        html_text(file, claim->statement);
        fputs(": <span>", file);
        xml_escape(file, measured);
        fputs("</span></p>\n", file);
        free(measured);
    }
}

static void put_formula(FILE *file, const struct block *block)
{
    fputs("<div class=\"formula\">", file);
    formula_mathml(file, block->text);
    fputs("</div>\n", file);
}

/* True for a short formula before a picture, unless another formula is before it. */
static bool stands_beside(const struct page *page, int i)
{
    enum { MOST = 36 }; /* columns of the formula as text: more are cut beside a picture */
    const struct block *block = &page->blocks[i];
    if (block->kind != FORMULA || i + 1 == page->count || !block_is_picture(block + 1) ||
        (i > 0 && block[-1].kind == FORMULA))
        return false;
    char *text = formula_text(block->text);
    const bool fits = text_columns((rapt_text){text, strlen(text)}) <= MOST;
    free(text);
    return fits;
}

/* Says how to read the maps of a page, if it has any. */
static void put_map_note(FILE *file, const struct page *page)
{
    int i = 0;
    while (i < page->count && page->blocks[i].kind != MAP) i++;
    if (i == page->count) return;
    html_element(
        file, "p",
        "How to read a map: each row shows how one query divides its weight among the columns or, "
        "in a map of influences, how the influence on one word is divided. Numbers are in per cent "
        "and are left out below 10. Shades are relative to the largest number of the row, so "
        "different rows can only be compared by their numbers.");
}

/* Writes the blocks from *i on; a formula may take the picture after it along. */
static void put_block(FILE *file, const struct page *page, int *i)
{
    const struct block *block = &page->blocks[*i];
    const bool beside = stands_beside(page, *i);
    if (beside) fputs("<div class=\"beside\">\n", file);
    if (block->kind == STEP)
        html_element(file, "h2", block->text);
    else if (block->kind == PARAGRAPH)
        html_element(file, "p", block->text);
    else if (block->kind == FORMULA)
        put_formula(file, block);
    else if (block->kind == TABLE)
        put_table(file, block);
    else
        put_picture(file, page, block);
    if (beside) {
        put_picture(file, page, block + 1);
        fputs("</div>\n", file);
        ++*i;
    }
}

static void put_link(FILE *file, const struct lesson *lesson, const char *class, const char *before,
                     const char *after)
{
    fprintf(file, "<a class=\"%s\" href=\"lesson-%d.html\">%s%d. ", class, lesson->number, before,
            lesson->number);
    xml_escape(file, lesson->title);
    fprintf(file, "%s</a>\n", after);
}

static void put_navigation(FILE *file, const struct page *pages, int count, int p)
{
    fputs("<nav>\n<a href=\"index.html\">All lessons</a>\n<a "
          "href=\"glossary.html\">Glossary</a>\n",
          file);
    if (p > 0) put_link(file, pages[p - 1].lesson, "before", "\u2190 ", "");
    if (p + 1 < count) put_link(file, pages[p + 1].lesson, "next", "", " \u2192");
    fputs("</nav>\n", file);
}

static void put_page(FILE *file, const struct page *pages, int count, int p)
{
    const struct page *page = &pages[p];
    char *title = xasprintf("%d. %s", page->lesson->number, page->lesson->title);
    put_head(file, title);
    put_navigation(file, pages, count, p);
    html_element(file, "h1", title);
    free(title);
    fputs("<p class=\"summary\">", file);
    html_text(file, page->lesson->summary);
    fputs("</p>\n", file);
    put_map_note(file, page);
    for (int i = 0; i < page->count; i++) put_block(file, page, &i);
    put_claims(file, page);
    html_exercises(file, page->lesson->number);
    html_sources(file, page->lesson->number);
    put_navigation(file, pages, count, p);
    play_end(file, page);
    fputs("</body>\n</html>\n", file);
}

static void put_index(FILE *file, const struct page *pages, int count, int p)
{
    (void)p;
    put_head(file, "Attention, lesson by lesson");
    html_element(file, "h1", "Attention, lesson by lesson");
    html_element(
        file, "p",
        "From one vector that holds a whole sentence to networks that consist of attention only, "
        "and on to what has changed in them since. rapt computed every number and picture when "
        "these pages were made, and checked each claim.");
    fputs("<ol class=\"lessons\">\n", file);
    for (int i = 0; i < count; i++) {
        const struct page *page = &pages[i];
        fputs("<li>", file);
        put_link(file, page->lesson, "lesson", "", "");
        fputs("<br>", file);
        xml_escape(file, page->lesson->summary);
        fprintf(file, " <i>%d of %d claims hold.</i></li>\n", page->claims - page->failures,
                page->claims);
    }
    fputs("</ol>\n<p>Words are explained in the <a href=\"glossary.html\">glossary</a>.</p>\n"
          "</body>\n</html>\n",
          file);
}

static void put_glossary(FILE *file, const struct page *pages, int count, int p)
{
    (void)pages, (void)count, (void)p;
    put_head(file, "Glossary");
    fputs("<nav>\n<a href=\"index.html\">All lessons</a>\n</nav>\n", file);
    html_element(file, "h1", "Glossary");
    html_glossary(file);
    fputs("</body>\n</html>\n", file);
}

typedef void put_fn(FILE *file, const struct page *pages, int count, int p);

/* Writes one file of the folder and frees its path. */
static int write_page_file(char *path, put_fn *put, const struct page *pages, int count, int p)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&bytes, &size);
    if (file == NULL) exit(failed("out of memory"));
    put(file, pages, count, p);
    int code = fclose(file) == 0 ? file_write(path, bytes, size) : failed("out of memory");
    free(bytes);
    free(path);
    return code;
}

int folder_make(const char *option, const char *folder)
{
    struct stat about;
    if (mkdir(folder, 0777) == 0) return EXIT_OK;
    int wrong = errno;
    if (stat(folder, &about) == 0 && S_ISDIR(about.st_mode)) return EXIT_OK;
    return failed("--%s %s: %s", option, folder, strerror(wrong));
}

int html_write(const char *folder, const struct page *pages, int count)
{
    int code = write_page_file(xasprintf("%s/index.html", folder), put_index, pages, count, 0);
    if (code == EXIT_OK)
        code =
            write_page_file(xasprintf("%s/glossary.html", folder), put_glossary, pages, count, 0);
    for (int p = 0; p < count && code == EXIT_OK; p++)
        code = write_page_file(xasprintf("%s/lesson-%d.html", folder, pages[p].lesson->number),
                               put_page, pages, count, p);
    return code;
}
