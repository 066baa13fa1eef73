/* main.c - toy_translate: the commands, their dispatch, help and version. */
#define _POSIX_C_SOURCE 200809L
#include "commands.h"
#include <stdlib.h>
#include <string.h>

const char program_name[] = "toy_translate";

static int command_help(int argc, char **argv);
static int command_version(int argc, char **argv);

const struct entry commands[] = {
    {"train", command_train, "train a translator on sentence pairs", true},
    {"translate", command_translate, "translate lines of text", true},
    {"evaluate", command_evaluate,
     "score translations against references: BLEU, chrF, exact matches", true},
    {"score", command_score, "score given translations: log-probability per sentence and word",
     true},
    {"attend", command_attend, "show the attention weights of a translation as a heat map", true},
    {"embed", command_embed, "turn lines of text into vectors, by a sentence encoder", true},
    {"similarity", command_similarity, "compare texts by the cosine of their vectors", true},
    {"rerank", command_rerank, "order texts by how well they answer a query", true},
    {"tokenize", command_tokenize, "split lines of text into tokens", true},
    {"detokenize", command_detokenize, "turn lines of token ids back into text", true},
    {"vocab", command_vocab, "print the vocabulary of a model", true},
    {"info", command_info, "describe a model file", true},
    {"shortlist", command_shortlist, "learn a lexical shortlist from sentence pairs", true},
    {"convert", command_convert, "convert a model to the format of another project", true},
    {"demo", command_demo, "train on a small built-in corpus for about a minute, and test", true},
    {"completion", command_completion,
     "print shell completion (bash, zsh, fish) or the manual page", true},
    {"help", command_help, "show this overview, or the options of a command: help train", false},
    {"version", command_version, "show the versions of program and library", false},
    {NULL, NULL, NULL, false},
};

static int overview(void)
{
    puts("usage: toy_translate COMMAND [OPTION]...\n\n"
         "Trains small translators, translates with them, and shows their attention.\n\n"
         "Commands");
    for (const struct entry *e = commands; e->name != NULL; e++)
        printf("  %-12s %s\n", e->name, e->help);
    puts("\ntoy_translate COMMAND --help lists the options of a command. A FILE that is\n"
         "read or written may be -, for standard input or output.\n"
         "Exit status: 0 success, 1 failure, 2 wrong option, 130 interrupted by Ctrl-C.");
    return finish_output();
}

static int unknown_command(const char *typed)
{
    char *names = xasprintf("%s", "");
    for (const struct entry *e = commands; e->name != NULL; e++) {
        char *more = xasprintf("%s%s%s", names, *names ? "|" : "", e->name);
        free(names);
        names = more;
    }
    char *meant = suggest_choice(names, typed);
    int code =
        meant ? usage_error("unknown command '%s'; did you mean %s?", typed, meant)
              : usage_error("unknown command '%s'; toy_translate help lists the commands", typed);
    free(meant);
    free(names);
    return code;
}

/* Reports an unknown option before the command, where only --help and --version are known. */
static int misplaced_option(const char *typed)
{
    char *meant = suggest_choice("--help|--version", typed);
    int code =
        meant ? usage_error("unknown option '%s'; did you mean %s?", typed, meant)
              : usage_error(
                    "the option '%s' must follow a command; toy_translate help lists the commands",
                    typed);
    free(meant);
    return code;
}

static int run_command(const char *name, int argc, char **argv)
{
    for (const struct entry *e = commands; e->name != NULL; e++)
        if (strcmp(name, e->name) == 0) return e->run(argc, argv);
    return unknown_command(name);
}

static int command_help(int argc, char **argv)
{
    char option[] = "--help";
    if (argc > 2) return usage_error("help: unexpected argument '%s'", argv[2]);
    if (argc < 2 || argv[1][0] == '-' || strcmp(argv[1], "help") == 0) return overview();
    if (strcmp(argv[1], "version") == 0) return print_version();
    char *arguments[] = {argv[1], option, NULL};
    return run_command(argv[1], 2, arguments);
}

static int command_version(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return overview();
    if (argc > 1) return usage_error("version: unexpected argument '%s'", argv[1]);
    return print_version();
}

int main(int argc, char **argv)
{
    guard_process();
    ask_for_tiles();
    return_large_memory();
    if (argc < 2) return overview() == EXIT_OK ? EXIT_USAGE : EXIT_FAILED;
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return overview();
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) return print_version();
    if (argv[1][0] == '-') return misplaced_option(argv[1]);
    return run_command(argv[1], argc - 1, argv + 1);
}
