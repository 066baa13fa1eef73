/* markdown.h - declarations shared by markdown.c, which finds blocks, and markdown_inline.c, which
   reads their contents. */
#ifndef RAPT_LIB_MARKDOWN_H
#define RAPT_LIB_MARKDOWN_H

#include "document/markup.h"

/* Indices in reader->state. */
enum {
    MARKDOWN_HTML,   /* used by html.c */
    MARKDOWN_END,    /* the end of the text (a paragraph, heading or cell) that is being read, or
                        0 */
    MARKDOWN_ROW,    /* the end of the table row that is being read, or 0 */
    MARKDOWN_TABLE,  /* 1 if the last line was part of a table */
    MARKDOWN_LIST,   /* the indentation of the text of the last list item, or 0 */
    MARKDOWN_TEXT,   /* 1 if the last line was neither empty nor indented code */
    MARKDOWN_DEFINES /* 2 if the document defines links, 1 if it does not, 0 if that is not known
                        yet */
};

/* ---- markdown_inline.c ---- */
/* Reads a run of text, inline markup or an HTML tag at reader->at. Returns true at the end of the
   block. */
bool rapt__markdown_inline(struct format_reader *reader);

#endif
