/* formula.c - parses a formula in the notation of lesson.h into a tree, and writes it as a line of
 * text or as MathML. */
#define _POSIX_C_SOURCE 200809L
#include "kit/program.h"
#include "page.h"
#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum node_kind { NAME, NUMBER, SIGN, WORDS, SPACE, GROUP, FRACTION, ROOT, COLUMN };
struct node {
    enum node_kind kind;
    const char *text; /* [size], of the first five kinds */
    size_t size;
    struct node *parts[2];    /* contents; both are used by fractions and columns */
    struct node *sub, *super; /* NULL means none */
    struct node *next;
};

static struct node *node_of(enum node_kind kind, const char *text, size_t size)
{
    struct node *node = xcalloc(1, sizeof *node);
    node->kind = kind;
    node->text = text;
    node->size = size;
    return node;
}

/* frees the nodes after it, too */
static void formula_free(struct node *node)
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

/* bytes of the character at text */
static size_t formula_character(const char *text)
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

/* The text must live as long as the tree. */
static struct node *formula_read(const char *formula)
{
    struct node *first = read_sequence(&formula), **end = &first;
    while (*formula) { /* an extra brace ends a sequence; continue after it */
        while (*end != NULL) end = &(*end)->next;
        formula++;
        *end = read_sequence(&formula);
    }
    return first;
}

/* ---- a line of text ---- */

static const struct {
    const char *letter, *sub, *super; /* "": no such character */
} scripts[] = {
    {"0", "₀", "⁰"}, {"1", "₁", "¹"}, {"2", "₂", "²"}, {"3", "₃", "³"}, {"4", "₄", "⁴"},
    {"5", "₅", "⁵"}, {"6", "₆", "⁶"}, {"7", "₇", "⁷"}, {"8", "₈", "⁸"}, {"9", "₉", "⁹"},
    {"+", "₊", "⁺"}, {"-", "₋", "⁻"}, {"(", "₍", "⁽"}, {")", "₎", "⁾"}, {"a", "ₐ", "ᵃ"},
    {"d", "", "ᵈ"},  {"e", "ₑ", "ᵉ"}, {"h", "ₕ", "ʰ"}, {"i", "ᵢ", "ⁱ"}, {"j", "ⱼ", "ʲ"},
    {"k", "ₖ", "ᵏ"}, {"l", "ₗ", "ˡ"}, {"m", "ₘ", "ᵐ"}, {"n", "ₙ", "ⁿ"}, {"o", "ₒ", "ᵒ"},
    {"p", "ₚ", "ᵖ"}, {"r", "ᵣ", "ʳ"}, {"s", "ₛ", "ˢ"}, {"t", "ₜ", "ᵗ"}, {"v", "ᵥ", "ᵛ"},
    {"x", "ₓ", "ˣ"}, {"⊤", "", "ᵀ"},  {"T", "", "ᵀ"},
};

/* Returns the raised or lowered letters; NULL if one of them does not exist in Unicode. */
static char *small_letters(const char *text, bool raised)
{
    char *out = xasprintf("%s", "");
    for (size_t at = 0; text[at]; at += formula_character(text + at)) {
        const char *found = "";
        for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
            if (strncmp(text + at, scripts[i].letter, formula_character(text + at)) == 0)
                found = raised ? scripts[i].super : scripts[i].sub;
        char *longer = *found ? xasprintf("%s%s", out, found) : NULL;
        free(out);
        out = longer;
        if (out == NULL) return NULL;
    }
    return out;
}

static char *nodes_text(const struct node *node);

/* Writes parentheses around it if it has more than one word. */
static void put_part(FILE *file, const struct node *node)
{
    char *text = nodes_text(node);
    fprintf(file, strchr(text, ' ') != NULL ? "(%s)" : "%s", text);
    free(text);
}

static void put_script(FILE *file, const struct node *node, bool raised)
{
    if (node == NULL) return;
    struct node alone = *node;
    alone.next = NULL;
    char *text = nodes_text(&alone), *letters = small_letters(text, raised);
    if (letters != NULL)
        fputs(letters, file);
    else
        fprintf(file, text[formula_character(text)] ? "%c(%s)" : "%c%s", raised ? '^' : '_', text);
    free(letters);
    free(text);
}

static char *nodes_text(const struct node *node)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&bytes, &size);
    if (file == NULL) exit(failed("out of memory"));
    for (; node != NULL; node = node->next) {
        if (node->kind == GROUP) {
            char *inside = nodes_text(node->parts[0]);
            fputs(inside, file);
            free(inside);
        } else if (node->kind == FRACTION) {
            put_part(file, node->parts[0]);
            fputs(" / ", file);
            put_part(file, node->parts[1]);
        } else if (node->kind == ROOT) {
            fputs("√", file);
            put_part(file, node->parts[0]);
        } else if (node->kind == COLUMN) {
            char *above = nodes_text(node->parts[0]), *below = nodes_text(node->parts[1]);
            fprintf(file, "[%s; %s]", above, below);
            free(above);
            free(below);
        } else {
            fwrite(node->text, 1, node->size, file);
        }
        put_script(file, node->sub, false);
        put_script(file, node->super, true);
    }
    if (fclose(file) != 0) exit(failed("out of memory"));
    return bytes;
}

char *formula_text(const char *formula)
{
    struct node *nodes = formula_read(formula);
    char *text = nodes_text(nodes);
    formula_free(nodes);
    return text;
}

/* ---- MathML (presentation elements of MathML Core) ---- */

static void put_nodes(FILE *file, const struct node *node);

static void put_element(FILE *file, const char *element, const struct node *node)
{
    const bool minus = node->kind == SIGN && *node->text == '-';
    char *text = minus ? xasprintf("\u2212") : xasprintf("%.*s", (int)node->size, node->text);
    bool bracket = node->kind == SIGN && strchr("()[]|", *text) != NULL;
    fprintf(file, "<%s%s>", element, bracket ? " stretchy=\"false\"" : "");
    bool before = node->kind == WORDS && *text == ' ';
    bool behind = node->kind == WORDS && node->size > 1 && text[node->size - 1] == ' ';
    xml_escape(file, before ? "\u00A0" : ""); /* MathML drops leading and trailing blanks */
    xml_escape(file, text);
    xml_escape(file, behind ? "\u00A0" : "");
    fprintf(file, "</%s>", element);
    free(text);
}

static void put_row(FILE *file, const struct node *node)
{
    fputs("<mrow>", file);
    put_nodes(file, node);
    fputs("</mrow>", file);
}

static void put_base(FILE *file, const struct node *node)
{
    static const char *const elements[] = {"mi", "mn", "mo", "mtext"};
    if (node->kind <= WORDS) {
        put_element(file, elements[node->kind], node);
    } else if (node->kind == GROUP) {
        put_row(file, node->parts[0]);
    } else if (node->kind == COLUMN) {
        fputs("<mrow><mo>(</mo><mtable><mtr><mtd>", file);
        put_nodes(file, node->parts[0]);
        fputs("</mtd></mtr><mtr><mtd>", file);
        put_nodes(file, node->parts[1]);
        fputs("</mtd></mtr></mtable><mo>)</mo></mrow>", file);
    } else if (node->kind == SPACE) {
        if (node->next != NULL && node->next->kind == SPACE) fputs("<mspace width=\"1em\"/>", file);
    } else {
        fputs(node->kind == ROOT ? "<msqrt>" : "<mfrac>", file);
        put_row(file, node->parts[0]);
        if (node->kind == FRACTION) put_row(file, node->parts[1]);
        fputs(node->kind == ROOT ? "</msqrt>" : "</mfrac>", file);
    }
}

static bool takes_limits(const struct node *node)
{
    return node->kind == SIGN &&
           (strncmp(node->text, "∑", 3) == 0 || strncmp(node->text, "Σ", 2) == 0 ||
            strncmp(node->text, "∏", 3) == 0);
}

static void put_alone(FILE *file, const struct node *node)
{
    struct node alone = *node;
    alone.next = NULL;
    put_row(file, &alone);
}

/* Returns true for a name such as log before an argument without parentheses, which would touch
   it. */
static bool is_function(const struct node *node)
{
    const struct node *space = node->next;
    return node->kind == NAME && node->size > 1 && node->text[0] < 127 && node->sub == NULL &&
           node->super == NULL && space != NULL && space->kind == SPACE && space->next != NULL &&
           space->next->kind == NAME;
}

static void put_nodes(FILE *file, const struct node *node)
{
    static const char *const elements[2][3] = {{"msub", "msup", "msubsup"},
                                               {"munder", "mover", "munderover"}};
    for (; node != NULL; node = node->next) {
        if (is_function(node)) {
            put_element(file, "mi", node);
            fputs("<mspace width=\"0.17em\"/>", file);
            continue;
        }
        if (node->sub == NULL && node->super == NULL) {
            put_base(file, node);
            continue;
        }
        int which = node->sub == NULL ? 1 : node->super == NULL ? 0 : 2;
        const char *element = elements[takes_limits(node)][which];
        fprintf(file, "<%s>", element);
        put_base(file, node);
        if (node->sub != NULL) put_alone(file, node->sub);
        if (node->super != NULL) put_alone(file, node->super);
        fprintf(file, "</%s>", element);
    }
}

void formula_mathml(FILE *file, const char *formula)
{
    struct node *nodes = formula_read(formula);
    fputs("<math display=\"block\">", file);
    put_row(file, nodes);
    fputs("</math>", file);
    formula_free(nodes);
}
