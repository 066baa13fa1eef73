/* message.c - prints messages and progress as lines on standard error, and writes to standard
   output. */
#define _POSIX_C_SOURCE 200809L
#include "kit/program.h"
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static bool on_line; /* the terminal shows a progress line */
static double shown; /* when progress was last written to a file that is not a terminal */
static int quiet;    /* the rank of this process if rank 0 prints the messages, else 0 */

void messages_of_rank(int rank)
{
    quiet = rank;
}

void clear_progress(void)
{
    if (on_line) fputs("\r\033[K", stderr);
    on_line = false;
}

static void print_list(const char *format, va_list list)
{
    char text[2048];
    vsnprintf(text, sizeof text, format, list);
    clear_progress();
    if (quiet)
        fprintf(stderr, "%s: rank %d: %s\n", program_name, quiet, text);
    else
        fprintf(stderr, "%s: %s\n", program_name, text);
}

void print_report(const char *format, ...)
{
    char text[2048];
    va_list list;
    if (quiet) return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    clear_progress();
    fprintf(stderr, "%s\n", text);
}

void print_message(const char *format, ...)
{
    va_list list;
    if (quiet) return;
    va_start(list, format);
    print_list(format, list);
    va_end(list);
}

int failed(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_list(format, list);
    va_end(list);
    return EXIT_FAILED;
}

int usage_error(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    print_list(format, list);
    va_end(list);
    return EXIT_USAGE;
}

void print_progress(const char *format, ...)
{
    char text[256];
    va_list list;
    if (quiet) return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (!isatty(STDERR_FILENO)) {
        if (now() - shown < 10) return;
        shown = now();
        fprintf(stderr, "%s\n", text);
        return;
    }
    fprintf(stderr, "\r%.*s\033[K", terminal_columns(stderr) - 1, text);
    fflush(stderr);
    on_line = true;
}

void training_progress(const char *name, int step, int steps)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    static double last;
    if (!isatty(STDERR_FILENO) || pthread_mutex_trylock(&one) != 0) return;
    const double time = now();
    if (last == 0 || time - last > 0.2) {
        print_progress("training%s%s: step %d of %d", *name ? " " : "", name, step, steps);
        last = time;
    }
    pthread_mutex_unlock(&one);
}

/* Returns EXIT_FAILED, and reports the reason, an errno value or 0, unless a failure was reported
   before or the reader has closed the pipe. */
static int output_failed(int reason)
{
    static bool reported;
    bool silent = reported || reason == EPIPE;
    reported = true;
    if (silent) return EXIT_FAILED;
    return failed("standard output: %s", reason ? strerror(reason) : "cannot write");
}

int write_output(const char *bytes, size_t size)
{
    errno = 0;
    return fwrite(bytes, 1, size, stdout) == size ? EXIT_OK : output_failed(errno);
}

int finish_output(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return EXIT_OK;
    return output_failed(errno);
}
