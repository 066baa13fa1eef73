/* phrases.c - lists of words and phrases, one per line. */
#include "commands.h"
#include <stdlib.h>
#include <string.h>

size_t count_lines(rapt_text text)
{
    size_t count = 0;
    const char *at = text.bytes, *end = at + text.size;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) at++, count++;
    return count;
}

void phrases_free(struct phrases *phrases)
{
    free(phrases->bytes);
    free(phrases->list);
    *phrases = (struct phrases){.bytes = NULL};
}

int phrases_read(struct phrases *phrases, const char *path)
{
    static const char layout[] = " \t\r";
    size_t size = 0;
    if (!path) return EXIT_OK;
    int code = file_read(path, &phrases->bytes, &size);
    if (code == EXIT_OK) code = text_check(path, phrases->bytes, size);
    if (code != EXIT_OK) return code;
    phrases->list =
        xcalloc(count_lines((rapt_text){phrases->bytes, size}) + 1, sizeof *phrases->list);
    for (size_t at = 0, end; at < size; at = end + 1) {
        const char *line = phrases->bytes + at;
        const char *next = memchr(line, '\n', size - at);
        size_t begin = at, last = end = next ? (size_t)(next - phrases->bytes) : size;
        while (begin < last && strchr(layout, phrases->bytes[begin])) begin++;
        while (last > begin && strchr(layout, phrases->bytes[last - 1])) last--;
        if (last == begin) continue;
        phrases->list[phrases->count++] = (rapt_text){phrases->bytes + begin, last - begin};
    }
    return EXIT_OK;
}

/* ---- translate --lines --prefix: the first words of translations, one line of a file for each
   line of the input ---- */

int prefixes_open(struct prefixes *p)
{
    if (p->name == NULL) return EXIT_OK;
    int code = file_read(p->name, &p->bytes, &p->size);
    if (code == EXIT_OK) code = text_check(p->name, p->bytes, p->size);
    const size_t bad = code == EXIT_OK ? rapt_utf8_valid((rapt_text){p->bytes, p->size}) : 0;
    if (code == EXIT_OK && bad < p->size)
        code = failed("%s: byte %zu is not valid UTF-8", p->name, bad + 1);
    return code;
}

int prefixes_next(struct prefixes *p, size_t count)
{
    for (size_t i = 0; i < count && p->name != NULL; i++) {
        if (p->at >= p->size)
            return failed("%s has only %zu lines, but the text has more", p->name, p->lines);
        const char *line = p->bytes + p->at, *end = memchr(line, '\n', p->size - p->at);
        rapt_text text = {line, end != NULL ? (size_t)(end - line) : p->size - p->at};
        p->at += text.size + 1;
        p->lines++;
        while (text.size > 0 && text.bytes[text.size - 1] == '\r') text.size--;
        p->texts[i] = text;
    }
    return EXIT_OK;
}

int prefixes_end(const struct prefixes *p)
{
    if (p->name == NULL || p->at >= p->size) return EXIT_OK;
    return failed("%s has more lines than the text, which has %zu", p->name, p->lines);
}

void prefixes_close(struct prefixes *p)
{
    free(p->bytes);
}
