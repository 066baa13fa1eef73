/* markdown.c - finds the blocks of Markdown (CommonMark, with GitHub's tables, strikethrough, task
   lists and footnotes): paragraphs, headings, list items and table cells. Code, link definitions
   and the front matter are kept. */
#include "document/document.h"

#include <string.h>

/* ---- lines ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static size_t skip_blanks(rapt_text text, size_t at)
{
    while (at < text.size && is_blank(text.bytes[at])) at++;
    return at;
}

/* Returns the offset after the spaces, tabs and block quote markers (>) at the beginning of a
   line. */
static size_t skip_quotes(rapt_text text, size_t at)
{
    at = skip_blanks(text, at);
    while (at < text.size && text.bytes[at] == '>') at = skip_blanks(text, at + 1);
    return at;
}

static size_t count_of(rapt_text text, size_t at, size_t end, char c)
{
    size_t count = 0;
    while (at + count < end && text.bytes[at + count] == c) count++;
    return count;
}

/* Returns the length of the code fence at `at`, such as ```, or 0 if there is none. */
static size_t fence_at(rapt_text text, size_t at)
{
    const size_t end = rapt__line_end(text, at), ticks = count_of(text, at, end, '`');
    const size_t waves = count_of(text, at, end, '~');
    if (waves >= 3) return waves;
    return ticks >= 3 && !memchr(text.bytes + at + ticks, '`', end - at - ticks) ? ticks : 0;
}

/* Returns the end of the label and colon at the beginning of a link, abbreviation or footnote
   definition, or `at` if there is none. Sets *note to true for the label of a footnote (^), whose
   text is translated, and to false for other labels. */
static size_t definition_end(rapt_text text, size_t at, bool *note)
{
    const size_t end = rapt__line_end(text, at);
    size_t i = at;
    if (i < end && text.bytes[i] == '*') i++;
    if (i == end || text.bytes[i] != '[') return at;
    *note = i + 1 < end && text.bytes[i + 1] == '^';
    while (i < end && text.bytes[i] != ']') i++;
    return i + 1 < end && text.bytes[i + 1] == ':' ? i + 2 : at;
}

/* Returns true if a line separates the header row of a table from the other rows. */
static bool is_delimiter_row(rapt_text text, size_t at)
{
    const size_t end = rapt__line_end(text, at);
    size_t dashes = 0, bars = 0;
    for (at = skip_quotes(text, at); at < end; at++) {
        const char c = text.bytes[at];
        if (c == 0 || !strchr("|:- \t", c)) return false;
        dashes += c == '-', bars += c == '|';
    }
    return dashes > 0 && bars > 0;
}

/* Returns the number of block quote markers (>) at the beginning of a line. */
static size_t count_quotes(rapt_text text, size_t at)
{
    size_t count = 0;
    for (size_t end = skip_quotes(text, at); at < end; at++) count += text.bytes[at] == '>';
    return count;
}

/* Returns true if the line at `at` continues the paragraph before it, which is nested in `quotes`
   block quotes. */
static bool continues(rapt_text text, size_t at, size_t quotes)
{
    const size_t begin = skip_quotes(text, at), end = rapt__line_end(text, begin);
    bool note = false;
    return begin < end && count_quotes(text, at) <= quotes &&
           rapt__plain_marks(text, begin) == begin && fence_at(text, begin) == 0 &&
           definition_end(text, begin, &note) == begin && !is_delimiter_row(text, begin) &&
           rapt__has_letters((rapt_text){text.bytes + begin, end - begin});
}

/* ---- kept text ---- */

/* Returns the end of the front matter, which is between two lines of --- or +++, or 0 if there is
   none. A line of ... may take the place of the second ---. */
static size_t front_matter_end(rapt_text text)
{
    const size_t end = rapt__line_end(text, 0);
    const char mark = end == 3 ? text.bytes[0] : 0;
    if ((mark != '-' && mark != '+') || count_of(text, 0, end, mark) != 3) return 0;
    for (size_t at = rapt__line_next(text, end); at < text.size;) {
        const size_t stop = rapt__line_end(text, at);
        if (stop - at == 3 && (count_of(text, at, stop, mark) == 3 ||
                               (mark == '-' && count_of(text, at, stop, '.') == 3)))
            return rapt__line_next(text, stop);
        at = rapt__line_next(text, stop);
    }
    return 0;
}

/* Returns the end of a code block whose fence of `length` characters is at `at`. A block without a
   closing fence ends with the document. */
static size_t fenced_end(rapt_text text, size_t at, size_t length)
{
    const char mark = text.bytes[at];
    for (at = rapt__line_next(text, rapt__line_end(text, at)); at < text.size;) {
        const size_t begin = skip_quotes(text, at), end = rapt__line_end(text, begin);
        const size_t count = count_of(text, begin, end, mark);
        at = rapt__line_next(text, end);
        if (count >= length && skip_blanks(text, begin + count) == end) break;
    }
    return at;
}

/* ---- blocks ---- */

/* Returns the end of the cell that begins at `at`, in a row that ends at `end`. */
static size_t cell_end(rapt_text text, size_t at, size_t end)
{
    for (; at < end && text.bytes[at] != '|'; at++)
        if (text.bytes[at] == '\\') at++;
    return rapt__min_size(at, end);
}

/* Returns the end of the paragraph whose first line is at `at`. */
static size_t paragraph_end(rapt_text text, size_t at, size_t quotes)
{
    size_t end = rapt__line_end(text, at);
    for (size_t next = rapt__line_next(text, end);
         next > end && next < text.size && continues(text, next, quotes);
         next = rapt__line_next(text, end))
        end = rapt__line_end(text, next);
    return end;
}

/* Returns the end of the text of a heading, without a closing run of #. */
static size_t heading_end(rapt_text text, size_t at)
{
    const size_t end = rapt__line_end(text, at);
    size_t last = end;
    while (last > at && is_blank(text.bytes[last - 1])) last--;
    while (last > at && text.bytes[last - 1] == '#') last--;
    return last > at && is_blank(text.bytes[last - 1]) ? last : end;
}

/* Determines the kind of a line that is not code. Moves r->at to its text, after list markers and
   the like, and sets the ends of the text and of the table row in r->state. If the line has no text
   to translate, moves r->at to the next line. */
static void read_text_line(struct format_reader *r, size_t begin, size_t end)
{
    const rapt_text text = r->document;
    const size_t quotes = count_quotes(text, r->at), line = r->at;
    size_t at = rapt__plain_marks(text, begin);
    const bool heading = at > begin && text.bytes[begin] == '#';
    bool note = false;
    if (at > begin && !heading) r->state[MARKDOWN_LIST] = at - line;
    if (at + 3 < end && text.bytes[at] == '[' && text.bytes[at + 2] == ']' &&
        text.bytes[at + 3] == ' ')
        at += 4; /* the check box of a task */
    const size_t label = definition_end(text, at, &note);
    r->at = label;
    const bool letters = rapt__has_letters((rapt_text){text.bytes + label, end - label});
    if ((label > at && !note) || !letters) {
        r->at = rapt__line_next(text, end);
        return;
    }
    const bool table =
        memchr(text.bytes + begin, '|', end - begin) &&
        (r->state[MARKDOWN_TABLE] || is_delimiter_row(text, rapt__line_next(text, end)));
    r->state[MARKDOWN_TABLE] = table;
    r->state[MARKDOWN_ROW] = table ? end : 0;
    if (table && text.bytes[r->at] == '|') r->at++;
    if (table)
        r->state[MARKDOWN_END] = cell_end(text, r->at, end);
    else
        r->state[MARKDOWN_END] =
            heading ? heading_end(text, r->at) : paragraph_end(text, r->at, quotes);
}

/* Returns true if the line at `at`, whose text begins at `begin`, is indented far enough to be
   code. `list` is the indentation of the text in the enclosing list item, or 0. */
static bool is_indented(rapt_text text, size_t at, size_t begin, size_t list)
{
    size_t blanks = 0;
    while (begin - blanks > at && text.bytes[begin - blanks - 1] == ' ') blanks++;
    const char before = begin - blanks > at ? text.bytes[begin - blanks - 1] : 0;
    return blanks >= 4 + list + (before == '>') || (before == '\t' && list == 0);
}

/* Reads a line, the front matter or a fenced code block. */
static void read_line(struct format_reader *r)
{
    const rapt_text text = r->document;
    const size_t begin = skip_quotes(text, r->at), end = rapt__line_end(text, begin);
    const bool after_blank = r->state[MARKDOWN_TEXT] == 0;
    const bool indented = is_indented(text, r->at, begin, r->state[MARKDOWN_LIST]);
    const size_t marks = rapt__plain_marks(text, begin), fence = fence_at(text, marks);
    if (r->at == 0 && (r->at = front_matter_end(text)) > 0) return;
    r->state[MARKDOWN_TEXT] = begin < end;
    if (begin == end) {
        r->state[MARKDOWN_TABLE] = 0;
        r->at = rapt__line_next(text, end);
        return;
    }
    if (begin == r->at && marks == begin && after_blank) r->state[MARKDOWN_LIST] = 0;
    if (fence > 0) {
        r->at = fenced_end(text, marks, fence);
        return;
    }
    if (indented && after_blank) {
        r->state[MARKDOWN_TEXT] = 0; /* the next line may be code, too */
        r->at = rapt__line_next(text, end);
        return;
    }
    if (r->state[MARKDOWN_TABLE] && is_delimiter_row(text, begin)) {
        r->at = rapt__line_next(text, end);
        return;
    }
    read_text_line(r, begin, end);
}

/* Moves on from the text of a block to the next cell of the row or to the next line. */
static void end_text(struct format_reader *r)
{
    if (r->state[MARKDOWN_ROW] > 0 && r->at < r->state[MARKDOWN_ROW]) {
        r->at++; /* the | */
        r->state[MARKDOWN_END] = cell_end(r->document, r->at, r->state[MARKDOWN_ROW]);
        if (r->at < r->state[MARKDOWN_ROW]) return;
    }
    r->state[MARKDOWN_ROW] = r->state[MARKDOWN_END] = 0;
    r->at = rapt__line_next(r->document, rapt__line_end(r->document, r->at));
}

/* Reads a line break in a paragraph, with the block quote markers (>) of the next line. Returns
   true if it is a hard line break, which ends the block. */
static bool read_break(struct format_reader *r)
{
    const rapt_text text = r->document;
    const size_t begin = r->at;
    const bool hard = begin >= 2 && text.bytes[begin - 1] == ' ' && text.bytes[begin - 2] == ' ';
    r->at = rapt__min_size(skip_quotes(text, rapt__line_next(text, begin)), r->end);
    if (!hard) rapt__block_space(&r->block, (rapt_span){begin, r->at});
    return hard;
}

/* Reads a block, or the rest of one. */
static void read_block(struct format_reader *r)
{
    r->end = r->state[MARKDOWN_END];
    rapt__block_clear(&r->block);
    while (r->at < r->end && !rapt__block_full(&r->block)) {
        const bool ends =
            rapt__is_break(r->document.bytes[r->at]) ? read_break(r) : rapt__markdown_inline(r);
        if (ends) break;
    }
    rapt__block_unpair(&r->block);
    if (r->at > r->end) r->state[MARKDOWN_ROW] = r->state[MARKDOWN_END] = 0; /* after HTML */
}

rapt_status rapt__markdown_next(struct format_reader *r, bool *found, rapt_message *why)
{
    *found = false;
    while (!*found && (r->state[MARKDOWN_END] > 0 || r->at < r->document.size)) {
        if (r->state[MARKDOWN_END] == 0) {
            read_line(r);
        } else if (r->at >= r->state[MARKDOWN_END]) {
            end_text(r);
        } else {
            read_block(r);
            *found = rapt__block_has_letters(&r->block, (rapt_span){0, r->block.text.size});
        }
        if (r->block.text.failed) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a block");
    }
    return RAPT_OK;
}
