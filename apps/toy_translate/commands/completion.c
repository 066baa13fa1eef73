/* completion.c - toy_translate completion: writes completion scripts for bash, zsh and fish, and
   the manual page, from the tables of options. */
#include "commands.h"
#include <stdlib.h>
#include <string.h>

/* The kind of arguments that a command takes besides options. */
enum completion_words { WORDS_NONE, WORDS_FILES, WORDS_CHOICES /* in command->arguments */ };

static const char purpose[] = "Prints a script that completes the commands, options and values of "
                              "toy_translate in a shell, or its manual page.";

static const char examples[] =
    "  source <(toy_translate completion bash)    in ~/.bashrc\n"
    "  source <(toy_translate completion zsh)     in ~/.zshrc, after compinit\n"
    "  toy_translate completion fish | source     in ~/.config/fish/config.fish\n"
    "  toy_translate completion man | man -l -";

static bool completion_is_file(const struct option_row *row)
{
    return row->kind == OPTION_INPUT || row->kind == OPTION_OUTPUT || row->kind == OPTION_MADE;
}

static enum completion_words completion_words(const struct command *command)
{
    const char *names = command->arguments;
    return strchr(names, '|') != NULL                                ? WORDS_CHOICES
           : strstr(names, "FILE") != NULL || strstr(names, "MODEL") ? WORDS_FILES
                                                                     : WORDS_NONE;
}

/* Prints "a|b|c" as "a b c". */
static void completion_put_choices(const char *choices)
{
    for (; *choices; choices++) putchar(*choices == '|' ? ' ' : *choices);
}

/* Visits all commands that have options. */
static void completion_visit(command_fn *visit)
{
    for (const struct entry *e = commands; e->name != NULL; e++)
        if (e->has_options) command_visit(e->run, e->name, visit, NULL);
}

/* ---- bash ---- */
static void bash_values(const struct command *command, void *user)
{
    (void)user;
    for (int i = 0; i < command->count; i++) {
        const struct option_row *row = &command->rows[i];
        const char letter = option_letter(row->name);
        if (row->kind == OPTION_GROUP || row->kind == OPTION_FLAG) continue;
        printf("    %s:--%s", command->name, row->name);
        if (letter) printf(" | %s:-%c", command->name, letter);
        if (row->kind == OPTION_CHOICE) {
            fputs(") COMPREPLY=($(compgen -W \"", stdout);
            completion_put_choices(row->argument);
            puts("\" -- \"$word\")); return ;;");
        } else {
            puts(completion_is_file(row) ? ") COMPREPLY=($(compgen -f -- \"$word\")); return ;;"
                                         : ") return ;;");
        }
    }
}

static void bash_options(const struct command *command, void *user)
{
    (void)user;
    printf("    %s) options=\"--help --version", command->name);
    for (int i = 0; i < command->count; i++)
        if (command->rows[i].kind != OPTION_GROUP) printf(" --%s", command->rows[i].name);
    puts("\" ;;");
}

static void bash_words(const struct command *command, void *user)
{
    (void)user;
    const enum completion_words words = completion_words(command);
    if (words == WORDS_NONE) return;
    printf("    %s) COMPREPLY=($(compgen ", command->name);
    if (words == WORDS_FILES) {
        fputs("-f", stdout);
    } else {
        fputs("-W \"", stdout);
        completion_put_choices(command->arguments);
        putchar('"');
    }
    puts(" -- \"$word\")) ;;");
}

static void bash_names(void)
{
    for (const struct entry *e = commands; e->name != NULL; e++)
        printf("%s%s", e == commands ? "" : " ", e->name);
}

static void print_bash(void)
{
    printf("# bash completion of toy_translate %s\n"
           "_toy_translate() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD - 1]} options=\n"
           "    COMPREPLY=()\n"
           "    # --name=value comes as three words.\n"
           "    [ \"$word\" != = ] || word=\n"
           "    [ \"$last\" != = ] || last=${COMP_WORDS[COMP_CWORD - 2]}\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        COMPREPLY=($(compgen -W \"",
           rapt_version());
    bash_names();
    puts(" --help --version\" -- \"$word\"))\n"
         "        return\n"
         "    fi\n"
         "    case ${COMP_WORDS[1]}:$last in");
    completion_visit(bash_values);
    puts("    esac\n"
         "    case ${COMP_WORDS[1]} in");
    completion_visit(bash_options);
    puts("    esac\n"
         "    case $word in\n"
         "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")); return ;;\n"
         "    esac\n"
         "    case ${COMP_WORDS[1]} in");
    completion_visit(bash_words);
    fputs("    help) COMPREPLY=($(compgen -W \"", stdout);
    bash_names();
    puts("\" -- \"$word\")) ;;\n"
         "    esac\n"
         "}\n"
         "complete -o filenames -F _toy_translate toy_translate");
}

/* ---- zsh ---- */

/* Escapes a text for a single-quoted argument of _arguments or _describe. */
static void put_zsh_text(const char *text)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text) != NULL) putchar('\\');
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
}

/* Prints '--name=[help]:N: ', or '(-n --name)'{-n,--name=}'[help]...' if the option has a
   letter. */
static void put_zsh_option(const struct option_row *row)
{
    const char *value = row->kind == OPTION_FLAG ? "" : "=";
    const char letter = option_letter(row->name);
    fputs(" \\\n            ", stdout);
    if (letter)
        printf("'(-%c --%s)'{-%c,--%s%s}'[", letter, row->name, letter, row->name, value);
    else
        printf("'--%s%s[", row->name, value);
    put_zsh_text(row->help);
    putchar(']');
    if (row->kind == OPTION_CHOICE) {
        printf(":%s:(", row->name);
        completion_put_choices(row->argument);
        putchar(')');
    } else if (row->kind != OPTION_FLAG) {
        putchar(':');
        put_zsh_text(row->argument);
        fputs(completion_is_file(row) ? ":_files" : ": ", stdout);
    }
    putchar('\'');
}

static void put_zsh_words(const struct command *command)
{
    const enum completion_words words = completion_words(command);
    if (words == WORDS_FILES) fputs(" \\\n            '*:file:_files'", stdout);
    if (words != WORDS_CHOICES) return;
    fputs(" \\\n            '1:choice:(", stdout);
    completion_put_choices(command->arguments);
    fputs(")'", stdout);
}

static void put_zsh_options(const struct command *command, void *user)
{
    (void)user;
    printf("    %s)\n"
           "        _arguments '(-h --help)'{-h,--help}'[show the options]' \\\n"
           "            '(-V --version)'{-V,--version}'[show the versions]'",
           command->name);
    for (int i = 0; i < command->count; i++)
        if (command->rows[i].kind != OPTION_GROUP) put_zsh_option(&command->rows[i]);
    put_zsh_words(command);
    puts(" ;;");
}

static void completion_zsh(void)
{
    printf("#compdef toy_translate\n"
           "# zsh completion of toy_translate %s\n"
           "_toy_translate() {\n"
           "local -a commands\n"
           "commands=(\n",
           rapt_version());
    for (const struct entry *e = commands; e->name != NULL; e++) {
        printf("    '%s:", e->name);
        put_zsh_text(e->help);
        puts("'");
    }
    puts(")\n"
         "if (( CURRENT == 2 )); then\n"
         "    if [[ $PREFIX == -* ]]; then compadd -- --help --version\n"
         "    else _describe command commands\n"
         "    fi\n"
         "else\n"
         "    shift words\n"
         "    (( CURRENT-- ))\n"
         "    case ${words[1]} in");
    completion_visit(put_zsh_options);
    puts("    help) _describe command commands ;;\n"
         "    esac\n"
         "fi\n"
         "}\n"
         "# A file of fpath is the function's body; one that is sourced defines it.\n"
         "if [[ ${funcstack[1]-} == _toy_translate ]]; then\n"
         "    _toy_translate \"$@\"\n"
         "else\n"
         "    compdef _toy_translate toy_translate\n"
         "fi");
}

/* ---- fish ---- */

static void put_fish_text(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void put_fish_option(const char *command, const struct option_row *row)
{
    const char letter = option_letter(row->name);
    printf("complete -c toy_translate -n '__toy_translate_in %s' -l %s", command, row->name);
    if (letter) printf(" -s %c", letter);
    if (row->kind == OPTION_CHOICE) {
        fputs(" -x -a '", stdout);
        completion_put_choices(row->argument);
        putchar('\'');
    } else if (row->kind != OPTION_FLAG) {
        fputs(completion_is_file(row) ? " -r -F" : " -x", stdout);
    }
    fputs(" -d ", stdout);
    put_fish_text(row->help);
    putchar('\n');
}

static void put_fish_options(const struct command *command, void *user)
{
    (void)user;
    const enum completion_words words = completion_words(command);
    for (int i = 0; i < command->count; i++)
        if (command->rows[i].kind != OPTION_GROUP)
            put_fish_option(command->name, &command->rows[i]);
    if (words == WORDS_FILES) return; /* fish's default */
    printf("complete -c toy_translate -f -n '__toy_translate_in %s'", command->name);
    if (words == WORDS_CHOICES) {
        fputs(" -a '", stdout);
        completion_put_choices(command->arguments);
        putchar('\'');
    }
    putchar('\n');
}

/* Offers the names of commands on a line for which `condition` holds. */
static void put_fish_commands(const char *condition)
{
    for (const struct entry *e = commands; e->name != NULL; e++) {
        printf("complete -c toy_translate -f -n %s -a %s -d ", condition, e->name);
        put_fish_text(e->help);
        putchar('\n');
    }
}

static void completion_fish(void)
{
    printf("# fish completion of toy_translate %s\n"
           "function __toy_translate_in # whether the line is one of this command\n"
           "    set -l words (commandline -opc)\n"
           "    test (count $words) -gt 1; and test $words[2] = $argv[1]\n"
           "end\n"
           "complete -c toy_translate -s h -l help -d 'show the options'\n"
           "complete -c toy_translate -s V -l version -d 'show the versions'\n"
           "complete -c toy_translate -f -n '__toy_translate_in version'\n",
           rapt_version());
    put_fish_commands("__fish_use_subcommand");
    put_fish_commands("'__toy_translate_in help'");
    completion_visit(put_fish_options);
}

/* ---- the manual page toy_translate.1, as macros of man(7) ---- */

/* Prints running text: an empty line begins a paragraph, and a single line break is kept. */
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

static void man_option(const struct command *command, const struct option_row *row)
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
static void man_values(const struct command *command, int index)
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

static void man_command(const struct command *command, void *user)
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
            man_option(command, &command->rows[i]);
    for (int i = 0; i < command->count; i++) man_values(command, i);
    if (command->examples == NULL) return;
    puts(".PP\n.I Examples\n.PP\n.nf");
    put_roff(command->examples);
    puts("\n.fi");
}

static void print_man(void)
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
        if (e->has_options) command_visit(e->run, e->name, man_command, NULL);
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

/* ---- the command ---- */

int command_completion(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } kinds[] = {{"bash", print_bash},
                 {"zsh", completion_zsh},
                 {"fish", completion_fish},
                 {"man", print_man}};
    struct command command = {.name = "completion",
                              .arguments = "bash|zsh|fish|man",
                              .purpose = purpose,
                              .examples = examples,
                              .min = 1,
                              .max = 1};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, command.rest[0]) == 0) {
            kinds[i].print();
            return finish_output();
        }
    return usage_error("completion: invalid value '%s'; choose from bash, zsh, fish, man",
                       command.rest[0]);
}
