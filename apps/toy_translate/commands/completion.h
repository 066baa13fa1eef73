/* completion.h - functions that the completion scripts of all shells share. */
#ifndef TOY_TRANSLATE_COMPLETION_H
#define TOY_TRANSLATE_COMPLETION_H

#include "commands.h"

/* The kind of arguments that a command takes besides options. */
enum completion_words { WORDS_NONE, WORDS_FILES, WORDS_CHOICES /* of the arguments */ };
enum completion_words completion_words(const struct command *command);

bool completion_is_file(const struct option_row *row);
void completion_put_choices(const char *choices); /* prints "a|b|c" as "a b c" */
void completion_visit(command_fn *visit);         /* visits all commands that have options */

void completion_zsh(void);
void completion_fish(void);

#endif
