/* import.c - detects the format of a folder or file and imports it as a model with its tokenizers
   in the metadata, like one of our model files. */
#include "import/parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

rapt_status rapt__import_bad(struct import *i, const char *format, ...)
{
    rapt_message text;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text.text, sizeof text.text, format, arguments);
    va_end(arguments);
    return rapt__fail(i->why, RAPT_BAD_FILE, "%s", text.text);
}

bool rapt__import_has(const struct import *i, const char *name)
{
    char path[2 * IMPORT_PATH];
    struct disk_source file;
    if (i->archive) {
        rapt__import_member(i, name, path);
        return rapt__archive_has(i->archive, path);
    }
    snprintf(path, sizeof path, "%s%s", i->folder, name);
    if (rapt__disk_open(&file, path, NULL)) return false;
    rapt__disk_close(&file);
    return true;
}

bool rapt__import_is_folder(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

/* Sets i->folder to the path if that is a folder, and otherwise to the folder that contains the
   file. */
static rapt_status find_folder(struct import *i, const char *path)
{
    size_t size = strlen(path);
    if (size + 2 > sizeof i->folder)
        return rapt__import_bad(i, "%.200s: the path is too long", path);
    memcpy(i->folder, path, size + 1);
    if (rapt__import_is_folder(path)) {
        if (path[size - 1] != '/') memcpy(i->folder + size, "/", 2);
        return RAPT_OK;
    }
    char *slash = strrchr(i->folder, '/');
    *(slash ? slash + 1 : i->folder) = 0;
    return RAPT_OK;
}

/* Returns true if a file is a safetensors file from Hugging Face, that is, one that lacks our
   configuration and has a config.json in the same folder. */
static bool is_hf(const char *path, const rapt_allocator *allocator)
{
    struct import i = {.folder = ""};
    struct tensor_file *file;
    struct budget budget;
    const rapt_allocator memory = rapt__budget_begin(&budget, allocator);
    if (find_folder(&i, path) || !rapt__import_has(&i, "config.json")) return false;
    if (rapt__tensors_open(&file, path, &memory, NULL)) return false;
    bool own = rapt__tensors_metadata(file, CONFIG_KEY) != NULL;
    rapt__tensors_close(file);
    return !own;
}

bool rapt__import_wants(const char *path, const rapt_allocator *allocator)
{
    return rapt__import_is_folder(path) || rapt__tensors_other(path) || is_hf(path, allocator);
}

/* ---- the metadata of a model file ---- */

static char *written(const struct import *i, const rapt_tokenizer *tokenizer, size_t *size)
{
    rapt_tokenizer_write(tokenizer, NULL, 0, size, NULL);
    char *text = rapt__alloc(&i->lasting, *size);
    if (text) rapt_tokenizer_write(tokenizer, text, *size, size, NULL);
    return text;
}

static rapt_status keep_tokenizers(struct import *i)
{
    bool joint = !i->target;
    size_t sizes[2] = {0, 0};
    char *texts[2] = {written(i, i->source, &sizes[0]), NULL};
    if (!joint) texts[1] = written(i, i->target, &sizes[1]);
    char factor[FLOAT_TEXT];
    char max_tokens[16];
    rapt_metadata pairs[12 + IMPORT_DECODING] = {
        {"rapt.origin", i->origin},
        {joint ? "rapt.tokenizer" : "rapt.source_tokenizer", texts[0]},
    };
    int count = 2;
    if (!joint) pairs[count++] = (rapt_metadata){"rapt.target_tokenizer", texts[1]};
    rapt__float_write(i->max_length_factor, factor);
    if (i->max_length_factor > 0) pairs[count++] = (rapt_metadata){LENGTH_KEY, factor};
    snprintf(max_tokens, sizeof max_tokens, "%d", i->max_tokens);
    if (i->max_tokens) pairs[count++] = (rapt_metadata){TOKENS_KEY, max_tokens};
    if (i->source_begin) pairs[count++] = (rapt_metadata){BEGIN_KEY, "1"};
    if (i->pair_twice) pairs[count++] = (rapt_metadata){PAIR_KEY, "2"};
    if (i->source_language_last) pairs[count++] = (rapt_metadata){LANGUAGE_LAST_KEY, "1"};
    if (i->language_starts) pairs[count++] = (rapt_metadata){LANGUAGE_START_KEY, "1"};
    if (i->normalize) pairs[count++] = (rapt_metadata){NORMALIZE_KEY, "1"};
    for (int n = 0; n < i->decoding.count; n++)
        pairs[count++] = (rapt_metadata){i->decoding.kept[n].key, i->decoding.kept[n].text};
    if (i->decoding.ignored[0]) pairs[count++] = (rapt_metadata){IGNORED_KEY, i->decoding.ignored};
    if (i->scales.text) pairs[count++] = (rapt_metadata){SCALES_KEY, i->scales.text};
    rapt_status status = RAPT_NO_MEMORY;
    if (texts[0] && (joint || texts[1])) status = rapt__metadata_set(i->model, pairs, count);
    for (int n = 0; n < 2; n++)
        if (texts[n]) rapt__free(&i->lasting, texts[n], sizes[n]);
    return status ? rapt__fail(i->why, status, "no memory for its tokenizers") : RAPT_OK;
}

/* ---- the format ---- */

/* Opens the tensors of a package in a zip file. */
static rapt_status open_member(struct import *i, const char *path)
{
    struct disk_source source;
    rapt_status status = rapt__import_choose(i, path);
    if (!status) status = rapt__import_source(i, i->model_name, &source);
    if (status) return status;
    status = rapt__tensors_open_any_source(&i->file, &source, &i->allocator, i->why);
    if (status) rapt__disk_close(&source);
    return status;
}

/* Opens the tensors of a folder or file. */
static rapt_status open_tensors(struct import *i, const char *path)
{
    char full[2 * IMPORT_PATH];
    if (i->archive) return open_member(i, path);
    if (!rapt__import_is_folder(path)) {
        snprintf(i->model_name, sizeof i->model_name, "%.*s", IMPORT_FILE - 1,
                 path + strlen(i->folder));
        i->model_reason = "the file that you named";
        return rapt__tensors_open_any(&i->file, path, &i->allocator, i->why);
    }
    rapt_status status = rapt__import_choose(i, path);
    if (status) return status;
    snprintf(full, sizeof full, "%s%s", i->folder, i->model_name);
    return rapt__tensors_open_any(&i->file, full, &i->allocator, i->why);
}

/* Returns true for Marian's containers even without special:model.yml, so that the message can say
   that it is missing. */
static bool is_marian(const struct tensor_file *file)
{
    return rapt__tensors_container(file) == CONTAINER_MARIAN ||
           rapt__tensors_container(file) == CONTAINER_NPZ ||
           rapt__tensors_metadata(file, "special:model.yml");
}

static rapt_status import_open(struct import *i)
{
    size_t bytes = (size_t)rapt__tensors_count(i->file) * sizeof *i->used;
    if (bytes == 0) return rapt__import_bad(i, "there are no tensors in it");
    i->used = rapt__alloc(&i->allocator, bytes);
    if (!i->used) return rapt__fail(i->why, RAPT_NO_MEMORY, "out of memory while opening");
    memset(i->used, 0, bytes);
    rapt_status status;
    if (rapt__tensors_container(i->file) == CONTAINER_CTRANSLATE2)
        status = rapt__import_ct2(i);
    else if (i->archive)
        status = rapt__import_bad(i, "%s%s is not a CTranslate2 model", i->folder, i->model_name);
    else if (is_marian(i->file))
        status = rapt__import_marian(i);
    else
        status = rapt__import_hf(i);
    rapt__free(&i->allocator, i->used, bytes);
    return status ? status : keep_tokenizers(i);
}

/* Returns whether a message begins with the path of the folder, and therefore names a file in
   it. */
static bool names_file(const struct import *i, const char *message)
{
    size_t size = strlen(i->folder);
    return size && strncmp(message, i->folder, size) == 0;
}

rapt_status rapt__import(rapt_model **model, const char *path, rapt_precision precision,
                         rapt_file_fn *file, void *user, const rapt_allocator *allocator,
                         rapt_message *why)
{
    rapt_message reason = {"out of memory while opening"};
    struct import *i = rapt__alloc(allocator, sizeof *i);
    if (!i) return rapt__fail(why, RAPT_NO_MEMORY, "%.200s: %s", path, reason.text);
    *i = (struct import){
        .lasting = rapt__allocator(allocator), .precision = precision, .why = &reason};
    i->allocator = rapt__budget_begin(&i->budget, allocator);
    i->config.size = sizeof i->config;
    const bool archive = rapt__import_is_archive(path);
    rapt_status status = archive ? rapt__import_archive(i, path) : find_folder(i, path);
    bool named = status; /* the message already names a file */
    if (!status && (archive || rapt__import_is_folder(path))) status = rapt__import_enter(i);
    if (!status) status = open_tensors(i, path), named = status;
    if (!status) rapt__import_record(i, i->model_name, RAPT_FILE_USE_MODEL);
    if (!status) status = import_open(i), named = names_file(i, reason.text);
    if (!status) status = rapt__import_report(i, file, user);
    rapt__tensors_close(i->file);
    rapt__archive_close(i->archive);
    rapt__import_survey_free(i);
    rapt_tokenizer_free(i->source);
    rapt_tokenizer_free(i->target);
    rapt__free(&i->lasting, i->scales.text, i->scales.capacity);
    if (status)
        rapt_model_free(i->model);
    else
        *model = i->model;
    if (status == RAPT_NO_MEMORY && i->budget.exceeded) named = false;
    status = rapt__budget_end(&i->budget, status, &reason);
    rapt__free(allocator, i, sizeof *i);
    if (!status) return RAPT_OK;
    return named ? rapt__fail(why, status, "%.500s", reason.text)
                 : rapt__fail(why, status, "%.200s: %.300s", path, reason.text);
}
