/* html.h - parts of the pages that have files of their own. */
#ifndef LESSONS_HTML_H
#define LESSONS_HTML_H

#include "page.h"

/* Writes text, with indices and exponents of one character set as such: x_T, W^h. Longer names with
   underscores stay as they are. */
void html_text(FILE *file, const char *text);
/* <element>text</element> */
void html_element(FILE *file, const char *element, const char *text);

/* Writes `lines` lines of the quoted code, from the one that contains `start` on, with the
   indentation of the first removed. Fails if no line contains it. */
void html_code(FILE *file, const char *start, int lines);

/* ---- appendix.c: exercises and sources of a lesson, and the glossary, from three tables ---- */
void html_exercises(FILE *file, int lesson);
void html_sources(FILE *file, int lesson);
void html_glossary(FILE *file);

#endif
