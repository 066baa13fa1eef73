/* tools.c - memory, strings and JSON. */
#define _POSIX_C_SOURCE 200809L
#include "kit/program.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void *or_exit(void *memory)
{
    if (memory == NULL) exit(failed("out of memory"));
    return memory;
}

void *xcalloc(size_t count, size_t size)
{
    return or_exit(calloc(count ? count : 1, size));
}

void *xreallocarray(void *memory, size_t count, size_t size)
{
    if (count > SIZE_MAX / size) exit(failed("out of memory"));
    return or_exit(realloc(memory, count ? count * size : size));
}

char *xasprintf(const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int length = vsnprintf(NULL, 0, format, list);
    char *text = xcalloc((size_t)length + 1, 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(list);
    return text;
}

char *shell_word(const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-,:=@%";
    if (*text && text[strspn(text, plain)] == 0) return xasprintf("%s", text);
    char *word = xcalloc(4 * strlen(text) + 3, 1), *to = word;
    *to++ = '\'';
    for (; *text; text++)
        if (*text == '\'')
            to = stpcpy(to, "'\\''");
        else
            *to++ = *text;
    *to = '\'';
    return word;
}

json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

void put_item(json_t *list, json_t *item)
{
    if (json_array_append_new(list, item) != 0) exit(failed("out of memory"));
}

void put_member(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0) exit(failed("out of memory"));
}

void write_json(json_t *object, FILE *file)
{
    int wrong = json_dumpf(object, file, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (wrong && !ferror(file)) exit(failed("out of memory"));
    putc('\n', file);
    json_decref(object);
}

void print_json(json_t *object)
{
    write_json(object, stdout);
    fflush(stdout);
}

json_t *number_rows(const float *grid, int rows, int columns)
{
    json_t *list = json_array();
    for (int r = 0; r < rows; r++) {
        json_t *row = json_array();
        for (int c = 0; c < columns; c++)
            put_item(row, number((double)grid[(size_t)r * (size_t)columns + (size_t)c]));
        put_item(list, row);
    }
    return list;
}
