/* manual.c - the manual page toy_translate.1 as man(7) macros, from the tables of options. */
#include "commands.h"
#include <stdlib.h>
#include <string.h>

/* Prints running text: an empty line begins a paragraph, a single line break stays one. */
static void put_roff(const char *text)
{
    bool first = true; /* at the beginning of a line, a dot or quote would be a request */
    for (; *text; text++) {
        if (*text == '\n') {
            fputs(text[1] == '\n' ? "\n.PP\n" : "\n.br\n", stdout);
            while (text[1] == '\n') text++;
            first = true;
            continue;
        }
        if (first && (*text == '.' || *text == '\'')) fputs("\\&", stdout);
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
        first = false;
    }
}

static void put_option(const struct command *command, const struct option_row *row)
{
    char *usage = option_usage(command, row), *standard = option_default(row);
    char *help = xasprintf("%s%s", row->help, standard);
    fputs(".TP\n.B ", stdout);
    put_roff(usage);
    putchar('\n');
    put_roff(help);
    putchar('\n');
    free(help);
    free(standard);
    free(usage);
}

/* Prints the list of values that the options name in capitals, if this option is the first to use
   it. */
static void put_values(const struct command *command, int index)
{
    if (!option_begins_list(command, index)) return;
    char *name = option_list_name(command, &command->rows[index]);
    char *values = choices_text(command->rows[index].argument);
    fputs(".TP\n.B ", stdout);
    put_roff(name);
    putchar('\n');
    put_roff(values);
    putchar('\n');
    free(values);
    free(name);
}

static void put_command(const struct command *command, void *user)
{
    (void)user;
    printf(".SS toy_translate %s [\\fIoption\\fR]...", command->name);
    if (*command->arguments) {
        putchar(' ');
        put_roff(command->arguments);
    }
    putchar('\n');
    put_roff(command->purpose);
    putchar('\n');
    for (int i = 0; i < command->count; i++)
        if (command->rows[i].kind == OPTION_GROUP)
            printf(".PP\n.I %s\n", command->rows[i].name);
        else
            put_option(command, &command->rows[i]);
    for (int i = 0; i < command->count; i++) put_values(command, i);
    if (command->examples == NULL) return;
    puts(".PP\n.I Examples\n.PP\n.nf");
    put_roff(command->examples);
    puts("\n.fi");
}

void manual_print(void)
{
    printf(".\\\" Written by toy_translate completion man.\n"
           ".TH TOY_TRANSLATE 1 \"\" \"rapt %s\" \"User Commands\"\n"
           ".SH NAME\n"
           "toy_translate \\- train small translators and translate with them\n"
           ".SH SYNOPSIS\n"
           ".B toy_translate\n"
           ".I command\n"
           ".RI [ option ]...\n"
           ".SH DESCRIPTION\n"
           "Trains Transformers on sentence pairs, translates with them, and shows their attention "
           "weights.\n"
           "Options may be abbreviated. Every command has\n"
           ".B \\-\\-help\n"
           "and\n"
           ".BR \\-\\-version .\n"
           ".SH COMMANDS\n",
           rapt_version());
    for (const struct entry *e = commands; e->name != NULL; e++) {
        printf(".TP\n.B %s\n", e->name);
        put_roff(e->help);
        putchar('\n');
    }
    puts(".SH OPTIONS");
    for (const struct entry *e = commands; e->name != NULL; e++)
        if (e->has_options) command_visit(e->run, e->name, put_command, NULL);
    puts(".SH EXIT STATUS\n"
         ".TP\n.B 0\nSuccess.\n"
         ".TP\n.B 1\nFailure.\n"
         ".TP\n.B 2\nA wrong option or argument.\n"
         ".TP\n.B 130\nInterrupted by Ctrl\\-C.\n"
         ".SH ENVIRONMENT\n"
         ".TP\n.B OMP_NUM_THREADS\nUpper bound of the default of\n.BR \\-\\-threads .\n"
         ".TP\n.B NO_COLOR\nIf set and not empty, the default of\n.B \\-\\-color\nis not to use "
         "colors.\n"
         ".TP\n.B TMPDIR\nFolder of the temporary model of demo.\n"
         ".TP\n.B SOURCE_DATE_EPOCH\nIf set, train writes this date (in seconds since 1970) into "
         "the model.");
}
