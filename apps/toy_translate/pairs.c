/* pairs.c - sentence pairs from one file (source, tab, target; further columns are
   refused, or ignored on request) or from
   two files with equal numbers of lines. Lines end with LF or CRLF; the last may lack it. A line
   that is not UTF-8 or has no tab is an error with its number; a pair with an empty side or more
   than MAX_BYTES bytes on one is skipped and counted. */
#include "toy.h"
#include <stdlib.h>
#include <string.h>

struct text_lines {
    const char *name;
    char *bytes;
    size_t size, at, number; /* number of the line last read, from 1 */
    rapt_text line;
};

static int read_lines(struct text_lines *lines, const char *name)
{
    *lines = (struct text_lines){.name = name};
    int code = file_read(name, &lines->bytes, &lines->size);
    if (code != EXIT_OK) return code;
    if (lines->size == 0) return failed("%s: the file is empty", name);
    if (lines->size >= 3 && memcmp(lines->bytes, "\xEF\xBB\xBF", 3) == 0) lines->at = 3;
    return EXIT_OK;
}

/* The next line, checked; *more false at the end. */
static int next(struct text_lines *lines, bool *more)
{
    *more = lines->at < lines->size;
    if (!*more) return EXIT_OK;
    const char *begin = lines->bytes + lines->at;
    const char *end = memchr(begin, '\n', lines->size - lines->at);
    size_t size = end ? (size_t)(end - begin) : lines->size - lines->at;
    lines->at += size + 1;
    lines->number++;
    if (size > 0 && begin[size - 1] == '\r') size--;
    lines->line = (rapt_text){begin, size};
    size_t bad = rapt_utf8_valid(lines->line);
    if (bad == size) return EXIT_OK;
    return failed("%s:%zu: byte %zu is not valid UTF-8", lines->name, lines->number, bad + 1);
}

static int split(const struct text_lines *lines, bool more_columns, rapt_text *source,
                 rapt_text *target)
{
    rapt_text line = lines->line;
    const char *tab = memchr(line.bytes, '\t', line.size);
    if (tab == NULL)
        return failed("%s:%zu: there is no tab between source and target", lines->name,
                      lines->number);
    *source = (rapt_text){line.bytes, (size_t)(tab - line.bytes)};
    *target = (rapt_text){tab + 1, line.size - source->size - 1};
    const char *more = memchr(target->bytes, '\t', target->size);
    if (more != NULL && !more_columns)
        return failed("%s:%zu: there is a third column; --more-columns ignores it", lines->name,
                      lines->number);
    if (more != NULL) target->size = (size_t)(more - target->bytes);
    return EXIT_OK;
}

void pairs_add(struct pairs *pairs, rapt_text source, rapt_text target, size_t line)
{
    if (pairs->count == pairs->capacity) {
        pairs->capacity = pairs->capacity * 2 + 1024;
        pairs->source = xreallocarray(pairs->source, pairs->capacity, sizeof *pairs->source);
        pairs->target = xreallocarray(pairs->target, pairs->capacity, sizeof *pairs->target);
        pairs->line = xreallocarray(pairs->line, pairs->capacity, sizeof *pairs->line);
    }
    pairs->source[pairs->count] = source;
    pairs->target[pairs->count] = target;
    pairs->line[pairs->count++] = line;
}

struct skipped {
    size_t empty, too_long, first_empty, first_long;
};

static void add_or_skip(struct pairs *pairs, rapt_text source, rapt_text target, size_t line,
                        struct skipped *out)
{
    if (source.size > MAX_BYTES || target.size > MAX_BYTES) {
        if (out->too_long++ == 0) out->first_long = line;
    } else if (source.size == 0 || target.size == 0) {
        if (out->empty++ == 0) out->first_empty = line;
    } else {
        pairs_add(pairs, source, target, line);
    }
}

static int report(const struct pairs *pairs, const struct skipped *out)
{
    if (out->empty > 0)
        print_message("%s:%zu: a side is empty; %zu such %s skipped", pairs->name, out->first_empty,
                      out->empty, out->empty == 1 ? "pair is" : "pairs are");
    if (out->too_long > 0)
        print_message("%s:%zu: a sentence has more than %d bytes; %zu such %s skipped", pairs->name,
                      out->first_long, MAX_BYTES, out->too_long,
                      out->too_long == 1 ? "pair is" : "pairs are");
    if (pairs->count == 0) return failed("%s: there is no sentence pair in it", pairs->name);
    return EXIT_OK;
}

static int read_one(struct pairs *pairs, const char *name, bool more_columns, struct skipped *out)
{
    struct text_lines lines;
    bool more;
    rapt_text source = {0}, target = {0};
    int code = read_lines(&lines, name);
    pairs->owned[0] = lines.bytes;
    while (code == EXIT_OK) {
        code = next(&lines, &more);
        if (code != EXIT_OK || !more) break;
        code = split(&lines, more_columns, &source, &target);
        if (code == EXIT_OK) add_or_skip(pairs, source, target, lines.number, out);
        pairs->lines = lines.number;
    }
    return code;
}

static int count_differs(struct text_lines *longer, const struct text_lines *shorter)
{
    bool more = true;
    while (more)
        if (next(longer, &more) != EXIT_OK) return EXIT_FAILED;
    return failed("%s has %zu lines, but %s has %zu", longer->name, longer->number, shorter->name,
                  shorter->number);
}

static int read_two(struct pairs *pairs, const char *source, const char *target,
                    struct skipped *out)
{
    struct text_lines a = {0}, b = {0};
    bool more_a, more_b;
    int code = read_lines(&a, source);
    if (code == EXIT_OK) code = read_lines(&b, target);
    pairs->owned[0] = a.bytes;
    pairs->owned[1] = b.bytes;
    while (code == EXIT_OK) {
        code = next(&a, &more_a);
        if (code == EXIT_OK) code = next(&b, &more_b);
        if (code != EXIT_OK || (!more_a && !more_b)) break;
        if (more_a != more_b) return more_a ? count_differs(&a, &b) : count_differs(&b, &a);
        add_or_skip(pairs, a.line, b.line, a.number, out);
        pairs->lines = a.number;
    }
    return code;
}

void pair_rows(struct pair_files *files, struct option_row rows[PAIR_ROWS])
{
    /* clang-format off */
    const struct option_row all[PAIR_ROWS] = {
        {"data", OPTION_INPUT, &files->data, "FILE", "sentence pairs, tab-separated: source, target", 0, 0, 0},
        {"source", OPTION_INPUT, &files->source, "FILE", "instead of --data: source sentences, one per line,", 0, 0, 0},
        {"target", OPTION_INPUT, &files->target, "FILE", "and their translations", 0, 0, 0},
        {"more-columns", OPTION_FLAG, &files->more_columns, "", "ignore columns after the second instead of refusing them", 0, 0, 0},
    };
    /* clang-format on */
    memcpy(rows, all, sizeof all);
}

int pair_files_check(const struct pair_files *files, const char *command)
{
    if ((files->data != NULL) == (files->source != NULL || files->target != NULL))
        return usage_error("%s: give either --data or both --source and --target", command);
    if ((files->source != NULL) != (files->target != NULL))
        return usage_error("%s: --source and --target go together", command);
    return EXIT_OK;
}

int pairs_read(struct pairs *pairs, const struct pair_files *files)
{
    *pairs = (struct pairs){.name = files->data != NULL ? files->data : files->source};
    struct skipped out = {0};
    int code = files->data != NULL ? read_one(pairs, files->data, files->more_columns, &out)
                                   : read_two(pairs, files->source, files->target, &out);
    return code != EXIT_OK ? code : report(pairs, &out);
}

void pairs_split(struct pairs *pairs, struct pairs *tail, size_t max)
{
    size_t count = pairs->count / 100;
    if (count > max) count = max;
    if (count == 0) count = 1;
    *tail = (struct pairs){.name = pairs->name};
    for (size_t i = pairs->count - count; i < pairs->count; i++)
        pairs_add(tail, pairs->source[i], pairs->target[i], pairs->line[i]);
    pairs->count -= count;
}

/* FNV-1a, Fowler, Noll and Vo, 64 bits; the size goes in too, so that boundaries count. */
static uint64_t hash_text(uint64_t hash, rapt_text text)
{
    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ (unsigned char)text.bytes[i]) * 0x100000001B3U;
    return (hash ^ text.size) * 0x100000001B3U;
}

uint64_t pairs_hash(uint64_t hash, const struct pairs *pairs)
{
    for (size_t i = 0; i < pairs->count; i++)
        hash = hash_text(hash_text(hash, pairs->source[i]), pairs->target[i]);
    return hash;
}

void pairs_free(struct pairs *pairs)
{
    free(pairs->source);
    free(pairs->target);
    free(pairs->line);
    free(pairs->owned[0]);
    free(pairs->owned[1]);
    *pairs = (struct pairs){0};
}
