/* tools.c - memory, clock, threads, interrupts, JSON, the terminal. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "kit/program.h"
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

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

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int threads_used(int asked)
{
    if (asked > 0) return asked;
    cpu_set_t set;
    int max = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    const char *wish = getenv("OMP_NUM_THREADS");
    int wished = wish != NULL ? atoi(wish) : 0;
    return wished > 0 && wished < max ? wished : max;
}

static volatile sig_atomic_t stop;

static void on_signal(int signal_number)
{
    (void)signal_number;
    stop = 1;
}

/* A closed standard file becomes one that, like it, can be neither read nor written. */
void hold_standard_files(void)
{
    for (int number = 0; number <= 2; number++)
        if (fcntl(number, F_GETFD) < 0) (void)!open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY);
}

void watch_for_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_signal,
                               .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void ignore_interrupts(void)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
}

bool interrupted(void)
{
    return stop != 0;
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

void print_json(json_t *object)
{
    int wrong = json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (wrong && !ferror(stdout)) exit(failed("out of memory"));
    putchar('\n');
    fflush(stdout);
    json_decref(object);
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

int terminal_columns(FILE *file)
{
    struct winsize size;
    if (!isatty(fileno(file)) || ioctl(fileno(file), TIOCGWINSZ, &size) != 0) return HELP_COLUMNS;
    return size.ws_col > 20 ? size.ws_col : HELP_COLUMNS;
}
