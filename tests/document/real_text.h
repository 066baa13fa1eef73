/* real_text.h - real text for the tests of documents. Joins the sentences of files in RAPT_DATA
   into paragraphs, whose boundaries are then known. Lists the tags of HTML and the contents of
   elements that are kept, by rules of its own, so that two documents can be compared. */
#ifndef RAPT_TESTS_REAL_TEXT_H
#define RAPT_TESTS_REAL_TEXT_H

#include "document_help.h"

#include <strings.h>
#include <sys/types.h>

enum { PARAGRAPH = 6 }; /* sentences */

struct joined {
    const char *between;           /* text between two sentences of a paragraph */
    bool single;                   /* only sentences with a single terminator are joined */
    const char *const *insertions; /* [insertion_count] texts that are inserted into every third
                                sentence, after its first blank; NULL: none */
    size_t insertion_count;
    char *text;
    size_t size, capacity;
    size_t *ends; /* [count] where sentences end, except the last of a paragraph */
    size_t count, sentences;
};

static inline void joined_free(struct joined *j)
{
    free(j->text);
    free(j->ends);
}

static inline void add_bytes(struct joined *j, const char *bytes, size_t size)
{
    if (j->size + size > j->capacity) {
        j->capacity = 2 * (j->size + size);
        j->text = realloc(j->text, j->capacity);
        assert_non_null(j->text);
    }
    memcpy(j->text + j->size, bytes, size);
    j->size += size;
}

static inline size_t count_terminators(rapt_text text)
{
    size_t count = 0;
    for (size_t at = 0; at < text.size;)
        count += rapt__is_terminator(rapt__utf8_next(text.bytes, text.size, &at));
    return count;
}

static inline bool is_sentence(const struct joined *j, rapt_text text)
{
    size_t end = text.size;
    if (j->single && count_terminators(text) != 1) return false;
    while (end > 0 && rapt__is_closer(rapt__character_before(text, end, &end))) text.size = end;
    return text.size > 1 && rapt__is_terminator(rapt__character_before(text, text.size, &end));
}

static inline void add_sentence(struct joined *j, rapt_text text)
{
    if (!is_sentence(j, text)) return;
    if (j->sentences % PARAGRAPH != 0) {
        j->ends = realloc(j->ends, (j->count + 1) * sizeof *j->ends);
        assert_non_null(j->ends);
        j->ends[j->count++] = j->size;
        add_bytes(j, j->between, strlen(j->between));
    } else if (j->sentences > 0) {
        add_bytes(j, "\n", 1);
    }
    const char *blank = memchr(text.bytes, ' ', text.size);
    if (j->insertion_count > 0 && j->sentences % 3 == 0 && blank) {
        const char *insertion = j->insertions[j->sentences / 3 % j->insertion_count];
        const size_t head = (size_t)(blank - text.bytes) + 1;
        add_bytes(j, text.bytes, head);
        add_bytes(j, insertion, strlen(insertion));
        text = (rapt_text){blank, text.size - head + 1};
    }
    add_bytes(j, text.bytes, text.size);
    j->sentences++;
}

/* Joins column `column` of a file in RAPT_DATA, from 0. Returns false if there is no such file. */
static inline bool join(struct joined *j, const char *name, int column)
{
    char path[DATA_PATH], *line = NULL;
    size_t capacity = 0;
    const char *data = getenv("RAPT_DATA");
    snprintf(path, sizeof path, "%s/%s", data ? data : ".", name);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    for (ssize_t size; (size = getline(&line, &capacity, file)) > 0;) {
        char *from = line, *end = NULL;
        line[strcspn(line, "\r\n")] = 0;
        for (int i = 0; i < column && from; i++) {
            from = strchr(from, '\t');
            if (from) from++;
        }
        if (!from) continue;
        end = strchr(from, '\t');
        add_sentence(j, (rapt_text){from, end ? (size_t)(end - from) : strlen(from)});
    }
    free(line);
    fclose(file);
    return true;
}

/* The boundaries that are found within paragraphs. */
struct found {
    const size_t *ends; /* [end_count] the known ones */
    size_t end_count, at;
    size_t right, count; /* boundaries that were found, and how many of them are known */
};

/* Counts the boundary at the end of a sentence, unless the text or a line ends there. */
static inline void count_boundary(struct found *f, rapt_text text, size_t end)
{
    if (end >= text.size || text.bytes[end] == '\n' || text.bytes[end] == '\r') return;
    while (f->at < f->end_count && f->ends[f->at] < end) f->at++;
    f->right += f->at < f->end_count && f->ends[f->at] == end;
    f->count++;
}

static inline double f1_of(const struct found *f, double *precision, double *recall)
{
    *precision = (double)f->right / (double)f->count;
    *recall = (double)f->right / (double)f->end_count;
    return 2 * *precision * *recall / (*precision + *recall);
}

/* ---- pages of HTML ---- */

struct tag_list {
    rapt_text *items; /* [count] tags, comments, and elements that are kept, with their contents */
    size_t count, capacity;
    size_t open[256], depth; /* the elements that are open, by index of their tag */
    size_t unclosed;         /* closing tags that do not match the element that is open */
};

static inline void tag_list_add(struct tag_list *list, const char *from, const char *end)
{
    if (list->count == list->capacity) {
        list->capacity = 2 * list->capacity + 64;
        list->items = realloc(list->items, list->capacity * sizeof *list->items);
        assert_non_null(list->items);
    }
    list->items[list->count++] = (rapt_text){from, (size_t)(end - from)};
}

static inline const char *find_text(const char *from, const char *end, const char *wanted)
{
    const size_t size = strlen(wanted);
    for (; (size_t)(end - from) >= size; from++)
        if (strncasecmp(from, wanted, size) == 0) return from;
    return end;
}

/* Returns the end of the tag at `from`. A > in quotation marks does not end it. */
static inline const char *tag_end(const char *from, const char *end)
{
    if (end - from >= 4 && memcmp(from, "<!--", 4) == 0) {
        from = find_text(from, end, "-->");
        return from < end ? from + 3 : end;
    }
    for (char quote = 0; from < end; from++) {
        if (*from == '>' && !quote) return from + 1;
        if (*from == quote)
            quote = 0;
        else if (!quote && (*from == '"' || *from == '\'') && from[-1] == '=')
            quote = *from;
    }
    return end;
}

static inline bool tag_is(rapt_text tag, const char *name)
{
    const size_t size = strlen(name);
    return tag.size > size + 1 && strncasecmp(tag.bytes + 1, name, size) == 0 &&
           strchr(" \t\r\n/>", tag.bytes[size + 1]) != NULL;
}

static inline bool tag_among(rapt_text tag, const char *const *names)
{
    while (*names && !tag_is(tag, *names)) names++;
    return *names != NULL;
}

/* Keeps account of the elements that are open. */
static inline void tag_list_nest(struct tag_list *list, rapt_text tag)
{
    static const char *const empty[] = {"area", "base", "br",    "col",    "embed", "hr", "img",
                                        "link", "meta", "input", "source", "wbr",   NULL};
    const bool closing = tag.bytes[1] == '/';
    if (tag.bytes[1] == '!' || tag_among(tag, empty)) return;
    if (!closing) {
        assert_true(list->depth < 256);
        list->open[list->depth++] = list->count - 1;
        return;
    }
    const rapt_text open = list->depth ? list->items[list->open[list->depth - 1]] : (rapt_text){0};
    const size_t name = strcspn(tag.bytes + 2, " >");
    if (open.size > name && strncasecmp(open.bytes + 1, tag.bytes + 2, name) == 0)
        list->depth--;
    else
        list->unclosed++;
}

/* Lists the tags of a document that ends in a 0. */
static inline void tag_list_read(struct tag_list *list, rapt_text document)
{
    static const char *const kept[] = {"script", "style", "code", "kbd",  "samp",     "tt",
                                       "var",    "pre",   "svg",  "math", "textarea", NULL};
    const char *at = document.bytes, *end = at + document.size;
    while ((at = memchr(at, '<', (size_t)(end - at))) != NULL) {
        const char c = at[1], *from = at;
        const bool is_tag =
            c == '/' || c == '!' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        at = is_tag ? tag_end(at, end) : at + 1;
        if (!is_tag) continue;
        tag_list_add(list, from, at);
        const rapt_text tag = list->items[list->count - 1];
        tag_list_nest(list, tag);
        for (int i = 0; kept[i]; i++) {
            char closing[16];
            if (!tag_is(tag, kept[i])) continue;
            snprintf(closing, sizeof closing, "</%s>", kept[i]);
            at = find_text(at, end, closing);
            tag_list_add(list, from, at);
        }
    }
}

static inline int order_texts(const void *a, const void *b)
{
    const rapt_text *x = a, *y = b;
    const int order = memcmp(x->bytes, y->bytes, x->size < y->size ? x->size : y->size);
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

/* Returns how many texts of a list, counted as often as they occur, are not in another list. Sorts
   both. */
static inline size_t tag_list_missing(struct tag_list *list, struct tag_list *other)
{
    size_t missing = 0, j = 0;
    if (list->count) qsort(list->items, list->count, sizeof *list->items, order_texts);
    if (other->count) qsort(other->items, other->count, sizeof *other->items, order_texts);
    for (size_t i = 0; i < list->count; i++) {
        while (j < other->count && order_texts(&other->items[j], &list->items[i]) < 0) j++;
        const bool found = j < other->count && order_texts(&other->items[j], &list->items[i]) == 0;
        j += found;
        missing += !found;
    }
    return missing;
}

#endif
