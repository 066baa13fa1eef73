/* lines.h - lines of a file descriptor, in windows that end where the input pauses. */
#ifndef KIT_LINES_H
#define KIT_LINES_H

#include <rapt/text.h>
#include <stdbool.h>

struct lines {
    int file, error;   /* error: of the read that failed; 0: none */
    bool ended, begun; /* begun: a window has been given */
    char *bytes;       /* [size], from the window's first line on */
    size_t size, capacity;
    size_t *ends; /* [whole] offsets after the line feeds */
    size_t whole, ends_capacity, taken;
};
void lines_open(struct lines *lines, int file); /* the descriptor stays the caller's */
void lines_close(struct lines *lines);
/* Waits for a line, then takes what else has come, at most max lines; 0: the end, or an error. */
size_t lines_next(struct lines *lines, size_t max);
/* Line `index` of the window, without its end (LF, CRs before it), the first of all without a byte
   order mark; valid until lines_next. */
rapt_text lines_get(const struct lines *lines, size_t index);

#endif
