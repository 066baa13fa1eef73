/* phrases.c - lists of words and phrases, one per line. */
#include "translate.h"
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
