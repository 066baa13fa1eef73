/* editor.c - reads lines that a person types, with libedit, which offers editing and a history of
   the lines of this run. Without libedit, the terminal's own editing remains. */
#define _POSIX_C_SOURCE 200809L
#include "kit/editor.h"

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

/* Makes libedit read what is typed as UTF-8, whatever the person's locale is. */
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
    el_source(e->line, NULL); /* the person's own settings */
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
        putchar('\n'); /* what follows is not in the line of the prompt */
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
