/* completion_zsh.c - prints the completion script for zsh. */
#include "completion.h"
#include <string.h>

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
static void put_option(const struct option_row *row)
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

static void put_words(const struct command *command)
{
    const enum completion_words words = completion_words(command);
    if (words == WORDS_FILES) fputs(" \\\n            '*:file:_files'", stdout);
    if (words != WORDS_CHOICES) return;
    fputs(" \\\n            '1:choice:(", stdout);
    completion_put_choices(command->arguments);
    fputs(")'", stdout);
}

static void put_options(const struct command *command, void *user)
{
    (void)user;
    printf("    %s)\n"
           "        _arguments '(-h --help)'{-h,--help}'[show the options]' \\\n"
           "            '(-V --version)'{-V,--version}'[show the versions]'",
           command->name);
    for (int i = 0; i < command->count; i++)
        if (command->rows[i].kind != OPTION_GROUP) put_option(&command->rows[i]);
    put_words(command);
    puts(" ;;");
}

void completion_zsh(void)
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
    completion_visit(put_options);
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
