/* demo.h - functions that the demonstrations (glimpse, caption) and the lessons share: options,
   training of models in parallel, and when to report progress. */
#ifndef KIT_DEMO_H
#define KIT_DEMO_H

#include "kit/program.h"

struct demo_options {
    bool quick, json;
    int threads; /* 0 means as many as threads_used chooses */
    uint64_t seed;
    const char *svg; /* a file, or NULL */
};
enum { DEMO_ROWS = 5 };
/* Fills `rows` with the options --quick, --threads, --seed, --svg and --json. */
void demo_rows(struct demo_options *options, const char *quick_help, const char *seed_help,
               struct option_row rows[DEMO_ROWS]);
/* Returns the command of a program that has a single command without arguments. */
struct command demo_command(const char *purpose, struct option_row *rows, int count);

/* Calls work(items + i * size) for 0 <= i < count on at most `threads` threads, each of which takes
   the next item when it has finished one. Returns when all items are done. */
void run_threads(void *(*work)(void *), void *items, int count, size_t size, int threads);
bool tenth_done(int step, int steps); /* true if step completes a tenth of all steps */

#endif
