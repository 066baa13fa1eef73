/* lines.c - reads lines in windows and blocks that end where the input pauses. A process that waits
   for the answer to a line therefore gets it, while a file, or a pipe that is always full, gives
   full windows. The timing of the bytes affects where windows and blocks end, but not the lines.
   Lines that a person types are read with libedit if the program was built with it. */
#define _POSIX_C_SOURCE 200809L
#include "kit/program.h"
#include "kit/text.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    AT_ONCE = 65536,
    PAUSE = 10 /* ms without a byte after which the writer is assumed to wait */
};
static const double LONGEST = 0.2; /* s that a window may take */

void lines_open(struct lines *lines, int file)
{
    *lines = (struct lines){.error = 0};
    unpack_open(&lines->source, file);
    lines->editor = editor_open(file);
}

void lines_close(struct lines *lines)
{
    unpack_close(&lines->source);
    editor_close(lines->editor);
    free(lines->bytes);
    free(lines->ends);
}

/* Returns true if bytes or the end of the input arrive within `milliseconds` (-1 means no limit).
   Returns false at once if a person types. */
static bool input_comes(const struct lines *lines, int milliseconds)
{
    struct pollfd wait = {.fd = lines->source.file, .events = POLLIN};
    int result;
    if (lines->editor != NULL) return false; /* a line is answered before the next one */
    if (unpack_ready(&lines->source)) return true;
    do result = poll(&wait, 1, milliseconds);
    while (result < 0 && errno == EINTR);
    return result != 0;
}

/* Records the ends of the lines in the bytes from `from` on. */
static void note_ends(struct lines *lines, size_t from)
{
    for (size_t at = from; at < lines->size; at++) {
        if (lines->bytes[at] != '\n') continue;
        if (lines->whole == lines->ends_capacity)
            lines->ends =
                xreallocarray(lines->ends, lines->ends_capacity = lines->ends_capacity * 2 + 1024,
                              sizeof *lines->ends);
        lines->ends[lines->whole++] = at + 1;
    }
}

/* Appends a line that a person types. Returns false at the end of the input. */
static bool ask_more(struct lines *lines)
{
    size_t size;
    const char *line = editor_line(lines->editor, &size);
    if (line == NULL) return false;
    if (lines->capacity - lines->size < size) {
        lines->capacity = lines->capacity * 2 + size;
        lines->bytes = xreallocarray(lines->bytes, lines->capacity, 1);
    }
    memcpy(lines->bytes + lines->size, line, size);
    lines->size += size;
    return true;
}

/* Reads once. Returns false at the end of the input or after an error. Waits for bytes even if the
   descriptor is non-blocking. */
static bool read_more(struct lines *lines)
{
    if (lines->editor != NULL) return ask_more(lines);
    if (lines->capacity - lines->size < AT_ONCE) {
        lines->capacity = lines->capacity * 2 + AT_ONCE;
        lines->bytes = xreallocarray(lines->bytes, lines->capacity, 1);
    }
    ssize_t got;
    do got = unpack_read(&lines->source, lines->bytes + lines->size, AT_ONCE);
    while (got < 0 && (errno == EINTR ||
                       ((errno == EAGAIN || errno == EWOULDBLOCK) && input_comes(lines, -1))));
    if (got < 0) lines->error = errno;
    if (got <= 0) return false;
    lines->size += (size_t)got;
    return true;
}

/* Drops the lines of the last window. */
static void drop_window(struct lines *lines)
{
    if (lines->taken == 0) return;
    lines->begun = true;
    size_t first = lines->ends[lines->taken - 1];
    lines->size -= first;
    memmove(lines->bytes, lines->bytes + first, lines->size);
    lines->whole -= lines->taken;
    for (size_t i = 0; i < lines->whole; i++)
        lines->ends[i] = lines->ends[lines->taken + i] - first;
    lines->taken = 0;
}

/* Ends the last line, which may lack a line feed. */
static void end_last(struct lines *lines)
{
    size_t from = lines->whole > 0 ? lines->ends[lines->whole - 1] : 0;
    if (lines->size == from) return;
    if (lines->size == lines->capacity)
        lines->bytes = xreallocarray(lines->bytes, ++lines->capacity, 1);
    lines->bytes[lines->size++] = '\n';
    note_ends(lines, lines->size - 1);
}

size_t lines_next(struct lines *lines, size_t max)
{
    double start = 0;
    drop_window(lines);
    while (lines->whole < max && !lines->ended) {
        if (lines->whole > 0) {
            if (start <= 0) start = now();
            if (!input_comes(lines, PAUSE) || now() - start > LONGEST) break;
        }
        const size_t from = lines->size;
        lines->ended = !read_more(lines);
        note_ends(lines, from);
        if (lines->ended) end_last(lines);
    }
    return lines->taken = lines->whole < max ? lines->whole : max;
}

rapt_text lines_get(const struct lines *lines, size_t index)
{
    size_t from = index > 0 ? lines->ends[index - 1] : 0, to = lines->ends[index] - 1;
    bool marked = index == 0 && !lines->begun && to - from >= 3 &&
                  memcmp(lines->bytes + from, "\xEF\xBB\xBF", 3) == 0;
    if (marked) from += 3;
    while (to > from && lines->bytes[to - 1] == '\r') to--;
    return (rapt_text){lines->bytes + from, to - from};
}

/* ---- blocks ---- */

/* Drops the last block. */
static void drop_block(struct lines *lines)
{
    lines->begun = lines->begun || lines->block > 0;
    lines->size -= lines->block;
    if (lines->size > 0) memmove(lines->bytes, lines->bytes + lines->block, lines->size);
    lines->block = 0;
}

/* Returns true if the line that ends at `end` is empty or blank. */
static bool line_is_empty(const char *bytes, size_t end)
{
    while (--end > 0 && bytes[end - 1] != '\n')
        if (memchr(" \t\r", bytes[end - 1], 3) == NULL) return false;
    return true;
}

/* Returns the end of the last whole line or paragraph in the first `size` bytes, or 0 if there is
   none. */
static size_t last_end(const char *bytes, size_t size, bool paragraphs)
{
    for (size_t at = size; at > 0; at--)
        if (bytes[at - 1] == '\n' && (!paragraphs || line_is_empty(bytes, at))) return at;
    return 0;
}

/* Returns where to cut a line that has more than `size` bytes: after a sentence if possible,
   otherwise after a word, otherwise between two characters. */
static size_t cut_line(const char *bytes, size_t size)
{
    size_t word = 0, character = size;
    for (size_t at = size; at > 1; at--) {
        if (bytes[at - 1] != ' ') continue;
        if (memchr(".!?", bytes[at - 2], 3) != NULL) return at;
        if (word == 0) word = at;
    }
    while (character > size - 3 && (bytes[character] & 0xC0) == 0x80) character--;
    return word > 0 ? word : character;
}

/* Returns the size of the block, or 0 if more has to be read. */
static size_t block_size(const struct lines *lines, size_t max, bool paragraphs)
{
    if (lines->size <= max && lines->ended) return lines->size;
    size_t size = lines->size < max ? lines->size : max;
    size_t end = last_end(lines->bytes, size, paragraphs);
    if (end > 0 || lines->size <= max) return end;
    if (paragraphs) end = last_end(lines->bytes, size, false);
    return end > 0 ? end : cut_line(lines->bytes, size);
}

rapt_text lines_block(struct lines *lines, size_t max, bool paragraphs)
{
    double start = 0;
    drop_block(lines);
    for (;;) {
        size_t size = block_size(lines, max, paragraphs);
        bool paused = false;
        if (size > 0 && start <= 0) start = now();
        if (size > 0 && lines->size <= max && !lines->ended)
            paused = !input_comes(lines, PAUSE) || now() - start > LONGEST;
        if (lines->ended || lines->size > max || paused) {
            lines->block = size;
            return (rapt_text){lines->bytes, size};
        }
        lines->ended = !read_more(lines);
    }
}

rapt_text lines_rest(struct lines *lines)
{
    drop_block(lines);
    while (!lines->ended) lines->ended = !read_more(lines);
    lines->block = lines->size;
    return (rapt_text){lines->bytes, lines->size};
}

/* ---- lines that a person types: libedit offers editing and a history of the lines of this run;
   without it, the terminal's own editing remains ---- */

#ifdef RAPT_HAVE_LIBEDIT

#include "kit/program.h"
#include <histedit.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REMEMBERED = 1000 }; /* lines */

struct editor {
    EditLine *line;
    History *history;
};

static char *prompt(EditLine *line)
{
    static char text[] = "> ";
    (void)line;
    return text;
}

/* Makes libedit read what is typed as UTF-8, whatever the user's locale is. */
static void choose_encoding(void)
{
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL) setlocale(LC_CTYPE, "");
}

struct editor *editor_open(int file)
{
    HistEvent event;
    if (file != STDIN_FILENO || !isatty(file) || !isatty(STDOUT_FILENO)) return NULL;
    struct editor *e = xcalloc(1, sizeof *e);
    choose_encoding();
    e->line = el_init(program_name, stdin, stdout, stderr);
    e->history = history_init();
    if (e->line == NULL || e->history == NULL) {
        editor_close(e);
        return NULL;
    }
    history(e->history, &event, H_SETSIZE, REMEMBERED);
    history(e->history, &event, H_SETUNIQUE, 1);
    el_set(e->line, EL_PROMPT, prompt);
    el_set(e->line, EL_SIGNAL, 1);
    el_set(e->line, EL_EDITOR, "emacs");
    el_set(e->line, EL_HIST, history, e->history);
    el_source(e->line, NULL); /* the user's own settings */
    return e;
}

void editor_close(struct editor *e)
{
    if (e == NULL) return;
    if (e->line != NULL) el_end(e->line);
    if (e->history != NULL) history_end(e->history);
    free(e);
}

const char *editor_line(struct editor *e, size_t *size)
{
    HistEvent event;
    int count = 0;
    const char *line = el_gets(e->line, &count);
    *size = line != NULL && count > 0 ? (size_t)count : 0;
    if (*size == 0) {
        putchar('\n'); /* ends the line of the prompt */
        return NULL;
    }
    if (line[strspn(line, " \t\r\n")] != 0) history(e->history, &event, H_ENTER, line);
    return line;
}

#else

struct editor *editor_open(int file)
{
    (void)file;
    return NULL;
}

void editor_close(struct editor *e)
{
    (void)e;
}

const char *editor_line(struct editor *e, size_t *size)
{
    (void)e;
    *size = 0;
    return NULL;
}

#endif
