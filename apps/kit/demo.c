/* demo.c - options and threads of the demonstrations. */
#include "kit/demo.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

void demo_rows(struct demo_options *o, const char *quick_help, const char *seed_help,
               struct option_row rows[DEMO_ROWS])
{
    const struct option_row all[DEMO_ROWS] = {
        {"quick", OPTION_FLAG, &o->quick, "", quick_help, 0, 0, 0},
        {"seed", OPTION_SEED, &o->seed, "N", seed_help, 0, 0, 0},
        {"svg", OPTION_OUTPUT, &o->svg, "FILE", "write a figure", 0, 0, 0},
        {"json", OPTION_FLAG, &o->json, "", "print JSON, one object per line", 0, 0, 0},
    };
    memcpy(rows, all, sizeof all);
}

struct command demo_command(const char *purpose, struct option_row *rows, int count)
{
    return (struct command){
        .name = "", .arguments = "", .purpose = purpose, .rows = rows, .count = count};
}

void run_threads(void *(*work)(void *), void *items, int count, size_t size)
{
    pthread_t *threads = xcalloc((size_t)count, sizeof *threads);
    for (int i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, (char *)items + (size_t)i * size) != 0)
            exit(failed("a thread cannot be started"));
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    free(threads);
}

bool tenth_done(int step, int steps)
{
    return (step + 1) * 10LL / steps > step * 10LL / steps;
}
