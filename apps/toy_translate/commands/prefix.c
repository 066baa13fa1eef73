/* prefix.c - toy_translate translate --lines --prefix: the first words of translations, one line of
   a file for each line of the input. */
#include "translate.h"
#include <stdlib.h>
#include <string.h>

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
