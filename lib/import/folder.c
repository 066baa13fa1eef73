/* folder.c - chooses the model in a folder and its decoding settings, and reports how every file in
   the folder was used.

   The model is the first of these that exists:

       - a file with one of Hugging Face's usual names, unless there is a model.bin
       - the only model in the folder
       - the only model in the folder that is the sole entry under `models:` in a settings file
       - model.bin or model.npz
       - the model whose name the others extend, as ende.npz.best-bleu.npz extends ende.npz

   Otherwise the import fails. If two names differ only in ".alphas", only the file with ".alphas"
   is considered. Settings are in decoder.yml, *.decoder.yml, config.yml and config.*.yml, as
   written by Marian and Bergamot. */
#include "import/parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { CANDIDATES = 64 }; /* maximum number of names in each list of a survey */

struct names {
    int count;
    char all[CANDIDATES][IMPORT_FILE];
};

/* The models, settings and other files in the model's folder, shortest names first. */
struct survey {
    struct import *i;
    struct names models, settings, others;
    bool voted[CANDIDATES];          /* true if some settings file names only this model */
    struct yaml *parsed[CANDIDATES]; /* settings, once they are read; NULL if they are unusable */
    bool is_parsed;
};

/* ---- the meaning of names ---- */

/* Returns the length of a name without the suffix `end`, or 0 if the name does not have that suffix
   or is equal to it. */
static size_t without(const char *name, const char *end)
{
    size_t size = strlen(name), tail = strlen(end);
    return size > tail && strcmp(name + size - tail, end) == 0 ? size - tail : 0;
}

/* Suffixes of compressed files. */
static const char *const packed[] = {".gz", ".zst"};
enum { PACKED = sizeof packed / sizeof *packed, PACKED_SIZE = 4 };

/* Returns the length of a compressed file's name without .gz or .zst, or 0 for any other name. */
static size_t packed_size(const char *name)
{
    size_t size = 0;
    for (int n = 0; n < PACKED && !size; n++) size = without(name, packed[n]);
    return size;
}

/* Returns the length of a name without .gz or .zst. */
static size_t plain_size(const char *name)
{
    size_t size = packed_size(name);
    return size ? size : strlen(name);
}

bool rapt__import_ends(const char *name, const char *end)
{
    size_t size = plain_size(name), tail = strlen(end);
    return size >= tail && strncmp(name + size - tail, end, tail) == 0;
}

static bool begins(const char *name, const char *begin)
{
    return strncmp(name, begin, strlen(begin)) == 0;
}

/* Files that occur next to models but are not models, recognized by the beginning and the end of
   their names. */
static const struct {
    const char *begin, *end;
    rapt_file_use use;
    const char *what;
} known[] = {
    {"lex.", ".bin", RAPT_FILE_USE_SHORTLIST, "a lexical shortlist, used on request"},
    {"lex.", ".txt", RAPT_FILE_USE_SHORTLIST, "a lexical shortlist, used on request"},
    {"qualityModel.", ".bin", RAPT_FILE_USE_NONE, "a quality estimator, which rapt ignores"},
    {"", ".optimizer.npz", RAPT_FILE_USE_NONE, "training state"},
    {"", "optimizer.bin", RAPT_FILE_USE_NONE, "training state"},
    {"", "scheduler.bin", RAPT_FILE_USE_NONE, "training state"},
    {"", "training_args.bin", RAPT_FILE_USE_NONE, "training options"},
    {"", ".progress.yml", RAPT_FILE_USE_NONE, "training state"},
};

static int known_as(const char *name)
{
    for (int n = 0; n < (int)(sizeof known / sizeof *known); n++)
        if (begins(name, known[n].begin) && rapt__import_ends(name, known[n].end)) return n;
    return -1;
}

/* Returns whether this is the name of a .npz or .bin file, perhaps compressed, that may contain a
   model. */
static bool may_hold(const char *name)
{
    return (rapt__import_ends(name, ".npz") || rapt__import_ends(name, ".bin")) &&
           known_as(name) < 0;
}

/* Usual names of the file of tensors in a folder. The names between model.bin and model.npz are
   those of Hugging Face: the first of them that exists is chosen, unless there is a model.bin. */
static const char *const usual[] = {"model.bin",
                                    "model.safetensors",
                                    "model.safetensors.index.json",
                                    "pytorch_model.bin",
                                    "pytorch_model.bin.index.json",
                                    "model.npz"};
enum { USUAL = sizeof usual / sizeof *usual };

bool rapt__import_reads(const char *name)
{
    for (size_t n = 0; n < USUAL; n++)
        if (strcmp(name, usual[n]) == 0) return true;
    return may_hold(name) || rapt__import_is_vocabulary(name);
}

static bool is_settings(const char *name)
{
    return strcmp(name, "decoder.yml") == 0 || rapt__import_ends(name, ".decoder.yml") ||
           (begins(name, "config.") && rapt__import_ends(name, ".yml"));
}

/* ---- the contents of a folder ---- */

bool rapt__import_is_twin(const struct import *i, const char *name)
{
    char plain[IMPORT_FILE];
    size_t size = packed_size(name);
    if (size == 0 || size >= sizeof plain) return false;
    snprintf(plain, sizeof plain, "%.*s", (int)size, name);
    return rapt__import_has(i, plain);
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *back = strrchr(path, '\\');
    if (back && (!slash || back > slash)) slash = back;
    return slash ? slash + 1 : path;
}

bool rapt__import_locate(const struct import *i, const char *path, char found[IMPORT_FILE])
{
    const char *base = base_of(path);
    if (!base[0] || strlen(base) + PACKED_SIZE >= IMPORT_FILE) return false;
    snprintf(found, IMPORT_FILE, "%s", base);
    bool has = rapt__import_has(i, found);
    for (int n = 0; n < PACKED && !has; n++) {
        snprintf(found, IMPORT_FILE, "%s%s", base, packed[n]);
        has = rapt__import_has(i, found);
    }
    return has;
}

static bool goes_before(const char *a, const char *b)
{
    size_t x = strlen(a), y = strlen(b);
    return x != y ? x < y : strcmp(a, b) < 0;
}

/* Inserts a name in order. If the list is full, the longest name is dropped, because models saved
   during training have longer names than the final one. */
static void insert(struct names *names, const char *name)
{
    if (strlen(name) >= IMPORT_FILE) return;
    int at = names->count;
    if (at == CANDIDATES && !goes_before(name, names->all[--at])) return;
    for (; at > 0 && goes_before(name, names->all[at - 1]); at--)
        memcpy(names->all[at], names->all[at - 1], IMPORT_FILE);
    snprintf(names->all[at], IMPORT_FILE, "%s", name);
    if (names->count < CANDIDATES) names->count++;
}

static bool visit(void *user, const char *name)
{
    struct survey *s = user;
    if (is_settings(name)) insert(&s->settings, name);
    if (may_hold(name) && !rapt__import_is_twin(s->i, name))
        insert(&s->models, name);
    else
        insert(&s->others, name);
    return true;
}

rapt_status rapt__import_list(struct import *i, const char *folder, disk_visit_fn *each, void *user)
{
    if (i->archive)
        return rapt__archive_list(i->archive, folder + i->archive_size, each, user), RAPT_OK;
    if (rapt__disk_list(folder, each, user)) return RAPT_OK;
    if (errno == ENOMEM)
        return rapt__fail(i->why, RAPT_NO_MEMORY, "out of memory while listing its folder");
    return rapt__import_bad(i, "its folder cannot be listed");
}

/* Surveys the folder, once per import. */
static rapt_status survey(struct import *i)
{
    if (i->survey) return RAPT_OK;
    i->survey = rapt__alloc(&i->allocator, sizeof *i->survey);
    if (!i->survey)
        return rapt__fail(i->why, RAPT_NO_MEMORY, "out of memory while listing its folder");
    *i->survey = (struct survey){.i = i};
    return rapt__import_list(i, i->folder, visit, i->survey);
}

void rapt__import_survey_free(struct import *i)
{
    for (int n = 0; i->survey && n < CANDIDATES; n++) rapt__yaml_close(i->survey->parsed[n]);
    rapt__free(&i->allocator, i->survey, sizeof *i->survey);
    i->survey = NULL;
}

/* ---- settings ---- */

/* Returns whether the last component of a path in settings is a file's name. The suffixes .gz and
   .zst are ignored in both. */
static bool is_path_of(const char *path, const char *name)
{
    const char *base = base_of(path);
    size_t size = plain_size(base);
    return size == plain_size(name) && strncmp(base, name, size) == 0;
}

/* Opens settings. If they cannot be parsed, *yaml becomes NULL, because they may belong to another
   program. Errors in decoder.yml and *.decoder.yml, however, are reported, because Marian writes
   these files. */
static rapt_status open_settings(struct import *i, const char *name, struct yaml **yaml)
{
    char *bytes;
    size_t size;
    *yaml = NULL;
    rapt_status status = rapt__import_read(i, name, &bytes, &size);
    if (status) return status;
    status = rapt__yaml_open(yaml, bytes, size, name, &i->allocator, i->why);
    rapt__free(&i->allocator, bytes, size + 1);
    bool strict = rapt__import_ends(name, "decoder.yml");
    return status == RAPT_BAD_FILE && !strict ? RAPT_OK : status;
}

static rapt_status parse_settings(struct survey *s)
{
    rapt_status status = RAPT_OK;
    if (s->is_parsed) return RAPT_OK;
    for (int n = 0; n < s->settings.count && !status; n++)
        status = open_settings(s->i, s->settings.all[n], &s->parsed[n]);
    s->is_parsed = !status;
    return status;
}

/* Rates how well a settings file matches a model, either by its own name or because it names the
   model: 4 is best, 0 means that it does not match. As in Marian, decoder.yml matches every model,
   whichever models it names. */
static int suits(const char *settings, const struct yaml *y, const char *model)
{
    size_t size = plain_size(model);
    bool named = false, other = false;
    for (int n = 0; n < rapt__yaml_count(y); n++) {
        const struct yaml_item *item = rapt__yaml_at(y, n);
        if (strcmp(item->key, "models") != 0 || item->index < 0) continue;
        if (is_path_of(item->value, model))
            named = true;
        else
            other = true;
    }
    if (strncmp(settings, model, size) == 0 && strcmp(settings + size, ".decoder.yml") == 0)
        return 4;
    if (strcmp(settings, "decoder.yml") == 0) return 3;
    if (named) return other ? 1 : 2;
    return !other && strcmp(settings, "config.yml") == 0;
}

/* Marks each model that is the only model named by some settings file. */
static rapt_status vote(struct survey *s)
{
    rapt_status status = parse_settings(s);
    for (int n = 0; n < s->settings.count && !status; n++) {
        const struct yaml *y = s->parsed[n];
        const struct yaml_item *item = y ? rapt__yaml_find(y, "models") : NULL;
        const char *path = !item               ? NULL
                           : item->length == 0 ? item->value
                           : item->length == 1 ? item[1].value
                                               : NULL;
        for (int m = 0; path && m < s->models.count; m++)
            if (is_path_of(path, s->models.all[m])) s->voted[m] = true;
    }
    return status;
}

/* Chooses the settings that match the model best. */
static void find_decoder(struct import *i)
{
    const struct survey *s = i->survey;
    int best = 0;
    for (int n = 0; n < s->settings.count; n++) {
        const struct yaml *y = s->parsed[n];
        int score = y ? suits(s->settings.all[n], y, i->model_name) : 0;
        if (score <= best) continue;
        i->decoder = y;
        memcpy(i->decoder_name, s->settings.all[n], IMPORT_FILE);
        best = score;
    }
    if (i->decoder) rapt__import_record(i, i->decoder_name, RAPT_FILE_USE_SETTINGS);
}

rapt_status rapt__import_decoder(struct import *i)
{
    rapt_status status = survey(i);
    if (!status) status = parse_settings(i->survey);
    if (!status) find_decoder(i);
    return status;
}

/* ---- the choice ---- */

static rapt_status pick(struct import *i, const char *name, const char *reason)
{
    snprintf(i->model_name, IMPORT_FILE, "%s", name);
    i->model_reason = reason;
    return RAPT_OK;
}

/* Returns the length of a model's name without .npz or .bin and without .gz or .zst. */
static size_t stem_size(const char *name)
{
    size_t size = plain_size(name);
    return size > 4 ? size - 4 : 0;
}

/* Removes the models that also exist with alphas. */
static void drop_without_alphas(struct names *models)
{
    for (int n = 0; n < models->count; n++)
        for (int m = 0; m < models->count; m++) {
            const char *name = models->all[n], *other = models->all[m];
            size_t stem = stem_size(name);
            if (stem_size(other) != stem + 7 || strncmp(name, other, stem) != 0 ||
                strncmp(other + stem, ".alphas", 7) != 0)
                continue;
            memmove(models->all[n], models->all[n + 1],
                    (size_t)(models->count - n - 1) * sizeof models->all[n]);
            models->count--, n--;
            break;
        }
}

/* Returns the index of the model whose name, without .npz or .bin, is a prefix of all other names
   and is followed by a '.' in them. Returns -1 if there is none. */
static int plain_of(const struct names *models)
{
    for (int n = 0; n < models->count; n++) {
        size_t stem = stem_size(models->all[n]);
        int longer = 0;
        for (int m = 0; m < models->count; m++)
            longer +=
                strncmp(models->all[n], models->all[m], stem) == 0 && models->all[m][stem] == '.';
        if (longer == models->count) return n;
    }
    return -1;
}

/* Fails for a folder without a model, with a message that lists the files in it. */
static rapt_status no_weights(const struct survey *s, const char *path)
{
    char found[160] = "";
    size_t used = 0;
    int n = 0;
    for (; n < s->others.count && used + strlen(s->others.all[n]) + 2 < sizeof found; n++)
        used += (size_t)snprintf(found + used, sizeof found - used, "%s%s", n ? ", " : "",
                                 s->others.all[n]);
    return rapt__import_bad(s->i,
                            "%.100s: the folder has no weights file, such as model.safetensors, "
                            "pytorch_model.bin, model.bin or model.npz; it has %s%s",
                            path, s->others.count ? found : "no files",
                            n < s->others.count ? ", and others" : "");
}

static rapt_status choose_among(struct survey *s, const char *path)
{
    struct import *i = s->i;
    int votes = 0, voted = 0;
    drop_without_alphas(&s->models);
    if (s->models.count == 1) return pick(i, s->models.all[0], "the only model");
    rapt_status status = vote(s);
    if (status) return status;
    for (int n = 0; n < s->models.count; n++)
        if (s->voted[n]) voted = n, votes++;
    if (votes == 1) return pick(i, s->models.all[voted], "named by the decoding settings");
    for (int n = 0; n < s->models.count; n++)
        if (is_path_of("model.bin", s->models.all[n]) || is_path_of("model.npz", s->models.all[n]))
            return pick(i, s->models.all[n], "the usual name");
    int plain = plain_of(&s->models);
    if (plain >= 0) return pick(i, s->models.all[plain], "the model whose name the others extend");
    if (s->models.count == 0) return no_weights(s, path);
    return rapt__import_bad(i,
                            "%.100s: the folder has more than one model, %.60s and %.60s; give "
                            "the path of the one that you want",
                            path, s->models.all[0], s->models.all[1]);
}

rapt_status rapt__import_choose(struct import *i, const char *path)
{
    char name[IMPORT_FILE];
    for (size_t n = 1; n + 1 < USUAL && !rapt__import_locate(i, usual[0], name); n++)
        if (rapt__import_locate(i, usual[n], name)) return pick(i, name, "the usual name");
    rapt_status status = survey(i);
    return status ? status : choose_among(i->survey, path);
}

/* ---- the report ---- */

static const char above[] = "../"; /* prefix of the names of files next to the folder */

void rapt__import_record(struct import *i, const char *name, rapt_file_use use)
{
    struct import_read_file file = {.use = use};
    const size_t up = strncmp(name, above, sizeof above - 1) == 0 ? sizeof above - 1 : 0;
    snprintf(file.name, sizeof file.name, "%.*s", (int)(up + strcspn(name + up, "/")), name);
    for (int n = 0; n < i->read_count; n++)
        if (strcmp(i->read_files[n].name, file.name) == 0) return;
    if (i->read_count < IMPORT_READ_FILES) i->read_files[i->read_count++] = file;
}

struct report {
    const struct import *i;
    rapt_file_fn *file;
    void *user;
};

/* Returns whether the model was opened through an index and a file's name looks like that of a
   shard, such as model-00001-of-00002.safetensors. */
static bool is_shard(const struct import *i, const char *name)
{
    const char *index = strstr(i->model_name, ".index.json");
    size_t stem = strcspn(i->model_name, ".");
    return index && strncmp(name, i->model_name, stem) == 0 && name[stem] == '-';
}

static const char *reason_of(const struct report *r, const char *name, rapt_file_use *use)
{
    int kind = known_as(name);
    *use = RAPT_FILE_USE_NONE;
    for (int n = 0; n < r->i->read_count; n++)
        if (strcmp(r->i->read_files[n].name, name) == 0) {
            *use = r->i->read_files[n].use;
            return *use == RAPT_FILE_USE_MODEL ? r->i->model_reason : "";
        }
    if (is_shard(r->i, name)) return *use = RAPT_FILE_USE_MODEL, "a part of the model";
    if (kind >= 0) return *use = known[kind].use, known[kind].what;
    if (rapt__import_is_twin(r->i, name)) return "the same file exists uncompressed";
    if (rapt__import_reads(name))
        return rapt__import_is_vocabulary(name) ? "another vocabulary" : "another model";
    return is_settings(name) ? "decoding settings of another model or program" : "not needed";
}

static bool visit_report(void *user, const char *name)
{
    const struct report *r = user;
    rapt_file_use use;
    const char *reason = reason_of(r, name, &use);
    r->file(r->user, name, use, reason);
    return true;
}

rapt_status rapt__import_report(struct import *i, rapt_file_fn *file, void *user)
{
    struct report r = {i, file, user};
    if (!file) return RAPT_OK;
    for (int n = 0; n < i->read_count; n++) {
        const struct import_read_file *read = &i->read_files[n];
        if (strncmp(read->name, above, sizeof above - 1) == 0)
            file(user, read->name + sizeof above - 1, read->use, "");
    }
    return rapt__import_list(i, i->folder, visit_report, &r);
}
