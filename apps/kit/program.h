/* program.h - what all programs share: messages, memory, clock, interrupts, options, JSON.
   Functions that return an int return the program's exit code, after a message if it is not 0. */
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
/* Print a message and return EXIT_FAILED and EXIT_USAGE, respectively. */
int failed(const char *format, ...) __attribute__((format(printf, 1, 2)));
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_report(const char *format, ...)
    __attribute__((format(printf, 1, 2))); /* without the program's name */
/* Prints progress. On a terminal, the next message overwrites it; otherwise it is printed as a
   line, at most once every ten seconds. */
void print_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Shows on a terminal which step of training is done, at most five times a second. Any thread may
   call it. `name` is the name of the model, or "". */
void training_progress(const char *name, int step, int steps);
void clear_progress(void); /* removes progress from the terminal, as every message does */
/* If `rank` is above 0, makes this process print only failures and usage errors, with its rank.
   Rank 0 prints the other messages. */
void messages_of_rank(int rank);
/* Write to standard output, and flush it. A failure is reported once; a closed pipe fails without a
   message. */
int write_output(const char *bytes, size_t size);
int finish_output(void);

/* ---- system.c ---- */
double now(void); /* seconds of a monotonic clock */
/* Returns `asked`, or if that is 0 the number of processors available to the process, but at most
   OMP_NUM_THREADS if that is set. */
int threads_used(int asked);
/* Returns the width of a terminal; HELP_COLUMNS if that is unknown or below 21 columns, or if the
   file is not a terminal. */
int terminal_columns(FILE *file);
/* Opens those of file descriptors 0, 1 and 2 that are closed, so that a file opened later does not
   become standard output, and ignores SIGPIPE and SIGXFSZ, so that write errors are reported where
   they occur, including those of a file size limit. options_read calls it. */
void guard_process(void);
/* Asks the system for the tiles of AMX, so that products of 8-bit integers may use them
   (rapt/base.h). Call it before any function of the library. If it fails, nothing changes. */
void ask_for_tiles(void);
/* Makes free() return large blocks to the system. By default, glibc stops doing so after the first
   such block has been freed, and the temporary arrays of loading then stay in the heap. */
void return_large_memory(void);
void watch_for_interrupts(void); /* SIGINT and SIGTERM; the second of either ends the process */
bool interrupted(void);
void ignore_interrupts(void); /* ignores both signals from now on, so that output that is being
                                 written is completed */

/* ---- tools.c ---- */
void *xcalloc(size_t count, size_t size); /* zeroed; exits if memory runs out */
void *xreallocarray(void *memory, size_t count, size_t size);
char *xasprintf(const char *format, ...)
    __attribute__((format(printf, 1, 2)));   /* allocates a string */
char *shell_word(const char *text);          /* quotes it for a shell; allocates a string */
void write_json(json_t *object, FILE *file); /* one line; releases the object */
void print_json(json_t *object);             /* the same on standard output, which is flushed */
/* put_item and put_member take ownership of the value, and exit if memory runs out. */
void put_item(json_t *list, json_t *item);
void put_member(json_t *object, const char *key, json_t *value);
json_t *number(double value);                                  /* null if NaN or infinite */
json_t *number_rows(const float *grid, int rows, int columns); /* [[...], ...] */

/* ---- options.c ---- */
enum option_kind {
    OPTION_GROUP,   /* not an option: `name` is the title of the options that follow */
    OPTION_FLAG,    /* bool */
    OPTION_INTEGER, /* int */
    OPTION_SEED,    /* uint64_t */
    OPTION_REAL,    /* double */
    OPTION_MINUTES, /* double, minutes; given as 90, 90m, 30s or 1.5h */
    OPTION_INPUT,   /* const char *, a file that is read; - becomes STANDARD_INPUT */
    OPTION_OUTPUT,  /* const char *, a file that is written; - becomes STANDARD_OUTPUT */
    OPTION_MADE,    /* const char *, a file that is created or replaced; not a stream */
    OPTION_TEXT,    /* const char *, any text */
    OPTION_CHOICE   /* const char *, one of argument "a|b|c" */
};
struct option_row {
    const char *name;
    enum option_kind kind;
    void *value;
    const char *argument; /* its name in --help; for a choice the values, "a|b|c" */
    const char *help;
    double min, max; /* of a number */
    bool given;
};
struct command {
    const char *name,
        *arguments;       /* "attend", "SENTENCE"; name is "" if the program has only one command */
    const char *purpose;  /* paragraphs for --help, which wraps them */
    const char *examples; /* lines at the end of --help, or NULL */
    struct option_row *rows;
    int count;
    int min, max; /* numbers of positional arguments */
    char **rest;  /* [rest_count] the positional arguments; set by options_read */
    int rest_count;
};
enum { GO_ON = -1 };
/* Reads the options. Returns GO_ON or an exit code. Refuses outputs that are also inputs or cannot
   be written. Options may be abbreviated; -m, -o, -h and -V are short for --model, --out or
   --output, --help and --version. */
int options_read(struct command *command, int argc, char **argv);
/* Sets an option as --name text would. Returns GO_ON or an exit code. The text is not copied. */
int option_set(const struct command *command, struct option_row *row, const char *text);
/* Returns the value as text that option_set reads. The caller frees it. Returns NULL if a flag is
   off, a number is below its range, or a text is NULL. */
char *option_text(const struct option_row *row);
/* Calls a command so that options_read gives its table to `visit` and returns EXIT_OK. */
typedef void command_fn(const struct command *command, void *user);
void command_visit(int (*run)(int argc, char **argv), const char *name, command_fn *visit,
                   void *user);

/* ---- table.c: the table of a command's options ---- */
struct option_row *option_find(const struct command *command, const char *name); /* or NULL */
struct option_row *option_of_letter(const struct command *command, int letter);  /* or NULL */
char option_letter(const char *name); /* 'm' for "model", or 0 */
bool option_given(const struct command *command, const char *name);
struct option_row threads_row(int *threads);              /* --threads, which threads_used reads */
bool choices_have(const char *choices, const char *text); /* returns true if text is one of
                                                             "a|b|c" */
char *choices_text(const char *choices); /* turns "a|b|c" into "a, b, c"; the caller frees it */

/* ---- help.c: text for people, at most HELP_COLUMNS columns ---- */
enum { HELP_COLUMNS = 80 };
/* Prints the paragraphs of `text`, with lines beginning at column `left`; spaces at the beginning
   of a line stay. `at` is the column of the cursor. */
void print_wrapped(const char *text, int at, int left);
int print_help(const struct command *command);
/* Returns "--width N", "-m, --model FILE" or "--score SCORE". The caller frees it. */
char *option_usage(const struct command *command, const struct option_row *row);
/* Returns a name such as "SCORE" if the row's list of values is too long to print beside the
   option, or belongs to several options; otherwise NULL. The caller frees it. */
char *option_list_name(const struct command *command, const struct option_row *row);
/* Returns true if this row is the first with its list of values. */
bool option_begins_list(const struct command *command, int index);
/* Returns the default to print after the help, such as " [30]". Returns "" for a flag, for a number
   that is 0 or below its range, and for a text that is NULL or empty. The caller frees it. */
char *option_default(const struct option_row *row);

/* ---- help.c: suggestions ---- */
/* Return the option of the command, or the choice of "a|b|c", that was probably meant, or NULL. The
   caller frees a choice. */
const char *suggest_option(const struct command *command, const char *typed);
char *suggest_choice(const char *choices, const char *typed);

/* ---- help.c: versions ---- */
int print_version(void);

/* ---- files.c ---- */
#define STANDARD_INPUT  "/dev/stdin"
#define STANDARD_OUTPUT "/dev/stdout"
/* Opens a file for reading. Returns -1 and sets errno on failure. */
int file_open(const char *path);
/* Reads a whole file, and decompresses it if it is compressed. The caller frees *bytes, even after
   a failure. */
int file_read(const char *path, char **bytes, size_t *size);
/* Fails if a regular file exists there, unless standard output goes to it. The message says that
   --force replaces it. */
int file_new(const char *path);
/* Creates a file, or replaces a regular one atomically. Writes into pipes, devices and standard
   output. Compresses the bytes if the name ends in .gz or .zst. */
int file_write(const char *path, const char *bytes, size_t size);
bool file_same(const char *a, const char *b); /* the same regular file, by device and inode */
bool is_output(const char *path); /* returns true if it is the regular file that standard output
                                     goes to */
bool output_is_input(void);       /* returns true if standard input and output are the same file */
bool is_input(const char *path);  /* returns true if it is the regular file that standard input
                                     comes from */
/* Checks the files of the options that are given. Returns GO_ON or an exit code. No output,
   including standard output, may also be an input. An output must be writable unless it is a pipe,
   a device or standard output. At most one option may read standard input. */
int files_check(const struct command *command);

/* ---- unicode.c: files that are not UTF-8 text ---- */
/* Fails with advice if the bytes begin like a compressed file or like text in UTF-16 or UTF-32.
   `name` is the name of the file, for the message. */
int text_check(const char *name, const char *bytes, size_t size);

/* ---- files.c: standard output in a temporary file ---- */
/* Collects standard output between begin and end. Then writes either all of it to a file, or
   nothing. */
struct spool {
    FILE *file; /* temporary, without a name */
    int output; /* duplicate of standard output */
};
int spool_begin(struct spool *spool);
int spool_end(struct spool *spool, const char *path); /* NULL means to discard it */
/* Writes all of a temporary file to `path`, as file_write does. */
int spool_save(FILE *file, const char *path);

#endif
