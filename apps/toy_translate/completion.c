/* completion.c - toy_translate completion: scripts that complete command lines in bash, zsh and
   fish, and the manual page, from the tables of options. */
#include "commands.h"
#include <string.h>

static const char purpose[] =
    "Prints a script that completes toy_translate's commands, options and values in a shell, or "
    "its manual page.";

static const char examples[] =
    "  toy_translate completion bash >~/.local/share/bash-completion/completions/toy_translate\n"
    "  toy_translate completion man | man -l -";

static bool is_file(const struct option_row *row)
{
    return row->kind == OPTION_INPUT || row->kind == OPTION_OUTPUT;
}

/* "a|b|c" with another separator. */
static void put_choices(const char *choices, char separator)
{
    for (; *choices; choices++) putchar(*choices == '|' ? separator : *choices);
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
            put_choices(row->argument, ' ');
            puts("\" -- \"$word\")); return ;;");
        } else {
            puts(is_file(row) ? ") COMPREPLY=($(compgen -f -- \"$word\")); return ;;"
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

static void visit_all(command_fn *visit)
{
    for (const struct entry *e = commands; e->name != NULL; e++)
        if (e->has_options) command_visit(e->run, e->name, visit, NULL);
}

static void print_bash(void)
{
    printf("# bash completion of toy_translate %s\n"
           "_toy_translate() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} last=${COMP_WORDS[COMP_CWORD - 1]} options\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        COMPREPLY=($(compgen -W \"",
           rapt_version());
    for (const struct entry *e = commands; e->name != NULL; e++) printf("%s ", e->name);
    puts("--help --version\" -- \"$word\"))\n"
         "        return\n"
         "    fi\n"
         "    case ${COMP_WORDS[1]}:$last in");
    visit_all(bash_values);
    puts("    esac\n"
         "    case ${COMP_WORDS[1]} in");
    visit_all(bash_options);
    fputs("    help) options=\"", stdout);
    for (const struct entry *e = commands; e->name != NULL; e++) printf("%s ", e->name);
    puts("\"\n"
         "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
         "        return ;;\n"
         "    completion)\n"
         "        COMPREPLY=($(compgen -W \"bash zsh fish man\" -- \"$word\"))\n"
         "        return ;;\n"
         "    esac\n"
         "    case $word in\n"
         "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
         "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
         "    esac\n"
         "}\n"
         "complete -o filenames -F _toy_translate toy_translate");
}

/* ---- zsh ---- */
/* Of a text between single quotes in an argument of _arguments. */
static void put_zsh(const char *text)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text) != NULL) putchar('\\');
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
}

static void zsh_options(const struct command *command, void *user)
{
    (void)user;
    printf("    %s)\n        _arguments '(-h --help)'{-h,--help}'[show the options]'",
           command->name);
    for (int i = 0; i < command->count; i++) {
        const struct option_row *row = &command->rows[i];
        if (row->kind == OPTION_GROUP) continue;
        printf(" \\\n            '--%s[", row->name);
        put_zsh(row->help);
        putchar(']');
        if (row->kind == OPTION_CHOICE) {
            printf(":%s:(", row->name);
            put_choices(row->argument, ' ');
            putchar(')');
        } else if (row->kind != OPTION_FLAG) {
            printf(":%s:%s", row->argument, is_file(row) ? "_files" : " ");
        }
        putchar('\'');
    }
    puts(" \\\n            '*:file:_files' ;;");
}

static void print_zsh(void)
{
    printf("#compdef toy_translate\n# zsh completion of toy_translate %s\n"
           "local -a commands\n"
           "commands=(\n",
           rapt_version());
    for (const struct entry *e = commands; e->name != NULL; e++) {
        printf("    '%s:", e->name);
        put_zsh(e->help);
        puts("'");
    }
    puts(")\n"
         "if (( CURRENT == 2 )); then\n"
         "    _describe command commands\n"
         "else\n"
         "    shift words\n"
         "    (( CURRENT-- ))\n"
         "    case ${words[1]} in");
    visit_all(zsh_options);
    puts("    help) _describe command commands ;;\n"
         "    esac\n"
         "fi");
}

/* ---- fish ---- */
static void put_fish(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\') putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void fish_options(const struct command *command, void *user)
{
    (void)user;
    for (int i = 0; i < command->count; i++) {
        const struct option_row *row = &command->rows[i];
        const char letter = option_letter(row->name);
        if (row->kind == OPTION_GROUP) continue;
        printf("complete -c toy_translate -n '__fish_seen_subcommand_from %s' -l %s", command->name,
               row->name);
        if (letter) printf(" -s %c", letter);
        if (row->kind == OPTION_CHOICE) {
            fputs(" -x -a '", stdout);
            put_choices(row->argument, ' ');
            putchar('\'');
        } else if (row->kind != OPTION_FLAG) {
            fputs(is_file(row) ? " -r -F" : " -x", stdout);
        }
        fputs(" -d ", stdout);
        put_fish(row->help);
        putchar('\n');
    }
}

static void print_fish(void)
{
    printf("# fish completion of toy_translate %s\n", rapt_version());
    for (const struct entry *e = commands; e->name != NULL; e++) {
        printf("complete -c toy_translate -f -n __fish_use_subcommand -a %s -d ", e->name);
        put_fish(e->help);
        putchar('\n');
    }
    visit_all(fish_options);
}

int command_completion(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } kinds[] = {
        {"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}, {"man", manual_print}};
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
