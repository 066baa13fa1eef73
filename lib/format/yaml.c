/* yaml.c - reads the keys, scalars and lists of a YAML document into items, sorted by key.

       key: scalar            key:                key: [scalar, scalar]
                                - scalar
                                - scalar

   Each line is blank, a comment, "---", a key, an element of the last key's list, or the whole list
   in brackets. "..." ends the document. A scalar is on one line and is decoded in place. A decoded
   escape is no longer than its source, except \L and \P (3 bytes instead of 2); the opening quote
   leaves room for one of them. Source: the files that yaml-cpp's emitter writes for Marian; YAML
   1.2.2, sections 5.7, 7.3 and 7.3.3 (scalars). */
#include "parsers.h"

#include "base/base.h"
#include "disk.h"

#include <string.h>

struct yaml {
    rapt_allocator allocator;
    char *text; /* [size + 1] contents; strings are decoded in place */
    size_t size;
    struct yaml_item *items;
    size_t count, capacity;
};

struct yaml_reading {
    struct yaml *yaml;
    struct shown label;
    size_t indent;     /* indentation of the elements of the last list without brackets */
    size_t line, head; /* `line` counts from 1; `head` is the index of the last key's item, plus 1,
                          or 0 before the first key */
    bool closed;       /* the last key's list was in brackets */
    bool ended;        /* "..." has been read; only blank lines and comments may follow */
    rapt_message *why;
};

static rapt_status fail_yaml(const struct yaml_reading *r, const char *what)
{
    return rapt__fail(r->why, RAPT_BAD_FILE, "%s: line %zu: %s", r->label.text, r->line, what);
}

static rapt_status no_yaml_memory(const struct yaml_reading *r)
{
    return rapt__fail(r->why, RAPT_NO_MEMORY, "%s: out of memory", r->label.text);
}

static rapt_status add_item(struct yaml_reading *r, struct yaml_item item)
{
    struct yaml *y = r->yaml;
    if (y->count == y->capacity) {
        void *grown = rapt__grown(&y->allocator, y->items, &y->capacity, sizeof item);
        if (!grown) return no_yaml_memory(r);
        y->items = grown;
    }
    y->items[y->count++] = item;
    return RAPT_OK;
}

/* Appends an element to the last key's list. */
static rapt_status add_element(struct yaml_reading *r, char *value, bool quoted)
{
    struct yaml_item *head = &r->yaml->items[r->head - 1];
    head->value = NULL;
    const struct yaml_item item = {head->key, value, head->length++, 0, quoted};
    return add_item(r, item);
}

static void skip_blanks(char **at, const char *end)
{
    while (*at < end && (**at == ' ' || **at == '\t')) ++*at;
}

static bool ends_here(char *at, const char *end)
{
    skip_blanks(&at, end);
    return at == end || *at == '#';
}

/* Returns the end of a plain scalar: the space before a comment, or the end of the line. */
static char *end_of_plain(char *at, char *end)
{
    for (char *c = at; c + 1 < end; c++)
        if (c[0] == ' ' && c[1] == '#') return c;
    return end;
}

/* Returns the colon that ends a plain key: the first one that is at the end or is followed by a
   space or tab. Returns NULL if there is none. */
static char *find_colon(char *at, char *end)
{
    for (char *c = at; c < end; c++)
        if (*c == ':' && (c + 1 == end || c[1] == ' ' || c[1] == '\t')) return c;
    return NULL;
}

/* Reads a scalar that is followed only by blanks or a comment on its line. */
static rapt_status take_scalar(struct yaml_reading *r, char *at, char *end, char **value,
                               bool *quoted)
{
    const char *error = NULL;
    *quoted = at < end && (*at == '"' || *at == '\'');
    if (*quoted) {
        *value = rapt__yaml_quoted(&at, end, &error);
        if (*value && !ends_here(at, end))
            return fail_yaml(r, "there is text after a quoted string");
    } else {
        if (at < end && *at == '#') end = at;
        end = end_of_plain(at, end);
        if (find_colon(at, end))
            return fail_yaml(r, "mappings within a mapping or list are not supported");
        if (at < end && (*at == '{' || *at == '['))
            return fail_yaml(r, "lists and mappings within a list are not supported");
        if (at < end && at[0] == '-' && (end - at == 1 || at[1] == ' '))
            return fail_yaml(r, "lists within a list are not supported");
        *value = rapt__yaml_plain(at, end, &error);
    }
    return *value ? RAPT_OK : fail_yaml(r, error);
}

/* Reads one element of a list in brackets and the ',' or ']' after it. The 0 that terminates a
   plain element may overwrite that character, so *more is set to whether it was a ','. */
static rapt_status take_flow_element(struct yaml_reading *r, char **at, char *end, bool *more)
{
    const char *error = NULL;
    const bool quoted = **at == '"' || **at == '\'';
    char *value = *at, *after = *at;
    if (quoted) {
        value = rapt__yaml_quoted(&after, end, &error);
        if (!value) return fail_yaml(r, error);
        skip_blanks(&after, end);
    } else {
        while (after < end && *after != ',' && *after != ']') after++;
        if (find_colon(value, after) || *value == '[' || *value == '{' || *value == '?')
            return fail_yaml(r, "lists and mappings within a list are not supported");
    }
    if (after == end || (*after != ',' && *after != ']'))
        return fail_yaml(r, "',' or ']' expected in a list in brackets");
    if (after == *at) return fail_yaml(r, "an element of a list is empty");
    *more = *after == ',';
    if (!quoted) value = rapt__yaml_plain(value, after, &error);
    if (!value) return fail_yaml(r, error);
    *at = after + 1;
    return add_element(r, value, quoted);
}

/* Reads [scalar, ..] or {} after a key. `at` points after the opening bracket. */
static rapt_status take_flow(struct yaml_reading *r, char *at, char *end, char close)
{
    r->yaml->items[r->head - 1].value = NULL;
    r->closed = true;
    skip_blanks(&at, end);
    bool more = at == end || *at != close;
    if (more && at < end && close == '}')
        return fail_yaml(r, "mappings within a mapping are not supported");
    if (!more) at++;
    while (more) {
        if (at == end) return fail_yaml(r, "',' or ']' expected in a list in brackets");
        rapt_status status = take_flow_element(r, &at, end, &more);
        if (status != RAPT_OK) return status;
        skip_blanks(&at, end);
        if (more && at < end && *at == close) more = false, at++;
    }
    return ends_here(at, end) ? RAPT_OK : fail_yaml(r, "there is text after a list");
}

static rapt_status take_value(struct yaml_reading *r, char *at, char *end)
{
    skip_blanks(&at, end);
    if (at < end && (*at == '[' || *at == '{'))
        return take_flow(r, at + 1, end, *at == '[' ? ']' : '}');
    struct yaml_item *head = &r->yaml->items[r->head - 1];
    char *value = NULL;
    bool quoted = false;
    rapt_status status = take_scalar(r, at, end, &value, &quoted);
    head->value = value;
    head->quoted = quoted;
    return status;
}

static rapt_status take_key(struct yaml_reading *r, char *at, char *end)
{
    const char *error = NULL;
    char *key, *colon;
    if (*at == '"' || *at == '\'') {
        key = rapt__yaml_quoted(&at, end, &error);
        if (key) skip_blanks(&at, end);
        colon = at;
        if (key && (colon == end || *colon != ':')) return fail_yaml(r, "a key has no ':'");
    } else {
        colon = find_colon(at, end_of_plain(at, end));
        if (!colon) return fail_yaml(r, "this is neither a key nor an element of a list");
        key = rapt__yaml_plain(at, colon, &error);
    }
    if (!key) return fail_yaml(r, error);
    rapt_status status = add_item(r, (struct yaml_item){.key = key, .index = -1});
    if (status != RAPT_OK) return status;
    r->head = r->yaml->count;
    r->closed = false;
    return take_value(r, colon + 1, end);
}

/* Reads a line that belongs to a key without a value: a list in brackets, or one element of a
   list. */
static rapt_status take_inner(struct yaml_reading *r, const char *start, char *at, char *end)
{
    const struct yaml_item *head = r->head ? &r->yaml->items[r->head - 1] : NULL;
    const bool empty = head && head->value && !head->value[0] && !head->quoted;
    if (empty && (*at == '[' || *at == '{'))
        return take_flow(r, at + 1, end, *at == '[' ? ']' : '}');
    if (*at != '-' || (at + 1 < end && at[1] != ' '))
        return fail_yaml(r, "nested mappings and multi-line strings are not supported");
    if (!empty && !(head && !head->value && !r->closed))
        return fail_yaml(r, "an element does not belong to a list");
    const size_t indent = (size_t)(at - start);
    if (head->length > 0 && indent != r->indent)
        return fail_yaml(r, "the elements of a list are indented differently");
    r->indent = indent;
    char *value = NULL;
    bool quoted = false;
    at++;
    skip_blanks(&at, end);
    rapt_status status = take_scalar(r, at, end, &value, &quoted);
    return status == RAPT_OK ? add_element(r, value, quoted) : status;
}

static rapt_status take_line(struct yaml_reading *r, char *at, char *end)
{
    if (end > at && end[-1] == '\r') end--;
    char *start = at;
    while (at < end && *at == ' ') at++;
    if (ends_here(at, end)) return RAPT_OK;
    if (r->ended) return fail_yaml(r, "there is text after the end (...) of the document");
    r->ended = at == start && end - at >= 3 && strncmp(at, "...", 3) == 0 && ends_here(at + 3, end);
    if (r->ended) return RAPT_OK;
    if (*at == '\t') return fail_yaml(r, "the line is indented with a tab");
    if (at == start && end - at == 3 && strncmp(at, "---", 3) == 0 && r->yaml->count == 0)
        return RAPT_OK;
    if (*at == '%' || *at == '?' || *at == '@' || *at == '`')
        return fail_yaml(r, "the line begins with a character that is not supported");
    const bool element = *at == '-' && (at + 1 == end || at[1] == ' ');
    return at > start || element || *at == '[' || *at == '{' ? take_inner(r, start, at, end)
                                                             : take_key(r, at, end);
}

static rapt_status take_lines(struct yaml_reading *r)
{
    struct yaml *y = r->yaml;
    char *end = y->text + y->size;
    for (char *at = y->text; at < end; r->line++) {
        char *newline = memchr(at, '\n', (size_t)(end - at));
        char *stop = newline ? newline : end;
        uint32_t code;
        for (char *c = at; c < stop;) {
            size_t length = *c ? rapt__utf8_decode(c, (size_t)(stop - c), &code) : 0;
            if (length == 0) return fail_yaml(r, "the line is not UTF-8 or contains a NUL byte");
            if (*c == '\r' && c + 1 < stop)
                return fail_yaml(r, "the line contains a CR that is not followed by an LF");
            c += length;
        }
        rapt_status status = take_line(r, at, stop);
        if (status != RAPT_OK) return status;
        at = stop + (newline != NULL);
    }
    return RAPT_OK;
}

/* Orders by key, then by index. All elements of a list point to the same key, so these keys need
   not be compared with strcmp. */
static int by_key(const void *context, const void *a, const void *b)
{
    (void)context;
    const struct yaml_item *x = a, *y = b;
    int order = x->key == y->key ? 0 : strcmp(x->key, y->key);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static rapt_status sort(const struct yaml_reading *r)
{
    struct yaml *y = r->yaml;
    rapt__sort(y->items, y->count, sizeof *y->items, by_key, NULL);
    for (size_t i = 1; i < y->count; i++)
        if (y->items[i].index < 0 && strcmp(y->items[i - 1].key, y->items[i].key) == 0)
            return rapt__fail(r->why, RAPT_BAD_FILE, "%s: \"%s\" occurs twice", r->label.text,
                              rapt__shown(y->items[i].key).text);
    return RAPT_OK;
}

rapt_status rapt__yaml_open(struct yaml **yaml, const void *bytes, size_t size, const char *label,
                            const rapt_allocator *allocator, rapt_message *why)
{
    struct yaml_reading r = {.label = rapt__shown(label), .line = 1, .why = why};
    if (size == SIZE_MAX) return no_yaml_memory(&r);
    struct yaml *y = rapt__alloc(allocator, sizeof *y);
    if (!y) return no_yaml_memory(&r);
    *y = (struct yaml){.allocator = rapt__allocator(allocator), .size = size};
    y->text = rapt__alloc(allocator, size + 1);
    r.yaml = y;
    rapt_status status = y->text ? RAPT_OK : no_yaml_memory(&r);
    if (status == RAPT_OK) {
        if (size > 0) memcpy(y->text, bytes, size);
        y->text[size] = 0;
        status = take_lines(&r);
    }
    if (status == RAPT_OK) status = sort(&r);
    if (status == RAPT_OK)
        *yaml = y;
    else
        rapt__yaml_close(y);
    return status;
}

void rapt__yaml_close(struct yaml *yaml)
{
    if (!yaml) return;
    const rapt_allocator allocator = yaml->allocator;
    rapt__free(&allocator, yaml->items, yaml->capacity * sizeof *yaml->items);
    rapt__free(&allocator, yaml->text, yaml->text ? yaml->size + 1 : 0);
    rapt__free(&allocator, yaml, sizeof *yaml);
}

int rapt__yaml_count(const struct yaml *yaml)
{
    return (int)yaml->count;
}

const struct yaml_item *rapt__yaml_at(const struct yaml *yaml, int index)
{
    return index >= 0 && (size_t)index < yaml->count ? &yaml->items[index] : NULL;
}

const struct yaml_item *rapt__yaml_find(const struct yaml *yaml, const char *key)
{
    size_t low = 0, high = yaml->count;
    const struct yaml_item wanted = {.key = key, .index = -1};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = by_key(NULL, &wanted, &yaml->items[middle]);
        if (order == 0) return &yaml->items[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* ---- scalars ---- */

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads `digits` hexadecimal digits as a code point. Returns false if there are fewer, or if the
   number is a surrogate or exceeds 0x10FFFF. */
static bool take_hex(char **at, const char *end, int digits, uint32_t *code)
{
    uint32_t value = 0;
    if (end - *at < digits) return false;
    for (int i = 0; i < digits; i++) {
        int digit = hex((*at)[i]);
        if (digit < 0) return false;
        value = value << 4 | (uint32_t)digit;
    }
    *at += digits;
    *code = value;
    return value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
}

/* Reads the part of an escape that follows the backslash. */
static bool take_escape(char **at, const char *end, uint32_t *code)
{
    static const char letters[] = "0abtnvfre\"\\/ N_LP\t";
    static const uint16_t codes[] = {0,   7,    8,   9,   10,   11,   12,     13,     27,
                                     '"', '\\', '/', ' ', 0x85, 0xA0, 0x2028, 0x2029, '\t'};
    if (*at == end) return false;
    const char letter = *(*at)++;
    if (letter == 'x') return take_hex(at, end, 2, code);
    if (letter == 'u') return take_hex(at, end, 4, code);
    if (letter == 'U') return take_hex(at, end, 8, code);
    const char *found = letter ? strchr(letters, letter) : NULL;
    if (!found) return false;
    *code = codes[found - letters];
    return true;
}

static char *take_double(char **at, char *end, const char **error)
{
    char *start = *at, *to = start, *from = start + 1;
    while (from < end && *from != '"') {
        if (*from != '\\') {
            *to++ = *from++;
            continue;
        }
        uint32_t code = 0;
        from++;
        if (!take_escape(&from, end, &code)) return *error = "invalid escape sequence", NULL;
        if (code == 0) return *error = "a string contains a NUL character", NULL;
        char bytes[4];
        size_t size = rapt__utf8_encode(code, bytes);
        if (size > (size_t)(from - to))
            return *error = "more than one \\L or \\P in a string", NULL;
        memcpy(to, bytes, size);
        to += size;
    }
    if (from == end) return *error = "a quoted string does not end on its line", NULL;
    *to = 0;
    *at = from + 1;
    return start;
}

static char *take_single(char **at, char *end, const char **error)
{
    char *start = *at, *to = start, *from = start + 1;
    for (; from < end; from++) {
        if (*from == '\'' && (from + 1 == end || *++from != '\'')) {
            *at = from + (from + 1 == end && *from == '\'');
            *to = 0;
            return start;
        }
        *to++ = *from;
    }
    return *error = "a quoted string does not end on its line", NULL;
}

char *rapt__yaml_quoted(char **at, char *end, const char **error)
{
    return **at == '"' ? take_double(at, end, error) : take_single(at, end, error);
}

char *rapt__yaml_plain(char *at, char *end, const char **error)
{
    while (at < end && *at == ' ') at++;
    while (at < end && (end[-1] == ' ' || end[-1] == '\t')) end--;
    if (at < end && (*at == '&' || *at == '*'))
        return *error = "anchors and aliases are not supported", NULL;
    if (at < end && *at == '!') return *error = "tags are not supported", NULL;
    if (at < end && (*at == '|' || *at == '>') && end - at <= 2)
        return *error = "multi-line strings are not supported", NULL;
    *end = 0;
    return at;
}
