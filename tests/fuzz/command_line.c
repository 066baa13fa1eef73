/* command_line.c - argument vectors chosen by the input, for the programs' option parser with
   tables of toy_translate: the options of a model's configuration, of search, and one of each other
   kind. An accepted value must be in its range, and the resulting configuration is checked. A
   refusal must print exactly one message. No file is touched. */
#define _POSIX_C_SOURCE 200809L
#include "commands/commands.h"
#include "fuzz.h"
#include "training/training.h"
#include <getopt.h>
#include <math.h>

enum { ROWS = VARIANT_ROWS + SEARCH_ROWS + 4, ARGUMENTS = 12, REST = 2 };

static struct option_row rows[ROWS];
static int row_count;
static struct variant variant;
static struct search search;
static struct {
    bool flag;
    uint64_t seed;
    const char *text, *choice;
} other;

/* Fills the table of options once. Its rows keep pointers to the values. */
static void make_rows(void)
{
    const struct option_row more[] = {
        {"flag", OPTION_FLAG, &other.flag, "", "a flag", 0, 0, false},
        {"seed", OPTION_SEED, &other.seed, "N", "a seed", 0, 0, false},
        {"out", OPTION_INPUT, &other.text, "FILE", "a text", 0, 0, false},
        {"schedule", OPTION_CHOICE, &other.choice, "inverse-sqrt|linear|constant", "one of", 0, 0,
         false},
    };
    if (row_count > 0) return;
    require(freopen("/dev/null", "w", stdout) != NULL, "help goes nowhere");
    row_count = variant_rows(&variant, VARIANT_MODEL, rows);
    row_count += variant_rows(&variant, VARIANT_ATTENTION, rows + row_count);
    search_rows(&search, rows + row_count);
    row_count += SEARCH_ROWS;
    memcpy(rows + row_count, more, sizeof more);
    row_count += (int)(sizeof more / sizeof *more);
}

static void reset(void)
{
    memset(&variant, 0, sizeof variant);
    memset(&other, 0, sizeof other);
    search = search_default;
    for (int i = 0; i < row_count; i++) rows[i].given = false;
    optind = 0; /* resets getopt in glibc */
}

/* Returns an option with or without a value, a truncated option, or some other word. */
static char *take_argument(struct feed *in)
{
    static const char *const values[] = {
        "0",    "1",  "-1", "7", "1e-300", "3e38", "1e999",  "nan",        "inf",
        "0x10", " 1", "1 ", "",  "pre",    "dot",  "linear", "2147483648", "18446744073709551616"};
    char text[300];
    uint8_t kind = take_byte(in);
    const char *name = rows[take_below(in, row_count)].name;
    const char *value = values[take_below(in, sizeof values / sizeof *values)];
    if (kind < 60)
        snprintf(text, sizeof text, "--%s", name);
    else if (kind < 140)
        snprintf(text, sizeof text, "--%s=%s", name, value);
    else if (kind < 180)
        snprintf(text, sizeof text, "%s", value);
    else if (kind < 200)
        snprintf(text, sizeof text, "--%.*s=%s", take_below(in, 12), name, value);
    else if (kind < 210)
        snprintf(text, sizeof text, "%.*s", take_below(in, 7), "--help");
    else {
        size_t size = (size_t)take_below(in, 40), at = 0;
        for (; at < size && in->left; at++) {
            uint8_t byte = take_byte(in);
            text[at] = (char)(byte ? byte : '-');
        }
        text[at] = 0;
    }
    return text_copy(text, strlen(text));
}

static void check_row(const struct option_row *row)
{
    if (row->kind == OPTION_INTEGER) {
        int value = *(int *)row->value;
        require(value >= row->min && value <= row->max, "an integer in its range");
    } else if (row->kind == OPTION_REAL) {
        double value = *(double *)row->value;
        require(isfinite(value) && value >= row->min && value <= row->max, "a number in its range");
    } else if (row->kind == OPTION_INPUT) {
        require(**(const char **)row->value != 0, "a text");
    } else if (row->kind == OPTION_CHOICE) {
        require(strstr(row->argument, *(const char **)row->value) != NULL, "one of the choices");
    } else if (row->kind == OPTION_FLAG) {
        require(*(bool *)row->value, "a flag that is set");
    }
}

/* Makes a configuration of the options. If the library refuses it, the reason must name the
   field. */
static void check_variant(void)
{
    rapt_config config = {.size = sizeof config};
    rapt_message why = {""};
    require(rapt_config_preset(&config, "tiny", 300, NULL) == RAPT_OK, "a preset");
    variant_apply(&variant, &config);
    rapt_status status = rapt_config_check(&config, &why);
    require(status == RAPT_OK || (status == RAPT_BAD_ARGUMENT && why.text[0]), "a reason");
    free(variant_text(&config));
    json_decref(variant_describe(&config));
}

static void check(int count, char **arguments)
{
    struct command command = {.name = "train",
                              .arguments = "[A] [B]",
                              .purpose = "none",
                              .rows = rows,
                              .count = row_count,
                              .min = count % 2,
                              .max = REST};
    long before = messages;
    reset();
    int code = options_read(&command, count, arguments);
    require(code == GO_ON || code == EXIT_OK || code == EXIT_USAGE, "an exit code");
    require(messages - before == (code == EXIT_USAGE), "one message for a refusal, else none");
    if (code != GO_ON) return;
    int rest = (int)(arguments + count - command.rest);
    require(rest >= command.min && rest <= command.max, "how many arguments are left");
    for (int i = 0; i < row_count; i++) {
        require(option_given(&command, rows[i].name) == rows[i].given, "what was given");
        if (rows[i].given) check_row(&rows[i]);
    }
    check_variant();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    if (size > 1 << 10) return 0;
    make_rows();
    char *own[ARGUMENTS + 1], *arguments[ARGUMENTS + 1];
    int count = 1 + take_below(&in, ARGUMENTS);
    own[0] = text_copy("train", 5);
    for (int i = 1; i < count; i++) own[i] = take_argument(&in);
    own[count] = NULL;
    memcpy(arguments, own, sizeof(char *) * ((size_t)count + 1)); /* parsing permutes them */
    check(count, arguments);
    for (int i = 0; i < count; i++) free(own[i]);
    return 0;
}
