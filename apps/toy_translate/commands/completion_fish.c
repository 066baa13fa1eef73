/* completion_fish.c - prints the completion script for fish. */
#include "completion.h"

static void put_fish_text(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void put_option(const char *command, const struct option_row *row)
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

static void put_options(const struct command *command, void *user)
{
    (void)user;
    const enum completion_words words = completion_words(command);
    for (int i = 0; i < command->count; i++)
        if (command->rows[i].kind != OPTION_GROUP) put_option(command->name, &command->rows[i]);
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
static void put_commands(const char *condition)
{
    for (const struct entry *e = commands; e->name != NULL; e++) {
        printf("complete -c toy_translate -f -n %s -a %s -d ", condition, e->name);
        put_fish_text(e->help);
        putchar('\n');
    }
}

void completion_fish(void)
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
    put_commands("__fish_use_subcommand");
    put_commands("'__toy_translate_in help'");
    completion_visit(put_options);
}
