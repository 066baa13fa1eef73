/* resume.c - takes options that are not given with --resume from the checkpoint. Options that
   affect the result are stored in the training state, and other values are refused. The paths of
   the data and the conditions for the end of the run are stored in a JSON object. */
#define _POSIX_C_SOURCE 200809L
#include "commands.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Options that are not in options_text. The options of a group other than 0 are taken together,
   unless one of them is given. */
static const struct {
    const char *name;
    int group;
} others[] = {
    {"data", 1},
    {"source", 1},
    {"target", 1},
    {"more-columns", 0},
    {"from", 0},
    {"valid", 2},
    {"valid-source", 2},
    {"valid-target", 2},
    {"epochs", 3},
    {"steps", 3},
    {"minutes", 3},
    {"patience", 0},
    {"keep-checkpoint", 0},
    {"guided-alignment", 0},
};
enum { OTHERS = sizeof others / sizeof *others };

/* A path that is not UTF-8 cannot be stored as JSON; --resume then needs it again. */
char *training_text(const struct command *command)
{
    json_t *object = json_object();
    for (int i = 0; i < OTHERS; i++) {
        char *text = option_text(option_find(command, others[i].name));
        if (text != NULL && rapt_utf8_valid((rapt_text){text, strlen(text)}) == strlen(text))
            put_member(object, others[i].name, json_string(text));
        free(text);
    }
    char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    if (text == NULL) exit(failed("out of memory"));
    return text;
}

static bool group_given(const struct command *command, int group)
{
    bool given = false;
    for (int i = 0; i < OTHERS; i++)
        if (others[i].group == group) given = given || option_given(command, others[i].name);
    return given;
}

/* Returns true for sizes of the model, whose values come from --preset if it is given. */
static bool is_size(const char *name)
{
    static const char *const sizes[] = {"layers", "width", "heads", "ffn-width"};
    bool found = false;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        found = found || strcmp(sizes[i], name) == 0;
    return found;
}

int training_take(struct training *t, const struct command *command, const char *name,
                  const char *value)
{
    struct option_row *row = option_find(command, name);
    if (row == NULL || row->given || t->taken == TRAINING_TAKEN) return EXIT_OK;
    if (is_size(name) && option_given(command, "preset")) return EXIT_OK;
    t->texts[t->taken] = xasprintf("%s", value);
    int code = option_set(command, row, t->texts[t->taken++]);
    return code == GO_ON ? EXIT_OK : code;
}

static int take_others(struct training *t, const struct command *command, const char *text)
{
    json_t *object = text != NULL ? json_loads(text, JSON_REJECT_DUPLICATES, NULL) : NULL;
    bool given[4];
    int code = EXIT_OK;
    if (text != NULL && !json_is_object(object)) {
        json_decref(object);
        return failed("--resume: the options in %s.checkpoint are damaged", t->recipe.out);
    }
    for (int g = 0; g < 4; g++) given[g] = g > 0 && group_given(command, g);
    for (int i = 0; i < OTHERS && code == EXIT_OK; i++) {
        const char *value = json_string_value(json_object_get(object, others[i].name));
        if (value != NULL && !given[others[i].group])
            code = training_take(t, command, others[i].name, value);
    }
    json_decref(object);
    return code;
}

/* Returns true if `name` was set by the option for self- and cross-attention together. */
static bool both_given(const struct command *command, const char *name)
{
    const char *dash = strchr(name, '-');
    if (strncmp(name, "self-", 5) != 0 && strncmp(name, "cross-", 6) != 0) return false;
    return option_given(command, dash + 1);
}

/* Sets each option in `list`, "name value name value ...", unless it is given. A flag, a variant,
   or an option whose range excludes 0 was not set if its value is 0. */
static int take_option_list(struct training *t, const struct command *command, const char *list)
{
    int code = EXIT_OK;
    while (*list && code == EXIT_OK) {
        size_t name_size = strcspn(list, " ");
        const char *value = list + name_size + (list[name_size] == ' ');
        size_t value_size = strcspn(value, " ");
        char *name = xasprintf("%.*s", (int)name_size, list);
        char *text = xasprintf("%.*s", (int)value_size, value);
        const struct option_row *row = option_find(command, name);
        bool unset = strcmp(text, "0") == 0 && row != NULL &&
                     (row->kind == OPTION_FLAG || row->min > 0 || is_variant(name));
        if (!unset && !both_given(command, name)) code = training_take(t, command, name, text);
        free(name);
        free(text);
        list = value + value_size + (value[value_size] == ' ');
    }
    return code;
}

int training_resume(struct training *t, const struct command *command)
{
    static const char hint[] = " (a finished run leaves a checkpoint only with --keep-checkpoint)";
    char *path = xasprintf("%s.checkpoint", t->recipe.out), *options = NULL;
    rapt_model *model = NULL;
    rapt_message why = {""};
    struct state state = {0};
    int code = EXIT_OK;
    if (rapt_model_load(&model, path, NULL, &why) != RAPT_OK)
        code = failed("--resume: %s%s", why.text, access(path, F_OK) != 0 ? hint : "");
    if (code == EXIT_OK)
        code = state_open(&state, &options, path, rapt_model_metadata(model, STATE_KEY));
    if (code == EXIT_OK) code = take_others(t, command, rapt_model_metadata(model, COMMAND_KEY));
    if (code == EXIT_OK) code = take_option_list(t, command, options);
    t->recipe.tuned = options != NULL && strncmp(options, "tuned ", strlen("tuned ")) == 0;
    free(options);
    rapt_model_free(model);
    free(path);
    return code;
}
