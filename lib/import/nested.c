/* nested.c - finds models in inner folders: in folders of Hugging Face's cache, and in packages of
   Argos Translate, which may be zip files or folders. */
#include "import/parts.h"

#include <stdio.h>
#include <string.h>

/* ---- folders of Hugging Face's cache: refs/main names a folder in snapshots ---- */

enum { REVISION = 64 }; /* maximum size of a revision's name, a hash in hex digits */

struct found_snapshots {
    int count;
    char name[IMPORT_FILE]; /* name of the last snapshot */
};

static bool visit_snapshot(void *user, const char *name)
{
    struct found_snapshots *found = user;
    found->count++;
    snprintf(found->name, sizeof found->name, "%s", name);
    return true;
}

/* Reads the revision that refs/main names. */
static rapt_status read_revision(struct import *i, char name[IMPORT_FILE])
{
    char *bytes;
    size_t size;
    rapt_status status = rapt__import_read(i, "refs/main", &bytes, &size);
    if (status) return status;
    const size_t digits = strspn(bytes, "0123456789abcdef");
    const bool good =
        digits > 0 && digits <= REVISION && strspn(bytes + digits, "\r\n") == size - digits;
    snprintf(name, IMPORT_FILE, "%.*s", REVISION, bytes);
    name[digits < REVISION ? digits : REVISION] = 0;
    rapt__free(&i->allocator, bytes, size + 1);
    return good ? RAPT_OK : rapt__import_bad(i, "refs/main does not name a revision");
}

/* Sets `name` to the revision that refs/main names or, without refs/main, to the only snapshot.
   Sets it to "" if the folder does not belong to the cache. */
static rapt_status choose_revision(struct import *i, char name[IMPORT_FILE])
{
    char snapshots[2 * IMPORT_PATH];
    struct found_snapshots found = {.count = 0};
    name[0] = 0;
    snprintf(snapshots, sizeof snapshots, "%ssnapshots", i->folder);
    if (!rapt__import_is_folder(snapshots)) return RAPT_OK;
    if (rapt__import_has(i, "refs/main")) return read_revision(i, name);
    rapt_status status = rapt__import_list(i, snapshots, visit_snapshot, &found);
    if (!status && found.count != 1)
        status =
            rapt__import_bad(i,
                             "snapshots has %d folders, but there is no refs/main to choose one; "
                             "give the path of a snapshot",
                             found.count);
    snprintf(name, IMPORT_FILE, "%s", found.name);
    return status;
}

/* If i->folder belongs to Hugging Face's cache, changes it to the folder of the chosen snapshot. */
static rapt_status enter_snapshot(struct import *i)
{
    char name[IMPORT_FILE], path[2 * IMPORT_PATH];
    rapt_status status = choose_revision(i, name);
    if (status || !name[0]) return status;
    const int size = snprintf(path, sizeof path, "%ssnapshots/%s/", i->folder, name);
    if ((size_t)size >= sizeof i->folder) return rapt__import_bad(i, "its path is too long");
    if (!rapt__import_is_folder(path))
        return rapt__import_bad(i, "refs/main names the revision %.60s, which is not in snapshots",
                                name);
    memcpy(i->folder, path, (size_t)size + 1);
    return RAPT_OK;
}

/* ---- Argos packages: a CTranslate2 folder `model` next to sentencepiece.model or bpe.model
   ---- */

/* Reads a language code, which determines how text is split into words before the merges of
   bpe.model are applied. */
static rapt_status read_language(struct import *i, const struct import_settings *s, const char *key,
                                 char to[IMPORT_LANGUAGE])
{
    const char *code = rapt__import_setting(s, key);
    const size_t size = code ? strlen(code) : 0;
    if (size == 0 || size >= IMPORT_LANGUAGE)
        return rapt__import_bad(i, "metadata.json: %s must be a string of 1 to %d bytes", key,
                                IMPORT_LANGUAGE - 1);
    memcpy(to, code, size + 1);
    return RAPT_OK;
}

/* Reads and checks the settings of a package. */
static rapt_status check_package(struct import *i)
{
    struct import_settings s;
    rapt_status status = rapt__import_settings(i, "metadata.json", &s);
    if (status) return status;
    const char *prefix = rapt__import_setting(&s, "target_prefix"),
               *type = rapt__import_setting(&s, "type");
    if (prefix && strlen(prefix) >= sizeof i->first_token)
        status = rapt__import_bad(i,
                                  "metadata.json: target_prefix is %.60s...; it must have "
                                  "fewer than %d bytes",
                                  prefix, (int)sizeof i->first_token);
    else if (type && strcmp(type, "translate") != 0)
        status = rapt__import_bad(i, "metadata.json: type is %.60s, not translate", type);
    if (!status && prefix) snprintf(i->first_token, sizeof i->first_token, "%s", prefix);
    if (!status && rapt__import_has(i, "bpe.model") &&
        !rapt__import_has(i, "sentencepiece.model")) {
        status = read_language(i, &s, "from_code", i->from_language);
        if (!status) status = read_language(i, &s, "to_code", i->to_language);
    }
    rapt__import_settings_free(i, &s);
    return status;
}

/* If i->folder is a package, changes it to the package's CTranslate2 folder. */
static rapt_status enter_package(struct import *i)
{
    if (rapt__import_has(i, "model.bin") || !rapt__import_has(i, "model/model.bin") ||
        !rapt__import_has(i, "metadata.json"))
        return RAPT_OK;
    if (!rapt__import_has(i, "sentencepiece.model") && !rapt__import_has(i, "bpe.model"))
        return rapt__import_bad(i, "the package has neither sentencepiece.model nor bpe.model; "
                                   "other Argos tokenizers are not supported");
    rapt_status status = check_package(i);
    const size_t size = strlen(i->folder);
    if (!status && size + sizeof "model/" > sizeof i->folder)
        status = rapt__import_bad(i, "its path is too long");
    if (status) return status;
    memcpy(i->folder + size, "model/", sizeof "model/");
    i->package = true;
    rapt__import_argos_decoding(i);
    return RAPT_OK;
}

rapt_status rapt__import_enter(struct import *i)
{
    rapt_status status = enter_snapshot(i);
    return status ? status : enter_package(i);
}

/* ---- Argos packages in zip files, which are read without being unpacked ---- */

static const char description[] = "metadata.json"; /* a file that every package contains */

bool rapt__import_is_archive(const char *path)
{
    static const char end[] = ".argosmodel";
    const size_t size = strlen(path), tail = sizeof end - 1;
    return size >= tail && strcmp(path + size - tail, end) == 0 && !rapt__import_is_folder(path);
}

void rapt__import_member(const struct import *i, const char *name, char member[IMPORT_PATH])
{
    size_t size = strlen(i->folder + i->archive_size);
    memcpy(member, i->folder + i->archive_size, size);
    while (strncmp(name, "../", 3) == 0 && size > 0) {
        name += 3;
        do size--;
        while (size > 0 && member[size - 1] != '/');
    }
    snprintf(member + size, IMPORT_PATH - size, "%s", name);
}

struct found_package {
    const struct archive *archive;
    int count;
    char folder[IMPORT_FILE]; /* folder of the last package found: "" or ending in '/' */
};

static bool visit_top(void *user, const char *name)
{
    struct found_package *found = user;
    char folder[IMPORT_FILE], file[IMPORT_FILE + sizeof description];
    const bool top = strcmp(name, description) == 0;
    const int size = snprintf(folder, sizeof folder, "%s%s", top ? "" : name, top ? "" : "/");
    snprintf(file, sizeof file, "%s%s", folder, description);
    if ((size_t)size >= sizeof folder || !rapt__archive_has(found->archive, file)) return true;
    found->count++;
    memcpy(found->folder, folder, sizeof folder);
    return true;
}

rapt_status rapt__import_archive(struct import *i, const char *path)
{
    rapt_status status = rapt__archive_open(&i->archive, path, &i->allocator, i->why);
    if (status) return status;
    struct found_package found = {.archive = i->archive};
    rapt__archive_list(i->archive, "", visit_top, &found);
    if (found.count != 1)
        return rapt__import_bad(i, "%.200s: it has %s; an Argos package has exactly one", path,
                                found.count ? "several folders with a metadata.json"
                                            : "no folder with a metadata.json");
    const int size = snprintf(i->folder, sizeof i->folder, "%s/%s", path, found.folder);
    if ((size_t)size >= sizeof i->folder)
        return rapt__import_bad(i, "%.200s: the path is too long", path);
    i->archive_size = strlen(path) + 1;
    return RAPT_OK;
}
