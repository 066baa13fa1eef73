/* main.c - toy_translate: the commands, their dispatch, --help and --version. */
#define _POSIX_C_SOURCE 200809L
#include "toy.h"
#include <signal.h>
#include <string.h>

const char program_name[] = "toy_translate";

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} commands[] = {
    {"train", command_train, "train a translator on sentence pairs"},
    {"translate", command_translate, "translate standard input, line by line"},
    {"evaluate", command_evaluate, "score a model on sentence pairs: BLEU, chrF, exact matches"},
    {"attend", command_attend, "translate one sentence and print its cross-attention weights"},
    {"info", command_info, "print configuration and size of a model file"},
    {"demo", command_demo, "train on a small built-in corpus and test (the default)"},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static int help(void)
{
    puts("usage: toy_translate [COMMAND] [OPTION]...\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-10s %s\n", commands[i].name, commands[i].help);
    printf("\ntoy_translate COMMAND --help lists the options of each. rapt %s.\n", rapt_version());
    return finish_output();
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* a failed write is reported where it happens, */
    signal(SIGXFSZ, SIG_IGN); /* a file size limit too */
    if (argc < 2) return command_demo(argc, argv);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return help();
    if (strcmp(argv[1], "--version") == 0) {
        puts(rapt_version());
        return finish_output();
    }
    if (argv[1][0] == '-') return command_demo(argc, argv);
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
    return usage_error("unknown command '%s'; toy_translate --help lists them", argv[1]);
}
