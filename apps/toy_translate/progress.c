/* progress.c - the progress line of training: step, epoch, loss, tokens per second, time left. */
#define _POSIX_C_SOURCE 200809L
#include "toy.h"
#include <unistd.h>

static void write_time(char *text, size_t size, double seconds)
{
    long left = (long)(seconds + 0.5);
    if (seconds < 0)
        text[0] = 0;
    else if (left >= 3600)
        snprintf(text, size, "%ld:%02ld:%02ld left", left / 3600, left / 60 % 60, left % 60);
    else
        snprintf(text, size, "%ld:%02ld left", left / 60, left % 60);
}

void progress_count(struct progress *progress, long long tokens)
{
    if (progress->from <= 0) progress->from = now();
    progress->tokens += tokens;
}

/* Exponential smoothing with a half-life of a few seconds. */
static void measure(struct progress *progress, double time)
{
    double span = time - progress->from;
    if (span < 0.2) return;
    double speed = (double)progress->tokens / span;
    double share = progress->speed > 0 ? span / (span + 4) : 1;
    progress->speed += share * (speed - progress->speed);
    progress->tokens = 0;
    progress->from = time;
}

void progress_show(struct progress *progress, long long step, double epoch, double loss,
                   double left)
{
    double time = now();
    bool terminal = isatty(STDERR_FILENO);
    if (progress->shown > 0 && time - progress->shown < (terminal ? 0.2 : 10)) return;
    progress->shown = time;
    measure(progress, time);
    char end[32];
    write_time(end, sizeof end, left);
    print_progress("step %lld  epoch %.2f  loss %.3f  %.0f tokens/s  %s", step, epoch, loss,
                   progress->speed, end);
}
