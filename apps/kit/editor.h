/* editor.h - reads lines that a person types at a terminal. They can be edited, and earlier lines
   called back. */
#ifndef KIT_EDITOR_H
#define KIT_EDITOR_H

#include <stddef.h>

struct editor;
/* Returns NULL unless file is standard input, both it and standard output are terminals, and the
   program was built with libedit. The caller closes the editor. */
struct editor *editor_open(int file);
void editor_close(struct editor *editor); /* NULL is allowed */
/* Asks for a line, which ends with a line feed unless it is the last. Returns NULL at the end. The
   line is valid until the next call. */
const char *editor_line(struct editor *editor, size_t *size);

#endif
