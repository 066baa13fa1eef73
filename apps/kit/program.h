/* program.h - shared by all programs: messages, memory, clock, interrupts, options, JSON. Functions
   that return an int return the program's exit code, after a message if it is not 0. */
#ifndef KIT_PROGRAM_H
#define KIT_PROGRAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };
extern const char program_name[]; /* defined beside main */

/* ---- message.c: one line on standard error ---- */
void print_message(const char *format, ...) __attribute__((format(printf, 1, 2)));
int failed(const char *format, ...) __attribute__((format(printf, 1, 2)));        /* EXIT_FAILED */
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));   /* EXIT_USAGE */
void print_report(const char *format, ...) __attribute__((format(printf, 1, 2))); /* without name */
/* Progress: on a terminal the next message overwrites it; elsewhere it is a line,
   one in ten seconds at most. */
void print_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* From now on only failures are shown, with the number of this rank, which is above 0: the same
   program runs elsewhere and says the rest. */
void messages_of_rank(int rank);
int finish_output(void); /* flushes standard output; a closed pipe fails without a message */

/* ---- system.c ---- */
double now(void);                 /* seconds of a monotonic clock */
int threads_used(int asked);      /* asked, or if 0 the processors available to the process */
int terminal_columns(FILE *file); /* HELP_COLUMNS unless the file is a terminal */
/* Opens those of the files 0, 1 and 2 that are closed, so that a file opened later does not become
   standard output. options_read calls it. */
void hold_standard_files(void);
void watch_for_interrupts(void); /* SIGINT and SIGTERM; a second one kills */
bool interrupted(void);
void ignore_interrupts(void); /* from now on, so that output being written is finished */

/* ---- tools.c ---- */
void *xcalloc(size_t count, size_t size); /* zeroed; exits if memory runs out */
void *xreallocarray(void *memory, size_t count, size_t size);
char *xasprintf(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* allocates a string */
char *shell_word(const char *text);        /* quotes it for a shell; allocates a string */
void print_json(json_t *object);           /* one line; releases the object */
/* Both take over the value, and exit if memory runs out. */
void put_item(json_t *list, json_t *item);
void put_member(json_t *object, const char *key, json_t *value);
json_t *number(double value);                                  /* null unless it is finite */
json_t *number_rows(const float *grid, int rows, int columns); /* [[...], ...] */

/* ---- options.c ---- */
enum option_kind {
    OPTION_GROUP,   /* no option: a title, `name`, over those that follow in --help */
    OPTION_FLAG,    /* bool */
    OPTION_INTEGER, /* int */
    OPTION_SEED,    /* uint64_t */
    OPTION_REAL,    /* double */
    OPTION_MINUTES, /* double, minutes; given as 90, 90m, 30s or 1.5h */
    OPTION_INPUT,   /* const char *, a file that is read */
    OPTION_OUTPUT,  /* const char *, a file that is written */
    OPTION_TEXT,    /* const char *, any text */
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
    const char *purpose;          /* paragraphs for --help, which wraps them */
    const char *examples;         /* lines at the end of --help; NULL: none */
    struct option_row *rows;
    int count;
    int min, max; /* numbers of positional arguments */
    char **rest;  /* they, rest_count of them; set by options_read */
    int rest_count;
};
enum { GO_ON = -1 };
/* GO_ON or an exit code. Refuses outputs that are an input, or cannot be written. Options may be
   abbreviated; -m, -o, -h and -V are short for --model, --out or --output, --help, --version. */
int options_read(struct command *command, int argc, char **argv);
/* GO_ON, or an exit code: as if --name text had been given. */
int option_set(const struct command *command, struct option_row *row, const char *text);
/* The value as option_set reads it; NULL: none, or out of range. The caller frees. */
char *option_text(const struct option_row *row);
/* Calls a command so that options_read gives its table to `visit` and returns EXIT_OK. */
typedef void command_fn(const struct command *command, void *user);
void command_visit(int (*run)(int argc, char **argv), const char *name, command_fn *visit,
                   void *user);

/* ---- table.c: the table of a command's options ---- */
struct option_row *option_find(const struct command *command, const char *name); /* NULL: none */
struct option_row *option_of_letter(const struct command *command, int letter);  /* NULL: none */
char option_letter(const char *name); /* 'm' for "model", or 0 */
bool option_given(const struct command *command, const char *name);
bool choices_have(const char *choices, const char *text); /* is text one of "a|b|c"? */
char *choices_text(const char *choices); /* turns "a|b|c" into "a, b, c"; the caller frees it */

/* ---- help.c: text for people, at most HELP_COLUMNS columns ---- */
enum { HELP_COLUMNS = 80 };
/* The paragraphs of `text`, each line from column `left` on; `at`: the column of the cursor. */
void print_wrapped(const char *text, int at, int left);
int print_help(const struct command *command);
/* "--width N", "--score SCORE"; the caller frees. */
char *option_usage(const struct command *command, const struct option_row *row);
/* Lists of values longer than help lines show once; NULL: the row has none. "SCORE". */
char *option_list_name(const struct command *command, const struct option_row *row);
/* Is this row the first one with its list? */
bool option_begins_list(const struct command *command, int index);
/* " [30]" after the help; the caller frees. "": nothing. */
char *option_default(const struct option_row *row);

/* ---- suggest.c ---- */
/* The option of the command or the choice of "a|b|c" that was probably meant, NULL: none. The
   former belongs to the command, the latter is the caller's to free. */
const char *suggest_option(const struct command *command, const char *typed);
char *suggest_choice(const char *choices, const char *typed);

/* ---- version.c ---- */
int print_version(void);

/* ---- files.c ---- */
/* The whole file, the caller's to free even after a failure. */
int file_read(const char *path, char **bytes, size_t *size);
/* A regular file is replaced atomically; pipes, devices and standard output are written into. */
int file_write(const char *path, const char *bytes, size_t size);
bool file_same(const char *a, const char *b); /* one regular file, by device and inode */
bool is_output(const char *path); /* is it standard output, if that is a regular file? */
bool output_is_input(void);       /* of standard output and standard input */
bool is_input(const char *path);  /* is it standard input, if that is a regular file? */
/* GO_ON, or an exit code: no output may be an input, and each must be writable. */
int files_check(const struct command *command);

/* ---- spool.c ---- */
/* From begin to end what goes to standard output is kept; then file_write has it, for a path. */
struct spool {
    FILE *file; /* without a name */
    int output; /* standard output as it was */
};
int spool_begin(struct spool *spool);
int spool_end(struct spool *spool, const char *path); /* NULL: it is dropped */

#endif
