/* pairs.c - sentence pairs in memory, read from files or added one by one. */
#include "data.h"
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16 };

/* Reserves space for `more` bytes of text and updates the pointers into it. */
static void reserve_bytes(struct pairs *pairs, size_t more)
{
    if (pairs->bytes_capacity - pairs->used >= more) return;
    size_t capacity = pairs->bytes_capacity * 2 + CHUNK;
    pairs->bytes_capacity = capacity > pairs->used + more ? capacity : pairs->used + more;
    pairs->bytes = xreallocarray(pairs->bytes, pairs->bytes_capacity, 1);
    for (size_t i = 0, at = 0; i < pairs->count; i++) {
        pairs->source[i].bytes = pairs->bytes + at;
        pairs->target[i].bytes = pairs->bytes + at + pairs->source[i].size;
        at += pairs->source[i].size + pairs->target[i].size;
    }
}

static rapt_text copy_text(struct pairs *pairs, rapt_text text)
{
    char *to = pairs->bytes + pairs->used;
    if (text.size > 0) memmove(to, text.bytes, text.size);
    pairs->used += text.size;
    return (rapt_text){to, text.size};
}

void pairs_add(struct pairs *pairs, rapt_text source, rapt_text target, size_t line)
{
    if (pairs->count == pairs->capacity) {
        pairs->capacity = pairs->capacity * 2 + 1024;
        pairs->source = xreallocarray(pairs->source, pairs->capacity, sizeof *pairs->source);
        pairs->target = xreallocarray(pairs->target, pairs->capacity, sizeof *pairs->target);
        pairs->line = xreallocarray(pairs->line, pairs->capacity, sizeof *pairs->line);
    }
    reserve_bytes(pairs, source.size + target.size);
    pairs->source[pairs->count] = copy_text(pairs, source);
    pairs->target[pairs->count] = copy_text(pairs, target);
    pairs->line[pairs->count++] = line;
}

void pairs_drop(struct pairs *pairs, const bool *drop)
{
    size_t count = pairs->count;
    pairs->count = pairs->used = 0;
    for (size_t i = 0; i < count; i++)
        if (!drop[i]) pairs_add(pairs, pairs->source[i], pairs->target[i], pairs->line[i]);
}

void pairs_thin(struct pairs *pairs)
{
    bool *drop = xcalloc(pairs->count, sizeof *drop);
    for (size_t i = 1; i < pairs->count; i += 2) drop[i] = true;
    pairs_drop(pairs, drop);
    free(drop);
}

void pair_rows(struct pair_files *files, struct option_row rows[PAIR_ROWS])
{
    /* clang-format off */
    const struct option_row all[PAIR_ROWS] = {
        {"data", OPTION_INPUT, &files->data, "FILE", "sentence pairs: on each line a source, a tab and a target", 0, 0, 0},
        {"source", OPTION_INPUT, &files->source, "FILE", "source sentences, one per line, instead of --data", 0, 0, 0},
        {"target", OPTION_INPUT, &files->target, "FILE", "translations of --source, one per line", 0, 0, 0},
        {"more-columns", OPTION_FLAG, &files->more_columns, "", "ignore further columns of --data instead of refusing them", 0, 0, 0},
    };
    /* clang-format on */
    memcpy(rows, all, sizeof all);
}

int pair_files_check(const struct pair_files *files, const char *command)
{
    if ((files->data != NULL) == (files->source != NULL || files->target != NULL))
        return usage_error("%s: give either --data or both --source and --target", command);
    if ((files->source != NULL) != (files->target != NULL))
        return usage_error("%s: --source and --target must be given together", command);
    return EXIT_OK;
}

int pairs_read(struct pairs *pairs, const struct pair_files *files)
{
    struct pair_inputs inputs;
    struct pair_reader reader = {0};
    bool more = true;
    *pairs = (struct pairs){.name = files->data != NULL ? files->data : files->source};
    int code = pair_inputs_open(&inputs, files);
    if (code == EXIT_OK) code = reader_open(&reader, &inputs, CHUNK);
    while (code == EXIT_OK) {
        code = reader_next(&reader, &more);
        if (code != EXIT_OK || !more) break;
        pairs_add(pairs, reader.source, reader.target, reader_lines(&reader));
    }
    pairs->lines = reader_lines(&reader);
    if (code == EXIT_OK) reader_report(&reader);
    if (code == EXIT_OK && pairs->count == 0)
        code = failed("%s: no sentence pairs in this file", pairs->name);
    reader_close(&reader);
    pair_inputs_close(&inputs);
    return code;
}

void pairs_free(struct pairs *pairs)
{
    free(pairs->source);
    free(pairs->target);
    free(pairs->line);
    free(pairs->bytes);
    *pairs = (struct pairs){0};
}
