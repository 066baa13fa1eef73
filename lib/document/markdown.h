/* markdown.h - shared by markdown.c, which finds blocks, and markdown_inline.c, which reads what is
   in them. */
#ifndef RAPT_LIB_MARKDOWN_H
#define RAPT_LIB_MARKDOWN_H

#include "document/markup.h"

/* reader->state */
enum {
    MARKDOWN_HTML,   /* used by html.c */
    MARKDOWN_END,    /* the end of the text that is being read, or 0 */
    MARKDOWN_ROW,    /* the end of the row of a table, or 0 */
    MARKDOWN_TABLE,  /* the last line was in a table */
    MARKDOWN_LIST,   /* the indentation of the text of the last item of a list, or 0 */
    MARKDOWN_TEXT,   /* the last line was not empty */
    MARKDOWN_DEFINES /* 1: the document defines no links; 2: it does; 0: not known */
};

/* ---- markdown_inline.c ---- */
/* Reads some text, a mark or an HTML tag at reader->at. Returns true if it ends the block. */
bool rapt__markdown_inline(struct format_reader *reader);

#endif
