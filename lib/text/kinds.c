/* kinds.c - the public tokenizer functions, which check their arguments and call the functions for
   the tokenizer's kind. rapt_tokenizer_learn is in learn.c; rapt_tokenizer_create and
   rapt_tokenizer_write are in written.c. */
#include "format/format.h"
#include "text/list.h"
#include "text/text.h"

#include <string.h>

static rapt_status null(const char *what, rapt_message *why)
{
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", what);
}

rapt_status rapt__texts_check(const char *name, const rapt_text *texts, size_t count,
                              rapt_message *why)
{
    rapt_status status = RAPT_OK;
    for (size_t i = 0; !status && i < count; i++)
        status = rapt__text_check(name, i, texts[i].bytes, texts[i].size, why);
    return status;
}

/* ---- creation ---- */

rapt_status rapt__tokenizer_kept(rapt_tokenizer **tokenizer, const struct budget *budget,
                                 rapt_status status, rapt_message *why)
{
    if (status) return rapt__budget_end(budget, status, why);
    rapt_tokenizer *t = *tokenizer;
    t->allocator = budget->under;
    if (t->spm) t->spm->allocator = budget->under;
    if (t->list) t->list->allocator = budget->under;
    if (t->list && t->list->spm) t->list->spm->allocator = budget->under;
    if (t->list && t->list->moses) t->list->moses->allocator = budget->under;
    return RAPT_OK;
}

static rapt_status load_pieces(rapt_tokenizer **tokenizer, const void *bytes, size_t size,
                               const rapt_allocator *allocator, rapt_message *why)
{
    struct rapt_tokenizer *t = rapt__alloc(allocator, sizeof *t);
    if (!t) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a tokenizer");
    *t = (struct rapt_tokenizer){.allocator = *allocator};
    rapt_status status = rapt__spm_create(&t->spm, bytes, size, allocator, why);
    if (status)
        rapt_tokenizer_free(t);
    else
        t->vocab = t->spm->count, *tokenizer = t;
    return status;
}

rapt_status rapt_tokenizer_load_memory(rapt_tokenizer **tokenizer, const void *bytes, size_t size,
                                       const rapt_allocator *allocator, rapt_message *why)
{
    if (!tokenizer || (!bytes && size)) return null(tokenizer ? "bytes" : "tokenizer", why);
    struct budget budget;
    const rapt_allocator reading = rapt__budget_begin(&budget, allocator);
    rapt__budget_add(&reading, size);
    rapt_status status = load_pieces(tokenizer, bytes, size, &reading, why);
    return rapt__tokenizer_kept(tokenizer, &budget, status, why);
}

static rapt_status load(rapt_tokenizer **tokenizer, const struct disk_source *file,
                        const rapt_allocator *allocator, rapt_message *why)
{
    size_t size = (size_t)file->size;
    if (file->size > SPM_TEXT_MAX)
        return rapt__fail(why, RAPT_BAD_FILE, "the file has more than 2^30 bytes");
    void *bytes = rapt__alloc(allocator, size);
    if (!bytes && size) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for the file's bytes");
    rapt_status status = rapt__disk_read(file, 0, bytes, size, why);
    if (!status) status = load_pieces(tokenizer, bytes, size, allocator, why);
    rapt__free(allocator, bytes, size);
    return status;
}

rapt_status rapt_tokenizer_load(rapt_tokenizer **tokenizer, const char *path,
                                const rapt_allocator *allocator, rapt_message *why)
{
    struct disk_source file;
    rapt_message reason = {""};
    if (!tokenizer || !path) return null(tokenizer ? "path" : "tokenizer", why);
    struct budget budget;
    const rapt_allocator reading = rapt__budget_begin(&budget, allocator);
    rapt_status status = rapt__disk_open_inflated(&file, path, &reading, why);
    if (status) return rapt__budget_end(&budget, status, why);
    status = load(tokenizer, &file, &reading, &reason);
    rapt__disk_close(&file);
    status = rapt__tokenizer_kept(tokenizer, &budget, status, &reason);
    return status ? rapt__fail(why, status, "%s: %s", file.label.text, reason.text) : RAPT_OK;
}

/* Concatenates the names, each terminated by a zero byte, into a new array of *bytes bytes, which
   the caller frees. */
static rapt_status join_names(const rapt_text *names, int count, const rapt_allocator *allocator,
                              char **joined, size_t *bytes, rapt_message *why)
{
    size_t size = 0;
    for (int i = 0; i < count; i++) {
        rapt_status status =
            rapt__text_check("names", (size_t)i, names[i].bytes, names[i].size, why);
        if (status) return status;
        if (names[i].size && memchr(names[i].bytes, 0, names[i].size))
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "names[%d] contains a zero byte", i);
        if (names[i].size >= SPM_TEXT_MAX || (size += names[i].size + 1) > SPM_TEXT_MAX)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "the names have more than 2^30 bytes");
    }
    char *at = *joined = rapt__alloc(allocator, size);
    if (!at) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for %d names", count);
    for (int i = 0; i < count; i++) {
        if (names[i].size) memcpy(at, names[i].bytes, names[i].size);
        at[names[i].size] = 0;
        at += names[i].size + 1;
    }
    *bytes = size;
    return RAPT_OK;
}

rapt_status rapt__tokenizer_list(rapt_tokenizer **tokenizer, const struct list_source *source,
                                 const rapt_allocator *allocator, rapt_message *why)
{
    rapt_allocator memory = rapt__allocator(allocator);
    struct rapt_tokenizer *t = rapt__alloc(&memory, sizeof *t);
    if (!t) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a tokenizer");
    *t = (struct rapt_tokenizer){.allocator = memory, .vocab = source->count};
    rapt_status status = rapt__list_create(&t->list, source, &memory, why);
    if (status)
        rapt_tokenizer_free(t);
    else
        *tokenizer = t;
    return status;
}

/* Joins the names and creates a list; `source` provides everything else. */
static rapt_status create_joined(rapt_tokenizer **tokenizer, const rapt_text *names, int count,
                                 struct list_source source, const rapt_allocator *allocator,
                                 rapt_message *why)
{
    char *joined = NULL;
    rapt_status status = rapt__int_check("count", count, 1, 1 << 24, why);
    if (!status) status = join_names(names, count, allocator, &joined, &source.size, why);
    if (status) return status;
    source.names = joined, source.count = count;
    status = rapt__tokenizer_list(tokenizer, &source, allocator, why);
    rapt__free(allocator, joined, source.size);
    return status;
}

rapt_status rapt__tokenizer_moses(rapt_tokenizer **tokenizer, const rapt_text *names, int count,
                                  const struct moses_source *moses, const rapt_allocator *allocator,
                                  rapt_message *why)
{
    return create_joined(tokenizer, names, count, (struct list_source){.moses = *moses}, allocator,
                         why);
}

rapt_status rapt_tokenizer_create_list(rapt_tokenizer **tokenizer, const rapt_text *names,
                                       int count, const rapt_tokenizer *pieces,
                                       const rapt_allocator *allocator, rapt_message *why)
{
    if (!tokenizer || !names) return null(tokenizer ? "names" : "tokenizer", why);
    if (pieces && !pieces->spm)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "pieces is not a SentencePiece tokenizer");
    const struct list_source source = {.pieces = rapt_tokenizer_file(pieces)};
    return create_joined(tokenizer, names, count, source, allocator, why);
}

rapt_status rapt_tokenizer_create_wordpiece(rapt_tokenizer **tokenizer, const rapt_text *names,
                                            int count, const rapt_wordpiece_options *options,
                                            const rapt_allocator *allocator, rapt_message *why)
{
    rapt_wordpiece_options o = {.size = sizeof o};
    if (!tokenizer || !names) return null(tokenizer ? "names" : "tokenizer", why);
    rapt_status status = RAPT_OK;
    if (options) status = rapt__struct_read(&o, sizeof o, options, "rapt_wordpiece_options", why);
    if (!status) status = rapt__int_check("keep_case", o.keep_case, 0, 1, why);
    if (!status) status = rapt__int_check("keep_accents", o.keep_accents, 0, 1, why);
    if (!status) status = rapt__int_check("keep_han", o.keep_han, 0, 1, why);
    if (!status) status = rapt__int_check("reserved", o.reserved, 0, 0, why);
    if (status) return status;
    const struct list_source source = {
        .wordpiece = {true, o.keep_case != 0, o.keep_accents != 0, o.keep_han != 0}};
    return create_joined(tokenizer, names, count, source, allocator, why);
}

void rapt_tokenizer_free(rapt_tokenizer *tokenizer)
{
    if (!tokenizer) return;
    rapt_allocator memory = tokenizer->allocator;
    rapt__spm_free(tokenizer->spm);
    rapt__list_free(tokenizer->list);
    if (tokenizer->pool) rapt__free(&memory, tokenizer->pool, tokenizer->start[tokenizer->vocab]);
    rapt__arena_free(&tokenizer->arena, &memory);
    rapt__free(&memory, tokenizer, sizeof *tokenizer);
}

/* ---- queries ---- */

rapt_text rapt_tokenizer_file(const rapt_tokenizer *tokenizer)
{
    const struct spm *spm = tokenizer ? tokenizer->spm : NULL;
    if (tokenizer && tokenizer->list) spm = tokenizer->list->spm;
    return spm ? (rapt_text){spm->file, spm->file_size} : (rapt_text){NULL, 0};
}

int rapt_tokenizer_vocab(const rapt_tokenizer *tokenizer)
{
    return tokenizer ? tokenizer->vocab : 0;
}

int32_t rapt_tokenizer_special(const rapt_tokenizer *tokenizer, int which)
{
    enum { UNKNOWN, BEGIN, END, PAD }; /* indices into spm->names */
    if (!tokenizer || which < RAPT_TOKEN_UNKNOWN || which >= RAPT_TOKEN_SPECIALS) return -1;
    if (tokenizer->list) return rapt__list_special(tokenizer->list, which);
    if (!tokenizer->spm) return which;
    static const int names[] = {UNKNOWN, PAD, BEGIN, END};
    int32_t id = rapt__spm_special(tokenizer->spm, names[which - RAPT_TOKEN_UNKNOWN]);
    return id < 0 && which == RAPT_TOKEN_BEGIN ? rapt__spm_special(tokenizer->spm, END) : id;
}

rapt_text rapt_tokenizer_token(const rapt_tokenizer *tokenizer, int32_t id)
{
    if (!tokenizer || id < 0 || id >= tokenizer->vocab) return (rapt_text){NULL, 0};
    if (tokenizer->list) return rapt__list_surface(tokenizer->list, id);
    if (tokenizer->spm) return rapt__spm_surface(tokenizer->spm, id);
    uint32_t start = tokenizer->start[id];
    return (rapt_text){tokenizer->pool + start, tokenizer->start[id + 1] - start};
}

rapt_text rapt_tokenizer_name(const rapt_tokenizer *tokenizer, int32_t id)
{
    if (!tokenizer || id < 0 || id >= tokenizer->vocab) return (rapt_text){NULL, 0};
    if (tokenizer->list) return rapt__list_name(tokenizer->list, id);
    if (!tokenizer->spm) return rapt_tokenizer_token(tokenizer, id);
    return (rapt_text){tokenizer->spm->pieces[id].bytes, tokenizer->spm->pieces[id].size};
}

int32_t rapt_tokenizer_find(const rapt_tokenizer *tokenizer, rapt_text name)
{
    if (!tokenizer || !name.bytes) return -1;
    if (tokenizer->list) return rapt__list_find(tokenizer->list, name);
    if (tokenizer->spm) return rapt__spm_find(tokenizer->spm, name);
    for (int32_t id = RAPT__TOKEN_BYTES; id < tokenizer->vocab; id++) {
        size_t start = tokenizer->start[id], size = tokenizer->start[id + 1] - start;
        if (size == name.size && memcmp(tokenizer->pool + start, name.bytes, size) == 0) return id;
    }
    return -1;
}

size_t rapt_tokenizer_bound(const rapt_tokenizer *tokenizer, size_t bytes)
{
    if (!tokenizer) return 0;
    if (tokenizer->list) return rapt__list_bound(tokenizer->list, bytes);
    if (!tokenizer->spm) return bytes;
    return rapt__spm_bound(tokenizer->spm, bytes);
}

size_t rapt__tokenizer_most(const rapt_tokenizer *t, rapt_text text)
{
    if (t->list || !t->spm) return rapt_tokenizer_bound(t, text.size);
    return rapt__spm_normalizer_most(&t->spm->normalizer, text, t->spm->byte_fallback);
}

/* ---- encoding and decoding ---- */

rapt_status rapt_tokenizer_encode(const rapt_tokenizer *tokenizer, rapt_text text, int32_t *ids,
                                  size_t *ends, size_t capacity, size_t *count, rapt_message *why)
{
    if (!tokenizer || !count || (!text.bytes && text.size) || (!ids && capacity))
        return null(!tokenizer                 ? "tokenizer"
                    : !count                   ? "count"
                    : !text.bytes && text.size ? "text.bytes"
                                               : "ids",
                    why);
    if (tokenizer->list)
        return rapt__list_encode(tokenizer->list, text, ids, ends, capacity, count, why);
    if (tokenizer->spm)
        return rapt__spm_encode(tokenizer->spm, text, ids, ends, capacity, count, why);
    return rapt__pairs_encode(tokenizer, text, ids, ends, capacity, count, why);
}

rapt_status rapt_tokenizer_decode(const rapt_tokenizer *tokenizer, const int32_t *ids, size_t count,
                                  char *bytes, size_t capacity, size_t *size, rapt_message *why)
{
    if (!tokenizer || !size || (!ids && count) || (!bytes && capacity))
        return null(!tokenizer      ? "tokenizer"
                    : !size         ? "size"
                    : !ids && count ? "ids"
                                    : "bytes",
                    why);
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || ids[i] >= tokenizer->vocab)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "token %zu is %d, not in 0..%d", i,
                              (int)ids[i], tokenizer->vocab - 1);
    if (tokenizer->list)
        return rapt__list_decode(tokenizer->list, ids, count, bytes, capacity, size, why);
    if (tokenizer->spm)
        return rapt__spm_decode(tokenizer->spm, ids, count, bytes, capacity, size, why);
    return rapt__pairs_decode(tokenizer, ids, count, bytes, capacity, size, why);
}

rapt_status rapt__tokenizer_extent(const rapt_tokenizer *t, const int32_t *ids, size_t count,
                                   size_t *size)
{
    if (t->list && t->list->moses)
        return rapt__list_decode_moses(t->list, ids, count, true, NULL, 0, size, NULL);
    const rapt_status status = rapt_tokenizer_decode(t, ids, count, NULL, 0, size, NULL);
    return status == RAPT_BAD_ARGUMENT ? RAPT_OK : status; /* the capacity of 0 is too small */
}
