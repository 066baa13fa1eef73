/* demo.c - options and threads of the demonstrations. */
#include "kit/demo.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void demo_rows(struct demo_options *o, const char *quick_help, const char *seed_help,
               struct option_row rows[DEMO_ROWS])
{
    const struct option_row all[DEMO_ROWS] = {
        {"quick", OPTION_FLAG, &o->quick, "", quick_help, 0, 0, 0},
        {"threads", OPTION_INTEGER, &o->threads, "N",
         "number of threads; each trains one model at a time [one per processor]", 0, 1024, 0},
        {"seed", OPTION_SEED, &o->seed, "N", seed_help, 0, 0, 0},
        {"svg", OPTION_OUTPUT, &o->svg, "FILE", "write an SVG figure", 0, 0, 0},
        {"json", OPTION_FLAG, &o->json, "", "print JSON, one object per line", 0, 0, 0},
    };
    memcpy(rows, all, sizeof all);
}

struct command demo_command(const char *purpose, struct option_row *rows, int count)
{
    return (struct command){
        .name = "", .arguments = "", .purpose = purpose, .rows = rows, .count = count};
}

struct pool {
    void *(*work)(void *);
    char *items;
    int count;
    size_t size;
    atomic_int taken;
};

static void *work_on(void *argument)
{
    struct pool *pool = argument;
    for (int i; (i = atomic_fetch_add(&pool->taken, 1)) < pool->count;)
        pool->work(pool->items + (size_t)i * pool->size);
    return NULL;
}

void run_threads(void *(*work)(void *), void *items, int count, size_t size, int threads)
{
    struct pool pool = {.work = work, .items = items, .count = count, .size = size};
    const int some = threads < count ? threads : count;
    pthread_t *all = xcalloc((size_t)some, sizeof *all);
    for (int i = 0; i < some; i++)
        if (pthread_create(&all[i], NULL, work_on, &pool) != 0)
            exit(failed("cannot start a thread"));
    for (int i = 0; i < some; i++) pthread_join(all[i], NULL);
    free(all);
}

bool tenth_done(int step, int steps)
{
    return (step + 1) * 10LL / steps > step * 10LL / steps;
}
