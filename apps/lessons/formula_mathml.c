/* formula_mathml.c - writes a formula as MathML (presentation elements of MathML Core). */
#include "formula.h"
#include "kit/program.h"
#include "page.h"
#include <stdlib.h>
#include <string.h>

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
