/* markdown_inline.c - reads the contents of a Markdown block: emphasis, links, code, HTML,
   templates and escapes. Also escapes translations. */
#include "document/document.h"

#include <string.h>

static const rapt_text none = {"", 0};

static bool is_punctuation(char c)
{
    return c > ' ' && c < 0x7F && !(c >= '0' && c <= '9') &&
           !((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static size_t run_length(rapt_text text, size_t at, size_t end)
{
    size_t size = 1;
    while (at + size < end && text.bytes[at + size] == text.bytes[at]) size++;
    return size;
}

/* ---- code ---- */

/* Reads code between two runs of the same number of backticks. Returns false if there is no second
   run. */
static bool read_code(struct format_reader *r)
{
    enum { LONGEST = 128 };
    const rapt_text text = r->document;
    const size_t ticks = run_length(text, r->at, r->end), begin = r->at + ticks;
    size_t at = begin;
    for (size_t size; at < r->end; at += size) {
        size = text.bytes[at] == '`' ? run_length(text, at, r->end) : 1;
        if (text.bytes[at] == '`' && size == ticks) break;
    }
    if (at >= r->end) return false;
    const rapt_span span = rapt__trimmed(text, (rapt_span){begin, at});
    rapt_text code = {text.bytes + span.begin, span.end - span.begin};
    bool plain = code.size > 0 && code.size <= LONGEST && rapt_utf8_valid(code) == code.size;
    for (size_t i = 0; plain && i < code.size; i++) plain = (unsigned char)code.bytes[i] >= ' ';
    if (!plain) {
        rapt__read_point(r, at + ticks);
        return true;
    }
    rapt__block_mark(&r->block, MARK_GUARD, (rapt_span){r->at, at + ticks}, none, code);
    r->at = at + ticks;
    return true;
}

/* ---- emphasis ---- */

/* Returns the class of a character next to a run: 0 for white space, 1 for punctuation, 2 for other
   characters. */
static int side(uint32_t c)
{
    if (rapt__utf8_space(c)) return 0;
    return rapt__is_letter(c) || (c >= '0' && c <= '9') ? 2 : 1;
}

/* Returns the last unpaired opening mark whose name begins with c, or NULL. */
static struct mark *last_open(struct text_block *b, char c)
{
    for (size_t i = b->mark_count; i-- > 0;) {
        struct mark *m = &b->marks[i];
        if (m->kind == MARK_OPEN && m->partner == NO_PARTNER && m->name.bytes[0] == c) return m;
    }
    return NULL;
}

/* Reads a run of *, _ or ~ by the rules for delimiters that open and close emphasis (CommonMark
   6.2). */
static void read_emphasis(struct format_reader *r)
{
    const rapt_text text = r->document;
    const char c = text.bytes[r->at];
    size_t size = run_length(text, r->at, r->end), next = r->at + size, start = 0;
    const uint32_t before_code = r->at > 0 ? rapt__character_before(text, r->at, &start) : ' ';
    const uint32_t after_code = next < r->end ? rapt__utf8_next(text.bytes, r->end, &next) : ' ';
    const int before = side(before_code), after = side(after_code);
    bool opens = after == 2 || (after == 1 && before < 2);
    bool closes = before == 2 || (before == 1 && after < 2);
    const struct mark *open;
    if (c == '_' && before == 2 && after == 2) opens = closes = false; /* within a word */
    while (closes && size > 0 && (open = last_open(&r->block, c)) && open->name.size <= size) {
        const rapt_span span = {r->at, r->at + open->name.size};
        size -= open->name.size;
        rapt__block_mark(&r->block, MARK_CLOSE, span, open->name, none);
        r->at = span.end;
        opens = false;
    }
    const rapt_span rest = {r->at, r->at + size};
    r->at = rest.end;
    if (size == 0) return;
    if (opens && (c != '~' || size == 2))
        rapt__block_mark(&r->block, MARK_OPEN, rest, (rapt_text){text.bytes + rest.begin, size},
                         none);
    else
        rapt__block_copy(&r->block, rest);
}

/* ---- links ---- */

/* Returns the offset of the bracket that closes the one at `at`, or `end` if it is not closed
   within LONGEST bytes. */
static size_t closing_bracket(rapt_text text, size_t at, size_t end)
{
    enum { LONGEST = 2000 }; /* bytes; a bound that keeps the time linear */
    size_t depth = 0;
    for (size_t i = at; i < end && i - at < LONGEST; i++) {
        const char c = text.bytes[i];
        if (c == '\\') i++;
        if (c == '[') depth++;
        if (c == ']' && --depth == 0) return i;
    }
    return end;
}

/* Returns the end of the link destination and title in parentheses at `at`, or `at` if there are
   none. */
static size_t address_end(rapt_text text, size_t at, size_t end)
{
    enum { LONGEST = 2000 };
    size_t depth = 0;
    char quote = 0;
    if (at >= end || text.bytes[at] != '(') return at;
    for (size_t i = at; i < end && i - at < LONGEST; i++) {
        const char c = text.bytes[i];
        if (c == '\\')
            i++;
        else if (quote)
            quote = c == quote ? 0 : quote;
        else if (c == '<')
            quote = '>';
        else if ((c == '"' || c == '\'') && (text.bytes[i - 1] == ' ' || text.bytes[i - 1] == '\n'))
            quote = c;
        else if (c == '(')
            depth++;
        else if (c == ')' && --depth == 0)
            return i + 1;
    }
    return at;
}

/* Returns the end of the link destination or label that follows the bracket at `close`, or `close`
   if neither follows, in which case the bracket does not end a link. */
static size_t link_end(rapt_text text, size_t close, size_t end)
{
    const size_t at = close + 1, address = address_end(text, at, end);
    if (close >= end) return close;
    if (address > at) return address;
    if (at + 1 < end && text.bytes[at] == '[' && text.bytes[at + 1] != ']') {
        const size_t label = closing_bracket(text, at, end);
        return label < end ? label + 1 : close;
    }
    return close;
}

/* Returns true if the document may define links, that is, if it contains "]:" anywhere. */
static bool defines_links(struct format_reader *r)
{
    const rapt_text text = r->document;
    for (size_t i = 0; r->state[MARKDOWN_DEFINES] == 0 && i + 1 < text.size; i++)
        if (text.bytes[i] == ']' && text.bytes[i + 1] == ':') r->state[MARKDOWN_DEFINES] = 2;
    if (r->state[MARKDOWN_DEFINES] == 0) r->state[MARKDOWN_DEFINES] = 1;
    return r->state[MARKDOWN_DEFINES] == 2;
}

/* Reads the [ or ![ that begins a link, or a whole reference that must not change, such as [label]
   or [^note]. Returns false if the bracket is text. */
static bool read_link(struct format_reader *r)
{
    const rapt_text text = r->document;
    const size_t image = text.bytes[r->at] == '!', open = r->at + image;
    const size_t close = closing_bracket(text, open, r->end), link = link_end(text, close, r->end);
    const rapt_text label = {text.bytes + open + 1, close < r->end ? close - open - 1 : 0};
    if (close >= r->end) return false;
    if (link > close) {
        const rapt_span span = {r->at, open + 1};
        rapt__block_mark(&r->block, MARK_OPEN, span, (rapt_text){text.bytes + open, 1}, none);
        r->at = span.end;
        return true;
    }
    const bool collapsed = close + 2 < r->end && memcmp(text.bytes + close + 1, "[]", 2) == 0;
    const size_t end = close + (collapsed ? 3 : 1);
    if (label.size > 0 && label.bytes[0] == '^') {
        rapt__read_point(r, end);
        return true;
    }
    if (label.size == 0 || label.size > 100 || memchr(label.bytes, '\n', label.size) ||
        rapt_utf8_valid(label) < label.size || (!collapsed && !defines_links(r)))
        return false;
    const rapt_span trimmed = rapt__trimmed(label, (rapt_span){0, label.size});
    if (trimmed.end - trimmed.begin < label.size) return false;
    rapt__block_mark(&r->block, MARK_GUARD, (rapt_span){r->at, end}, none, label);
    r->at = end;
    return true;
}

/* Reads the ] that ends a link, with its destination or label. Returns false if the bracket is
   text. */
static bool read_link_end(struct format_reader *r)
{
    const size_t end = link_end(r->document, r->at, r->end);
    const struct mark *open = last_open(&r->block, '[');
    if (end == r->at || !open) return false;
    rapt__block_mark(&r->block, MARK_CLOSE, (rapt_span){r->at, end}, open->name, none);
    r->at = end;
    return true;
}

/* ---- HTML and templates ---- */

/* Reads an autolink: an address in angle brackets that contains : or @ but no white space. Returns
   false if there is none. */
static bool read_autolink(struct format_reader *r)
{
    const rapt_text text = r->document;
    bool address = false;
    for (size_t at = r->at + 1; at < r->end && at - r->at < 120; at++) {
        const char c = text.bytes[at];
        if (c == '>' && address) {
            const rapt_text link = {text.bytes + r->at + 1, at - r->at - 1};
            if (rapt_utf8_valid(link) < link.size) return false;
            rapt__block_mark(&r->block, MARK_GUARD, (rapt_span){r->at, at + 1}, none, link);
            r->at = at + 1;
            return true;
        }
        if ((unsigned char)c <= ' ' || c == '<' || c == '>' || c == '"') return false;
        address = address || c == ':' || c == '@';
    }
    return false;
}

/* Reads an HTML tag. Sets *ends to true if it ends the block. Returns false if it is text. */
static bool read_html(struct format_reader *r, bool *ends)
{
    const struct tag tag = rapt__tag_read(r->document, r->at, false);
    const size_t size = r->document.size;
    const bool block = rapt__html_is_block(&tag);
    const bool first = r->block.text.size == 0 && r->block.mark_count == 0;
    if (tag.kind == TAG_NONE || !tag.ended) return false;
    if (tag.kind != TAG_OTHER && !rapt__tag_is_strict(r->document, &tag)) return false;
    if (tag.span.end > r->end && !(first && (block || tag.kind == TAG_OTHER))) return false;
    if (!block) r->document.size = rapt__max_size(r->end, tag.span.end);
    *ends = rapt__html_tag(r, &tag);
    r->document.size = size;
    return true;
}

/* Reads a template expression, {{ }} or {% %}. Returns false if there is none. */
static bool read_template(struct format_reader *r)
{
    const rapt_text text = r->document;
    const char kind = r->at + 1 < r->end ? text.bytes[r->at + 1] : 0;
    for (size_t at = r->at + 2; (kind == '{' || kind == '%') && at + 1 < r->end; at++)
        if (text.bytes[at] == (kind == '{' ? '}' : '%') && text.bytes[at + 1] == '}') {
            rapt__read_point(r, at + 2);
            return true;
        }
    return false;
}

/* Reads a backslash and the punctuation that it escapes. Returns true if a line break follows,
   which is then hard and ends the block. */
static bool read_escape(struct format_reader *r)
{
    const size_t next = r->at + 1;
    const char c = next < r->end ? r->document.bytes[next] : 0;
    if (c == '\n' || c == '\r') {
        r->at = next;
        return true;
    }
    if (is_punctuation(c))
        rapt__block_text(&r->block, (rapt_text){r->document.bytes + next, 1},
                         (rapt_span){r->at, next + 1});
    else
        rapt__block_copy(&r->block, (rapt_span){r->at, next});
    r->at = is_punctuation(c) ? next + 1 : next;
    return false;
}

bool rapt__markdown_inline(struct format_reader *r)
{
    const char *at = r->document.bytes + r->at;
    const bool image = *at == '!' && r->at + 1 < r->end && at[1] == '[';
    bool ends = false;
    if (*at == '\\') return read_escape(r);
    if (*at == '*' || *at == '_' || *at == '~') {
        read_emphasis(r);
        return false;
    }
    if (*at == '`' && read_code(r)) return false;
    if ((*at == '[' || image) && read_link(r)) return false;
    if (*at == ']' && read_link_end(r)) return false;
    if (*at == '<' && (read_autolink(r) || read_html(r, &ends))) return ends;
    if (*at == '{' && read_template(r)) return false;
    if (*at == '&')
        rapt__read_reference(r, false);
    else if (*at == '`') { /* a run that does not begin code */
        const size_t end = r->at + run_length(r->document, r->at, r->end);
        rapt__block_copy(&r->block, (rapt_span){r->at, end});
        r->at = end;
    } else
        rapt__read_words(r, "\\*_~`[]!<{&\n\r");
    return false;
}

/* ---- writing ---- */

/* Returns true if a character of a translation might be parsed as markup. `first` is true for text
   at the beginning of a sentence, where a block may begin. */
static bool needs_escape(rapt_text text, size_t at, bool first)
{
    const char c = text.bytes[at], next = at + 1 < text.size ? text.bytes[at + 1] : ' ';
    const char before = at > 0 ? text.bytes[at - 1] : ' ';
    uint32_t code;
    if (c == 0) return false;
    if (strchr("\\`*[]<|", c)) return true;
    if (c == '_' || c == '~' || c == '{')
        return is_punctuation(before) || is_punctuation(next) || before == ' ' || next == ' ';
    if (c == '&') return rapt__reference_read(text, at, false, &code) > 0;
    if (!first) return false;
    if (at == 0) return strchr("#>-+=", c) != NULL;
    bool number = c == '.' || c == ')';
    for (size_t i = 0; i < at; i++) number = number && text.bytes[i] >= '0' && text.bytes[i] <= '9';
    return number;
}

void rapt__markdown_write(struct buffer *out, rapt_text text)
{
    const bool first = out->size == 0;
    size_t done = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (!needs_escape(text, i, first)) continue;
        rapt__buffer_add(out, (rapt_text){text.bytes + done, i - done});
        rapt__buffer_add(out, (rapt_text){"\\", 1});
        done = i;
    }
    rapt__buffer_add(out, (rapt_text){text.bytes + done, text.size - done});
}
