/* formula.h - a formula in the notation of lesson.h, as a tree. */
#ifndef LESSONS_FORMULA_H
#define LESSONS_FORMULA_H

#include <stddef.h>

enum node_kind { NAME, NUMBER, SIGN, WORDS, SPACE, GROUP, FRACTION, ROOT, COLUMN };
struct node {
    enum node_kind kind;
    const char *text; /* [size], of the first five kinds */
    size_t size;
    struct node *parts[2];    /* contents; both are used by fractions and columns */
    struct node *sub, *super; /* NULL means none */
    struct node *next;
};
/* The text must live as long as the tree. */
struct node *formula_read(const char *formula);
void formula_free(struct node *node);       /* frees the nodes after it, too */
size_t formula_character(const char *text); /* bytes of the character at text */

#endif
