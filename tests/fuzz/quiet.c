/* quiet.c - replaces the messages of a program (kit/message.c). Each message is formatted, so that
   a sanitizer checks its arguments, and counted, but not printed. */
#include "fuzz.h"

#include "kit/program.h"
#include <stdarg.h>

const char program_name[] = "fuzz";
long messages;

static void format_list(const char *format, va_list list)
{
    char text[2048];
    messages++;
    vsnprintf(text, sizeof text, format, list);
}

void print_message(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    format_list(format, list);
    va_end(list);
}

int failed(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    format_list(format, list);
    va_end(list);
    return EXIT_FAILED;
}

int usage_error(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    format_list(format, list);
    va_end(list);
    return EXIT_USAGE;
}

void print_progress(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    format_list(format, list);
    va_end(list);
}

void clear_progress(void) {}

void messages_of_rank(int rank)
{
    (void)rank;
}

void print_report(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    format_list(format, list);
    va_end(list);
}

int finish_output(void)
{
    return fflush(stdout) == 0 ? EXIT_OK : EXIT_FAILED;
}
