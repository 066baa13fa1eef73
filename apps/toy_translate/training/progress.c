/* progress.c - reports training in lines of at most 80 columns: perplexities, learning rate, speed
   and time. A perplexity is e to the negative log-likelihood per target token. For the training
   data, every line shows a perplexity smoothed over the last steps, with their parameters and
   dropout. The mean over the epoch, which the learning curve shows, includes earlier parameters and
   would make the perplexity rise at the end of each epoch. */
#define _POSIX_C_SOURCE 200809L
#include "kit/heatmap.h"
#include "learner.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLUMNS = 80 };
struct row {
    char text[COLUMNS + 1];
};

/* Appends a part after two spaces, unless the line would become too long. */
__attribute__((format(printf, 2, 3))) static void row_add(struct row *row, const char *format, ...)
{
    char part[COLUMNS + 1];
    va_list list;
    va_start(list, format);
    int size = vsnprintf(part, sizeof part, format, list);
    va_end(list);
    size_t used = strlen(row->text), gap = used > 0 ? 2 : 0;
    if (size <= 0 || used + gap + (size_t)size > COLUMNS) return;
    memcpy(row->text + used, "  ", gap);
    memcpy(row->text + used + gap, part, (size_t)size + 1);
}

void time_text(double seconds, char text[TIME_TEXT])
{
    long all = (long)(fmin(fmax(seconds, 0), 1e9) + 0.5);
    if (all >= 3600)
        snprintf(text, TIME_TEXT, "%ld:%02ld:%02ld", all / 3600, all / 60 % 60, all % 60);
    else
        snprintf(text, TIME_TEXT, "%ld:%02ld", all / 60, all % 60);
}

void perplexity_text(double loss, char text[NUMBER_TEXT])
{
    double value = exp(loss);
    snprintf(text, NUMBER_TEXT,
             value < 10       ? "%.3f"
             : value < 100    ? "%.1f"
             : value < 100000 ? "%.0f"
                              : "%.2g",
             value);
}

static void speed_text(double speed, char text[NUMBER_TEXT])
{
    const char *format = speed < 1000 ? "%.0f" : speed < 10000 ? "%.1fk" : "%.0fk";
    snprintf(text, NUMBER_TEXT, format, speed < 1000 ? speed : speed / 1000);
}

void progress_count(struct progress *progress, long long tokens)
{
    if (progress->from <= 0) progress->from = now();
    progress->tokens += tokens;
}

/* Smooths the speed exponentially, with a half-life of a few seconds. */
static void measure_speed(struct progress *progress, double time)
{
    double span = time - progress->from;
    if (span < 0.2) return;
    double speed = (double)progress->tokens / span;
    double share = progress->speed > 0 ? span / (span + 4) : 1;
    progress->speed += share * (speed - progress->speed);
    progress->tokens = 0;
    progress->from = time;
}

/* Adds parts such as "epoch 7.5/30", "step 3520/10000" and "ppl 47.1". */
static void add_position(struct row *row, const struct learner *learner, double epoch)
{
    const struct recipe *recipe = learner->recipe;
    const struct state *state = &learner->state;
    char text[NUMBER_TEXT];
    bool whole = epoch >= floor(epoch) && epoch <= floor(epoch);
    if (recipe->epochs > 0)
        row_add(row, whole ? "epoch %.0f/%d" : "epoch %.1f/%d", epoch, recipe->epochs);
    else
        row_add(row, whole ? "epoch %.0f" : "epoch %.1f", epoch);
    if (recipe->steps > 0)
        row_add(row, "step %lld/%d", state->step, recipe->steps);
    else
        row_add(row, "step %lld", state->step);
    perplexity_text(learner->recent, text);
    if (learner->recent > 0) row_add(row, "ppl %s", text);
    if (learner->coverage > 0) row_add(row, "coverage %.2g", learner->coverage);
}

/* Adds parts such as "lr 0.0029", "33k tok/s", "0:21" and "1:02 left". */
static void add_speed(struct row *row, struct learner *learner)
{
    struct progress *progress = &learner->progress;
    char text[NUMBER_TEXT], time[TIME_TEXT];
    double left = time_left(learner);
    measure_speed(progress, now());
    row_add(row, "lr %.2g", learner->rate);
    speed_text(progress->speed, text);
    if (progress->speed > 0) row_add(row, "%s tok/s", text);
    time_text(elapsed(learner), time);
    row_add(row, "%s", time);
    time_text(left, time);
    if (left > 0) row_add(row, "%s left", time);
}

void progress_show(struct learner *learner)
{
    struct progress *progress = &learner->progress;
    const struct state *state = &learner->state;
    double time = now();
    if (progress->shown <= 0) progress->shown = time - (isatty(STDERR_FILENO) ? 1 : 0);
    if (time - progress->shown < (isatty(STDERR_FILENO) ? 0.2 : 10)) return;
    struct row row = {""};
    progress->shown = time;
    add_position(&row, learner,
                 (double)(state->epoch - 1) +
                     (double)state->position / (double)learner->batches.count);
    add_speed(&row, learner);
    print_progress("%s", row.text);
}

/* Prints " source -> translation", cut to the width of a line. */
static void show_sample(struct learner *learner)
{
    char *text = sample(learner);
    if (text == NULL) return;
    rapt_text all = {text, strlen(text)};
    size_t size = text_prefix(all, COLUMNS - 4);
    if (size < all.size) size = text_prefix(all, COLUMNS - 7);
    print_report("    %.*s%s", (int)size, text, size < all.size ? "..." : "");
    free(text);
}

void progress_validated(struct learner *learner, double valid, bool best)
{
    struct row row = {""};
    const struct state *state = &learner->state;
    char text[NUMBER_TEXT];
    double part = (double)state->position / (double)learner->batches.count;
    add_position(&row, learner, (double)(state->epoch - 1) + part);
    perplexity_text(valid, text);
    row_add(&row, "valid %s%s", text, best ? " best" : "");
    add_speed(&row, learner);
    print_report("%s", row.text);
    learner->progress.shown = now();
    show_sample(learner);
}
