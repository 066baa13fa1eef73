/* tags.c - reads tags, comments and character references of HTML and XML. HTML tags end where the
   tokenizer of the HTML Standard ends them, so any sequence of bytes is parsed as in a browser.

   libxml2 cannot do this: its HTML parser (2.9.14) reports no event for an end tag without a start
   tag, reports the elements that it inserts at the offsets of other elements, loses everything
   after the comment <!-->, and reads a document as Latin-1 from the first byte that is not valid
   UTF-8. Tags also occur in .po files, subtitles and Markdown, which it cannot parse. The tests use
   libxml2 (xmllint) to parse translated documents. */
#include "document/markup.h"

#include <stdio.h>
#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r' && c != '\v');
}

/* Returns the offset just after the next `word` and sets *found to true. If there is none, returns
   the size of the text and sets *found to false. */
static size_t after(rapt_text text, size_t at, const char *word, bool *found)
{
    const size_t size = strlen(word);
    *found = true;
    while (at + size <= text.size) {
        const char *next = memchr(text.bytes + at, word[0], text.size - at);
        if (!next) break;
        at = (size_t)(next - text.bytes);
        if (begins_at(text, at, word)) return at + size;
        at++;
    }
    *found = false;
    return text.size;
}

/* ---- tags ---- */

static bool ends_name(char c)
{
    return is_space(c) || c == '/' || c == '>';
}

struct attribute {
    rapt_text name, value;
};

/* Reads the attribute at or after *at and moves *at past it. If there are no more attributes,
   returns false with *at at the end of the tag. */
static bool next_attribute(rapt_text text, size_t *at, struct attribute *a)
{
    size_t i = *at;
    while (i < text.size && (is_space(text.bytes[i]) || text.bytes[i] == '/')) i++;
    const size_t name = i;
    *at = i;
    if (i == text.size || text.bytes[i] == '>') return false;
    for (i++; i < text.size && !ends_name(text.bytes[i]) && text.bytes[i] != '=';) i++;
    *a = (struct attribute){{text.bytes + name, i - name}, {text.bytes + i, 0}};
    for (*at = i; i < text.size && is_space(text.bytes[i]);) i++;
    if (i == text.size || text.bytes[i] != '=') return true;
    for (i++; i < text.size && is_space(text.bytes[i]);) i++;
    const char quote = i < text.size ? text.bytes[i] : 0;
    size_t begin = i, end;
    if (quote == '"' || quote == '\'') {
        const char *closing = memchr(text.bytes + i + 1, quote, text.size - i - 1);
        begin = i + 1;
        end = closing ? (size_t)(closing - text.bytes) : text.size;
        *at = closing ? end + 1 : end;
    } else {
        for (end = i; end < text.size && !is_space(text.bytes[end]) && text.bytes[end] != '>';)
            end++;
        *at = end;
    }
    a->value = (rapt_text){text.bytes + begin, end - begin};
    return true;
}

static struct tag read_comment(rapt_text text, size_t at, struct tag tag)
{
    const size_t begin = at + 4;
    if (begins_at(text, begin, ">") || begins_at(text, begin, "->")) {
        tag.span.end = begin + (text.bytes[begin] == '>' ? 1 : 2);
        return tag;
    }
    for (size_t i = begin; tag.ended;) {
        i = after(text, i, "--", &tag.ended);
        tag.span.end = i;
        if (!tag.ended) break;
        if (begins_at(text, i, ">") || begins_at(text, i, "!>")) {
            tag.span.end = i + (text.bytes[i] == '>' ? 1 : 2);
            return tag;
        }
        i--; /* a third - may end the comment */
    }
    return tag;
}

/* Returns the end of an XML document type declaration, which may have an internal subset in
   brackets. */
static size_t doctype_end(rapt_text text, size_t at, bool *ended)
{
    size_t bracket = at;
    const size_t end = after(text, at, ">", ended);
    while (bracket < end && text.bytes[bracket] != '[') bracket++;
    if (bracket == end) return end;
    const size_t subset = after(text, bracket, "]", ended);
    return *ended ? after(text, subset, ">", ended) : subset;
}

/* Reads markup that begins with <! or <?, or with </ and no name. */
static struct tag read_other(rapt_text text, size_t at, bool xml)
{
    struct tag tag = {TAG_OTHER, {at, at}, {text.bytes + at, 0}, true};
    if (begins_at(text, at, "<!--")) return read_comment(text, at, tag);
    if (xml && begins_at(text, at, "<![CDATA["))
        tag.span.end = after(text, at, "]]>", &tag.ended);
    else if (xml && begins_at(text, at, "<!DOCTYPE"))
        tag.span.end = doctype_end(text, at, &tag.ended);
    else
        tag.span.end = after(text, at, xml && begins_at(text, at, "<?") ? "?>" : ">", &tag.ended);
    return tag;
}

struct tag rapt__tag_read(rapt_text text, size_t at, bool xml)
{
    struct tag tag = {TAG_NONE, {at, at}, {text.bytes + at, 0}, false};
    struct attribute attribute;
    if (!begins_at(text, at, "<") || at + 1 == text.size) return tag;
    const char next = text.bytes[at + 1];
    const bool closes = next == '/';
    size_t i = at + 1 + closes;
    if (next == '!' || next == '?' || (closes && i < text.size && !is_alphabetic(text.bytes[i])))
        return read_other(text, at, xml);
    if (i == text.size || (!is_alphabetic(text.bytes[i]) && !(xml && text.bytes[i] == '_')))
        return tag;
    const size_t name = i;
    while (i < text.size && !ends_name(text.bytes[i])) i++;
    tag.name = (rapt_text){text.bytes + name, i - name};
    while (next_attribute(text, &i, &attribute)) continue;
    tag.ended = i < text.size;
    tag.span.end = tag.ended ? i + 1 : i;
    tag.kind = closes ? TAG_CLOSE : tag.ended && text.bytes[i - 1] == '/' ? TAG_EMPTY : TAG_OPEN;
    return tag;
}

bool rapt__tag_attribute(rapt_text document, const struct tag *tag, const char *name,
                         rapt_text *value)
{
    const rapt_text text = {document.bytes, tag->span.end};
    size_t at = (size_t)(tag->name.bytes - document.bytes) + tag->name.size;
    struct attribute a;
    while (next_attribute(text, &at, &a))
        if (rapt__same_name(a.name, name)) {
            *value = a.value;
            return true;
        }
    return false;
}

bool rapt__tag_is_strict(rapt_text document, const struct tag *tag)
{
    const rapt_text text = {document.bytes, tag->span.end};
    size_t at = (size_t)(tag->name.bytes - document.bytes) + tag->name.size;
    struct attribute a;
    for (size_t i = 0; i < tag->name.size; i++)
        if (!is_alphabetic(tag->name.bytes[i]) && !is_digit(tag->name.bytes[i]) &&
            tag->name.bytes[i] != '-')
            return false;
    while (next_attribute(text, &at, &a))
        for (size_t i = 0; i < a.name.size; i++) {
            const char c = a.name.bytes[i];
            const bool begins = is_alphabetic(c) || c == '_' || c == ':';
            if (!begins && (i == 0 || (!is_digit(c) && c != '.' && c != '-'))) return false;
        }
    return true;
}

/* ---- names ---- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

bool rapt__names_equal(rapt_text a, rapt_text b)
{
    if (a.size != b.size) return false;
    for (size_t i = 0; i < a.size; i++)
        if (lower(a.bytes[i]) != lower(b.bytes[i])) return false;
    return true;
}

bool rapt__same_name(rapt_text name, const char *word)
{
    return rapt__names_equal(name, (rapt_text){word, strlen(word)});
}

bool rapt__list_has(const char *list, rapt_text word, bool any_case)
{
    while (list) {
        size_t i = 0;
        while (i < word.size && list[i] &&
               (list[i] == word.bytes[i] || (any_case && lower(list[i]) == lower(word.bytes[i]))))
            i++;
        if (i == word.size && i > 0 && (list[i] == ' ' || !list[i])) return true;
        const char *space = strchr(list + i, ' ');
        list = space ? space + 1 : NULL;
    }
    return false;
}

bool rapt__name_among(rapt_text name, const char *names)
{
    return rapt__list_has(names, name, true);
}

/* ---- character references ---- */

static const struct entity {
    const char *name;
    uint32_t code;
} entities[] = {
#define ENTITY(name, code) {#name, code},
#include "document/entities.def"
#undef ENTITY
};

/* Returns the character of a named reference, or 0 if the name is unknown. XML defines only five
   names. */
static uint32_t named(rapt_text name, bool xml)
{
    size_t low = 0, high = sizeof entities / sizeof *entities;
    if (xml && !rapt__name_among(name, "amp apos gt lt quot")) return 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const char *known = entities[middle].name;
        int order = strncmp(known, name.bytes, name.size);
        if (order == 0) order = known[name.size] != 0;
        if (order == 0) return entities[middle].code;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : 16;
}

/* Reads a numeric reference such as &#1234; or &#x4D2;. Returns its size, or 0 if there is none. */
static size_t read_number(rapt_text text, size_t at, uint32_t *code)
{
    size_t i = at + 2;
    const int base = i < text.size && (text.bytes[i] | 0x20) == 'x' ? 16 : 10;
    if (base == 16) i++;
    const size_t digits = i;
    uint32_t value = 0;
    for (int digit; i < text.size && (digit = digit_value(text.bytes[i])) < base; i++)
        if (value < 0x110000) value = value * (uint32_t)base + (uint32_t)digit;
    if (i == digits || i == text.size || text.bytes[i] != ';') return 0;
    const bool character = value >= 0xA0 ? value < 0xD800 || (value > 0xDFFF && value < 0x110000)
                                         : value >= 0x20 && value < 0x7F;
    *code = character ? value : 0;
    return i + 1 - at;
}

size_t rapt__reference_read(rapt_text text, size_t at, bool xml, uint32_t *code)
{
    size_t i = at + 1;
    *code = 0;
    if (!begins_at(text, at, "&")) return 0;
    if (begins_at(text, i, "#")) return read_number(text, at, code);
    while (i < text.size && i - at < 40 &&
           (is_alphabetic(text.bytes[i]) || digit_value(text.bytes[i]) < 10))
        i++;
    if (i == at + 1 || i == text.size || text.bytes[i] != ';') return 0;
    *code = named((rapt_text){text.bytes + at + 1, i - at - 1}, xml);
    return i + 1 - at;
}

void rapt__write_escaped(struct buffer *out, rapt_text text)
{
    size_t done = 0;
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.bytes[i];
        const char *reference = c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : NULL;
        if (!reference) continue;
        rapt__buffer_add(out, (rapt_text){text.bytes + done, i - done});
        rapt__buffer_add(out, (rapt_text){reference, strlen(reference)});
        done = i + 1;
    }
    rapt__buffer_add(out, (rapt_text){text.bytes + done, text.size - done});
}

bool rapt__tag_may_begin(rapt_text document, size_t at)
{
    size_t from = at;
    while (from > 0 &&
           (is_alphabetic(document.bytes[from - 1]) || document.bytes[from - 1] == '#' ||
            digit_value(document.bytes[from - 1]) < 10))
        from--;
    if (from > 0 && document.bytes[from - 1] == '/') from--;
    return from > 0 && (document.bytes[from - 1] == '<' || document.bytes[from - 1] == '&');
}

void rapt__write_apart(struct buffer *out, char c)
{
    char text[16];
    const int size = snprintf(text, sizeof text, "&#%d;", c);
    rapt__buffer_add(out, (rapt_text){text, (size_t)size});
}
