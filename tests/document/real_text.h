/* joined.h - joins the sentences of files in RAPT_DATA into paragraphs, whose boundaries are then
   known. */
#ifndef RAPT_TESTS_JOINED_H
#define RAPT_TESTS_JOINED_H

#include "document_help.h"

#include <sys/types.h>

enum { PARAGRAPH = 6 }; /* sentences */

struct joined {
    const char *between;           /* text between two sentences of a paragraph */
    bool single;                   /* only sentences with a single terminator are joined */
    const char *const *insertions; /* [insertion_count] texts that are inserted into every third
                                sentence, after its first blank; NULL: none */
    size_t insertion_count;
    char *text;
    size_t size, capacity;
    size_t *ends; /* [count] where sentences end, except the last of a paragraph */
    size_t count, sentences;
};

static inline void joined_free(struct joined *j)
{
    free(j->text);
    free(j->ends);
}

static inline void add_bytes(struct joined *j, const char *bytes, size_t size)
{
    if (j->size + size > j->capacity) {
        j->capacity = 2 * (j->size + size);
        j->text = realloc(j->text, j->capacity);
        assert_non_null(j->text);
    }
    memcpy(j->text + j->size, bytes, size);
    j->size += size;
}

static inline size_t count_terminators(rapt_text text)
{
    size_t count = 0;
    for (size_t at = 0; at < text.size;)
        count += rapt__is_terminator(rapt__utf8_next(text.bytes, text.size, &at));
    return count;
}

static inline bool is_sentence(const struct joined *j, rapt_text text)
{
    size_t end = text.size;
    if (j->single && count_terminators(text) != 1) return false;
    while (end > 0 && rapt__is_closer(rapt__character_before(text, end, &end))) text.size = end;
    return text.size > 1 && rapt__is_terminator(rapt__character_before(text, text.size, &end));
}

static inline void add_sentence(struct joined *j, rapt_text text)
{
    if (!is_sentence(j, text)) return;
    if (j->sentences % PARAGRAPH != 0) {
        j->ends = realloc(j->ends, (j->count + 1) * sizeof *j->ends);
        assert_non_null(j->ends);
        j->ends[j->count++] = j->size;
        add_bytes(j, j->between, strlen(j->between));
    } else if (j->sentences > 0) {
        add_bytes(j, "\n", 1);
    }
    const char *blank = memchr(text.bytes, ' ', text.size);
    if (j->insertion_count > 0 && j->sentences % 3 == 0 && blank) {
        const char *insertion = j->insertions[j->sentences / 3 % j->insertion_count];
        const size_t head = (size_t)(blank - text.bytes) + 1;
        add_bytes(j, text.bytes, head);
        add_bytes(j, insertion, strlen(insertion));
        text = (rapt_text){blank, text.size - head + 1};
    }
    add_bytes(j, text.bytes, text.size);
    j->sentences++;
}

/* Joins column `column` of a file in RAPT_DATA, from 0. Returns false if there is no such file. */
static inline bool join(struct joined *j, const char *name, int column)
{
    char path[DATA_PATH], *line = NULL;
    size_t capacity = 0;
    const char *data = getenv("RAPT_DATA");
    snprintf(path, sizeof path, "%s/%s", data ? data : ".", name);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    for (ssize_t size; (size = getline(&line, &capacity, file)) > 0;) {
        char *from = line, *end = NULL;
        line[strcspn(line, "\r\n")] = 0;
        for (int i = 0; i < column && from; i++) {
            from = strchr(from, '\t');
            if (from) from++;
        }
        if (!from) continue;
        end = strchr(from, '\t');
        add_sentence(j, (rapt_text){from, end ? (size_t)(end - from) : strlen(from)});
    }
    free(line);
    fclose(file);
    return true;
}

/* The boundaries that are found within paragraphs. */
struct found {
    const size_t *ends; /* [end_count] the known ones */
    size_t end_count, at;
    size_t right, count; /* boundaries that were found, and how many of them are known */
};

/* Counts the boundary at the end of a sentence, unless the text or a line ends there. */
static inline void count_boundary(struct found *f, rapt_text text, size_t end)
{
    if (end >= text.size || text.bytes[end] == '\n' || text.bytes[end] == '\r') return;
    while (f->at < f->end_count && f->ends[f->at] < end) f->at++;
    f->right += f->at < f->end_count && f->ends[f->at] == end;
    f->count++;
}

static inline double f1_of(const struct found *f, double *precision, double *recall)
{
    *precision = (double)f->right / (double)f->count;
    *recall = (double)f->right / (double)f->end_count;
    return 2 * *precision * *recall / (*precision + *recall);
}

#endif
