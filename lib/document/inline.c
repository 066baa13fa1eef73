/* inline.c - reads text with markup within a block, for several formats. */
#include "document/document.h"
#include "document/markup.h"

#include <string.h>

static const rapt_text none = {"", 0};

bool rapt__markup_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

void rapt__read_words(struct format_reader *r, const char *stops)
{
    enum { RUN = 512 }; /* bytes, so that a block ends soon after it is full */
    const char *bytes = r->document.bytes;
    size_t at = r->at, limit = rapt__min_size(r->end, at + RUN);
    const bool space = rapt__markup_space(bytes[at]);
    at++;
    while (at < limit && rapt__markup_space(bytes[at]) == space &&
           (bytes[at] == 0 || !strchr(stops, bytes[at])))
        at++;
    limit = rapt__min_size(r->end, limit + 3);
    while (!space && at - r->at >= RUN && at < limit && rapt__utf8_continues(bytes[at])) at++;
    const rapt_span span = {r->at, at};
    r->at = at;
    if (space)
        rapt__block_space(&r->block, span);
    else
        rapt__block_copy(&r->block, span);
}

void rapt__read_point(struct format_reader *r, size_t end)
{
    rapt__block_mark(&r->block, MARK_POINT, (rapt_span){r->at, end}, none, none);
    r->at = end;
}

void rapt__read_reference(struct format_reader *r, bool xml)
{
    uint32_t code = 0;
    char bytes[4];
    const size_t size = rapt__reference_read(r->document, r->at, xml, &code);
    const rapt_span span = {r->at, r->at + (size > 0 ? size : 1)};
    const bool shown = code != 0 && code != 0xAD && (code < 0x200B || code > 0x200F);
    if (size > 0 && !shown) {
        rapt__read_point(r, span.end);
        return;
    }
    r->at = span.end;
    if (size == 0)
        rapt__block_copy(&r->block, span);
    else
        rapt__block_text(&r->block, (rapt_text){bytes, rapt__utf8_encode(code, bytes)}, span);
}

bool rapt__read_loose_tag(struct format_reader *r)
{
    uint32_t code;
    const struct tag tag = rapt__tag_read(r->document, r->at, false);
    const size_t reference = rapt__reference_read(r->document, r->at, false, &code);
    if (tag.kind != TAG_NONE && tag.ended && tag.span.end <= r->end) {
        const enum mark_kind kind = tag.kind == TAG_OPEN    ? MARK_OPEN
                                    : tag.kind == TAG_CLOSE ? MARK_CLOSE
                                                            : MARK_POINT;
        rapt__block_mark(&r->block, kind, tag.span, tag.name, none);
        r->at = tag.span.end;
        return true;
    }
    if (reference == 0 || r->at + reference > r->end) return false;
    rapt__read_point(r, r->at + reference);
    return true;
}

/* ---- placeholders ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns the end of a name in brackets, such as {name} or (name), or `at`. */
static size_t bracket_end(rapt_text text, size_t at, size_t limit, char closing)
{
    enum { LONGEST = 40 };
    size_t end = at + 1;
    while (end < limit && end - at < LONGEST &&
           (is_digit(text.bytes[end]) || text.bytes[end] == '_' || text.bytes[end] == '.' ||
            (text.bytes[end] | 0x20) >= 'a') &&
           (text.bytes[end] | 0x20) <= 'z')
        end++;
    return end < limit && text.bytes[end] == closing ? end + 1 : at;
}

/* Returns the end of a directive of printf, such as %1$-5.2lf, or `at`. Sets *numbered. */
static size_t directive_end(rapt_text text, size_t at, size_t limit, bool *numbered)
{
    size_t i = at + 1;
    *numbered = true;
    if (i < limit && text.bytes[i] == '%') return i + 1;
    if (i < limit && text.bytes[i] == '{') {
        const size_t end = bracket_end(text, i, limit, '}');
        return end > i ? end : at;
    }
    if (i < limit && text.bytes[i] == '(') {
        const size_t end = bracket_end(text, i, limit, ')');
        if (end == i) return at;
        i = end;
    } else {
        size_t digits = i;
        while (digits < limit && is_digit(text.bytes[digits])) digits++;
        *numbered = digits > i && digits < limit && text.bytes[digits] == '$';
        if (*numbered) i = digits + 1;
    }
    while (i < limit && text.bytes[i] && strchr("-+#0'123456789.*", text.bytes[i])) i++;
    while (i < limit && text.bytes[i] && strchr("hlLqjzt", text.bytes[i])) i++;
    return i < limit && text.bytes[i] && strchr("diouxXeEfFgGaAcsCSpmn@", text.bytes[i]) ? i + 1
                                                                                         : at;
}

bool rapt__read_placeholder(struct format_reader *r)
{
    bool numbered = true;
    size_t end = r->at;
    if (r->document.bytes[r->at] == '%')
        end = directive_end(r->document, r->at, r->end, &numbered);
    else if (r->document.bytes[r->at] == '{')
        end = bracket_end(r->document, r->at, r->end, '}');
    if (end == r->at) return false;
    const rapt_text text = {r->document.bytes + r->at, end - r->at};
    rapt__block_mark(&r->block, MARK_GUARD, (rapt_span){r->at, end},
                     numbered ? none : (rapt_text){"%", 1}, text);
    r->at = end;
    return true;
}
