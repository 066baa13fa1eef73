/* completion.h - what the scripts for all shells are made of. */
#ifndef TOY_TRANSLATE_COMPLETION_H
#define TOY_TRANSLATE_COMPLETION_H

#include "commands.h"

/* What the words of a command that are no options may be. */
enum completion_words { WORDS_NONE, WORDS_FILES, WORDS_CHOICES /* of command->arguments */ };
enum completion_words completion_words(const struct command *command);

bool completion_is_file(const struct option_row *row);
void completion_put_choices(const char *choices); /* "a|b|c" as "a b c", to standard output */
void completion_visit(command_fn *visit);         /* all commands that have options */

void completion_zsh(void);
void completion_fish(void);

#endif
