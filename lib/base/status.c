/* status.c - the version, descriptions of status codes, formatted error messages, and range checks
   of options. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>

#define TEXT_OF(number)  #number
#define VERSION(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

const char *rapt_version(void)
{
    return VERSION(RAPT_VERSION_MAJOR, RAPT_VERSION_MINOR, RAPT_VERSION_PATCH);
}

const char *rapt_status_text(rapt_status status)
{
    switch (status) {
    case RAPT_OK:
        return "no error";
    case RAPT_BAD_ARGUMENT:
        return "a size, index or option is out of range";
    case RAPT_NO_MEMORY:
        return "out of memory";
    case RAPT_NO_FILE:
        return "a file cannot be opened, read or written";
    case RAPT_BAD_FILE:
        return "a file is damaged or not of the expected kind";
    case RAPT_NOT_FINITE:
        return "a loss, gradient or parameter is not finite";
    }
    return "unknown status";
}

rapt_status rapt__fail(rapt_message *why, rapt_status status, const char *format, ...)
{
    if (why) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(why->text, sizeof why->text, format, arguments);
        va_end(arguments);
        rapt__make_printable(why->text);
    }
    return status;
}

rapt_status rapt__text_check(const char *texts, size_t i, const void *bytes, size_t size,
                             rapt_message *why)
{
    if (bytes || !size) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s[%zu].bytes is NULL, but its size is %zu", texts,
                      i, size);
}

rapt_status rapt__int_check(const char *name, int value, int min, int max, rapt_message *why)
{
    if (value >= min && value <= max) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is %d; it must be %d to %d", name, value, min,
                      max);
}

rapt_status rapt__float_check(const char *name, float value, double min, double max,
                              rapt_message *why)
{
    char text[FLOAT_TEXT], low[FLOAT_TEXT], high[FLOAT_TEXT];
    if ((double)value >= min && (double)value <= max) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is %s; it must be %s to %s", name,
                      rapt__number_write((double)value, text), rapt__number_write(min, low),
                      rapt__number_write(max, high));
}

rapt_status rapt__share_check(const char *name, float share, rapt_message *why)
{
    char text[FLOAT_TEXT];
    if (share >= 0 && share < 1) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is %s; it must be at least 0 and below 1", name,
                      rapt__number_write((double)share, text));
}
