/* train_options.c - the options of train as one table in groups, defaults that depend on the preset
   or on the data, and options taken from a checkpoint. */
#define _POSIX_C_SOURCE 200809L
#include "commands.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Presets differ in these values and in the sizes that the library knows. */
static const struct defaults {
    const char *preset;
    int vocab;
    double dropout, rate;
    int warmup;
} defaults[] = {
    {"tiny", 8000, 0.2, 0.004, 1000},
    {"small", 8000, 0.2, 0.001, 2000},
    {"base", 16000, 0.1, 0.0007, 4000},
};
enum { PRESETS = sizeof defaults / sizeof *defaults, EPOCHS = 30 };

/* Options whose default depends on the preset. values_of writes the defaults in this order. */
static const char *const of_preset[] = {"layers", "width",   "heads", "ffn-width",
                                        "vocab",  "dropout", "rate",  "warmup"};
enum { OF_PRESET = sizeof of_preset / sizeof *of_preset };

static void values_of(const struct defaults *row, double values[OF_PRESET])
{
    rapt_config c = {.size = sizeof c};
    rapt_config_preset(&c, row->preset, row->vocab, NULL);
    const double all[OF_PRESET] = {c.encoder_layers, c.width,      c.heads,   c.ffn_width,
                                   row->vocab,       row->dropout, row->rate, row->warmup};
    memcpy(values, all, sizeof all);
}

struct option_row seed_row(uint64_t *seed)
{
    return (struct option_row){
        "seed", OPTION_SEED, seed, "N", "random seed of initialization, shuffling and dropout",
        0,      0,           0};
}

/* Appends the defaults to the help of these options: "size [tiny 4, small 6, base 6]". */
static void add_defaults(struct option_row *rows, int count, char *texts[OF_PRESET])
{
    double values[PRESETS][OF_PRESET];
    for (int p = 0; p < PRESETS; p++) values_of(&defaults[p], values[p]);
    for (int o = 0; o < OF_PRESET; o++) {
        struct option_row *row = rows;
        while (row < rows + count && strcmp(row->name, of_preset[o]) != 0) row++;
        if (row == rows + count) continue;
        texts[o] = xasprintf("%s [", row->help);
        for (int p = 0; p < PRESETS; p++) {
            char *more = xasprintf("%s%s%s %g", texts[o], p > 0 ? ", " : "", defaults[p].preset,
                                   values[p][o]);
            free(texts[o]);
            texts[o] = more;
        }
        char *whole = xasprintf("%s]", texts[o]);
        free(texts[o]);
        row->help = texts[o] = whole;
    }
}

static int append_rows(struct option_row *rows, int count, const struct option_row *more,
                       size_t size)
{
    memcpy(rows + count, more, size);
    return count + (int)(size / sizeof *more);
}

static int add_data(struct training *t, struct option_row *rows, int count)
{
    struct pair_files *valid = &t->files.valid;
    /* clang-format off */
    const struct option_row data[] = {
        {"Data", OPTION_GROUP, NULL, "", "", 0, 0, 0},
    };
    const struct option_row validation[] = {
        {"valid", OPTION_INPUT, &valid->data, "FILE", "validation pairs, tab-separated [1 % of the pairs, at most 1000, evenly spread over them]", 0, 0, 0},
        {"valid-source", OPTION_INPUT, &valid->source, "FILE", "validation sources, one per line, instead of --valid", 0, 0, 0},
        {"valid-target", OPTION_INPUT, &valid->target, "FILE", "translations of --valid-source, one per line", 0, 0, 0},
    };
    /* clang-format on */
    count = append_rows(rows, count, data, sizeof data);
    pair_rows(&t->files.train, rows + count);
    return append_rows(rows, count + PAIR_ROWS, validation, sizeof validation);
}

static int add_model(struct training *t, struct option_row *rows, int count)
{
    struct recipe *r = &t->recipe;
    /* clang-format off */
    const struct option_row model[] = {
        {"Model", OPTION_GROUP, NULL, "", "", 0, 0, 0},
        {"preset", OPTION_CHOICE, &r->preset, "tiny|small|base", "model size; sets the defaults below", 0, 0, 0},
        {"for", OPTION_CHOICE, &r->project, "firefox|marian|hf|ct2", "train a model that convert --to can write for this project: sets the options that it requires, and refuses those that it does not support; needs --sentencepiece", 0, 0, 0},
        {"layers", OPTION_INTEGER, &r->layers, "N", "number of encoder layers, and of decoder layers", 1, 64, 0},
        {"width", OPTION_INTEGER, &r->width, "N", "width of the model, and of its embeddings", 1, 65536, 0},
        {"heads", OPTION_INTEGER, &r->heads, "N", "number of attention heads; must divide the width", 1, 1024, 0},
        {"ffn-width", OPTION_INTEGER, &r->ffn_width, "N", "width of the feed-forward layers", 1, 262144, 0},
        {"vocab", OPTION_INTEGER, &r->vocab, "N", "vocabulary size; the default is reduced for small data", 259, 1000000, 0},
        {"sentencepiece", OPTION_INPUT, &r->sentencepiece, "FILE", "take the vocabulary of both sides from this SentencePiece model", 0, 0, 0},
        {"sentencepiece-target", OPTION_INPUT, &r->sentencepiece_target, "FILE", "take the vocabulary of the target side from this model", 0, 0, 0},
        {"separate", OPTION_FLAG, &r->separate, "", "learn separate source and target vocabularies", 0, 0, 0},
    };
    /* clang-format on */
    count = append_rows(rows, count, model, sizeof model);
    return count + variant_rows(&r->variant, VARIANT_MODEL, rows + count);
}

static int add_tuning(struct training *t, struct option_row *rows, int count)
{
    struct recipe *r = &t->recipe;
    /* clang-format off */
    const struct option_row tuning[] = {
        {"Fine-tuning", OPTION_GROUP, NULL, "", "", 0, 0, 0},
        {"from", OPTION_INPUT, &r->from, "MODEL", "continue from this model: a file of toy_translate, or a model of another project", 0, 0, 0},
        {"freeze", OPTION_TEXT, &r->freeze, "PATTERN[,PATTERN]", "do not train the parameters with these names, such as encoder.* or *embedding*", 0, 0, 0},
        {"lora", OPTION_INTEGER, &r->lora, "RANK", "train only adapters of this rank for the matrices of layers (LoRA)", 1, 65536, 0},
        {"lora-alpha", OPTION_REAL, &r->lora_alpha, "X", "multiply adapters by X / RANK [RANK]", 0, 1e6, 0},
        source_language_row(&r->source_language),
        target_language_row(&r->target_language),
    };
    /* clang-format on */
    return append_rows(rows, count, tuning, sizeof tuning);
}

static int add_training(struct training *t, struct option_row *rows, int count)
{
    struct recipe *r = &t->recipe;
    /* clang-format off */
    const struct option_row training[] = {
        {"Training", OPTION_GROUP, NULL, "", "", 0, 0, 0},
        {"epochs", OPTION_INTEGER, &r->epochs, "N", "stop after N epochs [30, without --steps and --minutes]", 1, 1000000, 0},
        {"steps", OPTION_INTEGER, &r->steps, "N", "stop after N training steps", 1, 1000000000, 0},
        {"minutes", OPTION_MINUTES, &r->minutes, "T", "stop after T minutes, including earlier runs that are resumed; also 90s, 2h", 0.001, 1e6, 0},
        {"patience", OPTION_INTEGER, &r->patience, "N", "stop after N epochs without improvement; 0: never", 0, 1000000, 0},
        {"dropout", OPTION_REAL, &r->dropout, "P", "dropout probability", 0, 0.99, 0},
        {"smoothing", OPTION_REAL, &r->smoothing, "P", "label smoothing", 0, 0.99, 0},
        {"rate", OPTION_REAL, &r->rate, "R", "peak learning rate", 0, 1e30, 0},
        {"warmup", OPTION_INTEGER, &r->warmup, "N", "number of warm-up steps; the default is reduced for small data; with --schedule linear at most a fifth of the run", 0, 1000000000, 0},
        {"schedule", OPTION_CHOICE, &r->schedule, "inverse-sqrt|linear|constant",
         "learning-rate schedule [inverse-sqrt; with --minutes linear]", 0, 0, 0},
        {"guided-alignment", OPTION_INPUT, &t->files.alignment, "FILE",
         "train one attention head on these word alignments: one line per pair, such as 0-0 1-2 (source word, target word, from 0)", 0, 0, 0},
        {"guided-alignment-weight", OPTION_REAL, &r->guided_weight, "X", "weight of the alignment loss", 0, 1e6, 0},
        {"guided-alignment-layer", OPTION_INTEGER, &r->guided_layer, "N", "decoder layer whose first head is trained on alignments, from 1 [the last]", 1, 64, 0},
        {"coverage-loss", OPTION_REAL, &r->coverage_loss, "X",
         "add X times a loss for attending to the same source tokens again; needs --cross-score coverage [0]", 0, 1e6, 0},
        {"augment", OPTION_TEXT, &t->augment, "KINDS",
         "add noise to shares of the training pairs, to different pairs in each epoch: caps, title, typos, tags, no-end-punctuation, concat or all, with or without a rate, such as caps=.1,typos", 0, 0, 0},
        {"batch-tokens", OPTION_INTEGER, &r->batch_tokens, "N", "maximum tokens per batch on either side; the default is reduced for small data", 16, 1 << 24, 0},
        {"shards", OPTION_INTEGER, &r->shards, "N", "compute a step in N parts, a power of two; takes less memory, and gives bit-identical results on any number of machines [8 under mpirun]", 1, 1024, 0},
        {"average", OPTION_INTEGER, &r->average, "N", "also validate the mean parameters of the last N epochs; 1: off", 1, 1000, 0},
        seed_row(&r->seed),
        {"products", OPTION_CHOICE, &r->products, "builtin|openblas|auto",
         "library that computes matrix products; auto: the faster one for each shape, measured at the start [builtin]", 0, 0, 0},
        {"precision", OPTION_CHOICE, &r->precision, "f32|bf16|bf16-tiles",
         "precision of the factors of matrix products; bf16 is faster on processors with AVX512_BF16, bf16-tiles on those with AMX, and both are much slower on others [f32]", 0, 0, 0},
        {"quantize-aware", OPTION_REAL, &r->quantize_aware, "SHARE",
         "train the last SHARE of the run, such as 0.2, for translation with --precision int8, and always validate in 8-bit arithmetic; 1: the whole run [0]", 0, 1, 0},
        threads_row(&r->threads),
        {"memory-limit", OPTION_REAL, &r->memory_limit, "MB", "use at most this much memory: hold fewer pairs, or fail; the result is the same", 0.001, 1e12, 0},
    };
    const struct option_row attention[] = {{"Attention", OPTION_GROUP, NULL, "", "", 0, 0, 0}};
    /* clang-format on */
    count = append_rows(rows, count, training, sizeof training);
    count = append_rows(rows, count, attention, sizeof attention);
    count += variant_rows(&r->variant, VARIANT_ATTENTION, rows + count);
    hard_rows(&r->hard, rows + count);
    return count + HARD_ROWS;
}

static int add_output(struct training *t, struct option_row *rows, int count)
{
    struct recipe *r = &t->recipe;
    /* clang-format off */
    const struct option_row output[] = {
        {"Output", OPTION_GROUP, NULL, "", "", 0, 0, 0},
        {"out", OPTION_MADE, &r->out, "FILE", "the model to write, a safetensors file", 0, 0, 0},
        {"resume", OPTION_FLAG, &r->resume, "", "continue from OUT.checkpoint with its options", 0, 0, 0},
        {"force", OPTION_FLAG, &r->force, "", "replace an existing model", 0, 0, 0},
        {"keep-checkpoint", OPTION_FLAG, &r->keep_checkpoint, "", "keep OUT.checkpoint at the end, for --resume with more --epochs or --steps", 0, 0, 0},
        {"json", OPTION_FLAG, &r->json, "", "print reports as JSON, one object per line", 0, 0, 0},
    };
    /* clang-format on */
    return append_rows(rows, count, output, sizeof output);
}

int training_rows(struct training *t, struct option_row rows[TRAINING_ROWS])
{
    int count = add_data(t, rows, 0);
    count = add_model(t, rows, count);
    count = add_tuning(t, rows, count);
    count = add_training(t, rows, count);
    count = add_output(t, rows, count);
    add_defaults(rows, count, t->helps);
    return count;
}

int training_for(struct training *t, const struct command *command)
{
    static const struct {
        const char *project, *option, *value;
    } all[] = {
        {"firefox", "position", "concatenated-n1"}, {"firefox", "decoder-start", "zero"},
        {"firefox", "norm-epsilon", "1e-6"},        {"firefox", "decoder-recurrence", "ssru"},
        {"marian", "position", "concatenated-n1"},  {"marian", "decoder-start", "zero"},
        {"marian", "norm-epsilon", "1e-6"},         {"hf", "position", "concatenated"},
    };
    int code = EXIT_OK;
    for (size_t i = 0; t->recipe.project && i < sizeof all / sizeof *all && code == EXIT_OK; i++)
        if (strcmp(all[i].project, t->recipe.project) == 0)
            code = training_take(t, command, all[i].option, all[i].value);
    return code;
}

/* With small data, batches of the usual size would make only a few steps per epoch, and warm-up
   would take most of the run. A token has about three bytes. The result depends only on the data,
   so that a run can be resumed. */
void training_fit(struct training *t, const struct command *command, uint64_t bytes)
{
    enum { TOKEN_BYTES = 3, EPOCH_BATCHES = 50, MIN_BUDGET = 512, WARMUP_EPOCHS = 8 };
    struct recipe *recipe = &t->recipe;
    int batch = recipe->batch_tokens, warmup = recipe->warmup;
    uint64_t tokens = bytes / 2 / TOKEN_BYTES, budget = tokens / EPOCH_BATCHES;
    if (budget < MIN_BUDGET && !option_given(command, "width") &&
        !option_given(command, "resume") && !recipe->tuned)
        print_report("few pairs: a smaller model may be better, such as --layers 2 --width 64");
    if (budget < MIN_BUDGET) budget = MIN_BUDGET;
    if (!option_given(command, "batch-tokens") && budget < (uint64_t)recipe->batch_tokens)
        recipe->batch_tokens = (int)budget;
    uint64_t batches = tokens / (uint64_t)recipe->batch_tokens + 1;
    if (!option_given(command, "warmup") && WARMUP_EPOCHS * batches < (uint64_t)recipe->warmup)
        recipe->warmup = (int)(WARMUP_EPOCHS * batches);
    if (recipe->batch_tokens < batch || recipe->warmup < warmup)
        print_report("defaults for small data: --batch-tokens %d --warmup %d", recipe->batch_tokens,
                     recipe->warmup);
}

/* Rounds to the nine digits that a checkpoint stores, so that a resumed run uses the same
   number. */
static double rounded(double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.9g", value);
    return strtod(text, NULL);
}

void training_fill_in(struct training *t, const struct command *command)
{
    struct recipe *recipe = &t->recipe;
    struct hard *hard = &recipe->hard;
    double *const reals[] = {&recipe->dropout,      &recipe->smoothing,      &recipe->rate,
                             &hard->expected_share, &hard->reward_scale,     &hard->reward_decay,
                             &hard->reward_entropy, &hard->anneal,           &recipe->guided_weight,
                             &recipe->lora_alpha,   &recipe->quantize_aware, &recipe->coverage_loss,
                             &hard->monotonic_noise};
    if (recipe->tuned) tuning_defaults(recipe, command);
    if (quantizes_late(recipe) && !option_given(command, "patience")) recipe->patience = 0;
    const struct defaults *row = defaults;
    while (strcmp(row->preset, recipe->preset) != 0) row++;
    if (!option_given(command, "vocab")) recipe->vocab = row->vocab;
    const bool new = !recipe->tuned;
    if (new && !option_given(command, "dropout")) recipe->dropout = row->dropout;
    if (new && !option_given(command, "rate")) recipe->rate = row->rate;
    if (new && !option_given(command, "warmup")) recipe->warmup = row->warmup;
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) *reals[i] = rounded(*reals[i]);
    recipe->exact_vocab = option_given(command, "vocab");
    if (recipe->schedule == NULL)
        recipe->schedule = recipe->minutes > 0 ? "linear" : "inverse-sqrt";
    if (recipe->minutes <= 0 && recipe->steps == 0 && recipe->epochs == 0) recipe->epochs = EPOCHS;
    recipe->threads = threads_used(recipe->threads);
}

void training_free(struct training *t)
{
    for (int o = 0; o < OF_PRESET; o++) free(t->helps[o]);
    for (int i = 0; i < t->taken; i++) free(t->texts[i]);
    lock_close(t->lock);
}

/* ---- --resume: options that are not given are taken from the checkpoint ----
   Options that affect the result are stored in the training state, and other values are refused.
   The paths of the data and the conditions for the end of the run are stored in a JSON object. */

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
