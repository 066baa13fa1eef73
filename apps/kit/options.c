/* options.c - reads a command's options according to its table. Values are parsed strictly. The
   program never changes LC_NUMERIC from "C", so a number means the same everywhere. */
#include "kit/program.h"
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { HELP = 1 << 20, VERSION, FIRST = 256 }; /* FIRST + i: row i */

static struct {
    command_fn *call;
    void *user;
} visitor; /* set by command_visit */

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

/* Reads a time such as 90, 90m, 30s or 1.5h, and converts it to minutes. */
static bool read_minutes(const char *text, double min, double max, double *value)
{
    static const struct {
        char letter;
        double minutes;
    } units[] = {{'s', 1.0 / 60}, {'m', 1}, {'h', 60}};
    char number[64];
    double unit = 1, read;
    size_t size = strlen(text);
    if (size == 0 || size >= sizeof number) return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (text[size - 1] == units[i].letter) {
            unit = units[i].minutes;
            size--;
            break;
        }
    memcpy(number, text, size);
    number[size] = 0;
    if (!read_real(number, 0, max, &read) || read * unit < min || read * unit > max) return false;
    *value = read * unit;
    return true;
}

/* Works like usage_error, but begins the message with the command's name, if it has one. */
__attribute__((format(printf, 2, 3))) static int wrong_option(const struct command *command,
                                                              const char *format, ...)
{
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return usage_error("%s%s%s", command->name, *command->name ? ": " : "", text);
}

static int wrong_choice(const struct command *command, const struct option_row *row,
                        const char *text)
{
    char *list = choices_text(row->argument), *meant = suggest_choice(row->argument, text);
    int code =
        wrong_option(command, "--%s: invalid value '%s'; choose from %s%s%s%s", row->name, text,
                     list, meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
    free(meant);
    free(list);
    return code;
}

static int set_path(const struct command *command, struct option_row *row, const char *text)
{
    bool dash = strcmp(text, "-") == 0;
    *(const char **)row->value = !dash                       ? text
                                 : row->kind == OPTION_INPUT ? STANDARD_INPUT
                                                             : STANDARD_OUTPUT;
    if (*text == 0) return wrong_option(command, "--%s is empty", row->name);
    if (!dash || row->kind != OPTION_MADE) return GO_ON;
    return wrong_option(command,
                        "--%s -: this file cannot be written to standard output; give its name, "
                        "or ./- for a file of that name",
                        row->name);
}

int option_set(const struct command *command, struct option_row *row, const char *text)
{
    row->given = true;
    switch (row->kind) {
    case OPTION_GROUP:
        return GO_ON;
    case OPTION_FLAG:
        *(bool *)row->value = true;
        return GO_ON;
    case OPTION_INPUT:
    case OPTION_OUTPUT:
    case OPTION_MADE:
        return set_path(command, row, text);
    case OPTION_TEXT:
        *(const char **)row->value = text;
        return GO_ON;
    case OPTION_CHOICE:
        *(const char **)row->value = text;
        if (choices_have(row->argument, text)) return GO_ON;
        return wrong_choice(command, row, text);
    case OPTION_SEED:
        if (read_seed(text, row->value)) return GO_ON;
        return wrong_option(command, "--%s: '%s' is not an integer from 0 to 18446744073709551615",
                            row->name, text);
    case OPTION_INTEGER:
        if (read_integer(text, row->min, row->max, row->value)) return GO_ON;
        return wrong_option(command, "--%s: '%s' is not an integer from %.0f to %.0f", row->name,
                            text, row->min, row->max);
    case OPTION_MINUTES:
        if (read_minutes(text, row->min, row->max, row->value)) return GO_ON;
        return wrong_option(command,
                            "--%s: '%s' is not a time; give minutes, or a number with s, m or h",
                            row->name, text);
    case OPTION_REAL:
        break;
    }
    if (read_real(text, row->min, row->max, row->value)) return GO_ON;
    return wrong_option(command, "--%s: '%s' is not a number from %.8g to %.8g", row->name, text,
                        row->min + 0.0, row->max);
}

char *option_text(const struct option_row *row)
{
    const char *text = NULL;
    switch (row->kind) {
    case OPTION_GROUP:
        break;
    case OPTION_FLAG:
        return *(bool *)row->value ? xasprintf("1") : NULL;
    case OPTION_INTEGER:
        return *(int *)row->value < row->min ? NULL : xasprintf("%d", *(int *)row->value);
    case OPTION_REAL:
    case OPTION_MINUTES:
        if (*(double *)row->value < row->min) return NULL;
        return xasprintf("%.17g", *(double *)row->value);
    case OPTION_SEED:
        return xasprintf("%llu", (unsigned long long)*(uint64_t *)row->value);
    case OPTION_INPUT:
    case OPTION_OUTPUT:
    case OPTION_MADE:
    case OPTION_TEXT:
    case OPTION_CHOICE:
        text = *(const char *const *)row->value;
    }
    return text != NULL ? xasprintf("%s", text) : NULL;
}

/* Returns the list with --name appended if `from` abbreviates `to`, otherwise the same list. */
static char *add_name(char *list, const char *name, const char *from, const char *to, int *count)
{
    if (strncmp(from, to, strlen(from)) != 0) return list;
    char *more = xasprintf("%s%s--%s", list, (*count)++ > 0 ? ", " : "", name);
    free(list);
    return more;
}

/* Reports an option that abbreviates several options or none. */
static int unknown_option(const struct command *command, const char *typed)
{
    char *name = xasprintf("%.*s", (int)strcspn(typed + 2, "="), typed + 2);
    char *list = xasprintf("%s", "");
    int count = 0;
    for (int i = 0; i < command->count; i++)
        if (command->rows[i].kind != OPTION_GROUP)
            list = add_name(list, command->rows[i].name, name, command->rows[i].name, &count);
    list = add_name(list, "help", name, "help", &count);
    list = add_name(list, "version", name, "version", &count);
    for (int i = 0; i < command->count && count > 1; i++) /* --output may stand for --out */
        if (command->rows[i].kind != OPTION_GROUP)
            list = add_name(list, command->rows[i].name, command->rows[i].name, name, &count);
    const char *meant = suggest_option(command, name);
    int code = count > 1 ? wrong_option(command, "'--%s' is ambiguous: %s", name, list)
               : meant
                   ? wrong_option(command, "unknown option '--%s'; did you mean --%s?", name, meant)
                   : wrong_option(command, "unknown option '--%s'; --help lists the options", name);
    free(list);
    free(name);
    return code;
}

static int refuse_option(const struct command *command, int code, char **argv)
{
    const char *culprit = argv[optind - 1];
    int index = optopt - FIRST;
    const struct option_row *row = index >= 0 && index < command->count ? &command->rows[index]
                                   : code == ':' ? option_of_letter(command, optopt)
                                                 : NULL;
    if (code == ':' && row != NULL)
        return wrong_option(command, "--%s needs a value: %s", row->name, row->argument);
    if (index >= 0) /* a row, --help or --version */
        return wrong_option(command, "'%s': this option does not take a value", culprit);
    if (optopt > ' ' && optopt < 0x7f)
        return wrong_option(command, "unknown option '-%c'; --help lists the options", optopt);
    if (optopt != 0) /* a byte of a letter outside ASCII, which may be negative */
        return wrong_option(command, "unknown option '-\\x%02x'; --help lists the options",
                            (unsigned)(unsigned char)optopt);
    return unknown_option(command, culprit);
}

static int take_rest(struct command *command, int argc, char **argv)
{
    int count = argc - optind;
    command->rest = argv + optind;
    command->rest_count = count;
    if (count > command->max)
        return wrong_option(command, "unexpected argument '%s'", command->rest[command->max]);
    if (count < command->min) return wrong_option(command, "%s is missing", command->arguments);
    return files_check(command);
}

/* Returns the options for getopt_long. The caller frees them. */
static struct option *known_options(const struct command *command)
{
    struct option *known = xcalloc((size_t)command->count + 3, sizeof *known), *to = known;
    for (int i = 0; i < command->count; i++) {
        const struct option_row *row = &command->rows[i];
        int argument = row->kind == OPTION_FLAG ? no_argument : required_argument;
        if (row->kind != OPTION_GROUP)
            *to++ = (struct option){row->name, argument, NULL, FIRST + i};
    }
    *to++ = (struct option){"help", no_argument, NULL, FIRST + HELP};
    *to = (struct option){"version", no_argument, NULL, FIRST + VERSION};
    return known;
}

/* Reads one option; *more becomes false at the end. */
static int read_next(const struct command *command, const struct option *known, int argc,
                     char **argv, bool *more)
{
    int code = getopt_long(argc, argv, ":hVm:o:", known, NULL);
    *more = code != -1;
    if (code == -1) return GO_ON;
    if (code == 'h' || code == FIRST + HELP) return print_help(command);
    if (code == 'V' || code == FIRST + VERSION) return print_version();
    struct option_row *row =
        code >= FIRST ? &command->rows[code - FIRST] : option_of_letter(command, code);
    if (row != NULL) return option_set(command, row, optarg);
    if (code == 'm' || code == 'o') optopt = code;
    return refuse_option(command, code, argv);
}

int options_read(struct command *command, int argc, char **argv)
{
    if (visitor.call != NULL) {
        visitor.call(command, visitor.user);
        return EXIT_OK;
    }
    struct option *known = known_options(command);
    int code = GO_ON;
    bool more = true;
    guard_process();
    opterr = 0;
    while (code == GO_ON && more) code = read_next(command, known, argc, argv, &more);
    free(known);
    return code == GO_ON ? take_rest(command, argc, argv) : code;
}

void command_visit(int (*run)(int argc, char **argv), const char *name, command_fn *visit,
                   void *user)
{
    char *own = xasprintf("%s", name);
    char *arguments[] = {own, NULL};
    visitor.call = visit;
    visitor.user = user;
    run(1, arguments);
    visitor.call = NULL;
    free(own);
}
