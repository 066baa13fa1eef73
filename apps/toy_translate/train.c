/* train.c - toy_translate train: its options, and the data it reads. */
#define _POSIX_C_SOURCE 200809L
#include "toy.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Trains a translator on sentence pairs: a file with a source sentence, a tab and its\n"
    "translation on each line, or two files with equal numbers of lines. Validates after every\n"
    "epoch, by default on the last 1 % of the pairs (at most 1000), and writes the best model to\n"
    "OUT. OUT.checkpoint holds what --resume needs; a resumed run with the same options gives the\n"
    "same bits as an uninterrupted one, unless --minutes ends it by the clock. --steps and "
    "--epochs\n"
    "may be raised: the result is that of the longer run, except with --schedule linear, whose "
    "rate\n"
    "depends on them from the start. With --average N, OUT.checkpoint.1, .2 and so on hold the\n"
    "parameters of the last N epochs. OUT.checkpoint.best holds the best model of the epochs "
    "while\n"
    "OUT is a better one, of a run that ended within an epoch.\n"
    "Ctrl-C or SIGTERM: writes the checkpoint and exits with 130.\n\n"
    "Lines must be UTF-8. Pairs with an empty side, more than 65536 bytes or more tokens than\n"
    "the model has positions on a side are skipped and counted.";

/* Defaults of each preset. */
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

struct files {
    const char *data, *source, *target, *valid, *valid_source, *valid_target;
};

static int check_files(const struct files *files, const char *out)
{
    if ((files->data != NULL) == (files->source != NULL || files->target != NULL))
        return usage_error("train: give either --data or both --source and --target");
    if ((files->source != NULL) != (files->target != NULL))
        return usage_error("train: --source and --target go together");
    if ((files->valid_source != NULL) != (files->valid_target != NULL))
        return usage_error("train: --valid-source and --valid-target go together");
    if (files->valid != NULL && files->valid_source != NULL)
        return usage_error("train: --valid and --valid-source exclude each other");
    return out != NULL ? EXIT_OK : usage_error("train: --out is missing");
}

/* Is the file one of the pairs? */
static int check_file(const struct files *files, const char *path)
{
    const char *const inputs[] = {files->data,  files->source,       files->target,
                                  files->valid, files->valid_source, files->valid_target};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (inputs[i] != NULL && file_same(path, inputs[i]))
            return usage_error("train: %s would be written, and is the same file as %s", path,
                               inputs[i]);
    return EXIT_OK;
}

/* "", ".best" or ".N": what OUT.checkpoint may be followed by. */
static bool is_suffix(const char *text)
{
    if (*text == 0 || strcmp(text, ".best") == 0) return true;
    return *text == '.' && text[1] != 0 && text[1 + strspn(text + 1, "0123456789")] == 0;
}

/* Refuses pairs in a file that is beside OUT under a name of the checkpoint's. (options_read has
   compared OUT itself.) */
static int check_beside(const struct files *files, const char *out)
{
    const char *slash = strrchr(out, '/');
    char *folder = slash ? xasprintf("%.*s", (int)(slash + 1 - out), out) : xasprintf("./");
    char *prefix = xasprintf("%s.checkpoint", slash ? slash + 1 : out);
    DIR *list = opendir(folder);
    struct dirent *entry;
    int code = EXIT_OK;
    while (code == EXIT_OK && list != NULL && (entry = readdir(list)) != NULL) {
        bool ours = strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
        if (!ours || !is_suffix(entry->d_name + strlen(prefix))) continue;
        char *path = xasprintf("%s%s", folder, entry->d_name);
        code = check_file(files, path);
        free(path);
    }
    if (list != NULL) closedir(list);
    free(prefix);
    free(folder);
    return code;
}

static int read_pairs(const struct files *files, struct pairs *train, struct pairs *valid)
{
    int code = pairs_read(train, files->data, files->source, files->target);
    if (code != EXIT_OK) return code;
    if (files->valid != NULL || files->valid_source != NULL)
        return pairs_read(valid, files->valid, files->valid_source, files->valid_target);
    if (train->count < 2)
        return failed("%s: one pair is not enough for training and validation", train->name);
    pairs_split(train, valid, 1000);
    return EXIT_OK;
}

static void fill_in(struct recipe *recipe, const struct command *command)
{
    const struct defaults *row = defaults;
    while (strcmp(row->preset, recipe->preset) != 0) row++;
    if (!option_given(command, "vocab")) recipe->vocab = row->vocab;
    if (!option_given(command, "dropout")) recipe->dropout = row->dropout;
    if (!option_given(command, "rate")) recipe->rate = row->rate;
    if (!option_given(command, "warmup")) recipe->warmup = row->warmup;
    recipe->exact_vocab = option_given(command, "vocab");
    if (recipe->schedule == NULL)
        recipe->schedule = recipe->minutes > 0 ? "linear" : "inverse-sqrt";
    if (recipe->minutes <= 0 && recipe->steps == 0 && recipe->epochs == 0) recipe->epochs = 30;
    recipe->threads = threads_used(recipe->threads);
}

static int train(struct recipe *recipe, const struct files *files, const struct command *command)
{
    rapt_config config;
    struct pairs pairs = {0}, valid = {0};
    int code = check_files(files, recipe->out);
    if (code == EXIT_OK) code = check_beside(files, recipe->out);
    if (code != EXIT_OK) return code;
    fill_in(recipe, command);
    if (recipe->sentencepiece != NULL && (recipe->exact_vocab || recipe->separate))
        return usage_error("train: --sentencepiece excludes --vocab and --separate");
    code = recipe_config(recipe, &config);
    if (code == EXIT_OK) code = read_pairs(files, &pairs, &valid);
    if (code == EXIT_OK) code = learn(recipe, &pairs, &valid);
    pairs_free(&valid);
    pairs_free(&pairs);
    if (finish_output() != EXIT_OK && code == EXIT_OK) code = EXIT_FAILED;
    return code;
}

int command_train(int argc, char **argv)
{
    struct files files = {0};
    struct recipe r = {.preset = "tiny",
                       .smoothing = 0.1,
                       .batch_tokens = 4096,
                       .average = 5,
                       .patience = 10,
                       .seed = 1,
                       .checkpoint = true};
    /* clang-format off */
    enum { OWN = 30 };
    struct option_row rows[OWN + VARIANT_ROWS] = {
        {"data", OPTION_INPUT, &files.data, "FILE", "pairs: source, tab, target", 0, 0, 0},
        {"source", OPTION_INPUT, &files.source, "FILE", "source sentences, one per line", 0, 0, 0},
        {"target", OPTION_INPUT, &files.target, "FILE", "their translations", 0, 0, 0},
        {"valid", OPTION_INPUT, &files.valid, "FILE", "pairs for validation", 0, 0, 0},
        {"valid-source", OPTION_INPUT, &files.valid_source, "FILE", "validation pairs in two files:", 0, 0, 0},
        {"valid-target", OPTION_INPUT, &files.valid_target, "FILE", "source and target", 0, 0, 0},
        {"out", OPTION_OUTPUT, &r.out, "FILE", "output: the model, a safetensors file", 0, 0, 0},
        {"preset", OPTION_CHOICE, &r.preset, "tiny|small|base", "size of the model", 0, 0, 0},
        {"layers", OPTION_INTEGER, &r.layers, "N", "layers of encoder and decoder each; default: preset", 1, 64, 0},
        {"width", OPTION_INTEGER, &r.width, "N", "model width; default: preset", 1, 65536, 0},
        {"heads", OPTION_INTEGER, &r.heads, "N", "attention heads; must divide the width", 1, 1024, 0},
        {"ffn-width", OPTION_INTEGER, &r.ffn_width, "N", "width of the feed-forward layers", 1, 262144, 0},
        {"vocab", OPTION_INTEGER, &r.vocab, "N", "vocabulary size; the default shrinks for small data", 259, 1000000, 0},
        {"sentencepiece", OPTION_INPUT, &r.sentencepiece, "FILE", "vocabulary of both sides: a SentencePiece model", 0, 0, 0},
        {"separate", OPTION_FLAG, &r.separate, "", "separate source and target vocabularies", 0, 0, 0},
        {"dropout", OPTION_REAL, &r.dropout, "P", "dropout probability", 0, 0.99, 0},
        {"smoothing", OPTION_REAL, &r.smoothing, "P", "label smoothing", 0, 0.99, 0},
        {"rate", OPTION_REAL, &r.rate, "R", "peak learning rate", 0, 1e30, 0},
        {"warmup", OPTION_INTEGER, &r.warmup, "N", "warm-up steps", 0, 1000000000, 0},
        {"schedule", OPTION_CHOICE, &r.schedule, "inverse-sqrt|linear|constant",
         "learning-rate decay; default linear with --minutes", 0, 0, 0},
        {"batch-tokens", OPTION_INTEGER, &r.batch_tokens, "N", "maximum tokens of a batch on either side", 16, 1 << 24, 0},
        {"epochs", OPTION_INTEGER, &r.epochs, "N", "stop after N epochs; 30 if no other bound is given", 1, 1000000, 0},
        {"steps", OPTION_INTEGER, &r.steps, "N", "stop after N training steps", 1, 1000000000, 0},
        {"minutes", OPTION_REAL, &r.minutes, "T", "stop after T minutes, those of resumed runs included", 0.001, 1e6, 0},
        {"average", OPTION_INTEGER, &r.average, "N", "also validate the mean of the last N epochs; 1: off", 1, 1000, 0},
        {"patience", OPTION_INTEGER, &r.patience, "N", "early stopping after N epochs without improvement; 0: off", 0, 1000000, 0},
        {"seed", OPTION_SEED, &r.seed, "N", "seed of initialization, shuffling and dropout", 0, 0, 0},
        {"threads", OPTION_INTEGER, &r.threads, "N", "0: one per processor", 0, 1024, 0},
        {"resume", OPTION_FLAG, &r.resume, "", "continue from OUT.checkpoint", 0, 0, 0},
        {"json", OPTION_FLAG, &r.json, "", "print reports as JSON, one object per line", 0, 0, 0},
    };
    /* clang-format on */
    int more = variant_rows(&r.variant, rows + OWN);
    struct command command = {
        .name = "train", .arguments = "", .purpose = purpose, .rows = rows, .count = OWN + more};
    int code = options_read(&command, argc, argv);
    return code == GO_ON ? train(&r, &files, &command) : code;
}
