/* formula.h - a formula as lesson.h describes it, as a tree. */
#ifndef LESSONS_FORMULA_H
#define LESSONS_FORMULA_H

#include <stddef.h>

enum node_kind { NAME, NUMBER, SIGN, WORDS, SPACE, GROUP, FRACTION, ROOT, COLUMN };
struct node {
    enum node_kind kind;
    const char *text; /* of the first five: [size] */
    size_t size;
    struct node *parts[2];    /* contents; of fraction and column both */
    struct node *sub, *super; /* NULL: none */
    struct node *next;
};
/* text: must live as long as the tree. */
struct node *formula_read(const char *formula);
void formula_free(struct node *node);       /* and all after it */
size_t formula_character(const char *text); /* bytes of the character at text */

#endif
