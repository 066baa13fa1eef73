/* say.c - messages: one line on standard error, and an exit code. */
#include "toy.h"
#include <errno.h>
#include <stdarg.h>
#include <string.h>

static void say_list(const char *format, va_list list)
{
    char text[2048];
    vsnprintf(text, sizeof text, format, list);
    progress_clear();
    fprintf(stderr, "toy_translate: %s\n", text);
}

void say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say_list(format, list);
    va_end(list);
}

int failed(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say_list(format, list);
    va_end(list);
    return EXIT_FAILED;
}

int misused(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say_list(format, list);
    va_end(list);
    return EXIT_USAGE;
}

int finish_output(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return EXIT_FINE;
    if (errno == EPIPE) return EXIT_FAILED;
    return failed("standard output: %s", errno ? strerror(errno) : "cannot be written");
}
