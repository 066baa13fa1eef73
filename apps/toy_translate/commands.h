/* commands.h - the commands of toy_translate, once; help, completion and manual follow from it and
   from the commands' tables of options. */
#ifndef TOY_TRANSLATE_COMMANDS_H
#define TOY_TRANSLATE_COMMANDS_H

#include "toy.h"

struct entry {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
    bool has_options; /* it reads them by options_read */
};
extern const struct entry commands[]; /* ends with a name that is NULL */

void manual_print(void); /* toy_translate.1, for man */

#endif
