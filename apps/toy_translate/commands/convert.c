/* convert.c - toy_translate convert: reads a model of any supported project and writes it to a file
   of our own, or to a folder that another project reads. */
#include "commands.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct conversion {
    const char *path, *out, *to, *precision;
    const char *calibration, *shortlist; /* files; NULL if not given */
    const char *source_language, *target_language;
    int threads;
    bool force, gzip;
    rapt_model *model;
    rapt_shortlist *list;
};

static int export_as(const struct conversion *job, bool check_only)
{
    rapt_message why = {""};
    const rapt_export_options options = {.size = sizeof options,
                                         .source_language = job->source_language,
                                         .target_language = job->target_language,
                                         .shortlist = job->list,
                                         .check_only = check_only,
                                         .gzip = job->gzip};
    rapt_status status =
        rapt_model_export_with(job->model, export_format(job->to), job->out, &options, &why);
    return status == RAPT_OK ? EXIT_OK : failed("%s", why.text);
}

static int load_shortlist(struct conversion *job)
{
    rapt_message why = {""};
    struct vocabulary vocabulary = {0};
    if (job->shortlist == NULL) return EXIT_OK;
    int code = vocabulary_load(&vocabulary, job->model);
    if (code == EXIT_OK && rapt_shortlist_load(&job->list, job->shortlist, vocabulary.source,
                                               vocabulary.target, NULL, &why) != RAPT_OK)
        code = failed("%s", why.text);
    vocabulary_free(&vocabulary);
    return code;
}

/* Measures the model's alphas on the lines of a file, if one is given. */
static int calibrate(const struct conversion *job)
{
    rapt_message why = {""};
    struct texts texts = {0};
    if (job->calibration == NULL) return EXIT_OK;
    int code = texts_read(&texts, job->calibration);
    if (code == EXIT_OK &&
        rapt_model_calibrate(job->model, texts.all, texts.count, job->threads, &why) != RAPT_OK)
        code = failed("%s: %s", job->calibration, why.text);
    texts_free(&texts);
    return code;
}

/* Exports the model. Checks first that the format supports it, since calibration takes time. */
static int export_to(struct conversion *job)
{
    bool made = mkdir(job->out, 0777) == 0;
    if (!made && errno != EEXIST) return failed("%s: %s", job->out, strerror(errno));
    int code = load_shortlist(job);
    if (code == EXIT_OK) code = export_as(job, true);
    if (code == EXIT_OK) code = calibrate(job);
    if (code == EXIT_OK) code = export_as(job, false);
    if (code != EXIT_OK && made)
        rmdir(job->out); /* fails, as it should, if the folder is not empty */
    return code;
}

static int save_file(const rapt_model *model, const char *out, bool packed)
{
    rapt_message why = {""};
    const rapt_save_options options = {.size = sizeof options, .packed = packed};
    if (rapt_model_save_with(model, out, &options, NULL, 0, &why) == RAPT_OK) return EXIT_OK;
    return failed("%s", why.text);
}

/* Returns true if both are the same file or folder. */
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
        code = usage_error("convert: --out -: a model cannot be written to standard output; give "
                           "its name, or ./- for a file of that name");
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

/* Fails if an option does not belong to the format. */
static int check_options(const struct conversion *job)
{
    const bool firefox = strcmp(job->to, "firefox") == 0;
    const struct {
        const char *name, *value;
    } all[] = {{"shortlist", job->shortlist},
               {"source-lang", job->source_language},
               {"target-lang", job->target_language}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].value != NULL && !firefox)
            return usage_error("convert: --%s is only for --to firefox", all[i].name);
    if (job->gzip && !firefox) return usage_error("convert: --gzip is only for --to firefox");
    if (job->calibration != NULL && !firefox && strcmp(job->to, "bergamot") != 0)
        return usage_error("convert: --calibrate is only for --to firefox and --to bergamot");
    if (!firefox) return EXIT_OK;
    if (job->source_language == NULL || job->target_language == NULL)
        return usage_error(
            "convert: --to firefox needs --source-lang and --target-lang, codes such "
            "as en and de");
    return EXIT_OK;
}

static int convert(struct conversion *job)
{
    bool packed = strcmp(job->to, "packed") == 0, file = packed || strcmp(job->to, "rapt") == 0;
    int code = check_out(job->path, job->out);
    if (code == EXIT_OK) code = check_kind(job->out, job->to, !file);
    if (code == EXIT_OK && !job->force) code = check_new(job->out);
    if (code == EXIT_OK) code = model_open(&job->model, job->path, job->precision);
    if (code != EXIT_OK) return code;
    return file ? save_file(job->model, job->out, packed) : export_to(job);
}

int command_convert(int argc, char **argv)
{
    struct conversion job = {.to = "rapt"};
    /* clang-format off */
    struct option_row rows[] = {
        {"model", OPTION_INPUT, &job.path, "FILE", "the model, a file or folder of any project", 0, 0, 0},
        {"to", OPTION_CHOICE, &job.to, "rapt|packed|marian|bergamot|firefox|hf|ct2", "format to write", 0, 0, 0},
        {"precision", OPTION_CHOICE, &job.precision, "f32|bf16|f16|int8", "precision of the matrices in the file [that of the model]", 0, 0, 0},
        {"out", OPTION_TEXT, &job.out, "PATH", "file (rapt, packed) or folder to write", 0, 0, 0},
        {"force", OPTION_FLAG, &job.force, "", "replace the file, or a model of the same format in the folder", 0, 0, 0},
        {"calibrate", OPTION_INPUT, &job.calibration, "FILE", "for firefox and bergamot: translate these sentences, one per line, to measure the activations, whose scales Firefox needs; a few hundred suffice", 0, 0, 0},
        {"source-lang", OPTION_TEXT, &job.source_language, "L", "for firefox: code of the source language, such as en, for file names", 0, 0, 0},
        {"target-lang", OPTION_TEXT, &job.target_language, "L", "for firefox: code of the target language", 0, 0, 0},
        {"shortlist", OPTION_INPUT, &job.shortlist, "FILE", "for firefox: a lexical shortlist to put into the folder", 0, 0, 0},
        {"gzip", OPTION_FLAG, &job.gzip, "", "for firefox: compress model, vocabularies and shortlist, as in Mozilla's models", 0, 0, 0},
        threads_row(&job.threads),
    };
    /* clang-format on */
    struct command command = {
        .name = "convert",
        .arguments = "",
        .rows = rows,
        .count = sizeof rows / sizeof *rows,
        .purpose =
            "Converts a model. --to rapt writes a file in our own format. --to packed writes a "
            "file that is mapped into memory instead of read, so that all processes that use it "
            "share it. A model with 8-bit or 16-bit weights is always packed. The other formats "
            "are "
            "folders: marian (model.bin, vocab.spm), bergamot (the same with 8-bit weights), "
            "firefox "
            "(with the names and settings of Mozilla's models), hf (Hugging Face's MarianMT) and "
            "ct2 "
            "(CTranslate2).\n\n"
            "A folder needs a model that was trained with --sentencepiece and the options that "
            "train --for sets for the format. A model that the format cannot represent exactly is "
            "refused, with all reasons."};
    int code = options_read(&command, argc, argv);
    if (code != GO_ON) return code;
    if (job.path == NULL) return usage_error("convert: --model is missing");
    if (job.out == NULL || *job.out == 0) return usage_error("convert: --out is missing");
    code = check_options(&job);
    if (code == EXIT_OK) code = convert(&job);
    rapt_shortlist_free(job.list);
    rapt_model_free(job.model);
    return code;
}
