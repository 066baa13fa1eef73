/* info.c - toy_translate info: describes a model file in groups: sizes, differences from the
   defaults, vocabulary, how it was trained, and the use of each file of its folder. */
#include "commands.h"
#include "training/training.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *vocabulary_of(const rapt_model *model)
{
    if (rapt_model_metadata(model, "rapt.tokenizer") != NULL) return "joint";
    return rapt_model_metadata(model, "rapt.source_tokenizer") != NULL ? "separate" : "none";
}

/* Returns NULL if the text is not JSON. If an allocation fails, jansson may cut strings or report a
   syntax error, so the text is parsed twice and both results must agree. */
static json_t *parse_json(const char *text)
{
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    json_t *again = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    free(xcalloc(1, 1)); /* exits if memory has run out */
    if ((object != NULL || again != NULL) && !json_equal(object, again))
        exit(failed("out of memory"));
    json_decref(again);
    return object;
}

/* Returns how the model was trained, or NULL if the file does not say. */
static json_t *training_of(const rapt_model *model)
{
    const char *text = rapt_model_metadata(model, TRAINING_KEY);
    json_t *object = text != NULL ? parse_json(text) : NULL;
    if (json_is_object(object)) return object;
    json_decref(object);
    return NULL;
}

/* ---- the files of a folder ---- */

struct file { /* a file of an imported model's folder */
    char *name, *reason;
    rapt_file_use use;
};
struct model_files {
    struct file *all; /* [capacity], of which count are set */
    size_t count, capacity;
};

static void add_file(void *user, const char *name, rapt_file_use use, const char *reason)
{
    struct model_files *files = user;
    if (files->count == files->capacity) {
        files->capacity = files->capacity > 0 ? 2 * files->capacity : 16;
        files->all = xreallocarray(files->all, files->capacity, sizeof *files->all);
    }
    files->all[files->count++] = (struct file){xasprintf("%s", name), xasprintf("%s", reason), use};
}

/* Sorts used files first, then by name. */
static int by_use(const void *a, const void *b)
{
    const struct file *x = a, *y = b;
    bool left = x->use == RAPT_FILE_USE_NONE, right = y->use == RAPT_FILE_USE_NONE;
    if (left != right) return left ? 1 : -1;
    return x->use != y->use ? (x->use > y->use) - (x->use < y->use) : strcmp(x->name, y->name);
}

static void free_files(struct model_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->all[i].name);
        free(files->all[i].reason);
    }
    free(files->all);
}

static const char *const use_words[] = {[RAPT_FILE_USE_NONE] = "ignored",
                                        [RAPT_FILE_USE_MODEL] = "model",
                                        [RAPT_FILE_USE_VOCABULARY] = "vocabulary",
                                        [RAPT_FILE_USE_SETTINGS] = "settings",
                                        [RAPT_FILE_USE_SHORTLIST] = "shortlist"};

/* Returns NULL if memory runs out. Names that are not UTF-8 are replaced, since JSON cannot hold
   them. */
static json_t *describe_files(const struct model_files *files)
{
    json_t *array = json_array();
    for (size_t i = 0; i < files->count; i++) {
        const struct file *f = &files->all[i];
        json_t *name = json_string(f->name);
        json_t *row =
            json_pack("{s:o, s:s, s:s}", "name", name != NULL ? name : json_string("(not UTF-8)"),
                      "use", use_words[f->use], "reason", f->reason);
        if (json_array_append_new(array, row) == 0) continue;
        json_decref(array);
        return NULL;
    }
    return array;
}

static void print_files(const struct model_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        const struct file *f = &files->all[i];
        if (i == 0) puts("\nFiles");
        printf("  %-21s %s%s%s\n", use_words[f->use], f->name, f->reason[0] ? ": " : "", f->reason);
    }
}

/* ---- decoding ---- */

/* Settings for decoding in the metadata, which come from an imported model's folder. */
static const char *const decoding[] = {"beams",       "length_penalty",  "max_length",
                                       "min_length",  "no_repeat_ngram", "repetition_penalty",
                                       "first_token", "suppressed",      "ignored_settings"};
enum { DECODING_NUMBERS = 7, DECODING = sizeof decoding / sizeof *decoding };

static const char *decoding_of(const rapt_model *model, int n)
{
    char *key = xasprintf("rapt.%s", decoding[n]);
    const char *text = rapt_model_metadata(model, key);
    free(key);
    return text;
}

/* Returns the settings of the model, or NULL if it has none. */
static json_t *decoding_json(const rapt_model *model)
{
    json_t *object = json_object();
    for (int n = 0; n < DECODING; n++) {
        const char *text = decoding_of(model, n);
        if (text == NULL) continue;
        put_member(object, decoding[n],
                   n < DECODING_NUMBERS ? number(strtod(text, NULL)) : json_string(text));
    }
    if (json_object_size(object) > 0) return object;
    json_decref(object);
    return NULL;
}

static void print_decoding(const rapt_model *model)
{
    bool any = false;
    for (int n = 0; n < DECODING; n++) {
        const char *text = decoding_of(model, n);
        if (text == NULL) continue;
        if (!any) puts("\nDecoding, by default");
        any = true;
        char *clean = printable((rapt_text){text, strlen(text)});
        printf("  %-21s %s\n",
               strcmp(decoding[n], "ignored_settings") == 0 ? "not followed" : decoding[n], clean);
        free(clean);
    }
}

/* ---- the model ---- */

/* Returns NULL if memory runs out. */
static json_t *model_json(const rapt_model *model, const struct model_files *files)
{
    json_t *object = variant_describe(rapt_model_config(model));
    json_t *more =
        json_pack("{s:s, s:s, s:I, s:i, s:I, s:b, s:o*, s:o*}", "vocabulary", vocabulary_of(model),
                  "precision", rapt_precision_name(rapt_model_precision(model)), "parameters",
                  (json_int_t)rapt_model_parameters(model), "tensors", rapt_model_tensors(model),
                  "bytes", (json_int_t)rapt_model_bytes(model), "checkpoint",
                  rapt_model_metadata(model, STATE_KEY) != NULL, "training", training_of(model),
                  "decoding", decoding_json(model));
    const char *origin = rapt_model_metadata(model, "rapt.origin");
    const char *factor = rapt_model_metadata(model, "rapt.max_length_factor");
    bool good = json_object_update(object, more) == 0;
    if (good && factor != NULL)
        good =
            json_object_set_new(object, "max_length_factor", json_real(strtod(factor, NULL))) == 0;
    if (good && files->count > 0)
        good = json_object_set_new(object, "files", describe_files(files)) == 0;
    if (good && origin) good = json_object_set_new(object, "origin", json_string(origin)) == 0;
    json_decref(more);
    if (good) return object;
    json_decref(object);
    return NULL;
}

/* Formats 816128 as "816 K". */
static char *rounded(double value)
{
    static const char *const units[] = {"", " K", " M", " G", " T"};
    size_t unit = 0;
    while (value >= 1000 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1000;
        unit++;
    }
    return xasprintf(value < 10 && unit > 0 ? "%.1f%s" : "%.0f%s", value, units[unit]);
}

static void print_value(const char *key, const json_t *value)
{
    printf("  %-21s ", key);
    if (json_is_string(value))
        printf("%s\n", json_string_value(value));
    else
        printf("%.9g\n", json_number_value(value));
}

/* Fields that are printed for every model, in this order. */
static const char *const sizes[] = {
    "kind",      "encoder_layers", "decoder_layers", "width",      "heads", "ffn_width",
    "positions", "source_vocab",   "target_vocab",   "vocabulary", "tie",   "precision"};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void print_sizes(const json_t *object)
{
    puts("Model");
    if (json_object_get(object, "origin")) print_value("origin", json_object_get(object, "origin"));
    for (int i = 0; i < SIZES; i++) print_value(sizes[i], json_object_get(object, sizes[i]));
    const json_t *factor = json_object_get(object, "max_length_factor");
    if (factor != NULL) print_value("max_length_factor", factor);
}

static bool is_size(const char *name)
{
    for (int i = 0; i < SIZES; i++)
        if (strcmp(sizes[i], name) == 0) return true;
    return false;
}

/* Prints the other fields that differ from their defaults. */
static void print_others(const json_t *object, const rapt_config *config)
{
    bool any = false;
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++) {
        const rapt_config_field *f = rapt_config_field_at(i);
        int bits;
        float real;
        memcpy(&bits, (const char *)config + f->offset, sizeof bits);
        memcpy(&real, &bits, sizeof real);
        bool standard = f->type == RAPT_FIELD_TYPE_FLOAT && fabs((double)real - f->zero) < 1e-7;
        if (bits == 0 || standard || is_size(f->name)) continue;
        if (!any) puts("\nDifferent from the defaults");
        any = true;
        print_value(f->name, json_object_get(object, f->name));
    }
}

static void print_training(const json_t *training)
{
    char text[NUMBER_TEXT];
    const json_t *valid = json_object_get(training, "valid_loss");
    const char *data = json_string_value(json_object_get(training, "data"));
    const char *options = json_string_value(json_object_get(training, "options"));
    const char *version = json_string_value(json_object_get(training, "version"));
    const char *date = json_string_value(json_object_get(training, "date"));
    const char *products = json_string_value(json_object_get(training, "products"));
    puts("\nTraining");
    printf("  %-21s %lld training, %lld validation, digest %s\n", "pairs",
           (long long)json_integer_value(json_object_get(training, "train_pairs")),
           (long long)json_integer_value(json_object_get(training, "valid_pairs")),
           data != NULL ? data : "unknown");
    printf("  %-21s epoch %lld, step %lld\n", "made at",
           (long long)json_integer_value(json_object_get(training, "epoch")),
           (long long)json_integer_value(json_object_get(training, "step")));
    if (json_is_number(valid)) {
        perplexity_text(json_number_value(valid), text);
        printf("  %-21s %s\n", "validation perplexity", text);
    }
    if (products != NULL) printf("  %-21s %s\n", "products", products);
    if (version != NULL) printf("  %-21s rapt %s\n", "by", version);
    if (date != NULL) printf("  %-21s %s\n", "date", date);
    if (options != NULL) {
        int at = printf("  %-21s ", "options");
        print_wrapped(options, at, at);
    }
}

/* Prints the progress of training if the file is a checkpoint. */
static void print_state(const rapt_model *model, const char *path)
{
    struct state state = {0};
    struct state_reason why;
    const char *text = rapt_model_metadata(model, STATE_KEY);
    char *options = NULL;
    if (text == NULL) return;
    if (!state_parse(&state, &options, text, strlen(text), &why)) {
        printf("\nA checkpoint with a damaged training state: %s\n", why.text);
        return;
    }
    const char *suffix = strstr(path, ".checkpoint");
    int size = suffix != NULL ? (int)(suffix - path) : (int)strlen(path);
    printf("\nA checkpoint at epoch %lld, step %lld. To continue training:\n"
           "  toy_translate train --resume --out %.*s\n",
           state.epoch, state.step, size, path);
    free(options);
}

static void print_model(const rapt_model *model, json_t *object, const struct model_files *files,
                        const char *path)
{
    char *parameters = rounded((double)rapt_model_parameters(model));
    char *bytes = rounded((double)rapt_model_bytes(model));
    printf("%s: %s parameters, %sB in memory\n\n", path, parameters, bytes);
    free(parameters);
    free(bytes);
    print_sizes(object);
    print_others(object, rapt_model_config(model));
    print_decoding(model);
    json_t *training = json_object_get(object, "training");
    if (training != NULL) print_training(training);
    print_state(model, path);
    print_files(files);
    json_decref(object);
}

static void print_tensors(const rapt_model *model)
{
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        rapt_tensor tensor = rapt_model_tensor(model, i);
        printf("%-48s %6d x %d\n", tensor.name, tensor.rows, tensor.columns);
    }
}

int command_info(int argc, char **argv)
{
    const char *path = NULL;
    bool json = false, tensors = false;
    /* clang-format off */
    struct option_row rows[] = {
        {"model", OPTION_INPUT, &path, "FILE", "the model; the same as the argument MODEL", 0, 0, 0},
        {"tensors", OPTION_FLAG, &tensors, "", "print the names and shapes of the parameters", 0, 0, 0},
        {"json", OPTION_FLAG, &json, "", "print one JSON object with every field", 0, 0, 0},
    };
    /* clang-format on */
    struct command command = {.name = "info",
                              .arguments = "MODEL",
                              .max = 1,
                              .rows = rows,
                              .count = sizeof rows / sizeof *rows,
                              .purpose =
                                  "Describes a model file: sizes, options that differ from the "
                                  "defaults, vocabulary, how the model was trained, and the use of "
                                  "each file of a folder."};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    if (command.rest_count > 0 && path != NULL)
        return usage_error("info: unexpected argument '%s'", command.rest[0]);
    if (command.rest_count > 0) path = command.rest[0];
    if (path == NULL) return usage_error("info: MODEL is missing");
    rapt_model *model = NULL;
    struct model_files files = {0};
    rapt_message why = {""};
    if (rapt_model_import_with(&model, path, NULL, add_file, &files, NULL, &why) != RAPT_OK) {
        free_files(&files);
        return failed("%s", why.text);
    }
    code = EXIT_OK;
    if (files.count > 0) qsort(files.all, files.count, sizeof *files.all, by_use);
    json_t *object = tensors ? NULL : model_json(model, &files);
    if (tensors)
        print_tensors(model);
    else if (object == NULL)
        code = failed("out of memory");
    else if (json)
        print_json(object);
    else
        print_model(model, object, &files, path);
    free_files(&files);
    rapt_model_free(model);
    return code == EXIT_OK ? finish_output() : code;
}
