/* options.c - a command's options from one table: parsed strictly, and explained by --help.
   The program never leaves the "C" locale, so a number means the same everywhere. */
#include "kit/program.h"
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPTIONS = 96, HELP = MAX_OPTIONS, FIRST = 256 };

static bool read_integer(const char *text, double min, double max, int *value)
{
    char *end;
    errno = 0;
    long read = strtol(text, &end, 10);
    if (strspn(text, "0123456789-+") != strlen(text) || end == text || *end || errno) return false;
    if ((double)read < min || (double)read > max) return false;
    *value = (int)read;
    return true;
}

static bool read_seed(const char *text, uint64_t *value)
{
    if (*text == 0 || strspn(text, "0123456789") != strlen(text)) return false;
    errno = 0;
    unsigned long long read = strtoull(text, NULL, 10);
    *value = read;
    return errno == 0;
}

static bool read_real(const char *text, double min, double max, double *value)
{
    char *end;
    errno = 0;
    double read = strtod(text, &end);
    if (strspn(text, "0123456789-+.eE") != strlen(text) || end == text || *end) return false;
    if (errno || !isfinite(read) || read < min || read > max) return false;
    *value = read;
    return true;
}

static bool is_choice(const char *text, const char *choices)
{
    size_t size = strlen(text);
    for (const char *at = choices; *at; at += *at == '|') {
        size_t length = strcspn(at, "|");
        if (length == size && memcmp(at, text, size) == 0) return true;
        at += length;
    }
    return false;
}

/* usage_error(), with the name of the command in front if it has one. */
__attribute__((format(printf, 2, 3))) static int wrong(const struct command *command,
                                                       const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return usage_error("%s%s%s", command->name, *command->name ? ": " : "", text);
}

static int take(const struct command *command, struct option_row *row, const char *text)
{
    row->given = true;
    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)row->value = true;
        return GO_ON;
    case OPTION_INPUT:
    case OPTION_OUTPUT:
        *(const char **)row->value = text;
        if (*text == 0) return wrong(command, "--%s is empty", row->name);
        return GO_ON;
    case OPTION_CHOICE:
        *(const char **)row->value = text;
        if (is_choice(text, row->argument)) return GO_ON;
        return wrong(command, "--%s: '%s' is none of %s", row->name, text, row->argument);
    case OPTION_SEED:
        if (read_seed(text, row->value)) return GO_ON;
        return wrong(command, "--%s: '%s' is not an integer from 0 to 18446744073709551615",
                     row->name, text);
    case OPTION_INTEGER:
        if (read_integer(text, row->min, row->max, row->value)) return GO_ON;
        return wrong(command, "--%s: '%s' is not an integer from %.0f to %.0f", row->name, text,
                     row->min, row->max);
    case OPTION_REAL:
        break;
    }
    if (read_real(text, row->min, row->max, row->value)) return GO_ON;
    return wrong(command, "--%s: '%s' is not a number from %g to %g", row->name, text, row->min,
                 row->max);
}

static void print_default(const struct option_row *row)
{
    bool is_text = row->kind == OPTION_INPUT || row->kind == OPTION_OUTPUT;
    const char *text =
        is_text || row->kind == OPTION_CHOICE ? *(const char *const *)row->value : NULL;
    if (text != NULL) printf(" [%s]", text);
    if (row->kind == OPTION_INTEGER && *(int *)row->value != 0) printf(" [%d]", *(int *)row->value);
    if (row->kind == OPTION_REAL && fabs(*(double *)row->value) > 0)
        printf(" [%g]", *(double *)row->value);
    if (row->kind == OPTION_SEED) printf(" [%llu]", (unsigned long long)*(uint64_t *)row->value);
}

static int help(const struct command *command)
{
    printf("usage: %s%s%s [OPTION]...%s%s\n\n%s\n\n", program_name, *command->name ? " " : "",
           command->name, *command->arguments ? " " : "", command->arguments, command->purpose);
    for (int i = 0; i < command->count; i++) {
        const struct option_row *row = &command->rows[i];
        char left[256];
        snprintf(left, sizeof left, "--%s%s%s", row->name, row->kind == OPTION_FLAG ? "" : " ",
                 row->kind == OPTION_FLAG ? "" : row->argument);
        printf("  %-30s%s%s", left, strlen(left) > 30 ? "\n                                 " : " ",
               row->help);
        print_default(row);
        putchar('\n');
    }
    printf("  %-30s %s\n", "--help", "show this");
    return finish_output();
}

static int refuse(const struct command *command, int code, char **argv)
{
    const char *culprit = argv[optind - 1];
    int row = optopt - FIRST;
    if (code == ':' && row >= 0 && row < command->count)
        return wrong(command, "--%s needs a value: %s", command->rows[row].name,
                     command->rows[row].argument);
    if (row >= 0 && row <= HELP) return wrong(command, "'%s': this option takes no value", culprit);
    if (optopt > 0) return wrong(command, "unknown option '-%c'", optopt);
    return wrong(command, "unknown option '%s'; --help lists them", culprit);
}

static int rest(struct command *command, int argc, char **argv)
{
    int count = argc - optind;
    command->rest = argv + optind;
    if (count > command->max)
        return wrong(command, "'%s' is one argument too many", command->rest[command->max]);
    if (count < command->min) return wrong(command, "%s is missing", command->arguments);
    return files_check(command);
}

int options_read(struct command *command, int argc, char **argv)
{
    struct option known[MAX_OPTIONS + 2] = {{0}};
    int count = command->count < MAX_OPTIONS ? command->count : MAX_OPTIONS;
    for (int i = 0; i < count; i++) {
        int argument = command->rows[i].kind == OPTION_FLAG ? no_argument : required_argument;
        known[i] = (struct option){command->rows[i].name, argument, NULL, FIRST + i};
    }
    known[count] = (struct option){"help", no_argument, NULL, FIRST + HELP};
    opterr = 0;
    for (;;) {
        int code = getopt_long(argc, argv, ":h", known, NULL);
        if (code == -1) return rest(command, argc, argv);
        if (code == 'h' || code == FIRST + HELP) return help(command);
        if (code < FIRST) return refuse(command, code, argv);
        int taken = take(command, &command->rows[code - FIRST], optarg);
        if (taken != GO_ON) return taken;
    }
}

bool option_given(const struct command *command, const char *name)
{
    for (int i = 0; i < command->count; i++)
        if (strcmp(command->rows[i].name, name) == 0) return command->rows[i].given;
    return false;
}
