/* sentence.c - reads the files that sentence-transformers stores with an encoder: modules.json
   lists the steps from a text to its vector, 1_Pooling/config.json specifies how rows are pooled,
   and sentence_bert_config.json how many tokens of a text are read. Without these files, rows are
   averaged, as sentence-transformers does by default. Source: sentence-transformers 5, models/. */
#include "import/hf.h"

#include <stdio.h>
#include <string.h>

/* ---- pooling ---- */

static rapt_status read_pooling(struct import *i, const char *folder)
{
    static const char *const others[] = {
        "pooling_mode_max_tokens", "pooling_mode_mean_sqrt_len_tokens",
        "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"};
    char name[IMPORT_FILE];
    struct import_settings s;
    bool first = false, mean = false, other = false;
    snprintf(name, sizeof name, "%.200s/config.json", folder);
    rapt_status status = rapt__import_settings(i, name, &s);
    if (status) return status;
    status = rapt__import_flag(i, &s, "pooling_mode_cls_token", false, &first);
    if (!status) status = rapt__import_flag(i, &s, "pooling_mode_mean_tokens", false, &mean);
    for (size_t n = 0; n < sizeof others / sizeof *others && !status; n++) {
        status = rapt__import_flag(i, &s, others[n], false, &other);
        if (!status && other)
            status = rapt__import_bad(i, "%s: %s is true, which is not supported", name, others[n]);
    }
    rapt__import_settings_free(i, &s);
    if (status) return status;
    if (first == mean)
        return rapt__import_bad(i, "%s: %s pooling mode is true; exactly one must be", name,
                                first ? "more than one" : "no");
    i->config.pooling = first ? RAPT_POOLING_FIRST : RAPT_POOLING_MEAN;
    return RAPT_OK;
}

/* ---- modules ---- */

struct module {
    const char *type, *path; /* NULL until known */
};

/* Returns whether the module's type, which is a Python class, has this name. */
static bool is_module(const struct module *m, const char *name)
{
    const char *dot = strrchr(m->type, '.');
    return strcmp(dot ? dot + 1 : m->type, name) == 0;
}

/* Reads one element of modules.json. Returns false if it is not a JSON object with a type and a
   path. */
static bool take_module(struct json *j, struct module *m)
{
    *m = (struct module){NULL, NULL};
    if (!rapt__json_want(j, '{')) return false;
    do {
        const char *key = rapt__json_string(j);
        if (!key || !rapt__json_want(j, ':')) return false;
        const char **to = strcmp(key, "type") == 0   ? &m->type
                          : strcmp(key, "path") == 0 ? &m->path
                                                     : NULL;
        if (to ? !(*to = rapt__json_string(j)) : !rapt__json_skip(j)) return false;
    } while (rapt__json_next(j, ','));
    return rapt__json_want(j, '}') && m->type && m->path;
}

static rapt_status use_module(struct import *i, const struct module *m)
{
    if (is_module(m, "Pooling") && strpbrk(m->path, "/\\"))
        return rapt__import_bad(i, "modules.json: path %.60s is not a folder's name", m->path);
    if (is_module(m, "Pooling")) return read_pooling(i, m->path);
    if (is_module(m, "Normalize")) return i->normalize = true, RAPT_OK;
    if (is_module(m, "Transformer") && !m->path[0]) return RAPT_OK;
    return rapt__import_bad(i, "modules.json: module %.60s is not supported", m->type);
}

static rapt_status read_modules(struct import *i)
{
    char *bytes;
    size_t size;
    rapt_status status = rapt__import_read(i, "modules.json", &bytes, &size);
    if (status) return status;
    struct json j = {.text = (unsigned char *)bytes, .size = size};
    bool good = rapt__json_want(&j, '[');
    do {
        struct module m;
        good = good && take_module(&j, &m);
        if (good) status = use_module(i, &m);
    } while (good && !status && rapt__json_next(&j, ','));
    if (!status && !(good && rapt__json_want(&j, ']') && rapt__json_end(&j)))
        status = rapt__import_bad(i, "modules.json is not a list of modules");
    if (!status) rapt__import_record(i, "modules.json", RAPT_FILE_USE_SETTINGS);
    rapt__free(&i->allocator, bytes, size + 1);
    return status;
}

/* ---- the limit of a text ---- */

/* Reads max_seq_length, the maximum number of tokens of a text. It matters only if it is less than
   config.positions. */
static rapt_status read_limit(struct import *i)
{
    const char *name = "sentence_bert_config.json";
    struct import_settings s;
    int limit;
    if (!rapt__import_has(i, name)) return RAPT_OK;
    rapt_status status = rapt__import_settings(i, name, &s);
    if (status) return status;
    status = rapt__import_whole(i, &s, "max_seq_length", 0, &limit);
    rapt__import_settings_free(i, &s);
    if (!status && limit > 0 && limit < i->config.positions) i->max_tokens = limit;
    return status;
}

rapt_status rapt__import_sentence(struct import *i)
{
    i->config.pooling = RAPT_POOLING_MEAN;
    rapt_status status = rapt__import_has(i, "modules.json") ? read_modules(i) : RAPT_OK;
    return status ? status : read_limit(i);
}
