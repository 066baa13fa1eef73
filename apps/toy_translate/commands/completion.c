/* completion.c - toy_translate completion: dispatches by shell, and writes the script for bash from
   the tables of options. */
#include "completion.h"
#include <string.h>

static const char purpose[] = "Prints a script that completes the commands, options and values of "
                              "toy_translate in a shell, or its manual page.";

static const char examples[] =
    "  source <(toy_translate completion bash)    in ~/.bashrc\n"
    "  source <(toy_translate completion zsh)     in ~/.zshrc, after compinit\n"
    "  toy_translate completion fish | source     in ~/.config/fish/config.fish\n"
    "  toy_translate completion man | man -l -";

bool completion_is_file(const struct option_row *row)
{
    return row->kind == OPTION_INPUT || row->kind == OPTION_OUTPUT || row->kind == OPTION_MADE;
}

enum completion_words completion_words(const struct command *command)
{
    const char *names = command->arguments;
    return strchr(names, '|') != NULL                                ? WORDS_CHOICES
           : strstr(names, "FILE") != NULL || strstr(names, "MODEL") ? WORDS_FILES
                                                                     : WORDS_NONE;
}

void completion_put_choices(const char *choices)
{
    for (; *choices; choices++) putchar(*choices == '|' ? ' ' : *choices);
}

void completion_visit(command_fn *visit)
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

int command_completion(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(void);
    } kinds[] = {{"bash", print_bash},
                 {"zsh", completion_zsh},
                 {"fish", completion_fish},
                 {"man", manual_print}};
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
