/* formula_text.c - writes a formula as a line of text. */
#define _POSIX_C_SOURCE 200809L
#include "formula.h"
#include "kit/program.h"
#include "page.h"
#include <stdlib.h>
#include <string.h>

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
