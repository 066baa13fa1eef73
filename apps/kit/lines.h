/* lines.h - reads lines from a file descriptor, in windows or blocks that end where the input
   pauses. Compressed text is decompressed, and lines that a person types can be edited. */
#ifndef KIT_LINES_H
#define KIT_LINES_H

#include "kit/unpack.h"
#include <rapt/text.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- reads lines that a person types at a terminal. They can be edited, and earlier lines called
 * back ---- */

struct editor;
/* Returns NULL unless file is standard input, both it and standard output are terminals, and the
   program was built with libedit. The caller closes the editor. */
struct editor *editor_open(int file);
void editor_close(struct editor *editor); /* NULL is allowed */
/* Asks for a line, which ends with a line feed unless it is the last. Returns NULL at the end. The
   line is valid until the next call. */
const char *editor_line(struct editor *editor, size_t *size);

struct lines {
    struct unpack source;
    struct editor *editor; /* NULL unless a person types */
    int error;             /* errno of the failed read, or 0; unpack_error says what it means */
    bool ended, begun;     /* `begun` means that a window has been returned */
    char *bytes;           /* [size] from the window's first line on */
    size_t size, capacity;
    size_t *ends; /* [whole] offsets after the line feeds */
    size_t whole, ends_capacity, taken;
    size_t block; /* bytes that lines_block has returned */
};
void lines_open(struct lines *lines, int file); /* the caller keeps the descriptor */
void lines_close(struct lines *lines);
/* Waits for a line, then takes what else has arrived, at most `max` lines. Returns 0 at the end or
   after an error. */
size_t lines_next(struct lines *lines, size_t max);
/* Returns line `index` of the window without its end (LF and the CRs before it). The first line of
   all also loses its byte order mark. The line is valid until lines_next. */
rapt_text lines_get(const struct lines *lines, size_t index);

/* Waits for a line, then takes what else has arrived, byte for byte: whole lines, or whole
   paragraphs if `paragraphs` is true, of at most `max` bytes. A longer one is cut, after a sentence
   or a word if possible. Returns an empty text at the end or after an error. The text is valid
   until the next call. A file is read either in blocks or in lines. */
rapt_text lines_block(struct lines *lines, size_t max, bool paragraphs);
/* Waits for the end, then returns everything that has not been returned yet. The text is valid
   until the next call. */
rapt_text lines_rest(struct lines *lines);

#endif
