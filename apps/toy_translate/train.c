/* train.c - toy_translate train: its options, and the data it reads. */
#define _POSIX_C_SOURCE 200809L
#include "training.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const char purpose[] =
    "Trains a translator on sentence pairs: one file with a source sentence, a tab and its "
    "translation on each line, or two files with equal numbers of lines. Validates after every "
    "epoch and writes the best model to OUT.\n\n"
    "OUT.checkpoint holds what --resume needs: a resumed run with the same options gives the same "
    "bits as an uninterrupted one, unless --minutes ends it by the clock. --steps and --epochs may "
    "be raised: the result is that of the longer run, except with --schedule linear, whose rate "
    "depends on them from the start. With --average N, OUT.checkpoint.1, .2 and so on hold the "
    "parameters of the last N epochs. OUT.checkpoint.best holds the best model of the epochs while "
    "OUT is a better one, of a run that ended within an epoch. Ctrl-C or SIGTERM writes the "
    "checkpoint and exits with 130.\n\n"
    "Lines must be UTF-8. Pairs with an empty side, more than 65536 bytes or more tokens than the "
    "model has positions on a side are skipped and counted.";

static const char examples[] =
    "  toy_translate train --data pairs.tsv --out m.safetensors\n"
    "  toy_translate train --source a.en --target a.de --minutes 20 -o m.safetensors\n"
    "  toy_translate train --data pairs.tsv -o m.safetensors --epochs 60 --resume";

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
    int code = pairs_read(train, files->data, files->source, files->target, files->more_columns);
    if (code != EXIT_OK) return code;
    if (files->valid != NULL || files->valid_source != NULL)
        return pairs_read(valid, files->valid, files->valid_source, files->valid_target,
                          files->more_columns);
    if (train->count < 2)
        return failed("%s: one pair is not enough for training and validation", train->name);
    pairs_split(train, valid, 1000);
    return EXIT_OK;
}

static int train(struct training *training, const struct command *command)
{
    struct recipe *recipe = &training->recipe;
    const struct files *files = &training->files;
    rapt_config config;
    struct pairs pairs = {0}, valid = {0};
    int code = check_files(files, recipe->out);
    if (code == EXIT_OK) code = check_beside(files, recipe->out);
    if (code != EXIT_OK) return code;
    training_fill_in(training, command);
    if (recipe->sentencepiece != NULL && (recipe->exact_vocab || recipe->separate))
        return usage_error("train: --sentencepiece excludes --vocab and --separate");
    code = recipe_config(recipe, &config);
    if (code == EXIT_OK) code = read_pairs(files, &pairs, &valid);
    if (code == EXIT_OK) code = learn(recipe, &pairs, &valid, NULL);
    pairs_free(&valid);
    pairs_free(&pairs);
    if (finish_output() != EXIT_OK && code == EXIT_OK) code = EXIT_FAILED;
    return code;
}

int command_train(int argc, char **argv)
{
    struct training training = {.recipe = {.preset = "tiny",
                                           .smoothing = 0.1,
                                           .batch_tokens = 4096,
                                           .average = 5,
                                           .patience = 10,
                                           .seed = 1,
                                           .checkpoint = true}};
    struct option_row rows[TRAINING_ROWS];
    struct command command = {
        .name = "train", .arguments = "", .purpose = purpose, .examples = examples, .rows = rows};
    command.count = training_rows(&training, rows);
    int code = options_read(&command, argc, argv);
    if (code == GO_ON) code = train(&training, &command);
    training_free(&training);
    return code;
}
