/* inline.c - reads text and markup within a block, for several formats. */
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
    enum { RUN = 512 }; /* bytes at a time, so that a block ends soon after it is full */
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

/* A placeholder that is being read. It may continue in the next string of a message. */
struct placeholder {
    rapt_text document;
    size_t at, limit;
    char text[64]; /* the characters read so far, without the quotation marks and line breaks
                      between strings */
    size_t size;
};

/* Returns the next character, or 0 at the end or if p->text is full. At the end of a string, first
   moves on to the next string of the message, if there is one. */
static char peek(struct placeholder *p)
{
    const char *bytes = p->document.bytes;
    size_t at = p->at;
    if (at < p->limit && bytes[at] == '"') {
        for (at++; at < p->limit && rapt__markup_space(bytes[at]);) at++;
        if (at >= p->limit || bytes[at] != '"') return 0;
        p->at = at + 1;
    }
    return p->at < p->limit && p->size < sizeof p->text ? bytes[p->at] : 0;
}

/* Reads the next character if it is in the set. */
static bool take_one(struct placeholder *p, const char *set)
{
    const char c = peek(p);
    if (c == 0 || !strchr(set, c)) return false;
    p->text[p->size++] = c;
    p->at++;
    return true;
}

#define DIGITS  "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

/* Reads a name in brackets, such as (name). */
static bool take_name(struct placeholder *p, const char *opening, const char *closing)
{
    if (!take_one(p, opening)) return false;
    while (take_one(p, DIGITS LETTERS ".")) continue;
    return take_one(p, closing);
}

/* Reads the flags and the conversion of a printf or Python directive. The letters and digits after
   %p, as in %pB, select extensions of printf, such as those in Linux and binutils. */
static bool take_conversion(struct placeholder *p)
{
    while (take_one(p, "-+#0'.*" DIGITS)) continue;
    if (peek(p) == '<') return take_name(p, "<", ">");
    while (take_one(p, "hlLqjzt")) continue;
    if (peek(p) != 'p') return take_one(p, "diouxXeEfFgGaAcrsCSmn@");
    while (take_one(p, DIGITS LETTERS)) continue;
    return true;
}

/* Reads what follows the % in a printf or Python directive, such as %1$-5.2lf, %(name)s or
   %<PRIu64>, or in a Qt or KDE argument, such as %1. Sets *numbered to false if the placeholder
   takes the next argument, otherwise to true. */
static bool take_directive(struct placeholder *p, bool *numbered)
{
    *numbered = true;
    if (take_one(p, "%")) return true;
    if (peek(p) == '{') return take_name(p, "{", "}");
    if (peek(p) == '(') return take_name(p, "(", ")") && take_conversion(p);
    while (take_one(p, DIGITS)) continue;
    const struct placeholder number = *p;
    if (p->size > 1 && take_one(p, "$")) return take_conversion(p);
    *numbered = false;
    if (take_conversion(p)) return true;
    *p = number;
    *numbered = p->size == 2 || p->size == 3;
    return *numbered;
}

/* Reads a placeholder in braces, such as {name}, {0:.2f}, {value!r} or {{name}}. Sets *numbered to
   false if it has no name and therefore takes the next argument, otherwise to true. */
static bool take_braces(struct placeholder *p, bool *numbered)
{
    if (!take_one(p, "{")) return false;
    const bool twice = take_one(p, "{");
    const size_t begin = p->size;
    while (take_one(p, DIGITS LETTERS ".[]")) continue;
    *numbered = p->size > begin;
    if (twice && !*numbered) return false;
    if (take_one(p, "!") && !take_one(p, "rsa")) return false;
    if (take_one(p, ":"))
        while (take_one(p, DIGITS LETTERS ".,<>=^+-#%?/:")) continue;
    return take_one(p, "}") && (!twice || take_one(p, "}"));
}

static bool take_any(struct placeholder *p, bool *numbered)
{
    *numbered = true;
    if (take_one(p, "%")) return take_directive(p, numbered);
    if (take_one(p, "$") && peek(p) != '{') return false;
    return take_braces(p, numbered);
}

size_t rapt__placeholder_size(rapt_text text, size_t at, bool *numbered)
{
    struct placeholder p = {.document = text, .at = at, .limit = text.size};
    return take_any(&p, numbered) ? p.at - at : 0;
}

bool rapt__read_placeholder(struct format_reader *r)
{
    struct placeholder p = {.document = r->document, .at = r->at, .limit = r->end};
    bool numbered;
    if (!take_any(&p, &numbered)) return false;
    rapt__block_mark(&r->block, MARK_GUARD, (rapt_span){r->at, p.at},
                     numbered ? none : (rapt_text){"%", 1}, (rapt_text){p.text, p.size});
    r->at = p.at;
    return true;
}
