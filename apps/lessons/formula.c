/* formula.c - parses a formula in the notation of lesson.h into a tree. */
#include "formula.h"
#include "kit/program.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static struct node *node_of(enum node_kind kind, const char *text, size_t size)
{
    struct node *node = xcalloc(1, sizeof *node);
    node->kind = kind;
    node->text = text;
    node->size = size;
    return node;
}

void formula_free(struct node *node)
{
    while (node != NULL) {
        struct node *next = node->next;
        formula_free(node->parts[0]);
        formula_free(node->parts[1]);
        formula_free(node->sub);
        formula_free(node->super);
        free(node);
        node = next;
    }
}

size_t formula_character(const char *text)
{
    size_t size = 1;
    while (((unsigned char)text[size] & 0xC0) == 0x80) size++;
    return size;
}

static struct node *read_sequence(const char **at);

/* Reads what is in braces at *at; without braces, nothing. */
static struct node *read_braces(const char **at)
{
    if (**at != '{') return NULL;
    (*at)++;
    struct node *inside = read_sequence(at);
    if (**at == '}') (*at)++;
    return inside;
}

/* Reads a word: a name, or a construction if braces follow. */
static struct node *read_word(const char **at)
{
    static const struct {
        const char *word;
        enum node_kind kind;
        int parts;
    } words[] = {{"frac", FRACTION, 2}, {"sqrt", ROOT, 1}, {"col", COLUMN, 2}};
    const char *begin = *at;
    size_t size = 0;
    while (isalpha((unsigned char)begin[size])) size++;
    *at += size;
    if (**at == '{' && size == 4 && memcmp(begin, "text", 4) == 0) {
        size_t inside = strcspn(*at, "}") - 1;
        struct node *node = node_of(WORDS, *at + 1, inside);
        *at += 1 + inside + ((*at)[1 + inside] == '}');
        return node;
    }
    for (size_t i = 0; **at == '{' && i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == size && memcmp(begin, words[i].word, size) == 0) {
            struct node *node = node_of(words[i].kind, begin, size);
            for (int k = 0; k < words[i].parts; k++) node->parts[k] = read_braces(at);
            return node;
        }
    return node_of(NAME, begin, size);
}

/* Divides names of two letters, since an index "ts" is t and s. Returns nodes. */
static struct node *divide_indices(struct node *nodes)
{
    for (struct node *node = nodes; node != NULL; node = node->next) {
        if (node->kind != NAME || node->size != 2 || !isalpha((unsigned char)*node->text)) continue;
        struct node *second = node_of(NAME, node->text + 1, 1);
        second->sub = node->sub, second->super = node->super, second->next = node->next;
        node->size = 1, node->sub = node->super = NULL, node->next = second;
        node = second;
    }
    return nodes;
}

/* Greek letters are names, except for the sign of a sum. */
static bool is_greek(const char *text)
{
    unsigned char lead = (unsigned char)text[0];
    return (lead == 0xCE || lead == 0xCF) && memcmp(text, "\u03A3", 2) != 0;
}

static struct node *read_atom(const char **at)
{
    const char *begin = *at;
    size_t size = formula_character(begin);
    if (*begin == '\\' && begin[1]) {
        *at += 1 + formula_character(begin + 1);
        return node_of(SIGN, begin + 1, formula_character(begin + 1));
    }
    if (*begin == '{') {
        struct node *node = node_of(GROUP, begin, 0);
        node->parts[0] = read_braces(at);
        return node;
    }
    if (isalpha((unsigned char)*begin)) return read_word(at);
    enum node_kind kind = *begin == ' ' ? SPACE : is_greek(begin) ? NAME : SIGN;
    if (isdigit((unsigned char)*begin)) {
        kind = NUMBER;
        size = strspn(begin, "0123456789.");
    }
    *at += size;
    return node_of(kind, begin, size);
}

static struct node *read_sequence(const char **at)
{
    struct node *first = NULL, **end = &first;
    while (**at && **at != '}') {
        struct node *node = *end = read_atom(at);
        end = &node->next;
        while ((**at == '_' || **at == '^') && (*at)[1]) {
            struct node **script = *(*at)++ == '_' ? &node->sub : &node->super;
            formula_free(*script);
            *script = read_atom(at);
            divide_indices((*script)->parts[0]);
        }
    }
    return first;
}

struct node *formula_read(const char *formula)
{
    struct node *first = read_sequence(&formula), **end = &first;
    while (*formula) { /* an extra brace ends a sequence; continue after it */
        while (*end != NULL) end = &(*end)->next;
        formula++;
        *end = read_sequence(&formula);
    }
    return first;
}
