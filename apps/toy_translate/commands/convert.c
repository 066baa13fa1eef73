/* convert.c - toy_translate convert: reads a model of any supported project and writes it to a file
   of our own, or to a folder that another project reads. */
#include "commands.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name;
    rapt_export format;
} formats[] = {{"marian", RAPT_EXPORT_MARIAN},
               {"bergamot", RAPT_EXPORT_BERGAMOT},
               {"hf", RAPT_EXPORT_HF},
               {"ct2", RAPT_EXPORT_CT2}};

static int export_to(const rapt_model *model, const char *to, const char *out)
{
    rapt_message why = {""};
    rapt_export format = RAPT_EXPORT_MARIAN;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, to) == 0) format = formats[i].format;
    bool made = mkdir(out, 0777) == 0;
    if (!made && errno != EEXIST) return failed("%s: %s", out, strerror(errno));
    if (rapt_model_export(model, format, out, &why) == RAPT_OK) return EXIT_OK;
    if (made) rmdir(out); /* fails if something was written, which then stays */
    return failed("%s", why.text);
}

/* Gives the model alphas, measured on the lines of a file. */
static int calibrate(rapt_model *model, const char *path, int threads)
{
    rapt_message why = {""};
    struct texts texts = {0};
    int code = texts_read(&texts, path);
    if (code == EXIT_OK &&
        rapt_model_calibrate(model, texts.all, texts.count, threads, &why) != RAPT_OK)
        code = failed("%s: %s", path, why.text);
    texts_free(&texts);
    return code;
}

static int save_file(const rapt_model *model, const char *out, bool packed)
{
    rapt_message why = {""};
    const rapt_save_options options = {.size = sizeof options, .packed = packed};
    if (rapt_model_save_with(model, out, &options, NULL, 0, &why) == RAPT_OK) return EXIT_OK;
    return failed("%s", why.text);
}

/* Returns true also if both are the same folder. */
static bool same_path(const char *a, const char *b)
{
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* Fails if the output would replace the model: the file or folder itself, or a file of the same
   name in the output folder. */
static int check_out(const char *path, const char *out)
{
    const char *slash = strrchr(path, '/');
    char *inside = xasprintf("%s/%s", out, slash != NULL ? slash + 1 : path);
    int code = EXIT_OK;
    if (strcmp(out, "-") == 0)
        code = usage_error("convert: --out -: a model cannot be written to standard output; give a "
                           "name, or ./- for one that is called so");
    else if (same_path(path, out) || same_path(path, inside))
        code = usage_error("convert: --out %s is the same file as --model %s", out, path);
    free(inside);
    return code;
}

/* Fails if there is a folder where a file would be written, or a file where a folder would be. */
static int check_kind(const char *out, const char *to, bool folder)
{
    struct stat about;
    if (stat(out, &about) != 0 || (S_ISDIR(about.st_mode) != 0) == folder) return EXIT_OK;
    return failed("%s is %s; --to %s writes %s", out, folder ? "not a folder" : "a folder", to,
                  folder ? "a folder" : "a file");
}

/* Fails if the output exists: a file, or a folder that is not empty. */
static int check_new(const char *out)
{
    DIR *folder = opendir(out);
    if (folder == NULL) return file_new(out);
    bool empty = true;
    for (struct dirent *one; empty && (one = readdir(folder)) != NULL;)
        empty = strcmp(one->d_name, ".") == 0 || strcmp(one->d_name, "..") == 0;
    closedir(folder);
    return empty
               ? EXIT_OK
               : failed("%s is not empty; --force replaces a model of the same format in it", out);
}

int command_convert(int argc, char **argv)
{
    const char *path = NULL, *out = NULL, *to = "rapt", *precision = NULL;
    const char *calibration = NULL;
    int threads = 0;
    bool force = false;
    /* clang-format off */
    struct option_row rows[] = {
        {"model", OPTION_INPUT, &path, "FILE", "the model, a file or folder of any project", 0, 0, 0},
        {"to", OPTION_CHOICE, &to, "rapt|packed|marian|bergamot|hf|ct2", "format to write", 0, 0, 0},
        {"precision", OPTION_CHOICE, &precision, "f32|bf16|f16|int8", "precision of the matrices in the file [that of the model]", 0, 0, 0},
        {"calibrate", OPTION_INPUT, &calibration, "FILE", "for bergamot: measure activations while these sentences are translated, one per line; Firefox needs that", 0, 0, 0},
        threads_row(&threads),
        {"out", OPTION_TEXT, &out, "PATH", "file (rapt, packed) or folder to write", 0, 0, 0},
        {"force", OPTION_FLAG, &force, "", "replace the file, or a model of the same format in the folder", 0, 0, 0},
    };
    /* clang-format on */
    struct command command = {
        .name = "convert",
        .arguments = "",
        .rows = rows,
        .count = sizeof rows / sizeof *rows,
        .purpose =
            "Converts a model. --to rapt writes a file in our own format. --to packed writes one "
            "that is mapped into memory instead of read, so that all processes that use it share "
            "it. A model in 8 or 16 bits is always packed. The other formats are folders: marian "
            "(model.bin, vocab.spm), bergamot (Firefox, 8 bits), hf (Hugging Face's MarianMT) and "
            "ct2 (CTranslate2).\n\n"
            "A folder needs a model that was trained with --sentencepiece. marian and bergamot "
            "also need --position concatenated-n1, --decoder-start zero and --norm-epsilon 1e-6; "
            "hf needs --position concatenated or learned. A model that the format cannot represent "
            "exactly is "
            "refused."};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    if (path == NULL) return usage_error("convert: --model is missing");
    if (out == NULL || *out == 0) return usage_error("convert: --out is missing");
    bool packed = strcmp(to, "packed") == 0, file = packed || strcmp(to, "rapt") == 0;
    rapt_model *model = NULL;
    code = check_out(path, out);
    if (code == EXIT_OK) code = check_kind(out, to, !file);
    if (code == EXIT_OK && !force) code = check_new(out);
    if (code != EXIT_OK) return code;
    code = model_open(&model, path, precision);
    if (code != EXIT_OK) return code;
    if (calibration != NULL) code = calibrate(model, calibration, threads);
    if (code == EXIT_OK) code = file ? save_file(model, out, packed) : export_to(model, to, out);
    rapt_model_free(model);
    return code;
}
