/* main.c - toy_translate: the commands, their dispatch, help and version. */
#define _POSIX_C_SOURCE 200809L
#include "toy.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

const char program_name[] = "toy_translate";

static int command_help(int argc, char **argv);
static int command_version(int argc, char **argv);

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"train", command_train, "train a translator on sentence pairs"},
    {"translate", command_translate, "translate lines of text"},
    {"evaluate", command_evaluate, "score translations: BLEU, chrF, exact matches"},
    {"score", command_score, "say how likely a model finds given translations"},
    {"attend", command_attend, "show what a translation attends to"},
    {"info", command_info, "show what a model file holds"},
    {"demo", command_demo, "train on a small built-in corpus for a minute, and test"},
    {"help", command_help, "show this, or the options of a command: help train"},
    {"version", command_version, "show the versions of the program and the library"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static int overview(void)
{
    puts("usage: toy_translate COMMAND [OPTION]...\n\n"
         "Trains small translators, translates with them, and shows what they attend to.\n\n"
         "Commands");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-12s %s\n", commands[i].name, commands[i].help);
    puts("\ntoy_translate COMMAND --help lists the options of a command.\n"
         "Exit status: 0 success, 1 failure, 2 wrong option, 130 interrupted by Ctrl-C.");
    return finish_output();
}

static int unknown(const char *typed)
{
    char *names = xasprintf("%s", "");
    for (size_t i = 0; i < COMMANDS; i++) {
        char *more = xasprintf("%s%s%s", names, i > 0 ? "|" : "", commands[i].name);
        free(names);
        names = more;
    }
    char *meant = suggest_choice(names, typed);
    int code = meant ? usage_error("unknown command '%s'; did you mean %s?", typed, meant)
                     : usage_error("unknown command '%s'; toy_translate help lists them", typed);
    free(meant);
    free(names);
    return code;
}

static int run(const char *name, int argc, char **argv)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0) return commands[i].run(argc, argv);
    return unknown(name);
}

static int command_help(int argc, char **argv)
{
    char option[] = "--help";
    if (argc > 2) return usage_error("help: unexpected argument '%s'", argv[2]);
    if (argc < 2 || argv[1][0] == '-' || strcmp(argv[1], "help") == 0) return overview();
    if (strcmp(argv[1], "version") == 0) return print_version();
    char *arguments[] = {argv[1], option, NULL};
    return run(argv[1], 2, arguments);
}

static int command_version(int argc, char **argv)
{
    if (argc > 1) return usage_error("version: unexpected argument '%s'", argv[1]);
    return print_version();
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a failed write is reported where it happens, */
    signal(SIGXFSZ, SIG_IGN); /* a file size limit too */
    if (argc < 2) return overview() == EXIT_OK ? EXIT_USAGE : EXIT_FAILED;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return overview();
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) return print_version();
    if (argv[1][0] == '-')
        return usage_error("'%s' stands before a command; toy_translate help lists them", argv[1]);
    return run(argv[1], argc - 1, argv + 1);
}
