/* vocabulary.c - reads a vocabulary file and maps tokens to numbers and back. In YAML without
   braces, a token takes either one line "token: number", which is split at the last ':', or two
   lines, "? token" and ": number". Tokens are plain or quoted. */
#include "format.h"

#include "base/base.h"
#include "disk.h"
#include "parsers.h"

#include <limits.h>
#include <string.h>

struct vocabulary_word {
    const char *token;
    uint64_t id, head; /* head: see head_of */
};

struct vocabulary {
    rapt_allocator allocator;
    char *text; /* [size + 1] contents of the file; tokens are decoded in place */
    size_t size;
    struct vocabulary_word *words; /* [count] sorted by token */
    size_t count, capacity;
    const char **tokens; /* [count] by number */
};

struct vocabulary_reading {
    struct vocabulary *vocabulary;
    struct shown label;
    size_t line; /* counts from 1 */
    rapt_message *why;
};

static rapt_status fail_line(const struct vocabulary_reading *r, const char *what)
{
    return rapt__fail(r->why, RAPT_BAD_FILE, "%s: line %zu: %s", r->label.text, r->line, what);
}

static rapt_status no_vocabulary_memory(const struct vocabulary_reading *r)
{
    return rapt__fail(r->why, RAPT_NO_MEMORY, "%s: out of memory", r->label.text);
}

static rapt_status add_word(struct vocabulary_reading *r, const char *token, uint64_t id)
{
    struct vocabulary *v = r->vocabulary;
    if (v->count == v->capacity) {
        void *grown = rapt__grown(&v->allocator, v->words, &v->capacity, sizeof *v->words);
        if (!grown) return no_vocabulary_memory(r);
        v->words = grown;
    }
    v->words[v->count++] = (struct vocabulary_word){.token = token, .id = id};
    return RAPT_OK;
}

/* ---- JSON ---- */

static rapt_status read_json(struct vocabulary_reading *r)
{
    struct vocabulary *v = r->vocabulary;
    struct json json = {.text = (unsigned char *)v->text, .size = v->size};
    const bool map = rapt__json_next(&json, '{');
    const char close = map ? '}' : ']';
    rapt_status status = RAPT_OK;
    if ((map || rapt__json_want(&json, '[')) && !rapt__json_next(&json, close)) {
        do {
            uint64_t id = v->count;
            const char *token = rapt__json_string(&json);
            if (!token) break;
            if (map && (!rapt__json_want(&json, ':') || !rapt__json_number(&json, &id))) break;
            status = add_word(r, token, id);
        } while (status == RAPT_OK && rapt__json_next(&json, ','));
        if (status == RAPT_OK) rapt__json_want(&json, close);
    }
    if (status != RAPT_OK || rapt__json_end(&json)) return status;
    return rapt__fail(r->why, RAPT_BAD_FILE, "%s: byte %zu: %s", r->label.text, json.at,
                      json.error);
}

/* ---- lines ---- */

static bool is_utf8(const char *at, const char *end)
{
    uint32_t code;
    for (size_t length; at < end; at += length) {
        length = *at ? rapt__utf8_decode(at, (size_t)(end - at), &code) : 0;
        if (length == 0) return false;
    }
    return true;
}

/* Reads the number between `at` and `end`, with optional spaces and tabs around it. */
static bool take_number(const char *at, const char *end, uint64_t *number)
{
    uint64_t value = 0;
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    while (at < end && (end[-1] == ' ' || end[-1] == '\t')) end--;
    if (at == end) return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9' || value > INT_MAX) return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    *number = value;
    return true;
}

static char *last_colon(char *at, char *end)
{
    while (end > at && end[-1] != ':') end--;
    return end > at ? end - 1 : NULL;
}

/* Reads the token between `at` and `end`, plain or quoted; nothing may follow it. */
static rapt_status take_token(struct vocabulary_reading *r, char *at, char *end, char **token)
{
    const char *error = NULL;
    while (at < end && *at == ' ') at++;
    if (at < end && (*at == '"' || *at == '\'')) {
        *token = rapt__yaml_quoted(&at, end, &error);
        while (*token && at < end && *at == ' ') at++;
        if (*token && at < end) return fail_line(r, "there is text after a quoted token");
    } else {
        *token = rapt__yaml_plain(at, end, &error);
    }
    return *token ? RAPT_OK : fail_line(r, error);
}

/* Reads ": number", the line after "? token". */
static rapt_status take_number_line(struct vocabulary_reading *r, char *at, char *end,
                                    const char *token)
{
    uint64_t id;
    if (at == end || *at != ':' || !take_number(at + 1, end, &id))
        return fail_line(r, "\": number\" expected for the token above");
    return add_word(r, token, id);
}

static rapt_status take_yaml_line(struct vocabulary_reading *r, char *at, char *end, char **waiting)
{
    uint64_t id;
    char *token = *waiting;
    *waiting = NULL;
    if (token) return take_number_line(r, at, end, token);
    if (at == end || *at == '#' || (end - at == 3 && strncmp(at, "---", 3) == 0)) return RAPT_OK;
    if (end - at > 2 && at[0] == '?' && at[1] == ' ') return take_token(r, at + 2, end, waiting);
    char *colon = last_colon(at, end);
    if (!colon || !take_number(colon + 1, end, &id))
        return fail_line(r, "\"token: number\" expected");
    rapt_status status = take_token(r, at, colon, &token);
    return status == RAPT_OK ? add_word(r, token, id) : status;
}

/* Returns whether every LF follows a CR. If one does not, a CR before an LF is part of a token. */
static bool has_carriage_returns(const char *at, const char *end)
{
    for (const char *newline; (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1)
        if (newline == at || newline[-1] != '\r') return false;
    return true;
}

static rapt_status read_vocabulary_lines(struct vocabulary_reading *r, bool yaml)
{
    struct vocabulary *v = r->vocabulary;
    char *end = v->text + v->size, *waiting = NULL;
    const bool strip = yaml || has_carriage_returns(v->text, end);
    rapt_status status = RAPT_OK;
    for (char *at = v->text; at < end && status == RAPT_OK; r->line++) {
        char *newline = memchr(at, '\n', (size_t)(end - at));
        char *stop = newline ? newline : end, *next = stop + (newline != NULL);
        if (strip && stop > at && stop[-1] == '\r') stop--;
        if (!is_utf8(at, stop)) return fail_line(r, "the line is not UTF-8 or contains a NUL byte");
        if (yaml) {
            status = take_yaml_line(r, at, stop, &waiting);
        } else {
            *stop = 0;
            status = add_word(r, at, v->count);
        }
        at = next;
    }
    if (status == RAPT_OK && waiting) return fail_line(r, "the last token has no number");
    return status;
}

/* ---- {token: number, ..} in YAML; tokens need no quotes ---- */

static char *skip_space(struct vocabulary_reading *r, char *at, const char *end)
{
    for (; at < end && strchr(" \t\r\n", *at); at++) r->line += *at == '\n';
    return at;
}

/* Returns the colon that ends a plain token: the first that is followed by white space, ',' or '}'.
   Returns NULL if there is none before a comma, bracket, brace or line feed. */
static char *flow_colon(char *at, const char *end)
{
    for (; at < end && !strchr(",{}[]\n", *at); at++)
        if (*at == ':' && at + 1 < end && strchr(" \t\r\n,}", at[1])) return at;
    return NULL;
}

/* Reads one "token: number" and moves *at past it. */
static rapt_status take_flow_word(struct vocabulary_reading *r, char **at, char *end)
{
    char *newline = memchr(*at, '\n', (size_t)(end - *at)), *colon = *at, *token = *at;
    const char *error = NULL;
    const bool quoted = **at == '"' || **at == '\'';
    if (quoted)
        token = rapt__yaml_quoted(&colon, newline ? newline : end, &error);
    else
        colon = flow_colon(*at, end);
    if (quoted && token) colon = skip_space(r, colon, end);
    if (token && (!colon || colon == end || *colon != ':'))
        return fail_line(r, "\"token: number\" expected");
    if (token && !quoted) token = rapt__yaml_plain(*at, colon, &error);
    if (!token) return fail_line(r, error);
    char *digits = skip_space(r, colon + 1, end);
    uint64_t id;
    *at = digits + strspn(digits, "0123456789");
    if (!take_number(digits, *at, &id)) return fail_line(r, "\"token: number\" expected");
    return add_word(r, token, id);
}

static rapt_status read_flow(struct vocabulary_reading *r)
{
    struct vocabulary *v = r->vocabulary;
    char *end = v->text + v->size, *at = skip_space(r, v->text, end);
    if (!is_utf8(at, end)) return fail_line(r, "the text is not UTF-8 or contains a NUL byte");
    at = skip_space(r, at + 1, end);
    while (at < end && *at != '}') {
        rapt_status status = take_flow_word(r, &at, end);
        if (status != RAPT_OK) return status;
        at = skip_space(r, at, end);
        if (at < end && *at == ',')
            at = skip_space(r, at + 1, end);
        else if (at == end || *at != '}')
            return fail_line(r, "',' or '}' expected");
    }
    if (at == end) return fail_line(r, "'}' expected");
    if (skip_space(r, at + 1, end) < end) return fail_line(r, "there is text after the last '}'");
    return RAPT_OK;
}

/* ---- the file ---- */

/* Returns the first eight bytes of a token, padded with zeros, as a big-endian number. Different
   heads compare like their tokens, so most comparisons need not read the tokens. */
static uint64_t head_of(const char *token)
{
    uint64_t head = 0;
    for (int i = 0; i < 8; i++) head = head << 8 | (*token ? (unsigned char)*token++ : 0);
    return head;
}

static int by_token(const void *context, const void *a, const void *b)
{
    (void)context;
    const struct vocabulary_word *x = a, *y = b;
    if (x->head != y->head) return x->head < y->head ? -1 : 1;
    const int order = strcmp(x->token, y->token);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

static rapt_status bad_token(const struct vocabulary_reading *r, const struct vocabulary_word *word,
                             const char *what)
{
    return rapt__fail(r->why, RAPT_BAD_FILE, "%s: token \"%s\" (number %llu) %s", r->label.text,
                      rapt__shown(word->token).text, (unsigned long long)word->id, what);
}

/* Handles a token that occurs twice, in *word and in the word before it. A T5 extra id keeps the
   lower number, and the other number gets the token "": CTranslate2's converter reuses the names of
   extra ids for rows of T5's table that have no token. Returns RAPT_BAD_FILE for any other
   token. */
static rapt_status drop_repeated(const struct vocabulary_reading *r, struct vocabulary_word *word)
{
    static const char extra[] = "<extra_id_";
    if (strncmp(word->token, extra, sizeof extra - 1) != 0)
        return bad_token(r, word, "occurs more than once");
    r->vocabulary->tokens[word->id] = "";
    word->id = word[-1].id;
    return RAPT_OK;
}

/* Checks the tokens and their numbers, indexes the tokens by number, and sorts them by text. */
static rapt_status arrange(struct vocabulary_reading *r)
{
    struct vocabulary *v = r->vocabulary;
    if (v->count == 0 || v->count > INT_MAX)
        return rapt__fail(r->why, RAPT_BAD_FILE, "%s has %zu tokens, not 1 to 2^31 - 1",
                          r->label.text, v->count);
    v->tokens = rapt__alloc(&v->allocator, v->count * sizeof *v->tokens);
    if (!v->tokens) return no_vocabulary_memory(r);
    memset(v->tokens, 0, v->count * sizeof *v->tokens);
    for (size_t i = 0; i < v->count; i++) {
        struct vocabulary_word *word = &v->words[i];
        if (!word->token[0]) return bad_token(r, word, "is empty");
        if (word->id >= v->count)
            return bad_token(r, word, "has a number that is not below the token count");
        if (v->tokens[word->id]) return bad_token(r, word, "has the same number as another token");
        v->tokens[word->id] = word->token;
        word->head = head_of(word->token);
    }
    rapt__sort(v->words, v->count, sizeof *v->words, by_token, NULL);
    rapt_status status = RAPT_OK;
    for (size_t i = 1; i < v->count && !status; i++)
        if (strcmp(v->words[i - 1].token, v->words[i].token) == 0)
            status = drop_repeated(r, &v->words[i]);
    return status;
}

/* Returns whether a text begins with '{' and the next character, not counting white space, is
   neither '"' nor '}'. Such a text is not valid JSON. */
static bool is_flow(const char *text)
{
    if (*text != '{') return false;
    text += 1 + strspn(text + 1, " \t\r\n");
    return *text != '"' && *text != '}';
}

static rapt_status parse(struct vocabulary_reading *r, enum vocabulary_form form)
{
    const char *text = r->vocabulary->text;
    text += strspn(text, " \t\r\n");
    if (form == VOCABULARY_YAML && is_flow(text)) return read_flow(r);
    if (form == VOCABULARY_JSON || (form == VOCABULARY_YAML && (*text == '{' || *text == '[')))
        return read_json(r);
    return read_vocabulary_lines(r, form == VOCABULARY_YAML);
}

static rapt_status open_source(struct vocabulary **vocabulary, const struct disk_source *source,
                               enum vocabulary_form form, const rapt_allocator *allocator,
                               rapt_message *why)
{
    struct vocabulary_reading r = {.label = source->label, .line = 1, .why = why};
    if (source->size >= SIZE_MAX) return no_vocabulary_memory(&r);
    struct vocabulary *v = rapt__alloc(allocator, sizeof *v);
    if (!v) return no_vocabulary_memory(&r);
    *v = (struct vocabulary){.allocator = rapt__allocator(allocator)};
    v->size = (size_t)source->size;
    v->text = rapt__alloc(allocator, v->size + 1);
    r.vocabulary = v;
    rapt_status status = v->text ? RAPT_OK : no_vocabulary_memory(&r);
    if (status == RAPT_OK) status = rapt__disk_read(source, 0, v->text, v->size, why);
    if (status == RAPT_OK) {
        v->text[v->size] = 0;
        status = parse(&r, form);
    }
    if (status == RAPT_OK) status = arrange(&r);
    if (status == RAPT_OK)
        *vocabulary = v;
    else
        rapt__vocabulary_close(v);
    return status;
}

/* Returns whether a path ends with `end`, not counting a final ".gz" or ".zst". */
static bool has_ending(const char *path, const char *end)
{
    size_t length = strlen(path), tail = strlen(end);
    if (length > 3 && strcmp(path + length - 3, ".gz") == 0)
        length -= 3;
    else if (length > 4 && strcmp(path + length - 4, ".zst") == 0)
        length -= 4;
    return length >= tail && strncmp(path + length - tail, end, tail) == 0;
}

rapt_status rapt__vocabulary_open_source(struct vocabulary **vocabulary,
                                         const struct disk_source *source, const char *name,
                                         const rapt_allocator *allocator, rapt_message *why)
{
    const enum vocabulary_form form = has_ending(name, ".json") ? VOCABULARY_JSON
                                      : has_ending(name, ".yml") || has_ending(name, ".yaml")
                                          ? VOCABULARY_YAML
                                          : VOCABULARY_LINES;
    return open_source(vocabulary, source, form, allocator, why);
}

rapt_status rapt__vocabulary_open_memory(struct vocabulary **vocabulary, const void *bytes,
                                         size_t size, enum vocabulary_form form,
                                         const rapt_allocator *allocator, rapt_message *why)
{
    struct disk_source source = {.file = -1, .bytes = bytes, .size = size};
    source.label = rapt__shown("vocabulary in memory");
    if (!bytes) return rapt__fail(why, RAPT_BAD_ARGUMENT, "bytes is NULL");
    return open_source(vocabulary, &source, form, allocator, why);
}

void rapt__vocabulary_close(struct vocabulary *vocabulary)
{
    if (!vocabulary) return;
    const rapt_allocator allocator = vocabulary->allocator;
    rapt__free(&allocator, vocabulary->tokens, vocabulary->count * sizeof *vocabulary->tokens);
    rapt__free(&allocator, vocabulary->words, vocabulary->capacity * sizeof *vocabulary->words);
    rapt__free(&allocator, vocabulary->text, vocabulary->text ? vocabulary->size + 1 : 0);
    rapt__free(&allocator, vocabulary, sizeof *vocabulary);
}

int rapt__vocabulary_count(const struct vocabulary *vocabulary)
{
    return (int)vocabulary->count;
}

const char *rapt__vocabulary_token(const struct vocabulary *vocabulary, int id)
{
    return id >= 0 && (size_t)id < vocabulary->count ? vocabulary->tokens[id] : NULL;
}

int rapt__vocabulary_find(const struct vocabulary *vocabulary, const char *token)
{
    size_t low = 0, high = vocabulary->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(token, vocabulary->words[middle].token);
        if (order == 0) return (int)vocabulary->words[middle].id;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}
