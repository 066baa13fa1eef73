/* demo.h - what the demonstrations of one command (bottleneck, glimpse, caption) share: their
   options, models trained in parallel, and when to report progress. */
#ifndef KIT_DEMO_H
#define KIT_DEMO_H

#include "kit/program.h"

struct demo_options {
    bool quick, json;
    int threads; /* 0: one per processor, which threads_used says */
    uint64_t seed;
    const char *svg; /* file; NULL: none */
};
enum { DEMO_ROWS = 5 };
/* The rows of --quick, --threads, --seed, --svg and --json. */
void demo_rows(struct demo_options *options, const char *quick_help, const char *seed_help,
               struct option_row rows[DEMO_ROWS]);
/* The only command of a program, without arguments. */
struct command demo_command(const char *purpose, struct option_row *rows, int count);

/* work(items + i * size) for 0 <= i < count, in at most `threads` threads, each of which takes the
   next item when it has finished one; returns when all are done. */
void run_threads(void *(*work)(void *), void *items, int count, size_t size, int threads);
bool tenth_done(int step, int steps); /* does step complete a tenth of all? */

#endif
