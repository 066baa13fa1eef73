/* table.c - looks up rows of a command's table by name and by letter, and lists of choices. */
#include "kit/program.h"
#include <string.h>

/* The letters that stand for options in every command that has these options. */
static const struct {
    char letter;
    const char *name;
} letters[] = {{'m', "model"}, {'o', "out"}, {'o', "output"}};

char option_letter(const char *name)
{
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (strcmp(letters[i].name, name) == 0) return letters[i].letter;
    return 0;
}

struct option_row *option_find(const struct command *command, const char *name)
{
    for (int i = 0; i < command->count; i++)
        if (command->rows[i].kind != OPTION_GROUP && strcmp(command->rows[i].name, name) == 0)
            return &command->rows[i];
    return NULL;
}

bool option_given(const struct command *command, const char *name)
{
    const struct option_row *row = option_find(command, name);
    return row != NULL && row->given;
}

struct option_row *option_of_letter(const struct command *command, int letter)
{
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        struct option_row *row =
            letters[i].letter == letter ? option_find(command, letters[i].name) : NULL;
        if (row != NULL) return row;
    }
    return NULL;
}

struct option_row threads_row(int *threads)
{
    /* clang-format off */
    return (struct option_row){"threads", OPTION_INTEGER, threads, "N", "number of threads [one per processor]", 0, 1024, 0};
    /* clang-format on */
}

bool choices_have(const char *choices, const char *text)
{
    size_t size = strlen(text);
    for (const char *at = choices; *at; at += *at == '|') {
        size_t length = strcspn(at, "|");
        if (length == size && memcmp(at, text, size) == 0) return true;
        at += length;
    }
    return false;
}

char *choices_text(const char *choices)
{
    char *list = xcalloc(2 * strlen(choices) + 1, 1), *to = list;
    for (; *choices; choices++) {
        *to++ = *choices == '|' ? ',' : *choices;
        if (*choices == '|') *to++ = ' ';
    }
    return list;
}
