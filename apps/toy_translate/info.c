/* info.c - toy_translate info: configuration, parameters, vocabulary and size of a model file. */
#include "toy.h"

/* NULL: out of memory. */
static json_t *describe(const rapt_model *model)
{
    const char *joint = rapt_model_metadata(model, "rapt.tokenizer");
    const char *source = rapt_model_metadata(model, "rapt.source_tokenizer");
    json_t *object = variant_describe(rapt_model_config(model));
    json_t *more =
        json_pack("{s:s, s:I, s:i, s:I}", "vocabulary",
                  joint    ? "joint"
                  : source ? "separate"
                           : "none",
                  "parameters", (json_int_t)rapt_model_parameters(model), "tensors",
                  rapt_model_tensors(model), "bytes", (json_int_t)rapt_model_bytes(model));
    bool good = json_object_update(object, more) == 0;
    json_decref(more);
    if (good) return object;
    json_decref(object);
    return NULL;
}

static void print_text(json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (json_is_string(value))
            printf("%-21s %s\n", key, json_string_value(value));
        else
            printf("%-21s %.9g\n", key, json_number_value(value));
    }
    json_decref(object);
}

int command_info(int argc, char **argv)
{
    const char *path = NULL;
    bool json = false;
    /* clang-format off */
    struct option_row rows[] = {
        {"model", OPTION_INPUT, &path, "FILE", "the model; the same as the argument MODEL", 0, 0, 0},
        {"json", OPTION_FLAG, &json, "", "print one JSON object", 0, 0, 0},
    };
    /* clang-format on */
    struct command command = {.name = "info",
                              .arguments = "MODEL",
                              .max = 1,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows,
                              .purpose = "Shows configuration, parameters, vocabulary and size in "
                                         "memory (bytes) of a model."};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    if (command.rest_count > 0 && path != NULL)
        return usage_error("info: unexpected argument '%s'", command.rest[0]);
    if (command.rest_count > 0) path = command.rest[0];
    if (path == NULL) return usage_error("info: MODEL is missing");
    rapt_model *model = NULL;
    rapt_message why = {""};
    if (rapt_model_load(&model, path, NULL, &why) != RAPT_OK) return failed("%s", why.text);
    json_t *object = describe(model);
    rapt_model_free(model);
    if (object == NULL) return failed("out of memory");
    if (json)
        print_json(object);
    else
        print_text(object);
    return finish_output();
}
