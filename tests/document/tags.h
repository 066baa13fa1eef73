/* tags.h - lists the tags of HTML and the contents of elements that are kept, by rules of its own,
   so that two documents can be compared. */
#ifndef RAPT_TESTS_TAGS_H
#define RAPT_TESTS_TAGS_H

#include "document_help.h"

#include <strings.h>

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
