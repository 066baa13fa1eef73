/* vocabulary.c - reads files in a model's folder, and makes tokenizers from vocabularies and
   SentencePiece models, which are either given by name or found in the folder of a Marian model. */
#include "import/parts.h"

#include <stdio.h>
#include <string.h>

enum { BYTES_MAX = 1 << 28 }; /* maximum size of a file that is read into memory */

static rapt_status read_open(struct import *i, const char *name, struct disk_source *file,
                             char **bytes, size_t *size)
{
    if (file->size > BYTES_MAX) return rapt__import_bad(i, "%s has more than 2^28 bytes", name);
    *size = (size_t)file->size;
    *bytes = rapt__alloc(&i->allocator, *size + 1);
    if (!*bytes) return rapt__fail(i->why, RAPT_NO_MEMORY, "%s: out of memory while reading", name);
    (*bytes)[*size] = 0;
    rapt_status status = rapt__disk_read(file, 0, *bytes, *size, i->why);
    if (!status) return RAPT_OK;
    rapt__free(&i->allocator, *bytes, *size + 1);
    *bytes = NULL;
    return status;
}

rapt_status rapt__import_source(struct import *i, const char *name, struct disk_source *source)
{
    char path[2 * IMPORT_PATH];
    if (i->archive) {
        rapt__import_member(i, name, path);
        return rapt__archive_read(i->archive, path, source, &i->allocator, i->why);
    }
    snprintf(path, sizeof path, "%s%s", i->folder, name);
    rapt_status status = rapt__disk_open_inflated(source, path, &i->allocator, i->why);
    source->path = NULL;
    return status;
}

rapt_status rapt__import_read(struct import *i, const char *name, char **bytes, size_t *size)
{
    struct disk_source file;
    *bytes = NULL, *size = 0;
    rapt_status status = rapt__import_source(i, name, &file);
    if (status) return status;
    status = read_open(i, name, &file, bytes, size);
    rapt__disk_close(&file);
    return status;
}

/* ---- names ---- */

/* The number of names that a vocabulary must have. FIT_EXACT means one name for each row of the
   table. FIT_ANY means any number, as in Marian: names beyond the table are ignored, and rows
   without a name are never generated. In both cases, if only the last row lacks a name and no other
   row is named <unk>, the last row is named <unk>, except in a WordPiece vocabulary. */
enum fit { FIT_EXACT, FIT_ANY };

/* How a tokenizer made from a list of names splits text: with a SentencePiece model, WordPiece or
   BPE over Moses-tokenized words or, if all are NULL, at spaces. */
struct splitter {
    const rapt_tokenizer *pieces;
    const rapt_wordpiece_options *words;
    const struct moses_source *moses;
};

static rapt_status make_tokenizer(struct import *i, const rapt_text *names, int count,
                                  const struct splitter *by, rapt_tokenizer **tokenizer)
{
    if (by->words)
        return rapt_tokenizer_create_wordpiece(tokenizer, names, count, by->words, &i->allocator,
                                               i->why);
    if (by->moses)
        return rapt__tokenizer_moses(tokenizer, names, count, by->moses, &i->allocator, i->why);
    return rapt_tokenizer_create_list(tokenizer, names, count, by->pieces, &i->allocator, i->why);
}

static rapt_status make_list(struct import *i, const char *file, const struct vocabulary *v,
                             int vocab, enum fit fit, const struct splitter *by,
                             rapt_tokenizer **tokenizer)
{
    int count = rapt__vocabulary_count(v);
    bool one_more = count + 1 == vocab && rapt__vocabulary_find(v, "<unk>") < 0;
    if (fit == FIT_EXACT && count != vocab && !one_more)
        return rapt__import_bad(i, "%s has %d names, but the model's table has %d rows", file,
                                count, vocab);
    size_t bytes = (size_t)vocab * sizeof(rapt_text);
    rapt_text *names = rapt__alloc(&i->allocator, bytes);
    if (!names) return rapt__fail(i->why, RAPT_NO_MEMORY, "no memory for a vocabulary");
    for (int id = 0; id < vocab; id++) {
        const char *name = id < count               ? rapt__vocabulary_token(v, id)
                           : one_more && !by->words ? "<unk>"
                                                    : "";
        names[id] = (rapt_text){name, strlen(name)};
    }
    rapt_status status = make_tokenizer(i, names, vocab, by, tokenizer);
    rapt__free(&i->allocator, names, bytes);
    return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
}

rapt_status rapt__import_open_names(struct import *i, const char *name, struct vocabulary **v)
{
    struct disk_source file;
    rapt_status status = rapt__import_source(i, name, &file);
    if (status) return status;
    status = rapt__vocabulary_open_source(v, &file, name, &i->allocator, i->why);
    rapt__disk_close(&file);
    if (!status) rapt__import_record(i, name, RAPT_FILE_USE_VOCABULARY);
    return status;
}

static rapt_status read_names(struct import *i, const char *name, int vocab, enum fit fit,
                              const struct splitter *by, rapt_tokenizer **tokenizer)
{
    struct vocabulary *v;
    rapt_status status = rapt__import_open_names(i, name, &v);
    if (status) return status;
    status = make_list(i, name, v, vocab, fit, by, tokenizer);
    rapt__vocabulary_close(v);
    return status;
}

rapt_status rapt__import_names(struct import *i, const char *name, int vocab,
                               const rapt_tokenizer *pieces, rapt_tokenizer **tokenizer)
{
    const struct splitter by = {.pieces = pieces};
    return read_names(i, name, vocab, FIT_EXACT, &by, tokenizer);
}

rapt_status rapt__import_moses(struct import *i, const char *name, int vocab,
                               const struct moses_source *moses, rapt_tokenizer **tokenizer)
{
    const struct splitter by = {.moses = moses};
    return read_names(i, name, vocab, FIT_EXACT, &by, tokenizer);
}

rapt_status rapt__import_wordpiece(struct import *i, const char *name, int vocab,
                                   const rapt_wordpiece_options *options,
                                   rapt_tokenizer **tokenizer)
{
    const struct splitter by = {.words = options};
    return read_names(i, name, vocab, FIT_ANY, &by, tokenizer);
}

/* Makes a tokenizer from a SentencePiece model in a zip file. */
static rapt_status read_packed_pieces(struct import *i, const char *name,
                                      rapt_tokenizer **tokenizer)
{
    char *bytes;
    size_t size;
    rapt_message reason = {""};
    rapt_status status = rapt__import_read(i, name, &bytes, &size);
    if (status) return status;
    status = rapt_tokenizer_load_memory(tokenizer, bytes, size, &i->allocator, &reason);
    rapt__free(&i->allocator, bytes, size + 1);
    return status ? rapt__fail(i->why, status, "%s: %.400s", name, reason.text) : RAPT_OK;
}

rapt_status rapt__import_pieces(struct import *i, const char *name, rapt_tokenizer **tokenizer)
{
    char path[2 * IMPORT_PATH];
    snprintf(path, sizeof path, "%s%s", i->folder, name);
    rapt_status status = i->archive ? read_packed_pieces(i, name, tokenizer)
                                    : rapt_tokenizer_load(tokenizer, path, &i->allocator, i->why);
    if (!status) rapt__import_record(i, name, RAPT_FILE_USE_VOCABULARY);
    return status;
}

/* ---- Marian's vocabularies ---- */

enum { FILES_MAX = 3 };

struct found_files { /* files that may be vocabularies */
    const struct import *i;
    const char *part; /* text that their names must contain */
    int count;
    char names[FILES_MAX][IMPORT_FILE];
};

static bool is_pieces(const char *name)
{
    return rapt__import_ends(name, ".spm");
}

bool rapt__import_is_vocabulary(const char *name)
{
    static const char *const lists[] = {".yml", ".yaml", ".json", ".txt"};
    if (is_pieces(name) || strcmp(name, "decoder.yml") == 0) return true;
    for (size_t n = 0; n < sizeof lists / sizeof *lists; n++)
        if (rapt__import_ends(name, lists[n])) return strstr(name, "vocab") != NULL;
    return false;
}

/* Returns false for decoder.yml and for SentencePiece models that belong to a list of names. */
static bool is_alone(const char *name)
{
    return strcmp(name, "source.spm") != 0 && strcmp(name, "target.spm") != 0 &&
           strcmp(name, "decoder.yml") != 0;
}

static bool visit_vocabulary(void *user, const char *name)
{
    struct found_files *files = user;
    size_t size = strlen(name) + 1;
    if (rapt__import_is_vocabulary(name) && is_alone(name) && size <= IMPORT_FILE &&
        strstr(name, files->part) && !rapt__import_is_twin(files->i, name))
        memcpy(files->names[files->count++], name, size);
    return files->count < FILES_MAX;
}

/* Sets part to ".enpt." if the model file is called model.enpt.intgemm.alphas.bin, as Firefox names
   it, and to "" if its name has fewer than two dots. */
static void set_part(const char *model_name, char part[IMPORT_FILE])
{
    const char *begin = strchr(model_name, '.'), *end = begin ? strchr(begin + 1, '.') : NULL;
    snprintf(part, IMPORT_FILE, "%.*s", end ? (int)(end + 1 - begin) : 0, begin ? begin : "");
}

/* Lists the vocabularies in the folder: those of the model file's language pair or, if there are
   none, all. */
static rapt_status find_files(struct import *i, struct found_files *files)
{
    char part[IMPORT_FILE];
    set_part(i->model_name, part);
    files->part = part, files->count = 0;
    rapt_status status = rapt__import_list(i, i->folder, visit_vocabulary, files);
    files->part = "";
    if (!status && files->count == 0)
        status = rapt__import_list(i, i->folder, visit_vocabulary, files);
    if (status) return status;
    if (files->count == 0) return rapt__import_bad(i, "there is no vocabulary in its folder");
    if (files->count < FILES_MAX) return RAPT_OK;
    return rapt__import_bad(i,
                            "there are more than two vocabularies in its folder: %.60s, %.60s, "
                            "%.60s; name them in `vocabs:` of a decoder.yml",
                            files->names[0], files->names[1], files->names[2]);
}

/* Returns the index of the target's file, recognized by "trg", "tgt" or "target" in its name, or -1
   if the names of the two files do not show which it is. */
static int target_of(const struct found_files *files)
{
    static const char *const words[] = {"trg", "tgt", "target"};
    int found = -1;
    for (int f = 0; f < 2; f++)
        for (size_t n = 0; n < sizeof words / sizeof *words; n++)
            if (strstr(files->names[f], words[n])) {
                if (found == 1 - f) return -1;
                found = f;
            }
    return found;
}

/* Stores the names of the vocabularies listed in the settings, with the source's first, or none if
   none are listed. The files that decoder.yml names must exist, because it comes with the model.
   Other settings, written by a training run, may name files on another machine; in that case none
   is stored, and the vocabularies are chosen by their names in the folder. */
static rapt_status take_names(struct import *i, struct found_files *files)
{
    files->count = 0;
    for (int n = 0; i->decoder && n < rapt__yaml_count(i->decoder); n++) {
        const struct yaml_item *item = rapt__yaml_at(i->decoder, n);
        if (strcmp(item->key, "vocabs") != 0 || item->index < 0) continue;
        if (files->count == 2)
            return rapt__import_bad(i, "%s: vocabs has more than two files", i->decoder_name);
        if (rapt__import_locate(i, item->value, files->names[files->count++])) continue;
        files->count = 0;
        if (strcmp(i->decoder_name, "decoder.yml") != 0) return RAPT_OK;
        return rapt__import_bad(i, "%s: vocabs: %.200s is not in its folder", i->decoder_name,
                                item->value);
    }
    if (files->count == 2 && strcmp(files->names[0], files->names[1]) == 0) files->count = 1;
    return RAPT_OK;
}

/* Makes a tokenizer from a vocabulary. `side` is "source" or "target", which is also the name,
   without .spm, of the SentencePiece model that belongs to a list of names. */
static rapt_status open_vocabulary(struct import *i, const char *name, const char *side, int vocab,
                                   rapt_tokenizer **tokenizer)
{
    char file[32];
    rapt_tokenizer *pieces = NULL;
    if (is_pieces(name)) {
        rapt_status status = rapt__import_pieces(i, name, tokenizer);
        if (status || rapt_tokenizer_vocab(*tokenizer) == vocab) return status;
        return rapt__import_bad(i, "%s has %d pieces, but the model's table has %d rows", name,
                                rapt_tokenizer_vocab(*tokenizer), vocab);
    }
    snprintf(file, sizeof file, "%s.bpe", side);
    if (rapt__import_has(i, file))
        return rapt__import_bad(i, "%s: subword-nmt's BPE codes are not supported", file);
    snprintf(file, sizeof file, "%s.spm", side);
    rapt_status status = RAPT_OK;
    if (rapt__import_has(i, file)) status = rapt__import_pieces(i, file, &pieces);
    const struct splitter by = {.pieces = pieces};
    if (!status) status = read_names(i, name, vocab, FIT_ANY, &by, tokenizer);
    rapt_tokenizer_free(pieces);
    return status;
}

rapt_status rapt__import_vocabularies(struct import *i)
{
    struct found_files files = {.i = i};
    const rapt_config *c = &i->config;
    rapt_status status = take_names(i, &files);
    bool named = files.count > 0;
    if (!status && !named) status = find_files(i, &files);
    if (status) return status;
    int target = files.count < 2 ? 0 : named ? 1 : target_of(&files);
    if (target < 0)
        return rapt__import_bad(i,
                                "neither the names %.60s and %.60s nor `vocabs:` in a decoder.yml "
                                "shows which one is the target's",
                                files.names[0], files.names[1]);
    const char *source = files.names[files.count == 2 ? 1 - target : 0];
    status = open_vocabulary(i, source, "source", c->source_vocab, &i->source);
    if (status || (files.count == 1 && is_pieces(source))) return status;
    if (files.count == 1 && !rapt__import_has(i, "target.spm")) return RAPT_OK;
    return open_vocabulary(i, files.names[target], "target", c->target_vocab, &i->target);
}
