/* po.c - finds the messages in gettext's .po files that are untranslated or whose translation is
   marked as fuzzy. A block is a part of a message between line breaks or tabs (the escapes \n, \r
   and \t). Its translation is written to the msgstr. */
#include "document/document.h"
#include "document/markup.h"

#include <string.h>

/* Indices in reader->state, which describes the entry that is being read. The places of strings
   include the quotation marks. */
enum {
    FROM,   /* beginning of the rest of the message that is being translated */
    ID,     /* beginning of msgid */
    ID_END, /* end of msgid */
    PLURAL, /* beginning and end of msgid_plural */
    PLURAL_END,
    FUZZY,        /* 1 if the entry is marked as fuzzy */
    KEY,          /* offset of the _ or & that marks the message's access key, or 0 */
    KEY_WORD,     /* beginning of the word that contains the access key */
    TRANSLATIONS, /* 1 after the first msgstr: any line but another msgstr then begins a new
                     entry */
};

/* ---- lines ---- */

static size_t line_end(rapt_text text, size_t at)
{
    const char *end = at < text.size ? memchr(text.bytes + at, '\n', text.size - at) : NULL;
    return end ? (size_t)(end - text.bytes) + 1 : text.size;
}

static size_t skip_space(rapt_text text, size_t at)
{
    while (at < text.size && rapt__markup_space(text.bytes[at])) at++;
    return at;
}

/* If the text at *at begins with this word, moves *at past it and returns true. */
static bool begins(rapt_text text, size_t *at, const char *word)
{
    const size_t size = strlen(word);
    if (text.size - *at < size || memcmp(text.bytes + *at, word, size) != 0) return false;
    *at += size;
    return true;
}

/* Returns the end of the string whose opening quotation mark is at `at`, or `at` if it does not end
   on its line. */
static size_t string_end(rapt_text text, size_t at)
{
    for (size_t i = at + 1; i < text.size && text.bytes[i] != '\n'; i++) {
        if (text.bytes[i] == '"') return i + 1;
        if (text.bytes[i] == '\\') i++;
    }
    return at;
}

/* Returns the span of the strings that follow a keyword, or an empty span if there are none or a
   string is not closed. Moves *at to the line after them. */
static rapt_span read_strings(rapt_text text, size_t *at)
{
    rapt_span span = {0, 0};
    size_t next = *at;
    while (next < text.size && (text.bytes[next] == ' ' || text.bytes[next] == '\t')) next++;
    if (next < text.size && text.bytes[next] == '"') span = (rapt_span){next, next};
    while (next < text.size && text.bytes[next] == '"') {
        const size_t end = string_end(text, next);
        *at = end;
        if (end == next) {
            *at = line_end(text, next);
            return (rapt_span){0, 0};
        }
        span.end = end;
        next = skip_space(text, end);
    }
    *at = line_end(text, span.end > 0 ? span.end : *at);
    return span;
}

/* Returns true if one of the strings is not empty. */
static bool has_contents(rapt_text text, rapt_span strings)
{
    for (size_t at = strings.begin; at < strings.end; at = skip_space(text, at)) {
        const size_t end = string_end(text, at);
        if (end != at + 2) return true;
        at = end;
    }
    return false;
}

/* ---- access keys ---- */

static bool is_letter(char c)
{
    return (unsigned char)c >= 0x80 || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* Returns true if text[at] may mark the letter after it as the access key of a menu or button, as
   in "_Open", "E_xit" or "Save &As". `begin` is the beginning of the word that contains text[at].
   Names such as max_size and AT&T have no access key. */
static bool marks_key(rapt_text text, size_t begin, size_t at, size_t end)
{
    uint32_t code;
    if (begin > at || at + 1 >= end || !is_letter(text.bytes[at + 1])) return false;
    if (rapt__reference_read(text, at, false, &code) > 0) return false;
    if (begin == at) return true;
    if (!is_capital(text.bytes[begin]) || is_capital(text.bytes[at + 1])) return false;
    for (size_t i = begin + 1; i < at; i++)
        if (is_capital(text.bytes[i])) return false;
    return true;
}

/* Finds the access key of a message. A message with more than one _ or & has no access key, even if
   only one of them can mark a key. */
static void find_key(struct format_reader *r, rapt_span strings)
{
    const rapt_text text = r->document;
    size_t marks = 0, begin = strings.begin;
    r->state[KEY] = 0;
    for (size_t at = strings.begin; at < strings.end && marks < 2; at++) {
        const char c = text.bytes[at];
        const bool mark = c == '_' || c == '&';
        if (mark) {
            marks++;
            r->state[KEY] = marks_key(text, begin, at, strings.end) ? at : 0;
            r->state[KEY_WORD] = begin;
        } else if (!is_letter(c)) { /* words with anything but letters before the _ or & have no
                                       key */
            begin = c == '"' || rapt__markup_space(c) ? at + 1 : SIZE_MAX;
        }
    }
    if (marks > 1) r->state[KEY] = 0;
}

/* Reads the beginning of a word up to its access key. The _ or & becomes a point before the
   word. */
static void read_key(struct format_reader *r)
{
    const size_t key = r->state[KEY];
    const rapt_span before = {r->at, key};
    r->at = key;
    rapt__read_point(r, key + 1);
    if (before.end > before.begin) rapt__block_copy(&r->block, before);
    r->state[KEY] = 0;
}

/* ---- entries ---- */

static void begin_entry(struct format_reader *r)
{
    memset(r->state, 0, sizeof r->state);
}

/* Begins the translation of a message into the msgstr at `place`, if that is empty or fuzzy and the
   message is not empty. `first` is true for msgstr and msgstr[0]. A message with a single plural
   form is translated from msgid_plural. */
static void begin_message(struct format_reader *r, rapt_span place, bool first)
{
    const rapt_text text = r->document;
    size_t next = skip_space(text, r->at);
    rapt_span id = {r->state[ID], r->state[ID_END]};
    const rapt_span plural = {r->state[PLURAL], r->state[PLURAL_END]};
    const bool only = !begins(text, &next, "msgstr[");
    if (plural.end > 0 && (!first || only)) id = plural;
    if (place.end == 0 || !has_contents(text, id)) return;
    if (has_contents(text, place) && !r->state[FUZZY]) return;
    r->block.elsewhere = (struct elsewhere){
        .original = id, .place = place, .before = "", .after = "", .given = true};
    r->state[FROM] = id.begin;
    r->end = id.end;
    find_key(r, id);
}

/* Returns true if a flag comment contains `word`. */
static bool has_flag(rapt_text line, const char *word)
{
    const size_t size = strlen(word);
    for (size_t at = 0, end; at < line.size; at = end + 1) {
        for (end = at; end < line.size && !strchr("#, \t\r\n", line.bytes[end]);) end++;
        if (end - at == size && memcmp(line.bytes + at, word, size) == 0) return true;
    }
    return false;
}

/* Reads a line, or a keyword with its strings. */
static void read_line(struct format_reader *r)
{
    const rapt_text text = r->document;
    size_t begin = r->at, at;
    while (begin < text.size && (text.bytes[begin] == ' ' || text.bytes[begin] == '\t')) begin++;
    at = begin;
    if (begins(text, &at, "msgstr")) {
        const bool plural = at < text.size && text.bytes[at] == '[';
        const bool first = !plural || (at + 1 < text.size && text.bytes[at + 1] == '0');
        while (plural && at < text.size && text.bytes[at] != ']' && text.bytes[at] != '\n') at++;
        if (plural && at < text.size && text.bytes[at] == ']') at++;
        const rapt_span place = read_strings(text, &at);
        r->at = at;
        r->state[TRANSLATIONS] = 1;
        begin_message(r, place, first);
        return;
    }
    if (r->state[TRANSLATIONS]) begin_entry(r);
    if (begins(text, &at, "msgid_plural")) {
        const rapt_span strings = read_strings(text, &at);
        r->state[PLURAL] = strings.begin, r->state[PLURAL_END] = strings.end;
    } else if (begins(text, &at, "msgid")) {
        const rapt_span strings = read_strings(text, &at);
        r->state[ID] = strings.begin, r->state[ID_END] = strings.end;
    } else if (begins(text, &at, "#,")) {
        at = line_end(text, begin);
        if (has_flag((rapt_text){text.bytes + begin, at - begin}, "fuzzy")) r->state[FUZZY] = 1;
    } else {
        at = line_end(text, begin);
    }
    r->at = at;
}

/* ---- messages ---- */

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

static bool is_hexadecimal(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Reads an escape sequence as text, as the end of the block or, if it is neither, as a point.
   Returns true if it ends the block. */
static bool read_escape(struct format_reader *r)
{
    size_t end = rapt__min_size(r->at + 2, r->end);
    const char c = r->document.bytes[end - 1];
    const rapt_span span = {r->at, end};
    if (c == '"' || (c == '\\' && end == r->at + 2)) {
        rapt__block_text(&r->block, (rapt_text){c == '"' ? "\"" : "\\", 1}, span);
        r->at = end;
        return false;
    }
    if (c == 'n' || c == 't' || c == 'r') {
        r->at = end;
        return true;
    }
    while (end < r->end && (c == 'x' ? is_hexadecimal(r->document.bytes[end])
                                     : is_octal(c) && is_octal(r->document.bytes[end])))
        end++;
    rapt__read_point(r, end);
    return false;
}

/* Reads a piece of a message. Returns true at the end of the block. */
static bool read_some(struct format_reader *r)
{
    const char c = r->document.bytes[r->at];
    if (c == '\\') return read_escape(r);
    if (c == '"') { /* the end of a string, and the beginning of the next */
        const size_t next = skip_space(r->document, r->at + 1);
        r->at = r->at > r->block.elsewhere.original.begin && next < r->end ? next + 1 : r->at + 1;
        return false;
    }
    if (r->state[KEY] > 0 && r->at == r->state[KEY_WORD]) {
        read_key(r);
        return false;
    }
    if ((c == '<' || c == '&') && rapt__read_loose_tag(r)) return false;
    if ((c == '%' || c == '{' || c == '$') && rapt__read_placeholder(r)) return false;
    rapt__read_words(r, "\\\"<&%{$");
    return false;
}

/* Reads the next block of the message that is being translated. Returns true if it has letters. */
static bool read_message(struct format_reader *r)
{
    const size_t next = r->at;
    r->at = r->state[FROM];
    rapt__block_clear(&r->block);
    while (r->at < r->end && !rapt__block_full(&r->block))
        if (read_some(r)) break;
    rapt__block_unpair(&r->block);
    r->state[FROM] = r->at;
    r->at = next;
    return rapt__block_has_letters(&r->block, (rapt_span){0, r->block.text.size});
}

rapt_status rapt__po_next(struct format_reader *r, bool *found, rapt_message *why)
{
    *found = false;
    while (!*found) {
        if (r->state[FROM] > 0 && r->state[FROM] < r->end)
            *found = read_message(r);
        else if (r->at < r->document.size)
            read_line(r);
        else
            break;
        if (r->block.text.failed) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a block");
    }
    return RAPT_OK;
}

void rapt__po_write(struct buffer *out, rapt_text text)
{
    for (size_t i = 0, done = 0; i <= text.size; i++) {
        const bool special = i < text.size && (text.bytes[i] == '"' || text.bytes[i] == '\\');
        if (i < text.size && !special) continue;
        rapt__buffer_add(out, (rapt_text){text.bytes + done, i - done});
        if (special) rapt__buffer_add(out, (rapt_text){"\\", 1});
        done = i;
    }
}
