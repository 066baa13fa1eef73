/* program.h - what every program here does the same way: messages, memory, clock, options, JSON.
   Functions that answer with an int give the program's exit code, and have said why when it is
   not 0. */
#ifndef KIT_PROGRAM_H
#define KIT_PROGRAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };
extern const char program_name[]; /* each program defines it, beside main */

/* ---- message.c: one line on standard error ---- */
void print_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
int failed(const char *format, ...) __attribute__((format(printf, 1, 2)));      /* EXIT_FAILED */
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2))); /* EXIT_USAGE */
/* Progress: the next one takes its place on a terminal; elsewhere it is a line of its own. */
void print_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
int finish_output(void); /* flushes standard output; a closed pipe fails without a word */

/* ---- tools.c ---- */
void *xcalloc(size_t count, size_t size); /* zeroed; ends the program if there is none */
void *xreallocarray(void *memory, size_t count, size_t size);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2))); /* a new string */
double now(void);                /* seconds of a clock that never goes back */
int threads_used(int asked);     /* asked, or as many as this process may run */
void watch_for_interrupts(void); /* SIGINT and SIGTERM; the second one kills */
bool interrupted(void);
void print_json(json_t *object);                               /* one line; drops the reference */
json_t *number(double value);                                  /* null if it is not finite */
json_t *number_rows(const float *grid, int rows, int columns); /* [[...], ...] */
int terminal_columns(FILE *file);                              /* 100 if it is no terminal */

/* ---- options.c ---- */
enum option_kind {
    OPTION_FLAG,    /* bool */
    OPTION_INTEGER, /* int */
    OPTION_SEED,    /* uint64_t */
    OPTION_REAL,    /* double */
    OPTION_STRING,  /* const char * */
    OPTION_CHOICE   /* const char *, one of argument "a|b|c" */
};
struct option_row {
    const char *name;
    enum option_kind kind;
    void *value;
    const char *argument; /* as --help shows it */
    const char *help;
    double min, max; /* of a number */
    bool given;
};
struct command {
    const char *name, *arguments; /* "attend", "SENTENCE"; name "": the program has one command */
    const char *purpose;          /* a few lines for --help */
    struct option_row *rows;
    int count;
    int min, max; /* how many arguments that are not options */
    char **rest;  /* those; set by options_read */
};
enum { GO_ON = -1 };
int options_read(struct command *command, int argc, char **argv); /* GO_ON or an exit code */
bool option_given(const struct command *command, const char *name);

#endif
